//! The text of an expression: the structure for which the loops in the `.cuh` files are templates, and the program around it.

use std::fmt::Write;

use gpu_driver::{COMPLEX, HALF, Header, LIST, Program};

use super::{
    pack_text::apply_packs,
    params::PARAMS,
    plan::{check_text, extra},
    policy::{Loop, Policy},
    step_text::{SourcePlaces, value},
};
use crate::expression::graph::{Code, LeafMemory};

/// Packs of neighbours that a thread loads and stores at once. The header needs no other than the prelude.
pub const PACKS: Header = Header { name: "packs.cuh", text: include_str!("packs.cuh") };
const TUPLE: Header = Header { name: "tuple.cuh", text: include_str!("tuple.cuh") };
const OPERATIONS: Header = Header { name: "operations.cuh", text: include_str!("operations.cuh") };
const COMPLEX_OPERATIONS: Header =
    Header { name: "complex_operations.cuh", text: include_str!("complex_operations.cuh") };
const COMPLEX_FUNCTIONS: Header = Header { name: "complex_functions.cuh", text: include_str!("complex_functions.cuh") };
const HALF_OPERATIONS: Header = Header { name: "half_operations.cuh", text: include_str!("half_operations.cuh") };
const SPECIAL_OPERATIONS: Header =
    Header { name: "special_operations.cuh", text: include_str!("special_operations.cuh") };
const TABLE_OPERATIONS: Header = Header { name: "table_operations.cuh", text: include_str!("table_operations.cuh") };
const LOOP: Header = Header { name: "loop.cuh", text: include_str!("loop.cuh") };
const LINEAR: Header = Header { name: "linear.cuh", text: include_str!("linear.cuh") };
const STRIDED: Header = Header { name: "strided.cuh", text: include_str!("strided.cuh") };
const ROWS: Header = Header { name: "rows.cuh", text: include_str!("rows.cuh") };
const TILED: Header = Header { name: "tiled.cuh", text: include_str!("tiled.cuh") };

/// The headers of expressions, for kernels of one's own. The first one includes the others.
///
/// They hold the functions in namespace `gpu` that operations call (`operations.cuh`), tuples, and packs of neighbours with their loads and stores.
/// [`COMPLEX_HEADERS`] has those of complex numbers, [`HALF_HEADERS`] those of numbers of 16 bits.
pub const HEADERS: [Header; 6] = [LOOP, OPERATIONS, TUPLE, PACKS, PARAMS, LIST];

/// The headers beside [`HEADERS`] of expressions with complex numbers. The first one includes the others.
pub const COMPLEX_HEADERS: [Header; 2] = [COMPLEX_OPERATIONS, COMPLEX];

/// The headers beside [`HEADERS`] of expressions with f16 and bf16. The first one includes the others.
pub const HALF_HEADERS: [Header; 2] = [HALF_OPERATIONS, HALF];

/// The headers beside [`HEADERS`] that the code needs: those of complex numbers, of their functions, of special functions, of tables and of numbers of
/// 16 bits, where it has one.
pub(crate) fn further_headers(code: &Code<'_>) -> impl Iterator<Item = Header> {
    let complex = code.steps.iter().any(|step| step.dtype.is_complex());
    let functions = code.steps.iter().any(|step| step.dtype.is_complex() && step.op.is_complex_function());
    let special = code.steps.iter().any(|step| !step.dtype.is_complex() && step.op.is_special());
    let complex = if complex { &COMPLEX_HEADERS[..] } else { &[] };
    let tables = code.steps.iter().any(|step| step.op.is_of_tables());
    let further = [
        functions.then_some(COMPLEX_FUNCTIONS),
        special.then_some(SPECIAL_OPERATIONS),
        tables.then_some(TABLE_OPERATIONS),
    ];
    let half = if code.steps.iter().any(|step| step.dtype.is_half()) { &HALF_HEADERS[..] } else { &[] };
    complex.iter().copied().chain(further.into_iter().flatten()).chain(half.iter().copied())
}

impl Loop {
    pub(crate) fn header(self) -> Header {
        match self {
            Self::Linear => LINEAR,
            Self::Strided => STRIDED,
            Self::Rows { .. } => ROWS,
            Self::Tiled => TILED,
        }
    }
}

/// The text of a program with any number of kernels.
pub(crate) struct Text {
    text: String,
    headers: Vec<Header>,
    names: Vec<String>,
}

impl Text {
    pub(crate) fn new() -> Self {
        Self { text: String::new(), headers: HEADERS.to_vec(), names: Vec::new() }
    }

    /// Adds the kernel of an expression.
    pub(crate) fn add(&mut self, code: &Code<'_>, which: Loop, policy: &Policy) {
        self.add_named(&format!("e{}", self.names.len()), code, which, policy);
    }

    /// Adds the kernel of an expression, in a namespace of that name.
    pub(crate) fn add_named(&mut self, name: &str, code: &Code<'_>, which: Loop, policy: &Policy) {
        self.include(which.header());
        for header in further_headers(code) {
            self.include(header);
        }
        for source in &code.sources {
            self.include(source.header());
        }
        let _ = writeln!(self.text, "namespace {name} {{\n{}}}", functor(code, "Expression", which.same_along_rows()));
        let expression = format!("{name}::Expression");
        self.text += &check_text(code, which, &expression);
        self.names.push(format!("gpu::array::{}", policy.template(which, &expression)));
    }

    fn include(&mut self, header: Header) {
        if !self.headers.contains(&header) {
            let _ = writeln!(self.text, "#include \"{}\"", header.name);
            self.headers.push(header);
        }
    }

    pub(crate) fn program(self) -> Program {
        let program = loop_program("expression.cu", self.text);
        let program = self.headers.iter().fold(program, |program, header| program.header(header.name, header.text));
        self.names.into_iter().fold(program, Program::name_expression)
    }
}

/// A program that instantiates a loop around an expression or an operator: lambdas carry no `__device__`, and the kernel waits for its stream itself.
pub fn loop_program(name: &str, text: String) -> Program {
    Program::new(name, text).option("-default-device").minimal().overlapping()
}

/// The structure of an expression, as `loop.cuh` describes it. `same`: the leaves that have one value for all places of a row, as bits.
pub(crate) fn functor(code: &Code<'_>, name: &str, same: u64) -> String {
    let leaves = code.leaves.iter().map(|leaf| match leaf.memory {
        LeafMemory::Nowhere => "gpu::Index",
        _ => leaf.dtype.cuda_name(),
    });
    let leaves: Vec<_> = leaves.collect();
    let outputs: Vec<_> = code.outputs.iter().map(|&step| code.steps[step as usize].dtype.cuda_name()).collect();
    let mut text = format!(
        "struct {name} {{\n    typedef gpu::Tuple<{}> Leaves;\n    typedef gpu::Tuple<{}> Outputs;\n    \
         static constexpr int SCALARS = {}, EXTRA = {};\n    static constexpr uint64_t SAME = {same}u;\n    \
         static __device__ __forceinline__ void apply(const uint64_t *scalars, const uint64_t *extra, const Leaves &x, Outputs &y) {{\n",
        leaves.join(", "),
        outputs.join(", "),
        code.scalars.len(),
        extra(code).count(),
    );
    let places = SourcePlaces::of(code);
    for (number, step) in code.steps.iter().enumerate() {
        let value = value(code, step, &places, ("x", ""), &|arg| format!("v{arg}"));
        let _ = writeln!(text, "        const {} v{number} = {value};", step.dtype.cuda_name());
    }
    for (number, step) in code.outputs.iter().enumerate() {
        let _ = writeln!(text, "        gpu::get<{number}>(y) = v{step};");
    }
    text += "    }\n";
    if !code.tables.is_empty() {
        text += &apply_packs(code, &places, same);
    }
    text + "};\n"
}
