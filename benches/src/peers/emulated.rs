//! The errors of `Precision::Emulated` beside those of cublasSgemm, on the same factors.
#![expect(unsafe_code, reason = "calls of cuBLAS")]

use cudarc::cublas::sys;
use gpu_algos::{matmul::Precision, prelude::*};
use gpu_array::GpuArray;
use gpu_driver::{Device, Stream};
use ndarray::{Array2, ArrayView2, Ix2, Zip};

use super::cublas::{self, Handle};
use crate::{
    data,
    harness::{Check, Outcome},
};

/// Factors whose products are hard to sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factors {
    /// Uniform in -1 to 1.
    Random,
    /// Elements scaled by powers of 2 between 2^-20 and 2^20, each by one of its own.
    Scaled,
    /// The second half of the terms takes away the first but for some 2^-12 of each.
    Cancelling,
}

impl Factors {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Random, Self::Scaled, Self::Cancelling];

    fn of(self, [m, k, n]: [usize; 3]) -> Outcome<[Array2<f32>; 2]> {
        let mut a = Array2::from_shape_vec((m, k), data::uniform::<f32>(m * k))?;
        let mut b = Array2::from_shape_vec((k, n), data::uniform_from::<f32>(m * k, k * n))?;
        match self {
            Self::Random => {}
            Self::Scaled => {
                let powers = data::words(a.len() + b.len());
                let scaled = a.iter_mut().chain(&mut b);
                scaled.zip(powers).for_each(|(x, word)| *x *= 2f32.powi((word >> 8) as i32 % 41 - 20));
            }
            Self::Cancelling => {
                let half = k / 2;
                for at in 0..half {
                    let (of_a, of_b) = (a.column(at).to_owned(), b.row(at).to_owned());
                    a.column_mut(half + at).assign(&of_a.mapv(|x| -x * (1.0 + 2f32.powi(-12))));
                    b.row_mut(half + at).assign(&of_b);
                }
            }
        }
        Ok([a, b])
    }
}

/// The greatest error of an element relative to |a| |b|, and the root of the mean of their squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// The greatest.
    pub most: f64,
    /// The root of the mean square.
    pub mean: f64,
}

impl Errors {
    fn of(got: &Array2<f32>, want: &Array2<f64>, sizes: &Array2<f64>) -> Self {
        let (mut most, mut squares) = (0.0, 0.0);
        Zip::from(got).and(want).and(sizes).for_each(|&got, &want, &size| {
            let error = (f64::from(got) - want).abs() / size;
            most = Check::larger(most, error);
            squares += error * error;
        });
        Self { most, mean: (squares / got.len() as f64).sqrt() }
    }
}

/// Whether there is cuBLAS beside a device; an error says why not.
pub fn ready(device: &Device) -> Outcome {
    cublas::ready(device)
}

/// The errors of our emulated product, of one that keeps to tensor cores, and of cublasSgemm's, of factors of m x k and k x n.
///
/// Products of f64 on the device are the reference: a product of two f32 is exact in f64, and its sums are 2^29 times as fine.
pub fn beside_cublas(device: &Device, kind: Factors, lengths: [usize; 3]) -> Outcome<[Errors; 3]> {
    cublas::ready(device)?;
    let stream = device.stream();
    let [a, b] = kind.of(lengths)?;
    let product = |a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>, of: fn(f64) -> f64| -> Outcome<Array2<f64>> {
        let on_device = |x: ArrayView2<'_, f32>| GpuArray::from_ndarray(&stream, &x.mapv(|x| of(f64::from(x))));
        Ok(on_device(a)?.matmul(&on_device(b)?).eval()?.to_ndarray()?)
    };
    let want = product(a.view(), b.view(), |x| x)?;
    let sizes = product(a.view(), b.view(), f64::abs)?;
    let (a, b) = (GpuArray::from_ndarray(&stream, &a)?, GpuArray::from_ndarray(&stream, &b)?);
    let ours = a.matmul(&b).precision(Precision::Emulated).eval()?.to_ndarray()?;
    let forced = a.matmul(&b).precision(Precision::Emulated.forced()).eval()?.to_ndarray()?;
    let theirs = sgemm(&stream, &a, &b, lengths)?;
    Ok([&ours, &forced, &theirs].map(|got| Errors::of(got, &want, &sizes)))
}

fn sgemm(
    stream: &Stream,
    a: &GpuArray<f32, Ix2>,
    b: &GpuArray<f32, Ix2>,
    [m, k, n]: [usize; 3],
) -> Outcome<Array2<f32>> {
    let (handle, c) = (Handle::on(stream)?, GpuArray::<f32, Ix2>::zeros(stream, (m, n))?);
    let plain = sys::cublasOperation_t::CUBLAS_OP_N;
    let (rows, terms, columns) = (m.try_into()?, k.try_into()?, n.try_into()?);
    let address = |x: &GpuArray<f32, Ix2>| x.as_device_vec().as_raw();
    // SAFETY: matrices of these shapes in C order, which are transposed ones by columns; the scalars are read before the call returns.
    let status = unsafe {
        sys::cublasSgemm_v2(
            handle.raw,
            plain,
            plain,
            columns,
            rows,
            terms,
            &1.0,
            address(b) as *const f32,
            columns,
            address(a) as *const f32,
            terms,
            &0.0,
            address(&c) as *mut f32,
            columns,
        )
    };
    super::library::check("cublasSgemm", status, sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS)?;
    Ok(c.to_ndarray()?)
}
