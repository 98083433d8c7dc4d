//! An array of structures, whose text in CUDA C++ comes from Rust's: `cargo run -p gpu-driver --example structures`, without a GPU with
//! `GPU_DEVICE=emulated`.
//!
//! Each structure leads to an array of its own, as in PyCUDA's example demo_struct.
use std::error::Error;

use gpu_driver::{Definitions, Device, DevicePod, DeviceVec, LaunchConfig};

/// An array that is to be scaled.
#[repr(C)]
#[derive(Clone, Copy, Debug, DevicePod)]
struct Scaling {
    /// Address of the elements.
    elements: u64,
    /// Number of the elements.
    n: u32,
    factor: f32,
}

const KERNEL: &str = r#"
// A block for each structure.
extern "C" __global__ void scale(const Scaling *scalings) {
    Scaling mine = scalings[blockIdx.x];
    float *x = (float *)mine.elements;
    for (unsigned i = threadIdx.x; i < mine.n; i += blockDim.x) x[i] *= mine.factor;
}
"#;

/// Scales two arrays by one launch, and checks them.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let source = format!("#include <cstdint>\n{}{KERNEL}", Definitions::of::<Scaling>()?.text());
    let (scale, stream) = (device.compile(source)?.function("scale")?, device.stream());
    let hosts: [Vec<f32>; 2] = [(0..100).map(|i| i as f32).collect(), vec![7.0; 50]];
    let arrays = [DeviceVec::from_slice(&stream, &hosts[0])?, DeviceVec::from_slice(&stream, &hosts[1])?];
    let factors = [3.0, -0.5];
    let scalings =
        [0, 1].map(|i| Scaling { elements: arrays[i].as_raw(), n: hosts[i].len() as u32, factor: factors[i] });
    // SAFETY: both arrays are alive, and are used on this stream alone; each element is changed by one thread.
    unsafe { scale.launch(LaunchConfig::new(2, 64), (&scalings,), &stream)? };
    for (array, (host, factor)) in arrays.iter().zip(hosts.iter().zip(factors)) {
        if array.to_vec()?.iter().zip(host).any(|(y, x)| *y != factor * x) {
            return Err(format!("not {factor} times each element").into());
        }
        println!("{} elements times {factor}", host.len());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
