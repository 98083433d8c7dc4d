//! Matrix products: one thread for each element, and tiles in shared memory whose size is a constant of a template.
//! `cargo run -p gpu-driver --release --example matrix_product -- 1000`, with the number of rows; without a GPU with `GPU_DEVICE=emulated`.
use std::{env, error::Error};

use gpu_driver::{Device, DeviceVec, Function, LaunchConfig, Program};

const SOURCE: &str = r#"
extern "C" __global__ void naive(const float *a, const float *b, float *c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

template <int TILE> __global__ void tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0;
    for (int start = 0; start < n; start += TILE) {
        left[y][x] = row < n && start + x < n ? a[row * n + start + x] : 0;
        right[y][x] = start + y < n && column < n ? b[(start + y) * n + column] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
"#;

/// Multiplies square matrices of `n` rows by each kernel, checks the products, and prints the times.
fn multiply(device: &Device, n: usize) -> Result<(), Box<dyn Error>> {
    let program = Program::from(SOURCE).name_expression("tiled<8>").name_expression("tiled<16>");
    let module = device.compile(program)?;
    // Whole numbers up to 8: their sums are exact in any order.
    let matrix = |factor: usize| (0..n * n).map(|i| (i * factor % 17) as f32 - 8.0).collect::<Vec<f32>>();
    let (a, b) = (matrix(5), matrix(11));
    let mut want = vec![0.0f32; n * n];
    for (a_row, want_row) in a.chunks_exact(n).zip(want.chunks_exact_mut(n)) {
        for (x, b_row) in a_row.iter().zip(b.chunks_exact(n)) {
            b_row.iter().zip(&mut *want_row).for_each(|(y, sum)| *sum += x * y);
        }
    }
    let stream = device.stream();
    let (a, b) = (DeviceVec::from_slice(&stream, &a)?, DeviceVec::from_slice(&stream, &b)?);
    let size = i32::try_from(n)?;
    let product = |kernel: &Function, tile: u32| -> Result<_, Box<dyn Error>> {
        let mut c = DeviceVec::<f32>::zeros(&stream, n * n)?;
        let blocks = u32::try_from(n)?.div_ceil(tile);
        let start = stream.record()?;
        let shape = LaunchConfig::new((blocks, blocks), (tile, tile));
        // SAFETY: each thread within the matrix writes its own element of the product, and reads the factors alone.
        unsafe { kernel.launch(shape, (a.input(), b.input(), c.output(), size), &stream)? };
        let end = stream.record()?;
        Ok((c.to_vec()?, end.elapsed_ms_since(&start)?))
    };
    for (name, tile) in [("naive", 16), ("tiled<8>", 8), ("tiled<16>", 16)] {
        let (got, ms) = product(&module.function(name)?, tile)?;
        if let Some(at) = (0..n * n).find(|&at| got[at] != want[at]) {
            return Err(format!("{name}, element {at}: {}, not {}", got[at], want[at]).into());
        }
        println!("{name:9}: {n} x {n} in {ms:.3} ms");
    }
    Ok(())
}

/// Multiplies matrices whose last tiles are not full.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    multiply(device, 37)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().nth(1) {
        None => run(&device),
        Some(n) => multiply(&device, n.parse()?),
    }
}
