//! Device memory and pinned host memory: one range of addresses, and the allocation at each of them.
//!
//! Each allocation has pages of its own with a page that may not be touched behind it, at addresses that are not used again
//! before all others were. A table with one entry per page leads from an address to its allocation, so an access is
//! checked to the byte, and an access to released memory still names the allocation. Where a kernel is compiled without access
//! hooks, the pages' protection catches accesses that leave them.
//!
//! Fresh memory holds 0xff bytes: NaN as a float, -1 as an integer. From [`SPARSE`] on it is zero, and only pages that are
//! written take memory.

use std::{collections::VecDeque, ops::Range, ptr::NonNull};

use libc::{MAP_ANONYMOUS, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE, PROT_NONE, PROT_READ, PROT_WRITE};

/// Bytes of a page, in which addresses are given out. The system's may be larger, never smaller on the supported machines.
const PAGE: usize = 4096;
/// From this size on fresh memory is mapped from a file of 0xff bytes instead of written.
const FILL_BY_MAPPING: usize = 1 << 20;
/// From this size on fresh memory is left as the system gives it: zero, and taken only when written.
pub(super) const SPARSE: usize = 1 << 30;
/// Bytes of the file of 0xff bytes; larger allocations map it several times.
const POISON_FILE: usize = 64 << 20;
const POISON: u8 = 0xff;

/// The kind of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryKind {
    Device,
    /// Host memory that the device may access.
    Pinned,
}

/// The stage of an allocation's life. Stream-ordered ones begin and end when their stream gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Ordered,
    Live,
    Released,
}

#[derive(Clone, Debug)]
pub(super) struct Allocation {
    pub(super) start: usize,
    pub(super) bytes: usize,
    pub(super) life: Life,
    /// Its release was asked for; the memory goes when its stream gets there.
    pub(super) is_freed: bool,
    pub(super) kind: MemoryKind,
    /// Handle of the context.
    pub(super) context: usize,
    /// Pool it counts for; 0 for none.
    pub(super) pool: usize,
    /// A graph allocates it at each launch, at this address.
    pub(super) of_graph: bool,
    /// Addresses of virtual memory: they may be accessed where [`Memory::set_accessible`] said so.
    pub(super) is_reserved: bool,
}

/// Why an address may not be accessed.
#[derive(Clone, Debug)]
pub(super) enum Refused {
    /// Nothing was ever there.
    Unknown,
    /// The allocation it lies in, or just behind.
    Beyond(Allocation),
    /// The allocation it lies just before.
    Before(Allocation),
    NotYet(Allocation),
    Released(Allocation),
    OtherContext(Allocation),
}

pub(super) struct Memory {
    base: usize,
    pages: usize,
    /// One number per page: 1 + the index of the allocation, 0 for none.
    table: NonNull<u32>,
    allocations: Vec<Allocation>,
    /// First page never given out.
    fresh: usize,
    /// Page ranges of released allocations, oldest first, for when all pages were given out.
    old: VecDeque<(usize, usize)>,
    poison_file: Option<i32>,
    /// Contexts whose kernels may access the memory of another context.
    peers: Vec<(usize, usize)>,
    /// The parts of reserved addresses that may be accessed.
    accessible: Vec<Range<usize>>,
}

// SAFETY: the table belongs to this value alone.
unsafe impl Send for Memory {}

fn map(at: usize, bytes: usize, protection: i32, flags: i32, file: i32) -> Option<usize> {
    // SAFETY: without MAP_FIXED nothing that exists is touched; with it the callers pass a part of our own range.
    let address = unsafe { libc::mmap(at as *mut _, bytes, protection, flags, file, 0) };
    (address != libc::MAP_FAILED).then_some(address as usize)
}

impl Memory {
    /// Reserves addresses, as many as the system allows: they cost nothing until used.
    pub(super) fn new() -> Option<Self> {
        const LOG2_SIZES: [usize; 4] = [44, 41, 38, 35];
        let reserve = |bytes, protection| map(0, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
        LOG2_SIZES.iter().find_map(|&log2| {
            let bytes = 1 << log2;
            let base = reserve(bytes, PROT_NONE)?;
            let pages = bytes / PAGE;
            let table = reserve(pages * size_of::<u32>(), PROT_READ | PROT_WRITE);
            let Some(table) = table.and_then(|table| NonNull::new(table as *mut u32)) else {
                // SAFETY: mapped above, and nothing uses it.
                unsafe { libc::munmap(base as *mut _, bytes) };
                return None;
            };
            let (allocations, old, peers, accessible) = (Vec::new(), VecDeque::new(), Vec::new(), Vec::new());
            Some(Self { base, pages, table, allocations, fresh: 0, old, poison_file: None, peers, accessible })
        })
    }

    /// Gives out addresses for `bytes` (not 0); memory comes with [`Memory::begin`].
    pub(super) fn reserve(&mut self, bytes: usize, kind: MemoryKind, context: usize, pool: usize) -> Option<usize> {
        let pages = bytes.div_ceil(PAGE) + 1;
        let first = self.take_pages(pages)?;
        let start = self.base + first * PAGE;
        let (life, is_freed, of_graph, is_reserved) = (Life::Ordered, false, false, false);
        self.allocations.push(Allocation { start, bytes, life, is_freed, kind, context, pool, of_graph, is_reserved });
        let number = u32::try_from(self.allocations.len()).ok()?;
        for page in first..first + pages {
            self.set_page(page, number);
        }
        Some(start)
    }

    fn take_pages(&mut self, pages: usize) -> Option<usize> {
        if pages <= self.pages - self.fresh {
            self.fresh += pages;
            return Some(self.fresh - pages);
        }
        let at = self.old.iter().position(|&(_, length)| length >= pages)?;
        let (first, length) = self.old.remove(at)?;
        if length > pages {
            self.old.push_back((first + pages, length - pages));
        }
        Some(first)
    }

    fn set_page(&mut self, page: usize, number: u32) {
        // SAFETY: the table has `pages` entries, and the callers' pages lie below.
        unsafe { self.table.as_ptr().add(page).write(number) };
    }

    fn number_at(&self, address: usize) -> usize {
        let page = address.wrapping_sub(self.base) / PAGE;
        if page >= self.pages {
            return 0;
        }
        // SAFETY: the table has `pages` entries.
        unsafe { self.table.as_ptr().add(page).read() as usize }
    }

    /// The allocation whose pages hold the address.
    pub(super) fn find(&self, address: usize) -> Option<&Allocation> {
        self.allocations.get(self.number_at(address).checked_sub(1)?)
    }

    fn find_start(&mut self, address: usize) -> Option<&mut Allocation> {
        let at = self.number_at(address).checked_sub(1)?;
        self.allocations.get_mut(at).filter(|allocation| allocation.start == address)
    }

    /// Makes reserved memory usable, filled with 0xff; false when the system has none left.
    pub(super) fn begin(&mut self, address: usize) -> bool {
        let found = self.find_start(address).filter(|allocation| allocation.life == Life::Ordered);
        let Some(allocation) = found else { return false };
        allocation.life = Life::Live;
        let bytes = allocation.bytes;
        let mapped = match bytes {
            FILL_BY_MAPPING..SPARSE => self.map_poison(address, bytes),
            _ => self.map_zeros(address, bytes),
        };
        if mapped && bytes < FILL_BY_MAPPING {
            // SAFETY: mapped with that many bytes.
            unsafe { std::ptr::write_bytes(address as *mut u8, POISON, bytes) };
        }
        mapped
    }

    fn map_zeros(&self, start: usize, bytes: usize) -> bool {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
        map(start, bytes.next_multiple_of(PAGE), PROT_READ | PROT_WRITE, flags, -1).is_some()
    }

    fn map_poison(&mut self, start: usize, bytes: usize) -> bool {
        let Some(file) = self.poison_file() else { return false };
        let flags = MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED;
        (0..bytes.next_multiple_of(PAGE)).step_by(POISON_FILE).all(|offset| {
            let length = (bytes.next_multiple_of(PAGE) - offset).min(POISON_FILE);
            map(start + offset, length, PROT_READ | PROT_WRITE, flags, file).is_some()
        })
    }

    fn poison_file(&mut self) -> Option<i32> {
        if self.poison_file.is_none() {
            // SAFETY: the name ends in NUL.
            let file = unsafe { libc::memfd_create(c"gpu-emulated-fresh".as_ptr(), libc::MFD_CLOEXEC) };
            if file < 0 {
                return None;
            }
            // SAFETY: a file of ours.
            let sized = unsafe { libc::ftruncate(file, POISON_FILE as libc::off_t) } == 0;
            let shared =
                sized.then(|| map(0, POISON_FILE, PROT_READ | PROT_WRITE, libc::MAP_SHARED, file)).flatten()?;
            // SAFETY: mapped above with that many bytes, and unmapped after.
            unsafe {
                std::ptr::write_bytes(shared as *mut u8, POISON, POISON_FILE);
                libc::munmap(shared as *mut _, POISON_FILE);
            }
            self.poison_file = Some(file);
        }
        self.poison_file
    }

    /// Takes the memory back; the addresses stay known as released.
    pub(super) fn release(&mut self, address: usize) {
        let base = self.base;
        let Some(allocation) = self.find_start(address) else { return };
        if allocation.life == Life::Released {
            return;
        }
        let mapped = allocation.life == Life::Live;
        // A graph's next launch allocates it again.
        let again = allocation.of_graph;
        (allocation.life, allocation.is_freed) = if again { (Life::Ordered, false) } else { (Life::Released, true) };
        let (start, bytes) = (allocation.start, allocation.bytes.next_multiple_of(PAGE));
        if mapped {
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
            map(start, bytes, PROT_NONE, flags, -1);
        }
        if again {
            return;
        }
        self.old.push_back(((start - base) / PAGE, bytes / PAGE + 1));
    }

    /// Zeroes `bytes` at `address` by fresh pages where they are whole; false when there are too few to be worth it.
    pub(super) fn zero_by_mapping(&self, address: usize, bytes: usize) -> bool {
        let whole = self.find(address).is_some_and(|all| all.start == address && all.bytes == bytes);
        whole && bytes >= FILL_BY_MAPPING && self.map_zeros(address, bytes)
    }

    /// Whether all of `bytes` at `address` may be accessed by `context` now: the addresses around them for which the same holds.
    #[inline]
    pub(super) fn check(&self, address: usize, bytes: usize, context: usize) -> Result<Range<usize>, Refused> {
        let Some(at) = self.number_at(address).checked_sub(1) else { return Err(Refused::Unknown) };
        let Some(allocation) = self.allocations.get(at) else { return Err(Refused::Unknown) };
        let inside = address >= allocation.start
            && bytes <= allocation.bytes
            && address - allocation.start <= allocation.bytes - bytes
            && (!allocation.is_reserved || self.is_accessible(address..address + bytes));
        // Pinned memory is in every context's address space.
        let own = allocation.context == context || allocation.kind == MemoryKind::Pinned;
        if inside && allocation.life == Life::Live && (own || self.peers.contains(&(context, allocation.context))) {
            let whole = allocation.start..allocation.start + allocation.bytes;
            return Ok(if allocation.is_reserved { address..address + bytes } else { whole });
        }
        Err(self.refusal(address, inside, allocation))
    }

    /// Says that an allocation is addresses alone.
    pub(super) fn set_reserved(&mut self, address: usize) {
        if let Some(allocation) = self.find_start(address) {
            allocation.is_reserved = true;
        }
    }

    /// Lets a part of reserved addresses be accessed, or no longer.
    pub(super) fn set_accessible(&mut self, part: Range<usize>, is_accessible: bool) {
        self.accessible.retain(|other| other.end <= part.start || part.end <= other.start);
        if is_accessible {
            self.accessible.push(part);
        }
    }

    /// Whether each byte of a range of reserved addresses may be accessed.
    fn is_accessible(&self, mut range: Range<usize>) -> bool {
        while !range.is_empty() {
            let Some(part) = self.accessible.iter().find(|part| part.contains(&range.start)) else { return false };
            range.start = part.end;
        }
        true
    }

    #[cold]
    fn refusal(&self, address: usize, inside: bool, allocation: &Allocation) -> Refused {
        let end = allocation.start + allocation.bytes;
        let guarded = address >= allocation.start + allocation.bytes.next_multiple_of(PAGE);
        // The page between two allocations: the mistake is more likely about the nearer one.
        if let Some(next) = self.find(address + PAGE).filter(|next| guarded && next.life == Life::Live)
            && next.start > address
            && (allocation.life != Life::Live || next.start - address < address - end)
        {
            return Refused::Before(next.clone());
        }
        match allocation.life {
            Life::Ordered => Refused::NotYet(allocation.clone()),
            Life::Released => Refused::Released(allocation.clone()),
            Life::Live if !inside => Refused::Beyond(allocation.clone()),
            Life::Live => Refused::OtherContext(allocation.clone()),
        }
    }

    /// Lets kernels of a context access the memory of another one; false where they may already.
    pub(super) fn allow_peer(&mut self, context: usize, peer: usize) -> bool {
        let is_new = !self.peers.contains(&(context, peer));
        if is_new {
            self.peers.push((context, peer));
        }
        is_new
    }

    /// Takes that back; false where they may not.
    pub(super) fn refuse_peer(&mut self, context: usize, peer: usize) -> bool {
        let before = self.peers.len();
        self.peers.retain(|pair| *pair != (context, peer));
        self.peers.len() < before
    }

    /// Allocations of a context that are not released.
    pub(super) fn live(&self, context: usize) -> usize {
        self.allocations.iter().filter(|all| all.context == context && all.life != Life::Released).count()
    }

    /// Says whether a graph allocates the memory: as long as one does, its release is no end.
    pub(super) fn set_of_graph(&mut self, address: usize, of_graph: bool) {
        if let Some(allocation) = self.find_start(address) {
            allocation.of_graph = of_graph;
        }
    }

    /// Marks an allocation whose release is queued.
    pub(super) fn mark_freed(&mut self, address: usize) {
        if let Some(allocation) = self.find_start(address).filter(|allocation| !allocation.of_graph) {
            allocation.is_freed = true;
        }
    }

    /// Releases all that is left of a context; bytes and pool of the device allocations that nobody had released.
    pub(super) fn release_all(&mut self, context: usize) -> Vec<(usize, usize)> {
        let left = self.allocations.iter().filter(|all| all.context == context && all.life != Life::Released);
        let left: Vec<Allocation> = left.cloned().collect();
        self.peers.retain(|&(one, other)| one != context && other != context);
        for all in &left {
            self.set_of_graph(all.start, false);
            self.release(all.start);
        }
        let counted = left.iter().filter(|all| all.kind == MemoryKind::Device && !all.is_freed);
        counted.map(|all| (all.bytes, all.pool)).collect()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: both were mapped in `new` with these sizes, and nothing uses them any more.
        unsafe {
            libc::munmap(self.base as *mut _, self.pages * PAGE);
            libc::munmap(self.table.as_ptr().cast(), self.pages * size_of::<u32>());
            if let Some(file) = self.poison_file {
                libc::close(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: usize = 7;

    fn live(memory: &mut Memory, bytes: usize) -> usize {
        let address = memory.reserve(bytes, MemoryKind::Device, CONTEXT, 0).unwrap();
        assert!(memory.begin(address));
        address
    }

    #[test]
    fn every_byte_around_an_allocation_is_known() {
        let mut memory = Memory::new().unwrap();
        for bytes in [1, 4095, 4096, 4097, 100_000, 3 << 20] {
            let start = live(&mut memory, bytes);
            assert!(memory.check(start, bytes, CONTEXT).is_ok());
            assert!(memory.check(start + bytes - 1, 1, CONTEXT).is_ok());
            assert!(matches!(memory.check(start + bytes, 1, CONTEXT), Err(Refused::Beyond(_))), "{bytes}");
            assert!(matches!(memory.check(start + bytes - 1, 2, CONTEXT), Err(Refused::Beyond(_))));
            assert!(matches!(memory.check(start, usize::MAX, CONTEXT), Err(Refused::Beyond(_))));
            if start > memory.base {
                assert!(matches!(memory.check(start - 1, 1, CONTEXT), Err(Refused::Before(_))), "{bytes}");
            }
            assert!(matches!(memory.check(start, 1, CONTEXT + 1), Err(Refused::OtherContext(_))));
            // SAFETY: the memory has that many bytes.
            let bytes_there = unsafe { std::slice::from_raw_parts(start as *const u8, bytes) };
            assert!(bytes_there.iter().all(|&byte| byte == POISON));
            memory.release(start);
            assert!(matches!(memory.check(start, 1, CONTEXT), Err(Refused::Released(_))));
        }
        assert!(matches!(memory.check(16, 4, CONTEXT), Err(Refused::Unknown)));
    }

    #[test]
    fn sizes_beyond_this_machine_s_memory_are_sparse() {
        let mut memory = Memory::new().unwrap();
        let start = live(&mut memory, 60 << 30);
        let last = (start + (60 << 30) - 8) as *mut u64;
        // SAFETY: the last eight bytes of the allocation.
        unsafe {
            assert_eq!(last.read(), 0);
            last.write(5);
            assert_eq!(last.read(), 5);
        }
        memory.release(start);
    }

    #[test]
    fn large_zeros_cost_no_writes() {
        let mut memory = Memory::new().unwrap();
        let start = live(&mut memory, 64 << 20);
        assert!(memory.zero_by_mapping(start, 64 << 20) && !memory.zero_by_mapping(start, 4096));
        // SAFETY: within the allocation.
        assert_eq!(unsafe { (start as *const u64).read() }, 0);
    }

    #[test]
    fn addresses_are_given_back() {
        // Some thirty that kept theirs would fill the address space.
        for _ in 0..100 {
            assert!(Memory::new().is_some());
        }
    }
}
