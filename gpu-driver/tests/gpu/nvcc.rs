//! Programs that the CUDA toolkit's compiler makes, and kernels that launch kernels.

use gpu_driver::{Arch, BinaryKind, Device, DriverError, LaunchConfig, Module, Origin, Program, nvrtc};
use testkit::{Outcome, ensure, ensure_eq};

use crate::examples::dynamic_parallelism;

const HOPPER: Arch = Arch::new(9, 0);

/// It includes a header of the host's compiler, which NVRTC has not.
const TEXT: &str = "#include <utility>\n#include \"width.cuh\"\n\
    extern \"C\" __global__ void f(int *x) { *x = WIDTH + LEVEL + std::pair<int, int>(1, 2).second; }\n\
    int main() { return 0; }\n";

fn program() -> Program {
    Program::new("folder/f.cu", TEXT)
        .nvcc()
        .header("width.cuh", "#define WIDTH 4\n")
        .define("LEVEL", 7)
        .option("--expt-relaxed-constexpr")
}

pub fn nvcc_compiles_with_headers_and_options(_: &()) -> Outcome {
    let kept = tempfile::tempdir()?;
    let binary = program().keep(kept.path()).compile(HOPPER)?;
    ensure_eq!(binary.kind(), BinaryKind::Cubin);
    ensure!(binary.image().starts_with(b"\x7fELF"), "no cubin");
    for name in ["folder/f.cu", "folder/f.cu.cubin", "folder/f.cu.log", "width.cuh"] {
        ensure!(kept.path().join(name).exists(), "{name}");
    }
    ensure_eq!(std::fs::read(kept.path().join("folder/f.cu.cubin"))?, binary.image());
    // The second one comes from the cache, where there is one; PTX and fat binaries are others.
    let again = program().compile(HOPPER)?;
    ensure!(again == binary && (nvrtc::cache_folder()?.is_none() || again.origin() == Origin::Cache), "{again:?}");
    let ptx = program().option("-ptx").compile(HOPPER)?;
    ensure_eq!(ptx.kind(), BinaryKind::Ptx);
    ensure!(String::from_utf8_lossy(ptx.image()).contains(".entry f("), "no PTX");
    let both = program().option("-fatbin").option("-gencode=arch=compute_80,code=sm_80");
    let both = both.option("-gencode=arch=compute_90,code=sm_90").compile(HOPPER)?;
    ensure!(both.kind() == BinaryKind::Fatbin && both.image().len() > binary.image().len(), "{}", both.image().len());
    Ok(())
}

/// A GPU, and the nvcc whose code it runs.
pub fn device_with_nvcc() -> Result<Device, String> {
    nvrtc::nvcc().map_err(|error| error.to_string())?;
    let device = Device::for_tests().map_err(|error| error.to_string())?;
    match device.is_emulated() {
        true => Err("the emulated device runs no machine code of nvcc".to_owned()),
        false => Ok(device),
    }
}

/// A fat binary with code for 8.0 and the architecture.
fn fatbin(arch: Arch) -> Program {
    let numbers = [80, arch.number()].into_iter().collect::<std::collections::BTreeSet<_>>();
    let each = numbers.into_iter().map(|number| format!("-gencode=arch=compute_{number},code=sm_{number}"));
    each.fold(program().option("-fatbin"), Program::option)
}

/// As a binary, as an image and from a file.
pub fn code_of_nvcc_runs(device: &Device) -> Outcome {
    let run = |module: &Module| -> Result<i32, Box<dyn std::error::Error>> {
        let mut x = [0];
        // SAFETY: one thread writes one element.
        unsafe { module.function("f")?.launch(LaunchConfig::new(1, 1), (&mut x,), &device.stream())? };
        Ok(x[0])
    };
    let folder = tempfile::tempdir()?;
    let ptx = program().option("-ptx");
    for (program, kind) in
        [(program(), BinaryKind::Cubin), (fatbin(device.arch()), BinaryKind::Fatbin), (ptx, BinaryKind::Ptx)]
    {
        let (binary, path) = (program.compile(device.arch())?, folder.path().join("image"));
        ensure_eq!((binary.kind(), run(&Module::load(device, &binary)?)?), (kind, 13));
        ensure_eq!(run(&device.compile(program)?)?, 13);
        std::fs::write(&path, binary.image())?;
        // SAFETY: nvcc's image, and a file of it.
        let (image, file) = unsafe { (Module::load_image(device, binary.image())?, Module::load_file(device, &path)?) };
        ensure_eq!((run(&image)?, run(&file)?), (13, 13));
    }
    Ok(())
}

pub fn error_code_of_nvcc_on_the_emulated_device(_: &()) -> Outcome {
    let device = Device::for_tests()?;
    for program in [program(), fatbin(HOPPER)] {
        let loaded = Module::load(&device, &program.compile(HOPPER)?);
        if device.is_emulated() {
            let error = loaded.err().ok_or("loaded")?;
            let is_told =
                error.to_string().contains("compiled for a GPU cannot be loaded on the emulated device; compile it");
            ensure!(matches!(error, DriverError::WrongKind { .. }) && is_told, "{error}");
        }
    }
    Ok(())
}

pub fn headers_that_no_key_holds_are_read_each_time(_: &()) -> Outcome {
    let (here, text) =
        (tempfile::tempdir()?, "#include \"elsewhere.cuh\"\nextern \"C\" __global__ void f(int *x) { *x = N; }\n");
    let compiled = |n: u32| -> Result<_, Box<dyn std::error::Error>> {
        std::fs::write(here.path().join("elsewhere.cuh"), format!("#define N {n}\n"))?;
        let program = Program::new("elsewhere.cu", text).nvcc();
        Ok(program.option("-isystem").option(here.path().display().to_string()).compile(HOPPER)?)
    };
    let (one, two) = (compiled(1)?, compiled(2)?);
    ensure!(one != two && two.origin() == Origin::Compiled, "the old header's code");
    Ok(())
}

pub fn error_what_nvcc_does_not_compile(_: &()) -> Outcome {
    let broken =
        Program::new("broken.cu", "extern \"C\" __global__ void f(float *x)\n{\n    *x = undefined_thing;\n}\n").nvcc();
    let Err(DriverError::Compile(error)) = broken.compile(HOPPER) else { return Err("compiled".into()) };
    let shown = error.to_string();
    ensure!(shown.contains("broken.cu(3): error") && shown.contains(">    3 |     *x = undefined_thing;"), "{shown}");
    ensure!(!shown.contains("/gpu-nvcc-"), "{shown}");
    let error = program().option("--no-such-option").compile(HOPPER).unwrap_err();
    ensure!(matches!(&error, DriverError::Compiler { .. }), "{error:?}");
    ensure!(error.to_string().contains("no-such-option") && error.to_string().contains("nvcc"), "{error}");
    let error = program().name_expression("f").compile(HOPPER).unwrap_err().to_string();
    ensure!(error.contains("name expression"), "{error}");
    Ok(())
}

/// Whether kernels can launch kernels here.
pub fn device_with_runtime() -> Result<Device, String> {
    let device = Device::for_tests().map_err(|error| error.to_string())?;
    if device.is_emulated() {
        return Err("kernels of the emulated device launch no kernels".to_owned());
    }
    nvrtc::device_runtime().map_err(|error| error.to_string())?;
    Ok(device)
}

pub fn the_example_dynamic_parallelism(device: &Device) -> Outcome {
    dynamic_parallelism::run(device)
}

pub fn kernels_that_launch_kernels_compile_for_gpus(_: &()) -> Outcome {
    let program = Program::from(dynamic_parallelism::SOURCE).option("-rdc=true");
    ensure!(program.compile(HOPPER)?.image().starts_with(b"\x7fELF"), "no cubin");
    Ok(())
}

pub fn error_kernels_that_launch_kernels_on_the_emulated_device(device: &Device) -> Outcome {
    let error = device.compile_dynamic(dynamic_parallelism::SOURCE).unwrap_err();
    ensure!(matches!(&error, DriverError::NoDeviceRuntime { .. }), "{error:?}");
    ensure!(error.to_string().contains("launch from the host"), "{error}");
    Ok(())
}
