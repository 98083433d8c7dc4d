//! The text of one step of an expression.

use crate::expression::graph::{Code, Op, Step};

/// Index of each source's first word among the extra words.
pub(super) struct SourcePlaces(Vec<usize>);

impl SourcePlaces {
    pub(super) fn of(code: &Code<'_>) -> Self {
        let mut next = code.tables.len();
        let start = |words: usize| {
            next += words;
            next - words
        };
        Self(code.sources.iter().map(|source| source.words().len()).map(start).collect())
    }
}

/// The value of a step. `x` names the values of the leaves, `lane` one of each; `operand` names the value of an earlier step.
pub(super) fn value(
    code: &Code<'_>,
    step: &Step,
    places: &SourcePlaces,
    (x, lane): (&str, &str),
    operand: &dyn Fn(u32) -> String,
) -> String {
    let dtype = step.dtype.cuda_name();
    let [a, b, c] = step.args;
    match step.op {
        Op::Leaf => format!("gpu::get<{a}>({x}){lane}"),
        Op::Index => format!("gpu::get<{a}>({x}){lane}.value"),
        Op::Scalar => format!("gpu::word_as<{dtype}>(scalars[{a}])"),
        Op::Copy => operand(a),
        Op::Cast => format!("gpu::{}<{dtype}>({})", cast_name(code, step), operand(a)),
        Op::Gather => format!("gpu::take<{dtype}>(extra[{a}], {}, {})", operand(b), operand(c)),
        Op::Source => {
            let (source, start) = (&code.sources[a as usize], places.0[a as usize]);
            format!("{}(extra + {start}, uint64_t({}))", source.function(), operand(b))
        }
        op => {
            let operands: Vec<String> = step.args[op.operands()].iter().map(|&arg| operand(arg)).collect();
            format!("gpu::{}({})", op.name(), operands.join(", "))
        }
    }
}

/// The function of a cast.
fn cast_name(code: &Code<'_>, step: &Step) -> &'static str {
    let is_complex = step.dtype.is_complex() || code.steps[step.args[0] as usize].dtype.is_complex();
    if is_complex { "complex_cast" } else { "cast" }
}
