//! Linear algebra of stacks of small matrices to the bit: each kernel has the operations of the serial loops below, in their order, whatever the size.

use gpu_algos::{
    gpu_array::{GpuArray, gpu_driver::Device},
    linalg::{self, LinalgElement},
};
use ndarray::{Array1, Array2, Array3, ArrayD, ArrayView2, Axis, Ix3, IxDyn, s};
use testkit::{Layout, Outcome, Rng, Test, ensure, ensure_eq, rng, tests};

use crate::{
    layouts::{base, is_under_slow_tool, of_gpu},
    matmul::Real,
};

pub const TESTS: &[Test<Device>] = tests![
    every_size_has_the_bits_of_the_serial_loops,
    equal_elements_give_the_first_pivot,
    views_have_the_bits_of_arrays,
    warps_of_singular_matrices_tell_each_its_own,
];

trait Element: Real + LinalgElement {
    /// self * b + c, rounded once.
    fn multiply_add(self, b: Self, c: Self) -> Self;
    /// The bits, but one pattern for every NaN.
    fn pattern(self) -> u64;
}
impl Element for f32 {
    fn multiply_add(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
    fn pattern(self) -> u64 {
        if self.is_nan() { u64::MAX } else { self.to_bits().into() }
    }
}
impl Element for f64 {
    fn multiply_add(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
    fn pattern(self) -> u64 {
        if self.is_nan() { u64::MAX } else { self.to_bits() }
    }
}

// Quotients and roots of f32 that are rounded from those of f64 are rounded once: f64 has more than twice the digits.
fn quotient<T: Element>(a: T, b: T) -> T {
    T::of(a.into() / b.into())
}

/// a - b c, rounded once.
fn less<T: Element>(a: T, b: T, c: T) -> T {
    T::of(-b.into()).multiply_add(c, a)
}

/// The size of an element; NaN counts as infinite.
fn magnitude<T: Element>(x: T) -> f64 {
    let x: f64 = x.into();
    if x.is_nan() { f64::INFINITY } else { x.abs() }
}

/// The factors of one matrix, the exchanges of rows, and the status.
fn eliminated<T: Element>(a: ArrayView2<'_, T>) -> (Array2<T>, Vec<i32>, i32) {
    let (mut a, n) = (a.to_owned(), a.nrows());
    let (mut pivots, mut status) = (Vec::new(), 0);
    for k in 0..n {
        let row = (k..n).fold(k, |row, i| if magnitude(a[[i, k]]) > magnitude(a[[row, k]]) { i } else { row });
        (0..n).for_each(|j| a.swap([k, j], [row, j]));
        pivots.push(row as i32);
        let pivot = a[[k, k]];
        let is_zero = pivot.into() == 0.0;
        if is_zero && status == 0 {
            status = k as i32 + 1;
        }
        for i in k + 1..n {
            if !is_zero {
                a[[i, k]] = quotient(a[[i, k]], pivot);
            }
            for j in k + 1..n {
                a[[i, j]] = less(a[[i, j]], a[[i, k]], a[[k, j]]);
            }
        }
    }
    (a, pivots, status)
}

/// The solution for one matrix's factors and its right-hand sides; NaN for a status.
fn solved<T: Element>((lu, pivots, status): &(Array2<T>, Vec<i32>, i32), b: ArrayView2<'_, T>) -> Array2<T> {
    let (mut x, n) = (b.to_owned(), pivots.len());
    for (k, &row) in pivots.iter().enumerate() {
        (0..x.ncols()).for_each(|j| x.swap([k, j], [row as usize, j]));
    }
    for mut x in x.columns_mut() {
        for k in 0..n {
            (k + 1..n).for_each(|i| x[i] = less(x[i], lu[[i, k]], x[k]));
        }
        for k in (0..n).rev() {
            x[k] = quotient(x[k], lu[[k, k]]);
            (0..k).for_each(|i| x[i] = less(x[i], lu[[i, k]], x[k]));
        }
        x.mapv_inplace(|x| if *status == 0 { x } else { T::of(f64::NAN) });
    }
    x
}

/// The lower factor of one matrix, and the status.
fn factorized<T: Element>(a: ArrayView2<'_, T>) -> (Array2<T>, i32) {
    let (mut a, n, mut status) = (a.to_owned(), a.nrows(), 0);
    for k in 0..n {
        let pivot: f64 = a[[k, k]].into();
        if (pivot.is_nan() || pivot <= 0.0) && status == 0 {
            status = k as i32 + 1;
        }
        a[[k, k]] = T::of(pivot.sqrt());
        for i in k + 1..n {
            a[[i, k]] = quotient(a[[i, k]], a[[k, k]]);
            a[[k, i]] = T::of(0.0);
        }
        for i in k + 1..n {
            (k + 1..=i).for_each(|j| a[[i, j]] = less(a[[i, j]], a[[i, k]], a[[j, k]]));
        }
    }
    if status != 0 {
        a.fill(T::of(f64::NAN));
    }
    (a, status)
}

fn same<'x, T: Element>(
    got: impl IntoIterator<Item = &'x T>,
    want: impl IntoIterator<Item = &'x T>,
    case: &str,
) -> Outcome {
    let bits = |x: &T| x.pattern();
    let (got, want): (Vec<u64>, Vec<u64>) = (got.into_iter().map(bits).collect(), want.into_iter().map(bits).collect());
    ensure_eq!(got.len(), want.len());
    let other = got.iter().zip(&want).position(|(got, want)| got != want);
    ensure!(other.is_none(), "{case}: other bits, first in element {other:?}");
    Ok(())
}

/// Compares all functions of a stack, which the device has in any layout, with the serial loops.
fn compare<T: Element>(device: &Device, a: &GpuArray<T, Ix3>, x: &Array3<T>, sides: usize, case: &str) -> Outcome {
    let (batch, n, _) = x.dim();
    let b = Array3::from_shape_fn((batch, n, sides), |(m, i, j)| T::of(((m * 7 + i * 3 + j) % 11) as f64 - 4.5));
    let right = GpuArray::from_ndarray(device, &b)?;
    let (lu, pivots, info) = linalg::lu_factor(a).eval_with_info()?;
    let (lu, pivots, info) = (lu.to_ndarray()?, pivots.to_ndarray()?, info.to_ndarray()?);
    let (solutions, info_of_solve) = linalg::solve(a, &right).eval_with_info()?;
    let (inverses, _) = linalg::inv(a).eval_with_info()?;
    let (solutions, inverses) = (solutions.to_ndarray()?, inverses.to_ndarray()?);
    let determinants = linalg::det(a).eval()?.to_ndarray()?;
    let (signs, _) = linalg::slogdet(a).eval()?;
    let signs = signs.to_ndarray()?;
    let (l, info_of_cholesky) = linalg::cholesky(a).eval_with_info()?;
    let (l, info_of_cholesky) = (l.to_ndarray()?, info_of_cholesky.to_ndarray()?);
    ensure_eq!(info_of_solve.to_ndarray()?, info);
    for m in 0..batch {
        let case = format!("{case}, matrix {m} of {batch} of {n} rows of {}", std::any::type_name::<T>());
        let want = eliminated(x.index_axis(Axis(0), m));
        ensure_eq!((&case, pivots.row(m).to_vec(), info[[m]]), (&case, want.1.clone(), want.2));
        same(lu.index_axis(Axis(0), m), &want.0, &format!("lu_factor: {case}"))?;
        same(solutions.index_axis(Axis(0), m), &solved(&want, b.index_axis(Axis(0), m)), &format!("solve: {case}"))?;
        let one = Array2::from_shape_fn((n, n), |(i, j)| T::of(f64::from(u8::from(i == j))));
        same(inverses.index_axis(Axis(0), m), &solved(&want, one.view()), &format!("inv: {case}"))?;
        // The product of the diagonal, whose sign is exact and whose size is within n roundings.
        let exchanges = want.1.iter().enumerate().filter(|&(k, &row)| k as i32 != row).count();
        let product = want.0.diag().iter().fold(1.0 - 2.0 * (exchanges % 2) as f64, |product, &x| product * x.into());
        let got: f64 = determinants[m].into();
        let bound = 4.0 * (n as f64 + 1.0) * T::ROUNDING * product.abs();
        let is_near = got == T::of(product).into() || (got - product).abs() <= bound;
        ensure!(is_near || (got.is_nan() && product.is_nan()), "det: {case}: {got}, want {product}");
        let sign: f64 = signs[m].into();
        let is_same = sign == if product == 0.0 { 0.0 } else { product.signum() };
        ensure!(is_same || (sign.is_nan() && got.is_nan()), "slogdet: {case}: {sign}, want that of {product}");
        let (want, status) = factorized(x.index_axis(Axis(0), m));
        ensure_eq!((&case, info_of_cholesky[[m]]), (&case, status));
        same(l.index_axis(Axis(0), m), &want, &format!("cholesky: {case}"))?;
    }
    Ok(())
}

/// Symmetric matrices, positive definite but for every fifth.
fn symmetric<T: Element>(rng: &mut Rng, batch: usize, n: usize) -> Array3<T> {
    let mut a = Array3::from_elem((batch, n, n), T::of(0.0));
    for (m, mut a) in a.outer_iter_mut().enumerate() {
        for i in 0..n {
            for j in 0..=i {
                let x = T::of(2.0 * rng.uniform() - 1.0);
                (a[[i, j]], a[[j, i]]) = (x, x);
            }
            a[[i, i]] = T::of(if m % 5 == 4 && i == n / 2 { -1.0 } else { n as f64 });
        }
    }
    a
}

fn every_size_has_the_bits_of_the_serial_loops(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device) -> Outcome {
        let mut rng = rng(221);
        for n in (1..=33).chain([64]) {
            // More than a warp has, and not a multiple of it; on the emulated device for one size of each kernel.
            let batch = match device.is_emulated() || is_under_slow_tool() {
                true if [3, 4, 8].contains(&n) => 37,
                true if n > 33 => 1,
                true => 3,
                false => 100,
            };
            let x = Array3::from_shape_fn((batch, n, n), |_| T::of(2.0 * rng.uniform() - 1.0));
            let sides = [1, 3, 1, 2][n % 4];
            compare(device, &GpuArray::from_ndarray(device, &x)?, &x, sides, "random")?;
            let x = symmetric::<T>(&mut rng, batch, n);
            compare(device, &GpuArray::from_ndarray(device, &x)?, &x, 1, "symmetric")?;
        }
        Ok(())
    }
    of_type::<f32>(device)?;
    of_type::<f64>(device)
}

fn equal_elements_give_the_first_pivot(device: &Device) -> Outcome {
    fn of_type<T: Element>(device: &Device) -> Outcome {
        let mut rng = rng(222);
        for n in [2, 4, 7, 8, 13, 16, 24, 32, 33] {
            // Few sizes, both zeros, infinities and NaN; neighbours that differ in their last bits only.
            let near = 1.0 + 2.0 * T::ROUNDING;
            let values = [1.0, -1.0, 1.0, -1.0, 0.0, -0.0, near, -near, 1.0, -1.0, 0.5, f64::INFINITY, f64::NAN];
            for (known, batch) in [(4, 5), (6, 5), (10, 9), (11, 5), (13, 9)] {
                let x = Array3::from_shape_fn((batch, n, n), |_| T::of(values[rng.below(known)]));
                compare(device, &GpuArray::from_ndarray(device, &x)?, &x, 1, &format!("{known} values"))?;
            }
        }
        Ok(())
    }
    of_type::<f32>(device)?;
    of_type::<f64>(device)
}

fn views_have_the_bits_of_arrays(device: &Device) -> Outcome {
    let mut rng = rng(223);
    for n in [4, 6, 8, 16, 21, 32] {
        for (name, layout) in Layout::each(&[5, n, n]) {
            let x = base(&layout, &mut rng, |rng| rng.uniform() as f32 - 0.5);
            let on_device = GpuArray::from_ndarray(device, &x)?;
            let (a, x) = (of_gpu(&layout, &on_device)?, layout.of_host(x.view()));
            let whole = GpuArray::from_ndarray(device, &x.to_owned())?;
            let b = whole.view().into_dimensionality::<Ix3>()?;
            let b = b.slice(s![.., .., ..2])?;
            let a = a.view().into_dimensionality::<Ix3>()?;
            let of_array = whole.view().into_dimensionality::<Ix3>()?;
            let (got, want) = (linalg::solve(&a, &b).eval()?, linalg::solve(&of_array, &b).eval()?);
            same(&got.to_ndarray()?, &want.to_ndarray()?, name)?;
            let (got, want) = (linalg::lu_factor(&a).eval()?.0, linalg::lu_factor(&of_array).eval()?.0);
            same(&got.to_ndarray()?, &want.to_ndarray()?, name)?;
            let (got, want) =
                (linalg::cholesky(&a).eval_with_info()?.0, linalg::cholesky(&of_array).eval_with_info()?.0);
            same(&got.to_ndarray()?, &want.to_ndarray()?, name)?;
            // Results into the layout, and elements beside them.
            let old = ArrayD::from_elem(IxDyn(&layout.base), 7.5f32);
            for is_inverse in [true, false] {
                let mut target = GpuArray::from_ndarray(device, &old)?;
                let mut view = target.permuted_axes_mut(layout.axes())?;
                let view = view.slice_mut(&layout.slices()[..])?;
                let want = match is_inverse {
                    true => {
                        linalg::inv(whole.view()).write_into(view)?;
                        linalg::inv(&of_array).eval()?
                    }
                    false => {
                        linalg::solve(whole.view(), whole.view()).write_into(view)?;
                        linalg::solve(&of_array, &of_array).eval()?
                    }
                };
                let mut got = target.to_ndarray()?;
                same(layout.of_host(got.view()), &want.to_ndarray()?, name)?;
                layout.of_host_mut(got.view_mut()).fill(7.5);
                ensure!(got == old, "{name}: elements beside the view were written");
            }
        }
    }
    Ok(())
}

fn warps_of_singular_matrices_tell_each_its_own(device: &Device) -> Outcome {
    for n in [3, 8, 12, 16, 30, 32] {
        let batch = 70;
        let failing = |m: usize| (m % 3 == 1).then_some(m % n);
        let x = Array3::from_shape_fn((batch, n, n), |(m, i, j)| match failing(m) {
            Some(k) if i == k => 0.0f32,
            _ if i == j => 2.0,
            _ => 0.0,
        });
        let want = Array1::from_shape_fn(batch, |m| failing(m).map_or(0, |k| k as i32 + 1)).into_dyn();
        let a = GpuArray::from_ndarray(device, &x)?;
        let b = GpuArray::<f32, Ix3>::full(device, (batch, n, 1), 1.0)?;
        for (op, (values, info)) in [
            ("solve", linalg::solve(&a, &b).eval_with_info()?),
            ("inv", linalg::inv(&a).eval_with_info()?),
            ("cholesky", linalg::cholesky(&a).eval_with_info()?),
        ] {
            ensure_eq!((op, info.to_ndarray()?), (op, want.clone()));
            for (m, values) in values.to_ndarray()?.outer_iter().enumerate() {
                let is_right = values.iter().all(|x| x.is_nan() == failing(m).is_some());
                ensure!(is_right, "{op}: matrix {m} of {n} rows");
            }
        }
        let error = linalg::solve(&a, &b).eval().err().map(|error| error.to_string()).unwrap_or_default();
        ensure_eq!(error, "solve: the matrix at [1] of the stack is singular: pivot 1 is 0");
    }
    // One matrix for the whole stack, whose strides are 0.
    let a = GpuArray::from_ndarray(device, &(Array2::<f64>::eye(16) * 2.0))?;
    let stack = a.broadcast((40, 16, 16))?;
    ensure_eq!(linalg::det(&stack).eval()?.to_ndarray()?, Array1::from_elem(40, 65_536.0));
    let nothing = GpuArray::<f64, Ix3>::zeros(device, (33, 8, 8))?;
    ensure_eq!(linalg::det(&nothing).eval()?.to_ndarray()?, Array1::zeros(33));
    Ok(())
}
