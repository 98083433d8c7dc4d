//! The parameters of kernels from texts: as the text declares them, and as the driver counts them.
//!
//! The driver (from CUDA 12.4 on, and the emulated one) tells the number of a kernel's parameters and their sizes, never their types. The types stand in
//! the text. A declaration is believed where the driver's numbers agree with it, or where the driver tells none; a type that the text alone does not
//! explain (a name of a typedef, a macro or a template) fits any argument of its size.

use gpu_driver_core::lexer::{Token, TokenKind, tokens};

use crate::{ArgumentMismatch, DriverError, Result};

/// A kernel that a text declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) is_extern_c: bool,
    pub(crate) is_template: bool,
    parameters: Vec<Parameter>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameter {
    /// The type as it is written, without the name.
    text: String,
    name: Option<String>,
    form: Form,
}

/// A type in CUDA C++, as far as a text tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Value(Base),
    Pointer { to: Base, is_const: bool },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    /// An integer of so many bytes. Signed and unsigned ones have the same bits.
    Integer(usize),
    Float(usize),
    Void,
    /// The handle of an object, and the argument to pass.
    Handle(&'static str),
    /// A structure, a typedef, a macro, a template's parameter, a pointer to a pointer.
    Named(String),
}

/// The type of an argument, as a launch passes it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct ArgumentType {
    /// The type in CUDA C++, such as `const float *`.
    pub cuda_type: String,
    /// The bytes of the value that is passed, where the type tells them.
    pub bytes: Option<usize>,
}

/// The parameters of one kernel, as far as they are known.
#[derive(Debug)]
pub(crate) struct Signature {
    /// The driver's sizes.
    sizes: Option<Vec<usize>>,
    declared: Option<Vec<Parameter>>,
}

impl Signature {
    pub(crate) fn new(sizes: Option<Vec<usize>>, declaration: Option<&Declaration>) -> Self {
        let agrees = |parameters: &&Vec<Parameter>| match &sizes {
            None => true,
            Some(sizes) => {
                let fits = |(parameter, &bytes): (&Parameter, &usize)| {
                    parameter.form.bytes().is_none_or(|declared| declared == bytes)
                };
                sizes.len() == parameters.len() && parameters.iter().zip(sizes).all(fits)
            }
        };
        let declared = declaration.map(|declaration| &declaration.parameters).filter(agrees).cloned();
        Self { sizes, declared }
    }

    /// Whether arguments of these types may be passed to `kernel`.
    pub(crate) fn check(&self, kernel: &str, given: &[ArgumentType]) -> Result<()> {
        let count = self.sizes.as_ref().map(Vec::len).or(self.declared.as_ref().map(Vec::len));
        let Some(count) = count else { return Ok(()) };
        if count != given.len() {
            let (kernel, parameters) = (kernel.to_owned(), self.to_text());
            return Err(DriverError::ArgumentCount { kernel, expected: count, got: given.len(), parameters });
        }
        given.iter().enumerate().try_for_each(|(at, argument)| self.check_one(kernel, at, argument))
    }

    fn check_one(&self, kernel: &str, at: usize, given: &ArgumentType) -> Result<()> {
        let parameter = self.declared.as_ref().map(|declared| &declared[at]);
        let bytes = self.sizes.as_ref().map(|sizes| sizes[at]).or(parameter.and_then(|p| p.form.bytes()));
        let given_form = form_of(&given.cuda_type);
        let hint = match parameter.map(|parameter| parameter.form.mismatch(&given_form)) {
            Some(Some(hint)) => hint,
            _ if bytes.zip(given.bytes).is_some_and(|(needed, got)| needed != got) => parameter
                .map(|parameter| parameter.form.remedy())
                .unwrap_or_else(|| "the sizes are all that is known of this kernel's parameters".to_owned()),
            _ => return Ok(()),
        };
        let sized = |text: &str, bytes: Option<usize>| match (text.is_empty(), bytes) {
            (true, Some(bytes)) => format!("{bytes} bytes"),
            (_, Some(bytes)) => format!("`{text}` ({bytes} bytes)"),
            (_, None) => format!("`{text}`"),
        };
        let mismatch = ArgumentMismatch {
            kernel: kernel.to_owned(),
            position: at + 1,
            parameter: parameter.and_then(|parameter| parameter.name.clone()).unwrap_or_default(),
            expected: sized(parameter.map_or("", |parameter| &parameter.text), bytes),
            got: sized(&given.cuda_type, given.bytes),
            hint,
        };
        Err(DriverError::ArgumentType(Box::new(mismatch)))
    }

    /// The parameters as a text; empty where only their sizes are known.
    fn to_text(&self) -> String {
        let Some(declared) = &self.declared else { return String::new() };
        let each = declared.iter().map(|parameter| match &parameter.name {
            Some(name) if parameter.text.ends_with('*') => format!("{}{name}", parameter.text),
            Some(name) => format!("{} {name}", parameter.text),
            None => parameter.text.clone(),
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

impl Form {
    fn bytes(&self) -> Option<usize> {
        match self {
            Self::Pointer { .. } | Self::Value(Base::Handle(_)) => Some(size_of::<u64>()),
            Self::Value(Base::Integer(bytes) | Base::Float(bytes)) => Some(*bytes),
            Self::Value(_) => None,
        }
    }

    /// Why an argument of the type `given` does not fit, with the remedy; None where it fits or nobody knows.
    fn mismatch(&self, given: &Form) -> Option<String> {
        match (self, given) {
            (Self::Pointer { to, is_const }, Self::Pointer { to: from, is_const: reads }) => {
                if to.differs_from(from) && *to != Base::Void && *from != Base::Void {
                    return Some("the elements are of another type".to_owned());
                }
                (*reads && !is_const).then(|| {
                    "the kernel may write through this pointer: pass `output()` or `in_out()`, or declare it `const`".to_owned()
                })
            }
            // An address as a number, as `as_raw` gives it.
            (Self::Pointer { .. }, Self::Value(Base::Integer(8) | Base::Named(_))) => None,
            (Self::Pointer { .. }, Self::Value(_)) => {
                Some("pass device memory (`input()`, `output()`, `in_out()`) or a slice of the host".to_owned())
            }
            (Self::Value(Base::Named(_)), _) => None,
            (Self::Value(_), Self::Pointer { .. }) => Some(self.remedy()),
            (Self::Value(needed), Self::Value(got)) => needed.differs_from(got).then(|| self.remedy()),
        }
    }

    fn remedy(&self) -> String {
        let rust = match self {
            Self::Value(Base::Integer(1)) => "an i8 or u8",
            Self::Value(Base::Integer(2)) => "an i16 or u16",
            Self::Value(Base::Integer(4)) => "an i32 or u32",
            Self::Value(Base::Integer(8)) => "an i64, u64 or usize",
            Self::Value(Base::Float(4)) => "an f32",
            Self::Value(Base::Float(8)) => "an f64",
            Self::Value(Base::Handle(argument)) => return format!("pass a `{argument}`"),
            _ => return "pass a value of the parameter's size".to_owned(),
        };
        format!("pass {rust}, or declare the parameter with the argument's type")
    }
}

impl Base {
    /// Whether both are known and not the same. A handle may be passed as the number it is.
    fn differs_from(&self, other: &Base) -> bool {
        let fits = |pair: (&Self, &Self)| matches!(pair, (Self::Named(_), _) | (Self::Handle(_), Self::Integer(8)));
        self != other && !fits((self, other)) && !fits((other, self))
    }

    fn of(words: &[&str]) -> Self {
        let count = |word: &str| words.iter().filter(|&&each| each == word).count();
        let is_builtin = !words.is_empty()
            && words
                .iter()
                .all(|word| matches!(*word, "unsigned" | "signed" | "char" | "short" | "int" | "long" | "double"));
        if is_builtin {
            return match (count("double"), count("char"), count("short"), count("long")) {
                (1, ..) if words.len() == 1 => Self::Float(8),
                (0, 1, 0, 0) => Self::Integer(1),
                (0, 0, 1, 0) => Self::Integer(2),
                (0, 0, 0, 0) => Self::Integer(4),
                (0, 0, 0, _) => Self::Integer(8),
                _ => Self::Named(words.join(" ")),
            };
        }
        let words = words.strip_prefix(&["std", "::"]).unwrap_or(words);
        match words {
            ["float"] => Self::Float(4),
            ["cudaTextureObject_t"] => Self::Handle("&Texture"),
            ["cudaSurfaceObject_t"] => Self::Handle("&mut Surface"),
            ["void"] => Self::Void,
            ["bool" | "int8_t" | "uint8_t"] => Self::Integer(1),
            ["int16_t" | "uint16_t"] => Self::Integer(2),
            ["int32_t" | "uint32_t"] => Self::Integer(4),
            ["int64_t" | "uint64_t" | "size_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t"] => Self::Integer(8),
            _ => Self::Named(words.join(" ")),
        }
    }
}

/// All kernels that a text declares. A name that is declared with different parameters (in branches of an `#if`, or overloaded) has none that is sure,
/// and is left out.
pub(crate) fn declarations(text: &str) -> Vec<Declaration> {
    let all: Vec<Token> = tokens(text).into_iter().filter(|token| token.kind != TokenKind::Directive).collect();
    let words: Vec<&str> = all.iter().map(|token| &text[token.range()]).collect();
    let mut found: Vec<Declaration> = Vec::new();
    let mut unsure: Vec<String> = Vec::new();
    for at in (0..words.len()).filter(|&at| words[at] == "__global__") {
        let Some(declaration) = declaration(&words, at) else { continue };
        match found.iter_mut().find(|other| other.name == declaration.name) {
            None => found.push(declaration),
            Some(other) if forms(other) == forms(&declaration) => other.is_extern_c |= declaration.is_extern_c,
            Some(_) => unsure.push(declaration.name),
        }
    }
    found.retain(|declaration| !unsure.contains(&declaration.name));
    found
}

fn forms(declaration: &Declaration) -> Vec<&Form> {
    declaration.parameters.iter().map(|parameter| &parameter.form).collect()
}

/// The declaration that holds the `__global__` at `at`.
fn declaration(words: &[&str], at: usize) -> Option<Declaration> {
    let start = words[..at].iter().rposition(|word| matches!(*word, ";" | "}" | "{")).map_or(0, |end| end + 1);
    let before = &words[start..at];
    let in_block = start >= 3 && words[start - 3..start] == ["extern", "\"C\"", "{"];
    let is_extern_c = in_block || before.windows(2).any(|pair| pair == ["extern", "\"C\""]);
    let mut now = at + 1;
    loop {
        let word = *words.get(now)?;
        if words.get(now + 1) == Some(&"(") {
            if !matches!(
                word,
                "__launch_bounds__" | "__cluster_dims__" | "__maxnreg__" | "__block_size__" | "__attribute__"
            ) {
                break;
            }
            now = behind_group(words, now + 1)?;
        } else if word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            now += 1;
        } else {
            return None;
        }
    }
    let end = behind_group(words, now + 1)? - 1;
    let parameters = parameters(&words[now + 2..end]);
    Some(Declaration {
        name: words[now].to_owned(),
        is_extern_c,
        is_template: before.first() == Some(&"template"),
        parameters,
    })
}

/// The place behind the group that opens at `at`.
fn behind_group(words: &[&str], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (place, word) in words.iter().enumerate().skip(at) {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}

fn parameters(words: &[&str]) -> Vec<Parameter> {
    let (mut depth, mut list, mut one) = (0i32, Vec::new(), Vec::new());
    for &word in words {
        match word {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            _ => {}
        }
        if word == "," && depth == 0 {
            list.push(parameter(&std::mem::take(&mut one)));
        } else {
            one.push(word);
        }
    }
    if !one.is_empty() && one != ["void"] {
        list.push(parameter(&one));
    }
    list
}

fn parameter(words: &[&str]) -> Parameter {
    const OF_POINTERS: [&str; 3] = ["__restrict__", "__restrict", "restrict"];
    let words: Vec<&str> = words
        .iter()
        .take_while(|&&word| word != "=")
        .copied()
        .filter(|word| !OF_POINTERS.contains(word) && !matches!(*word, "__grid_constant__" | "volatile"))
        .collect();
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !KEYWORDS.contains(&word);
    let (bracket, star) = (words.iter().position(|&word| word == "["), words.iter().rposition(|&word| word == "*"));
    let until = bracket.unwrap_or(words.len());
    // The name stands last, and behind the type of which something must be there.
    let of_type = words[..until].iter().filter(|&&word| word != "const").count();
    let has_name = until > 0 && is_name(words[until - 1]) && of_type > 1 && words[until - 2..until - 1] != ["::"];
    let name = has_name.then(|| words[until - 1].to_owned());
    let type_words = &words[..if has_name { until - 1 } else { until }];
    let stars = type_words.iter().filter(|&&word| word == "*").count() + usize::from(bracket.is_some());
    let first_star = type_words.iter().position(|&word| word == "*").unwrap_or(type_words.len());
    let base_words: Vec<&str> = type_words[..first_star]
        .iter()
        .copied()
        .filter(|word| !matches!(*word, "const" | "struct" | "class" | "enum" | "typename"))
        .collect();
    let is_const = type_words[..first_star].contains(&"const");
    let is_odd = type_words.iter().any(|word| matches!(*word, "&" | "(" | "..."));
    let base = Base::of(&base_words);
    let form = match stars {
        _ if is_odd => Form::Value(Base::Named(type_words.join(" "))),
        0 => Form::Value(base),
        1 => Form::Pointer { to: base, is_const },
        _ => Form::Pointer { to: Base::Named(type_words.join(" ")), is_const },
    };
    let mut text = type_words.join(" ").replace(" :: ", "::").replace(" < ", "<").replace(" >", ">").replace(" ,", ",");
    if bracket.is_some() && star.is_none() {
        text += " *";
    }
    Parameter { text, name, form }
}

/// Words of types, which no parameter is named by.
const KEYWORDS: [&str; 13] = [
    "const", "unsigned", "signed", "char", "short", "int", "long", "float", "double", "bool", "void", "struct",
    "size_t",
];

/// The form of an argument's type, such as `const float *`.
fn form_of(cuda_type: &str) -> Form {
    let all = tokens(cuda_type);
    let words: Vec<&str> = all.iter().map(|token| &cuda_type[token.range()]).collect();
    // One that looks like a name is none here.
    let mut named = words.clone();
    named.push("x");
    parameter(&named).form
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        #define MACRO __global__ void not_seen(int)
        // __global__ void comment(int *x);
        template <class T, int N> __global__ void __launch_bounds__(N, 2) scale(T *x, T by, unsigned n) {}
        extern "C" __global__ void axpy(float a, const float *__restrict__ x, float *y, const unsigned long long n);
        extern "C" {
        __global__ void both(const Pair<int, 3> *pairs, double shape[], char, std::size_t) { if (1) {} }
        }
        namespace space { __launch_bounds__(128) __global__ void nothing(void) {} }
        __global__ void twice(int n) {}
        __global__ void twice(float n) {}
    "#;

    fn arguments(types: &[(&str, usize)]) -> Vec<ArgumentType> {
        let argument = |&(name, bytes): &(&str, usize)| ArgumentType { cuda_type: name.to_owned(), bytes: Some(bytes) };
        types.iter().map(argument).collect()
    }

    #[test]
    fn kernels_are_found_with_their_parameters() {
        let all = declarations(TEXT);
        let seen: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.is_extern_c, one.is_template)).collect();
        assert_eq!(
            seen,
            [("scale", false, true), ("axpy", true, false), ("both", true, false), ("nothing", false, false)]
        );
        let texts: Vec<_> = all.iter().map(|one| Signature::new(None, Some(one)).to_text()).collect();
        assert_eq!(texts[0], "T *x, T by, unsigned n");
        assert_eq!(texts[1], "float a, const float *x, float *y, const unsigned long long n");
        assert_eq!(texts[2], "const Pair<int, 3> *pairs, double *shape, char, std::size_t");
        assert_eq!(texts[3], "");
    }

    #[test]
    fn arguments_that_differ_are_named() {
        let all = declarations(TEXT);
        let axpy = Signature::new(Some(vec![4, 8, 8, 8]), Some(&all[1]));
        let good = [("float", 4), ("const float *", 8), ("float *", 8), ("uint64_t", 8)];
        axpy.check("axpy", &arguments(&good)).unwrap();
        let error = |at: usize, given: (&str, usize)| {
            let mut given_all = good;
            given_all[at] = given;
            axpy.check("axpy", &arguments(&given_all)).map_err(|error| error.to_string())
        };
        for (at, given, parts) in [
            (0, ("double", 8), ["argument 1", "`a`", "`float` (4 bytes)", "`double` (8 bytes)", "an f32"]),
            (0, ("int32_t", 4), ["argument 1", "`a`", "`float`", "`int32_t` (4 bytes)", "an f32"]),
            (1, ("const double *", 8), ["argument 2", "`x`", "`const float *`", "`const double *`", "another type"]),
            (1, ("int32_t", 4), ["argument 2", "`x`", "`const float *`", "`int32_t`", "input()"]),
            (2, ("const float *", 8), ["argument 3", "`y`", "`float *`", "`const float *`", "in_out()"]),
            (3, ("int32_t", 4), ["argument 4", "`n`", "unsigned long long", "`int32_t` (4 bytes)", "u64"]),
            (3, ("float *", 8), ["argument 4", "`n`", "unsigned long long", "`float *`", "u64"]),
        ] {
            let text = error(at, given).unwrap_err();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
        // A written buffer may be read, an address may be a number, and integers of one size have the same bits.
        for (at, given) in [(1, ("float *", 8)), (2, ("uint64_t", 8)), (3, ("int64_t", 8)), (1, ("const Mine *", 8))] {
            error(at, given).unwrap();
        }
        let text = axpy.check("axpy", &arguments(&good[..3])).unwrap_err().to_string();
        let parts = ["takes 4 arguments (float a, const float *x, float *y, ", "got 3"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }

    #[test]
    fn a_declaration_counts_where_the_driver_agrees() {
        let all = declarations(TEXT);
        let two = arguments(&[("int8_t", 1), ("double", 8)]);
        // The driver knows another kernel, as a macro may have made of the text.
        let other = Signature::new(Some(vec![1, 8]), Some(&all[1]));
        other.check("axpy", &two).unwrap();
        let text = other.check("axpy", &arguments(&[("int8_t", 1), ("float", 4)])).unwrap_err().to_string();
        assert!(
            text.contains("argument 2") && text.contains("8 bytes") && text.contains("`float` (4 bytes)"),
            "{text}"
        );
        // Nobody knows anything.
        Signature::new(None, None).check("axpy", &two).unwrap();
        assert!(Signature::new(Some(vec![]), Some(&all[3])).check("nothing", &two).is_err());
        // A name of the text may stand for any type of its size.
        let scale = Signature::new(Some(vec![8, 8, 4]), Some(&all[0]));
        scale.check("scale", &arguments(&[("double *", 8), ("double", 8), ("int32_t", 4)])).unwrap();
        assert!(scale.check("scale", &arguments(&[("double *", 8), ("float", 4), ("int32_t", 4)])).is_err());
    }
}
