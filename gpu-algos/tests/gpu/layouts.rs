//! Arrays on a device in the layouts that the test helpers make.

use std::env;

use gpu_algos::gpu_array::{self, Element, GpuArray, GpuView, gpu_driver::Device};
use ndarray::{ArrayD, ArrayViewD, IxDyn};
use testkit::{Layout, Outcome, Rng};

/// Whether racecheck or initcheck watches, which take hundreds of times as long: of kernels whose blocks meet nowhere a few hundred blocks are enough then.
pub fn is_under_slow_tool() -> bool {
    let tool = env::var_os("GPU_TESTS_TOOL").unwrap_or_default();
    match tool.to_str() {
        Some("racecheck" | "initcheck") => true,
        Some("" | "memcheck" | "synccheck") => false,
        _ => panic!("GPU_TESTS_TOOL is {tool:?}; a tool is memcheck, racecheck, synccheck or initcheck"),
    }
}

/// The view of an array of the shape [`Layout::base`].
pub fn of_gpu<'a, T: Element>(
    layout: &Layout,
    base: &'a GpuArray<T, IxDyn>,
) -> gpu_array::Result<GpuView<'a, T, IxDyn>> {
    let view = base.view().permuted_axes(layout.axes())?.slice(&layout.slices()[..])?;
    match layout.broadcast() {
        Some(shape) => view.broadcast(IxDyn(shape)),
        None => Ok(view),
    }
}

/// An array of the shape [`Layout::base`], of random elements.
pub fn base<T>(layout: &Layout, rng: &mut Rng, mut element: impl FnMut(&mut Rng) -> T) -> ArrayD<T> {
    ArrayD::from_shape_simple_fn(IxDyn(&layout.base), || element(rng))
}

/// Two factors of a product, each in one of its layouts, on a device and on the host.
pub struct Factors<'v, T: Element> {
    /// The numbers of the layouts.
    pub numbers: (usize, usize),
    pub a: &'v GpuView<'v, T, IxDyn>,
    pub b: &'v GpuView<'v, T, IxDyn>,
    pub x: ArrayViewD<'v, T>,
    pub y: ArrayViewD<'v, T>,
    /// The names of the layouts.
    pub name: String,
}

/// Random factors of m x k and k x n elements in each layout by each layout; on the emulated device, which takes long, those whose numbers `takes` accepts.
pub fn factors_of_every_layout<T: Element>(
    device: &Device,
    rng: &mut Rng,
    [m, k, n]: [usize; 3],
    mut element: impl FnMut(&mut Rng) -> T,
    takes: impl Fn(usize, usize) -> bool,
    mut check: impl FnMut(Factors<'_, T>) -> Outcome,
) -> Outcome {
    for (i, (left, on_left)) in Layout::each(&[m, k]).into_iter().enumerate() {
        let x = base(&on_left, rng, &mut element);
        let a = GpuArray::from_ndarray(device, &x)?;
        let (a, x) = (of_gpu(&on_left, &a)?, on_left.of_host(x.view()));
        for (j, (right, on_right)) in Layout::each(&[k, n]).into_iter().enumerate() {
            if device.is_emulated() && !takes(i, j) {
                continue;
            }
            let y = base(&on_right, rng, &mut element);
            let b = GpuArray::from_ndarray(device, &y)?;
            let (b, y) = (of_gpu(&on_right, &b)?, on_right.of_host(y.view()));
            let (x, name) = (x.view(), format!("{left} by {right}"));
            check(Factors { numbers: (i, j), a: &a, b: &b, x, y, name })?;
        }
    }
    Ok(())
}
