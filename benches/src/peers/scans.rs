//! Cumulative sums and selections as one writes them with `ndarray`, which has no parallel form, with rayon, and with neither.

use gpu_sparse::Scalar;
use ndarray::LinalgScalar;
use rayon::prelude::*;

use crate::{
    algos::{Scanned, scans_by},
    harness::Harness,
};

/// All of them.
pub(super) fn figures(harness: &mut Harness) {
    of_type::<f32>(harness);
    of_type::<f64>(harness);
}

fn of_type<T: Scalar + LinalgScalar + PartialOrd>(harness: &mut Harness) {
    let with_ndarray = Scanned::<T> {
        by: "ndarray",
        cumsum: Some(|x, out| {
            out.assign(x);
            out.accumulate_axis_inplace(ndarray::Axis(0), |&before, x| *x = before + *x);
            Ok(())
        }),
        along: Some(|x, out, axis| {
            out.assign(x);
            out.accumulate_axis_inplace(axis, |&before, x| *x = before + *x);
            Ok(())
        }),
        select: None,
    };
    let serial = Scanned::<T> {
        by: "std-serial",
        cumsum: Some(|x, out| {
            let mut sum = T::zero();
            for (out, &x) in out.iter_mut().zip(x) {
                sum += x;
                *out = sum;
            }
            Ok(())
        }),
        along: None,
        select: Some(|x| Ok(x.iter().copied().filter(|&x| x > T::zero()).collect())),
    };
    let with_rayon = Scanned::<T> {
        by: "rayon",
        cumsum: None,
        along: None,
        select: Some(|x| {
            let x = x.as_slice().unwrap_or_default();
            Ok(x.par_iter().copied().filter(|&x| x > T::zero()).collect())
        }),
    };
    for who in [with_ndarray, serial, with_rayon] {
        scans_by(harness, &who);
    }
}
