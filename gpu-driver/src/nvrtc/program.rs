//! Programs to compile: text, headers, options and name expressions, and their digest.

use std::{fmt, path::PathBuf};

use gpu_driver_core::cache::Key;

use super::{Arch, PRELUDE};

/// The architecture with instructions of its own for [`Program::architecture_specific`].
pub(crate) const HOPPER: u32 = 90;

/// A CUDA C++ program to compile at run time: text, headers, options, and the kernels to find in it.
///
/// The result is cached on disk under a hash of all of these, the architecture and NVRTC's version; `GPU_CACHE_DIR` moves
/// the cache (`off` for none, [`nvrtc::cache_folder`](crate::nvrtc::cache_folder) says where it is). A program that may read files is never
/// cached: by its options (`-I…`, `-include …`, those of `GPU_NVRTC_OPTIONS` too), or by its text, which
/// includes a path that is absolute or leads upwards, or a macro. Else `#include` finds only the headers given here
/// and those of [`nvrtc::standard_headers`](crate::nvrtc::standard_headers). Compiling a small kernel
/// takes 20 to 80 ms, a cache hit well under one.
///
/// ```
/// use gpu_driver::{Arch, Program};
/// let program = Program::new("axpy.cu", "template <class T> __global__ void axpy(T a, const T *x, T *y) \
///     { y[threadIdx.x] += a * x[threadIdx.x]; }")
///     .name_expression("axpy<float>");
/// match program.compile(Arch::new(9, 0)) {
///     Ok(binary) => println!("{} bytes, {}", binary.image().len(), binary.names()[0].1),
///     Err(error) => println!("{error}"), // on a machine without NVRTC: where it was looked for, and how to install it
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Program {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) options: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) minimal: bool,
    pub(super) overlaps: bool,
    pub(super) architecture_specific: bool,
    pub(super) nvcc: bool,
    pub(super) keep: Option<PathBuf>,
    pub(super) archs: Vec<Arch>,
}

impl From<&str> for Program {
    /// A program of that text, named `kernel.cu`.
    fn from(text: &str) -> Self {
        Self::new("kernel.cu", text)
    }
}

impl From<String> for Program {
    /// A program of that text, named `kernel.cu`.
    fn from(text: String) -> Self {
        Self::new("kernel.cu", text)
    }
}

impl From<&Program> for Program {
    fn from(program: &Program) -> Self {
        program.clone()
    }
}

impl Program {
    /// A program of that name (it stands in the compiler's messages) and text. The prelude may be included.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let headers = vec![(PRELUDE.name.to_owned(), PRELUDE.text.to_owned())];
        let (name, text) = (name.into(), text.into());
        let (options, names) = (Vec::new(), Vec::new());
        Self {
            name,
            text,
            headers,
            options,
            names,
            minimal: false,
            overlaps: false,
            architecture_specific: false,
            nvcc: false,
            keep: None,
            archs: Vec::new(),
        }
    }

    /// Adds a header that `#include "name"` finds.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Defines a macro: `#define name value` before the text.
    pub fn define(self, name: &str, value: impl fmt::Display) -> Self {
        self.option(format!("-D{name}={value}"))
    }

    /// Asks for debug information of variables and lines, and for code that is not optimised: for cuda-gdb and compute-sanitizer.
    ///
    /// On the emulated device `GPU_EMULATED_DEBUG=variables` is the way.
    pub fn debug(self) -> Self {
        self.option("--device-debug")
    }

    /// Writes each compilation into `folder`, which is made if it is not there: the text and the headers under their names, the log (`<name>.log`), and
    /// the image (`<name>.cubin`, `.ptx` or `.so`). After an error the text, headers and log are there too.
    pub fn keep(mut self, folder: impl Into<PathBuf>) -> Self {
        self.keep = Some(folder.into());
        self
    }

    /// Compiles by the CUDA toolkit's `nvcc` instead of NVRTC ([`nvrtc::nvcc`](crate::nvrtc::nvcc) says where it is looked for): for texts that include
    /// headers of the toolkit or of the host's compiler, such as `<thrust/sort.h>`, or that have host code too.
    ///
    /// [`Program::option`] then gives options of nvcc. The image is a cubin, or PTX or a fat binary where an option `-ptx` or `-fatbin` asks for
    /// it; with `-gencode` options no architecture is given. nvcc finds no kernels by name expressions, so these are an error, and it has headers of the
    /// host in place of the prelude. Compiling takes a second or so, and a result is kept on disk as those of NVRTC. The emulated device compiles as
    /// always.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, Program};
    /// let text = "#include <cub/cub.cuh>\nextern \"C\" __global__ void f(int *x) { *x = cub::DivideAndRoundUp(7, 2); }";
    /// let f = Device::first()?.compile(Program::from(text).nvcc().option("--expt-relaxed-constexpr"))?.function("f")?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    pub fn nvcc(mut self) -> Self {
        self.nvcc = true;
        self
    }

    /// Adds a compiler option, such as `--use_fast_math` or `-DWIDTH=4`. The architecture and `--std=c++17` are given.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Asks for the kernel that this C++ expression names, such as `axpy<float>`; templates are instantiated by it.
    pub fn name_expression(mut self, expression: impl Into<String>) -> Self {
        self.names.push(expression.into());
        self
    }

    /// Says of the texts that they hardly use textures, surfaces, functions and types of the CUDA runtime (`cuda…`), or launch kernels. NVRTC from 12.4
    /// on then omits the declarations of all these (its option `--minimal`), and compiles a small kernel some 8 ms sooner, to the same code. A text that
    /// does not compile without them is compiled with them.
    pub fn minimal(mut self) -> Self {
        self.minimal = true;
        self
    }

    /// Says of the program's kernels that every thread calls `gpu::grid_dependency_wait()` of the prelude before it touches memory: a launch may then
    /// start while earlier work of its stream still runs (programmatic dependent launch; architectures from 9.0 on, drivers from 12.3 on). The
    /// emulated device refuses an access before the call. Only `gpu::claim_before_dependency` may come first, and `gpu::trigger_dependents` comes behind
    /// it.
    ///
    /// Such a kernel does not read through `const __restrict__` pointers: the compiler takes the memory behind them for constant while the kernel
    /// runs, and may move those loads before the wait. The emulated device does not see that.
    ///
    /// Measured on an H200: 1 us less between two kernels, and 0.6 us less of the host's time for a launch.
    pub fn overlapping(mut self) -> Self {
        self.overlaps = true;
        self
    }

    /// Asks for the instructions that one architecture alone has: on 9.0 those of `sm_90a`, such as the products of
    /// [`WARPGROUP`](crate::WARPGROUP). Other architectures compile the text as always.
    pub fn architecture_specific(mut self) -> Self {
        self.architecture_specific = true;
        self
    }

    /// Whether [`Program::architecture_specific`] was said.
    pub(crate) fn is_architecture_specific(&self) -> bool {
        self.architecture_specific
    }

    /// Whether [`Program::overlapping`] was said.
    pub(crate) fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// The name expressions, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The SHA-256, in 64 hexadecimal digits, of the program's parts: its name and text, its headers (the prelude is one),
    /// options and name expressions, each in its order. Architecture and compiler play no part, so it says on any machine whether a
    /// program is the one that ran elsewhere.
    ///
    /// ```
    /// use gpu_driver::Program;
    /// let program = Program::new("f.cu", "#include \"width.cuh\"\n__global__ void f(int *x) { *x = WIDTH; }");
    /// let (four, eight) = (["#define WIDTH 4\n"; 2], "#define WIDTH 8\n");
    /// let [four, again] = four.map(|text| program.clone().header("width.cuh", text).digest());
    /// assert_eq!(four, again);
    /// assert_ne!(four, program.header("width.cuh", eight).digest());
    /// ```
    #[must_use]
    pub fn digest(&self) -> String {
        let before = [(self.architecture_specific, "architecture specific"), (self.nvcc, "nvcc")];
        let before: Vec<&str> = before.iter().filter(|(is_so, _)| *is_so).map(|(_, text)| *text).collect();
        self.hash(&before, &self.options).hex()
    }

    /// The key under which a result is kept on disk.
    pub(super) fn key(&self, compiler: &str, options: &[String]) -> Key {
        self.hash(&[env!("CARGO_PKG_VERSION"), compiler], options)
    }

    fn hash(&self, before: &[&str], options: &[String]) -> Key {
        // The counts keep the lists apart.
        let counts = format!("{} {} {}", self.headers.len(), options.len(), self.names.len());
        let mut parts = before.to_vec();
        parts.extend([counts.as_str(), &self.name, &self.text]);
        parts.extend(self.headers.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]));
        parts.extend(options.iter().chain(&self.names).map(String::as_str));
        Key::of(parts)
    }
}

#[cfg(test)]
mod tests {
    use gpu_driver_core::includes;

    use super::*;

    /// Else no program of the emulated device would be kept.
    #[test]
    fn the_assembly_of_the_prelude_reads_no_file() {
        assert!(!includes::assembly_may_read_files(PRELUDE.text));
    }

    #[test]
    fn a_digest_tells_everything_apart() {
        let program = || Program::new("f.cu", "text").header("a.cuh", "a").option("-DA").name_expression("f<int>");
        let of = |program: Program| program.digest();
        let mut digests = vec![of(program())];
        assert_eq!(digests[0], of(program()));
        digests.push(of(program().header("b.cuh", "b")));
        digests.push(of(program().option("-DB")));
        digests.push(of(program().option("-DB=1")));
        digests.push(of(program().option("-DB=2")));
        digests.push(of(program().name_expression("f<float>")));
        digests.push(of(Program { name: "g.cu".into(), ..program() }));
        digests.push(of(Program { text: "other".into(), ..program() }));
        digests.push(of(program().architecture_specific()));
        digests.push(of(program().nvcc()));
        let mut other_prelude = program();
        other_prelude.headers[0].1.push('\n');
        digests.push(of(other_prelude));
        let (count, unique) = (digests.len(), digests.iter().collect::<std::collections::HashSet<_>>());
        assert_eq!(unique.len(), count, "{digests:?}");
    }
}
