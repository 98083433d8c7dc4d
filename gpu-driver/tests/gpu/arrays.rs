//! CUDA arrays, and copies from and to them.

use gpu_driver::{ArrayShape, Channel, CudaArray, Device, DeviceVec, DriverError, Pitched, Stream};
use testkit::{Outcome, ensure, ensure_eq};

/// One shape of each form.
pub fn shapes() -> [ArrayShape; 7] {
    [
        ArrayShape::line(13),
        ArrayShape::plane(5, 7),
        ArrayShape::volume(3, 4, 5),
        ArrayShape::layered_line(3, 6),
        ArrayShape::layered_plane(4, 3, 5),
        ArrayShape::cubemap(4),
        ArrayShape::layered_cubemap(2, 3),
    ]
}

/// Numbers in no order that is easily seen.
pub fn numbers<T>(count: usize, of: impl Fn(u32) -> T) -> Vec<T> {
    (0..count as u32).map(|i| of(i.wrapping_mul(2_654_435_761) >> 7)).collect()
}

pub fn arrays_of_every_shape_and_type_round_trip(device: &Device) -> Outcome {
    fn check<T: Channel + PartialEq>(device: &Device, of: impl Fn(u32) -> T) -> Outcome {
        let (home, other) = (device.stream(), Stream::new(device)?);
        for (shape, channels) in shapes().into_iter().zip([1, 2, 4].into_iter().cycle()) {
            let shape = shape.with_channels(channels);
            let host = numbers(shape.values(), &of);
            let mut array = CudaArray::from_slice(&home, shape, &host)?;
            ensure!(array.to_vec()? == host, "{array:?}");
            let mut back = vec![of(0); host.len()];
            array.copy_to_slice(&mut back)?;
            ensure!(back == host, "{array:?}");
            // Through device memory whose home is another stream, and through another array.
            let mut memory = DeviceVec::<T>::zeros(&other, host.len())?;
            array.copy_to(&mut memory.as_mut_slice())?;
            ensure!(memory.to_vec()? == host, "{array:?}");
            let reversed: Vec<T> = host.iter().rev().copied().collect();
            memory.copy_from_slice(&reversed)?;
            array.copy_from(memory.as_slice())?;
            let mut copy = CudaArray::<T>::zeros(&other, shape)?;
            ensure!(copy.to_vec()? == vec![of(0); host.len()], "zeros of {array:?}");
            copy.copy_from_array(&array)?;
            drop(array);
            ensure!(copy.to_vec()? == reversed, "{copy:?}");
        }
        Ok(())
    }
    check(device, |i| i as u8)?;
    check(device, |i| i as i8)?;
    check(device, |i| i as u16)?;
    check(device, |i| i as i16)?;
    check(device, |i| i)?;
    check(device, |i| i as i32)?;
    check(device, |i| i as f32)
}

pub fn boxes_are_copied_into_arrays_and_out_of_them(device: &Device) -> Outcome {
    let (home, other) = (device.stream(), Stream::new(device)?);
    let shape = ArrayShape::volume(4, 5, 6).with_channels(2);
    let old = numbers(shape.values(), |i| i);
    let new = numbers(300, |i| !i);
    // Two layers of three rows of two elements, at (1, 2, 3).
    let place = Pitched::volume(2, 3, 4).within(11).within_layers(5).from(7);
    let mut want = old.clone();
    let mut want_back = vec![5u32; 300];
    for (layer, row, column) in (0..2).flat_map(|l| (0..3).flat_map(move |r| (0..4).map(move |c| (l, r, c)))) {
        let at = ((layer + 1) * 5 + row + 2) * 12 + 6 + column;
        let in_memory = 7 + (layer * 5 + row) * 11 + column;
        want[at] = new[in_memory];
        want_back[in_memory] = new[in_memory];
    }
    let mut array = CudaArray::from_slice(&home, shape, &old)?;
    array.copy_box_from_slice([1, 2, 3], &new, place)?;
    ensure_eq!(array.to_vec()?, want);
    let mut back = vec![5; 300];
    array.copy_box_to_slice([1, 2, 3], &mut back, place)?;
    ensure_eq!(back, want_back);
    array.copy_from_slice(&old)?;
    let memory = DeviceVec::from_slice(&other, &new)?;
    array.copy_box_from([1, 2, 3], memory.as_slice(), place)?;
    ensure_eq!(array.to_vec()?, want);
    let mut memory = DeviceVec::from_slice(&other, &[5u32; 300])?;
    array.copy_box_to_device([1, 2, 3], &mut memory.as_mut_slice(), place)?;
    ensure_eq!(memory.to_vec()?, want_back);
    array.copy_box_from_slice([4, 5, 6], &[], Pitched::volume(0, 0, 0))?;
    ensure_eq!(array.to_vec()?, want);
    let whole = |error: Result<(), DriverError>| error.err().map(|error| error.to_string()).unwrap_or_default();
    for (start, place, part) in [
        ([3, 2, 3], place, "a box within 4 x 5 x 6 elements"),
        ([1, 3, 3], place, "from (1, 3, 3) on"),
        ([1, 2, 5], place, "2 x 3 x 2 elements"),
        ([usize::MAX, 0, 0], place, "a box within"),
        ([0; 3], Pitched::plane(1, 3), "whole elements of 2 channels"),
        ([0; 3], Pitched::plane(4, 4).within(100), "a box within 0..300"),
    ] {
        for text in [
            whole(array.copy_box_from_slice(start, &new, place)),
            whole(array.copy_box_to_slice(start, &mut back, place)),
            whole(array.copy_box_from(start, memory.as_slice(), place)),
            whole(array.copy_box_to_device(start, &mut memory.as_mut_slice(), place)),
        ] {
            ensure!(text.contains(part), "{start:?} {place:?}: {text}");
        }
    }
    Ok(())
}
