//! Scans as operands of expressions.

use std::{any::Any, error::Error, marker::PhantomData, sync::Arc};

use gpu_array::{
    ArrayError, Element, bf16,
    expression::{Deferred, Evaluated, Expr, Gpu, Lowered, deferred},
    f16,
    gpu_driver::Stream,
};
use ndarray::{Dimension, IxDyn};
use smallvec::SmallVec;

use super::{
    launch::Heads,
    lazy::{Scan, ScanInputs, ScanOperation, ScanOptions},
    plan::OP,
};
use crate::{
    AlgoError,
    common::{
        launch::allocate,
        operand::{operand, owned_right, scalars},
        operator::DeviceOperator,
        source::ValueSource,
    },
    tiles::layout::TileTarget,
};

owned_right! { ['a, O: Element, D: Dimension, K: Dimension] Scan<'a, O, D, K>, O, K }
operand! { ['a, O: Element, D: Dimension, K: Dimension] Scan<'a, O, D, K>, O, K, Gpu }

/// `scalar op scan`.
macro_rules! scalar_scan {
    ($scalar:ty, $element:ty, $trait:ident, $method:ident) => {
        impl<'a, D: Dimension, K: Dimension> std::ops::$trait<Scan<'a, $element, D, K>> for $scalar {
            type Output = <$scalar as std::ops::$trait<Expr<'a, $element, K>>>::Output;
            fn $method(self, right: Scan<'a, $element, D, K>) -> Self::Output {
                std::ops::$trait::$method(self, right.into_expr())
            }
        }
    };
}
scalars! { scalar_scan; i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64; i32 beside f16 bf16 f32 f64, f64 beside i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 }

impl<'a, O: Element, D: Dimension, K: Dimension> Scan<'a, O, D, K> {
    /// The results as an expression: they are computed before the kernel that reads it, on the same stream.
    pub fn into_expr(self) -> Expr<'a, O, K> {
        match self.into_parts() {
            Ok(ScanInputs { operands, operator, options, segments, has_epilogue, dim, home }) => {
                let scan = LazyScan::<O> { operator, options, segments, has_epilogue, _result: PhantomData };
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
    segments: Option<Heads>,
    has_epilogue: bool,
    _result: PhantomData<fn() -> O>,
}

impl<O: Element> Deferred for LazyScan<O> {
    fn name(&self) -> &'static str {
        OP
    }

    fn key(&self) -> SmallVec<[u64; 8]> {
        let ScanOptions { axis, exclusive, reverse } = self.options;
        let segments = match self.segments {
            None => 0,
            Some(Heads::Flags) => 1,
            Some(Heads::Keys) => 2,
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
        let (home, mut operands) = (home.ok_or(ArrayError::NoHome)?, operands.iter().copied());
        let values = operands.next().ok_or(ArrayError::NoArrays { op: OP })?;
        let heads = self.segments.and_then(|kind| Some((operands.next()? as &dyn ValueSource, kind)));
        let epilogue = if self.has_epilogue { operands.next() } else { None };
        let told = |error: AlgoError| error.into_array_error(self.name());
        let dim = self.options.dim(values.shape()).map_err(told)?;
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
