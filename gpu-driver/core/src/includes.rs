//! Whether a text may read files that no hash of the program holds.
//!
//! Compilers put continued lines together first, but not in raw strings. A text is looked at both ways, and a finding of
//! either counts: a program that is taken to read files is compiled anew each time, which costs time and nothing else.

use crate::lexer::{Token, TokenKind, spliced, tokens};

/// Words by which a text reads a file, or asks for one, outside of `#include`; and other spellings of `#` and `\` in old standards.
const READING: [&str; 4] = ["__has_include", "__has_embed", "??=", "??/"];
const ASM: [&str; 3] = ["asm", "__asm", "__asm__"];
/// Words that may stand between `asm` and its bracket.
const QUALIFIERS: [&str; 6] = ["volatile", "__volatile", "__volatile__", "inline", "__inline__", "goto"];

/// Whether compiling the text may depend on a file of the machine: it includes one by a path that is absolute or leads upwards, or by a macro, whose
/// value is known to the compiler alone, or it uses another way to read files. Names in `held` are headers of the program; relative
/// names are searched among those, and among the compiler's own.
pub fn may_read_files(text: &str, held: impl Fn(&str) -> bool) -> bool {
    let whole = spliced(text);
    READING.iter().any(|word| whole.contains(word)) || [text, &*whole].into_iter().any(|text| includes(text, &held))
}

/// Whether assembling the text may depend on a file of the machine, where the machine's own assembler does it: `.include` and
/// `.incbin` read one. (PTX has no such directive.) Directives may be put together from parts, so any will do, and any `asm` whose
/// text is not all there.
pub fn assembly_may_read_files(text: &str) -> bool {
    let whole = spliced(text);
    whole.contains("asm") && [text, &*whole].into_iter().any(has_directives)
}

/// The names that the text includes, in quotes or angles, in order; those of `#if` branches that are left out too.
pub fn included(text: &str) -> Vec<String> {
    let directives = tokens(text).into_iter().filter(|token| token.kind == TokenKind::Directive);
    directives.filter_map(|token| included_name(&text[token.range()])).collect()
}

fn included_name(directive: &str) -> Option<String> {
    let line = without_comments(directive);
    let operand = without_hash(&line).trim_start().strip_prefix("include")?.trim();
    quoted(operand).map(str::to_owned)
}

/// The name between quotes or angles.
fn quoted(operand: &str) -> Option<&str> {
    [('"', '"'), ('<', '>')].into_iter().find_map(|(open, close)| {
        let inside = operand.strip_prefix(open)?;
        Some(&inside[..inside.find(close)?])
    })
}

fn includes(text: &str, held: impl Fn(&str) -> bool) -> bool {
    tokens(text).into_iter().any(|token| token.kind == TokenKind::Directive && reads(&text[token.range()], &held))
}

fn reads(directive: &str, held: impl Fn(&str) -> bool) -> bool {
    let line = without_comments(directive);
    let body = without_hash(&line).trim_start();
    let end = body.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(body.len());
    let (word, operand) = (&body[..end], body[end..].trim());
    match word {
        "include" => {}
        // Extensions: the files that they read are not looked at.
        "include_next" | "import" | "embed" => return true,
        _ => return false,
    }
    // A macro's value may be any path.
    let Some(name) = quoted(operand) else { return true };
    !held(name) && (name.starts_with('/') || name.split('/').any(|part| part == ".."))
}

/// A directive behind its `#`, in either spelling.
fn without_hash(directive: &str) -> &str {
    directive.strip_prefix('#').or_else(|| directive.strip_prefix("%:")).unwrap_or(directive)
}

/// A directive on one line, with a blank for each comment.
fn without_comments(directive: &str) -> String {
    let spliced = spliced(directive);
    let mut line = String::with_capacity(spliced.len());
    let mut rest: &str = &spliced;
    while let Some(start) = rest.find("/*") {
        line.push_str(&rest[..start]);
        line.push(' ');
        rest = rest[start + 2..].find("*/").map_or("", |end| &rest[start + 2 + end + 2..]);
    }
    line + rest
}

/// Whether an `asm` of the text, or of one of its macros, may hold a directive of the assembler.
fn has_directives(text: &str) -> bool {
    let all = tokens(text);
    let may = |text: &str, all: &[Token]| {
        (0..all.len()).any(|at| ASM.contains(&&text[all[at].range()]) && !is_plain(text, &all[at + 1..]))
    };
    let mut macros = all.iter().filter(|token| token.kind == TokenKind::Directive).map(|token| &text[token.range()]);
    may(text, &all)
        || macros.any(|directive| {
            // The word in front keeps the rest from being a directive once more.
            let body = format!("_ {}", without_hash(directive));
            may(&body, &tokens(&body))
        })
}

/// Whether the tokens behind an `asm` are its text in literals, with no directive in it.
fn is_plain(text: &str, behind: &[Token]) -> bool {
    let mut words = behind.iter().map(|token| &text[token.range()]).skip_while(|word| QUALIFIERS.contains(word));
    if words.next() != Some("(") {
        return false;
    }
    let mut assembly = String::new();
    for word in words {
        match (word, decoded(word)) {
            (":" | "::" | ")", _) => return !begins_directive(&assembly),
            (_, Some(part)) => assembly += &part,
            (_, None) => return false,
        }
    }
    false
}

/// Whether a word of the assembly begins with a dot. Those of instructions have theirs inside, as `ld.global`.
fn begins_directive(assembly: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | ']');
    assembly.match_indices('.').any(|(at, _)| !assembly[..at].ends_with(inside))
}

/// The text of a string literal. None for another token, and for a literal with numeric escapes.
fn decoded(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix("R\"") {
        return Some(raw.split_once('(')?.1.rsplit_once(')')?.0.to_owned());
    }
    let whole = spliced(literal);
    let mut inside = whole.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut text = String::new();
    while let Some(c) = inside.next() {
        text.push(match c {
            '\\' => match inside.next()? {
                'n' => '\n',
                't' => '\t',
                quoted @ ('\\' | '"' | '\'') => quoted,
                _ => return None,
            },
            c => c,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_includes_are_read() {
        let text = "#include <a.h>\n # include \"b/c.h\" // d.h\n// #include <e.h>\n#include MACRO\n#include_next <f.h>\n%:include <g>\n\
                    #if 0\n#include/**/<h>\n#endif\n#inc\\\nlude <i>";
        assert_eq!(included(text), ["a.h", "b/c.h", "g", "h", "i"]);
    }

    #[test]
    fn paths_and_macros_may_read_files() {
        let reading = [
            "#include \"/tmp/x.h\"",
            "#include </tmp/x.h>",
            "  #  include   \"/tmp/x.h\" // comment",
            "#/* a */include/* b */\"/tmp/x.h\"",
            "#inc\\\nlude \\\n\"/tmp/x.h\"",
            "#include \"../x.h\"",
            "#include <a/../../x.h>",
            "#define FILE \"/tmp/x.h\"\n#include FILE",
            "#if 0\n#endif\n#include /* \"a.h\" */ FILE",
            "#embed \"/tmp/x\"",
            "#include_next \"a.h\"",
            "#if __has_include(</tmp/x.h>)\n#endif",
            "#if __has_in\\\nclude(</tmp/x.h>)\n#endif",
            "%:include \"/tmp/x.h\"",
            "%: /* a */ include </tmp/x.h>",
            "%\\\n:include \"/tmp/x.h\"",
            "#inc\\ \t\r\nlude \"/tmp/x.h\"",
            "??=include \"/tmp/x.h\"",
            "/\\\n* \"\\\n*/\n#include \"/tmp/x.h\"",
            "const char *s = R\"(\n\\\n#include \"a.h\"\n)\";\n#include \"/tmp/x.h\"",
            "#include \"a.h",
        ];
        for text in reading {
            assert!(may_read_files(text, |name| name == "a.h"), "{text}");
        }
        let harmless = [
            "",
            "int x; // #include \"/tmp/x.h\"",
            "/* \n#include \"/tmp/x.h\"\n*/",
            "const char *s = \"#include </tmp/x.h>\";",
            "#include \"a.h\"\n#include <b/c.h>\n#define include 1",
            "#pragma once\n#include <cstdint>",
            "#include \"../held.h\"",
            "int x = 7 % 3 ? 1 : 2; // %:include \"/tmp/x.h\"",
            "%:include \"a.h\"\n%:define include 1",
            "#define F(x) \\\n  #x \"/tmp/x.h\"",
            "asm(\"ld.global.u32 %0, [%1];\" : \"=r\"(x) : \"l\"(p));",
        ];
        for text in harmless {
            assert!(!may_read_files(text, |name| name == "../held.h"), "{text}");
        }
    }

    #[test]
    fn directives_of_the_assembler_may_read_files() {
        let reading = [
            r#"asm(".incbin \"/tmp/x\"");"#,
            r#"asm(".include \"/tmp/x\"");"#,
            r#"asm(".INCLUDE \"/tmp/x\"");"#,
            r#"asm(".inc" "bin \"/tmp/x\"");"#,
            r#"asm volatile("nop\n\t" /* . */ ".inc" "bin \"/tmp/x\"" ::: "memory");"#,
            r#"__asm__ ("nop;.include \"/tmp/x\"");"#,
            r#"asm("\x2einclude \"/tmp/x\"");"#,
            r#"asm("\056include \"/tmp/x\"");"#,
            "asm(R\"(\n.include \"/tmp/x\")\");",
            r#"asm(".macro m a\n.\\a\\()lude \"/tmp/x\"\n.endm\nm inc");"#,
            "a\\\nsm(\".inc\\\nlude x\");",
            "#define ASM asm\nASM(\".include x\");",
            "#define ASM(x) asm(#x)\nASM(.include x);",
            "%:define ASM(x) __asm(x)\nASM(\".include x\");",
            "#define PART \".inc\"\nasm(PART \"lude x\");",
            "__asm { mov eax, 1 }",
            "asm",
            "asm(\"nop\"",
            // Nothing that reads a file, but a directive.
            r#"asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; }" : : "r"(x));"#,
        ];
        for text in reading {
            assert!(assembly_may_read_files(text), "{text}");
        }
        let harmless = [
            "",
            "// asm(\".include x\")",
            "const char *s = \"asm(.include x)\";",
            "int asmx, xasm; float f = .5;",
            r#"asm volatile("" : "+r"(x) : : "memory");"#,
            r#"asm("ld.relaxed.gpu.v2.b64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(p) : "memory");"#,
            "asm __volatile__(\"nop\\n\\t\"\n    \"nop\" ::: \"memory\");",
            "#define FENCE(x) \\\n  asm volatile(\"membar.gl;\" ::\"r\"(x))\n",
            "extern int x asm(\"name\");",
        ];
        for text in harmless {
            assert!(!assembly_may_read_files(text), "{text}");
        }
    }
}
