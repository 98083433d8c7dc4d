//! Many expressions in one program, compiled ahead.

use gpu_driver::Stream;
use smallvec::SmallVec;

use super::{
    Key, SPACE,
    axes::Axes,
    check_words,
    plan::{self, LaunchTarget},
    text::Text,
    write_key,
};
use crate::{Result, expression::graph::Code, shape::Strides};

/// Kernels that will be compiled as one program.
pub(crate) struct Batch<'h> {
    home: &'h Stream,
    text: Text,
    keys: Vec<Key>,
}

impl<'h> Batch<'h> {
    /// No kernels yet, for the device of that stream.
    pub(crate) fn new(home: &'h Stream) -> Self {
        Self { home, text: Text::new(), keys: Vec::new() }
    }

    /// Adds the kernel that computes `code` into a new array of these strides, unless it is there already.
    pub(crate) fn add(&mut self, code: &Code<'_>, strides: &Strides) -> Result<()> {
        let Some(mut axes) = Axes::of(code, strides, 0) else { return Ok(()) };
        code.check_kernel(self.home)?;
        let device = self.home.device();
        // New arrays are aligned.
        let addresses: SmallVec<[u64; 2]> = SmallVec::from_elem(0, code.outputs.len());
        let (which, policy) = plan::choose(code, &mut axes, &LaunchTarget::of(code, &addresses), device.arch());
        check_words(code, which)?;
        let mut key = Key::new();
        write_key(&mut key, code, which);
        if self.keys.contains(&key) || device.has_generated_kernel(&SPACE, &key) {
            return Ok(());
        }
        self.text.add(code, which, &policy);
        self.keys.push(key);
        Ok(())
    }

    /// Compiles the program, or loads it from the cache on disk.
    pub(crate) fn generate(self) -> Result<()> {
        let keys: Vec<&[u64]> = self.keys.iter().map(|key| key.as_slice()).collect();
        Ok(self.home.device().generate_kernels(&SPACE, &keys, &self.text.program())?)
    }
}
