//! Scans and selection of a case, along the first of its axes.

use gpu_algos::reference::*;
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
    case.line(cases, "select", &select(view, &mask).expect("of one shape"), &[]);
    case.line(cases, "partition", &partition(view, |x| *x > T::ZERO).0, &[]);
    let places: Vec<Array1<i64>> = nonzero(view).expect("there are axes");
    let views: Vec<_> = places.iter().map(|along| along.view()).collect();
    case.line(cases, "nonzero", &concatenate(Axis(0), &views).expect("of one length"), &[]);
    let mask: Vec<bool> = (0..view.len_of(axis)).map(|_| rng.below(2) == 0).collect();
    case.line(cases, "compress", &compress(view, &mask, axis).expect("as long as the axis"), &mask);
    let flat: Array1<T> = view.iter().copied().collect();
    let runs = run_length_encode(&flat);
    case.line(cases, "unique", &unique(&flat), &[]);
    case.line(cases, "run_values", &runs.values, &[]);
    case.line(cases, "run_offsets", &runs.offsets, &[]);
    case.line(cases, "run_lengths", &runs.lengths, &[]);
}

fn scans<T: Operand, O: Cumulative<Value = T, Output: gpu_array::Element + Default>>(
    cases: &mut String,
    case: &Case<'_, T>,
    name: &str,
    op: &O,
) {
    let kinds = [
        ("", Scan::INCLUSIVE),
        ("exclusive_", Scan::EXCLUSIVE),
        ("reversed_", Scan::INCLUSIVE.reversed()),
        ("reversed_exclusive_", Scan::EXCLUSIVE.reversed()),
    ];
    for (kind, how) in kinds {
        let got = scan(op, &case.view, case.axes[0], how).expect("the axis is there");
        case.line(cases, &format!("{kind}{name}"), &got, &[]);
    }
}
