//! One chunk of places: where the values of its steps are, and how a loop gets at them.

use std::mem;

use super::{
    lane::{Lane, Registers},
    location::{Located, Location},
    loops::{self, LoopOperand},
    read::Reader,
    scalar::RealScalar,
};
use crate::{
    element::HostSliceMut,
    expression::graph::{LeafMemory, Step},
};

/// The places `start..start + len`.
#[derive(Debug)]
pub(super) struct Frame<'f, 'c, 'a, 'o> {
    pub(super) located: &'f Located<'c, 'a>,
    pub(super) registers: &'f mut Registers,
    /// The parts of the outputs that the chunk fills, of `len` elements each.
    pub(super) outputs: &'f mut [HostSliceMut<'o>],
    pub(super) start: usize,
    pub(super) len: usize,
}

/// The memory that a loop writes to, taken from the frame so that it can read the rest.
enum BlockTarget<'o, T> {
    Register(usize, Vec<T>),
    Output(usize, &'o mut [T]),
}

impl<'o> Frame<'_, '_, '_, 'o> {
    /// A result of `None`, here and below: the code is malformed.
    fn take<T: Lane>(&mut self, to: Location) -> Option<BlockTarget<'o, T>> {
        match to {
            Location::Register(i) => {
                let register = T::registers_mut(self.registers).get_mut(i as usize)?;
                Some(BlockTarget::Register(i as usize, mem::take(register)))
            }
            Location::Output(i) => {
                let output = self.outputs.get_mut(i as usize)?;
                Some(BlockTarget::Output(i as usize, T::into_slice(mem::replace(output, HostSliceMut::Bool(&mut [])))?))
            }
            _ => None,
        }
    }

    fn put<T: Lane>(&mut self, target: BlockTarget<'o, T>) {
        match target {
            BlockTarget::Register(i, values) => T::registers_mut(self.registers)[i] = values,
            BlockTarget::Output(i, values) => self.outputs[i] = T::host_slice_mut(values),
        }
    }

    /// Lets `fill` write the values of `step` to `to`.
    pub(super) fn write<T: Lane>(
        &mut self,
        step: Step,
        to: Location,
        fill: impl FnOnce(&Self, &mut [T]) -> Option<()>,
    ) -> Option<()> {
        if step.dtype != T::DTYPE {
            return None;
        }
        let mut target = self.take(to)?;
        let out = match &mut target {
            BlockTarget::Register(_, values) => values.get_mut(..self.len)?,
            BlockTarget::Output(_, values) => values,
        };
        let done = fill(self, out);
        self.put(target);
        done
    }

    /// The value of an earlier step.
    pub(super) fn value<T: Lane>(&self, step: u32) -> Option<LoopOperand<'_, T>> {
        if self.located.code.steps.get(step as usize)?.dtype != T::DTYPE {
            return None;
        }
        match *self.located.places.get(step as usize)? {
            Location::Register(i) => {
                Some(LoopOperand::Each(T::registers(self.registers).get(i as usize)?.get(..self.len)?))
            }
            Location::Output(i) => Some(LoopOperand::Each(T::slice(self.outputs.get(i as usize)?)?)),
            Location::Same(i) => Some(LoopOperand::Same(T::from_words(*self.located.words.get(i as usize)?))),
            Location::Leaf(i) => Some(LoopOperand::Each(self.in_place(i)?)),
            Location::Scaled { .. } | Location::Nowhere => None,
        }
    }

    /// The value of an earlier step without its factor, and that.
    fn scaled<T: RealScalar + Lane>(&self, step: u32) -> Option<(LoopOperand<'_, T>, T)> {
        match *self.located.places.get(step as usize)? {
            Location::Scaled { leaf, word } => {
                Some((LoopOperand::Each(self.in_place(leaf)?), T::from_words(*self.located.words.get(word as usize)?)))
            }
            _ => Some((self.value(step)?, T::one())),
        }
    }

    /// The elements of a leaf where they stand one behind the other.
    fn in_place<T: Lane>(&self, leaf: u32) -> Option<&[T]> {
        let first = self.located.rows.get(leaf as usize)?.contiguous()?.checked_add_unsigned(self.start)?;
        #[expect(unsafe_code, reason = "the rows of a leaf lead to its elements")]
        // SAFETY: the rows were made of the leaf's own shape and strides, those of a view of its array; chunks lie within the shape.
        unsafe {
            self.leaf(leaf)?.slice(first, self.len)
        }
    }

    /// Copies the elements of a leaf at the chunk's places.
    pub(super) fn read_leaf<T: Lane>(&self, leaf: u32, out: &mut [T]) -> Option<()> {
        let rows = self.located.rows.get(leaf as usize)?;
        #[expect(unsafe_code, reason = "the rows of a leaf lead to its elements")]
        // SAFETY: as in `in_place`.
        unsafe {
            self.leaf(leaf)?.copy(rows, self.start, out)
        }
    }

    fn leaf<T: Lane>(&self, i: u32) -> Option<Reader<'_, T>> {
        reader(&self.located.code.leaves.get(i as usize)?.memory)
    }

    /// Reads elements of a table by their offsets from its first; none outside of it.
    pub(super) fn table<T: Lane>(&self, i: u32) -> Option<impl Fn(i64) -> Option<T>> {
        let table = self.located.code.tables.get(i as usize)?;
        let (first, reader) = (table.offset, reader::<T>(&table.memory));
        Some(move |offset: i64| {
            let offset = first.checked_add(offset as isize)?;
            #[expect(unsafe_code, reason = "the offsets of a table lead to its elements")]
            // SAFETY: the graph computes offsets of places inside the table alone, by its array's own strides, from indices that it has checked
            // against the lengths; a table without elements has no reader.
            unsafe {
                reader.as_ref()?.get(offset)
            }
        })
    }

    pub(super) fn unary<T: Lane, U: Lane>(&mut self, step: Step, to: Location, f: impl Fn(T) -> U) -> Option<()> {
        self.write(step, to, |frame, out| {
            loops::unary(frame.value(step.args[0])?, out, f);
            Some(())
        })
    }

    pub(super) fn binary<T: Lane, U: Lane>(&mut self, step: Step, to: Location, f: impl Fn(T, T) -> U) -> Option<()> {
        self.write(step, to, |frame, out| {
            loops::binary(frame.value(step.args[0])?, frame.value(step.args[1])?, out, f);
            Some(())
        })
    }

    /// A sum or difference of floats.
    pub(super) fn sum<T: RealScalar + Lane>(&mut self, step: Step, to: Location, f: impl Fn(T, T) -> T) -> Option<()> {
        let [a, b, _] = step.args;
        let scaled = |step: u32| matches!(self.located.places.get(step as usize), Some(Location::Scaled { .. }));
        if !scaled(a) && !scaled(b) {
            return self.binary(step, to, f);
        }
        self.write(step, to, |frame, out| {
            loops::scaled(frame.scaled(a)?, frame.scaled(b)?, out, f);
            Some(())
        })
    }

    pub(super) fn binary_slow<T: Lane, U: Lane>(
        &mut self,
        step: Step,
        to: Location,
        f: impl Fn(T, T) -> U,
    ) -> Option<()> {
        self.write(step, to, |frame, out| {
            loops::binary_slow(frame.value(step.args[0])?, frame.value(step.args[1])?, out, f);
            Some(())
        })
    }

    pub(super) fn ternary<T: Lane>(&mut self, step: Step, to: Location, f: impl Fn(T, T, T) -> T) -> Option<()> {
        let [a, b, c] = step.args;
        self.write(step, to, |frame, out| {
            loops::ternary([frame.value(a)?, frame.value(b)?, frame.value(c)?], out, f);
            Some(())
        })
    }
}

fn reader<'v, T: Lane>(memory: &'v LeafMemory<'_>) -> Option<Reader<'v, T>> {
    match memory {
        LeafMemory::Host(view) => Reader::new(T::view(view)?),
        LeafMemory::OwnedHost(array) => Reader::new(T::view(array.view())?),
        LeafMemory::Device { .. } | LeafMemory::OwnedDevice(_) | LeafMemory::Deferred(_) | LeafMemory::Nowhere => None,
    }
}
