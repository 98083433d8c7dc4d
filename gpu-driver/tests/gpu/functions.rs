//! Kernels from strings, launched with checked arguments: needs a device and a compiler.

use gpu_driver::{
    Device, DeviceVec, DriverError, HostOut, In, InOut, LaunchArguments, LaunchConfig, Module, Out, Program, Stream,
    minijinja::context, nvrtc,
};
use testkit::{AWKWARD_LENGTHS, Outcome, ensure, ensure_eq};

const AXPY: &str = r#"
struct Pair { int first; float second; };
extern "C" __global__ void axpy(float a, const float *__restrict__ x, float *y, unsigned long long n) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void spread(short a, bool b, Pair c, double d, double *out) {
    out[0] = a; out[1] = b; out[2] = c.first; out[3] = c.second; out[4] = d;
}
__global__ void mangled(int *x) { *x = 1; }
template <class T> __global__ void fill(T *x, T value, int n) { if (threadIdx.x < n) x[threadIdx.x] = value; }
"#;

pub fn a_kernel_from_a_string_takes_a_tuple(device: &Device) -> Outcome {
    let (stream, side) = (device.stream(), Stream::new(device)?);
    let k = device.compile(AXPY)?.function("axpy")?;
    for &n in &AWKWARD_LENGTHS {
        let host: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let x = DeviceVec::from_slice(&stream, &host)?;
        let mut y = DeviceVec::from_slice(&side, &host)?;
        // SAFETY: the kernel touches the first n elements, each in one thread.
        unsafe { k.launch(LaunchConfig::for_elements(n), (2.0f32, x.input(), y.in_out(), n), &stream)? };
        let want: Vec<f32> = host.iter().map(|x| 3.0 * x).collect();
        ensure_eq!((n, y.to_vec()? == want), (n, true));
    }
    Ok(())
}

pub fn values_of_all_sizes_are_passed(device: &Device) -> Outcome {
    #[repr(C)]
    #[derive(Clone, Copy, Debug, gpu_driver::DevicePod)]
    struct Pair {
        first: i32,
        second: f32,
    }
    let spread = device.compile(AXPY)?.function("spread")?;
    let mut out = [0.0f64; 5];
    let pair = Pair { first: -7, second: 2.5 };
    // SAFETY: one thread writes five elements.
    unsafe { spread.launch(LaunchConfig::new(1, 1), (-3i16, true, pair, 0.125, HostOut(&mut out)), &device.stream())? };
    ensure_eq!(out, [-3.0, 1.0, -7.0, 2.5, 0.125]);
    if let Some(sizes) = spread.parameter_bytes()? {
        ensure_eq!(sizes, [2, 1, 8, 8, 8]);
    }
    Ok(())
}

pub fn slices_of_the_host_are_arguments(device: &Device) -> Outcome {
    let stream = device.stream();
    let module = device.compile(Program::new("axpy.cu", AXPY).name_expression("fill<int>"))?;
    let (axpy, fill) = (module.function("axpy")?, module.function("fill<int>")?);
    let (x, mut y) = (vec![1.0f32, 2.0, 3.0], [10.0f32, 20.0, 30.0]);
    // SAFETY: the kernel touches three elements of each.
    unsafe { axpy.launch(LaunchConfig::for_elements(3), (2.0f32, &x, &mut y, 3u64), &stream)? };
    ensure_eq!(y, [12.0, 24.0, 36.0]);
    // SAFETY: as above.
    unsafe { axpy.launch(LaunchConfig::for_elements(3), (1.0f32, &x[..], &mut y[..2], 2u64), &stream)? };
    ensure_eq!(y, [13.0, 26.0, 36.0]);
    // Elements that the kernel does not write are zero; none at all is a null pointer.
    let mut filled = vec![-1i32; 5];
    // SAFETY: three threads write three elements; then none does.
    unsafe {
        fill.launch(LaunchConfig::new(1, 32), (HostOut(&mut filled), 7, 3), &stream)?;
        fill.launch(LaunchConfig::new(1, 32), (HostOut::<i32>(&mut []), 7, 0), &stream)?;
    }
    ensure_eq!(filled, [7, 7, 7, 0, 0]);
    Ok(())
}

pub fn memory_of_the_device_is_an_argument(device: &Device) -> Outcome {
    let stream = device.stream();
    let axpy = device.compile(AXPY)?.function("axpy")?;
    // Homes of their own: a launch on another stream waits for both, and they for it.
    let x = DeviceVec::from_slice(&Stream::new(device)?, &[1.0f32, 2.0, 3.0])?;
    let mut y = DeviceVec::from_slice(&Stream::new(device)?, &[10.0f32, 20.0, 30.0])?;
    // SAFETY: the kernel touches three elements of each.
    unsafe { axpy.launch(LaunchConfig::for_elements(3), (2.0f32, &x, &mut y, 3u64), &stream)? };
    ensure_eq!(y.to_vec()?, [12.0, 24.0, 36.0]);
    axpy.check::<(f32, &DeviceVec<f32>, &mut DeviceVec<f32>, u64)>()?;
    let error = axpy.check::<(f32, &DeviceVec<f32>, &DeviceVec<f32>, u64)>().unwrap_err().to_string();
    ensure!(error.contains("argument 3 of kernel `axpy`, `y`"), "{error}");
    Ok(())
}

pub fn error_arguments_that_do_not_fit_are_named(device: &Device) -> Outcome {
    let stream = device.stream();
    let axpy = device.compile(AXPY)?.function("axpy")?;
    axpy.check::<(f32, In<f32>, InOut<f32>, u64)>()?;
    axpy.check::<(f32, &[f32], &mut [f32], usize)>()?;
    fn told<A: LaunchArguments>(function: &gpu_driver::Function) -> String {
        function.check::<A>().map_or_else(|error| error.to_string(), |()| "fits".to_owned())
    }
    for (text, parts) in [
        (told::<(f32, In<f32>)>(&axpy), ["takes 4 arguments", "const float *x", "got 2"]),
        (
            told::<(f64, In<f32>, InOut<f32>, u64)>(&axpy),
            ["argument 1 of kernel `axpy`, `a`", "`float` (4 bytes)", "an f32"],
        ),
        (
            told::<(i32, In<f32>, InOut<f32>, u64)>(&axpy),
            ["argument 1 of kernel `axpy`, `a`", "`int32_t` (4 bytes)", "an f32"],
        ),
        (
            told::<(f32, In<f64>, InOut<f32>, u64)>(&axpy),
            ["argument 2 of kernel `axpy`, `x`", "`const double *`", "another type"],
        ),
        (
            told::<(f32, In<f32>, In<f32>, u64)>(&axpy),
            ["argument 3 of kernel `axpy`, `y`", "`const float *`", "may write"],
        ),
        (
            told::<(f32, In<f32>, &[f32], u64)>(&axpy),
            ["argument 3 of kernel `axpy`, `y`", "`const float *`", "may write"],
        ),
        (
            told::<(f32, In<f32>, Out<f32>, i32)>(&axpy),
            ["argument 4 of kernel `axpy`, `n`", "`int32_t` (4 bytes)", "u64"],
        ),
    ] {
        ensure!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    // A launch says so before anything is done, and the next one works.
    let mut y = [1.0f32];
    for _ in 0..2 {
        // SAFETY: nothing runs; then one element is touched.
        let refused = unsafe { axpy.launch(LaunchConfig::for_elements(1), (1.0, &[1.0f32], &mut y, 1u64), &stream) };
        ensure!(matches!(&refused, Err(DriverError::ArgumentType(mismatch)) if mismatch.position == 1), "{refused:?}");
        // SAFETY: as above.
        unsafe { axpy.launch(LaunchConfig::for_elements(1), (1.0f32, &[1.0f32], &mut y, 1u64), &stream)? };
    }
    ensure_eq!(y, [3.0]);
    Ok(())
}

pub fn error_a_name_that_is_missing_says_how_to_get_one(device: &Device) -> Outcome {
    let module = device.compile(Program::new("axpy.cu", AXPY).name_expression("fill<int>"))?;
    for (name, parts) in [
        ("axpi", ["`axpi`", "it has `fill<int>`, `axpy`, `spread`", "extern \"C\""]),
        ("mangled", ["`mangled`", "`axpy`", "extern \"C\" before the __global__ of `mangled`"]),
        ("fill<float>", ["`fill<float>`", "`fill` is a template", "name_expression(\"fill<"]),
    ] {
        let text = module.function(name).map_or_else(|error| error.to_string(), |_| "found".to_owned());
        ensure!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    Ok(())
}

pub fn error_slices_of_the_host_within_a_capture(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let axpy = device.compile(AXPY)?.function("axpy")?;
    let (x, mut y) = (DeviceVec::from_slice(&stream, &[1.0f32])?, DeviceVec::from_slice(&stream, &[5.0f32])?);
    let (graph, ()) = stream.capture(|| {
        let mut host = [0.0f32];
        // SAFETY: nothing runs.
        let refused = unsafe { axpy.launch(LaunchConfig::new(1, 1), (1.0f32, x.input(), &mut host, 1u64), &stream) };
        assert!(matches!(refused, Err(DriverError::InCapture { .. })), "{refused:?}");
        // SAFETY: nothing runs.
        let refused =
            unsafe { axpy.launch(LaunchConfig::new(1, 1), (1.0f32, x.input(), HostOut(&mut host), 1u64), &stream) };
        assert!(matches!(refused, Err(DriverError::InCapture { .. })), "{refused:?}");
        // SAFETY: one thread touches one element.
        unsafe { axpy.launch(LaunchConfig::new(1, 1), (1.0f32, x.input(), y.in_out(), 1u64), &stream) }
    })?;
    drop(axpy); // the graph has the module
    // SAFETY: the buffers are alive, and nothing else uses them.
    unsafe { graph.launch(&stream)? };
    ensure_eq!(y.to_vec()?, [6.0]);
    Ok(())
}

/// Blocks that wait for each other by a counter, which only a cooperative launch allows.
pub fn cooperative_blocks_wait_for_each_other(device: &Device) -> Outcome {
    let text = r#"
        extern "C" __global__ void meet(unsigned *arrived, unsigned *seen) {
            if (threadIdx.x == 0) {
                atomicAdd(arrived, 1u);
                while (atomicAdd(arrived, 0u) < gridDim.x) {}
                seen[blockIdx.x] = atomicAdd(arrived, 0u);
            }
        }"#;
    let meet = device.compile(text)?.function("meet")?.cooperative();
    let blocks = meet.max_active_blocks(32, 0)?.min(2) * device.multiprocessors()?;
    let (mut arrived, mut seen) = ([0u32], vec![0u32; blocks as usize]);
    // SAFETY: one thread of each block adds to a counter and writes one element.
    unsafe { meet.launch(LaunchConfig::new(blocks, 32), (&mut arrived, &mut seen), &device.stream())? };
    ensure!(arrived == [blocks] && seen.iter().all(|&seen| seen == blocks), "{arrived:?} {seen:?}");
    // SAFETY: nothing runs.
    let refused = unsafe { meet.launch(LaunchConfig::new(1 << 20, 32), (&mut arrived, &mut seen), &device.stream()) };
    ensure!(matches!(&refused, Err(DriverError::Launch { code, .. }) if code.0 == 720), "{refused:?}");
    Ok(())
}

pub fn clusters_are_formed_where_the_device_has_them(device: &Device) -> Outcome {
    let text = "extern \"C\" __global__ void count(unsigned *n) { if (threadIdx.x == 0) atomicAdd(n, 1u); }";
    let count = device.compile(text)?.function("count")?.with_clusters(2);
    let mut n = [0u32];
    // SAFETY: one thread of each block adds to a counter.
    let outcome = unsafe { count.launch(LaunchConfig::new(6, 32), (&mut n,), &device.stream()) };
    match device.is_emulated() || device.arch().number() < 90 {
        true => ensure!(matches!(outcome, Err(DriverError::Launch { .. })), "{outcome:?}"),
        false => {
            outcome?;
            ensure_eq!(n, [6]);
            // The grid must be whole clusters.
            // SAFETY: nothing runs.
            let odd = unsafe { count.launch(LaunchConfig::new(5, 32), (&mut n,), &device.stream()) };
            ensure!(matches!(odd, Err(DriverError::Launch { .. })), "{odd:?}");
        }
    }
    Ok(())
}

pub fn variables_are_read_and_written(device: &Device) -> Outcome {
    let (stream, text) = (
        Stream::new(device)?,
        r#"
        __constant__ float weights[3];
        __device__ long long total = 40;
        __device__ unsigned char bytes[5];
        extern "C" __global__ void weigh(const float *x, float *y) {
            y[threadIdx.x] = weights[threadIdx.x] * x[threadIdx.x];
            if (threadIdx.x == 0) { total += 2; bytes[4] = 9; }
        }"#,
    );
    let module = device.compile(text)?;
    let weights = module.global::<f32>("weights")?;
    weights.write(&[0.5, 1.0, 2.0], &stream)?;
    let mut y = [0.0f32; 3];
    // SAFETY: three threads read three elements and write three.
    unsafe { module.function("weigh")?.launch(LaunchConfig::new(1, 3), (&[8.0f32; 3], HostOut(&mut y)), &stream)? };
    ensure_eq!(y, [4.0, 8.0, 16.0]);
    ensure_eq!((weights.len(), weights.read(&stream)?), (3, vec![0.5, 1.0, 2.0]));
    let total = module.global::<i64>("total")?;
    ensure_eq!(total.read(&stream)?, [42]);
    ensure_eq!(module.global::<u8>("bytes")?.read(&stream)?, [0, 0, 0, 0, 9]);
    // Another load of the program has variables of its own.
    ensure_eq!(device.compile(text)?.global::<i64>("total")?.read(&stream)?, [40]);
    drop(module);
    total.write(&[1], &stream)?; // it keeps the program
    ensure_eq!(total.read(&stream)?, [1]);
    ensure!(matches!(total.write(&[1, 2], &stream), Err(DriverError::Length { .. })));
    let captured = stream.capture(|| {
        assert!(matches!(total.read(&stream), Err(DriverError::InCapture { .. })));
        assert!(matches!(total.write(&[1], &stream), Err(DriverError::InCapture { .. })));
        Ok::<_, DriverError>(())
    });
    ensure!(captured.is_ok());
    Ok(())
}

pub fn error_a_variable_that_is_not_there(device: &Device) -> Outcome {
    let module = device.compile("__device__ float x[3]; extern \"C\" __global__ void f() { x[0] = 1; }")?;
    let told = |error: Option<DriverError>| error.map_or_else(|| "found".to_owned(), |error| error.to_string());
    let text = told(module.global::<f32>("y").err());
    ensure!(text.contains("no variable `y`") && text.contains("__constant__"), "{text}");
    let text = told(module.global::<f64>("x").err());
    ensure!(text.contains("whole `double` of 8 bytes") && text.contains("`x` of 12 bytes"), "{text}");
    ensure!(matches!(module.global::<f32>("x\0"), Err(DriverError::Nul { .. })));
    Ok(())
}

pub fn images_of_other_origin_are_loaded(device: &Device) -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = "extern \"C\" __global__ void set(int *x, short value) { *x = value; }";
    let binary = Program::new("set.cu", text).keep(folder.path()).compile(device.arch())?;
    let kept = ["set.cu.cubin", "set.cu.ptx", "set.cu.so"].map(|name| folder.path().join(name));
    let kept = kept.into_iter().find(|path| path.exists()).ok_or("no image was kept")?;
    // SAFETY: the images are whole.
    let modules = unsafe { [Module::load_image(device, binary.image())?, Module::load_file(device, &kept)?] };
    for module in modules {
        let error = module.function("sett").err().ok_or("a kernel that is not there")?.to_string();
        ensure!(
            error.contains(if device.is_emulated() { "does not tell its names" } else { "it has `set`" }),
            "{error}"
        );
        let (set, mut x) = (module.function("set")?, [0i32]);
        // SAFETY: one thread writes one element.
        unsafe { set.launch(LaunchConfig::new(1, 1), (HostOut(&mut x), -5i16), &device.stream())? };
        ensure_eq!(x, [-5]);
        // The sizes alone are known here, if the driver tells them.
        if set.parameter_bytes()?.is_some() {
            let error = set.check::<(Out<i32>, i32)>().err().map(|error| error.to_string()).unwrap_or_default();
            ensure!(error.contains("argument 2") && error.contains("2 bytes") && error.contains("4 bytes"), "{error}");
        }
    }
    // SAFETY: they are refused before anything is read beyond them.
    let refused = unsafe {
        [
            Module::load_image(device, b""),
            Module::load_image(device, b"no image"),
            Module::load_file(device, "/nowhere"),
        ]
    };
    ensure!(refused.iter().all(Result::is_err), "{refused:?}");
    Ok(())
}

/// The same text for a GPU and for the emulated device, with all headers of C and CUDA.
pub const HEADERS: &str = r#"
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cuComplex.h>
#include <math_constants.h>
#include <cupy/complex.cuh>
#include <pycuda-complex.hpp>
#include "prelude.cuh"

extern "C" __global__ void use(double *y, float x, int n) {
    assert(n > 0);
    half a = __float2half(x), b = __hadd(a, half(0.25f));
    half2 pair = __hfma2(__halves2half2(a, b), __float2half2_rn(2.0f), __floats2half2_rn(1.0f, -1.0f));
    __nv_bfloat16 c = __float2bfloat16(x), d = __hmul(c, c);
    cuFloatComplex z = cuCmulf(make_cuFloatComplex(1, 2), make_cuComplex(x, 1));
    pycuda::complex<double> w(x, 1);
    complex<double> same(w);
    w = w * same;
    std::int64_t least = INT64_MIN;
    double all[] = {
        (double)FLT_MAX, DBL_EPSILON, (double)INT_MAX, (double)CHAR_BIT, std::sqrt(2.0), (double)std::abs(-x), M_PI,
        (double)sizeof(std::size_t), (double)offsetof(cuFloatComplex, y), (double)least, (double)UINT32_MAX,
        (double)__half2float(b), (double)__low2float(pair), (double)__high2float(pair), (double)__bfloat162float(d),
        (double)cuCrealf(z), (double)cuCimagf(z), (double)cuCabsf(cuCdivf(z, z)), w.re, w.im, (double)(float)CUDART_PI_F,
        (double)isinf(INFINITY), (double)isnan(NAN), (double)__half2int_rz(half(-2.75f)), (double)(float)half(2049), (double)(float)hsqrt(half(2.25f)),
        (double)(float)__hfma(half(1.0029296875f), half(1.0029296875f), half(-1.0f)), (double)__hlt(a, b),
        (double)(float)__hmax(c, __nv_bfloat16(7.0f)), (double)__half_as_ushort(half(1.0f))};
    for (int i = 0; i < n; ++i) y[i] = all[i];
}
"#;

pub fn headers_of_c_and_cuda_are_the_same_everywhere(device: &Device) -> Outcome {
    let x = 1.5f32;
    let want = [
        f64::from(f32::MAX),
        f64::EPSILON,
        2147483647.0,
        8.0,
        2f64.sqrt(),
        1.5,
        std::f64::consts::PI,
        8.0,
        4.0,
        -9223372036854775808.0,
        4294967295.0,
        1.75,
        4.0,
        2.5,
        2.25,
        -0.5,
        4.0,
        1.0,
        1.25,
        3.0,
        f64::from(std::f32::consts::PI),
        1.0,
        1.0,
        -2.0,
        2048.0,
        1.5,
        // (1 + 3 2^-10)^2 - 1 = 6 2^-10 + 9 2^-20, rounded to 11 digits once.
        6.0 * 2f64.powi(-10) + 2f64.powi(-17),
        1.0,
        7.0,
        f64::from(0x3c00),
    ];
    let use_them = device.compile(Program::new("headers.cu", HEADERS))?.function("use")?;
    let mut y = vec![0.0f64; want.len()];
    let n = i32::try_from(want.len())?;
    // SAFETY: one thread writes n elements.
    unsafe { use_them.launch(LaunchConfig::new(1, 1), (HostOut(&mut y), x, n), &device.stream())? };
    for (at, (got, want)) in y.iter().zip(want).enumerate() {
        // Quotients and absolute values of complex numbers are not rounded correctly.
        ensure!((got - want).abs() <= 1e-6 * want.abs() && (at == 17 || got == &want), "{at}: {got} {want}");
    }
    // All names in one program, twice; and each text by itself.
    let includes = |names: &[&str]| -> String {
        names.iter().map(|name| format!("#include <{name}>\n#include \"{name}\"\n")).collect()
    };
    let by_itself = [
        "cfloat",
        "climits",
        "cmath",
        "cstddef",
        "cstdint",
        "cuComplex.h",
        "cuda_bf16.h",
        "pycuda-complex.hpp",
        "cupy/complex.cuh",
    ];
    let each = by_itself.iter().map(|name| includes(&[name]));
    for text in each.chain([includes(&nvrtc::standard_headers())]) {
        device.compile(format!("{text}extern \"C\" __global__ void f() {{}}"))?;
    }
    Ok(())
}

pub fn error_a_header_that_is_not_there(device: &Device) -> Outcome {
    for name in ["vector", "thrust/device_vector.h", "unistd.h", "mine.cuh"] {
        let text = format!("#include <{name}>\nextern \"C\" __global__ void f() {{}}");
        let error = device.compile(text).map_or_else(|error| error.to_string(), |_| "found".to_owned());
        ensure!(
            error.contains(&format!("note: there is no header `{name}`. A program may include its own")),
            "{error}"
        );
        ensure!(error.contains("cuda_fp16.h, ") && error.contains("prelude.cuh"), "{error}");
    }
    // A header of the program, or a file in a folder of `-I`, comes first.
    let own = Program::new("f.cu", "#include <cfloat>\nextern \"C\" __global__ void f(int *x) { *x = FLT_MAX; }");
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("cfloat"), "#define FLT_MAX 7\n")?;
    let named = own.clone().option(format!("-I{}", folder.path().display()));
    for program in [own.header("cfloat", "#define FLT_MAX 7\n"), named] {
        let mut x = [0];
        // SAFETY: one thread writes one element.
        unsafe {
            device.compile(program)?.function("f")?.launch(
                LaunchConfig::new(1, 1),
                (HostOut(&mut x),),
                &device.stream(),
            )?
        };
        ensure_eq!(x, [7]);
    }
    Ok(())
}

pub fn functions_of_one_kernel_share_its_limit_of_shared_memory(device: &Device) -> Outcome {
    let text = "extern \"C\" __global__ void whole(int *x, unsigned bytes) {\n\
        extern __shared__ int held[]; held[bytes / 4 - 1] = 5; *x += held[bytes / 4 - 1];\n}\n";
    let module = device.compile(text)?;
    let (first, second, stream) = (module.function("whole")?, module.function("whole")?, device.stream());
    let mut x = DeviceVec::<i32>::zeros(&stream, 1)?;
    // One that asks for less must not take away what another was given.
    for (function, bytes) in [(&first, 90_000u32), (&second, 60_000), (&first, 90_000), (&second, 70_000)] {
        let config = LaunchConfig { grid: 1.into(), block: 1.into(), shared_bytes: bytes };
        // SAFETY: one thread changes one element, and the last word of the shared memory.
        unsafe { function.launch(config, (x.in_out(), bytes), &stream)? };
    }
    ensure_eq!(x.to_vec()?, [20]);
    Ok(())
}

pub fn a_kernel_from_a_template_has_its_loops_unrolled(device: &Device) -> Outcome {
    let source = "extern \"C\" __global__ void add({{ type }} *x) {\n\
        {% for i in range(unroll) %}\n    x[{{ unroll }} * threadIdx.x + {{ i }}] += {{ i * i + 1 }};\n{% endfor %}\n}\n";
    let program = Program::from_template(source, context! { type => "float", unroll => 3 })?;
    let (add, mut x) = (device.compile(program)?.function("add")?, [0.5f32; 6]);
    // SAFETY: two threads change three elements each.
    unsafe { add.launch(LaunchConfig::new(1, 2), (&mut x,), &device.stream())? };
    ensure_eq!(x, [1.5, 2.5, 5.5, 1.5, 2.5, 5.5]);
    Ok(())
}
