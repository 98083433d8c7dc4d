//! Broken kernels: each launch must end in [`DriverError::DeviceLost`] with the code that CUDA gives to such a fault and a
//! report that names file, line and what is wrong, and a device that is opened afterwards must work.
//!
//! Each text says what is wrong with it, marks the line by a comment, and is right when `FIXED` is defined; the corrected
//! twins run in `correct`.

use std::time::{Duration, Instant};

use gpu_driver::{Device, DeviceVec, DriverError, Stream, emulated::Emulated};
use testkit::{Outcome, ensure, ensure_eq};

use crate::{
    correct::{Shape, Want, one_block},
    harness::{Text, launch, order, ramp, text, upload, values},
};

/// `CUDA_ERROR_…`.
const ILLEGAL_ADDRESS: i32 = 700;
const LAUNCH_TIMEOUT: i32 = 702;
const ASSERT: i32 = 710;
const MISALIGNED_ADDRESS: i32 = 716;
const LAUNCH_FAILED: i32 = 719;

/// Who notices the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    /// The scheduler, or the kernel itself.
    Always,
    /// The check of each access, which `GPU_EMULATED_CHECKS=off` leaves out.
    ByChecks,
}
use Noticed::{Always, ByChecks};

/// A kernel that is named as its file, over one buffer with a ramp.
#[derive(Debug)]
pub struct Broken {
    pub text: Text,
    pub shape: Shape,
    code: i32,
    pub noticed: Noticed,
    /// What the report must hold, in small letters or capitals; `a|b` is one of both.
    says: &'static [&'static str],
    /// How many threads it must name at least.
    threads: usize,
    /// What the corrected kernel leaves in the buffer.
    pub fixed: Want,
}

const fn broken(
    text: Text,
    shape: Shape,
    (code, noticed, says): (i32, Noticed, &'static [&'static str]),
    fixed: Want,
) -> Broken {
    Broken { text, shape, code, noticed, says, threads: 0, fixed }
}

/// A race names the thread that runs and the one it meets.
const fn race(text: Text, shape: Shape, fixed: Want) -> Broken {
    Broken { threads: 2, ..broken(text, shape, (LAUNCH_FAILED, ByChecks, &["race"]), fixed) }
}

pub static BROKEN: &[Broken] = &[
    broken(
        text!("broken", "out_of_bounds_write"),
        Shape { len: 31, ..one_block(32) },
        (
            ILLEGAL_ADDRESS,
            ByChecks,
            &["block (0,0,0) thread (31,0,0)", "writes 4 bytes", "0 bytes past the end of an allocation of 124 bytes"],
        ),
        |i| 2 * i,
    ),
    broken(
        text!("broken", "out_of_bounds_read"),
        one_block(32),
        // What lies before a buffer may be no memory or the end of another.
        (ILLEGAL_ADDRESS, ByChecks, &["thread (0,0,0)", "reads 4 bytes", "before|past the end"]),
        |i| i.saturating_sub(1),
    ),
    broken(
        text!("broken", "out_of_bounds_vector"),
        Shape { len: 30, ..one_block(8) },
        // The compiler may load the parts of the vector one by one.
        (ILLEGAL_ADDRESS, ByChecks, &["thread (7,0,0)", "reads", "the end of an allocation of 120 bytes"]),
        |i| if i < 7 { 16 * i + 6 } else { i },
    ),
    broken(
        text!("broken", "out_of_bounds_atomic"),
        Shape { len: 31, ..one_block(32) },
        (ILLEGAL_ADDRESS, ByChecks, &["thread (31,0,0)", "atomic", "past the end of an allocation of 124 bytes"]),
        |i| i + 5,
    ),
    race(text!("broken", "missing_syncthreads"), one_block(64), |i| 63 - i),
    race(text!("broken", "missing_second_barrier"), one_block(64), |i| 4 * (63 - i) + 6),
    race(text!("broken", "plain_counter"), one_block(64), |_| 2016),
    race(text!("broken", "missing_syncwarp"), one_block(32), |i| if i == 0 { 496 } else { i }),
    broken(
        text!("broken", "stale_shared"),
        one_block(32),
        (LAUNCH_FAILED, ByChecks, &["thread (31,0,0)", "tile", "no thread of the block has written|before written"]),
        |i| if i < 31 { i + 1 } else { 1 },
    ),
    broken(
        text!("broken", "shared_past_the_end"),
        one_block(32),
        // With the compiler's checks of undefined behaviour the index is found before the address.
        (ILLEGAL_ADDRESS, ByChecks, &["thread (31,0,0)", "shared|index", "tile|index", "128 bytes|index"]),
        |i| 1000 + i.saturating_sub(1),
    ),
    broken(
        text!("broken", "dynamic_shared_past_the_end"),
        Shape { shared_bytes: 128, ..one_block(32) },
        (ILLEGAL_ADDRESS, ByChecks, &["thread (31,0,0)", "dynamic shared memory", "128 bytes"]),
        |i| i.saturating_sub(1),
    ),
    broken(
        text!("broken", "misaligned_vector"),
        Shape { len: 32, ..one_block(4) },
        (MISALIGNED_ADDRESS, ByChecks, &["thread (", "align|multiple", "16"]),
        |i| if i < 4 { 16 * i + 6 } else { i },
    ),
    broken(
        text!("broken", "local_of_another_thread"),
        one_block(32),
        (ILLEGAL_ADDRESS, ByChecks, &["thread (", "reads 4 bytes", "local variable of another thread (0,0,0)"]),
        |i| i + 7,
    ),
    broken(
        text!("broken", "barrier_in_a_branch"),
        one_block(64),
        (LAUNCH_FAILED, Always, &["__syncthreads", "ended"]),
        |i| 2 * (i + u32::from(i % 2 == 0)),
    ),
    broken(
        text!("broken", "two_barriers"),
        one_block(64),
        (LAUNCH_FAILED, Always, &["__syncthreads", "divergent"]),
        |i| 2 * (i + 1 + u32::from(i >= 32)),
    ),
    broken(text!("broken", "early_return"), one_block(64), (LAUNCH_FAILED, Always, &["__syncthreads", "ended"]), |i| {
        if i < 48 { 47 - i } else { i }
    }),
    broken(
        text!("broken", "barrier_count"),
        one_block(64),
        (LAUNCH_FAILED, Always, &["__syncthreads", "warp 1", "ended"]),
        |i| i + 2,
    ),
    broken(
        text!("broken", "deadlock"),
        one_block(64),
        (LAUNCH_FAILED, Always, &["__syncthreads", "__syncwarp", "warp 1"]),
        |i| i + 1,
    ),
    broken(
        text!("broken", "shuffle_absent_half"),
        one_block(32),
        (LAUNCH_FAILED, Always, &["__shfl_down_sync", "__syncthreads", "warp 0"]),
        |i| match i {
            0..8 => 2 * i + 8,
            8..16 => 2 * i,
            _ => i,
        },
    ),
    broken(
        text!("broken", "shuffle_outside_mask"),
        one_block(32),
        (LAUNCH_FAILED, Always, &["__shfl_sync", "0x0000ffff", "mask"]),
        |_| 105,
    ),
    broken(
        text!("broken", "shuffle_two_branches"),
        one_block(32),
        (LAUNCH_FAILED, Always, &["__shfl_down_sync", "__shfl_up_sync"]),
        |i| match i {
            0..8 => 2 * i + 8,
            8..24 => 2 * i,
            _ => 2 * i - 8,
        },
    ),
    broken(
        text!("broken", "shuffle_from_returned"),
        one_block(32),
        (LAUNCH_FAILED, Always, &["__shfl_down_sync", "lane", "ended", "0xffffffff"]),
        |i| if i < 16 { 2 * i + 16 } else { i },
    ),
    broken(
        text!("broken", "endless_look_back"),
        Shape { grid: 4, len: 5, ..one_block(64) },
        // Of the block that waits, the first warp spins and the second is at the barrier.
        (LAUNCH_TIMEOUT, Always, &["warp 0", "warp 1", "__syncthreads"]),
        |i| if i < 4 { 100 + i } else { 8 },
    ),
    broken(
        text!("broken", "poll_for_ever"),
        one_block(32),
        (LAUNCH_TIMEOUT, Always, &["warp 0", "lanes 1 run"]),
        |i| {
            if i < 2 { [1, 7][i as usize] } else { i }
        },
    ),
    broken(
        text!("broken", "memset_past_the_end"),
        one_block(32),
        (ILLEGAL_ADDRESS, Always, &["thread (31,0,0)", "tile"]),
        |i| if i == 1 { 0 } else { i },
    ),
    broken(text!("broken", "infinite_loop"), one_block(32), (LAUNCH_TIMEOUT, Always, &["warp 0", "lanes 0-31"]), |i| i),
    broken(text!("broken", "trap"), one_block(32), (LAUNCH_FAILED, Always, &["thread (5,0,0)", "trap"]), |i| i + 1),
    broken(
        text!("broken", "failed_assert"),
        one_block(32),
        (ASSERT, Always, &["thread (31,0,0)", "assert", "x[t] < 31", "failed_assert"]),
        |i| i + 1,
    ),
];

/// Right by itself; broken by what it is given.
static STORE: Text = text!("broken", "store");

/// The texts of this file.
pub fn texts() -> impl Iterator<Item = &'static Text> {
    BROKEN.iter().map(|broken| &broken.text).chain([&STORE])
}

/// Whether accesses are checked; `Err` says why not.
pub fn checks_are_on() -> Result<(), String> {
    match std::env::var("GPU_EMULATED_CHECKS") {
        Ok(value) if value == "off" => Err("GPU_EMULATED_CHECKS=off: accesses are not checked".to_owned()),
        _ => Ok(()),
    }
}

/// Each test with its name, of those that are noticed so.
pub fn cases(noticed: Noticed) -> Vec<(String, impl Fn(&()) -> Outcome + Send + 'static)> {
    let those = BROKEN.iter().filter(|broken| broken.noticed == noticed);
    those.map(|broken| (broken.text.stem().to_owned(), move |_: &()| broken.is_reported())).collect()
}

/// How long a launch without progress may last here.
const PATIENCE: Duration = Duration::from_millis(500);

impl Broken {
    fn is_reported(&self) -> Outcome {
        for schedule in ["ascending", "descending", "random"] {
            self.is_reported_in(order(schedule).seed(5)).map_err(|error| format!("{schedule}: {error}"))?;
        }
        Ok(())
    }

    fn is_reported_in(&self, mut emulated: Emulated) -> Outcome {
        if self.code == LAUNCH_TIMEOUT {
            emulated = emulated.timeout(PATIENCE);
        }
        let device = emulated.open()?;
        let start = Instant::now();
        let outcome = (|| {
            let x = upload(&device, &ramp(self.shape.len))?;
            let function = self.text.function(&device, self.text.stem())?;
            let Shape { grid, block, shared_bytes, .. } = self.shape;
            launch(&function, grid, block, shared_bytes, values![x.as_raw()], &device.stream())?;
            device.synchronize()
        })();
        let report = lost(outcome, self.code)?;
        match self.noticed {
            ByChecks => begins_with_a_line(&report, &self.text)?,
            Always => holds_a_line(&report, &self.text)?,
        }
        for words in self.says {
            holds(&report, words)?;
        }
        let threads = report.matches("thread (").count();
        ensure!(threads >= self.threads, "names {threads} threads: {report}");
        if self.code == LAUNCH_TIMEOUT {
            // Each place where a warp waits is told.
            for line in self.text.marked_lines() {
                ensure!(has_line(&report, &self.text, line), "lacks line {line}: {report}");
            }
            ensure!(start.elapsed() >= PATIENCE && start.elapsed() < 40 * PATIENCE, "after {:?}", start.elapsed());
        }
        stays_lost(&device, self.code)?;
        a_new_device_works()
    }
}

/// The report of the loss with that code; an error for any other outcome.
fn lost(outcome: gpu_driver::Result<()>, code: i32) -> Result<String, String> {
    let Err(error) = outcome else { return Err("nothing was reported".to_owned()) };
    let shown = error.to_string();
    let DriverError::DeviceLost { code: got, kernel, report } = error else {
        return Err(format!("another error: {shown}"));
    };
    let Some(report) = report else { return Err(format!("no report: {shown}")) };
    if got.0 != code {
        return Err(format!("code {}, not {code}: {report}", got.0));
    }
    if !shown.contains(&report) {
        return Err(format!("the error's text lacks the report: {shown}"));
    }
    let Some(kernel) = kernel else { return Err(format!("no kernel is named beside the report: {report}")) };
    holds(&report, &format!("kernel `{kernel}`"))?;
    Ok(report)
}

/// Whether the text holds one of the words between the bars.
fn holds(report: &str, words: &str) -> Result<(), String> {
    let small = report.to_lowercase();
    match words.split('|').any(|word| small.contains(&word.to_lowercase())) {
        true => Ok(()),
        false => Err(format!("lacks `{words}`: {report}")),
    }
}

/// Whether the text has that line of that file, and not only one whose number begins with the same digits.
fn has_line(report: &str, text: &Text, line: usize) -> bool {
    let place = format!("{}:{line}", text.file);
    report
        .match_indices(&place)
        .any(|(at, _)| !report[at + place.len()..].starts_with(|next: char| next.is_ascii_digit()))
}

/// The report must hold one of the lines that are marked, and the kernel's name.
fn holds_a_line(report: &str, text: &Text) -> Result<(), String> {
    let lines = text.marked_lines();
    if lines.iter().any(|&line| has_line(report, text, line)) && report.contains(&format!("kernel `{}`", text.stem())) {
        return Ok(());
    }
    Err(format!("lacks the kernel or one of the lines {lines:?} of {}: {report}", text.file))
}

/// The report of a forbidden access must begin with the line that does it.
fn begins_with_a_line(report: &str, text: &Text) -> Result<(), String> {
    let place = report.split(": ").next().unwrap_or("");
    if text.marked_lines().iter().any(|line| place == format!("{}:{line}", text.file)) {
        return holds_a_line(report, text);
    }
    Err(format!("begins with none of the lines {:?} of {}: {report}", text.marked_lines(), text.file))
}

/// After a fault every call fails with it.
fn stays_lost(device: &Device, code: i32) -> Outcome {
    for error in [device.synchronize().err(), DeviceVec::<u32>::zeros(&device.stream(), 4).err()] {
        let same = matches!(&error, Some(DriverError::DeviceLost { code: again, .. }) if again.0 == code);
        ensure!(same, "the next call gives {error:?}");
    }
    Ok(())
}

fn a_new_device_works() -> Outcome {
    let device = Emulated::new().open()?;
    let x = upload(&device, &ramp(32))?;
    launch(&STORE.function(&device, "store")?, 1, 32, 0, values![x.as_raw()], &device.stream())?;
    ensure_eq!(x.to_vec()?, (0..32).map(|i| 2 * i).collect::<Vec<u32>>());
    Ok(())
}

/// Stores to 32 numbers at `address`, which must be reported.
fn store_is_reported(device: &Device, stream: &Stream, address: u64, says: &[&str]) -> Outcome {
    let function = STORE.function(device, "store")?;
    let outcome = launch(&function, 1, 32, 0, values![address], stream).and_then(|()| stream.synchronize());
    let report = lost(outcome, ILLEGAL_ADDRESS)?;
    begins_with_a_line(&report, &STORE)?;
    for words in says {
        holds(&report, words)?;
    }
    stays_lost(device, ILLEGAL_ADDRESS)?;
    a_new_device_works()
}

pub fn null_pointer(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    store_is_reported(&device, &device.stream(), 0, &["null pointer"])
}

pub fn host_pointer(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let host = vec![7u32; 32];
    store_is_reported(&device, &device.stream(), host.as_ptr() as u64, &["host"])?;
    // The access was refused, not only reported.
    ensure_eq!(std::hint::black_box(host), [7; 32]);
    Ok(())
}

pub fn a_buffer_of_another_device(_: &()) -> Outcome {
    let (device, other) = (Emulated::new().open()?, Emulated::new().open()?);
    let x = upload(&other, &ramp(32))?;
    store_is_reported(&device, &device.stream(), x.as_raw(), &["another device"])?;
    // The other one is not harmed.
    ensure_eq!(x.to_vec()?, ramp(32));
    Ok(())
}

pub fn use_after_free(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = upload(&device, &ramp(32))?;
    let address = x.as_raw();
    drop(x);
    device.synchronize()?;
    store_is_reported(&device, &Stream::new(&device)?, address, &["released|freed", "allocation of 128 bytes"])
}
