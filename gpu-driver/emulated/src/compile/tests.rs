use std::{fs, time::Instant};

use super::*;

const STAND_IN: &[(&str, &str)] =
    &[("emulated.h", include_str!("stand_in.h")), ("cuda_fp16.h", "struct half { short bits; };")];

const AXPY: &str = r#"
    template <class T, int N> __global__ void __launch_bounds__(N, 2) axpy(T a, const T *x, T *y, unsigned n) {
        __shared__ T tile[N];
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
            tile[0] = x[i];
            y[i] += a * tile[0];
        }
    }
    extern "C" __global__ void double_all(float *x) { x[threadIdx.x] *= 2; }
"#;

fn job(text: &str) -> CompileJob<'_> {
    CompileJob { name: "axpy.cu", text, headers: &[], options: &[], names: &[] }
}

/// Tests that call it are ignored where there is no compiler when they are built.
fn build(job: &CompileJob, cache: Option<&Path>) -> Result<Compiled> {
    build_with(Checks::Access, job, cache)
}

fn build_with(checks: Checks, job: &CompileJob, cache: Option<&Path>) -> Result<Compiled> {
    new_build(checks, job, cache)?.run()
}

fn new_build<'a>(checks: Checks, job: &'a CompileJob, cache: Option<&'a Path>) -> Result<Build<'a>> {
    let (debug, headers, toolchain) = (DebugInfo::Lines, STAND_IN, toolchain()?);
    Ok(Build { job, checks, debug, headers, toolchain, cache, precompiles: false, limit: LIMIT })
}

/// The programs in a cache, each in a folder.
fn entries(cache: &tempfile::TempDir) -> Vec<PathBuf> {
    let all = fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| !path.ends_with(lock::FOLDER)).collect()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// The stand-in's module, loaded.
struct LoadedImage {
    kernels: Vec<(String, *const ())>,
    enter: u32,
    bounds: *const [u32; 2],
    _library: libloading::Library,
}

fn load(image: &[u8]) -> LoadedImage {
    #[repr(C)]
    struct Module {
        kernels: *const (*const std::ffi::c_char, *const ()),
        count: u32,
        enter: u32,
        bounds: *const [u32; 2],
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.so");
    fs::write(&path, image).unwrap();
    // SAFETY: the image has no initialisers but those of the stand-in header.
    let library = unsafe { libloading::Library::new(path) }.unwrap();
    // SAFETY: the symbol is the struct of stand_in.h, and its strings live as long as the library.
    let (kernels, enter, bounds) = unsafe {
        let module = &**library.get::<*const Module>(b"gpu_emulated_module").unwrap();
        let kernels = std::slice::from_raw_parts(module.kernels, module.count as usize).iter();
        let name = |name| std::ffi::CStr::from_ptr(name).to_str().unwrap().to_owned();
        (kernels.map(|&(n, run)| (name(n), run)).collect(), module.enter, module.bounds)
    };
    LoadedImage { kernels, enter, bounds, _library: library }
}

fn names(loaded: &LoadedImage) -> Vec<&str> {
    loaded.kernels.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn a_program_becomes_a_library_whose_kernels_run() {
    let expressions = strings(&["axpy<float, 256>", "&axpy<double, 32 * (2 > 1)>"]);
    for checks in [Checks::Off, Checks::Access, Checks::Undefined] {
        let job = CompileJob { names: &expressions, ..job(AXPY) };
        let compiled = build_with(checks, &job, None);
        let compiled = compiled.unwrap();
        assert_eq!(compiled.log, "");
        let second = "axpy<double, 32 * (2 > 1)>";
        assert_eq!(compiled.names[1], (expressions[1].clone(), second.to_owned()));
        let loaded = load(&compiled.image);
        assert_eq!((names(&loaded), loaded.enter), (vec!["axpy<float, 256>", second, "double_all"], 1));
        let (x, mut y) = ([1.0f32, 2.0], [10.0f32, 20.0]);
        // SAFETY: the kernel has this signature, and the arrays have n elements.
        unsafe {
            let run: extern "C" fn(f32, *const f32, *mut f32, u32) = std::mem::transmute(loaded.kernels[0].1);
            run(3.0, x.as_ptr(), y.as_mut_ptr(), 2);
            assert_eq!((y, *loaded.bounds), ([13.0, 26.0], [256, 2]));
        }
    }
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn no_runtime_of_a_sanitizer_is_linked() {
    let compiled = build_with(Checks::Undefined, &job(AXPY), None);
    let image = compiled.unwrap().image;
    let contains = |text: &str| image.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(contains("gpu_emulated_module") && !contains("libubsan") && !contains("libasan") && !contains("libstdc++"));
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn the_same_job_gives_the_same_bytes() {
    let headers = [("a/h.cuh".to_owned(), "namespace { inline int g() { return 3; } }".to_owned())];
    let text =
        format!("#include \"a/h.cuh\"\n{AXPY}__global__ void k(int *x) {{ *x = g() + __LINE__ + sizeof(__FILE__); }}");
    let job = CompileJob { headers: &headers, names: &strings(&["k"]), ..job(&text) };
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = build(&job, None);
    assert_eq!(first.unwrap(), build(&job, None).unwrap());
    // Another cache is another place for the sources, which the debug information names.
    let (first, again) = (build(&job, Some(one.path())).unwrap(), build(&job, Some(one.path())).unwrap());
    assert_eq!((&first.image, first.is_cached, again.is_cached), (&again.image, false, true));
    assert!(build(&job, Some(two.path())).is_ok());
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn the_cache_keeps_sources_and_gives_back_what_is_whole() {
    let cache = tempfile::tempdir().unwrap();
    let headers = [("sub/h.cuh".to_owned(), "// header\n__global__ void h();\n".to_owned())];
    let text = format!("#include \"sub/h.cuh\"\n{AXPY}");
    let job = CompileJob { headers: &headers, name: "src/axpy.cu", ..job(&text) };
    let first = build(&job, Some(cache.path()));
    let first = first.unwrap();
    let found = entries(&cache);
    let [entry] = &found[..] else { panic!("{found:?}") };
    assert_eq!(fs::read_to_string(entry.join("src/axpy.cu")).unwrap(), text);
    assert_eq!(fs::read_to_string(entry.join("sub/h.cuh")).unwrap(), headers[0].1);
    let place = entry.canonicalize().unwrap().display().to_string();
    assert!(first.image.windows(place.len()).any(|window| window == place.as_bytes()), "debuggers look elsewhere");

    let image = entry.join(INNER).join("image.so");
    let start = Instant::now();
    assert_eq!(build(&job, Some(cache.path())).unwrap().image, first.image);
    assert!(start.elapsed() < Duration::from_millis(50), "it was compiled again");
    fs::write(&image, "damaged").unwrap();
    assert_eq!(build(&job, Some(cache.path())).unwrap().image, first.image);
    assert_eq!(fs::read(&image).unwrap(), first.image, "the damaged folder is replaced");
    assert_eq!(entries(&cache).len(), 1, "nothing else stays behind");
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn a_cache_that_cannot_be_written_is_no_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(build(&job(AXPY), Some(file.path())).is_ok());
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn errors_name_the_lines_of_the_program() {
    let text = "__global__ void f(int *x) {\n    __shared__ int a[2], b;\n    x[0] = unknown;\n}\n";
    let result = build(&job(text), None);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("axpy.cu:3:12: error: ") && error.contains(">    3 |     x[0] = unknown;"), "{error}");
    assert!(error.contains("'unknown'"), "plain quotation marks: {error}");

    let wrong = strings(&["nothing<int>"]);
    let error = build(&CompileJob { names: &wrong, ..job("int x;") }, None).unwrap_err().to_string();
    assert!(error.contains("kernels of axpy.cu:2:") && error.contains("nothing"), "{error}");

    let headers = [("h.cuh".to_owned(), "\n\nint y = wrong;".to_owned())];
    let error = build(&CompileJob { headers: &headers, ..job("#include <h.cuh>") }, None).unwrap_err().to_string();
    assert!(error.contains("h.cuh:3:9: error") && error.contains("axpy.cu:1"), "{error}");

    let error = build(&job("void gone(); extern \"C\" __global__ void f() { gone(); }"), None).unwrap_err();
    assert!(matches!(&error, DriverError::Compile(error) if error.log.contains("gone")), "{error}");
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn options_reach_the_program() {
    let text = "#include \"cuda_fp16.h\"\n#if WIDTH != 4 || defined(GONE)\n#error WIDTH\n#endif\n\
                static_assert(sizeof(half) == 2 && from_pre && TWICE(2) == 4, \"\");";
    let headers = [
        ("pre.h".to_owned(), "constexpr bool from_pre = true;".to_owned()),
        ("cuda_fp16.h".to_owned(), "#error NVIDIA's own\n".to_owned()),
        ("emulated.h".to_owned(), "#error the user's\n".to_owned()),
    ];
    let options = strings(&[
        "-D",
        "WIDTH=4",
        "-DGONE",
        "-UGONE",
        "-include",
        "pre.h",
        "--std=c++20",
        "-lineinfo",
        "-DTWICE(x)=2*(x)",
    ]);
    let result = build(&CompileJob { headers: &headers, options: &options, ..job(text) }, None);
    result.unwrap();
    let options = strings(&["--frobnicate"]);
    let error = build(&CompileJob { options: &options, ..job("") }, None).unwrap_err().to_string();
    assert!(error.contains("the emulated device does not know the option `--frobnicate`"), "{error}");
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn folders_of_the_user_are_searched_and_never_cached() {
    let (cache, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let header = folder.path().join("user.h");
    let options = strings(&["-I", folder.path().to_str().unwrap()]);
    let job = CompileJob { options: &options, ..job("#include \"user.h\"\nint x = USER;") };
    fs::write(&header, "#define USER 1").unwrap();
    let first = build(&job, Some(cache.path()));
    fs::write(&header, "#define USER 2").unwrap();
    let second = build(&job, Some(cache.path())).unwrap();
    assert_ne!(first.unwrap().image, second.image);
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn files_that_a_text_names_by_path_or_macro_are_never_cached() {
    let (cache, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("user.h");
    let digraph = format!("%:include \"{}\"\nint x = USER;", path.display());
    let (literal, by_macro) =
        (format!("#include \"{0}\"\nint x = USER;", path.display()), "#include FILE\nint x = USER;");
    let macro_option = strings(&[&format!("-DFILE=\"{}\"", path.display())]);
    let held = [("held.h".to_owned(), literal.clone())];
    let jobs = [
        job(&literal),
        CompileJob { options: &macro_option, ..job(by_macro) },
        CompileJob { headers: &held, ..job("#include \"held.h\"") },
        job(&digraph),
    ];
    for job in jobs {
        fs::write(&path, "#define USER 1").unwrap();
        let first = build(&job, Some(cache.path()));
        fs::write(&path, "#define USER 2").unwrap();
        let second = build(&job, Some(cache.path())).unwrap();
        assert_ne!(first.unwrap().image, second.image, "{job:?}");
    }
    assert_eq!(entries(&cache).len(), 0);
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn assembly_is_cached_unless_it_reads_files() {
    let (cache, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("bytes");
    let section = ".pushsection .rodata\\n";
    let name = format!("\\\"{}\\\"\\n.popsection", path.display());
    let texts = [
        format!("asm(\"{section}.incbin {name}\");"),
        format!("asm(\"{section}.inc\" \"bin {name}\");"),
        format!("#define ASM asm\nASM(\"{section}.include {name}\");"),
    ];
    for text in texts {
        fs::write(&path, ".byte 1, 2, 3\n").unwrap();
        let first = build(&job(&text), Some(cache.path()));
        fs::write(&path, ".byte 4, 5, 6\n").unwrap();
        let second = build(&job(&text), Some(cache.path())).unwrap();
        assert!(first.unwrap().image != second.image, "{text}");
    }
    assert_eq!(entries(&cache).len(), 0);

    // Put together by a macro, and with a directive, as the prelude's instructions of tensor cores.
    let harmless = "#define PUT(WORD) asm(\".pushsection .rodata\\n.\" WORD \" 7\\n.popsection\")\nPUT(\"byte\");";
    let [first, second] = [(), ()].map(|()| build(&job(harmless), Some(cache.path())).unwrap().is_cached);
    assert_eq!((first, second), (false, !toolchain().unwrap().is_clang));
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn the_value_of_an_option_is_part_of_what_the_cache_knows() {
    let cache = tempfile::tempdir().unwrap();
    let options = [strings(&["-DLEVEL=1"]), strings(&["-DLEVEL=2"])];
    let made = |options: &[String]| build(&CompileJob { options, ..job("int x = LEVEL;") }, Some(cache.path()));
    let first = made(&options[0]);
    let second = made(&options[1]).unwrap();
    assert!(!second.is_cached && second.image != first.unwrap().image);
    assert!(options.iter().all(|options| made(options).unwrap().is_cached));
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn a_cache_that_others_can_write_gives_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let cache = tempfile::tempdir().unwrap();
    let job = job(AXPY);
    let first = build(&job, Some(cache.path()));
    assert!(!first.unwrap().is_cached && build(&job, Some(cache.path())).unwrap().is_cached);
    let entry = entries(&cache).remove(0);
    let image = entry.join(INNER).join("image.so");
    assert_eq!(fs::metadata(&image).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&image, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!build(&job, Some(cache.path())).unwrap().is_cached);
}

/// A text, and how the message names the code that would run.
const RUNS_EARLY: [(&str, &str); 12] = [
    ("int f(int x);\nint y = f(3);\nint f(int x) { volatile int seen = x; return seen + 1; }", "`"),
    ("__attribute__((constructor)) void early() { __builtin_trap(); }", "early"),
    (
        "extern \"C\" __attribute__((constructor, visibility(\"default\"))) void early() { __builtin_trap(); }",
        "`early`",
    ),
    ("__attribute__((destructor)) static void frame_dummy() { __builtin_trap(); }", "frame_dummy"),
    // The name of the checks' own function, as another version of the compiler would spell it.
    ("extern \"C\" __attribute__((constructor)) void _GLOBAL__sub_I_00099_0() { __builtin_trap(); }", "sub_I_00099_0`"),
    (
        "static void other() { __builtin_trap(); }\n__attribute__((section(\".init_array\"), used)) void (*early)() = other;",
        "other",
    ),
    // Resolvers of indirect functions: one that is hidden, one that the dynamic linker looks up, one that nobody calls.
    (
        "extern \"C\" { static int one() { return 1; } typedef int F();\nF *choose() { return one; }\n\
         int f() __attribute__((ifunc(\"choose\"))); }\nint g() { return f(); }",
        "choose",
    ),
    (
        "extern \"C\" { static int one() { return 1; } typedef int F();\nF *choose() { return one; }\n\
         __attribute__((visibility(\"default\"), ifunc(\"choose\"))) int f(); }\nint g() { return f(); }",
        "choose",
    ),
    (
        "extern \"C\" { static int one() { return 1; } typedef int F();\nF *choose() { return one; }\n\
         __attribute__((visibility(\"default\"), ifunc(\"choose\"))) int f(); }",
        "choose",
    ),
    ("asm(\".section .init,\\\"ax\\\"\\n nop\\n .text\");", "section `.init`"),
    ("extern \"C\" void _init() { __builtin_trap(); }", "`_init`"),
    ("asm(\".section .dynamic,\\\"aw\\\"\\n .quad 12, 4096\\n .text\");", "section `.dynamic`"),
];

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn what_would_run_when_it_is_loaded_is_refused() {
    let kernel = "extern \"C\" __global__ void k(int *x) { *x = 1; }\n";
    for checks in [Checks::Off, Checks::Access, Checks::Undefined] {
        for (text, named) in RUNS_EARLY {
            let text = format!("{text}\n{kernel}");
            let result = build_with(checks, &job(&text), None);
            let DriverError::Compile(error) = result.expect_err(&text) else {
                panic!("{text}: not the program's error")
            };
            let has = |part: &str| error.log.contains(part);
            assert!(has("would run on the host when the program is loaded") && has(named), "{text}: {}", error.log);
        }
        let harmless = format!("constexpr int square(int x) {{ return x * x; }}\nint nine = square(3);\n{kernel}");
        assert!(build_with(checks, &job(&harmless), None).is_ok());
    }
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn an_image_gives_the_dynamic_linker_nothing_to_call() {
    // Where there are checks, it has this name on GCC, and then the assembler sees it twice.
    let taken =
        format!("extern \"C\" __attribute__((constructor)) void _sub_I_00099_0() {{ __builtin_trap(); }}\n{AXPY}");
    for checks in [Checks::Off, Checks::Access, Checks::Undefined] {
        let compiled = build_with(checks, &job(AXPY), None);
        let image = compiled.unwrap().image;
        let elf = crate::elf::Elf::new(&image).unwrap();
        assert_eq!(elf.called_by_the_linker(), [0usize; 0], "{checks:?}");
        assert!(build_with(checks, &job(&taken), None).is_err(), "{checks:?}");
    }
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn variables_that_outlive_a_kernel_have_no_destructor() {
    let class = "struct S { int x; ~S() { __builtin_trap(); } };\n";
    let of_a_kernel = "extern \"C\" __global__ void k(int *x) { static S s; *x = s.x; }\n";
    for text in [format!("{class}{of_a_kernel}"), format!("{class}S s;\n{AXPY}")] {
        let result = build(&job(&text), None);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("has no destructor"), "{text}: {error}");
    }
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn kernels_that_an_if_leaves_out_have_no_name() {
    let kernel = |name: &str| format!("extern \"C\" __global__ void {name}() {{}}\n");
    let text = format!(
        "#include \"in.h\"\n#if 0\n{}#else\n{}#endif\nnamespace n {{\n#if 1\n{}#endif\n{}}}\n",
        kernel("gone"),
        kernel("here"),
        kernel("inner"),
        kernel("plain")
    );
    let headers = [
        ("in.h".to_owned(), format!("#ifndef IN_H\n#define IN_H\n{}#endif\n", kernel("guarded"))),
        ("out.h".to_owned(), kernel("not_included")),
    ];
    let expressions = strings(&["here"]);
    let job = CompileJob { headers: &headers, names: &expressions, ..job(&text) };
    let compiled = build(&job, None);
    let loaded = load(&compiled.unwrap().image);
    assert_eq!(names(&loaded), ["here", "", "here", "inner", "plain", "guarded", ""]);
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn names_that_leave_the_folder_are_refused() {
    for name in ["../h.h", "/tmp/h.h", ""] {
        let headers = [(name.to_owned(), String::new())];
        let result = build(&CompileJob { headers: &headers, ..job("") }, None);
        assert!(result.unwrap_err().to_string().contains("must be relative"), "{name}");
    }
    // A program's name is only shown.
    for name in ["../../axpy.cu", "/tmp/a \"b\"\\\n.cu", "", ".gpu/program.cpp", "a/"] {
        assert!(build(&CompileJob { name, ..job("int x;") }, None).is_ok(), "{name}");
    }
    let error = build(&job("int x;\0"), None).unwrap_err();
    assert!(matches!(error, DriverError::Nul { text: "the program" }), "{error}");
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn a_compiler_that_does_not_end_is_ended() {
    let arguments = strings(&["-c", "sleep 30"]);
    let toolchain = Toolchain { path: "/bin/sh".into(), arguments, version: String::new(), is_clang: false };
    let limit = Duration::from_millis(300);
    let start = Instant::now();
    let (job, toolchain) = (job(AXPY), &toolchain);
    let result = Build { toolchain, limit, ..new_build(Checks::Access, &job, None).unwrap() }.run();
    assert!(
        matches!(&result, Err(DriverError::Compiler { message, .. }) if message.contains("was ended")),
        "{result:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn checks_are_named() {
    assert_eq!(Checks::named("").unwrap(), Checks::Access);
    assert_eq!(Checks::named("off").unwrap(), Checks::Off);
    assert_eq!(Checks::named("undefined").unwrap(), Checks::Undefined);
    assert!(Checks::named("on").unwrap_err().to_string().contains("access, undefined or off"));
}
