//! Kernels fill vertices and a picture of OpenGL in place, and OpenGL reads them back: `cargo run -p gpu-driver --features gl --example gl_waves`.
//!
//! The context has no window: it is EGL's, on the device that runs the kernels. Where there is none, or no EGL, the program says so: containers need
//! `libEGL.so.1` and NVIDIA's part of it (`NVIDIA_DRIVER_CAPABILITIES=graphics,compute,utility`). With `GPU_DEVICE=emulated` declared objects stand for
//! those of OpenGL.
use std::error::Error;

use glow::HasContext;
use gpu_driver::{ArrayShape, Device, GlAccess, GlBuffer, GlImage, LaunchConfig, Surface};

mod offscreen;
use offscreen::Offscreen;

const SOURCE: &str = r#"
extern "C" __global__ void wave(float *vertices, int n, float phase) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = 2.0f * i / (n - 1) - 1;
    vertices[2 * i] = x;
    vertices[2 * i + 1] = sinf(3 * x + phase);
}

extern "C" __global__ void paint(cudaSurfaceObject_t picture, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) surf2Dwrite(make_uchar4(x, y, x ^ y, 255), picture, x * 4, y);
}
"#;

const VERTICES: usize = 1000;
const ROWS: usize = 120;
const COLUMNS: usize = 200;

/// Fills the objects of these names, once for each phase.
fn fill(device: &Device, vertices: u32, picture: u32, phase: f32) -> Result<(), Box<dyn Error>> {
    let (stream, module) = (device.stream(), device.compile(SOURCE)?);
    let (wave, paint) = (module.function("wave")?, module.function("paint")?);
    // SAFETY: a buffer of the current context, which outlives the registration, and which OpenGL does not use meanwhile.
    let mut vertices = unsafe { GlBuffer::<f32>::register(device, vertices, GlAccess::WriteDiscard)? };
    // SAFETY: a texture of it, likewise.
    let mut picture =
        unsafe { GlImage::<u8>::register_for_surfaces(device, picture, glow::TEXTURE_2D, GlAccess::WriteDiscard)? };

    let mut mapped = vertices.map(&stream)?;
    let n = mapped.len() / 2;
    // SAFETY: each thread writes one vertex of n.
    unsafe { wave.launch(LaunchConfig::for_elements(n), (mapped.output()?, n as i32, phase), &stream)? };
    mapped.unmap()?;

    let mapped = picture.map(&stream)?;
    let (rows, columns) = (mapped.array().shape().rows(), mapped.array().shape().columns());
    let mut surface = Surface::of_array(mapped.array())?;
    let shape = LaunchConfig::new((columns.div_ceil(16) as u32, rows.div_ceil(16) as u32), (16, 16));
    // SAFETY: each thread writes one element of the picture.
    unsafe { paint.launch(shape, (&mut surface, rows as i32, columns as i32), &stream)? };
    drop(surface); // before the picture goes back to OpenGL
    mapped.unmap()?;
    Ok(())
}

/// Compares the values that OpenGL sees with the host's values.
fn check(vertices: &[u8], picture: &[u8], phase: f32) -> Result<(), Box<dyn Error>> {
    let floats: Vec<f32> = vertices.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    for (i, vertex) in floats.chunks_exact(2).enumerate() {
        let x = 2.0 * i as f32 / (VERTICES - 1) as f32 - 1.0;
        if (vertex[0] - x).abs() > 1e-6 || (vertex[1] - (3.0 * x + phase).sin()).abs() > 1e-5 {
            return Err(format!("vertex {i} is {vertex:?}").into());
        }
    }
    for (i, texel) in picture.chunks_exact(4).enumerate() {
        let (x, y) = ((i % COLUMNS) as u8, (i / COLUMNS) as u8);
        if texel != [x, y, x ^ y, 255] {
            return Err(format!("element ({x}, {y}) of the picture is {texel:?}").into());
        }
    }
    Ok(())
}

/// The waves of three phases, in objects of OpenGL.
fn with_opengl(device: &Device, gl: &glow::Context) -> Result<(), Box<dyn Error>> {
    let (mut vertices, mut picture) = (vec![0; VERTICES * 8], vec![0; ROWS * COLUMNS * 4]);
    // SAFETY: the context is current, and the slices have the sizes of the objects.
    unsafe {
        println!("OpenGL: {}", gl.get_parameter_string(glow::RENDERER));
        let (buffer, texture) = (gl.create_buffer()?, gl.create_texture()?);
        gl.bind_buffer(glow::ARRAY_BUFFER, Some(buffer));
        gl.buffer_data_u8_slice(glow::ARRAY_BUFFER, &vertices, glow::DYNAMIC_DRAW);
        gl.bind_texture(glow::TEXTURE_2D, Some(texture));
        gl.tex_parameter_i32(glow::TEXTURE_2D, glow::TEXTURE_MIN_FILTER, glow::NEAREST as i32);
        let (format, kind, size) = (glow::RGBA8 as i32, glow::UNSIGNED_BYTE, (COLUMNS as i32, ROWS as i32));
        let none = glow::PixelUnpackData::Slice(None);
        gl.tex_image_2d(glow::TEXTURE_2D, 0, format, size.0, size.1, 0, glow::RGBA, kind, none);
        for phase in [0.0, 0.5, 1.0] {
            fill(device, buffer.0.get(), texture.0.get(), phase)?;
            gl.get_buffer_sub_data(glow::ARRAY_BUFFER, 0, &mut vertices);
            let read = glow::PixelPackData::Slice(Some(&mut picture));
            gl.get_tex_image(glow::TEXTURE_2D, 0, glow::RGBA, kind, read);
            check(&vertices, &picture, phase)?;
        }
        gl.delete_texture(texture);
        gl.delete_buffer(buffer);
    }
    Ok(())
}

/// Whether [`draw`] draws on this device.
///
/// # Errors
/// Why the device has no OpenGL here.
pub fn find_opengl(device: &Device) -> Result<(), Box<dyn Error>> {
    if device.is_emulated() { Ok(()) } else { Offscreen::of(device).map(drop) }
}

/// Fills and checks the objects; only words, and false, where the device has no OpenGL.
pub fn draw(device: &Device) -> Result<bool, Box<dyn Error>> {
    if let Some(emulation) = device.emulation() {
        emulation.declare_gl_buffer(1, &[0; VERTICES * 8])?;
        let shape = ArrayShape::plane(ROWS, COLUMNS).with_channels(4);
        emulation.declare_gl_image::<u8>(1, shape, &[0; ROWS * COLUMNS * 4])?;
        fill(device, 1, 1, 0.5)?;
        check(&emulation.gl_buffer(1)?, &emulation.gl_image(1)?, 0.5)?;
        println!("{VERTICES} vertices and {ROWS} x {COLUMNS} elements, without OpenGL on the emulated device");
        return Ok(true);
    }
    match Offscreen::of(device) {
        Ok(context) => with_opengl(device, &context.functions())?,
        Err(reason) => {
            println!("nothing was drawn: {reason}");
            return Ok(false);
        }
    }
    println!("{VERTICES} vertices and {ROWS} x {COLUMNS} elements were written by kernels and read by OpenGL");
    Ok(true)
}

/// [`draw`], for those who do not ask whether anything was drawn.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    draw(device).map(drop)
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&Device::first()?)
}
