//! Memory of two and three dimensions, and memory of the host that devices reach.

use gpu_driver::{Device, DeviceVec, DriverError, Pitched, Stream};
use testkit::{Outcome, ensure, ensure_eq};

/// A pixel: a type whose size is no power of two.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, gpu_driver::DevicePod)]
struct Rgb {
    r: u8,
    g: u8,
    b: u8,
}

fn rgb(r: u8, g: u8, b: u8) -> Rgb {
    Rgb { r, g, b }
}

/// `to` with the box of `from` in it, element by element.
fn copied<T: Copy>(to: &[T], place: Pitched, from: &[T], source: Pitched) -> Vec<T> {
    let mut all = to.to_vec();
    let index = |of: Pitched, (layer, row, column)| of.start + (layer * of.layer_rows + row) * of.pitch + column;
    for layer in 0..place.layers {
        for row in 0..place.rows {
            for column in 0..place.columns {
                all[index(place, (layer, row, column))] = from[index(source, (layer, row, column))];
            }
        }
    }
    all
}

pub fn boxes_are_copied_between_memories_of_any_pitch(device: &Device) -> Outcome {
    let (home, other) = (device.stream(), Stream::new(device)?);
    for (layers, rows, columns) in [(1, 1, 1), (1, 3, 5), (2, 1, 7), (3, 4, 33), (2, 17, 100), (1, 0, 4), (2, 3, 0)] {
        let shape = Pitched::volume(layers, rows, columns);
        let places =
            [shape, shape.within(columns + 3).from(2), shape.within(columns + 1).within_layers(rows + 2).from(columns)];
        for to in places {
            for from in places {
                let want_host: Vec<u32> = (0..10_000).collect();
                let old = vec![7u32; 10_000];
                let want = copied(&old, to, &want_host, from);
                let mut x = DeviceVec::from_slice(&home, &old)?;
                x.as_mut_slice().copy_box_from_slice(to, &want_host, from)?;
                ensure!(x.to_vec()? == want, "from the host, {to:?} {from:?}");
                let source = DeviceVec::from_slice(&other, &want_host)?;
                let mut y = DeviceVec::from_slice(&home, &old)?;
                y.as_mut_slice().copy_box_from(to, source.as_slice(), from)?;
                ensure!(y.to_vec()? == want, "on the device, {to:?} {from:?}");
                let mut host = old.clone();
                source.as_slice().copy_box_to_slice(from, &mut host, to)?;
                ensure!(host == want, "to the host, {to:?} {from:?}");
            }
        }
    }
    // Elements of three bytes, and a part of a buffer.
    let host: Vec<Rgb> = (0..60u8).map(|i| rgb(i, i + 1, i + 2)).collect();
    let mut x = DeviceVec::from_slice(&home, &[rgb(0, 0, 0); 60])?;
    let (to, from) = (Pitched::plane(4, 3).within(7).from(1), Pitched::plane(4, 3).within(9));
    x.slice_mut(10..)?.copy_box_from_slice(to, &host, from)?;
    ensure_eq!(x.to_vec()?, copied(&[rgb(0, 0, 0); 60], to.from(11), &host, from));
    Ok(())
}

pub fn rows_of_pitched_memory_are_aligned(device: &Device) -> Outcome {
    let (mut x, place) = DeviceVec::<Rgb>::pitched(&device.stream(), 5, 171)?;
    ensure_eq!((place.pitch * 3 % 512, place.rows, place.columns, x.len()), (0, 5, 171, 5 * place.pitch));
    let host: Vec<Rgb> = (0..855u32).map(|i| rgb(i as u8, (i >> 8) as u8, 9)).collect();
    x.as_mut_slice().copy_box_from_slice(place, &host, Pitched::plane(5, 171))?;
    let mut back = vec![rgb(0, 0, 0); 855];
    x.as_slice().copy_box_to_slice(place, &mut back, Pitched::plane(5, 171))?;
    ensure_eq!(back, host);
    ensure_eq!(DeviceVec::<f64>::pitched(&device.stream(), 3, 65)?.1.pitch, 128);
    ensure_eq!(DeviceVec::<f32>::pitched(&device.stream(), 0, 0)?.0.len(), 0);
    let huge = DeviceVec::<f32>::pitched(&device.stream(), usize::MAX / 8, 3);
    ensure!(matches!(huge, Err(DriverError::TooLarge { .. })));
    Ok(())
}

pub fn boxes_are_filled_and_their_neighbours_not(device: &Device) -> Outcome {
    fn check<T: gpu_driver::DevicePod + PartialEq>(device: &Device, old: T, new: T, can: bool) -> Outcome {
        for place in [
            Pitched::plane(3, 5).within(9).from(4),
            Pitched::volume(2, 3, 4).within(5).within_layers(4).from(1),
            Pitched::volume(2, 2, 2),
            Pitched::plane(3, 0).within(2),
        ] {
            let mut x = DeviceVec::from_slice(&device.stream(), &[old; 64])?;
            ensure_eq!(x.as_mut_slice().fill_box(place, new)?, can);
            let want = if can { copied(&[old; 64], place, &[new; 64], place) } else { vec![old; 64] };
            ensure_eq!(x.to_vec()?, want);
        }
        Ok(())
    }
    check(device, 1u8, 2, true)?;
    check(device, 1i16, -2, true)?;
    check(device, 1.5f32, -2.5, true)?;
    check(device, 7i64, -1, true)?;
    check(device, 1.5f64, 2.5, false)?;
    check(device, rgb(1, 1, 1), rgb(2, 2, 2), false)
}

pub fn error_a_box_that_does_not_fit(device: &Device) -> Outcome {
    let mut x = DeviceVec::from_slice(&device.stream(), &[5u32; 20])?;
    let host = [1u32; 20];
    let fits = Pitched::plane(4, 3).within(5);
    let text = |result: Result<(), DriverError>| result.err().map(|error| error.to_string()).unwrap_or_default();
    for (place, want) in [
        (fits.from(3), "a box within 0..20"),
        (fits.within(2), "a pitch of 3 elements at least"),
        (fits.within_layers(3), "layers of 4 rows at least"),
        (fits.within(usize::MAX / 2), "beyond all indices"),
        (Pitched::plane(3, 3).within(5), "4 x 3 elements"),
        (Pitched::plane(4, 0).from(21), ""),
    ] {
        let got = text(x.as_mut_slice().copy_box_from_slice(place, &host, fits));
        ensure!(!got.is_empty() && got.contains(want), "{place:?}: {got}");
        let got = text(x.as_mut_slice().copy_box_from_slice(fits, &host, place));
        ensure!(!got.is_empty(), "{place:?}: {got}");
        let mut back = [0; 20];
        ensure!(!text(x.as_slice().copy_box_to_slice(fits, &mut back, place)).is_empty(), "{place:?}");
        ensure_eq!(back, [0; 20]);
    }
    ensure!(!text(x.as_mut_slice().fill_box(fits.from(3), 1).map(drop)).is_empty());
    ensure_eq!(x.to_vec()?, [5; 20]);
    let stream = device.stream();
    let captured = stream.capture(|| x.as_mut_slice().copy_box_from_slice(fits, &host, fits));
    ensure!(matches!(captured, Err(DriverError::InCapture { .. })));
    Ok(())
}

pub fn a_graph_holds_copies_and_fills_of_boxes(device: &Device) -> Outcome {
    let stream = device.stream();
    let (mut x, mut y) = (DeviceVec::from_slice(&stream, &[1u32; 24])?, DeviceVec::from_slice(&stream, &[2u32; 24])?);
    let place = Pitched::plane(3, 4).within(6).from(1);
    let (graph, ()) = stream.capture(|| {
        x.as_mut_slice().copy_box_from(place, y.as_slice(), Pitched::plane(3, 4))?;
        y.as_mut_slice().fill_box(place, 9).map(drop)
    })?;
    ensure_eq!((x.to_vec()?, y.to_vec()?), (vec![1; 24], vec![2; 24]));
    // SAFETY: both buffers are alive.
    unsafe { graph.launch(&stream)? };
    ensure_eq!(x.to_vec()?, copied(&[1; 24], place, &[2; 24], place));
    ensure_eq!(y.to_vec()?, copied(&[2; 24], place, &[9; 24], place));
    Ok(())
}
