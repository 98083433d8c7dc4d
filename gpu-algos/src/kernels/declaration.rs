//! The arguments that a kernel declares, as text in C or as types of Rust.

use std::{any::TypeId, fmt};

use gpu_array::{
    Complex, bf16, f16,
    gpu_driver::{COMPLEX, HALF, Header, KernelType},
};

use crate::{AlgoError, Result};

/// Role of an argument in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A number or a structure, `T x`.
    Value,
    /// An array that it reads, `const T *x`.
    Input,
    /// An array that it may write, `T *x`.
    Output,
}

/// A type of Rust as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RustType {
    pub(crate) id: TypeId,
    pub(crate) bytes: usize,
}

impl RustType {
    pub(crate) fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), bytes: size_of::<T>() }
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    /// The type of the value or of an element, as it was spelled.
    pub(crate) spelled: String,
    /// The Rust type; None if the kernel must be told of the name.
    pub(crate) rust: Option<RustType>,
    pub(crate) role: Role,
    /// Whether it is an array of any length, and not one with an element for each place.
    pub(crate) is_table: bool,
}

/// The types that need no definition. Widths are those of 64-bit Linux, which the kernel's text asserts.
#[rustfmt::skip]
fn number(spelled: &str) -> Option<RustType> {
    Some(match spelled {
        "float" => RustType::of::<f32>(),
        "double" => RustType::of::<f64>(),
        "gpu::f16" => RustType::of::<f16>(),
        "gpu::bf16" => RustType::of::<bf16>(),
        "gpu::Complex<float>" => RustType::of::<Complex<f32>>(),
        "gpu::Complex<double>" => RustType::of::<Complex<f64>>(),
        "bool" => RustType::of::<bool>(),
        "char" | "signed char" | "int8_t" => RustType::of::<i8>(),
        "unsigned char" | "uint8_t" => RustType::of::<u8>(),
        "short" | "short int" | "int16_t" => RustType::of::<i16>(),
        "unsigned short" | "unsigned short int" | "uint16_t" => RustType::of::<u16>(),
        "int" | "signed" | "signed int" | "int32_t" => RustType::of::<i32>(),
        "unsigned" | "unsigned int" | "uint32_t" => RustType::of::<u32>(),
        "long" | "long int" | "long long" | "long long int" | "int64_t" => RustType::of::<i64>(),
        "unsigned long" | "unsigned long int" | "unsigned long long" | "unsigned long long int" | "uint64_t" | "size_t" => RustType::of::<u64>(),
        _ => return None,
    })
}

/// Words of type names. One of them at the end of an argument is not the argument's name.
const TYPE_WORDS: [&str; 12] =
    ["float", "double", "bool", "char", "short", "int", "long", "signed", "unsigned", "void", "const", "size_t"];

impl Declared {
    /// An argument of a type of Rust.
    pub(crate) fn of<T: KernelType>(name: &str, role: Role, is_table: bool) -> Self {
        Self {
            name: name.to_owned(),
            spelled: T::CUDA_TYPE.to_owned(),
            rust: Some(RustType::of::<T>()),
            role,
            is_table,
        }
    }

    /// An argument in C, such as `const float *x`.
    fn parse(text: &str) -> Result<Self> {
        let wrong = |why| AlgoError::Argument { argument: text.to_owned(), why };
        if text.is_empty() {
            return Err(wrong("there is nothing between two commas"));
        }
        let (text, is_table) = match text.strip_suffix("[]") {
            Some(text) => (text.trim_end(), true),
            None => (text, false),
        };
        let strange = |c: char| {
            !(c.is_ascii_alphanumeric() || c == '_' || matches!(c, ':' | '*' | '<' | '>') || c.is_whitespace())
        };
        if text.contains(strange) {
            return Err(wrong(
                "expected `type name`, `type *name` or `type name[]`, and `const` before an array that is only read",
            ));
        }
        let (before, after) = match text.split_once('*') {
            Some((before, after)) => (before, Some(after)),
            None => (text, None),
        };
        if after.is_some_and(|after| is_table || after.contains('*')) {
            return Err(wrong("pointers to pointers are not passed"));
        }
        let mut tokens: Vec<&str> = before.split_whitespace().collect();
        let name = match after {
            None => tokens.pop().unwrap_or_default(),
            Some(after) => pointer_name(after).map_err(wrong)?,
        };
        let is_const = tokens.contains(&"const");
        tokens.retain(|&token| token != "const");
        if tokens.is_empty() || TYPE_WORDS.contains(&name) || name.is_empty() {
            return Err(wrong("a type and a name are needed"));
        }
        let spelled = tokens.join(" ");
        let rust = number(&spelled);
        if rust.is_none() && (tokens.len() > 1 || !tokens[0].split("::").all(is_identifier)) {
            return Err(wrong("the type is neither a number nor the name of a structure"));
        }
        let role = match (after.is_some() || is_table, is_const) {
            (false, _) => Role::Value,
            (_, true) => Role::Input,
            (_, false) => Role::Output,
        };
        Ok(Self { name: name.to_owned(), spelled, rust, role, is_table })
    }

    /// The header with its type.
    pub(crate) fn header(&self) -> Option<Header> {
        match self.spelled.as_str() {
            "gpu::f16" | "gpu::bf16" => Some(HALF),
            "gpu::Complex<float>" | "gpu::Complex<double>" => Some(COMPLEX),
            _ => None,
        }
    }

    /// The declaration of the kernel's parameter. Pointers are restricted, since Rust's borrows exclude aliases.
    pub(crate) fn parameter(&self) -> String {
        let Self { name, role, .. } = self;
        let element = self.element();
        match role {
            Role::Value => format!("const {element} {name}"),
            Role::Input => format!("const {element} *__restrict__ {name}"),
            Role::Output => format!("{element} *__restrict__ {name}"),
        }
    }

    /// The type of the value, or of an element in memory.
    pub(crate) fn element(&self) -> &str {
        if self.spelled == "bool" && self.role != Role::Value { "gpu::Bool" } else { &self.spelled }
    }
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, spelled, role, is_table, .. } = self;
        let qualifier = if *role == Role::Input { "const " } else { "" };
        match (role, is_table) {
            (Role::Value, _) => write!(f, "{spelled} {name}"),
            (_, false) => write!(f, "{qualifier}{spelled} *{name}"),
            (_, true) => write!(f, "{qualifier}{spelled} {name}[]"),
        }
    }
}

/// The name behind a `*`.
fn pointer_name(after: &str) -> Result<&str, &'static str> {
    let qualifier = |word: &&str| matches!(*word, "const" | "restrict" | "__restrict" | "__restrict__");
    let mut names = after.split_whitespace().filter(|word| !qualifier(word));
    match (names.next(), names.next()) {
        (Some(name), None) => Ok(name),
        (None, _) => Err("a type and a name are needed"),
        _ => Err("one name is expected behind the `*`"),
    }
}

/// Whether `name` can be a name in C++.
pub(crate) fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Checks the name of a kernel with these arguments.
///
/// # Errors
/// `KernelName` unless C++ can have the name, and for that of an argument.
pub(crate) fn check_name(name: &str, arguments: &[Declared]) -> Result<()> {
    let refuse = |why| Err(AlgoError::KernelName { name: name.to_owned(), why });
    if !is_identifier(name) {
        return refuse("it is no name in C++");
    }
    if arguments.iter().any(|argument| argument.name == name) {
        return refuse("an argument has it");
    }
    Ok(())
}

/// The arguments in C, separated by commas.
pub(crate) fn parse(text: &str) -> Result<Vec<Declared>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(|argument| Declared::parse(argument.trim())).collect()
}

/// The arguments as text, for messages.
pub(crate) fn listed(declared: &[Declared]) -> String {
    declared.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Checks that the names are valid, distinct and not reserved by the kernel's text.
pub(crate) fn check_names(declared: &[Declared], taken: &[&str]) -> Result<()> {
    for (number, argument) in declared.iter().enumerate() {
        let name = argument.name.as_str();
        let why = if !is_identifier(name) || TYPE_WORDS.contains(&name) {
            "its name is none in C++"
        } else if taken.contains(&name) || name.starts_with("gpu_") {
            "the name stands for something else in the kernel"
        } else if declared[..number].iter().any(|other| other.name == name) {
            "another argument has the name"
        } else {
            continue;
        };
        return Err(AlgoError::Argument { argument: argument.to_string(), why });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_as_c_has_them() {
        let all = parse(
            "float a, float *x,const double*y, unsigned long long const * __restrict__ z, Pair p, \
                         ns::Pair *q\n,bool const *m, const int t [], float u[]",
        )
        .unwrap();
        let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
        let want = [
            "float a",
            "float *x",
            "const double *y",
            "const unsigned long long *z",
            "Pair p",
            "ns::Pair *q",
            "const bool *m",
            "const int t[]",
            "float u[]",
        ];
        assert_eq!(texts, want);
        let ids = [RustType::of::<f32>(), RustType::of::<f32>(), RustType::of::<f64>(), RustType::of::<u64>()];
        assert_eq!(all.iter().filter_map(|argument| argument.rust).take(4).collect::<Vec<_>>(), ids);
        assert_eq!((all[4].rust, all[5].rust, all[6].rust), (None, None, Some(RustType::of::<bool>())));
        assert_eq!(all[3].parameter(), "const unsigned long long *__restrict__ z");
        assert_eq!(all[6].parameter(), "const gpu::Bool *__restrict__ m");
        assert_eq!(all[7].parameter(), "const int *__restrict__ t");
        assert!(all.iter().map(|argument| argument.is_table).eq([false; 7].into_iter().chain([true; 2])));
        assert_eq!(parse(" \n").unwrap(), []);
    }

    #[test]
    fn what_is_no_argument_is_an_error() {
        for text in [
            "float",
            "float *",
            "float **x",
            "float x[3]",
            "float *x[]",
            "float []",
            "float &x",
            "a, , b",
            "vector<int> x",
            "unsigned float x",
            "float *x y",
            "const",
            "*x",
            "int unsigned",
            "float x;",
            "3d x",
            "volatile int x",
            "float a,",
        ] {
            let error = parse(text).unwrap_err();
            assert!(matches!(error, AlgoError::Argument { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn names_are_different_and_free() {
        let check = |text: &str| check_names(&parse(text).unwrap(), &["i", "n"]);
        check("float a, float *x").unwrap();
        for text in ["float a, int a", "int i", "float *n", "int gpu_count", "int a:b", "int 3a"] {
            assert!(matches!(check(text), Err(AlgoError::Argument { .. })), "{text}");
        }
    }
}
