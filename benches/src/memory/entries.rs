//! The kernels of this crate: one that reads, and one that does nothing.

use std::sync::LazyLock;

use gpu_driver::{Dim3, Entry, In, Out, Registry, Source};

static READ: Source = Source { name: "read.cu", text: include_str!("read.cu"), headers: &[] };

/// Tuning of the kernel, such as reads fastest on an H200: any grid of at least two blocks a multiprocessor does.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) threads: u32,
    /// Loads of 16 bytes that are under way at once in a thread.
    loads: u32,
    pub(super) blocks_per_multiprocessor: u32,
}

pub(super) const POLICY: Policy = Policy { threads: 512, loads: 4, blocks_per_multiprocessor: 8 };

/// The kernel that reads.
pub(super) struct ReadAll;

impl Entry for ReadAll {
    type Policy = Policy;
    type Args<'a> = (In<'a, u32>, Out<'a, u32>, u64);
    const SOURCE: &'static Source = &READ;
    const NAME: &'static str = "read_all";
    fn template(policy: &Policy) -> String {
        format!("{}, {}", policy.threads, policy.loads)
    }
    fn block(policy: &Policy) -> Dim3 {
        policy.threads.into()
    }
}

static EMPTY: Source = Source { name: "empty.cu", text: include_str!("empty.cu"), headers: &[] };

/// Threads of a block.
pub(crate) const THREADS: u32 = 32;

/// The kernel that does nothing.
pub(super) struct Empty;

impl Entry for Empty {
    type Policy = u32;
    type Args<'a> = (In<'a, f32>, u64);
    const SOURCE: &'static Source = &EMPTY;
    const NAME: &'static str = "empty";
    fn template(threads: &u32) -> String {
        threads.to_string()
    }
    fn block(threads: &u32) -> Dim3 {
        (*threads).into()
    }
}

/// The kernels of this crate: for the measurement of ceilings and launches alone.
pub static KERNELS: LazyLock<Registry> =
    LazyLock::new(|| Registry::new("benches").with::<ReadAll>(&POLICY).with::<Empty>(&THREADS));
