//! Launches of products: each checks lengths, so that a call cannot reach beyond its buffers, and enqueues one kernel.
#![expect(unsafe_code, reason = "one block per kernel launch")]

use gpu_driver::{DeviceSlice, DeviceSliceMut, DeviceVec, Stream};

use super::entries::{Product, ProductAxpby};
use super::policy::PRODUCTS;
use crate::device::{Storage, Stored, View, in_its_format};
use crate::product::check_length;
use crate::registry::KERNELS;
use crate::{DeviceMatrix, Result, Scalar};

/// Blocks of a product's grid: those that sweep, and those that sum segments of long rows.
pub(crate) fn grid(stored: &impl Stored) -> u32 {
    PRODUCTS.sweep_blocks(stored.sweep_units()) + stored.long_rows().segments()
}

/// Blocks of that grid that sweep.
pub(crate) fn main_blocks<T: Scalar>(storage: &Storage<T>) -> u32 {
    PRODUCTS.sweep_blocks(match storage {
        Storage::Csr(stored) => stored.sweep_units(),
        Storage::Packets(stored) => stored.sweep_units(),
    })
}

/// The sums of the segments of long rows, and how many of each row have arrived; empty where no long row is divided.
pub(crate) struct RowScratch {
    pub(crate) totals: DeviceVec<f64>,
    pub(crate) arrived: DeviceVec<u32>,
}

impl RowScratch {
    /// Scratch with room for any of these matrices.
    pub(crate) fn new<T: Scalar>(stream: &Stream, matrices: &[&DeviceMatrix<T>]) -> Result<Self> {
        let needs = matrices.iter().map(|a| a.storage().long_rows().scratch());
        let (rows, segments) = needs.fold((0, 0), |most, need| (most.0.max(need.0), most.1.max(need.1)));
        Ok(Self { totals: DeviceVec::zeros(stream, segments)?, arrived: DeviceVec::zeros(stream, rows)? })
    }
}

/// `y = A x`, on the stream of `y`.
pub(crate) fn product<T: Scalar>(a: &DeviceMatrix<T>, x: DeviceSlice<'_, T>, y: DeviceSliceMut<'_, T>) -> Result<()> {
    check_length("DeviceMatrix::matvec_into", "x", x.len(), a.cols())?;
    check_length("DeviceMatrix::matvec_into", "y", y.len(), a.rows())?;
    let stream = y.home().clone();
    product_on(a, a.stream(), x, y, &mut RowScratch::new(&stream, &[a])?)
}

/// `y = A x` on the stream of `y`, with the matrix ordered by `home`. Lengths are checked.
pub(crate) fn product_on<T: Scalar>(
    a: &DeviceMatrix<T>,
    home: &Stream,
    x: DeviceSlice<'_, T>,
    y: DeviceSliceMut<'_, T>,
    scratch: &mut RowScratch,
) -> Result<()> {
    if a.rows() == 0 {
        return Ok(());
    }
    let stream = y.home().clone();
    in_its_format!(a, stored: Raw => {
        let kernel = KERNELS.kernel::<Product<Raw<T>>>(stream.device(), &PRODUCTS)?;
        let arguments = (View::new(stored, home), x.input(), y.output(), scratch.totals.output(), scratch.arrived.in_out());
        // SAFETY: x and y have as many elements as the matrix columns and rows, columns were checked against the shape when the
        // matrix was made, and the scratch has room for its long rows. All are borrowed for the call and released in the order of streams.
        unsafe { kernel.launch(grid(stored), arguments, &stream)? };
    });
    Ok(())
}

/// `y = alpha A x + beta y`, on the stream of `y`.
pub(crate) fn product_axpby<T: Scalar>(
    a: &DeviceMatrix<T>,
    (alpha, beta): (T, T),
    x: DeviceSlice<'_, T>,
    y: DeviceSliceMut<'_, T>,
) -> Result<()> {
    check_length("DeviceMatrix::axpby_into", "x", x.len(), a.cols())?;
    check_length("DeviceMatrix::axpby_into", "y", y.len(), a.rows())?;
    if a.rows() == 0 {
        return Ok(());
    }
    let stream = y.home().clone();
    let mut scratch = RowScratch::new(&stream, &[a])?;
    in_its_format!(a, stored: Raw => {
        let kernel = KERNELS.kernel::<ProductAxpby<Raw<T>>>(stream.device(), &PRODUCTS)?;
        let view = View::new(stored, a.stream());
        let arguments = (view, alpha, x.input(), beta, y.in_out(), scratch.totals.output(), scratch.arrived.in_out());
        // SAFETY: as in `product_on`.
        unsafe { kernel.launch(grid(stored), arguments, &stream)? };
    });
    Ok(())
}
