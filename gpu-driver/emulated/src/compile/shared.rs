//! Declarations of shared memory.
//!
//! `__shared__ T a[4], *b;` becomes a typedef of the same shape, `typedef T gpu_shared_type_a[4], *gpu_shared_type_b;`, and
//! one macro of the emulated headers for each name, which gives the variable its place in the block's memory. A typedef
//! takes every declarator that a variable takes, so none needs to be understood beyond its name.

use super::source::{Edits, SourceFile};

/// The scope of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Namespace,
    Function,
}

/// Finds the declaration that holds the `__shared__` at `at` in the statement that begins at `start`. `None` where it is
/// none that can be read; otherwise the changes to make.
pub(super) fn declaration(source: &SourceFile, start: usize, at: usize, place: Scope) -> Option<Edits> {
    // Words that make it something else than a variable.
    if matches!(source.word(start), "typedef" | "using" | "template" | "friend") {
        return None;
    }
    let parse = |start| SharedDeclaration::new(source, start).parse(place);
    // The words before may belong to a macro or to an `if (…)`.
    parse(start).or_else(|| if start < at { parse(at) } else { None })
}

struct SharedDeclaration<'a> {
    source: &'a SourceFile<'a>,
    start: usize,
    at: usize,
    edits: Edits,
    alignments: String,
    names: Vec<&'a str>,
    complaints: String,
    is_shared: bool,
    is_extern: bool,
    has_type: bool,
}

impl<'a> SharedDeclaration<'a> {
    fn new(source: &'a SourceFile<'a>, start: usize) -> Self {
        let (edits, names) = (Edits::default(), Vec::new());
        let (alignments, complaints) = (String::new(), String::new());
        let (is_shared, is_extern, has_type) = (false, false, false);
        Self { source, start, at: start, edits, alignments, names, complaints, is_shared, is_extern, has_type }
    }

    fn parse(mut self, place: Scope) -> Option<Edits> {
        while self.specifier()? {}
        if !self.is_shared || !self.has_type {
            return None;
        }
        loop {
            self.declarator(0)?;
            self.initialiser()?;
            match self.word() {
                "," => self.at += 1,
                ";" => break,
                _ => return None,
            }
        }
        let typedef = format!("typedef {}", self.alignments);
        self.edits.insert_before(self.source, self.start, typedef);
        let macros = self.macros(place);
        self.edits.insert_behind(self.source, self.at, macros);
        Some(self.edits)
    }

    fn word(&self) -> &'a str {
        self.source.word(self.at)
    }

    fn next(&self) -> &'a str {
        self.source.word(self.at + 1)
    }

    fn remove(&mut self, tokens: usize) {
        self.edits.remove(self.source, self.at..self.at + tokens);
        self.at += tokens;
    }

    /// Reads one specifier before the first declarator; false where the declarators begin.
    fn specifier(&mut self) -> Option<bool> {
        match self.word() {
            "__shared__" => {
                self.is_shared = true;
                self.remove(1);
            }
            "extern" => {
                self.is_extern = true;
                let linkage = usize::from(self.source.is_literal(self.at + 1));
                self.remove(1 + linkage);
            }
            "static" | "inline" | "thread_local" | "__device__" => self.remove(1),
            "const" | "volatile" => self.at += 1,
            "[" if self.next() == "[" => self.at = self.source.behind_group(self.at)?,
            "struct" | "union" | "class" | "enum" => self.class()?,
            "typename" => {
                self.at += 1;
                self.type_name()?;
            }
            "decltype" | "typeof" | "__typeof__" => self.type_of()?,
            "*" | "&" | "(" => return Some(false),
            word if is_basic_type(word) => {
                self.has_type = true;
                self.at += 1;
            }
            _ if self.attribute()? => {}
            _ => return self.named_type(),
        }
        Some(true)
    }

    /// A type's name; a macro that stands for an attribute; or, once there is a type, the first declarator's name.
    fn named_type(&mut self) -> Option<bool> {
        let is_scope = self.word() == "::";
        if !is_scope && (!self.source.is_word(self.at) || is_statement(self.word())) {
            return None;
        }
        let next = self.next();
        if !is_scope && next == "(" && self.is_shared {
            let behind = self.source.behind_group(self.at + 1)?;
            if self.source.is_word(behind) && !is_attribute(self.source.word(behind)) {
                self.at = behind;
                return Some(true);
            }
        }
        let goes_on = next == "::" || next == "<" || (self.source.is_word(self.at + 1) && !is_attribute(next));
        if self.has_type && !is_scope && !goes_on {
            return Some(false);
        }
        self.type_name()?;
        Some(true)
    }

    /// `a::b<c>::template d<e>`.
    fn type_name(&mut self) -> Option<()> {
        self.has_type = true;
        if self.word() == "::" {
            self.at += 1;
        }
        loop {
            if self.word() == "template" {
                self.at += 1;
            }
            if !self.source.is_word(self.at) {
                return None;
            }
            self.at += 1;
            if self.word() == "<" {
                self.at = self.source.behind_angles(self.at)?;
            }
            if self.word() != "::" {
                return Some(());
            }
            self.at += 1;
        }
    }

    fn type_of(&mut self) -> Option<()> {
        self.has_type = true;
        self.at = self.source.behind_group(self.at + 1)?;
        while self.word() == "::" {
            self.at += 1;
            self.type_name()?;
        }
        Some(())
    }

    /// A class, union or enumeration: its name, or its definition in place.
    fn class(&mut self) -> Option<()> {
        self.has_type = true;
        self.at = class_head(self.source, self.at)?;
        if self.word() == "{" {
            self.at = self.source.behind_group(self.at)?;
        }
        Some(())
    }

    /// Reads an attribute. Alignments move to the front of the typedef: where they stand behind a name, GCC forgets those
    /// that depend on a template's arguments, and `alignas` is not allowed in a typedef at all.
    fn attribute(&mut self) -> Option<bool> {
        let word = self.word();
        if !is_attribute(word) || self.next() != "(" {
            return Some(false);
        }
        let behind = self.source.behind_group(self.at + 1)?;
        let argument = self.source.on_one_line(self.at + 2..behind - 1);
        match word {
            "__align__" => self.alignments += &format!("__attribute__((aligned({argument}))) "),
            // Both a type and a number may stand in alignas.
            "alignas" => self.alignments += &format!("__attribute__((aligned(gpu_emulated_alignment<{argument}>()))) "),
            _ => {
                self.at = behind;
                return Some(true);
            }
        }
        self.remove(behind - self.at);
        Some(true)
    }

    /// Reads `*name[3]`, `(*name)[4]` and the like, and renames it.
    fn declarator(&mut self, depth: usize) -> Option<()> {
        const DEEPEST: usize = 32;
        while matches!(self.word(), "*" | "&" | "const" | "volatile" | "__restrict__" | "__restrict") {
            self.at += 1;
        }
        let is_nested = self.word() == "(";
        if is_nested && depth < DEEPEST {
            let behind = self.source.behind_group(self.at)?;
            self.at += 1;
            self.declarator(depth + 1)?;
            if self.at + 1 != behind {
                return None;
            }
            self.at = behind;
        } else if self.source.is_word(self.at) && !is_statement(self.word()) && !is_basic_type(self.word()) {
            self.names.push(self.word());
            self.edits.insert_before(self.source, self.at, "gpu_shared_type_");
            self.at += 1;
        } else {
            return None;
        }
        self.suffixes(is_nested)
    }

    fn suffixes(&mut self, may_be_function: bool) -> Option<()> {
        loop {
            match self.word() {
                "[" => self.at = self.source.behind_group(self.at)?,
                "(" if may_be_function => self.at = self.source.behind_group(self.at)?,
                _ if self.attribute()? => {}
                _ => return Some(()),
            }
        }
    }

    /// Shared memory takes no initialiser. It is replaced by an error that says so; as part of the typedef it would give
    /// one that speaks of things the program does not hold.
    fn initialiser(&mut self) -> Option<()> {
        let start = self.at;
        if matches!(self.word(), "=" | "{" | "(") {
            while !matches!(self.word(), "," | ";") {
                self.at = match self.word() {
                    "(" | "[" | "{" => self.source.behind_group(self.at)?,
                    ")" | "]" | "}" | "" => return None,
                    _ => self.at + 1,
                };
            }
            self.edits.remove(self.source, start..self.at);
            let name = self.names.last()?;
            self.complaints += &format!(" static_assert(false, \"shared memory takes no initialiser: {name}\");");
        }
        Some(())
    }

    fn macros(&self, place: Scope) -> String {
        let name = match (self.is_extern, place) {
            (true, Scope::Function) => "GPU_EMULATED_SHARED_DYNAMIC",
            (true, Scope::Namespace) => "GPU_EMULATED_SHARED_DYNAMIC_GLOBAL",
            (false, Scope::Function) => "GPU_EMULATED_SHARED",
            (false, Scope::Namespace) => "GPU_EMULATED_SHARED_GLOBAL",
        };
        let one = |variable: &&str| format!(" {name}(gpu_shared_type_{variable}, {variable});");
        self.names.iter().map(one).collect::<String>() + &self.complaints
    }
}

/// The token behind the head of a class, from its keyword at `at`: its `{`, or the token that follows its name. `None` where there
/// is neither name nor body.
pub(super) fn class_head(source: &SourceFile, at: usize) -> Option<usize> {
    let mut now = at + 1;
    if source.word(at) == "enum" && matches!(source.word(now), "class" | "struct") {
        now += 1;
    }
    loop {
        let word = source.word(now);
        if word == "[" && source.word(now + 1) == "[" {
            now = source.behind_group(now)?;
        } else if source.is_word(now) && source.word(now + 1) == "(" {
            now = source.behind_group(now + 1)?; // an attribute
        } else {
            break;
        }
    }
    let named = now;
    while source.is_word(now) || source.word(now) == "::" {
        let is_final = source.word(now) == "final" && matches!(source.word(now + 1), "{" | ":");
        let goes_on = source.word(now) == "::" || source.word(now + 1) == "::" || now == named;
        if !goes_on && !is_final {
            break;
        }
        now += 1;
        if source.word(now) == "<" {
            now = source.behind_angles(now)?;
        }
    }
    if source.word(now) == ":" {
        now = body_behind_bases(source, now)?;
    }
    (now > named || source.word(now) == "{").then_some(now)
}

/// The `{` that follows the base classes, or the type of an enumeration.
fn body_behind_bases(source: &SourceFile, mut now: usize) -> Option<usize> {
    const FAR: usize = 1000;
    let end = now + FAR;
    while source.word(now) != "{" {
        now = match source.word(now) {
            "(" => source.behind_group(now)?,
            "<" => source.behind_angles(now)?,
            ";" | "}" | ")" | "" => return None,
            _ if now > end => return None,
            _ => now + 1,
        };
    }
    Some(now)
}

pub(super) fn is_attribute(word: &str) -> bool {
    matches!(word, "__align__" | "alignas" | "__attribute__" | "__declspec" | "_Alignas")
}

pub(super) fn is_basic_type(word: &str) -> bool {
    matches!(
        word,
        "void"
            | "bool"
            | "char"
            | "short"
            | "int"
            | "long"
            | "signed"
            | "unsigned"
            | "float"
            | "double"
            | "auto"
            | "wchar_t"
            | "char8_t"
            | "char16_t"
            | "char32_t"
            | "__int128"
            | "_Bool"
    )
}

/// Words that begin a statement, and so are no part of a declaration.
fn is_statement(word: &str) -> bool {
    matches!(
        word,
        "else"
            | "do"
            | "if"
            | "for"
            | "while"
            | "switch"
            | "return"
            | "goto"
            | "case"
            | "default"
            | "new"
            | "delete"
            | "throw"
            | "operator"
            | "typedef"
            | "using"
            | "template"
            | "namespace"
            | "friend"
            | "sizeof"
            | "static_assert"
            | "this"
            | "__global__"
    )
}
