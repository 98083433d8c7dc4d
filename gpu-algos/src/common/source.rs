//! The input of reductions, scans and selections: an expression of arrays, or a user's text.

use gpu_array::{
    ArrayError, DType, Element,
    expression::{Assembled, Backend, COMPLEX_HEADERS, Expr, HALF_HEADERS, HEADERS, Lowered, LoweredLeaf},
    gpu_driver::{Header, Stream},
};
use ndarray::Dimension;
use smallvec::SmallVec;

use super::launch::unique;

/// An expression, as kernels and their launches need it.
pub(crate) trait ValueSource {
    /// The shape of the index space.
    fn shape(&self) -> &[usize];
    /// The operands that are read at each index.
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]>;
    fn scalars(&self) -> &[u64] {
        &[]
    }
    fn extra(&self) -> SmallVec<[u64; 4]> {
        SmallVec::new()
    }
    /// The streams of the arrays, with repetitions; none for arrays that are nowhere, or whose launch is ordered elsewhere.
    fn homes(&self) -> SmallVec<[&Stream; 4]> {
        SmallVec::new()
    }
    /// Adds everything that the text depends on.
    fn add_key(&self, key: &mut SmallVec<[u64; 64]>);
    /// The text of the structure `name`, and the headers that it includes.
    fn text(&self, name: &str) -> (String, Vec<Header>);
}

/// The expression of a lazy value that is about to be evaluated.
///
/// # Errors
/// That of lowering it; that of an operator such as `+=` on an array, which counts as returned from here on.
pub(crate) fn checked<'l, 'a>(
    assembled: &'l Result<Assembled<'a>, ArrayError>,
) -> Result<&'l Assembled<'a>, ArrayError> {
    let assembled = assembled.as_ref().map_err(Clone::clone)?;
    assembled.check()?;
    Ok(assembled)
}

impl ValueSource for Lowered<'_> {
    fn shape(&self) -> &[usize] {
        self.shape()
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        self.leaves().collect()
    }
    fn scalars(&self) -> &[u64] {
        self.scalars()
    }
    fn extra(&self) -> SmallVec<[u64; 4]> {
        SmallVec::from_vec(self.extra())
    }
    fn homes(&self) -> SmallVec<[&Stream; 4]> {
        unique(self.homes().map(|home| -> &Stream { home }))
    }
    fn add_key(&self, key: &mut SmallVec<[u64; 64]>) {
        self.write_key(key);
    }
    fn text(&self, name: &str) -> (String, Vec<Header>) {
        (self.functor(name), self.headers())
    }
}

/// The expression of values, as kernels of reductions and scans take them: numbers of 16 bits as f32.
pub(crate) fn lowered<'a, T: Element, D: Dimension, P: Backend>(
    values: Expr<'a, T, D, P>,
) -> Result<Assembled<'a>, ArrayError> {
    if T::DTYPE.is_half() { values.cast::<f32>().lower_deferred() } else { values.lower_deferred() }
}

/// The structure of the expression that is an array itself, and the headers that it needs; an array of numbers of 16 bits as f32.
pub(crate) fn identity(structure: &str, dtype: DType) -> (String, Vec<Header>) {
    let name = dtype.cuda_name();
    let (value, further) = match dtype {
        dtype if dtype.is_half() => ("float", &HALF_HEADERS[..]),
        dtype if dtype.is_complex() => (name, &COMPLEX_HEADERS[..]),
        _ => (name, &[][..]),
    };
    let include = further.first().map(|header| format!("#include \"{}\"\n", header.name)).unwrap_or_default();
    let text = format!(
        "{include}struct {structure} {{\n    typedef gpu::Tuple<{name}> Leaves;\n    typedef gpu::Tuple<{value}> Outputs;\n    \
             static constexpr int SCALARS = 0, EXTRA = 0;\n    static __device__ __forceinline__ void apply(const uint64_t *, \
             const uint64_t *, const Leaves &x, Outputs &y) {{ gpu::get<0>(y) = gpu::get<0>(x); }}\n}};\n"
    );
    (text, HEADERS.iter().chain(further).copied().collect())
}
