//! The typed side of the `.cu` files.

use std::marker::PhantomData;

use gpu_driver::{Dim3, Entry, Header, In, InOut, Out, Source};

use super::policy::{VECTORS, VectorPolicy};
use super::state::{STATE_CONSTANTS, SolverState};
use crate::Scalar;
use crate::device::Raw;
use crate::product::device::{
    CONSTANTS_HEADER, CSR_HEADER, LONG_ROWS_HEADER, List, PACKETS_HEADER, PRODUCTS, SUMS_HEADER, SWEEP_HEADER,
    product_kernel,
};

const STATE_HEADER: Header = Header { name: "cg_state.cuh", text: include_str!("cg_state.cuh") };

static PRODUCTS_SOURCE: Source = Source {
    name: "cg_products.cu",
    text: include_str!("cg_products.cu"),
    headers: &[
        CONSTANTS_HEADER,
        SUMS_HEADER,
        LONG_ROWS_HEADER,
        CSR_HEADER,
        PACKETS_HEADER,
        SWEEP_HEADER,
        STATE_CONSTANTS,
        STATE_HEADER,
    ],
};
static STEPS_SOURCE: Source = Source {
    name: "cg_steps.cu",
    text: include_str!("cg_steps.cu"),
    headers: &[SUMS_HEADER, STATE_CONSTANTS, STATE_HEADER],
};

product_kernel!(
    Residual,
    PRODUCTS_SOURCE,
    "gpu_sparse::cg::residual",
    In<'a, R::Element>,
    In<'a, R::Element>,
    Out<'a, R::Element>,
    InOut<'a, SolverState>,
    Out<'a, f64>,
    InOut<'a, u32>
);
product_kernel!(
    Curvature,
    PRODUCTS_SOURCE,
    "gpu_sparse::cg::curvature",
    In<'a, R::Element>,
    Out<'a, R::Element>,
    In<'a, SolverState>,
    Out<'a, f64>,
    InOut<'a, u32>,
    u32
);
product_kernel!(
    Precondition,
    PRODUCTS_SOURCE,
    "gpu_sparse::cg::precondition",
    In<'a, R::Element>,
    Out<'a, R::Element>,
    In<'a, SolverState>,
    In<'a, f64>,
    u64,
    Out<'a, f64>,
    InOut<'a, u32>,
    u32
);

macro_rules! step_kernel {
    ($name:ident, $cuda:literal, $($args:ty),*) => {
        pub(super) struct $name<T>(PhantomData<T>);
        impl<T: Scalar> Entry for $name<T> {
            type Policy = VectorPolicy;
            type Args<'a> = ($($args,)*);
            const SOURCE: &'static Source = &STEPS_SOURCE;
            const NAME: &'static str = $cuda;
            const OVERLAPS: bool = true;
            fn template(policy: &VectorPolicy) -> String {
                format!("{}, {}, {}", T::CUDA_NAME, policy.threads, policy.batch)
            }
            fn block(policy: &VectorPolicy) -> Dim3 {
                policy.threads.into()
            }
        }
    };
    // With a sum for the host: the state, the sums of the blocks, and the count of blocks that have arrived.
    ($name:ident, $cuda:literal, $($args:ty),*; total) => {
        step_kernel!($name, $cuda, $($args,)* InOut<'a, SolverState>, Out<'a, f64>, InOut<'a, u32>, u64);
    };
}

step_kernel!(
    UpdateResidual,
    "gpu_sparse::cg::update_residual",
    In<'a, T>,
    InOut<'a, T>,
    InOut<'a, SolverState>,
    In<'a, f64>,
    u64,
    Out<'a, f64>,
    u64
);
step_kernel!(
    UpdateResidualDiagonal,
    "gpu_sparse::cg::update_residual_diagonal",
    In<'a, T>,
    In<'a, T>,
    InOut<'a, T>,
    InOut<'a, SolverState>,
    In<'a, f64>,
    u64,
    Out<'a, f64>,
    u64
);
step_kernel!(
    UpdateDirection,
    "gpu_sparse::cg::update_direction",
    In<'a, T>,
    InOut<'a, T>,
    InOut<'a, T>,
    InOut<'a, SolverState>,
    In<'a, f64>,
    u64,
    In<'a, f64>,
    u64,
    u64
);
step_kernel!(
    UpdateDirectionDiagonal,
    "gpu_sparse::cg::update_direction_diagonal",
    In<'a, T>,
    In<'a, T>,
    InOut<'a, T>,
    InOut<'a, T>,
    InOut<'a, SolverState>,
    In<'a, f64>,
    u64,
    u64
);
step_kernel!(Probe, "gpu_sparse::cg::probe", InOut<'a, SolverState>, In<'a, f64>, u64);
step_kernel!(LeaveDot, "gpu_sparse::cg::leave_dot", In<'a, T>, In<'a, T>, Out<'a, f64>, u64);
step_kernel!(Dot, "gpu_sparse::cg::dot", In<'a, T>, In<'a, T>; total);
step_kernel!(ScaledDirection, "gpu_sparse::cg::scaled_direction", In<'a, T>, In<'a, T>, Out<'a, T>; total);
step_kernel!(Rescale, "gpu_sparse::cg::rescale", f64, InOut<'a, T>; total);

/// The passes of one format that multiply with its matrix.
pub(crate) fn matrix_kernels<R: Raw, L: List>(list: L) -> L {
    list.and::<Residual<R>>(&PRODUCTS).and::<Curvature<R>>(&PRODUCTS).and::<Precondition<R>>(&PRODUCTS)
}

/// The vector passes of one element type.
pub(crate) fn vector_kernels<T: Scalar, L: List>(list: L) -> L {
    list.and::<UpdateResidual<T>>(&VECTORS)
        .and::<UpdateResidualDiagonal<T>>(&VECTORS)
        .and::<UpdateDirection<T>>(&VECTORS)
        .and::<UpdateDirectionDiagonal<T>>(&VECTORS)
        .and::<Probe<T>>(&VECTORS)
        .and::<LeaveDot<T>>(&VECTORS)
        .and::<Dot<T>>(&VECTORS)
        .and::<ScaledDirection<T>>(&VECTORS)
        .and::<Rescale<T>>(&VECTORS)
}

/// The kernels of a solve with a matrix of a format, preconditioned by a diagonal or not at all; those that take longest to compile first.
pub(crate) fn solve_kernels<R: Raw, L: List>(list: L, by_diagonal: bool) -> L {
    let list = list.and::<Curvature<R>>(&PRODUCTS).and::<Residual<R>>(&PRODUCTS);
    let list = list.and::<Dot<R::Element>>(&VECTORS).and::<Rescale<R::Element>>(&VECTORS);
    if by_diagonal {
        list.and::<UpdateResidualDiagonal<R::Element>>(&VECTORS)
            .and::<UpdateDirectionDiagonal<R::Element>>(&VECTORS)
            .and::<ScaledDirection<R::Element>>(&VECTORS)
    } else {
        list.and::<UpdateResidual<R::Element>>(&VECTORS).and::<UpdateDirection<R::Element>>(&VECTORS)
    }
}
