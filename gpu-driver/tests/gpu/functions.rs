//! Kernels from strings, launched with checked arguments: needs a device and a compiler.

use gpu_driver::{
    Device, DeviceVec, DriverError, HostOut, In, InOut, LaunchArguments, LaunchConfig, Out, Program, Stream,
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
        ensure!(matches!(refused, Err(DriverError::ArgumentType { position: 1, .. })), "{refused:?}");
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
