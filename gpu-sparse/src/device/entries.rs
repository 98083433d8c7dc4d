//! The typed side of the `.cu` files, and the registry of their instantiations.

use std::marker::PhantomData;
use std::sync::LazyLock;

use gpu_driver::{Dim3, Entry, Header, In, InOut, Out, Registry, Source};

use super::policy::{RowPolicy, VECTORS, VectorPolicy};
use crate::Scalar;

const HEADERS: &[Header] = &[Header { name: "block_sum.cuh", text: include_str!("block_sum.cuh") }];

static CSR: Source = Source { name: "csr.cu", text: include_str!("csr.cu"), headers: HEADERS };
static VECTOR: Source = Source { name: "vectors.cu", text: include_str!("vectors.cu"), headers: HEADERS };

/// Row starts, columns, values and `x`; then what the product needs besides; then the number of rows.
macro_rules! row_kernel {
    ($name:ident, $cuda:literal, $($args:ty),*) => {
        pub(super) struct $name<T>(PhantomData<T>);
        impl<T: Scalar> Entry for $name<T> {
            type Policy = RowPolicy;
            type Args<'a> = (In<'a, u64>, In<'a, u32>, In<'a, T>, In<'a, T>, $($args,)* u64);
            const SOURCE: &'static Source = &CSR;
            const NAME: &'static str = $cuda;
            fn template(policy: &RowPolicy) -> String {
                format!("{}, {}, {}", T::CUDA_NAME, policy.threads, policy.lanes)
            }
            fn block(policy: &RowPolicy) -> Dim3 {
                policy.threads.into()
            }
        }
    };
}

row_kernel!(CsrProduct, "csr_product", Out<'a, T>);
row_kernel!(CsrProductDot, "csr_product_dot", Out<'a, T>, Out<'a, f64>);
row_kernel!(CsrResidual, "csr_residual", In<'a, T>, Out<'a, T>, Out<'a, f64>);

/// The given arguments, then the number of elements.
macro_rules! vector_kernel {
    ($name:ident, $cuda:literal, $($args:ty),*) => {
        pub(super) struct $name<T>(PhantomData<T>);
        impl<T: Scalar> Entry for $name<T> {
            type Policy = VectorPolicy;
            type Args<'a> = ($($args,)* u64);
            const SOURCE: &'static Source = &VECTOR;
            const NAME: &'static str = $cuda;
            fn template(policy: &VectorPolicy) -> String {
                format!("{}, {}", T::CUDA_NAME, policy.threads)
            }
            fn block(policy: &VectorPolicy) -> Dim3 {
                policy.threads.into()
            }
        }
    };
}

vector_kernel!(UpdateResidual, "update_residual", T, In<'a, T>, InOut<'a, T>, Out<'a, f64>);
vector_kernel!(UpdateResidualDiagonal, "update_residual_diagonal", T, In<'a, T>, In<'a, T>, InOut<'a, T>, Out<'a, f64>);
vector_kernel!(WeightedSquare, "weighted_square", In<'a, T>, In<'a, T>, Out<'a, f64>);
vector_kernel!(Rescale, "rescale", f64, InOut<'a, T>, Out<'a, f64>);
vector_kernel!(ScaledDirection, "scaled_direction", In<'a, T>, In<'a, T>, Out<'a, T>);
vector_kernel!(
    UpdateSolutionAndDirection,
    "update_solution_and_direction",
    T,
    T,
    In<'a, T>,
    InOut<'a, T>,
    InOut<'a, T>
);
vector_kernel!(
    UpdateSolutionAndDirectionDiagonal,
    "update_solution_and_direction_diagonal",
    T,
    T,
    In<'a, T>,
    In<'a, T>,
    InOut<'a, T>,
    InOut<'a, T>
);
vector_kernel!(UpdateSolution, "update_solution", T, In<'a, T>, InOut<'a, T>);

pub(super) struct SumPartials;
impl Entry for SumPartials {
    type Policy = VectorPolicy;
    type Args<'a> = (In<'a, f64>, Out<'a, f64>, u64, u64);
    const SOURCE: &'static Source = &VECTOR;
    const NAME: &'static str = "sum_partials";
    fn template(policy: &VectorPolicy) -> String {
        policy.threads.to_string()
    }
    fn block(policy: &VectorPolicy) -> Dim3 {
        policy.threads.into()
    }
}

/// The kernels of this crate.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let registry = Registry::new("gpu-sparse").with::<SumPartials>(&VECTORS);
    with_element::<f64>(with_element::<f32>(registry))
});

fn with_element<T: Scalar>(registry: Registry) -> Registry {
    let products = RowPolicy::LANES.into_iter().fold(registry, |registry, lanes| {
        let policy = RowPolicy::with_lanes(lanes);
        registry.with::<CsrProduct<T>>(&policy).with::<CsrProductDot<T>>(&policy).with::<CsrResidual<T>>(&policy)
    });
    products
        .with::<UpdateResidual<T>>(&VECTORS)
        .with::<UpdateResidualDiagonal<T>>(&VECTORS)
        .with::<WeightedSquare<T>>(&VECTORS)
        .with::<Rescale<T>>(&VECTORS)
        .with::<ScaledDirection<T>>(&VECTORS)
        .with::<UpdateSolutionAndDirection<T>>(&VECTORS)
        .with::<UpdateSolutionAndDirectionDiagonal<T>>(&VECTORS)
        .with::<UpdateSolution<T>>(&VECTORS)
}
