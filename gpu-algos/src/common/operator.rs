//! The host's description of a device's operator: its C++ text, key, the bytes of its state, its results. The operators themselves are structures of
//! `device/operators.cuh`.

use std::sync::Arc;

use gpu_array::DType;
use smallvec::{SmallVec, smallvec};

/// The operator of a reduction or scan over values of one type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeviceOperator {
    pub(crate) kind: OperatorKind,
    /// The type of the values, f32 for numbers of 16 bits.
    pub(crate) value: DType,
    /// The type of 16 bits that the values come from; results of the values' type are rounded to it.
    pub(crate) narrow: Option<DType>,
    /// Whether NaN is left out, which only floats can have.
    pub(crate) ignores_nan: bool,
    /// Whether each value comes with a mask, which says whether it takes part.
    pub(crate) is_masked: bool,
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
pub(crate) enum OperatorKind {
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
    MeanDeviation {
        result: DType,
        ddof: u32,
    },
    NormL2,
    /// The greatest absolute value, 0 for no values.
    NormMax,
    Custom(Arc<Custom>),
}

impl OperatorKind {
    /// The number that a spread subtracts from the number of values; 0 for others, and for `MeanDeviation`, which no method makes.
    pub(crate) fn ddof(&self) -> u32 {
        match self {
            Self::Variance { ddof, .. } | Self::Deviation { ddof, .. } | Self::MeanVariance { ddof, .. } => *ddof,
            _ => 0,
        }
    }

    /// Carries sums and products of f32 in f64, and of complex numbers of f32 in those of f64.
    pub(crate) fn carry_in_f64(&mut self) {
        if let Self::Sum { carried, .. } | Self::Product { carried, .. } = self {
            *carried = match *carried {
                DType::F32 => DType::F64,
                DType::C64 => DType::C128,
                wide => wide,
            };
        }
    }
}

impl DeviceOperator {
    /// The operator over values of an array's type. Kernels take numbers of 16 bits as f32 (`common::source::lowered`).
    pub(crate) fn new(kind: OperatorKind, array: DType, ignores_nan: bool) -> Self {
        let (value, narrow) = if array.is_half() { (DType::F32, Some(array)) } else { (array, None) };
        let ignores_nan = ignores_nan && (value.is_float() || value.is_complex());
        Self { kind, value, narrow, ignores_nan, is_masked: false }
    }

    /// The operator over the values that a mask selects.
    pub(crate) fn masked(self) -> Self {
        Self { is_masked: true, ..self }
    }

    /// Whether the operator asks for any selected value, since it has no result of none.
    fn asks_for_any(&self) -> bool {
        use OperatorKind::{Extreme, MinMax};
        self.is_masked && !self.ignores_nan && matches!(self.kind, Extreme { .. } | MinMax)
    }

    /// Whether the last result is whether any value was selected, since there is no NaN for a result of none.
    pub(crate) fn returns_any(&self) -> bool {
        self.asks_for_any() && !self.value.is_float()
    }

    /// Whether the mean counts its values as it takes them, though NaN are among them.
    fn is_counted_mean(&self) -> bool {
        self.is_masked && !self.ignores_nan && matches!(self.kind, OperatorKind::Mean { .. })
    }

    /// The type of results that are values.
    fn of_values(&self) -> DType {
        self.narrow.unwrap_or(self.value)
    }

    /// Whether the results of the C++ structure are values.
    fn gives_values(&self) -> bool {
        use OperatorKind::{Extreme, MinMax, NormL2, NormMax};
        matches!(self.kind, Extreme { .. } | MinMax | NormL2 | NormMax)
    }

    /// The C++ structure of the operator.
    pub(crate) fn text(&self) -> String {
        let (value, ignore) = (self.value.cuda_name(), self.ignores_nan);
        let of = |result: DType| format!("{value}, {}", result.cuda_name());
        let arguments = match &self.kind {
            OperatorKind::Sum { carried, result } | OperatorKind::Product { carried, result } => {
                format!("{}, {}, {ignore}", of(*carried), result.cuda_name())
            }
            OperatorKind::Count => value.to_owned(),
            OperatorKind::Logical { all } => format!("{value}, {all}"),
            OperatorKind::Extreme { greatest } | OperatorKind::ArgExtreme { greatest, .. } => {
                format!("{value}, {greatest}, {ignore}")
            }
            OperatorKind::MinMax => format!("{value}, {ignore}"),
            OperatorKind::Mean { result } if self.is_counted_mean() => of(*result),
            OperatorKind::Mean { result } => format!("{}, {ignore}", of(*result)),
            OperatorKind::Variance { result, ddof }
            | OperatorKind::Deviation { result, ddof }
            | OperatorKind::MeanVariance { result, ddof }
            | OperatorKind::MeanDeviation { result, ddof } => {
                format!("{}, {ddof}, {ignore}", of(*result))
            }
            OperatorKind::NormL2 if self.value == DType::F64 => {
                return self.with_mask("gpu::algos::reduce::NormL2".to_owned());
            }
            OperatorKind::Custom(_) => return "gpu_user::Operator".to_owned(),
            OperatorKind::NormL2 | OperatorKind::NormMax => value.to_owned(),
        };
        let structure = self.with_mask(format!("gpu::algos::reduce::{}<{arguments}>", self.structure()));
        match self.narrow.filter(|_| self.gives_values()) {
            Some(narrow) => format!("gpu::algos::reduce::Rounded<{structure}, {}>", narrow.cuda_name()),
            None => structure,
        }
    }

    /// The structure over the values that a mask selects, where there is one (`reduce/device/masked.cuh`).
    fn with_mask(&self, structure: String) -> String {
        let masked = match self.asks_for_any() {
            false if self.is_masked => "Masked",
            false => return structure,
            true if self.returns_any() => "MaskedWithAny",
            true => "MaskedOrNan",
        };
        format!("gpu::algos::reduce::{masked}<{structure}>")
    }

    /// The text that defines a user's operator.
    pub(crate) fn definition(&self) -> &str {
        if let OperatorKind::Custom(custom) = &self.kind { &custom.definition } else { "" }
    }

    /// Options of the compiler for a user's operator.
    pub(crate) fn options(&self) -> &[String] {
        if let OperatorKind::Custom(custom) = &self.kind { &custom.options } else { &[] }
    }

    fn structure(&self) -> &'static str {
        match &self.kind {
            OperatorKind::Sum { .. } => "Sum",
            OperatorKind::Product { .. } => "Product",
            OperatorKind::Count => "Count",
            OperatorKind::Logical { .. } => "Logical",
            OperatorKind::Extreme { .. } => "Extreme",
            OperatorKind::MinMax => "MinMax",
            OperatorKind::ArgExtreme { narrow: true, .. } => "ArgExtremeNarrow",
            OperatorKind::ArgExtreme { .. } => "ArgExtreme",
            OperatorKind::Mean { .. } => match (self.is_counted_mean(), self.value.is_complex()) {
                (true, true) => "CountedComplexMean",
                (true, false) => "CountedMean",
                (false, true) => "ComplexMean",
                (false, false) => "Mean",
            },
            OperatorKind::Variance { .. } if self.value.is_complex() => "ComplexVariance",
            OperatorKind::Variance { .. } => "Variance",
            OperatorKind::Deviation { .. } if self.value.is_complex() => "ComplexDeviation",
            OperatorKind::Deviation { .. } => "Deviation",
            OperatorKind::MeanVariance { .. } if self.value.is_complex() => "ComplexMeanVariance",
            OperatorKind::MeanVariance { .. } => "MeanVariance",
            OperatorKind::MeanDeviation { .. } => "MeanDeviation",
            OperatorKind::NormL2 => "NormL2Of",
            OperatorKind::NormMax => "NormMax",
            OperatorKind::Custom(_) => "",
        }
    }

    /// A key for everything that the text depends on, except the type of the values.
    pub(crate) fn key(&self) -> u64 {
        let (number, types, more) = match &self.kind {
            OperatorKind::Sum { carried, result } => (0, [*carried, *result], 0),
            OperatorKind::Product { carried, result } => (1, [*carried, *result], 0),
            OperatorKind::Count => (2, [DType::I64; 2], 0),
            OperatorKind::Logical { all } => (3, [DType::Bool; 2], u32::from(*all)),
            OperatorKind::Extreme { greatest } => (4, [self.of_values(); 2], u32::from(*greatest)),
            OperatorKind::MinMax => (5, [self.of_values(); 2], 0),
            OperatorKind::ArgExtreme { greatest, narrow } => {
                (6, [DType::I64; 2], u32::from(*greatest) | u32::from(*narrow) << 1)
            }
            OperatorKind::Mean { result } => (7, [*result; 2], 0),
            OperatorKind::Variance { result, ddof } => (8, [*result; 2], *ddof),
            OperatorKind::Deviation { result, ddof } => (9, [*result; 2], *ddof),
            OperatorKind::MeanVariance { result, ddof } => (10, [*result; 2], *ddof),
            OperatorKind::NormL2 => (11, [self.of_values(); 2], 0),
            OperatorKind::NormMax => (12, [self.of_values(); 2], 0),
            OperatorKind::Custom(_) => (13, [self.value; 2], 0),
            OperatorKind::MeanDeviation { result, ddof } => (14, [*result; 2], *ddof),
        };
        let [carried, result] = types.map(|dtype| dtype as u64);
        let flags = u64::from(self.ignores_nan) << 8 | u64::from(self.is_masked) << 9;
        number | flags | carried << 16 | result << 24 | u64::from(more) << 32
    }

    /// Bytes of a state that blocks exchange, at least.
    pub(crate) fn state_bytes(&self) -> usize {
        let bytes = self.state_bytes_of_all();
        if self.asks_for_any() { (bytes.next_multiple_of(4) + 4).next_multiple_of(8) } else { bytes }
    }

    /// Bytes of a state that does not know whether any value was selected.
    fn state_bytes_of_all(&self) -> usize {
        match &self.kind {
            OperatorKind::Sum { carried, .. } | OperatorKind::Product { carried, .. } => carried.bytes(),
            OperatorKind::Logical { .. } => 4,
            OperatorKind::Count | OperatorKind::ArgExtreme { narrow: true, .. } => 8,
            OperatorKind::Mean { .. } if self.value.is_complex() && (self.ignores_nan || self.is_masked) => 24,
            OperatorKind::Extreme { .. } | OperatorKind::NormMax => self.value.bytes(),
            OperatorKind::ArgExtreme { .. } | OperatorKind::MinMax | OperatorKind::Mean { .. } => 16,
            OperatorKind::NormL2 => 24,
            OperatorKind::Custom(custom) => custom.state_bytes,
            OperatorKind::Variance { .. }
            | OperatorKind::Deviation { .. }
            | OperatorKind::MeanVariance { .. }
            | OperatorKind::MeanDeviation { .. } => {
                if self.value.is_complex() {
                    64
                } else {
                    32
                }
            }
        }
    }

    /// Whether a state is so large that a thread should have few of them.
    pub(crate) fn is_large(&self) -> bool {
        self.state_bytes() > 16
    }

    /// Whether the order of values does not matter.
    pub(crate) fn is_commutative(&self) -> bool {
        !matches!(&self.kind, OperatorKind::Custom(custom) if !custom.commutative)
    }

    /// Whether the operator uses indices.
    pub(crate) fn wants_places(&self) -> bool {
        matches!(self.kind, OperatorKind::ArgExtreme { .. })
    }

    /// The types of the results, the last one of [`DeviceOperator::returns_any`].
    pub(crate) fn results(&self) -> SmallVec<[DType; 2]> {
        let mut results = self.results_of_values();
        results.extend(self.returns_any().then_some(DType::Bool));
        results
    }

    fn results_of_values(&self) -> SmallVec<[DType; 2]> {
        match &self.kind {
            OperatorKind::Sum { result, .. }
            | OperatorKind::Product { result, .. }
            | OperatorKind::Mean { result }
            | OperatorKind::Variance { result, .. }
            | OperatorKind::Deviation { result, .. } => smallvec![*result],
            OperatorKind::MeanVariance { result, .. } | OperatorKind::MeanDeviation { result, .. } => {
                smallvec![*result, part_of(*result)]
            }
            OperatorKind::Count | OperatorKind::ArgExtreme { .. } => smallvec![DType::I64],
            OperatorKind::Logical { .. } => smallvec![DType::Bool],
            OperatorKind::Extreme { .. } | OperatorKind::NormL2 | OperatorKind::NormMax => smallvec![self.of_values()],
            OperatorKind::MinMax => smallvec![self.of_values(); 2],
            // The one result stands at an address of its own, without an offset in elements.
            OperatorKind::Custom(_) => smallvec![DType::U8],
        }
    }

    /// The name of the method that makes a reduction with the operator, in messages.
    pub(crate) fn name(&self) -> &'static str {
        match &self.kind {
            OperatorKind::Sum { .. } => "sum",
            OperatorKind::Product { .. } => "prod",
            OperatorKind::Count => "count",
            OperatorKind::Logical { all: true } => "all",
            OperatorKind::Logical { .. } => "any",
            OperatorKind::Extreme { greatest: true } => "max",
            OperatorKind::Extreme { .. } => "min",
            OperatorKind::MinMax => "min_max",
            OperatorKind::ArgExtreme { greatest: true, .. } => "argmax",
            OperatorKind::ArgExtreme { .. } => "argmin",
            OperatorKind::Mean { .. } => "mean",
            OperatorKind::Variance { .. } => "var",
            OperatorKind::Deviation { .. } => "std",
            OperatorKind::MeanVariance { .. } => "mean_var",
            OperatorKind::MeanDeviation { .. } => "mean and std",
            OperatorKind::NormL2 => "norm_l2",
            OperatorKind::NormMax => "norm_inf",
            OperatorKind::Custom(_) => "a reduction",
        }
    }

    /// The operator that has the results of both in one pass, this one's first, and whether its results come in the other order; None if there is
    /// none.
    pub(crate) fn with(&self, other: &Self) -> Option<(Self, bool)> {
        use OperatorKind::{Deviation, Extreme, Mean, MeanDeviation, MeanVariance, MinMax, Variance};
        let of_values = |operator: &Self| (operator.value, operator.ignores_nan, operator.is_masked);
        // The mean and the spread of complex numbers are of two types.
        if of_values(self) != of_values(other) || self.value.is_complex() {
            return None;
        }
        let (kind, swapped) = match (&self.kind, &other.kind) {
            (Mean { .. }, Deviation { result, ddof }) => (MeanDeviation { result: *result, ddof: *ddof }, false),
            (Deviation { result, ddof }, Mean { .. }) => (MeanDeviation { result: *result, ddof: *ddof }, true),
            (Mean { .. }, Variance { result, ddof }) => (MeanVariance { result: *result, ddof: *ddof }, false),
            (Variance { result, ddof }, Mean { .. }) => (MeanVariance { result: *result, ddof: *ddof }, true),
            (Extreme { greatest: false }, Extreme { greatest: true }) => (MinMax, false),
            (Extreme { greatest: true }, Extreme { greatest: false }) => (MinMax, true),
            _ => return None,
        };
        Some((Self { kind, ..*self }, swapped))
    }

    /// The operator's name if it has no result for no values. Of values that a mask selects it is NaN where there is one.
    pub(crate) fn fails_on_nothing(&self) -> Option<&'static str> {
        match &self.kind {
            _ if self.is_masked && self.value.is_float() => None,
            OperatorKind::Extreme { greatest: true } => Some("max"),
            OperatorKind::Extreme { .. } => Some("min"),
            OperatorKind::MinMax => Some("min_max"),
            OperatorKind::ArgExtreme { greatest: true, .. } => Some("argmax"),
            OperatorKind::ArgExtreme { .. } => Some("argmin"),
            _ => None,
        }
    }
}

/// The type of the parts of complex numbers; that of other numbers itself.
fn part_of(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    }
}
