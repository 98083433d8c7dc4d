//! The resources of a kernel, read from the log of `ptxas -v`.

use serde_json::{Value, json};

/// The resources that the machine code of a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The registers of a thread.
    pub(crate) registers: u64,
    /// Static shared memory of a block, in bytes; dynamic shared memory is the launch's.
    pub(crate) shared: u64,
    /// Bytes of a thread's stack frame.
    pub(crate) stack: u64,
    /// Bytes that registers are spilled by, in the kernel and in functions of it that are not inlined.
    pub(crate) spill_stores: u64,
    /// Bytes that are read back.
    pub(crate) spill_loads: u64,
    /// Bytes of constant memory, over all banks, as far as it tells: from sm_90 on it does not count the arguments.
    pub(crate) constant: u64,
}

impl Usage {
    pub(crate) fn to_json(self) -> Value {
        json!({
            "registers": self.registers,
            "shared_bytes": self.shared,
            "stack_bytes": self.stack,
            "spill_store_bytes": self.spill_stores,
            "spill_load_bytes": self.spill_loads,
            "constant_bytes": self.constant,
        })
    }
}

/// The resources that a log tells of the kernel of that mangled name; None when it does not tell its number of registers.
pub(crate) fn usage(log: &str, kernel: &str) -> Option<Usage> {
    let (mut usage, mut registers) = (Usage::default(), None);
    let (mut of_kernel, mut of_itself) = (false, false);
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            of_kernel = rest.split('\'').next() == Some(kernel);
            of_itself = of_kernel;
        } else if let Some((_, function)) = line.split_once("Function properties for ") {
            of_itself = function.trim() == kernel;
        } else if of_kernel {
            for (number, resource) in line.split(',').filter_map(figure) {
                match resource {
                    "registers" => registers = Some(number),
                    "bytes smem" => usage.shared += number,
                    "bytes stack frame" if of_itself => usage.stack = number,
                    "bytes spill stores" => usage.spill_stores += number,
                    "bytes spill loads" => usage.spill_loads += number,
                    resource if resource.starts_with("bytes cmem[") => usage.constant += number,
                    _ => {}
                }
            }
        }
    }
    registers.map(|registers| Usage { registers, ..usage })
}

/// The first line of a log that tells of a loss of speed, as where products of tensor cores wait for each other.
pub(crate) fn loss(log: &str) -> Option<&str> {
    log.lines().find(|line| line.contains("Potential Performance Loss"))
}

/// 32 and `registers` of `ptxas info    : Used 32 registers`: the first word that is a number, and the text after it.
fn figure(text: &str) -> Option<(u64, &str)> {
    let at = text.split_inclusive(' ').take_while(|word| word.trim_end().parse::<u64>().is_err()).map(str::len).sum();
    let (number, resource) = text[at..].split_once(' ')?;
    Some((number.parse().ok()?, resource.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Written by NVRTC 13.0.
    const DIRECTION: &str = "_Z25update_direction_diagonalIdLi256ELi4EEvPKT_S2_PS0_S3_PN10gpu_sparse5StateEPKdyy";
    const SPILLS: &str = "\
ptxas info    : 5 bytes gmem, 16 bytes cmem[4]
ptxas info    : Compiling entry function '_Z25update_direction_diagonalIdLi256ELi4EEvPKT_S2_PS0_S3_PN10gpu_sparse5StateEPKdyy' for 'sm_80'
ptxas info    : Function properties for _Z25update_direction_diagonalIdLi256ELi4EEvPKT_S2_PS0_S3_PN10gpu_sparse5StateEPKdyy
ptxas         .     56 bytes stack frame, 70 bytes spill stores, 68 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 56 bytes cumulative stack size, 82 bytes smem, 416 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 61.951 ms
";
    const FILL: &str = "\
ptxas info    : 1 bytes gmem
ptxas info    : Compiling entry function '_Z4fillIjLi256EEvT_PS0_y' for 'sm_90'
ptxas info    : Function properties for _Z4fillIjLi256EEvT_PS0_y
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 28 registers, used 0 barriers
ptxas info    : Compile time = 8.217 ms
";

    #[test]
    fn a_log_tells_all_of_a_kernel() {
        let want = Usage { registers: 64, shared: 82, stack: 56, spill_stores: 70, spill_loads: 68, constant: 416 + 8 };
        assert_eq!(usage(SPILLS, DIRECTION), Some(want));
        assert_eq!(usage(FILL, "_Z4fillIjLi256EEvT_PS0_y"), Some(Usage { registers: 28, ..Usage::default() }));
    }

    #[test]
    fn a_kernel_is_told_from_others_of_its_program() {
        let both = format!("a warning, 7 registers\n{FILL}{SPILLS}{}", FILL.replace("_Z4fill", "_Z4other"));
        assert_eq!(usage(&both, DIRECTION), usage(SPILLS, DIRECTION));
        assert_eq!(usage(&both, "_Z4fillIjLi256EEvT_PS0_y").map(|usage| usage.registers), Some(28));
    }

    #[test]
    fn functions_that_are_not_inlined_count_for_spills_alone() {
        let call = "ptxas info    : Function properties for helper\n    24 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads\n";
        let with_call = SPILLS.replacen("ptxas info    : Used", &format!("{call}ptxas info    : Used"), 1);
        let usage = usage(&with_call, DIRECTION).unwrap();
        assert_eq!((usage.stack, usage.spill_stores, usage.spill_loads, usage.registers), (56, 86, 76, 64));
    }

    #[test]
    fn a_loss_is_found_among_the_lines_of_a_log() {
        assert_eq!(loss(SPILLS), None);
        let line = "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ...";
        assert_eq!(loss(&format!("{SPILLS}{line}\n{FILL}")), Some(line));
    }

    #[test]
    fn a_log_without_the_kernel_or_its_registers_tells_nothing() {
        assert_eq!(usage("", DIRECTION), None);
        assert_eq!(usage(FILL, DIRECTION), None);
        assert_eq!(usage(&SPILLS.replace("Used 64 registers, ", ""), DIRECTION), None);
        assert_eq!(usage(&SPILLS.replace("64 registers", "many registers"), DIRECTION), None);
    }
}
