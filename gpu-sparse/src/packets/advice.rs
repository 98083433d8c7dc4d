//! Which format is expected to be faster on a GPU.
//!
//! A product is taken to last as long as its start, its bytes (matrix and vectors) and, for packets, its longest slice, one after
//! another. The constants are those of an H200, fitted to the test matrices from 1,000 rows on: both formats move about 4.0 TB/s; a
//! thread of the packets' kernel walks through the slots of its slice, 0.07 us each; compressed rows pay a barrier and a second
//! pass over shared memory, which packets do not. Where the sum says otherwise than the measurement, the two differ by less than an eighth.

use std::fmt;

/// Bytes a microsecond.
const BANDWIDTH: f64 = 4.0e6;
/// Microseconds a slot of the longest slice.
const SLOT: f64 = 0.07;
/// Microseconds of a product with next to nothing to do.
const START: f64 = 2.8;
/// Microseconds of a product by compressed rows with next to nothing to do.
const CSR_START: f64 = 4.2;

/// The bytes that a product reads and writes, and the length of its longest chain.
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

/// The time and the bytes expected of packets, and the reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    /// The packets' time over that of compressed rows.
    ratio: f64,
    /// The share of the bytes of compressed rows that they save.
    saved: f64,
    padding: f64,
    cause: Cause,
}

/// The reason why packets pay or do not.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    Faster,
    Empty,
    LongSlice,
    LongRows,
    Padding,
    Columns,
    Heads,
}

impl Traffic {
    /// Packets pay when they are faster and smaller.
    pub(super) fn verdict(&self) -> Verdict {
        let bytes = self.slices + self.long_rows;
        let time = START + self.longest_slice * SLOT + (bytes + self.vectors) / BANDWIDTH;
        let csr_time = CSR_START + (self.csr + self.vectors) / BANDWIDTH;
        let cause = match () {
            () if self.empty => Cause::Empty,
            () if bytes < self.csr && time < csr_time => Cause::Faster,
            () if bytes < self.csr => Cause::LongSlice,
            () if self.long_rows > self.slices => Cause::LongRows,
            () if self.padding > 0.15 => Cause::Padding,
            () if self.wide > 0.5 => Cause::Columns,
            () => Cause::Heads,
        };
        Verdict { ratio: time / csr_time, saved: 1.0 - bytes / self.csr, padding: self.padding, cause }
    }
}

impl Verdict {
    /// Whether packets are expected to be faster.
    pub(super) fn packets_pay(&self) -> bool {
        self.cause == Cause::Faster
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.cause {
            Cause::Faster => {
                let (share, saved) = (self.ratio, 100.0 * self.saved);
                return write!(
                    f,
                    "packets pay: {saved:.0} % fewer bytes, about {share:.2} of the time of compressed rows on a GPU"
                );
            }
            Cause::Empty => "there are no entries".to_owned(),
            Cause::LongSlice => {
                format!("a thread for each row would take {:.2} times as long, rows are so long", self.ratio)
            }
            Cause::LongRows => "most entries are in long rows, which stay compressed rows".to_owned(),
            Cause::Padding => format!("{:.0} % of the places in slices are empty", 100.0 * self.padding),
            Cause::Columns => "columns lie too far apart for 16 bits".to_owned(),
            Cause::Heads => "slices hold too little for the time that it takes to find them".to_owned(),
        };
        write!(f, "packets do not pay: {reason}")
    }
}
