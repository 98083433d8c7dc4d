//! Everything that a handle of the driver stands for.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::Arc,
};

use crate::{
    image::Image,
    kinds::Call,
    launch::Fault,
    random::Random,
    settings::Settings,
    work::{Mark, Op},
};

pub(crate) struct Stream {
    pub(crate) context: usize,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) queue: VecDeque<Op>,
    /// The capture it is part of, and the nodes that its next one depends on.
    pub(crate) capture: Option<(usize, Vec<usize>)>,
    /// Its handle is gone; queued work still runs.
    pub(crate) is_destroyed: bool,
}

/// The work that an event was last recorded behind.
#[derive(Clone)]
pub(crate) enum Recorded {
    Never,
    Marked(Arc<Mark>),
    Captured(usize, Vec<usize>),
}

pub(crate) struct Event {
    pub(crate) context: usize,
    pub(crate) timed: bool,
    pub(crate) recorded: Recorded,
}

pub(crate) struct Function {
    pub(crate) context: usize,
    pub(crate) module: usize,
    pub(crate) kernel: usize,
    pub(crate) name: String,
    pub(crate) most_dynamic_bytes: u32,
    /// The driver was asked for them, so that they come on top of the kernel's other shared memory.
    pub(crate) is_raised: bool,
    /// The largest block, once asked for.
    pub(crate) most_threads: Option<u32>,
}

/// A linker.
pub(crate) struct Link {
    pub(crate) context: usize,
    pub(crate) count: u32,
    /// The addresses of the numbers and values of its options, of which there are `count`.
    pub(crate) options: [usize; 2],
    pub(crate) image: Option<Vec<u8>>,
}

pub(crate) struct LoadedModule {
    pub(crate) context: usize,
    pub(crate) image: Arc<Image>,
}

#[derive(Default)]
pub(crate) struct Pool {
    pub(crate) device: usize,
    /// The context that was current when it was made; it goes with it. 0 for a device's own pool.
    pub(crate) context: usize,
    pub(crate) used: u64,
    pub(crate) reserved: u64,
    pub(crate) most_used: u64,
    pub(crate) most_reserved: u64,
    /// Bytes up to which it keeps released memory.
    pub(crate) threshold: u64,
    /// It was destroyed while memory of it was in use.
    pub(crate) has_ended: bool,
}

pub(crate) struct Context {
    pub(crate) device: usize,
    pub(crate) null_stream: usize,
    /// The fault that lost the context.
    pub(crate) lost: Option<Fault>,
    pub(crate) settings: Settings,
    pub(crate) random: Random,
    /// Bytes allocated outside pools.
    pub(crate) used: u64,
    /// How often each kind of call was made.
    pub(crate) calls: HashMap<Call, u64>,
    pub(crate) chosen_blocks: Vec<Range<u64>>,
    /// Cycles that kernels have waited by the clock, beyond real time.
    pub(super) cycles: u64,
    pub(crate) flags: u32,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Primary {
    pub(crate) context: usize,
    pub(crate) retains: usize,
    pub(crate) flags: u32,
}
