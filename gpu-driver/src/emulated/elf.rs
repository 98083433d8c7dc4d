//! The few facts of a shared object that loading needs: its length, its segments, its symbols. 64-bit little-endian ELF.

use std::ops::Range;

const HEADER_BYTES: usize = 64;
const MAGIC: &[u8] = b"\x7fELF\x02\x01";

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

    /// What is mapped, by addresses relative to where the file is loaded.
    pub(super) fn segments(self) -> Vec<Range<usize>> {
        const LOAD: usize = 1;
        let header = |at: usize, wide: bool| if wide { number::<8>(self.0, at) } else { number::<2>(self.0, at) };
        let (offset, size, count) = (header(32, true), header(54, false), header(56, false));
        let table = self.table(offset.unwrap_or(0), size.unwrap_or(0), count.unwrap_or(0));
        let segment = |entry: &[u8]| {
            let (start, bytes) = (number::<8>(entry, 16)?, number::<8>(entry, 40)?);
            (number::<4>(entry, 0)? == LOAD).then_some(start..start.checked_add(bytes)?)
        };
        table.filter_map(segment).collect()
    }

    /// The bytes of the file that hold variables which can be written: the sections `.data` and `.bss`, by their addresses.
    pub(super) fn variables_at(self) -> Vec<Range<usize>> {
        let (offset, count) = (number::<8>(self.0, 40).unwrap_or(0), number::<2>(self.0, 60).unwrap_or(0));
        let names = number::<2>(self.0, 62).and_then(|at| self.table(offset, 64, count).nth(at));
        let Some(names_at) = names.and_then(|section| number::<8>(section, 24)) else { return Vec::new() };
        let range = |section: &[u8]| {
            let name =
                self.0.get(names_at.checked_add(number::<4>(section, 0)?)?..)?.split(|&byte| byte == 0).next()?;
            let (start, bytes) = (number::<8>(section, 16)?, number::<8>(section, 32)?);
            matches!(name, b".data" | b".bss").then_some(start..start.checked_add(bytes)?)
        };
        self.table(offset, 64, count).filter_map(range).collect()
    }

    /// Name, address and size of every variable.
    pub(super) fn objects(self) -> Vec<(String, Range<usize>)> {
        const OBJECT: usize = 1;
        self.symbols(|name, entry| {
            let (start, bytes) = (number::<8>(entry, 8)?, number::<8>(entry, 16)?);
            let is_object = number::<1>(entry, 4)? & 0xf == OBJECT;
            is_object.then_some((String::from_utf8_lossy(name).into_owned(), start..start.checked_add(bytes)?))
        })
    }

    /// Address, relative to where the file is loaded, and size of the symbol of that name, exported or not.
    pub(super) fn symbol(self, name: &str) -> Option<(usize, usize)> {
        let found = self.symbols(|text, entry| {
            let (value, bytes) = (number::<8>(entry, 8)?, number::<8>(entry, 16)?);
            (text == name.as_bytes() && value != 0).then_some((value, bytes))
        });
        found.first().copied()
    }

    fn sections(self) -> impl Iterator<Item = &'a [u8]> {
        self.table(number::<8>(self.0, 40).unwrap_or(0), 64, number::<2>(self.0, 60).unwrap_or(0))
    }

    /// Addresses of the functions that the dynamic linker calls when the object is loaded, or unloaded.
    pub(super) fn called_by_the_linker(self) -> Vec<usize> {
        const RELOCATIONS: usize = 4;
        const ARRAYS: std::ops::RangeInclusive<usize> = 14..=16;
        /// Relocations whose value a function of the object computes, for x86-64 and aarch64.
        const BY_A_FUNCTION: [usize; 2] = [37, 1032];
        let of_kind = |kinds: std::ops::RangeInclusive<usize>| {
            self.sections().filter(move |section| number::<4>(section, 4).is_some_and(|kind| kinds.contains(&kind)))
        };
        let place = |section: &[u8]| {
            let (address, offset) = (number::<8>(section, 16)?, number::<8>(section, 24)?);
            Some((address, offset, number::<8>(section, 32)?))
        };
        let arrays: Vec<_> = of_kind(ARRAYS).filter_map(place).collect();
        // Linkers that keep no addends elsewhere leave the addresses in place.
        let in_place = arrays.iter().flat_map(|&(_, offset, bytes)| {
            (0..bytes / 8).filter_map(move |at| number::<8>(self.0, offset.checked_add(8 * at)?))
        });
        let relocated = of_kind(RELOCATIONS..=RELOCATIONS).filter_map(place).flat_map(|(_, offset, bytes)| {
            self.table(offset, 24, bytes / 24).filter_map(|entry| {
                let (at, info, addend) = (number::<8>(entry, 0)?, number::<8>(entry, 8)?, number::<8>(entry, 16)?);
                let in_array = arrays.iter().any(|&(start, _, bytes)| at >= start && at - start < bytes);
                (in_array || BY_A_FUNCTION.contains(&(info & 0xffff_ffff))).then_some(addend)
            })
        });
        let mut all: Vec<usize> = in_place.filter(|&address| address != 0).chain(relocated).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The names of the functions that begin at an address.
    pub(super) fn functions_at(self, address: usize) -> Vec<String> {
        const FUNCTION: usize = 2;
        self.symbols(|name, entry| {
            let found = number::<1>(entry, 4)? & 0xf == FUNCTION && number::<8>(entry, 8)? == address;
            found.then(|| String::from_utf8_lossy(name).into_owned())
        })
    }

    /// What `each` makes of the symbols, by name and entry.
    fn symbols<T>(self, each: impl Fn(&[u8], &[u8]) -> Option<T>) -> Vec<T> {
        self.try_symbols(each).unwrap_or_default()
    }

    fn try_symbols<T>(self, each: impl Fn(&[u8], &[u8]) -> Option<T>) -> Option<Vec<T>> {
        const SYMBOLS: usize = 2;
        let symbols = self.sections().find(|section| number::<4>(section, 4) == Some(SYMBOLS))?;
        let names = self.sections().nth(number::<4>(symbols, 40)?)?;
        let (names_at, names_bytes) = (number::<8>(names, 24)?, number::<8>(names, 32)?);
        let names = self.0.get(names_at..names_at.checked_add(names_bytes)?)?;
        let entries = self.table(number::<8>(symbols, 24)?, 24, number::<8>(symbols, 32)? / 24);
        let made = entries.filter_map(|entry| {
            let name = names.get(number::<4>(entry, 0)?..)?.split(|&byte| byte == 0).next()?;
            each(name, entry)
        });
        Some(made.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_read() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = Elf::new(&bytes).unwrap();
        assert!(elf.segments().len() > 1);
        let stripped = elf.objects().is_empty();
        assert!((stripped || elf.symbol("main").is_some()) && elf.symbol("no_such_symbol").is_none());
        assert!(!elf.variables_at().is_empty() && (stripped || !elf.objects().is_empty()));
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
                let _ = (elf.segments(), elf.symbol("x"), elf.objects(), elf.variables_at());
                let _ = (elf.called_by_the_linker(), elf.functions_at(0));
            }
        }
    }
}
