//! Selections on a device, into arrays that are there, of values of which about half are negative.

use gpu_algos::prelude::*;
use gpu_array::GpuArray;
use ndarray::{Ix0, Ix1};

use super::BY;
use crate::{
    arrays::{Input, elements},
    harness::{Check, Harness, Work},
};

pub(super) fn figures(harness: &mut Harness) {
    let lengths = harness.set().pick(vec![1 << 12], vec![1 << 20], vec![1 << 14, 1 << 20, 1 << 28]);
    for n in lengths {
        let x = Input::<f32>::new(n);
        // Half of it is written.
        let work = Work::moves(x.bytes() + x.bytes() / 2);
        harness.figure("select-half", "f32", n, BY).work(work).on_gpu(
            |gpu| {
                let out = GpuArray::<f32, Ix1>::zeros(gpu.stream(), n)?;
                Ok((x.on(gpu)?, out, GpuArray::<i64, Ix0>::zeros(gpu.stream(), ())?))
            },
            |(x, out, count)| Ok(x.device.select(x.device.lt(0.0)).write_into(&mut *out, &mut *count)?),
            |(x, out, count), ()| {
                let want = x.host.iter().copied().filter(|&x| x < 0.0);
                Ok(Check::holds(has(&elements(out)?, count.get()?, want)))
            },
        );
        harness.figure("partition-half", "f32", n, BY).work(Work::moves(2 * x.bytes())).on_gpu(
            |gpu| {
                let out = GpuArray::<f32, Ix1>::zeros(gpu.stream(), n)?;
                Ok((x.on(gpu)?, out, GpuArray::<i64, Ix0>::zeros(gpu.stream(), ())?))
            },
            |(x, out, count)| Ok(x.device.partition(x.device.lt(0.0)).write_into(&mut *out, &mut *count)?),
            |(x, out, count), ()| {
                let selected = x.host.iter().filter(|&&x| x < 0.0).count();
                let all = x.host.iter().filter(|&&x| x < 0.0).chain(x.host.iter().filter(|&&x| x >= 0.0));
                let is_right = count.get()? == selected as i64 && elements(out)?.iter().eq(all);
                Ok(Check::holds(is_right))
            },
        );
    }
}

/// Whether the first elements are `want`, and the count says how many.
fn has(got: &[f32], count: i64, want: impl Iterator<Item = f32>) -> bool {
    let mut number = 0;
    let same = want.enumerate().all(|(i, want)| (number = i + 1, got.get(i) == Some(&want)).1);
    same && number as i64 == count
}

#[cfg(test)]
mod tests {
    use super::has;

    #[test]
    fn wrong_selections_are_seen() {
        let want = || [1.0, 2.0].into_iter();
        assert!(has(&[1.0, 2.0, 9.0], 2, want()) && has(&[], 0, std::iter::empty()));
        assert!(!has(&[1.0, 3.0, 9.0], 2, want()) && !has(&[1.0, 2.0, 9.0], 3, want()) && !has(&[1.0], 2, want()));
    }
}
