//! The few facts of a shared object that loading needs: its length, its segments, its symbols. 64-bit little-endian ELF.

use std::ops::Range;

const HEADER_BYTES: usize = 64;
const MAGIC: &[u8] = b"\x7fELF\x02\x01";

/// A part of the file that is mapped when it is loaded, by its addresses relative to where that is.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) addresses: Range<usize>,
    pub(super) writable: bool,
}

/// A shared object, as bytes.
#[derive(Clone, Copy)]
pub(super) struct Elf<'a>(&'a [u8]);

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    usize::try_from(u64::from_le_bytes(wide)).ok()
}

/// Bytes of the file that begins with this header: linkers put the table of sections last.
pub(super) fn file_bytes(header: &[u8; HEADER_BYTES]) -> Option<usize> {
    if !header.starts_with(MAGIC) {
        return None;
    }
    let (offset, size, count) = (number::<8>(header, 40)?, number::<2>(header, 58)?, number::<2>(header, 60)?);
    offset.checked_add(size.checked_mul(count)?).filter(|&end| offset >= HEADER_BYTES && end < 1 << 32)
}

impl<'a> Elf<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let header = bytes.first_chunk()?;
        (file_bytes(header)? <= bytes.len()).then_some(Self(bytes))
    }

    fn table(self, offset: usize, size: usize, count: usize) -> impl Iterator<Item = &'a [u8]> {
        (0..count).filter_map(move |at| {
            let start = offset.checked_add(at.checked_mul(size)?)?;
            self.0.get(start..start.checked_add(size)?)
        })
    }

    /// What is mapped.
    pub(super) fn segments(self) -> Vec<Segment> {
        const LOAD: usize = 1;
        const WRITE: usize = 2;
        let header = |at: usize, wide: bool| if wide { number::<8>(self.0, at) } else { number::<2>(self.0, at) };
        let (offset, size, count) = (header(32, true), header(54, false), header(56, false));
        let table = self.table(offset.unwrap_or(0), size.unwrap_or(0), count.unwrap_or(0));
        let segment = |entry: &[u8]| {
            let (start, bytes) = (number::<8>(entry, 16)?, number::<8>(entry, 40)?);
            let writable = number::<4>(entry, 4)? & WRITE != 0;
            let is_load = number::<4>(entry, 0)? == LOAD;
            is_load.then_some(Segment { addresses: start..start.checked_add(bytes)?, writable })
        };
        table.filter_map(segment).collect()
    }

    /// Address, relative to where the file is loaded, and size of the symbol of that name, exported or not.
    pub(super) fn symbol(self, name: &str) -> Option<(usize, usize)> {
        const SYMBOLS: usize = 2;
        let sections = || self.table(number::<8>(self.0, 40).unwrap_or(0), 64, number::<2>(self.0, 60).unwrap_or(0));
        let symbols = sections().find(|section| number::<4>(section, 4) == Some(SYMBOLS))?;
        let names = sections().nth(number::<4>(symbols, 40)?)?;
        let (names_at, names_bytes) = (number::<8>(names, 24)?, number::<8>(names, 32)?);
        let names = self.0.get(names_at..names_at.checked_add(names_bytes)?)?;
        let entries = self.table(number::<8>(symbols, 24)?, 24, number::<8>(symbols, 32)? / 24);
        entries.into_iter().find_map(|entry| {
            let at = number::<4>(entry, 0)?;
            let text = names.get(at..)?.split(|&byte| byte == 0).next()?;
            let (value, bytes) = (number::<8>(entry, 8)?, number::<8>(entry, 16)?);
            (text == name.as_bytes() && value != 0).then_some((value, bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_read() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = Elf::new(&bytes).unwrap();
        assert!(elf.segments().iter().any(|segment| segment.writable));
        let stripped = !bytes.windows(8).any(|window| window == b".symtab\0");
        assert!((stripped || elf.symbol("main").is_some()) && elf.symbol("no_such_symbol").is_none());
        assert!(file_bytes(bytes.first_chunk().unwrap()).unwrap() <= bytes.len());
    }

    #[test]
    fn what_is_no_shared_object_is_refused() {
        let mut bytes = [0u8; 256];
        assert!(Elf::new(&bytes).is_none() && Elf::new(b"//\n// ptx").is_none());
        bytes[..6].copy_from_slice(MAGIC);
        for at in 6..256 {
            bytes[at] = 0xff;
            if let Some(elf) = Elf::new(&bytes) {
                let _ = (elf.segments(), elf.symbol("x"));
            }
        }
    }
}
