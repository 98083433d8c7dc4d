//! Random selections of random layouts, against the reference.

use gpu_algos::{
    gpu_array::{GpuArray, gpu_driver::Device},
    operators::Summand,
    prelude::*,
    reference,
};
use testkit::{Layout, Outcome, Rng, Test, ensure_eq, rng, same, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] = tests![random_selections_of_f32, random_selections_of_u8];

/// Selections of each kind and type.
const CASES: usize = 40;

/// Compares selections of elements that `element` makes, some of which are 0.
fn check<T: Summand>(device: &Device, rng: &mut Rng, element: fn(&mut Rng) -> T) -> Outcome {
    for _ in 0..CASES {
        let layout = Layout::random_of_any_shape(rng);
        let values = base(&layout, rng, element);
        let x_on_device = GpuArray::from_ndarray(device, &values)?;
        let (x, host) = (of_gpu(&layout, &x_on_device)?, layout.of_host(values.view()));
        // The mask has a layout of its own.
        let flags = Layout::random(host.shape(), rng);
        let share = [0, 1, 50, 99, 100][rng.below(5)];
        let mask = base(&flags, rng, |rng| rng.below(100) < share);
        let mask_on_device = GpuArray::from_ndarray(device, &mask)?;
        let m = of_gpu(&flags, &mask_on_device)?;
        let m = m.broadcast(host.raw_dim())?;
        let mask = flags.of_host(mask.view()).broadcast(host.raw_dim()).ok_or("shape")?.to_owned();
        let case = format!("{layout:?}, mask {flags:?}, {share} %");

        let want = reference::select(&host, &mask)?;
        same(&(&x).select(&m).eval()?.to_ndarray()?.to_vec(), &want.to_vec(), format!("select: {case}"))?;
        let (want, selected) = reference::partition_by_mask(&host, &mask)?;
        let (got, count) = (&x).partition(&m).eval()?.into_parts();
        ensure_eq!(count.get()?, selected as i64);
        same(&got.to_ndarray()?.to_vec(), &want.to_vec(), format!("partition: {case}"))?;
        let want = reference::flat_nonzero(&host);
        same(&(&x).nonzero().eval()?.to_ndarray()?.to_vec(), &want.to_vec(), format!("nonzero: {case}"))?;
        let want = reference::unique(&host.flatten());
        same(&(&x).unique().eval()?.to_ndarray()?.to_vec(), &want.to_vec(), format!("unique: {case}"))?;
    }
    Ok(())
}

pub fn random_selections_of_f32(device: &Device) -> Outcome {
    check(device, &mut rng(20_014), |rng| rng.below(5) as f32 - 2.0)
}

pub fn random_selections_of_u8(device: &Device) -> Outcome {
    check(device, &mut rng(20_015), |rng| rng.below(3) as u8)
}
