//! The engine of a CUDA device, which takes the decisions of an iteration itself.
//!
//! Some iterations at a time are enqueued as one captured graph, and the host reads the scalars of one such block while the next runs. A
//! solve that stops within a block freezes: the rest of the enqueued work changes nothing, so iterations, `x` and the
//! residual are those of the very iteration that met the limit, whatever the length of a block.
//!
//! # A solve
//! 1. `DeviceEngine::new` compiles the kernels that are not loaded yet, and makes a stream for the solve and a `Workspace` (`workspace.rs`). The
//!    matrices are whole before, since their upload waits; their streams follow that of the solve where it ends early. `iterate` makes the first
//!    direction and writes the scalars, a `SolverState`, to device memory.
//! 2. `iterate_in_blocks` captures a block: the kernels `curvature` (`cg_products.cu`), `update_residual` and `update_direction` (`cg_steps.cu`),
//!    and `precondition` if the preconditioner is a matrix. It enqueues two blocks, each followed by a copy of the `SolverState` to pinned memory,
//!    and reads one while the next runs.
//! 3. Each block of a pass stores its sum (`sums.cuh`). Each block of the next pass adds up all of them in one order while its loads are
//!    under way, and takes the same decision by the functions of `cg_state.cuh`, operation by operation those of `stepwise.rs`. Block 0
//!    writes it down: `update_residual` from `SolverState::start` to `SolverState::step`, `update_direction` back to `SolverState::start`. So no block writes
//!    scalars that another one reads in the same pass.
//! 4. The host takes the residuals of a block from `SolverState::history`, calls monitor and callback, and ends when the state has stopped. With
//!    a callback a block is one iteration, and one block is in flight. A preconditioner on the host (`iterate_with_host`) is applied
//!    between passes, without graphs.

pub(crate) mod entries;
mod policy;
mod state;
mod workspace;

use std::borrow::Cow;
use std::collections::VecDeque;

use gpu_algos::host::norm2;
use gpu_driver::{DeviceVec, Graph, Pending, PinnedVec, Preload, Stream};

use entries::{LeaveDot, Precondition, Probe, solve_kernels};
use policy::VECTORS;
use state::{HISTORY, Scalars, SolverState, Stop};
use workspace::Workspace;

use super::engine::{End, Engine, WorkSegment, growth_limit};
use super::stepwise::judge_rho;
use crate::device::in_its_format;
use crate::linalg::log::Log;
use crate::linalg::operator::LinearOperator;
use crate::linalg::outcome::{Approximation, Quantity, Status};
use crate::linalg::preconditioner::Prepared;
use crate::product::device::{PRODUCTS, Product};
use crate::registry::KERNELS;
use crate::{DeviceMatrix, Result, Scalar};

/// Most iterations of a block: as many residuals as the state remembers.
pub(super) const MAX_BLOCK: usize = HISTORY;

/// Blocks that are enqueued at a time.
const BLOCKS_IN_FLIGHT: usize = 2;

/// Vectors in device memory, ordered by a stream of the solve's own. `x` and `b` are in the caller's unit.
pub(super) struct DeviceEngine<'s, T: Scalar> {
    work: Workspace<'s, T>,
    a: &'s DeviceMatrix<T>,
    preconditioner: Applied<'s, T>,
    b: DeviceVec<T>,
    x: DeviceVec<T>,
    r: DeviceVec<T>,
    p: DeviceVec<T>,
    q: DeviceVec<T>,
    /// Iterations of a block, where the host does not have to look after each.
    block: usize,
    /// A captured block, and its length.
    graph: Option<(usize, Graph)>,
    /// Buffers for the scalars that are not in use.
    pinned: Vec<PinnedVec<SolverState>>,
}

/// The matrix that `m` is, if it is on the device of `a`; else `m` is applied on the host.
fn beside<'m, T: Scalar>(a: &DeviceMatrix<T>, m: &'m dyn LinearOperator<T>) -> Option<&'m DeviceMatrix<T>> {
    m.on_device().filter(|m| m.device() == a.device())
}

/// Compiles and loads the kernels of a solve with `a`, side by side.
pub(super) fn load_kernels<T: Scalar>(a: &DeviceMatrix<T>, preconditioner: &Prepared<'_, T>) -> Result<()> {
    let by_diagonal = matches!(preconditioner, Prepared::Diagonal(_));
    let kernels = Preload::new(&KERNELS, a.device());
    let kernels = in_its_format!(a, _stored: Raw => solve_kernels::<Raw<T>, _>(kernels, by_diagonal));
    let Prepared::Operator(m) = preconditioner else { return Ok(kernels.run()?) };
    let kernels = match beside(a, *m) {
        Some(m) => in_its_format!(m, _stored: Raw =>
            kernels.and::<Precondition<Raw<T>>>(&PRODUCTS).and::<Product<Raw<T>>>(&PRODUCTS)),
        None => kernels.and::<Probe<T>>(&VECTORS).and::<LeaveDot<T>>(&VECTORS),
    };
    Ok(kernels.run()?)
}

/// A preconditioner in the form in which the device applies it.
enum Applied<'s, T: Scalar> {
    /// `z = r`.
    Identity,
    /// `z = D r`, computed where it is used and never stored.
    Diagonal(DeviceVec<T>),
    /// `z = M r` by a matrix on the same device.
    Matrix(&'s DeviceMatrix<T>, DeviceVec<T>),
    /// `z = M r` on the host: `r` goes there, `z` comes back, each time.
    Host { m: &'s dyn LinearOperator<T>, z: DeviceVec<T>, r_on_host: Vec<T>, z_on_host: Vec<T> },
}

impl<'s, T: Scalar> DeviceEngine<'s, T> {
    /// `block`: iterations between two looks of the host; chosen when not given.
    pub(super) fn new(
        a: &'s DeviceMatrix<T>,
        preconditioner: Prepared<'s, T>,
        block: Option<usize>,
        vectors: impl FnOnce(&Stream) -> Result<(DeviceVec<T>, Option<DeviceVec<T>>)>,
    ) -> Result<Self> {
        load_kernels(a, &preconditioner)?;
        let n = a.rows();
        let stream = Stream::new(a.device())?;
        let mut matrices = vec![a];
        let zeros = || DeviceVec::zeros(&stream, n);
        let preconditioner = match preconditioner {
            Prepared::Identity => Applied::Identity,
            Prepared::Diagonal(inverse) => Applied::Diagonal(DeviceVec::from_slice(&stream, &inverse)?),
            Prepared::Operator(m) => match beside(a, m) {
                Some(m) => {
                    matrices.push(m);
                    Applied::Matrix(m, zeros()?)
                }
                None => Applied::Host { m, z: zeros()?, r_on_host: vec![T::zero(); n], z_on_host: vec![T::zero(); n] },
            },
        };
        let (b, x0) = vectors(&stream)?;
        let (r, p, q) = (zeros()?, zeros()?, zeros()?);
        let x = x0.map_or_else(zeros, Ok)?;
        let block = block.unwrap_or_else(|| block_length(a, &preconditioner));
        let work = Workspace::new(n, matrices, stream)?;
        Ok(Self { work, a, preconditioner, b, x, r, p, q, block, graph: None, pinned: Vec::new() })
    }

    /// `|v|` from `v . v`; where squares have left the range of f64 or lost digits at its end, from `v` on the host, which has the
    /// careful norm for that.
    fn norm(square: f64, v: &DeviceVec<T>) -> Result<f64> {
        const SQUARES: std::ops::RangeInclusive<f64> = 1e-280..=f64::MAX;
        if SQUARES.contains(&square) || square.is_nan() {
            return Ok(square.sqrt());
        }
        Ok(norm2(&v.to_vec()?))
    }

    /// Makes `p = z` of the present `r`; returns `r . z`.
    fn first_direction(&mut self, square: f64) -> Result<f64> {
        let Self { work, r, p, .. } = self;
        let z = match &mut self.preconditioner {
            Applied::Identity => {
                p.copy_from(r.as_slice())?;
                return Ok(square);
            }
            Applied::Diagonal(inverse) => {
                work.scaled_direction(inverse, r, p)?;
                return work.total();
            }
            Applied::Matrix(m, z) => {
                work.product(m, r, z)?;
                z
            }
            Applied::Host { m, z, r_on_host, z_on_host } => {
                apply_on_host(*m, r, z, r_on_host, z_on_host)?;
                z
            }
        };
        p.copy_from(z.as_slice())?;
        work.dot(r, z)?;
        work.total()
    }

    /// Enqueues passes 1 and 2, and a preconditioner that is on the device.
    fn enqueue_to_residual(&mut self) -> Result<()> {
        let Self { work, a, r, p, q, .. } = self;
        work.curvature(a, p, q)?;
        match &mut self.preconditioner {
            Applied::Identity | Applied::Host { .. } => work.update_residual(q, r),
            Applied::Diagonal(inverse) => work.update_residual_diagonal(q, inverse, r),
            Applied::Matrix(m, z) => {
                work.update_residual(q, r)?;
                work.precondition(m, r, z)
            }
        }
    }

    /// Enqueues pass 3.
    fn enqueue_direction(&mut self) -> Result<()> {
        let Self { work, x, r, p, .. } = self;
        match &self.preconditioner {
            Applied::Identity => work.update_direction(r, x, p, false),
            Applied::Diagonal(inverse) => work.update_direction_diagonal((inverse, r), x, p),
            Applied::Matrix(_, z) | Applied::Host { z, .. } => work.update_direction(z, x, p, true),
        }
    }

    /// `length` iterations as a graph, captured unless the one captured last is such a one.
    fn captured(&mut self, length: usize) -> Result<Graph> {
        if let Some((_, graph)) = self.graph.take().filter(|(captured, _)| *captured == length) {
            return Ok(graph);
        }
        let stream = self.work.stream().clone();
        let enqueue = || {
            (0..length).try_for_each(|_| {
                self.enqueue_to_residual()?;
                self.enqueue_direction()
            })
        };
        stream.capture(enqueue).map(|(graph, ())| graph)
    }

    /// The scalars as the work enqueued so far leaves them, once they are there.
    fn start_reading(&mut self) -> Result<Pending<PinnedVec<SolverState>>> {
        let buffer = match self.pinned.pop() {
            Some(buffer) => buffer,
            None => PinnedVec::zeros(self.a.device(), 1)?,
        };
        self.work.read_state(buffer)
    }

    fn finish_reading(&mut self, pending: Pending<PinnedVec<SolverState>>) -> Result<SolverState> {
        let buffer = pending.wait()?;
        let state = buffer[0];
        self.pinned.push(buffer);
        Ok(state)
    }

    /// Records the iterations that `state` knows of and the log does not.
    fn record(&self, state: &SolverState, log: &mut Log<'_, T>) {
        while (log.iterations() as u64) < state.start.iteration {
            let square = state.square_after(log.iterations() as u64 + 1);
            log.record(square.sqrt() * state.start.scale, self);
        }
    }

    /// Block after block of iterations, with [`BLOCKS_IN_FLIGHT`] of them enqueued; returns the scalars that ended them.
    fn iterate_in_blocks(&mut self, maxiter: usize, log: &mut Log<'_, T>) -> Result<Scalars> {
        // Who is shown `x` must see it before the next iteration changes it.
        let (length, in_flight) = if log.shows_x() { (1, 1) } else { (self.block, BLOCKS_IN_FLIGHT) };
        let mut left = maxiter - log.iterations();
        let length = length.min(left);
        let graph = self.captured(length)?;
        let mut reading = VecDeque::new();
        let end = loop {
            while reading.len() < in_flight && left > 0 {
                self.work.replay(&graph)?;
                reading.push_back(self.start_reading()?);
                left = left.saturating_sub(length);
            }
            // There is always one: the solve stops when `maxiter` iterations have been enqueued and run.
            let Some(pending) = reading.pop_front() else { break Scalars::START };
            let state = self.finish_reading(pending)?;
            self.record(&state, log);
            if state.start.stop().is_some() {
                break state.start;
            }
        };
        for pending in reading {
            self.finish_reading(pending)?;
        }
        self.graph = Some((length, graph));
        Ok(end)
    }

    /// One iteration after another, with the preconditioner applied on the host between passes 2 and 3.
    fn iterate_with_host(&mut self, log: &mut Log<'_, T>) -> Result<Scalars> {
        loop {
            self.enqueue_to_residual()?;
            self.work.probe()?;
            let pending = self.start_reading()?;
            let wanted = self.finish_reading(pending)?.step.wants_rho != 0;
            if let (true, Applied::Host { m, z, r_on_host, z_on_host }) = (wanted, &mut self.preconditioner) {
                apply_on_host(*m, &self.r, z, r_on_host, z_on_host)?;
                self.work.store_rho(&self.r, z)?;
            }
            self.enqueue_direction()?;
            let pending = self.start_reading()?;
            let state = self.finish_reading(pending)?;
            self.record(&state, log);
            if state.start.stop().is_some() {
                return Ok(state.start);
            }
        }
    }
}

/// `z = M r`, there and back.
fn apply_on_host<T: Scalar>(
    m: &dyn LinearOperator<T>,
    r: &DeviceVec<T>,
    z: &mut DeviceVec<T>,
    r_on_host: &mut [T],
    z_on_host: &mut [T],
) -> Result<()> {
    r.copy_to_slice(r_on_host)?;
    m.apply(r_on_host, z_on_host)?;
    Ok(z.copy_from_slice(z_on_host)?)
}

/// Iterations that take the device some 250 us: enough to hide the host's part, few enough that those enqueued beyond the last
/// one do not matter.
fn block_length<T: Scalar>(a: &DeviceMatrix<T>, preconditioner: &Applied<'_, T>) -> usize {
    /// Microseconds of a block, and of the launches of an iteration.
    const BLOCK_US: f64 = 250.0;
    const LAUNCHES_US: f64 = 9.0;
    const BYTES_PER_US: f64 = 4e6;
    let vectors = (12 * a.rows() * size_of::<T>()) as u64;
    let preconditioner = if let Applied::Matrix(m, _) = preconditioner { m.description().bytes } else { 0 };
    let bytes = a.description().bytes + vectors + preconditioner;
    let iteration_us = LAUNCHES_US + bytes as f64 / BYTES_PER_US;
    ((BLOCK_US / iteration_us) as usize).clamp(4, MAX_BLOCK)
}

impl<T: Scalar> Engine<T> for DeviceEngine<'_, T> {
    type Vector = DeviceVec<T>;

    fn norm_of_b(&mut self) -> Result<f64> {
        if self.b.is_empty() {
            return Ok(0.0);
        }
        self.work.dot(&self.b, &self.b)?;
        Self::norm(self.work.total()?, &self.b)
    }

    fn guess_is_finite(&mut self) -> Result<bool> {
        if self.x.is_empty() {
            return Ok(true);
        }
        self.work.dot(&self.x, &self.x)?;
        Ok(self.work.total()?.is_finite() || self.x.to_vec()?.iter().all(|x| x.is_finite()))
    }

    fn residual_of_zero(&mut self) -> Result<()> {
        Ok(self.r.copy_from(self.b.as_slice())?)
    }

    fn true_residual(&mut self) -> Result<f64> {
        self.work.residual(self.a, &self.x, &self.b, &mut self.r)?;
        Self::norm(self.work.total()?, &self.r)
    }

    fn rescale(&mut self, unit: f64) -> Result<f64> {
        self.work.rescale(unit.recip(), &mut self.r)?;
        self.work.total()
    }

    fn iterate(&mut self, segment: WorkSegment, log: &mut Log<'_, T>) -> Result<End> {
        let WorkSegment { scale, square, limit, maxiter } = segment;
        let rho = self.first_direction(square)?;
        if let Some(status) = judge_rho(rho, log.iterations()) {
            return Ok(End::Ended(status));
        }
        let (iteration, growth) = (log.iterations() as u64, growth_limit::<T>());
        let maxiter_wide = maxiter as u64;
        let start = Scalars { rho, square, scale, limit, growth, iteration, maxiter: maxiter_wide, ..Scalars::START };
        self.work.set_scalars(start)?;
        let end = match self.preconditioner {
            Applied::Host { .. } => self.iterate_with_host(log)?,
            _ => self.iterate_in_blocks(maxiter, log)?,
        };
        Ok(meaning(&end, log.iterations()))
    }

    fn into_solution(mut self) -> Result<DeviceVec<T>> {
        self.work.finish();
        Ok(self.x)
    }

    fn into_zero(mut self) -> Result<DeviceVec<T>> {
        self.work.finish();
        Ok(DeviceVec::zeros(self.work.stream(), self.x.len())?)
    }
}

/// The reason for the end of a solve, in the caller's terms.
fn meaning(end: &Scalars, iteration: usize) -> End {
    let non_finite = |quantity| Status::NonFinite { quantity, iteration };
    End::Ended(match end.stop() {
        Some(Stop::Reached) => return End::Reached,
        None | Some(Stop::MaxIterations) => Status::MaxIterations,
        Some(Stop::CurvatureNotFinite) => non_finite(Quantity::Curvature),
        Some(Stop::StepNotFinite) => non_finite(Quantity::Step),
        Some(Stop::ResidualNotFinite) => non_finite(Quantity::Residual),
        Some(Stop::RhoNotFinite) => non_finite(Quantity::Preconditioned),
        Some(Stop::NotPositiveDefinite) => {
            Status::NotPositiveDefinite { iteration: iteration + 1, p_dot_ap: end.evidence }
        }
        Some(Stop::PreconditionerNotPositive) => Status::PreconditionerNotPositive { iteration, r_dot_z: end.evidence },
    })
}

impl<T: Scalar> Approximation<T> for DeviceEngine<'_, T> {
    fn on_host(&self) -> Result<Cow<'_, [T]>> {
        Ok(self.x.to_vec()?.into())
    }
}
