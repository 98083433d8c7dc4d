//! Crates that are always here: `sprs` and `ndarray`.

use gpu_sparse::Scalar;
use ndarray::{Array1, Zip, linalg::Dot};

use super::Real;
use crate::{
    algos, arrays, data,
    harness::Harness,
    sparse::{Input, Operation, check_product},
};

/// `sprs`: products on one thread.
pub(super) fn products<T: Real>(harness: &mut Harness, input: &Input<'_, T>) {
    let case = input.case();
    if !case.operations.contains(&Operation::Spmv) {
        return;
    }
    harness
        .figure("spmv", data::dtype::<T>(), &case.name, "sprs")
        .work_of(|| {
            let a = input.matrix()?;
            // It counts and points in usize.
            input.work_of(Operation::Spmv, (a.nnz() * (size_of::<T>() + 8) + 8 * (a.rows() + 1)) as u64)
        })
        .on_cpu(
            || Ok((input.matrix()?.to_sprs(), input.x()?, input.b()?)),
            |(a, x, y)| {
                y.fill(T::zero());
                T::add_product(a.view(), x, y);
                Ok(())
            },
            |(_, x, y), ()| Ok(check_product(input.matrix()?, x, y)),
        );
}

/// `ndarray`: dot products on one thread.
pub(super) fn dots(harness: &mut Harness) {
    for n in algos::lengths::<f32>(harness) {
        dot::<f32>(harness, n);
    }
    for n in algos::lengths::<f64>(harness) {
        dot::<f64>(harness, n);
    }
}

fn dot<T: Scalar>(harness: &mut Harness, n: usize)
where
    Array1<T>: Dot<Array1<T>, Output = T>,
{
    harness.figure("dot", data::dtype::<T>(), n, "ndarray").work(algos::dot_work::<T>(n)).on_cpu(
        || Ok((Array1::from_vec(data::uniform::<T>(n)), Array1::from_vec(data::uniform_from::<T>(n, n)))),
        |(x, y)| Ok(x.dot(&*y)),
        |(x, y), got| {
            let (x, y) = (x.as_slice().unwrap_or_default(), y.as_slice().unwrap_or_default());
            Ok(algos::check_dot(x, y, Scalar::to_f64(got)))
        },
    );
}

/// `ndarray`: expressions as they are written by hand for all threads.
pub(super) fn zips(harness: &mut Harness) {
    for &n in arrays::lengths(harness) {
        arrays::lincomb(harness, n, "ndarray-zip", |x, y| {
            Ok(Zip::from(x).and(y).par_map_collect(|x, y| 5.0 * x + 6.0 * y))
        });
        arrays::wave(harness, n, "ndarray-zip", |x, y| {
            Ok(Zip::from(x).and(y).par_map_collect(|x, y| x.exp() * y.sin() + x.abs().sqrt()))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_product_is_checked() {
        let (x, y) = (data::uniform::<f32>(1000), data::uniform_from::<f32>(1000, 1000));
        assert_ne!(x, y);
        let got = Array1::from_vec(x.clone()).dot(&Array1::from_vec(y.clone()));
        let right = algos::check_dot(&x, &y, f64::from(got));
        assert!(right.is_right() && !algos::check_dot(&x, &y, f64::from(got) + 1.0).is_right());
    }
}
