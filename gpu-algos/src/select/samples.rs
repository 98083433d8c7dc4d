//! Samples of selections, for checks without a device.

use gpu_array::{DType, gpu_driver::Registry};

use super::launch::{FLAGS, INDICES, KEYS, KernelSpec, LENGTHS, REJECTED, Read, SINGLE_PASS, SelectJob, VALUES};
use crate::{
    reduce::{ValueSource, samples::Sample},
    scan::{CONTIGUOUS, Leaves},
};

/// Shared memory of a block on the devices for which kernels are checked.
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
        let registry =
            registry.with_sample(SINGLE_PASS.name, KernelSpec::of(&job, &read, written, layout, usize::MAX).program());
        match KernelSpec::ahead(&job, &read, written, layout, MOST_SHARED, |_| true) {
            Some(kernel) => registry.with_sample(SINGLE_PASS.name, kernel.program()),
            None => registry,
        }
    })
}
