//! Random reductions of random layouts, against definitions in plain loops.

use std::env;

use gpu_algos::{
    AlgoError, Reduction, Results,
    gpu_array::{Element, GpuArray, GpuView, gpu_driver::Device},
    prelude::*,
};
use ndarray::{ArrayD, Axis, Dimension, IxDyn, SliceInfoElem};
use testkit::{Outcome, Rng, Test, ensure, tests};

pub const TESTS: &[Test<Device>] = tests![random_reductions];

/// A value from the device.
#[derive(Clone, Copy, Debug)]
enum Got {
    Whole(i128),
    Real(f64),
}

/// What it is to be.
#[derive(Clone, Copy, Debug)]
enum Want {
    /// In its lower 64 bits, since sums wrap.
    Whole(i128),
    /// Within a distance.
    Real(f64, f64),
    /// Infinite values are among those that a mean is updated by.
    Unknown,
}

impl Want {
    fn is(self, got: Got) -> bool {
        match (self, got) {
            (Self::Whole(want), Got::Whole(got)) => want as u64 == got as u64,
            (Self::Real(want, bound), Got::Real(got)) => {
                want == got || (want.is_nan() && got.is_nan()) || (want - got).abs() <= bound
            }
            (Self::Unknown, _) => true,
            _ => false,
        }
    }
}

/// Elements as definitions have them: `i128` or `f64`.
trait Plain: Element {
    type Value: Copy;
    fn random(rng: &mut Rng, flavour: usize) -> Self;
    fn value(self) -> Self::Value;
    fn got(self) -> Got;
}

macro_rules! whole {
    ($($element:ty)*) => {$(
        impl Plain for $element {
            type Value = i128;
            fn random(rng: &mut Rng, flavour: usize) -> Self {
                let bits = rng.next_u64();
                if flavour == 0 { bits as Self } else { (bits % 3) as Self }
            }
            fn value(self) -> i128 {
                self as i128
            }
            fn got(self) -> Got {
                Got::Whole(self as i128)
            }
        }
    )*};
}

whole!(i8 i32 i64 u8 u16 u64);

impl Plain for bool {
    type Value = i128;
    fn random(rng: &mut Rng, flavour: usize) -> Self {
        rng.below(if flavour == 0 { 2 } else { 500 }) != 0
    }
    fn value(self) -> i128 {
        self.into()
    }
    fn got(self) -> Got {
        Got::Whole(self.into())
    }
}

macro_rules! real {
    ($($element:ty)*) => {$(
        impl Plain for $element {
            type Value = f64;
            fn random(rng: &mut Rng, flavour: usize) -> Self {
                // Of the last two kinds no product overflows or vanishes.
                let one_in = |rng: &mut Rng, n| rng.below(n) == 0;
                match flavour {
                    0 => (rng.uniform() * 2.0 - 1.0) as Self,
                    1 if one_in(rng, 3) => Self::NAN,
                    _ if one_in(rng, 50) => [0.5, 2.0, -0.5][rng.below(3)],
                    2 if one_in(rng, 100) => [Self::INFINITY, Self::NEG_INFINITY, Self::NAN][rng.below(3)],
                    3 if one_in(rng, 3) => [0.0, -0.0][rng.below(2)],
                    _ => [1.0, -1.0][rng.below(2)],
                }
            }
            fn value(self) -> f64 {
                self.into()
            }
            fn got(self) -> Got {
                Got::Real(self.into())
            }
        }
    )*};
}

real!(f32 f64);

/// How an array becomes a view: its axes permuted, then sliced, then broadcast.
#[derive(Debug)]
struct Layout {
    base: Vec<usize>,
    axes: Vec<usize>,
    slices: Vec<SliceInfoElem>,
    shape: Vec<usize>,
}

impl Layout {
    fn random(rng: &mut Rng) -> Self {
        let most = if rng.below(10) == 0 { 40_000 } else { 3000 };
        let mut shape = Vec::new();
        for _ in 0..rng.below(5) {
            let length = [0, 1, 2, 3, 4, 5, 7, 16, 31, 32, 33, 64, 101, 257, 1021, 2053][rng.below(16)];
            let length = if length == 0 && rng.below(3) > 0 { 17_011 } else { length };
            let others = shape.iter().product::<usize>();
            shape.push(if others * length > most { 1 + rng.below(3) } else { length });
        }
        let rank = shape.len();
        let mut own = shape.clone();
        own.iter_mut().for_each(|length| *length = if rng.below(8) == 0 { 1 } else { *length });
        let mut memory: Vec<usize> = (0..rank).collect();
        match rng.below(4) {
            0 => rng.shuffle(&mut memory),
            1 => memory.reverse(),
            _ => {}
        }
        let gaps = rng.below(2) == 0;
        let (mut base, mut axes, mut slices) = (vec![0; rank], vec![0; rank], Vec::new());
        for (axis, &length) in own.iter().enumerate() {
            let step: isize = if gaps { [1, 1, -1, 2, -2, 3][rng.below(6)] } else { 1 };
            let (before, after) = if gaps { (rng.below(3), rng.below(2)) } else { (0, 0) };
            let span = if length == 0 { 0 } else { (length - 1) * step.unsigned_abs() + 1 };
            slices.push(SliceInfoElem::Slice { start: before as isize, end: Some((before + span) as isize), step });
            axes[axis] = memory[axis];
            base[memory[axis]] = before + span + after;
        }
        Self { base, axes, slices, shape }
    }

    fn of_host<T: Clone>(&self, base: &ArrayD<T>) -> ArrayD<T> {
        let view = base.view().permuted_axes(self.axes.clone());
        let view = view.slice_move(&self.slices[..]);
        view.broadcast(IxDyn(&self.shape)).expect("own lengths are those of the shape or 1").to_owned()
    }

    fn of_gpu<'a, T: Element>(&self, base: &'a GpuArray<T, IxDyn>) -> gpu_array::Result<GpuView<'a, T, IxDyn>> {
        base.view().permuted_axes(IxDyn(&self.axes))?.slice(&self.slices[..])?.broadcast(IxDyn(&self.shape))
    }
}

/// Which axes.
#[derive(Debug)]
struct Over {
    axes: Vec<usize>,
    keep: bool,
}

/// The arrays of a result.
trait Lists {
    fn lists(self) -> gpu_array::Result<Vec<ArrayD<Got>>>;
}

impl<T: Plain> Lists for GpuArray<T, IxDyn> {
    fn lists(self) -> gpu_array::Result<Vec<ArrayD<Got>>> {
        Ok(vec![self.to_ndarray()?.mapv(Plain::got)])
    }
}

impl<A: Plain, B: Plain> Lists for (GpuArray<A, IxDyn>, GpuArray<B, IxDyn>) {
    fn lists(self) -> gpu_array::Result<Vec<ArrayD<Got>>> {
        Ok(vec![self.0.to_ndarray()?.mapv(Plain::got), self.1.to_ndarray()?.mapv(Plain::got)])
    }
}

fn compute<O>(reduction: Reduction<'_, O, IxDyn>, over: &Over) -> gpu_algos::Result<Vec<ArrayD<Got>>>
where
    O: Results<Arrays<IxDyn>: Lists>,
{
    let axes: Vec<Axis> = over.axes.iter().map(|&axis| Axis(axis)).collect();
    let reduction = reduction.axes(&axes);
    let arrays = if over.keep { reduction.keep_axes().eval()? } else { reduction.eval()? };
    Ok(arrays.lists()?)
}

/// What is to be, for each result the values over the reduced places in C order. None where there is nothing to give.
fn define<T: Plain>(
    x: &ArrayD<T>,
    over: &Over,
    definition: &Definition<T::Value>,
) -> Option<(Vec<usize>, Vec<Vec<Want>>)> {
    let kept: Vec<usize> = (0..x.ndim()).filter(|axis| !over.axes.contains(axis)).collect();
    let mut reduced = over.axes.clone();
    reduced.sort_unstable();
    let lengths: Vec<usize> = kept.iter().map(|&axis| x.len_of(Axis(axis))).collect();
    let of_keep = (0..x.ndim()).map(|axis| if kept.contains(&axis) { x.len_of(Axis(axis)) } else { 1 }).collect();
    let turned = x.view().permuted_axes([kept, reduced].concat());
    let mut wants = Vec::new();
    for place in ndarray::indices(IxDyn(&lengths)) {
        let mut part = turned.view();
        for &index in place.slice() {
            part = part.index_axis_move(Axis(0), index);
        }
        let values: Vec<T::Value> = part.iter().map(|x| x.value()).collect();
        wants.push(definition(&values)?);
    }
    Some((if over.keep { of_keep } else { lengths }, wants))
}

type Compute<T> = for<'v> fn(&GpuView<'v, T, IxDyn>, &Over) -> gpu_algos::Result<Vec<ArrayD<Got>>>;
type Definition<V> = Box<dyn Fn(&[V]) -> Option<Vec<Want>>>;
type Operator<T> = (&'static str, Compute<T>, Definition<<T as Plain>::Value>);

macro_rules! operators {
    ($element:ty: $($name:ident($($argument:literal)?) = $definition:expr;)*) => {
        vec![$((
            concat!(stringify!($element), ".", stringify!($name)),
            (|x, over| compute(x.$name($($argument)?), over)) as Compute<$element>,
            Box::new($definition) as Definition<<$element as Plain>::Value>,
        )),*]
    };
}

fn one<V>(define: impl Fn(&[V]) -> Want) -> impl Fn(&[V]) -> Option<Vec<Want>> {
    move |values| Some(vec![define(values)])
}

fn no_nan(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|x| !x.is_nan()).collect()
}

fn real_sum(eps: f64) -> impl Fn(&[f64]) -> Want {
    move |x| {
        let size: f64 = x.iter().map(|x| x.abs()).sum();
        Want::Real(x.iter().sum(), eps * size * (32.0 + x.len() as f64 / 64.0))
    }
}

fn real_product(eps: f64, least: f64) -> impl Fn(&[f64]) -> Want {
    move |x| {
        let product: f64 = x.iter().product();
        Want::Real(product, product.abs() * eps * (x.len() as f64 + 2.0) + least)
    }
}

fn real_mean(eps: f64) -> impl Fn(&[f64]) -> Want {
    move |x| {
        let (n, size) = (x.len() as f64, x.iter().map(|x| x.abs()).sum::<f64>());
        let mean = x.iter().sum::<f64>() / n;
        Want::Real(mean, eps * mean.abs() + f64::EPSILON * size * (32.0 + n / 64.0) / n)
    }
}

/// The mean and the sum of squares around it.
fn moments(x: &[f64]) -> (f64, f64) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    (mean, x.iter().map(|x| (x - mean).powi(2)).sum())
}

fn real_var(eps: f64, ddof: f64) -> impl Fn(&[f64]) -> Want {
    move |x| {
        let (n, (_, squares)) = (x.len() as f64, moments(x));
        let var = if n > ddof { squares / (n - ddof) } else { f64::NAN };
        // Whole numbers of 64 bits are rounded when they are read: distances err by that of the greatest.
        let greatest = x.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        Want::Real(var, eps * var.abs() * 8.0 + 1e-13 * (var.abs() + greatest * var.abs().sqrt()))
    }
}

fn real_std(eps: f64, ddof: f64) -> impl Fn(&[f64]) -> Want {
    let var = real_var(eps, ddof);
    move |x| match var(x) {
        Want::Real(var, bound) => {
            Want::Real(var.sqrt(), (bound / var.sqrt()).min(bound.sqrt()).max(0.0) + eps * var.sqrt())
        }
        other => other,
    }
}

fn mean_and_var(eps: f64, ddof: f64) -> impl Fn(&[f64]) -> Option<Vec<Want>> {
    let (mean, var) = (real_mean(eps), real_var(eps, ddof));
    move |x| {
        let unknown = x.iter().any(|x| x.is_infinite()) && !x.iter().any(|x| x.is_nan());
        // The mean is updated by distances.
        let slack = x.iter().fold(0.0, |a: f64, x| a.max(x.abs())) * 1e-14;
        let mean = match mean(x) {
            Want::Real(mean, bound) if !unknown => Want::Real(mean, bound + slack),
            _ => Want::Unknown,
        };
        Some(vec![mean, var(x)])
    }
}

/// The place of the first value that no other beats, or of the first NaN.
fn first<V: Copy + PartialOrd>(x: &[V], greatest: bool) -> Option<usize> {
    let mut best = 0;
    for (place, value) in x.iter().enumerate() {
        let beaten = x[best];
        let is_nan = |x: V| x.partial_cmp(&x).is_none();
        let beats = if greatest { *value > beaten } else { *value < beaten };
        if !is_nan(beaten) && (beats || is_nan(*value)) {
            best = place;
        }
    }
    (!x.is_empty()).then_some(best)
}

fn exact(x: f64) -> Want {
    Want::Real(x, 0.0)
}

fn extremes(which: &'static [bool]) -> impl Fn(&[f64]) -> Option<Vec<Want>> {
    move |x| which.iter().map(|&greatest| first(x, greatest).map(|place| exact(x[place]))).collect()
}

/// Of what is not NaN; NaN where nothing else is there.
fn nan_extremes(which: &'static [bool]) -> impl Fn(&[f64]) -> Option<Vec<Want>> {
    move |x| {
        let values = no_nan(x);
        if values.is_empty() && !x.is_empty() {
            return Some(vec![exact(f64::NAN); which.len()]);
        }
        extremes(which)(&values)
    }
}

fn whole_extremes(which: &'static [bool]) -> impl Fn(&[i128]) -> Option<Vec<Want>> {
    move |x| which.iter().map(|&greatest| first(x, greatest).map(|place| Want::Whole(x[place]))).collect()
}

fn place<V: Copy + PartialOrd>(greatest: bool) -> impl Fn(&[V]) -> Option<Vec<Want>> {
    move |x| first(x, greatest).map(|place| vec![Want::Whole(place as i128)])
}

fn nan_place(greatest: bool) -> impl Fn(&[f64]) -> Option<Vec<Want>> {
    move |x| {
        if x.is_empty() {
            return None;
        }
        let best = first(&no_nan(x), greatest).map(|place| no_nan(x)[place]);
        let place = best.and_then(|best| x.iter().position(|&x| x == best));
        Some(vec![Want::Whole(place.map_or(-1, |place| place as i128))])
    }
}

fn how_many<V: Copy + PartialEq + Default>(x: &[V]) -> Want {
    Want::Whole(x.iter().filter(|&&x| x != V::default()).count() as i128)
}

fn flag(holds: bool) -> Want {
    Want::Whole(holds.into())
}

fn norm_l1(x: &[f64]) -> Want {
    let norm = x.iter().map(|x| x.abs()).sum::<f64>();
    Want::Real(norm, norm * f64::from(f32::EPSILON))
}

fn norm_l2(eps: f64) -> impl Fn(&[f64]) -> Want {
    move |x| {
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        Want::Real(norm, norm * (eps + f64::EPSILON * (32.0 + x.len() as f64 / 64.0)))
    }
}

fn wraps(x: &[i128], start: i128, join: impl Fn(i128, i128) -> i128) -> Want {
    Want::Whole(x.iter().fold(start, |a, &b| join(a, b)))
}

fn whole_sum(x: &[i128]) -> Want {
    wraps(x, 0, i128::wrapping_add)
}

fn reals(x: &[i128]) -> Vec<f64> {
    x.iter().map(|&x| x as f64).collect()
}

const F32: f64 = f32::EPSILON as f64;
const F64: f64 = f64::EPSILON;

fn of_f32() -> Vec<Operator<f32>> {
    operators! { f32:
        sum() = one(real_sum(F32));
        nansum() = one(|x: &[f64]| real_sum(F32)(&no_nan(x)));
        product() = one(real_product(F32, 1e-30));
        mean() = one(real_mean(F32));
        nanvar(1) = one(|x: &[f64]| real_var(F32, 1.0)(&no_nan(x)));
        mean_var(0) = mean_and_var(F32, 0.0);
        min() = extremes(&[false]);
        nanmax() = nan_extremes(&[true]);
        min_max() = extremes(&[false, true]);
        argmin() = place(false);
        nanargmax() = nan_place(true);
        any() = one(|x: &[f64]| flag(x.iter().any(|&x| x != 0.0)));
        count() = one(how_many);
        norm_l1() = one(norm_l1);
        norm_l2() = one(norm_l2(F32));
        norm_max() = one(|x: &[f64]| {
            let sizes: Vec<f64> = x.iter().map(|x| x.abs()).collect();
            exact(first(&sizes, true).map_or(0.0, |place| sizes[place]))
        });
    }
}

fn of_f64() -> Vec<Operator<f64>> {
    operators! { f64:
        nanproduct() = one(|x: &[f64]| real_product(F64, 1e-300)(&no_nan(x)));
        nanmean() = one(|x: &[f64]| real_mean(F64)(&no_nan(x)));
        var(0) = one(real_var(F64, 0.0));
        std(1) = one(real_std(F64, 1.0));
        nanstd(0) = one(|x: &[f64]| real_std(F64, 0.0)(&no_nan(x)));
        nanmean_var(1) = |x: &[f64]| mean_and_var(F64, 1.0)(&no_nan(x));
        nanmin() = nan_extremes(&[false]);
        max() = extremes(&[true]);
        nanmin_max() = nan_extremes(&[false, true]);
        argmax() = place(true);
        nanargmin() = nan_place(false);
        all() = one(|x: &[f64]| flag(x.iter().all(|&x| x != 0.0)));
        norm_l2() = one(norm_l2(F64));
    }
}

/// So many cases of each operator of a type.
const CASES: usize = 40;

fn check<T: Plain>(device: &Device, rng: &mut Rng, operators: Vec<Operator<T>>) -> Outcome {
    for (name, compute, definition) in operators {
        for _ in 0..CASES {
            let flavour = rng.below(5);
            let layout = Layout::random(rng);
            let base = ArrayD::from_shape_simple_fn(IxDyn(&layout.base), || T::random(rng, flavour));
            let mut axes: Vec<usize> = (0..layout.shape.len()).collect();
            rng.shuffle(&mut axes);
            axes.truncate(rng.below(axes.len() + 1).max(rng.below(axes.len() + 1)));
            let over = Over { axes, keep: rng.below(3) == 0 };
            let on_device = GpuArray::from_ndarray(device, &base)?;
            let got = compute(&layout.of_gpu(&on_device)?, &over);
            let context = || format!("{name} of flavour {flavour}, {layout:?}, {over:?}");
            let Some((shape, wants)) = define(&layout.of_host(&base), &over, &definition) else {
                ensure!(matches!(got, Err(AlgoError::Empty { .. })), "{}: no error, but {got:?}", context());
                continue;
            };
            for (number, got) in got.map_err(|error| format!("{}: {error}", context()))?.iter().enumerate() {
                ensure!(got.shape() == shape, "{}: got shape {:?}, want {shape:?}", context(), got.shape());
                for (place, (&got, wants)) in got.iter().zip(&wants).enumerate() {
                    let want = wants[number];
                    ensure!(want.is(got), "{}: result {place}.{number}: got {got:?}, want {want:?}", context());
                }
            }
        }
    }
    Ok(())
}

/// A run with `GPU_TESTS_SEED` set has the numbers of an earlier one.
fn random_reductions(device: &Device) -> Outcome {
    let seed = env::var("GPU_TESTS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_011);
    let mut rng = Rng(seed);
    let all = || -> Outcome {
        check(device, &mut rng, of_f32())?;
        check(device, &mut rng, of_f64())?;
        check(device, &mut rng, operators! { i8: sum() = one(whole_sum); min() = whole_extremes(&[false]); })?;
        let mean = one(|x: &[i128]| real_mean(F64)(&reals(x)));
        check(device, &mut rng, operators! { i32: mean() = mean; argmax() = place(true); })?;
        let var = one(|x: &[i128]| real_var(F64, 1.0)(&reals(x)));
        check(device, &mut rng, operators! { i64: var(1) = var; max() = whole_extremes(&[true]); })?;
        check(device, &mut rng, operators! { u8: sum() = one(whole_sum); count() = one(how_many); })?;
        let both = |x: &[i128]| mean_and_var(F64, 0.0)(&reals(x));
        check(device, &mut rng, operators! { u16: mean_var(0) = both; min_max() = whole_extremes(&[false, true]); })?;
        let product = one(|x: &[i128]| wraps(x, 1, i128::wrapping_mul));
        check(device, &mut rng, operators! { u64: product() = product; argmin() = place(false); })?;
        let all = one(|x: &[i128]| flag(x.iter().all(|&x| x != 0)));
        check(
            device,
            &mut rng,
            operators! { bool: sum() = one(whole_sum); all() = all; max() = whole_extremes(&[true]); },
        )
    };
    let mut all = all;
    all().map_err(|error| format!("seed {seed}: {error}").into())
}
