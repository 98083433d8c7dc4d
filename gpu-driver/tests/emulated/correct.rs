//! Right programs of kinds that a checker easily takes for wrong: none may be reported, and each must give its result in
//! every order of threads and blocks. Here are also the corrected twins of the kernels in `broken`.

use gpu_driver::Device;
use testkit::{Outcome, ensure};

use crate::{
    broken::BROKEN,
    harness::{Text, launch, ramp, text, upload, values},
};

/// A kernel of one parameter, a buffer that holds a ramp.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub grid: u32,
    pub block: u32,
    pub shared_bytes: u32,
    /// Numbers in the buffer.
    pub len: usize,
}

/// One block of that many threads, and as many numbers.
pub const fn one_block(threads: u32) -> Shape {
    Shape { grid: 1, block: threads, shared_bytes: 0, len: threads as usize }
}

/// What each number of the buffer is afterwards.
pub type Want = fn(u32) -> u32;

/// `extern "C"` kernels that are named as their files.
static CORRECT: &[(Text, Shape, Want)] = &[
    (text!("correct", "warp_synchronous"), one_block(128), |i| 1024 * (i / 32) + 496),
    (text!("correct", "half_warps"), one_block(32), |i| (i + 16) % 32),
    (text!("correct", "shared_flag"), one_block(64), |i| if i < 32 { i } else { i + 1000 }),
    (text!("correct", "shared_counter"), one_block(64), |i| i + 64 + 65 + 66),
    (text!("correct", "reuse"), one_block(64), |i| 63 - (i / 2 * 2 + 63) % 64),
    (text!("correct", "double_buffering"), one_block(64), |i| (0..5).map(|round| (i + round) % 64 + round).sum()),
    (text!("correct", "broadcast"), one_block(64), |_| (0..64).step_by(9).map(|from| 2 * from).sum()),
    (text!("correct", "warps_exit"), one_block(128), |i| if i / 32 == 2 { 95 + 31 + 127 } else { i }),
    (text!("correct", "partial_block"), Shape { grid: 2, len: 100, ..one_block(64) }, |i| {
        let first = i / 32 * 32;
        let sum = |to: u32| (first..=to).sum::<u32>();
        let end = (first + 32).min(100);
        let odd = (first..end).filter(|&to| sum(to) % 2 == 1).count() as u32;
        sum(i) + 10_000 * odd + 1_000_000 * (end - first)
    }),
    (text!("correct", "last_block"), Shape { grid: 4, len: 261, ..one_block(64) }, |i| match i {
        0..256 => i,
        260 => (0..256).sum(),
        _ => 4096 * (i - 256) + 2016,
    }),
    // Each of 8 blocks adds the first word, which grows from 1, to the second, which was 2.
    (text!("correct", "global_lock"), Shape { grid: 8, len: 4, ..one_block(32) }, |i| {
        [0, 9, 2 + (1..9).sum::<u32>(), 3][i as usize]
    }),
    (text!("correct", "bytes_and_words"), Shape { len: 32, ..one_block(128) }, |word| {
        let byte = |at: u32| (127 - at) / 4 % 16 + (127 - at) % 4;
        (0..4).map(|k| byte(4 * word + k) << (8 * k)).sum()
    }),
    (text!("correct", "uniform_branches"), Shape { grid: 4, len: 256, ..one_block(64) }, |i| {
        let steps = [1, 2, 1, 0][i as usize / 64];
        i / 64 * 64 + (i + 64 - steps) % 64
    }),
    (text!("correct", "vote_after_return"), one_block(32), |i| if i < 20 { 0x5_5555 } else { i }),
    // The thread t = 31 - i adds 1 and its own number with the four it has: t + 10.
    (text!("correct", "own_locals"), one_block(32), |i| i + 1 + (31 - i) + 10),
    (text!("correct", "warp_hand_over"), one_block(64), |i| if i < 32 { i } else { 63 - i }),
    (text!("correct", "volatile_flag"), one_block(64), |i| if i == 0 { 7 } else { i }),
    (text!("correct", "global_flag"), one_block(64), |i| if i < 2 { [1, 6][i as usize] } else { i }),
    (text!("correct", "bytes_of_one_word"), one_block(64), |i| match i {
        0 => 1,
        33 => 4,
        other => other,
    }),
    (text!("correct", "padded_structures"), one_block(32), |i| 3 * (31 - i) + 1),
    (text!("correct", "chain_of_blocks"), Shape { grid: 64, len: 64, ..one_block(1) }, |i| i + 1000),
    (text!("correct", "tile_of_structs"), one_block(64), |i| {
        let low = (1 - i / 32) * 32 + 2 * (15 - i % 32 / 2);
        1000 * low + 2 * (low + 1)
    }),
];

/// The texts of this file; those of the twins are in `broken`.
pub fn texts() -> impl Iterator<Item = &'static Text> {
    CORRECT.iter().map(|(text, _, _)| text)
}

/// Runs a kernel over a ramp and compares.
fn check(device: &Device, function: &gpu_driver::Function, shape: Shape, want: Want) -> Outcome {
    let x = upload(device, &ramp(shape.len))?;
    launch(function, shape.grid, shape.block, shape.shared_bytes, values![x.as_raw()], &device.stream())?;
    let (got, want) = (x.to_vec()?, ramp(shape.len).into_iter().map(want).collect::<Vec<_>>());
    ensure!(got == want, "got {got:?}, want {want:?}");
    Ok(())
}

type Case = (String, Box<dyn Fn(&Device) -> Outcome + Send>);

/// Each test with its name.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (text, shape, want) in CORRECT {
        let test = move |device: &Device| check(device, &text.function(device, text.stem())?, *shape, *want);
        cases.push((text.stem().to_owned(), Box::new(test)));
    }
    for broken in BROKEN {
        let (text, shape, want) = (&broken.text, broken.shape, broken.fixed);
        let test = move |device: &Device| check(device, &text.fixed(device, text.stem())?, shape, want);
        cases.push((format!("{} fixed", text.stem()), Box::new(test)));
    }
    cases
}
