//! Products with vectors: sums of the products of two arrays along one axis, by the kernels of reductions, which read the matrix once.

use gpu_array::{
    DType,
    expression::{COMPLEX_HEADERS, HALF_HEADERS, HEADERS, LoweredLeaf},
    gpu_driver::{Header, KernelSpace, Stream},
};
use smallvec::SmallVec;

use super::problem::{Lengths, MatmulShape, Matrix, Strides};
use crate::{
    AlgoError, Result,
    common::{
        operator::{DeviceOperator, OperatorKind},
        source::ValueSource,
        summable::carried,
    },
    reduce,
};

/// The word in keys that tells these products from expressions.
static PRODUCTS: KernelSpace = KernelSpace::new();

/// The products `a[.., i, k] * b[.., k, j]`, with the axes of the stack, then i, j and k.
struct Products {
    dtype: DType,
    shape: Lengths,
    a: (u64, Strides),
    b: (u64, Strides),
}

/// Enqueues c = a b as a reduction on `stream`, after the work of `homes`.
///
/// # Errors
/// Those of reductions, which name `op`.
pub(super) fn run(
    op: &'static str,
    dtype: DType,
    shape: &MatmulShape,
    [a, b, c]: [&Matrix; 3],
    homes: &[&Stream],
    stream: &Stream,
) -> Result<()> {
    let axes = |matrix: &Matrix, last: [isize; 3]| matrix.batch.iter().copied().chain(last).collect::<Strides>();
    let source = Products {
        dtype,
        shape: shape.batch.iter().copied().chain([shape.m, shape.n, shape.k]).collect(),
        a: (a.address, axes(a, [a.row, 0, a.column])),
        b: (b.address, axes(b, [0, b.column, b.row])),
    };
    let mut is_kept: SmallVec<[bool; 8]> = SmallVec::from_elem(true, source.shape.len());
    is_kept[source.shape.len() - 1] = false;
    let target = axes(c, [c.row, c.column, 0]);
    let terms = terms_of(dtype);
    let result = if dtype.bytes() == 1 { terms } else { dtype };
    let operator = DeviceOperator::new(OperatorKind::Sum { carried: terms, result }, terms, false);
    let run = reduce::run(&source, &operator, &is_kept, &target[..target.len() - 1], &[c.address], homes, stream);
    run.map_err(|error| match error {
        AlgoError::TooManyAxes { limit, got, .. } => AlgoError::TooManyAxes { op, limit, got },
        AlgoError::TooLarge { .. } => AlgoError::TooLarge { op, shape: shape.result().to_vec() },
        other => other,
    })
}

/// The type in which products are computed and added: i32 for integers of 8 bits, whose results are such too.
fn terms_of(dtype: DType) -> DType {
    if dtype.bytes() == 1 { DType::I32 } else { carried(dtype) }
}

impl ValueSource for Products {
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        let factors = [&self.a, &self.b].into_iter();
        let leaf = |(address, strides)| LoweredLeaf { address, dtype: self.dtype, is_place: false, strides };
        factors.map(|(address, strides)| leaf((*address, &strides[..]))).collect()
    }
    fn add_key(&self, key: &mut SmallVec<[u64; 64]>) {
        key.extend([PRODUCTS.word(), self.dtype as u64]);
    }
    fn text(&self, name: &str) -> (String, Vec<Header>) {
        // Products of numbers of 16 bits are exact in f32.
        let (element, term) = (self.dtype.cuda_name(), terms_of(self.dtype).cuda_name());
        let further = match self.dtype {
            dtype if dtype.is_half() => &HALF_HEADERS[..],
            dtype if dtype.is_complex() => &COMPLEX_HEADERS[..],
            _ => &[],
        };
        let include = further.first().map_or(String::new(), |header| format!("#include \"{}\"\n", header.name));
        let text = format!(
            "{include}struct {name} {{\n    typedef gpu::Tuple<{element}, {element}> Leaves;\n    typedef gpu::Tuple<{term}> Outputs;\n    \
             static constexpr int SCALARS = 0, EXTRA = 0;\n    static __device__ __forceinline__ void apply(const uint64_t *, \
             const uint64_t *, const Leaves &x, Outputs &y) {{\n        gpu::get<0>(y) = gpu::multiply({term}(gpu::get<0>(x)), \
             {term}(gpu::get<1>(x)));\n    }}\n}};\n"
        );
        (text, HEADERS.iter().chain(further).copied().collect())
    }
}
