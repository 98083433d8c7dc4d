//! Random reductions of random layouts, against the definition.

use std::error::Error;

use gpu_algos::{
    AlgoError, Pair, Reduction, Results,
    gpu_array::{DType, Element, GpuArray, GpuView, expression::Gpu, gpu_driver::Device},
    prelude::*,
    reference::*,
};
use ndarray::{ArrayD, Axis, IxDyn};
use testkit::{Layout, Outcome, Rng, Test, ensure, rng, tests};

use crate::layouts::{base, of_gpu};

pub const TESTS: &[Test<Device>] =
    tests![random_reductions_of_f32, random_reductions_of_f64, random_reductions_of_whole_numbers];

fn whole(rng: &mut Rng, flavour: usize) -> u64 {
    let bits = rng.next_u64();
    if flavour == 0 { bits } else { bits % 3 }
}

/// Of the last two flavours no product overflows or vanishes.
fn real(rng: &mut Rng, flavour: usize) -> f64 {
    let one_in = |rng: &mut Rng, n| rng.below(n) == 0;
    match flavour {
        0 => rng.uniform() * 2.0 - 1.0,
        1 if one_in(rng, 3) => f64::NAN,
        _ if one_in(rng, 50) => [0.5, 2.0, -0.5][rng.below(3)],
        2 if one_in(rng, 100) => [f64::INFINITY, f64::NEG_INFINITY, f64::NAN][rng.below(3)],
        3 if one_in(rng, 3) => [0.0, -0.0][rng.below(2)],
        _ => [1.0, -1.0][rng.below(2)],
    }
}

/// A reduction: its values and axes.
struct Case<'a, T: Element> {
    x: &'a GpuView<'a, T, IxDyn>,
    host: ArrayD<T>,
    axes: Vec<Axis>,
    keep: bool,
    /// For each result the sum of |x| and the greatest of them, without NaN.
    sums: ArrayD<f64>,
    greatest: ArrayD<f64>,
}

/// The facts that the rounding of a result depends on.
struct Size {
    want: f64,
    /// Of its type.
    eps: f64,
    n: f64,
    sum: f64,
    greatest: f64,
}

/// How far a float may be from that of the definition.
type Bound = fn(&Size) -> f64;

impl<'a, T: Operand> Case<'a, T> {
    fn random(rng: &mut Rng, x: &'a GpuView<'a, T, IxDyn>, host: ArrayD<T>) -> gpu_algos::Result<Self> {
        let mut axes: Vec<Axis> = (0..host.ndim()).map(Axis).collect();
        rng.shuffle(&mut axes);
        axes.truncate(rng.below(axes.len() + 1).max(rng.below(axes.len() + 1)));
        let sizes = host.mapv(|x| if x.is_nan() { 0.0 } else { x.magnitude().to_f64() });
        let sums = reduce_axes(&Sum::new(), &sizes, &axes)?;
        let greatest = reduce_axes(&NormMax::new(), &sizes, &axes)?;
        Ok(Self { x, host, axes, keep: rng.below(3) == 0, sums, greatest })
    }

    fn by_definition<O: Operator<Value = T>>(&self, op: &O) -> gpu_algos::Result<ArrayD<O::Output>> {
        reduce_axes(op, &self.host, &self.axes)
    }

    fn on_device<O: Results>(&self, reduction: Reduction<'_, O, IxDyn>) -> gpu_algos::Result<O::Arrays<IxDyn, Gpu>> {
        let reduction = reduction.axes(&self.axes);
        if self.keep { reduction.keep_dims().eval() } else { reduction.eval() }
    }

    /// An operator with one result.
    fn one<O: Operand>(
        &self,
        reduction: Reduction<'_, O, IxDyn>,
        op: &impl Operator<Value = T, Output = O>,
        bound: Bound,
    ) -> Outcome {
        let name = format!("{reduction:?}");
        match (self.on_device(reduction), self.by_definition(op)) {
            (Err(AlgoError::Empty { .. }), Err(AlgoError::Empty { .. })) => Ok(()),
            (got, want) => self.compare(&name, &got?, want?, bound),
        }
    }

    fn min_max(&self, reduction: Reduction<'_, Pair<T, T>, IxDyn>, nan: bool) -> Outcome {
        let name = format!("{reduction:?}");
        let (least, greatest) = match nan {
            true => (self.by_definition(&NanMin::new()), self.by_definition(&NanMax::new())),
            false => (self.by_definition(&Min::new()), self.by_definition(&Max::new())),
        };
        match (self.on_device(reduction), least, greatest) {
            (Err(AlgoError::Empty { .. }), Err(AlgoError::Empty { .. }), _) => Ok(()),
            (got, least, greatest) => {
                let got = got?;
                self.compare(&name, &got.0, least?, exact)?;
                self.compare(&name, &got.1, greatest?, exact)
            }
        }
    }

    fn moments<O: Operand>(
        &self,
        reduction: Reduction<'_, Pair<O, O>, IxDyn>,
        mean: &impl Operator<Value = T, Output = O>,
        variance: &impl Operator<Value = T, Output = O>,
    ) -> Outcome {
        let name = format!("{reduction:?}");
        let got = self.on_device(reduction)?;
        let mut means = self.by_definition(mean)?;
        for ((want, &got), greatest) in means.iter_mut().zip(&got.0.to_ndarray()?).zip(&self.greatest) {
            // Of infinite values it is NaN or infinite, as their distances happen to be taken.
            if greatest.is_infinite() && !got.to_f64().is_finite() {
                *want = got;
            }
        }
        self.compare(&name, &got.0, means, updated_mean)?;
        self.compare(&name, &got.1, self.by_definition(variance)?, spread)
    }

    fn compare<O: Operand>(&self, name: &str, got: &GpuArray<O, IxDyn>, mut want: ArrayD<O>, bound: Bound) -> Outcome {
        let got = got.to_ndarray()?;
        let n = self.axes.iter().map(|&axis| self.host.len_of(axis) as f64).product();
        if self.keep {
            let mut axes = self.axes.clone();
            axes.sort();
            axes.into_iter().for_each(|axis| want.insert_axis_inplace(axis));
        }
        ensure!(got.shape() == want.shape(), "{name}: got shape {:?}, want {:?}", got.shape(), want.shape());
        let sizes = self.sums.iter().zip(&self.greatest);
        for (place, ((&got, &want), (&sum, &greatest))) in got.iter().zip(&want).zip(sizes).enumerate() {
            let eps = if O::DTYPE == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
            let size = Size { want: want.to_f64(), eps, n, sum, greatest };
            let distance = (got.to_f64() - size.want).abs();
            let near = O::FLOAT && size.want.is_finite() && distance <= bound(&size);
            let same = got == want || (got.is_nan() && want.is_nan());
            ensure!(same || near, "{name}: result {place}: got {got}, want {want} within {}", bound(&size));
        }
        Ok(())
    }
}

fn exact(_: &Size) -> f64 {
    0.0
}

/// Roundings of a sum: those of a thread's values, and those on the way up.
fn roundings(size: &Size) -> f64 {
    32.0 + size.n / 64.0
}

/// Carried in its own type.
fn sum(size: &Size) -> f64 {
    size.eps * size.sum * roundings(size)
}

/// Carried in f64.
fn carried(size: &Size) -> f64 {
    size.eps * size.want.abs() + f64::EPSILON * size.sum * roundings(size)
}

fn mean(size: &Size) -> f64 {
    size.eps * size.want.abs() + f64::EPSILON * size.sum * roundings(size) / size.n
}

/// By the distances of values from it.
fn updated_mean(size: &Size) -> f64 {
    mean(size) + 1e-14 * size.greatest
}

fn product(size: &Size) -> f64 {
    size.want.abs() * size.eps * (size.n + 2.0) + 1e-30
}

/// Whole numbers of 64 bits are rounded when they are read: distances err by that of the greatest.
fn spread(size: &Size) -> f64 {
    let var = size.want;
    size.eps * var * 8.0 + 1e-13 * (var + size.greatest * var.sqrt())
}

fn deviation(size: &Size) -> f64 {
    let bound = spread(&Size { want: size.want * size.want, ..*size });
    (bound / size.want).min(bound.sqrt()) + size.eps * size.want
}

fn norm(size: &Size) -> f64 {
    size.want * (size.eps + f64::EPSILON * roundings(size))
}

type Check<T> = fn(&Case<'_, T>) -> Outcome;

const OF_F32: &[Check<f32>] = &[
    |c| c.one(c.x.sum(), &Sum::new(), sum),
    |c| c.one(c.x.nansum(), &NanSum::new(), sum),
    |c| c.one(c.x.sum().accumulate_f64(), &Sum::new(), carried),
    |c| c.one(c.x.prod(), &Product::new(), product),
    |c| c.one(c.x.mean(), &Mean::new(), mean),
    |c| c.one(c.x.nanvar(1), &NanVariance::new(1), spread),
    |c| c.moments(c.x.mean_var(0), &Mean::new(), &Variance::new(0)),
    |c| c.one(c.x.min(), &Min::new(), exact),
    |c| c.one(c.x.nanmax(), &NanMax::new(), exact),
    |c| c.min_max(c.x.min_max(), false),
    |c| c.one(c.x.argmin(), &ArgMin::new(), exact),
    |c| c.one(c.x.nanargmax(), &NanArgMax::new(), exact),
    |c| c.one(c.x.any(), &Any::new(), exact),
    |c| c.one(c.x.count(), &Count::new(), exact),
    |c| c.one(c.x.norm_l1(), &NormL1::new(), carried),
    |c| c.one(c.x.norm_l2(), &NormL2::new(), norm),
    |c| c.one(c.x.norm_inf(), &NormMax::new(), exact),
];

const OF_F64: &[Check<f64>] = &[
    |c| c.one(c.x.nanprod(), &NanProduct::new(), product),
    |c| c.one(c.x.nanmean(), &NanMean::new(), mean),
    |c| c.one(c.x.var(0), &Variance::new(0), spread),
    |c| c.one(c.x.std(1), &StandardDeviation::new(1), deviation),
    |c| c.one(c.x.nanstd(0), &NanStandardDeviation::new(0), deviation),
    |c| c.moments(c.x.nanmean_var(1), &NanMean::new(), &NanVariance::new(1)),
    |c| c.one(c.x.nanmin(), &NanMin::new(), exact),
    |c| c.one(c.x.max(), &Max::new(), exact),
    |c| c.min_max(c.x.nanmin_max(), true),
    |c| c.one(c.x.argmax(), &ArgMax::new(), exact),
    |c| c.one(c.x.nanargmin(), &NanArgMin::new(), exact),
    |c| c.one(c.x.all(), &All::new(), exact),
    |c| c.one(c.x.norm_l2(), &NormL2::new(), norm),
];

const OF_I8: &[Check<i8>] = &[|c| c.one(c.x.sum(), &Sum::new(), exact), |c| c.one(c.x.min(), &Min::new(), exact)];
const OF_I32: &[Check<i32>] =
    &[|c| c.one(c.x.mean(), &Mean::new(), mean), |c| c.one(c.x.argmax(), &ArgMax::new(), exact)];
const OF_I64: &[Check<i64>] =
    &[|c| c.one(c.x.var(1), &Variance::new(1), spread), |c| c.one(c.x.max(), &Max::new(), exact)];
const OF_U8: &[Check<u8>] = &[|c| c.one(c.x.sum(), &Sum::new(), exact), |c| c.one(c.x.count(), &Count::new(), exact)];
const OF_U16: &[Check<u16>] =
    &[|c| c.moments(c.x.mean_var(0), &Mean::new(), &Variance::new(0)), |c| c.min_max(c.x.min_max(), false)];
const OF_U64: &[Check<u64>] =
    &[|c| c.one(c.x.prod(), &Product::new(), exact), |c| c.one(c.x.argmin(), &ArgMin::new(), exact)];
const OF_BOOL: &[Check<bool>] = &[
    |c| c.one(c.x.sum(), &Sum::new(), exact),
    |c| c.one(c.x.all(), &All::new(), exact),
    |c| c.one(c.x.max(), &Max::new(), exact),
];

/// So many cases of each operator of a type.
const CASES: usize = 60;

fn check<T: Operand>(
    device: &Device,
    rng: &mut Rng,
    element: fn(&mut Rng, usize) -> T,
    checks: &[Check<T>],
) -> Outcome {
    for check in checks.iter().flat_map(|check| [check; CASES]) {
        // Half of all numbers are any.
        let flavour = rng.below(8).saturating_sub(3);
        let layout = Layout::random_of_any_shape(rng);
        let base = base(&layout, rng, |rng| element(rng, flavour));
        let on_device = GpuArray::from_ndarray(device, &base)?;
        let view = of_gpu(&layout, &on_device)?;
        let case = Case::random(rng, &view, layout.of_host(base.view()).to_owned())?;
        let context = |error: Box<dyn Error>| {
            format!("flavour {flavour}, {layout:?}, {:?}, keep {}: {error}", case.axes, case.keep)
        };
        check(&case).map_err(context)?;
    }
    Ok(())
}

/// The seed of all tests here.
const SEED: u64 = 20_011;

fn random_reductions_of_f32(device: &Device) -> Outcome {
    check(device, &mut rng(SEED), |rng, flavour| real(rng, flavour) as f32, OF_F32)
}

fn random_reductions_of_f64(device: &Device) -> Outcome {
    check(device, &mut rng(SEED), real, OF_F64)
}

fn random_reductions_of_whole_numbers(device: &Device) -> Outcome {
    let rng = &mut rng(SEED);
    check(device, rng, |rng, flavour| whole(rng, flavour) as i8, OF_I8)?;
    check(device, rng, |rng, flavour| whole(rng, flavour) as i32, OF_I32)?;
    check(device, rng, |rng, flavour| whole(rng, flavour) as i64, OF_I64)?;
    check(device, rng, |rng, flavour| whole(rng, flavour) as u8, OF_U8)?;
    check(device, rng, |rng, flavour| whole(rng, flavour) as u16, OF_U16)?;
    check(device, rng, whole, OF_U64)?;
    check(device, rng, |rng, flavour| rng.below(if flavour == 0 { 2 } else { 500 }) != 0, OF_BOOL)
}
