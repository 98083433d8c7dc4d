//! The text of an elementwise kernel: the user's texts in a frame around the loop of `elementwise.cuh`.

use std::fmt::Write;

use gpu_array::{
    expression,
    gpu_driver::{Header, Program},
};

use super::{super::program::ELEMENTWISE, ElementwiseKernel, policy::ElementwisePolicy};
use crate::Result;

/// Declarations of the kernel's own parameters, in order.
pub(super) const OWN: [&str; 4] =
    ["const uint64_t gpu_count", "const int64_t gpu_start", "const int64_t gpu_step", "const int64_t n"];

/// The program of a kernel, over all places (`all`) or over selected ones.
pub(super) fn program(kernel: &ElementwiseKernel, policy: ElementwisePolicy, all: bool) -> Result<Program> {
    let ElementwiseKernel { name, preamble, loop_prep, after_loop, operation, .. } = kernel;
    let mut text = format!("#include \"{}\"\n", ELEMENTWISE.name);
    // A user's macros may conflict with names in that header, so it is included only if a text mentions `gpu`.
    let operations = expression::HEADERS
        .into_iter()
        .filter(|_| [preamble, loop_prep, operation, after_loop].iter().any(|text| text.contains("gpu")));
    let operations: Vec<Header> = operations.collect();
    if let Some(first) = operations.first() {
        let _ = writeln!(text, "#include \"{}\"", first.name);
    }
    let _ = writeln!(text, "{}{preamble}", kernel.types.text());
    let own = OWN.map(str::to_owned).into_iter();
    let parameters: Vec<String> = own.chain(kernel.arguments.iter().map(|argument| argument.parameter())).collect();
    let _ = write!(
        text,
        "template <int THREADS, int VECTORS_PER_THREAD, bool ALL>\n__global__ void __launch_bounds__(THREADS) {name}(\n    {}) {{\n",
        parameters.join(",\n    ")
    );
    for argument in &kernel.arguments {
        let _ = writeln!(
            text,
            "    static_assert(sizeof({}) == {}, \"the size in Rust\");",
            argument.element(),
            kernel.bytes(argument)?
        );
    }
    let _ = write!(
        text,
        "{loop_prep}\n;   gpu::for_each_place<THREADS, VECTORS_PER_THREAD, ALL>(gpu_count, gpu_start, gpu_step, \
         [&](const int64_t i) {{\n{operation}\n;   }});\n\
         {after_loop}\n;}}\n"
    );
    // Functions of the preamble need no `__device__`. The launch does not overlap the work before it (`Program::overlapping`): the compiler may move
    // loads through constant restricted pointers before the kernel's wait.
    let program = Program::new(format!("{name}.cu"), text).option("-default-device");
    let headers = [ELEMENTWISE].into_iter().chain(operations).chain(kernel.types.headers().iter().copied());
    let program = headers.fold(program, |program, header| program.header(header.name, header.text));
    let program = kernel.options.iter().fold(program, Program::option);
    Ok(program.name_expression(format!("{name}<{}>", policy.template(all))))
}
