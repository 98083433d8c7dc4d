//! The text of a fault report: kernel, block, thread, line, and the memory at the address.

use std::{collections::HashMap, fmt::Write, path::PathBuf, process::Command, sync::Mutex};

use gpu_driver_core::lock;

use super::Launch;
use crate::{
    abi::access,
    block::{Block, Site, Wait, text},
    code::{ILLEGAL_ADDRESS, LAUNCH_FAILED, LOCAL_MEMORY},
    compile,
    kinds::Schedule,
    memory::{Allocation, MemoryKind, Refused},
    shared::Variable,
    signal as signals, stack,
};

/// Lines of a listing of waiting warps.
const MOST_LINES: usize = 40;

/// Why a launch failed.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) code: i32,
    /// The kernel, when one ran.
    pub(crate) kernel: Option<String>,
    pub(crate) report: String,
}

impl Fault {
    pub(crate) fn new(code: i32, report: String) -> Self {
        Self { code, kernel: None, report }
    }
}

/// A fault of the thread that runs.
pub(crate) fn fault(launch: &Launch, code: i32, message: &str, site: Site) -> Fault {
    let (at, thread) = launch.at;
    let (mut place, mut who) = (line(launch, site), String::new());
    if let Some(block) = launch.resident.get(at) {
        who = format!(" block {}", block.index);
        if let Some(thread) = block.threads.get(thread) {
            let _ = write!(who, " thread {}", thread.index);
        }
    }
    if place.is_empty() {
        place = "unknown line".to_owned();
    }
    let order = match launch.schedule {
        Schedule::Ascending => "ascending".to_owned(),
        Schedule::Descending => "descending".to_owned(),
        Schedule::Random => format!("random, GPU_EMULATED_SEED={}", launch.seed),
    };
    let kernel = launch.order.name.clone();
    let report = format!("{place}: kernel `{kernel}`{who}: {message} [schedule: {order}]");
    Fault { code, kernel: Some(kernel), report }
}

/// The fault behind a signal.
pub(crate) fn signal(launch: &Launch) -> Fault {
    let signals::Taken { signal, address, pc } = signals::taken();
    if signal == libc::SIGFPE {
        let text = "an integer division by zero, or of the least integer by -1 (a GPU gives an unspecified value)";
        return fault(launch, LAUNCH_FAILED, text, Site::of_pc(pc + 1));
    }
    let (at, thread) = launch.at;
    let stack = launch.resident.get(at).and_then(|block| block.threads.get(thread)).map(|thread| &thread.stack);
    if stack.is_some_and(|stack| (stack.start..stack.start + 2 * 4096).contains(&address)) {
        let text = format!("stack overflow: more than {} KiB of local variables and calls", stack::BYTES / 1024);
        return fault(launch, LOCAL_MEMORY, &text, Site::of_pc(pc + 1));
    }
    let refused = launch.memory().check(address, 1, launch.context).err().unwrap_or(Refused::Unknown);
    let text = format!("accesses {address:#x}, {}", describe(address, &refused));
    // A code address of a signal is that of the access itself; the others are those behind it.
    fault(launch, ILLEGAL_ADDRESS, &text, Site::of_pc(pc + 1))
}

/// `writes 4 bytes of`, for an access kind.
pub(crate) fn verb(kind: u32, bytes: usize) -> String {
    let verb = match kind {
        _ if kind & access::ATOMIC != 0 => "atomically updates",
        _ if kind & access::WRITE != 0 => "writes",
        _ => "reads",
    };
    let plural = if bytes == 1 { "" } else { "s" };
    format!("{verb} {bytes} byte{plural} of")
}

/// The mistake of a refused access, in words.
pub(crate) fn refused(launch: &Launch, address: usize, bytes: usize, kind: u32, refused: &Refused) -> String {
    let verb = verb(kind, bytes).trim_end_matches(" of").to_owned();
    let others = launch.resident.iter().flat_map(|block| &block.threads);
    if let Some(other) = others.into_iter().find(|thread| thread.stack.contains(&address) && thread.wait != Wait::Ended)
    {
        return format!("{verb} at {address:#x}, a local variable of another thread {}", other.index);
    }
    format!("{verb} at {address:#x}, {}", describe(address, refused))
}

fn describe(address: usize, refused: &Refused) -> String {
    let which = |allocation: &Allocation| {
        let kind = if allocation.kind == MemoryKind::Pinned { "a pinned allocation" } else { "an allocation" };
        format!("{kind} of {} bytes at {:#x}", allocation.bytes, allocation.start)
    };
    match refused {
        Refused::Unknown if address == 0 => "a null pointer".to_owned(),
        Refused::Unknown if address < 4096 => "next to a null pointer".to_owned(),
        Refused::Unknown => "where no device memory is (a host address, or one before an allocation)".to_owned(),
        Refused::Before(all) => format!("{} bytes before {}", all.start - address, which(all)),
        Refused::Beyond(all) => {
            let end = all.start + all.bytes;
            if address >= end {
                format!("{} bytes past the end of {}", address - end, which(all))
            } else {
                format!("across the end of {}", which(all))
            }
        }
        Refused::Released(all) => format!("in {} that was released (use after free)", which(all)),
        Refused::NotYet(all) => {
            format!(
                "in {} whose stream has not allocated it yet (is an event missing between the streams?)",
                which(all)
            )
        }
        Refused::OtherContext(all) => format!("in {} of another device", which(all)),
    }
}

/// Name of the shared variable at an offset.
pub(crate) fn variable_at(launch: &Launch, offset: usize) -> String {
    let holds = |v: &&Variable| (v.offset..v.offset + v.bytes).contains(&offset);
    let found = launch.layout.variables.iter().find(holds);
    found.map_or_else(|| "shared memory".to_owned(), |v| format!("`{}` at byte {}", v.name, offset - v.offset))
}

/// The mistake of an access of an arena outside all variables, in words.
pub(crate) fn outside_variables(launch: &Launch, offset: usize, does: &str) -> String {
    let before = launch.layout.variables.iter().filter(|v| v.bytes > 0 && v.offset <= offset).max_by_key(|v| v.offset);
    let Some(variable) = before else {
        return format!("{does} shared memory, of which the launch asked for none");
    };
    let past = (offset + 1).saturating_sub(variable.offset + variable.bytes).saturating_sub(1);
    format!(
        "{does} shared memory out of bounds, {past} bytes past the end of `{}` of {} bytes",
        variable.name, variable.bytes
    )
}

/// A race in shared memory.
pub(crate) fn race(launch: &Launch, offset: usize, does: &str, other: Option<u16>, wrote: bool, pc: usize) -> String {
    let block = &launch.resident[launch.at.0];
    let other = other.and_then(|thread| block.threads.get(usize::from(thread)));
    let other = other.map_or_else(|| "several threads".to_owned(), |thread| format!("thread {}", thread.index));
    let verb = if wrote { "wrote" } else { "read" };
    let place = match line(launch, Site::of_pc(pc)) {
        line if line.is_empty() => String::new(),
        line => format!(" at {line}"),
    };
    let variable = variable_at(launch, offset);
    format!("race: {does} {variable}, which {other} {verb}{place} with no barrier between")
}

/// The place of every warp of the resident blocks, in lines of text.
pub(crate) fn waiting(launch: &Launch) -> String {
    let mut lines = Vec::new();
    for block in &launch.resident {
        for warp in 0..block.warps.len() {
            lines.push(format!("\n  block {} warp {warp}: {}", block.index, warp_waits(launch, block, warp)));
        }
    }
    let hidden = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    if hidden > 0 {
        lines.push(format!("\n  and {hidden} warps more"));
    }
    format!("where the warps are:{}", lines.concat())
}

fn warp_waits(launch: &Launch, block: &Block, warp: usize) -> String {
    let mut states: Vec<(String, u32)> = Vec::new();
    for (lane, thread) in block.threads.iter().skip(warp * 32).take(32).enumerate() {
        let place = match line(launch, thread.site) {
            place if place.is_empty() => String::new(),
            place => format!(" ({place})"),
        };
        let state = match thread.wait {
            Wait::Ended => "ended".to_owned(),
            Wait::No if place.is_empty() => "not interrupted yet".to_owned(),
            Wait::No => format!("run{place}"),
            Wait::Barrier | Wait::Warp | Wait::ActiveMask => format!("wait at {}{place}", thread.site.name()),
        };
        match states.iter_mut().find(|(known, _)| *known == state) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => states.push((state, 1 << lane)),
        }
    }
    let all: Vec<String> =
        states.into_iter().map(|(state, lanes)| format!("lanes {} {state}", ranges(lanes))).collect();
    all.join(", ")
}

/// `0-3,7` for a mask of lanes.
fn ranges(mask: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        if mask >> lane & 1 == 0 {
            lane += 1;
            continue;
        }
        let first = lane;
        while lane < 32 && mask >> lane & 1 == 1 {
            lane += 1;
        }
        parts.push(if lane - first == 1 { first.to_string() } else { format!("{first}-{}", lane - 1) });
    }
    parts.join(",")
}

/// `file.cu:12`, or nothing where it is not known.
pub(crate) fn line(launch: &Launch, site: Site) -> String {
    if !site.file.is_null() {
        return format!("{}:{}", short(&text(site.file)), site.line);
    }
    if site.pc == 0 || !launch.order.image.contains(site.pc) {
        return String::new();
    }
    let (path, offset) = launch.order.image.locate(site.pc - 1);
    look_up(path.to_path_buf(), offset)
}

/// Lines by file and offset: each look-up starts a program.
static KNOWN: Mutex<Option<HashMap<(PathBuf, usize), String>>> = Mutex::new(None);

fn look_up(path: PathBuf, offset: usize) -> String {
    let mut known = lock(&KNOWN);
    let known = known.get_or_insert_default();
    let key = (path, offset);
    if let Some(line) = known.get(&key) {
        return line.clone();
    }
    let line = addr2line(&key.0, offset).unwrap_or_default();
    known.insert(key, line.clone());
    line
}

/// The innermost line of the user's own text, by the program that comes with the compiler's assembler and linker.
fn addr2line(path: &PathBuf, offset: usize) -> Option<String> {
    let output = Command::new("addr2line").arg("-i").arg("-e").arg(path).arg(format!("{offset:#x}")).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let own = |line: &&str| {
        let file = short(line.split(':').next().unwrap_or(""));
        !line.starts_with("??") && !compile::is_own_header(&file)
    };
    let line = text.lines().find(own)?;
    let line = line.split(" (").next().unwrap_or(line);
    Some(short(line))
}

/// A path's last part: the name that the program was given.
fn short(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_read_as_ranges() {
        assert_eq!(ranges(0b1000_1111), "0-3,7");
        assert_eq!(ranges(u32::MAX), "0-31");
        assert_eq!(ranges(0), "");
    }
}
