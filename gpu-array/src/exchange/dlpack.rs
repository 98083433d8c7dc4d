//! DLPack: tensors that libraries of one process hand each other, with a function that gives them back.
//!
//! The structures are those of `dlpack.h`, version 1.1 (<https://github.com/dmlc/dlpack>): the versioned one, and the one of versions before 1.0 that
//! Python capsules named `dltensor` hold.

use std::{
    ffi::c_void,
    fmt,
    ptr::{NonNull, null_mut},
};

use gpu_driver::Stream;
use ndarray::Dimension;

use super::foreign::{ForeignArray, ForeignMemory};
use crate::{ArrayError, DType, Element, GpuArray, Result};

/// `DLPACK_FLAG_BITMASK_READ_ONLY`: the tensor must not be written.
pub const FLAG_READ_ONLY: u64 = 1;
/// `DLPACK_FLAG_BITMASK_IS_COPIED`: the tensor is a copy, made when it was exported.
pub const FLAG_IS_COPIED: u64 = 2;

/// The version whose structures these are.
const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };
const OP: &str = "ForeignArray::from_dlpack";
/// `kDLCUDA`.
const CUDA: i32 = 2;
/// `kDLCUDAManaged`.
const CUDA_MANAGED: i32 = 13;

/// `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of dlpack.h")]
pub struct DLPackVersion {
    pub major: u32,
    pub minor: u32,
}

/// `DLDevice`: the kind of memory (2 for CUDA), and the number of the device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of dlpack.h")]
pub struct DLDevice {
    pub device_type: i32,
    pub device_id: i32,
}

/// `DLDataType`: the kind of number (0 integer, 1 unsigned, 2 float, 4 bfloat16, 5 complex, 6 bool), bits, and lanes of a vector.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of dlpack.h")]
pub struct DLDataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// `DLTensor`: strides are counted in elements, and are null for C order before version 1.2.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are those of dlpack.h")]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// `DLManagedTensor`, of versions before 1.0.
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "the names are those of dlpack.h")]
pub struct DLManagedTensor {
    pub dl_tensor: DLTensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "the names are those of dlpack.h")]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    pub flags: u64,
    pub dl_tensor: DLTensor,
}

impl DType {
    /// The type as DLPack has it, one value each.
    pub const fn dlpack(self) -> DLDataType {
        let code = match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => 0,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => 1,
            Self::F16 | Self::F32 | Self::F64 => 2,
            Self::BF16 => 4,
            Self::C64 | Self::C128 => 5,
            Self::Bool => 6,
        };
        DLDataType { code, bits: (8 * self.bytes()) as u8, lanes: 1 }
    }

    /// The type that DLPack has as that; None for one that no array here has, such as the floats of 8 bits, and for vectors.
    ///
    /// ```
    /// use gpu_array::{DType, exchange::DLDataType};
    /// assert_eq!(DType::from_dlpack(DLDataType { code: 4, bits: 16, lanes: 1 }), Some(DType::BF16));
    /// assert_eq!(DType::from_dlpack(DLDataType { code: 2, bits: 32, lanes: 4 }), None);
    /// ```
    pub fn from_dlpack(dtype: DLDataType) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.dlpack() == dtype)
    }
}

macro_rules! owners {
    ($($(#[$doc:meta])* $name:ident, $tensor:ident, $version:expr, $flags:expr, $from:ident;)*) => {$(
        $(#[$doc])*
        pub struct $name(NonNull<$tensor>);

        // SAFETY: the tensor is plain data behind one pointer, and a deleter may be called from any thread (those of this crate; for others that is the
        // promise of `from_raw`).
        unsafe impl Send for $name {}
        // SAFETY: shared access only reads.
        unsafe impl Sync for $name {}

        impl $name {
            /// The tensor of a library that gives it up. Null is None.
            ///
            /// # Safety
            /// The pointer leads to a valid tensor, which nobody else deletes. Its deleter may be called from any thread.
            pub unsafe fn from_raw(tensor: *mut $tensor) -> Option<Self> {
                NonNull::new(tensor).map(Self)
            }

            /// The tensor, whose deleter the receiver calls once.
            pub fn into_raw(self) -> *mut $tensor {
                let raw = self.0.as_ptr();
                std::mem::forget(self);
                raw
            }

            /// The tensor, to look at.
            pub fn tensor(&self) -> &DLTensor {
                // SAFETY: it is alive until the deleter is called.
                unsafe { &self.0.as_ref().dl_tensor }
            }

            /// The major version and the flags.
            fn version_and_flags(&self) -> (u32, u64) {
                // SAFETY: as above.
                let tensor: &$tensor = unsafe { self.0.as_ref() };
                (($version)(tensor), ($flags)(tensor))
            }

            /// Wraps the array that `keeper` keeps.
            fn of(keeper: Box<Keeper<$tensor>>) -> Self {
                let keeper = Box::leak(keeper);
                let context = std::ptr::from_mut(keeper).cast();
                keeper.managed.manager_ctx = context;
                Self(NonNull::from(&mut keeper.managed))
            }

            unsafe extern "C" fn delete(tensor: *mut $tensor) {
                if !tensor.is_null() {
                    // SAFETY: `of` set it to the keeper, which was a box; a deleter is called once.
                    drop(unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Keeper<$tensor>>()) });
                }
            }
        }

        impl Drop for $name {
            /// Calls the deleter.
            fn drop(&mut self) {
                // SAFETY: the tensor is alive, and this is its only owner.
                unsafe {
                    if let Some(deleter) = self.0.as_ref().deleter {
                        deleter(self.0.as_ptr());
                    }
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.tensor())
            }
        }

        impl<T: Element, D: Dimension> ForeignArray<T, D> {
            /// The array that another library gives as a DLPack tensor, without a copy. `home` orders all work on it.
            ///
            /// # Errors
            /// `Exchange` for another element type, for a tensor of another device or kind of memory, and for another major version; `Ndim`; the errors of
            /// [`ForeignArray::from_raw`]. The deleter has been called then.
            ///
            /// # Safety
            /// The elements are ready on `home` (in Python the tensor was asked for with `stream=` its handle), and nobody writes to them, or reads elements
            /// that are written through the array, but in an order with `home`, until the deleter is called. The deleter may be called from any thread.
            pub unsafe fn $from(home: &Stream, tensor: $name) -> Result<Self> {
                let (major, flags) = tensor.version_and_flags();
                if major != VERSION.major {
                    let (expected, got) = (format!("DLPack {}", VERSION.major), format!("DLPack {major}"));
                    return Err(ArrayError::Exchange { op: OP, expected, got });
                }
                let (facts, is_read_only) = (*tensor.tensor(), flags & FLAG_READ_ONLY != 0);
                // SAFETY: as the caller promises; the tensor owns its memory.
                unsafe { of_tensor(home, &facts, is_read_only, tensor) }
            }
        }
    )*};
}

owners! {
    /// A tensor of DLPack 1.0 and later, with its deleter, which the drop calls: a Python capsule named `dltensor_versioned` holds one.
    DlPack, DLManagedTensorVersioned, |tensor: &DLManagedTensorVersioned| tensor.version.major,
    |tensor: &DLManagedTensorVersioned| tensor.flags, from_dlpack;
    /// A tensor of DLPack before 1.0, with its deleter, which the drop calls: a Python capsule named `dltensor` holds one.
    DlPackUnversioned, DLManagedTensor, |_: &DLManagedTensor| VERSION.major, |_: &DLManagedTensor| 0, from_dlpack_unversioned;
}

/// An array that was given out, behind its tensor.
struct Keeper<M> {
    managed: M,
    /// Shape and strides, which the tensor points to.
    _lengths: Box<[i64]>,
    _strides: Box<[i64]>,
    _data: Box<dyn Send + Sync>,
}

impl<T: Element, D: Dimension> GpuArray<T, D> {
    /// The array as a DLPack tensor, which another library takes without a copy. The memory goes back when the deleter is called.
    ///
    /// The receiver must wait for the array's stream ([the module's page](crate::exchange)).
    ///
    /// # Errors
    /// That of an operator such as `+=` on the array.
    ///
    /// ```no_run
    /// # let device = gpu_array::gpu_driver::Device::first()?;
    /// let x = gpu_array::GpuArray::<f32, _>::zeros(&device, (2, 3))?;
    /// x.stream().synchronize()?; // or the receiver's stream waits for it
    /// let tensor = x.into_dlpack()?.into_raw(); // for PyCapsule_New(tensor, "dltensor_versioned", …)
    /// # Ok::<(), gpu_array::ArrayError>(())
    /// ```
    pub fn into_dlpack(self) -> Result<DlPack> {
        let dl_tensor = self.tensor()?;
        let (version, deleter) = (VERSION, Some(DlPack::delete as unsafe extern "C" fn(_)));
        let managed = DLManagedTensorVersioned { version, manager_ctx: null_mut(), deleter, flags: 0, dl_tensor };
        Ok(DlPack::of(self.keeper(managed, |managed| &mut managed.dl_tensor)))
    }

    /// [`GpuArray::into_dlpack`] as libraries before DLPack 1.0 take it.
    ///
    /// # Errors
    /// Those of [`GpuArray::into_dlpack`].
    pub fn into_dlpack_unversioned(self) -> Result<DlPackUnversioned> {
        let dl_tensor = self.tensor()?;
        let deleter = Some(DlPackUnversioned::delete as unsafe extern "C" fn(_));
        let managed = DLManagedTensor { dl_tensor, manager_ctx: null_mut(), deleter };
        Ok(DlPackUnversioned::of(self.keeper(managed, |managed| &mut managed.dl_tensor)))
    }

    /// The facts, without shape and strides.
    fn tensor(&self) -> Result<DLTensor> {
        self.view().covering()?;
        let device_id = self.stream().device().ordinal() as i32;
        Ok(DLTensor {
            data: self.as_device_vec().as_raw() as *mut c_void,
            device: DLDevice { device_type: CUDA, device_id },
            ndim: self.ndim() as i32,
            dtype: T::DTYPE.dlpack(),
            shape: null_mut(),
            strides: null_mut(),
            byte_offset: 0,
        })
    }

    fn keeper<M>(self, mut managed: M, tensor: impl FnOnce(&mut M) -> &mut DLTensor) -> Box<Keeper<M>> {
        let mut lengths: Box<[i64]> = self.shape().iter().map(|&length| length as i64).collect();
        let mut strides: Box<[i64]> = self.strides().iter().map(|&stride| stride as i64).collect();
        let facts = tensor(&mut managed);
        (facts.shape, facts.strides) = (lengths.as_mut_ptr(), strides.as_mut_ptr());
        let (data, _, _) = self.into_parts();
        Box::new(Keeper { managed, _lengths: lengths, _strides: strides, _data: Box::new(data) })
    }
}

/// # Safety
/// That of `from_dlpack`: the facts are those of a valid tensor, whose memory `owner` has.
unsafe fn of_tensor<T: Element, D: Dimension>(
    home: &Stream,
    facts: &DLTensor,
    is_read_only: bool,
    owner: impl Send + Sync + 'static,
) -> Result<ForeignArray<T, D>> {
    let refused = |expected: String, got: String| Err(ArrayError::Exchange { op: OP, expected, got });
    let wanted = T::DTYPE.dlpack();
    if facts.dtype != wanted {
        return refused(format!("{} ({wanted:?})", T::DTYPE), format!("{:?}", facts.dtype));
    }
    let ordinal = home.device().ordinal() as i32;
    let is_here = matches!(facts.device.device_type, CUDA | CUDA_MANAGED) && facts.device.device_id == ordinal;
    if !is_here {
        return refused(format!("memory of CUDA's device {ordinal}"), format!("{:?}", facts.device));
    }
    let Ok(ndim) = usize::try_from(facts.ndim) else { return refused("a rank".to_owned(), facts.ndim.to_string()) };
    let numbers = |first: *const i64| -> Vec<i64> {
        // SAFETY: a valid tensor has as many numbers there as axes; null stands for none.
        if first.is_null() { Vec::new() } else { unsafe { std::slice::from_raw_parts(first, ndim) }.to_vec() }
    };
    let lengths: std::result::Result<Vec<usize>, _> = numbers(facts.shape).into_iter().map(usize::try_from).collect();
    let Ok(shape) = lengths else { return refused("lengths".to_owned(), format!("{:?}", numbers(facts.shape))) };
    if shape.len() != ndim {
        return refused(format!("{ndim} lengths"), "none".to_owned());
    }
    let strides: Vec<isize> = numbers(facts.strides).into_iter().map(|stride| stride as isize).collect();
    let strides = (!facts.strides.is_null()).then_some(&strides[..]);
    let address = (facts.data as u64).wrapping_add(facts.byte_offset);
    let memory = ForeignMemory { address, shape: &shape, strides, is_read_only };
    // SAFETY: as the caller promises.
    unsafe { ForeignArray::at(home, memory, None, owner) }
}
