//! The mistakes that PyCUDA's tutorials warn of: each has an error that says what to do.

use gpu_driver::{
    Arch, Device, DeviceVec, DriverError, Event, HostOut, LaunchConfig, PinnedVec, Program, Result, Stream,
};
use testkit::{Outcome, ensure};

const SCALE: &str = "extern \"C\" __global__ void scale(float a, float *x, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
     if (i < n) x[i] *= a;\n}\n__global__ void mangled(int *x) { *x = 1; }\n";

/// The text of an error that has to be there, with all of the parts.
fn told<T>(mistake: &str, outcome: Result<T>, parts: &[&str]) -> Outcome {
    let text = outcome.err().ok_or_else(|| format!("{mistake}: no error"))?.to_string();
    ensure!(parts.iter().all(|part| text.contains(part)), "{mistake}: {text}");
    Ok(())
}

pub fn mistakes_in_launches_say_what_to_do(device: &Device) -> Outcome {
    let (stream, module) = (device.stream(), device.compile(SCALE)?);
    let scale = module.function("scale")?;
    let mut x = [1.0f32; 4];
    let mut launch = |config: LaunchConfig| {
        // SAFETY: refused, or four elements are changed.
        unsafe { scale.launch(config, (2.0f32, &mut x, 4i32), &stream) }
    };
    let too_many = launch(LaunchConfig::new(1, (33, 33)));
    told("a block of 33 x 33 threads", too_many, &["at most 1024 threads (1089 were asked for)"])?;
    told("a grid without blocks", launch(LaunchConfig::new(0, 32)), &["at least 1 along each axis"])?;
    told("a grid that is long along y", launch(LaunchConfig::new((1, 70_000), 32)), &["let x take the longest axis"])?;
    let much = LaunchConfig { shared_bytes: 10 << 20, ..LaunchConfig::new(1, 32) };
    told("shared memory without end", launch(much), &["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"])?;
    launch(LaunchConfig::new(1, 32))?;

    // SAFETY: refused before anything runs, as in all that follow.
    let f64_for_f32 = unsafe { scale.launch(LaunchConfig::new(1, 4), (2.0f64, &mut x, 4i32), &stream) };
    told("a number of 8 bytes for one of 4", f64_for_f32, &["argument 1 of kernel `scale`, `a`", "an f32"])?;
    // SAFETY: as above.
    let array = unsafe { scale.launch(LaunchConfig::new(1, 4), (2.0f32, &mut [1.0f64; 4], 4i32), &stream) };
    told("an array of f64 for float *", array, &["argument 2 of kernel `scale`, `x`"])?;
    // SAFETY: as above.
    let few = unsafe { scale.launch(LaunchConfig::new(1, 4), (2.0f32, &mut x), &stream) };
    told("too few arguments", few, &["takes 3 arguments", "int n", "got 2"])?;
    told("a name that is not there", module.function("scala"), &["it has `scale`", "extern \"C\""])?;
    told(
        "a name without extern \"C\"",
        module.function("mangled"),
        &["extern \"C\" before the __global__ of `mangled`"],
    )?;
    // `HostOut` is zero at first, as PyCUDA's `Out` is not.
    let add = device.compile("extern \"C\" __global__ void add(int *x) { x[threadIdx.x] += 1; }")?.function("add")?;
    let mut counts = [7i32; 4];
    // SAFETY: four threads change four elements.
    unsafe { add.launch(LaunchConfig::new(1, 4), (HostOut(&mut counts),), &stream)? };
    ensure!(counts == [1; 4], "{counts:?}");
    Ok(())
}

pub fn mistakes_in_programs_say_what_to_do(device: &Device) -> Outcome {
    mistakes_in_programs(|program| device.compile(program).map(drop))
}

pub fn mistakes_in_programs_for_gpus_say_what_to_do(_: &()) -> Outcome {
    mistakes_in_programs(|program| program.compile(Arch::new(9, 0)).map(drop))
}

fn mistakes_in_programs(compile: impl Fn(Program) -> Result<()>) -> Outcome {
    let wrong = |text: &str| compile(Program::new("wrong.cu", text));
    let typo = "extern \"C\" __global__ void f(float *x) {\n    x[threadIdx.x] = undefined_thing;\n}\n";
    told(
        "a name that C++ does not know",
        wrong(typo),
        &["wrong.cu", ">    2 |     x[threadIdx.x] = undefined_thing;"],
    )?;
    let host = "#include <vector>\nextern \"C\" __global__ void f(float *x) {}";
    told("a header of the host", wrong(host), &["there is no header `vector`", "prelude.cuh"])?;
    let reference =
        "texture<float, 2> picture;\nextern \"C\" __global__ void f(float *y) { *y = tex2D(picture, 1, 1); }";
    told("a texture reference", wrong(reference), &["cudaTextureObject_t", "Texture::of_array"])?;
    let surface = "surface<void, 2> picture;\nextern \"C\" __global__ void f() { surf2Dwrite(1, picture, 0, 0); }";
    told("a surface reference", wrong(surface), &["cudaSurfaceObject_t", "Surface::of_array"])
}

pub fn mistakes_with_memory_and_events_say_what_to_do(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut x = DeviceVec::from_slice(&stream, &[1.0f32; 4])?;
    told("a host array of another length", x.copy_from_slice(&[1.0; 3]), &["4 elements", "got 3"])?;
    told("a part beyond the end", x.slice(2..9), &["a range within 0..4"])?;
    let all = DeviceVec::<u8>::zeros(&stream, device.memory_bytes() * 2);
    told("more memory than there is", all, &["work in parts", "nvidia-smi"])?;
    let captured = stream.capture(|| x.to_vec()).map(drop);
    told("a read within a capture", captured, &["before the capture or after it"])?;

    let (start, end) = (stream.record()?, Event::new(device)?);
    told("the time of an event that nobody recorded", end.elapsed_ms_since(&start), &["Stream::record"])?;
    let untimed = Event::untimed(device)?;
    told("the time of an event without time", untimed.elapsed_ms_since(&start), &["Event::untimed"])?;

    let module = device.compile("__device__ int one; extern \"C\" __global__ void f() {}")?;
    told("a variable that is not there", module.global::<i32>("two"), &["two"])?;
    told("a variable of another type", module.global::<f64>("one"), &["4 bytes"])?;
    // What a copy still uses cannot be touched: it comes back when the copy has run.
    let host = x.download(PinnedVec::zeros(device, 4)?)?.wait()?;
    ensure!(*host == [1.0; 4], "{host:?}");
    let limit = DriverError::OverLimit { memory: "device memory", requested_bytes: 9, used_bytes: 5, limit_bytes: 12 };
    told::<()>("a limit of the program", Err(limit), &["Drop buffers", "raise the limit"])
}
