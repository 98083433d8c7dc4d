//! The text that the compiler sees.

use std::{collections::HashSet, fmt::Write};

use gpu_driver_core::lexer::tokens;

use super::{
    CompileJob,
    options::CompilerOptions,
    rewrite::{PlainKernel, Rewritten, rewrite},
};

/// Stands before the emulated headers: helpers that the rewritten text names itself. `alignas` takes a type or a number.
pub(super) const PREAMBLE: &str = "\
template <class T> constexpr unsigned long gpu_emulated_alignment() { return alignof(T); }
template <unsigned long N> constexpr unsigned long gpu_emulated_alignment() { return N; }
";

/// Includes the emulated headers, behind the preamble.
pub(super) const INCLUDE: &str = "#include \"cuda/emulated.h\"\n";

/// A program ready to compile.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) text: String,
    /// Names and texts.
    pub(super) headers: Vec<(String, String)>,
    /// Each name expression and the name under which the module has it.
    pub(super) names: Vec<(String, String)>,
}

impl Program {
    /// The text for a compiler that has read the emulated headers.
    pub(super) fn without_headers(&self) -> &str {
        let text = self.text.strip_prefix(PREAMBLE).and_then(|text| text.strip_prefix(INCLUDE));
        text.unwrap_or(&self.text)
    }
}

/// Rewrites the program and its headers, and lists the kernels behind it.
pub(super) fn program(job: &CompileJob, options: &CompilerOptions) -> Program {
    let main = rewrite(job.text);
    let headers: Vec<(&String, Rewritten)> = job.headers.iter().map(|(name, text)| (name, rewrite(text))).collect();
    let all_enter = main.all_kernels_enter && headers.iter().all(|(_, header)| header.all_kernels_enter);
    let plain = plain_kernels(&main, &headers, job.names);

    let mut text = format!("{PREAMBLE}{INCLUDE}");
    text += &lines("options of ", job.name, &(options.lines.join("\n") + "\n"));
    text += &lines("", job.name, &main.text);
    text += &lines("\nkernels of ", job.name, &kernels(job.names, &plain, all_enter));
    let headers = headers.into_iter().map(|(name, header)| (name.clone(), lines("", name, &header.text))).collect();
    // The module gives a kernel the program's name for it, so that reports do too.
    let names = job.names.iter().map(|name| (name.clone(), kernel_name(name))).collect();
    Program { text, headers, names }
}

fn kernel_name(expression: &str) -> String {
    expression.trim().trim_start_matches('&').replace(['\n', '\r'], " ")
}

/// A part of the program under its own name and with its own line numbers.
fn lines(prefix: &str, name: &str, text: &str) -> String {
    let newline = if prefix.starts_with('\n') { "\n" } else { "" };
    format!("{newline}#line 1 {}\n{text}", quoted(&format!("{}{name}", prefix.trim_start())))
}

/// The kernels with C linkage. One in a header may not be included; a name expression says that it is there.
fn plain_kernels(main: &Rewritten, headers: &[(&String, Rewritten)], names: &[String]) -> Vec<PlainKernel> {
    let conditional = |kernel: &PlainKernel| PlainKernel { is_conditional: true, ..kernel.clone() };
    let of_headers = headers.iter().flat_map(|(_, header)| header.extern_c_kernels.iter().map(conditional));
    let mut seen = HashSet::new();
    let mut all: Vec<_> = main.extern_c_kernels.iter().cloned().chain(of_headers).collect();
    all.retain(|kernel| seen.insert(kernel.name.clone()));
    for kernel in &mut all {
        kernel.is_conditional &= !names.iter().any(|name| names_kernel(name, &kernel.name));
    }
    all
}

fn names_kernel(expression: &str, kernel: &str) -> bool {
    tokens(expression).iter().any(|token| &expression[token.range()] == kernel)
}

/// The module's list of kernels.
fn kernels(names: &[String], plain: &[PlainKernel], all_enter: bool) -> String {
    let mut text = stand_ins(plain) + "GPU_EMULATED_MODULE_BEGIN\n";
    for kernel in names.iter().map(|name| kernel_name(name)) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "GPU_EMULATED_KERNEL({}, ({kernel}))", quoted(&kernel));
    }
    for kernel in plain {
        let (name, path) = (quoted(&kernel.name), path(kernel));
        let shown = if kernel.is_conditional { format!("(gpu_emulated_absent::name(&{path}, {name}))") } else { name };
        let _ = writeln!(text, "GPU_EMULATED_KERNEL({shown}, ({path}))");
    }
    text + &format!("GPU_EMULATED_MODULE_END({})\n", u8::from(all_enter))
}

fn path(kernel: &PlainKernel) -> String {
    let PlainKernel { name, namespace, .. } = kernel;
    if namespace.is_empty() { format!("::{name}") } else { format!("::{namespace}::{name}") }
}

/// Stand-ins for kernels that an `#if` or a missing `#include` leaves out: such a kernel's name finds one here, and the module
/// lists it without a name. A name is looked for in a namespace first, then in those that the namespace uses.
fn stand_ins(plain: &[PlainKernel]) -> String {
    let conditional: Vec<_> = plain.iter().filter(|kernel| kernel.is_conditional).collect();
    if conditional.is_empty() {
        return String::new();
    }
    let mut text = "namespace gpu_emulated_absent { struct Nothing { char nothing; }; template <class F> constexpr const char \
                    *name(F *, const char *name) { return name; } constexpr const char *name(void (*)(Nothing), const char *) \
                    { return \"\"; } }\n"
        .to_owned();
    for kernel in conditional {
        let PlainKernel { name, namespace, .. } = kernel;
        let _ = write!(
            text,
            "namespace gpu_emulated_absent {{ namespace of_{name} {{ inline void {name}(Nothing) {{}} }} }} "
        );
        let using = format!("using namespace ::gpu_emulated_absent::of_{name};");
        let _ = match namespace.as_str() {
            "" => writeln!(text, "{using}"),
            namespace => writeln!(text, "namespace {namespace} {{ {using} }}"),
        };
    }
    text
}

/// A C string literal.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_ascii_control() => {
                let _ = write!(quoted, "\\{:03o}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}é"), "\"a\\\"b\\\\c\\012d\\001é\"");
    }
}
