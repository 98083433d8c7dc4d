//! Arguments of kernels from texts: those of typed kernels, and slices of the host.

use std::{ffi::c_void, fmt};

use crate::raw::CUdeviceptr;

use crate::{Argument, DevicePod, DeviceVec, In, InOut, Result, Stream, signature::ArgumentType};

/// A value that a launch of a [`Function`](crate::Function) takes.
///
/// | in Rust | the parameter in CUDA C++ |
/// |---|---|
/// | numbers, `bool`, `usize`, each [`DevicePod`] | the same, by value |
/// | [`In`](crate::In), [`Out`](crate::Out), [`InOut`](crate::InOut): device memory, and parts of it | `const T *`, `T *` |
/// | `&DeviceVec<T>`, `&mut DeviceVec<T>`, and with gpu-array `&GpuArray`, `&mut GpuArray` | `const T *`, `T *`: `input()` and `in_out()` of the memory |
/// | `&[T]`, `&Vec<T>`, `&[T; N]` | `const T *`: a copy in device memory, made before the launch |
/// | `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]` | `T *`: a copy as above, which is copied back after the launch |
/// | [`HostOut`] | `T *`: zeros, which are copied back after the launch |
/// | `&Texture`, `&mut Surface` | `cudaTextureObject_t`, `cudaSurfaceObject_t` |
/// | `&DeviceBuffer<T>`, `&mut DeviceBuffer<T>` of cust | `const T *`, `T *`: no stream is waited for, and nobody waits for the kernel |
///
/// A launch with a slice that is copied back waits for the kernel. PyCUDA's `In`, `InOut` and `Out` of host arrays are these.
///
/// # Safety
/// [`LaunchArgument::describe`] tells the type of the value that the staged argument passes.
pub unsafe trait LaunchArgument {
    /// The argument from the moment when its memory is there.
    type Staged: StagedArgument;

    /// Its type, and the bytes of its value.
    #[doc(hidden)]
    fn describe() -> ArgumentType;

    /// Makes the memory that the argument needs, in the order of `stream`.
    ///
    /// # Errors
    /// Those of [`DeviceVec::from_slice`] for slices of the host.
    #[doc(hidden)]
    fn stage(self, stream: &Stream) -> Result<Self::Staged>;
}

/// An argument whose memory is there.
///
/// # Safety
/// As [`Argument`].
#[doc(hidden)]
pub unsafe trait StagedArgument {
    /// Address of the value to pass.
    fn value(&self) -> *const c_void;

    /// The stream that orders its memory.
    fn home(&self) -> Option<&Stream>;

    /// Gives objects that the value leads to, and that the caller may drop, to the graph that `stream` is captured for.
    ///
    /// # Errors
    /// Those of [`Stream::retain_in_graph`].
    fn retain(&self, _stream: &Stream) -> Result<()> {
        Ok(())
    }

    /// Brings results back to the host.
    ///
    /// # Errors
    /// Those of a copy.
    fn finish(self) -> Result<()>;
}

/// An argument that needs nothing.
#[doc(hidden)]
#[derive(Debug)]
pub struct Direct<A>(A);

// SAFETY: as the argument's own implementation says.
unsafe impl<A: Argument> LaunchArgument for A {
    type Staged = Direct<A>;
    fn describe() -> ArgumentType {
        ArgumentType { cuda_type: A::cuda_type(), bytes: A::bytes() }
    }
    fn stage(self, _stream: &Stream) -> Result<Direct<A>> {
        Ok(Direct(self))
    }
}

// SAFETY: as above.
unsafe impl<A: Argument> StagedArgument for Direct<A> {
    fn value(&self) -> *const c_void {
        self.0.value()
    }
    fn home(&self) -> Option<&Stream> {
        self.0.home()
    }
    fn retain(&self, stream: &Stream) -> Result<()> {
        self.0.retain(stream)
    }
    fn finish(self) -> Result<()> {
        Ok(())
    }
}

/// Memory of the host that a kernel fills: `T *`. The elements that it does not write become zero.
///
/// ```no_run
/// # use gpu_driver::{Device, HostOut, LaunchConfig};
/// # let device = Device::first()?;
/// let squares = device.compile("extern \"C\" __global__ void squares(int *y) { y[threadIdx.x] = threadIdx.x * threadIdx.x; }")?;
/// let mut y = [0i32; 5];
/// // SAFETY: five threads write five elements.
/// unsafe { squares.function("squares")?.launch(LaunchConfig::new(1, 5), (HostOut(&mut y),), &device.stream())? };
/// assert_eq!(y, [0, 1, 4, 9, 16]);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
pub struct HostOut<'a, T: DevicePod>(pub &'a mut [T]);

impl<T: DevicePod> fmt::Debug for HostOut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostOut<{}>(len {})", T::CUDA_NAME, self.0.len())
    }
}

/// A slice of the host in device memory.
#[doc(hidden)]
#[derive(Debug)]
pub struct HostStaged<'a, T: DevicePod> {
    memory: DeviceVec<T>,
    address: CUdeviceptr,
    back: Option<&'a mut [T]>,
}

impl<'a, T: DevicePod> HostStaged<'a, T> {
    fn new(memory: DeviceVec<T>, back: Option<&'a mut [T]>) -> Self {
        Self { address: memory.as_raw(), memory, back }
    }
}

// SAFETY: the address is that of memory which is held until the launch is enqueued, and released in the order of its stream.
unsafe impl<T: DevicePod> StagedArgument for HostStaged<'_, T> {
    fn value(&self) -> *const c_void {
        (&raw const self.address).cast()
    }
    fn home(&self) -> Option<&Stream> {
        Some(self.memory.home())
    }
    fn finish(self) -> Result<()> {
        self.back.map_or(Ok(()), |back| self.memory.copy_to_slice(back))
    }
}

pub(crate) fn pointer<T: DevicePod>(before: &str) -> ArgumentType {
    ArgumentType { cuda_type: format!("{before}{} *", T::CUDA_NAME), bytes: Some(size_of::<CUdeviceptr>()) }
}

macro_rules! host {
    ($(($($generics:tt)*) $read:ty, $written:ty;)*) => {$(
        // SAFETY: a pointer to a copy of the elements, which the kernel reads.
        unsafe impl<'a, $($generics)*> LaunchArgument for $read {
            type Staged = HostStaged<'a, T>;
            fn describe() -> ArgumentType {
                pointer::<T>("const ")
            }
            fn stage(self, stream: &Stream) -> Result<Self::Staged> {
                Ok(HostStaged::new(DeviceVec::from_slice(stream, self)?, None))
            }
        }

        // SAFETY: a pointer to a copy of the elements, which is this launch's own.
        unsafe impl<'a, $($generics)*> LaunchArgument for $written {
            type Staged = HostStaged<'a, T>;
            fn describe() -> ArgumentType {
                pointer::<T>("")
            }
            fn stage(self, stream: &Stream) -> Result<Self::Staged> {
                Ok(HostStaged::new(DeviceVec::from_slice(stream, self)?, Some(self)))
            }
        }
    )*};
}

host! {
    (T: DevicePod) &'a [T], &'a mut [T];
    (T: DevicePod) &'a Vec<T>, &'a mut Vec<T>;
    (T: DevicePod, const N: usize) &'a [T; N], &'a mut [T; N];
}

// SAFETY: as the buffer's `input` says.
unsafe impl<'a, T: DevicePod> LaunchArgument for &'a DeviceVec<T> {
    type Staged = Direct<In<'a, T>>;
    fn describe() -> ArgumentType {
        <In<'a, T> as LaunchArgument>::describe()
    }
    fn stage(self, stream: &Stream) -> Result<Self::Staged> {
        self.input().stage(stream)
    }
}

// SAFETY: as the buffer's `in_out` says.
unsafe impl<'a, T: DevicePod> LaunchArgument for &'a mut DeviceVec<T> {
    type Staged = Direct<InOut<'a, T>>;
    fn describe() -> ArgumentType {
        <InOut<'a, T> as LaunchArgument>::describe()
    }
    fn stage(self, stream: &Stream) -> Result<Self::Staged> {
        self.in_out().stage(stream)
    }
}

// SAFETY: a pointer to memory of this launch alone.
unsafe impl<'a, T: DevicePod> LaunchArgument for HostOut<'a, T> {
    type Staged = HostStaged<'a, T>;
    fn describe() -> ArgumentType {
        pointer::<T>("")
    }
    fn stage(self, stream: &Stream) -> Result<Self::Staged> {
        let memory = DeviceVec::zeros(stream, self.0.len())?;
        // A copy to the host cannot be captured: that is said before anything is enqueued for it.
        stream.not_captured("a launch with memory of the host", &stream.device().enter()?)?;
        Ok(HostStaged::new(memory, Some(self.0)))
    }
}

/// The arguments of a launch of a [`Function`](crate::Function), as a tuple of up to 16 [`LaunchArgument`]s.
///
/// # Safety
/// The lists have one entry per argument, in order.
pub unsafe trait LaunchArguments {
    /// The arguments from the moment when their memory is there.
    type Staged: StagedArguments;

    /// The types, in order.
    #[doc(hidden)]
    fn describe() -> Vec<ArgumentType>;

    /// Makes the memory that they need.
    ///
    /// # Errors
    /// Those of [`LaunchArgument::stage`].
    #[doc(hidden)]
    fn stage(self, stream: &Stream) -> Result<Self::Staged>;
}

/// Arguments whose memory is there.
///
/// # Safety
/// As [`Arguments`](crate::Arguments).
#[doc(hidden)]
pub unsafe trait StagedArguments {
    /// Calls `use_them` with the address of each value.
    fn with_values<R>(&self, use_them: impl FnOnce(&mut [*mut c_void]) -> R) -> R;

    /// Calls `each` with the home of each argument that points to memory; stops at the first error.
    fn for_each_home(&self, each: &mut dyn FnMut(&Stream) -> Result<()>) -> Result<()>;

    /// Calls [`StagedArgument::retain`] of each argument.
    ///
    /// # Errors
    /// The first one.
    fn retain(&self, stream: &Stream) -> Result<()>;

    /// Brings results back to the host.
    ///
    /// # Errors
    /// The first of [`StagedArgument::finish`]; the others are brought back all the same.
    fn finish(self) -> Result<()>;
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        // SAFETY: one entry per element, in order.
        unsafe impl<$($name: LaunchArgument),*> LaunchArguments for ($($name,)*) {
            type Staged = ($($name::Staged,)*);
            fn describe() -> Vec<ArgumentType> {
                vec![$($name::describe()),*]
            }
            #[allow(non_snake_case, clippy::unused_unit, unused_variables)]
            fn stage(self, stream: &Stream) -> Result<Self::Staged> {
                let ($($name,)*) = self;
                Ok(($($name.stage(stream)?,)*))
            }
        }

        // SAFETY: as above.
        unsafe impl<$($name: StagedArgument),*> StagedArguments for ($($name,)*) {
            #[allow(non_snake_case)]
            fn with_values<R>(&self, use_them: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
                let ($($name,)*) = self;
                use_them(&mut [$($name.value().cast_mut()),*])
            }
            #[allow(non_snake_case, unused_variables)]
            fn for_each_home(&self, each: &mut dyn FnMut(&Stream) -> Result<()>) -> Result<()> {
                let ($($name,)*) = self;
                $(if let Some(home) = $name.home() { each(home)?; })*
                Ok(())
            }
            #[allow(non_snake_case, unused_variables)]
            fn retain(&self, stream: &Stream) -> Result<()> {
                let ($($name,)*) = self;
                $($name.retain(stream)?;)*
                Ok(())
            }
            #[allow(non_snake_case, unused_mut)]
            fn finish(self) -> Result<()> {
                let ($($name,)*) = self;
                let mut outcome = Ok(());
                $(outcome = outcome.and($name.finish());)*
                outcome
            }
        }
    )*};
}

tuples! {
    () (A) (A B) (A B C) (A B C D) (A B C D E_) (A B C D E_ F) (A B C D E_ F G) (A B C D E_ F G H) (A B C D E_ F G H I)
    (A B C D E_ F G H I J) (A B C D E_ F G H I J K) (A B C D E_ F G H I J K L) (A B C D E_ F G H I J K L M)
    (A B C D E_ F G H I J K L M N) (A B C D E_ F G H I J K L M N O) (A B C D E_ F G H I J K L M N O P)
}
