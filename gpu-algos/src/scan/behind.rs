//! What is computed from the results of a scan before they are written.
#![expect(unsafe_code, reason = "a source whose C++ text is here")]

use std::marker::PhantomData;

use gpu_array::{
    ArrayError, DType, Element,
    expression::{Expr, Lowered, Source, source},
    gpu_driver::Header,
};
use ndarray::Dimension;

/// An expression of the results, as a kernel needs it.
#[derive(Debug)]
pub(crate) struct Behind<'a> {
    pub(crate) lowered: Lowered<'a>,
    /// Which of the extra words stand for the result.
    pub(crate) holes: Vec<usize>,
}

/// The results of a scan of shape `dim`.
pub(crate) fn results<'a, O: Element, D: Dimension>(dim: D) -> Expr<'a, O, D> {
    // One value for all places: a kernel asks for it at each.
    source::<O, _, _>(Scanned(PhantomData), ()).broadcast(dim)
}

impl<'a> Behind<'a> {
    /// An expression of [`results`].
    pub(crate) fn of<P: Element, D: Dimension>(expression: &Expr<'a, P, D>) -> Result<Self, ArrayError> {
        let lowered = expression.lower()?;
        let holes = (0..).zip(lowered.extra()).filter(|&(_, word)| word == HOLE).map(|(number, _)| number).collect();
        Ok(Self { lowered, holes })
    }
}

/// The word in whose place a result comes: no address is it.
const HOLE: u64 = u64::from_be_bytes(*b"gpu.hole");

/// The results of the scan that a kernel computes.
#[derive(Debug)]
struct Scanned<T>(PhantomData<fn() -> T>);

// SAFETY: the function reads its first word.
unsafe impl<T: Element> Source<T> for Scanned<T> {
    fn header(&self) -> Header {
        SCANNED
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
            // Not known: a kernel with this text is an error of the compiler.
            _ => "gpu::scan::scanned",
        }
    }
    fn words(&self) -> Vec<u64> {
        vec![HOLE]
    }
    fn value(&self, _place: u64) -> T {
        // SAFETY: all bits zero are a value of what device memory holds.
        T::from_storage(unsafe { std::mem::zeroed() })
    }
}

/// The function of [`Scanned`], and its inverse.
pub(crate) const SCANNED: Header = Header { name: "scanned.cuh", text: include_str!("device/scanned.cuh") };
