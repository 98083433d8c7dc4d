//! Samples of scans, for checks without a device.

use gpu_array::{
    DType,
    gpu_driver::{Arch, Program, Registry},
};

use super::{
    launch::{Heads, SINGLE_PASS, ScanJob},
    policy::{ScanPolicy, ScanTuning},
};
use crate::{
    common::{
        axes::Leaves,
        operator::{DeviceOperator, OperatorKind},
        samples::Sample,
        source::ValueSource,
    },
    device::params::{BACKWARD, CONTIGUOUS, EXCLUSIVE, FLAGS, KEYS, LINES},
    tiles::layout::TileTarget,
};

/// Flags of samples: tiles are in shared memory, one after another or all at once.
const STAGED: u32 = 1 << 31;
const AT_ONCE: u32 = 1 << 30;
/// Neighbours lie along another axis than the scanned one.
const ACROSS: u32 = 1 << 29;

/// The architecture of the samples, and the shared memory that a block of it may have.
const ARCH: Arch = Arch::new(9, 0);
const MOST_SHARED: usize = 227 << 10;

/// Adds a scan of arrays of each kind.
pub(crate) fn add_to(registry: Registry) -> Registry {
    use DType::{Bool, C64, F16, F32, F64, I32, I64};
    let sum = |carried, result| OperatorKind::Sum { carried, result };
    let samples = [
        (sum(F32, F32), F32, CONTIGUOUS, None),
        (sum(F64, F32), F32, CONTIGUOUS | EXCLUSIVE, None),
        (sum(F64, F64), F64, CONTIGUOUS | BACKWARD, None),
        (sum(I64, I64), I32, CONTIGUOUS | LINES, None),
        (sum(F32, F32), F32, LINES, None),
        (sum(F32, F32), F32, CONTIGUOUS | STAGED, None),
        (sum(F64, F64), F64, CONTIGUOUS | STAGED | EXCLUSIVE, None),
        (sum(F32, F32), F32, CONTIGUOUS | STAGED, Some((I32, Heads::Keys))),
        (OperatorKind::Extreme { greatest: false }, F32, CONTIGUOUS | BACKWARD | STAGED, Some((Bool, Heads::Flags))),
        (sum(F32, F32), F32, CONTIGUOUS | AT_ONCE, None),
        (sum(F64, F64), F64, CONTIGUOUS | BACKWARD | EXCLUSIVE | AT_ONCE, None),
        (sum(F32, F32), F32, CONTIGUOUS | AT_ONCE, Some((I32, Heads::Keys))),
        (OperatorKind::Extreme { greatest: true }, F32, CONTIGUOUS | AT_ONCE, Some((Bool, Heads::Flags))),
        (sum(F32, F32), F32, CONTIGUOUS | LINES | STAGED, None),
        (sum(F64, F64), F64, CONTIGUOUS | LINES | BACKWARD | EXCLUSIVE | STAGED, None),
        (sum(F32, F32), F32, ACROSS | STAGED, None),
        (sum(I64, I64), I32, ACROSS | EXCLUSIVE | STAGED, None),
        (sum(C64, C64), C64, CONTIGUOUS, None),
        (sum(F32, F16), F16, CONTIGUOUS, None),
        (sum(F32, F16), F16, CONTIGUOUS | STAGED, None),
        (sum(F32, F32), F32, ACROSS, None),
        (sum(I64, I64), I32, ACROSS | EXCLUSIVE, None),
        (OperatorKind::Extreme { greatest: true }, F32, CONTIGUOUS, Some((Bool, Heads::Flags))),
        (sum(F32, F32), F32, CONTIGUOUS | EXCLUSIVE, Some((I32, Heads::Keys))),
    ];
    samples.into_iter().fold(registry, |registry, (kind, value, mode, heads)| {
        registry.with_sample(SINGLE_PASS.name, program(kind, value, mode, heads))
    })
}

/// The program of a scan with this operator, the type of its values, the flags of its mode and its segments.
fn program(kind: OperatorKind, value: DType, mode: u32, heads: Option<(DType, Heads)>) -> Program {
    let (source, operator) = (Sample(value), DeviceOperator::new(kind, value, false));
    let keys = heads.map(|(dtype, kind)| (Sample(dtype), kind));
    let heads = keys.as_ref().map(|(keys, kind)| (keys as &dyn ValueSource, *kind));
    let job =
        ScanJob { source: &source, heads, epilogue: None, operator: &operator, mode: 0, axis: None, reverse: false };
    let target = TileTarget { address: 0, dtype: operator.results()[0], strides: &[1] };
    let mode = mode
        | match heads {
            Some((_, Heads::Flags)) => FLAGS,
            Some((_, Heads::Keys)) => KEYS,
            None => 0,
        };
    let leaves = source.leaves();
    let leaves: Leaves<'_> = leaves.into_iter().chain(keys.iter().flat_map(|(keys, _)| keys.leaves())).collect();
    let (operands, tuning, most) = (job.operands(&leaves, &target), ScanTuning::of(ARCH), usize::MAX);
    let staged = match mode & (LINES | ACROSS | AT_ONCE | STAGED) {
        AT_ONCE => ScanPolicy::single_wave(&operands, 1, 1, MOST_SHARED),
        STAGED => ScanPolicy::pipelined(&operands, MOST_SHARED, tuning),
        mode if mode == LINES | STAGED => ScanPolicy::rows(&operands, most, MOST_SHARED, tuning),
        mode if mode == ACROSS | STAGED => ScanPolicy::column_strips(&operands, most, 1, MOST_SHARED, tuning),
        _ => None,
    };
    let policy = staged.unwrap_or_else(|| match mode & ACROSS {
        0 => ScanPolicy::single_pass(&operands, mode & CONTIGUOUS != 0, most, tuning),
        _ => ScanPolicy::columns(&operands, tuning),
    });
    job.kernel(mode & !(STAGED | AT_ONCE | ACROSS), policy).program()
}
