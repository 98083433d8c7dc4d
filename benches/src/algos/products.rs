//! Products of dense matrices: the cases that all libraries compute, their names and their answers.

use gpu_array::{Complex, bf16, f16};
use gpu_sparse::Scalar;
use rayon::prelude::*;

use crate::{
    data,
    harness::{Check, Set, Work},
};

/// The arithmetic of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    /// The arithmetic of the elements' type.
    Own,
    /// f32 rounded to TF32.
    Tf32,
    /// f32 emulated on tensor cores; of libraries that do not, their own.
    Emulated,
    /// Elements of f16, sums of f32.
    F16,
    /// Elements of bf16, sums of f32.
    Bf16,
    /// Elements of i8, sums of i32.
    I8,
}

impl Arithmetic {
    /// An element as this arithmetic has it.
    fn rounded<T: Scalar>(self, value: T) -> T {
        let wide = Scalar::to_f64(value);
        match self {
            Self::F16 => T::from_f64(f16::from_f64(wide).to_f64()),
            Self::Bf16 => T::from_f64(bf16::from_f64(wide).to_f64()),
            Self::I8 => T::from_f64((wide * 127.0).round()),
            _ => value,
        }
    }

    /// The error of a result that is not its sum's.
    fn rounding(self) -> f64 {
        match self {
            Self::Own | Self::Emulated | Self::I8 => 0.0,
            Self::Tf32 | Self::F16 => 2f64.powi(-10),
            Self::Bf16 => 2f64.powi(-8),
        }
    }
}

/// A product of stacks of matrices in C order: a of m rows, b of n columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) matrices: usize,
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
    /// Whether a lies in memory by columns.
    pub(crate) is_left_transposed: bool,
    /// Whether b lies in memory by columns.
    pub(crate) is_right_transposed: bool,
    pub(crate) arithmetic: Arithmetic,
}

impl Product {
    fn of(m: usize, k: usize, n: usize) -> Self {
        let arithmetic = Arithmetic::Own;
        Self { matrices: 1, m, k, n, is_left_transposed: false, is_right_transposed: false, arithmetic }
    }

    fn transposed(self, is_left_transposed: bool, is_right_transposed: bool) -> Self {
        Self { is_left_transposed, is_right_transposed, ..self }
    }

    fn by(self, arithmetic: Arithmetic) -> Self {
        Self { arithmetic, ..self }
    }

    /// The cases of a set, of elements of 4 or of 8 bytes.
    pub(crate) fn cases(set: Set, element_bytes: usize) -> Vec<Self> {
        let square = |n: usize| Self::of(n, n, n);
        let stack = |n: usize, matrices: usize| Self { matrices, ..square(n) };
        match set {
            Set::Tiny if element_bytes == 4 => vec![square(64), stack(8, 20), square(96).by(Arithmetic::Emulated)],
            Set::Tiny => vec![square(64), stack(8, 20)],
            Set::Quick => vec![square(512)],
            Set::Full => {
                let squares = [512, 1024, 4096, 8192].map(square);
                let layouts = [(false, true), (true, false), (true, true)];
                let layouts = layouts.map(|(left, right)| square(4096).transposed(left, right));
                let flat = [Self::of(8192, 8192, 32), Self::of(131_072, 64, 64), Self::of(257, 1031, 4093)];
                // Few columns, and few rows of a matrix that lies by columns.
                let few = [
                    Self::of(8192, 8192, 16),
                    Self::of(8192, 8192, 4),
                    Self::of(8, 8192, 8192).transposed(false, true),
                ];
                let vectors = [Self::of(8192, 8192, 1), Self::of(8192, 8192, 1).transposed(true, false)];
                if element_bytes == 8 {
                    let others = [layouts[0], layouts[1], stack(16, 1 << 17), stack(64, 1 << 13)];
                    return squares.into_iter().chain(others).chain(flat).chain(vectors).collect();
                }
                let stacks = [(8, 1 << 20), (16, 1 << 18), (32, 1 << 16), (64, 1 << 14), (128, 1 << 12)];
                let stacks = stacks.map(|(n, matrices)| stack(n, matrices));
                let of_tf32 =
                    squares.into_iter().chain(layouts).chain(flat).map(|product| product.by(Arithmetic::Tf32));
                let emulated = squares.into_iter().chain(flat).map(|product| product.by(Arithmetic::Emulated));
                let strict = squares.into_iter().chain(layouts).chain(flat).chain(few).chain(vectors).chain(stacks);
                strict.chain(of_tf32).chain(emulated).collect()
            }
        }
    }

    /// The cases of a set with complex elements.
    pub(crate) fn complex_cases(set: Set) -> Vec<Self> {
        let square = |n: usize| Self::of(n, n, n);
        set.pick(
            vec![square(32)],
            vec![square(512)],
            vec![square(1024), square(4096), square(4096).transposed(false, true)],
        )
    }

    /// The cases of a set with elements of 16 or 8 bits.
    pub(crate) fn half_cases(set: Set, arithmetic: Arithmetic) -> Vec<Self> {
        let square = |n: usize| Self::of(n, n, n).by(arithmetic);
        match set {
            Set::Tiny => vec![square(64)],
            Set::Quick => vec![square(512)],
            Set::Full => {
                let squares = [512, 1024, 2048, 4096, 8192].map(square);
                let transposed = [4096, 8192].map(|n| square(n).transposed(false, true));
                // Stacks of bytes have sums of another type.
                let stacks = if arithmetic == Arithmetic::I8 { &[][..] } else { &[(16, 1 << 18), (32, 1 << 16)] };
                let stacks = stacks.iter().map(|&(n, matrices)| Self { matrices, ..square(n) });
                squares.into_iter().chain(transposed).chain(stacks).collect()
            }
        }
    }

    /// Products to which a row is added, and of which negative values become 0, in each arithmetic of f32 or of numbers of 16 bits.
    pub(crate) fn layers(set: Set) -> [Self; 4] {
        let product = set.pick(Self::of(64, 32, 64), Self::of(512, 256, 512), Self::of(8192, 256, 8192));
        [Arithmetic::Own, Arithmetic::Tf32, Arithmetic::F16, Arithmetic::Bf16].map(|arithmetic| product.by(arithmetic))
    }

    /// The name of the operation on one of [`Product::layers`].
    pub(crate) fn layer_operation(&self) -> &'static str {
        if self.arithmetic == Arithmetic::Tf32 { "layer-tf32" } else { "layer" }
    }

    /// The row that is added.
    pub(crate) fn bias<T: Scalar>(&self) -> Vec<T> {
        let [left, right] = [self.m * self.k, self.k * self.n];
        data::uniform_from(left + right, self.n).into_iter().map(|value| self.arithmetic.rounded(value)).collect()
    }

    /// [`Product::check`] of one of [`Product::layers`].
    pub(crate) fn check_layer<T: Scalar>(&self, c: &[T]) -> Check {
        let bias: Vec<f64> = self.bias::<T>().into_iter().map(Scalar::to_f64).collect();
        self.check_of(c, |sum, column| (sum + bias[column]).max(0.0))
    }

    /// The name of the operation.
    pub(crate) fn operation(&self) -> &'static str {
        match (self.matrices, self.n, self.arithmetic) {
            (_, 1, _) => "gemv",
            (1, _, Arithmetic::Own | Arithmetic::F16 | Arithmetic::Bf16 | Arithmetic::I8) => "gemm",
            (1, _, Arithmetic::Tf32) => "gemm-tf32",
            (1, _, Arithmetic::Emulated) => "gemm-emulated",
            _ => "gemm-batched",
        }
    }

    /// The name of the case: a length, or three, with `t` for factors that lie by columns, and the number of matrices.
    pub(crate) fn name(&self) -> String {
        let Self { matrices, m, k, n, .. } = *self;
        let lengths = if m == k && k == n { n.to_string() } else { format!("{m}x{k}x{n}") };
        let layout = match (self.is_left_transposed, self.is_right_transposed) {
            (false, false) => "",
            (false, true) => "-nt",
            (true, false) => "-tn",
            (true, true) => "-tt",
        };
        let stack = if matrices > 1 { format!("-by-{matrices}") } else { String::new() };
        format!("{lengths}{layout}{stack}")
    }

    /// Operations, and bytes where the matrices are small or flat, so that memory may be the bound.
    pub(crate) fn work<T>(&self) -> Work {
        let Self { matrices, m, k, n, .. } = *self;
        let flops = 2 * (matrices * m * n) as u64 * k as u64;
        let bytes = (matrices * (m * k + k * n + m * n) * size_of::<T>()) as u64;
        match self.operation() {
            "gemm" | "gemm-tf32" | "gemm-emulated" => Work::computes(flops),
            "gemv" => Work::reads(bytes).with_flops(flops),
            _ => Work::copies(bytes).with_flops(flops),
        }
    }

    /// The elements of a and of b, in the order of memory.
    pub(crate) fn factors<T: Scalar>(&self) -> [Vec<T>; 2] {
        let (left, right) = (self.matrices * self.m * self.k, self.matrices * self.k * self.n);
        let factors: [Vec<T>; 2] = [data::uniform(left), data::uniform_from(left, right)];
        if matches!(self.arithmetic, Arithmetic::Own | Arithmetic::Emulated | Arithmetic::Tf32) {
            return factors;
        }
        factors.map(|factor| factor.into_par_iter().map(|value| self.arithmetic.rounded(value)).collect())
    }

    /// [`Product::factors`] of complex numbers, of one matrix each.
    pub(crate) fn complex_factors<T: Scalar>(&self) -> [Vec<Complex<T>>; 2] {
        let (left, right) = (self.m * self.k, self.k * self.n);
        [(0, left), (left, right)].map(|(from, length)| {
            let parts = data::uniform_from::<T>(2 * from, 2 * length);
            parts.par_chunks_exact(2).map(|parts| Complex::new(parts[0], parts[1])).collect()
        })
    }

    /// [`Product::work`] of complex numbers: four products and four sums for each of theirs.
    pub(crate) fn complex_work(&self) -> Work {
        Work::computes(8 * (self.m * self.n) as u64 * self.k as u64)
    }

    /// Three rows of the product of [`Product::complex_factors`], relative to |a| |b|.
    pub(crate) fn check_complex<T: Scalar>(&self, c: &[Complex<T>]) -> Check {
        let Self { m, k, n, .. } = *self;
        let [a, b] = self.complex_factors::<T>();
        let wide = |z: Complex<T>| Complex::new(Scalar::to_f64(z.re), Scalar::to_f64(z.im));
        let error =
            [0, m / 2, m - 1].into_par_iter().flat_map(|row| (0..n).into_par_iter().map(move |column| (row, column)));
        let error = error.map(|(row, column)| {
            let (mut sum, mut size) = (Complex::new(0.0, 0.0), 0.0);
            for at in 0..k {
                let right = b[if self.is_right_transposed { column * k + at } else { at * n + column }];
                let (left, right) = (wide(a[row * k + at]), wide(right));
                sum += left * right;
                size += left.norm() * right.norm();
            }
            (wide(c[row * n + column]) - sum).norm() / size
        });
        let error = error.reduce(|| 0.0, Check::larger);
        Check::within(error, 8.0 * (k as f64).sqrt() * Scalar::to_f64(T::epsilon()))
    }

    /// [`Product::factors`] of i8.
    pub(crate) fn bytes(&self) -> [Vec<i8>; 2] {
        self.factors::<f64>().map(|factor| factor.into_iter().map(|value| value as i8).collect())
    }

    /// [`Product::check`] of sums of [`Product::bytes`], in f64, whose bound is less than one of them.
    pub(crate) fn check_sums(&self, c: &[i32]) -> Check {
        self.check(&c.iter().map(|&sum| f64::from(sum)).collect::<Vec<_>>())
    }

    /// Three rows of at most 128 matrices of c, the first and the last among them, in C order, relative to |a| |b|.
    pub(crate) fn check<T: Scalar>(&self, c: &[T]) -> Check {
        self.check_of(c, |sum, _| sum)
    }

    /// [`Product::check`] of a function of the sums and their columns, which is no steeper than 1.
    fn check_of<T: Scalar>(&self, c: &[T], function: impl Fn(f64, usize) -> f64 + Sync) -> Check {
        let Self { matrices, m, k, n, .. } = *self;
        let [a, b] = self.factors::<T>();
        let place = |matrix: usize, row: usize, column: usize, rows: usize, columns: usize, by_columns: bool| {
            matrix * rows * columns + if by_columns { column * rows + row } else { row * columns + column }
        };
        let looked_at = (0..matrices).step_by((matrices / 64) | 1).chain([matrices - 1]);
        let rows = looked_at.flat_map(|matrix| [(matrix, 0), (matrix, m / 2), (matrix, m - 1)]);
        let error = rows.collect::<Vec<_>>().into_par_iter().map(|(matrix, row)| {
            let (mut sums, mut sizes) = (vec![0.0; n], vec![0.0; n]);
            for at in 0..k {
                let left = Scalar::to_f64(a[place(matrix, row, at, m, k, self.is_left_transposed)]);
                for (column, (sum, size)) in sums.iter_mut().zip(&mut sizes).enumerate() {
                    let right = Scalar::to_f64(b[place(matrix, at, column, k, n, self.is_right_transposed)]);
                    *sum += left * right;
                    *size += (left * right).abs();
                }
            }
            let got = &c[(matrix * m + row) * n..][..n];
            let errors = got
                .iter()
                .zip(sums)
                .zip(sizes)
                .enumerate()
                .map(|(column, ((&c, sum), size))| (Scalar::to_f64(c) - function(sum, column)).abs() / size);
            errors.fold(0.0, Check::larger)
        });
        let error = error.reduce(|| 0.0, Check::larger);
        Check::within(error, self.arithmetic.rounding() + 4.0 * (k as f64).sqrt() * Scalar::to_f64(T::epsilon()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_matrices_are_checked() {
        let whole = Product { matrices: 3, ..Product::of(5, 7, 3) };
        for (left, right) in [(false, false), (false, true), (true, false), (true, true)] {
            let product = whole.transposed(left, right);
            let Product { matrices, m, k, n, .. } = product;
            let [a, b] = product.factors::<f64>();
            let entry = |matrix: usize, i: usize, j: usize| {
                let a = |p: usize| a[matrix * m * k + if left { p * m + i } else { i * k + p }];
                let b = |p: usize| b[matrix * k * n + if right { j * k + p } else { p * n + j }];
                (0..k).map(|p| a(p) * b(p)).sum::<f64>()
            };
            let mut c: Vec<f64> = (0..matrices * m * n).map(|at| entry(at / (m * n), at / n % m, at % n)).collect();
            assert!(product.check(&c).is_right());
            for wrong in [m * n + 1, (matrices * m - 1) * n + 1] {
                c[wrong] += 1e-6;
                assert!(!product.check(&c).is_right());
                c[wrong] -= 1e-6;
            }
        }
    }

    #[test]
    fn sums_of_bytes_are_checked_exactly() {
        let product = Product::of(5, 7, 3).by(Arithmetic::I8);
        let [a, b] = product.bytes();
        let entry = |i: usize, j: usize| (0..7).map(|k| i32::from(a[i * 7 + k]) * i32::from(b[k * 3 + j])).sum::<i32>();
        let mut c: Vec<i32> = (0..15).map(|at| entry(at / 3, at % 3)).collect();
        assert!(product.check_sums(&c).is_right());
        c[1] += 1;
        assert!(!product.check_sums(&c).is_right());
    }

    #[test]
    fn products_of_complex_numbers_are_checked() {
        for product in [false, true].map(|by_columns| Product::of(5, 7, 3).transposed(false, by_columns)) {
            let [a, b] = product.complex_factors::<f64>();
            let b = |k: usize, j: usize| b[if product.is_right_transposed { j * 7 + k } else { k * 3 + j }];
            let entry = |i: usize, j: usize| (0..7).map(|k| a[i * 7 + k] * b(k, j)).sum::<Complex<f64>>();
            let mut c: Vec<_> = (0..15).map(|at| entry(at / 3, at % 3)).collect();
            assert!(product.check_complex(&c).is_right());
            c[13].im += 1e-6;
            assert!(!product.check_complex(&c).is_right());
        }
    }

    #[test]
    fn names_tell_shapes_and_layouts() {
        let name = |product: Product| format!("{}/{}", product.operation(), product.name());
        assert_eq!(name(Product::of(8, 8, 8)), "gemm/8");
        assert_eq!(name(Product::of(8, 8, 8).transposed(false, true)), "gemm/8-nt");
        assert_eq!(name(Product::of(9, 8, 1)), "gemv/9x8x1");
        assert_eq!(name(Product { matrices: 5, ..Product::of(8, 8, 8) }), "gemm-batched/8-by-5");
    }
}
