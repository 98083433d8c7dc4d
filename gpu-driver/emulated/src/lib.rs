//! The emulated device of `gpu-driver`: CUDA's driver functions, answered on the CPU.
//!
//! [`address`] gives the function of a name with the signature of `cuda.h`. With `GPU_DEVICE=emulated` these functions fill the table of
//! `gpu-driver`. [`compile()`] makes of CUDA C++ the shared objects that `cuModuleLoadData` takes. [`Control`] has the calls that no
//! driver has. The page of `gpu_driver::emulated` is the manual: the mistakes that are caught, the differences from a GPU, the variables.
//!
//! # From a kernel's text to a report
//! 1. `compile/` rewrites `__shared__` declarations and launch bounds into macros (`rewrite.rs`), puts the headers of `cuda/` before the
//!    text and a table of its kernels after it (`program.rs`), and runs the machine's compiler with checks that announce each access by a
//!    call (`flags.rs`). The headers define these calls, so no sanitizer library takes part.
//! 2. `driver/` answers the driver's C functions with the state in `state/`, behind one lock. Calls only queue work; `run_one` chooses a
//!    stream at random when a call waits. `memory.rs` knows each byte of device memory, `texels/` the
//!    elements of arrays and textures, `image.rs` maps modules, and `work/` holds operations and captures.
//! 3. `launch/` runs each thread of a block as a coroutine (`stack.rs`). Kernels call the functions of `runtime/` through the table in
//!    `cuda/abi.h` (in Rust `abi.rs`): these check, wait (`block.rs`) or give way. `shared.rs` shadows shared memory, and `signal.rs` turns
//!    a segmentation fault of a kernel into a fault of the launch.
//! 4. `launch/report.rs` finds the source line and the position of each warp. The context is lost, and the report becomes the text of
//!    `DriverError::DeviceLost`.
//!
//! Three rules hold throughout. A suspended coroutine is reset and never unwound, so no function on a kernel's stack holds a value with a
//! destructor across a suspension (the text of a fault is leaked). Handles are numbers that are never used twice. An access check reports
//! nothing that CUDA's rules allow.
//!
//! # Sources
//! Running CUDA blocks as coroutines on a CPU follows MCUDA (Stratton, Stone and Hwu, LCPC 2008) and HIP-CPU; the checks are
//! those of NVIDIA's compute-sanitizer (memcheck, racecheck, synccheck, initcheck) as far as a CPU can see them.

mod abi;
mod block;
mod code;
mod compile;
mod control;
#[allow(non_snake_case, reason = "the names are the driver's")]
mod driver;
mod elf;
mod graphics;
mod image;
mod kinds;
mod launch;
mod memory;
mod random;
mod runtime;
mod set;
mod settings;
mod shared;
mod signal;
mod stack;
mod state;
mod texels;
mod work;

pub use compile::{CompileJob, Compiled, MATH_CONSTANTS, compile, find_compiler, has_header};
pub use control::{Control, Loss, seed};
pub use driver::address;
pub use kinds::{Blocks, Call, Failure, Schedule};
pub use settings::{Overrides, check_environment};
