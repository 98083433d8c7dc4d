//! Whether a text may read files that no hash of the program holds.

use crate::emulated::lexer::{Kind, tokens};

/// Words by which a text reads a file, or asks for one, outside of `#include`.
const READING: [&str; 4] = ["__has_include", "__has_include_next", "__has_embed", "incbin"];

/// Whether compiling the text may depend on a file of the machine: it includes one by a path that is absolute or leads upwards, or by a macro, whose
/// value is known to the compiler alone, or it uses another way to read files. Names in `held` are headers of the program; relative
/// names are searched among those, and among the compiler's own.
pub(crate) fn may_read_files<'a>(text: &str, held: impl Fn(&str) -> bool + 'a) -> bool {
    if READING.iter().any(|word| text.contains(word)) {
        return true;
    }
    let tokens = tokens(text);
    let directives = tokens.iter().filter(|token| token.kind == Kind::Directive).map(|token| &text[token.range()]);
    directives.into_iter().any(|directive| reads(directive, &held))
}

fn reads(directive: &str, held: impl Fn(&str) -> bool) -> bool {
    let line = without_comments(directive);
    let body = line.trim_start().trim_start_matches('#').trim_start();
    let end = body.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(body.len());
    let (word, operand) = (&body[..end], body[end..].trim());
    match word {
        "include" => {}
        // Extensions: the files that they read are not looked at.
        "include_next" | "import" | "embed" => return true,
        _ => return false,
    }
    let quoted = [('"', '"'), ('<', '>')].into_iter().find_map(|(open, close)| {
        let inside = operand.strip_prefix(open)?;
        Some(&inside[..inside.find(close)?])
    });
    // A macro's value may be any path.
    let Some(name) = quoted else { return true };
    !held(name) && (name.starts_with('/') || name.split('/').any(|part| part == ".."))
}

/// A directive on one line, with a blank for each comment.
fn without_comments(directive: &str) -> String {
    let spliced = directive.replace("\\\r\n", "").replace("\\\n", "");
    let mut line = String::with_capacity(spliced.len());
    let mut rest = spliced.as_str();
    while let Some(start) = rest.find("/*") {
        line.push_str(&rest[..start]);
        line.push(' ');
        rest = rest[start + 2..].find("*/").map_or("", |end| &rest[start + 2 + end + 2..]);
    }
    line + rest
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "asm(\".incbin \\\"/tmp/x\\\"\");",
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
        ];
        for text in harmless {
            assert!(!may_read_files(text, |name| name == "../held.h"), "{text}");
        }
    }
}
