//! An oblique cut through a volume, by a 3-D texture with the linear filter, compared with the CPU: `cargo run -p gpu-driver --example volume`,
//! without a GPU with `GPU_DEVICE=emulated`.
use std::error::Error;

use gpu_driver::{ArrayShape, CudaArray, Device, HostOut, LaunchConfig, Sampling, Texture};

/// The kernel.
pub const SOURCE: &str = r#"
extern "C" __global__ void cut(cudaTextureObject_t volume, float *y, float3 corner, float3 along, float3 down) {
    float s = threadIdx.x, t = blockIdx.x;
    y[blockIdx.x * blockDim.x + threadIdx.x] = tex3D<float>(
        volume, corner.x + s * along.x + t * down.x, corner.y + s * along.y + t * down.y, corner.z + s * along.z + t * down.z);
}
"#;

/// `float3` of CUDA C++.
#[repr(C)]
#[derive(Clone, Copy, Debug, gpu_driver::DevicePod)]
struct Vector {
    x: f32,
    y: f32,
    z: f32,
}

const LAYERS: usize = 12;
const ROWS: usize = 16;
const COLUMNS: usize = 20;

/// The value at the middle of an element. A polynomial of degree one in each coordinate, which interpolation restores.
fn value(x: f64, y: f64, z: f64) -> f64 {
    (1.0 + x / 20.0) * (2.0 - y / 16.0) * (0.5 + z / 12.0)
}

/// Cuts a volume, and checks the values.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let cut = device.compile(SOURCE)?.function("cut")?;
    let middle = |i: usize| i as f64 + 0.5;
    let places = (0..LAYERS).flat_map(|z| (0..ROWS).flat_map(move |y| (0..COLUMNS).map(move |x| (x, y, z))));
    let host: Vec<f32> = places.map(|(x, y, z)| value(middle(x), middle(y), middle(z)) as f32).collect();
    let stream = device.stream();
    let volume = CudaArray::from_slice(&stream, ArrayShape::volume(LAYERS, ROWS, COLUMNS), &host)?;
    let texture = Texture::of_array(&volume, Sampling::new().linear())?;
    let (corner, along) = (Vector { x: 1.0, y: 2.5, z: 0.75 }, Vector { x: 0.55, y: 0.1, z: 0.15 });
    let (down, rows, columns) = (Vector { x: 0.05, y: 0.6, z: 0.2 }, 16, 32);
    let mut values = vec![0.0f32; rows * columns];
    let config = LaunchConfig::new(rows as u32, columns as u32);
    // SAFETY: each thread writes its own value.
    unsafe { cut.launch(config, (&texture, HostOut(&mut values), corner, along, down), &stream)? };
    for (at, &got) in values.iter().enumerate() {
        let (s, t) = ((at % columns) as f32, (at / columns) as f32);
        let place = |start, along, down| f64::from(start + s * along + t * down);
        let (x, y) = (place(corner.x, along.x, down.x), place(corner.y, along.y, down.y));
        let want = value(x, y, place(corner.z, along.z, down.z));
        // Three weights in steps of 1/256 between neighbours that differ by at most 0.25, 0.2 and 0.35.
        if (f64::from(got) - want).abs() > 0.8 / 256.0 + 1e-5 {
            return Err(format!("row {t}, column {s}: {got}, not {want}").into());
        }
    }
    println!("{} values of an oblique cut through {LAYERS} x {ROWS} x {COLUMNS} elements", values.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
