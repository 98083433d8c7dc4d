//! The structures that a kernel knows by name.

use gpu_array::gpu_driver::{Definitions, DevicePod, Header, KernelType};

use super::declaration::{Declared, RustType};
use crate::{AlgoError, Result};

/// Names of types, and their definitions in C++.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    known: Vec<(&'static str, RustType)>,
    definitions: Definitions,
}

impl Types {
    /// Adds a structure under its name.
    ///
    /// # Errors
    /// `TypeName` where another one has it.
    pub(crate) fn add<T: DevicePod>(&mut self) -> Result<()> {
        self.define::<T>()?;
        self.known.push((T::CUDA_NAME, RustType::of::<T>()));
        Ok(())
    }

    /// Adds the definitions that the type's name needs.
    ///
    /// # Errors
    /// As [`Types::add`].
    pub(crate) fn define<T: KernelType>(&mut self) -> Result<()> {
        Ok(T::define_type(&mut self.definitions)?)
    }

    /// The type of Rust that an argument declares.
    ///
    /// # Errors
    /// `UnknownType`.
    pub(crate) fn find(&self, kernel: &str, argument: &Declared) -> Result<RustType> {
        let named = || self.known.iter().find(|(name, _)| *name == argument.spelled).map(|&(_, rust)| rust);
        argument
            .rust
            .or_else(named)
            .ok_or_else(|| AlgoError::UnknownType { kernel: kernel.to_owned(), argument: argument.to_string() })
    }

    /// Adds the headers of types that arguments name.
    pub(crate) fn include_of(&mut self, arguments: &[Declared]) {
        for argument in arguments {
            argument.header().into_iter().for_each(|header| self.definitions.include(header));
        }
    }

    /// The headers that the definitions include.
    pub(crate) fn headers(&self) -> &[Header] {
        self.definitions.headers()
    }

    /// The definitions in C++.
    pub(crate) fn text(&self) -> String {
        self.definitions.text()
    }
}
