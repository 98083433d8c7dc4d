//! Cumulative sums and selections on the CPU's threads: ours, and the peers'.

use gpu_algos::host::{self, Operand, ScanKind, Sum};
use gpu_sparse::Scalar;
use ndarray::{Array1, Array2, Axis};

use crate::{
    data,
    harness::{Check, Harness, Outcome, Work},
};

/// Cumulative sums along an axis, into an array that is there.
pub(crate) type AlongAxis<T> = fn(&Array2<T>, &mut Array2<T>, Axis) -> Outcome<()>;

/// Cumulative sums of a whole array, likewise.
pub(crate) type Along<T> = fn(&Array1<T>, &mut Array1<T>) -> Outcome<()>;
/// The elements that are above 0.
pub(crate) type Select<T> = fn(&Array1<T>) -> Outcome<Vec<T>>;

/// A way to scan and to select; None for an operation that it does not have.
pub(crate) struct Scanned<T> {
    pub(crate) by: &'static str,
    pub(crate) cumsum: Option<Along<T>>,
    pub(crate) along: Option<AlongAxis<T>>,
    pub(crate) select: Option<Select<T>>,
}

/// Ours.
pub(super) fn figures(harness: &mut Harness) {
    scans_by(harness, &ours::<f32>());
    scans_by(harness, &ours::<f64>());
}

fn ours<T: Scalar + Operand<Sum = T>>() -> Scanned<T> {
    Scanned {
        by: "gpu-algos-rayon",
        cumsum: Some(|x, out| Ok(host::scan_into(&Sum::new(), x, Axis(0), ScanKind::INCLUSIVE, out.view_mut())?)),
        along: Some(|x, out, axis| Ok(host::scan_into(&Sum::new(), x, axis, ScanKind::INCLUSIVE, out.view_mut())?)),
        select: Some(|x| Ok(host::copy_if(x, |x| Operand::to_f64(*x) > 0.0).into_raw_vec_and_offset().0)),
    }
}

/// The figures of one who scans.
pub(crate) fn scans_by<T: Scalar>(harness: &mut Harness, who: &Scanned<T>) {
    let n = harness.set().pick(1 << 12, 1_000_000, 10_000_000);
    let bytes = (n * size_of::<T>()) as u64;
    let x = move || Array1::from_vec(data::uniform::<T>(n));
    if let Some(cumsum) = who.cumsum {
        harness.figure("scan-cumsum", data::dtype::<T>(), n, who.by).work(Work::copies(2 * bytes)).on_cpu(
            || Ok((x(), x())),
            |(x, out)| cumsum(x, out),
            |(x, out), ()| Ok(check_cumsum(x.iter().zip(&*out))),
        );
    }
    if let Some(select) = who.select {
        // Half of them are kept.
        harness.figure("select", data::dtype::<T>(), n, who.by).work(Work::copies(bytes + bytes / 2)).on_cpu(
            || Ok(x()),
            |x| select(x),
            |x, got| {
                let want: Vec<T> = x.iter().copied().filter(|&x| Scalar::to_f64(x) > 0.0).collect();
                Ok(Check::equal(&got, &want))
            },
        );
    }
    let Some(along) = who.along else { return };
    // 2500 rows of 4000 in the full set.
    let columns = harness.set().pick(64, 1000, 4000);
    for axis in [Axis(0), Axis(1)] {
        let case = format!("{}x{columns}", n / columns);
        let figure = harness.figure(&format!("scan-axis{}", axis.index()), data::dtype::<T>(), case, who.by);
        let matrix = || Array2::from_shape_vec((n / columns, columns), data::uniform::<T>(n));
        figure.work(Work::copies(2 * bytes)).on_cpu(
            || Ok((matrix()?, matrix()?)),
            |(x, out)| along(x, out, axis),
            |(x, out), ()| {
                let lanes = x.lanes(axis).into_iter().zip(out.lanes(axis));
                let error = lanes.map(|(x, out)| check_cumsum(x.iter().zip(out)).error).fold(0.0, Check::larger);
                Ok(Check::within(error, super::bound::<T>()))
            },
        );
    }
}

/// Each sum, relative to that of the magnitudes.
fn check_cumsum<'a, T: Scalar>(pairs: impl Iterator<Item = (&'a T, &'a T)>) -> Check {
    let bound = super::bound::<T>();
    let (mut sum, mut size, mut error) = (0.0, 0.0, 0.0);
    for (&x, &got) in pairs {
        let x = Scalar::to_f64(x);
        (sum, size) = (sum + x, size + x.abs());
        error = Check::larger(error, Check::close(Scalar::to_f64(got), sum, size, bound).error);
    }
    Check::within(error, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_results_are_seen() {
        let x = Array1::from_vec(data::uniform::<f64>(1200));
        let who = ours::<f64>();
        let mut out = Array1::zeros(1200);
        (who.cumsum.unwrap())(&x, &mut out).unwrap();
        assert!(check_cumsum(x.iter().zip(&out)).is_right());
        out[700] += 1e-3;
        assert!(!check_cumsum(x.iter().zip(&out)).is_right());
        out[700] = f64::NAN;
        assert!(!check_cumsum(x.iter().zip(&out)).is_right());
    }
}
