//! Filters of textures: weights, address modes, types of values.

use gpu_driver::{AddressMode, ArrayShape, Channel, CudaArray, Device, Sampling, Texture};
use testkit::{Outcome, ensure, ensure_eq};

use crate::{
    arrays::numbers,
    textures::{centres, read, reader},
};

/// The sum that a linear filter stands for, with exact weights and the elements at the border beyond it.
fn interpolated(host: &[f32], [layers, rows, columns]: [usize; 3], [x, y, z]: [f32; 3]) -> f64 {
    let pair = |at: f32, length: usize| {
        let (first, fraction) = ((f64::from(at) - 0.5).floor(), (f64::from(at) - 0.5).rem_euclid(1.0));
        let index = |i: f64| (i.max(0.0) as usize).min(length - 1);
        [(index(first), 1.0 - fraction), (index(first + 1.0), fraction)]
    };
    let mut sum = 0.0;
    for (layer, by_layer) in pair(z, layers) {
        for (row, by_row) in pair(y, rows) {
            for (column, by_column) in pair(x, columns) {
                let value = f64::from(host[(layer * rows + row) * columns + column]);
                sum += by_layer * by_row * by_column * value;
            }
        }
    }
    sum
}

pub fn the_linear_filter_interpolates(device: &Device) -> Outcome {
    let cases = [
        ("line", ArrayShape::line(9), 1),
        ("plane", ArrayShape::plane(6, 7), 2),
        ("volume", ArrayShape::volume(4, 5, 6), 3),
    ];
    for (name, shape, axes) in cases {
        let host = numbers(shape.values(), |i| (i % 1000) as f32 / 1000.0);
        let array = CudaArray::from_slice(&device.stream(), shape, &host)?;
        let size = [shape.columns(), shape.rows(), shape.layers()].map(|length| length as f32);
        // From before the first element to behind the last.
        let place = |i: usize, axis: usize| {
            let part = (i as u32 + 1).wrapping_mul([2_654_435_761, 2_246_822_519, 3_266_489_917][axis]) >> 8;
            (part as f32 / (1 << 24) as f32) * (size[axis] + 4.0) - 2.0
        };
        let at: Vec<[f32; 4]> = (0..500).map(|i| [place(i, 0), place(i, 1), place(i, 2), 0.0]).collect();
        let texture = Texture::of_array(&array, Sampling::new().linear())?;
        let got = read(&reader(device, name)?, &texture, &at)?;
        // Weights are multiples of 1/256, rounded or cut off.
        let bound = f64::from(axes) / 256.0 + 1e-5;
        for (got, at) in got.iter().zip(&at) {
            let place = [at[0], if axes > 1 { at[1] } else { 0.5 }, if axes > 2 { at[2] } else { 0.5 }];
            let want = interpolated(&host, [shape.layers(), shape.rows(), shape.columns()], place);
            ensure!((f64::from(*got) - want).abs() <= bound, "{name} at {at:?}: {got} {want}");
        }
    }
    Ok(())
}

pub fn address_modes_lead_beyond_the_border(device: &Device) -> Outcome {
    let host = [10.0f32, 20.0, 30.0, 40.0];
    let array = CudaArray::from_slice(&device.stream(), ArrayShape::line(4), &host)?;
    let kernel = reader(device, "line")?;
    let indices: Vec<i32> = (-9..13).collect();
    let at: Vec<[f32; 4]> = indices.iter().map(|&i| [(i as f32 + 0.5) / 4.0, 0.0, 0.0, 0.0]).collect();
    let whole: Vec<[f32; 4]> = at.iter().map(|[x, ..]| [x * 4.0, 0.0, 0.0, 0.0]).collect();
    let base = Sampling::new().border([7.0, 0.0, 0.0, 0.0]);
    for mode in [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border] {
        let want = |&i: &i32| match mode {
            AddressMode::Wrap => host[i.rem_euclid(4) as usize],
            AddressMode::Clamp => host[i.clamp(0, 3) as usize],
            AddressMode::Mirror => host[i.rem_euclid(8).min(7 - i.rem_euclid(8)) as usize],
            AddressMode::Border => usize::try_from(i).ok().and_then(|i| host.get(i)).copied().unwrap_or(7.0),
        };
        let want: Vec<f32> = indices.iter().map(want).collect();
        for sampling in [base.address(mode), base.address(mode).linear()] {
            let texture = Texture::of_array(&array, sampling.normalized_coordinates())?;
            ensure_eq!((mode, read(&kernel, &texture, &at)?), (mode, want.clone()));
            if matches!(mode, AddressMode::Clamp | AddressMode::Border) {
                let got = read(&kernel, &Texture::of_array(&array, sampling)?, &whole)?;
                ensure_eq!((mode, got), (mode, want.clone()));
            }
        }
    }
    // Each axis has its own mode: the first one wraps, the second ends.
    let plane = CudaArray::from_slice(&device.stream(), ArrayShape::plane(2, 2), &host)?;
    let modes = [AddressMode::Wrap, AddressMode::Border, AddressMode::Clamp];
    let texture = Texture::of_array(&plane, base.address_each(modes).normalized_coordinates())?;
    let at = [[1.25, 0.25, 0.0, 0.0], [0.25, 1.25, 0.0, 0.0], [-0.25, 0.75, 0.0, 0.0]];
    ensure_eq!(read(&reader(device, "plane")?, &texture, &at)?, [10.0, 7.0, 40.0]);
    Ok(())
}

pub fn integers_are_read_as_numbers_up_to_one(device: &Device) -> Outcome {
    fn check<T: Channel>(device: &Device, values: [T; 4], want: [f32; 4]) -> Outcome {
        let array = CudaArray::from_slice(&device.stream(), ArrayShape::plane(1, 4), &values)?;
        let texture = Texture::of_array(&array, Sampling::new().normalized_values().linear())?;
        let at = centres(array.shape(), false);
        let got = read(&reader(device, "plane")?, &texture, &at)?;
        ensure!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-5), "{got:?} {want:?}");
        Ok(())
    }
    check(device, [0u8, 51, 204, 255], [0.0, 0.2, 0.8, 1.0])?;
    check(device, [-128i8, -127, 0, 127], [-1.0, -1.0, 0.0, 1.0])?;
    check(device, [0u16, 13_107, 52_428, 65_535], [0.0, 0.2, 0.8, 1.0])?;
    check(device, [-32_768i16, -32_767, 0, 32_767], [-1.0, -1.0, 0.0, 1.0])
}

pub fn the_filter_of_a_cube_stays_on_its_face(device: &Device) -> Outcome {
    // Face +x: 10 where z is positive, 20 where it is negative.
    let mut host = vec![0.0f32; 24];
    host[..4].copy_from_slice(&[10.0, 20.0, 10.0, 20.0]);
    let array = CudaArray::from_slice(&device.stream(), ArrayShape::cubemap(2), &host)?;
    let kernel = reader(device, "cubemap")?;
    // The middle of the face, and the edge, where a neighbour beyond has almost half the weight.
    let at = [[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, -0.999, 0.0]];
    let sampling = Sampling::new().linear().border([30.0, 0.0, 0.0, 0.0]);
    for (mode, want) in [
        (AddressMode::Clamp, [15.0, 20.0]),
        (AddressMode::Mirror, [15.0, 20.0]),
        (AddressMode::Wrap, [15.0, 15.0]),
        (AddressMode::Border, [15.0, 25.0]),
    ] {
        let texture = Texture::of_array(&array, sampling.address(mode).normalized_coordinates())?;
        let got = read(&kernel, &texture, &at)?;
        ensure!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 0.1), "{mode:?}: {got:?} {want:?}");
        let texture = Texture::of_array(&array, Sampling::new().address(mode).normalized_coordinates())?;
        ensure_eq!(read(&kernel, &texture, &at[1..])?, [20.0]);
    }
    Ok(())
}
