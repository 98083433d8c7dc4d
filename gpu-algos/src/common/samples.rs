//! The operands of samples.

use gpu_array::{
    DType,
    expression::{HEADERS, LoweredLeaf},
    gpu_driver::Header,
};
use smallvec::SmallVec;

use super::source::{ValueSource, identity};

/// A source that is an array of one element type.
pub(crate) struct Sample(pub(crate) DType);

impl ValueSource for Sample {
    fn shape(&self) -> &[usize] {
        &[1]
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        SmallVec::from_iter([LoweredLeaf { address: 0, dtype: self.0, is_place: false, strides: &[1] }])
    }
    fn add_key(&self, _key: &mut SmallVec<[u64; 64]>) {}
    fn text(&self, structure: &str) -> (String, Vec<Header>) {
        identity(structure, self.0)
    }
}

/// A source that is an array of one element type, and a mask.
pub(crate) struct SampleWithMask(pub(crate) DType);

impl ValueSource for SampleWithMask {
    fn shape(&self) -> &[usize] {
        &[1]
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        let leaf = |dtype| LoweredLeaf { address: 0, dtype, is_place: false, strides: &[1] };
        SmallVec::from_iter([leaf(self.0), leaf(DType::Bool)])
    }
    fn add_key(&self, _key: &mut SmallVec<[u64; 64]>) {}
    fn text(&self, structure: &str) -> (String, Vec<Header>) {
        let value = self.0.cuda_name();
        let text = format!(
            "struct {structure} {{\n    typedef gpu::Tuple<{value}, bool> Leaves;\n    typedef gpu::Tuple<{value}, bool> Outputs;\n    \
             static constexpr int SCALARS = 0, EXTRA = 0;\n    static __device__ __forceinline__ void apply(const uint64_t *, \
             const uint64_t *, const Leaves &x, Outputs &y) {{ y = x; }}\n}};\n"
        );
        (text, HEADERS.to_vec())
    }
}
