//! Choices on disk: one file for each kernel, device and size class, named by a hash of these, with a hash of its contents.

use std::{
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use gpu_driver_core::{
    cache::{Key, write_whole},
    private,
};

use super::Choice;
use crate::nvrtc::cache::{put, take, text};

/// First bytes of each file; the number changes with the layout.
const MAGIC: &[u8; 8] = b"GPUTUNE1";
const EXTENSION: &str = "tuned";

/// A choice, and the times that it was made by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) kernel: String,
    pub(super) device: String,
    /// See [`class`].
    pub(super) class: u32,
    pub(super) winner: String,
    pub(super) is_pinned: bool,
    pub(super) times_ms: Vec<(String, f32)>,
}

/// The size class: 0 for 0, else the number of binary digits.
pub(super) fn class(n: usize) -> u32 {
    usize::BITS - n.leading_zeros()
}

/// The sizes of a class, which is at most 64.
fn sizes(class: u32) -> RangeInclusive<usize> {
    match class.checked_sub(1) {
        None => 0..=0,
        Some(exponent) => 1 << exponent..=usize::MAX >> (usize::BITS - class),
    }
}

/// The key of a record.
pub(super) fn key(kernel: &str, device: &str, class: u32) -> Key {
    Key::of(["tuned", kernel, device, &class.to_string()])
}

impl Record {
    /// The choice of the fastest; of equals the first.
    pub(super) fn measured(kernel: &str, device: &str, n: usize, times_ms: Vec<(String, f32)>) -> Self {
        let fastest = times_ms.iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
        let winner = fastest.map(|(name, _)| name.clone()).unwrap_or_default();
        let (kernel, device, class) = (kernel.to_owned(), device.to_owned(), class(n));
        Self { kernel, device, class, winner, is_pinned: false, times_ms }
    }

    pub(super) fn pinned(kernel: &str, device: &str, n: usize, winner: &str, times_ms: Vec<(String, f32)>) -> Self {
        let (kernel, device, class) = (kernel.to_owned(), device.to_owned(), class(n));
        Self { kernel, device, class, winner: winner.to_owned(), is_pinned: true, times_ms }
    }

    pub(super) fn key(&self) -> [u8; 32] {
        *key(&self.kernel, &self.device, self.class).bytes()
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for part in [&self.kernel, &self.device, &self.winner] {
            put(&mut body, part.as_bytes());
        }
        body.extend(self.class.to_le_bytes());
        body.push(u8::from(self.is_pinned));
        for (name, ms) in &self.times_ms {
            put(&mut body, name.as_bytes());
            body.extend(ms.to_le_bytes());
        }
        [&MAGIC[..], Key::of_bytes([&body[..]]).bytes(), &body].concat()
    }

    fn decode(file: &[u8]) -> Option<Self> {
        let (hash, mut body) = file.strip_prefix(MAGIC)?.split_at_checked(32)?;
        if hash != &Key::of_bytes([body]).bytes()[..] {
            return None;
        }
        let body = &mut body;
        let (kernel, device, winner) = (text(body)?, text(body)?, text(body)?);
        let class = u32::from_le_bytes(fixed(body)?);
        let [pinned] = fixed(body)?;
        let mut times_ms = Vec::new();
        while !body.is_empty() {
            times_ms.push((String::from_utf8(take(body)?.to_vec()).ok()?, f32::from_le_bytes(fixed(body)?)));
        }
        let makes_sense = class <= usize::BITS && pinned <= 1;
        makes_sense.then_some(Self { kernel, device, class, winner, is_pinned: pinned == 1, times_ms })
    }
}

/// So many bytes of the front.
fn fixed<const N: usize>(body: &mut &[u8]) -> Option<[u8; N]> {
    let (front, rest) = body.split_first_chunk::<N>()?;
    *body = rest;
    Some(*front)
}

fn file_name(key: Key) -> String {
    format!("{}.{EXTENSION}", key.hex())
}

/// The record of that key, if there is one and it is whole.
pub(super) fn load(folder: &Path, key: Key) -> Option<Record> {
    read(&folder.join(file_name(key))).filter(|record| record.key() == *key.bytes())
}

/// The record in a file that this user alone can have written.
pub(super) fn read(path: &Path) -> Option<Record> {
    Record::decode(&private::read(path).ok()?)
}

/// Stores a record. Failure is not reported: the next program measures again.
pub(super) fn store(folder: &Path, record: &Record) {
    let name = file_name(key(&record.kernel, &record.device, record.class));
    let _ = write_whole(folder, &name, &record.encode());
}

/// The files of records in a folder, whole or not.
pub(super) fn files(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
}

impl From<Record> for Choice {
    fn from(record: Record) -> Self {
        let Record { kernel, class, winner, is_pinned, times_ms, .. } = record;
        Self { kernel, sizes: sizes(class), variant: winner, is_pinned, times_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_class_are_those_with_as_many_digits() {
        for n in [0, 1, 2, 3, 4, 1023, 1024, usize::MAX / 2, usize::MAX / 2 + 1, usize::MAX] {
            let sizes = sizes(class(n));
            assert!(sizes.contains(&n), "{n}: {sizes:?}");
            assert!(class(*sizes.start()) == class(n) && class(*sizes.end()) == class(n), "{n}: {sizes:?}");
        }
        assert_eq!((sizes(class(1000)), sizes(class(1024))), (512..=1023, 1024..=2047));
    }

    #[test]
    fn any_damage_of_a_file_is_noticed() {
        let times = vec![("a".to_owned(), 2.0), ("b".to_owned(), 1.5)];
        let record = Record::measured("sum", "a device", 1000, times);
        assert_eq!(record.winner, "b");
        let file = record.encode();
        assert_eq!(Record::decode(&file), Some(record));
        for at in 0..file.len() {
            assert_eq!(Record::decode(&file[..at]), None, "cut at {at}");
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(Record::decode(&damaged), None, "changed at {at}");
        }
    }
}
