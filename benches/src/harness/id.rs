//! Names of figures, and the work that one call does.

use std::fmt;

use criterion::Throughput;

/// The name of a figure: `operation/dtype/case/by`; its measure follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    operation: String,
    dtype: String,
    case: String,
    by: String,
}

impl Id {
    /// An id of these parts. Letters are made small, and any character but letters, digits, `-`, `_` and `.` becomes `-`, so that ids are file names
    /// and expressions that match themselves.
    pub fn new(operation: &str, dtype: &str, case: &str, by: &str) -> Self {
        Self { operation: part(operation), dtype: part(dtype), case: part(case), by: part(by) }
    }

    /// The crate, library or machine that did the work.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Whether someone else than this workspace did the work.
    pub fn is_peer(&self) -> bool {
        !self.by.starts_with("gpu-") && self.by != "machine"
    }

    /// The id of one measure, whole.
    pub fn full(&self, measure: Measure) -> String {
        format!("{self}/{}", measure.name())
    }

    /// In criterion's three parts, each of which is a folder of its own: in one part long ids would be cut off.
    pub(super) fn criterion_parts(&self, measure: Measure) -> (String, String, String) {
        (format!("{}/{}", self.operation, self.dtype), self.case.clone(), format!("{}/{}", self.by, measure.name()))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.operation, self.dtype, self.case, self.by)
    }
}

fn part(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.chars().map(|c| if allowed(c) { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// The span of time that a figure is of, and the clock that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Between two events on the stream.
    Device,
    /// From submitting to the end of waiting, by the host's clock.
    Wall,
    /// The host's clock, around calls that are not waited for: the cost of a call to the host.
    Enqueue,
    /// The host's clock, around work on the CPU.
    Cpu,
}

impl Measure {
    /// Last part of a full id.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Wall => "wall",
            Self::Enqueue => "enqueue",
            Self::Cpu => "cpu",
        }
    }
}

/// The machine's own speed that bounds a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// Reading and writing.
    Copy,
    /// Reading.
    Read,
    /// Writing.
    Fill,
}

impl Ceiling {
    /// The operation whose figure it is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Read => "read",
            Self::Fill => "fill",
        }
    }
}

/// The work of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes moved: each input read once, each output written once.
    pub bytes: Option<u64>,
    /// Floating-point operations.
    pub flops: Option<u64>,
    /// The ceiling that bounds it, where memory does.
    pub ceiling: Option<Ceiling>,
}

impl Work {
    /// Reads and writes so many bytes together.
    pub fn copies(bytes: u64) -> Self {
        Self { bytes: Some(bytes), flops: None, ceiling: Some(Ceiling::Copy) }
    }

    /// Reads so many bytes.
    pub fn reads(bytes: u64) -> Self {
        Self { ceiling: Some(Ceiling::Read), ..Self::copies(bytes) }
    }

    /// Writes so many bytes.
    pub fn fills(bytes: u64) -> Self {
        Self { ceiling: Some(Ceiling::Fill), ..Self::copies(bytes) }
    }

    /// Moves so many bytes, bounded by no ceiling of the device's or the CPU's memory (a file, a bus).
    pub fn moves(bytes: u64) -> Self {
        Self { ceiling: None, ..Self::copies(bytes) }
    }

    /// Computes.
    pub fn computes(flops: u64) -> Self {
        Self { flops: Some(flops), ..Self::default() }
    }

    /// And does so many floating-point operations with it.
    #[must_use]
    pub fn with_flops(self, flops: u64) -> Self {
        Self { flops: Some(flops), ..self }
    }

    pub(super) fn throughput(self) -> Option<Throughput> {
        self.bytes.map(Throughput::BytesDecimal).or(self.flops.map(Throughput::Elements))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_five_parts() {
        let id = Id::new("cg200", "f64", "Mesh 2^3/x", "gpu-sparse-csr");
        assert_eq!(id.full(Measure::Wall), "cg200/f64/mesh-2-3-x/gpu-sparse-csr/wall");
        let (group, case, value) = id.criterion_parts(Measure::Wall);
        assert_eq!(format!("{group}/{case}/{value}"), id.full(Measure::Wall));
        let peer = |by| Id::new("dot", "f64", "1", by).is_peer();
        assert!(peer("cublas") && !peer("gpu-algos-rayon") && !peer("machine"));
    }
}
