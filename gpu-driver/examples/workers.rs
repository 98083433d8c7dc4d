//! Several threads that use one device: `cargo run -p gpu-driver --example workers -- 8`, with the number of threads; without a GPU with
//! `GPU_DEVICE=emulated`.
//!
//! Handles pass between threads as they are: no thread pushes or pops a context. Each thread has a stream of its own, so that their work may overlap.
use std::{env, error::Error, thread};

use gpu_driver::{Device, DeviceVec, Function, LaunchConfig, Result as DriverResult, Stream};

const SOURCE: &str = r#"
extern "C" __global__ void add_to_all(unsigned *x, unsigned n, unsigned value) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}
"#;

const ROUNDS: u32 = 10;

/// The work of one thread: adds its number to 0, 1, 2, … several times.
fn work(add_to_all: &Function, number: u32) -> DriverResult<Vec<u32>> {
    let stream = Stream::new(add_to_all.device())?;
    let numbers: Vec<u32> = (0..1000).collect();
    let mut x = DeviceVec::from_slice(&stream, &numbers)?;
    for _ in 0..ROUNDS {
        let config = LaunchConfig::for_elements(x.len());
        // SAFETY: each thread below the length changes its own element.
        unsafe { add_to_all.launch(config, (x.in_out(), 1000u32, number), &stream)? };
    }
    x.to_vec()
}

fn workers(device: &Device, count: u32) -> Result<(), Box<dyn Error>> {
    let add_to_all = &device.compile(SOURCE)?.function("add_to_all")?;
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || work(add_to_all, number))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    for (number, result) in (0..).zip(results) {
        let got = result.map_err(|_| format!("thread {number} panicked"))??;
        if got.iter().zip(0..).any(|(y, x)| *y != x + ROUNDS * number) {
            return Err(format!("thread {number}: not its own numbers").into());
        }
    }
    println!("{count} threads have their own results");
    Ok(())
}

/// Four threads.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    workers(device, 4)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().nth(1) {
        None => run(&device),
        Some(count) => workers(&device, count.parse()?),
    }
}
