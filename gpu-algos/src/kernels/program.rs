//! Texts and keys that the programs of all kernels share.

use gpu_array::gpu_driver::{Header, Program};

use super::{
    declaration::{Declared, Role},
    types::Types,
};
use crate::Result;

/// Header with the loop over places, and with the type of `bool` in memory.
pub(super) const ELEMENTWISE: Header =
    Header { name: "elementwise.cuh", text: include_str!("elementwise/elementwise.cuh") };

/// Hash of everything that a program consists of.
pub(super) fn hash(program: &Program) -> [u64; 4] {
    let digest = program.digest();
    let mut key = [0; 4];
    for (word, digits) in key.iter_mut().zip(digest.as_bytes().chunks(16)) {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        *word = u64::from_str_radix(digits, 16).unwrap_or_default();
    }
    key
}

/// The beginning of the texts of reductions and scans: includes, structures, the preamble and the operator.
///
/// The operator is the functions `gpu_identity` and `gpu_combine`. They assign before they return: an empty text is an error there, but not after
/// `return`. All functions that contain a user's text stand outside our namespaces, where no name of ours hides one of the preamble.
pub(super) fn beginning(types: &Types, preamble: &str, state: &str, identity: &str, join: &str) -> String {
    format!(
        "#include \"{}\"\n{}{preamble}\n\
         typedef {state} gpu_state;\n\
         static __device__ __forceinline__ gpu_state gpu_identity() {{ gpu_state gpu_made = {identity}; return gpu_made; }}\n\
         static __device__ __forceinline__ gpu_state gpu_combine(const gpu_state &a, const gpu_state &b) {{ gpu_state gpu_made = {join}; return gpu_made; }}\n\
         template <class V> __device__ __forceinline__ V gpu_value(const uint64_t *words) {{\n\
         \x20   union Both {{ V value; uint64_t word[(sizeof(V) + 7) / 8]; __device__ Both() {{}} }} both;\n\
         \x20   for (int k = 0; k < int((sizeof(V) + 7) / 8); k++) both.word[k] = words[k];\n\
         \x20   return both.value;\n}}\n",
        ELEMENTWISE.name,
        types.text()
    )
}

/// Declarations of the arguments as names in a function, and the number of the word after the last of them.
/// The declarations read the words of `gpu_words` from number `word` on.
///
/// # Errors
/// `UnknownType`.
pub(super) fn named(kernel: &str, arguments: &[Declared], types: &Types, mut word: usize) -> Result<(String, usize)> {
    let mut names = String::new();
    for argument in arguments {
        let bytes = types.find(kernel, argument)?.bytes;
        let (element, name) = (argument.element(), &argument.name);
        names += &match argument.role {
            Role::Value => {
                format!("        [[maybe_unused]] const {element} {name} = gpu_value<{element}>(gpu_words + {word});\n")
            }
            Role::Input => {
                format!(
                    "        [[maybe_unused]] const {element} *{name} = reinterpret_cast<const {element} *>(gpu_words[{word}]);\n"
                )
            }
            Role::Output => format!(
                "        [[maybe_unused]] {element} *{name} = reinterpret_cast<{element} *>(gpu_words[{word}]);\n"
            ),
        };
        names += &format!("        static_assert(sizeof({element}) == {bytes}, \"the size in Rust\");\n");
        word += if argument.role == Role::Value { bytes.div_ceil(size_of::<u64>()) } else { 1 };
    }
    Ok((names, word))
}
