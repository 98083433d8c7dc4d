//! A text as tokens, and the changes to make in it.

use std::ops::Range;

use gpu_driver_core::lexer::{Token, TokenKind, tokens};

/// Tokens of a text, each bracket with its partner.
pub(super) struct SourceFile<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// For each opening bracket the token that closes it; 0 where there is none.
    partners: Vec<u32>,
    /// Directives, each with the number of tokens before it.
    directives: Vec<(usize, Range<usize>)>,
}

impl<'a> SourceFile<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (mut kept, mut directives) = (Vec::new(), Vec::new());
        for token in tokens(text) {
            match token.kind {
                TokenKind::Directive => directives.push((kept.len(), token.range())),
                _ => kept.push(token),
            }
        }
        let mut source = Self { text, tokens: kept, partners: Vec::new(), directives };
        source.partners = source.pair_brackets();
        source
    }

    /// A closing bracket of another kind than expected ends the brackets within it, as an unbalanced macro would leave them.
    fn pair_brackets(&self) -> Vec<u32> {
        let mut partners = vec![0; self.tokens.len()];
        let mut open = Vec::new();
        for at in 0..self.tokens.len() {
            let opening = match self.word(at) {
                "(" | "[" | "{" => {
                    open.push(at);
                    continue;
                }
                ")" => "(",
                "]" => "[",
                "}" => "{",
                _ => continue,
            };
            match open.last() {
                Some(&last) if self.word(last) == opening => {
                    partners[last] = at as u32;
                    open.pop();
                }
                _ if opening == "{" => open.clear(),
                _ => {}
            }
        }
        partners
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The directives in order, each with the number of tokens before it.
    pub(super) fn directives(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.directives.iter().map(|(before, range)| (*before, &self.text[range.clone()]))
    }

    /// The text of a token; nothing beyond the last one.
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.range()])
    }

    /// Whether a token is an identifier or a keyword.
    pub(super) fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word)
    }

    pub(super) fn is_literal(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Literal)
    }

    /// The token behind the group that opens at `at`.
    pub(super) fn behind_group(&self, at: usize) -> Option<usize> {
        match self.partners.get(at) {
            None | Some(0) => None,
            Some(&partner) => Some(partner as usize + 1),
        }
    }

    /// The token behind the template arguments that begin with the `<` at `at`; `None` where it closes nowhere near.
    pub(super) fn behind_angles(&self, at: usize) -> Option<usize> {
        const FAR: usize = 10_000;
        let (mut depth, mut now) = (0usize, at);
        while now < self.tokens.len().min(at + FAR) {
            match self.word(now) {
                "<" => depth += 1,
                ">" => depth -= 1,
                "(" | "[" | "{" => now = self.behind_group(now)? - 1,
                ")" | "]" | "}" | ";" => return None,
                _ => {}
            }
            now += 1;
            if depth == 0 {
                return Some(now);
            }
        }
        None
    }

    /// The bytes of the text from the first token of a range to the last.
    pub(super) fn place(&self, tokens: Range<usize>) -> Range<usize> {
        let start = self.tokens.get(tokens.start).map_or(self.text.len(), |token| token.range().start);
        let end =
            tokens.end.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(start, |token| token.range().end);
        start..end.max(start)
    }

    /// The tokens of a range on one line, without the comments between them.
    pub(super) fn on_one_line(&self, tokens: Range<usize>) -> String {
        let words: Vec<&str> = tokens.map(|at| self.word(at)).collect();
        words.join(" ").replace("\\\n", "").replace('\n', " ")
    }
}

/// Changes to a text that leave the number of its lines as it is.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    /// Puts `text`, which has no line's end, before the token `at`.
    pub(super) fn insert_before(&mut self, source: &SourceFile, at: usize, text: impl Into<String>) {
        let start = source.place(at..at + 1).start;
        self.0.push((start..start, text.into()));
    }

    /// Puts `text` behind the token `at`.
    pub(super) fn insert_behind(&mut self, source: &SourceFile, at: usize, text: impl Into<String>) {
        let end = source.place(at..at + 1).end;
        self.0.push((end..end, text.into()));
    }

    /// Removes tokens and the text between them; the line ends stay.
    pub(super) fn remove(&mut self, source: &SourceFile, tokens: Range<usize>) {
        let place = source.place(tokens);
        let lines = source.text[place.clone()].matches('\n').count();
        self.0.push((place, "\n".repeat(lines)));
    }

    pub(super) fn append(&mut self, mut other: Edits) {
        self.0.append(&mut other.0);
    }

    /// The changed text. An edit inside one that stands before it is void.
    pub(super) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(place, _)| (place.start, place.end));
        let mut changed = String::with_capacity(text.len() + text.len() / 8);
        let mut done = 0;
        for (place, new) in self.0 {
            if place.start < done {
                continue;
            }
            changed.push_str(&text[done..place.start]);
            changed.push_str(&new);
            done = place.end;
        }
        changed + &text[done..]
    }
}
