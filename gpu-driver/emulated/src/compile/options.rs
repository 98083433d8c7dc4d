//! The options of the run-time compiler, in the words of a C++ compiler.

use std::path::Path;

/// The effect of the user's options.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CompilerOptions {
    /// Lines of the program that stand before its text: macros and headers. As options of the compiler they would come
    /// before the emulated headers, and a macro named `N` would change those.
    pub(super) lines: Vec<String>,
    /// Folders to search for headers.
    pub(super) folders: Vec<String>,
    /// Whether files are read, which no hash of the program holds.
    pub(super) reads_files: bool,
    /// The year of the C++ standard, where one is asked for.
    pub(super) standard: Option<u32>,
}

/// The oldest standard that the emulated headers can be compiled with.
pub(super) const OLDEST_STANDARD: u32 = 17;

/// CompilerOptions that say how code for a GPU is made, and which messages are shown: they mean nothing here.
const WITHOUT_EFFECT: &[&str] = &[
    "G",
    "device-debug",
    "lineinfo",
    "generate-line-info",
    "dopt",
    "use_fast_math",
    "extra-device-vectorization",
    "restrict",
    "default-device",
    "device-as-default-execution-space",
    "device-int128",
    "device-float128",
    "relocatable-device-code",
    "rdc",
    "device-c",
    "dc",
    "device-w",
    "dw",
    "dlink-time-opt",
    "dlto",
    "no-source-include",
    "no-cache",
    "modify-stack-limit",
    "builtin-move-forward",
    "builtin-initializer-list",
    "disable-warnings",
    "w",
    "Wreorder",
    "display-error-number",
    "err-no",
    "no-display-error-number",
    "no-err-no",
    "optimization-info",
    "opt-info",
    "brief-diagnostics",
    "minimal",
];

/// CompilerOptions without effect whose value may stand in the next option.
const VALUE_WITHOUT_EFFECT: &[&str] = &[
    "gpu-architecture",
    "arch",
    "maxrregcount",
    "ptxas-options",
    "Xptxas",
    "ftz",
    "prec-sqrt",
    "prec-div",
    "fmad",
    "diag-error",
    "diag-suppress",
    "diag-warn",
    "split-compile",
    "jump-table-density",
];

/// The places where files that options name are looked for.
pub(super) struct Files<'a> {
    /// Relative paths start here.
    pub(super) base: &'a Path,
    /// Whether a header of that name is held in memory.
    pub(super) is_held: &'a dyn Fn(&str) -> bool,
}

/// Reads the user's options.
///
/// # Errors
/// The message, where an option is not known.
pub(super) fn translate(options: &[String], files: &Files) -> Result<CompilerOptions, String> {
    let mut all = CompilerOptions::default();
    let mut rest = options.iter().map(|option| option.trim()).filter(|option| !option.is_empty()).peekable();
    while let Some(option) = rest.next() {
        let (name, mut value) = split(option);
        let takes_value = matches!(name, "D" | "U" | "I" | "include" | "std") || VALUE_WITHOUT_EFFECT.contains(&name);
        if value.is_none() && takes_value {
            value = rest.next_if(|next| !next.starts_with('-'));
        }
        let known = apply(&mut all, name, value, files);
        known.ok_or_else(|| format!("the emulated device does not know the option `{option}`"))?;
    }
    Ok(all)
}

/// Name and value of an option: the name without its dashes, short where it has a long form.
fn split(option: &str) -> (&str, Option<&str>) {
    if let Some(short) = ["-D", "-U", "-I"].iter().find(|&&short| option.starts_with(short)) {
        let value = option[short.len()..].trim_start();
        return (&short[1..], Some(value).filter(|value| !value.is_empty()));
    }
    let Some(body) = option.strip_prefix("--").or_else(|| option.strip_prefix('-')) else { return ("", None) };
    let end = body.find(|c: char| c == '=' || c.is_whitespace());
    let (name, value) = end.map_or((body, None), |end| (&body[..end], Some(body[end + 1..].trim())));
    let name = match name {
        "define-macro" => "D",
        "undefine-macro" => "U",
        "include-path" => "I",
        "pre-include" => "include",
        name => name,
    };
    (name, value)
}

/// Adds one option; `None` where it is not known.
fn apply(all: &mut CompilerOptions, name: &str, value: Option<&str>, files: &Files) -> Option<()> {
    match name {
        "D" => all.lines.push(definition(value?)),
        "U" => all.lines.push(format!("#undef {}", one_line(value?))),
        "I" => {
            all.reads_files = true;
            all.folders.push(files.base.join(value?).to_str()?.to_owned());
        }
        "include" if (files.is_held)(value?) => all.lines.push(format!("#include \"{}\"", one_line(value?))),
        "include" => {
            all.reads_files = true;
            // From the present folder if it is there, else from the folders to search.
            let file = Some(files.base.join(value?)).filter(|path| path.is_file());
            let path = file.as_deref().map_or(value, Path::to_str)?;
            all.lines.push(format!("#include \"{}\"", one_line(path)));
        }
        "std" => all.standard = Some(standard(value?)?),
        name => return (WITHOUT_EFFECT.contains(&name) || VALUE_WITHOUT_EFFECT.contains(&name)).then_some(()),
    }
    Some(())
}

/// `NAME`, `NAME=value` and `NAME(x)=value` as compilers take them.
fn definition(text: &str) -> String {
    let text = one_line(text);
    match text.split_once('=') {
        Some((name, value)) => format!("#define {name} {value}"),
        None => format!("#define {text} 1"),
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn standard(value: &str) -> Option<u32> {
    let year = value.strip_prefix("c++").or_else(|| value.strip_prefix("gnu++"))?;
    let known = match year {
        "03" | "11" | "14" | "17" | "20" | "23" => year,
        "2a" => "20",
        _ => return None,
    };
    // Older standards are not known to the emulated headers; nearly all of their code compiles as C++17 too.
    let year = if known == "03" { OLDEST_STANDARD } else { known.parse().ok()? };
    Some(year.max(OLDEST_STANDARD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[&str]) -> Result<CompilerOptions, String> {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        translate(&options, &Files { base: Path::new("/base"), is_held: &|name| name != "b.h" })
    }

    #[test]
    fn every_spelling_of_a_value_is_understood() {
        let got =
            read(&["-DA", "-D B=1 + 2", "-D", "C(x)=x", "--define-macro=D=", "--define-macro", "E", "-UA", "-U", "B"])
                .unwrap();
        let want =
            ["#define A 1", "#define B 1 + 2", "#define C(x) x", "#define D ", "#define E 1", "#undef A", "#undef B"];
        assert_eq!(got.lines, want);
        let got = read(&["-I/abs", "-I", "rel", "--include-path=x", "-I y"]).unwrap();
        assert!(got.reads_files);
        assert_eq!(got.folders, ["/abs", "/base/rel", "/base/x", "/base/y"]);
        let got = read(&["-include", "a.h", "--pre-include=b.h", "-include=c.h", "-std=c++20"]).unwrap();
        assert_eq!(got.lines, ["#include \"a.h\"", "#include \"b.h\"", "#include \"c.h\""]);
        assert!(got.reads_files && !read(&["-include a.h"]).unwrap().reads_files);
        assert_eq!(got.standard, Some(20));
        assert_eq!(read(&["--std", "c++11"]).unwrap().standard, Some(17));
    }

    #[test]
    fn options_for_gpu_code_have_no_effect() {
        let got = read(&[
            "-lineinfo",
            "-G",
            "--use_fast_math",
            "-fmad=false",
            "--fmad",
            "true",
            "--maxrregcount=32",
            "--ftz=true",
            "-w",
            "--gpu-architecture=sm_90",
            "-arch",
            "sm_80",
            "-default-device",
            "",
        ]);
        assert_eq!(got, Ok(CompilerOptions::default()));
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        for option in ["--frobnicate", "-O2", "x.cu", "-D", "-std=c++99", "-", "--"] {
            assert!(read(&[option]).unwrap_err().contains(&format!("does not know the option `{option}`")), "{option}");
        }
    }
}
