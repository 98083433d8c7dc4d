//! Copies and kernels of several streams that overlap: `cargo run -p gpu-driver --release --example overlap -- 4000000`, with the number of elements of a
//! part; without a GPU with `GPU_DEVICE=emulated`.
//!
//! Each part of the data goes to the device, through a kernel, and back. In one stream these follow each other. In several streams the copies of one part
//! run beside the kernel of another, if the host's memory is pinned.
use std::{env, error::Error, time::Instant};

use gpu_driver::{Device, DeviceVec, Function, LaunchConfig, PinnedVec, Stream};

const PARTS: usize = 8;

const SOURCE: &str = r#"
extern "C" __global__ void iterate(float *x, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (int step = 0; step < steps; step++) value = __fmul_rn(__fmul_rn(3.75f, value), __fsub_rn(1.0f, value));
    x[i] = value;
}
"#;

/// The kernel's work for one element.
fn iterated(start: f32, steps: i32) -> f32 {
    (0..steps).fold(start, |value, _| 3.75 * value * (1.0 - value))
}

/// The results of all parts, each of `n` elements, whose work goes to the streams in turn, and the milliseconds that it took.
fn process(iterate: &Function, streams: &[Stream], n: usize, steps: i32) -> Result<(Vec<f32>, f64), Box<dyn Error>> {
    let device = iterate.device();
    let values: Vec<f32> = (0..n * PARTS).map(|i| (i % 1000) as f32 / 1000.0).collect();
    let mut hosts = Vec::new();
    for part in values.chunks_exact(n) {
        let back = PinnedVec::zeros(device, n)?;
        hosts.push((PinnedVec::from_slice(device, part)?, back));
    }
    let start = Instant::now();
    let mut pending = Vec::new();
    for ((from, to), stream) in hosts.into_iter().zip(streams.iter().cycle()) {
        let mut x = DeviceVec::<f32>::zeros(stream, n)?;
        let sent = x.upload(from)?;
        // SAFETY: each thread below n changes its own element.
        unsafe { iterate.launch(LaunchConfig::for_elements(n), (x.in_out(), i32::try_from(n)?, steps), stream)? };
        // Neither of these waits: the memory comes back from `wait`.
        pending.push((sent, x.download(to)?));
    }
    let mut results = Vec::new();
    for (sent, back) in pending {
        sent.wait()?;
        results.extend_from_slice(&back.wait()?);
    }
    Ok((results, start.elapsed().as_secs_f64() * 1e3))
}

fn compare(device: &Device, n: usize, steps: i32) -> Result<(), Box<dyn Error>> {
    let iterate = device.compile(SOURCE)?.function("iterate")?;
    for count in [1, 2, 4] {
        let streams = (0..count).map(|_| Stream::new(device)).collect::<Result<Vec<_>, _>>()?;
        let (got, ms) = process(&iterate, &streams, n, steps)?;
        let wrong = (0..n * PARTS).find(|&i| got[i] != iterated((i % 1000) as f32 / 1000.0, steps));
        if let Some(i) = wrong {
            return Err(format!("{count} streams, element {i}: {} is not the CPU's", got[i]).into());
        }
        println!("{PARTS} parts in {count} streams: {ms:.2} ms");
    }
    Ok(())
}

/// Processes small parts in one, two and four streams, and checks the results.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    compare(device, 500, 20)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().nth(1) {
        None => run(&device),
        Some(n) => compare(&device, n.parse()?, 1000),
    }
}
