//! Results to the bit: hashes of sums and scans of floats, which other tests hold to bounds only, and of one case or two of each other family of primitives
//! (`result_hashes_families.rs`).
//!
//! The order of additions depends on a device's architecture and its number of multiprocessors; `result_hashes.txt` has the lines of some. They are of
//! the kernels before these were parted into the pieces of `gpu_algos::block`, which has changed no bit. Newer are the lines of sums of f32 that have
//! been carried in f64 since, those of many values (`reduce/policy.rs`), of four variances of f64, whose formula has become the host's, and of two along an
//! outer axis, where fewer threads stand side by side (`reduce/plan.rs`). The lines of the other families have the word `family`. Who
//! changes a bit on purpose replaces its lines by those that the test prints.

use gpu_algos::{
    gpu_array::{Element, GpuArray, gpu_driver::Device},
    prelude::*,
};
use ndarray::{Array1, Axis, Dimension, IxDyn};
use testkit::{Outcome, Test, tests};

use crate::result_hashes_families;

pub const TESTS: &[Test<Device>] = tests![bits_are_those_on_record, bits_of_each_family_are_those_on_record];

/// The word before the lines of `result_hashes_families.rs`.
const FAMILY: &str = "family";

const RECORD: &str = include_str!("result_hashes.txt");

type Failure = Box<dyn std::error::Error>;

/// The device, if there is a record of devices of its kind.
pub fn recorded(device: Result<Device, String>) -> Result<Device, String> {
    let device = device?;
    let kind = kind(&device).map_err(|error| error.to_string())?;
    match RECORD.lines().any(|line| line.starts_with(&kind)) {
        true => Ok(device),
        false => Err(format!("result_hashes.txt has no lines of {kind}")),
    }
}

/// The properties that choose the order of additions.
fn kind(device: &Device) -> Result<String, Failure> {
    const MULTIPROCESSORS: i32 = 16;
    Ok(format!("{} x{}:", device.arch(), device.attribute(MULTIPROCESSORS)?))
}

fn bits_are_those_on_record(device: &Device) -> Outcome {
    let mut got = lines_f32(device)?;
    // Where kernels compile slowly one type is enough: both take the same texts.
    if !device.is_emulated() {
        got.extend(lines_f64(device)?);
    }
    compare(device, got, |line| !line.starts_with(FAMILY))
}

fn bits_of_each_family_are_those_on_record(device: &Device) -> Outcome {
    let lines = result_hashes_families::lines(device)?;
    compare(device, lines.into_iter().map(|line| format!("{FAMILY} {line}")).collect(), |line| line.starts_with(FAMILY))
}

/// Compares lines with those on record that are of such devices and that `is_of_test` accepts.
fn compare(device: &Device, got: Vec<String>, is_of_test: impl Fn(&str) -> bool) -> Outcome {
    let kind = kind(device)?;
    let got: Vec<String> = got.into_iter().map(|line| format!("{kind} {line}")).collect();
    let of_kind = |line: &&str| line.strip_prefix(&kind).is_some_and(|line| is_of_test(line.trim_start()));
    let want: Vec<&str> = RECORD.lines().filter(of_kind).collect();
    if got == want {
        return Ok(());
    }
    println!("{}", got.join("\n"));
    let differs = got.iter().zip(&want).find(|(got, want)| got != *want);
    Err(format!(
        "{} lines for {} (all are printed above); the first that differs: {differs:#?}",
        got.len(),
        want.len()
    ))?
}

/// A number of 24 bits between -0.5 and 0.5.
pub fn element(i: usize) -> f64 {
    f64::from((i as u32).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5
}

/// FNV-1a of the bits of all elements.
fn hash<T: Element + Into<f64>, D: Dimension>(array: &GpuArray<T, D>) -> Result<u64, Failure> {
    let array = array.to_ndarray()?;
    let bits = array.iter().map(|&x| Into::<f64>::into(x).to_bits());
    Ok(bits.fold(0xcbf2_9ce4_8422_2325, |hash, bits| (hash ^ bits).wrapping_mul(0x0100_0000_01b3)))
}

/// A line for each operation and array: its name, shape and hash.
macro_rules! lines {
    ($name:ident, $T:ty) => {
        fn $name(device: &Device) -> Result<Vec<String>, Failure> {
            let large = !device.is_emulated();
            let array = |n: usize| GpuArray::from_ndarray(device, &Array1::from_shape_fn(n, |i| element(i) as $T));
            let mut lines = Vec::new();
            let mut add = |operation: &str, shape: &[usize], hash: u64| {
                lines.push(format!("{} {operation} {shape:?} {hash:016x}", stringify!($T)));
            };
            for n in [1, 1000, 20_011, 70_003].into_iter().chain(large.then_some(3_000_017)) {
                let x = array(n)?;
                add("sum", &[n], hash(&x.sum().eval()?)?);
                add("mean", &[n], hash(&x.mean().eval()?)?);
                add("std", &[n], hash(&x.std(0).eval()?)?);
                add("norm_l2", &[n], hash(&x.norm_l2().eval()?)?);
                add("dot", &[n], hash(&x.dot(&x).eval()?)?);
                add("cumsum", &[n], hash(&x.cumsum().eval()?)?);
                let every_third = x.slice(ndarray::s![1..;3])?;
                add("sum of every third", &[n], hash(&(&every_third * 3.0).sum().eval()?)?);
                add("cumsum of every third", &[n], hash(&every_third.cumsum().exclusive().reverse().eval()?)?);
            }
            // Several tiles for each multiprocessor: the kernel is `scan_pipelined`.
            let n = if large { 9_000_011 } else { 400_009 };
            add("cumsum", &[n], hash(&array(n)?.cumsum().eval()?)?);
            let shapes: [&[usize]; 4] = [&[37, 1003], &[1003, 37], &[5, 40, 99], &[300, 256]];
            let large: [&[usize]; 3] = [&[2048, 2048], &[200_000, 17], &[17, 200_000]];
            for &shape in shapes.iter().chain(if device.is_emulated() { &[][..] } else { &large[..] }) {
                let x = array(shape.iter().product())?.into_shape(IxDyn(shape))?;
                for axis in (0..shape.len()).map(Axis) {
                    add(&format!("sum of axis {}", axis.0), shape, hash(&x.sum().axis(axis).eval()?)?);
                    add(&format!("var of axis {}", axis.0), shape, hash(&x.var(1).axis(axis).eval()?)?);
                    add(&format!("cumsum of axis {}", axis.0), shape, hash(&x.cumsum().axis(axis).eval()?)?);
                }
                let flags = x.gt(0.49);
                let last = Axis(shape.len() - 1);
                add("cumsum of segments", shape, hash(&x.cumsum().axis(last).segments(flags).eval()?)?);
            }
            Ok(lines)
        }
    };
}
lines!(lines_f32, f32);
lines!(lines_f64, f64);
