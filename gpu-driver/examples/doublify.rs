//! PyCUDA's first program: doubles an array by a kernel that is compiled at run time. `cargo run -p gpu-driver --example doublify`, without a GPU
//! with `GPU_DEVICE=emulated`.
use std::error::Error;

use gpu_driver::{Device, LaunchConfig};

const SOURCE: &str = r#"
extern "C" __global__ void doublify(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
"#;

/// Doubles 16 numbers on a device, and checks them.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let doublify = device.compile(SOURCE)?.function("doublify")?;
    let numbers: Vec<f32> = (0..16).map(|i| i as f32 / 4.0).collect();
    let mut doubled = numbers.clone();
    let n = i32::try_from(doubled.len())?;
    // SAFETY: the kernel takes a pointer to floats and their number, and touches those alone.
    unsafe { doublify.launch(LaunchConfig::for_elements(16), (&mut doubled, n), &device.stream())? };
    assert!(numbers.iter().zip(&doubled).all(|(x, y)| y / 2.0 == *x));
    println!("{doubled:?}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
