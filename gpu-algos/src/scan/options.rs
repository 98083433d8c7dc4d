//! The options of a scan: axis, kind and direction.

use gpu_array::ArrayError;
use ndarray::Dimension;
use smallvec::SmallVec;

use crate::{
    Result,
    common::shape::{dim_of, in_order},
    device::params::EXCLUSIVE,
};

/// The name of the operation in errors.
pub(crate) const OP: &str = "a scan";

/// The axis, the kind and the direction of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScanOptions {
    pub(crate) axis: Option<usize>,
    pub(crate) exclusive: bool,
    pub(crate) reverse: bool,
}

impl ScanOptions {
    /// The shape of the result.
    pub(super) fn dim<K: Dimension>(&self, shape: &[usize]) -> Result<K> {
        self.check(shape)?;
        Ok(match self.axis {
            Some(_) => dim_of(OP, shape)?,
            None => dim_of(OP, &[shape.iter().product()])?,
        })
    }

    pub(crate) fn check(&self, shape: &[usize]) -> Result<()> {
        match self.axis {
            Some(axis) if axis >= shape.len() => Err(ArrayError::Axis { op: OP, axis, ndim: shape.len() }.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn mode(&self) -> u32 {
        if self.exclusive { EXCLUSIVE } else { 0 }
    }

    /// The strides of the target along each axis of the scanned expression.
    pub(crate) fn strides(&self, shape: &[usize], target: &[isize]) -> SmallVec<[isize; 4]> {
        if self.axis.is_some() {
            return target.into();
        }
        in_order(shape, target.first().copied().unwrap_or(1))
    }
}
