//! The threads of one block, and where each of them is.

use std::{
    ffi::{CStr, c_char},
    ops::Range,
    ptr::null,
};

use corosensei::{Coroutine, Yielder};

use crate::{
    abi::{Index, barrier, warp},
    set::Set,
    shared::Shadow,
    stack::ThreadStack,
};

const LANES: usize = 32;
/// Cycles that a thread's first look at the clock takes.
const FIRST_CLOCK_STEP: u64 = 32;

/// How a thread's coroutine ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Finished,
    /// The system stopped it for an access outside all mapped memory.
    Signal,
}

pub(super) type Fiber = Coroutine<(), (), Ending, ThreadStack>;

/// A place in a kernel's text: a line that the compiler passed, or a code address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub(super) name: *const c_char,
    pub(super) file: *const c_char,
    pub(super) line: u32,
    pub(super) pc: usize,
}

impl Site {
    pub(super) const NONE: Self = Self { name: null(), file: null(), line: 0, pc: 0 };

    pub(super) fn of_pc(pc: usize) -> Self {
        Self { pc, ..Self::NONE }
    }

    pub(super) fn name(&self) -> String {
        text(self.name)
    }

    /// Whether both are one line. The compiler may copy a statement, so addresses alone do not tell.
    pub(super) fn same_line(&self, other: &Self) -> bool {
        self.line == other.line && (self.file == other.file || text(self.file) == text(other.file))
    }
}

/// A literal of a module, as a `String`.
pub(super) fn text(literal: *const c_char) -> String {
    if literal.is_null() {
        return String::new();
    }
    // SAFETY: the modules pass literals, which live as long as they are loaded.
    unsafe { CStr::from_ptr(literal) }.to_string_lossy().into_owned()
}

/// The reason why a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It does not wait: it can run.
    No,
    Barrier,
    Warp,
    /// It waits for the other lanes of its warp to come to `__activemask` or to wait elsewhere.
    ActiveMask,
    Ended,
}

pub(super) struct Thread {
    pub(super) fiber: Option<Fiber>,
    pub(super) yielder: *const Yielder<(), ()>,
    pub(super) stack: Range<usize>,
    pub(super) index: Index,
    pub(super) wait: Wait,
    /// The place at which it waits or was last interrupted.
    pub(super) site: Site,
    /// The result of its last collective operation.
    pub(super) result: u64,
    pub(super) warp_clock: u32,
    pub(super) last_sync: u32,
    /// Cycles that it has waited by reading the clock or sleeping.
    pub(super) cycles: u64,
    pub(super) clock_step: u64,
    /// Steps left until it is interrupted; a new measure when there are none.
    pub(super) budget: i64,
    /// The warp's clock at its last atomic operation or fence.
    pub(super) sync_clock: u32,
    /// It has waited for the work that its stream held before the launch.
    pub(super) waited_for_stream: bool,
}

impl Thread {
    fn new() -> Self {
        Self {
            fiber: None,
            yielder: null(),
            stack: 0..0,
            index: Index::default(),
            wait: Wait::No,
            site: Site::NONE,
            result: 0,
            warp_clock: 0,
            last_sync: 0,
            cycles: 0,
            clock_step: FIRST_CLOCK_STEP,
            budget: 0,
            sync_clock: 0,
            waited_for_stream: false,
        }
    }

    fn restart(&mut self, index: Index) {
        (self.index, self.wait, self.site) = (index, Wait::No, Site::NONE);
        (self.warp_clock, self.last_sync, self.cycles, self.clock_step) = (0, 0, 0, FIRST_CLOCK_STEP);
        (self.budget, self.sync_clock, self.waited_for_stream) = (0, 0, false);
    }
}

/// A warp-wide operation that lanes have come to.
pub(super) struct Group {
    pub(super) kind: u32,
    pub(super) mask: u32,
    pub(super) arrived: u32,
    pub(super) values: [u64; LANES],
    pub(super) arguments: [u32; LANES],
    pub(super) width: u32,
}

#[derive(Default)]
pub(super) struct Warp {
    #[expect(clippy::vec_box, reason = "half a kilobyte that would be copied at each operation")]
    pub(super) groups: Vec<Box<Group>>,
    /// Groups to use again.
    #[expect(clippy::vec_box, reason = "as above")]
    pub(super) spare: Vec<Box<Group>>,
    pub(super) clock: u32,
    /// Lanes that there are: fewer than 32 in a block's last warp.
    pub(super) lanes: u32,
    pub(super) ended: u32,
}

/// A barrier that threads wait at.
#[derive(Clone, Copy)]
pub(super) struct Barrier {
    pub(super) kind: u32,
    pub(super) site: Site,
    pub(super) arrived: usize,
    pub(super) nonzero: usize,
}

pub(super) struct Block {
    /// Number of its arena.
    pub(super) slot: usize,
    pub(super) index: Index,
    pub(super) threads: Vec<Thread>,
    pub(super) warps: Vec<Warp>,
    pub(super) ready: Set,
    /// Interrupted threads, which run when the others have had their turn.
    pub(super) later: Set,
    pub(super) alive: usize,
    pub(super) barrier: Option<Barrier>,
    pub(super) epoch: u32,
    /// Count of atomic operations and fences.
    pub(super) time: u32,
    pub(super) shadow: Shadow,
    /// Whether each shared variable was freshly filled for this block.
    pub(super) filled: Vec<bool>,
    /// Interruptions since a thread last ended or a barrier last opened.
    pub(super) interruptions: usize,
}

impl Block {
    pub(super) fn new(slot: usize) -> Self {
        Self {
            slot,
            index: Index::default(),
            threads: Vec::new(),
            warps: Vec::new(),
            ready: Set::default(),
            later: Set::default(),
            alive: 0,
            barrier: None,
            epoch: 0,
            time: 0,
            shadow: Shadow::new(),
            filled: Vec::new(),
            interruptions: 0,
        }
    }

    /// Begins another block in the same place.
    pub(super) fn restart(&mut self, index: Index, size: Index, epoch: u32) {
        let count = (size.x * size.y * size.z) as usize;
        self.index = index;
        self.threads.truncate(count);
        self.threads.resize_with(count, Thread::new);
        let mut next = Index::default();
        for thread in &mut self.threads {
            thread.restart(next);
            next.x += 1;
            if next.x == size.x {
                (next.x, next.y) = (0, next.y + 1);
            }
            if next.y == size.y {
                (next.y, next.z) = (0, next.z + 1);
            }
        }
        self.warps.truncate(count.div_ceil(LANES));
        self.warps.resize_with(count.div_ceil(LANES), Warp::default);
        for (at, warp) in self.warps.iter_mut().enumerate() {
            let lanes = (count - at * LANES).min(LANES);
            (warp.clock, warp.ended, warp.lanes) = (0, 0, (u64::MAX >> (64 - lanes)) as u32);
            warp.groups.clear();
        }
        (self.ready, self.later) = (Set::first_n(count), Set::default());
        (self.alive, self.barrier, self.time) = (count, None, 0);
        (self.epoch, self.shadow.first_epoch) = (epoch, epoch);
        self.filled.clear();
        self.interruptions = 0;
    }

    /// Lets a thread go on with `result`.
    pub(super) fn wake(&mut self, thread: usize, result: u64) {
        self.threads[thread].wait = Wait::No;
        self.threads[thread].result = result;
        self.ready.insert(thread);
    }
}

impl Group {
    /// No lane of no operation.
    pub(super) const EMPTY: Self =
        Self { kind: 0, mask: 0, arrived: 0, values: [0; 32], arguments: [0; 32], width: 32 };

    /// Each lane's result; `ended` are lanes whose value nobody can read any more.
    ///
    /// # Errors
    /// The lane that reads, and the one that has ended.
    pub(super) fn results(&self, ended: u32) -> Result<[u64; LANES], (u32, u32)> {
        let mut results = [0; LANES];
        let all = || (0..LANES as u32).filter(|lane| self.arrived >> lane & 1 == 1);
        let values = || all().map(|lane| self.values[lane as usize]);
        let words = || values().map(|value| value as u32);
        let joined = match self.kind {
            warp::BALLOT => {
                all().filter(|&lane| self.values[lane as usize] != 0).fold(0, |mask, lane| mask | 1 << lane)
            }
            warp::ALL => values().all(|value| value != 0).into(),
            warp::ANY => values().any(|value| value != 0).into(),
            warp::MATCH_ALL => {
                let mut others = values();
                let first = others.next();
                if others.all(|value| Some(value) == first) { self.arrived.into() } else { 0 }
            }
            warp::REDUCE_ADD => words().fold(0, u32::wrapping_add).into(),
            warp::REDUCE_MIN => words().min().unwrap_or(0).into(),
            warp::REDUCE_MAX => words().max().unwrap_or(0).into(),
            warp::REDUCE_MIN_SIGNED => (words().map(|word| word as i32).min().unwrap_or(0) as u32).into(),
            warp::REDUCE_MAX_SIGNED => (words().map(|word| word as i32).max().unwrap_or(0) as u32).into(),
            warp::REDUCE_AND => words().fold(u32::MAX, |a, b| a & b).into(),
            warp::REDUCE_OR => words().fold(0, |a, b| a | b).into(),
            warp::REDUCE_XOR => words().fold(0, |a, b| a ^ b).into(),
            _ => 0,
        };
        for lane in all() {
            results[lane as usize] = match self.kind {
                warp::SHUFFLE..=warp::SHUFFLE_XOR => self.shuffled(lane, ended)?,
                warp::MATCH_ANY => {
                    let value = self.values[lane as usize];
                    all().filter(|&other| self.values[other as usize] == value).fold(0, |mask, other| mask | 1 << other)
                }
                _ => joined,
            };
        }
        Ok(results)
    }

    /// The value that a lane of a shuffle reads.
    fn shuffled(&self, lane: u32, ended: u32) -> Result<u64, (u32, u32)> {
        let (width, argument) = (self.width.clamp(1, LANES as u32), self.arguments[lane as usize]);
        let (first, at) = (lane & !(width - 1), lane & (width - 1));
        let source = match self.kind {
            warp::SHUFFLE => Some(first + (argument & (width - 1))),
            warp::SHUFFLE_UP => at.checked_sub(argument).map(|at| first + at),
            warp::SHUFFLE_DOWN => at.checked_add(argument).filter(|&at| at < width).map(|at| first + at),
            // Lanes of later segments may not be read, those of earlier ones may.
            _ => Some(lane ^ argument).filter(|&source| source < first + width),
        };
        let source = source.unwrap_or(lane);
        if source >= LANES as u32 {
            return Ok(self.values[lane as usize]);
        }
        if self.arrived >> source & 1 == 1 {
            return Ok(self.values[source as usize]);
        }
        if (self.mask & ended) >> source & 1 == 1 {
            return Err((lane, source));
        }
        // The value of a lane outside the mask is undefined; all ones make a float that is not a number.
        Ok(u64::MAX)
    }
}

impl Barrier {
    /// The value that each thread's call returns.
    pub(super) fn result(&self) -> u64 {
        match self.kind {
            barrier::COUNT => self.nonzero as u64,
            barrier::AND => (self.nonzero == self.arrived).into(),
            barrier::OR => (self.nonzero > 0).into(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(kind: u32, mask: u32, width: u32, value: impl Fn(u32) -> u64, argument: u32) -> Group {
        let mut values = [0; LANES];
        (0..32).for_each(|lane| values[lane as usize] = value(lane));
        Group { kind, mask, arrived: mask, values, arguments: [argument; LANES], width }
    }

    #[test]
    fn shuffles_stay_in_their_segments() {
        let own = u64::from;
        let down = group(warp::SHUFFLE_DOWN, u32::MAX, 8, own, 3).results(0).unwrap();
        assert_eq!((down[0], down[4], down[5], down[8]), (3, 7, 5, 11));
        let up = group(warp::SHUFFLE_UP, u32::MAX, 16, own, 1).results(0).unwrap();
        assert_eq!((up[0], up[1], up[16], up[31]), (0, 0, 16, 30));
        let xor = group(warp::SHUFFLE_XOR, u32::MAX, 32, own, 16).results(0).unwrap();
        assert_eq!((xor[0], xor[31]), (16, 15));
        let index = group(warp::SHUFFLE, u32::MAX, 4, own, 6).results(0).unwrap();
        assert_eq!((index[0], index[30]), (2, 30));
    }

    #[test]
    fn absent_lanes_give_nothing_and_ended_ones_an_error() {
        let mut half = group(warp::SHUFFLE_DOWN, 0xffff, 32, u64::from, 8);
        assert_eq!(half.results(0).unwrap()[8], u64::MAX);
        half.mask = u32::MAX;
        assert_eq!(half.results(1 << 16), Err((8, 16)));
    }

    #[test]
    fn votes_matches_and_sums() {
        let all = |kind, value: fn(u32) -> u64| group(kind, 0xff, 32, value, 0).results(0).unwrap()[3];
        assert_eq!(all(warp::BALLOT, |lane| u64::from(lane % 2)), 0b1010_1010);
        assert_eq!(
            (all(warp::ALL, |_| 1), all(warp::ALL, |lane| lane.into()), all(warp::ANY, |lane| lane.into())),
            (1, 0, 1)
        );
        assert_eq!((all(warp::MATCH_ANY, |lane| u64::from(lane / 4)), all(warp::MATCH_ALL, |_| 9)), (0xf, 0xff));
        assert_eq!((all(warp::REDUCE_ADD, u64::from), all(warp::REDUCE_MAX, u64::from)), (28, 7));
        let signed = |lane: u32| u64::from((lane as i32 - 4) as u32);
        assert_eq!(all(warp::REDUCE_MIN_SIGNED, signed) as u32 as i32, -4);
    }
}
