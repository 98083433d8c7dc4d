//! Which format is expected to be faster on a GPU.
//!
//! A product is taken to last as long as its bytes need, matrix and vectors, or its longest chain of dependent loads, or its
//! launch, whichever is longest. On an H200 packets stream at about 4.2 TB/s. Compressed rows, of which a block of threads
//! takes 2048 entries at a time, reach about 0.8 of that, and so do long rows, which are compressed rows. A thread of the
//! packets' kernel walks through the slots of its slice, each of which costs it about 0.1 us.

use std::fmt;

use super::describe::{Description, Format};

/// Bytes a microsecond that packets reach.
const BANDWIDTH: f64 = 4.2e6;
/// What compressed rows reach of it.
const CSR_SHARE: f64 = 0.8;
/// Microseconds a slot, where little else runs.
const SLOT: f64 = 0.1;
/// Microseconds that a product takes at least, from its launch to the last store.
const LAUNCH: f64 = 3.0;

/// What a product reads and writes, in bytes, and how long its longest chain is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traffic {
    /// Slices with all that belongs to them.
    pub(super) slices: f64,
    /// Rows kept apart.
    pub(super) long_rows: f64,
    /// The matrix in compressed rows.
    pub(super) csr: f64,
    /// `y`, and as much of `x` as there can be entries for.
    pub(super) vectors: f64,
    /// Slots of the longest slice.
    pub(super) longest_slice: f64,
    /// The share of the slots' places without an entry.
    pub(super) padding: f64,
    /// The share of the slices' columns, in bytes, that take 32 bits.
    pub(super) wide: f64,
    /// Whether there is nothing to multiply.
    pub(super) empty: bool,
}

/// What is expected, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    /// The packets' time over that of compressed rows.
    ratio: f64,
    padding: f64,
    cause: Cause,
}

/// Why packets pay, or what keeps them from it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    Faster,
    LessToRead,
    Empty,
    LongSlice,
    LongRows,
    Padding,
    Columns,
    Heads,
}

impl Traffic {
    /// The traffic of packets so described.
    pub(super) fn of(packets: &Description) -> Self {
        let share = |part: u64, rest: u64| part as f64 / (part + rest).max(1) as f64;
        Self {
            slices: (packets.bytes - packets.long_rows_bytes) as f64,
            long_rows: packets.long_rows_bytes as f64,
            csr: packets.csr_bytes as f64,
            vectors: (packets.rows + packets.cols.min(packets.nnz)) as f64 * packets.value_bytes as f64,
            longest_slice: packets.longest_slice as f64,
            padding: share(packets.padding_bytes, packets.values_bytes),
            wide: share(packets.columns32_bytes, packets.columns16_bytes),
            empty: packets.nnz == 0,
        }
    }

    /// Packets pay when they are faster; where both take as long as a launch, when there is less to read.
    pub(super) fn verdict(&self) -> Verdict {
        let matrix = (self.slices + self.long_rows).max(1.0);
        let slowed = (self.slices + self.long_rows / CSR_SHARE) / matrix; // x and y are read at the same rate
        let streamed = (matrix + self.vectors) * slowed / BANDWIDTH;
        let csr_streamed = (self.csr + self.vectors) / (CSR_SHARE * BANDWIDTH);
        let chain = self.longest_slice * SLOT;
        let (time, csr_time) = (streamed.max(chain).max(LAUNCH), csr_streamed.max(LAUNCH));
        let cause = match () {
            () if self.empty => Cause::Empty,
            () if time < csr_time => Cause::Faster,
            () if time == csr_time && streamed < csr_streamed => Cause::LessToRead,
            () if chain > streamed.max(LAUNCH) => Cause::LongSlice,
            () if self.long_rows > self.slices => Cause::LongRows,
            () if self.padding > 0.15 => Cause::Padding,
            () if self.wide > 0.5 => Cause::Columns,
            () => Cause::Heads,
        };
        Verdict { ratio: time / csr_time, padding: self.padding, cause }
    }
}

impl Verdict {
    pub(super) fn format(&self) -> Format {
        if matches!(self.cause, Cause::Faster | Cause::LessToRead) { Format::Packets } else { Format::Csr }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.cause {
            Cause::Faster => {
                let share = self.ratio;
                return write!(f, "packets pay: on a GPU they take about {share:.2} of the time of compressed rows");
            }
            Cause::LessToRead => {
                return write!(
                    f,
                    "packets pay little: there is less to read, but so small a product takes as long as its launch"
                );
            }
            Cause::Empty => return write!(f, "packets do not pay: there are no entries"),
            Cause::LongSlice => "a thread for each row is too few where rows are so long".into(),
            Cause::LongRows => "most entries are in long rows, which stay compressed rows".into(),
            Cause::Padding => format!("{:.0} % of the places in slices are empty", 100.0 * self.padding),
            Cause::Columns => "columns lie too far apart for 16 bits".into(),
            Cause::Heads => "slices hold too little for what it takes to find them".to_owned(),
        };
        write!(
            f,
            "packets do not pay: on a GPU they take about {:.2} times as long as compressed rows, since {reason}",
            self.ratio
        )
    }
}
