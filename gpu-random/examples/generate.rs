//! Prints the first numbers of a generator, one a line, to be compared with those of anyone's cuRAND.
//!
//! ```text
//! cargo run --release --example generate -- --generator xorwow --kind u32 --seed 1234 --count 4
//! cargo run --release --example generate -- --generator philox --kind normal-f32 --seed 7 --subsequence 3 --offset 10 --count 8 --device cuda
//! ```
//! Without a subsequence it prints the numbers of cuRAND's host API, in its default order. With one it prints those of cuRAND's device
//! API after `curand_init(seed, subsequence, offset)`.
#![deny(unsafe_code)]

#[path = "generate/of_thread.rs"]
mod of_thread;

use std::{error::Error, fmt::Display, io::Write};

use clap::{Parser, ValueEnum};
use gpu_driver::{Device, DevicePod, DeviceVec};
use gpu_random::{Engine, Generator, PhiloxRng, XorwowRng};
use of_thread::{NormalNumbers, Twin, UniformNumbers, numbers};

/// Prints the first numbers of a generator.
#[derive(Parser)]
struct Options {
    #[arg(long, value_enum)]
    generator: Kind,
    #[arg(long, value_enum)]
    kind: Numbers,
    #[arg(long)]
    seed: u64,
    /// One subsequence alone, as cuRAND's device API gives it.
    #[arg(long)]
    subsequence: Option<u64>,
    /// Words of the stream, or of the subsequence, that are skipped.
    #[arg(long, default_value_t = 0)]
    offset: u64,
    #[arg(long)]
    count: usize,
    #[arg(long, value_enum, default_value_t = Processor::Cpu)]
    device: Processor,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Xorwow,
    Philox,
}

/// The kind of numbers to print.
#[derive(Clone, Copy, ValueEnum)]
enum Numbers {
    U32,
    UniformF32,
    UniformF64,
    NormalF32,
    NormalF64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Processor {
    Cpu,
    /// The first device: CUDA's, or the emulated one with GPU_DEVICE=emulated.
    Cuda,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    match options.generator {
        Kind::Xorwow => generate::<XorwowRng>(&options),
        Kind::Philox => generate::<PhiloxRng>(&options),
    }
}

fn generate<R: Engine + Twin>(options: &Options) -> Result<(), Box<dyn Error>> {
    let device = match options.device {
        Processor::Cpu => None,
        Processor::Cuda => Some(Device::first()?),
    };
    if let Some(subsequence) = options.subsequence {
        let (start, n) = ((options.seed, subsequence, options.offset), options.count);
        let device = device.as_ref();
        return match options.kind {
            Numbers::U32 => print(numbers::<R, of_thread::RawBits>(start, n, device)?),
            Numbers::UniformF32 => print(numbers::<R, UniformNumbers<f32>>(start, n, device)?),
            Numbers::UniformF64 => print(numbers::<R, UniformNumbers<f64>>(start, n, device)?),
            Numbers::NormalF32 => print(numbers::<R, NormalNumbers<f32>>(start, n, device)?),
            Numbers::NormalF64 => print(numbers::<R, NormalNumbers<f64>>(start, n, device)?),
        };
    }
    let rng = &mut Generator::<R>::new(options.seed).with_offset(options.offset);
    // Fills by that method, wherever it is wanted.
    macro_rules! filled {
        ($type:ty, $fill:ident) => {
            print(match &device {
                None => {
                    let mut out = vec![<$type>::default(); options.count];
                    rng.$fill(&mut out)?;
                    out
                }
                Some(device) => {
                    let mut out = DeviceVec::<$type>::zeros(&device.stream(), options.count)?;
                    rng.$fill(&mut out)?;
                    out.to_vec()?
                }
            })
        };
    }
    match options.kind {
        Numbers::U32 => filled!(u32, fill_bits),
        Numbers::UniformF32 => filled!(f32, fill_uniform),
        Numbers::UniformF64 => filled!(f64, fill_uniform),
        Numbers::NormalF32 => filled!(f32, fill_normal),
        Numbers::NormalF64 => filled!(f64, fill_normal),
    }
}

fn print<T: DevicePod + Display>(numbers: Vec<T>) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for number in numbers {
        writeln!(out, "{number}")?;
    }
    Ok(out.flush()?)
}
