//! The options of the C++ compiler.

use std::path::Path;

use super::{
    Checks, DebugInfo,
    options::{CompilerOptions, OLDEST_STANDARD},
    toolchain::Toolchain,
};

/// The options of every compilation.
///
/// Optimised a little: a loop of accesses and branches ran in 37 ns per element without, in 23 ns with `-O1` and with `-O2`,
/// and `-O2` takes a quarter longer to compile. No fused multiply-add: kernels that want one say `fma`. Integers wrap and
/// pointers may be cast, as on a GPU. `char` is signed, as on every host of CUDA. Each basic block calls the driver, which
/// so ends loops that wait for another thread. A large stack is touched page by page, so that its guard page is met. Headers of
/// the machine are not searched: a GPU's compiler has none either.
const ALWAYS: &[&str] = &[
    "-x",
    "c++",
    "-O1",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fsigned-char",
    "-fno-stack-protector",
    "-fstack-clash-protection",
    "-U_FORTIFY_SOURCE",
    "-fsanitize=alignment",
    "-fsanitize-coverage=trace-pc",
    "-fdiagnostics-color=never",
    "-Werror=vla",
    "-Wno-unknown-pragmas",
    "-nostdinc",
    "-nostdinc++",
];

/// Accesses to memory are announced to the driver by calls. GCC's address checks leave out a write behind a read of the same
/// place, which a race needs to be told, so its thread checks serve; clang keeps both when its own shortcut is off.
const ACCESS_GCC: &[&str] = &["-fsanitize=thread"];

/// Volatile accesses are told from others, which no race is among: GCC learned it in version 11.
const VOLATILE_GCC: &str = "--param=tsan-distinguish-volatile=1";

const ACCESS_CLANG: &[&str] = &[
    "-fsanitize=kernel-address",
    "-mllvm",
    "-asan-stack=0",
    "-mllvm",
    "-asan-globals=0",
    "-mllvm",
    "-asan-instrumentation-with-call-threshold=0",
    "-mllvm",
    "-asan-opt=0",
];

/// The parts of `undefined` that a kernel can run into. Calls through wrong function pointers and virtual tables need
/// run-time type information; sizes of objects are checked by the driver at the access.
const UNDEFINED: &str = "-fsanitize=shift,integer-divide-by-zero,unreachable,return,null,signed-integer-overflow,bounds,\
                         alignment,bool,enum,pointer-overflow,builtin";

/// CompilerOptions of the linker's step. Sanitizers are not named here, or their run-time libraries would be linked; a missing
/// symbol is an error now and not when the module is loaded. The start files of the C library hold code that runs at load.
pub(super) const LINK: &[&str] = &["-shared", "-nostartfiles", "-Wl,--as-needed", "-Wl,-z,defs"];

/// The options of the compiling step besides files and folders. `key` takes the place of random names.
pub(super) fn flags(
    options: &CompilerOptions,
    (checks, debug): (Checks, DebugInfo),
    toolchain: &Toolchain,
    key: &str,
) -> Vec<String> {
    let mut flags: Vec<&str> = ALWAYS.to_vec();
    flags.push(match debug {
        DebugInfo::Lines => "-g1",
        DebugInfo::Variables => "-g",
    });
    let (no_caret, access) = match toolchain.is_clang {
        true => ("-fno-caret-diagnostics", ACCESS_CLANG),
        false => ("-fno-diagnostics-show-caret", ACCESS_GCC),
    };
    flags.push(no_caret);
    match checks {
        Checks::Off => flags.push("-fwrapv"),
        Checks::Access => {
            flags.push("-fwrapv");
            flags.extend(access);
        }
        Checks::Undefined => {
            flags.extend(access);
            flags.extend([UNDEFINED, "-DGPU_EMULATED_CHECKS_UNDEFINED"]);
        }
    }
    if checks != Checks::Off && toolchain.gcc_major().is_some_and(|major| major >= 11) {
        flags.push(VOLATILE_GCC);
    }
    let standard = format!("-std=c++{}", options.standard.unwrap_or(OLDEST_STANDARD));
    let seed = format!("-frandom-seed={key}");
    flags.into_iter().map(str::to_owned).chain([standard, seed]).collect()
}

/// Names the folder in the debug information by the place where it will stay: debuggers find the sources, and the image
/// does not depend on a temporary name.
pub(super) fn debug_folder(folder: &Path, kept: &Path) -> String {
    format!("-fdebug-prefix-map={}={}", folder.display(), kept.display())
}
