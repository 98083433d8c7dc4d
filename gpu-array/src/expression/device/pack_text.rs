//! The text of an expression on packs of places, for expressions with tables. Neighbours in a table are loaded as one pack. A value that does not differ
//! along a row is computed once for all packs.

use std::fmt::Write;

use super::step_text::{SourcePlaces, value};
use crate::{
    DType,
    expression::graph::{Code, Op, Step},
};

/// How the values of a step differ along the packs of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    /// They do not: `v` is the value.
    Same,
    /// By a constant step: they are `v[p] + lane * d` in i64, which wraps.
    Even,
    /// In any way: `v[p]` is a pack.
    Any,
}

/// The member `apply_packs`. `same`: the leaves that have one value for all places of a row, as bits. With 0 nothing is taken to be the same, and a pack
/// may be cut off; else the packs are whole, and of one row.
pub(super) fn apply_packs(code: &Code<'_>, places: &SourcePlaces, same: u64) -> String {
    let mut text = PackText { code, places, same, along: Vec::new(), text: String::new() };
    for (number, step) in code.steps.iter().enumerate() {
        text.step(number, step);
    }
    for (number, &step) in code.outputs.iter().enumerate() {
        let value = text.operand(step);
        text.lanes(&format!("gpu::get<{number}>(y[p]).lane[lane] = {value};"));
    }
    format!(
        "    template <int VECTOR_SIZE, int PACKS> static __device__ __forceinline__ void\n    \
         apply_packs(const uint64_t *scalars, const uint64_t *extra, const typename gpu::Wide<VECTOR_SIZE, Leaves>::type *x, \
         typename gpu::Wide<VECTOR_SIZE, Outputs>::type *y) {{\n{}    }}\n",
        text.text,
    )
}

struct PackText<'t, 'a> {
    code: &'t Code<'a>,
    places: &'t SourcePlaces,
    same: u64,
    /// How the values of each step so far differ.
    along: Vec<Along>,
    text: String,
}

impl PackText<'_, '_> {
    fn step(&mut self, number: usize, step: &Step) {
        let along = self.along_of(step);
        let dtype = step.dtype.cuda_name();
        let value = |x, lane, operand: &dyn Fn(u32) -> String| value(self.code, step, self.places, (x, lane), operand);
        match along {
            Along::Same => {
                let value = value("x[0]", ".lane[0]", &|arg| format!("v{arg}"));
                let _ = writeln!(self.text, "        const {dtype} v{number} = {value};");
            }
            Along::Even => {
                let first = value("x[p]", ".lane[0]", &|arg| match self.along[arg as usize] {
                    Along::Even => format!("v{arg}[p]"),
                    _ => format!("v{arg}"),
                });
                let difference = self.difference(step);
                let _ = writeln!(self.text, "        {dtype} v{number}[PACKS];");
                self.packs(&format!("v{number}[p] = {first};"));
                let _ = writeln!(self.text, "        const {dtype} d{number} = {difference};");
            }
            Along::Any if step.op == Op::Gather => self.gather(number, step),
            Along::Any => {
                let value = value("x[p]", ".lane[lane]", &|arg| self.operand(arg));
                let _ = writeln!(self.text, "        gpu::Pack<{dtype}, VECTOR_SIZE> v{number}[PACKS];");
                self.lanes(&format!("v{number}[p].lane[lane] = {value};"));
            }
        }
        self.along.push(along);
    }

    /// A statement for each pack `p`.
    fn packs(&mut self, statement: &str) {
        let _ = writeln!(self.text, "#pragma unroll\n        for (int p = 0; p < PACKS; p++) {statement}");
    }

    /// A statement for each lane of each pack.
    fn lanes(&mut self, statement: &str) {
        let lanes = "_Pragma(\"unroll\") for (int lane = 0; lane < VECTOR_SIZE; lane++)";
        self.packs(&format!("{{\n            {lanes}\n            {statement}\n        }}"));
    }

    fn along_of(&self, step: &Step) -> Along {
        use Along::{Any, Even, Same};
        let along = |arg: u32| self.along[arg as usize];
        let [a, b, _] = step.args;
        if self.same == 0 {
            return Any;
        }
        match step.op {
            Op::Leaf | Op::Index if a < u64::BITS && self.same >> a & 1 == 1 => Same,
            Op::Index => Even,
            Op::Leaf | Op::Source => Any,
            op if step.args[op.operands()].iter().all(|&arg| along(arg) == Same) => Same,
            Op::Add | Op::Subtract if step.dtype == DType::I64 && along(a) != Any && along(b) != Any => Even,
            Op::Multiply if step.dtype == DType::I64 && matches!((along(a), along(b)), (Even, Same) | (Same, Even)) => {
                Even
            }
            _ => Any,
        }
    }

    /// The difference of neighbouring values, which is constant.
    fn difference(&self, step: &Step) -> String {
        let [a, b, _] = step.args;
        let even = |arg: u32| self.along[arg as usize] == Along::Even;
        match step.op {
            Op::Index => {
                let lane = |lane: u32| format!("gpu::get<{a}>(x[0]).lane[{lane}].value");
                format!("gpu::subtract({}, {})", lane(1), lane(0))
            }
            Op::Multiply if even(a) => format!("gpu::multiply(d{a}, v{b})"),
            Op::Multiply => format!("gpu::multiply(v{a}, d{b})"),
            op if even(a) && even(b) => format!("gpu::{}(d{a}, d{b})", op.name()),
            _ if even(a) => format!("d{a}"),
            Op::Subtract => format!("gpu::negate(d{b})"),
            _ => format!("d{b}"),
        }
    }

    /// The value of a step in lane `lane` of pack `p`.
    fn operand(&self, step: u32) -> String {
        match self.along[step as usize] {
            Along::Same => format!("v{step}"),
            Along::Even => format!("gpu::add(v{step}[p], gpu::multiply(int64_t(lane), d{step}))"),
            Along::Any => format!("v{step}[p].lane[lane]"),
        }
    }

    /// Elements of a table, of which not all are one.
    fn gather(&mut self, number: usize, step: &Step) {
        let [table, offsets, inside] = step.args;
        let _ = writeln!(self.text, "        gpu::Pack<{}, VECTOR_SIZE> v{number}[PACKS];", step.dtype.cuda_name());
        if [offsets, inside].map(|arg| self.along[arg as usize]) == [Along::Even, Along::Same] {
            let row = format!("gpu::take_row(v{number}, extra[{table}], v{offsets}, d{offsets}, v{inside});");
            let _ = writeln!(self.text, "        {row}");
        } else {
            let (offsets, inside) = (self.pack(number, offsets, "int64_t"), self.pack(number, inside, "bool"));
            self.packs(&format!("gpu::take_pack(v{number}[p], extra[{table}], {offsets}[p], {inside}[p]);"));
        }
    }

    /// The name of packs of the values of a step, for step `user`.
    fn pack(&mut self, user: usize, step: u32, dtype: &str) -> String {
        if self.along[step as usize] == Along::Any {
            return format!("v{step}");
        }
        let (name, value) = (format!("p{user}_{step}"), self.operand(step));
        let _ = writeln!(self.text, "        gpu::Pack<{dtype}, VECTOR_SIZE> {name}[PACKS];");
        self.lanes(&format!("{name}[p].lane[lane] = {value};"));
        name
    }
}
