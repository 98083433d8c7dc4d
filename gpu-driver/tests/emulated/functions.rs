//! CUDA's own functions: warp-wide operations, integer and float intrinsics, printf.

use std::{
    env,
    process::{Command, ExitCode},
};

use gpu_driver::Device;
use testkit::{Outcome, Rng, ensure, ensure_eq};

use crate::harness::{Text, launch, text, upload, values, zeros};

static WARP_FUNCTIONS: Text = text!("user", "warp_functions");
static INTRINSICS: Text = text!("user", "intrinsics");
static PRINT: Text = text!("user", "print");

/// The texts of this file.
pub static TEXTS: &[&Text] = &[&WARP_FUNCTIONS, &INTRINSICS, &PRINT];

/// The lane that a shuffle takes its value from: `source` within the segment of `width` lanes, the own one if outside.
fn within(lane: usize, source: i32, width: usize) -> usize {
    let first = lane / width * width;
    if (0..width as i32).contains(&source) { first + source as usize } else { lane }
}

pub fn warp_functions(device: &Device) -> Outcome {
    let function = WARP_FUNCTIONS.function(device, "warp_functions")?;
    let mut rng = Rng(21);
    let various: Vec<i32> = (0..32).map(|_| rng.below(9) as i32 - 4).collect();
    for x in [various, vec![3; 32], (-16..16).collect()] {
        let word = |value: i32| value as u32;
        let vote =
            |holds: &dyn Fn(i32) -> bool| (0..32).filter(|&lane| holds(x[lane])).fold(0u32, |v, lane| v | 1 << lane);
        let all = |holds: &dyn Fn(i32) -> bool| u32::from(x.iter().all(|&value| holds(value)));
        let fold = |op: fn(u32, u32) -> u32| x.iter().map(|&value| value as u32).reduce(op).unwrap_or(0);
        let same = x.iter().all(|&value| value == x[0]);
        let scalar = |value: u32| vec![value; 32];
        let lanes = |from: &dyn Fn(usize) -> u32| (0..32).map(from).collect::<Vec<u32>>();
        // The lane `at + step` of segments of `width`.
        let step = |step: i32, width: usize| lanes(&|at| word(x[within(at, (at % width) as i32 + step, width)]));
        let want = [
            scalar(vote(&|value| value > 0)),
            scalar(all(&|value| value > -100)),
            scalar(all(&|value| value > 0)),
            scalar(1 - all(&|value| value <= 0)),
            scalar(1 - all(&|value| value <= 100)),
            lanes(&|lane| vote(&|value| value == x[lane])),
            scalar(if same { u32::MAX } else { 0 }),
            scalar(u32::from(same)),
            scalar(u32::MAX),
            scalar(1),
            scalar(word(x.iter().sum())),
            scalar(word(x.iter().copied().min().unwrap_or(0))),
            scalar(word(x.iter().copied().max().unwrap_or(0))),
            scalar(fold(u32::min)),
            scalar(fold(u32::max)),
            scalar(fold(|a, b| a & b)),
            scalar(fold(|a, b| a | b)),
            scalar(fold(|a, b| a ^ b)),
            scalar(word(x[5])),
            lanes(&|lane| word(x[(lane + 1) % 32])),
            lanes(&|lane| word(x[lane / 8 * 8 + 3])),
            step(-3, 32),
            step(-1, 4),
            step(9, 32),
            step(2, 16),
            lanes(&|lane| word(x[lane ^ 21])),
            lanes(&|lane| word(x[lane ^ 1])),
            // The upper half of value * (2^32 + 1), where a negative lower half borrows one.
            lanes(&|lane| {
                word(x[within(lane, lane as i32 + 1, 32)])
                    .wrapping_sub(u32::from(x[within(lane, lane as i32 + 1, 32)] < 0))
            }),
            lanes(&|lane| word(4 * x[lane ^ 4] + 1)),
            lanes(&|lane| (x[within(lane, lane as i32 - 1, 32)] as f32).to_bits()),
            lanes(&|lane| {
                if lane < 16 { vote(&|value| value > 0) & 0xffff } else { vote(&|value| value < 0) & 0xffff_0000 }
            }),
        ];
        let (buffer, out) = (upload(device, &x)?, zeros::<u32>(device, 32 * want.len())?);
        launch(&function, 1, 32, 0, values![buffer.as_raw(), out.as_raw()], &device.stream())?;
        for (row, (got, want)) in out.to_vec()?.chunks(32).zip(&want).enumerate() {
            ensure!(got == want, "row {row}: got {got:?}, want {want:?}");
        }
    }
    Ok(())
}

/// The bytes of two words that `selector` picks, as `__byte_perm` does for selectors without sign bits.
fn byte_perm(x: u32, y: u32, selector: u32) -> u32 {
    let bytes = u64::from(y) << 32 | u64::from(x);
    (0..4).fold(0, |all, at| all | ((bytes >> (8 * (selector >> (4 * at) & 7)) & 0xff) as u32) << (8 * at))
}

pub fn intrinsics(device: &Device) -> Outcome {
    let function = INTRINSICS.function(device, "intrinsics")?;
    let mut rng = Rng(22);
    let edges = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x3f80_0000, 0x00ff_ff00];
    let mut pairs: Vec<(u32, u32)> = edges.iter().flat_map(|&x| edges.map(|y| (x, y))).collect();
    pairs.extend((0..64).map(|_| (rng.next_u64() as u32, rng.next_u64() as u32)));
    let want = |&(x, y): &(u32, u32)| {
        let wide = u64::from(x) << 32 | u64::from(y);
        [
            x.count_ones(),
            x.leading_zeros(),
            if x == 0 { 0 } else { x.trailing_zeros() + 1 },
            x.reverse_bits(),
            ((u64::from(x) * u64::from(y)) >> 32) as u32,
            ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32,
            byte_perm(x, y, 0x7531),
            // The upper word of y:x shifted left, the lower one of it shifted right.
            ((u64::from(y) << 32 | u64::from(x)) << 7 >> 32) as u32,
            ((u64::from(y) << 32 | u64::from(x)) >> 7) as u32,
            wide.count_ones(),
            wide.leading_zeros(),
            if wide == 0 { 0 } else { wide.trailing_zeros() + 1 },
            (wide.reverse_bits() >> 32) as u32,
            ((u128::from(wide) * u128::from(wide)) >> 96) as u32,
            x.min(y) ^ (x as i32).max(y as i32) as u32,
            x,
            ((x >> 8) as f32 + (y >> 8) as f32).to_bits(),
            (x as f32 / (y | 1) as f32).to_bits(),
            (x as f32).sqrt().to_bits(),
            (x as f32).mul_add(y as f32, -1.0).to_bits(),
        ]
    };
    let a = upload(device, &pairs.iter().map(|pair| pair.0).collect::<Vec<_>>())?;
    let b = upload(device, &pairs.iter().map(|pair| pair.1).collect::<Vec<_>>())?;
    let out = zeros::<u32>(device, 20 * pairs.len())?;
    let values = values![a.as_raw(), b.as_raw(), out.as_raw(), pairs.len() as u32];
    launch(&function, pairs.len().div_ceil(64) as u32, 64, 0, values, &device.stream())?;
    for (got, pair) in out.to_vec()?.chunks(20).zip(&pairs) {
        ensure!(got == want(pair), "{pair:x?}: got {got:x?}, want {:x?}", want(pair));
    }
    Ok(())
}

const PRINTING_CHILD: &str = "GPU_DRIVER_PRINTING_CHILD";

/// In a child: prints from a kernel. None in the parent.
pub fn run_as_child() -> Option<ExitCode> {
    env::var_os(PRINTING_CHILD)?;
    let print = || -> Outcome {
        let device = Device::for_tests()?;
        let function = PRINT.function(&device, "print")?;
        let word = upload(&device, b"word\0")?;
        launch(&function, 2, 3, 0, values![word.as_raw(), 1.25f32], &device.stream())?;
        Ok(device.synchronize()?)
    };
    match print() {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(error) => {
            println!("{error}");
            Some(ExitCode::FAILURE)
        }
    }
}

/// What kernels print comes out of the process's standard output, so a child prints. Each line comes whole, and once.
pub fn printf_reaches_the_standard_output(device: &Device) -> Outcome {
    // The parent's device decides which the child takes.
    let kind = if device.is_emulated() { "emulated" } else { "cuda" };
    let output = Command::new(env::current_exe()?).env(PRINTING_CHILD, "1").env("GPU_DEVICE", kind).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let mut got: Vec<&str> = text.lines().collect();
    got.sort_unstable();
    let mut want: Vec<String> = Vec::new();
    for block in 0..2 {
        for thread in 0..3u32 {
            let (number, hex) = (1.25 * f64::from(thread), 255 + thread);
            let (letter, large) = (["a", "b", "c"][thread as usize], 1u64 << (40 + thread));
            let minus = -i64::from(thread);
            want.push(format!(
                "thread {thread} of block {block}: word {number:5.2}|{minus:<4}|{hex:04x} {letter} {large} 100%"
            ));
        }
    }
    want.sort_unstable();
    ensure_eq!(got, want);
    Ok(())
}

pub const SELF_TEST: &str = "emulated/src/cuda/tests/selftest.sh";

/// CUDA's functions against brute force and against values from a GPU, in every mode of the compiler.
pub fn headers_pass_their_own_test(_: &()) -> Outcome {
    let output = Command::new("sh").arg(SELF_TEST).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.matches(": ok").count() == 4, "{said}");
    Ok(())
}
