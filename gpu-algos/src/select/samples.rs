//! Samples of selections, for checks without a device.

use gpu_array::{
    DType,
    gpu_driver::{Arch, Registry},
};

use super::{
    launch::{FLAGS, INDICES, KEYS, LENGTHS, REJECTED, SINGLE_PASS, SelectJob, VALUES},
    leaves::Read,
    policy::{SelectOperands, SelectPolicy, SelectTuning},
};
use crate::{
    common::{axes::Leaves, samples::Sample, source::ValueSource},
    device::params::CONTIGUOUS,
};

/// The architecture of the samples, and the shared memory that a block of it may have.
const ARCH: Arch = Arch::new(9, 0);
const MOST_SHARED: usize = 227 << 10;

/// Adds a selection of arrays of each kind.
pub(crate) fn add_to(registry: Registry) -> Registry {
    use DType::{Bool, F32, F64, I32, I64, U8};
    let samples = [
        (Some(F32), Bool, FLAGS | VALUES, CONTIGUOUS),
        (Some(F32), Bool, FLAGS | VALUES, 0),
        (Some(F32), F32, FLAGS | VALUES, CONTIGUOUS),
        (Some(F64), Bool, FLAGS | VALUES | REJECTED, CONTIGUOUS),
        (Some(U8), Bool, FLAGS | VALUES, CONTIGUOUS),
        (None, Bool, FLAGS | INDICES, CONTIGUOUS),
        (None, I32, KEYS | VALUES, CONTIGUOUS),
        (None, F32, KEYS | VALUES | INDICES | LENGTHS, CONTIGUOUS),
    ];
    samples.into_iter().fold(registry, |registry, (value, heads, mode, layout)| {
        let (values, heads) = (value.map(Sample), Sample(heads));
        let job = SelectJob { values: values.as_ref().map(|values| values as &dyn ValueSource), heads: &heads, mode };
        let leaves: Leaves<'_> = job.values.into_iter().chain([job.heads]).flat_map(ValueSource::leaves).collect();
        let written = if mode & VALUES == 0 { I64 } else { leaves[0].dtype };
        let read = Read::of(&leaves, job.leaves_of_values());
        let (operands, tuning) = (SelectOperands::of(&read, mode, written), SelectTuning::of(ARCH));
        let is_contiguous = layout & CONTIGUOUS != 0;
        let pipelined = SelectPolicy::pipelined(&operands, MOST_SHARED, tuning).next().filter(|_| is_contiguous);
        let policies = [Some(SelectPolicy::single_pass(&operands, is_contiguous, usize::MAX, tuning)), pipelined];
        policies.into_iter().flatten().fold(registry, |registry, policy| {
            registry.with_sample(SINGLE_PASS.name, job.kernel(mode | layout, &read, policy).program())
        })
    })
}
