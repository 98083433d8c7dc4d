//! Typed kernels: one Rust type per kernel of a crate, a registry of instantiations, a checked launch.
//!
//! # From a typed call to the driver
//! The example is `DeviceMatrix::matvec_into` in `gpu-sparse/src/product/device`.
//!
//! 1. `entries.rs` implements [`Entry`] for each kernel, and the crate's `registry.rs` lists the instantiations in `KERNELS`. `launch.rs` asks
//!    for one of them by `KERNELS.kernel::<…>(device, &policy)`.
//! 2. [`Registry::kernel`] finds the instance or fails. If the context has not loaded it, the first caller compiles it:
//!    [`Instance::program`] appends a `static_assert` on the kernel's parameters, and [`Program::compile`] asks the cache on disk, then
//!    the compiler. `module` loads the result.
//! 3. [`Kernel::launch`] calls `Loaded::launch` (`loaded.rs`), which orders the launch with the home stream of each argument.
//! 4. `launch_raw` (`module/launch.rs`) calls `cuLaunchKernel` through the table in `sys`, or `cuLaunchKernelEx` for a kernel that overlaps
//!    ([`Entry::OVERLAPS`]).

use std::{
    any::{TypeId, type_name},
    collections::HashMap,
    fmt,
    marker::PhantomData,
    sync::Arc,
};

use crate::{
    Arguments, Binary, Device, Dim3, DriverError, Header, LaunchConfig, Program, Result, Stream,
    loaded::Loaded,
    module::same_device,
    nvrtc::{Arch, HOPPER},
};

/// A `.cu` file and the headers it includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's name, as it stands in the compiler's messages.
    pub name: &'static str,
    /// Its text, by `include_str!`.
    pub text: &'static str,
    /// The headers that it includes besides the prelude.
    pub headers: &'static [Header],
}

/// A kernel of a crate: a zero-sized type that ties the C++ kernel to the Rust types of its arguments.
///
/// When an instantiation is compiled, a `static_assert` is appended that the kernel has exactly the parameters
/// [`Entry::Args`] passes, so the two sides cannot drift apart.
///
/// ```
/// use gpu_driver::{DevicePod, Dim3, Entry, In, InOut, Source};
/// struct Axpy<T>(std::marker::PhantomData<T>);
/// impl<T: DevicePod> Entry for Axpy<T> {
///     type Policy = u32; // threads of a block
///     type Args<'a> = (T, In<'a, T>, InOut<'a, T>, u64);
///     const SOURCE: &'static Source = &Source { name: "axpy.cu", text: "…", headers: &[] };
///     const NAME: &'static str = "axpy";
///     fn template(_: &u32) -> String { T::CUDA_NAME.into() }
///     fn block(threads: &u32) -> Dim3 { (*threads).into() }
/// }
/// ```
pub trait Entry: 'static {
    /// The tuning of an instantiation: plain data, passed as template arguments.
    type Policy: Clone + fmt::Debug;
    /// The kernel's parameters.
    type Args<'a>: Arguments;
    /// The file that holds the kernel.
    const SOURCE: &'static Source;
    /// The kernel's name in it.
    const NAME: &'static str;
    /// Whether every thread calls `gpu::grid_dependency_wait()` before it touches memory, and reads none through `const __restrict__` pointers
    /// ([`Program::overlapping`] says why).
    const OVERLAPS: bool = false;

    /// The template arguments, such as `float, 256`; empty for a kernel that is no template.
    fn template(policy: &Self::Policy) -> String;

    /// Threads of a block.
    fn block(policy: &Self::Policy) -> Dim3;

    /// Dynamic shared memory of a block, in bytes.
    fn shared_bytes(_policy: &Self::Policy) -> u32 {
        0
    }
}

/// One instantiation of a kernel, as text, which both `cargo xtask kernels` and a launch compile.
#[derive(Clone, Debug)]
pub struct Instance {
    registry: &'static str,
    source_name: &'static str,
    expression: String,
    origin: Origin,
}

/// The origin of an instantiation's text.
#[derive(Clone, Debug)]
enum Origin {
    /// A file, whose kernel has parameters of this signature.
    File { source: &'static Source, signature: String, overlaps: bool },
    /// Made at run time.
    Made(Program),
}

impl Instance {
    fn of<E: Entry>(registry: &'static str, policy: &E::Policy) -> Self {
        let template = E::template(policy);
        let expression = if template.is_empty() { E::NAME.to_owned() } else { format!("{}<{template}>", E::NAME) };
        let signature = <E::Args<'static> as Arguments>::signature();
        let origin = Origin::File { source: E::SOURCE, signature, overlaps: E::OVERLAPS };
        Self { registry, source_name: E::SOURCE.name, expression, origin }
    }

    /// The C++ expression that names the kernel, such as `fill<float, 256>`.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The name of the registry it is in: that of its crate.
    pub fn registry(&self) -> &'static str {
        self.registry
    }

    /// The name of the `.cu` file that holds the kernel.
    pub fn source_name(&self) -> &'static str {
        self.source_name
    }

    /// [`Program::digest`] of the whole program: it changes when anything changes that the kernel is compiled from, the
    /// prelude, its headers and the Rust types of its arguments included.
    ///
    /// # Cost
    /// Hashes all of the text once, in well under a millisecond.
    pub fn digest(&self) -> String {
        self.program().digest()
    }

    /// The whole program of this instantiation.
    pub fn program(&self) -> Program {
        let Self { expression, origin, .. } = self;
        let (source, signature, overlaps) = match origin {
            Origin::File { source, signature, overlaps } => (source, signature, *overlaps),
            Origin::Made(program) => return program.clone(),
        };
        let text = format!(
            "{text}\n#line 1 \"instance of {name}\"\n#include \"prelude.cuh\"\nGPU_CHECK_SIGNATURE(({expression}), {signature});\n",
            name = source.name,
            text = source.text,
        );
        let program = Program::new(source.name, text).name_expression(expression.clone());
        let program = if overlaps { program.overlapping() } else { program };
        source.headers.iter().fold(program, |program, header| program.header(header.name, header.text))
    }

    /// The kernel in the memory of `device`: compiled (or read from the cache) and loaded by the first caller.
    pub(crate) fn load(&self, device: &Device, key: &Key) -> Result<Arc<Loaded>> {
        let load = || Loaded::compile(device, &self.expression, &self.program());
        device.0.kernels.typed.fill(key, || key.clone(), load)
    }

    /// Whether the kernel is launched on `arch`: a program that is [`Program::architecture_specific`] is for 9.0 alone.
    pub fn is_for(&self, arch: Arch) -> bool {
        let is_specific = matches!(&self.origin, Origin::Made(program) if program.is_architecture_specific());
        !is_specific || arch.number() == HOPPER
    }

    /// Compiles for `arch`, or takes the result from the cache.
    ///
    /// # Errors
    /// Those of [`Program::compile`].
    pub fn compile(&self, arch: Arch) -> Result<Binary> {
        self.program().compile(arch)
    }

    /// Compiles for `arch` with the assembler's report of registers and memory in the log, or takes the result from the cache.
    ///
    /// # Errors
    /// Those of [`Program::compile`].
    pub fn compile_with_report(&self, arch: Arch) -> Result<Binary> {
        self.program().option("--ptxas-options=-v").compile(arch)
    }
}

/// The architectures that every kernel is compiled for by the checks: Ampere, Hopper, Blackwell.
pub const CHECKED_ARCHS: [Arch; 3] = [Arch::new(8, 0), Arch::new(9, 0), Arch::new(10, 0)];

/// A kernel of a registry, and its template arguments.
pub(crate) type Key = (TypeId, String);

/// All kernel instantiations of a crate. A launch finds its kernel here or fails, so the checks compile exactly the
/// kernels that run.
#[derive(Debug)]
pub struct Registry {
    name: &'static str,
    instances: HashMap<Key, Instance>,
}

impl Registry {
    /// An empty registry of that name, which stands in errors: the crate's.
    pub fn new(name: &'static str) -> Self {
        Self { name, instances: HashMap::new() }
    }

    /// Adds one instantiation.
    #[must_use]
    pub fn with<E: Entry>(mut self, policy: &E::Policy) -> Self {
        self.instances.insert((TypeId::of::<E>(), E::template(policy)), Instance::of::<E>(self.name, policy));
        self
    }

    /// Adds a program that stands for those which a crate makes at run time ([`Device::generated_kernel`]): it is checked as the others
    /// are, and no launch takes it. It names one kernel, by an expression that no other has; `source_name` is the file of its loop.
    #[must_use]
    pub fn with_sample(mut self, source_name: &'static str, program: Program) -> Self {
        let expression = program.names().first().cloned().unwrap_or_default();
        let key = (TypeId::of::<Program>(), expression.clone());
        let instance = Instance { registry: self.name, source_name, expression, origin: Origin::Made(program) };
        self.instances.insert(key, instance);
        self
    }

    /// All instantiations, sorted by their expression.
    pub fn instances(&self) -> Vec<&Instance> {
        let mut all: Vec<_> = self.instances.values().collect();
        all.sort_by(|a, b| a.expression.cmp(&b.expression));
        all
    }

    /// Each instantiation with each architecture that the project checks, named `expression sm_XX`; one that is
    /// [`Program::architecture_specific`] with its own. A crate's tests compile them, with or without a GPU.
    pub fn checks(&self) -> impl Iterator<Item = (String, Instance, Arch)> + use<> {
        let instances: Vec<Instance> = self.instances().into_iter().cloned().collect();
        instances.into_iter().flat_map(|instance| {
            let archs: Vec<Arch> = CHECKED_ARCHS.into_iter().filter(|&arch| instance.is_for(arch)).collect();
            archs.into_iter().map(move |arch| (format!("{} {arch}", instance.expression), instance.clone(), arch))
        })
    }

    /// The key and the instantiation of a kernel.
    pub(crate) fn find<E: Entry>(&self, policy: &E::Policy) -> Result<(Key, &Instance)> {
        let key = (TypeId::of::<E>(), E::template(policy));
        match self.instances.get(&key) {
            Some(instance) => Ok((key, instance)),
            None => {
                let kernel = format!("{}<{}> ({})", E::NAME, key.1, type_name::<E>());
                Err(DriverError::NotRegistered { kernel, registry: self.name })
            }
        }
    }

    /// The kernel for `device`: compiled (or read from the cache) and loaded at the first call, then kept.
    ///
    /// # Errors
    /// `NotRegistered`; those of [`Program::compile`] and [`crate::Module::load`].
    pub fn kernel<E: Entry>(&self, device: &Device, policy: &E::Policy) -> Result<Kernel<E>> {
        let (key, instance) = self.find::<E>(policy)?;
        let shared_bytes = E::shared_bytes(policy);
        let function = instance.load(device, &key)?;
        function.allow_shared(device, shared_bytes)?;
        let (device, block) = (device.clone(), E::block(policy));
        Ok(Kernel { function, device, block, shared_bytes, _entry: PhantomData })
    }
}

/// A kernel ready to launch on one device. Cheap to clone.
pub struct Kernel<E: Entry> {
    function: Arc<Loaded>,
    device: Device,
    block: Dim3,
    shared_bytes: u32,
    _entry: PhantomData<fn() -> E>,
}

impl<E: Entry> Kernel<E> {
    /// Enqueues the kernel with `grid` blocks on `stream`.
    ///
    /// Memory whose home is another stream is handled: the launch waits for the work that the home holds, and the home's later
    /// work (its release too) waits for the launch.
    ///
    /// # Errors
    /// `Launch` when the driver refuses the shape (nothing ran); `WrongDevice`; `DeviceLost`.
    ///
    /// # Safety
    /// The kernel stays within the memory of its arguments for this grid, as its contract (the head of its `.cu` file)
    /// says. Types, aliasing and lifetimes are checked: by the `static_assert` of the instantiation, by the borrows in
    /// `arguments`, and by the order of streams.
    pub unsafe fn launch(&self, grid: impl Into<Dim3>, arguments: E::Args<'_>, stream: &Stream) -> Result<()> {
        same_device("a kernel and its stream", &self.device, stream.device())?;
        arguments.retain(stream)?;
        let config = LaunchConfig { grid: grid.into(), block: self.block, shared_bytes: self.shared_bytes };
        let for_each_home = |each: &mut dyn FnMut(&Stream) -> Result<()>| arguments.for_each_home(each);
        arguments.with_values(|values| {
            // SAFETY: the types are checked by the instantiation, the rest is the caller's promise.
            unsafe { self.function.launch(config, values, for_each_home, stream) }
        })
    }

    /// The C++ expression that names the kernel.
    pub fn name(&self) -> &str {
        &self.function.expression
    }

    /// Threads of a block.
    pub fn block(&self) -> Dim3 {
        self.block
    }
}

impl<E: Entry> Clone for Kernel<E> {
    fn clone(&self) -> Self {
        let (function, device) = (self.function.clone(), self.device.clone());
        Self { function, device, block: self.block, shared_bytes: self.shared_bytes, _entry: PhantomData }
    }
}

impl<E: Entry> fmt::Debug for Kernel<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({} on device {})", self.function.expression, self.device.ordinal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: Header = Header { name: "width.cuh", text: "#define WIDTH 4\n" };
    const EIGHT: Header = Header { name: "width.cuh", text: "#define WIDTH 8\n" };
    const TEXT: &str = "#include \"width.cuh\"\n__global__ void f(int *x) { *x = WIDTH; }";
    static NARROW: Source = Source { name: "f.cu", text: TEXT, headers: &[FOUR] };
    static WIDE: Source = Source { name: "f.cu", text: TEXT, headers: &[EIGHT] };

    macro_rules! entry {
        ($name:ident, $source:ident, $argument:ty) => {
            struct $name;
            impl Entry for $name {
                type Policy = ();
                type Args<'a> = ($argument,);
                const SOURCE: &'static Source = &$source;
                const NAME: &'static str = "f";
                fn template(_: &()) -> String {
                    String::new()
                }
                fn block(_: &()) -> Dim3 {
                    1.into()
                }
            }
        };
    }

    entry!(Narrow, NARROW, crate::Out<'a, i32>);
    entry!(Twin, NARROW, crate::Out<'a, i32>);
    entry!(OtherType, NARROW, crate::Out<'a, u32>);
    entry!(Wide, WIDE, crate::Out<'a, i32>);

    #[test]
    fn an_instance_says_where_it_is_from_and_what_it_consists_of() {
        fn digest<E: Entry<Policy = ()>>(registry: &'static str) -> String {
            let registry = Registry::new(registry).with::<E>(&());
            let instance = registry.instances()[0];
            assert_eq!((instance.expression(), instance.source_name()), ("f", "f.cu"));
            assert_eq!(instance.registry(), registry.name);
            instance.digest()
        }
        let narrow = digest::<Narrow>("a");
        assert!(narrow.len() == 64 && narrow.bytes().all(|digit| digit.is_ascii_hexdigit()), "{narrow}");
        assert_eq!(narrow, digest::<Twin>("b"), "the same program");
        assert_ne!(narrow, digest::<Wide>("a"), "another header");
        assert_ne!(narrow, digest::<OtherType>("a"), "another signature");
    }
}
