//! Scans as operands of expressions.
#![expect(unsafe_code, reason = "an implementation of a trait that writes device memory")]

use std::{any::Any, error::Error, sync::Arc};

use gpu_array::{
    ArrayError, Element, bf16,
    expression::{Deferred, Evaluated, Expr, Gpu, Host, Lowered, deferred},
    f16,
    gpu_driver::Stream,
};
use ndarray::{Dimension, IxDyn};
use smallvec::SmallVec;

use super::{
    families::{OnHost, results_on_host},
    launch::Heads,
    lazy::{Scan, ScanBackend, ScanInputs, Segments},
    options::{OP, ScanOptions},
    place::ScanOperation,
};
use crate::{
    AlgoError,
    common::{
        launch::allocate,
        on_host,
        operand::{operand, owned_right, scalars},
        operator::DeviceOperator,
        source::ValueSource,
    },
    tiles::layout::TileTarget,
};

owned_right! { ['a, O: Element, D: Dimension, K: Dimension] Scan<'a, O, D, K>, O, K }
operand! { ['a, O: Element, D: Dimension, K: Dimension, P: ScanBackend] Scan<'a, O, D, K, P>, O, K, P }

/// `scalar op scan`.
macro_rules! scalar_scan {
    ($scalar:ty, $element:ty, $trait:ident, $method:ident) => {
        impl<'a, D: Dimension, K: Dimension, P: ScanBackend> std::ops::$trait<Scan<'a, $element, D, K, P>> for $scalar {
            type Output = <$scalar as std::ops::$trait<Expr<'a, $element, K, P>>>::Output;
            fn $method(self, right: Scan<'a, $element, D, K, P>) -> Self::Output {
                std::ops::$trait::$method(self, right.into_expr())
            }
        }
    };
}
scalars! { scalar_scan; i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64; i32 beside f16 bf16 f32 f64, f64 beside i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 }

impl<'a, O: Element, D: Dimension, K: Dimension, P: ScanBackend> Scan<'a, O, D, K, P> {
    /// The results as an expression: they are computed before the kernel or pass that reads it, on the same stream.
    pub fn into_expr(self) -> Expr<'a, O, K, P> {
        match self.into_parts() {
            Ok(ScanInputs { operands, operator, options, segments, has_epilogue, dim, home, host }) => {
                let scan = LazyScan::<O> { operator, options, segments, has_epilogue, host };
                deferred(Arc::new(scan), operands, dim, home)
            }
            Err(error) => Expr::failed(error.into_array_error(OP)),
        }
    }
}

/// A scan of operands that come when it is evaluated: the values, the segments if there are any, the epilogue if there is one.
#[derive(Debug)]
struct LazyScan<O> {
    operator: DeviceOperator,
    options: ScanOptions,
    segments: Option<Segments>,
    has_epilogue: bool,
    host: Option<OnHost<O>>,
}

// SAFETY: it writes no target; arguments go to no other computation.
unsafe impl<O: Element> Deferred for LazyScan<O> {
    fn name(&self) -> &'static str {
        OP
    }

    fn key(&self) -> SmallVec<[u64; 8]> {
        let ScanOptions { axis, exclusive, reverse } = self.options;
        let segments = match self.segments {
            None => 0,
            Some((Heads::Flags, _)) => 1,
            Some((Heads::Keys, _)) => 2,
        };
        let flags = u64::from(exclusive) | u64::from(reverse) << 1 | u64::from(self.has_epilogue) << 2;
        let axis = axis.map_or(0, |axis| axis as u64 + 1);
        SmallVec::from_slice(&[self.operator.key(), self.operator.value as u64, flags, segments, axis])
    }

    fn evaluate(
        &self,
        operands: &[&Lowered<'_>],
        home: Option<&Stream>,
    ) -> Result<Vec<Evaluated>, Box<dyn Error + Send + Sync>> {
        let mut operands = operands.iter().copied();
        let values = operands.next().ok_or(ArrayError::NoArrays { op: OP })?;
        let heads = self.segments.and_then(|segments| Some((operands.next()?, segments)));
        let epilogue = if self.has_epilogue { operands.next() } else { None };
        let told = |error: AlgoError| error.into_array_error(self.name());
        let dim = self.options.dim(values.shape()).map_err(told)?;
        let Some(home) = home else {
            let heads = heads.map(|(heads, (_, of))| (heads, of));
            let results = results_on_host(self.host.as_ref(), values, heads, epilogue, self.options);
            let results = results.and_then(|results| on_host::shaped(results, dim));
            return Ok(vec![Evaluated::new::<O, IxDyn, Host>(results.map_err(told)?)?]);
        };
        let heads = heads.map(|(heads, (kind, _))| (heads as &dyn ValueSource, kind));
        let array = allocate::<O, IxDyn>(home, dim).map_err(told)?;
        let strides = self.options.strides(values.shape(), array.strides());
        let target = TileTarget { address: array.as_device_vec().as_raw(), dtype: O::DTYPE, strides: &strides };
        let operation = ScanOperation { operator: &self.operator, options: self.options };
        operation.run(values, heads, epilogue, &target, None, home).map_err(told)?;
        Ok(vec![Evaluated::new::<O, IxDyn, Gpu>(array)?])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
