//! The driver's own compiler and linker: options, logs, programs that call each other.

use gpu_driver::{Device, DriverError, HostOut, JitOptions, LaunchConfig, LinkInput, Linker, Module, Program};
use testkit::{Outcome, ensure, ensure_eq};

/// Adds the thread's number to a value, in the PTX of an old architecture, which all GPUs of today compile.
const PTX: &str = r#".version 6.3
.target sm_75
.address_size 64
.visible .entry add(.param .u64 place, .param .u32 value)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [place];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd2, %rd3;
    add.u32 %r3, %r2, %r1;
    st.global.u32 [%rd4], %r3;
    ret;
}
"#;

const TWICE: &str = "__device__ int factor = 2;\n__device__ int twice(int x) { return factor * x; }\n";
const MAP: &str = "__device__ int twice(int x);\n\
    extern \"C\" __global__ void map(int *x, int n) { int i = threadIdx.x; if (i < n) x[i] = twice(x[i]); }\n";

pub fn ptx_is_compiled_with_options_and_logs(device: &Device) -> Outcome {
    let plain = JitOptions::new();
    for options in [plain.clone(), plain.max_registers(24).optimization_level(1).line_info().verbose()] {
        // SAFETY: text.
        let loaded = unsafe { Module::load_image_with(device, PTX.as_bytes(), &options) };
        if device.is_emulated() {
            let error = loaded.err().ok_or("PTX was loaded")?;
            ensure!(matches!(error, DriverError::Jit(_)), "{error:?}");
            ensure!(error.to_string().contains("(200)") && error.to_string().contains("it runs no PTX"), "{error}");
            continue;
        }
        let (module, mut y) = (loaded?, [0u32; 3]);
        // SAFETY: three threads write three elements.
        unsafe { module.function("add")?.launch(LaunchConfig::new(1, 3), (HostOut(&mut y), 5u32), &device.stream())? };
        ensure_eq!(y, [5, 6, 7]);
    }
    // SAFETY: text.
    let error = unsafe { Module::load_image(device, PTX.replace("add.u32", "multiply.u32").as_bytes()) }.err();
    let Some(DriverError::Jit(error)) = error else { return Err(format!("{error:?}").into()) };
    ensure!(!error.log.is_empty() && error.to_string().contains("cuModuleLoadDataEx failed"), "{error}");
    ensure!(device.is_emulated() || error.log.contains("multiply"), "{error}");
    // Options leave compiled programs as they are.
    let binary = Program::from(format!("{TWICE}{MAP}")).compile(device.arch())?;
    // SAFETY: a compiler's image.
    let module = unsafe { Module::load_image_with(device, binary.image(), &JitOptions::new().max_registers(40))? };
    ensure_eq!(module.jit_log().contains("have no effect on the emulated device"), device.is_emulated());
    let plain = device.compile(TWICE)?;
    ensure_eq!(plain.jit_log(), "");
    Ok(())
}

pub fn programs_that_call_each_other_are_linked(device: &Device) -> Outcome {
    let options = JitOptions::new().max_registers(40);
    if device.is_emulated() {
        return one_program_is_linked(device, &options);
    }
    let part = |name, text: &str| Program::new(name, text).option("-rdc=true").compile(device.arch());
    let (twice, map) = (part("twice.cu", TWICE)?, part("map.cu", MAP)?);
    let linker = || -> Result<Linker, DriverError> {
        let mut linker = Linker::new(device, &options)?;
        linker.add_binary("map", &map)?;
        Ok(linker)
    };
    let mut whole = linker()?;
    whole.add_binary("twice", &twice)?;
    whole.add_ptx("add", PTX)?;
    let module = whole.link()?;
    let (stream, mut x) = (device.stream(), [1, 2, 3]);
    module.global::<i32>("factor")?.write(&[3], &stream)?;
    let kernel = module.function("map")?;
    // SAFETY: three threads change three elements.
    unsafe { kernel.launch(LaunchConfig::new(1, 3), (&mut x, 3), &stream)? };
    ensure_eq!(x, [3, 6, 9]);
    let error = kernel.check::<(f32, i32)>().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("argument 1"), "{error}");
    let mut y = [0u32; 2];
    // SAFETY: two threads write two elements.
    unsafe { module.function("add")?.launch(LaunchConfig::new(1, 2), (HostOut(&mut y), 1u32), &stream)? };
    ensure_eq!(y, [1, 2]);
    // The image outlives its linker.
    let mut whole = linker()?;
    // SAFETY: a compiler's image.
    unsafe { whole.add_image(LinkInput::Cubin, "twice", twice.image())? };
    let image = whole.into_image()?;
    // SAFETY: the driver's image.
    unsafe { Module::load_image(device, &image)? }.function("map")?;
    let missing = linker()?.link().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(missing.contains("twice"), "{missing}");
    let mut broken = linker()?;
    let error = broken.add_ptx("broken", "this is no PTX").err();
    ensure!(matches!(error, Some(DriverError::Jit(_))), "{error:?}");
    // SAFETY: nothing is there to read.
    ensure!(unsafe { broken.add_file(LinkInput::Library, "/nowhere.a") }.is_err());
    Ok(())
}

/// On the emulated device.
fn one_program_is_linked(device: &Device, options: &JitOptions) -> Outcome {
    let refused = |result: Result<(), DriverError>, part: &str| match result {
        Err(DriverError::Jit(error)) if error.to_string().contains(part) => Ok(()),
        other => Err(format!("{part}: {other:?}")),
    };
    let binary = Program::from(format!("{TWICE}{MAP}")).compile(device.arch())?;
    let mut linker = Linker::new(device, options)?;
    refused(linker.add_ptx("add", PTX), "it runs no PTX")?;
    linker.add_binary("whole", &binary)?;
    refused(linker.add_binary("again", &binary), "compile one program that holds all texts")?;
    // SAFETY: it is refused.
    refused(unsafe { linker.add_file(LinkInput::Library, "/nowhere.a") }, "compile one program")?;
    let (module, mut x) = (linker.link()?, [1, 2, 3]);
    let kernel = module.function("map")?;
    // SAFETY: three threads change three elements.
    unsafe { kernel.launch(LaunchConfig::new(1, 3), (&mut x, 3), &device.stream())? };
    ensure_eq!(x, [2, 4, 6]);
    let error = kernel.check::<(f32, i32)>().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("argument 1"), "{error}");
    ensure!(Linker::new(device, options)?.into_image().is_err(), "no program");
    let mut other = Linker::new(device, options)?;
    ensure!(matches!(other.add_ptx("nul", "\0"), Err(DriverError::Nul { .. })));
    // Where NVRTC is there to make a program for GPUs.
    if let Ok(for_gpu) = Program::from(MAP).option("-rdc=true").compile(gpu_driver::Arch::new(9, 0)) {
        ensure!(matches!(other.add_binary("map", &for_gpu), Err(DriverError::WrongKind { .. })));
    }
    Ok(())
}
