//! Scans and selections of more than 2^31 and 2^32 elements: on a GPU alone, since they need its memory.

use gpu_algos::{
    gpu_array::{GpuArray, expression::index, gpu_driver::Device},
    prelude::*,
};
use ndarray::{Array1, Array3, Axis, Ix1, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    scans_around_2_to_the_31_and_32,
    lines_of_more_than_2_to_the_32_values,
    segments_that_begin_at_every_place_of_a_tile,
    selections_around_2_to_the_31_and_32,
];

const LENGTHS: [usize; 3] = [(1 << 31) - 1, (1 << 31) + 1, (1 << 32) + 7];

/// `n` times `all`, but for these places.
fn bytes(
    device: &Device,
    n: usize,
    all: u8,
    others: &[(usize, u8)],
) -> Result<GpuArray<u8, Ix1>, gpu_algos::AlgoError> {
    let mut x = GpuArray::full(device, n, all)?;
    for &(at, value) in others {
        x.slice_mut(s![at..=at])?.fill(value)?;
    }
    Ok(x)
}

/// Both ends, and what is beside the places that fewer bits count.
fn places(n: usize) -> Vec<usize> {
    let inner = [0, 1, (1 << 31) - 2, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32];
    inner.into_iter().filter(|&at| at < n - 1).chain([n - 1]).collect()
}

fn scans_around_2_to_the_31_and_32(device: &Device) -> Outcome {
    for n in LENGTHS {
        let middle = n / 2 + 3;
        let x = bytes(device, n, 1, &[(middle, 7)])?;
        let greatest = x.cummax().eval()?;
        let least = x.cummin().reverse().exclusive().eval()?;
        for at in places(n).into_iter().chain([middle - 1, middle]) {
            let one = s![at..=at];
            ensure_eq!((n, at, greatest.slice(one)?.to_ndarray()?[0]), (n, at, if at < middle { 1 } else { 7 }));
            ensure_eq!((n, at, least.slice(one)?.to_ndarray()?[0]), (n, at, if at == n - 1 { u8::MAX } else { 1 }));
        }
        drop((greatest, least));
        let sums = x.cumsum().eval()?;
        for at in places(n) {
            let want = at as u64 + 1 + if at < middle { 0 } else { 6 };
            ensure_eq!((n, at, sums.slice(s![at..=at])?.to_ndarray()?[0]), (n, at, want));
        }
        drop(sums);
        // From its second element on no pack is aligned with the array's.
        let exclusive = x.slice(s![1..])?.cumsum().exclusive().eval()?;
        let at = n - 2;
        ensure_eq!((n, exclusive.slice(s![at..=at])?.to_ndarray()?[0]), (n, at as u64 + 6));
    }
    Ok(())
}

/// Lines that cannot be joined, along either axis: each is found by a division of numbers of more than 32 bits.
fn lines_of_more_than_2_to_the_32_values(device: &Device) -> Outcome {
    let n = 70_000usize;
    let value = |at: usize| (at * 7 % 251) as u8;
    let host = Array3::from_shape_fn((n, 1, 2), |(at, _, last)| if last == 0 { value(at) } else { 255 });
    let x = GpuArray::from_ndarray(device, &host)?;
    let view = x.view();
    let wide = view.broadcast((n, n, 2))?;
    let along = wide.cummax().axis(Axis(2)).eval()?;
    for (row, column) in [(0, 0), (22_845, 11_000), (33_333, 1), (n - 1, n - 1)] {
        let got = along.slice(s![row, column, ..])?.to_ndarray()?;
        ensure_eq!((row, column, got), (row, column, array![value(row), 255]));
    }
    drop(along);
    let down = wide.slice(s![.., .., ..1])?.cummax().axis(Axis(0)).eval()?;
    let mut most = 0;
    for row in 0..n {
        most = most.max(value(row));
        if row < 40 || row == n - 1 {
            ensure_eq!((row, down.slice(s![row, n - 1, ..])?.to_ndarray()?), (row, array![most]));
        }
    }
    Ok(())
}

fn segments_that_begin_at_every_place_of_a_tile(device: &Device) -> Outcome {
    // One in each tile, in each at the next place: of tiles of so many values.
    for tile in [8192, 11_264, 12_288] {
        let n = tile * (tile + 1);
        let length = tile as i64 + 1;
        let ones = GpuArray::<f32, _>::full(device, n, 1.0)?;
        let place = || index::<Ix1, _>(Axis(0)).broadcast(n);
        let (segment, since) = (|| place() / length, || (place() % length).cast::<f32>());
        let flags = (place() % length).eq(0i64).eval_on(device)?;
        let keys = segment().cast::<i32>().eval_on(device)?;
        let mut got = ones.cumsum().segments(&flags).eval()?;
        ensure_eq!((tile, got.ne(since() + 1.0f32).count().get()?), (tile, 0));
        ones.cumsum().by_key(&keys).exclusive().write_into(&mut got)?;
        ensure_eq!((tile, got.ne(since()).count().get()?), (tile, 0));
    }
    Ok(())
}

fn selections_around_2_to_the_31_and_32(device: &Device) -> Outcome {
    for n in LENGTHS {
        let odd: Vec<(usize, u8)> = places(n).into_iter().zip(7..).collect();
        let x = bytes(device, n, 1, &odd)?;
        let want: Array1<u8> = odd.iter().map(|&(_, value)| value).collect();
        ensure_eq!((n, x.select(x.gt(1)).eval()?.to_ndarray()?), (n, want.clone()));
        let ones = x.select(x.lt(2)).eval()?;
        ensure_eq!((n, ones.len()?), (n, n - odd.len()));
        ensure!(ones.view()?.max().get()? == 1);
        drop(ones);
        let (parted, count) = x.partition(x.gt(1)).eval()?.into_parts();
        ensure_eq!((n, count.get()?), (n, odd.len() as i64));
        ensure_eq!((n, parted.slice(s![..odd.len()])?.to_ndarray()?), (n, want));
        ensure_eq!(parted.slice(s![odd.len()..])?.min_max().get()?, (1, 1));
        drop(parted);
        let runs = x.unique().eval()?.to_ndarray()?;
        ensure_eq!((n, runs[0], runs[runs.len() - 1]), (n, 7, 6 + odd.len() as u8));
    }
    // Places take eight times as much memory as the bytes that they are of.
    let n = LENGTHS[1];
    let x = bytes(device, n, 0, &[(3, 1), (n - 1, 1)])?;
    ensure_eq!(x.nonzero().eval()?.to_ndarray()?, array![3, n as i64 - 1]);
    let (values, offsets, lengths) = x.run_length_encode().eval()?.into_arrays()?;
    ensure_eq!(values.to_ndarray()?, array![0, 1, 0, 1]);
    ensure_eq!(offsets.to_ndarray()?, array![0, 3, 4, n as i64 - 1]);
    ensure_eq!(lengths.to_ndarray()?, array![3, 1, n as i64 - 5, 1]);
    Ok(())
}
