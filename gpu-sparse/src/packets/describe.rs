//! The description of a format, in numbers and in words.

use std::fmt;

use super::advice::{Traffic, Verdict};
use super::{PACKET_ROWS, SLICE_ROWS};

/// How a matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Compressed rows: [`CsrMatrix`](crate::CsrMatrix).
    Csr,
    /// Packets of slices: [`PacketMatrix`](crate::PacketMatrix).
    Packets,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Csr => "csr",
            Self::Packets => "packets",
        })
    }
}

/// How a matrix is stored: its format, its arrays and their bytes.
///
/// `Display` says it in a few lines, with the reason for which packets pay or do not, where they were looked at. The fields
/// from `values_bytes` to `long_rows_bytes` add up to `bytes`.
///
/// ```
/// let a = gpu_sparse::gallery::Poisson::two_d(500, 500).build::<f64>()?;
/// let packets = a.to_packets()?;
/// assert!(packets.description().bytes_per_nonzero() < 10.5);
/// println!("{}", packets.description());
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// The format that is described.
    pub format: Format,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub cols: usize,
    /// Entries, explicit zeros included, padding not.
    pub nnz: usize,
    /// Bytes of one value.
    pub value_bytes: usize,
    /// Bytes of all arrays.
    pub bytes: u64,
    /// Bytes that compressed rows take: `(value_bytes + 4) nnz + 8 (rows + 1)`.
    pub csr_bytes: u64,
    /// Values of entries (without long rows).
    pub values_bytes: u64,
    /// Values where there is no entry.
    pub padding_bytes: u64,
    /// Columns of narrow slices, padding included.
    pub columns16_bytes: u64,
    /// Columns of wide slices, padding included; of compressed rows all columns.
    pub columns32_bytes: u64,
    /// The columns from which those of 16 bits are counted, one a slot.
    pub bases_bytes: u64,
    /// Starts of slices and of their columns; of compressed rows the row starts.
    pub heads_bytes: u64,
    /// The order of rows in packets that have one, and which these are.
    pub order_bytes: u64,
    /// Rows kept apart: entries, row numbers, starts.
    pub long_rows_bytes: u64,
    /// Slices of 32 rows.
    pub slices: usize,
    /// Slices with columns of 32 bits.
    pub wide_slices: usize,
    /// Slots of the longest slice: the steps that a thread has to take one after another.
    pub longest_slice: usize,
    /// Packets of 1024 rows.
    pub packets: usize,
    /// Packets with an order of their own.
    pub ordered_packets: usize,
    /// Rows kept apart.
    pub long_rows: usize,
    /// The verdict on packets on a GPU, where they were looked at.
    pub(super) verdict: Option<Verdict>,
}

/// Sizes from which those in bytes follow.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) nnz: usize,
    pub(super) value_bytes: usize,
    pub(super) slices: usize,
    pub(super) wide_slices: usize,
    pub(super) longest_slice: usize,
    pub(super) packets: usize,
    pub(super) ordered_packets: usize,
    pub(super) narrow_slots: usize,
    pub(super) wide_slots: usize,
    pub(super) long_rows: usize,
    pub(super) long_entries: usize,
}

impl Description {
    /// Compressed rows of that size, with values of `value_bytes`. Sizes that no memory holds come out as `u64::MAX`.
    pub fn of_csr(rows: usize, cols: usize, nnz: usize, value_bytes: usize) -> Self {
        let times = |count: usize, bytes: usize| (count as u64).saturating_mul(bytes as u64);
        let (values, columns) = (times(nnz, value_bytes), times(nnz, 4));
        let heads = times(rows.saturating_add(1), 8);
        let bytes = values.saturating_add(columns).saturating_add(heads);
        Self {
            format: Format::Csr,
            rows,
            cols,
            nnz,
            value_bytes,
            bytes,
            csr_bytes: bytes,
            values_bytes: values,
            padding_bytes: 0,
            columns16_bytes: 0,
            columns32_bytes: columns,
            bases_bytes: 0,
            heads_bytes: heads,
            order_bytes: 0,
            long_rows_bytes: 0,
            slices: 0,
            wide_slices: 0,
            longest_slice: 0,
            packets: 0,
            ordered_packets: 0,
            long_rows: 0,
            verdict: None,
        }
    }

    /// Packets with these numbers of parts.
    pub(super) fn of_packets(counts: &Counts) -> Self {
        let slots = counts.narrow_slots + counts.wide_slots;
        let short_entries = counts.nnz - counts.long_entries;
        let times = |count: usize, bytes: usize| count as u64 * bytes as u64;
        let csr = Self::of_csr(counts.rows, counts.cols, counts.nnz, counts.value_bytes);
        let mut packets = Self {
            format: Format::Packets,
            values_bytes: times(short_entries, counts.value_bytes),
            padding_bytes: times((slots * SLICE_ROWS).saturating_sub(short_entries), counts.value_bytes),
            columns16_bytes: times(counts.narrow_slots, 2 * SLICE_ROWS),
            columns32_bytes: times(counts.wide_slots, 4 * SLICE_ROWS),
            bases_bytes: times(counts.narrow_slots, 4),
            heads_bytes: times(2 * counts.slices + 1, 4),
            order_bytes: times(counts.packets, 4) + times(counts.ordered_packets, 2 * PACKET_ROWS),
            long_rows_bytes: times(counts.long_entries, counts.value_bytes + 4) + times(counts.long_rows, 12),
            slices: counts.slices,
            wide_slices: counts.wide_slices,
            longest_slice: counts.longest_slice,
            packets: counts.packets,
            ordered_packets: counts.ordered_packets,
            long_rows: counts.long_rows,
            ..csr
        };
        packets.bytes = packets.parts().iter().map(|(_, bytes)| bytes).sum();
        packets.verdict = Some(packets.traffic().verdict());
        packets
    }

    /// The traffic of a product with the packets described.
    fn traffic(&self) -> Traffic {
        let share = |part: u64, rest: u64| part as f64 / (part + rest).max(1) as f64;
        Traffic {
            slices: (self.bytes - self.long_rows_bytes) as f64,
            long_rows: self.long_rows_bytes as f64,
            csr: self.csr_bytes as f64,
            vectors: (self.rows + self.cols.min(self.nnz)) as f64 * self.value_bytes as f64,
            longest_slice: self.longest_slice as f64,
            padding: share(self.padding_bytes, self.values_bytes),
            wide: share(self.columns32_bytes, self.columns16_bytes),
            empty: self.nnz == 0,
        }
    }

    /// The description of this matrix in compressed rows, which were preferred to the packets described.
    pub(super) fn csr_instead(&self) -> Self {
        Self { verdict: self.verdict, ..Self::of_csr(self.rows, self.cols, self.nnz, self.value_bytes) }
    }

    /// The format in which products are expected to be faster.
    pub(super) fn advice(&self) -> Format {
        match &self.verdict {
            None => self.format,
            Some(verdict) if verdict.packets_pay() => Format::Packets,
            Some(_) => Format::Csr,
        }
    }

    /// Entries of the long rows.
    pub(super) fn long_entries(&self) -> usize {
        (self.long_rows_bytes - 12 * self.long_rows as u64) as usize / (self.value_bytes + 4)
    }

    /// Why packets pay or do not, in one line; None where nobody asked (a matrix put into compressed rows without a plan).
    pub fn reason(&self) -> Option<String> {
        self.verdict.map(|verdict| verdict.to_string())
    }

    /// `bytes` over `nnz`; 0 without entries.
    pub fn bytes_per_nonzero(&self) -> f64 {
        self.per_nonzero(self.bytes)
    }

    /// `csr_bytes` over `nnz`; 0 without entries.
    pub fn csr_bytes_per_nonzero(&self) -> f64 {
        self.per_nonzero(self.csr_bytes)
    }

    fn per_nonzero(&self, bytes: u64) -> f64 {
        if self.nnz == 0 { 0.0 } else { bytes as f64 / self.nnz as f64 }
    }

    fn parts(&self) -> [(&'static str, u64); 8] {
        let heads = if self.format == Format::Csr { "row starts" } else { "slice heads" };
        [
            ("values", self.values_bytes),
            ("padding of values", self.padding_bytes),
            ("16-bit columns", self.columns16_bytes),
            ("32-bit columns", self.columns32_bytes),
            ("bases", self.bases_bytes),
            (heads, self.heads_bytes),
            ("row order", self.order_bytes),
            ("long rows", self.long_rows_bytes),
        ]
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, rows, cols, nnz, bytes, .. } = self;
        write!(f, "{format}, {rows} x {cols} with {nnz} nonzeros: {bytes} bytes, ")?;
        write!(f, "{:.2} per nonzero", self.bytes_per_nonzero())?;
        if *format != Format::Csr {
            write!(f, " (compressed rows: {:.2})", self.csr_bytes_per_nonzero())?;
        }
        let parts = self.parts().into_iter().filter(|&(_, bytes)| bytes > 0);
        let parts: Vec<String> = parts.map(|(name, bytes)| format!("{name} {:.2}", self.per_nonzero(bytes))).collect();
        write!(f, "\nper nonzero: {}", parts.join(", "))?;
        if *format == Format::Packets {
            write!(
                f,
                "\n{} slices, {} wide, the longest of {} slots; ",
                self.slices, self.wide_slices, self.longest_slice
            )?;
            write!(f, "{} packets, {} ordered; {} long rows", self.packets, self.ordered_packets, self.long_rows)?;
        }
        self.reason().map_or(Ok(()), |reason| write!(f, "\n{reason}"))
    }
}
