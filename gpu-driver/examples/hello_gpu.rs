//! Multiplies two arrays of the host, element by element, as the program on PyCUDA's first page: `cargo run -p gpu-driver --example hello_gpu`, without a
//! GPU with `GPU_DEVICE=emulated`.
use std::error::Error;

use gpu_driver::{Device, HostOut, LaunchConfig};

const SOURCE: &str = r#"
extern "C" __global__ void multiply_them(float *product, const float *a, const float *b) {
    int i = threadIdx.x;
    product[i] = a[i] * b[i];
}
"#;

/// Multiplies 400 pairs of numbers, and checks the products.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let multiply_them = device.compile(SOURCE)?.function("multiply_them")?;
    let a: Vec<f32> = (0..400).map(|i| (i as f32).sin()).collect();
    let b: Vec<f32> = (0..400).map(|i| (i as f32).cos()).collect();
    let mut product = vec![0.0f32; 400];
    // SAFETY: 400 threads, each of which writes its own element.
    unsafe { multiply_them.launch(LaunchConfig::new(1, 400), (HostOut(&mut product), &a, &b), &device.stream())? };
    let wrong = (0..400).find(|&i| product[i] != a[i] * b[i]);
    if let Some(i) = wrong {
        return Err(format!("element {i}: {}, not {}", product[i], a[i] * b[i]).into());
    }
    println!("400 products: {:?} …", &product[..4]);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
