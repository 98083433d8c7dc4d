//! Reductions of more than 2^31 and 2^32 elements: on a GPU alone, since they need its memory.

use gpu_algos::{
    gpu_array::{
        Element, GpuArray,
        gpu_driver::{Device, emulated::Emulated},
    },
    kernels::ReductionKernel,
    prelude::*,
};
use ndarray::{Array1, Array3, Axis, Ix1, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    bytes_around_2_to_the_31_and_32,
    doubles_of_more_than_2_to_the_32_bytes,
    more_than_2_to_the_31_rows,
    columns_of_more_than_2_to_the_31_places,
    long_rows_that_lie_apart,
    pycuda_big_array_reduction,
];

/// Of as many results, of which the emulated device makes a few.
pub const FEW_BLOCKS: &[Test<Device>] = tests![more_than_2_to_the_32_results];

/// 2^31 and a few.
const ROWS: usize = (1 << 31) + 5;

fn bytes_around_2_to_the_31_and_32(device: &Device) -> Outcome {
    for n in [(1usize << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) + 7] {
        let mut x = GpuArray::full(device, n, 1u8)?;
        for at in [n - 5, n / 2, 0] {
            x.fill(1)?;
            x.slice_mut(s![at..=at])?.fill(0)?;
            let others = n as u64 - 1;
            ensure_eq!((n, at, x.sum().get()?), (n, at, others));
            ensure_eq!((n, at, x.count().get()?), (n, at, others as i64));
            ensure_eq!((n, at, x.argmin().get()?), (n, at, at as i64));
            ensure_eq!((n, at, x.argmax().get()?), (n, at, i64::from(at == 0)));
            ensure_eq!((x.min_max().get()?, x.all().get()?, x.any().get()?), ((0, 1), false, true));
            ensure_eq!(x.mean().get()?, others as f64 / n as f64);
            x.fill(0)?;
            x.slice_mut(s![at..=at])?.fill(7)?;
            ensure_eq!((n, at, x.argmax().get()?, x.max().get()?), (n, at, at as i64, 7));
            ensure_eq!((x.any().get()?, x.sum().get()?), (true, 7));
            // From its second element on no pack is aligned with the array; backwards places count from the end.
            if at > 0 {
                ensure_eq!(x.slice(s![1..])?.argmax().get()?, at as i64 - 1);
            }
            ensure_eq!(x.slice(s![..;-1])?.argmax().get()?, (n - 1 - at) as i64);
        }
    }
    Ok(())
}

fn doubles_of_more_than_2_to_the_32_bytes(device: &Device) -> Outcome {
    let n = (1usize << 29) + 7;
    let mut x = GpuArray::full(device, n, 0.5f64)?;
    x.slice_mut(s![n - 3..n - 2])?.fill(100.5)?;
    // Halves below 2^53: exact in any order.
    let sum = n as f64 / 2.0 + 100.0;
    ensure_eq!((x.sum().get()?, x.mean().get()?), (sum, sum / n as f64));
    ensure_eq!((x.argmax().get()?, x.max().get()?, x.min().get()?), (n as i64 - 3, 100.5, 0.5));
    ensure_eq!(x.dot(&x).get()?, (n as f64 - 1.0) / 4.0 + 100.5 * 100.5);
    let middle = GpuArray::full(device, n, 1.5f64)?;
    ensure_eq!(middle.mean_var(1).get()?, (1.5, 0.0));
    Ok(())
}

/// That an array has one value, but for these places; looked at around them, at both ends and at 2^31.
fn is_all_but<T: Element>(x: &GpuArray<T, Ix1>, value: T, others: &[(usize, T)]) -> Outcome {
    let n = x.len();
    for at in others.iter().map(|&(at, _)| at).chain([0, n, 1 << 31]) {
        let (start, end) = (at.saturating_sub(150).min(n), (at + 150).min(n));
        let mut want = Array1::from_elem(end - start, value);
        for &(other, value) in others.iter().filter(|(other, _)| (start..end).contains(other)) {
            want[other - start] = value;
        }
        ensure!(x.slice(s![start..end])?.to_ndarray()? == want, "from {start} of {n}");
    }
    Ok(())
}

fn more_than_2_to_the_31_rows(device: &Device) -> Outcome {
    let changed = [1usize, (1 << 31) - 1, 1 << 31, ROWS - 1];
    let mut x = GpuArray::full(device, (ROWS, 3), 1u8)?;
    for row in changed {
        x.slice_mut(s![row, 1..])?.fill(9)?;
    }
    is_all_but(&x.sum().axis(Axis(1)).eval()?, 3, &changed.map(|row| (row, 19u64)))?;
    is_all_but(&x.max().axis(Axis(1)).eval()?, 1, &changed.map(|row| (row, 9u8)))?;
    is_all_but(&x.argmax().axis(Axis(1)).eval()?, 0, &changed.map(|row| (row, 1i64)))?;
    let narrow = x.slice(s![.., 2..])?;
    is_all_but(&narrow.max().axis(Axis(1)).eval()?, 1, &changed.map(|row| (row, 9u8)))?;
    ensure_eq!(narrow.sum().axis(Axis(0)).eval()?.to_ndarray()?, array![ROWS as u64 + 32]);
    // Rows with gaps between them: places are found by division in 64 bits.
    let apart = x.slice(s![.., 1..])?;
    ensure_eq!((apart.sum().get()?, apart.argmax().get()?), (2 * ROWS as u64 + 64, 2));
    ensure_eq!(x.slice(s![2.., 1..])?.argmax().get()?, 2 * ((1i64 << 31) - 3));
    drop(x);
    let column = GpuArray::full(device, (ROWS, 1), 2u8)?;
    is_all_but(&column.sum().axis(Axis(1)).eval()?, 2u64, &[])?;
    ensure_eq!(column.sum().axis(Axis(0)).eval()?.to_ndarray()?, array![2 * ROWS as u64]);
    Ok(())
}

fn columns_of_more_than_2_to_the_31_places(device: &Device) -> Outcome {
    let mut x = GpuArray::full(device, (ROWS, 3), 1u8)?;
    x.slice_mut(s![ROWS - 2, 0])?.fill(2)?;
    x.slice_mut(s![1usize << 31, 1])?.fill(3)?;
    let rows = ROWS as u64;
    ensure_eq!(x.sum().axis(Axis(0)).eval()?.to_ndarray()?, array![rows + 1, rows + 2, rows]);
    ensure_eq!(x.argmax().axis(Axis(0)).eval()?.to_ndarray()?, array![ROWS as i64 - 2, 1 << 31, 0]);
    ensure_eq!(x.argmax().axis(Axis(1)).keep_dims().eval()?.slice(s![1usize << 31, ..])?.to_ndarray()?, array![1]);
    ensure_eq!(x.t().sum().axis(Axis(1)).eval()?.to_ndarray()?, array![rows + 1, rows + 2, rows]);
    ensure_eq!((x.sum().get()?, x.argmax().get()?), (3 * rows + 3, 3 * (1 << 31) + 1));
    Ok(())
}

fn long_rows_that_lie_apart(device: &Device) -> Outcome {
    let length = (1usize << 30) + 1;
    let mut x = GpuArray::full(device, (3, length), 1u8)?;
    x.slice_mut(s![2, length - 1])?.fill(5)?;
    let n = length as u64;
    ensure_eq!(x.sum().axis(Axis(1)).eval()?.to_ndarray()?, array![n, n, n + 4]);
    ensure_eq!(x.argmax().axis(Axis(1)).eval()?.to_ndarray()?, array![0, 0, length as i64 - 1]);
    is_all_but(&x.sum().axis(Axis(0)).eval()?, 3u64, &[(length - 1, 7)])?;
    is_all_but(&x.argmax().axis(Axis(0)).eval()?, 0i64, &[(length - 1, 2)])?;
    ensure_eq!((x.sum().get()?, x.argmax().get()?), (3 * n + 4, 3 * length as i64 - 1));
    ensure_eq!(x.t().argmax().get()?, 3 * length as i64 - 1);
    ensure_eq!(x.slice(s![.., 1..])?.sum().get()?, 3 * n + 1);
    Ok(())
}

/// `test_big_array_reduction` of PyCUDA, also in order.
fn pycuda_big_array_reduction(device: &Device) -> Outcome {
    let n = (1usize << 32) + 11;
    let mut x = GpuArray::full(device, n, 1u8)?;
    x.slice_mut(s![n - 4..n - 3])?.fill(0)?;
    let new = |reduce, map| ReductionKernel::<i64>::new("const unsigned char *x", "-1", reduce, map);
    let last = new("b < 0 ? a : b", "x[i] ? -1 : i")?;
    let greatest = new("a > b ? a : b", "x[i] ? i : -1")?.commutative();
    let sum = ReductionKernel::<i64>::new("const unsigned char *x", "0", "a + b", "x[i]")?;
    // SAFETY: the texts read place i of their array.
    let (in_order, place, all, any_order) = unsafe {
        let of = [(&x).into()];
        (sum.call(&of)?, last.call(&of)?, greatest.call(&of)?, sum.commutative().call(&[(&x).into()])?)
    };
    ensure_eq!((in_order.to_vec()?, any_order.to_vec()?), (vec![n as i64 - 1], vec![n as i64 - 1]));
    ensure_eq!((place.to_vec()?, all.to_vec()?), (vec![n as i64 - 4], vec![n as i64 - 1]));
    Ok(())
}

/// Results along two axes that cannot be joined, so that the place of each is found by a division of numbers of more than 32 bits.
fn more_than_2_to_the_32_results(device: &Device) -> Outcome {
    let n = 70_000usize;
    let value = |at: usize| (at * 7 % 251) as u8;
    let host = Array3::from_shape_fn((n, 1, 2), |(at, _, last)| value(at) / (1 + last as u8));
    let own = Emulated::new().open();
    let device = if device.is_emulated() { &own? } else { device };
    let x = GpuArray::from_ndarray(device, &host)?;
    let view = x.view();
    let wide = view.broadcast((n, n, 2))?;
    let places = [(0, 0), (11_000, 22_845), (1, 33_333), (20, n - 1), (n - 1, n - 1)];
    if let Some(emulation) = device.emulation() {
        // Results are counted along the array's own axis first; a block has some power of two of them.
        let around = |(row, column): (usize, usize)| (0..=10).map(move |log| ((column * n + row) >> log) as u64);
        let mut blocks: Vec<u64> = places.into_iter().flat_map(around).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let blocks: Vec<_> = blocks.into_iter().map(|block| block..block + 1).collect();
        emulation.run_only_blocks(&blocks)?;
    }
    let greatest = wide.max().axis(Axis(2)).eval()?;
    for (row, column) in places {
        let got = greatest.slice(s![row, column..=column])?.to_ndarray()?;
        ensure_eq!((row, column, got), (row, column, array![value(row)]));
    }
    Ok(())
}
