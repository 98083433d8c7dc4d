//! Normal numbers have cuRAND's bits only where the compiler contracts multiply-adds and keeps subnormal numbers. (Roots are ours.)

use gpu_driver::{Arch, Instance};
use testkit::{Outcome, Test, ensure, tests};

pub const OPTIONS: &[Test<()>] = tests![kernels_are_compiled_as_curand_is, each_of_these_options_matters];

/// What the default is, written out.
const RIGHT: [&str; 4] = ["--fmad=true", "--prec-sqrt=true", "--prec-div=true", "--ftz=false"];

fn instance(expression: &str) -> Result<Instance, String> {
    let all = gpu_random::KERNELS.instances();
    let found = all.into_iter().find(|instance| instance.expression() == expression);
    found.cloned().ok_or_else(|| format!("no kernel {expression}"))
}

/// The kernel as PTX: of an architecture that NVRTC does not know it gives that of the newest one below. Images would have the options in them too.
fn code(instance: &Instance, options: &[&str]) -> Result<String, String> {
    let program = options.iter().fold(instance.program(), |program, &option| program.option(option));
    let compiled = program.compile(Arch::new(9, 9)).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(compiled.image());
    if !text.contains(".entry") {
        return Err(format!("NVRTC gave no PTX: {text}"));
    }
    Ok(without_names_of_the_file(&text))
}

/// The text without the names of namespaces that a file has to itself, such as `47_GLOBAL__N__00000000_9_xorwow_cu_0a1b2c3d_20518`: NVRTC puts the
/// second and the process into them, and the cache has texts of several processes. The number in front is the name's length.
fn without_names_of_the_file(text: &str) -> String {
    let (mut rest, mut kept) = (text, String::new());
    while let Some(at) = ["_GLOBAL__N_", "_INTERNAL_"].iter().filter_map(|name| rest.find(name)).min() {
        let before = rest[..at].trim_end_matches(|digit: char| digit.is_ascii_digit());
        let length = rest[before.len()..at].parse().unwrap_or(1);
        kept += before;
        rest = rest.get(at + length..).unwrap_or_default();
    }
    kept + rest
}

const NORMAL: [&str; 2] = [
    "gpu_random::xorwow_fill<gpu_random::Normal<float>, true>",
    "gpu_random::xorwow_fill<gpu_random::Normal<double>, true>",
];

fn kernels_are_compiled_as_curand_is(_: &()) -> Outcome {
    for expression in NORMAL {
        let instance = instance(expression)?;
        ensure!(code(&instance, &[])? == code(&instance, &RIGHT)?, "{expression}");
    }
    Ok(())
}

fn each_of_these_options_matters(_: &()) -> Outcome {
    let instance = instance(NORMAL[0])?;
    let right = code(&instance, &[])?;
    for wrong in ["--use_fast_math", "--fmad=false", "--ftz=true"] {
        ensure!(code(&instance, &[wrong])? != right, "{wrong} changes nothing");
    }
    Ok(())
}
