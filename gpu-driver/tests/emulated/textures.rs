//! Mistakes with textures and surfaces, which a GPU answers with undefined values or a fault without a line.

use gpu_driver::{
    ArrayShape, CudaArray, CudaCode, Device, DriverError, LaunchConfig, MipmappedArray, Sampling, Stream, Surface,
    Texture,
    emulated::{Call, Emulated},
};
use testkit::{Outcome, ensure, ensure_eq};

const TEXT: &str = r#"
extern "C" __global__ void read(unsigned long long t, float *y, int how) {
    if (how == 0) *y = tex3D<float>(t, 0, 0, 0);
    if (how == 1) *y = tex2D<int>(t, 0, 0);
    if (how == 2) *y = tex2D<float4>(t, 0, 0).w;
    if (how == 3) *y = tex1Dfetch<float>(t, 0);
    if (how == 4) *y = tex2D<float>(t, 0, 0);
}
extern "C" __global__ void write(unsigned long long s, int how) {
    if (how == 0) surf2Dwrite(1.0f, s, 4 * 3, 0);
    if (how == 1) surf2Dwrite(1.0f, s, 0, 2);
    if (how == 2) surf2Dwrite(1.0f, s, -4, 0);
    if (how == 3) surf2Dwrite(1.0f, s, 1, 0);
    if (how == 4) surf3Dwrite(1.0f, s, 0, 0, 0);
    if (how == 5) surf2Dwrite(make_float4(1, 2, 3, 4), s, 0, 0);
}
"#;

const ONE: LaunchConfig = LaunchConfig {
    grid: gpu_driver::Dim3 { x: 1, y: 1, z: 1 },
    block: gpu_driver::Dim3 { x: 1, y: 1, z: 1 },
    shared_bytes: 0,
};

fn plane(stream: &Stream) -> gpu_driver::Result<CudaArray<f32>> {
    CudaArray::zeros(stream, ArrayShape::plane(2, 3).for_surfaces())
}

fn fails(device: &Device, parts: [&str; 2], code: i32) -> Outcome {
    let error = device.synchronize().err().ok_or(format!("no error: {parts:?}"))?;
    let (text, code) = (error.to_string(), CudaCode(code).to_string());
    ensure!(parts.iter().all(|part| text.contains(part)) && text.contains(&code), "{parts:?} {code}: {text}");
    Ok(())
}

pub fn mistakes_with_textures_are_reported(_: &()) -> Outcome {
    let cases = [
        (0, ["tex3D reads a texture that tex2D is made for", ":3: "], 719),
        (1, ["reads integers of a texture that gives floats", ":4: "], 719),
        (2, ["reads 4 channels of a texture that has 1", ":5: "], 719),
        (3, ["tex1Dfetch reads a texture that tex2D is made for", ":6: "], 719),
    ];
    for (how, parts, code) in cases {
        let device = Emulated::new().open()?;
        let (read, stream) = (device.compile(TEXT)?.function("read")?, device.stream());
        let texture = Texture::of_array(&plane(&stream)?, Sampling::new())?;
        let mut y = gpu_driver::DeviceVec::<f32>::zeros(&stream, 1)?;
        // SAFETY: one thread writes one element.
        unsafe { read.launch(ONE, (&texture, y.output(), how), &stream)? };
        fails(&device, parts, code)?;
    }
    Ok(())
}

pub fn textures_and_surfaces_that_are_gone_are_reported(_: &()) -> Outcome {
    for (keeps_array, kernel, part) in [(true, "read", "no texture"), (false, "write", "no surface")] {
        let device = Emulated::new().open()?;
        let (function, home, other) =
            (device.compile(TEXT)?.function(kernel)?, Stream::new(&device)?, Stream::new(&device)?);
        let array = plane(&home)?;
        let (texture, surface) = (Texture::of_array(&array, Sampling::new())?, Surface::of_array(&array)?);
        let mut y = gpu_driver::DeviceVec::<f32>::zeros(&other, 1)?;
        device.synchronize()?;
        // The handles as numbers, on a stream that nobody orders with the array's home.
        // SAFETY: none is kept, which the emulated device is to report.
        unsafe {
            match kernel {
                "read" => function.launch(ONE, (texture.as_raw(), y.output(), 4), &other)?,
                _ => function.launch(ONE, (surface.as_raw(), 5), &other)?,
            }
        }
        drop((texture, surface));
        drop((!keeps_array).then_some(array));
        fails(&device, [part, "was destroyed"], 700)?;
    }
    Ok(())
}

pub fn accesses_beyond_a_surface_are_reported(_: &()) -> Outcome {
    let cases = [
        (0, ["a surface of 3 x 2 x 1 elements at byte 12 of row 0", "out of bounds"], 700),
        (1, ["at byte 0 of row 2 of layer 0", ":11: "], 700),
        (2, ["at byte -4 of row 0", ":12: "], 700),
        (3, ["1 is no multiple of 4", ":13: "], 716),
        (4, ["surf3Dwrite accesses a surface that surf2Dread and surf2Dwrite are made for", ":14: "], 719),
        (5, ["elements at byte 0 of row 0", "out of bounds"], 700),
    ];
    for (how, parts, code) in cases {
        let device = Emulated::new().open()?;
        let (write, stream) = (device.compile(TEXT)?.function("write")?, device.stream());
        let mut surface = Surface::of_array(&plane(&stream)?)?;
        // SAFETY: the access is to be reported.
        unsafe { write.launch(ONE, (&mut surface, how), &stream)? };
        fails(&device, parts, code)?;
    }
    Ok(())
}

pub fn arrays_are_counted_and_given_back(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    device.stream().synchronize()?;
    let live = emulation.live_allocations()?;
    let array = plane(&device.stream())?;
    let texture = Texture::of_array(&array, Sampling::new())?;
    device.synchronize()?;
    ensure!(emulation.live_allocations()? == live + 1, "{}", emulation.live_allocations()?);
    drop(array);
    ensure!(emulation.live_allocations()? == live + 1, "the texture keeps it");
    drop(texture);
    ensure!(emulation.live_allocations()? == live);
    Ok(())
}

/// The levels behind the first one have a third of its elements at most.
pub fn mipmaps_without_memory_tell_their_size(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let stream = device.stream();
    emulation.fail(Call::Allocation, 1, true)?;
    let error = MipmappedArray::<f32>::zeros(&stream, ArrayShape::plane(10, 12), 2).err();
    emulation.stop_failing()?;
    let Some(DriverError::OutOfMemory { requested_bytes, free_bytes: None }) = error else {
        return Err(format!("{error:?}").into());
    };
    ensure_eq!(requested_bytes, 4 * 120 + 4 * 40);
    Ok(())
}
