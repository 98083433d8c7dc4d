//! The typed side of the `.cu` files, and the registry of their instantiations.

use std::marker::PhantomData;
use std::sync::LazyLock;

use gpu_driver::{Device, Dim3, DriverError, Entry, Header, In, InOut, Out, Registry, Source};

use super::policy::{PRODUCTS, ProductPolicy, VECTORS, VectorPolicy};
use super::state::SolverState;
use super::storage::{Raw, RawCsr, RawPackets, View};
use crate::Scalar;

const SUMS: Header = Header { name: "sums.cuh", text: include_str!("sums.cuh") };
const STATE: Header = Header { name: "state.cuh", text: include_str!("state.cuh") };

static PRODUCT: Source = Source {
    name: "products.cu",
    text: include_str!("products.cu"),
    headers: &[
        SUMS,
        STATE,
        Header { name: "long_rows.cuh", text: include_str!("long_rows.cuh") },
        Header { name: "csr.cuh", text: include_str!("csr.cuh") },
        Header { name: "packets.cuh", text: include_str!("packets.cuh") },
    ],
};
static STEP: Source = Source { name: "steps.cu", text: include_str!("steps.cu"), headers: &[SUMS, STATE] };

/// A kernel of a product. Its arguments: the matrix; the kernel's own; then the long rows' scratch.
macro_rules! product_kernel {
    ($name:ident, $cuda:literal, $($args:ty),*) => {
        pub(super) struct $name<R>(PhantomData<R>);
        impl<R: Raw> Entry for $name<R> {
            type Policy = ProductPolicy;
            type Args<'a> = (View<'a, R>, $($args,)* Out<'a, f64>, InOut<'a, u32>);
            const SOURCE: &'static Source = &PRODUCT;
            const NAME: &'static str = $cuda;
            const OVERLAPS: bool = true;
            fn template(policy: &ProductPolicy) -> String {
                format!("{}, {}, {}", R::cuda_name(), <R::Element as gpu_driver::DevicePod>::CUDA_NAME, policy.threads)
            }
            fn block(policy: &ProductPolicy) -> Dim3 {
                policy.threads.into()
            }
        }
    };
}

product_kernel!(Product, "product", In<'a, R::Element>, Out<'a, R::Element>);
product_kernel!(ProductAxpby, "product_axpby", R::Element, In<'a, R::Element>, R::Element, InOut<'a, R::Element>);
product_kernel!(
    Residual,
    "residual",
    In<'a, R::Element>,
    In<'a, R::Element>,
    Out<'a, R::Element>,
    InOut<'a, SolverState>,
    Out<'a, f64>,
    InOut<'a, u32>
);
product_kernel!(
    Curvature,
    "curvature",
    In<'a, R::Element>,
    Out<'a, R::Element>,
    In<'a, SolverState>,
    Out<'a, f64>,
    InOut<'a, u32>,
    u32
);
product_kernel!(
    Precondition,
    "precondition",
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
            const SOURCE: &'static Source = &STEP;
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
    "update_residual",
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
    "update_residual_diagonal",
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
    "update_direction",
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
    "update_direction_diagonal",
    In<'a, T>,
    In<'a, T>,
    InOut<'a, T>,
    InOut<'a, T>,
    InOut<'a, SolverState>,
    In<'a, f64>,
    u64,
    u64
);
step_kernel!(Probe, "probe", InOut<'a, SolverState>, In<'a, f64>, u64);
step_kernel!(LeaveDot, "leave_dot", In<'a, T>, In<'a, T>, Out<'a, f64>, u64);
step_kernel!(Dot, "dot", In<'a, T>, In<'a, T>; total);
step_kernel!(ScaledDirection, "scaled_direction", In<'a, T>, In<'a, T>, Out<'a, T>; total);
step_kernel!(Rescale, "rescale", f64, InOut<'a, T>; total);

/// The kernels of this crate.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let registry = Registry::new("gpu-sparse");
    with_element::<f64, _>(with_element::<f32, _>(registry))
});

fn with_element<T: Scalar, L: List>(list: L) -> L {
    of_steps::<T, _>(of_format::<RawPackets<T>, _>(of_format::<RawCsr<T>, _>(list)))
}

/// A receiver of kernels, one after another: the registry, to know them, and [`Load`].
pub(super) trait List: Sized {
    fn and<E: Entry>(self, policy: &E::Policy) -> Self;
}

impl List for Registry {
    fn and<E: Entry>(self, policy: &E::Policy) -> Self {
        self.with::<E>(policy)
    }
}

/// Compiles and loads kernels, up to the first error.
pub(super) struct Load<'a> {
    pub(super) device: &'a Device,
    pub(super) outcome: Result<(), DriverError>,
}

impl List for Load<'_> {
    fn and<E: Entry>(self, policy: &E::Policy) -> Self {
        let outcome = self.outcome.and_then(|()| KERNELS.kernel::<E>(self.device, policy).map(drop));
        Self { outcome, ..self }
    }
}

/// The kernels of one format.
pub(super) fn of_format<R: Raw, L: List>(list: L) -> L {
    list.and::<Product<R>>(&PRODUCTS)
        .and::<ProductAxpby<R>>(&PRODUCTS)
        .and::<Residual<R>>(&PRODUCTS)
        .and::<Curvature<R>>(&PRODUCTS)
        .and::<Precondition<R>>(&PRODUCTS)
}

/// The vector passes of one element type.
pub(super) fn of_steps<T: Scalar, L: List>(list: L) -> L {
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
