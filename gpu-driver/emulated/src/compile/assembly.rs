//! The files that the assembler has read: `.include` and `.incbin` in an `asm` of the text.
//!
//! The GNU assembler lists them for makefiles, so a text is not searched for directives, which macros may hide. A text whose
//! assembly read none reads none the next time.

use std::{fs, path::Path};

use super::folder::{ASSEMBLED, INNER, SOURCE};

/// The option of GCC that has the list written.
pub(super) fn list_files() -> String {
    format!("-Wa,--MD,{INNER}/{ASSEMBLED}")
}

/// Whether the assembler read its input alone. A list that cannot be read says no.
pub(super) fn reads_no_files(inner: &Path) -> bool {
    fs::read_to_string(inner.join(ASSEMBLED)).is_ok_and(|list| has_one_file(&list))
}

/// Whether a rule `object: file …` names one file besides the source, whose name the compiler writes into its output without
/// its being read.
fn has_one_file(list: &str) -> bool {
    let Some((_, files)) = list.split_once(": ") else { return false };
    let files = files.replace("\\\n", " ").replace("\\ ", "_");
    files.split_whitespace().filter(|&file| file != SOURCE).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_alone_is_no_file_of_the_text() {
        for list in ["a.o: program.cpp /tmp/cc1.s\n", "a.o: /tmp/cc1.s\n", "a.o: program.cpp \\\n /tmp/a\\ b/cc1.s\n"] {
            assert!(has_one_file(list), "{list}");
        }
        for list in ["", "a.o: program.cpp\n", "a.o: /etc/hostname program.cpp /tmp/cc1.s\n", "a.o: x.s \\\n y.s\n"] {
            assert!(!has_one_file(list), "{list}");
        }
    }
}
