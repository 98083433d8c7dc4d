//! Kernels compiled ahead of their first use.

use gpu_algos::{
    gpu_array::{
        GpuArray,
        gpu_driver::{
            Device,
            emulated::{Call::ModuleLoad, Emulated},
        },
    },
    prelude::*,
    reference,
};
use ndarray::{Array2, Axis, s};
use testkit::{Outcome, Test, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![a_device_is_warmed];

/// On the emulated device, which counts calls of the driver.
pub const COUNTS: &[Test<()>] = tests![what_programs_begin_with_is_compiled_ahead];

fn a_device_is_warmed(device: &Device) -> Outcome {
    Ok(gpu_algos::warm(device)?)
}

fn what_programs_begin_with_is_compiled_ahead(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    gpu_algos::warm(&device)?;
    let emulation = device.emulation().ok_or("emulated")?;
    let loaded = emulation.calls(ModuleLoad)?;
    let x = Array2::from_shape_fn((300, 5000), |(i, j)| (i * 7 + j * 3) as f32 - 9000.0);
    let device_x = GpuArray::from_ndarray(&device, &x)?;
    ensure_eq!(device_x.argmax().get()?, (300 * 5000 - 1) as i64);
    ensure_eq!(device_x.max().axis(Axis(1)).eval()?.to_ndarray()?, x.map_axis(Axis(1), |row| row[4999]));
    ensure_eq!(device_x.select(device_x.gt(0.0)).eval()?.len()?, reference::copy_if(&x, |&x| x > 0.0).len());
    let y = x.mapv(f64::from);
    let sums = GpuArray::from_ndarray(&device, &y)?.cumsum().axis(Axis(0)).eval()?;
    ensure_eq!(sums.slice(s![-1, ..])?.to_ndarray()?, y.map_axis(Axis(0), reference::sum));
    ensure_eq!(emulation.calls(ModuleLoad)? - loaded, 0);
    Ok(())
}
