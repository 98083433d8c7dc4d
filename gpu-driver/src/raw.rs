//! The driver's types: handles, and structures that its functions take by address.
//!
//! With the feature `cust` they are those of `cust::sys`, so that handles pass from one library to the other as they are. Without it they are defined
//! here, with the same layouts.

#[cfg(feature = "cust")]
pub use cust::sys::{CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUstream};
#[cfg(feature = "cust")]
pub(crate) use cust::sys::{
    CUmemAllocationHandleType, CUmemAllocationType_enum, CUmemLocation_st, CUmemLocationType_enum,
    CUmemPool_attribute_enum, CUmemPoolProps, CUmemoryPool,
};
#[cfg(not(feature = "cust"))]
pub use own::{CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUstream};
#[cfg(not(feature = "cust"))]
pub(crate) use own::{
    CUmemAllocationHandleType, CUmemAllocationType_enum, CUmemLocation_st, CUmemLocationType_enum,
    CUmemPool_attribute_enum, CUmemPoolProps, CUmemoryPool,
};

/// All types that the table of functions names.
#[cfg(feature = "cust")]
pub(crate) mod all {
    pub(crate) use cust::sys::*;
}
#[cfg(not(feature = "cust"))]
pub(crate) use own as all;

#[cfg(not(feature = "cust"))]
#[allow(non_camel_case_types, non_snake_case, clippy::upper_case_acronyms, unreachable_pub, dead_code)]
pub(crate) mod own {
    use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

    /// Pointers to objects that only the driver knows.
    macro_rules! handles {
        ($($handle:ident $pointee:ident,)*) => {$(
            #[doc = concat!("The object that `", stringify!($handle), "` points to.")]
            #[derive(Debug)]
            #[repr(C)]
            pub struct $pointee(u8);

            #[doc = concat!("The driver's handle `", stringify!($handle), "`.")]
            pub type $handle = *mut $pointee;
        )*};
    }

    handles! {
        CUarray CUarray_st,
        CUcontext CUctx_st,
        CUevent CUevent_st,
        CUexternalMemory CUextMemory_st,
        CUexternalSemaphore CUextSemaphore_st,
        CUfunction CUfunc_st,
        CUgraph CUgraph_st,
        CUgraphExec CUgraphExec_st,
        CUgraphNode CUgraphNode_st,
        CUgraphicsResource CUgraphicsResource_st,
        CUlinkState CUlinkState_st,
        CUmemoryPool CUmemPoolHandle_st,
        CUmipmappedArray CUmipmappedArray_st,
        CUmodule CUmod_st,
        CUstream CUstream_st,
        CUsurfref CUsurfref_st,
        CUtexref CUtexref_st,
        CUuserObject CUuserObject_st,
    }

    /// A device's number for the driver.
    pub type CUdevice = c_int;
    /// An address on a device.
    pub type CUdeviceptr = c_ulonglong;
    pub type CUmemGenericAllocationHandle = c_ulonglong;
    pub type CUsurfObject = c_ulonglong;
    pub type CUtexObject = c_ulonglong;
    pub type cuuint32_t = c_uint;
    pub type cuuint64_t = c_ulonglong;
    pub type CUhostFn = Option<unsafe extern "C" fn(*mut c_void)>;
    pub type CUoccupancyB2DSize = Option<unsafe extern "C" fn(c_int) -> usize>;
    pub type CUstreamCallback = Option<unsafe extern "C" fn(CUstream, c_int, *mut c_void)>;

    /// Structures that are passed by address alone.
    macro_rules! opaque {
        ($($name:ident)*) => {$(
            #[derive(Debug)]
            #[repr(C)]
            pub struct $name(u8);
        )*};
    }

    opaque! {
        CUDA_ARRAY3D_DESCRIPTOR CUDA_ARRAY_DESCRIPTOR CUDA_ARRAY_SPARSE_PROPERTIES CUDA_EXTERNAL_MEMORY_BUFFER_DESC
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS CUDA_EXT_SEM_SIGNAL_NODE_PARAMS
        CUDA_EXT_SEM_WAIT_NODE_PARAMS CUDA_HOST_NODE_PARAMS CUDA_KERNEL_NODE_PARAMS CUDA_LAUNCH_PARAMS CUDA_MEMCPY2D
        CUDA_MEMCPY3D CUDA_MEMCPY3D_PEER CUDA_MEMSET_NODE_PARAMS CUDA_MEM_ALLOC_NODE_PARAMS CUDA_RESOURCE_DESC
        CUDA_RESOURCE_VIEW_DESC CUDA_TEXTURE_DESC CUarrayMapInfo CUdevprop CUexecAffinityParam CUkernelNodeAttrValue
        CUmemAccessDesc CUmemAllocationProp CUmemPoolPtrExportData CUstreamAttrValue CUstreamBatchMemOpParams CUuuid
    }

    pub type CUmemLocation = CUmemLocation_st;

    /// A handle of an event for another process.
    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct CUipcEventHandle {
        pub reserved: [c_char; 64],
    }

    /// A handle of memory for another process.
    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct CUipcMemHandle {
        pub reserved: [c_char; 64],
    }

    #[repr(C)]
    pub enum CUmemAllocationHandleType {
        CU_MEM_HANDLE_TYPE_NONE = 0,
    }

    #[repr(C)]
    pub enum CUmemAllocationType_enum {
        CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    }

    #[repr(C)]
    pub enum CUmemLocationType_enum {
        CU_MEM_LOCATION_TYPE_DEVICE = 1,
    }

    #[repr(C)]
    pub enum CUmemPool_attribute_enum {
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
        CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
        CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
    }

    #[repr(C)]
    pub struct CUmemLocation_st {
        pub type_: CUmemLocationType_enum,
        pub id: c_int,
    }

    #[repr(C)]
    pub struct CUmemPoolProps {
        pub allocType: CUmemAllocationType_enum,
        pub handleTypes: CUmemAllocationHandleType,
        pub location: CUmemLocation_st,
        pub win32SecurityAttributes: *mut c_void,
        pub reserved: [u8; 64],
    }

    const _: () = assert!(size_of::<CUmemPoolProps>() == 88 && size_of::<CUipcMemHandle>() == 64, "cuda.h's layouts");
}
