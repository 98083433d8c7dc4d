//! Modules, functions, launches, occupancy.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    sync::Arc,
};

use super::{
    device::{MOST_SHARED_BYTES, MULTIPROCESSORS},
    pointer, store, store_if_wanted, table,
};
use crate::emulated::{
    Call,
    abi::Index,
    image::Image,
    launch::Order,
    state::{
        Function, LoadedModule, Op, Outcome, State, call,
        code::{INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, OUT_OF_RESOURCES},
    },
};
use crate::sys::launch::{Config, OVERLAP};

table![
    cuModuleLoad,
    cuModuleLoadData,
    cuModuleLoadDataEx,
    cuModuleLoadFatBinary,
    cuModuleUnload,
    cuModuleGetFunction,
    cuModuleGetGlobal_v2,
    cuFuncGetAttribute,
    cuFuncSetAttribute,
    cuFuncSetCacheConfig,
    cuFuncSetSharedMemConfig,
    cuFuncGetModule,
    cuLaunchKernel,
    cuLaunchKernelEx,
    cuLaunchCooperativeKernel,
    cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    cuOccupancyMaxPotentialBlockSize,
    cuOccupancyAvailableDynamicSMemPerBlock,
];

const FILE_NOT_FOUND: c_int = 301;
const COOPERATIVE_LAUNCH_TOO_LARGE: c_int = 720;
const NOT_SUPPORTED: c_int = 801;
/// Dynamic shared memory that a kernel has without asking.
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;
const MOST_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MOST_BLOCK: [u32; 3] = [1024, 1024, 64];
const REGISTERS: c_int = 32;

/// # Safety
/// `image` as [`Image::load`] wants it.
unsafe fn load(state: &mut State, module: *mut *mut c_void, image: *const c_void) -> Outcome {
    let context = state.current()?;
    state.count(context, Call::ModuleLoad)?;
    if image.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: as the caller promises.
    let image = Arc::new(unsafe { Image::load(image)? });
    let made = state.handle();
    state.modules.insert(made, LoadedModule { context, image });
    // SAFETY: the caller passes a place for the answer; so below.
    unsafe { store(module, pointer(made)) }
}

unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> c_int {
    // SAFETY: the caller passes a whole image, as the driver's documentation asks.
    call(|state| unsafe { load(state, module, image) })
}

unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    image: *const c_void,
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> c_int {
    // SAFETY: passed on; the options are about PTX, which is not taken here.
    unsafe { cuModuleLoadData(module, image) }
}

unsafe extern "C" fn cuModuleLoadFatBinary(module: *mut *mut c_void, image: *const c_void) -> c_int {
    // SAFETY: passed on.
    unsafe { cuModuleLoadData(module, image) }
}

unsafe extern "C" fn cuModuleLoad(module: *mut *mut c_void, path: *const c_char) -> c_int {
    call(|state| {
        if path.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: a text that ends in NUL, as the driver's documentation asks.
        let path = unsafe { CStr::from_ptr(path) }.to_string_lossy().into_owned();
        let mut bytes = std::fs::read(path).map_err(|_| FILE_NOT_FOUND)?;
        let whole = bytes.len() >= 64;
        bytes.resize(bytes.len().max(64), 0);
        if !whole {
            return Err(200);
        }
        // SAFETY: at least 64 bytes; a file cut short after its header is the caller's fault, as with a real driver.
        unsafe { load(state, module, bytes.as_ptr().cast()) }
    })
}

unsafe extern "C" fn cuModuleUnload(module: *mut c_void) -> c_int {
    call(|state| {
        let handle = module as usize;
        state.usable(state.modules.get(&handle).ok_or(INVALID_HANDLE)?.context)?;
        // CUDA does not promise to wait for queued work: a kernel in it that needs the module is a fault.
        state.unload(handle);
        Ok(())
    })
}

unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> c_int {
    call(|state| {
        let loaded = state.modules.get(&(module as usize)).ok_or(INVALID_HANDLE)?;
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: a text that ends in NUL, as the driver's documentation asks.
        let name = unsafe { CStr::from_ptr(name) };
        if name.is_empty() {
            return Err(INVALID_VALUE);
        }
        let kernel = loaded.image.find(name).ok_or(NOT_FOUND)?;
        let context = loaded.context;
        state.usable(context)?;
        let made = state.handle();
        let found = Function {
            context,
            module: module as usize,
            kernel,
            name: name.to_string_lossy().into_owned(),
            most_dynamic_bytes: DEFAULT_SHARED_BYTES,
            is_raised: false,
            most_threads: None,
        };
        state.functions.insert(made, found);
        // SAFETY: see above.
        unsafe { store(function, pointer(made)) }
    })
}

unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut u64,
    bytes: *mut usize,
    module: *mut c_void,
    name: *const c_char,
) -> c_int {
    call(|state| {
        let loaded = state.modules.get(&(module as usize)).ok_or(INVALID_HANDLE)?;
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: a text that ends in NUL, as the driver's documentation asks.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let (found, size) = loaded.image.variable(&name).ok_or(NOT_FOUND)?;
        // SAFETY: see above.
        unsafe {
            store_if_wanted(address, found as u64);
            store_if_wanted(bytes, size);
        }
        Ok(())
    })
}

fn function(state: &mut State, handle: *mut c_void) -> Outcome<&mut Function> {
    let context = state.functions.get(&(handle as usize)).ok_or(INVALID_HANDLE)?.context;
    state.usable(context)?;
    state.functions.get_mut(&(handle as usize)).ok_or(INVALID_HANDLE)
}

unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, handle: *mut c_void) -> c_int {
    call(|state| {
        let most_dynamic = function(state, handle)?.most_dynamic_bytes;
        let arch = state.machine.arch.number() as c_int;
        let answer = match attribute {
            0 => state.most_threads(handle as usize)? as c_int,
            1..=3 => 0, // static shared, constant and local bytes: known when a kernel runs
            4 => REGISTERS,
            5 | 6 => arch,
            7 => 0,
            8 => most_dynamic as c_int,
            9 => -1,
            10..=20 => 0,
            _ => return Err(INVALID_VALUE),
        };
        // SAFETY: see above.
        unsafe { store(value, answer) }
    })
}

unsafe extern "C" fn cuFuncSetAttribute(handle: *mut c_void, attribute: c_int, value: c_int) -> c_int {
    const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
    call(|state| {
        let this = function(state, handle)?;
        if attribute == MAX_DYNAMIC_SHARED_SIZE_BYTES {
            let bytes = u32::try_from(value).ok().filter(|&bytes| bytes <= MOST_SHARED_BYTES);
            this.most_dynamic_bytes = bytes.ok_or(INVALID_VALUE)?;
            this.is_raised = true;
        }
        Ok(())
    })
}

unsafe extern "C" fn cuFuncSetCacheConfig(handle: *mut c_void, _config: c_int) -> c_int {
    call(|state| function(state, handle).map(drop))
}

unsafe extern "C" fn cuFuncSetSharedMemConfig(handle: *mut c_void, _config: c_int) -> c_int {
    call(|state| function(state, handle).map(drop))
}

unsafe extern "C" fn cuFuncGetModule(module: *mut *mut c_void, handle: *mut c_void) -> c_int {
    call(|state| {
        let found = function(state, handle)?.module;
        // SAFETY: see above.
        unsafe { store(module, pointer(found)) }
    })
}

/// The values of a kernel's arguments, each at a multiple of 16 bytes.
pub(in crate::emulated) struct Values {
    values: Vec<u128>,
    places: Vec<usize>,
}

/// Sizes of a kernel's parameters.
fn sizes(image: &Image, kernel: usize) -> Vec<usize> {
    let kernel = &image.kernels()[kernel];
    // SAFETY: the module's table has that many entries.
    (0..kernel.count as usize).map(|at| unsafe { *kernel.sizes.add(at) } as usize).collect()
}

/// Arguments of zero bytes, for a launch that does not reach the kernel's body.
pub(in crate::emulated) fn zero_arguments(image: &Image, kernel: usize) -> Values {
    let mut values = Values { values: Vec::new(), places: Vec::new() };
    for bytes in sizes(image, kernel) {
        values.places.push(values.values.len());
        values.values.resize(values.values.len() + bytes.div_ceil(16), 0);
    }
    values
}

impl Values {
    /// A launch of one thread with these arguments.
    pub(in crate::emulated) fn order(self, image: Arc<Image>, kernel: usize, name: String) -> Order {
        let one = Index { x: 1, y: 1, z: 1 };
        Order {
            image,
            module: 0,
            kernel,
            name,
            grid: one,
            block: one,
            dynamic_bytes: 0,
            cooperative: false,
            overlaps: false,
            raised: false,
            arguments: self.values,
            places: self.places,
            chosen: Vec::new(),
        }
    }
}

/// Copies the arguments' values, as the driver does before a launch call returns.
///
/// # Safety
/// `arguments` holds the address of each argument's value, in order.
unsafe fn copy_arguments(image: &Image, kernel: usize, arguments: *const *const u8) -> Outcome<Values> {
    let mut copied = zero_arguments(image, kernel);
    if copied.places.is_empty() {
        return Ok(copied);
    }
    if arguments.is_null() {
        return Err(INVALID_VALUE);
    }
    for (at, (&place, bytes)) in copied.places.iter().zip(sizes(image, kernel)).enumerate() {
        // SAFETY: as the caller promises; the values have room for each.
        unsafe {
            let to = copied.values.as_mut_ptr().add(place).cast::<u8>();
            std::ptr::copy_nonoverlapping(*arguments.add(at), to, bytes);
        }
    }
    Ok(copied)
}

/// Shape of a launch, as the caller gave it.
struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    cooperative: bool,
    overlaps: bool,
}

fn within(sizes: [u32; 3], most: [u32; 3]) -> bool {
    sizes.iter().zip(most).all(|(&size, most)| size > 0 && size <= most)
}

/// # Safety
/// As [`copy_arguments`].
unsafe fn launch(
    state: &mut State,
    handle: *mut c_void,
    shape: Shape,
    stream: *mut c_void,
    arguments: *const *const u8,
) -> Outcome {
    let stream = state.stream(stream)?;
    let this = function(state, handle)?;
    let (context, module, kernel) = (this.context, this.module, this.kernel);
    let (most_dynamic, is_raised, name) = (this.most_dynamic_bytes, this.is_raised, this.name.clone());
    state.count(context, Call::Launch)?;
    if !within(shape.grid, MOST_GRID) || !within(shape.block, MOST_BLOCK) || shape.shared_bytes > most_dynamic {
        return Err(INVALID_VALUE);
    }
    let threads: u32 = shape.block.iter().product();
    if threads > 1024 || threads > state.most_threads(handle as usize)? {
        return Err(INVALID_VALUE);
    }
    let blocks: u64 = shape.grid.iter().map(|&size| u64::from(size)).product();
    let fit = resident(threads as c_int, shape.shared_bytes as usize)? as u64 * MULTIPROCESSORS as u64;
    if shape.cooperative && blocks > fit {
        return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    let image = state.modules.get(&module).ok_or(INVALID_HANDLE)?.image.clone();
    // SAFETY: as the caller promises.
    let values = unsafe { copy_arguments(&image, kernel, arguments)? };
    let index = |[x, y, z]: [u32; 3]| Index { x, y, z };
    let order = Order {
        module,
        grid: index(shape.grid),
        block: index(shape.block),
        dynamic_bytes: shape.shared_bytes,
        cooperative: shape.cooperative,
        overlaps: shape.overlaps,
        raised: is_raised,
        ..values.order(image, kernel, name)
    };
    state.enqueue(stream, Op::Launch(Arc::new(order)))
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> c_int {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    call(|state| {
        if !extra.is_null() {
            return Err(INVALID_VALUE);
        }
        let shape = Shape { grid, block, shared_bytes, cooperative: false, overlaps: false };
        // SAFETY: the caller passes the arguments as the driver's documentation asks.
        unsafe { launch(state, function, shape, stream, arguments.cast()) }
    })
}

unsafe extern "C" fn cuLaunchKernelEx(
    config: *const Config,
    function: *mut c_void,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> c_int {
    call(|state| {
        // SAFETY: the caller passes the address of a configuration, or null.
        let config = unsafe { config.as_ref() }.ok_or(INVALID_VALUE)?;
        let (first, count) = (config.attributes, config.attribute_count as usize);
        if !extra.is_null() || (first.is_null() && count > 0) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: as many attributes as the configuration says.
        let attributes = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(first, count) } };
        if attributes.iter().any(|attribute| attribute.id != OVERLAP) {
            return Err(NOT_SUPPORTED);
        }
        let overlaps = attributes.iter().any(|attribute| attribute.value[0] as u32 != 0);
        let Config { grid, block, shared_bytes, stream, .. } = *config;
        let shape = Shape { grid, block, shared_bytes, cooperative: false, overlaps };
        // SAFETY: as in `cuLaunchKernel`.
        unsafe { launch(state, function, shape, stream.cast(), arguments.cast()) }
    })
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn cuLaunchCooperativeKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
) -> c_int {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    let shape = Shape { grid, block, shared_bytes, cooperative: true, overlaps: false };
    // SAFETY: as in `cuLaunchKernel`.
    call(|state| unsafe { launch(state, function, shape, stream, arguments.cast()) })
}

/// Blocks that fit a multiprocessor side by side, by threads and shared memory.
fn resident(block: c_int, shared_bytes: usize) -> Outcome<c_int> {
    const THREADS: c_int = 2048;
    const SHARED: usize = 228 * 1024;
    const RESERVED: usize = 1024;
    if !(1..=1024).contains(&block) {
        return Err(INVALID_VALUE);
    }
    if shared_bytes > MOST_SHARED_BYTES as usize {
        return Ok(0);
    }
    let threads = THREADS / (block.max(1) as u32).next_multiple_of(32) as c_int;
    Ok(threads.min((SHARED / (shared_bytes + RESERVED)) as c_int).min(32))
}

unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    handle: *mut c_void,
    block: c_int,
    shared_bytes: usize,
) -> c_int {
    call(|state| {
        function(state, handle)?;
        // SAFETY: see above.
        unsafe { store(blocks, resident(block, shared_bytes)?) }
    })
}

unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    handle: *mut c_void,
    block: c_int,
    shared_bytes: usize,
    _flags: c_uint,
) -> c_int {
    // SAFETY: passed on.
    unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, block, shared_bytes) }
}

unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    min_grid: *mut c_int,
    block: *mut c_int,
    handle: *mut c_void,
    _shared_of_block: *mut c_void,
    shared_bytes: usize,
    limit: c_int,
) -> c_int {
    call(|state| {
        function(state, handle)?;
        let most = state.most_threads(handle as usize)? as c_int;
        let most = if limit > 0 { most.min(limit) } else { most };
        let fits = resident(most, shared_bytes)?;
        if fits == 0 {
            return Err(OUT_OF_RESOURCES);
        }
        // SAFETY: see above.
        unsafe {
            store(min_grid, fits * MULTIPROCESSORS)?;
            store(block, most)
        }
    })
}

unsafe extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    handle: *mut c_void,
    blocks: c_int,
    _block: c_int,
) -> c_int {
    call(|state| {
        function(state, handle)?;
        let share = 228 * 1024 / usize::try_from(blocks).unwrap_or(0).max(1);
        // SAFETY: see above.
        unsafe { store(bytes, share.saturating_sub(1024).min(MOST_SHARED_BYTES as usize)) }
    })
}
