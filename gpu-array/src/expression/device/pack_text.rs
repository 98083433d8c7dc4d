//! The text of an expression on a pack of places, for expressions with tables: elements that lie side by side in a table are taken at once, and what
//! is the same for all places of a pack is computed once.

use std::fmt::Write;

use super::text::{SourcePlaces, value};
use crate::{
    DType,
    expression::graph::{Code, Op, Step},
};

const LANES: &str = "#pragma unroll\n        for (int lane = 0; lane < VECTOR_SIZE; lane++) ";

/// How the values of a step differ along a pack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    /// They do not: `v` is the value.
    Same,
    /// By equal distances, `v + lane * d` in i64, which wraps.
    Even,
    /// In any way: `v` is a pack.
    Any,
}

/// The member `apply_packs`. `same`: the leaves that have one value for all places of a pack, as bits. With 0 nothing is taken to be the same, and a
/// pack may be cut off; else all its places are there.
pub(super) fn apply_packs(code: &Code<'_>, places: &SourcePlaces, same: u64) -> String {
    let mut text = PackText { code, places, same, along: Vec::new(), text: String::new() };
    for (number, step) in code.steps.iter().enumerate() {
        text.step(number, step);
    }
    for (number, &step) in code.outputs.iter().enumerate() {
        let value = text.operand(step);
        let _ = writeln!(text.text, "{LANES}gpu::get<{number}>(y).lane[lane] = {value};");
    }
    format!(
        "    template <int VECTOR_SIZE> static __device__ __forceinline__ void\n    \
         apply_packs(const uint64_t *scalars, const uint64_t *extra, const typename gpu::Wide<VECTOR_SIZE, Leaves>::type &x, \
         typename gpu::Wide<VECTOR_SIZE, Outputs>::type &y) {{\n{}    }}\n",
        text.text,
    )
}

struct PackText<'t, 'a> {
    code: &'t Code<'a>,
    places: &'t SourcePlaces,
    same: u64,
    /// Of the steps so far.
    along: Vec<Along>,
    text: String,
}

impl PackText<'_, '_> {
    fn step(&mut self, number: usize, step: &Step) {
        let along = self.along_of(step);
        let dtype = step.dtype.cuda_name();
        if step.op == Op::Gather && along == Along::Any {
            self.gather(number, step);
        } else {
            let (code, places) = (self.code, self.places);
            let lane = if along == Along::Any { ".lane[lane]" } else { ".lane[0]" };
            let operand = |arg| if along == Along::Any { self.operand(arg) } else { format!("v{arg}") };
            let value = value(code, step, places, lane, &operand);
            let _ = match along {
                Along::Same => writeln!(self.text, "        const {dtype} v{number} = {value};"),
                Along::Even => {
                    let distance = self.distance(number, step);
                    writeln!(
                        self.text,
                        "        const {dtype} v{number} = {value};\n        const {dtype} d{number} = {distance};"
                    )
                }
                Along::Any => writeln!(
                    self.text,
                    "        gpu::Pack<{dtype}, VECTOR_SIZE> v{number};\n{LANES}v{number}.lane[lane] = {value};"
                ),
            };
        }
        self.along.push(along);
    }

    fn along_of(&self, step: &Step) -> Along {
        use Along::{Any, Even, Same};
        let along = |arg: u32| self.along[arg as usize];
        let [a, b, _] = step.args;
        if self.same == 0 {
            return Any;
        }
        match step.op {
            Op::Leaf | Op::Index if self.same >> a & 1 == 1 => Same,
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

    /// The distance of neighbouring values of a step whose values have equal ones.
    fn distance(&self, number: usize, step: &Step) -> String {
        let [a, b, _] = step.args;
        let even = |arg: u32| self.along[arg as usize] == Along::Even;
        match step.op {
            Op::Index => format!("gpu::subtract(gpu::get<{a}>(x).lane[1].value, v{number})"),
            Op::Multiply if even(a) => format!("gpu::multiply(d{a}, v{b})"),
            Op::Multiply => format!("gpu::multiply(v{a}, d{b})"),
            op if even(a) && even(b) => format!("gpu::{}(d{a}, d{b})", op.name()),
            _ if even(a) => format!("d{a}"),
            Op::Subtract => format!("gpu::negate(d{b})"),
            _ => format!("d{b}"),
        }
    }

    /// The value of a step in lane `lane`.
    fn operand(&self, step: u32) -> String {
        match self.along[step as usize] {
            Along::Same => format!("v{step}"),
            Along::Even => format!("gpu::add(v{step}, gpu::multiply(int64_t(lane), d{step}))"),
            Along::Any => format!("v{step}.lane[lane]"),
        }
    }

    /// Elements of a table, of which not all are one.
    fn gather(&mut self, number: usize, step: &Step) {
        let [table, offsets, inside] = step.args;
        let _ = writeln!(self.text, "        gpu::Pack<{}, VECTOR_SIZE> v{number};", step.dtype.cuda_name());
        let is_row = [offsets, inside].map(|arg| self.along[arg as usize]) == [Along::Even, Along::Same];
        let _ = match is_row {
            true => writeln!(
                self.text,
                "        gpu::take_row(v{number}, extra[{table}], v{offsets}, d{offsets}, v{inside});"
            ),
            false => {
                let (offsets, inside) = (self.pack(number, offsets, "int64_t"), self.pack(number, inside, "bool"));
                writeln!(self.text, "        gpu::take_pack(v{number}, extra[{table}], {offsets}, {inside});")
            }
        };
    }

    /// The name of a pack of the values of a step, for step `user`.
    fn pack(&mut self, user: usize, step: u32, dtype: &str) -> String {
        if self.along[step as usize] == Along::Any {
            return format!("v{step}");
        }
        let (name, value) = (format!("p{user}_{step}"), self.operand(step));
        let _ =
            writeln!(self.text, "        gpu::Pack<{dtype}, VECTOR_SIZE> {name};\n{LANES}{name}.lane[lane] = {value};");
        name
    }
}
