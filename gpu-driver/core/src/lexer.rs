//! Splits C++ text into tokens, by byte range, so that all that is not changed stays as it was.

use std::{borrow::Cow, ops::Range};

/// The kind of a token. White space and comments are no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Identifier or keyword.
    Word,
    /// A number, with its suffix and digit separators.
    Number,
    /// String or character literal.
    Literal,
    /// Punctuation: single characters, and the pairs `::`, `->`, `<<`, `<=` and `>=`.
    Punctuation,
    /// A preprocessor directive to the end of its last line.
    Directive,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    start: u32,
    end: u32,
}

impl Token {
    /// Its place in the text, in bytes.
    #[inline] // The rewriter of the emulated device asks for each token, from its own crate.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Pairs whose halves would be misread: `->` closes no template, and `<<` opens none. `>>` is not among them, because it
/// may close two.
const PAIRS: [&[u8; 2]; 5] = [b"::", b"->", b"<<", b"<=", b">="];

/// All tokens of a text. Text that is no C++ gives some tokens too, never a panic. Texts beyond 4 GiB give none.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    if u32::try_from(bytes.len()).is_err() {
        return tokens;
    }
    let (mut at, mut line_begins) = (0, true);
    while at < bytes.len() {
        let (piece, end) = piece(bytes, at, line_begins);
        match piece {
            Piece::Newline => line_begins = true,
            Piece::Skipped => {}
            Piece::Token(kind) => {
                line_begins = false;
                tokens.push(Token { kind, start: at as u32, end: end as u32 });
            }
        }
        at = end;
    }
    tokens
}

enum Piece {
    Newline,
    Skipped,
    Token(TokenKind),
}

/// The piece that begins at `at`, and its end, which lies beyond `at`.
fn piece(bytes: &[u8], at: usize, line_begins: bool) -> (Piece, usize) {
    match bytes[at] {
        b'\n' => (Piece::Newline, at + 1),
        b' ' | b'\t' | b'\r' | 0x0b | 0x0c => (Piece::Skipped, at + 1),
        b'\\' if splice(bytes, at).is_some() => (Piece::Skipped, splice(bytes, at).unwrap_or(at + 1)),
        b'/' if bytes.get(at + 1) == Some(&b'/') => (Piece::Skipped, line_end(bytes, at)),
        b'/' if bytes.get(at + 1) == Some(&b'*') => (Piece::Skipped, comment_end(bytes, at)),
        b'#' if line_begins => (Piece::Token(TokenKind::Directive), directive_end(bytes, at)),
        // The other spelling of `#`.
        b'%' if line_begins && bytes.get(at + 1) == Some(&b':') => {
            (Piece::Token(TokenKind::Directive), directive_end(bytes, at))
        }
        quote @ (b'"' | b'\'') => (Piece::Token(TokenKind::Literal), quoted_end(bytes, at, quote)),
        first if is_word_byte(first) && !first.is_ascii_digit() => word(bytes, at),
        _ if begins_number(bytes, at) => (Piece::Token(TokenKind::Number), number_end(bytes, at)),
        _ => (Piece::Token(TokenKind::Punctuation), at + punctuation_length(bytes, at)),
    }
}

/// The text with its continued lines in one, as compilers see it outside of raw strings.
pub fn spliced(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        let end = splice(rest.as_bytes(), at);
        whole.push_str(&rest[..if end.is_some() { at } else { at + 1 }]);
        rest = &rest[end.unwrap_or(at + 1)..];
    }
    Cow::Owned(whole + rest)
}

/// The end of a line continuation at `at`: a backslash, blanks (which compilers forgive), a line's end.
fn splice(bytes: &[u8], at: usize) -> Option<usize> {
    let blanks = bytes[at + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    let newline = at + 1 + blanks;
    (bytes.get(newline) == Some(&b'\n')).then_some(newline + 1)
}

/// The end of a line that may be continued: at its line feed, or at the text's end.
fn line_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'\n' {
        at = if bytes[at] == b'\\' { splice(bytes, at).unwrap_or(at + 1) } else { at + 1 };
    }
    at
}

fn comment_end(bytes: &[u8], at: usize) -> usize {
    let inside = &bytes[at + 2..];
    inside.windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |length| at + 2 + length + 2)
}

/// A directive ends with its line, but a comment, a continuation and a raw string inside carry it on.
fn directive_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match piece(bytes, at, false) {
            (Piece::Newline, _) => return at,
            (_, end) => at = end,
        }
    }
    at
}

/// The end of a string or character literal: behind its quote, or at the line's end where it is not closed.
fn quoted_end(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut at = at + 1;
    while at < bytes.len() && bytes[at] != b'\n' {
        match bytes[at] {
            b'\\' => at = splice(bytes, at).unwrap_or(at + 2),
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

/// An identifier, or the raw string that it is the prefix of.
fn word(bytes: &[u8], at: usize) -> (Piece, usize) {
    let end = at + bytes[at..].iter().take_while(|&&byte| is_word_byte(byte)).count();
    let is_prefix = matches!(&bytes[at..end], b"R" | b"u8R" | b"uR" | b"UR" | b"LR") && bytes.get(end) == Some(&b'"');
    match is_prefix.then(|| raw_string_end(bytes, end + 1)).flatten() {
        Some(end) => (Piece::Token(TokenKind::Literal), end),
        None => (Piece::Token(TokenKind::Word), end),
    }
}

/// The end of a raw string whose delimiter begins at `at`; `None` where the delimiter is none.
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    const LONGEST: usize = 16;
    let length = bytes[at..].iter().take(LONGEST + 1).position(|&byte| byte == b'(')?;
    let delimiter = &bytes[at..at + length];
    if delimiter.iter().any(|byte| matches!(byte, b' ' | b')' | b'\\' | b'"' | b'\t' | b'\n' | b'\r')) {
        return None;
    }
    let closing = [b")", delimiter, b"\""].concat();
    let inside = &bytes[at + length..];
    let found = inside.windows(closing.len()).position(|window| window == closing);
    Some(found.map_or(bytes.len(), |found| at + length + found + closing.len()))
}

/// Bytes beyond ASCII count as letters: no character of several bytes is ever divided.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn begins_number(bytes: &[u8], at: usize) -> bool {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    digit(at) || (bytes[at] == b'.' && digit(at + 1))
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        let signed = matches!(byte, b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E' | b'p' | b'P');
        let separated = byte == b'\'' && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        if !(signed || separated || byte == b'.' || is_word_byte(byte)) {
            break;
        }
        at += 1;
    }
    at
}

fn punctuation_length(bytes: &[u8], at: usize) -> usize {
    let pair = PAIRS.iter().any(|pair| bytes[at..].starts_with(&pair[..]));
    if pair { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| &text[token.range()]).collect()
    }

    #[test]
    fn tokens_are_those_of_cpp() {
        assert_eq!(split("int a=1'000+.5e-3f;"), ["int", "a", "=", "1'000", "+", ".5e-3f", ";"]);
        assert_eq!(split("x/* a */y // b \\\n c\nz"), ["x", "y", "z"]);
        assert_eq!(split(r#"f("a\"b", 'c', '\'')"#), ["f", "(", "\"a\\\"b\"", ",", "'c'", ",", "'\\''", ")"]);
        assert_eq!(
            split("A<B<C>> a->b::c << d"),
            ["A", "<", "B", "<", "C", ">", ">", "a", "->", "b", "::", "c", "<<", "d"]
        );
        assert_eq!(split("a\\\nb \\  \n c"), ["a", "b", "c"]);
        assert_eq!(split("über = 1"), ["über", "=", "1"]);
    }

    #[test]
    fn directives_end_with_their_last_line() {
        assert_eq!(split("#define A \\\n b\nc"), ["#define A \\\n b", "c"]);
        assert_eq!(split("#if 1 /* two\nlines */ + 1\nc"), ["#if 1 /* two\nlines */ + 1", "c"]);
        assert_eq!(split("/* first */ # error don't\nc # d"), ["# error don't", "c", "#", "d"]);
        assert_eq!(split("%:define A \\\n b\nc %: d % e"), ["%:define A \\\n b", "c", "%", ":", "d", "%", "e"]);
    }

    #[test]
    fn raw_strings_are_one_token() {
        assert_eq!(split("R\"(a\")b\"c)\" d"), ["R\"(a\")b\"c)\"", "d"]);
        assert_eq!(split("u8R\"x(__shared__\n)\" )x\" d"), ["u8R\"x(__shared__\n)\" )x\"", "d"]);
        assert_eq!(split("R\"open(a"), ["R\"open(a"]);
        assert_eq!(split("xR\"(a\" b"), ["xR", "\"(a\"", "b"]);
    }

    #[test]
    fn continued_lines_become_one() {
        assert_eq!(spliced("__has_in\\\nclude \\\r\nb\\ \t\n\\c\\"), "__has_include b\\c\\");
        assert!(matches!(spliced("a\nb"), Cow::Borrowed("a\nb")));
    }

    #[test]
    fn what_is_not_closed_ends_with_its_line_or_the_text() {
        assert_eq!(split("\"abc\nd"), ["\"abc", "d"]);
        assert_eq!(split("'"), ["'"]);
        assert_eq!(split("\"\\"), ["\"\\"]);
        assert_eq!(split("a /* b"), ["a"]);
        assert_eq!(split("a \\"), ["a", "\\"]);
    }
}
