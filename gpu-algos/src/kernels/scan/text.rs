//! The text of a scan: the user's texts as functions, which the loop of `scan_kernel.cuh` calls.

use gpu_array::{
    expression,
    gpu_driver::{DevicePod, Header, Program},
};

use super::{
    super::program::{ELEMENTWISE, beginning, named},
    ScanKernel,
    params::{PARAMS, ScanKernelHead},
    policy::{ScanKernelPolicy, run_bytes},
};
use crate::{
    Result,
    block::slot_bytes,
    common::launch::with_headers,
    device::{HEADERS, TILES, params::TILE_PARAMS},
    scan::{RESULT_WORD, SINGLE_PASS},
};

pub(super) const SCAN_KERNEL: Header = Header { name: "scan_kernel.cuh", text: include_str!("scan_kernel.cuh") };

/// The functions of the texts, in order: result type, name, and parameters besides the common ones.
const FUNCTIONS: [(&str, &str, &str); 3] = [
    ("gpu_state", "gpu_input", ""),
    ("bool", "gpu_begins", ""),
    ("void", "gpu_output", ", const gpu_state item, const gpu_state prev_item"),
];

/// The program of a kernel, over all places (`all`) or over selected ones.
pub(super) fn program<T: DevicePod>(kernel: &ScanKernel<T>, policy: ScanKernelPolicy, all: bool) -> Result<Program> {
    let [identity, scan, input, output] = &kernel.texts;
    let (names, argument_words) = named(&kernel.name, &kernel.arguments, &kernel.types, 0)?;
    let mut text = String::from("#include \"scan_kernel.cuh\"\n");
    text += &format!("typedef gpu::algos::kernels::ScanKernelParams<{argument_words}> gpu_params;\n");
    text += &ScanKernelHead::check("gpu_params", [argument_words.max(1)]);
    text += &beginning(&kernel.types, &kernel.preamble, T::CUDA_NAME, identity, scan);
    let segments = kernel.segments.as_deref();
    let bodies =
        [format!("return {input};"), format!("return {};", segments.unwrap_or("false")), format!("{output}\n;")];
    for ((result, name, besides), body) in FUNCTIONS.into_iter().zip(bodies) {
        text += &format!(
            "static __device__ __forceinline__ {result} {name}(const gpu_params &gpu_given, const int64_t i{besides}) {{\n\
             \x20       [[maybe_unused]] const int64_t n = int64_t(gpu_given.length);\n\
             \x20       [[maybe_unused]] const uint64_t *gpu_words = gpu_given.arguments.at;\n{names}        {body}\n}}\n"
        );
    }
    let (bytes, run) = (size_of::<T>(), run_bytes(size_of::<T>(), align_of::<T>(), segments.is_some()));
    text += &format!(
        "struct gpu_scan {{\n    typedef gpu_state State;\n\
         \x20   typedef gpu_params Params;\n    static constexpr bool SEGMENTS = {};\n\
         \x20   static __device__ __forceinline__ State identity() {{ return gpu_identity(); }}\n\
         \x20   static __device__ __forceinline__ State combine(const State &a, const State &b) {{ return gpu_combine(a, b); }}\n\
         \x20   static __device__ __forceinline__ State input(const gpu_params &params, int64_t i) {{ return gpu_input(params, i); }}\n\
         \x20   static __device__ __forceinline__ bool begins(const gpu_params &params, int64_t i) {{ return gpu_begins(params, i); }}\n\
         \x20   static __device__ __forceinline__ void output(const gpu_params &params, int64_t i, const State &item, const State &before) {{\n\
         \x20       gpu_output(params, i, item, before);\n    }}\n}};\n\
         typedef gpu::algos::scan::SegmentedOperator<gpu_scan, gpu_scan::SEGMENTS>::State gpu_aggregate;\n\
         static_assert(sizeof(gpu_state) == {bytes} && sizeof(gpu_aggregate) <= {run}, \"the sizes in Rust\");\n\
         static_assert(sizeof(gpu::Slot<gpu_aggregate>) <= {}, \"the slots in Rust\");\n",
        segments.is_some(),
        slot_bytes(run)
    );
    let program = Program::new("scan.cu", text).option("-default-device").overlapping();
    let program = program.name_expression(policy.template("gpu_scan", all));
    let program = kernel.options.iter().fold(program, Program::option);
    let headers = expression::HEADERS.into_iter().chain(HEADERS).chain(kernel.types.headers().iter().copied());
    Ok(with_headers(
        program,
        headers.chain([TILE_PARAMS, TILES, RESULT_WORD, SINGLE_PASS, ELEMENTWISE, PARAMS, SCAN_KERNEL]),
    ))
}
