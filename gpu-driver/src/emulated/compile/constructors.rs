//! Functions of a shared object that would run when it is loaded or unloaded.
//!
//! On a device no code runs but kernels: there a variable with a dynamic initialisation does not compile. Here it would compile, into a function that
//! the dynamic linker calls on the host, out of reach of every check.

use super::{Checks, Toolchain};
use crate::emulated::elf::Elf;

/// Functions of the C library's start files, which every shared object has.
const START_FILES: [&str; 2] = ["frame_dummy", "__do_global_dtors_aux"];
/// Functions of the compiler's checks, which call nothing but hooks of our headers.
const CHECKS_GCC: [&str; 4] = ["_sub_I_00099_0", "_sub_D_00099_1", "_GLOBAL__sub_I_00099_0", "_GLOBAL__sub_D_00099_1"];
const CHECKS_CLANG: [&str; 2] = ["asan.module_ctor", "asan.module_dtor"];

/// A function of the program that would be called, by its name in the image; None where there is none.
pub(super) fn first(image: &[u8], checks: Checks, toolchain: &Toolchain) -> Option<String> {
    let elf = Elf::new(image)?;
    let of_checks: &[&str] = match (checks, toolchain.is_clang) {
        (Checks::Off, _) => &[],
        (_, true) => &CHECKS_CLANG,
        (_, false) => &CHECKS_GCC,
    };
    let mut seen = Vec::new();
    elf.called_by_the_linker().into_iter().find_map(|address| {
        let names = elf.functions_at(address);
        let known = names.iter().find(|name| START_FILES.iter().chain(of_checks).any(|known| known == *name));
        match known {
            // A function of the program that has taken such a name is a second one.
            Some(known) if !seen.contains(known) => {
                seen.push(known.clone());
                None
            }
            _ => Some(names.into_iter().next().unwrap_or_else(|| format!("code at {address:#x}"))),
        }
    })
}
