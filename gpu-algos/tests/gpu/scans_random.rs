//! Random scans of random layouts, against the reference.

use gpu_algos::{
    Scan,
    gpu_array::{
        Element, GpuArray, GpuView,
        expression::{self, Expr, Host},
        gpu_driver::Device,
    },
    operators::{Cumulative, Max, Sum},
    prelude::*,
    reduce::ReduceBackend,
};
use ndarray::{ArrayD, Axis, Dimension, Ix1, IxDyn};
use testkit::{Layout, Outcome, Rng, Test, ensure, rng, tests};

use crate::{
    layouts::{base, of_gpu},
    scans::segmented,
};

pub const TESTS: &[Test<Device>] = tests![random_sums_of_f32, random_extremes_of_u8];

/// Scans of each kind and type.
const CASES: usize = 60;

/// The kind of a random scan.
#[derive(Debug)]
struct Kind {
    /// All values in C order where there is none.
    axis: Option<Axis>,
    exclusive: bool,
    reverse: bool,
}

impl Kind {
    fn random(rank: usize, rng: &mut Rng) -> Self {
        let axis = (rank > 0 && rng.below(4) > 0).then(|| Axis(rng.below(rank)));
        Self { axis, exclusive: rng.below(2) == 0, reverse: rng.below(2) == 0 }
    }

    fn of<'a, T: Element, K: Dimension, P: ReduceBackend>(
        &self,
        scan: Scan<'a, T, IxDyn, K, P>,
    ) -> Scan<'a, T, IxDyn, K, P> {
        let scan = if self.exclusive { scan.exclusive() } else { scan };
        if self.reverse { scan.reverse() } else { scan }
    }

    fn on_device<T: Element>(&self, scan: Scan<'_, T, IxDyn>) -> gpu_algos::Result<ArrayD<T>> {
        Ok(match self.axis {
            Some(axis) => self.of(scan.axis(axis)).eval()?.to_ndarray()?,
            None => self.of(scan).eval()?.to_ndarray()?.into_dyn(),
        })
    }

    fn by_host<T: Element>(&self, scan: Scan<'_, T, IxDyn, Ix1, Host>) -> gpu_algos::Result<ArrayD<T>> {
        Ok(match self.axis {
            Some(axis) => self.of(scan.axis(axis)).eval()?,
            None => self.of(scan).eval()?.into_dyn(),
        })
    }

    /// The reference.
    fn on_host<O: Cumulative<Output: Default>>(
        &self,
        op: &O,
        x: &ArrayD<O::Value>,
        heads: &ArrayD<bool>,
    ) -> gpu_algos::Result<ArrayD<O::Output>> {
        let kind = (self.exclusive, self.reverse);
        match self.axis {
            Some(axis) => segmented(op, x, heads, axis, kind),
            None => Ok(segmented(op, &x.flatten(), &heads.flatten(), Axis(0), kind)?.into_dyn()),
        }
    }
}

fn check<T: Element + Default>(
    device: &Device,
    rng: &mut Rng,
    element: fn(&mut Rng) -> T,
    op: &impl Cumulative<Value = T, Output = T>,
    scan: impl for<'v> Fn(&GpuView<'v, T, IxDyn>) -> Scan<'v, T, IxDyn>,
    scan_on_host: impl for<'v> Fn(&Expr<'v, T, IxDyn, Host>) -> Scan<'v, T, IxDyn, Ix1, Host>,
) -> Outcome {
    for case in 0..CASES {
        let layout = Layout::random_of_any_shape(rng);
        let values = base(&layout, rng, element);
        let on_device = GpuArray::from_ndarray(device, &values)?;
        let (view, host) = (of_gpu(&layout, &on_device)?, layout.of_host(values.view()).to_owned());
        let kind = Kind::random(host.ndim(), rng);
        let context = format!("{layout:?}, {kind:?}");
        // Every third scan has segments, whose flags have a layout of their own.
        let flags = Layout::random(host.shape(), rng);
        let share = [1, 2, 40, 1000][rng.below(4)];
        let heads = base(&flags, rng, |rng| rng.below(share) == 0);
        let heads_on_device = GpuArray::from_ndarray(device, &heads)?;
        let (got, heads) = if case % 3 == 0 {
            let whole = of_gpu(&flags, &heads_on_device)?;
            let whole = whole.broadcast(host.raw_dim())?;
            let heads = flags.of_host(heads.view()).broadcast(host.raw_dim()).ok_or("shape")?.to_owned();
            (kind.on_device(scan(&view).segments(whole)), heads)
        } else {
            (kind.on_device(scan(&view)), ArrayD::from_elem(host.raw_dim(), false))
        };
        let got = got.map_err(|error| format!("{context}: {error}"))?;
        let want = kind.on_host(op, &host, &heads)?;
        ensure!(got == want, "{context}: got {got}, want {want}");
        let of_values = expression::host(layout.of_host(values.view()));
        let scanned = scan_on_host(&of_values);
        let got = kind.by_host(if case % 3 == 0 { scanned.segments(expression::host(&heads)) } else { scanned });
        let got = got.map_err(|error| format!("{context}: {error}"))?;
        ensure!(got == want, "{context} on the host: got {got}, want {want}");
    }
    Ok(())
}

pub fn random_sums_of_f32(device: &Device) -> Outcome {
    // Whole numbers, whose sums are exact in any order.
    check(device, &mut rng(20_012), |rng| rng.below(17) as f32 - 8.0, &Sum::new(), |x| x.cumsum(), |x| x.cumsum())
}

pub fn random_extremes_of_u8(device: &Device) -> Outcome {
    check(device, &mut rng(20_013), |rng| rng.below(256) as u8, &Max::new(), |x| x.cummax(), |x| x.cummax())
}
