//! The input of reductions, scans and selections: an expression of arrays, or a user's text.

use gpu_array::{
    ArrayError, DType,
    expression::{Assembled, Lowered, LoweredLeaf},
    gpu_driver::{Header, Stream},
};
use smallvec::SmallVec;

use super::launch::unique;

/// An expression, as kernels and their launches need it.
pub(crate) trait ValueSource {
    /// The shape of the index space.
    fn shape(&self) -> &[usize];
    /// The operands that are read at each index.
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]>;
    fn scalars(&self) -> &[u64];
    fn extra(&self) -> SmallVec<[u64; 4]>;
    /// The streams of the arrays, with repetitions.
    fn homes(&self) -> SmallVec<[&Stream; 4]>;
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
        key.extend(self.key());
    }
    fn text(&self, name: &str) -> (String, Vec<Header>) {
        (self.functor(name), self.headers())
    }
}

/// The structure of the expression that is an array itself.
pub(crate) fn identity(structure: &str, dtype: DType) -> String {
    let name = dtype.cuda_name();
    format!(
        "struct {structure} {{\n    typedef gpu::Tuple<{name}> Leaves;\n    typedef gpu::Tuple<{name}> Outputs;\n    \
             static constexpr int SCALARS = 0, EXTRA = 0;\n    static __device__ __forceinline__ void apply(const uint64_t *, \
             const uint64_t *, const Leaves &x, Outputs &y) {{ gpu::get<0>(y) = gpu::get<0>(x); }}\n}};\n"
    )
}
