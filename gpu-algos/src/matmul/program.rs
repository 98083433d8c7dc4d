//! The programs of the kernels of products: their headers, and the text that names a kernel with its template arguments.

use gpu_array::{
    DType,
    expression::{HEADERS, loop_program},
    gpu_driver::{COMPLEX, HALF, Header, Program, SHARED_ADDRESS, TENSOR_COPY, WARPGROUP},
};

use super::{
    epilogue::EPILOGUE,
    params::{ExtendedParams, PARAMS, check_text},
    policy::{MatmulPolicy, TileKernel, cuda_element},
    stack::{StackPolicy, is_narrow},
    tensor_cores,
    warps::WarpTile,
};
use crate::common::launch::with_headers;

pub(super) const MATMUL: Header = Header { name: "matmul.cuh", text: include_str!("device/matmul.cuh") };
pub(super) const SHARES: Header = Header { name: "matmul_shares.cuh", text: include_str!("device/matmul_shares.cuh") };
pub(super) const SKINNY: Header = Header { name: "matmul_skinny.cuh", text: include_str!("device/matmul_skinny.cuh") };
pub(super) const BOXES: Header = Header { name: "matmul_boxes.cuh", text: include_str!("device/matmul_boxes.cuh") };
pub(super) const STACK: Header = Header { name: "matmul_stack.cuh", text: include_str!("device/matmul_stack.cuh") };
const STACK_NARROW: Header = Header { name: "stack_narrow.cuh", text: include_str!("device/stack_narrow.cuh") };
pub(super) const WARPS: Header = Header { name: "matmul_warps.cuh", text: include_str!("device/matmul_warps.cuh") };
const COMPLEX_BOXES: Header = Header { name: "complex_boxes.cuh", text: include_str!("device/complex_boxes.cuh") };
const LISTED: Header = Header { name: "listed.cuh", text: include_str!("device/listed.cuh") };
const MULTIPLY: Header = Header { name: "multiply.cuh", text: include_str!("device/multiply.cuh") };
const MULTIPLY_COMPLEX: Header =
    Header { name: "multiply_complex.cuh", text: include_str!("device/multiply_complex.cuh") };
const OPERAND_TILE: Header = Header { name: "operand_tile.cuh", text: include_str!("device/operand_tile.cuh") };

/// The program of a kernel of tiles.
pub(super) fn of_tiles(dtype: DType, policy: &MatmulPolicy, extended: Option<ExtendedParams>) -> Program {
    let (text, mut headers, template) = match extended {
        Some(ExtendedParams { text, headers, params }) => (text, headers, policy.template_of(dtype, &params)),
        None => (String::new(), Vec::new(), policy.template(dtype)),
    };
    let header = match policy.kernel {
        TileKernel::Tiles => MATMUL,
        TileKernel::Shares => SHARES,
        TileKernel::Skinny => SKINNY,
        TileKernel::Boxes => BOXES,
    };
    if policy.kernel != TileKernel::Boxes {
        headers.push(MATMUL);
        return program_with(header, dtype, template, &text, &headers);
    }
    headers.extend([SHARED_ADDRESS, TENSOR_COPY, WARPGROUP, tensor_cores::PARAMS, tensor_cores::BOX_STAGES, MATMUL]);
    let mut include = String::new();
    if dtype.is_complex() {
        headers.push(COMPLEX_BOXES);
        include = format!("#include \"{}\"\n", COMPLEX_BOXES.name);
    }
    let tile = format!("gpu::algos::matmul::BoxTile<{}, {}>", cuda_element(dtype), policy.tile.text());
    let (threads, bytes) = (policy.tile.threads(dtype), policy.tile.shared_bytes(dtype));
    let text = format!(
        "{include}static_assert({tile}::THREADS == {threads} && {tile}::SHARED_BYTES == {bytes}, \"the launch is that of the tile\");\n{text}"
    );
    program_with(header, dtype, template, &text, &headers).architecture_specific()
}

/// The program of the kernel of stacks of small matrices.
pub(super) fn of_stack(dtype: DType, policy: &StackPolicy, extended: Option<ExtendedParams>) -> Program {
    match extended {
        Some(ExtendedParams { text, headers, params }) => {
            program_with(STACK, dtype, policy.template_of(dtype, &params), &text, &headers)
        }
        None if is_narrow(dtype) => {
            let include = format!("#include \"{}\"\n", STACK_NARROW.name);
            program_with(STACK, dtype, policy.template(dtype), &include, &[HALF, STACK_NARROW])
        }
        None => program_with(STACK, dtype, policy.template(dtype), "", &[]),
    }
}

/// The parameters of kernels of matrices that lie anywhere.
pub(super) fn listed() -> ExtendedParams {
    let (text, params) = (format!("#include \"{}\"\n", LISTED.name), "gpu::algos::matmul::ListedParams".to_owned());
    ExtendedParams { text, headers: vec![LISTED], params }
}

/// The program of the kernel of warps.
pub(super) fn of_warps(dtype: DType, tile: &WarpTile) -> Program {
    program_with(WARPS, dtype, tile.template(dtype), "", &[MATMUL])
}

/// The program of the kernel that `template` names in a header, which includes `further`, with the text of its parameters.
fn program_with(header: Header, dtype: DType, template: String, params: &str, further: &[Header]) -> Program {
    let of_element = if dtype.is_complex() { &[COMPLEX, MULTIPLY_COMPLEX][..] } else { &[] };
    let includes = [&header].into_iter().chain(of_element).map(|header| format!("#include \"{}\"\n", header.name));
    let text = includes.chain([check_text(), params.to_owned()]).collect::<String>();
    let program = loop_program("matmul.cu", text).name_expression(template);
    let headers = HEADERS.into_iter().chain([PARAMS, OPERAND_TILE, MULTIPLY, EPILOGUE, header]);
    with_headers(program, headers.chain(of_element.iter().chain(further).copied()))
}
