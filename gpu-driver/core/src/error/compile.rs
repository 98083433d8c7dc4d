//! The error of a program that does not compile.

use std::fmt;

/// A program that the compiler rejects: its log beside the numbered source.
#[derive(Clone, Debug)]
pub struct CompileError {
    /// Name of the program, as it stands in the log.
    pub name: String,
    /// The options it was compiled with.
    pub options: Vec<String>,
    /// The compiler's log.
    pub log: String,
    /// The whole program text.
    pub source: String,
}

impl CompileError {
    /// The whole program, each line behind its number.
    pub fn numbered_source(&self) -> String {
        let lines = self.source.lines().enumerate();
        lines.map(|(at, line)| format!("{:>5} | {line}\n", at + 1)).collect()
    }

    /// The log up to its 20th error or warning, and the number of the others. Notes of this library at its end stay.
    fn first_messages(&self) -> String {
        const MOST: usize = 20;
        let log = self.log.trim_end();
        let begins = |line: &&str| line.contains("error: ") || line.contains("warning: ") || line.contains("warning #");
        let messages = log.lines().filter(begins).count();
        if messages <= MOST {
            return log.to_owned();
        }
        let mut seen = 0;
        let first = log.lines().take_while(|line| {
            seen += usize::from(begins(line));
            seen <= MOST
        });
        let mut text: String = first.flat_map(|line| [line, "\n"]).collect();
        let notes = log.lines().rev().take_while(|line| line.starts_with("note: ")).collect::<Vec<_>>();
        notes.into_iter().rev().for_each(|note| text.extend([note, "\n"]));
        text + &format!("and {} further messages: the whole log is in CompileError::log", messages - MOST)
    }

    /// The lines of the program that the log names, from 1: as `name(12)` by NVRTC, as `name:12:` by C++ compilers.
    fn lines_in_log(&self) -> Vec<usize> {
        let numbers = self.log.match_indices(&self.name).filter_map(|(at, name)| {
            let (before, behind) = (&self.log[..at], &self.log[at + name.len()..]);
            // `instance of axpy.cu` and `src/axpy.cu` are other texts with lines of their own.
            let is_other =
                before.ends_with(" of ") || before.ends_with(|c: char| c.is_alphanumeric() || "/_-.".contains(c));
            let end = if behind.starts_with('(') { ')' } else { ':' };
            let number = behind.strip_prefix(['(', ':'])?.split(end).next()?;
            number.parse().ok().filter(|_| !is_other)
        });
        let mut lines: Vec<usize> = numbers.collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

impl fmt::Display for CompileError {
    /// The log, then the numbered lines around each place it names; the whole text when it names none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AROUND: usize = 3;
        writeln!(f, "`{}` does not compile ({}):\n{}", self.name, self.options.join(" "), self.first_messages())?;
        let named = self.lines_in_log();
        let mut gap = false;
        for (at, line) in self.source.lines().enumerate() {
            let number = at + 1;
            if named.is_empty() || named.iter().any(|&n| number.abs_diff(n) <= AROUND) {
                let mark = if named.contains(&number) { '>' } else { ' ' };
                write!(f, "\n{mark}{number:>5} | {line}")?;
                gap = true;
            } else if std::mem::take(&mut gap) {
                write!(f, "\n       ...")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compile_error_shows_the_lines_it_names() {
        let source: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let log = "axpy.cu(10): error: expected a \";\"\n".to_owned();
        let error = CompileError { name: "axpy.cu".into(), options: vec!["-arch=sm_90".into()], log, source };
        let text = error.to_string();
        assert!(text.contains(">   10 | line 10") && text.contains("     7 | line 7"), "{text}");
        assert!(!text.contains("line 6\n"), "{text}");
        assert!(error.numbered_source().contains("   20 | line 20"));
    }

    #[test]
    fn a_long_log_is_cut_behind_twenty_messages() {
        let error = |count: usize| {
            let log: String = (1..=count).map(|n| format!("f.cu({n}): error: number {n}\n  the line\n\n")).collect();
            let (name, source) = ("f.cu".to_owned(), String::new());
            CompileError { name, options: Vec::new(), log: log + "note: a remedy\n", source }
        };
        let (short, long) = (error(20), error(33));
        assert!(short.to_string().contains("number 20\n") && !short.to_string().contains("further"), "{short}");
        let text = long.to_string();
        assert!(text.contains("number 20\n  the line") && !text.contains("number 21"), "{text}");
        assert!(
            text.contains("note: a remedy\nand 13 further messages: the whole log is in CompileError::log"),
            "{text}"
        );
        assert!(long.log.contains("number 33"));
    }

    #[test]
    fn lines_are_found_in_the_logs_of_all_compilers() {
        let lines = |log: &str| {
            let (name, source) = ("axpy.cu".to_owned(), String::new());
            CompileError { name, options: Vec::new(), log: log.to_owned(), source }.lines_in_log()
        };
        assert_eq!(lines("axpy.cu(10): error: a\naxpy.cu(2): error: b, see axpy.cu(10)"), [2, 10]);
        assert_eq!(lines("axpy.cu:12:5: error: a\nIn file included from axpy.cu:3:\naxpy.cu: In function"), [3, 12]);
        assert_eq!(lines("kernels of axpy.cu:3:1: a\ninstance of axpy.cu(4): b\nsrc/axpy.cu:5: c"), [0; 0]);
        assert_eq!(lines("axpy.cu:"), [0; 0]);
    }
}
