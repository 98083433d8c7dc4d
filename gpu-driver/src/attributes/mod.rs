//! Facts of a device: attributes by name here; limits, cache preference, identity, and the choice of a device by them in `device.rs`.

use std::{fmt, str::FromStr};

use crate::{DriverError, Result};

mod data;
mod device;

pub use data::DeviceData;
pub use device::{CacheConfig, Limit};

/// An attribute of a device: a number that the driver knows, with the name of CUDA's documentation.
///
/// The constants are those of CUDA 13.0, without `CU_DEVICE_ATTRIBUTE_`; any other number may be asked for too.
///
/// ```
/// use gpu_driver::Attribute;
/// assert_eq!(Attribute::WARP_SIZE.name(), "warp_size");
/// assert_eq!("max_block_dim_x".parse::<Attribute>()?, Attribute::MAX_BLOCK_DIM_X);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attribute(pub i32);

macro_rules! attributes {
    ($($name:ident = $number:literal,)*) => {
        impl Attribute {
            $(
                #[doc = concat!("`CU_DEVICE_ATTRIBUTE_", stringify!($name), "`.")]
                pub const $name: Self = Self($number);
            )*

            /// All attributes that have a name here, by their number.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        /// Number and name of each.
        const NAMES: &[(i32, &str)] = &[$(($number, stringify!($name))),*];
    };
}

attributes! {
    MAX_THREADS_PER_BLOCK = 1,
    MAX_BLOCK_DIM_X = 2,
    MAX_BLOCK_DIM_Y = 3,
    MAX_BLOCK_DIM_Z = 4,
    MAX_GRID_DIM_X = 5,
    MAX_GRID_DIM_Y = 6,
    MAX_GRID_DIM_Z = 7,
    MAX_SHARED_MEMORY_PER_BLOCK = 8,
    TOTAL_CONSTANT_MEMORY = 9,
    WARP_SIZE = 10,
    MAX_PITCH = 11,
    MAX_REGISTERS_PER_BLOCK = 12,
    CLOCK_RATE = 13,
    TEXTURE_ALIGNMENT = 14,
    GPU_OVERLAP = 15,
    MULTIPROCESSOR_COUNT = 16,
    KERNEL_EXEC_TIMEOUT = 17,
    INTEGRATED = 18,
    CAN_MAP_HOST_MEMORY = 19,
    COMPUTE_MODE = 20,
    MAXIMUM_TEXTURE1D_WIDTH = 21,
    MAXIMUM_TEXTURE2D_WIDTH = 22,
    MAXIMUM_TEXTURE2D_HEIGHT = 23,
    MAXIMUM_TEXTURE3D_WIDTH = 24,
    MAXIMUM_TEXTURE3D_HEIGHT = 25,
    MAXIMUM_TEXTURE3D_DEPTH = 26,
    MAXIMUM_TEXTURE2D_LAYERED_WIDTH = 27,
    MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = 28,
    MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 29,
    SURFACE_ALIGNMENT = 30,
    CONCURRENT_KERNELS = 31,
    ECC_ENABLED = 32,
    PCI_BUS_ID = 33,
    PCI_DEVICE_ID = 34,
    TCC_DRIVER = 35,
    MEMORY_CLOCK_RATE = 36,
    GLOBAL_MEMORY_BUS_WIDTH = 37,
    L2_CACHE_SIZE = 38,
    MAX_THREADS_PER_MULTIPROCESSOR = 39,
    ASYNC_ENGINE_COUNT = 40,
    UNIFIED_ADDRESSING = 41,
    MAXIMUM_TEXTURE1D_LAYERED_WIDTH = 42,
    MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 43,
    CAN_TEX2D_GATHER = 44,
    MAXIMUM_TEXTURE2D_GATHER_WIDTH = 45,
    MAXIMUM_TEXTURE2D_GATHER_HEIGHT = 46,
    MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE = 47,
    MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE = 48,
    MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE = 49,
    PCI_DOMAIN_ID = 50,
    TEXTURE_PITCH_ALIGNMENT = 51,
    MAXIMUM_TEXTURECUBEMAP_WIDTH = 52,
    MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH = 53,
    MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = 54,
    MAXIMUM_SURFACE1D_WIDTH = 55,
    MAXIMUM_SURFACE2D_WIDTH = 56,
    MAXIMUM_SURFACE2D_HEIGHT = 57,
    MAXIMUM_SURFACE3D_WIDTH = 58,
    MAXIMUM_SURFACE3D_HEIGHT = 59,
    MAXIMUM_SURFACE3D_DEPTH = 60,
    MAXIMUM_SURFACE1D_LAYERED_WIDTH = 61,
    MAXIMUM_SURFACE1D_LAYERED_LAYERS = 62,
    MAXIMUM_SURFACE2D_LAYERED_WIDTH = 63,
    MAXIMUM_SURFACE2D_LAYERED_HEIGHT = 64,
    MAXIMUM_SURFACE2D_LAYERED_LAYERS = 65,
    MAXIMUM_SURFACECUBEMAP_WIDTH = 66,
    MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH = 67,
    MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = 68,
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69,
    MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70,
    MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71,
    MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72,
    MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH = 73,
    MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT = 74,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH = 77,
    STREAM_PRIORITIES_SUPPORTED = 78,
    GLOBAL_L1_CACHE_SUPPORTED = 79,
    LOCAL_L1_CACHE_SUPPORTED = 80,
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    MANAGED_MEMORY = 83,
    MULTI_GPU_BOARD = 84,
    MULTI_GPU_BOARD_GROUP_ID = 85,
    HOST_NATIVE_ATOMIC_SUPPORTED = 86,
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
    PAGEABLE_MEMORY_ACCESS = 88,
    CONCURRENT_MANAGED_ACCESS = 89,
    COMPUTE_PREEMPTION_SUPPORTED = 90,
    CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    COOPERATIVE_LAUNCH = 95,
    COOPERATIVE_MULTI_DEVICE_LAUNCH = 96,
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CAN_FLUSH_REMOTE_WRITES = 98,
    HOST_REGISTER_SUPPORTED = 99,
    PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
    DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
    VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
    HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 104,
    HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = 105,
    MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
    GENERIC_COMPRESSION_SUPPORTED = 107,
    MAX_PERSISTING_L2_CACHE_SIZE = 108,
    MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
    GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
    RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
    SPARSE_CUDA_ARRAY_SUPPORTED = 112,
    READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
    TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = 114,
    MEMORY_POOLS_SUPPORTED = 115,
    GPU_DIRECT_RDMA_SUPPORTED = 116,
    GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
    GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
    MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
    CLUSTER_LAUNCH = 120,
    DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = 121,
    CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
    CAN_USE_STREAM_WAIT_VALUE_NOR = 123,
    DMA_BUF_SUPPORTED = 124,
    IPC_EVENT_SUPPORTED = 125,
    MEM_SYNC_DOMAIN_COUNT = 126,
    TENSOR_MAP_ACCESS_SUPPORTED = 127,
    HANDLE_TYPE_FABRIC_SUPPORTED = 128,
    UNIFIED_FUNCTION_POINTERS = 129,
    NUMA_CONFIG = 130,
    NUMA_ID = 131,
    MULTICAST_SUPPORTED = 132,
    MPS_ENABLED = 133,
    HOST_NUMA_ID = 134,
    D3D12_CIG_SUPPORTED = 135,
    MEM_DECOMPRESS_ALGORITHM_MASK = 136,
    MEM_DECOMPRESS_MAXIMUM_LENGTH = 137,
    VULKAN_CIG_SUPPORTED = 138,
    GPU_PCI_DEVICE_ID = 139,
    GPU_PCI_SUBSYSTEM_ID = 140,
    HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 141,
    HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142,
    HOST_NUMA_MULTINODE_IPC_SUPPORTED = 143,
    HOST_MEMORY_POOLS_SUPPORTED = 144,
    HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 145,
    HOST_ALLOC_DMA_BUF_SUPPORTED = 146,
    ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED = 147,
}

impl Attribute {
    /// The name in small letters, such as `warp_size`; empty for a number without one.
    pub fn name(self) -> String {
        let found = NAMES.binary_search_by_key(&self.0, |&(number, _)| number);
        found.map_or_else(|_| String::new(), |at| NAMES[at].1.to_lowercase())
    }
}

impl From<i32> for Attribute {
    fn from(number: i32) -> Self {
        Self(number)
    }
}

impl FromStr for Attribute {
    type Err = DriverError;

    /// Reads a name in small or capital letters.
    fn from_str(name: &str) -> Result<Self> {
        let found = NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
        let (expected, got) = ("the name of a device's attribute, such as warp_size".to_owned(), format!("`{name}`"));
        found.map(|&(number, _)| Self(number)).ok_or(DriverError::Length { op: "Attribute", expected, got })
    }
}

impl fmt::Display for Attribute {
    /// The name, or the number where there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        if name.is_empty() { write!(f, "{}", self.0) } else { f.write_str(&name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_belong_together() {
        assert!(NAMES.is_sorted_by_key(|&(number, _)| number));
        for &attribute in Attribute::ALL {
            assert_eq!(attribute.name().parse::<Attribute>().unwrap(), attribute);
        }
        let (cores, odd) = (Attribute::MULTIPROCESSOR_COUNT, Attribute(100_000));
        assert_eq!(
            (cores.0, cores.to_string().as_str(), odd.to_string().as_str()),
            (16, "multiprocessor_count", "100000")
        );
        assert!("warp-size".parse::<Attribute>().is_err());
    }
}
