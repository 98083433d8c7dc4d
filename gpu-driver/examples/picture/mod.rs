//! Pictures in files that most viewers read (portable pixmaps), for the examples.
#![allow(dead_code, reason = "not each example reads or writes a file")]
use std::error::Error;

/// Eileen Collins, photographed by NASA.
pub(crate) const PORTRAIT: &[u8] = include_bytes!("../astronaut.ppm");

/// A picture of three bytes for each pixel, in rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Picture {
    /// Reads a portable pixmap (`P6`).
    pub(crate) fn read(file: &[u8]) -> Result<Self, Box<dyn Error>> {
        let mut rest = file;
        let mut word = || loop {
            let start = rest.iter().position(|byte| !byte.is_ascii_whitespace()).ok_or("the file ends in its head")?;
            let is_comment = rest[start] == b'#';
            let is_end = |byte: &u8| if is_comment { *byte == b'\n' } else { byte.is_ascii_whitespace() };
            let length = rest[start..].iter().position(is_end).ok_or("the file ends in its head")?;
            let found = &rest[start..start + length];
            rest = &rest[start + length..];
            if !is_comment {
                return Ok::<_, Box<dyn Error>>(str::from_utf8(found)?);
            }
        };
        if word()? != "P6" {
            return Err("this is no portable pixmap in binary (P6)".into());
        }
        let (columns, rows, greatest): (usize, usize, u32) = (word()?.parse()?, word()?.parse()?, word()?.parse()?);
        let bytes = rest.get(1..).unwrap_or_default();
        let size = rows.checked_mul(columns).and_then(|pixels| pixels.checked_mul(3));
        if greatest != 255 || size != Some(bytes.len()) {
            return Err(format!("{columns} x {rows} pixels up to {greatest}, with {} bytes", bytes.len()).into());
        }
        Ok(Self { rows, columns, bytes: bytes.to_vec() })
    }

    pub(crate) fn to_file(&self) -> Vec<u8> {
        [format!("P6\n{} {}\n255\n", self.columns, self.rows).as_bytes(), &self.bytes].concat()
    }
}
