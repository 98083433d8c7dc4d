//! Operators of reductions on the host. The device's side is `device/operators.cuh`.

use std::sync::Arc;

use gpu_array::DType;
use smallvec::{SmallVec, smallvec};

/// A reduction's operator over values of one type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operator {
    pub(crate) kind: Kind,
    /// The type of the values.
    pub(crate) value: DType,
    /// Whether NaN is left out, which only floats can have.
    pub(crate) ignores_nan: bool,
}

/// An operator from a user's text.
#[derive(Debug, PartialEq)]
pub(crate) struct Custom {
    /// Structures and functions; among them the operator, `gpu_user::Operator`.
    pub(crate) definition: String,
    /// Options of the compiler.
    pub(crate) options: Vec<String>,
    /// A hash of all texts of the kernel, and of the options.
    pub(crate) key: [u64; 4],
    pub(crate) state_bytes: usize,
    pub(crate) commutative: bool,
}

/// The kind of an operator, with the type that sums are carried in and the type of results.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Sum {
        carried: DType,
        result: DType,
    },
    Product {
        carried: DType,
        result: DType,
    },
    Count,
    Logical {
        all: bool,
    },
    Extreme {
        greatest: bool,
    },
    MinMax,
    ArgExtreme {
        greatest: bool,
        /// Whether values and indices fit 32 bits each.
        narrow: bool,
    },
    Mean {
        result: DType,
    },
    Variance {
        result: DType,
        ddof: u32,
    },
    Deviation {
        result: DType,
        ddof: u32,
    },
    MeanVariance {
        result: DType,
        ddof: u32,
    },
    NormL2,
    /// The greatest absolute value, 0 for no values.
    NormMax,
    Custom(Arc<Custom>),
}

impl Kind {
    /// Carries sums and products of f32 in f64.
    pub(crate) fn carry_in_f64(&mut self) {
        if let Self::Sum { carried, .. } | Self::Product { carried, .. } = self
            && *carried == DType::F32
        {
            *carried = DType::F64;
        }
    }
}

/// The most values per result of a sum of f32 that is carried in f32.
///
/// No thread then adds more than 32 values one after another, so that the error keeps to [`Reductions::sum`](super::Reductions::sum)'s bound. Beyond
/// that, f64 costs no time: memory does. (H200: carried in f64, the sum of 2^20 takes 2.69 us and not 2.42, that of 2^28 as long as in f32.)
fn most_in_f32(results: usize, along_kept: bool) -> usize {
    match (results, along_kept) {
        (1, false) => 1 << 21,
        (_, false) => 1 << 14,
        (_, true) => 1 << 8,
    }
}

impl Operator {
    pub(crate) fn new(kind: Kind, value: DType, ignores_nan: bool) -> Self {
        Self { kind, value, ignores_nan: ignores_nan && value.is_float() }
    }

    /// The C++ structure of the operator.
    pub(crate) fn text(&self) -> String {
        let (value, ignore) = (self.value.cuda_name(), self.ignores_nan);
        let of = |result: DType| format!("{value}, {}", result.cuda_name());
        let arguments = match &self.kind {
            Kind::Sum { carried, result } | Kind::Product { carried, result } => {
                format!("{}, {}, {ignore}", of(*carried), result.cuda_name())
            }
            Kind::Count => value.to_owned(),
            Kind::Logical { all } => format!("{value}, {all}"),
            Kind::Extreme { greatest } | Kind::ArgExtreme { greatest, .. } => format!("{value}, {greatest}, {ignore}"),
            Kind::MinMax => format!("{value}, {ignore}"),
            Kind::Mean { result } => format!("{}, {ignore}", of(*result)),
            Kind::Variance { result, ddof }
            | Kind::Deviation { result, ddof }
            | Kind::MeanVariance { result, ddof } => {
                format!("{}, {ddof}, {ignore}", of(*result))
            }
            Kind::NormL2 if self.value == DType::F64 => return "gpu::reduce::NormL2".to_owned(),
            Kind::Custom(_) => return "gpu_user::Operator".to_owned(),
            Kind::NormL2 | Kind::NormMax => value.to_owned(),
        };
        format!("gpu::reduce::{}<{arguments}>", self.structure())
    }

    /// The text that defines a user's operator.
    pub(crate) fn definition(&self) -> &str {
        if let Kind::Custom(custom) = &self.kind { &custom.definition } else { "" }
    }

    /// Options of the compiler for a user's operator.
    pub(crate) fn options(&self) -> &[String] {
        if let Kind::Custom(custom) = &self.kind { &custom.options } else { &[] }
    }

    fn structure(&self) -> &'static str {
        match &self.kind {
            Kind::Sum { .. } => "Sum",
            Kind::Product { .. } => "Product",
            Kind::Count => "Count",
            Kind::Logical { .. } => "Logical",
            Kind::Extreme { .. } => "Extreme",
            Kind::MinMax => "MinMax",
            Kind::ArgExtreme { narrow: true, .. } => "ArgExtremeNarrow",
            Kind::ArgExtreme { .. } => "ArgExtreme",
            Kind::Mean { .. } => "Mean",
            Kind::Variance { .. } => "Variance",
            Kind::Deviation { .. } => "Deviation",
            Kind::MeanVariance { .. } => "MeanVariance",
            Kind::NormL2 => "NormL2Of",
            Kind::NormMax => "NormMax",
            Kind::Custom(_) => "",
        }
    }

    /// A key for everything that the text depends on, except the type of the values.
    pub(crate) fn key(&self) -> u64 {
        let (number, types, more) = match &self.kind {
            Kind::Sum { carried, result } => (0, [*carried, *result], 0),
            Kind::Product { carried, result } => (1, [*carried, *result], 0),
            Kind::Count => (2, [DType::I64; 2], 0),
            Kind::Logical { all } => (3, [DType::Bool; 2], u32::from(*all)),
            Kind::Extreme { greatest } => (4, [self.value; 2], u32::from(*greatest)),
            Kind::MinMax => (5, [self.value; 2], 0),
            Kind::ArgExtreme { greatest, narrow } => {
                (6, [DType::I64; 2], u32::from(*greatest) | u32::from(*narrow) << 1)
            }
            Kind::Mean { result } => (7, [*result; 2], 0),
            Kind::Variance { result, ddof } => (8, [*result; 2], *ddof),
            Kind::Deviation { result, ddof } => (9, [*result; 2], *ddof),
            Kind::MeanVariance { result, ddof } => (10, [*result; 2], *ddof),
            Kind::NormL2 => (11, [self.value; 2], 0),
            Kind::NormMax => (12, [self.value; 2], 0),
            Kind::Custom(_) => (13, [self.value; 2], 0),
        };
        let [carried, result] = types.map(|dtype| dtype as u64);
        number | u64::from(self.ignores_nan) << 8 | carried << 16 | result << 24 | u64::from(more) << 32
    }

    /// Bytes of a state that blocks exchange, at least.
    pub(crate) fn state_bytes(&self) -> usize {
        match &self.kind {
            Kind::Sum { carried, .. } | Kind::Product { carried, .. } => carried.bytes(),
            Kind::Logical { .. } => 4,
            Kind::Count | Kind::ArgExtreme { narrow: true, .. } => 8,
            Kind::Extreme { .. } | Kind::NormMax => self.value.bytes(),
            Kind::ArgExtreme { .. } | Kind::MinMax | Kind::Mean { .. } => 16,
            Kind::NormL2 => 24,
            Kind::Custom(custom) => custom.state_bytes,
            Kind::Variance { .. } | Kind::Deviation { .. } | Kind::MeanVariance { .. } => 32,
        }
    }

    /// Whether a state is so large that a thread should have few of them.
    pub(crate) fn is_large(&self) -> bool {
        self.state_bytes() > 16
    }

    /// The operator with the narrowest state that suffices for `results` results of `count` values each.
    /// `along_kept` is [`Axes::along_kept`](super::axes::Axes::along_kept).
    pub(crate) fn carried(&self, count: usize, results: usize, along_kept: bool) -> Self {
        let mut operator = self.clone();
        if let Kind::ArgExtreme { narrow, .. } = &mut operator.kind {
            *narrow = self.value.bytes() <= 4 && count <= i32::MAX as usize;
        }
        if let Kind::Sum { .. } = operator.kind
            && count > most_in_f32(results, along_kept)
        {
            operator.kind.carry_in_f64();
        }
        operator
    }

    /// Whether the order of values does not matter.
    pub(crate) fn is_commutative(&self) -> bool {
        !matches!(&self.kind, Kind::Custom(custom) if !custom.commutative)
    }

    /// Whether the kernel `all` supports the operator. Large states would leave too few registers for two blocks per multiprocessor.
    pub(crate) fn is_for_all(&self) -> bool {
        self.is_commutative() && !self.is_large()
    }

    /// Whether the operator uses indices.
    pub(crate) fn wants_places(&self) -> bool {
        matches!(self.kind, Kind::ArgExtreme { .. })
    }

    /// The types of the results.
    pub(crate) fn results(&self) -> SmallVec<[DType; 2]> {
        match &self.kind {
            Kind::Sum { result, .. }
            | Kind::Product { result, .. }
            | Kind::Mean { result }
            | Kind::Variance { result, .. }
            | Kind::Deviation { result, .. } => smallvec![*result],
            Kind::MeanVariance { result, .. } => smallvec![*result; 2],
            Kind::Count | Kind::ArgExtreme { .. } => smallvec![DType::I64],
            Kind::Logical { .. } => smallvec![DType::Bool],
            Kind::Extreme { .. } | Kind::NormL2 | Kind::NormMax => smallvec![self.value],
            Kind::MinMax => smallvec![self.value; 2],
            // The one result stands at an address of its own, without an offset in elements.
            Kind::Custom(_) => smallvec![DType::U8],
        }
    }

    /// The operator's name if it has no result for no values.
    pub(crate) fn fails_on_nothing(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::Extreme { greatest: true } => Some("max"),
            Kind::Extreme { .. } => Some("min"),
            Kind::MinMax => Some("min_max"),
            Kind::ArgExtreme { greatest: true, .. } => Some("argmax"),
            Kind::ArgExtreme { .. } => Some("argmin"),
            _ => None,
        }
    }
}
