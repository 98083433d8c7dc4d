//! The launches: each checks lengths, so that a call cannot reach beyond its buffers, and enqueues one kernel.
//!
//! A launch goes to the stream of what it writes. Nothing is launched for empty vectors, whose sums are 0.
#![expect(unsafe_code, reason = "one block per kernel launch")]

use gpu_driver::{DeviceVec, PinnedVec, Stream};

use super::DeviceCsr;
use super::entries::*;
use super::policy::{MAX_BLOCKS, VECTORS};
use crate::csr::check_length;
use crate::{Result, Scalar};

/// Most sums that one pass makes.
const MAX_SUMS: usize = 2;

/// The way of a pass's sums to the host: partial sums of blocks, their totals, and pinned memory that receives these.
///
/// Belongs to one sequence of passes: a pass overwrites what the one before left.
pub(crate) struct Sums {
    partials: DeviceVec<f64>,
    totals: DeviceVec<f64>,
    /// None while a copy runs, and after one failed.
    pinned: Option<PinnedVec<f64>>,
}

impl Sums {
    pub(crate) fn new(stream: &Stream) -> Result<Self> {
        let partials = DeviceVec::zeros(stream, MAX_SUMS * MAX_BLOCKS as usize)?;
        Ok(Self { partials, totals: DeviceVec::zeros(stream, MAX_SUMS)?, pinned: None })
    }

    /// Adds `N` times `blocks` partial sums, in a fixed order, and waits for the totals.
    fn read<const N: usize>(&mut self, blocks: u32) -> Result<[f64; N]> {
        const { assert!(N <= MAX_SUMS) };
        let stream = self.totals.home().clone();
        let kernel = KERNELS.kernel::<SumPartials>(stream.device(), &VECTORS)?;
        let (count, sums) = (u64::from(blocks.min(MAX_BLOCKS)), N as u64);
        // SAFETY: reads partials[..N * count] and writes totals[..N], which both have room for; both are released in order.
        unsafe { kernel.launch(1, (self.partials.input(), self.totals.output(), count, sums), &stream)? };
        let pinned = match self.pinned.take() {
            Some(pinned) => pinned,
            None => PinnedVec::zeros(stream.device(), MAX_SUMS)?,
        };
        let pinned = self.totals.download(pinned)?.wait()?;
        let totals = std::array::from_fn(|k| pinned[k]);
        self.pinned = Some(pinned);
        Ok(totals)
    }
}

/// Compiles and loads every kernel that products and solves with `a` launch.
pub(crate) fn load_kernels<T: Scalar>(a: &DeviceCsr<T>) -> Result<()> {
    let (device, rows) = (a.device(), a.policy());
    KERNELS.kernel::<CsrProduct<T>>(device, &rows)?;
    KERNELS.kernel::<CsrProductDot<T>>(device, &rows)?;
    KERNELS.kernel::<CsrResidual<T>>(device, &rows)?;
    KERNELS.kernel::<UpdateResidual<T>>(device, &VECTORS)?;
    KERNELS.kernel::<UpdateResidualDiagonal<T>>(device, &VECTORS)?;
    KERNELS.kernel::<WeightedSquare<T>>(device, &VECTORS)?;
    KERNELS.kernel::<Rescale<T>>(device, &VECTORS)?;
    KERNELS.kernel::<ScaledDirection<T>>(device, &VECTORS)?;
    KERNELS.kernel::<UpdateSolutionAndDirection<T>>(device, &VECTORS)?;
    KERNELS.kernel::<UpdateSolutionAndDirectionDiagonal<T>>(device, &VECTORS)?;
    KERNELS.kernel::<UpdateSolution<T>>(device, &VECTORS)?;
    KERNELS.kernel::<SumPartials>(device, &VECTORS)?;
    Ok(())
}

/// `y = A x`.
pub(crate) fn product<T: Scalar>(a: &DeviceCsr<T>, x: &DeviceVec<T>, y: &mut DeviceVec<T>) -> Result<()> {
    const OP: &str = "DeviceCsr::matvec";
    check_length(OP, "x", x.len(), a.cols())?;
    check_length(OP, "y", y.len(), a.rows())?;
    if a.rows() == 0 {
        return Ok(());
    }
    let (stream, policy, rows) = (y.home().clone(), a.policy(), a.rows());
    let kernel = KERNELS.kernel::<CsrProduct<T>>(stream.device(), &policy)?;
    let (starts, columns, values) = a.inputs();
    let arguments = (starts, columns, values, x.input(), y.output(), rows as u64);
    // SAFETY: the matrix's arrays agree with each other (they come from a CsrMatrix and are never changed), its columns lie
    // within x and its rows are those of y, as checked; y is borrowed mutably; all are released in stream order.
    unsafe { kernel.launch(policy.blocks(rows), arguments, &stream)? };
    Ok(())
}

/// `y = A x` for a square `A`; returns `x . y`. Waits.
pub(crate) fn product_dot<T: Scalar>(
    a: &DeviceCsr<T>,
    x: &DeviceVec<T>,
    y: &mut DeviceVec<T>,
    sums: &mut Sums,
) -> Result<f64> {
    const OP: &str = "DeviceCsr: y = A x and x . y";
    check_length(OP, "the matrix's rows", a.rows(), a.cols())?;
    check_length(OP, "x", x.len(), a.cols())?;
    check_length(OP, "y", y.len(), a.rows())?;
    if a.rows() == 0 {
        return Ok(0.0);
    }
    let (stream, policy, rows) = (y.home().clone(), a.policy(), a.rows());
    let (kernel, blocks) = (KERNELS.kernel::<CsrProductDot<T>>(stream.device(), &policy)?, policy.blocks(rows));
    let (starts, columns, values) = a.inputs();
    let arguments = (starts, columns, values, x.input(), y.output(), sums.partials.output(), rows as u64);
    // SAFETY: as in `product`; x has an element for each row, too; partials has room for MAX_BLOCKS, which `blocks` keeps to.
    unsafe { kernel.launch(blocks, arguments, &stream)? };
    sums.read(blocks).map(|[dot]| dot)
}

/// `r = b - A x`; returns `r . r`. Waits.
pub(crate) fn residual<T: Scalar>(
    a: &DeviceCsr<T>,
    x: &DeviceVec<T>,
    b: &DeviceVec<T>,
    r: &mut DeviceVec<T>,
    sums: &mut Sums,
) -> Result<f64> {
    const OP: &str = "DeviceCsr: r = b - A x";
    check_length(OP, "x", x.len(), a.cols())?;
    check_length(OP, "b", b.len(), a.rows())?;
    check_length(OP, "r", r.len(), a.rows())?;
    if a.rows() == 0 {
        return Ok(0.0);
    }
    let (stream, policy, rows) = (r.home().clone(), a.policy(), a.rows());
    let (kernel, blocks) = (KERNELS.kernel::<CsrResidual<T>>(stream.device(), &policy)?, policy.blocks(rows));
    let (starts, columns, values) = a.inputs();
    let arguments = (starts, columns, values, x.input(), b.input(), r.output(), sums.partials.output(), rows as u64);
    // SAFETY: as in `product`; b has an element for each row; partials has room for MAX_BLOCKS, which `blocks` keeps to.
    unsafe { kernel.launch(blocks, arguments, &stream)? };
    sums.read(blocks).map(|[square]| square)
}

/// `r -= alpha q`; returns `r . r`. Waits.
pub(crate) fn update_residual<T: Scalar>(
    r: &mut DeviceVec<T>,
    q: &DeviceVec<T>,
    alpha: T,
    sums: &mut Sums,
) -> Result<f64> {
    let n = r.len();
    check_length("update_residual", "q", q.len(), n)?;
    if n == 0 {
        return Ok(0.0);
    }
    let (stream, blocks) = (r.home().clone(), VECTORS.blocks(n));
    let kernel = KERNELS.kernel::<UpdateResidual<T>>(stream.device(), &VECTORS)?;
    let arguments = (alpha, q.input(), r.in_out(), sums.partials.output(), n as u64);
    // SAFETY: both vectors have n elements, as checked; partials has room for MAX_BLOCKS; what is written is borrowed mutably;
    // all are released in stream order.
    unsafe { kernel.launch(blocks, arguments, &stream)? };
    sums.read(blocks).map(|[square]| square)
}

/// `r -= alpha q`; returns `r . r` and `r . D r`. Waits.
pub(crate) fn update_residual_diagonal<T: Scalar>(
    r: &mut DeviceVec<T>,
    q: &DeviceVec<T>,
    diagonal: &DeviceVec<T>,
    alpha: T,
    sums: &mut Sums,
) -> Result<[f64; 2]> {
    let n = r.len();
    check_length("update_residual_diagonal", "q", q.len(), n)?;
    check_length("update_residual_diagonal", "a diagonal", diagonal.len(), n)?;
    if n == 0 {
        return Ok([0.0; 2]);
    }
    let (stream, blocks) = (r.home().clone(), VECTORS.blocks(n));
    let kernel = KERNELS.kernel::<UpdateResidualDiagonal<T>>(stream.device(), &VECTORS)?;
    let arguments = (alpha, q.input(), diagonal.input(), r.in_out(), sums.partials.output(), n as u64);
    // SAFETY: as in `update_residual`; partials has room for two times MAX_BLOCKS.
    unsafe { kernel.launch(blocks, arguments, &stream)? };
    sums.read(blocks)
}

/// `r . D r`. Waits.
pub(crate) fn weighted_square<T: Scalar>(r: &DeviceVec<T>, diagonal: &DeviceVec<T>, sums: &mut Sums) -> Result<f64> {
    let n = r.len();
    check_length("weighted_square", "a diagonal", diagonal.len(), n)?;
    if n == 0 {
        return Ok(0.0);
    }
    let (stream, blocks) = (r.home().clone(), VECTORS.blocks(n));
    let kernel = KERNELS.kernel::<WeightedSquare<T>>(stream.device(), &VECTORS)?;
    // SAFETY: as in `update_residual`.
    unsafe { kernel.launch(blocks, (diagonal.input(), r.input(), sums.partials.output(), n as u64), &stream)? };
    sums.read(blocks).map(|[square]| square)
}

/// `r *= factor`; returns `r . r`. Waits.
pub(crate) fn rescale<T: Scalar>(r: &mut DeviceVec<T>, factor: f64, sums: &mut Sums) -> Result<f64> {
    let n = r.len();
    if n == 0 {
        return Ok(0.0);
    }
    let (stream, blocks) = (r.home().clone(), VECTORS.blocks(n));
    let kernel = KERNELS.kernel::<Rescale<T>>(stream.device(), &VECTORS)?;
    // SAFETY: as in `update_residual`.
    unsafe { kernel.launch(blocks, (factor, r.in_out(), sums.partials.output(), n as u64), &stream)? };
    sums.read(blocks).map(|[square]| square)
}

/// `p = D r`.
pub(crate) fn scaled_direction<T: Scalar>(
    p: &mut DeviceVec<T>,
    r: &DeviceVec<T>,
    diagonal: &DeviceVec<T>,
) -> Result<()> {
    let n = p.len();
    check_length("scaled_direction", "r", r.len(), n)?;
    check_length("scaled_direction", "a diagonal", diagonal.len(), n)?;
    if n == 0 {
        return Ok(());
    }
    let stream = p.home().clone();
    let kernel = KERNELS.kernel::<ScaledDirection<T>>(stream.device(), &VECTORS)?;
    let arguments = (diagonal.input(), r.input(), p.output(), n as u64);
    // SAFETY: all vectors have n elements, as checked; p is borrowed mutably; all are released in stream order.
    unsafe { kernel.launch(VECTORS.blocks(n), arguments, &stream)? };
    Ok(())
}

/// `x += step p`, then `p = z + beta p`.
pub(crate) fn update_solution_and_direction<T: Scalar>(
    x: &mut DeviceVec<T>,
    p: &mut DeviceVec<T>,
    z: &DeviceVec<T>,
    step: T,
    beta: T,
) -> Result<()> {
    let n = x.len();
    check_length("update_solution_and_direction", "p", p.len(), n)?;
    check_length("update_solution_and_direction", "z", z.len(), n)?;
    if n == 0 {
        return Ok(());
    }
    let stream = x.home().clone();
    let kernel = KERNELS.kernel::<UpdateSolutionAndDirection<T>>(stream.device(), &VECTORS)?;
    let arguments = (step, beta, z.input(), x.in_out(), p.in_out(), n as u64);
    // SAFETY: as in `scaled_direction`.
    unsafe { kernel.launch(VECTORS.blocks(n), arguments, &stream)? };
    Ok(())
}

/// `x += step p`, then `p = D r + beta p`.
pub(crate) fn update_solution_and_direction_diagonal<T: Scalar>(
    x: &mut DeviceVec<T>,
    p: &mut DeviceVec<T>,
    (r, diagonal): (&DeviceVec<T>, &DeviceVec<T>),
    step: T,
    beta: T,
) -> Result<()> {
    let n = x.len();
    for (what, len) in [("p", p.len()), ("r", r.len()), ("a diagonal", diagonal.len())] {
        check_length("update_solution_and_direction_diagonal", what, len, n)?;
    }
    if n == 0 {
        return Ok(());
    }
    let stream = x.home().clone();
    let kernel = KERNELS.kernel::<UpdateSolutionAndDirectionDiagonal<T>>(stream.device(), &VECTORS)?;
    let arguments = (step, beta, diagonal.input(), r.input(), x.in_out(), p.in_out(), n as u64);
    // SAFETY: as in `scaled_direction`.
    unsafe { kernel.launch(VECTORS.blocks(n), arguments, &stream)? };
    Ok(())
}

/// `x += step p`.
pub(crate) fn update_solution<T: Scalar>(x: &mut DeviceVec<T>, p: &DeviceVec<T>, step: T) -> Result<()> {
    let n = x.len();
    check_length("update_solution", "p", p.len(), n)?;
    if n == 0 {
        return Ok(());
    }
    let stream = x.home().clone();
    let kernel = KERNELS.kernel::<UpdateSolution<T>>(stream.device(), &VECTORS)?;
    // SAFETY: as in `scaled_direction`.
    unsafe { kernel.launch(VECTORS.blocks(n), (step, p.input(), x.in_out(), n as u64), &stream)? };
    Ok(())
}
