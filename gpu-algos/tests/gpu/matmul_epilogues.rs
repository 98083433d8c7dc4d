//! Expressions around matrix products: by the product's kernel they have the bits of the product, computed first, and the expression of it.

use std::{any::Any, sync::Arc};

use gpu_algos::{
    gpu_array::{
        Complex, Element, GpuArray, GpuView,
        expression::{Deferred, Evaluated, Expr, Gpu, IntoExpr, Lowered, deferred, eval_all, index, where_},
        gpu_driver::{Device, Stream},
    },
    matmul::{MatmulElement, Precision},
    prelude::*,
    reference,
};
use gpu_array::{bf16, f16};
use gpu_driver::emulated::Emulated;
use ndarray::{Array, Array1, Array2, Array3, Axis, Dimension, Ix2, IxDyn, array, s};
use smallvec::SmallVec;
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::{
    launches::launches,
    layouts::{base, is_under_slow_tool, of_gpu},
};

pub const TESTS: &[Test<Device>] = tests![
    epilogues_of_awkward_sizes,
    epilogues_of_every_layout,
    epilogues_of_every_type,
    epilogues_of_precisions,
    epilogues_of_halves,
    epilogues_of_stacks,
    epilogues_with_broadcast_operands,
    epilogues_into_views,
    a_result_may_be_read_by_its_epilogue,
    a_product_of_the_array_that_it_goes_to_is_computed_first,
    epilogues_know_their_places,
    expressions_of_several_products,
    computations_may_leave_the_expression_alone,
    epilogues_on_two_streams,
    captured_epilogues_are_replayed,
];

pub const COUNTS: &[Test<()>] = tests![a_product_with_an_epilogue_is_one_launch];

/// Bits of an array of any type, by which NaN are compared too.
pub fn bits<T: Element, D: Dimension>(array: &GpuArray<T, D>) -> Result<Vec<[u64; 2]>, Box<dyn std::error::Error>> {
    Ok(array.to_ndarray()?.iter().map(|value| value.to_words()).collect())
}

/// Compares an expression of the product with that of the computed product.
fn same<'a, T: MatmulElement, D: Dimension>(
    fused: Expr<'a, T, D>,
    apart: impl FnOnce() -> gpu_algos::Result<GpuArray<T, D>>,
    case: &str,
) -> Outcome {
    let (got, want) = (fused.eval()?, apart()?);
    ensure_eq!((case, got.shape()), (case, want.shape()));
    let (got, want) = (bits(&got)?, bits(&want)?);
    let differs = got.iter().zip(&want).position(|(got, want)| got != want);
    ensure!(differs.is_none(), "{case}: value {differs:?} has other bits");
    Ok(())
}

/// [`same`] of `$around`, a function of the product `$product` of arrays.
macro_rules! same {
    ($case:expr, $product:expr, |$name:ident| $around:expr) => {{
        let fused = {
            let $name = $product.into_expr();
            $around
        };
        same(
            fused,
            || {
                let product = $product.eval()?;
                let $name = (&product).into_expr();
                Ok(($around).eval()?)
            },
            $case,
        )?;
    }};
}

fn small<T: From<i8>>(rng: &mut Rng) -> T {
    T::from(rng.below(15) as i8 - 7)
}

fn float(rng: &mut Rng) -> f32 {
    (2.0 * rng.uniform() - 1.0) as f32
}

fn random<T: Element>(
    device: &Device,
    rng: &mut Rng,
    shape: &[usize],
    element: fn(&mut Rng) -> T,
) -> gpu_algos::Result<GpuArray<T, IxDyn>> {
    Ok(GpuArray::from_ndarray(device, &Array::from_shape_simple_fn(IxDyn(shape), || element(rng)))?)
}

fn matrix<T: Element>(
    device: &Device,
    rng: &mut Rng,
    shape: [usize; 2],
    element: fn(&mut Rng) -> T,
) -> gpu_algos::Result<GpuArray<T, Ix2>> {
    Ok(GpuArray::from_ndarray(device, &Array2::from_shape_simple_fn(shape, || element(rng)))?)
}

pub fn epilogues_of_awkward_sizes(device: &Device) -> Outcome {
    let mut rng = rng(81);
    let mut sizes: Vec<[usize; 3]> = (1..=70).step_by(3).map(|n| [n, (n * 7) % 41 + 1, (n * 11) % 70 + 1]).collect();
    // One less and one more than tiles, and blocks that share a tile.
    sizes.extend([[31, 16, 33], [63, 40, 65], [64, 64, 64], [65, 3, 129], [20, 2000, 30], [6, 0, 5]]);
    if !device.is_emulated() {
        sizes.extend([[1000, 256, 3000], [4099, 257, 1031], [2048, 256, 2048], [513, 4097, 130], [127, 128, 257]]);
    }
    for [m, k, n] in sizes {
        let (a, b) = (matrix(device, &mut rng, [m, k], float)?, matrix(device, &mut rng, [k, n], float)?);
        let bias = GpuArray::from_ndarray(device, &Array1::from_shape_simple_fn(n, || float(&mut rng)))?;
        same!(&format!("{m} {k} {n}"), a.matmul(&b), |p| (p + &bias).maximum(0.0));
    }
    Ok(())
}

pub fn epilogues_of_every_layout(device: &Device) -> Outcome {
    let mut rng = rng(82);
    let (m, k, n) = (36, 20, 28);
    let shapes = [[m, k], [k, n], [m, n]];
    let layouts = shapes.map(|shape| Layout::each(&shape));
    let most = layouts.iter().map(Vec::len).max().unwrap_or(0);
    for case in 0..most {
        // Each layout of each operand, beside different ones of the others.
        let at = |operand: usize| &layouts[operand][(case * [1, 3, 5][operand]) % layouts[operand].len()].1;
        let on_host = [0, 1, 2].map(|operand| base(at(operand), &mut rng, float));
        let arrays = [0, 1, 2].map(|operand| GpuArray::from_ndarray(device, &on_host[operand]));
        let [a, b, bias] = arrays;
        let (a, b, bias) = (a?, b?, bias?);
        let (a, b, bias) = (of_gpu(at(0), &a)?, of_gpu(at(1), &b)?, of_gpu(at(2), &bias)?);
        same!(&format!("case {case}"), (&a).matmul(&b), |p| (p + &bias).maximum(0.0));
    }
    Ok(())
}

pub fn epilogues_of_every_type(device: &Device) -> Outcome {
    fn of<T: MatmulElement>(device: &Device, element: fn(&mut Rng) -> T) -> Outcome {
        let mut rng = rng(83);
        for [m, k, n] in [[9, 5, 7], [70, 33, 45]] {
            let (a, b) = (matrix(device, &mut rng, [m, k], element)?, matrix(device, &mut rng, [k, n], element)?);
            let bias = matrix(device, &mut rng, [1, n], element)?;
            same!(&format!("{} {m} {k} {n}", T::DTYPE), a.matmul(&b), |p| p * &bias - &bias);
        }
        Ok(())
    }
    of::<f64>(device, |rng| 2.0 * rng.uniform() - 1.0)?;
    of::<i32>(device, small)?;
    of::<i64>(device, small)?;
    of::<u32>(device, |rng| rng.below(9) as u32)?;
    of::<u64>(device, |rng| rng.below(9) as u64)?;
    of::<Complex<f32>>(device, |rng| Complex::new(float(rng), float(rng)))?;
    of::<Complex<f64>>(device, |rng| Complex::new(rng.uniform(), rng.uniform()))
}

pub fn epilogues_of_precisions(device: &Device) -> Outcome {
    let mut rng = rng(84);
    let mut sizes = vec![[36, 24, 44], [19, 37, 23], [65, 33, 130]];
    if !device.is_emulated() {
        sizes.push([513, 257, 130]);
    }
    if !device.is_emulated() && !is_under_slow_tool() {
        sizes.extend([[1000, 256, 3000], [1024, 1024, 1024], [2048, 256, 4096]]);
    }
    for precision in [Precision::Tf32, Precision::Emulated].map(Precision::forced) {
        for &[m, k, n] in &sizes {
            let (a, b) = (matrix(device, &mut rng, [m, k], float)?, matrix(device, &mut rng, [k, n], float)?);
            let (row, column) = (matrix(device, &mut rng, [1, n], float)?, matrix(device, &mut rng, [m, 1], float)?);
            let (a_t, b_t) = (a.t().to_standard_layout()?, b.t().to_standard_layout()?);
            let factors: [[GpuView<'_, f32, Ix2>; 2]; 4] =
                [[a.view(), b.view()], [a_t.t(), b.view()], [a.view(), b_t.t()], [a_t.t(), b_t.t()]];
            for (order, [a, b]) in factors.iter().enumerate() {
                let case = format!("{m} {k} {n} order {order}");
                same!(&case, a.matmul(b).precision(precision), |p| (p * &column + &row).maximum(0.0));
            }
        }
    }
    Ok(())
}

pub fn epilogues_of_halves(device: &Device) -> Outcome {
    fn of<T: MatmulElement + gpu_array::Float>(device: &Device) -> Outcome {
        let mut rng = rng(85);
        let element = |rng: &mut Rng| T::rounded_from_f64(2.0 * rng.uniform() - 1.0);
        let mut sizes = vec![[36, 24, 40], [19, 37, 23], [65, 40, 136]];
        if !device.is_emulated() {
            sizes.push([513, 257, 130]);
        }
        if !device.is_emulated() && !is_under_slow_tool() {
            sizes.extend([[1000, 256, 3000], [1024, 1024, 1024]]);
        }
        for [m, k, n] in sizes {
            let (a, b) = (matrix(device, &mut rng, [m, k], element)?, matrix(device, &mut rng, [k, n], element)?);
            let (row, whole) = (matrix(device, &mut rng, [1, n], element)?, matrix(device, &mut rng, [m, n], element)?);
            // Each step is rounded to 16 bits, the product first.
            same!(&format!("{} {m} {k} {n}", T::DTYPE), a.matmul(&b), |p| (p * &row + &whole).maximum(T::ZERO));
        }
        Ok(())
    }
    of::<f16>(device)?;
    of::<bf16>(device)
}

pub fn epilogues_of_stacks(device: &Device) -> Outcome {
    let mut rng = rng(86);
    // Of matrices too large for the kernel of small ones, of small ones, and of rows that are joined.
    for [m, k, n] in [[70, 9, 66], [7, 5, 6]] {
        let factors: [[&[usize]; 2]; 3] =
            [[&[2, 3, m, k], &[2, 3, k, n]], [&[2, 3, m, k], &[k, n]], [&[3, m, k], &[2, 1, k, n]]];
        for [left, right] in factors {
            let (a, b) = (random(device, &mut rng, left, float)?, random(device, &mut rng, right, float)?);
            let biases: [&[usize]; 6] = [&[n], &[m, 1], &[2, 3, m, n], &[3, 1, n], &[2, 1, 1, n], &[3, m, n]];
            for shape in biases {
                let bias = random(device, &mut rng, shape, float)?;
                same!(&format!("{left:?} {right:?} {shape:?}"), a.matmul(&b), |p| (p + &bias).maximum(0.0));
            }
        }
    }
    Ok(())
}

pub fn epilogues_with_broadcast_operands(device: &Device) -> Outcome {
    let mut rng = rng(87);
    let (m, k, n) = (33, 17, 50);
    let (a, b) = (matrix(device, &mut rng, [m, k], float)?, matrix(device, &mut rng, [k, n], float)?);
    let (row, column) = (matrix(device, &mut rng, [1, n], float)?, matrix(device, &mut rng, [m, 1], float)?);
    let (one, whole) = (matrix(device, &mut rng, [1, 1], float)?, matrix(device, &mut rng, [m, n], float)?);
    let flags = GpuArray::from_ndarray(device, &Array1::from_shape_fn(n, |j| j % 3 == 0))?;
    same!("row and column", a.matmul(&b), |p| p * &column + &row);
    same!("one and all", a.matmul(&b), |p| p * &one + &whole);
    same!("scalars", a.matmul(&b), |p| (p * 2.0 + 1.0).minimum(0.5));
    same!("flags", a.matmul(&b), |p| where_(&flags, p, &whole));
    same!("used twice", a.matmul(&b), |p| &p * &p + &p);
    same!("a reduction", a.matmul(&b), |p| p - whole.mean().axis(Axis(0)));
    same!("a long one", a.matmul(&b), |p| p.tanh() + &row.exp() * whole.sin());
    same!("factors that are expressions", (&a * 2.0).matmul(b.abs()), |p| (p + &row).maximum(0.0));
    // A value of more axes than the product, of another type, and several values.
    let stack = GpuArray::from_ndarray(device, &Array3::from_shape_simple_fn((2, m, n), || float(&mut rng)))?;
    let product = a.matmul(&b).eval()?;
    let got = (a.matmul(&b) + &stack).eval()?.to_ndarray()?;
    ensure_eq!(got, (&product + &stack).eval()?.to_ndarray()?);
    let got = a.matmul(&b).into_expr().gt(0.0).eval()?.to_ndarray()?;
    ensure_eq!(got, product.gt(0.0).eval()?.to_ndarray()?);
    let p = a.matmul(&b).into_expr();
    let (one, two) = eval_all((&p + 1.0, &p * 2.0))?;
    ensure_eq!(one.to_ndarray()?, (&product + 1.0).eval()?.to_ndarray()?);
    ensure_eq!(two.to_ndarray()?, (&product * 2.0).eval()?.to_ndarray()?);
    ensure_eq!(bits(&a.matmul(&b).into_expr().eval()?)?, bits(&product)?);
    Ok(())
}

pub fn epilogues_into_views(device: &Device) -> Outcome {
    let mut rng = rng(88);
    let (m, k, n) = (40, 30, 36);
    let (a, b) = (matrix(device, &mut rng, [m, k], float)?, matrix(device, &mut rng, [k, n], float)?);
    let bias = matrix(device, &mut rng, [1, n], float)?;
    let want = (&a.matmul(&b).eval()? + &bias).eval()?.to_ndarray()?;
    let mut whole = GpuArray::full(device, (2 * m + 1, 2 * n + 3), -9.0f32)?;
    let mut on_host = whole.to_ndarray()?;
    whole.slice_mut(s![1..=m, 3..n + 3])?.assign(a.matmul(&b) + &bias)?;
    on_host.slice_mut(s![1..=m, 3..n + 3]).assign(&want);
    ensure!(whole.to_ndarray()? == on_host, "rows with gaps");
    whole.slice_mut(s![1..;2, 3..;2])?.assign(a.matmul(&b) + &bias)?;
    on_host.slice_mut(s![1..;2, 3..;2]).assign(&want);
    ensure!(whole.to_ndarray()? == on_host, "every second column");
    whole.slice_mut(s![..m;-1, ..n;-1])?.assign(a.matmul(&b) + &bias)?;
    on_host.slice_mut(s![..m;-1, ..n;-1]).assign(&want);
    ensure!(whole.to_ndarray()? == on_host, "backwards");
    // By columns the sums of the kernel would be other ones, of other tiles and parts of k.
    for [m, k, n] in [[40, 30, 36], [10, 2000, 1000]] {
        let (a, b) = (matrix(device, &mut rng, [m, k], float)?, matrix(device, &mut rng, [k, n], float)?);
        let want = (&a.matmul(&b).eval()? + 1.0).eval()?.to_ndarray()?;
        let mut by_columns = GpuArray::full(device, (n, m), 0.0f32)?;
        by_columns.swap_axes_mut(Axis(0), Axis(1))?.assign(a.matmul(&b) + 1.0)?;
        ensure!(by_columns.to_ndarray()?.t() == want, "by columns {m} {k} {n}");
    }
    Ok(())
}

/// The product's kernel would read rows that other blocks of it have written: what `update` lends is no array for it.
pub fn a_product_of_the_array_that_it_goes_to_is_computed_first(device: &Device) -> Outcome {
    let mut rng = rng(94);
    let sizes = match device.is_emulated() {
        true => vec![70, 130],
        false if is_under_slow_tool() => vec![70, 300],
        false => vec![70, 1000, 4096],
    };
    for n in sizes {
        let (a, b) = (matrix(device, &mut rng, [n, n], float)?, matrix(device, &mut rng, [n, n], float)?);
        let (left, right) = ((a.matmul(&b).eval()? * 0.5).eval()?, (b.matmul(&a).eval()? + 1.0).eval()?);
        let mut c = a.try_clone()?;
        c.update(|c| c.matmul(&b).into_expr() * 0.5)?;
        ensure_eq!(bits(&c)?, bits(&left)?);
        let mut c = a.try_clone()?;
        c.update(|c| b.matmul(c) + 1.0)?;
        ensure_eq!(bits(&c)?, bits(&right)?);
    }
    Ok(())
}

pub fn a_result_may_be_read_by_its_epilogue(device: &Device) -> Outcome {
    let mut rng = rng(89);
    let sizes = if device.is_emulated() { vec![[40, 24, 36]] } else { vec![[40, 24, 36], [1000, 256, 1000]] };
    for [m, k, n] in sizes {
        let (a, b) = (matrix(device, &mut rng, [m, k], float)?, matrix(device, &mut rng, [k, n], float)?);
        let whole = matrix(device, &mut rng, [m, n], float)?;
        for precision in [Precision::Strict.forced(), Precision::Tf32.forced(), Precision::Emulated.forced()] {
            let product = a.matmul(&b).precision(precision).eval()?;
            let want = (&whole * 0.5 + &product).eval()?;
            let mut c = whole.try_clone()?;
            c.update(|c| c * 0.5 + a.matmul(&b).precision(precision))?;
            ensure_eq!(bits(&c)?, bits(&want)?);
            let mut c = whole.try_clone()?;
            c += a.matmul(&b).precision(precision) - &whole * 0.5;
            let want = (&whole + (&product - &whole * 0.5)).eval()?;
            ensure_eq!(bits(&c)?, bits(&want)?);
        }
        let halves = |x: &GpuArray<f32, Ix2>| x.cast::<f16>().eval();
        let (a, b, whole) = (halves(&a)?, halves(&b)?, halves(&whole)?);
        let want = (&whole + &a.matmul(&b).eval()?).eval()?;
        let mut c = whole.try_clone()?;
        c += a.matmul(&b);
        ensure_eq!(bits(&c)?, bits(&want)?);
    }
    // The result as a factor of its own: the product comes first.
    let x = Array2::from_shape_simple_fn((20, 20), || small::<f64>(&mut rng));
    let mut c = GpuArray::from_ndarray(device, &x)?;
    c.update(|c| (&c).matmul(&c) + &c)?;
    ensure_eq!(c.to_ndarray()?, reference::matmul(&x, &x)? + &x);
    Ok(())
}

pub fn epilogues_know_their_places(device: &Device) -> Outcome {
    let mut rng = rng(90);
    let x = Array2::from_shape_simple_fn((30, 40), || small::<f64>(&mut rng));
    let a = GpuArray::from_ndarray(device, &x)?;
    let square = reference::matmul(&x, x.t())?;
    let (row, column) = (|| index::<Ix2, Gpu>(Axis(0)), || index::<Ix2, Gpu>(Axis(1)));
    let got = where_(row().ge(column()), a.matmul(a.t()), 0.0).eval()?.to_ndarray()?;
    ensure_eq!(got, Array2::from_shape_fn((30, 30), |(i, j)| if i >= j { square[[i, j]] } else { 0.0 }));
    let got = (a.matmul(a.t()) + (row() * 100 + column()).cast::<f64>()).eval()?.to_ndarray()?;
    ensure_eq!(got, Array2::from_shape_fn((30, 30), |(i, j)| square[[i, j]] + (100 * i + j) as f64));
    Ok(())
}

pub fn expressions_of_several_products(device: &Device) -> Outcome {
    let mut rng = rng(91);
    let x = Array2::from_shape_simple_fn((20, 20), || small::<i64>(&mut rng));
    let a = GpuArray::from_ndarray(device, &x)?;
    let (square, other) = (reference::matmul(&x, &x)?, reference::matmul(&x, x.t())?);
    ensure_eq!((a.matmul(&a) * a.matmul(a.t())).eval()?.to_ndarray()?, &square * &other);
    ensure_eq!((a.matmul(&a) + a.matmul(&a)).eval()?.to_ndarray()?, &square + &square);
    let p = a.matmul(&a).into_expr();
    ensure_eq!((&p - p.sum()).eval()?.to_ndarray()?, &square - square.sum());
    // A product that is an operand of the other one too.
    ensure_eq!((&p + (&p).matmul(&a)).eval()?.to_ndarray()?, &square + &reference::matmul(&square, &x)?);
    ensure_eq!(((&p).matmul(&a) + &p).eval()?.to_ndarray()?, &square + &reference::matmul(&square, &x)?);
    Ok(())
}

/// Twice an array, `copies` times. It looks at the expression around it, and leaves it to others.
#[derive(Debug)]
struct Doubled {
    copies: usize,
}

// SAFETY: it writes no target; arguments go to no other computation.
unsafe impl Deferred for Doubled {
    fn name(&self) -> &'static str {
        "doubled"
    }
    fn key(&self) -> SmallVec<[u64; 8]> {
        SmallVec::from_elem(self.copies as u64, 1)
    }
    fn evaluate(
        &self,
        operands: &[&Lowered<'_>],
        home: Option<&Stream>,
    ) -> Result<Vec<Evaluated>, Box<dyn std::error::Error + Send + Sync>> {
        let home = home.ok_or("no stream")?;
        let doubled = || {
            let array = operands[0].eval_on_device::<f32>(home)?;
            Evaluated::new::<f32, IxDyn, Gpu>((&array * 2.0).eval()?)
        };
        Ok((0..self.copies).map(|_| doubled()).collect::<gpu_array::Result<_>>()?)
    }
    fn may_evaluate_around(&self) -> bool {
        true
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub fn computations_may_leave_the_expression_alone(device: &Device) -> Outcome {
    let x = GpuArray::from_ndarray(device, &array![[1.0f32, 2.0], [3.0, 4.0]])?;
    let doubled = |copies: usize| -> gpu_array::Result<Expr<'_, f32, Ix2>> {
        let operand = (&x).into_expr().lower_deferred()?;
        Ok(deferred(Arc::new(Doubled { copies }), [operand], Ix2(2, 2), None))
    };
    ensure_eq!((doubled(1)? + &x).eval()?.to_ndarray()?, array![[3.0, 6.0], [9.0, 12.0]]);
    let mut y = x.try_clone()?;
    y.update(|y| doubled(1).map_or_else(Expr::failed, |doubled| doubled - y))?;
    ensure_eq!(y.to_ndarray()?, x.to_ndarray()?);
    for copies in [0, 2] {
        let error = (doubled(copies)? + &x).eval().err().ok_or("no error")?;
        ensure!(error.to_string().contains("doubled"), "{error}");
    }
    Ok(())
}

pub fn epilogues_on_two_streams(device: &Device) -> Outcome {
    let (one, two) = (Stream::new(device)?, Stream::new(device)?);
    let x = Array2::from_shape_fn((40, 600), |(i, j)| ((i + j) % 5) as f32);
    let want = reference::matmul(&x, x.t())? + 2.0;
    for _ in 0..3 {
        let (a, b) = (GpuArray::from_ndarray(&one, &x)?, GpuArray::from_ndarray(&one, &x)?);
        let bias = GpuArray::full(&two, 40, 2.0f32)?;
        let mut target = GpuArray::full(&two, (40, 40), -1.0f32)?;
        target.assign(a.matmul(b.t()) + &bias)?;
        ensure!(target.to_ndarray()? == want);
        let got = (a.matmul(b.t()) + &bias).eval()?;
        ensure_eq!(got.stream(), &one);
        ensure!(got.to_ndarray()? == want);
    }
    Ok(())
}

pub fn captured_epilogues_are_replayed(device: &Device) -> Outcome {
    let (one, two) = (Stream::new(device)?, Stream::new(device)?);
    // Several blocks share a tile: scratch memory belongs to the graph.
    let x = Array2::from_shape_fn((10, 3000), |(i, j)| ((i + j) % 5) as f32);
    let mut a = GpuArray::from_ndarray(&one, &x)?;
    let bias = GpuArray::full(&one, 10, 3.0f32)?;
    let mut c = GpuArray::full(&one, (10, 10), 0.0f32)?;
    let (graph, ()) = one.capture(|| c.assign(a.matmul(a.t()) + &bias))?;
    for factor in [1.0f32, 2.0] {
        a.copy_from_ndarray(&(&x * factor))?;
        one.synchronize()?;
        // SAFETY: the arrays are alive, and nothing else uses them.
        unsafe { graph.launch(&two)? };
        two.synchronize()?;
        ensure_eq!(c.to_ndarray()?, reference::matmul(&x, x.t())? * (factor * factor) + 3.0);
    }
    Ok(())
}

fn a_product_with_an_epilogue_is_one_launch(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let launches = |work: &dyn Fn() -> gpu_algos::Result<()>| launches(&device, work);
    let (a, b) = (GpuArray::<f32, _>::full(&device, (40, 24), 1.0)?, GpuArray::full(&device, (24, 32), 2.0f32)?);
    let (row, column) = (GpuArray::full(&device, 32, 1.0f32)?, GpuArray::full(&device, (40, 1), 1.0f32)?);
    let x = GpuArray::full(&device, 24, 1.0f32)?;
    ensure_eq!(launches(&|| Ok((a.matmul(&b) + &row).maximum(0.0).eval().map(drop)?))?, 1);
    let tf32 = || a.matmul(&b).precision(Precision::Tf32.forced());
    let alone = launches(&|| tf32().eval().map(drop))?;
    ensure_eq!(launches(&|| Ok((tf32() * &column + &row).eval().map(drop)?))?, alone);
    // The product itself, and one of two products.
    ensure_eq!(launches(&|| Ok(a.matmul(&b).into_expr().eval().map(drop)?))?, 1);
    ensure_eq!(launches(&|| Ok((a.matmul(&b) - (&a).matmul(&b * 2.0f32)).eval().map(drop)?))?, 3);
    // Of its own launches: a product with a vector, one of another type, one of more axes, a long expression.
    ensure_eq!(launches(&|| Ok((a.matmul(&x) + 1.0).eval().map(drop)?))?, 2);
    ensure_eq!(launches(&|| Ok(a.matmul(&b).into_expr().gt(0.0).eval().map(drop)?))?, 2);
    ensure_eq!(launches(&|| Ok((a.matmul(&b).into_expr().tanh() + &row).eval().map(drop)?))?, 2);
    Ok(())
}
