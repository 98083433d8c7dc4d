//! Rewrites the parts of CUDA C++ that C++ cannot express by macros alone.
//!
//! Shared memory and launch bounds are rewritten into macros of the emulated headers; everything else of CUDA is a matter of
//! those headers. The text keeps its lines, so that messages, assertions and debuggers name the right ones. Text that cannot be
//! read is left as it is, and the headers turn a leftover `__shared__` into an error.

use std::collections::HashSet;

use super::{
    kernels::{self, Kernel},
    shared::{self, Scope, class_head},
    source::{Edits, SourceFile},
};

/// A rewritten text, and the facts about its kernels.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// Kernels with C linkage and a body, which are found by their plain names.
    pub(super) extern_c_kernels: Vec<PlainKernel>,
    /// Whether each kernel of the text says its launch bounds when it begins. Not so where a macro defines kernels.
    pub(super) all_kernels_enter: bool,
}

/// A kernel with C linkage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlainKernel {
    pub(super) name: String,
    /// The namespaces around it, such as `a::b`; none for most.
    pub(super) namespace: String,
    /// Whether it stands in an `#if`, so that it may not exist.
    pub(super) is_conditional: bool,
}

/// Rewrites a program or a header.
pub(super) fn rewrite(text: &str) -> Rewritten {
    let source = SourceFile::new(text);
    let mut rewriter = Rewriter::new(&source);
    rewriter.run();
    Rewritten {
        extern_c_kernels: rewriter.plain_kernels(),
        all_kernels_enter: rewriter.all_kernels_enter,
        text: rewriter.edits.apply(text),
    }
}

/// An open bracket. Frames are never removed: a branch of an `#if` begins again with the frames from before it.
#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: FrameKind,
    parent: Option<usize>,
    /// The first token of the statement that holds the bracket.
    statement: usize,
    /// The token of the bracket.
    opening: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    /// `(` or `[`.
    Group,
    Namespace,
    ExternC,
    /// The body of a class, behind which its declaration goes on.
    Class,
    /// A function's body, a block, an initialiser.
    Block,
}

/// The reader's position.
#[derive(Clone, Copy, Debug, Default)]
struct RewriteState {
    frame: Option<usize>,
    /// The first token of the present statement.
    statement: usize,
}

struct Rewriter<'a> {
    source: &'a SourceFile<'a>,
    frames: Vec<Frame>,
    state: RewriteState,
    /// The state before each `#if` that is open, and the number of tokens before it.
    conditions: Vec<(RewriteState, usize)>,
    /// The last statement whose shared memory, and whose kernel, was looked at: once is enough.
    shared_statement: Option<usize>,
    kernel_statement: Option<usize>,
    extern_c: Vec<PlainKernel>,
    /// Names declared `extern "C"`: the definition need not say it again.
    declared: HashSet<&'a str>,
    /// Plain kernels with a body that do not say `extern "C"` themselves.
    defined: Vec<PlainKernel>,
    all_kernels_enter: bool,
    edits: Edits,
}

impl<'a> Rewriter<'a> {
    fn new(source: &'a SourceFile<'a>) -> Self {
        Self {
            source,
            frames: Vec::new(),
            state: RewriteState::default(),
            conditions: Vec::new(),
            shared_statement: None,
            kernel_statement: None,
            extern_c: Vec::new(),
            declared: HashSet::new(),
            defined: Vec::new(),
            all_kernels_enter: true,
            edits: Edits::default(),
        }
    }

    fn run(&mut self) {
        let mut directives = self.source.directives().peekable();
        for at in 0..self.source.len() {
            while let Some((before, directive)) = directives.next_if(|(before, _)| *before <= at) {
                self.directive(before, directive);
            }
            self.token(at);
        }
        directives.for_each(|(before, directive)| self.directive(before, directive));
    }

    fn token(&mut self, at: usize) {
        match self.source.word(at) {
            "(" | "[" => self.open(at, FrameKind::Group),
            "{" => self.open(at, self.brace_kind(at)),
            ")" | "]" => self.close_group(),
            "}" => self.close_brace(at),
            ";" => self.state.statement = at + 1,
            ":" if self.ends_label(at) => self.state.statement = at + 1,
            "__shared__" => self.shared(at),
            "__global__" => self.global(at),
            _ => {}
        }
    }

    fn open(&mut self, at: usize, kind: FrameKind) {
        let RewriteState { frame: parent, statement } = self.state;
        self.state = RewriteState { frame: Some(self.frames.len()), statement: at + 1 };
        self.frames.push(Frame { kind, parent, statement, opening: at });
    }

    fn top(&self) -> Option<Frame> {
        self.state.frame.map(|frame| self.frames[frame])
    }

    fn close_group(&mut self) {
        if let Some(frame) = self.top().filter(|frame| frame.kind == FrameKind::Group) {
            self.state = RewriteState { frame: frame.parent, statement: frame.statement };
        }
    }

    /// Groups that are still open were opened by an unbalanced macro.
    fn close_brace(&mut self, at: usize) {
        const MOST_GROUPS: usize = 64;
        for _ in 0..MOST_GROUPS {
            let Some(frame) = self.top() else { break };
            let goes_on = frame.kind == FrameKind::Class;
            self.state =
                RewriteState { frame: frame.parent, statement: if goes_on { frame.statement } else { at + 1 } };
            if frame.kind != FrameKind::Group {
                break;
            }
        }
    }

    /// The kind of frame that the `{` at `at` opens.
    fn brace_kind(&self, at: usize) -> FrameKind {
        let (source, start) = (self.source, self.state.statement);
        let behind_inline = start + usize::from(source.word(start) == "inline");
        if source.word(behind_inline) == "namespace" {
            FrameKind::Namespace
        } else if source.word(start) == "extern" && at == start + 2 && source.word(start + 1) == "\"C\"" {
            FrameKind::ExternC
        } else if source.word(start) == "extern" && at == start + 2 && source.is_literal(start + 1) {
            FrameKind::Namespace // extern "C++"
        } else if self.is_class_body(at) {
            FrameKind::Class
        } else {
            FrameKind::Block
        }
    }

    /// Whether the first class named in the statement has its body at `at`.
    fn is_class_body(&self, at: usize) -> bool {
        const FAR: usize = 1000;
        let mut now = self.state.statement;
        while now < at.min(self.state.statement + FAR) {
            now = match self.source.word(now) {
                "struct" | "union" | "class" | "enum" => return class_head(self.source, now) == Some(at),
                "<" => match self.source.behind_angles(now) {
                    Some(behind) => behind,
                    None => return false,
                },
                "(" | "[" => self.source.behind_group(now).unwrap_or(at),
                "=" => return false,
                _ => now + 1,
            };
        }
        false
    }

    fn ends_label(&self, at: usize) -> bool {
        let start = self.state.statement;
        let begins = matches!(self.source.word(start), "case" | "default" | "public" | "private" | "protected");
        let is_class = matches!(self.source.word(start), "struct" | "union" | "class" | "enum");
        begins || (at == start + 1 && self.source.is_word(start) && !is_class)
    }

    fn shared(&mut self, at: usize) {
        let place = match self.top().map(|frame| frame.kind) {
            None | Some(FrameKind::Namespace | FrameKind::ExternC) => Scope::Namespace,
            Some(FrameKind::Block) => Scope::Function,
            Some(FrameKind::Group | FrameKind::Class) => return,
        };
        let statement = self.state.statement;
        if self.shared_statement.replace(statement) == Some(statement) {
            return;
        }
        if let Some(edits) = shared::declaration(self.source, statement, at, place) {
            self.edits.append(edits);
        }
    }

    fn global(&mut self, at: usize) {
        let statement = self.state.statement;
        if self.kernel_statement.replace(statement) == Some(statement) {
            return;
        }
        match kernels::kernel(self.source, statement, at) {
            Some(kernel) => self.kernel(kernel),
            None => self.all_kernels_enter = false,
        }
    }

    fn kernel(&mut self, kernel: Kernel<'a>) {
        self.edits.append(kernel.edits);
        if !kernel.is_plain {
            return;
        }
        let (namespace, is_in_extern_c) = self.surroundings();
        let is_extern_c = kernel.is_extern_c || is_in_extern_c;
        let is_conditional = !self.conditions.is_empty();
        let plain = PlainKernel { name: kernel.name.to_owned(), namespace, is_conditional };
        match (is_extern_c, kernel.is_defined) {
            (true, true) => self.extern_c.push(plain),
            (true, false) => drop(self.declared.insert(kernel.name)),
            (false, true) => self.defined.push(plain),
            (false, false) => {}
        }
    }

    /// The namespaces around this place, and whether it stands in `extern "C" { }`.
    fn surroundings(&self) -> (String, bool) {
        const DEEPEST: usize = 100;
        let (mut names, mut is_extern_c) = (Vec::new(), false);
        let mut next = self.state.frame;
        while let Some(frame) = next.map(|frame| self.frames[frame]).filter(|_| names.len() < DEEPEST) {
            is_extern_c |= frame.kind == FrameKind::ExternC;
            if frame.kind == FrameKind::Namespace {
                names.extend(self.namespace_name(frame));
            }
            next = frame.parent;
        }
        names.reverse();
        (names.join("::"), is_extern_c)
    }

    fn namespace_name(&self, frame: Frame) -> Option<String> {
        let words: Vec<&str> = (frame.statement..frame.opening).map(|at| self.source.word(at)).collect();
        let name: String = words.iter().filter(|&&word| !matches!(word, "inline" | "namespace")).copied().collect();
        let is_name = !name.is_empty() && !name.contains(['[', '"', '(']);
        is_name.then_some(name)
    }

    /// Each name once: the branches of an `#if` may define a kernel twice.
    fn plain_kernels(&mut self) -> Vec<PlainKernel> {
        self.defined.retain(|kernel| self.declared.contains(kernel.name.as_str()));
        let mut all = std::mem::take(&mut self.extern_c);
        all.append(&mut self.defined);
        let mut seen = HashSet::new();
        all.retain(|kernel| seen.insert(kernel.name.clone()));
        all
    }

    /// Another branch begins where the first one began: with a new statement, if there was none before the `#if`.
    fn other_branch(&mut self, before: usize) {
        if let Some(&(state, first)) = self.conditions.last() {
            let statement = if state.statement == first { before } else { state.statement };
            self.state = RewriteState { statement, ..state };
        }
    }

    fn directive(&mut self, before: usize, directive: &str) {
        let body = directive.trim_start_matches(['#', '%', ':']).trim_start_matches([' ', '\t']);
        let name = body.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        match name {
            "if" | "ifdef" | "ifndef" => self.conditions.push((self.state, before)),
            "elif" | "elifdef" | "elifndef" | "else" => self.other_branch(before),
            "endif" => drop(self.conditions.pop()),
            "define" if body.contains("__global__") => self.all_kernels_enter = false,
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "rewrite_tests.rs"]
mod tests;
