//! Kernels that launch kernels: `cargo run -p gpu-driver --example dynamic_parallelism`. It needs a GPU and `libcudadevrt.a`.
//!
//! Each row of a triangle has another length. The parent's threads launch one child for each row, of as many threads as the row needs.
use std::error::Error;

use gpu_driver::{Device, DeviceVec, LaunchConfig};

/// The program.
pub const SOURCE: &str = r#"
__global__ void fill_row(unsigned *row, unsigned number) { row[threadIdx.x] = number * 100 + threadIdx.x; }

extern "C" __global__ void fill(unsigned *triangle) {
    unsigned row = threadIdx.x;
    fill_row<<<1, row + 1>>>(triangle + row * (row + 1) / 2, row);
}
"#;

/// Fills the triangle and checks it.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    const ROWS: u32 = 30;
    let fill = device.compile_dynamic(SOURCE)?.function("fill")?;
    let stream = device.stream();
    let mut triangle = DeviceVec::<u32>::zeros(&stream, (ROWS * (ROWS + 1) / 2) as usize)?;
    // SAFETY: each child writes its own row, and counts as a part of the parent's launch.
    unsafe { fill.launch(LaunchConfig::new(1, ROWS), (triangle.output(),), &stream)? };
    let want: Vec<u32> = (0..ROWS).flat_map(|row| (0..=row).map(move |column| row * 100 + column)).collect();
    if triangle.to_vec()? != want {
        return Err("wrong result".into());
    }
    println!("{ROWS} rows were filled by kernels that a kernel launched");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
