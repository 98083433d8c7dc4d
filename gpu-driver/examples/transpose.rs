//! Transposes a matrix, by a kernel whose writes are strided and by one that goes through tiles in shared memory:
//! `cargo run -p gpu-driver --release --example transpose -- 4000 3000`, with rows and columns; without a GPU with `GPU_DEVICE=emulated`.
use std::{env, error::Error};

use gpu_driver::{Device, DeviceVec, LaunchConfig};

const SOURCE: &str = r#"
extern "C" __global__ void plain(const float *x, float *y, int rows, int columns) {
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < rows && column < columns) y[column * rows + row] = x[row * columns + column];
}

// Reads rows of x and writes rows of y: neighbouring threads have neighbouring addresses in both.
extern "C" __global__ void tiled(const float *x, float *y, int rows, int columns) {
    __shared__ float tile[16][17];  // One more column, so that the threads which read a column use different banks.
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
    __syncthreads();
    column = blockIdx.y * 16 + threadIdx.x, row = blockIdx.x * 16 + threadIdx.y;
    if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}
"#;

/// Transposes a matrix by each kernel, checks the results, and prints the rates.
fn transpose(device: &Device, rows: usize, columns: usize) -> Result<(), Box<dyn Error>> {
    let (module, stream) = (device.compile(SOURCE)?, device.stream());
    let host: Vec<f32> = (0..rows * columns).map(|i| (i % 65_537) as f32).collect();
    let x = DeviceVec::from_slice(&stream, &host)?;
    let blocks = |size: usize| u32::try_from(size.div_ceil(16));
    let config = LaunchConfig::new((blocks(columns)?, blocks(rows)?), (16, 16));
    for name in ["plain", "tiled"] {
        let (kernel, mut y) = (module.function(name)?, DeviceVec::<f32>::zeros(&stream, host.len())?);
        let arguments = (x.input(), y.output(), i32::try_from(rows)?, i32::try_from(columns)?);
        let start = stream.record()?;
        // SAFETY: each thread within the matrix reads one element and writes one, no two the same.
        unsafe { kernel.launch(config, arguments, &stream)? };
        let end = stream.record()?;
        let got = y.to_vec()?;
        let wrong = (0..host.len()).find(|at| got[at % columns * rows + at / columns] != host[*at]);
        if let Some(at) = wrong {
            return Err(format!("{name}: row {}, column {} is not where it belongs", at / columns, at % columns).into());
        }
        let ms = end.elapsed_ms_since(&start)?;
        println!("{name}: {rows} x {columns} at {:.1} GB/s", 8e-6 * host.len() as f32 / ms.max(1e-6));
    }
    Ok(())
}

/// Transposes a matrix whose last tiles are not full.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    transpose(device, 50, 70)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => run(&device),
        [rows, columns] => transpose(&device, rows.parse()?, columns.parse()?),
        _ => Err("usage: transpose [rows columns]".into()),
    }
}
