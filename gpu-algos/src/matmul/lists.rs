//! Products of lists of matrices that lie in arrays of their own.

use gpu_array::{
    ArrayError, GpuArray, GpuView, GpuViewMut,
    expression::{IntoExpr, Lowered},
    gpu_driver::Stream,
};
use ndarray::{Ix2, Ix3, s};

use super::{
    element::MatmulElement,
    launch,
    methods::Matmul,
    problem::{MatmulProblem, MatmulShape, Matrix, Strides},
    product::words_of,
};
use crate::{
    AlgoError, Result,
    common::{
        array_operand::layout_of,
        launch::{allocate, unique},
    },
};

const OP: &str = "matmul_each";

/// The products of pairs of matrices that lie in arrays of their own: `[x @ y for x, y in zip(a, b)]` of NumPy, stacked; cuBLAS' `gemmBatched`.
///
/// `a` and `b` are lists of arrays or views, by reference or by value, all of `a` with one shape (m, k) and all of `b` with one shape (k, n). The
/// result has the shape (matrices, m, n), in C order, on the stream of the first of `a`. Element types, rounding and determinism are those of
/// [`Matmul`]; bits may differ from those of a product alone, since the launch adds each sum in the order of k. Does not wait.
///
/// # Cost
/// One launch of a kernel, and a copy of 24 bytes for each pair to the device, where all of `a` have the same strides, and all of `b`. Otherwise, of
/// f16 and bf16, within a capture (a graph holds no copy from the host), and where few results have thousands of terms, the launches of
/// [`MatrixProduct::eval`](super::MatrixProduct::eval) for each pair. The host looks at each array. Matrices of up to 64 rows, columns and terms have the
/// kernel of small matrices of a stack. For larger ones the stack of one array is faster, since more kernels take it.
///
/// # Errors
/// `Lists` if there are not as many of `b` as of `a`, `ListShape` for a matrix of another shape than the first of its list, `InnerLength` if the columns
/// of a are not as many as the rows of b; `TooLarge`; `Array` with `NoArrays` for empty lists, and with the errors of the arrays; `Driver`.
///
/// # Example
/// ```no_run
/// use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, matmul::matmul_each};
///
/// let device = Device::first()?;
/// let make = |value| GpuArray::<f32, _>::full(&device, (16, 16), value);
/// let (a, b) = ([make(1.0)?, make(2.0)?, make(3.0)?], [make(0.5)?, make(0.25)?, make(1.0)?]);
/// let products = matmul_each(&a, &b)?; // one launch
/// assert_eq!(products.shape(), [3, 16, 16]);
/// # Ok::<(), gpu_algos::AlgoError>(())
/// ```
#[doc(alias("gemm_batched", "bmm", "cublasSgemmBatched"))]
pub fn matmul_each<'a, T: MatmulElement>(
    a: impl IntoIterator<Item = impl Into<GpuView<'a, T, Ix2>>>,
    b: impl IntoIterator<Item = impl Into<GpuView<'a, T, Ix2>>>,
) -> Result<GpuArray<T, Ix3>> {
    let pairs = Pairs::of(a, b)?;
    let Pairs { a, shape, .. } = &pairs;
    let stream = a[0].stream()?;
    let mut result = allocate(stream, Ix3(a.len(), shape.m, shape.n))?;
    if pairs.is_one_launch(stream)? {
        let mut target = result.view_mut();
        let target = target.lower_mut()?;
        let matrix = (shape.m * shape.n * T::DTYPE.bytes()) as u64;
        let addresses = (0..a.len() as u64).map(|number| target.address + number * matrix).collect();
        if pairs.enqueue(addresses, [shape.n as isize, 1], &[target.home])? {
            return Ok(result);
        }
    }
    for (number, (a, b)) in pairs.views.iter().enumerate() {
        a.matmul(*b).write_into(result.slice_mut(s![number, .., ..])?)?;
    }
    Ok(result)
}

/// [`matmul_each`] into existing arrays or views of shape (m, n), on the stream of the first of them; a product that has a launch of its own is on the
/// stream of its result.
///
/// # Cost
/// That of [`matmul_each`], where the results have the same strides too.
///
/// # Errors
/// Those of [`matmul_each`], and `OutShape`. After an error of a product that is not in one launch with the others, those before it have been written.
pub fn matmul_each_into<'a, 'c, T: MatmulElement>(
    a: impl IntoIterator<Item = impl Into<GpuView<'a, T, Ix2>>>,
    b: impl IntoIterator<Item = impl Into<GpuView<'a, T, Ix2>>>,
    c: impl IntoIterator<Item = impl Into<GpuViewMut<'c, T, Ix2>>>,
) -> Result<()> {
    let pairs = Pairs::of(a, b)?;
    let shape = &pairs.shape;
    let mut targets: Vec<GpuViewMut<'_, T, Ix2>> = c.into_iter().map(Into::into).collect();
    if targets.len() != pairs.views.len() {
        return Err(AlgoError::Lists { op: OP, left: pairs.views.len(), right: targets.len() });
    }
    if let Some(other) = targets.iter().find(|target| target.shape() != [shape.m, shape.n]) {
        return Err(AlgoError::OutShape { expected: vec![shape.m, shape.n], got: other.shape().to_vec() });
    }
    let first = strides_of(targets[0].strides());
    let are_alike = targets.iter().all(|target| strides_of(target.strides()) == first);
    if are_alike && pairs.is_one_launch(targets[0].stream())? {
        let lowered = targets.iter_mut().map(GpuViewMut::lower_mut).collect::<Result<Vec<_>, _>>()?;
        let homes: Vec<&Stream> = lowered.iter().map(|target| target.home).collect();
        if pairs.enqueue(lowered.iter().map(|target| target.address).collect(), first, &homes)? {
            return Ok(());
        }
    }
    for ((a, b), target) in pairs.views.iter().zip(targets) {
        a.matmul(*b).write_into(target)?;
    }
    Ok(())
}

/// The strides of rows and columns.
fn strides_of(strides: &[isize]) -> [isize; 2] {
    [strides[0], strides[1]]
}

/// Two lists of matrices, as many of the one as of the other, at least one.
struct Pairs<'a, T: MatmulElement> {
    views: Vec<(GpuView<'a, T, Ix2>, GpuView<'a, T, Ix2>)>,
    a: Vec<Lowered<'a>>,
    b: Vec<Lowered<'a>>,
    /// The shape of the products, as those of a stack.
    shape: MatmulShape,
}

/// A list of matrices: views, and the same lowered.
type List<'a, T> = (Vec<GpuView<'a, T, Ix2>>, Vec<Lowered<'a>>);

/// The matrices of a list, all of one shape.
///
/// # Errors
/// `ListShape`; those of the arrays.
fn list<'a, T: MatmulElement>(
    matrices: impl IntoIterator<Item = impl Into<GpuView<'a, T, Ix2>>>,
) -> Result<List<'a, T>> {
    let views: Vec<GpuView<'a, T, Ix2>> = matrices.into_iter().map(Into::into).collect();
    for (number, view) in views.iter().enumerate() {
        let (expected, got) = (views[0].shape(), view.shape());
        if got != expected {
            return Err(AlgoError::ListShape { op: OP, number, expected: expected.to_vec(), got: got.to_vec() });
        }
    }
    let lowered = views.iter().map(|view| (*view).into_expr().lower()).collect::<Result<_, _>>()?;
    Ok((views, lowered))
}

impl<'a, T: MatmulElement> Pairs<'a, T> {
    fn of(
        a: impl IntoIterator<Item = impl Into<GpuView<'a, T, Ix2>>>,
        b: impl IntoIterator<Item = impl Into<GpuView<'a, T, Ix2>>>,
    ) -> Result<Self> {
        let ((left, a), (right, b)) = (list(a)?, list(b)?);
        if left.len() != right.len() {
            return Err(AlgoError::Lists { op: OP, left: left.len(), right: right.len() });
        }
        let views: Vec<_> = left.into_iter().zip(right).collect();
        let Some((first_a, first_b)) = views.first() else { return Err(ArrayError::NoArrays { op: OP }.into()) };
        let stacked = |matrix: &[usize]| [views.len(), matrix[0], matrix[1]];
        let shape = MatmulShape::of(OP, &stacked(first_a.shape()), &stacked(first_b.shape()))?;
        Ok(Self { views, a, b, shape })
    }

    /// Whether a kernel can take all products at once, on this stream. A graph holds no copy from the host, of the table.
    fn is_one_launch(&self, stream: &Stream) -> Result<bool> {
        let (first_a, first_b) = &self.views[0];
        let are_alike = |(a, b): &(GpuView<'_, T, Ix2>, GpuView<'_, T, Ix2>)| {
            a.strides() == first_a.strides() && b.strides() == first_b.strides()
        };
        let is_listed = self.views.len() > 1 && !T::DTYPE.is_half() && self.views.iter().all(are_alike);
        Ok(is_listed && !stream.is_capturing()?)
    }

    /// Enqueues all products into matrices at these addresses, with these strides, on the first of `homes`; false, with nothing enqueued, where
    /// launches of their own are faster.
    fn enqueue(&self, addresses: Vec<u64>, strides: [isize; 2], homes: &[&Stream]) -> Result<bool> {
        // Products of no elements have no addresses.
        if self.shape.m == 0 || self.shape.n == 0 {
            return Ok(true);
        }
        let streams = unique(homes.iter().copied().chain(self.a.iter().chain(&self.b).flat_map(Lowered::homes)));
        let addresses_of = |list: &[Lowered<'_>]| list.iter().map(|matrix| layout_of(matrix).address).collect();
        let columns = [addresses, addresses_of(&self.a), addresses_of(&self.b)];
        let bases = [0, 1, 2].map(|operand| base(&columns[operand]));
        let (first_a, first_b) = &self.views[0];
        let problem = self.problem(bases, [strides, strides_of(first_a.strides()), strides_of(first_b.strides())]);
        // The problem may be the transposed one, in which a and b have changed places.
        let is_transposed = problem.batch[0].steps[1] != STEPS[1];
        let order = if is_transposed { [0, 2, 1] } else { [0, 1, 2] };
        let offset = |operand: usize, number: usize| {
            columns[operand][number].wrapping_sub(bases[operand]) as i64 / T::DTYPE.bytes() as i64
        };
        let table = (0..self.views.len()).flat_map(|number| order.map(|operand| offset(operand, number))).collect();
        launch::run_listed(OP, &problem, table, &streams, homes[0])
    }

    /// The products as those of a stack, of which c, a and b lie at `bases`. Its steps do not count.
    fn problem(&self, [c, a, b]: [u64; 3], [of_c, of_a, of_b]: [[isize; 2]; 3]) -> MatmulProblem {
        let matrix = |operand: usize, address: u64, [row, column]: [isize; 2]| {
            let batch = Strides::from_elem(STEPS[operand], 1);
            Matrix { address, batch, row, column }
        };
        let matrices = [matrix(1, a, of_a), matrix(2, b, of_b), matrix(0, c, of_c)];
        MatmulProblem::new(T::DTYPE, &self.shape, matrices, [T::one(), T::ZERO].map(words_of))
    }
}

/// Steps from one matrix to the next of c, a and b that tell the operands apart, and are whole packs. No kernel goes by them.
const STEPS: [isize; 3] = [1 << 40, 2 << 40, 3 << 40];

/// The address from which offsets count: the one with the smallest alignment, on which the choice of a kernel depends.
fn base(addresses: &[u64]) -> u64 {
    addresses.iter().copied().min_by_key(|address| address.trailing_zeros()).unwrap_or(0)
}
