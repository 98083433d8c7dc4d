//! Samples of scans from users' texts, for checks without a device.

use gpu_array::gpu_driver::{Arch, DevicePod, Registry};

use super::{
    ScanKernel,
    policy::ScanKernelPolicy,
    text::{self, SCAN_KERNEL},
};
use crate::Result;

/// Adds a kernel of each kind that is made from texts.
pub(crate) fn add_to(registry: Registry) -> Registry {
    let registry = add(registry, sums(), true);
    let registry = add(registry, sums(), false);
    let registry = add(registry, recurrences(), true);
    add(registry, large(), true)
}

/// Adds a sample. The declarations are valid: the test counts the samples.
fn add<T: DevicePod>(registry: Registry, kernel: Result<ScanKernel<T>>, all: bool) -> Registry {
    let program = kernel
        .and_then(|kernel| text::program(&kernel, ScanKernelPolicy::of(kernel.run_bytes(), Arch::new(9, 0)), all));
    match program {
        Ok(program) => registry.with_sample(SCAN_KERNEL.name, program),
        Err(_) => registry,
    }
}

fn sums() -> Result<ScanKernel<f32>> {
    ScanKernel::new("const float *x, const float *y, float *out", "0", "a + b", "x[i] * y[i]", "out[i] = item")
}

/// `y = c y + d` from place to place.
#[repr(C)]
#[derive(Clone, Copy, Debug, DevicePod)]
#[device_pod(crate = gpu_array::gpu_driver)]
struct AffineMap {
    c: f64,
    d: f64,
}

fn recurrences() -> Result<ScanKernel<AffineMap>> {
    let arguments = "double first, const double *c, const double *d, const bool *starts, double *before, double *after";
    let output = "before[i] = prev_item.c * first + prev_item.d; after[i] = item.c * first + item.d";
    let kernel = ScanKernel::new(
        arguments,
        "AffineMap{1, 0}",
        "AffineMap{a.c * b.c, fma(a.d, b.c, b.d)}",
        "AffineMap{c[i], d[i]}",
        output,
    )?;
    Ok(kernel.segments("starts[i]"))
}

#[repr(C)]
#[derive(Clone, Copy, Debug, DevicePod)]
#[device_pod(crate = gpu_array::gpu_driver)]
struct Four {
    a: u32,
    b: u32,
    c: u32,
    d: u32,
}

/// CountStates of each of 16 digits so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, DevicePod)]
#[device_pod(crate = gpu_array::gpu_driver)]
struct CountStates {
    a: Four,
    b: Four,
    c: Four,
    d: Four,
}

fn large() -> Result<ScanKernel<CountStates>> {
    let preamble = "unsigned of(const CountStates &counts, int k) { return reinterpret_cast<const unsigned *>(&counts)[k]; }\n\
                    CountStates one(int digit) { CountStates one; \
                    for (int k = 0; k < 16; k++) reinterpret_cast<unsigned *>(&one)[k] = k == digit; return one; }\n\
                    CountStates sum(CountStates a, const CountStates &b) { \
                    for (int k = 0; k < 16; k++) reinterpret_cast<unsigned *>(&a)[k] += of(b, k); return a; }";
    let arguments = "const unsigned char *digits, unsigned *earlier";
    let output = "earlier[i] = of(prev_item, digits[i] & 15)";
    let kernel = ScanKernel::new(arguments, "one(-1)", "sum(a, b)", "one(digits[i] & 15)", output)?;
    Ok(kernel.preamble(preamble))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_samples_are_there() {
        assert_eq!(add_to(Registry::new("samples")).instances().len(), 4);
    }
}
