//! Compilation: needs NVRTC and no device.

use gpu_driver::{Arch, BinaryKind, DriverError, Instance, Program, Registry, nvrtc};
use testkit::{Outcome, ensure, ensure_eq};

use crate::kernels::{Broken, KERNELS, WrongAxpy};

const HOPPER: Arch = Arch::new(9, 0);

pub fn templates_are_found_by_name_expression(_: &()) -> Outcome {
    let text = "template <class T> __global__ void f(T *x) { *x = T(1); }";
    let binary = Program::new("f.cu", text).name_expression("f<float>").name_expression("f<double>").compile(HOPPER)?;
    ensure_eq!(binary.kind(), BinaryKind::Cubin);
    ensure!(binary.image().starts_with(b"\x7fELF"));
    ensure!(binary.names()[0].1.contains("1fIfE") && binary.names()[1].1.contains("1fIdE"), "{:?}", binary.names());
    Ok(())
}

pub fn headers_and_options_reach_the_compiler(_: &()) -> Outcome {
    let text = "#include \"width.cuh\"\n#ifndef LEVEL\n#error no LEVEL\n#endif\nextern \"C\" __global__ void f(int *x) { *x = WIDTH + LEVEL; }";
    let program = Program::new("f.cu", text).header("width.cuh", "#define WIDTH 4\n");
    ensure!(program.clone().option("-DLEVEL=2").compile(HOPPER).is_ok());
    let Err(DriverError::Compile(error)) = program.compile(HOPPER) else { return Err("compiled without LEVEL".into()) };
    ensure!(error.log.contains("no LEVEL"), "{error}");
    Ok(())
}

pub fn a_minimal_program_has_all_declarations_that_it_needs(_: &()) -> Outcome {
    let text = "extern \"C\" __global__ void f(cudaTextureObject_t t, float *x) { *x = tex2D<float>(t, 0.5f, 0.5f); }";
    ensure!(Program::new("textured.cu", text).minimal().compile(HOPPER).is_ok());
    let Err(DriverError::Compile(error)) = Program::new("f.cu", "undefined_thing").minimal().compile(HOPPER) else {
        return Err("compiled".into());
    };
    ensure!(
        error.log.contains("f.cu(1): error") && !error.options.iter().any(|option| option == "--minimal"),
        "{error}"
    );
    Ok(())
}

pub fn an_error_keeps_log_name_and_numbered_source(_: &()) -> Outcome {
    let text = "extern \"C\" __global__ void f(float *x)\n{\n    x[0] = undefined_thing;\n}\n";
    let Err(DriverError::Compile(error)) = Program::new("broken.cu", text).compile(HOPPER) else {
        return Err("compiled".into());
    };
    let shown = error.to_string();
    ensure!(shown.contains("broken.cu(3): error") && shown.contains(">    3 |     x[0] = undefined_thing;"), "{shown}");
    ensure!(shown.contains("sm_90"), "{shown}");
    Ok(())
}

pub fn a_registered_kernel_s_error_marks_its_own_lines(_: &()) -> Outcome {
    let registry = Registry::new("broken").with::<Broken>(&());
    let Err(DriverError::Compile(error)) = registry.instances()[0].compile(HOPPER) else {
        return Err("compiled".into());
    };
    let shown = error.to_string();
    ensure!(shown.contains("broken.cu(3): error") && shown.contains(">    3 |     undefined_thing = 1;"), "{shown}");
    Ok(())
}

pub fn options_that_make_no_code_or_no_sense_are_errors(_: &()) -> Outcome {
    let program = Program::new("f.cu", "__global__ void f() {}");
    let empty = program.clone().option("-dlto").compile(HOPPER).unwrap_err().to_string();
    ensure!(empty.contains("no machine code") && empty.contains("-dlto"), "{empty}");
    let unknown = program.option("--use_fast_mathh").compile(HOPPER).unwrap_err().to_string();
    ensure!(unknown.contains("--use_fast_mathh") && unknown.contains("unrecognized option"), "{unknown}");
    Ok(())
}

pub fn includes_find_given_headers_alone(_: &()) -> Outcome {
    // Tests run in their package's folder, which holds this file.
    let text = "#include \"tests/gpu/kernels.cu\"\n__global__ void f() {}";
    let error = Program::new("f.cu", text).compile(HOPPER).unwrap_err().to_string();
    ensure!(error.contains("tests/gpu/kernels.cu"), "{error}");
    Ok(())
}

pub fn headers_of_c_and_cuda_compile_for_gpus(_: &()) -> Outcome {
    let all: String = nvrtc::standard_headers().iter().map(|name| format!("#include <{name}>\n")).collect();
    for arch in [Arch::new(7, 5), HOPPER, Arch::new(10, 0)] {
        let binary = Program::new("headers.cu", crate::functions::HEADERS).compile(arch)?;
        ensure_eq!(binary.log(), "");
        Program::from(format!("{all}__global__ void f() {{}}")).compile(arch)?;
    }
    let error = Program::from("#include <vector>\n").compile(HOPPER).unwrap_err().to_string();
    ensure!(error.contains("note: there is no header `vector`. A program may include its own headers"), "{error}");
    // A program's digest holds the headers that it takes, and no others.
    let of = |text: &str| Program::from(text).digest();
    ensure_eq!(of("int x;"), Program::new("kernel.cu", "int x;").digest());
    ensure!(of("#include <cfloat>\n") != of("#include <climits>\n"));
    Ok(())
}

pub fn a_program_is_kept_where_it_is_asked_for(_: &()) -> Outcome {
    let folder = tempfile::tempdir()?;
    let read = |name: &str| std::fs::read_to_string(folder.path().join("kept").join(name));
    let program = Program::new("f.cu", "#include <cfloat>\n__global__ void f(float *x) { *x = FLT_MAX / WIDTH; }");
    let program = program.keep(folder.path().join("kept")).header("sub/own.cuh", "// own\n");
    ensure!(program.compile(HOPPER).is_err());
    ensure!(read("f.cu")?.contains("FLT_MAX / WIDTH") && read("cfloat")?.contains("FLT_EPSILON"));
    ensure!(read("sub/own.cuh")? == "// own\n" && read("f.cu.log")?.contains("WIDTH"));
    let binary = program.define("WIDTH", 4).debug().compile(HOPPER)?;
    ensure_eq!(std::fs::read(folder.path().join("kept/f.cu.cubin"))?, binary.image());
    ensure_eq!(read("f.cu.log")?, "");
    Ok(())
}

pub fn a_kernel_that_differs_from_its_rust_type_does_not_compile(_: &()) -> Outcome {
    let registry = Registry::new("wrong").with::<WrongAxpy>(&());
    let instance: &Instance = registry.instances()[0];
    let Err(DriverError::Compile(error)) = instance.compile(HOPPER) else { return Err("compiled".into()) };
    ensure!(error.log.contains("(const float *, float, float *, uint64_t)"), "{error}");
    Ok(())
}

pub fn an_architecture_newer_than_nvrtc_gets_ptx(_: &()) -> Outcome {
    let text = "extern \"C\" __global__ void f(int *x) { *x = 1; }";
    let binary = Program::new("f.cu", text).compile(Arch::new(99, 9))?;
    ensure_eq!(binary.kind(), BinaryKind::Ptx);
    ensure!(String::from_utf8_lossy(binary.image()).contains(".target sm_"));
    let Err(DriverError::UnsupportedArch { .. }) = Program::new("f.cu", text).compile(Arch::new(2, 0)) else {
        return Err("compiled for sm_20".into());
    };
    Ok(())
}

pub fn texts_with_nul_are_refused(_: &()) -> Outcome {
    let refused = |program: Program| matches!(program.compile(HOPPER), Err(DriverError::Nul { .. }));
    ensure!(refused(Program::new("f.cu", "__global__ void f() {}\0")));
    ensure!(refused(Program::new("f\0.cu", "__global__ void f() {}")));
    ensure!(refused(Program::new("f.cu", "__global__ void f() {}").option("-D\0")));
    Ok(())
}

/// Whether programs are compiled, and kept in a cache.
pub fn compiler_with_cache() -> Result<(), String> {
    nvrtc::version().map_err(|error| error.to_string())?;
    let folder = nvrtc::cache_folder().map_err(|error| error.to_string())?;
    folder.map(drop).ok_or_else(|| "there is no cache of compiled kernels (GPU_CACHE_DIR=off)".to_owned())
}

pub fn the_second_compilation_comes_from_the_cache(_: &()) -> Outcome {
    // A text of this run's own, so that the first is no hit.
    let text = format!("// {:?}\n__global__ void f() {{}}", std::time::SystemTime::now());
    let program = Program::new("f.cu", text).name_expression("f");
    let first = program.compile(HOPPER)?;
    ensure_eq!(first.origin(), gpu_driver::Origin::Compiled);
    let second = program.compile(HOPPER)?;
    ensure_eq!(second.origin(), gpu_driver::Origin::Cache);
    ensure_eq!(first, second);
    ensure_eq!(program.clone().option("-lineinfo").compile(HOPPER)?.origin(), gpu_driver::Origin::Compiled);
    ensure_eq!(program.compile(Arch::new(8, 0))?.origin(), gpu_driver::Origin::Compiled);
    // Options of one name and another value make other code.
    for level in 1..3 {
        let program = program.clone().option(format!("-DLEVEL={level}"));
        let origins = [program.compile(HOPPER)?.origin(), program.compile(HOPPER)?.origin()];
        ensure_eq!((level, origins), (level, [gpu_driver::Origin::Compiled, gpu_driver::Origin::Cache]));
    }
    Ok(())
}

pub fn a_file_that_is_named_by_its_path_is_read_each_time(_: &()) -> Outcome {
    let folder = tempfile::tempdir()?;
    let header = folder.path().join("width.cuh");
    let text = format!("#include \"{}\"\n__global__ void f(int *x) {{ *x = WIDTH; }}", header.display());
    let program = Program::new("f.cu", text).name_expression("f");
    let mut images = vec![];
    for width in [1001, 2002] {
        std::fs::write(&header, format!("#define WIDTH {width}\n"))?;
        let binary = program.compile(HOPPER)?;
        ensure_eq!(binary.origin(), gpu_driver::Origin::Compiled);
        images.push(binary.image().to_vec());
    }
    ensure!(images[0] != images[1], "the first image, after the file has changed");
    Ok(())
}

pub fn sixteen_threads_compile_at_once(_: &()) -> Outcome {
    std::thread::scope(|scope| {
        let compile = |n: usize| move || KERNELS.instances()[n % 3].compile(HOPPER).map(|binary| binary.image().len());
        let threads: Vec<_> = (0..16).map(|n| scope.spawn(compile(n))).collect();
        for thread in threads {
            let size = thread.join().map_err(|_| "a thread panicked")??;
            ensure!(size > 100);
        }
        Ok(())
    })
}
