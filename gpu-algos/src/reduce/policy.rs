//! The kernel of a reduction and its template arguments: plain data, chosen from the layout, the operator and the device.

use gpu_array::{expression::LoweredLeaf, gpu_driver::Arch};

use super::{
    axes::Axes,
    constants::{CONTIGUOUS, ONE_RESULT},
    leaves::Located,
};
use crate::common::operator::{DeviceOperator, OperatorKind};

/// The kernel that reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReduceAlgorithm {
    /// All values, contiguous in memory, go to one result: `reduce_all`.
    All,
    /// Threads go along a reduced axis: `reduce_rows`.
    Rows,
    /// Threads go along an outer axis: `reduce_columns`.
    Columns,
}

/// The kernel with its template arguments.
///
/// A kernel has the loop over packs of one form alone, plain or any, and one way to combine blocks: with all of them NVRTC 13.0 took 0.4 to 0.85 s for
/// `reduce_rows`, now 0.17 to 0.35 s. Measured on an H200: NVRTC's option `--Ofast-compile=mid` compiles in 0.2 s, and all kernels run 5 to 9 times
/// slower.
///
/// Where leaves are not plain, `reduce_columns` has 4 packs in flight at most. With all 8 of them, sums of 8192^2 f32 over two axes that are not
/// neighbours took 131 us and not 123, and their kernel 1.3 s to compile and not 0.8 s; with 2, 142 us. In `reduce_rows` fewer than half make
/// the loop over plain leaves slower by an eighth (NVRTC 13.0 schedules it otherwise), and one loop for whole and cut batches makes sums of 2^28 slower
/// by 5 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReducePolicy {
    pub(crate) algorithm: ReduceAlgorithm,
    /// Threads of a block that read values.
    pub(crate) threads: u32,
    /// Most blocks per multiprocessor; so many keep its memory busy.
    pub(crate) most_blocks: u32,
    /// Neighbours that a thread takes at once, as one pack.
    pub(crate) vector_size: u32,
    /// Packs of a thread whose loads are in flight at once.
    pub(crate) vectors_per_thread: u32,
    /// The form of `reduce_rows` or `reduce_columns`: [`CONTIGUOUS`] and [`ONE_RESULT`].
    pub(crate) form: u32,
}

/// Numbers that depend on the architecture.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReduceTuning {
    /// Packs of a thread in flight, of at most two leaves.
    vectors_per_thread: usize,
    /// Threads of a block of `reduce_columns`.
    column_threads: u32,
    /// Threads of a block of `reduce_rows` and `reduce_all` that read values.
    row_threads: u32,
    /// Threads of a multiprocessor that keep its memory busy, in these kernels.
    busy_column_threads: u32,
    busy_row_threads: u32,
}

/// Measured on an H200, f32, 2^28: a sum at 0.987 of the bandwidth of reads, the index of the greatest at 0.97, variance at 0.96, a dot product
/// at 1.00. More blocks than are there at once cost 3 to 10 %, 128 bytes in flight for each thread and leaf are better than 64 and 256, so few
/// registers that four blocks of `reduce_rows` fit make it slower by a fifth; cache hints change nothing.
const SM_90: ReduceTuning = ReduceTuning {
    vectors_per_thread: 8, // tune gpu-algos.reduce_vectors: 4 8 16; (reduce-)?(sum|dot)/.*/gpu-algos/device
    column_threads: 256,   // tune gpu-algos.columns_threads: 128 256 512; reduce-axis0/.*/gpu-algos/device
    row_threads: 256,      // tune gpu-algos.rows_threads: 256 512 1024; (reduce-)?(sum|argmax)/.*/gpu-algos/device
    busy_column_threads: 512, // tune gpu-algos.busy_columns: 512 1024 2048; reduce-axis0/.*/gpu-algos/device
    busy_row_threads: 1024, // tune gpu-algos.busy_rows: 512 1024 2048; (reduce-)?(sum|argmax)/.*/gpu-algos/device
};

/// By architecture, the oldest first.
static TUNING: [(Arch, ReduceTuning); 1] = [(Arch::new(9, 0), SM_90)];

impl ReduceTuning {
    pub(super) fn of(arch: Arch) -> &'static Self {
        arch.tuned(&TUNING)
    }
}

/// The most values per result of a sum of f32 that is carried in f32.
///
/// No thread then adds more than 32 values one after another, so that the error keeps to [`Reductions::sum`](super::Reductions::sum)'s bound. Beyond
/// that, f64 costs no time: memory does. (H200: carried in f64, the sum of 2^20 takes 2.69 us and not 2.42, that of 2^28 as long as in f32.)
fn most_in_f32(results: usize, along_outer: bool) -> usize {
    match (results, along_outer) {
        (1, false) => 1 << 21,
        (_, false) => 1 << 14,
        (_, true) => 1 << 8,
    }
}

/// The operator with the narrowest state that suffices for `results` of `count` values each.
pub(super) fn narrowest(operator: &DeviceOperator, count: usize, results: usize, along_outer: bool) -> DeviceOperator {
    let mut operator = operator.clone();
    if let OperatorKind::ArgExtreme { narrow, .. } = &mut operator.kind {
        *narrow = operator.value.bytes() <= 4 && count <= i32::MAX as usize;
    }
    if let OperatorKind::Sum { .. } = operator.kind
        && count > most_in_f32(results, along_outer)
    {
        operator.kind.carry_in_f64();
    }
    operator
}

/// Whether the kernel `reduce_all` supports the operator. Large states would leave too few registers for two blocks per multiprocessor.
pub(super) fn is_for_all(operator: &DeviceOperator) -> bool {
    operator.is_commutative() && !operator.is_large()
}

impl ReducePolicy {
    /// The policy for an operator with the [`narrowest`] state over these leaves.
    pub(super) fn of(
        leaves: &[LoweredLeaf<'_>],
        axes: &Axes,
        operator: &DeviceOperator,
        tuning: &ReduceTuning,
    ) -> Self {
        let policy = match axes.along_outer {
            true => Self::columns(leaves, operator, tuning),
            false => Self::rows(leaves, operator, tuning),
        };
        let is_contiguous = Located::of(leaves, axes).is_contiguous(policy.vector_size as usize);
        match policy.algorithm {
            ReduceAlgorithm::Columns => policy.formed(is_contiguous, false),
            _ if is_contiguous && axes.outer.is_empty() && is_for_all(operator) => policy.for_all(),
            _ => policy.formed(is_contiguous && operator.is_commutative(), axes.outer.is_empty()),
        }
    }

    /// This policy for plain leaves or any, and for one result or any number.
    pub(super) fn formed(self, is_contiguous: bool, has_one: bool) -> Self {
        Self { form: if is_contiguous { CONTIGUOUS } else { 0 } | if has_one { ONE_RESULT } else { 0 }, ..self }
    }

    /// The policy of the kernel `reduce_all`, which has the numbers of `reduce_rows`.
    pub(super) fn for_all(self) -> Self {
        Self { algorithm: ReduceAlgorithm::All, form: 0, ..self }
    }

    /// The policy of the kernel `reduce_rows` for any leaves and results.
    pub(super) fn rows(leaves: &[LoweredLeaf<'_>], operator: &DeviceOperator, tuning: &ReduceTuning) -> Self {
        let ((width, packs), threads) = (pack(leaves, operator, tuning), tuning.row_threads);
        let (vector_size, vectors_per_thread) = (width as u32, packs as u32);
        let most_blocks = tuning.busy_row_threads / threads;
        Self { algorithm: ReduceAlgorithm::Rows, threads, most_blocks, vector_size, vectors_per_thread, form: 0 }
    }

    /// The policy of the kernel `reduce_columns` for any leaves.
    pub(super) fn columns(leaves: &[LoweredLeaf<'_>], operator: &DeviceOperator, tuning: &ReduceTuning) -> Self {
        let ((width, packs), threads) = (pack(leaves, operator, tuning), tuning.column_threads);
        // A thread has a state for each element of a pack. Where states are large it has fewer, and more packs in flight: means with deviations of the
        // columns of 8192^2 f32 take 91 us with 4 packs of 2 in flight, 74 with 8, 70 with 16, and 73 with 8 packs of 4 (H200).
        let (most_width, most_packs) = if operator.is_large() { (2, 16) } else { (8, 8) };
        let vector_size = width.min(most_width);
        let packs = if operator.is_large() { packs * (width / vector_size).min(2) } else { packs };
        let (vector_size, vectors_per_thread) = (vector_size as u32, packs.min(most_packs) as u32);
        let most_blocks = tuning.busy_column_threads / threads;
        Self { algorithm: ReduceAlgorithm::Columns, threads, most_blocks, vector_size, vectors_per_thread, form: 0 }
    }

    /// Threads of a block; `reduce_all` has the collecting warp besides.
    pub(crate) fn block(&self) -> u32 {
        self.threads + if self.algorithm == ReduceAlgorithm::All { 32 } else { 0 }
    }

    /// The kernel with its template arguments.
    pub(crate) fn template(&self, expression: &str, operator: &str) -> String {
        let Self { algorithm, threads, vector_size, vectors_per_thread, form, .. } = self;
        let (kernel, form) = match algorithm {
            ReduceAlgorithm::All => ("reduce_all", String::new()),
            ReduceAlgorithm::Rows => ("reduce_rows", format!(", {form}")),
            ReduceAlgorithm::Columns => ("reduce_columns", format!(", {form}")),
        };
        format!(
            "gpu::algos::reduce::{kernel}<{expression}, {operator}, {threads}, {vector_size}, {vectors_per_thread}{form}>"
        )
    }
}

/// Elements of a pack, and packs of a thread in flight.
fn pack(leaves: &[LoweredLeaf<'_>], operator: &DeviceOperator, tuning: &ReduceTuning) -> (usize, usize) {
    let bytes = leaves.iter().filter(|leaf| !leaf.is_place).map(|leaf| leaf.dtype.bytes()).max().unwrap_or(4);
    let width = (16 / bytes).min(match leaves.len() {
        0..=8 => 16,
        9..=16 => 4,
        17..=32 => 2,
        _ => 1,
    });
    // A user's text reads no leaf but indices: neighbouring threads take neighbouring indices, unless each combines some in order.
    let is_text = matches!(&operator.kind, OperatorKind::Custom(custom) if custom.commutative);
    let packs = match leaves.len() {
        0..=2 => tuning.vectors_per_thread,
        3..=4 => 4,
        5..=8 => 2,
        _ => 1,
    };
    // A value of one byte occupies a register of its own once it is read.
    (if is_text { 1 } else { width }, if bytes == 1 { packs.min(4) } else { packs })
}
