//! Samples of reductions, for checks without a device.

use gpu_array::{
    DType,
    gpu_driver::{Arch, Registry},
};

use super::{
    launch::{REDUCE, program},
    map_rows,
    policy::{ReducePolicy, ReduceTuning, is_for_all},
};
use crate::common::{
    operator::{DeviceOperator, OperatorKind},
    samples::{Sample, SampleWithMask},
    source::ValueSource,
};

/// The architecture of the samples.
const ARCH: Arch = Arch::new(9, 0);

/// Adds a reduction of arrays of each kind.
pub(crate) fn add_to(registry: Registry) -> Registry {
    use DType::{Bool, C64, C128, F16, F32, F64, I32, I64};
    let sum = |carried| OperatorKind::Sum { carried, result: F32 };
    let moments = OperatorKind::MeanVariance { result: F32, ddof: 0 };
    let samples = [
        (sum(F32), F32, false, false),
        (sum(F32), F32, false, true),
        (sum(F64), F32, true, false),
        (OperatorKind::Product { carried: I64, result: I64 }, I32, false, false),
        (OperatorKind::Extreme { greatest: true }, F32, false, false),
        (OperatorKind::Extreme { greatest: false }, F64, true, true),
        (OperatorKind::MinMax, F32, false, false),
        (OperatorKind::ArgExtreme { greatest: true, narrow: true }, F32, false, false),
        (OperatorKind::ArgExtreme { greatest: false, narrow: false }, F32, true, true),
        (OperatorKind::Logical { all: true }, Bool, false, false),
        (OperatorKind::Count, I32, false, true),
        (OperatorKind::Mean { result: F32 }, F32, true, true),
        (OperatorKind::MeanDeviation { result: F32, ddof: 0 }, F32, false, true),
        (moments.clone(), F32, false, false),
        (moments, F32, false, true),
        (OperatorKind::NormL2, F64, false, false),
        (OperatorKind::Sum { carried: C128, result: C64 }, C64, false, false),
        (OperatorKind::Sum { carried: C64, result: C64 }, C64, false, true),
        (OperatorKind::Mean { result: C128 }, C128, false, false),
        (OperatorKind::Variance { result: F32, ddof: 0 }, C64, false, false),
        (OperatorKind::MeanVariance { result: C128, ddof: 0 }, C128, true, true),
        (OperatorKind::Sum { carried: F32, result: F16 }, F16, false, false),
        (OperatorKind::Sum { carried: F64, result: F16 }, F16, false, true),
        (OperatorKind::Extreme { greatest: true }, F16, false, false),
    ];
    let registry = samples.into_iter().fold(registry, |registry, (kind, value, ignores_nan, along_outer)| {
        add(registry, &Sample(value), &DeviceOperator::new(kind, value, ignores_nan), along_outer)
    });
    let of_selected = [
        (sum(F32), F32),
        (OperatorKind::Mean { result: F32 }, F32),
        (OperatorKind::Deviation { result: F32, ddof: 0 }, F32),
        (OperatorKind::Extreme { greatest: true }, F32),
        (OperatorKind::Extreme { greatest: true }, I32),
    ];
    let registry = of_selected.into_iter().fold(registry, |registry, (kind, value)| {
        add(registry, &SampleWithMask(value), &DeviceOperator::new(kind, value, false).masked(), false)
    });
    let of_rows = [
        (vec![OperatorKind::Extreme { greatest: true }, sum(F32)], F32),
        (vec![OperatorKind::Mean { result: F64 }, OperatorKind::Deviation { result: F64, ddof: 0 }], F64),
        (vec![OperatorKind::ArgExtreme { greatest: true, narrow: true }], F16),
    ];
    of_rows.into_iter().fold(registry, |registry, (kinds, value)| {
        let operators: Vec<_> = kinds.into_iter().map(|kind| DeviceOperator::new(kind, value, false)).collect();
        registry.with_sample(map_rows::MAP_ROWS.name, map_rows::sample(&Sample(value), &operators))
    })
}

/// Adds the kernels of a reduction: those of several results, and that of one result of contiguous arrays.
fn add(registry: Registry, source: &impl ValueSource, operator: &DeviceOperator, along_outer: bool) -> Registry {
    let (leaves, tuning) = (source.leaves(), ReduceTuning::of(ARCH));
    let policies = match along_outer {
        true => {
            let columns = ReducePolicy::columns(&leaves, operator, tuning);
            vec![columns, columns.formed(true, false)]
        }
        false => {
            let rows = ReducePolicy::rows(&leaves, operator, tuning);
            let one = if is_for_all(operator) { rows.for_all() } else { rows.formed(operator.is_commutative(), true) };
            vec![rows, rows.formed(operator.is_commutative(), false), one]
        }
    };
    policies
        .iter()
        .fold(registry, |registry, policy| registry.with_sample(REDUCE.name, program(source, operator, policy)))
}
