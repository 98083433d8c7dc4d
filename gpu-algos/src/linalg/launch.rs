//! The launches of the kernels of linear algebra.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use gpu_array::{
    DType,
    expression::{HEADERS, MAX_AXES, loop_program},
    gpu_driver::{Device, GeneratedKernel, Header, KernelSpace, Program, Stream},
};

use super::{
    params::{PARAMS, check_text, launch},
    plan::{LinalgKernel, choose},
    policy::Algorithm,
    problem::LinalgProblem,
};
use crate::{
    AlgoError, Result,
    common::launch::{DeviceLimits, with_headers},
};

const TEAM: Header = Header { name: "team.cuh", text: include_str!("device/team.cuh") };
const REGISTERS: Header = Header { name: "registers.cuh", text: include_str!("device/registers.cuh") };
const THREADS: Header = Header { name: "threads.cuh", text: include_str!("device/threads.cuh") };
const ROWS: Header = Header { name: "rows.cuh", text: include_str!("device/rows.cuh") };
const DETERMINANT: Header = Header { name: "determinant.cuh", text: include_str!("device/determinant.cuh") };
const SUBSTITUTE: Header = Header { name: "substitute.cuh", text: include_str!("device/substitute.cuh") };

/// The keys of kernels of linear algebra.
static SPACE: KernelSpace = KernelSpace::new();

impl LinalgKernel {
    pub(super) fn header(self) -> Header {
        let (name, text) = match self {
            Self::SolveTriangular => ("solve_triangular.cuh", include_str!("device/solve_triangular.cuh")),
            Self::Cholesky => ("cholesky.cuh", include_str!("device/cholesky.cuh")),
            Self::Lu => ("lu.cuh", include_str!("device/lu.cuh")),
            Self::Qr => ("qr.cuh", include_str!("device/qr.cuh")),
            Self::CholeskyByThreads => ("cholesky_by_threads.cuh", include_str!("device/cholesky_by_threads.cuh")),
            Self::CholeskyByRows => ("cholesky_by_rows.cuh", include_str!("device/cholesky_by_rows.cuh")),
            Self::LuByThreads(_) => ("lu_by_threads.cuh", include_str!("device/lu_by_threads.cuh")),
            Self::LuByRows(_) => ("lu_by_rows.cuh", include_str!("device/lu_by_rows.cuh")),
        };
        Header { name, text }
    }

    /// The headers that the kernel's file includes, directly or not.
    fn headers(self) -> &'static [Header] {
        match self {
            Self::SolveTriangular => &[SUBSTITUTE],
            Self::Cholesky | Self::Qr => &[],
            Self::Lu => &[SUBSTITUTE, DETERMINANT],
            Self::CholeskyByThreads => &[REGISTERS, THREADS],
            Self::CholeskyByRows => &[REGISTERS, ROWS],
            Self::LuByThreads(_) => &[REGISTERS, THREADS, DETERMINANT],
            Self::LuByRows(_) => &[REGISTERS, ROWS, DETERMINANT],
        }
    }

    /// The template with its arguments.
    pub(super) fn template(self, dtype: DType, algorithm: Algorithm) -> String {
        let name = self.header().name.trim_end_matches(".cuh");
        let arguments = format!("{}, {}", dtype.cuda_name(), algorithm.argument());
        match self {
            Self::LuByThreads(lu) | Self::LuByRows(lu) => {
                format!("gpu::algos::linalg::{name}<{arguments}, {}>", lu.argument())
            }
            _ => format!("gpu::algos::linalg::{name}<{arguments}>"),
        }
    }

    /// The program of the kernel.
    pub(super) fn program(self, dtype: DType, algorithm: Algorithm) -> Program {
        let header = self.header();
        let text = format!("#include \"{}\"\n{}", header.name, check_text());
        let program = loop_program("linalg.cu", text).name_expression(self.template(dtype, algorithm));
        with_headers(
            program,
            HEADERS.into_iter().chain([PARAMS, TEAM]).chain(self.headers().iter().copied()).chain([header]),
        )
    }

    fn compiled(self, dtype: DType, algorithm: Algorithm, device: &Device) -> Result<GeneratedKernel> {
        let key = [SPACE.word(), self.number(), dtype as u64, algorithm.argument() as u64];
        Ok(device.generated_kernel(&SPACE, &key, || Ok(self.program(dtype, algorithm)))?)
    }
}

/// Enqueues the function on `stream`, after the work of `homes`. Does not wait.
///
/// # Errors
/// `TooManyAxes`; those of the compiler and of the launch.
pub(super) fn run(problem: &LinalgProblem, homes: &[&Stream], stream: &Stream) -> Result<()> {
    let got = problem.batch.len();
    if got > MAX_AXES {
        return Err(AlgoError::TooManyAxes { op: problem.function.name(), limit: MAX_AXES, got });
    }
    if problem.matrices() == 0 {
        return Ok(());
    }
    let device = stream.device();
    let plan = choose(problem, &DeviceLimits::of(device)?);
    let kernel = plan.kernel.compiled(problem.dtype, plan.policy.algorithm, device)?;
    // SAFETY: the params fulfil the kernel's contract: every offset lies within the views that the operands were made from, no two elements of the
    // results have one place, and the results have an element for each matrix. The views are borrowed (those of results exclusively) until this call
    // returns, and their homes precede and follow the launch.
    unsafe { launch(problem, &plan).enqueue(&kernel, homes, stream) }
}
