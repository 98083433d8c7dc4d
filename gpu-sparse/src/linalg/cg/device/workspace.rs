//! The passes of a solve: each checks lengths, so that a call cannot reach beyond its buffers, and enqueues one kernel.
#![expect(unsafe_code, reason = "one block per kernel launch")]

use gpu_driver::{DeviceVec, Graph, Pending, PinnedVec, Stream};

use super::entries::*;
use super::policy::VECTORS;
use super::state::{Scalars, SolverState};
use crate::device::{Storage, View, in_its_format};
use crate::product::check_length;
use crate::product::device::{PRODUCTS, RowScratch, grid, main_blocks, product_on};
use crate::registry::KERNELS;
use crate::{DeviceMatrix, Result, Scalar};

/// Places for the sums that a product stores: of its sweeping blocks, and of each long row.
fn places<T: Scalar>(storage: &Storage<T>) -> usize {
    main_blocks(storage) as usize + storage.long_rows().len()
}

/// The number of sums that a product stores for the pass after it, and whether it has to gather them in one first.
fn stored_by<T: Scalar>(storage: &Storage<T>) -> (u64, u32) {
    /// Most sums that each block of a pass adds up: some 1 us.
    const MOST: usize = 4096;
    let places = places(storage);
    if places > MOST { (1, 1) } else { (places as u64, 0) }
}

/// Sums that the blocks of a pass store for the pass after it.
struct Partials {
    partials: DeviceVec<f64>,
    /// How many the pass that ran last has stored of each sum.
    count: u64,
}

impl Partials {
    fn new(stream: &Stream, most: usize) -> Result<Self> {
        Ok(Self { partials: DeviceVec::zeros(stream, most)?, count: 0 })
    }
}

/// The memory that the passes of one solve share: its scalars on the device, and the sums that blocks exchange; with its stream.
///
/// Vectors have the stream as their home, so that the passes can be captured. The matrices are whole before it begins, since their
/// upload waits; their own streams, which order their release, follow it where it ends with passes that may still run (Drop).
pub(super) struct Workspace<'a, T: Scalar> {
    /// Elements of each vector.
    n: usize,
    stream: Stream,
    matrices: Vec<&'a DeviceMatrix<T>>,
    state: DeviceVec<SolverState>,
    /// Sums that the blocks of the first pass store for the second: `p . q`. Also those of passes that make a sum for the host.
    curvature: Partials,
    /// Sums that the blocks of the second pass store for the last: `r . r`, and with Jacobi `r . z` behind it.
    residual: Partials,
    /// Sums that the blocks of a preconditioner store for the last pass: `r . z`.
    rho: Partials,
    arrived: DeviceVec<u32>,
    rows: RowScratch,
}

impl<'a, T: Scalar> Workspace<'a, T> {
    /// A workspace for vectors of `n` elements on a new stream, and for products with these matrices.
    pub(super) fn new(n: usize, matrices: Vec<&'a DeviceMatrix<T>>, stream: Stream) -> Result<Self> {
        let vector_sums = VECTORS.blocks(n) as usize;
        let sums = matrices.iter().map(|a| places(a.storage())).fold(vector_sums, usize::max);
        Ok(Self {
            state: DeviceVec::from_slice(&stream, &[SolverState::new(Scalars::START)])?,
            curvature: Partials::new(&stream, sums)?,
            residual: Partials::new(&stream, 2 * vector_sums)?,
            rho: Partials::new(&stream, sums)?,
            arrived: DeviceVec::zeros(&stream, 1)?,
            rows: RowScratch::new(&stream, &matrices)?,
            n,
            stream,
            matrices,
        })
    }

    /// Tells that the last pass has ended, since its sum was waited for: the matrices may go at once.
    pub(super) fn finish(&mut self) {
        self.matrices.clear();
    }

    /// The stream of the solve.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Replaces the scalars.
    pub(super) fn set_scalars(&mut self, start: Scalars) -> Result<()> {
        Ok(self.state.copy_from_slice(&[SolverState::new(start)])?)
    }

    /// Starts to copy the scalars, as the work enqueued so far leaves them.
    pub(super) fn read_state(&self, into: PinnedVec<SolverState>) -> Result<Pending<PinnedVec<SolverState>>> {
        Ok(self.state.download(into)?)
    }

    /// The sum that the pass before made for the host. Waits.
    pub(super) fn total(&self) -> Result<f64> {
        let mut state = [SolverState::new(Scalars::START)];
        self.state.copy_to_slice(&mut state)?;
        Ok(state[0].total)
    }

    /// Enqueues captured passes again.
    pub(super) fn replay(&self, passes: &Graph) -> Result<()> {
        // SAFETY: the graph consists of passes of this workspace, over buffers that live as long as the solve and that its stream
        // orders; the matrices are whole, and their streams follow where passes may still run (Drop). One thread runs a solve.
        unsafe { Ok(passes.launch(&self.stream)?) }
    }

    /// `y = A x`.
    pub(super) fn product(&mut self, a: &DeviceMatrix<T>, x: &DeviceVec<T>, y: &mut DeviceVec<T>) -> Result<()> {
        check_length("product", "x", x.len(), a.cols())?;
        check_length("product", "y", y.len(), a.rows())?;
        product_on(a, &self.stream, x.as_slice(), y.as_mut_slice(), &mut self.rows)
    }

    /// `r = b - A x`; the total is `r . r`.
    pub(super) fn residual(
        &mut self,
        a: &DeviceMatrix<T>,
        x: &DeviceVec<T>,
        b: &DeviceVec<T>,
        r: &mut DeviceVec<T>,
    ) -> Result<()> {
        self.check_square("residual", a, [("x", x.len()), ("b", b.len()), ("r", r.len())])?;
        in_its_format!(a, stored: Raw => {
            let kernel = KERNELS.kernel::<Residual<Raw<T>>>(self.stream.device(), &PRODUCTS)?;
            let arguments = (
                View::new(stored, &self.stream),
                x.input(),
                b.input(),
                r.output(),
                self.state.in_out(),
                self.curvature.partials.output(),
                self.arrived.in_out(),
                self.rows.totals.output(),
                self.rows.arrived.in_out(),
            );
            // SAFETY: as in `product_on`; the matrix is one of the workspace's, which has room for the sums of its grid.
            unsafe { kernel.launch(grid(stored), arguments, &self.stream)? };
        });
        Ok(())
    }

    /// The first pass: `q = A p`, `p . q`.
    pub(super) fn curvature(&mut self, a: &DeviceMatrix<T>, p: &DeviceVec<T>, q: &mut DeviceVec<T>) -> Result<()> {
        self.check_square("curvature", a, [("p", p.len()), ("q", q.len())])?;
        let (count, gathered) = stored_by(a.storage());
        in_its_format!(a, stored: Raw => {
            let kernel = KERNELS.kernel::<Curvature<Raw<T>>>(self.stream.device(), &PRODUCTS)?;
            let arguments = (
                View::new(stored, &self.stream),
                p.input(),
                q.output(),
                self.state.input(),
                self.curvature.partials.output(),
                self.arrived.in_out(),
                gathered,
                self.rows.totals.output(),
                self.rows.arrived.in_out(),
            );
            // SAFETY: as in `residual`.
            unsafe { kernel.launch(grid(stored), arguments, &self.stream)? };
        });
        self.curvature.count = count;
        Ok(())
    }

    /// After the second pass: `z = M r`, `r . z`.
    pub(super) fn precondition(&mut self, m: &DeviceMatrix<T>, r: &DeviceVec<T>, z: &mut DeviceVec<T>) -> Result<()> {
        self.check_square("precondition", m, [("r", r.len()), ("z", z.len())])?;
        let (count, gathered) = stored_by(m.storage());
        in_its_format!(m, stored: Raw => {
            let kernel = KERNELS.kernel::<Precondition<Raw<T>>>(self.stream.device(), &PRODUCTS)?;
            let arguments = (
                View::new(stored, &self.stream),
                r.input(),
                z.output(),
                self.state.input(),
                self.residual.partials.input(),
                self.residual.count,
                self.rho.partials.output(),
                self.arrived.in_out(),
                gathered,
                self.rows.totals.output(),
                self.rows.arrived.in_out(),
            );
            // SAFETY: as in `residual`; the second pass has stored as many sums as are read.
            unsafe { kernel.launch(grid(stored), arguments, &self.stream)? };
        });
        self.rho.count = count;
        Ok(())
    }

    /// The second pass: `r -= alpha q`, `r . r`.
    pub(super) fn update_residual(&mut self, q: &DeviceVec<T>, r: &mut DeviceVec<T>) -> Result<()> {
        let n = self.same_length("update_residual", ("r", r.len()), [("q", q.len())])?;
        let kernel = KERNELS.kernel::<UpdateResidual<T>>(self.stream.device(), &VECTORS)?;
        let arguments = (
            q.input(),
            r.in_out(),
            self.state.in_out(),
            self.curvature.partials.input(),
            self.curvature.count,
            self.residual.partials.output(),
            n as u64,
        );
        // SAFETY: vectors have n elements; the first pass has stored as many sums as are read, and the workspace has room for
        // those of this grid.
        unsafe { kernel.launch(VECTORS.blocks(n), arguments, &self.stream)? };
        self.residual.count = VECTORS.blocks(n).into();
        Ok(())
    }

    /// The second pass with Jacobi: `r -= alpha q`, `r . r`, `r . D r`.
    pub(super) fn update_residual_diagonal(
        &mut self,
        q: &DeviceVec<T>,
        diagonal: &DeviceVec<T>,
        r: &mut DeviceVec<T>,
    ) -> Result<()> {
        let n = self.same_length(
            "update_residual_diagonal",
            ("r", r.len()),
            [("q", q.len()), ("a diagonal", diagonal.len())],
        )?;
        let kernel = KERNELS.kernel::<UpdateResidualDiagonal<T>>(self.stream.device(), &VECTORS)?;
        let arguments = (
            q.input(),
            diagonal.input(),
            r.in_out(),
            self.state.in_out(),
            self.curvature.partials.input(),
            self.curvature.count,
            self.residual.partials.output(),
            n as u64,
        );
        // SAFETY: as in `update_residual`.
        unsafe { kernel.launch(VECTORS.blocks(n), arguments, &self.stream)? };
        self.residual.count = VECTORS.blocks(n).into();
        Ok(())
    }

    /// The last pass: `x += step p`, then `p = z + beta p`. With `stored`, `r . z` is the sum that the preconditioner stored, else `r . r`.
    pub(super) fn update_direction(
        &mut self,
        z: &DeviceVec<T>,
        x: &mut DeviceVec<T>,
        p: &mut DeviceVec<T>,
        stored: bool,
    ) -> Result<()> {
        let n = self.same_length("update_direction", ("x", x.len()), [("z", z.len()), ("p", p.len())])?;
        let kernel = KERNELS.kernel::<UpdateDirection<T>>(self.stream.device(), &VECTORS)?;
        let rho = if stored { &self.rho } else { &self.residual };
        let arguments = (
            z.input(),
            x.in_out(),
            p.in_out(),
            self.state.in_out(),
            self.residual.partials.input(),
            self.residual.count,
            rho.partials.input(),
            rho.count,
            n as u64,
        );
        // SAFETY: as in `update_residual`, for the passes before.
        unsafe { kernel.launch(VECTORS.blocks(n), arguments, &self.stream)? };
        Ok(())
    }

    /// The last pass with Jacobi: `x += step p`, then `p = D r + beta p`.
    pub(super) fn update_direction_diagonal(
        &mut self,
        (diagonal, r): (&DeviceVec<T>, &DeviceVec<T>),
        x: &mut DeviceVec<T>,
        p: &mut DeviceVec<T>,
    ) -> Result<()> {
        let others = [("a diagonal", diagonal.len()), ("r", r.len()), ("p", p.len())];
        let n = self.same_length("update_direction_diagonal", ("x", x.len()), others)?;
        let kernel = KERNELS.kernel::<UpdateDirectionDiagonal<T>>(self.stream.device(), &VECTORS)?;
        let arguments = (
            diagonal.input(),
            r.input(),
            x.in_out(),
            p.in_out(),
            self.state.in_out(),
            self.residual.partials.input(),
            self.residual.count,
            n as u64,
        );
        // SAFETY: as in `update_direction`.
        unsafe { kernel.launch(VECTORS.blocks(n), arguments, &self.stream)? };
        Ok(())
    }

    /// After the second pass: whether `r . z` is wanted, in the state.
    pub(super) fn probe(&mut self) -> Result<()> {
        let kernel = KERNELS.kernel::<Probe<T>>(self.stream.device(), &VECTORS)?;
        let arguments = (self.state.in_out(), self.residual.partials.input(), self.residual.count);
        // SAFETY: as in `update_direction`.
        unsafe { kernel.launch(1, arguments, &self.stream)? };
        Ok(())
    }

    /// After the second pass: `r . z` of a `z` that was made elsewhere.
    pub(super) fn store_rho(&mut self, r: &DeviceVec<T>, z: &DeviceVec<T>) -> Result<()> {
        let n = self.same_length("store_rho", ("r", r.len()), [("z", z.len())])?;
        let kernel = KERNELS.kernel::<LeaveDot<T>>(self.stream.device(), &VECTORS)?;
        // SAFETY: as in `update_residual`.
        unsafe {
            kernel.launch(
                VECTORS.blocks(n),
                (r.input(), z.input(), self.rho.partials.output(), n as u64),
                &self.stream,
            )?
        };
        self.rho.count = VECTORS.blocks(n).into();
        Ok(())
    }

    /// The total is `r . z`.
    pub(super) fn dot(&mut self, r: &DeviceVec<T>, z: &DeviceVec<T>) -> Result<()> {
        let n = self.same_length("dot", ("r", r.len()), [("z", z.len())])?;
        let kernel = KERNELS.kernel::<Dot<T>>(self.stream.device(), &VECTORS)?;
        let sums = (self.state.in_out(), self.curvature.partials.output(), self.arrived.in_out());
        // SAFETY: as in `update_residual`.
        unsafe {
            kernel.launch(VECTORS.blocks(n), (r.input(), z.input(), sums.0, sums.1, sums.2, n as u64), &self.stream)?
        };
        Ok(())
    }

    /// `p = D r`; the total is `r . D r`.
    pub(super) fn scaled_direction(
        &mut self,
        diagonal: &DeviceVec<T>,
        r: &DeviceVec<T>,
        p: &mut DeviceVec<T>,
    ) -> Result<()> {
        let n =
            self.same_length("scaled_direction", ("p", p.len()), [("a diagonal", diagonal.len()), ("r", r.len())])?;
        let kernel = KERNELS.kernel::<ScaledDirection<T>>(self.stream.device(), &VECTORS)?;
        let sums = (self.state.in_out(), self.curvature.partials.output(), self.arrived.in_out());
        let arguments = (diagonal.input(), r.input(), p.output(), sums.0, sums.1, sums.2, n as u64);
        // SAFETY: as in `update_residual`.
        unsafe { kernel.launch(VECTORS.blocks(n), arguments, &self.stream)? };
        Ok(())
    }

    /// `r *= factor`; the total is `r . r`.
    pub(super) fn rescale(&mut self, factor: f64, r: &mut DeviceVec<T>) -> Result<()> {
        let n = self.same_length("rescale", ("r", r.len()), [])?;
        let kernel = KERNELS.kernel::<Rescale<T>>(self.stream.device(), &VECTORS)?;
        let sums = (self.state.in_out(), self.curvature.partials.output(), self.arrived.in_out());
        // SAFETY: as in `update_residual`.
        unsafe {
            kernel.launch(VECTORS.blocks(n), (factor, r.in_out(), sums.0, sums.1, sums.2, n as u64), &self.stream)?
        };
        Ok(())
    }

    /// Checks that the matrix is square, and that it and each vector are of the workspace's size.
    fn check_square<const N: usize>(
        &self,
        op: &'static str,
        a: &DeviceMatrix<T>,
        vectors: [(&'static str, usize); N],
    ) -> Result<()> {
        check_length(op, "the matrix's columns", a.cols(), self.n)?;
        self.same_length(op, ("the matrix's rows", a.rows()), vectors).map(|_| ())
    }

    /// Checks that each vector has as many elements as the workspace is for; returns that number.
    fn same_length<const N: usize>(
        &self,
        op: &'static str,
        first: (&'static str, usize),
        others: [(&'static str, usize); N],
    ) -> Result<usize> {
        for (name, len) in std::iter::once(first).chain(others) {
            check_length(op, name, len, self.n)?;
        }
        Ok(self.n)
    }
}

impl<T: Scalar> Drop for Workspace<'_, T> {
    fn drop(&mut self) {
        self.matrices.iter().for_each(|a| a.stream().follow_in_drop(&self.stream));
    }
}
