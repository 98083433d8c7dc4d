//! The typed side of the `.cu` files, and the registry of their instantiations.

use std::{marker::PhantomData, sync::LazyLock};

use gpu_driver::{Device, Dim3, Entry, In, Out, Preload, Registry, Source};

use super::{
    DISTRIBUTIONS, NUMBERS, PHILOX, REAL, XORWOW, XORWOW_STATES,
    constants::{ANY_THREADS, CONSTANTS_HEADER, FEW_THREADS, FILL_THREADS, PHILOX_THREADS},
};
use crate::distribution::{
    Bernoulli, Discrete, Distribution, Exponential, HalfOpen, LargePoisson, LogNormal, Normal, RandomBits, Uniform,
    integers::Integers,
};
use crate::xorwow::start::SeedSequence;

static XORWOW_SOURCE: Source = Source {
    name: "xorwow.cu",
    text: include_str!("xorwow.cu"),
    headers: &[CONSTANTS_HEADER, REAL, NUMBERS, PHILOX, XORWOW, XORWOW_STATES, DISTRIBUTIONS],
};
static START_SOURCE: Source = Source {
    name: "xorwow_start.cu",
    text: include_str!("xorwow_start.cu"),
    headers: &[CONSTANTS_HEADER, REAL, NUMBERS, XORWOW, XORWOW_STATES],
};
static PHILOX_SOURCE: Source = Source {
    name: "philox.cu",
    text: include_str!("philox.cu"),
    headers: &[CONSTANTS_HEADER, REAL, NUMBERS, PHILOX, DISTRIBUTIONS],
};

/// Threads of a block of `xorwow_start`, which has one for each generator.
pub(super) const START_THREADS: u32 = 128;

/// A kernel: its type of policy, template arguments, threads of a block and parameters.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident$(<$D:ident>)?, $source:ident, $cuda:literal, |$policy:ident: $Policy:ty| $template:expr, $threads:expr,
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
    Start, START_SOURCE, "gpu_random::xorwow_start", |_policy: ()| String::new(), START_THREADS,
    (u64, In<'a, u32>, u32, In<'a, u32>, u32, Out<'a, u32>, u32, u64, u64, u64, u64, u64, u32, u32)
);
kernel!(
    /// Jumps, tables.
    Tables, START_SOURCE, "gpu_random::xorwow_tables", |_policy: ()| String::new(), 256_u32,
    (In<'a, u32>, Out<'a, u32>)
);
kernel!(
    /// States, next, tables; out, n; turns, complete, cursor, skip, dropped; rows of a chunk, chunks; parameters. The policy is EXACT.
    Fill<D>, XORWOW_SOURCE, "gpu_random::xorwow_fill", |exact: bool| format!("{}, {exact}", D::cuda()), FILL_THREADS,
    (In<'a, u32>, Out<'a, u32>, In<'a, u32>, Out<'a, D::Value>, u64, u64, u64, u32, u32, u32, u64, u32, u64, u64, u64)
);
kernel!(
    /// States, next, out; turns, cursor, rows of a part, parts; parameters.
    FillFew<D>, XORWOW_SOURCE, "gpu_random::xorwow_fill_few", |_policy: ()| D::cuda(), FEW_THREADS,
    (In<'a, u32>, Out<'a, u32>, Out<'a, D::Value>, u32, u32, u32, u32, u64, u64, u64)
);
kernel!(
    /// Seed, subsequences, next, out; turns, rows of a part, parts; parameters.
    FillFirst<D>, XORWOW_SOURCE, "gpu_random::xorwow_fill_first", |_policy: ()| D::cuda(), 256,
    (SeedSequence, In<'a, u32>, Out<'a, u32>, Out<'a, D::Value>, u32, u32, u32, u64, u64, u64)
);
kernel!(
    /// The arguments of [`Fill`], with jumps for tables, and the number of generators before that of chunks.
    FillAny<D>, XORWOW_SOURCE, "gpu_random::xorwow_fill_any", |_policy: ()| D::cuda(), ANY_THREADS,
    (In<'a, u32>, Out<'a, u32>, In<'a, u32>, Out<'a, D::Value>, u64, u64, u64, u32, u32, u32, u64, u32, u32, u64, u64, u64)
);
kernel!(
    /// Out, n; seed, cursor, skip, whole; below, others, split; parameters.
    PhiloxFill<D>, PHILOX_SOURCE, "gpu_random::philox_fill", |_policy: ()| D::cuda(), PHILOX_THREADS,
    (Out<'a, D::Value>, u64, u64, u32, u32, u32, u64, u64, u32, u64, u64, u64)
);
kernel!(
    /// Out, n; seed, seeds, each, generators, cursor, skip, whole; pieces, their number; parameters.
    PhiloxFillAny<D>, PHILOX_SOURCE, "gpu_random::philox_fill_any", |_policy: ()| D::cuda(), PHILOX_THREADS,
    (Out<'a, D::Value>, u64, u64, In<'a, u32>, u32, u32, u32, u32, u32, In<'a, u64>, u32, u64, u64, u64)
);

/// The kernels of this crate.
pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::new("gpu-random").with::<Start>(&()).with::<Tables>(&());
    registry = of::<Bernoulli>(of::<LargePoisson>(of::<RandomBits>(registry)));
    registry = of::<Discrete>(registry);
    registry = of::<Integers<u32>>(of::<Integers<i32>>(of::<Integers<u64>>(of::<Integers<i64>>(registry))));
    registry = of::<Uniform<f32>>(of::<HalfOpen<f32>>(of::<Normal<f32>>(of::<LogNormal<f32>>(registry))));
    registry = of::<Uniform<f64>>(of::<HalfOpen<f64>>(of::<Normal<f64>>(of::<LogNormal<f64>>(registry))));
    of::<Exponential<f32>>(of::<Exponential<f64>>(registry))
});

/// The kernels of a distribution.
fn of<D: Distribution>(registry: Registry) -> Registry {
    let registry =
        registry.with::<Fill<D>>(&true).with::<FillFew<D>>(&()).with::<FillFirst<D>>(&()).with::<FillAny<D>>(&());
    let registry = registry.with::<PhiloxFill<D>>(&()).with::<PhiloxFillAny<D>>(&());
    // With one value to a turn every fill is exact.
    if D::VALUES == 1 { registry } else { registry.with::<Fill<D>>(&false) }
}

/// Compiles and loads the kernels that most programs begin with, side by side on all processors: words, and uniform and normal numbers of `f32` and
/// `f64`, of [`Philox`](crate::Philox) and [`Xorwow`](crate::Xorwow).
///
/// The others are compiled at their first use. A program that has run once finds all of its kernels in the cache on disk (`GPU_CACHE_DIR`), which can
/// be shipped with it.
///
/// # Cost
/// About 3 s of one processor's time where nothing is in the cache, else the loading of 24 kernels.
///
/// # Errors
/// `Driver`: no NVRTC, a lost device.
///
/// ```no_run
/// let device = gpu_driver::Device::first()?;
/// gpu_random::warm(&device)?;
/// # Ok::<(), gpu_random::RandomError>(())
/// ```
pub fn warm(device: &Device) -> crate::Result<()> {
    let normal = usual::<Normal<f32>>(usual::<Normal<f64>>(Preload::new(&KERNELS, device)));
    let uniform = usual::<Uniform<f32>>(usual::<Uniform<f64>>(normal));
    Ok(usual::<RandomBits>(uniform).and::<Start>(&()).and::<Tables>(&()).run()?)
}

/// The kernels of a distribution in cuRAND's order.
fn usual<D: Distribution>(all: Preload<'_>) -> Preload<'_> {
    let all = all.and::<Fill<D>>(&true).and::<FillFew<D>>(&()).and::<FillFirst<D>>(&()).and::<PhiloxFill<D>>(&());
    if D::VALUES == 1 { all } else { all.and::<Fill<D>>(&false) }
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
