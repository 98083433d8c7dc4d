//! Samples of reductions, for checks without a device.

use gpu_array::{
    DType,
    expression::{HEADERS, LoweredLeaf},
    gpu_driver::{Header, Registry, Stream},
};
use smallvec::SmallVec;

use super::{
    launch::{REDUCE, program},
    operator::{Operator, OperatorKind},
    policy::{Algorithm, Policy},
    source::ValueSource,
};

/// Adds a reduction of arrays of each kind.
pub(crate) fn add_to(registry: Registry) -> Registry {
    use DType::{Bool, F32, F64, I32, I64};
    let sum = |carried| OperatorKind::Sum { carried, result: F32 };
    let moments = OperatorKind::MeanVariance { result: F32, ddof: 0 };
    let samples = [
        (sum(F32), F32, false, false),
        (sum(F32), F32, false, true),
        (sum(F64), F32, true, false),
        (OperatorKind::Product { carried: I64, result: I64 }, I32, false, false),
        (OperatorKind::Extreme { greatest: true }, F32, false, false),
        (OperatorKind::Extreme { greatest: false }, F64, true, true),
        (OperatorKind::MinMax, F32, false, false),
        (OperatorKind::ArgExtreme { greatest: true, narrow: true }, F32, false, false),
        (OperatorKind::ArgExtreme { greatest: false, narrow: false }, F32, true, true),
        (OperatorKind::Logical { all: true }, Bool, false, false),
        (OperatorKind::Count, I32, false, true),
        (OperatorKind::Mean { result: F32 }, F32, true, true),
        (moments.clone(), F32, false, false),
        (moments, F32, false, true),
        (OperatorKind::NormL2, F64, false, false),
    ];
    samples.into_iter().fold(registry, |registry, (kind, value, ignores_nan, along_outer)| {
        let (source, operator) = (Sample(value), Operator::new(kind, value, ignores_nan));
        let mut policy = Policy::of(&source.leaves(), &operator, along_outer);
        let registry = registry.with_sample(REDUCE.name, program(&source, &operator, &policy));
        if along_outer || !operator.is_for_all() {
            return registry;
        }
        policy.algorithm = Algorithm::All;
        registry.with_sample(REDUCE.name, program(&source, &operator, &policy))
    })
}

/// A source that is an array of one element type.
pub(crate) struct Sample(pub(crate) DType);

impl ValueSource for Sample {
    fn shape(&self) -> &[usize] {
        &[1]
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        SmallVec::from_iter([LoweredLeaf { address: 0, dtype: self.0, is_place: false, strides: &[1] }])
    }
    fn scalars(&self) -> &[u64] {
        &[]
    }
    fn extra(&self) -> SmallVec<[u64; 4]> {
        SmallVec::new()
    }
    fn homes(&self) -> SmallVec<[&Stream; 4]> {
        SmallVec::new()
    }
    fn add_key(&self, _key: &mut SmallVec<[u64; 64]>) {}
    fn text(&self, structure: &str) -> (String, Vec<Header>) {
        (identity(structure, self.0), HEADERS.to_vec())
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
