//! Functions of a shared object that would run when it is loaded or unloaded.
//!
//! On a device no code runs but kernels: there a variable with a dynamic initialisation does not compile. Here it would compile,
//! into a function that the dynamic linker calls on the host, out of reach of every check. A program with such a function is
//! refused. Compilers add only the set-up of their checks, which calls nothing but empty hooks of our headers; [`disarm`] keeps
//! it from being called too, so that nothing depends on whose function has its name.

use super::{Checks, Toolchain};
use crate::elf::Elf;

/// A function of the compiler's checks, by the names that versions of the compiler give it. An object has it once.
type Spellings = &'static [&'static str];

const CHECKS_GCC: &[Spellings] =
    &[&["_sub_I_00099_0", "_GLOBAL__sub_I_00099_0"], &["_sub_D_00099_1", "_GLOBAL__sub_D_00099_1"]];
const CHECKS_CLANG: &[Spellings] = &[&["asan.module_ctor"], &["asan.module_dtor"]];

/// Sections that no compiler fills, and from which the linker makes code that runs at load, or its own table of such code.
const LINKERS: [&str; 3] = [".init", ".fini", ".dynamic"];

/// A section of the program's object that the linker would take for its own; None where there is none.
pub(super) fn section(object: &[u8]) -> Option<&'static str> {
    let elf = Elf::new(object)?;
    LINKERS.into_iter().find(|name| elf.has_section(name))
}

/// A function of the program that would be called, by its name in the image; None where there is none.
pub(super) fn first(image: &[u8], checks: Checks, toolchain: &Toolchain) -> Option<String> {
    let elf = Elf::new(image)?;
    let of_checks: &[Spellings] = match (checks, toolchain.is_clang) {
        (Checks::Off, _) => &[],
        (_, true) => CHECKS_CLANG,
        (_, false) => CHECKS_GCC,
    };
    let mut seen = Vec::new();
    elf.called_by_the_linker().into_iter().find_map(|address| {
        let names = elf.functions_at(address);
        let has = |spellings: &Spellings| names.iter().any(|name| spellings.contains(&name.as_str()));
        match of_checks.iter().position(has) {
            // A function of the program that has taken such a name, in either spelling, is a second one.
            Some(known) if !seen.contains(&known) => {
                seen.push(known);
                None
            }
            _ => Some(names.into_iter().next().unwrap_or_else(|| format!("code at {address:#x}"))),
        }
    })
}

/// Tells the dynamic linker that there is nothing to call: the lengths of its arrays of functions become 0.
pub(super) fn disarm(image: &mut [u8]) {
    let lengths = Elf::new(image).map_or_else(Vec::new, Elf::array_lengths_at);
    for at in lengths {
        if let Some(length) = image.get_mut(at..at + 8) {
            length.fill(0);
        }
    }
}
