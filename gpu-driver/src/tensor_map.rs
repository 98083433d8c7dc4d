//! Tensor maps: boxes of tensors in device memory that a kernel copies into shared memory with one instruction.

use std::ffi::c_int;

use crate::{Device, DevicePod, DriverError, Header, Result, sys};

/// The C++ types `gpu::TensorMap` and `gpu::CopyBarrier`, and `gpu::copy_box`: bulk copies of boxes of a tensor into shared memory.
pub const TENSOR_COPY: Header = Header { name: "tensor_copy.cuh", text: include_str!("prelude/tensor_copy.cuh") };

/// The C++ functions `gpu::multiply_add` and their kin: products of tiles in shared memory by the tensor cores of architecture 9.0, for programs that
/// are [`Program::architecture_specific`](crate::Program::architecture_specific); elsewhere by each thread. Needs [`TENSOR_COPY`].
pub const WARPGROUP: Header = Header { name: "warpgroup.cuh", text: include_str!("prelude/warpgroup.cuh") };

/// The C++ type `gpu::WarpFactors`: products of tiles in shared memory by the tensor cores of architectures from 8.0 on, of one warp; elsewhere by each
/// thread. Needs [`TENSOR_COPY`] and [`WARPGROUP`], whose tiles it takes.
pub const WARP_PRODUCTS: Header = Header { name: "warp_products.cuh", text: include_str!("prelude/warp_products.cuh") };

/// The C++ type `gpu::SharedAddress`: an address in shared memory of 32 bits, for loops in which pointers of 64 bits cost instructions and registers.
pub const SHARED_ADDRESS: Header =
    Header { name: "shared_address.cuh", text: include_str!("prelude/shared_address.cuh") };

/// The arrangement of a box in shared memory: its rows have as many bytes, and their chunks of 16 bytes change places so that a column of chunks lies
/// in different banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// Rows of any multiple of 16 bytes, as they are.
    #[default]
    None,
    /// Rows of 64 bytes.
    Rows64,
    /// Rows of 128 bytes.
    Rows128,
}

impl Swizzle {
    /// `CUtensorMapSwizzle`.
    fn code(self) -> c_int {
        match self {
            Self::None => 0,
            Self::Rows64 => 2,
            Self::Rows128 => 3,
        }
    }

    /// The most bytes of a row of a box.
    fn most_row_bytes(self) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Rows64 => 64,
            Self::Rows128 => 128,
        }
    }
}

/// A tensor of three axes in device memory, and the size of the boxes that are copied.
///
/// Elements along the first axis are neighbours.
#[derive(Clone, Copy, Debug)]
pub struct TensorLayout {
    /// The address of the first element, a multiple of 16.
    pub address: u64,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub element_bytes: usize,
    /// Elements along each axis, from 1 to 2^32.
    pub lengths: [u64; 3],
    /// Bytes from one index to the next of the second and the third axis: multiples of 16 below 2^40.
    pub strides: [u64; 2],
    /// Elements of a box along each axis, from 1 to 256. A row of it is a multiple of 16 bytes.
    pub box_lengths: [u32; 3],
    /// The arrangement of a box in shared memory.
    pub swizzle: Swizzle,
}

/// The driver's description of a [`TensorLayout`], as a kernel takes it: `const __grid_constant__ gpu::TensorMap map` of [`TENSOR_COPY`].
///
/// It holds an address and keeps no memory alive.
///
/// ```no_run
/// use gpu_driver::{Device, DeviceVec, Swizzle, TensorLayout, TensorMap};
///
/// let device = Device::first()?;
/// let x = DeviceVec::<f32>::zeros(&device.stream(), 1000 * 64)?; // 1000 rows
/// let map = TensorMap::new(&device, &TensorLayout {
///     address: x.as_raw(),
///     element_bytes: 4,
///     lengths: [64, 1000, 1],
///     strides: [64 * 4, 1000 * 64 * 4],
///     box_lengths: [32, 128, 1], // 128 rows of 32 elements
///     swizzle: Swizzle::Rows128,
/// })?;
/// # let _ = map;
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct TensorMap([u64; 16]);

// SAFETY: 128 bytes without padding, of any value; tensor_copy.cuh has the same size and alignment.
unsafe impl DevicePod for TensorMap {
    const CUDA_NAME: &'static str = "gpu::TensorMap";
}

impl TensorMap {
    /// Describes a tensor. Architectures before 9.0 have none.
    ///
    /// # Errors
    /// `Length` for a layout that breaks a rule of [`TensorLayout`]; `Cuda` with `NOT_SUPPORTED` where the driver or the device knows no tensor maps.
    pub fn new(device: &Device, layout: &TensorLayout) -> Result<Self> {
        layout.check()?;
        let TensorLayout { address, element_bytes, lengths, strides, box_lengths, swizzle } = layout;
        // Copies move bytes: unsigned integers of that size stand for all elements.
        let element = match element_bytes {
            1 => 0,
            2 => 1,
            4 => 2,
            _ => 4,
        };
        let mut map = Self([0; 16]);
        let _current = device.enter()?;
        const RANK: u32 = 3;
        const PROMOTION_256: c_int = 3;
        // SAFETY: the map is 128 bytes at a multiple of 64, and each list has as many numbers as the rank says; the driver copies them.
        let code = unsafe {
            sys::cuTensorMapEncodeTiled(
                (&raw mut map).cast(),
                element,
                RANK,
                *address as usize as *mut _,
                lengths.as_ptr(),
                strides.as_ptr(),
                box_lengths.as_ptr(),
                [1; RANK as usize].as_ptr(),
                0,
                swizzle.code(),
                PROMOTION_256,
                0,
            )
        };
        device.check("cuTensorMapEncodeTiled", code)?;
        Ok(map)
    }
}

impl TensorLayout {
    fn check(&self) -> Result<()> {
        let row_bytes = u64::from(self.box_lengths[0]) * self.element_bytes as u64;
        let length = |expected: &str, got: String| {
            Err(DriverError::Length { op: "TensorMap::new", expected: expected.to_owned(), got })
        };
        if !matches!(self.element_bytes, 1 | 2 | 4 | 8) {
            return length("elements of 1, 2, 4 or 8 bytes", self.element_bytes.to_string());
        }
        if !self.address.is_multiple_of(16) {
            return length("an address that is a multiple of 16", format!("{:#x}", self.address));
        }
        if !self.lengths.iter().all(|&length| (1..=1 << 32).contains(&length)) {
            return length("lengths from 1 to 2^32", format!("{:?}", self.lengths));
        }
        if !self.strides.iter().all(|&stride| stride.is_multiple_of(16) && stride < 1 << 40) {
            return length("strides that are multiples of 16 bytes below 2^40", format!("{:?}", self.strides));
        }
        if !self.box_lengths.iter().all(|&length| (1..=256).contains(&length)) {
            return length("a box of 1 to 256 elements along each axis", format!("{:?}", self.box_lengths));
        }
        if !row_bytes.is_multiple_of(16) || row_bytes > self.swizzle.most_row_bytes() {
            let expected = "a box whose rows are multiples of 16 bytes and no longer than the swizzled ones";
            return length(expected, format!("{row_bytes} bytes, {:?}", self.swizzle));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_of_a_layout_is_checked() {
        let right = TensorLayout {
            address: 0x1000,
            element_bytes: 2,
            lengths: [64, 10, 1],
            strides: [128, 1280],
            box_lengths: [64, 8, 1],
            swizzle: Swizzle::Rows128,
        };
        assert!(right.check().is_ok());
        let wrong = [
            (TensorLayout { element_bytes: 3, ..right }, "1, 2, 4 or 8 bytes"),
            (TensorLayout { address: 0x1008, ..right }, "multiple of 16"),
            (TensorLayout { lengths: [64, 0, 1], ..right }, "from 1 to 2^32"),
            (TensorLayout { strides: [136, 1280], ..right }, "multiples of 16 bytes"),
            (TensorLayout { strides: [128, 1 << 40], ..right }, "below 2^40"),
            (TensorLayout { box_lengths: [64, 257, 1], ..right }, "1 to 256"),
            (TensorLayout { box_lengths: [72, 8, 1], ..right }, "no longer than the swizzled ones"),
            (TensorLayout { box_lengths: [4, 8, 1], ..right }, "multiples of 16 bytes"),
        ];
        for (layout, part) in wrong {
            let text = layout.check().unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
    }
}
