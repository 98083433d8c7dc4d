//! Element types of matrix products.

use gpu_array::{Complex, Float, Numeric, bf16, f16};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Zip, linalg::general_mat_mul};

/// An element type of matrices that are multiplied: f16, bf16, f32, f64, `Complex<f32>`, `Complex<f64>`, i32, i64, u32 or u64.
#[diagnostic::on_unimplemented(
    message = "matrices of `{Self}` cannot be multiplied",
    note = "products are defined for f16, bf16, f32, f64, Complex<f32>, Complex<f64>, i32, i64, u32 and u64; `.cast::<f32>()` makes one of them",
    note = "`matmul_i32` multiplies matrices of i8 or u8, with a result of i32"
)]
pub trait MatmulElement: Numeric + sealed::Arithmetic {}

mod sealed {
    use ndarray::{ArrayView2, ArrayViewMut2};

    /// The arithmetic of products on the host.
    pub trait Arithmetic: Sized {
        /// The type of sums in the definition.
        type Sum: Copy;
        const NO_TERMS: Self::Sum;
        fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
        fn rounded(sum: Self::Sum) -> Self;
        /// The value as a factor of products that are computed in f32: of a complex number the real part.
        fn to_float(self) -> f32;
        /// Writes a b into c, whose elements are 0.
        fn multiply(a: ArrayView2<'_, Self>, b: ArrayView2<'_, Self>, c: ArrayViewMut2<'_, Self>);
    }
}

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl MatmulElement for $float {}
        impl sealed::Arithmetic for $float {
            type Sum = f64;
            const NO_TERMS: f64 = 0.0;
            fn add_product(sum: f64, a: Self, b: Self) -> f64 {
                sum + f64::from(a) * f64::from(b)
            }
            fn rounded(sum: f64) -> Self {
                sum as Self
            }
            fn to_float(self) -> f32 {
                self as f32
            }
            fn multiply(a: ArrayView2<'_, Self>, b: ArrayView2<'_, Self>, mut c: ArrayViewMut2<'_, Self>) {
                general_mat_mul(1.0, &a, &b, 0.0, &mut c);
            }
        }
    )*};
}
floats! { f32, f64 }

/// The real parts, and the imaginary ones.
fn parts<T: Copy>(a: ArrayView2<'_, Complex<T>>) -> [Array2<T>; 2] {
    [a.map(|z| z.re), a.map(|z| z.im)]
}

macro_rules! complex {
    ($($part:ty),*) => {$(
        impl MatmulElement for Complex<$part> {}
        impl sealed::Arithmetic for Complex<$part> {
            type Sum = Complex<f64>;
            const NO_TERMS: Complex<f64> = Complex::new(0.0, 0.0);
            fn add_product(sum: Complex<f64>, a: Self, b: Self) -> Complex<f64> {
                let wide = |z: Self| Complex::new(f64::from(z.re), f64::from(z.im));
                sum + wide(a) * wide(b)
            }
            fn rounded(sum: Complex<f64>) -> Self {
                Self::new(sum.re as $part, sum.im as $part)
            }
            fn to_float(self) -> f32 {
                self.re as f32
            }
            fn multiply(a: ArrayView2<'_, Self>, b: ArrayView2<'_, Self>, mut c: ArrayViewMut2<'_, Self>) {
                // Products of the parts: an infinity stays one, where a factor 1 + 0 i would make NaN of it.
                let ([a_re, a_im], [b_re, b_im]) = (parts(a), parts(b));
                let (mut re, mut im) = (a_re.dot(&b_re), a_re.dot(&b_im));
                general_mat_mul(-1.0, &a_im, &b_im, 1.0, &mut re);
                general_mat_mul(1.0, &a_im, &b_re, 1.0, &mut im);
                Zip::from(&mut c).and(&re).and(&im).for_each(|c, &re, &im| *c = Self::new(re, im));
            }
        }
    )*};
}
complex! { f32, f64 }

macro_rules! halves {
    ($($half:ty),*) => {$(
        impl MatmulElement for $half {}
        impl sealed::Arithmetic for $half {
            type Sum = f64;
            const NO_TERMS: f64 = 0.0;
            fn add_product(sum: f64, a: Self, b: Self) -> f64 {
                sum + a.to_f64() * b.to_f64()
            }
            fn rounded(sum: f64) -> Self {
                Self::rounded_from_f64(sum)
            }
            fn to_float(self) -> f32 {
                self.to_f32()
            }
            fn multiply(a: ArrayView2<'_, Self>, b: ArrayView2<'_, Self>, mut c: ArrayViewMut2<'_, Self>) {
                let sums = a.mapv(Self::to_f32).dot(&b.mapv(Self::to_f32));
                c.zip_mut_with(&sums, |c, &sum| *c = Self::from_f32(sum));
            }
        }
    )*};
}
halves! { f16, bf16 }

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl MatmulElement for $integer {}
        impl sealed::Arithmetic for $integer {
            type Sum = Self;
            const NO_TERMS: Self = 0;
            fn add_product(sum: Self, a: Self, b: Self) -> Self {
                sum.wrapping_add(a.wrapping_mul(b))
            }
            fn rounded(sum: Self) -> Self {
                sum
            }
            fn to_float(self) -> f32 {
                self as f32
            }
            fn multiply(a: ArrayView2<'_, Self>, b: ArrayView2<'_, Self>, mut c: ArrayViewMut2<'_, Self>) {
                for (a, mut c) in a.rows().into_iter().zip(c.rows_mut()) {
                    for (&a, b) in a.iter().zip(b.rows()) {
                        Zip::from(&mut c).and(&b).for_each(|c, &b| *c = Self::add_product(*c, a, b));
                    }
                }
            }
        }
    )*};
}
integers! { i32, i64, u32, u64 }
