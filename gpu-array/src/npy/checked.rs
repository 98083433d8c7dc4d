//! Files whose header asks for as many elements as they have: nothing is allocated for others.

use std::io::{self, Read};

use py_literal::Value as PyValue;

/// The reason why a file is none of the wanted array.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("no npy file: {0}")]
    Header(String),
    #[error("the header asks for {expected} bytes of elements, and there are {got}")]
    Bytes { expected: String, got: u64 },
    #[cfg(feature = "npz")]
    #[error("the archive has no array `{name}`; it has {names:?}")]
    Missing { name: String, names: Vec<String> },
    #[cfg(feature = "npz")]
    #[error(
        "the array `{name}` has {packed} bytes in the archive, which cannot hold the {stated} bytes that it states"
    )]
    Bomb { name: String, packed: u64, stated: u64 },
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// Bytes of the magic number and the version.
const START: usize = 8;
/// More brackets than a header of any type has.
const MOST_BRACKETS: usize = 256;

/// The reader of an npy file of that many bytes, after a check that these are as many as its header asks for. A type that no array here has is left to
/// the reader, which refuses it.
///
/// # Errors
/// `Header` for another file; `Bytes`.
pub(super) fn checked<R: Read>(mut reader: R, bytes: u64) -> Result<impl Read, FileError> {
    let mut head = Vec::new();
    let take = |reader: &mut R, head: &mut Vec<u8>, count: u64| -> Result<(), FileError> {
        // The reader may have fewer, so memory comes with them.
        if reader.take(count).read_to_end(head)? as u64 == count {
            return Ok(());
        }
        Err(FileError::Header("it ends within the header".to_owned()))
    };
    take(&mut reader, &mut head, START as u64)?;
    if &head[..6] != b"\x93NUMPY" {
        return Err(FileError::Header("it does not begin with \\x93NUMPY".to_owned()));
    }
    let of_length = if head[6] == 1 { 2 } else { 4 };
    take(&mut reader, &mut head, of_length)?;
    let length = head[START..].iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte));
    let Some(of_elements) = bytes.checked_sub(head.len() as u64 + length) else {
        return Err(FileError::Header(format!("its header of {length} bytes is longer than the file")));
    };
    let before = head.len();
    take(&mut reader, &mut head, length)?;
    let (of_element, shape) = facts(&head[before..])?;
    if let Some(of_element) = of_element {
        let wanted = shape.iter().try_fold(of_element, |bytes, &length| bytes.checked_mul(length));
        if wanted != Some(of_elements) {
            let expected = wanted.map_or_else(|| "more than 2^64".to_owned(), |bytes| bytes.to_string());
            return Err(FileError::Bytes { expected, got: of_elements });
        }
    }
    Ok(io::Cursor::new(head).chain(reader))
}

/// The bytes of an element, if its type is a number or plain bytes, and the shape in a header's dictionary.
fn facts(header: &[u8]) -> Result<(Option<u64>, Vec<u64>), FileError> {
    let refused = |why: &str| FileError::Header(why.to_owned());
    let text = std::str::from_utf8(header).map_err(|_| refused("its header is no text"))?;
    if text.chars().filter(|letter| "([{".contains(*letter)).count() > MOST_BRACKETS {
        return Err(refused("its header has too many brackets"));
    }
    let value: PyValue = text.trim_end().parse().map_err(|_| refused("its header is no dictionary of Python"))?;
    let entries = value.as_dict().ok_or_else(|| refused("its header is no dictionary"))?;
    let entry = |name: &str| {
        let is_named = |key: &PyValue| key.as_string().is_some_and(|key| key == name);
        entries.iter().find(|(key, _)| is_named(key)).map(|(_, value)| value)
    };
    let lengths = entry("shape").and_then(PyValue::as_tuple).ok_or_else(|| refused("its header has no shape"))?;
    let length = |value: &PyValue| value.as_integer().and_then(|length| length.try_into().ok());
    let shape = lengths.iter().map(|value| length(value).ok_or_else(|| refused("a length of its shape is no number")));
    let of_element = entry("descr").and_then(PyValue::as_string).and_then(|dtype| {
        let number = dtype.trim_start_matches(['<', '>', '|', '=']).strip_prefix(['b', 'i', 'u', 'f', 'c', 'V'])?;
        number.parse().ok()
    });
    Ok((of_element, shape.collect::<Result<_, _>>()?))
}
