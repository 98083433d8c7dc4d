//! Lines of a text that may be compressed, with their numbers.

use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::ops::Range;

use flate2::bufread::MultiGzDecoder;

use crate::error::{MatrixMarketError, MatrixMarketErrorKind};

/// The longest line that is read, in bytes without its end.
pub(super) const LONGEST_LINE: usize = 1 << 20;
/// Size of one read, and of the buffer until a longer line comes.
const CHUNK: usize = 128 << 10;

/// One line without its end and without white space around it.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
}

impl Line<'_> {
    /// An error on this line.
    #[cold]
    pub(super) fn error(&self, kind: MatrixMarketErrorKind) -> MatrixMarketError {
        MatrixMarketError::new(self.number, kind)
    }
}

/// Reads lines out of one buffer, which holds a chunk or the longest line and never more.
pub(super) struct Lines<'r> {
    source: Box<dyn Read + 'r>,
    buffer: Vec<u8>,
    /// The bytes read and not yet handed out are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Lines handed out.
    number: u64,
}

impl<'r> Lines<'r> {
    /// Looks at the first two bytes: gzip is recognised by its magic number, whatever the file is called.
    pub(super) fn new(mut reader: impl Read + 'r) -> Result<Self, MatrixMarketError> {
        let mut magic = Vec::with_capacity(2);
        let peeked = reader.by_ref().take(2).read_to_end(&mut magic);
        let is_gzip = magic == [0x1f, 0x8b];
        let whole = Cursor::new(magic).chain(reader);
        let source: Box<dyn Read + 'r> =
            if is_gzip { Box::new(MultiGzDecoder::new(BufReader::new(whole))) } else { Box::new(whole) };
        let lines = Self { source, buffer: vec![0; CHUNK], start: 0, end: 0, number: 0 };
        peeked.map_err(|e| lines.read_error(e))?;
        Ok(lines)
    }

    /// The next line; `None` at the end of the text.
    pub(super) fn next_line(&mut self) -> Result<Option<Line<'_>>, MatrixMarketError> {
        let Some(range) = self.advance()? else { return Ok(None) };
        Ok(Some(Line { number: self.number, bytes: trim(&self.buffer[range]) }))
    }

    /// The next line that is neither blank nor a comment.
    pub(super) fn next_content(&mut self) -> Result<Option<Line<'_>>, MatrixMarketError> {
        while let Some(range) = self.advance()? {
            if !matches!(trim(&self.buffer[range.clone()]).first(), None | Some(b'%')) {
                return Ok(Some(Line { number: self.number, bytes: trim(&self.buffer[range]) }));
            }
        }
        Ok(None)
    }

    /// An error about something that the text lacks at its end.
    #[cold]
    pub(super) fn error_at_end(&self, kind: MatrixMarketErrorKind) -> MatrixMarketError {
        MatrixMarketError::new(self.number.max(1), kind)
    }

    /// Finds the next line in the buffer, reading on as needed.
    fn advance(&mut self) -> Result<Option<Range<usize>>, MatrixMarketError> {
        let mut searched = 0;
        loop {
            let pending = &self.buffer[self.start..self.end];
            let found = memchr::memchr(b'\n', &pending[searched..]).map(|at| searched + at);
            let length = found.unwrap_or(pending.len());
            if length > LONGEST_LINE {
                let kind = MatrixMarketErrorKind::LineTooLong { limit: LONGEST_LINE };
                return Err(MatrixMarketError::new(self.number + 1, kind));
            }
            searched = length;
            if found.is_none() && self.fill()? > 0 {
                continue;
            }
            if found.is_none() && length == 0 {
                return Ok(None);
            }
            let line = self.start..self.start + length;
            self.start = (line.end + 1).min(self.end);
            self.number += 1;
            return Ok(Some(line));
        }
    }

    /// Reads more behind the pending bytes; returns how many, 0 at the end of the text.
    fn fill(&mut self) -> Result<usize, MatrixMarketError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            // Only a long line comes here; the factor keeps the copying linear.
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.read_error(error)),
            }
        }
    }

    #[cold]
    fn read_error(&self, error: io::Error) -> MatrixMarketError {
        MatrixMarketError::new(self.number + 1, MatrixMarketErrorKind::Read(error))
    }
}

/// Cuts blanks on both sides; the carriage return of a CRLF is one of them.
fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_blank(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && (is_blank(*last) || *last == b'\r')
    {
        bytes = rest;
    }
    bytes
}

/// Blanks separate the words of a line.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte at a time, with interruptions.
    struct Drip<'a>(&'a [u8], bool);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = self.0.len().min(out.len()).min(1);
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn all(text: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut lines = Lines::new(Drip(text, false)).unwrap();
        let mut got = Vec::new();
        while let Some(line) = lines.next_content().unwrap() {
            got.push((line.number, line.bytes.to_vec()));
        }
        got
    }

    #[test]
    fn comments_and_blank_lines_count_but_do_not_show() {
        let want = vec![(2, b"a b".to_vec()), (6, b"c".to_vec())];
        assert_eq!(all(b"\n \ta b \r\r\n%x\n  % y\n\r\n c"), want);
    }

    #[test]
    fn only_the_longest_line_passes() {
        for (length, passes) in [(CHUNK, true), (LONGEST_LINE, true), (LONGEST_LINE + 1, false)] {
            for end in ["", "\n"] {
                let text = format!("first\n{}{end}", "x".repeat(length));
                let mut lines = Lines::new(text.as_bytes()).unwrap();
                lines.next_line().unwrap();
                match lines.next_line() {
                    Ok(line) => assert!(passes && line.unwrap().bytes.len() == length),
                    Err(error) => assert!(!passes && error.line == 2, "{error}"),
                }
                assert!(lines.buffer.len() <= 2 * LONGEST_LINE);
            }
        }
    }
}
