//! The decisions for a whole evaluation: where each step's values go, and which steps need no loop.

use super::{
    frame::Frame,
    lane::{Lane, Registers, by_type},
    location::{Located, Location},
    rows::Rows,
};
use crate::{
    ArrayError, DType, Element, Result,
    expression::graph::{Code, Leaf, Op, Step},
};

/// A [`Code`] made ready: steps that nobody needs are left out, values that are the same at all places are computed, and a register is used again
/// after the last step that reads it.
#[derive(Debug)]
pub(super) struct Plan<'c, 'a> {
    pub(super) located: Located<'c, 'a>,
    /// The steps that are computed chunk by chunk.
    order: Vec<u32>,
    /// Outputs that are copies: of leaves, of constants, of outputs before them.
    copies: Vec<u32>,
    /// Registers of each type.
    counts: [usize; DType::ALL.len()],
}

const EMPTY: [usize; DType::ALL.len()] = [0; DType::ALL.len()];

impl<'c, 'a> Plan<'c, 'a> {
    /// `code` has places.
    pub(super) fn new(code: &'c Code<'a>) -> Result<Self> {
        check(code)?;
        let rows = code.leaves.iter().map(|leaf| Rows::new(&code.shape, &leaf.strides, leaf.offset)).collect();
        let places = vec![Location::Nowhere; code.steps.len()];
        let located = Located { code, places, words: vec![], rows };
        let mut plan = Self { located, order: vec![], copies: vec![], counts: EMPTY };
        let Uses { last: mut last_uses, summed } = uses(code);
        let mut free: [Vec<u32>; DType::ALL.len()] = Default::default();
        for (k, &output) in code.outputs.iter().enumerate() {
            if plan.located.places[output as usize] == Location::Nowhere {
                plan.located.places[output as usize] = Location::Output(k as u32);
            }
        }
        for (i, &step) in code.steps.iter().enumerate() {
            if last_uses[i] == UNUSED {
                continue;
            }
            plan.place(i, step, summed[i], &mut free)?;
            for &operand in &step.args[step.op.operands()] {
                if last_uses[operand as usize] == i as u32
                    && let Location::Register(register) = plan.located.places[operand as usize]
                {
                    free[code.steps[operand as usize].dtype as usize].push(register);
                    last_uses[operand as usize] = UNUSED;
                }
            }
        }
        let copied = |(k, output): (usize, &u32)| {
            (plan.located.places[*output as usize] != Location::Output(k as u32)).then_some(k as u32)
        };
        plan.copies = code.outputs.iter().enumerate().filter_map(copied).collect();
        Ok(plan)
    }

    /// Decides where a step's values are.
    fn place(&mut self, i: usize, step: Step, summed: bool, free: &mut [Vec<u32>]) -> Result<()> {
        if self.is_uniform(step) {
            let word = if step.op == Op::Scalar {
                [self.located.code.scalars[step.args[0] as usize], 0]
            } else {
                self.uniform(step).ok_or_else(|| malformed(step))?
            };
            self.located.places[i] = Location::Same(self.located.words.len() as u32);
            self.located.words.push(word);
            return Ok(());
        }
        if step.op == Op::Leaf && self.located.rows[step.args[0] as usize].contiguous().is_some() {
            self.located.places[i] = Location::Leaf(step.args[0]);
            return Ok(());
        }
        if let (true, Some(scaled)) = (summed, self.scaled(step)) {
            self.located.places[i] = scaled;
            return Ok(());
        }
        if self.located.places[i] == Location::Nowhere {
            let count = &mut self.counts[step.dtype as usize];
            self.located.places[i] = Location::Register(free[step.dtype as usize].pop().unwrap_or_else(|| {
                *count += 1;
                *count as u32 - 1
            }));
        }
        self.order.push(i as u32);
        Ok(())
    }

    /// Whether a step has the same value at all places.
    fn is_uniform(&self, step: Step) -> bool {
        match step.op {
            Op::Scalar => true,
            Op::Leaf | Op::Index => self.located.rows[step.args[0] as usize].is_uniform(),
            op => step.args[op.operands()]
                .iter()
                .all(|&arg| matches!(self.located.places[arg as usize], Location::Same(_))),
        }
    }

    /// The value of such a step, by the loops of all others.
    fn uniform(&self, step: Step) -> Option<[u64; 2]> {
        let mut counts = EMPTY;
        counts[step.dtype as usize] = 1;
        let mut scratch = Registers::new(&counts, 1);
        Frame { located: &self.located, registers: &mut scratch, outputs: &mut [], start: 0, len: 1 }
            .run(step, Location::Register(0))?;
        by_type!(step.dtype, T => Some(T::registers(&scratch)[0][0].to_words()))
    }

    /// A product of a float leaf and a constant.
    fn scaled(&self, step: Step) -> Option<Location> {
        let [a, b, _] = step.args;
        if [a, b].iter().any(|&arg| self.located.code.steps[arg as usize].dtype != step.dtype) {
            return None;
        }
        match (self.located.places[a as usize], self.located.places[b as usize]) {
            (Location::Leaf(leaf), Location::Same(word)) | (Location::Same(word), Location::Leaf(leaf)) => {
                Some(Location::Scaled { leaf, word })
            }
            _ => None,
        }
    }

    /// Computes the outputs of a chunk.
    pub(super) fn run(&self, mut frame: Frame<'_, '_, '_, '_>) -> Result<()> {
        for &i in &self.order {
            let step = self.located.code.steps[i as usize];
            frame.run(step, self.located.places[i as usize]).ok_or_else(|| malformed(step))?;
        }
        for &k in &self.copies {
            let output = self.located.code.outputs[k as usize];
            frame
                .copy(output, Location::Output(k))
                .ok_or_else(|| malformed(self.located.code.steps[output as usize]))?;
        }
        Ok(())
    }

    /// Places of a chunk: as many as keep a register in the first cache, fewer where many registers must share the second.
    pub(super) fn chunk(&self) -> usize {
        let widest = DType::ALL.iter().filter(|dtype| self.counts[**dtype as usize] > 0).map(|dtype| dtype.bytes());
        let outputs =
            self.located.code.outputs.iter().map(|output| self.located.code.steps[*output as usize].dtype.bytes());
        let one = CHUNK_BYTES / widest.chain(outputs).max().unwrap_or(1);
        let all: usize = DType::ALL.iter().map(|dtype| self.counts[*dtype as usize] * dtype.bytes()).sum();
        one.min(SCRATCH_BYTES / all.max(1)).max(LEAST_CHUNK)
    }

    /// Registers for chunks of `len` places.
    pub(super) fn registers(&self, len: usize) -> Registers {
        Registers::new(&self.counts, len)
    }

    /// The cost of a place, roughly, in operations of which a processor does several at once.
    pub(super) fn cost(&self) -> usize {
        let cost = |step: &u32| match self.located.code.steps[*step as usize].op {
            op if (Op::Exp as u8..=Op::Y1 as u8).contains(&(op as u8)) => 20,
            Op::Jn | Op::Yn | Op::Ldexp => 20,
            Op::Source | Op::Power | Op::Atan2 | Op::Hypot | Op::FloorDivide | Op::Remainder | Op::Fmod => 20,
            _ => 1,
        };
        self.order.iter().map(cost).sum::<usize>() + self.copies.len()
    }

    /// Number of registers of all types.
    #[cfg(test)]
    pub(super) fn register_count(&self) -> usize {
        self.counts.iter().sum()
    }
}

const CHUNK_BYTES: usize = 16 << 10;
const SCRATCH_BYTES: usize = 512 << 10;
pub(super) const LEAST_CHUNK: usize = 256;

/// The entry of [`Uses::last`] for a step that nobody needs: step 0 reads no other step.
const UNUSED: u32 = 0;
/// The entry of [`Uses::last`] for an output.
const ALWAYS: u32 = u32::MAX;

/// The readers of each step's value.
struct Uses {
    /// The number of the last step that reads it.
    last: Vec<u32>,
    /// Whether it is a product of floats that one sum or difference reads, once, and nobody else.
    summed: Vec<bool>,
}

fn uses(code: &Code<'_>) -> Uses {
    let (mut last, mut summed) = (vec![UNUSED; code.steps.len()], vec![false; code.steps.len()]);
    for &output in &code.outputs {
        last[output as usize] = ALWAYS;
    }
    for (i, step) in code.steps.iter().enumerate().rev().filter(|(i, _)| *i > 0) {
        if last[i] == UNUSED {
            continue;
        }
        for &operand in &step.args[step.op.operands()] {
            let Step { op, dtype, .. } = code.steps[operand as usize];
            let first = last[operand as usize] == UNUSED;
            let sum = matches!(step.op, Op::Add | Op::Subtract);
            summed[operand as usize] = first && sum && op == Op::Multiply && dtype.is_float();
            if first {
                last[operand as usize] = i as u32;
            }
        }
    }
    Uses { last, summed }
}

/// Numbers are those of earlier steps and of entries in the lists, and leaves have a stride for each axis.
fn check(code: &Code<'_>) -> Result<()> {
    for (i, step) in code.steps.iter().enumerate() {
        let entries = match step.op {
            Op::Leaf | Op::Index => code.leaves.len(),
            Op::Scalar => code.scalars.len(),
            Op::Gather => code.tables.len(),
            Op::Source => code.sources.len(),
            _ => usize::MAX,
        };
        let of_host = |leaf: u32| !code.leaves[leaf as usize].memory.is_on_device();
        let fits = (step.args[0] as usize) < entries
            && step.args[step.op.operands()].iter().all(|&operand| (operand as usize) < i)
            && (step.op != Op::Leaf || of_host(step.args[0]));
        if !fits {
            return Err(malformed(*step));
        }
    }
    let shaped = |leaf: &Leaf<'_>| leaf.strides.len() == code.shape.len();
    let wanted = |output: &u32| (*output as usize) < code.steps.len();
    if code.leaves.iter().all(shaped) && code.outputs.iter().all(wanted) {
        Ok(())
    } else {
        Err(ArrayError::Operation { name: Op::Leaf.name(), dtype: DType::Bool })
    }
}

/// The error for a step that there is no loop for: whoever makes a [`Code`] prevents it.
fn malformed(step: Step) -> ArrayError {
    ArrayError::Operation { name: step.op.name(), dtype: step.dtype }
}
