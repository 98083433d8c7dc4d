//! Kernels: their launch bounds, and their names where they have C linkage.

use super::{
    shared::{is_attribute, is_basic_type},
    source::{Edits, SourceFile},
};

/// A kernel's declaration or definition.
#[derive(Debug)]
pub(super) struct Kernel<'a> {
    pub(super) name: &'a str,
    /// Whether it has a body.
    pub(super) is_defined: bool,
    /// Whether it may be called by its plain name: no template, and not one of its instances.
    pub(super) is_plain: bool,
    /// Whether `extern "C"` stands before it.
    pub(super) is_extern_c: bool,
    pub(super) edits: Edits,
}

/// Reads the declaration that holds the `__global__` at `at` in the statement that begins at `start`. `None` where it
/// cannot be read.
pub(super) fn kernel<'a>(source: &'a SourceFile<'a>, start: usize, at: usize) -> Option<Kernel<'a>> {
    let mut reader = Reader { source, at, bounds: None, edits: Edits::default() };
    let is_template = source.word(start) == "template";
    let is_extern_c = reader.before(start, at)?;
    let (name, has_arguments) = reader.name()?;
    let is_defined = reader.behind_parameters()?;
    if is_defined {
        let bounds = reader.bounds.take().unwrap_or_else(|| "0".to_owned());
        reader.edits.insert_behind(source, reader.at, format!(" GPU_EMULATED_ENTER({bounds});"));
    }
    let is_plain = !is_template && !has_arguments;
    Some(Kernel { name, is_defined, is_plain, is_extern_c, edits: reader.edits })
}

struct Reader<'a> {
    source: &'a SourceFile<'a>,
    at: usize,
    bounds: Option<String>,
    edits: Edits,
}

impl<'a> Reader<'a> {
    fn word(&self) -> &'a str {
        self.source.word(self.at)
    }

    /// Looks through the tokens before `__global__`; whether `extern "C"` is among them.
    fn before(&mut self, start: usize, end: usize) -> Option<bool> {
        let mut is_extern_c = false;
        self.at = start;
        while self.at < end {
            match self.word() {
                "__launch_bounds__" => self.launch_bounds()?,
                "extern" if self.source.word(self.at + 1) == "\"C\"" => {
                    is_extern_c = true;
                    self.at += 2;
                }
                "<" => self.at = self.source.behind_angles(self.at)?,
                "(" | "[" => self.at = self.source.behind_group(self.at)?,
                _ => self.at += 1,
            }
        }
        self.at = end + 1;
        Some(is_extern_c)
    }

    /// Removes `__launch_bounds__(…)`.
    fn launch_bounds(&mut self) -> Option<()> {
        let behind = self.source.behind_group(self.at + 1)?;
        self.bounds = Some(self.two_arguments(self.at + 2, behind - 1));
        self.edits.remove(self.source, self.at..behind);
        self.at = behind;
        Some(())
    }

    /// The first two of the arguments between two tokens: the third limits clusters, which are not emulated.
    fn two_arguments(&self, start: usize, end: usize) -> String {
        let (mut now, mut commas) = (start, 0);
        while now < end {
            match self.source.word(now) {
                "(" | "[" | "{" => now = self.source.behind_group(now).unwrap_or(now + 1),
                "<" => now = self.source.behind_angles(now).filter(|&behind| behind <= end).unwrap_or(now + 1),
                "," if commas == 1 => break,
                word => {
                    commas += usize::from(word == ",");
                    now += 1;
                }
            }
        }
        self.source.on_one_line(start..now.min(end))
    }

    /// The kernel's name, which stands before its parameters, and whether template arguments stand between.
    fn name(&mut self) -> Option<(&'a str, bool)> {
        loop {
            let (at, word) = (self.at, self.word());
            if word == "__launch_bounds__" {
                self.launch_bounds()?;
            } else if is_attribute(word) || word == "decltype" {
                self.at = self.source.behind_group(at + 1)?;
            } else if word == "[" {
                self.at = self.source.behind_group(at)?;
            } else if self.source.is_word(at) {
                self.at += 1;
                let has_arguments = self.word() == "<";
                if has_arguments {
                    self.at = self.source.behind_angles(self.at)?;
                }
                if self.word() == "(" && is_basic_type(word) {
                    return None; // a name in parentheses
                }
                if self.word() == "(" && self.is_function()? {
                    return Some((word, has_arguments));
                }
            } else if matches!(word, "::" | "*" | "&") {
                self.at += 1;
            } else {
                return None;
            }
        }
    }

    /// Whether the group at this place holds parameters; then goes behind it. Else it belongs to a macro, which is skipped.
    fn is_function(&mut self) -> Option<bool> {
        self.at = self.source.behind_group(self.at)?;
        let behind = self.word();
        let may_follow = is_attribute(behind) || matches!(behind, "noexcept" | "throw" | "__launch_bounds__");
        Some(may_follow || !self.source.is_word(self.at))
    }

    /// Goes to the `{` of the body, or to the end of a declaration; whether there is a body.
    fn behind_parameters(&mut self) -> Option<bool> {
        const FAR: usize = 100;
        for _ in 0..FAR {
            match self.word() {
                "{" => return Some(true),
                ";" => return Some(false),
                "__launch_bounds__" => self.launch_bounds()?,
                "(" | "[" => self.at = self.source.behind_group(self.at)?,
                "<" => self.at = self.source.behind_angles(self.at)?,
                "" | ")" | "]" | "}" | "," | ":" => return None,
                _ => self.at += 1,
            }
        }
        None
    }
}
