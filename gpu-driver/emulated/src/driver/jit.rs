//! Options and logs of the driver's compiler, and its linker. Options have no effect, and programs cannot call each other: the logs say so.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{module::load, pointer, store, table};
use crate::{
    code::{INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, NOT_SUPPORTED},
    state::{Link, call},
};

table![cuModuleLoadDataEx, cuLinkCreate_v2, cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkDestroy,];

const NO_CODE: &str = "the image is none of the emulated device: it runs no PTX and no machine code of GPUs, but programs that are compiled for its \
    architecture";
const NO_LINKER: &str =
    "the emulated device links no programs with each other: compile one program that holds all texts";

const INFORMATION: c_int = 3;
const ERRORS: c_int = 5;
/// The options of the logs are neighbours: each one's size follows it by its number.
const OF_LOGS: std::ops::RangeInclusive<c_int> = 3..=6;

/// The option list of a call.
struct OptionList<'a> {
    numbers: &'a [c_int],
    values: &'a mut [*mut c_void],
}

impl<'a> OptionList<'a> {
    /// # Safety
    /// There are `count` numbers and values; logs have as many bytes as the option after theirs says.
    unsafe fn new(count: c_uint, numbers: *mut c_int, values: *mut *mut c_void) -> Self {
        if count == 0 || numbers.is_null() || values.is_null() {
            return Self { numbers: &[], values: &mut [] };
        }
        let count = count as usize;
        // SAFETY: as the caller promises.
        unsafe {
            Self {
                numbers: std::slice::from_raw_parts(numbers, count),
                values: std::slice::from_raw_parts_mut(values, count),
            }
        }
    }

    fn place(&self, number: c_int) -> Option<usize> {
        self.numbers.iter().position(|&one| one == number)
    }

    /// Writes to a log, as far as it has room, and its length to the option of its size.
    fn write(&mut self, log: c_int, text: &str) {
        let Some((at, size_at)) = self.place(log).zip(self.place(log + 1)) else { return };
        let (buffer, room) = (self.values[at].cast::<u8>(), self.values[size_at] as usize);
        if buffer.is_null() || room == 0 {
            return;
        }
        let length = text.len().min(room - 1);
        // SAFETY: the buffer has that much room, as the caller of `new` promises.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer, length);
            buffer.add(length).write(0);
        }
        self.values[size_at] = length as *mut c_void;
    }
}

unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    image: *const c_void,
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller passes whole lists, and a whole image, as the driver's documentation asks.
    unsafe {
        let mut options = OptionList::new(count, options, values);
        let code = call(|state| load(state, module, image));
        if code == INVALID_IMAGE {
            options.write(ERRORS, NO_CODE);
        } else if code == 0 && options.numbers.iter().any(|number| !OF_LOGS.contains(number)) {
            options.write(INFORMATION, "options for PTX have no effect on the emulated device");
        }
        code
    }
}

unsafe extern "C" fn cuLinkCreate_v2(
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
    link: *mut *mut c_void,
) -> c_int {
    call(|state| {
        let context = state.current()?;
        let made = state.handle();
        let options = [options as usize, values as usize];
        state.links.insert(made, Link { context, count, options, image: None });
        // SAFETY: the caller passes a place for the answer; so below.
        unsafe { store(link, pointer(made)) }
    })
}

/// One program is linked with itself; a second one is refused.
unsafe extern "C" fn cuLinkAddData_v2(
    link: *mut c_void,
    kind: c_int,
    data: *mut c_void,
    bytes: usize,
    _name: *const c_char,
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> c_int {
    const CUBIN: c_int = 0;
    call(|state| {
        let link = state.links.get_mut(&(link as usize)).ok_or(INVALID_HANDLE)?;
        if data.is_null() || bytes == 0 {
            return Err(INVALID_VALUE);
        }
        if kind != CUBIN {
            return Err(link.refuse(INVALID_IMAGE, NO_CODE));
        }
        if link.image.is_some() {
            return Err(link.refuse(NOT_SUPPORTED, NO_LINKER));
        }
        // SAFETY: the caller passes that many bytes.
        link.image = Some(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) }.to_vec());
        Ok(())
    })
}

unsafe extern "C" fn cuLinkAddFile_v2(
    link: *mut c_void,
    _kind: c_int,
    _path: *const c_char,
    _count: c_uint,
    _options: *mut c_int,
    _values: *mut *mut c_void,
) -> c_int {
    call(|state| {
        let link = state.links.get_mut(&(link as usize)).ok_or(INVALID_HANDLE)?;
        Err(link.refuse(NOT_SUPPORTED, NO_LINKER))
    })
}

unsafe extern "C" fn cuLinkComplete(link: *mut c_void, image: *mut *mut c_void, bytes: *mut usize) -> c_int {
    call(|state| {
        let link = state.links.get_mut(&(link as usize)).ok_or(INVALID_HANDLE)?;
        let linked = link.image.as_mut().ok_or(INVALID_VALUE)?;
        // SAFETY: see above.
        unsafe {
            store(image, linked.as_mut_ptr().cast())?;
            store(bytes, linked.len())
        }
    })
}

unsafe extern "C" fn cuLinkDestroy(link: *mut c_void) -> c_int {
    call(|state| state.links.remove(&(link as usize)).map(drop).ok_or(INVALID_HANDLE))
}

impl Link {
    /// Writes the reason to the log of errors.
    fn refuse(&self, code: i32, reason: &str) -> i32 {
        let [numbers, values] = self.options;
        // SAFETY: the lists and logs of `cuLinkCreate` stay until the linker is destroyed, as the driver's documentation asks.
        unsafe { OptionList::new(self.count, numbers as *mut c_int, values as *mut *mut c_void) }.write(ERRORS, reason);
        code
    }
}
