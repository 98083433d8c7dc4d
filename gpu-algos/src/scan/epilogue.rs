//! Epilogues: expressions of a scan's results, computed before they are written.
#![expect(unsafe_code, reason = "a source whose C++ text is here")]

use gpu_array::{
    DType, Element,
    expression::{Expr, Host, Lowered, Scope, Source, source},
    gpu_driver::Header,
};
use ndarray::{ArrayD, Dimension};

/// An extra word that stands for a part of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placeholder {
    /// The index of the word.
    pub(crate) number: usize,
    /// 1 for an imaginary part, else 0.
    pub(crate) part: usize,
}

/// The operation in messages about shapes.
pub(super) const MAP: &str = "the map epilogue a scan";

/// The scope of the results in a map.
pub(super) fn scope() -> Scope {
    Scope::new("Scan::map", "write `f(scan.into_expr())` in place of `scan.map(f)`, which computes the scan first")
}

/// The results of a scan of shape `dim`, for the one expression of that scope.
pub(crate) fn results<'a, O: Element, D: Dimension>(dim: D, scope: Scope) -> Expr<'a, O, D> {
    // There is one value for all places, and a kernel computes it at each.
    source::<O, _, _>(Scanned::to_come(scope), ()).broadcast(dim)
}

/// The results of a scan of shape `dim` on the host, which [`Scanned::of_results`] brings.
pub(super) fn results_on_host<'a, O: Element, D: Dimension>(dim: D, scope: Scope) -> Expr<'a, O, D, Host> {
    source(Scanned::to_come(scope), dim)
}

/// The extra words of an expression of [`results`] that stand for the result.
pub(crate) fn placeholders(lowered: &Lowered<'_>) -> Vec<Placeholder> {
    let part = |word| PLACEHOLDERS.iter().position(|&placeholder| placeholder == word);
    let words = (0..).zip(lowered.extra());
    words.filter_map(|(number, word)| Some(Placeholder { number, part: part(word)? })).collect()
}

/// Placeholders of a result among the words, of its real part and of its imaginary one. No address has these values.
const PLACEHOLDERS: [u64; 2] = [u64::from_be_bytes(*b"scanned."), u64::from_be_bytes(*b"scanned:")];

/// The results of the scan that a kernel computes; on the host its results in C order, once they are there.
#[derive(Debug)]
pub(super) struct Scanned<T> {
    results: Vec<T>,
    /// The scope of results that are to come.
    scope: Option<Scope>,
}

impl<T: Element> Scanned<T> {
    fn to_come(scope: Scope) -> Self {
        Self { results: Vec::new(), scope: Some(scope) }
    }

    /// The results of a scan on the host.
    pub(super) fn of_results(results: ArrayD<T>) -> Self {
        if !results.is_standard_layout() {
            return Self { results: results.iter().copied().collect(), scope: None };
        }
        let len = results.len();
        let (mut values, offset) = results.into_raw_vec_and_offset();
        values.truncate(offset.unwrap_or(0) + len);
        values.drain(..offset.unwrap_or(0));
        Self { results: values, scope: None }
    }
}

// SAFETY: the function reads its own words, two for complex numbers.
unsafe impl<T: Element> Source<T> for Scanned<T> {
    fn header(&self) -> Header {
        match T::DTYPE {
            DType::F16 | DType::BF16 => HALF_RESULT_WORD,
            DType::C64 | DType::C128 => COMPLEX_RESULT_WORD,
            _ => RESULT_WORD,
        }
    }
    fn function(&self) -> &'static str {
        match T::DTYPE {
            DType::Bool => "gpu::algos::scan::scanned<bool>",
            DType::I8 => "gpu::algos::scan::scanned<int8_t>",
            DType::I16 => "gpu::algos::scan::scanned<int16_t>",
            DType::I32 => "gpu::algos::scan::scanned<int32_t>",
            DType::I64 => "gpu::algos::scan::scanned<int64_t>",
            DType::U8 => "gpu::algos::scan::scanned<uint8_t>",
            DType::U16 => "gpu::algos::scan::scanned<uint16_t>",
            DType::U32 => "gpu::algos::scan::scanned<uint32_t>",
            DType::U64 => "gpu::algos::scan::scanned<uint64_t>",
            DType::F16 => "gpu::algos::scan::scanned<gpu::f16>",
            DType::BF16 => "gpu::algos::scan::scanned<gpu::bf16>",
            DType::C64 => "gpu::algos::scan::complex_scanned<float>",
            DType::C128 => "gpu::algos::scan::complex_scanned<double>",
            DType::F32 => "gpu::algos::scan::scanned<float>",
            DType::F64 => "gpu::algos::scan::scanned<double>",
            // The type is unknown: the compiler rejects a kernel with this text.
            _ => "gpu::algos::scan::scanned",
        }
    }
    fn words(&self) -> Vec<u64> {
        PLACEHOLDERS[..if T::DTYPE.is_complex() { 2 } else { 1 }].to_vec()
    }
    fn value(&self, place: u64) -> T {
        let result = usize::try_from(place).ok().and_then(|place| self.results.get(place));
        // SAFETY: all bits zero are a value of every type in device memory.
        result.copied().unwrap_or_else(|| T::from_storage(unsafe { std::mem::zeroed() }))
    }
    fn scope(&self) -> Option<Scope> {
        self.scope
    }
}

/// The header with the function of [`Scanned`], and with its inverse.
pub(crate) const RESULT_WORD: Header = Header { name: "result_word.cuh", text: include_str!("device/result_word.cuh") };
/// The headers of result words of 16-bit and of complex numbers; they include the other.
pub(super) const HALF_RESULT_WORD: Header =
    Header { name: "half_result_word.cuh", text: include_str!("device/half_result_word.cuh") };
pub(super) const COMPLEX_RESULT_WORD: Header =
    Header { name: "complex_result_word.cuh", text: include_str!("device/complex_result_word.cuh") };
