//! The typed side of the `.cu` files, and the registry of their instantiations.

use std::{marker::PhantomData, sync::LazyLock};

use gpu_driver::{Dim3, Entry, In, Out, Registry, Source};

use super::{DISTRIBUTIONS, NUMBERS, PHILOX, REAL, XORWOW};
use crate::distribution::{
    Bernoulli, Distribution, Exponential, HalfOpen, LogNormal, Normal, Poisson, RandomBits, Uniform, integers::Integers,
};

static XORWOW_SOURCE: Source = Source {
    name: "xorwow.cu",
    text: include_str!("xorwow.cu"),
    headers: &[REAL, NUMBERS, PHILOX, XORWOW, DISTRIBUTIONS],
};
static PHILOX_SOURCE: Source =
    Source { name: "philox.cu", text: include_str!("philox.cu"), headers: &[REAL, NUMBERS, PHILOX, DISTRIBUTIONS] };

/// A kernel: its type of policy, template arguments, threads of a block and parameters.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident$(<$D:ident>)?, $source:ident, $cuda:literal, |$policy:ident: $Policy:ty| $template:expr, $threads:literal,
     ($($args:ty),* $(,)?)) => {
        $(#[$doc])*
        pub(super) struct $name$(<$D>)?($(PhantomData<$D>)?);
        impl$(<$D: Distribution>)? Entry for $name$(<$D>)? {
            type Policy = $Policy;
            type Args<'a> = ($($args,)*);
            const SOURCE: &'static Source = &$source;
            const NAME: &'static str = $cuda;
            const OVERLAPS: bool = true;
            fn template($policy: &$Policy) -> String {
                $template
            }
            fn block(_: &$Policy) -> Dim3 {
                $threads.into()
            }
        }
    };
}

kernel!(
    /// Seed, seeds, each; jumps, own, states, generators; the digits of a polynomial, draws, split, more.
    Start, XORWOW_SOURCE, "xorwow_start", |_policy: ()| String::new(), 128,
    (u64, In<'a, u32>, u32, In<'a, u32>, u32, Out<'a, u32>, u32, u64, u64, u64, u64, u64, u32, u32)
);
kernel!(
    /// Jumps, tables.
    Tables, XORWOW_SOURCE, "xorwow_tables", |_policy: ()| String::new(), 256,
    (In<'a, u32>, Out<'a, u32>)
);
kernel!(
    /// States, next, tables; out, n; turns, complete, cursor, skip, dropped; rows of a chunk, chunks; parameters. The policy is EXACT.
    Fill<D>, XORWOW_SOURCE, "xorwow_fill", |exact: bool| format!("{}, {exact}", D::cuda()), 256,
    (In<'a, u32>, Out<'a, u32>, In<'a, u32>, Out<'a, D::Value>, u64, u64, u64, u32, u32, u32, u64, u32, u64, u64, u64)
);
kernel!(
    /// States, next, out; turns, cursor, rows of a part, parts; parameters.
    FillFew<D>, XORWOW_SOURCE, "xorwow_fill_few", |_policy: ()| D::cuda(), 64,
    (In<'a, u32>, Out<'a, u32>, Out<'a, D::Value>, u32, u32, u32, u32, u64, u64, u64)
);
kernel!(
    /// The arguments of [`Fill`], with jumps for tables, and the number of generators before that of chunks.
    FillAny<D>, XORWOW_SOURCE, "xorwow_fill_any", |_policy: ()| D::cuda(), 128,
    (In<'a, u32>, Out<'a, u32>, In<'a, u32>, Out<'a, D::Value>, u64, u64, u64, u32, u32, u32, u64, u32, u32, u64, u64, u64)
);
kernel!(
    /// Out, n; seed, cursor, skip, whole; below, others, split; parameters.
    PhiloxFill<D>, PHILOX_SOURCE, "philox_fill", |_policy: ()| D::cuda(), 256,
    (Out<'a, D::Value>, u64, u64, u32, u32, u32, u64, u64, u32, u64, u64, u64)
);
kernel!(
    /// Out, n; seed, seeds, each, generators, cursor, skip, whole; pieces, their number; parameters.
    PhiloxFillAny<D>, PHILOX_SOURCE, "philox_fill_any", |_policy: ()| D::cuda(), 256,
    (Out<'a, D::Value>, u64, u64, In<'a, u32>, u32, u32, u32, u32, u32, In<'a, u64>, u32, u64, u64, u64)
);

/// The kernels of this crate.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::new("gpu-random").with::<Start>(&()).with::<Tables>(&());
    registry = of::<Bernoulli>(of::<Poisson>(of::<RandomBits>(registry)));
    registry = of::<Integers<u32>>(of::<Integers<i32>>(of::<Integers<u64>>(of::<Integers<i64>>(registry))));
    registry = of::<Uniform<f32>>(of::<HalfOpen<f32>>(of::<Normal<f32>>(of::<LogNormal<f32>>(registry))));
    registry = of::<Uniform<f64>>(of::<HalfOpen<f64>>(of::<Normal<f64>>(of::<LogNormal<f64>>(registry))));
    of::<Exponential<f32>>(of::<Exponential<f64>>(registry))
});

/// The kernels of a distribution.
fn of<D: Distribution>(registry: Registry) -> Registry {
    let registry = registry.with::<Fill<D>>(&true).with::<FillFew<D>>(&()).with::<FillAny<D>>(&());
    let registry = registry.with::<PhiloxFill<D>>(&()).with::<PhiloxFillAny<D>>(&());
    // With one value to a turn every fill is exact.
    if D::VALUES == 1 { registry } else { registry.with::<Fill<D>>(&false) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn no_two_kernels_have_one_name() {
        let all = super::KERNELS.instances();
        let names: HashSet<&str> = all.iter().map(|instance| instance.expression()).collect();
        assert_eq!(names.len(), all.len());
    }
}
