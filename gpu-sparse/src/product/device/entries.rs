//! The typed side of `product.cu`, and of every kernel that sweeps a matrix.

use std::marker::PhantomData;

use gpu_driver::{Dim3, Entry, Header, In, InOut, Out, Preload, Registry, Source, joined_text};

use super::policy::PRODUCTS;
use crate::device::{ROW_CONSTANTS, Raw};
use crate::packets::PACKET_CONSTANTS;

/// The constants of both formats.
pub(crate) const CONSTANTS_HEADER: Header = Header {
    name: "constants.cuh",
    text: joined_text![
        "#pragma once\n#include \"prelude.cuh\"\nnamespace gpu_sparse {\n",
        ROW_CONSTANTS,
        PACKET_CONSTANTS,
        "} // namespace gpu_sparse\n",
    ],
};
pub(crate) const SUMS_HEADER: Header = Header { name: "sums.cuh", text: include_str!("sums.cuh") };
pub(crate) const LONG_ROWS_HEADER: Header = Header { name: "long_rows.cuh", text: include_str!("long_rows.cuh") };
pub(crate) const CSR_HEADER: Header = Header { name: "csr.cuh", text: include_str!("csr.cuh") };
pub(crate) const PACKETS_HEADER: Header = Header { name: "packets.cuh", text: include_str!("packets.cuh") };
pub(crate) const SWEEP_HEADER: Header = Header { name: "sweep.cuh", text: include_str!("sweep.cuh") };

static SOURCE: Source = Source {
    name: "product.cu",
    text: include_str!("product.cu"),
    headers: &[CONSTANTS_HEADER, SUMS_HEADER, LONG_ROWS_HEADER, CSR_HEADER, PACKETS_HEADER, SWEEP_HEADER],
};

/// A kernel that sweeps a matrix. Its arguments: the matrix; the kernel's own; then the long rows' scratch.
macro_rules! product_kernel {
    ($name:ident, $source:ident, $cuda:literal, $($args:ty),*) => {
        pub(crate) struct $name<R>(PhantomData<R>);
        impl<R: $crate::device::Raw> gpu_driver::Entry for $name<R> {
            type Policy = $crate::product::device::ProductPolicy;
            type Args<'a> = ($crate::device::View<'a, R>, $($args,)* Out<'a, f64>, InOut<'a, u32>);
            const SOURCE: &'static Source = &$source;
            const NAME: &'static str = $cuda;
            const OVERLAPS: bool = true;
            fn template(policy: &Self::Policy) -> String {
                format!("{}, {}, {}", R::cuda_name(), <R::Element as gpu_driver::DevicePod>::CUDA_NAME, policy.threads)
            }
            fn block(policy: &Self::Policy) -> Dim3 {
                policy.threads.into()
            }
        }
    };
}
pub(crate) use product_kernel;

product_kernel!(Product, SOURCE, "gpu_sparse::product", In<'a, R::Element>, Out<'a, R::Element>);
product_kernel!(
    ProductAxpby,
    SOURCE,
    "gpu_sparse::product_axpby",
    R::Element,
    In<'a, R::Element>,
    R::Element,
    InOut<'a, R::Element>
);

/// A receiver of kernels, one after another: the registry, to know them, and [`Preload`], to load them.
pub(crate) trait List: Sized {
    fn and<E: Entry>(self, policy: &E::Policy) -> Self;
}

impl List for Registry {
    fn and<E: Entry>(self, policy: &E::Policy) -> Self {
        self.with::<E>(policy)
    }
}

impl List for Preload<'_> {
    fn and<E: Entry>(self, policy: &E::Policy) -> Self {
        self.and::<E>(policy)
    }
}

/// The products of one format.
pub(crate) fn product_kernels<R: Raw, L: List>(list: L) -> L {
    list.and::<Product<R>>(&PRODUCTS).and::<ProductAxpby<R>>(&PRODUCTS)
}
