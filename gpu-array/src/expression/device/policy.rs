//! Tuning of the loops over expressions: plain data, chosen from architecture and element types, passed as template arguments.

use gpu_driver::Arch;

use crate::{
    DType,
    expression::graph::{Code, LeafMemory},
};

/// The loops. Each is compiled when an expression first needs it; [`Loop::Rows`] once for each set of leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Loop {
    /// All elements are contiguous.
    Linear,
    /// Elements lie anywhere.
    Strided,
    /// Rows of whole packs, of expressions with tables or long rows. With tables the leaves of these bits have one value for all places of a row; else the
    /// bits are 0.
    Rows { same: u64 },
    /// Some leaves lie along another axis than the output's, and go through shared memory.
    Tiled,
}

impl Loop {
    /// The number of the loop, for a key.
    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Linear => 0,
            Self::Strided => 1,
            Self::Rows { .. } => 2,
            Self::Tiled => 3,
        }
    }

    /// The leaves that have one value for all places of a row, as bits; 0 where the text takes none to have one.
    pub(crate) const fn same_along_rows(self) -> u64 {
        match self {
            Self::Rows { same } => same,
            _ => 0,
        }
    }
}

/// The template arguments of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Neighbours that a thread takes at once, as one pack.
    pub(crate) vector_size: u32,
    /// Packs of a thread (all but tiled).
    pub(crate) vectors_per_thread: u32,
    /// Elements of a tile along either axis (tiled).
    pub(crate) tile: u32,
}

impl Policy {
    /// The policy of a loop over the expression.
    ///
    /// Measured on an H200, f32: the linear loop at 1.02 of a copy's bandwidth, a broadcast sum at 0.98, a transposed copy at 0.95; fills at 0.99 of a
    /// memset. The longest elements are moved 16 bytes at a time, so that the accesses of a warp are contiguous: with 32 bytes for each thread the
    /// linear loop converts f32 to f64 at 0.73 of the bandwidth instead of 0.97, and a broadcast sum takes 151 us instead of 132.
    ///
    /// Rows of a table: a thread waits for its index, then for the elements, so it has two packs of a row, for which it computes index and offsets once.
    /// Rows of f32 in another order, 268 MB in all, of 8192, 1024 and 64 columns: 134, 133 and 136 us with two packs, 147, 145 and 147 with one, 138, 133
    /// and 136 with four; a copy takes 129, PyTorch 150 and CuPy 371 for the first. With an offset for each element they took 232.
    ///
    /// Rows of broadcast leaves, `(x - mean) / deviation` over the columns of 8192 x 8192 f32: 128 us with two packs of a row, 129 with one, 129.5 with four,
    /// 132 with 256 threads, and 135 in the strided loop, whose threads divide their number twice. A kernel written for this shape alone takes 126. Going
    /// from the last row to the first saves 4 us more behind a reduction of the operand, and a kernel that takes all packs to be aligned another one.
    pub(crate) fn of(_arch: Arch, which: Loop, code: &Code<'_>) -> Self {
        let most = most_bytes(code);
        match which {
            Loop::Linear => {
                let threads = 256; // tune gpu-array.linear_threads: 128 256 512 1024; (lincomb|wave)/.*/gpu-array/device
                let vectors_per_thread = match writes_alone(code) {
                    true => 4,  // tune gpu-array.linear_vectors_of_writes: 1 2 4 8; arange/.*/gpu-array/device
                    false => 1, // tune gpu-array.linear_vectors: 1 2 4; (lincomb|wave)/.*/gpu-array/device
                };
                Self { threads, vector_size: width(16 / most, code.leaves.len()), vectors_per_thread, tile: 0 }
            }
            Loop::Strided => {
                let threads = 128; // tune gpu-array.strided_threads: 64 128 256; broadcast-add/.*/gpu-array/device
                let vectors_per_thread = match code.tables.is_empty() {
                    true => 1,  // tune gpu-array.strided_vectors: 1 2 4; broadcast-add/.*/gpu-array/device
                    false => 2, // tune gpu-array.strided_vectors_of_tables: 1 2 4; flip/.*/gpu-array/device
                };
                Self {
                    threads,
                    vector_size: width(16 / most_along_rows(code), code.leaves.len()),
                    vectors_per_thread,
                    tile: 0,
                }
            }
            Loop::Rows { .. } => {
                let threads = 128; // tune gpu-array.rows_threads: 64 128 256; (take-rows|broadcast-add)/.*/gpu-array/device
                let vectors_per_thread = 2; // tune gpu-array.rows_vectors: 1 2 4; (take-rows|broadcast-add)/.*/gpu-array/device
                Self {
                    threads,
                    vector_size: width(16 / most_along_rows(code), code.leaves.len()),
                    vectors_per_thread,
                    tile: 0,
                }
            }
            Loop::Tiled => {
                let threads = 256; // tune gpu-array.tiled_threads: 128 256 512; transpose/.*/gpu-array/device
                let tile = match most {
                    1 => 128,
                    2 | 4 => 64,
                    _ => 32,
                };
                let vector_size = match most {
                    1 => 8,
                    2 | 4 => 4,
                    _ => 2,
                };
                Self { threads, vector_size, vectors_per_thread: 1, tile }
            }
        }
    }

    /// The loop over that structure, with its template arguments.
    pub(crate) fn template(&self, which: Loop, expression: &str) -> String {
        let Self { threads, vector_size, vectors_per_thread, tile } = self;
        match which {
            Loop::Linear => format!("linear<{expression}, {threads}, {vector_size}, {vectors_per_thread}>"),
            Loop::Strided => format!("strided<{expression}, {threads}, {vector_size}, {vectors_per_thread}>"),
            Loop::Rows { .. } => format!("rows<{expression}, {threads}, {vector_size}, {vectors_per_thread}>"),
            Loop::Tiled => format!("tiled<{expression}, {threads}, {tile}, {vector_size}>"),
        }
    }
}

/// Bytes of the longest elements in memory.
fn most_bytes(code: &Code<'_>) -> usize {
    let leaves = code.leaves.iter().filter(|leaf| !matches!(leaf.memory, LeafMemory::Nowhere));
    longest(code, leaves.map(|leaf| leaf.dtype))
}

/// Bytes of the longest elements that threads move along rows. Of expressions with tables these are theirs and the results': the indices of whole rows are
/// longer than elements often are, and read once for each row.
fn most_along_rows(code: &Code<'_>) -> usize {
    if code.tables.is_empty() { most_bytes(code) } else { longest(code, code.tables.iter().map(|table| table.dtype)) }
}

/// Bytes of the longest elements of those that are read and of the results.
fn longest(code: &Code<'_>, read: impl Iterator<Item = DType>) -> usize {
    let outputs = code.outputs.iter().map(|&step| code.steps[step as usize].dtype);
    read.chain(outputs).map(DType::bytes).max().unwrap_or(1)
}

/// Whether nothing is read. A thread then computes all the while: `arange` of 2^28 numbers of f32 by way of f64 took an H200 255 us with one pack a thread
/// and 243 us with four; fills take 1 % longer with four. An exact sum of two f64 in place of the conversion of each place took 289 us, integers of 64
/// bits 260, and those of 32 bits, which `arange` takes where all values fit, 230.5: 1.02 of the speed of fills.
fn writes_alone(code: &Code<'_>) -> bool {
    code.tables.is_empty() && code.leaves.iter().all(|leaf| matches!(leaf.memory, LeafMemory::Nowhere))
}

/// Elements of a pack, fewer if many leaves would need too many registers.
fn width(full: usize, leaves: usize) -> u32 {
    let width = match leaves {
        0..=8 => full,
        9..=16 => full.min(4),
        17..=32 => full.min(2),
        _ => 1,
    };
    width as u32
}
