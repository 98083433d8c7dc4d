//! Shapes of launches.

/// Threads or blocks along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Along x.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self { x, y, z }
    }
}

impl From<Dim3> for [u32; 3] {
    fn from(dim: Dim3) -> Self {
        [dim.x, dim.y, dim.z]
    }
}

/// Shape of a launch.
///
/// ```
/// use gpu_driver::LaunchConfig;
/// let config = LaunchConfig::for_elements(1000);
/// assert_eq!((config.grid.x, config.block.x), (4, 256));
/// let tiles = LaunchConfig::new((8, 8), (16, 16)).shared_bytes(2048);
/// assert_eq!((tiles.grid.y, tiles.block.y, tiles.shared_bytes), (8, 16, 2048));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// Threads of a block of [`LaunchConfig::for_elements`].
    pub const ELEMENT_THREADS: u32 = 256;

    /// A grid of `grid` blocks of `block` threads, without dynamic shared memory.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_bytes: 0 }
    }

    /// A thread for each of `n` elements, in blocks of 256: at least `n` threads, so the kernel checks its index, `if (i < n)`.
    ///
    /// One block where `n` is 0. Beyond 256 (2^31 - 1) elements, about 5.5e11, the grid has as many blocks as CUDA allows.
    pub fn for_elements(n: usize) -> Self {
        let blocks = n.div_ceil(Self::ELEMENT_THREADS as usize).clamp(1, i32::MAX as usize);
        Self::new(blocks as u32, Self::ELEMENT_THREADS)
    }

    /// This shape with that much dynamic shared memory for each block.
    #[must_use]
    pub fn shared_bytes(self, shared_bytes: u32) -> Self {
        Self { shared_bytes, ..self }
    }
}
