//! Variables of loaded programs: `__device__` and `__constant__` memory by name.

use std::{ffi::CString, fmt, marker::PhantomData};

use crate::raw::CUdeviceptr;

use crate::{CudaCode, DevicePod, DriverError, Module, Result, Stream, memory::same_len, module::same_device, sys};

/// A variable of a program, a number or an array of them. It keeps its program loaded.
///
/// Constant memory is written before the launches that read it, in the order of their stream:
/// ```no_run
/// use gpu_driver::{Device, HostOut, LaunchConfig};
///
/// let device = Device::first()?;
/// let stream = device.stream();
/// let module = device.compile(r#"
///     __constant__ float weights[3];
///     __device__ unsigned launches;
///     extern "C" __global__ void weigh(const float *x, float *y) {
///         y[threadIdx.x] = weights[threadIdx.x] * x[threadIdx.x];
///         if (threadIdx.x == 0) ++launches;
///     }"#)?;
/// let weights = module.global::<f32>("weights")?;
/// weights.write(&[0.5, 1.0, 2.0], &stream)?;
/// let mut y = [0.0f32; 3];
/// // SAFETY: three threads read three elements and write three.
/// unsafe { module.function("weigh")?.launch(LaunchConfig::new(1, 3), (&[1.0f32; 3], HostOut(&mut y)), &stream)? };
/// assert_eq!(y, [0.5, 1.0, 2.0]);
/// assert_eq!(module.global::<u32>("launches")?.read(&stream)?, [1]);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
pub struct Global<T: DevicePod> {
    module: Module,
    address: CUdeviceptr,
    len: usize,
    _elements: PhantomData<T>,
}

impl Module {
    /// The variable of that name, as elements of type `T`: its memory in the loaded program.
    ///
    /// The name is the plain one for a variable outside of namespaces; one within a namespace has a mangled name.
    ///
    /// # Errors
    /// `NoVariable`; `Length` where the variable's bytes are no whole number of elements; `Nul`; `DeviceLost`.
    #[doc(alias = "get_global")]
    pub fn global<T: DevicePod>(&self, name: &str) -> Result<Global<T>> {
        let c_name = CString::new(name).map_err(|_| DriverError::Nul { text: "a variable's name" })?;
        let device = self.device();
        let _current = device.enter()?;
        let (mut address, mut bytes) = (0, 0usize);
        // SAFETY: the pointers are valid for the call; module and name are alive.
        let code = unsafe { sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, self.raw(), c_name.as_ptr()) };
        device.check("cuModuleGetGlobal", code).map_err(|error| match error {
            DriverError::Cuda { code: CudaCode::NOT_FOUND | CudaCode::INVALID_VALUE, .. } => {
                DriverError::NoVariable { name: name.to_owned() }
            }
            other => other,
        })?;
        let element = size_of::<T>();
        if element == 0 || !bytes.is_multiple_of(element) || !address.is_multiple_of(align_of::<T>() as CUdeviceptr) {
            let expected = format!("a variable of whole `{}` of {element} bytes", T::CUDA_NAME);
            return Err(DriverError::Length {
                op: "Module::global",
                expected,
                got: format!("`{name}` of {bytes} bytes"),
            });
        }
        Ok(Global { module: self.clone(), address, len: bytes / element, _elements: PhantomData })
    }
}

#[expect(clippy::len_without_is_empty, reason = "C++ has no variable without elements")]
impl<T: DevicePod> Global<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The address on the device, for kernels that take a pointer. It is good as long as this value.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.address
    }

    /// The elements, after waiting for the work that `stream` holds.
    ///
    /// # Errors
    /// `WrongDevice`; `InCapture`; `DeviceLost`.
    pub fn read(&self, stream: &Stream) -> Result<Vec<T>> {
        const OP: &str = "Global::read";
        same_device(OP, self.module.device(), stream.device())?;
        let current = stream.device().enter()?;
        let _uncaptured = stream.uncaptured(OP, &current)?;
        // SAFETY: zero bytes are a valid value of a `DevicePod`.
        let mut host: Vec<T> = vec![unsafe { std::mem::zeroed() }; self.len];
        let bytes = size_of_val(host.as_slice());
        // SAFETY: both have that many bytes, and the copy ends before this function returns.
        let code = unsafe { sys::cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), self.address, bytes, stream.as_raw()) };
        stream.device().check("cuMemcpyDtoHAsync", code)?;
        stream.synchronize_entered(&current)?;
        Ok(host)
    }

    /// Overwrites the elements behind the work that `stream` holds. Returns when `values` has been read.
    ///
    /// # Errors
    /// `Length` unless there are as many values as elements; `WrongDevice`; `InCapture`; `DeviceLost`.
    pub fn write(&self, values: &[T], stream: &Stream) -> Result<()> {
        const OP: &str = "Global::write";
        same_len(OP, self.len, values.len())?;
        same_device(OP, self.module.device(), stream.device())?;
        let current = stream.device().enter()?;
        let _uncaptured = stream.uncaptured(OP, &current)?;
        let bytes = size_of_val(values);
        // SAFETY: both have that many bytes, and the copy ends before this function returns.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(self.address, values.as_ptr().cast(), bytes, stream.as_raw()) };
        stream.device().check("cuMemcpyHtoDAsync", code)?;
        stream.synchronize_entered(&current)
    }
}

impl<T: DevicePod> fmt::Debug for Global<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Global<{}>(len {}, device {})", T::CUDA_NAME, self.len, self.module.device().ordinal())
    }
}
