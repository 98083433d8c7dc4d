//! A launch as it stands in a queue, and the values of its arguments.

use std::{ops::Range, sync::Arc};

use crate::{
    abi::Index,
    code::{INVALID_VALUE, Outcome},
    image::Image,
};

/// A launch as it stands in a queue: its arguments are copied.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) image: Arc<Image>,
    /// Handle of the module, which must be loaded when the launch runs; 0 for a launch that is asked about only.
    pub(crate) module: usize,
    pub(crate) kernel: usize,
    pub(crate) name: String,
    pub(crate) grid: Index,
    pub(crate) block: Index,
    pub(crate) dynamic_bytes: u32,
    /// All blocks must be resident at once.
    pub(crate) cooperative: bool,
    /// It may start while earlier work of the stream runs, so its threads wait for that themselves before they touch memory.
    pub(crate) overlaps: bool,
    /// The kernel was allowed more dynamic shared memory than every kernel has.
    pub(crate) raised: bool,
    /// The arguments' values, each at a multiple of 16 bytes.
    pub(crate) arguments: Vec<ArgumentBytes>,
    /// The start of each value, in units of 16 bytes.
    pub(crate) places: Vec<usize>,
    /// Linear numbers of the blocks to run; empty for all.
    pub(crate) chosen: Vec<Range<u64>>,
}

impl Order {
    pub(crate) fn threads(&self) -> usize {
        self.block.x as usize * self.block.y as usize * self.block.z as usize
    }

    pub(super) fn blocks(&self) -> u64 {
        let all = u64::from(self.grid.x) * u64::from(self.grid.y) * u64::from(self.grid.z);
        if self.chosen.is_empty() { all } else { self.chosen_below(all).map(|range| range.end - range.start).sum() }
    }

    fn chosen_below(&self, all: u64) -> impl Iterator<Item = Range<u64>> {
        self.chosen.iter().map(move |range| range.start.min(all)..range.end.min(all)).filter(|range| !range.is_empty())
    }

    /// The index of the `at`-th block that runs.
    pub(super) fn block_index(&self, mut at: u64) -> Index {
        let (x, y, z) = (u64::from(self.grid.x), u64::from(self.grid.y), u64::from(self.grid.z));
        if !self.chosen.is_empty() {
            for range in self.chosen_below(x * y * z) {
                let length = range.end - range.start;
                if at < length {
                    at += range.start;
                    break;
                }
                at -= length;
            }
        }
        Index { x: (at % x) as u32, y: (at / x % y) as u32, z: (at / x / y) as u32 }
    }
}

/// Bytes of the values of arguments, with the largest alignment that CUDA's types have.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct ArgumentBytes(#[expect(dead_code, reason = "read by the kernel")] [u8; 64]);

/// The values of a kernel's arguments, each at a multiple of 64 bytes.
pub(crate) struct Values {
    values: Vec<ArgumentBytes>,
    places: Vec<usize>,
}

/// The sizes of a kernel's parameters.
pub(crate) fn parameter_bytes(image: &Image, kernel: usize) -> Vec<usize> {
    let kernel = &image.kernels()[kernel];
    // SAFETY: the module's table has that many entries.
    (0..kernel.count as usize).map(|at| unsafe { *kernel.sizes.add(at) } as usize).collect()
}

/// Arguments of zero bytes, for a launch that does not reach the kernel's body.
pub(crate) fn zero_arguments(image: &Image, kernel: usize) -> Values {
    let mut values = Values { values: Vec::new(), places: Vec::new() };
    for bytes in parameter_bytes(image, kernel) {
        values.places.push(values.values.len());
        values.values.resize(values.values.len() + bytes.div_ceil(64), ArgumentBytes([0; 64]));
    }
    values
}

impl Values {
    /// A launch of one thread with these arguments.
    pub(crate) fn order(self, image: Arc<Image>, kernel: usize, name: String) -> Order {
        let one = Index { x: 1, y: 1, z: 1 };
        Order {
            image,
            module: 0,
            kernel,
            name,
            grid: one,
            block: one,
            dynamic_bytes: 0,
            cooperative: false,
            overlaps: false,
            raised: false,
            arguments: self.values,
            places: self.places,
            chosen: Vec::new(),
        }
    }
}

/// Copies the arguments' values, as the driver does before a launch call returns.
///
/// # Safety
/// `arguments` holds the address of each argument's value, in order.
pub(crate) unsafe fn copy_arguments(image: &Image, kernel: usize, arguments: *const *const u8) -> Outcome<Values> {
    let mut copied = zero_arguments(image, kernel);
    if copied.places.is_empty() {
        return Ok(copied);
    }
    if arguments.is_null() {
        return Err(INVALID_VALUE);
    }
    for (at, (&place, bytes)) in copied.places.iter().zip(parameter_bytes(image, kernel)).enumerate() {
        // SAFETY: as the caller promises; the values have room for each.
        unsafe {
            let to = copied.values.as_mut_ptr().add(place).cast::<u8>();
            std::ptr::copy_nonoverlapping(*arguments.add(at), to, bytes);
        }
    }
    Ok(copied)
}
