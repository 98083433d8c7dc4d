//! Numbers of 16 bits in files: `ndarray-npy` has the type of their bits alone, and neither trait can be implemented here for a type of `half`.

use std::io::{Read, Write};

use ndarray_npy::{ReadDataError, ReadableElement, WritableElement, WriteDataError};
use py_literal::Value as PyValue;

use crate::{bf16, f16};

/// A number as it lies in a file: its bits, under a descriptor of its own.
#[derive(Clone, Copy)]
pub(super) struct InFile<T>(T);

impl<T> InFile<T> {
    pub(super) fn new(value: T) -> Self {
        Self(value)
    }

    pub(super) fn into_inner(self) -> T {
        self.0
    }
}

pub(super) trait Half: Copy {
    /// The descriptor that is written, for little-endian bits.
    const DESCRIPTOR: &str;
    /// The descriptor of u16 with the byte order of this one.
    fn descriptor_of_bits(own: &str) -> Option<&'static str>;
    fn bits(self) -> u16;
    fn of_bits(bits: u16) -> Self;
}

impl Half for f16 {
    const DESCRIPTOR: &str = "<f2";

    fn descriptor_of_bits(own: &str) -> Option<&'static str> {
        match own {
            "<f2" => Some("<u2"),
            ">f2" => Some(">u2"),
            _ => None,
        }
    }
    fn bits(self) -> u16 {
        self.to_bits()
    }
    fn of_bits(bits: u16) -> Self {
        Self::from_bits(bits)
    }
}

impl Half for bf16 {
    /// The descriptor that NumPy writes for an array of `ml_dtypes.bfloat16`.
    const DESCRIPTOR: &str = "<V2";

    /// NumPy itself writes `|V2` of an array that it has read from such a file.
    fn descriptor_of_bits(own: &str) -> Option<&'static str> {
        matches!(own, "<V2" | "|V2").then_some("<u2")
    }
    fn bits(self) -> u16 {
        self.to_bits()
    }
    fn of_bits(bits: u16) -> Self {
        Self::from_bits(bits)
    }
}

impl<T: Half> WritableElement for InFile<T> {
    fn type_descriptor() -> PyValue {
        PyValue::String(T::DESCRIPTOR.to_owned())
    }

    fn write<W: Write>(&self, mut writer: W) -> Result<(), WriteDataError> {
        Ok(writer.write_all(&self.0.bits().to_le_bytes())?)
    }

    fn write_slice<W: Write>(slice: &[Self], mut writer: W) -> Result<(), WriteDataError> {
        // The writer has a buffer.
        slice.iter().try_for_each(|value| value.write(&mut writer))
    }
}

impl<T: Half> ReadableElement for InFile<T> {
    fn read_to_end_exact_vec<R: Read>(reader: R, type_desc: &PyValue, len: usize) -> Result<Vec<Self>, ReadDataError> {
        let own = type_desc.as_string().map(String::as_str);
        let of_bits = own.and_then(T::descriptor_of_bits);
        let of_bits = of_bits.ok_or_else(|| ReadDataError::WrongDescriptor(type_desc.clone()))?;
        let bits = u16::read_to_end_exact_vec(reader, &PyValue::String(of_bits.to_owned()), len)?;
        Ok(bits.into_iter().map(|bits| Self(T::of_bits(bits))).collect())
    }
}
