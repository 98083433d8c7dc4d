//! The builder that the kernel macros use.

use gpu_array::gpu_driver::{DevicePod, KernelType};

use super::{
    ElementwiseKernel, ReductionKernel, ScanKernel,
    declaration::{Declared, Role},
    types::Types,
};
use crate::{AlgoError, Result};

/// Builds the kernel of a declaration in Rust; [`elementwise_kernel!`](crate::elementwise_kernel) does it.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Declaration {
    arguments: Vec<Declared>,
    types: Types,
    error: Option<AlgoError>,
}

impl Declaration {
    fn argument<T: KernelType>(mut self, name: &str, role: Role, is_table: bool) -> Self {
        self.error = self.error.or(self.types.define::<T>().err());
        self.arguments.push(Declared::of::<T>(name, role, is_table));
        self
    }

    pub fn value<T: KernelType>(self, name: &str) -> Self {
        self.argument::<T>(name, Role::Value, false)
    }

    pub fn input<T: KernelType>(self, name: &str) -> Self {
        self.argument::<T>(name, Role::Input, false)
    }

    pub fn input_table<T: KernelType>(self, name: &str) -> Self {
        self.argument::<T>(name, Role::Input, true)
    }

    pub fn output<T: KernelType>(self, name: &str) -> Self {
        self.argument::<T>(name, Role::Output, false)
    }

    pub fn output_table<T: KernelType>(self, name: &str) -> Self {
        self.argument::<T>(name, Role::Output, true)
    }

    pub fn reduction<T: DevicePod>(
        self,
        name: &str,
        identity: &str,
        reduce: &str,
        map: &str,
    ) -> Result<ReductionKernel<T>> {
        match self.error {
            Some(error) => Err(error),
            None => {
                let texts = [identity, reduce, map].map(str::to_owned);
                ReductionKernel::of(self.arguments, self.types, texts)?.name(name)
            }
        }
    }

    pub fn scan<T: DevicePod>(
        self,
        name: &str,
        identity: &str,
        scan: &str,
        input: &str,
        output: &str,
    ) -> Result<ScanKernel<T>> {
        match self.error {
            Some(error) => Err(error),
            None => {
                let texts = [identity, scan, input, output].map(str::to_owned);
                ScanKernel::of(self.arguments, self.types, texts)?.name(name)
            }
        }
    }

    pub fn kernel(self, name: &str, operation: &str) -> Result<ElementwiseKernel> {
        match self.error {
            Some(error) => Err(error),
            None => ElementwiseKernel::of(self.arguments, self.types, operation.to_owned())?.name(name),
        }
    }
}
