//! Samples of scans, for checks without a device.

use gpu_array::{DType, gpu_driver::Registry};

use super::{
    launch::{Heads, KernelSpec, SINGLE_PASS, ScanJob},
    plan::{ACROSS, Leaves, ScanTarget},
    policy::Policy,
};
use crate::{
    device::params::{BACKWARD, CONTIGUOUS, EXCLUSIVE, FLAGS, KEYS, LINES},
    reduce::{Operator, OperatorKind, ValueSource, samples::Sample},
};

/// Flags of samples: tiles are in shared memory, one after another or all at once.
const STAGED: u32 = 1 << 31;
const AT_ONCE: u32 = 1 << 30;

/// Shared memory that a block of compute capability 9.0 may have.
const MOST_SHARED: usize = 227 << 10;

/// Adds a scan of arrays of each kind.
pub(crate) fn add_to(registry: Registry) -> Registry {
    use DType::{Bool, F32, F64, I32, I64};
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
        (sum(F32, F32), F32, ACROSS, None),
        (sum(I64, I64), I32, ACROSS | EXCLUSIVE, None),
        (OperatorKind::Extreme { greatest: true }, F32, CONTIGUOUS, Some((Bool, Heads::Flags))),
        (sum(F32, F32), F32, CONTIGUOUS | EXCLUSIVE, Some((I32, Heads::Keys))),
    ];
    samples.into_iter().fold(registry, |registry, (kind, value, mode, heads)| {
        let (source, operator) = (Sample(value), Operator::new(kind, value, false));
        let keys = heads.map(|(dtype, kind)| (Sample(dtype), kind));
        let heads = keys.as_ref().map(|(keys, kind)| (keys as &dyn ValueSource, *kind));
        let job = ScanJob {
            source: &source,
            heads,
            epilogue: None,
            operator: &operator,
            mode: 0,
            axis: None,
            reverse: false,
        };
        let target = ScanTarget { address: 0, dtype: operator.results()[0], strides: &[1] };
        let mode = mode
            | match heads {
                Some((_, Heads::Flags)) => FLAGS,
                Some((_, Heads::Keys)) => KEYS,
                None => 0,
            };
        let leaves = source.leaves();
        let leaves: Leaves<'_> = leaves.into_iter().chain(keys.iter().flat_map(|(keys, _)| keys.leaves())).collect();
        let (bytes, most) = (job.bytes(&target), usize::MAX);
        let staged = match mode & (LINES | ACROSS | AT_ONCE) {
            AT_ONCE => Policy::wave(&leaves, bytes, 1, 1, MOST_SHARED),
            0 => Policy::ring(&leaves, bytes, MOST_SHARED),
            LINES => Policy::along(&leaves, bytes, most, MOST_SHARED),
            _ => Policy::down(&leaves, bytes, most, 1, MOST_SHARED),
        };
        let (staged, mode) = (staged.filter(|_| mode & (STAGED | AT_ONCE) != 0), mode & !(STAGED | AT_ONCE));
        let policy = staged.unwrap_or_else(|| job.policy(&leaves, &target, mode, most));
        let kernel = KernelSpec { job: &job, mode, policy };
        let program = kernel.program();
        registry.with_sample(SINGLE_PASS.name, program)
    })
}
