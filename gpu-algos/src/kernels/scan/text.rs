//! The text of a scan: the user's texts as functions, which the loop of `places.cuh` calls.

use gpu_array::{
    expression,
    gpu_driver::{DevicePod, Header, Program},
};

use super::{
    super::program::{ELEMENTWISE, beginning, named},
    ScanKernel,
    policy::{Policy, run_bytes},
};
use crate::{
    Result,
    device::{HEADERS, TILES, params::TILE_PARAMS},
    launch::with_headers,
    scan::{SCANNED, SINGLE_PASS},
};

pub(super) const SCAN_INDICES: Header = Header { name: "places.cuh", text: include_str!("places.cuh") };

/// Number of words before those of the arguments, as in `places.cuh`.
pub(super) const OWN: usize = 6;

/// The functions of the texts, in order: result type, name, and parameters besides the common ones.
const FUNCTIONS: [(&str, &str, &str); 3] = [
    ("gpu_state", "gpu_input", ""),
    ("bool", "gpu_begins", ""),
    ("void", "gpu_output", ", const gpu_state item, const gpu_state prev_item"),
];

/// The program of a kernel, over all places (`all`) or over selected ones.
pub(super) fn program<T: DevicePod>(kernel: &ScanKernel<T>, policy: Policy, all: bool) -> Result<Program> {
    let [identity, scan, input, output] = &kernel.texts;
    let (names, words) = named(&kernel.name, &kernel.arguments, &kernel.types, OWN)?;
    let mut text = String::from("#include \"places.cuh\"\n");
    text += &beginning(&kernel.types, &kernel.preamble, T::CUDA_NAME, identity, scan);
    let segments = kernel.segments.as_deref();
    let bodies =
        [format!("return {input};"), format!("return {};", segments.unwrap_or("false")), format!("{output}\n;")];
    for ((result, name, besides), body) in FUNCTIONS.into_iter().zip(bodies) {
        text += &format!(
            "static __device__ __forceinline__ {result} {name}(const uint64_t *gpu_words, const int64_t i{besides}) {{\n\
             \x20       [[maybe_unused]] const int64_t n = int64_t(gpu_words[gpu::places::LENGTH]);\n{names}        {body}\n}}\n"
        );
    }
    let (bytes, run) = (size_of::<T>(), run_bytes(size_of::<T>(), align_of::<T>(), segments.is_some()));
    text += &format!(
        "struct gpu_scan {{\n    typedef gpu_state State;\n\
         \x20   static constexpr int WORDS = {words};\n    static constexpr bool SEGMENTS = {};\n\
         \x20   static __device__ __forceinline__ State identity() {{ return gpu_neutral(); }}\n\
         \x20   static __device__ __forceinline__ State combine(const State &a, const State &b) {{ return gpu_combine(a, b); }}\n\
         \x20   static __device__ __forceinline__ State input(const uint64_t *words, int64_t i) {{ return gpu_input(words, i); }}\n\
         \x20   static __device__ __forceinline__ bool begins(const uint64_t *words, int64_t i) {{ return gpu_begins(words, i); }}\n\
         \x20   static __device__ __forceinline__ void output(const uint64_t *words, int64_t i, const State &item, const State &before) {{\n\
         \x20       gpu_output(words, i, item, before);\n    }}\n}};\n\
         static_assert(sizeof(gpu_state) == {bytes} && sizeof(gpu::scan::SegmentedOperator<gpu_scan, gpu_scan::SEGMENTS>::State) <= {run}, \"the sizes in Rust\");\n",
        segments.is_some()
    );
    let program = Program::new("scan.cu", text).option("-default-device").overlapping();
    let program = program.name_expression(policy.template("gpu_scan", all));
    let program = kernel.options.iter().fold(program, Program::option);
    let headers = expression::HEADERS.into_iter().chain(HEADERS);
    Ok(with_headers(program, headers.chain([TILE_PARAMS, TILES, SCANNED, SINGLE_PASS, ELEMENTWISE, SCAN_INDICES])))
}
