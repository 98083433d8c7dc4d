//! Epilogues: expressions of a scan's results, computed before they are written.
#![expect(unsafe_code, reason = "a source whose C++ text is here")]

use std::marker::PhantomData;

use gpu_array::{
    DType, Element,
    expression::{Expr, Lowered, Source, source},
    gpu_driver::Header,
};
use ndarray::Dimension;

/// The results of a scan of shape `dim`.
pub(crate) fn results<'a, O: Element, D: Dimension>(dim: D) -> Expr<'a, O, D> {
    // There is one value for all places, and a kernel computes it at each.
    source::<O, _, _>(Scanned(PhantomData), ()).broadcast(dim)
}

/// Indices of the extra words of an expression of [`results`] that stand for the result.
pub(crate) fn placeholders(lowered: &Lowered<'_>) -> Vec<usize> {
    (0..).zip(lowered.extra()).filter(|&(_, word)| word == PLACEHOLDER).map(|(number, _)| number).collect()
}

/// Placeholder of a result among the words. No address has this value.
const PLACEHOLDER: u64 = u64::from_be_bytes(*b"scanned.");

/// The results of the scan that a kernel computes.
#[derive(Debug)]
struct Scanned<T>(PhantomData<fn() -> T>);

// SAFETY: the function reads its first word.
unsafe impl<T: Element> Source<T> for Scanned<T> {
    fn header(&self) -> Header {
        RESULT_WORD
    }
    fn function(&self) -> &'static str {
        match T::DTYPE {
            DType::Bool => "gpu::scan::scanned<bool>",
            DType::I8 => "gpu::scan::scanned<int8_t>",
            DType::I16 => "gpu::scan::scanned<int16_t>",
            DType::I32 => "gpu::scan::scanned<int32_t>",
            DType::I64 => "gpu::scan::scanned<int64_t>",
            DType::U8 => "gpu::scan::scanned<uint8_t>",
            DType::U16 => "gpu::scan::scanned<uint16_t>",
            DType::U32 => "gpu::scan::scanned<uint32_t>",
            DType::U64 => "gpu::scan::scanned<uint64_t>",
            DType::F32 => "gpu::scan::scanned<float>",
            DType::F64 => "gpu::scan::scanned<double>",
            // The type is unknown: the compiler rejects a kernel with this text.
            _ => "gpu::scan::scanned",
        }
    }
    fn words(&self) -> Vec<u64> {
        vec![PLACEHOLDER]
    }
    fn value(&self, _place: u64) -> T {
        // SAFETY: all bits zero are a value of every type in device memory.
        T::from_storage(unsafe { std::mem::zeroed() })
    }
}

/// The header with the function of [`Scanned`], and with its inverse.
pub(crate) const RESULT_WORD: Header = Header { name: "result_word.cuh", text: include_str!("device/result_word.cuh") };
