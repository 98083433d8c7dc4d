//! The examples of the crate, run as tests.

use gpu_driver::Device;
use testkit::{Outcome, Test, ensure, tests};

#[path = "../../examples/debugging.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod debugging;

#[path = "../../examples/doublify.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod doublify;

#[path = "../../examples/dump_properties.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod dump_properties;

#[path = "../../examples/dynamic_parallelism.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
pub mod dynamic_parallelism;

#[path = "../../examples/filters.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod filters;

#[path = "../../examples/gl_waves.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod gl_waves;

#[path = "../../examples/hello_gpu.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod hello_gpu;

#[path = "../../examples/histogram.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod histogram;

#[path = "../../examples/life.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod life;

#[path = "../../examples/mandelbrot.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod mandelbrot;

#[path = "../../examples/matrix_product.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod matrix_product;

#[path = "../../examples/memory_profile.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod memory_profile;

#[path = "../../examples/overlap.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod overlap;

#[path = "../../examples/patterns.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod patterns;

#[path = "../../examples/pi.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod pi;

#[path = "../../examples/rotate.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
pub mod rotate;

#[path = "../../examples/strides.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod strides;

#[path = "../../examples/tune.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod tune;

#[path = "../../examples/structures.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod structures;

#[path = "../../examples/threads.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod threads;

#[path = "../../examples/transpose.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod transpose;

#[path = "../../examples/volume.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
pub mod volume;

#[path = "../../examples/workers.rs"]
#[allow(dead_code, reason = "`main` is the example's own")]
mod workers;

pub const TESTS: &[Test<Device>] = tests![
    the_example_debugging,
    the_example_doublify,
    the_example_dump_properties,
    the_example_filters,
    the_example_hello_gpu,
    the_example_histogram,
    the_example_life,
    the_example_mandelbrot,
    the_example_matrix_product,
    the_example_memory_profile,
    the_example_overlap,
    the_example_patterns,
    the_example_pi,
    the_example_rotate,
    the_example_strides,
    the_example_tune,
    the_example_structures,
    the_example_threads,
    the_example_transpose,
    the_example_volume,
    the_example_workers,
];

pub fn the_example_debugging(device: &Device) -> Outcome {
    debugging::run(device)
}

pub fn the_example_doublify(device: &Device) -> Outcome {
    doublify::run(device)
}

pub fn the_example_tune(device: &Device) -> Outcome {
    tune::run(device)
}

pub fn the_example_dump_properties(device: &Device) -> Outcome {
    dump_properties::run(device)
}

pub fn the_example_filters(device: &Device) -> Outcome {
    filters::run(device)
}

/// A device that draws with OpenGL, or stands for one that does.
pub fn device_with_opengl() -> Result<Device, String> {
    let device = Device::for_tests().map_err(|error| error.to_string())?;
    gl_waves::find_opengl(&device).map_err(|error| error.to_string())?;
    Ok(device)
}

pub fn the_example_gl_waves(device: &Device) -> Outcome {
    ensure!(gl_waves::draw(device)?, "nothing was drawn");
    Ok(())
}

pub fn the_example_hello_gpu(device: &Device) -> Outcome {
    hello_gpu::run(device)
}

pub fn the_example_histogram(device: &Device) -> Outcome {
    histogram::run(device)
}

pub fn the_example_life(device: &Device) -> Outcome {
    life::run(device)
}

pub fn the_example_mandelbrot(device: &Device) -> Outcome {
    mandelbrot::run(device)
}

pub fn the_example_matrix_product(device: &Device) -> Outcome {
    matrix_product::run(device)
}

pub fn the_example_memory_profile(device: &Device) -> Outcome {
    memory_profile::run(device)
}

pub fn the_example_overlap(device: &Device) -> Outcome {
    overlap::run(device)
}

pub fn the_example_patterns(device: &Device) -> Outcome {
    patterns::run(device)
}

pub fn the_example_pi(device: &Device) -> Outcome {
    pi::run(device)
}

pub fn the_example_rotate(device: &Device) -> Outcome {
    rotate::run(device)
}

pub fn the_example_strides(device: &Device) -> Outcome {
    strides::run(device)
}

pub fn the_example_structures(device: &Device) -> Outcome {
    structures::run(device)
}

pub fn the_example_threads(device: &Device) -> Outcome {
    threads::run(device)
}

pub fn the_example_transpose(device: &Device) -> Outcome {
    transpose::run(device)
}

pub fn the_example_volume(device: &Device) -> Outcome {
    volume::run(device)
}

pub fn the_example_workers(device: &Device) -> Outcome {
    workers::run(device)
}
