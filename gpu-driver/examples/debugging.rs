//! A program for debuggers and profilers, with mistakes to find: `cargo run -p gpu-driver --example debugging -- [right|beyond|race] [FOLDER]`; without a
//! GPU with `GPU_DEVICE=emulated`. DEBUGGING.md has the recipes.
//!
//! `beyond` writes behind an array, `race` lacks a barrier. A FOLDER gets the kernel's text, so that a debugger shows its lines.
use std::{env, error::Error};

use gpu_driver::{Device, DeviceVec, LaunchConfig, Program, Stream, profiler};

const SOURCE: &str = r#"
extern "C" __global__ void reverse(float *x, int n, int barrier, int beyond) {
    __shared__ float tile[256];
    int i = threadIdx.x;
    if (i < n) tile[i] = 2 * x[i];
    if (barrier) __syncthreads();
    if (i < n) x[n - 1 - i] = tile[i ^ 1];
    if (beyond && i == 0) x[1ll << 36] = 1;
}
"#;

const N: usize = 256;

/// Reverses an array, with or without its mistakes; the array.
fn reverse(device: &Device, mistake: &str, folder: Option<&str>) -> Result<Vec<f32>, Box<dyn Error>> {
    let stream = Stream::new(device)?;
    stream.set_name("reversing");
    let program = Program::new("reverse.cu", SOURCE);
    let program = folder.into_iter().fold(program, |program, folder| program.keep(folder));
    let reverse = device.compile(program)?.function("reverse")?;
    let host: Vec<f32> = (0..N as u16).map(f32::from).collect();
    let mut x = DeviceVec::from_slice(&stream, &host)?;
    profiler::start(device)?;
    for _ in 0..3 {
        let _range = profiler::range("one reversal");
        let (barrier, beyond) = (i32::from(mistake != "race"), i32::from(mistake == "beyond"));
        // SAFETY: 256 threads of one block change 256 elements, unless a mistake is asked for.
        unsafe { reverse.launch(LaunchConfig::new(1, N as u32), (x.in_out(), N as i32, barrier, beyond), &stream)? };
    }
    profiler::stop(device)?;
    Ok(x.to_vec()?)
}

/// Reverses without a mistake, and compares with the host.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let got = reverse(device, "right", None)?;
    let mut want: Vec<f32> = (0..N as u16).map(f32::from).collect();
    for _ in 0..3 {
        want = (0..N).map(|at| 2.0 * want[(N - 1 - at) ^ 1]).collect();
    }
    if got != want {
        return Err(format!("{got:?}, not {want:?}").into());
    }
    println!("three reversals of {N} elements are right");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(mistake @ ("beyond" | "race")) => {
            let got = reverse(&device, mistake, arguments.get(1).map(String::as_str))?;
            println!("the first elements are {:?}, and nobody has noticed", &got[..4]);
            Ok(())
        }
        Some("right") if arguments.len() > 1 => reverse(&device, "right", Some(&arguments[1])).map(drop),
        None | Some("right") => run(&device),
        Some(other) => Err(format!("`{other}` is none of right, beyond, race").into()),
    }
}
