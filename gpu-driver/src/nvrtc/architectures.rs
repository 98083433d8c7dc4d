//! Programs for several architectures, of which a device loads the one that fits.

use super::{Arch, Binary, BinaryKind, Program};
use crate::{DriverError, Result};

impl Arch {
    /// Whether machine code for this architecture runs on a device of architecture `device`: the same major version, and a minor one as high at least. PTX
    /// runs on later major versions too.
    ///
    /// ```
    /// use gpu_driver::Arch;
    /// assert!(Arch::new(8, 0).runs_on(Arch::new(8, 9)) && !Arch::new(8, 9).runs_on(Arch::new(8, 0)));
    /// assert!(!Arch::new(8, 0).runs_on(Arch::new(9, 0)));
    /// ```
    pub const fn runs_on(self, device: Self) -> bool {
        self.emulated == device.emulated && self.major == device.major && self.minor <= device.minor
    }
}

/// A program compiled for several architectures ([`Program::compile_all`]); [`Module::load_fitting`](crate::Module::load_fitting) loads the one that fits a
/// device.
#[derive(Clone, Debug)]
pub struct Binaries {
    all: Vec<(Arch, Binary)>,
}

impl Binaries {
    /// The architectures, in their order, each with its code.
    pub fn iter(&self) -> impl Iterator<Item = (Arch, &Binary)> {
        self.all.iter().map(|(arch, binary)| (*arch, binary))
    }

    /// The code that a device of that architecture runs: machine code for the highest minor version, else PTX for the newest architecture.
    ///
    /// # Errors
    /// `NoFittingArch` with the architectures that there are.
    pub fn fitting(&self, device: Arch) -> Result<&Binary> {
        let newest = |runs: &dyn Fn(&(Arch, Binary)) -> bool| {
            self.all.iter().filter(|one| runs(one)).max_by_key(|(arch, _)| arch.number())
        };
        let code = newest(&|(arch, binary)| binary.kind() != BinaryKind::Ptx && arch.runs_on(device));
        let ptx = || newest(&|(arch, binary)| binary.kind() == BinaryKind::Ptx && arch.number() <= device.number());
        let found = code.or_else(ptx).map(|(_, binary)| binary);
        found.ok_or_else(|| none_fits(device, self.all.iter().map(|(arch, _)| *arch)))
    }
}

fn none_fits(device: Arch, archs: impl Iterator<Item = Arch>) -> DriverError {
    DriverError::NoFittingArch { device: device.to_string(), archs: archs.map(|arch| arch.to_string()).collect() }
}

impl Program {
    /// Says for which architectures the program is meant, in place of that of the device alone: [`Program::compile_all`] compiles for each of them, and
    /// [`Device::compile`](crate::Device::compile) for the one that fits the device, with an error that lists them where none does. The emulated device
    /// chooses as a GPU of its compute capability would.
    ///
    /// ```no_run
    /// use gpu_driver::{Arch, Device, Module, Program};
    /// let text = "extern \"C\" __global__ void f(int *x) { *x = 1; }";
    /// let program = Program::from(text).for_archs([Arch::new(8, 0), Arch::new(9, 0)]);
    /// let both = program.compile_all()?; // needs no device
    /// let f = Module::load_fitting(&Device::first()?, &both)?.function("f")?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("arch", "code", "gencode"))]
    pub fn for_archs(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        self.archs.extend(archs);
        self
    }

    /// The architectures of [`Program::for_archs`].
    pub fn archs(&self) -> &[Arch] {
        &self.archs
    }

    /// Compiles for each architecture of [`Program::for_archs`], or takes the results from the cache.
    ///
    /// # Errors
    /// `Length` without architectures; those of [`Program::compile`].
    pub fn compile_all(&self) -> Result<Binaries> {
        if self.archs.is_empty() {
            let (expected, got) = ("one architecture at least (Program::for_archs)".to_owned(), "none".to_owned());
            return Err(DriverError::Length { op: "Program::compile_all", expected, got });
        }
        let each = self.archs.iter().map(|&arch| Ok((arch, self.compile(arch)?)));
        Ok(Binaries { all: each.collect::<Result<_>>()? })
    }

    /// Compiles for a device: for its own architecture, or for that of [`Program::for_archs`] which fits it best.
    pub(crate) fn compile_fitting(&self, device: Arch) -> Result<Binary> {
        if self.archs.is_empty() {
            return self.compile(device);
        }
        let of_kind = self.archs.iter().map(|&arch| Arch { emulated: device.emulated, ..arch });
        let best = of_kind.filter(|arch| arch.runs_on(device)).max_by_key(|arch| arch.number());
        self.compile(best.ok_or_else(|| none_fits(device, self.archs.iter().copied()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    fn binaries(all: &[(Arch, BinaryKind)]) -> Binaries {
        let one = |&(arch, kind): &(Arch, BinaryKind)| {
            let (image, names, log, origin) = (arch.to_string().into(), Vec::new(), String::new(), Origin::Compiled);
            (arch, Binary { image, kind, names, log, origin, text: "".into(), nvcc: None })
        };
        Binaries { all: all.iter().map(one).collect() }
    }

    #[test]
    fn the_code_that_fits_a_device_best_is_found() {
        use BinaryKind::{Cubin, Ptx, SharedObject};
        let all = binaries(&[
            (Arch::new(8, 0), Cubin),
            (Arch::new(8, 6), Cubin),
            (Arch::new(7, 5), Ptx),
            (Arch::new(9, 0), Ptx),
            (Arch::emulated(9, 0), SharedObject),
        ]);
        let found = |device| all.fitting(device).map(|binary| String::from_utf8_lossy(binary.image()).into_owned());
        assert_eq!(found(Arch::new(8, 9)).unwrap(), "sm_86");
        assert_eq!(found(Arch::new(8, 5)).unwrap(), "sm_80");
        assert_eq!(found(Arch::new(7, 5)).unwrap(), "sm_75");
        assert_eq!(found(Arch::new(12, 0)).unwrap(), "sm_90");
        assert_eq!(found(Arch::emulated(9, 0)).unwrap(), "sm_90 emulated");
        let text = found(Arch::new(7, 0)).unwrap_err().to_string();
        assert!(text.contains("sm_70") && text.contains("sm_80, sm_86, sm_75, sm_90"), "{text}");
        assert!(binaries(&[(Arch::new(9, 0), Cubin)]).fitting(Arch::new(10, 0)).is_err());
    }
}
