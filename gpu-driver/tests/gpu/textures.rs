//! Values that kernels read and write through textures and surfaces.

use gpu_driver::{
    AddressMode, Arch, ArrayShape, Channel, CudaArray, Device, DeviceVec, DriverError, Function, HostOut, LaunchConfig,
    MipmappedArray, Pitched, Program, Sampling, Stream, Surface, Texture,
};
use testkit::{Outcome, ensure, ensure_eq};

use crate::{
    arrays::{numbers, shapes},
    examples::{rotate, volume},
};

/// Kernels that read a texture of each form, at four numbers for each value: x, y, z, layer.
const READERS: [(&str, &str); 8] = [
    ("fetch", "tex1Dfetch<float>(t, int(q[3]))"),
    ("line", "tex1D<float>(t, q[0])"),
    ("plane", "tex2D<float>(t, q[0], q[1])"),
    ("volume", "tex3D<float>(t, q[0], q[1], q[2])"),
    ("layered_line", "tex1DLayered<float>(t, q[0], int(q[3]))"),
    ("layered_plane", "tex2DLayered<float>(t, q[0], q[1], int(q[3]))"),
    ("cubemap", "texCubemap<float>(t, q[0], q[1], q[2])"),
    ("layered_cubemap", "texCubemapLayered<float>(t, q[0], q[1], q[2], int(q[3]))"),
];

fn reader_text() -> String {
    let kernel = |(name, call)| {
        format!(
            "extern \"C\" __global__ void {name}(cudaTextureObject_t t, const float *at, float *y, int n) {{\n\
                int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                if (i >= n) return;\n\
                const float *q = at + 4 * i;\n\
                y[i] = {call};\n}}\n"
        )
    };
    READERS.map(kernel).concat()
}

/// The kernel of that name.
pub fn reader(device: &Device, name: &str) -> Result<Function, DriverError> {
    device.compile(reader_text())?.function(name)
}

/// The values of a texture at places.
pub fn read(kernel: &Function, texture: &Texture, at: &[[f32; 4]]) -> Result<Vec<f32>, DriverError> {
    let flat = at.as_flattened();
    let (mut y, n) = (vec![f32::NAN; at.len()], at.len() as i32);
    let stream = Stream::new(kernel.device())?;
    // SAFETY: one thread for each value, which reads four numbers.
    unsafe { kernel.launch(LaunchConfig::for_elements(at.len()), (texture, flat, &mut y, n), &stream)? };
    Ok(y)
}

/// The centre of each element, in C order.
pub fn centres(shape: ArrayShape, is_layered: bool) -> Vec<[f32; 4]> {
    let middle = |i: usize| i as f32 + 0.5;
    let mut all = Vec::new();
    for (layer, row, column) in (0..shape.layers())
        .flat_map(|l| (0..shape.rows()).flat_map(move |r| (0..shape.columns()).map(move |c| (l, r, c))))
    {
        let (z, number) = if is_layered { (0.0, layer as f32) } else { (middle(layer), 0.0) };
        all.push([middle(column), middle(row), z, number]);
    }
    all
}

/// The directions to the centres of all elements of cubes.
fn directions(shape: ArrayShape) -> Vec<[f32; 4]> {
    let part = |i: usize| 2.0 * (i as f32 + 0.5) / shape.columns() as f32 - 1.0;
    let turn = |[column, row, layer, number]: [f32; 4]| {
        let (face, cube) = (number as usize % 6, number as usize / 6);
        let (s, t) = (part(column as usize), part(row as usize));
        let [x, y, z] = [[1.0, -t, -s], [-1.0, -t, s], [s, 1.0, t], [s, -1.0, -t], [s, -t, 1.0], [-s, -t, -1.0]][face];
        // The length of a direction does not matter.
        [3.0 * x, 3.0 * y, 3.0 * z, layer + cube as f32]
    };
    centres(shape, true).into_iter().map(turn).collect()
}

pub fn textures_of_every_form_give_their_elements(device: &Device) -> Outcome {
    let names = ["line", "plane", "volume", "layered_line", "layered_plane", "cubemap", "layered_cubemap"];
    for (shape, name) in shapes().into_iter().zip(names) {
        let host = numbers(shape.values(), |i| (i % 10_000) as f32);
        let array = CudaArray::from_slice(&device.stream(), shape, &host)?;
        let at =
            if name.ends_with("cubemap") { directions(shape) } else { centres(shape, name.starts_with("layered")) };
        let kernel = reader(device, name)?;
        for sampling in [Sampling::new(), Sampling::new().linear()] {
            let texture = Texture::of_array(&array, sampling)?;
            // The linear filter gives the element itself at its centre; directions are rounded.
            let bound = if name.ends_with("cubemap") && sampling != Sampling::new() { 100.0 } else { 0.0 };
            let got = read(&kernel, &texture, &at)?;
            let near = got.iter().zip(&host).all(|(got, want)| (got - want).abs() <= bound);
            ensure!(near, "{name} {sampling:?}: {got:?} {host:?}");
        }
    }
    Ok(())
}

/// The types of channels in CUDA C++, and the heads of their vector types.
const TYPES: [[&str; 2]; 7] = [
    ["unsigned char", "uchar"],
    ["signed char", "char"],
    ["unsigned short", "ushort"],
    ["short", "short"],
    ["unsigned", "uint"],
    ["int", "int"],
    ["float", "float"],
];

/// Kernels that read and write planes of a type.
fn readers_of(scalar: &str, short: &str) -> String {
    let kernel = |channels: usize, vector: &str| {
        format!(
            "extern \"C\" __global__ void read{channels}(cudaTextureObject_t t, {vector} *y, int columns) {{\n\
                y[blockIdx.x * columns + threadIdx.x] = tex2D<{vector}>(t, threadIdx.x, blockIdx.x);\n}}\n\
             extern \"C\" __global__ void write{channels}(cudaSurfaceObject_t s, const {vector} *x, int columns) {{\n\
                surf2Dwrite(x[blockIdx.x * columns + threadIdx.x], s, threadIdx.x * sizeof({vector}), blockIdx.x);\n}}\n"
        )
    };
    kernel(1, scalar) + &kernel(2, &format!("{short}2")) + &kernel(4, &format!("{short}4"))
}

pub fn textures_and_surfaces_have_all_types_and_channels(device: &Device) -> Outcome {
    fn check<T: Channel + PartialEq>(device: &Device, names: [&str; 2], of: impl Fn(u32) -> T) -> Outcome {
        let (module, stream) = (device.compile(readers_of(names[0], names[1]))?, device.stream());
        for channels in [1, 2, 4] {
            let shape = ArrayShape::plane(3, 5).with_channels(channels).for_surfaces();
            let host = numbers(shape.values(), &of);
            let x = DeviceVec::from_slice(&stream, &host)?;
            let array = CudaArray::<T>::zeros(&Stream::new(device)?, shape)?;
            let mut surface = Surface::of_array(&array)?;
            let write = module.function(&format!("write{channels}"))?;
            let config = LaunchConfig::new(3, 5);
            // SAFETY: one thread for each element.
            unsafe { write.launch(config, (&mut surface, x.input(), 5), &stream)? };
            ensure!(array.to_vec()? == host, "{channels} channels of {}", names[0]);
            let texture = Texture::of_array(&array, Sampling::new())?;
            let mut y = DeviceVec::<T>::zeros(&stream, host.len())?;
            // SAFETY: as above.
            unsafe {
                module.function(&format!("read{channels}"))?.launch(config, (&texture, y.output(), 5), &stream)?;
            }
            ensure!(y.to_vec()? == host, "{channels} channels of {}", names[0]);
        }
        Ok(())
    }
    let [u8, i8, u16, i16, u32, i32, f32] = TYPES;
    check(device, u8, |i| i as u8)?;
    check(device, i8, |i| i as i8)?;
    check(device, u16, |i| i as u16)?;
    check(device, i16, |i| i as i16)?;
    check(device, u32, |i| i)?;
    check(device, i32, |i| i as i32)?;
    check(device, f32, |i| i as f32)
}

pub fn textures_read_device_memory(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let host = numbers(100, |i| (i % 1000) as f32);
    let texture = Texture::of_line(DeviceVec::from_slice(&stream, &host)?, 1, Sampling::new())?;
    let at: Vec<[f32; 4]> = (-3..103).map(|i| [0.0, 0.0, 0.0, i as f32]).collect();
    let mut want = host.clone();
    want.splice(0..0, [0.0; 3]);
    want.extend([0.0; 3]);
    ensure_eq!(read(&reader(device, "fetch")?, &texture, &at)?, want);
    // Rows at equal distances, from the third one on, shared with the caller.
    let (mut memory, place) = DeviceVec::<f32>::pitched(&stream, 6, 5)?;
    let host = numbers(30, |i| (i % 1000) as f32);
    memory.as_mut_slice().copy_box_from_slice(place, &host, Pitched::plane(6, 5))?;
    let memory = std::sync::Arc::new(memory);
    let lower = Pitched { rows: 4, ..place }.from(2 * place.pitch);
    let texture = Texture::of_plane(memory.clone(), lower, 1, Sampling::new().linear())?;
    ensure_eq!(read(&reader(device, "plane")?, &texture, &centres(ArrayShape::plane(4, 5), false))?, &host[10..]);
    let middle = read(&reader(device, "plane")?, &texture, &[[1.0, 1.0, 0.0, 0.0]])?[0];
    ensure!((middle - (host[10] + host[11] + host[15] + host[16]) / 4.0).abs() < 1e-3, "{middle}");
    drop(texture);
    ensure_eq!(memory.len(), 6 * place.pitch);
    Ok(())
}

/// Kernels that change a surface of each form, and one that leaves a plane.
fn surface_text() -> String {
    let kernel = |(name, call, place)| {
        format!(
            "extern \"C\" __global__ void {name}(cudaSurfaceObject_t s, int rows) {{\n\
                int x = threadIdx.x * 4, y = blockIdx.x % rows, z = blockIdx.x / rows;\n\
                (void)y, (void)z;\n\
                int value = {call}read<int>(s, {place});\n\
                {call}write(value + 1000, s, {place});\n}}\n"
        )
    };
    [
        ("line", "surf1D", "x"),
        ("plane", "surf2D", "x, y"),
        ("volume", "surf3D", "x, y, z"),
        ("layered_line", "surf1DLayered", "x, z"),
        ("layered_plane", "surf2DLayered", "x, y, z"),
        ("cubemap", "surfCubemap", "x, y, z"),
        ("layered_cubemap", "surfCubemapLayered", "x, y, z"),
    ]
    .map(kernel)
    .concat()
        + r#"
extern "C" __global__ void beyond(cudaSurfaceObject_t s, int *y) {
    int x = (int(threadIdx.x) - 1) * 4;
    y[threadIdx.x] = surf2Dread<int>(s, x, 0, cudaBoundaryModeClamp);
    surf2Dread(&y[4 + threadIdx.x], s, x, 1, cudaBoundaryModeZero);
    surf2Dwrite(50 + int(threadIdx.x), s, x, 2, cudaBoundaryModeZero);
}
"#
}

pub fn surfaces_of_every_form_are_read_and_written(device: &Device) -> Outcome {
    let (module, stream) = (device.compile(surface_text())?, device.stream());
    let names = ["line", "plane", "volume", "layered_line", "layered_plane", "cubemap", "layered_cubemap"];
    for (shape, name) in shapes().into_iter().zip(names) {
        let host = numbers(shape.values(), |i| i as i32 % 1000);
        let array = CudaArray::from_slice(&stream, shape.for_surfaces(), &host)?;
        let mut surface = Surface::of_array(&array)?;
        let config = LaunchConfig::new((shape.layers() * shape.rows()) as u32, shape.columns() as u32);
        let rows = shape.rows() as i32;
        // SAFETY: one thread for each element.
        unsafe { module.function(name)?.launch(config, (&mut surface, rows), &stream)? };
        let want: Vec<i32> = host.iter().map(|x| x + 1000).collect();
        ensure_eq!((name, array.to_vec()?), (name, want));
    }
    let array = CudaArray::from_slice(&stream, ArrayShape::plane(3, 2).for_surfaces(), &[1, 2, 3, 4, 5, 6])?;
    let (mut surface, mut y) = (Surface::of_array(&array)?, [0i32; 8]);
    // SAFETY: four threads write eight numbers; accesses beyond the surface have a mode.
    unsafe { module.function("beyond")?.launch(LaunchConfig::new(1, 4), (&mut surface, &mut y), &stream)? };
    ensure_eq!(y, [1, 1, 2, 2, 0, 3, 4, 0]);
    ensure_eq!(array.to_vec()?, [1, 2, 3, 4, 51, 52]);
    Ok(())
}

pub fn a_graph_keeps_textures_surfaces_and_arrays(device: &Device) -> Outcome {
    let text = r#"extern "C" __global__ void add(cudaTextureObject_t t, cudaSurfaceObject_t s, int *y) {
        int sum = tex1D<int>(t, threadIdx.x) + surf1Dread<int>(s, threadIdx.x * 4);
        surf1Dwrite(sum, s, threadIdx.x * 4);
        y[threadIdx.x] = sum;
    }"#;
    // Of its own: the capture is not for the work of other tests.
    let (add, stream) = (device.compile(text)?.function("add")?, Stream::new(device)?);
    let mut y = DeviceVec::<i32>::zeros(&stream, 3)?;
    let source = DeviceVec::from_slice(&stream, &[1, 2, 3])?;
    let graph = {
        let mut read = CudaArray::<i32>::zeros(&stream, ArrayShape::line(3))?;
        let written = CudaArray::from_slice(&stream, ArrayShape::line(3).for_surfaces(), &[100, 200, 300])?;
        let texture = Texture::of_array(&read, Sampling::new())?;
        let mut surface = Surface::of_array(&written)?;
        let (graph, ()) = stream.capture(|| {
            read.copy_from(source.as_slice())?;
            // SAFETY: three threads for three elements.
            unsafe { add.launch(LaunchConfig::new(1, 3), (&texture, &mut surface, y.output()), &stream)? };
            // One goes within the capture, the others behind it.
            drop(surface);
            Ok::<_, DriverError>(())
        })?;
        graph
    };
    for round in 1..4 {
        // SAFETY: both buffers are alive.
        unsafe { graph.launch(&stream)? };
        ensure_eq!(y.to_vec()?, [100 + round, 200 + 2 * round, 300 + 3 * round]);
    }
    drop(graph);
    source.device().synchronize()?;
    Ok(())
}

pub fn a_texture_is_dropped_behind_the_kernels_that_read_it(device: &Device) -> Outcome {
    let (kernel, home, other) = (reader(device, "fetch")?, Stream::new(device)?, Stream::new(device)?);
    let mut y = DeviceVec::<f32>::zeros(&other, 1000)?;
    let at =
        DeviceVec::from_slice(&other, (0..1000).map(|i| [0.0, 0.0, 0.0, i as f32]).collect::<Vec<_>>().as_flattened())?;
    for round in 0..20 {
        let host: Vec<f32> = (0..1000).map(|i| (i + round) as f32).collect();
        let texture = Texture::of_line(DeviceVec::from_slice(&home, &host)?, 1, Sampling::new())?;
        let config = LaunchConfig::for_elements(1000);
        // SAFETY: one thread for each value.
        unsafe { kernel.launch(config, (&texture, at.input(), y.output(), 1000), &other)? };
        drop(texture);
        ensure_eq!(y.to_vec()?, host);
    }
    Ok(())
}

pub fn error_shapes_and_samplings_that_no_device_has(device: &Device) -> Outcome {
    let stream = device.stream();
    let text = |error: Option<DriverError>| error.map(|error| error.to_string()).unwrap_or_default();
    let array = |shape: ArrayShape| text(CudaArray::<f32>::zeros(&stream, shape).err());
    for (shape, part) in [
        (ArrayShape::plane(3, 3).with_channels(3), "1, 2 or 4 channels"),
        (ArrayShape::plane(0, 3), "one element at least"),
        (ArrayShape::line(1 << 30), "at most 1 x 1 x"),
        (ArrayShape::volume(1 << 20, 1, 1), " or "),
        (ArrayShape::layered_plane(1 << 14, 1, 1), "at most"),
        (ArrayShape::plane(usize::MAX / 2, 3), "can be addressed"),
    ] {
        let got = array(shape);
        ensure!(got.contains(part), "{shape:?}: {got}");
    }
    let floats = CudaArray::<f32>::zeros(&stream, ArrayShape::plane(3, 3))?;
    let integers = CudaArray::<i32>::zeros(&stream, ArrayShape::plane(3, 3))?;
    let bytes = CudaArray::<u8>::zeros(&stream, ArrayShape::plane(3, 3))?;
    let new = Sampling::new();
    for (got, part) in [
        (text(Texture::of_array(&integers, new.linear()).err()), "linear filter, got int32_t"),
        (text(Texture::of_array(&bytes, new.linear()).err()), "linear filter, got uint8_t"),
        (text(Texture::of_array(&integers, new.normalized_values()).err()), "8 or 16 bits"),
        (text(Texture::of_array(&floats, new.normalized_values()).err()), "8 or 16 bits"),
        (text(Texture::of_array(&floats, new.address(AddressMode::Wrap)).err()), "normalized coordinates"),
        (text(Surface::of_array(&floats).err()), "for_surfaces"),
    ] {
        ensure!(got.contains(part), "{part}: {got}");
    }
    let memory = || DeviceVec::<f32>::zeros(&stream, 4096);
    for (got, part) in [
        (text(Texture::of_line(memory()?, 1, new.linear()).err()), "no filter"),
        (text(Texture::of_line(memory()?, 3, new).err()), "1, 2 or 4 channels"),
        (text(Texture::of_line(DeviceVec::<f32>::zeros(&stream, 0)?, 1, new).err()), "elements, got 0"),
        (text(Texture::of_line(DeviceVec::<f32>::zeros(&stream, 7)?, 4, new).err()), "whole elements of 4"),
        (text(Texture::of_plane(memory()?, Pitched::plane(3, 3), 1, new).err()), "a pitch that 32 bytes divide"),
        (text(Texture::of_plane(memory()?, Pitched::plane(3, 8).from(8), 1, new).err()), "an address that"),
        (text(Texture::of_plane(memory()?, Pitched::plane(9, 1024), 1, new).err()), "a box within 0..4096"),
        (text(Texture::of_plane(memory()?, Pitched::volume(2, 2, 8), 1, new).err()), "one layer"),
    ] {
        ensure!(got.contains(part), "{part}: {got}");
    }
    // Arguments are told apart by the kernel's text.
    let plane = reader(device, "plane")?;
    type With<'a, A> = (A, &'a [f32], gpu_driver::HostOut<'a, f32>, i32);
    plane.check::<With<&Texture>>()?;
    plane.check::<With<u64>>()?;
    for error in [plane.check::<With<&mut Surface>>(), plane.check::<With<f64>>(), plane.check::<With<&[f32]>>()] {
        let error = text(error.err());
        ensure!(error.contains("`cudaTextureObject_t` (8 bytes)") && error.contains("pass a `&Texture`"), "{error}");
    }
    let error = text(plane.check::<(&Texture, &Texture, gpu_driver::HostOut<f32>, i32)>().err());
    ensure!(error.contains("argument 2") && error.contains("pass device memory"), "{error}");
    let stream = Stream::new(device)?;
    let captured = stream.capture(|| CudaArray::<f32>::zeros(&stream, ArrayShape::line(3)));
    ensure!(matches!(captured, Err(DriverError::InCapture { .. })));
    Ok(())
}

pub fn kernels_with_textures_compile_for_gpus(_: &()) -> Outcome {
    let of_types = TYPES.map(|[scalar, short]| readers_of(scalar, short));
    let examples = [rotate::SOURCE.to_owned(), volume::SOURCE.to_owned()];
    for text in of_types.into_iter().chain(examples).chain([reader_text(), surface_text(), GATHER.to_owned()]) {
        Program::from(text).compile(Arch::new(9, 0))?;
    }
    Ok(())
}

const GATHER: &str = r#"
extern "C" __global__ void gather(cudaTextureObject_t t, float x, float y, float *values) {
    float4 first = tex2Dgather<float4>(t, x, y), second = tex2Dgather<float4>(t, x, y, 1);
    float all[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
    for (int i = 0; i < 8; i++) values[i] = all[i];
}
"#;

/// One channel of the four elements around a place, counterclockwise from the lower left.
pub fn elements_around_a_place_are_gathered(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let gather = device.compile(GATHER)?.function("gather")?;
    let host: Vec<f32> = (0..3 * 5 * 2).map(|i| i as f32).collect();
    let shape = ArrayShape::plane(3, 5).with_channels(2).for_gathers();
    let array = CudaArray::from_slice(&stream, shape, &host)?;
    let at = |column: usize, row: usize| host[2 * (row.min(2) * 5 + column.min(4))];
    for sampling in [Sampling::new(), Sampling::new().linear()] {
        let texture = Texture::of_array(&array, sampling.address(AddressMode::Clamp))?;
        // The lower right of the four: a column and row that may lie beyond the border.
        for (column, row) in [(1, 1), (3, 2), (5, 3), (2, 1)] {
            let mut got = [0.0f32; 8];
            // SAFETY: one thread writes eight values.
            unsafe {
                let arguments = (&texture, column as f32, row as f32, &mut got);
                gather.launch(LaunchConfig::new(1, 1), arguments, &stream)?;
            }
            let want = [at(column - 1, row), at(column, row), at(column, row - 1), at(column - 1, row - 1)];
            ensure_eq!(got[..4], want);
            ensure_eq!(got[4..], want.map(|value| value + 1.0));
        }
    }
    for shape in [ArrayShape::line(5), ArrayShape::volume(2, 2, 2), ArrayShape::cubemap(4)] {
        let made = CudaArray::<f32>::zeros(&stream, shape.for_gathers()).map(drop);
        ensure!(matches!(&made, Err(DriverError::Length { .. })), "{made:?}");
    }
    Ok(())
}

const DETAILS: &str = "extern \"C\" __global__ void details(cudaTextureObject_t t, const float *level, float *y, int n) {\n\
    if (threadIdx.x < n) y[threadIdx.x] = tex2DLod<float>(t, 0.3f, 0.6f, level[threadIdx.x]);\n}";

/// A level of detail chooses the nearest level, or weighs two.
pub fn mipmaps_are_read_by_their_level_of_detail(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    // Lengths that are no powers of two, each level of one value.
    let mut picture = MipmappedArray::<f32>::zeros(&stream, ArrayShape::plane(5, 12), 4)?;
    let shapes: Vec<_> = (0..4).map(|level| picture.level(level).map(|of| of.shape())).collect::<Result<_, _>>()?;
    ensure_eq!(
        shapes.iter().map(|of| (of.rows(), of.columns())).collect::<Vec<_>>(),
        [(5, 12), (2, 6), (1, 3), (1, 1)]
    );
    ensure_eq!(picture.level(1)?.to_vec()?, [0.0; 12]);
    for level in 0..4 {
        let array = picture.level_mut(level)?;
        array.copy_from_slice(&vec![10.0 * level as f32; array.shape().values()])?;
    }
    let details = device.compile(DETAILS)?.function("details")?;
    let read = |sampling: Sampling, at: &[f32]| -> Result<Vec<f32>, DriverError> {
        let texture = Texture::of_mipmaps(&picture, sampling)?;
        let mut y = vec![0.0f32; at.len()];
        // SAFETY: each thread reads a level of detail, and writes one element.
        unsafe { details.launch(LaunchConfig::new(1, 32), (&texture, at, HostOut(&mut y), at.len() as i32), &stream)? };
        Ok(y)
    };
    let at = [-1.0, 0.0, 0.25, 0.75, 1.0, 1.5, 2.25, 3.0, 9.0];
    let linear = Sampling::new().linear().linear_between_mipmaps();
    ensure_eq!(read(linear, &at)?, [0.0, 0.0, 2.5, 7.5, 10.0, 15.0, 22.5, 30.0, 30.0]);
    ensure_eq!(
        read(Sampling::new(), &[-1.0, 0.0, 0.25, 0.75, 1.0, 2.25, 9.0])?,
        [0.0, 0.0, 0.0, 10.0, 10.0, 20.0, 30.0]
    );
    ensure_eq!(read(linear.mipmap_bias(1.0), &[-1.0, 0.0, 0.5])?, [0.0, 10.0, 15.0]);
    ensure_eq!(read(linear.mipmaps(1.0, 2.0), &at)?, [10.0, 10.0, 10.0, 10.0, 10.0, 15.0, 20.0, 20.0, 20.0]);
    // A texture keeps all levels, and a level's array does.
    let texture = Texture::of_mipmaps(&picture, linear)?;
    let level = std::mem::replace(picture.level_mut(1)?, CudaArray::zeros(&stream, ArrayShape::plane(2, 6))?);
    drop(picture);
    let mut y = [0.0f32];
    // SAFETY: as above.
    unsafe { details.launch(LaunchConfig::new(1, 32), (&texture, &[2.5f32], HostOut(&mut y), 1), &stream)? };
    ensure_eq!((y, level.to_vec()?), ([25.0], vec![10.0; 12]));
    drop(texture);
    ensure_eq!(level.to_vec()?, [10.0; 12]);
    Ok(())
}

pub fn error_mipmaps_and_levels_that_are_not_there(device: &Device) -> Outcome {
    let stream = device.stream();
    let fails = |error: Option<DriverError>, part: &str| match error {
        Some(error @ DriverError::Length { .. }) => error.to_string().contains(part),
        _ => false,
    };
    let of = |shape, levels| MipmappedArray::<u32>::zeros(&stream, shape, levels);
    ensure!(fails(of(ArrayShape::plane(4, 3), 4).err(), "1 to 3 levels"), "too many");
    ensure!(fails(of(ArrayShape::line(1), 0).err(), "1 to 1 levels"), "none");
    ensure!(fails(of(ArrayShape::plane(4, 3).for_gathers(), 1).err(), "without gathers"), "gathers");
    ensure_eq!((ArrayShape::volume(9, 2, 2).most_levels(), ArrayShape::layered_plane(9, 2, 2).most_levels()), (4, 2));
    let mut made = of(ArrayShape::cubemap(4).for_surfaces(), 3)?;
    ensure_eq!((made.levels(), made.level(2)?.shape().layers(), made.level(1)?.shape().columns()), (3, 6, 2));
    ensure!(made.level(1)?.shape().has_surfaces() && Surface::of_array(made.level(1)?).is_ok(), "surfaces");
    ensure!(fails(made.level(3).err(), "below 3") && fails(made.level_mut(3).err(), "below 3"), "a fourth level");
    let mixed = Texture::of_mipmaps(&made, Sampling::new().linear_between_mipmaps());
    ensure!(fails(mixed.err(), "linear filter"), "integers between levels");
    let falling = Texture::of_mipmaps(&made, Sampling::new().mipmaps(2.0, 1.0));
    ensure!(fails(falling.err(), "rising order"), "no range");
    Ok(())
}
