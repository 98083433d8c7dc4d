//! Scans and selection of a case, along the first of its axes.

use gpu_algos::{host, operators::*, reference};
use ndarray::{Array1, Axis, concatenate};
use testkit::Rng;

use super::Case;

pub(crate) fn of_case<T: Operand>(cases: &mut String, rng: &mut Rng, case: &Case<'_, T>) {
    let (view, axis) = (&case.view, case.axes[0]);
    scans(cases, case, "cumsum", &Sum::new());
    scans(cases, case, "cumprod", &Product::new());
    scans(cases, case, "cummax", &Max::new());
    scans(cases, case, "cummin", &Min::new());
    // NumPy's own masks: in C order, true where an element is above 0.
    let mask = view.mapv(|x| x > T::ZERO);
    for got in [host::select(view, &mask), reference::select(view, &mask)] {
        case.line(cases, "select", &got.expect("of one shape"), &[]);
    }
    let keep = |x: &T| *x > T::ZERO;
    for (got, _) in [host::partition(view, keep), reference::partition(view, keep)] {
        case.line(cases, "partition", &got, &[]);
    }
    for got in [host::nonzero(view), reference::nonzero(view)] {
        let places: Vec<Array1<i64>> = got.expect("there are axes");
        let views: Vec<_> = places.iter().map(|along| along.view()).collect();
        case.line(cases, "nonzero", &concatenate(Axis(0), &views).expect("of one length"), &[]);
    }
    let mask: Vec<bool> = (0..view.len_of(axis)).map(|_| rng.below(2) == 0).collect();
    for got in [host::compress(view, &mask, axis), reference::compress(view, &mask, axis)] {
        case.line(cases, "compress", &got.expect("as long as the axis"), &mask);
    }
    let flat: Array1<T> = view.iter().copied().collect();
    for got in [host::unique(&flat), reference::unique(&flat)] {
        case.line(cases, "unique", &got, &[]);
    }
    for runs in [host::run_length_encode(&flat), reference::run_length_encode(&flat)] {
        case.line(cases, "run_values", &runs.values, &[]);
        case.line(cases, "run_offsets", &runs.offsets, &[]);
        case.line(cases, "run_lengths", &runs.lengths, &[]);
    }
}

fn scans<T: Operand, O: Cumulative<Value = T, Output: gpu_array::Element + Default>>(
    cases: &mut String,
    case: &Case<'_, T>,
    name: &str,
    op: &O,
) {
    let kinds = [
        ("", ScanKind::INCLUSIVE),
        ("exclusive_", ScanKind::EXCLUSIVE),
        ("reversed_", ScanKind::INCLUSIVE.reversed()),
        ("reversed_exclusive_", ScanKind::EXCLUSIVE.reversed()),
    ];
    for (kind, how) in kinds {
        let axis = case.axes[0];
        for got in [host::scan(op, &case.view, axis, how), reference::scan(op, &case.view, axis, how)] {
            case.line(cases, &format!("{kind}{name}"), &got.expect("the axis is there"), &[]);
        }
    }
}
