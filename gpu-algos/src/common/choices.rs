//! Tables of problems with the kernel and the launch that are chosen for each, which no change of code may alter unseen.
//!
//! Each primitive has a file `choices.txt` with a line for each problem. A choice that is changed on purpose is written there.

use gpu_array::{
    DType,
    expression::LoweredLeaf,
    gpu_driver::{Arch, Header},
};
use smallvec::SmallVec;

use super::{
    launch::{DeviceLimits, Launch, Occupancy},
    source::ValueSource,
};
use crate::Result;

/// Devices with many, some and few multiprocessors: H200, A100, and a small one with the shared memory that needs no opt-in.
pub(crate) const DEVICES: [DeviceLimits; 3] =
    [limits((9, 0), 132, 227), limits((8, 0), 108, 163), limits((7, 5), 4, 48)];

const fn limits((major, minor): (u32, u32), multiprocessors: usize, shared_kb: usize) -> DeviceLimits {
    DeviceLimits { arch: Arch::new(major, minor), multiprocessors, most_shared_bytes: shared_kb << 10 }
}

/// An operand: the offset of its first element, its element type and its strides. A stand-in for an array in memory.
#[derive(Clone, Debug)]
pub(crate) struct TableOperand {
    pub(crate) offset: usize,
    pub(crate) dtype: DType,
    pub(crate) strides: Vec<isize>,
    /// Whether the operand is an index instead of an array.
    pub(crate) is_index: bool,
}

impl TableOperand {
    /// An array in C order, whose first element is `offset` elements behind an aligned address.
    pub(crate) fn contiguous(dtype: DType, shape: &[usize], offset: usize) -> Self {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis] as isize;
        }
        Self { offset, dtype, strides, is_index: false }
    }

    /// The address of the first element, for the operand of this number.
    pub(crate) fn address(&self, number: usize) -> u64 {
        if self.is_index { 0 } else { ((1 + number as u64) << 40) + (self.offset * self.dtype.bytes()) as u64 }
    }
}

/// A source that reads these operands.
#[derive(Clone, Debug)]
pub(crate) struct Operands {
    pub(crate) shape: Vec<usize>,
    pub(crate) operands: Vec<TableOperand>,
    /// The number of the first operand, which tells the sources of one problem apart.
    pub(crate) first: usize,
}

impl ValueSource for Operands {
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        let operands = self.operands.iter().zip(self.first..);
        let leaves = operands.map(|(operand, number)| LoweredLeaf {
            address: operand.address(number),
            dtype: operand.dtype,
            is_place: operand.is_index,
            strides: &operand.strides,
        });
        leaves.collect()
    }
    fn add_key(&self, _key: &mut SmallVec<[u64; 64]>) {}
    fn text(&self, _name: &str) -> (String, Vec<Header>) {
        (String::new(), Vec::new())
    }
}

/// A kernel of which a multiprocessor of this device holds as many blocks as its threads and its shared memory allow.
pub(crate) struct Uncompiled<'d>(pub(crate) &'d DeviceLimits);

impl Occupancy for Uncompiled<'_> {
    fn blocks(&self, threads: u32, shared_bytes: u32) -> Result<usize> {
        let by_memory = self.0.most_shared_bytes / (shared_bytes as usize + 1024);
        Ok((2048 / threads as usize).min(by_memory).max(1))
    }
}

/// The part of a line that tells the launch.
pub(crate) fn described(launch: &Launch) -> String {
    let Launch { params, scratch, config, .. } = launch;
    let hash = params.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
        word.to_le_bytes().iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    });
    let (grid, block, shared) = (config.grid.x, config.block.x, config.shared_bytes);
    format!("grid {grid} block {block} shared {shared} scratch {scratch:?} params {hash:016x}")
}

/// Compares the lines with those of the file.
pub(crate) fn compare(got: &[String], file: &str) {
    let want: Vec<&str> = file.lines().collect();
    if got.iter().map(String::as_str).eq(want.iter().copied()) {
        return;
    }
    println!("{}", got.join("\n"));
    let differs = got.iter().zip(&want).find(|(got, want)| got != *want);
    panic!(
        "{} choices, {} in the file (all are printed above); the first that differs: {differs:#?}",
        got.len(),
        want.len()
    );
}
