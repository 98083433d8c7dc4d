//! Facts of a loaded kernel, and how many of its blocks fit.

use crate::{CacheConfig, Function, Result, sys};

/// The resources that a kernel takes, as its compiler left them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// Most threads of a block: fewer than the device's, where registers or launch bounds ask for it.
    pub max_threads_per_block: u32,
    /// Shared memory of a block that the text declares, in bytes.
    pub shared_bytes: u32,
    /// Constant memory of the kernel, in bytes.
    pub const_bytes: u32,
    /// Local memory of a thread, in bytes: spilled registers and arrays.
    pub local_bytes: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// The version of PTX it was made from, 90 for 9.0.
    pub ptx_version: u32,
    /// The architecture of its machine code, 90 for sm_90.
    pub binary_version: u32,
    /// Most dynamic shared memory of a block, in bytes; a launch that asks for more raises it.
    pub max_dynamic_shared_bytes: u32,
}

impl Function {
    /// The kernel's resources. On the emulated device registers are a fixed number, and static shared, constant and local bytes 0.
    ///
    /// # Errors
    /// The driver's error.
    #[doc(alias("num_regs", "local_size_bytes", "get_attribute"))]
    pub fn attributes(&self) -> Result<FunctionAttributes> {
        let device = self.device();
        let _current = device.enter()?;
        let read = |attribute| {
            let mut value = 0;
            // SAFETY: the pointer is valid for the call, the function is alive.
            let code = unsafe { sys::cuFuncGetAttribute(&mut value, attribute, self.raw()) };
            device.check("cuFuncGetAttribute", code)?;
            Ok::<_, crate::DriverError>(u32::try_from(value).unwrap_or(0))
        };
        Ok(FunctionAttributes {
            max_threads_per_block: read(0)?,
            shared_bytes: read(1)?,
            const_bytes: read(2)?,
            local_bytes: read(3)?,
            registers: read(4)?,
            ptx_version: read(5)?,
            binary_version: read(6)?,
            max_dynamic_shared_bytes: read(8)?,
        })
    }

    /// Says how the kernel uses the memory that cache and shared memory share: a hint.
    ///
    /// # Errors
    /// The driver's error.
    pub fn set_cache_config(&self, config: CacheConfig) -> Result<()> {
        let _current = self.device().enter()?;
        // SAFETY: the function is alive; the driver checks the value.
        let code = unsafe { sys::cuFuncSetCacheConfig(self.raw(), config as i32) };
        self.device().check("cuFuncSetCacheConfig", code)
    }

    /// Blocks of `threads` threads and that much dynamic shared memory that fit a multiprocessor side by side; 0 for a block that the kernel cannot be
    /// launched with.
    ///
    /// # Errors
    /// `SharedMemory` for more than the device has; else the driver's error.
    #[doc(alias = "occupancy")]
    pub fn max_active_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32> {
        self.allow_shared(shared_bytes)?;
        let _current = self.device().enter()?;
        let (mut blocks, size) = (0, i32::try_from(threads).unwrap_or(i32::MAX));
        // SAFETY: the pointer is valid for the call; the driver checks the numbers.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.raw(), size, shared_bytes as usize)
        };
        self.device().check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// The part of a multiprocessor's warps that are there when it is full of blocks of `threads` threads and that much dynamic shared memory: 0 to 1.
    ///
    /// # Errors
    /// Those of [`Function::max_active_blocks`].
    #[doc(alias = "OccupancyRecord")]
    pub fn occupancy(&self, threads: u32, shared_bytes: u32) -> Result<f64> {
        let (blocks, data) = (self.max_active_blocks(threads, shared_bytes)?, self.device().data()?);
        let warps = threads.div_ceil(data.warp_size.max(1));
        Ok(f64::from(blocks) * f64::from(warps) / f64::from(data.warps_per_multiprocessor.max(1)))
    }

    /// Threads of a block with which most threads of the device are busy, and the least number of such blocks that fill it, for blocks with that much
    /// dynamic shared memory. Kernels whose shared memory depends on the number of threads need [`Function::max_active_blocks`].
    ///
    /// # Errors
    /// `SharedMemory` for more than the device has; else the driver's error.
    ///
    /// ```no_run
    /// # use gpu_driver::{Device, LaunchConfig};
    /// # let device = Device::first()?;
    /// # let kernel = device.compile("extern \"C\" __global__ void f() {}")?.function("f")?;
    /// let (threads, blocks) = kernel.suggested_block(0)?;
    /// let config = LaunchConfig::new(blocks, threads); // with a loop over the elements
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias = "max_potential_block_size")]
    pub fn suggested_block(&self, shared_bytes: u32) -> Result<(u32, u32)> {
        self.allow_shared(shared_bytes)?;
        let _current = self.device().enter()?;
        let (mut blocks, mut threads) = (0, 0);
        // SAFETY: the pointers are valid for the call; no callback, no limit.
        let code = unsafe {
            sys::cuOccupancyMaxPotentialBlockSize(&mut blocks, &mut threads, self.raw(), None, shared_bytes as usize, 0)
        };
        self.device().check("cuOccupancyMaxPotentialBlockSize", code)?;
        Ok((u32::try_from(threads).unwrap_or(0), u32::try_from(blocks).unwrap_or(0)))
    }
}
