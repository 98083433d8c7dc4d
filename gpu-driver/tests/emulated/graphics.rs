//! Objects of OpenGL, registered and mapped, on the emulated device, where declared objects stand for them.

use gpu_driver::{
    ArrayShape, CudaCode, Device, DeviceVec, DriverError, Function, GlAccess, GlBuffer, GlImage, LaunchConfig, Pitched,
    Sampling, Stream, Surface, Texture,
    emulated::{Call, Emulated, Emulation},
};
use testkit::{Outcome, ensure, ensure_eq};

const INVALID_VALUE: CudaCode = CudaCode(1);
const ALREADY_MAPPED: CudaCode = CudaCode(208);
const INVALID_GRAPHICS_CONTEXT: CudaCode = CudaCode(219);
const TEXTURE_2D: u32 = 0x0de1;
const TEXT: &str = r#"
extern "C" __global__ void twice(unsigned *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
extern "C" __global__ void store(unsigned *x, unsigned value) { *x = value; }
extern "C" __global__ void invert(cudaTextureObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite((unsigned char)(255 - tex2D<unsigned char>(from, x, y)), to, x, y);
}
extern "C" __global__ void read(cudaTextureObject_t from, unsigned *y) { *y = tex2D<unsigned char>(from, 1, 1); }
"#;

/// A device of its own, with its control.
fn opened() -> gpu_driver::Result<(Device, Emulation)> {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or(DriverError::NotEmulated)?;
    Ok((device, emulation))
}

fn function(device: &Device, name: &str) -> gpu_driver::Result<Function> {
    device.compile(TEXT)?.function(name)
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn register(device: &Device, name: u32, access: GlAccess) -> gpu_driver::Result<GlBuffer<u32>> {
    // SAFETY: declared objects outlive their registrations.
    unsafe { GlBuffer::register(device, name, access) }
}

fn is(error: Option<DriverError>, code: CudaCode) -> bool {
    matches!(error, Some(DriverError::Cuda { code: got, .. }) if got == code)
}

/// Kernels and copies between OpenGL's own uses, on the home and on another stream.
pub fn kernels_use_mapped_buffers_of_opengl(_: &()) -> Outcome {
    let (device, emulation) = opened()?;
    ensure!(is(Device::gl_ordinals().err(), INVALID_GRAPHICS_CONTEXT) || Device::gl_ordinals().is_ok(), "no objects");
    emulation.declare_gl_buffer(7, &bytes(&[1, 2, 3]))?;
    ensure!(Device::gl_ordinals()?.contains(&device.ordinal()), "the device draws");
    let (stream, other, twice) = (Stream::new(&device)?, Stream::new(&device)?, function(&device, "twice")?);
    let live = emulation.live_allocations()?;
    let mut buffer = register(&device, 7, GlAccess::ReadWrite)?;
    for round in 1..4u32 {
        let mut mapped = buffer.map(&stream)?;
        ensure_eq!((mapped.len(), mapped.home() == &stream), (3, true));
        ensure!(is(emulation.gl_buffer(7).err(), ALREADY_MAPPED), "OpenGL keeps away");
        // SAFETY: three threads double three elements.
        unsafe { twice.launch(LaunchConfig::new(1, 32), (mapped.in_out()?, 3), &stream)? };
        // SAFETY: as above; the launch is ordered with the home.
        unsafe { twice.launch(LaunchConfig::new(1, 32), (mapped.in_out()?, 3), &other)? };
        if round == 2 {
            ensure_eq!(mapped.as_slice().slice(1..)?.to_vec()?, [32, 48]);
            mapped.unmap()?;
        } else {
            drop(mapped);
        }
        ensure_eq!(emulation.gl_buffer(7)?, bytes(&[1, 2, 3].map(|x| x << (2 * round))));
    }
    drop(buffer);
    ensure_eq!(emulation.live_allocations()?, live);
    // What has ended can begin again.
    let mut again = register(&device, 7, GlAccess::ReadWrite)?;
    let mapped = again.map(&stream)?;
    ensure_eq!(mapped.as_slice().to_vec()?, [64, 128, 192]);
    Ok(())
}

pub fn the_access_of_a_mapping_is_kept(_: &()) -> Outcome {
    let (device, emulation) = opened()?;
    emulation.declare_gl_buffer(7, &bytes(&[1, 2]))?;
    let stream = device.stream();
    let mut buffer = register(&device, 7, GlAccess::ReadOnly)?;
    {
        let mut mapped = buffer.map(&stream)?;
        ensure_eq!(mapped.as_slice().to_vec()?, [1, 2]);
        let refused = [mapped.as_mut_slice().err(), mapped.output().err(), mapped.in_out().err()];
        ensure!(refused.iter().all(|error| matches!(error, Some(DriverError::Length { .. }))), "{refused:?}");
    }
    buffer.set_access(GlAccess::WriteDiscard)?;
    ensure_eq!(buffer.access(), GlAccess::WriteDiscard);
    {
        // The old contents are not there.
        let mut mapped = buffer.map(&stream)?;
        ensure!(mapped.as_slice().to_vec()? != [1, 2]);
        mapped.as_mut_slice()?.copy_from_slice(&[5, 6])?;
    }
    ensure_eq!(emulation.gl_buffer(7)?, bytes(&[5, 6]));
    Ok(())
}

pub fn error_buffers_of_opengl_that_cannot_be_mapped(_: &()) -> Outcome {
    let ((device, emulation), other) = (opened()?, Emulated::new().open()?);
    ensure!(is(register(&device, 7, GlAccess::ReadWrite).err(), INVALID_GRAPHICS_CONTEXT), "no object");
    emulation.declare_gl_buffer(7, &bytes(&[1, 2, 3]))?;
    emulation.declare_gl_buffer(8, &[0; 7])?;
    ensure!(is(register(&device, 9, GlAccess::ReadWrite).err(), INVALID_VALUE), "another name");
    let mut buffer = register(&device, 7, GlAccess::ReadWrite)?;
    ensure!(is(register(&device, 7, GlAccess::ReadWrite).err(), ALREADY_MAPPED), "registered twice");
    // SAFETY: declared.
    let of_other = unsafe { GlBuffer::<u32>::register(&other, 7, GlAccess::ReadWrite) };
    ensure!(is(of_other.err(), INVALID_GRAPHICS_CONTEXT), "another device");
    let wrong = buffer.map(&other.stream()).err();
    ensure!(matches!(wrong, Some(DriverError::WrongDevice { op: "GlBuffer::map", .. })), "{wrong:?}");
    let stream = Stream::new(&device)?;
    let (_graph, captured) = stream.capture(|| Ok::<_, DriverError>(buffer.map(&stream).err()))?;
    ensure!(matches!(captured, Some(DriverError::InCapture { op: "GlBuffer::map" })), "{captured:?}");
    // Bytes that are no whole elements; the mapping has ended then.
    let mut odd = register(&device, 8, GlAccess::ReadWrite)?;
    let error = odd.map(&stream).err().ok_or("seven bytes")?;
    ensure!(error.to_string().contains("a multiple of 4 bytes") && error.to_string().contains("7 bytes"), "{error}");
    ensure_eq!(emulation.gl_buffer(8)?, [0; 7]);
    // A failed mapping leaves nothing.
    emulation.fail(Call::Allocation, 1, false)?;
    ensure!(matches!(buffer.map(&stream).err(), Some(DriverError::Cuda { code: CudaCode::OUT_OF_MEMORY, .. })));
    emulation.stop_failing()?;
    ensure_eq!(buffer.map(&stream)?.as_slice().to_vec()?, [1, 2, 3]);
    Ok(())
}

/// The error of a drop is that of the next call; the mapping ends later.
pub fn mappings_that_cannot_end_are_reported(_: &()) -> Outcome {
    let (device, emulation) = opened()?;
    emulation.declare_gl_buffer(7, &bytes(&[1, 2, 3]))?;
    let (stream, live) = (Stream::new(&device)?, emulation.live_allocations()?);
    let mut buffer = register(&device, 7, GlAccess::ReadWrite)?;
    let mapped = buffer.map(&stream)?;
    emulation.fail(Call::Release, 1, false)?;
    drop(mapped);
    emulation.stop_failing()?;
    let error = device.stream_priorities().err().ok_or("no error")?;
    ensure!(matches!(error, DriverError::InDrop { object: "an OpenGL buffer", .. }), "{error:?}");
    ensure!(is(emulation.gl_buffer(7).err(), ALREADY_MAPPED), "still mapped");
    buffer.map(&stream)?.as_mut_slice()?.fill(9)?;
    ensure_eq!(emulation.gl_buffer(7)?, bytes(&[9; 3]));

    // The end of a mapping is no part of a graph.
    let mapped = buffer.map(&stream)?;
    let ended = stream.capture(|| {
        drop(mapped);
        Ok::<_, DriverError>(())
    });
    let error = ended.err().ok_or("no error")?;
    ensure!(error.to_string().contains("OpenGL") && matches!(error, DriverError::InDrop { .. }), "{error:?}");
    // A leaked guard's mapping ends with the registration.
    drop(buffer);
    ensure_eq!((emulation.gl_buffer(7)?, emulation.live_allocations()?), (bytes(&[9; 3]), live));
    let mut buffer = register(&device, 7, GlAccess::ReadWrite)?;
    std::mem::forget(buffer.map(&stream)?);
    ensure_eq!(buffer.map(&stream)?.len(), 3);
    std::mem::forget(buffer.map(&stream)?);
    drop(buffer);
    ensure_eq!((emulation.gl_buffer(7)?, emulation.live_allocations()?), (bytes(&[9; 3]), live));
    Ok(())
}

/// A kernel that is not ordered with the home finds memory that is gone.
pub fn a_kernel_behind_a_mapping_is_found(_: &()) -> Outcome {
    let (device, emulation) = opened()?;
    emulation.declare_gl_buffer(7, &bytes(&[1]))?;
    let (stream, store) = (device.stream(), function(&device, "store")?);
    let mut buffer = register(&device, 7, GlAccess::ReadWrite)?;
    let address = {
        let mapped = buffer.map(&stream)?;
        mapped.as_raw()
    };
    // SAFETY: refused by the emulated device.
    unsafe { store.launch(LaunchConfig::new(1, 1), (address, 5u32), &stream)? };
    let error = device.synchronize().err().ok_or("no error")?;
    ensure!(error.to_string().contains("released"), "{error}");
    Ok(())
}

pub fn kernels_use_mapped_images_of_opengl(_: &()) -> Outcome {
    let (device, emulation) = opened()?;
    let (shape, stream) = (ArrayShape::plane(2, 3), Stream::new(&device)?);
    emulation.declare_gl_image::<u8>(1, shape, &[1, 2, 3, 4, 5, 6])?;
    emulation.declare_gl_image::<u8>(2, shape, &[0; 6])?;
    ensure!(is(emulation.declare_gl_image::<u8>(3, shape, &[0; 7]).err(), INVALID_VALUE), "too many bytes");
    let invert = function(&device, "invert")?;
    // SAFETY: declared objects.
    let (mut from, mut to) = unsafe {
        (
            GlImage::<u8>::register(&device, 1, TEXTURE_2D, GlAccess::ReadOnly)?,
            GlImage::<u8>::register_for_surfaces(&device, 2, TEXTURE_2D, GlAccess::WriteDiscard)?,
        )
    };
    for _ in 0..2 {
        let (mut read, written) = (from.map(&stream)?, to.map(&stream)?);
        ensure_eq!((read.array().shape().rows(), read.array().shape().columns()), (2, 3));
        ensure!(written.array().shape().has_surfaces() && !read.array().shape().has_surfaces());
        ensure!(matches!(read.array_mut().err(), Some(DriverError::Length { .. })), "an image to be read");
        let texture = Texture::of_array(read.array(), Sampling::new())?;
        let mut surface = Surface::of_array(written.array())?;
        // SAFETY: 3 x 2 threads read and write an element each.
        unsafe { invert.launch(LaunchConfig::new(1, (3, 2)), (&texture, &mut surface), &stream)? };
        drop((texture, surface, read));
        written.unmap()?;
        ensure_eq!(emulation.gl_image(2)?, [254, 253, 252, 251, 250, 249]);
    }
    to.set_access(GlAccess::ReadWrite)?;
    to.map(&stream)?.array_mut()?.copy_box_from_slice([0; 3], &[7, 8], Pitched::plane(1, 2))?;
    ensure_eq!(emulation.gl_image(2)?, [7, 8, 252, 251, 250, 249]);

    let level = to.map_part(&stream, 0, 1).err();
    ensure!(is(level, INVALID_VALUE) && emulation.gl_image(2).is_ok(), "a level that is not there");
    // SAFETY: as above.
    let mut other = unsafe { GlImage::<f32>::register(&device, 1, TEXTURE_2D, GlAccess::ReadOnly) };
    ensure!(is(other.as_ref().err().cloned(), ALREADY_MAPPED), "registered twice");
    drop(from);
    // SAFETY: as above.
    other = unsafe { GlImage::<f32>::register(&device, 1, TEXTURE_2D, GlAccess::ReadOnly) };
    let error = other?.map(&stream).err().ok_or("another type")?;
    ensure!(error.to_string().contains("channels of float"), "{error}");
    ensure_eq!(emulation.gl_image(1)?, [1, 2, 3, 4, 5, 6]);
    Ok(())
}

/// A texture that outlives the guard keeps the image from OpenGL, and says so.
pub fn textures_that_outlive_a_mapping_are_reported(_: &()) -> Outcome {
    let (device, emulation) = opened()?;
    emulation.declare_gl_image::<u8>(1, ArrayShape::plane(2, 3), &[1, 2, 3, 4, 5, 6])?;
    let (stream, read) = (Stream::new(&device)?, function(&device, "read")?);
    // SAFETY: declared.
    let mut image = unsafe { GlImage::<u8>::register(&device, 1, TEXTURE_2D, GlAccess::ReadWrite)? };
    let mapped = image.map(&stream)?;
    let texture = Texture::of_array(mapped.array(), Sampling::new())?;
    let error = mapped.unmap().err().ok_or("a texture is left")?;
    ensure!(error.to_string().contains("texture"), "{error}");
    let error = image.map(&stream).err().ok_or("a texture is left")?;
    ensure!(matches!(error, DriverError::Length { op: "GlImage::map", .. }), "{error:?}");
    let mut value = [0u32];
    // SAFETY: one thread writes one element; the image is still mapped.
    unsafe { read.launch(LaunchConfig::new(1, 1), (&texture, &mut value), &stream)? };
    ensure_eq!(value, [5]);
    drop(texture);
    // An array that was taken out of its guard is found as well.
    let mut spare = gpu_driver::CudaArray::<u8>::zeros(&stream, ArrayShape::plane(2, 3))?;
    let mut mapped = image.map(&stream)?;
    std::mem::swap(mapped.array_mut()?, &mut spare);
    drop(mapped);
    let error = device.stream_priorities().err().ok_or("an array is left")?;
    ensure!(matches!(error, DriverError::InDrop { object: "an OpenGL image", .. }), "{error:?}");
    ensure_eq!(spare.to_vec()?, [1, 2, 3, 4, 5, 6]);
    drop(spare);
    drop(image.map(&stream)?);
    ensure_eq!(emulation.gl_image(1)?, [1, 2, 3, 4, 5, 6]);

    // A registration does not end under a texture.
    let mapped = image.map(&stream)?;
    let texture = Texture::of_array(mapped.array(), Sampling::new())?;
    drop(mapped);
    drop(image);
    let errors = [device.stream_priorities().err(), device.stream_priorities().err()];
    ensure!(errors.iter().all(|error| matches!(error, Some(DriverError::InDrop { .. }))), "{errors:?}");
    // SAFETY: as above.
    unsafe { read.launch(LaunchConfig::new(1, 1), (&texture, &mut value), &stream)? };
    ensure_eq!(value, [5]);
    Ok(())
}

/// Slices of a mapping are those of any memory.
pub fn slices_of_opengl_are_copied(_: &()) -> Outcome {
    let (device, emulation) = opened()?;
    emulation.declare_gl_buffer(7, &bytes(&[1, 2, 3, 4]))?;
    let stream = device.stream();
    let x = DeviceVec::from_slice(&Stream::new(&device)?, &[8u32, 9])?;
    let mut y = DeviceVec::<u32>::zeros(&Stream::new(&device)?, 2)?;
    let mut buffer = register(&device, 7, GlAccess::ReadWrite)?;
    let mut mapped = buffer.map(&stream)?;
    mapped.as_mut_slice()?.copy_box_from(Pitched::plane(2, 1).within(2), x.as_slice(), Pitched::plane(2, 1))?;
    y.copy_from(mapped.as_slice().slice(..2)?)?;
    ensure_eq!((y.to_vec()?, mapped.as_slice().cast::<u16>()?.len()), (vec![8, 2], 8));
    drop(mapped);
    ensure_eq!(emulation.gl_buffer(7)?, bytes(&[8, 2, 9, 4]));
    Ok(())
}
