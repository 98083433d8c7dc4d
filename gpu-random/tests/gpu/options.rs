//! Normal numbers have cuRAND's bits only where the compiler contracts multiply-adds and keeps subnormal numbers. (Roots are ours.)

use gpu_driver::{Arch, CHECKED_ARCHS, Instance};
use testkit::{Outcome, Test, ensure, tests};

pub const OPTIONS: &[Test<()>] = tests![kernels_are_compiled_as_curand_is, each_of_these_options_matters];

/// What the default is, written out.
const RIGHT: [&str; 4] = ["--fmad=true", "--prec-sqrt=true", "--prec-div=true", "--ftz=false"];

fn instance(expression: &str) -> Result<Instance, String> {
    let all = gpu_random::KERNELS.instances();
    let found = all.into_iter().find(|instance| instance.expression() == expression);
    found.cloned().ok_or_else(|| format!("no kernel {expression}"))
}

/// The kernel's instructions; what else is in an image may be the options themselves.
fn code(instance: &Instance, arch: Arch, options: &[&str]) -> Result<Vec<u8>, String> {
    let program = options.iter().fold(instance.program(), |program, &option| program.option(option));
    let compiled = program.compile(arch).map_err(|error| error.to_string())?;
    instructions(compiled.image()).ok_or_else(|| format!("no code for {arch}"))
}

/// The contents of an ELF file's sections `.text.…` (64 bits, little-endian).
fn instructions(elf: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize, bytes: usize| {
        let bytes = elf.get(at..at + bytes)?;
        Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
    };
    let (headers, size, count, names) = (number(40, 8)?, number(58, 2)?, number(60, 2)?, number(62, 2)?);
    let header = |section: usize| headers + section * size;
    let names = number(header(names) + 24, 8)?;
    let mut all = Vec::new();
    for section in (0..count).map(header) {
        let name = elf.get(names + number(section, 4)?..)?;
        if name.starts_with(b".text.") {
            let start = number(section + 24, 8)?;
            all.extend_from_slice(elf.get(start..start + number(section + 32, 8)?)?);
        }
    }
    (!all.is_empty()).then_some(all)
}

const NORMAL: [&str; 2] = ["xorwow_fill<Normal<float>, true>", "xorwow_fill<Normal<double>, true>"];

fn kernels_are_compiled_as_curand_is(_: &()) -> Outcome {
    for expression in NORMAL {
        let instance = instance(expression)?;
        for arch in CHECKED_ARCHS {
            ensure!(code(&instance, arch, &[])? == code(&instance, arch, &RIGHT)?, "{expression}, {arch}");
        }
    }
    Ok(())
}

fn each_of_these_options_matters(_: &()) -> Outcome {
    let instance = instance(NORMAL[0])?;
    let arch = Arch::new(9, 0);
    let right = code(&instance, arch, &[])?;
    for wrong in ["--use_fast_math", "--fmad=false", "--ftz=true"] {
        ensure!(code(&instance, arch, &[wrong])? != right, "{wrong} changes nothing");
    }
    Ok(())
}
