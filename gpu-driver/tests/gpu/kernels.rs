//! The typed side of `kernels.cu`.

use std::{marker::PhantomData, sync::LazyLock};

use gpu_driver::{DevicePod, Dim3, Entry, In, InOut, KernelSpace, Out, Registry, Source};

static SOURCE: Source = Source { name: "kernels.cu", text: include_str!("kernels.cu"), headers: &[] };

pub struct Axpy<T>(PhantomData<T>);
impl<T: DevicePod> Entry for Axpy<T> {
    type Policy = u32;
    type Args<'a> = (T, In<'a, T>, InOut<'a, T>, u64);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "axpy";
    fn template(_: &u32) -> String {
        T::CUDA_NAME.to_owned()
    }
    fn block(threads: &u32) -> Dim3 {
        (*threads).into()
    }
}

/// `axpy` with the vector and the scalar in the wrong order: must not compile.
pub struct WrongAxpy;
impl Entry for WrongAxpy {
    type Policy = ();
    type Args<'a> = (In<'a, f32>, f32, InOut<'a, f32>, u64);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "axpy";
    fn template((): &()) -> String {
        "float".to_owned()
    }
    fn block((): &()) -> Dim3 {
        1.into()
    }
}

/// Does not compile, in its third line.
pub struct Broken;
static BROKEN: Source =
    Source { name: "broken.cu", text: "__global__ void broken()\n{\n    undefined_thing = 1;\n}\n", headers: &[] };
impl Entry for Broken {
    type Policy = ();
    type Args<'a> = ();
    const SOURCE: &'static Source = &BROKEN;
    const NAME: &'static str = "broken";
    fn template((): &()) -> String {
        String::new()
    }
    fn block((): &()) -> Dim3 {
        1.into()
    }
}

pub struct SlowFill;
impl Entry for SlowFill {
    type Policy = ();
    type Args<'a> = (u64, u32, Out<'a, u32>, u64);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "slow_fill";
    fn template((): &()) -> String {
        String::new()
    }
    fn block((): &()) -> Dim3 {
        256.into()
    }
}

/// Policy: dynamic shared bytes.
pub struct Reverse;
impl Entry for Reverse {
    type Policy = u32;
    type Args<'a> = (In<'a, u32>, Out<'a, u32>, u64);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "reverse";
    fn template(_: &u32) -> String {
        String::new()
    }
    fn block(_: &u32) -> Dim3 {
        1024.into()
    }
    fn shared_bytes(bytes: &u32) -> u32 {
        *bytes
    }
}

pub struct Fault;
impl Entry for Fault {
    type Policy = ();
    type Args<'a> = (u32, Out<'a, u32>);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "fault";
    fn template((): &()) -> String {
        String::new()
    }
    fn block((): &()) -> Dim3 {
        1.into()
    }
}

/// x, n, counters, partial sums, out.
pub struct Total;
impl Total {
    pub const THREADS: u32 = 32;
}
impl Entry for Total {
    type Policy = ();
    type Args<'a> = (In<'a, u32>, u64, u64, u64, Out<'a, u64>);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "total";
    fn template((): &()) -> String {
        String::new()
    }
    fn block((): &()) -> Dim3 {
        Self::THREADS.into()
    }
}

/// The keys of kernels that tests make at run time.
pub static SPACE: KernelSpace = KernelSpace::new();

pub static KERNELS: LazyLock<Registry> = LazyLock::new(|| {
    Registry::new("gpu-driver's tests")
        .with::<Axpy<f32>>(&256)
        .with::<Axpy<f64>>(&256)
        .with::<SlowFill>(&())
        .with::<Reverse>(&0)
        .with::<Fault>(&())
        .with::<Total>(&())
});
