//! The facts of a device by which launches are planned.

use super::Attribute;
use crate::{Device, Result};

/// The facts of a device by which launches are planned, as PyCUDA's class of that name has them.
///
/// The units in which a multiprocessor gives out registers and shared memory are the driver's alone: it takes them into account in
/// [`Function::max_active_blocks`](crate::Function::max_active_blocks) and [`Function::occupancy`](crate::Function::occupancy).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceData {
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Most threads of a block.
    pub max_threads_per_block: u32,
    /// Most threads of a block along x, y, z.
    pub max_block: [u32; 3],
    /// Most blocks of a grid along x, y, z.
    pub max_grid: [u32; 3],
    /// Most warps that a multiprocessor holds.
    pub warps_per_multiprocessor: u32,
    /// Most blocks that a multiprocessor holds.
    pub blocks_per_multiprocessor: u32,
    /// Registers of 32 bits that a block can have.
    pub registers_per_block: u32,
    /// Registers of 32 bits of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Shared memory that a kernel may declare, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory that a launch may ask for, in bytes.
    pub dynamic_shared_bytes_per_block: u32,
    /// Shared memory of each block that the driver keeps for itself, in bytes.
    pub reserved_shared_bytes_per_block: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// The cache that all multiprocessors share, in bytes.
    pub l2_bytes: u32,
    /// The clock of the multiprocessors, in kHz.
    pub clock_khz: u32,
}

impl Device {
    /// The facts of the device by which launches are planned.
    ///
    /// # Errors
    /// The driver's error.
    ///
    /// ```no_run
    /// let data = gpu_driver::Device::first()?.data()?;
    /// println!("{} threads at once", data.multiprocessors * data.warps_per_multiprocessor * data.warp_size);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("DeviceData", "characterize", "cudaGetDeviceProperties"))]
    pub fn data(&self) -> Result<DeviceData> {
        let warp_size = self.attribute(Attribute::WARP_SIZE)?;
        Ok(DeviceData {
            multiprocessors: self.multiprocessors()?,
            warp_size,
            max_threads_per_block: self.attribute(Attribute::MAX_THREADS_PER_BLOCK)?,
            max_block: [
                self.attribute(Attribute::MAX_BLOCK_DIM_X)?,
                self.attribute(Attribute::MAX_BLOCK_DIM_Y)?,
                self.attribute(Attribute::MAX_BLOCK_DIM_Z)?,
            ],
            max_grid: [
                self.attribute(Attribute::MAX_GRID_DIM_X)?,
                self.attribute(Attribute::MAX_GRID_DIM_Y)?,
                self.attribute(Attribute::MAX_GRID_DIM_Z)?,
            ],
            warps_per_multiprocessor: self.attribute(Attribute::MAX_THREADS_PER_MULTIPROCESSOR)? / warp_size.max(1),
            blocks_per_multiprocessor: self.attribute(Attribute::MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            registers_per_block: self.attribute(Attribute::MAX_REGISTERS_PER_BLOCK)?,
            registers_per_multiprocessor: self.attribute(Attribute::MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            shared_bytes_per_block: self.attribute(Attribute::MAX_SHARED_MEMORY_PER_BLOCK)?,
            dynamic_shared_bytes_per_block: self.attribute(Attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            reserved_shared_bytes_per_block: self.attribute(Attribute::RESERVED_SHARED_MEMORY_PER_BLOCK)?,
            shared_bytes_per_multiprocessor: self.attribute(Attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            l2_bytes: self.attribute(Attribute::L2_CACHE_SIZE)?,
            clock_khz: self.attribute(Attribute::CLOCK_RATE)?,
        })
    }
}
