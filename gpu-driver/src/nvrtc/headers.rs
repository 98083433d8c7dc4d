//! Headers that every program may include without passing them along, in memory: those of C and CUDA that texts include anywhere.
//!
//! The set is one for GPUs and for the emulated device, which has texts of its own for some (`gpu-driver/emulated/src/cuda`). A program is compiled with
//! those alone that its texts name, so that the digests of others stay.

use std::{collections::HashSet, path::Path};

use gpu_driver_core::includes::included;
use gpu_driver_emulated as emulated;

use super::{Header, PRELUDE};

macro_rules! standard {
    ($($text:literal: $($name:literal)*;)*) => {
        &[$($(Header { name: $name, text: include_str!(concat!("../prelude/", $text)) },)*)*]
    };
}

/// The headers that stand here, by each of their names.
const STANDARD: &[Header] = standard! {
    "standard/builtin.cuh": "assert.h" "cassert" "cstdio" "cstdlib" "cstring" "cuda_runtime.h" "cuda_runtime_api.h" "device_launch_parameters.h"
        "stdio.h" "stdlib.h" "string.h" "vector_functions.h" "vector_types.h";
    "standard/cfloat.cuh": "cfloat" "float.h";
    "standard/climits.cuh": "climits" "limits.h";
    "standard/cmath.cuh": "cmath" "math.h";
    "standard/cstddef.cuh": "cstddef" "stddef.h";
    "standard/cstdint.cuh": "cstdint" "stdint.h";
    "standard/cuComplex.cuh": "cuComplex.h";
    "standard/cuda_bf16.cuh": "cuda_bf16.h";
    "standard/cuda_fp16.cuh": "cuda_fp16.h";
    "standard/cupy_complex.cuh": "cupy/complex.cuh";
    "standard/pycuda_complex.cuh": "pycuda-complex.hpp";
    "chain.cuh": "chain.cuh";
    "complex.cuh": "complex.cuh";
    "half.cuh": "half.cuh";
};

/// A part of others, which no program names.
const PART: Header = Header { name: "gpu/small_float.cuh", text: include_str!("../prelude/standard/small_float.cuh") };

const MATH_CONSTANTS: Header = Header { name: "math_constants.h", text: emulated::MATH_CONSTANTS };

/// The header of that name.
fn find(name: &str) -> Option<Header> {
    STANDARD.iter().chain([&PART, &MATH_CONSTANTS]).find(|header| header.name == name).copied()
}

/// The names that a program may include beside its own headers, in alphabetical order.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = STANDARD.iter().chain([&MATH_CONSTANTS, &PRELUDE]).map(|header| header.name).collect();
    names.sort_unstable();
    names
}

/// The headers of the set that texts include, directly or through each other; but none of a name that the program has itself, or of a file in its folders.
pub(super) fn needed(texts: &[(String, String)], text: &str, folders: &[&str], for_emulated: bool) -> Vec<Header> {
    let mut seen: HashSet<String> = texts.iter().map(|(name, _)| name.clone()).collect();
    let mut waiting: Vec<String> = texts.iter().flat_map(|(_, text)| included(text)).chain(included(text)).collect();
    let mut needed = Vec::new();
    while let Some(name) = waiting.pop() {
        if !seen.insert(name.clone()) || folders.iter().any(|folder| Path::new(folder).join(&name).exists()) {
            continue;
        }
        // The emulated device's own texts need no others.
        let Some(header) = find(&name).filter(|_| !(for_emulated && emulated::has_header(&name))) else { continue };
        waiting.extend(included(header.text));
        needed.push(header);
    }
    needed.sort_by_key(|header| header.name);
    needed
}

/// The names that texts include and nobody has.
pub(super) fn missing(texts: &[(String, String)], text: &str, folders: &[&str]) -> Vec<String> {
    let held = |name: &String| {
        texts.iter().any(|(held, _)| held == name)
            || find(name).is_some()
            || folders.iter().any(|folder| Path::new(folder).join(name).exists())
    };
    let all = texts.iter().flat_map(|(_, text)| included(text)).chain(included(text));
    let mut missing: Vec<String> = all.filter(|name| !held(name) && !Path::new(name).is_absolute()).collect();
    missing.sort();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(text: &str, own: &[&str]) -> Vec<&'static str> {
        let own: Vec<_> = own.iter().map(|&name| (name.to_owned(), String::new())).collect();
        needed(&own, text, &[], false).into_iter().map(|header| header.name).collect()
    }

    #[test]
    fn a_program_has_the_headers_that_it_includes() {
        assert!(names_of("__global__ void f() {}", &[]).is_empty());
        assert_eq!(names_of("#include <cfloat>\n  #  include \"stdint.h\"", &["prelude.cuh"]), ["cfloat", "stdint.h"]);
        assert_eq!(
            names_of("#include <cuda_fp16.h>", &["prelude.cuh"]),
            ["cuda_fp16.h", "gpu/small_float.cuh", "half.cuh"]
        );
        assert_eq!(names_of("#include <cfloat>", &["cfloat"]), [""; 0]);
        let own = [("a.h".to_owned(), "#include <b.h>".to_owned())];
        assert_eq!(missing(&own, "#include \"a.h\"\n#include <vector>\n#include <cmath>", &[]), ["b.h", "vector"]);
    }

    #[test]
    fn every_name_is_there_once() {
        let all = names();
        let unique: HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len(), "{all:?}");
        assert!(all.iter().all(|name| *name == PRELUDE.name || find(name).is_some()));
    }
}
