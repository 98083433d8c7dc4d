//! Samples of compactions, for checks without a device.

use gpu_array::{DType, gpu_driver::Registry};

use super::launch::{COMPACT, FLAGS, Job, KEYS, Kernel, LENGTHS, PLACES, REJECTED, Read, VALUES};
use crate::{
    reduce::{Source, samples::Sample},
    scan::{Leaves, PLAIN},
};

/// Shared memory of a block on the devices for which kernels are checked.
const MOST_SHARED: usize = 227 << 10;

/// Adds a compaction of arrays of each kind.
pub(crate) fn add_to(registry: Registry) -> Registry {
    use DType::{Bool, F32, F64, I32, I64, U8};
    let samples = [
        (Some(F32), Bool, FLAGS | VALUES, PLAIN),
        (Some(F32), Bool, FLAGS | VALUES, 0),
        (Some(F32), F32, FLAGS | VALUES, PLAIN),
        (Some(F64), Bool, FLAGS | VALUES | REJECTED, PLAIN),
        (Some(U8), Bool, FLAGS | VALUES, PLAIN),
        (None, Bool, FLAGS | PLACES, PLAIN),
        (None, I32, KEYS | VALUES, PLAIN),
        (None, F32, KEYS | VALUES | PLACES | LENGTHS, PLAIN),
    ];
    samples.into_iter().fold(registry, |registry, (value, heads, how, lie)| {
        let (values, heads) = (value.map(Sample), Sample(heads));
        let job = Job { values: values.as_ref().map(|values| values as &dyn Source), heads: &heads, how };
        let leaves: Leaves<'_> = job.values.into_iter().chain([job.heads]).flat_map(Source::leaves).collect();
        let written = if how & VALUES == 0 { I64 } else { leaves[0].dtype };
        let read = Read::of(&leaves, job.leaves_of_values());
        let registry = registry.with_sample(COMPACT.name, Kernel::of(&job, &read, written, lie, usize::MAX).program());
        match Kernel::ahead(&job, &read, written, lie, MOST_SHARED, |_| true) {
            Some(kernel) => registry.with_sample(COMPACT.name, kernel.program()),
            None => registry,
        }
    })
}
