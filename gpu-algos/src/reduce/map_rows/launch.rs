//! The program and the launch of `map_rows`.
#![expect(unsafe_code, reason = "the launch of a generated kernel")]

use gpu_array::{
    expression::{Chain, Lowered, loop_program},
    gpu_driver::{GeneratedKernel, Header, KernelSpace, LaunchConfig, PARAMETER_BYTES, Program, Stream},
};
use smallvec::SmallVec;

use super::{
    constants::PACKED_LEAF,
    params::{PARAMS, check_text, params},
    plan::RowPlan,
    policy::RowPolicy,
    problem::RowProblem,
};
use crate::{
    Result,
    common::{
        launch::{unique, with_headers},
        operator::DeviceOperator,
        samples::Sample,
        source::ValueSource,
    },
    device::HEADERS,
    reduce::{launch::REDUCE, params::PARAMS as REDUCE_PARAMS},
};

pub(crate) const MAP_ROWS: Header = Header { name: "map_rows.cuh", text: include_str!("../device/map_rows.cuh") };

/// The keys of kernels of maps of rows.
static SPACE: KernelSpace = KernelSpace::new();

/// An expression of the kernel: its source, and for each leaf its stage or its kind.
struct KernelExpression<'p> {
    source: &'p dyn ValueSource,
    stages: SmallVec<[i32; 4]>,
}

/// Enqueues the launch, or returns false where its parameters are too many. Does not wait.
///
/// # Errors
/// Those of the compiler and of the launch.
pub(super) fn run(
    problem: &RowProblem<'_, '_>,
    RowPlan { policy, blocks }: &RowPlan,
    chain: &Chain<'_, '_>,
    stream: &Stream,
) -> Result<bool> {
    let params = params(problem, policy.vector_size as usize);
    if size_of_val(&params[..]) > PARAMETER_BYTES {
        return Ok(false);
    }
    let kernel = kernel(problem, policy, stream)?;
    let config = LaunchConfig { grid: (*blocks as u32).into(), block: policy.threads.into(), shared_bytes: 0 };
    let of_expressions = problem.expressions.iter().flat_map(|expression| expression.homes());
    let homes = unique(of_expressions.map(|home| -> &Stream { home }).chain([chain.target.home]));
    // SAFETY: the params fulfil the kernel's contract: `params` made them of the axes. Every offset lies within the view that a leaf or the target was made
    // from. These borrow their elements until this call returns, the target exclusively but for elements that stand at the same place of a leaf
    // (`Chain`), and their homes precede and follow the launch.
    unsafe { kernel.launch(config, &params, &homes, stream)? };
    Ok(true)
}

fn kernel(problem: &RowProblem<'_, '_>, policy: &RowPolicy, stream: &Stream) -> Result<GeneratedKernel> {
    let parts = parts(problem, policy);
    let mut key: SmallVec<[u64; 64]> = SmallVec::new();
    key.extend_from_slice(&[SPACE.word(), policy.key(), parts.len() as u64]);
    key.extend(problem.operators.iter().map(DeviceOperator::key));
    for part in &parts {
        key.extend(part.stages.iter().map(|&stage| stage as u64));
        part.source.add_key(&mut key);
    }
    let generate = || Ok(program(&parts, &problem.operators, policy));
    Ok(stream.device().generated_kernel(&SPACE, &key, generate)?)
}

fn parts<'p>(problem: &'p RowProblem<'_, '_>, policy: &RowPolicy) -> SmallVec<[KernelExpression<'p>; 4]> {
    let mut stages = (0..problem.leaves.len()).map(|leaf| problem.stage_or_kind(leaf, policy.vector_size as usize));
    let part = |&source: &&'p Lowered<'_>| KernelExpression {
        source,
        stages: stages.by_ref().take(source.leaves().len()).collect(),
    };
    problem.expressions.iter().map(part).collect()
}

/// The program of the expressions, of which the last one is the map.
fn program(parts: &[KernelExpression<'_>], operators: &[DeviceOperator], policy: &RowPolicy) -> Program {
    let (mut definitions, mut expressions) = (String::new(), Vec::new());
    let mut headers: Vec<Header> = Vec::new();
    let (mut leaves, mut scalars) = (0, 0);
    for (number, part) in parts.iter().enumerate() {
        let (text, of_part) = part.source.text(&format!("Values{number}"));
        let stages: String = part.stages.iter().map(|stage| format!(", {stage}")).collect();
        expressions.push(format!("gpu::algos::reduce::RowExpression<Values{number}, {leaves}, {scalars}{stages}>"));
        definitions += &text;
        headers.extend(of_part);
        (leaves, scalars) = (leaves + part.stages.len(), scalars + part.source.scalars().len());
    }
    let map = expressions.pop().unwrap_or_default();
    let stages: Vec<String> = (operators.iter().zip(&expressions))
        .map(|(operator, values)| format!("gpu::algos::reduce::RowStage<{}, {values}>", operator.text()))
        .collect();
    let rows = format!(
        "gpu::algos::reduce::RowProgram<{}, {map}, gpu::algos::reduce::RowStages<{}>, {leaves}, {scalars}>",
        policy.tile(),
        stages.join(", "),
    );
    // Under a short name, since the text of the check repeats it.
    let check = check_text("CheckedProgram", leaves, scalars);
    let text = format!("#include \"{}\"\n{definitions}typedef {rows} CheckedProgram;\n{check}", MAP_ROWS.name);
    let program = loop_program("map_rows.cu", text).name_expression(format!("gpu::algos::reduce::map_rows<{rows}>"));
    with_headers(program, headers.into_iter().chain(HEADERS).chain([REDUCE_PARAMS, REDUCE, PARAMS, MAP_ROWS]))
}

/// The program of a map that is the last of some reductions of one array, each of which reads the array alone, for checks without a device.
pub(crate) fn sample(sample: &Sample, operators: &[DeviceOperator]) -> Program {
    let policy = RowPolicy::sample(sample.0.bytes());
    let array = || KernelExpression { source: sample, stages: SmallVec::from_slice(&[PACKED_LEAF]) };
    let parts: Vec<KernelExpression<'_>> = (0..=operators.len()).map(|_| array()).collect();
    program(&parts, operators, &policy)
}
