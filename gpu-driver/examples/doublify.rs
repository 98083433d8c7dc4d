//! PyCUDA's first program: doubles an array by a kernel that is compiled at run time. `cargo run -p gpu-driver --example doublify`, without a GPU
//! with `GPU_DEVICE=emulated`.
use std::error::Error;

use gpu_driver::{Device, DeviceVec, LaunchConfig, Module, Program};

const SOURCE: &str = r#"
extern "C" __global__ void doublify(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
"#;

/// Doubles 16 numbers on a device, and checks them.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let module = Module::load(device, &Program::new("doublify.cu", SOURCE).compile(device.arch())?)?;
    let doublify = module.function("doublify")?;
    let stream = device.stream();
    let numbers: Vec<f32> = (0..16).map(|i| i as f32 / 4.0).collect();
    let a = DeviceVec::from_slice(&stream, &numbers)?;
    let (mut address, mut n) = (a.as_raw(), a.len() as i32);
    let config = LaunchConfig { grid: 1.into(), block: 128.into(), shared_bytes: 0 };
    // SAFETY: the kernel takes a pointer to floats and their number, and touches those alone.
    unsafe { doublify.launch(config, &mut [(&raw mut address).cast(), (&raw mut n).cast()], &stream)? };
    let doubled = a.to_vec()?;
    assert!(numbers.iter().zip(&doubled).all(|(x, y)| y / 2.0 == *x));
    println!("{doubled:?}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
