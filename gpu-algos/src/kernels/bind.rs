//! Checks of a call's arguments against the kernel's declaration.

use std::ffi::c_void;

use gpu_array::{
    ArrayError,
    gpu_driver::{DriverError, PARAMETER_BYTES, Stream},
};
use smallvec::SmallVec;

use super::{
    arguments::{Given, KernelArg},
    declaration::{Declared, Role},
    places::{IndexRange, Progression},
    types::Types,
};
use crate::{AlgoError, Result};

/// Arguments that fit a kernel, as its launch takes them.
#[derive(Debug)]
pub(crate) struct Bound<'a> {
    /// The 64-bit words of all parameters, one after another.
    params: SmallVec<[u64; 16]>,
    /// The first word of each parameter.
    starts: SmallVec<[usize; 16]>,
    /// Argument number and length of each array that has an element for each place.
    lengths: SmallVec<[(usize, usize); 8]>,
    /// The streams of all arrays, each once.
    pub(crate) homes: SmallVec<[&'a Stream; 4]>,
    /// Stream that runs the kernel: the home of the first array that it may write, or of the first array if it may write none.
    pub(crate) stream: &'a Stream,
}

/// Checks number, types and devices of the arguments. `before` are the kernel's own parameters, of a word each, which come before the arguments.
pub(crate) fn bind<'a>(
    kernel: &str,
    declared: &[Declared],
    types: &Types,
    given: &[KernelArg<'a>],
    before: &[u64],
) -> Result<Bound<'a>> {
    if declared.len() != given.len() {
        let (expected, got) = (declared.len(), given.len());
        return Err(AlgoError::ArgumentCount { kernel: kernel.to_owned(), expected, got });
    }
    let mut params = SmallVec::from_slice(before);
    let mut starts = (0..before.len()).collect::<SmallVec<[usize; 16]>>();
    let mut lengths = SmallVec::<[(usize, usize); 8]>::new();
    let mut homes = SmallVec::<[&Stream; 4]>::new();
    let mut written = None;
    for (number, (declared, given)) in declared.iter().zip(given).enumerate() {
        check(kernel, declared, types, given)?;
        starts.push(params.len());
        match &given.0 {
            Given::Value { words: value, .. } => params.extend_from_slice(value),
            Given::Array { address, len, home, .. } => {
                params.push(*address);
                if !declared.is_table {
                    lengths.push((number, *len));
                }
                if declared.role == Role::Output {
                    written.get_or_insert(*home);
                }
                if !homes.contains(home) {
                    homes.push(home);
                }
            }
            Given::Wrong(error) => return Err(wrong(kernel, declared, error)),
        }
    }
    let stream = written.or(homes.first().copied()).filter(|_| !lengths.is_empty());
    let stream = stream.ok_or_else(|| AlgoError::NoArray { kernel: kernel.to_owned() })?;
    same_device(&homes, stream)?;
    if params.len() * size_of::<u64>() > PARAMETER_BYTES {
        let got = params.len() * size_of::<u64>();
        return Err(ArrayError::TooManyArguments { limit: PARAMETER_BYTES, got }.into());
    }
    Ok(Bound { params, starts, lengths, homes, stream })
}

/// Checks that an argument is as declared. A writable array may also be passed to be read.
fn check(kernel: &str, declared: &Declared, types: &Types, given: &KernelArg<'_>) -> Result<()> {
    let expected = types.find(kernel, declared)?.id;
    let fits = match &given.0 {
        Given::Value { of, .. } => declared.role == Role::Value && of.id == expected,
        Given::Array { of, role: Role::Output, .. } => declared.role != Role::Value && of.id == expected,
        Given::Array { of, .. } => declared.role == Role::Input && of.id == expected,
        Given::Wrong(error) => return Err(wrong(kernel, declared, error)),
    };
    if fits {
        return Ok(());
    }
    let (argument, got) = (declared.to_string(), given.describe());
    Err(AlgoError::ArgumentType { kernel: kernel.to_owned(), argument, got })
}

/// The error of an argument that cannot be passed, which says where it was to be passed.
pub(crate) fn wrong(kernel: &str, declared: &Declared, error: &AlgoError) -> AlgoError {
    match error {
        AlgoError::Array(ArrayError::NotInCOrder { shape, strides, .. }) => {
            let (kernel, argument) = (kernel.to_owned(), declared.to_string());
            AlgoError::ArgumentLayout { kernel, argument, shape: shape.clone(), strides: strides.clone() }
        }
        other => other.clone(),
    }
}

fn same_device(homes: &[&Stream], stream: &Stream) -> Result<()> {
    let expected = stream.device();
    match homes.iter().map(|home| home.device()).find(|&device| device != expected) {
        None => Ok(()),
        Some(got) => {
            let (expected, got) = (expected.ordinal(), got.ordinal());
            Err(DriverError::WrongDevice { op: "the arrays of a kernel", expected, got }.into())
        }
    }
}

impl Bound<'_> {
    /// Overwrites a word that came before the arguments.
    pub(crate) fn set(&mut self, number: usize, word: u64) {
        self.params[number] = word;
    }

    /// The 64-bit words of all parameters, one after another.
    pub(crate) fn params(&self) -> &[u64] {
        &self.params
    }

    /// The addresses of the parameters' values, valid until a word is set.
    pub(crate) fn values(&mut self) -> SmallVec<[*mut c_void; 16]> {
        let params = &mut self.params;
        self.starts.iter().map(|&start| (&raw mut params[start]).cast()).collect()
    }

    /// The `n` of the text, and the places in arrays of length `n`.
    ///
    /// # Errors
    /// `ArgumentLength` if the places need arrays of one length and the lengths differ; `IndexRange`.
    pub(crate) fn places(
        &self,
        kernel: &str,
        declared: &[Declared],
        places: IndexRange,
    ) -> Result<(usize, Progression)> {
        let n = match places.is_range() {
            true => self.lengths.iter().map(|&(_, len)| len).min().unwrap_or(0),
            false => self.common_length(kernel, declared)?,
        };
        let progression = places.of(n).map_err(|why| {
            let (kernel, places) = (kernel.to_owned(), places.to_string());
            AlgoError::IndexRange { kernel, places, len: n, why }
        })?;
        Ok((n, progression))
    }

    fn common_length(&self, kernel: &str, declared: &[Declared]) -> Result<usize> {
        let expected = self.lengths.first().map_or(0, |&(_, len)| len);
        match self.lengths.iter().find(|&&(_, len)| len != expected) {
            None => Ok(expected),
            Some(&(number, got)) => {
                let argument = declared.get(number).map(ToString::to_string).unwrap_or_default();
                Err(AlgoError::ArgumentLength { kernel: kernel.to_owned(), argument, expected, got })
            }
        }
    }
}
