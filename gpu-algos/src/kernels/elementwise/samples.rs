//! Samples of elementwise kernels, for checks without a device.

use gpu_array::gpu_driver::{DevicePod, Registry};

use super::{super::program::ELEMENTWISE, ElementwiseKernel, policy::POLICY, text};
use crate::Result;

/// Adds a kernel of each kind that is made from texts.
pub(crate) fn add_to(mut registry: Registry) -> Registry {
    let samples = [(lin_comb(), true), (lin_comb(), false), (everything(), true)];
    for (kernel, all) in samples {
        // The declarations are valid: the test counts the samples.
        if let Ok(program) = kernel.and_then(|kernel| text::program(&kernel, POLICY, all)) {
            registry = registry.with_sample(ELEMENTWISE.name, program);
        }
    }
    registry
}

fn lin_comb() -> Result<ElementwiseKernel> {
    let arguments = "float a, const float *x, float b, const float *y, float *z";
    ElementwiseKernel::new(arguments, "z[i] = a * x[i] + b * y[i]")?.name("lin_comb")
}

#[repr(C)]
#[derive(Clone, Copy, Debug, DevicePod)]
#[device_pod(crate = gpu_array::gpu_driver)]
struct KeyValue {
    key: i64,
    value: f64,
}

/// A structure that holds another one, aligned as a vector.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, DevicePod)]
#[device_pod(crate = gpu_array::gpu_driver)]
struct Entry {
    pair: KeyValue,
    counts: Mixed,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, DevicePod)]
#[device_pod(crate = gpu_array::gpu_driver)]
struct Mixed {
    a: u32,
    b: f32,
    c: u64,
}

fn everything() -> Result<ElementwiseKernel> {
    let arguments = "bool flip, Entry entry, const KeyValue *pairs, const bool *mask, const size_t table[], unsigned char *low, bool *chosen, Entry *entries";
    let operation = "chosen[i] = mask[i] != flip; if (chosen[i]) low[i] = low_byte(table[own & 1]); own += pairs[i].key; entries[i] = entry";
    let kernel = ElementwiseKernel::new(arguments, operation)?
        .name("everything")?
        .with_type::<Entry>()?
        .with_type::<KeyValue>()?;
    let kernel = kernel.preamble("unsigned char low_byte(uint64_t x) { return (unsigned char)(x & 255); }");
    Ok(kernel
        .loop_prep("long long own = gpu::maximum(0, int(n))")
        .after_loop("if (gpu::first_index() == 0) low[0] = own & 255;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_samples_are_there() {
        assert_eq!(add_to(Registry::new("samples")).instances().len(), 3);
    }
}
