//! The shared memory of a block: places of its variables, and a shadow that knows who touched each word since when.
//!
//! Two accesses of one word by two threads are a race when at least one writes, not both are atomic, and nothing orders
//! them: no barrier between them, no warp-wide operation of their warp, and no pair of atomic operations or fences, one of
//! each thread or of a lane that a warp-wide operation ordered with it, after the first access. A word remembers its last
//! writer and its last reader, so of several conflicting accesses one may go unreported; those that are reported are always
//! unordered.

use crate::abi::access;

/// Bytes of one arena: the most that sm_90 gives to a block.
pub(super) const ARENA_BYTES: usize = 227 * 1024;
/// Most static shared memory, and the limit of a kernel that does not ask for more.
pub(super) const STATIC_BYTES: usize = 48 * 1024;
/// Distance of arenas; the rest may not be touched.
const ARENA_SPAN: usize = 256 * 1024;
/// Unused bytes between variables, in which an index just beyond lands.
const GAP: usize = 64;
const WORD: usize = 4;
const FRESH: u8 = 0xff;
/// In place of a thread: several of different warps.
const MANY: u16 = u16::MAX;

/// A variable in the arenas of a launch: at the same place in each block.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) bytes: usize,
}

/// The variables of a launch; the first is the dynamic shared memory.
pub(super) struct SharedLayout {
    pub(super) variables: Vec<Variable>,
    end: usize,
    /// Bytes that the kernel may use, static and dynamic.
    most: usize,
}

impl SharedLayout {
    /// `raised`: the kernel was allowed more dynamic shared memory than every kernel has.
    pub(super) fn new(dynamic_bytes: usize, raised: bool) -> Self {
        let most = if raised { ARENA_BYTES } else { STATIC_BYTES };
        let dynamic = Variable { name: "the dynamic shared memory".into(), offset: 0, bytes: dynamic_bytes };
        Self { variables: vec![dynamic], end: dynamic_bytes, most }
    }

    /// A place for a further variable.
    ///
    /// # Errors
    /// The reason why a GPU's compiler or driver would refuse so much shared memory.
    pub(super) fn add(&mut self, name: String, bytes: usize, alignment: usize) -> Result<usize, String> {
        let used: usize = self.variables.iter().map(|variable| variable.bytes).sum();
        let statics = used - self.variables[0].bytes + bytes;
        if statics > STATIC_BYTES {
            return Err(format!(
                "static shared memory of {statics} bytes per block, of which there are {STATIC_BYTES}"
            ));
        }
        if used + bytes > self.most {
            let most = self.most;
            return Err(format!(
                "shared memory of {} bytes per block, of which this kernel may have {most}",
                used + bytes
            ));
        }
        let gap = GAP.min((ARENA_BYTES - self.end.min(ARENA_BYTES)).saturating_sub(bytes) / 2);
        let offset = (self.end + gap).next_multiple_of(alignment.max(1));
        if offset + bytes > ARENA_SPAN - 4096 {
            return Err("shared memory with alignments that do not fit".to_owned());
        }
        self.end = offset + bytes;
        self.variables.push(Variable { name, offset, bytes });
        Ok(self.variables.len() - 1)
    }
}

/// Memory for the arenas of all blocks that are resident at once.
pub(super) struct Arenas {
    base: usize,
    count: usize,
}

impl Arenas {
    /// Addresses for `count` arenas; memory comes when it is touched.
    pub(super) fn new(count: usize) -> Option<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping touches nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), count * ARENA_SPAN, protection, flags, -1, 0) };
        (base != libc::MAP_FAILED).then_some(Self { base: base as usize, count })
    }

    pub(super) fn start(&self, slot: usize) -> usize {
        self.base + slot * ARENA_SPAN
    }

    /// The slot whose arena holds the address.
    pub(super) fn slot_of(&self, address: usize) -> Option<usize> {
        let slot = address.wrapping_sub(self.base) / ARENA_SPAN;
        (slot < self.count).then_some(slot)
    }

    /// Fills a variable of an arena with 0xff.
    pub(super) fn refresh(&self, slot: usize, variable: &Variable) {
        let start = self.start(slot) + variable.offset;
        // SAFETY: within the arena, which no running thread uses as Rust memory.
        unsafe { std::ptr::write_bytes(start as *mut u8, FRESH, variable.bytes) };
    }
}

impl Drop for Arenas {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with that size.
        unsafe { libc::munmap(self.base as *mut _, self.count * ARENA_SPAN) };
    }
}

/// The thread that makes an access, its clocks, and the place in the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessor {
    pub(super) thread: u16,
    /// The thread's last warp-wide operation, counted per warp.
    pub(super) warp_clock: u32,
    /// The block's count of atomic operations and fences.
    pub(super) time: u32,
    /// The count at this thread's last one.
    pub(super) last_sync: u32,
    /// The block's barrier interval.
    pub(super) epoch: u32,
    pub(super) pc: usize,
}

/// A past access. Kernels touch words by the thousand, so the fewer bytes it has the more of them the caches hold.
#[derive(Clone, Copy, Default)]
struct Trace {
    epoch: u32,
    time: u32,
    warp_clock: u32,
    /// The low half of the place in the code, whose high half is that of the code that finds it.
    pc: u32,
    thread: u16,
    /// The bytes of the word.
    mask: u8,
    atomic: bool,
    /// It stands for other threads of the same warp too.
    several: bool,
}

#[derive(Clone, Copy, Default)]
struct Word {
    write: Trace,
    read: Trace,
    /// The interval in which the bytes of `written` were last written first.
    written_since: u32,
    written: u8,
}

/// The mistake of an access of shared memory.
#[derive(Debug)]
pub(super) enum Trouble {
    NeverWritten,
    /// With the other thread, whether that one wrote, and where.
    Race {
        other: Option<u16>,
        wrote: bool,
        pc: usize,
    },
}

/// One arena's shadow.
pub(super) struct Shadow {
    words: Vec<Word>,
    /// The first interval of the block that uses the arena now.
    pub(super) first_epoch: u32,
}

impl Shadow {
    pub(super) fn new() -> Self {
        Self { words: Vec::new(), first_epoch: 0 }
    }

    /// Checks and notes an access of `bytes` at `offset`. `released(thread, time, warp_clock)` tells whether that thread's
    /// work at that time was followed by an atomic or a fence.
    ///
    /// Of more than eight bytes one that was written is enough: the copy of a structure reads its padding too.
    pub(super) fn access(
        &mut self,
        offset: usize,
        bytes: usize,
        kind: u32,
        who: Accessor,
        released: impl Fn(u16, u32, u32) -> bool,
    ) -> Result<(), Trouble> {
        let end = offset + bytes;
        let whole = offset / WORD..end.div_ceil(WORD);
        if whole.end > self.words.len() {
            self.words.resize(whole.end.next_power_of_two(), Word::default());
        }
        let (first, first_epoch) = (whole.start, self.first_epoch);
        let words = &mut self.words[whole];
        let copies = bytes > 8 && words.iter().any(|word| word.known(first_epoch) != 0);
        for (at, word) in (first..).zip(words) {
            let low = offset.max(at * WORD) - at * WORD;
            let high = end.min((at + 1) * WORD) - at * WORD;
            let mask = ((1u16 << high) - (1u16 << low)) as u8;
            word.access(mask, kind, who, (first_epoch, copies), &released)?;
        }
        Ok(())
    }
}

impl Word {
    /// The bytes that this block has written.
    fn known(&self, first_epoch: u32) -> u8 {
        if self.written_since >= first_epoch { self.written } else { 0 }
    }

    fn access(
        &mut self,
        mask: u8,
        kind: u32,
        who: Accessor,
        (first_epoch, copies): (u32, bool),
        released: &impl Fn(u16, u32, u32) -> bool,
    ) -> Result<(), Trouble> {
        // Volatile accesses may poll each other, as atomic ones do.
        let atomic = kind & (access::ATOMIC | access::VOLATILE) != 0;
        let (reads, writes) = (kind & access::WRITE == 0, kind & (access::WRITE | access::ATOMIC) != 0);
        let known = self.known(first_epoch);
        if reads && !copies && known & mask == 0 {
            return Err(Trouble::NeverWritten);
        }
        let conflicts = |past: &Trace| {
            past.mask & mask != 0
                && past.epoch == who.epoch
                && !(past.atomic && atomic)
                && !past.ordered(&who, released)
        };
        // An atomic result may be polled by plain reads.
        let polled = self.write.atomic && !writes;
        if conflicts(&self.write) && !polled {
            return Err(self.write.race(true, who.pc));
        }
        if writes && !atomic && conflicts(&self.read) {
            return Err(self.read.race(false, who.pc));
        }
        let now = Trace {
            epoch: who.epoch,
            time: who.time,
            warp_clock: who.warp_clock,
            thread: who.thread,
            mask,
            atomic,
            several: false,
            pc: who.pc as u32,
        };
        if writes {
            self.written = known | mask;
            self.written_since = who.epoch.max(1);
            self.write = now;
        } else {
            self.read = if self.read.ordered(&who, released) { now } else { self.read.joined(now) };
        }
        Ok(())
    }
}

impl Trace {
    fn ordered(&self, who: &Accessor, released: &impl Fn(u16, u32, u32) -> bool) -> bool {
        let alone = self.thread != MANY && !self.several;
        if alone && self.thread == who.thread {
            return true;
        }
        let same_warp = self.thread != MANY && self.thread / 32 == who.thread / 32;
        let by_warp = same_warp && who.warp_clock > self.warp_clock;
        // Of several threads it is not known whether each released; to be reported, a race must be certain.
        by_warp || (who.last_sync > self.time && (!alone || released(self.thread, self.time, self.warp_clock)))
    }

    /// The reader to remember after another read that nothing orders with it. An ordered one stands for those before it.
    fn joined(self, now: Trace) -> Trace {
        let other_reader = self.epoch == now.epoch && self.mask & now.mask != 0 && self.thread != now.thread;
        if !other_reader {
            return now;
        }
        let same_warp = self.thread != MANY && self.thread / 32 == now.thread / 32;
        let thread = if same_warp { self.thread } else { MANY };
        // Only bytes that all of them read stand for all.
        let (mask, warp_clock) = (self.mask & now.mask, self.warp_clock.max(now.warp_clock));
        Trace { thread, mask, warp_clock, several: true, pc: self.pc, ..now }
    }

    /// The race of this access with a later one at `pc`, which is code of the same image: less than 2^31 bytes away.
    fn race(&self, wrote: bool, pc: usize) -> Trouble {
        let apart = self.pc.wrapping_sub(pc as u32) as i32;
        let own = pc.wrapping_add_signed(apart as isize);
        Trouble::Race { other: (self.thread != MANY).then_some(self.thread), wrote, pc: own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: u32 = 0;

    fn who(thread: u16, epoch: u32) -> Accessor {
        Accessor { thread, warp_clock: 0, time: 0, last_sync: 0, epoch, pc: 0 }
    }

    fn shadow() -> Shadow {
        let mut shadow = Shadow::new();
        shadow.first_epoch = 1;
        shadow
    }

    fn race(outcome: Result<(), Trouble>) -> bool {
        matches!(outcome, Err(Trouble::Race { .. }))
    }

    #[test]
    fn reads_need_a_write_of_this_block() {
        let mut s = shadow();
        assert!(matches!(s.access(8, 4, READ, who(0, 1), |_, _, _| false), Err(Trouble::NeverWritten)));
        s.access(8, 4, access::WRITE, who(0, 1), |_, _, _| false).unwrap();
        s.access(8, 4, READ, who(0, 1), |_, _, _| false).unwrap();
        assert!(matches!(s.access(8, 8, READ, who(0, 1), |_, _, _| false), Err(Trouble::NeverWritten)));
        s.first_epoch = 2; // the next block
        assert!(matches!(s.access(8, 4, READ, who(0, 2), |_, _, _| false), Err(Trouble::NeverWritten)));
    }

    #[test]
    fn barriers_order_and_their_absence_is_a_race() {
        let mut s = shadow();
        s.access(0, 4, access::WRITE, who(0, 1), |_, _, _| false).unwrap();
        assert!(race(s.access(0, 4, READ, who(40, 1), |_, _, _| false)));
        s.access(0, 4, READ, who(40, 2), |_, _, _| false).unwrap();
        s.access(0, 4, READ, who(90, 2), |_, _, _| false).unwrap();
        assert!(race(s.access(0, 4, access::WRITE, who(90, 2), |_, _, _| false)), "the other reader counts");
        s.access(32, 4, access::WRITE, who(8, 1), |_, _, _| false).unwrap();
        s.access(32, 4, READ, who(0, 2), |_, _, _| false).unwrap();
        s.access(32, 4, READ, who(8, 2), |_, _, _| false).unwrap();
        assert!(
            race(s.access(32, 4, access::WRITE, who(8, 2), |_, _, _| false)),
            "another reader of the own warp counts too"
        );
        s.access(0, 4, access::WRITE, who(90, 3), |_, _, _| false).unwrap();
        assert!(race(s.access(0, 4, access::WRITE, who(91, 3), |_, _, _| false)));
        // Other bytes of the same word are another place.
        s.access(100, 1, access::WRITE, who(1, 3), |_, _, _| false).unwrap();
        s.access(101, 1, access::WRITE, who(2, 3), |_, _, _| false).unwrap();
    }

    #[test]
    fn a_race_tells_the_place_of_the_other_access() {
        for (one, other) in
            [(0x7fff_ffff_1000, 0x7fff_ffff_2000), (0x1_0000_0010, 0xffff_ff00), (0xffff_ff00, 0x1_0000_0010)]
        {
            let mut s = shadow();
            s.access(0, 4, access::WRITE, Accessor { pc: one, ..who(0, 1) }, |_, _, _| false).unwrap();
            let outcome = s.access(0, 4, READ, Accessor { pc: other, ..who(40, 1) }, |_, _, _| false);
            assert!(matches!(outcome, Err(Trouble::Race { pc, .. }) if pc == one), "{one:#x} {other:#x}");
        }
        assert_eq!(size_of::<Word>(), 56);
    }

    #[test]
    fn warps_and_atomics_order_too() {
        let mut s = shadow();
        s.access(0, 4, access::WRITE, who(0, 1), |_, _, _| false).unwrap();
        assert!(race(s.access(0, 4, READ, who(1, 1), |_, _, _| false)), "no lockstep is assumed");
        s.access(0, 4, READ, Accessor { warp_clock: 1, ..who(1, 1) }, |_, _, _| false).unwrap();
        s.access(64, 4, access::WRITE, who(0, 1), |_, _, _| false).unwrap();
        let later = Accessor { time: 2, last_sync: 2, ..who(70, 1) };
        assert!(race(s.access(64, 4, READ, later, |_, _, _| false)), "the writer never released");
        s.access(64, 4, READ, later, |_, _, _| true).unwrap();
        s.access(128, 4, access::WRITE, who(0, 1), |_, _, _| false).unwrap();
        s.access(128, 4, access::ATOMIC, who(0, 1), |_, _, _| false).unwrap();
        s.access(128, 4, access::ATOMIC, who(55, 1), |_, _, _| false).unwrap();
        assert!(race(s.access(128, 4, access::WRITE, who(9, 1), |_, _, _| false)));
    }

    #[test]
    fn variables_have_gaps_and_a_limit() {
        let mut layout = SharedLayout::new(100, false);
        let first = layout.add("a".into(), 16, 16).unwrap();
        let second = layout.add("b".into(), 16, 4).unwrap();
        let (a, b) = (&layout.variables[first], &layout.variables[second]);
        assert!(a.offset.is_multiple_of(16) && a.offset >= 100 + GAP && b.offset >= a.offset + 16 + GAP);
        assert!(layout.add("c".into(), STATIC_BYTES, 4).is_err());
    }
}
