//! Modules and their functions.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    sync::Arc,
};

use super::{device::MOST_SHARED_BYTES, pointer, store, store_if_wanted, table};
use crate::{
    code::{FILE_NOT_FOUND, INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, NOT_FOUND, Outcome},
    image::Image,
    kinds::Call,
    launch::parameter_bytes,
    runtime::RUNTIME,
    state::{DriverState, Function, LoadedModule, call},
};

table![
    cuModuleLoadData,
    cuModuleLoadFatBinary,
    cuModuleLoad,
    cuModuleUnload,
    cuModuleGetFunction,
    cuModuleGetGlobal_v2,
    cuFuncGetAttribute,
    cuFuncSetAttribute,
    cuFuncSetCacheConfig,
    cuFuncSetSharedMemConfig,
    cuFuncGetModule,
    cuFuncGetParamInfo,
];

/// Dynamic shared memory that a kernel has without asking.
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;
const REGISTERS: c_int = 32;

/// # Safety
/// `image` as [`Image::load`] wants it.
pub(super) unsafe fn load(state: &mut DriverState, module: *mut *mut c_void, image: *const c_void) -> Outcome {
    let context = state.current()?;
    state.count(context, Call::ModuleLoad)?;
    if image.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: as the caller promises.
    let image = Arc::new(unsafe { Image::load(image, &RUNTIME)? });
    let made = state.handle();
    state.modules.insert(made, LoadedModule { context, image });
    // SAFETY: the caller passes a place for the answer; so below.
    unsafe { store(module, pointer(made)) }
}

unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> c_int {
    // SAFETY: the caller passes a whole image, as the driver's documentation asks.
    call(|state| unsafe { load(state, module, image) })
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
            return Err(INVALID_IMAGE);
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
        let name = name.to_string_lossy().into_owned();
        // A kernel has one handle, and with it one limit of shared memory.
        let same = |known: &Function| known.module == module as usize && known.kernel == kernel && known.name == name;
        if let Some((&known, _)) = state.functions.iter().find(|(_, known)| same(known)) {
            // SAFETY: see above.
            return unsafe { store(function, pointer(known)) };
        }
        let made = state.handle();
        let found = Function {
            context,
            module: module as usize,
            kernel,
            name,
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

pub(super) fn function(state: &mut DriverState, handle: *mut c_void) -> Outcome<&mut Function> {
    let context = state.functions.get(&(handle as usize)).ok_or(INVALID_HANDLE)?.context;
    state.usable(context)?;
    state.functions.get_mut(&(handle as usize)).ok_or(INVALID_HANDLE)
}

unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, handle: *mut c_void) -> c_int {
    call(|state| {
        let most_dynamic = function(state, handle)?.most_dynamic_bytes;
        let arch = state.machine.arch() as c_int;
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

unsafe extern "C" fn cuFuncGetParamInfo(
    handle: *mut c_void,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> c_int {
    call(|state| {
        let this = function(state, handle)?;
        let (module, kernel) = (this.module, this.kernel);
        let image = &state.modules.get(&module).ok_or(INVALID_HANDLE)?.image;
        let sizes = parameter_bytes(image, kernel);
        let size = *sizes.get(index).ok_or(INVALID_VALUE)?;
        // Each stands behind the one before it, where its size allows: alignments are not known here.
        let align = |place: usize, size: usize| place.next_multiple_of(size.next_power_of_two().clamp(1, 16));
        let at = sizes[..index].iter().fold(0, |place, &size| align(place, size) + size);
        // SAFETY: see above.
        unsafe {
            store_if_wanted(bytes, size);
            store(offset, align(at, size))
        }
    })
}
