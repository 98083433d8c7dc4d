//! Compiled programs, and their targets.

use std::{fmt, sync::Arc};

use crate::CudaVersion;

/// The target of a compilation: a GPU architecture (`sm_90` is 9.0), or the emulated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// 9 in `sm_90`.
    pub major: u32,
    /// 0 in `sm_90`.
    pub minor: u32,
    pub(super) emulated: bool,
}

impl Arch {
    /// The architecture of compute capability `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor, emulated: false }
    }

    /// The emulated device ([`crate::emulated`]) that reports compute capability `major.minor`.
    pub const fn emulated(major: u32, minor: u32) -> Self {
        Self { major, minor, emulated: true }
    }

    /// Whether it is the emulated device.
    pub const fn is_emulated(self) -> bool {
        self.emulated
    }

    /// 90 for `sm_90`.
    pub fn number(self) -> u32 {
        self.major * 10 + self.minor
    }

    /// The numbers tuned for this architecture, from a table with the oldest architecture first: those of the newest one that is not newer, else the
    /// first ones.
    ///
    /// # Panics
    /// If the table is empty.
    ///
    /// # Example
    /// ```
    /// use gpu_driver::Arch;
    ///
    /// static THREADS: [(Arch, u32); 2] = [(Arch::new(8, 0), 128), (Arch::new(9, 0), 256)];
    /// assert_eq!(*Arch::new(8, 9).tuned(&THREADS), 128);
    /// assert_eq!(*Arch::new(12, 0).tuned(&THREADS), 256);
    /// ```
    pub fn tuned<T>(self, table: &[(Self, T)]) -> &T {
        let not_newer = table.iter().rev().find(|(of, _)| of.number() <= self.number());
        &not_newer.unwrap_or(&table[0]).1
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number(), if self.emulated { " emulated" } else { "" })
    }
}

/// The form of a compiled program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryKind {
    /// Machine code for one architecture.
    Cubin,
    /// PTX text that the driver compiles for a device newer than NVRTC knows.
    Ptx,
    /// Code for several architectures, of nvcc with the option `-fatbin`.
    Fatbin,
    /// A shared object for the emulated device.
    SharedObject,
}

/// The origin of a binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The compiler ran now.
    Compiled,
    /// The cache on disk had it.
    Cache,
}

/// A compiled program. Only [`crate::Program::compile`] makes one: the driver cannot tell a damaged image from a whole one and
/// would read beyond its end.
#[derive(Clone, Debug)]
pub struct Binary {
    pub(super) image: Vec<u8>,
    pub(super) kind: BinaryKind,
    pub(super) names: Vec<(String, String)>,
    pub(super) log: String,
    pub(super) origin: Origin,
    /// The text of the program, which declares its kernels' parameters.
    pub(super) text: Arc<str>,
    /// nvcc's version, where that compiled it.
    pub(super) nvcc: Option<CudaVersion>,
}

impl Binary {
    /// The bytes that the driver loads.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// The form of the bytes.
    pub fn kind(&self) -> BinaryKind {
        self.kind
    }

    /// Each name expression of the program with the mangled name that stands in the image.
    pub fn names(&self) -> &[(String, String)] {
        &self.names
    }

    /// Warnings, or nothing.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// The version of nvcc, where that compiled it and said its version.
    pub(crate) fn nvcc(&self) -> Option<CudaVersion> {
        self.nvcc
    }

    pub(crate) fn text(&self) -> Arc<str> {
        self.text.clone()
    }

    /// Whether the compiler ran or the cache answered.
    pub fn origin(&self) -> Origin {
        self.origin
    }
}

impl PartialEq for Binary {
    /// Compares the contents, not the origin.
    fn eq(&self, other: &Self) -> bool {
        (&self.image, self.kind, &self.names, &self.log) == (&other.image, other.kind, &other.names, &other.log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_has_the_numbers_of_the_newest_one_before_it() {
        static TABLE: [(Arch, u32); 2] = [(Arch::new(8, 0), 1), (Arch::new(9, 0), 2)];
        let found =
            [(7, 5), (8, 0), (8, 9), (9, 0), (12, 0)].map(|(major, minor)| *Arch::new(major, minor).tuned(&TABLE));
        assert_eq!(found, [1, 1, 1, 2, 2]);
        assert_eq!(*Arch::emulated(9, 0).tuned(&TABLE), 2);
    }
}
