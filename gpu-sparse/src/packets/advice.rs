//! Which format is expected to be faster on a GPU.
//!
//! A product is taken to last as long as its bytes need, matrix and vectors, or its longest chain of dependent loads, or the launch,
//! whichever is longest. On an H200 packets stream at 4.2 TB/s; compressed rows, of which a block of threads takes 2048 entries at a time,
//! reach about 0.8 of it, and so do long rows, which are compressed rows. A thread of the packets' kernel walks through the slots of its slice, of which
//! each costs it about 0.1 us.

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
    /// `x` and `y`.
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
    pub(super) ratio: f64,
    pub(super) cause: Cause,
}

/// Why packets pay, or what keeps them from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cause {
    Pay,
    Empty,
    LongSlice,
    LongRows,
    /// With the share of places without an entry.
    Padding(f64),
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
            vectors: (packets.rows as f64 + packets.cols as f64) * packets.value_bytes as f64,
            longest_slice: packets.longest_slice as f64,
            padding: share(packets.padding_bytes, packets.values_bytes),
            wide: share(packets.columns32_bytes, packets.columns16_bytes),
            empty: packets.nnz == 0,
        }
    }

    /// Packets pay when they are faster; where both take as long as a launch, when there is less to read.
    pub(super) fn verdict(&self) -> Verdict {
        let long_rows = self.long_rows / CSR_SHARE;
        let streamed = (self.slices + long_rows + self.vectors) / BANDWIDTH;
        let csr_streamed = (self.csr + self.vectors) / (CSR_SHARE * BANDWIDTH);
        let chain = self.longest_slice * SLOT;
        let (time, csr_time) = (streamed.max(chain).max(LAUNCH), csr_streamed.max(LAUNCH));
        let verdict = |ratio, cause| Verdict { ratio, cause };
        if self.empty {
            return verdict(1.0, Cause::Empty);
        }
        if (time, streamed) < (csr_time, csr_streamed) {
            return verdict(time / csr_time, Cause::Pay);
        }
        let ratio = time / csr_time;
        if chain >= streamed && chain > LAUNCH {
            return verdict(ratio, Cause::LongSlice);
        }
        if long_rows > self.slices {
            return verdict(ratio, Cause::LongRows);
        }
        let cause = match self.padding {
            padding if padding > 0.15 => Cause::Padding(padding),
            _ if self.wide > 0.5 => Cause::Columns,
            _ => Cause::Heads,
        };
        verdict(ratio, cause)
    }
}

impl Verdict {
    pub(super) fn format(&self) -> Format {
        if self.cause == Cause::Pay { Format::Packets } else { Format::Csr }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.ratio;
        if self.cause == Cause::Empty {
            return write!(f, "packets do not pay: there is no entry");
        }
        if self.cause == Cause::Pay {
            return write!(
                f,
                "packets pay: a product on a GPU is expected to take {ratio:.2} of the time of compressed rows"
            );
        }
        write!(
            f,
            "packets do not pay: a product is expected to take {ratio:.2} times as long as with compressed rows, "
        )?;
        match self.cause {
            Cause::LongSlice => {
                write!(f, "since the longest slice keeps its threads busy for longer than the rest of the matrix")
            }
            Cause::LongRows => {
                write!(f, "since most entries are in long rows, which are kept as compressed rows anyway")
            }
            Cause::Padding(share) => write!(f, "since {:.0} % of the places in the slices are empty", 100.0 * share),
            Cause::Columns => write!(f, "since most slices need columns of 32 bits"),
            _ => write!(f, "since there are few entries for each slice"),
        }
    }
}
