//! The text of expressions for loops of other crates, and the arrays that these write.

use gpu_driver::Header;
use ndarray::Dimension;

use super::{
    plan::extra,
    text::{HEADERS, functor, further_headers},
};
use crate::{
    Element, GpuViewMut, Result,
    expression::graph::{Lowered, LoweredTarget},
    pending::Pending,
};

impl<T: Element, D: Dimension> GpuViewMut<'_, T, D> {
    /// The view for a loop of one's own to write, while it is borrowed.
    ///
    /// # Errors
    /// That of an operator such as `+=` on the array.
    pub fn lower_mut(&mut self) -> Result<LoweredTarget<'_>> {
        self.pending().map_or(Ok(()), Pending::check)?;
        let (data, layout) = (self.data(), self.layout());
        layout.lies_within(data.len())?;
        let offset = layout.offset() as i64 * T::DTYPE.bytes() as i64;
        let address = data.as_raw().wrapping_add_signed(offset);
        Ok(LoweredTarget {
            address,
            dtype: T::DTYPE,
            shape: layout.shape(),
            strides: layout.strides(),
            home: data.home(),
        })
    }
}

impl Lowered<'_> {
    /// The structure, under that name, and before it the includes that it needs beside `loop.cuh` and the headers of sources.
    pub fn functor(&self, name: &str) -> String {
        let includes = further_headers(&self.0).map(|header| format!("#include \"{}\"\n", header.name));
        includes.collect::<String>() + &functor(&self.0, name, 0)
    }

    /// The headers that the structure includes; the first is `loop.cuh`, which includes the others of this crate.
    pub fn headers(&self) -> Vec<Header> {
        let sources = self.0.sources.iter().map(|source| source.header());
        HEADERS.into_iter().chain(further_headers(&self.0)).chain(sources).collect()
    }

    /// The second argument of `apply`.
    pub fn extra(&self) -> Vec<u64> {
        extra(&self.0).collect()
    }
}
