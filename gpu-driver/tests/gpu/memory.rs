//! Memory of two and three dimensions, and memory of the host that devices reach.

use gpu_driver::{
    Advice, AlignedVec, Device, DeviceVec, DriverError, GrowingVec, LaunchConfig, ManagedVec, MemoryKind, PinnedVec,
    Pitched, Stream,
};
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
    // One row, whose distance to a next one is of no account.
    let (row, host) = (Pitched::plane(1, 3).within(usize::MAX).within_layers(usize::MAX).from(1), [1u32, 2, 3, 4, 5]);
    let mut x = DeviceVec::from_slice(&home, &[0u32; 5])?;
    x.as_mut_slice().copy_box_from_slice(row, &host, row)?;
    ensure_eq!(x.to_vec()?, [0, 2, 3, 4, 0]);
    x.as_mut_slice().fill_box(row, 9)?;
    ensure_eq!(x.to_vec()?, [0, 9, 9, 9, 0]);
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
    fn check<T: gpu_driver::DevicePod + PartialEq>(device: &Device, old: T, new: T) -> Outcome {
        for place in [
            Pitched::plane(3, 5).within(9).from(4),
            Pitched::volume(2, 3, 4).within(5).within_layers(4).from(1),
            Pitched::volume(2, 2, 2),
            Pitched::volume(5, 1, 3).within(4).within_layers(2).from(3),
            Pitched::volume(3, 7, 3),
            Pitched::plane(1, 60).within(usize::MAX).from(2),
            Pitched::plane(3, 0).within(2),
        ] {
            let mut x = DeviceVec::from_slice(&device.stream(), &[old; 64])?;
            x.as_mut_slice().fill_box(place, new)?;
            ensure_eq!(x.to_vec()?, copied(&[old; 64], place, &[new; 64], place));
        }
        Ok(())
    }
    check(device, 1u8, 2)?;
    check(device, 1i16, -2)?;
    check(device, 1.5f32, -2.5)?;
    check(device, 7i64, -1)?;
    check(device, 1.5f64, 2.5)?;
    check(device, rgb(1, 1, 1), rgb(2, 3, 4))
}

pub fn error_a_box_that_does_not_fit(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut x = DeviceVec::from_slice(&stream, &[5u32; 20])?;
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
    ensure!(!text(x.as_mut_slice().fill_box(fits.from(3), 1)).is_empty());
    ensure_eq!(x.to_vec()?, [5; 20]);
    let captured = stream.capture(|| x.as_mut_slice().copy_box_from_slice(fits, &host, fits));
    ensure!(matches!(captured, Err(DriverError::InCapture { .. })));
    Ok(())
}

pub fn a_graph_holds_copies_and_fills_of_boxes(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (mut x, mut y) = (DeviceVec::from_slice(&stream, &[1u32; 24])?, DeviceVec::from_slice(&stream, &[2u32; 24])?);
    let mut z = DeviceVec::from_slice(&stream, &[1.5f64; 24])?;
    let place = Pitched::plane(3, 4).within(6).from(1);
    let (graph, ()) = stream.capture(|| {
        x.as_mut_slice().copy_box_from(place, y.as_slice(), Pitched::plane(3, 4))?;
        y.as_mut_slice().fill_box(place, 9)?;
        z.as_mut_slice().fill_box(place, 2.5)
    })?;
    ensure_eq!((x.to_vec()?, y.to_vec()?), (vec![1; 24], vec![2; 24]));
    // SAFETY: the buffers are alive.
    unsafe { graph.launch(&stream)? };
    ensure_eq!(z.to_vec()?, copied(&[1.5; 24], place, &[2.5; 24], place));
    ensure_eq!(x.to_vec()?, copied(&[1; 24], place, &[2; 24], place));
    ensure_eq!(y.to_vec()?, copied(&[2; 24], place, &[9; 24], place));
    Ok(())
}

pub fn aligned_memory_is_pinned_where_it_lies(device: &Device) -> Outcome {
    let stream = device.stream();
    for alignment in [1, 64, 4096, 1 << 16] {
        for len in [1, 3, 512, 1024, 100_352] {
            let host: Vec<f64> = (0..len).map(|i| i as f64 - 0.5).collect();
            let plain = AlignedVec::from_slice(&host, alignment)?;
            let (place, want) = (plain.as_ptr() as usize, alignment.max(8));
            ensure!(place.is_multiple_of(alignment) && plain.alignment() == want && *plain == *host, "{plain:?}");
            // Copies take it pinned and not pinned.
            let x = DeviceVec::from_slice(&stream, &plain)?;
            ensure!(x.to_vec()? == host, "another copy");
            if alignment < 4096 || len < 512 {
                // Pages that another test may register.
                continue;
            }
            let mut pinned = PinnedVec::register_aligned(device, plain)?;
            ensure_eq!((pinned.as_ptr() as usize, &*pinned), (place, &*host));
            pinned.fill(-1.0);
            let pinned = x.download(pinned)?.wait()?;
            ensure!(pinned.as_ptr() as usize == place && *pinned == *host, "not downloaded");
            let mut y = DeviceVec::<f64>::zeros(&stream, len)?;
            let back = y.upload(pinned)?.wait()?.into_aligned()?;
            ensure_eq!((back.as_ptr() as usize, back.alignment(), y.to_vec()? == host), (place, want, true));
            // The same memory once more, and then dropped while it is registered.
            drop(PinnedVec::register_aligned(device, back)?);
        }
    }
    // A vector of it is a copy, and an aligned buffer of other pinned memory too.
    ensure_eq!(
        PinnedVec::register_aligned(device, AlignedVec::from_slice(&[7u8; 4096], 4096)?)?.into_vec()?,
        [7; 4096]
    );
    let copy = PinnedVec::from_slice(device, &[5u16; 3])?.into_aligned()?;
    ensure_eq!((&*copy, copy.as_ptr() as usize % 4096), (&[5u16; 3][..], 0));
    let none = AlignedVec::<u64>::zeros(0, 4096)?;
    ensure_eq!((none.len(), none.as_ptr() as usize % 4096), (0, 0));
    ensure_eq!(PinnedVec::register_aligned(device, none)?.into_aligned()?.len(), 0);
    for alignment in [0, 3, 4095] {
        let error = AlignedVec::<u8>::zeros(1, alignment).unwrap_err().to_string();
        ensure!(error.contains("a power of two") && error.contains(&alignment.to_string()), "{error}");
    }
    for (len, alignment) in [(usize::MAX, 8), (usize::MAX / 16, 8), (1, 1 << 63)] {
        ensure!(AlignedVec::<u64>::zeros(len, alignment).is_err(), "{len} {alignment}");
    }
    Ok(())
}

pub fn vectors_are_pinned_where_they_lie(device: &Device) -> Outcome {
    let stream = device.stream();
    // Several pages each: a page that two vectors share may not be registered twice.
    for len in [5000, 300_001] {
        let mut x = DeviceVec::<u32>::zeros(&stream, len)?;
        let host: Vec<u32> = (0..len as u32).collect();
        let (address, middle, want) = (host.as_ptr(), host[len / 2..].as_ptr() as u64, host.clone());
        let pinned = PinnedVec::register(device, host)?;
        ensure_eq!(pinned.as_ptr(), address);
        ensure_eq!(device.pointer_facts(middle)?.kind, MemoryKind::Host);
        let pinned = x.upload(pinned)?.wait()?;
        let pinned = x.download(pinned)?.wait()?;
        ensure_eq!(&*pinned, &want[..]);
        let back = pinned.into_vec()?;
        ensure_eq!(device.pointer_facts(middle)?.kind, MemoryKind::Unknown);
        ensure_eq!((back.as_ptr(), back), (address, want));
    }
    let mut x = DeviceVec::<u32>::zeros(&stream, 5000)?;
    ensure_eq!(PinnedVec::register(device, Vec::<f32>::new())?.into_vec()?, Vec::<f32>::new());
    ensure_eq!(PinnedVec::from_slice(device, &[1u8, 2])?.into_vec()?, [1, 2]);
    // A registered buffer that is dropped with its copy under way: the copy ends first.
    drop(x.upload(PinnedVec::register(device, vec![3u32; 5000])?)?);
    ensure!(x.to_vec()?.iter().all(|&x| x == 3));
    drop(PinnedVec::register(device, vec![1u64; 5000])?);
    // Never given back, and never freed.
    std::mem::forget(PinnedVec::register(device, vec![7u64; 1 << 20])?);
    Ok(())
}

pub fn write_combined_memory_is_copied(device: &Device) -> Outcome {
    let mut pinned = PinnedVec::<f32>::write_combined(device, 1000)?;
    ensure!(pinned.iter().all(|&x| x == 0.0));
    for (i, x) in pinned.iter_mut().enumerate() {
        *x = i as f32;
    }
    let mut x = DeviceVec::zeros(&device.stream(), 1000)?;
    let pinned = x.upload(pinned)?.wait()?;
    ensure_eq!(x.to_vec()?, *pinned);
    ensure_eq!(device.pointer_facts(pinned.as_ptr() as u64)?.kind, MemoryKind::Host);
    ensure_eq!(PinnedVec::<f32>::write_combined(device, 0)?.len(), 0);
    Ok(())
}

pub fn kernels_reach_pinned_memory_in_place(device: &Device) -> Outcome {
    let text = "extern \"C\" __global__ void add(int *x, const int *y) { x[threadIdx.x] += y[threadIdx.x]; }";
    let (add, stream) = (device.compile(text)?.function("add")?, device.stream());
    let mut long = vec![10, 20, 30];
    long.resize(10_000, 0);
    for y in [PinnedVec::from_slice(device, &[10, 20, 30])?, PinnedVec::register(device, long)?] {
        let x = PinnedVec::from_slice(device, &[1, 2, 3])?;
        let addresses = (x.device_address()?, y.device_address()?);
        // SAFETY: three threads change the three elements, and the wait comes before all other uses.
        unsafe { add.launch(LaunchConfig::new(1, 3), addresses, &stream)? };
        stream.synchronize()?;
        ensure_eq!(*x, [11, 22, 33]);
    }
    ensure_eq!(PinnedVec::<u8>::zeros(device, 0)?.device_address()?, 0);
    Ok(())
}

pub fn managed_memory_is_the_host_s_and_the_device_s(device: &Device) -> Outcome {
    let (stream, side) = (Stream::new(device)?, Stream::new(device)?);
    let text = "extern \"C\" __global__ void twice(int *x) { x[blockIdx.x * 256 + threadIdx.x] *= 2; }";
    let twice = device.compile(text)?.function("twice")?;
    let mut x = ManagedVec::<i32>::zeros(&stream, 4096)?;
    ensure!(x.host()?.iter().all(|&x| x == 0));
    x.host_mut()?.iter_mut().enumerate().for_each(|(i, x)| *x = i as i32);
    let advice = [
        Advice::ReadMostly,
        Advice::NotReadMostly,
        Advice::PreferHost,
        Advice::PreferDevice,
        Advice::AccessedByDevice,
        Advice::NotAccessedByDevice,
        Advice::NoPreference,
    ];
    for (round, advice) in advice.into_iter().enumerate() {
        x.advise(advice)?;
        x.prefetch_to_device()?;
        let on = if round % 2 == 0 { &stream } else { &side };
        // SAFETY: each thread changes one element.
        unsafe { twice.launch(LaunchConfig::new(16, 256), (x.as_mut_slice().in_out(),), on)? };
        x.prefetch_to_host()?;
        ensure!(x.host()?.iter().enumerate().all(|(i, &x)| x == (i as i32) << (round + 1)), "{advice:?}");
    }
    let copy = x.as_slice().try_clone()?;
    ensure_eq!(copy.to_vec()?, x.host()?);
    let few = ManagedVec::from_slice(&side, &[1u8, 2])?;
    ensure_eq!(few.host()?, [1, 2]);
    let empty = ManagedVec::<u8>::zeros(&stream, 0)?;
    empty.prefetch_to_device()?;
    empty.advise(Advice::ReadMostly)?;
    ensure!(empty.is_empty() && empty.host()?.is_empty());
    let captured = stream.capture(|| x.host().map(<[i32]>::len));
    ensure!(matches!(captured, Err(DriverError::InCapture { .. })));
    Ok(())
}

pub fn addresses_tell_their_memory(device: &Device) -> Outcome {
    let x = DeviceVec::<u32>::zeros(&device.stream(), 100)?;
    x.home().synchronize()?;
    let facts = device.pointer_facts(x.as_raw() + 40)?;
    ensure_eq!((facts.kind, facts.ordinal), (MemoryKind::Device, Some(device.ordinal())));
    ensure!(facts.start <= x.as_raw() && facts.start + facts.bytes as u64 >= x.as_raw() + 400, "{facts:?}");
    let managed = ManagedVec::<u32>::zeros(&device.stream(), 100)?;
    ensure_eq!(device.pointer_facts(managed.as_slice().as_raw())?.kind, MemoryKind::Managed);
    let pinned = PinnedVec::<u32>::zeros(device, 100)?;
    ensure_eq!(device.pointer_facts(pinned.as_ptr() as u64)?.kind, MemoryKind::Host);
    let plain = [0u32; 3];
    for address in [plain.as_ptr() as u64, 0] {
        let facts = device.pointer_facts(address)?;
        ensure_eq!((facts.kind, facts.ordinal), (MemoryKind::Unknown, None));
    }
    Ok(())
}

pub fn memory_of_any_device_is_copied(device: &Device) -> Outcome {
    let others = (0..Device::count()?).map(Device::new).collect::<Result<Vec<_>, _>>()?;
    for other in others.iter().chain([device]) {
        let (near, far) = (Stream::new(device)?, Stream::new(other)?);
        for round in 0..20u32 {
            let host: Vec<u32> = (0..100_003).map(|i| i ^ round).collect();
            let mut x = DeviceVec::from_slice(&far, &host)?;
            let mut y = DeviceVec::<u32>::zeros(&near, host.len())?;
            y.as_mut_slice().copy_from_peer(x.as_slice())?;
            // The copy comes before later work on either memory.
            x.set_zero()?;
            drop(x);
            ensure!(y.to_vec()? == host, "from {other}, round {round}");
        }
        let mut three = DeviceVec::<u32>::zeros(&near, 3)?;
        let two = DeviceVec::<u32>::zeros(&far, 2)?;
        ensure!(three.as_mut_slice().copy_from_peer(two.as_slice()).is_err());
        println!("{device} reaches {other} by a bus: {}", device.can_access_peer(other)?);
    }
    Ok(())
}

pub fn arrays_grow_in_place(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut x = GrowingVec::<u32>::with_capacity(&stream, 3_000_000)?;
    ensure!(x.capacity() >= 3_000_000 && x.is_empty() && x.allocated() == 0);
    let address = x.as_raw();
    let mut want = Vec::new();
    for length in [3, 0, 1000, 70_000, 1, 900_000] {
        let added: Vec<u32> = (0..length).map(|i| i ^ length).collect();
        x.extend_from_slice(&added)?;
        want.extend_from_slice(&added);
        x.push(length)?;
        want.push(length);
        ensure!(x.as_raw() == address && x.allocated() >= x.len(), "{x:?}");
    }
    ensure!(x.to_vec()? == want);
    ensure!(x.allocated() < 2_500_000, "{} elements of {}", x.allocated(), x.len());
    x.resize(2_000_000, 9)?;
    want.resize(2_000_000, 9);
    x.truncate(1_999_999);
    x.truncate(usize::MAX);
    want.truncate(1_999_999);
    // A kernel reaches all parts, and a slice writes across their borders.
    let text = "extern \"C\" __global__ void last(const unsigned *x, unsigned *y, int n) { y[0] = x[n - 1], y[1] = x[70000]; }";
    let (last, mut ends) = (device.compile(text)?.function("last")?, [0u32; 2]);
    // SAFETY: one thread reads two elements, and writes two.
    unsafe { last.launch(LaunchConfig::new(1, 1), (x.input(), &mut ends, x.len() as i32), &stream)? };
    ensure_eq!(ends, [9, want[70_000]]);
    x.as_mut_slice().copy_from_slice(&want.iter().rev().copied().collect::<Vec<_>>())?;
    ensure!(x.to_vec()?.iter().eq(want.iter().rev()));
    // Elements for which the driver has no pattern.
    let mut pairs = GrowingVec::<f64>::with_capacity(&stream, 10)?;
    pairs.resize(5, 0.1)?;
    ensure_eq!(pairs.to_vec()?, [0.1; 5]);
    drop(x);
    device.synchronize()?;
    Ok(())
}

pub fn arrays_that_grow_wait_for_their_last_kernel(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let text = "extern \"C\" __global__ void add(unsigned *x) { atomicAdd(x + threadIdx.x % 2, threadIdx.x); }";
    let add = device.compile(text)?.function("add")?;
    for _ in 0..10 {
        let mut x = GrowingVec::<u32>::with_capacity(&stream, 100)?;
        x.extend_from_slice(&[1, 2])?;
        // SAFETY: the threads add to two elements, one after another.
        unsafe { add.launch(LaunchConfig::new(64, 256), (x.as_mut_slice().in_out(),), &stream)? };
        drop(x);
    }
    Ok(device.synchronize()?)
}

pub fn error_arrays_that_cannot_grow(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut x = GrowingVec::<u32>::with_capacity(&stream, 10)?;
    x.extend_from_slice(&[1, 2])?;
    let most = x.capacity();
    for error in [x.resize(most + 1, 0), x.resize(usize::MAX, 0), x.extend_from_slice(&vec![0; most - 1])] {
        ensure!(matches!(&error, Err(DriverError::Length { .. })), "{error:?}");
    }
    x.resize(most, 3)?;
    ensure!(x.push(4).is_err() && x.len() == most);
    ensure!(GrowingVec::<u32>::with_capacity(&stream, usize::MAX / 2).is_err());
    let captured = stream.capture(|| {
        x.truncate(2);
        x.push(5)
    });
    ensure!(matches!(captured, Err(DriverError::InCapture { .. })), "{captured:?}");
    ensure_eq!(x.to_vec()?, [1, 2]);
    Ok(())
}
