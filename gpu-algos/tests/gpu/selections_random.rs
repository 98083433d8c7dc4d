//! Random selections of random layouts, against definitions in plain loops.

use gpu_algos::{
    gpu_array::{GpuArray, Number, gpu_driver::Device},
    prelude::*,
};
use testkit::{Layout, Outcome, Rng, Test, ensure_eq, rng, same, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] = tests![random_selections_of_f32, random_selections_of_u8];

/// Selections of each kind and type.
const CASES: usize = 40;

/// Compares selections of elements that `element` makes, some of which are `zero`.
fn check<T: Number>(device: &Device, rng: &mut Rng, zero: T, element: fn(&mut Rng) -> T) -> Outcome {
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
        let flat: Vec<T> = host.iter().copied().collect();
        let (selected, rejected): (Vec<_>, Vec<_>) = flat.iter().zip(&mask).partition(|(_, flag)| **flag);
        let [selected, rejected] =
            [selected, rejected].map(|pairs| pairs.into_iter().map(|(&x, _)| x).collect::<Vec<T>>());

        same(&(&x).select(&m).eval()?.to_ndarray()?.to_vec(), &selected, format!("select: {case}"))?;
        let (got, count) = (&x).partition(&m).eval()?.into_parts();
        ensure_eq!(count.get()?, selected.len() as i64);
        same(&got.to_ndarray()?.to_vec(), &[selected, rejected].concat(), format!("partition: {case}"))?;
        let want: Vec<i64> = (0..).zip(&flat).filter(|(_, x)| **x != zero).map(|(i, _)| i).collect();
        same(&(&x).nonzero().eval()?.to_ndarray()?.to_vec(), &want, format!("nonzero: {case}"))?;
        let mut want = flat;
        want.dedup();
        same(&(&x).unique().eval()?.to_ndarray()?.to_vec(), &want, format!("unique: {case}"))?;
    }
    Ok(())
}

pub fn random_selections_of_f32(device: &Device) -> Outcome {
    check(device, &mut rng(20_014), 0.0, |rng| rng.below(5) as f32 - 2.0)
}

pub fn random_selections_of_u8(device: &Device) -> Outcome {
    check(device, &mut rng(20_015), 0, |rng| rng.below(3) as u8)
}
