//! Rust's names as C++ takes them.

use syn::{Error, Ident, Result, ext::IdentExt};

/// The words of C++17 that Rust has not taken for itself, and so could be names there.
#[rustfmt::skip]
const KEYWORDS: [&str; 81] = [
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char", "char16_t", "char32_t",
    "class", "compl", "const", "const_cast", "constexpr", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else",
    "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace",
    "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
    "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while",
];

/// The name, where C++ can have it.
pub(crate) fn check(name: &Ident) -> Result<String> {
    let text = name.unraw().to_string();
    if KEYWORDS.contains(&text.as_str()) || text.starts_with("__") || !text.is_ascii() {
        return Err(Error::new(name.span(), format!("`{text}` cannot be a name in CUDA C++")));
    }
    Ok(text)
}
