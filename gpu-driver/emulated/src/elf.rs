//! The few facts of a shared object that loading needs: its length, its segments, its symbols, and its code that would run. 64-bit little-endian ELF.

use std::ops::Range;

const HEADER_BYTES: usize = 64;
const MAGIC: &[u8] = b"\x7fELF\x02\x01";

/// Kinds of program headers.
const LOAD: usize = 1;
const DYNAMIC: usize = 2;

/// Kinds of sections that hold symbols: all of them, and those that the dynamic linker sees.
const SYMBOLS: usize = 2;
const DYNAMIC_SYMBOLS: usize = 11;

/// Kinds of symbols. The address of an indirect function is computed by a call of it.
const OBJECT: usize = 1;
const FUNCTION: usize = 2;
const INDIRECT_FUNCTION: usize = 10;

/// Entries of the dynamic table that name a function to call at load or at unload.
const CALLED: [usize; 2] = [12, 13];
/// Entries that give the address and the bytes of an array of such functions.
const ARRAYS: [(usize, usize); 3] = [(25, 27), (26, 28), (32, 33)];
/// Entries that give the address and the bytes of relocations: those of data, and those of calls.
const RELOCATIONS: [(usize, usize); 2] = [(7, 8), (23, 2)];
/// Relocations whose value a function of the object computes, for x86-64 and aarch64.
const BY_A_FUNCTION: [usize; 2] = [37, 1032];

/// A value that the dynamic linker writes.
#[derive(Clone, Copy)]
struct Relocation {
    at: usize,
    kind: usize,
    /// The number of the symbol that it is relative to; 0 for none.
    symbol: usize,
    addend: usize,
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

    /// The entries of a table, as far as the file holds them.
    fn table(self, offset: usize, size: usize, count: usize) -> impl Iterator<Item = &'a [u8]> {
        let held = self.0.len() / size.max(1);
        (0..count.min(held)).filter_map(move |at| {
            let start = offset.checked_add(at.checked_mul(size)?)?;
            self.0.get(start..start.checked_add(size)?)
        })
    }

    /// The program headers of a kind.
    fn program_headers(self, kind: usize) -> impl Iterator<Item = &'a [u8]> {
        let (offset, size, count) = (number::<8>(self.0, 32), number::<2>(self.0, 54), number::<2>(self.0, 56));
        let table = self.table(offset.unwrap_or(0), size.unwrap_or(0), count.unwrap_or(0));
        table.filter(move |entry| number::<4>(entry, 0) == Some(kind))
    }

    /// The segments that are mapped, by addresses relative to the file's load address.
    pub(super) fn segments(self) -> Vec<Range<usize>> {
        let segment = |entry: &[u8]| {
            let (start, bytes) = (number::<8>(entry, 16)?, number::<8>(entry, 40)?);
            Some(start..start.checked_add(bytes)?)
        };
        self.program_headers(LOAD).filter_map(segment).collect()
    }

    /// The position in the file of the byte that is mapped at an address.
    fn offset_of(self, address: usize) -> Option<usize> {
        self.program_headers(LOAD).find_map(|entry| {
            let (offset, start, bytes) = (number::<8>(entry, 8)?, number::<8>(entry, 16)?, number::<8>(entry, 32)?);
            offset.checked_add(address.checked_sub(start).filter(|&inside| inside < bytes)?)
        })
    }

    /// The position in the file of the value of a dynamic table's entry. Of several entries the last one counts, as for the dynamic linker.
    fn dynamic_at(self, tag: usize) -> Option<usize> {
        let start = self.offset_of(number::<8>(self.program_headers(DYNAMIC).last()?, 16)?)?;
        let entries = (start..self.0.len()).step_by(16).map_while(|at| Some((at + 8, number::<8>(self.0, at)?)));
        entries.take_while(|&(_, this)| this != 0).filter(|&(_, this)| this == tag).last().map(|(at, _)| at)
    }

    fn dynamic(self, tag: usize) -> Option<usize> {
        number::<8>(self.0, self.dynamic_at(tag)?)
    }

    /// The bytes of the file that hold variables which can be written: the sections `.data` and `.bss`, by their addresses.
    pub(super) fn variables_at(self) -> Vec<Range<usize>> {
        let range = |section: &[u8]| {
            let (start, bytes) = (number::<8>(section, 16)?, number::<8>(section, 32)?);
            matches!(self.section_name(section)?, b".data" | b".bss").then_some(start..start.checked_add(bytes)?)
        };
        self.sections().filter_map(range).collect()
    }

    /// Name, address and size of every variable.
    pub(super) fn objects(self) -> Vec<(String, Range<usize>)> {
        self.symbols(SYMBOLS, |name, entry| {
            let (start, bytes) = (number::<8>(entry, 8)?, number::<8>(entry, 16)?);
            let is_object = number::<1>(entry, 4)? & 0xf == OBJECT;
            is_object.then_some((String::from_utf8_lossy(name).into_owned(), start..start.checked_add(bytes)?))
        })
    }

    /// Address, relative to where the file is loaded, and size of the symbol of that name, exported or not.
    pub(super) fn symbol(self, name: &str) -> Option<(usize, usize)> {
        let found = self.symbols(SYMBOLS, |text, entry| {
            let (value, bytes) = (number::<8>(entry, 8)?, number::<8>(entry, 16)?);
            (text == name.as_bytes() && value != 0).then_some((value, bytes))
        });
        found.first().copied()
    }

    /// The sections. Where there are too many for the header, the first one says how many there are.
    fn sections(self) -> impl Iterator<Item = &'a [u8]> {
        let offset = number::<8>(self.0, 40).unwrap_or(0);
        let many = || number::<8>(self.0, offset.checked_add(32)?);
        let count = number::<2>(self.0, 60).filter(|&count| count != 0).or_else(many);
        self.table(offset, 64, count.unwrap_or(0))
    }

    /// The section of that index.
    fn section(self, index: usize) -> Option<&'a [u8]> {
        let start = number::<8>(self.0, 40)?.checked_add(index.checked_mul(64)?)?;
        self.0.get(start..start.checked_add(64)?)
    }

    fn section_name(self, section: &[u8]) -> Option<&'a [u8]> {
        const ELSEWHERE: usize = 0xffff;
        let names = match number::<2>(self.0, 62)? {
            ELSEWHERE => number::<4>(self.section(0)?, 40)?,
            names => names,
        };
        let at = number::<8>(self.section(names)?, 24)?.checked_add(number::<4>(section, 0)?)?;
        self.0.get(at..)?.split(|&byte| byte == 0).next()
    }

    /// Whether there is a section of that name.
    pub(super) fn has_section(self, name: &str) -> bool {
        self.sections().any(|section| self.section_name(section) == Some(name.as_bytes()))
    }

    /// Addresses of the functions that the dynamic linker calls when the object is loaded, or unloaded, or may call when one of its symbols is looked
    /// for. Each is named as often as it would be called.
    pub(super) fn called_by_the_linker(self) -> Vec<usize> {
        let relocations = self.relocations();
        let single = CALLED.into_iter().filter_map(|tag| self.dynamic(tag));
        let in_arrays = self.slots().into_iter().map(|slot| {
            let relocated = relocations.iter().find(|relocation| relocation.at == slot);
            // Linkers that keep no addends elsewhere leave the addresses in place.
            let in_place = || self.offset_of(slot).and_then(|at| number::<8>(self.0, at)).unwrap_or(0);
            relocated.map_or_else(in_place, |relocation| self.value(relocation))
        });
        let computing = relocations.iter().filter(|relocation| BY_A_FUNCTION.contains(&relocation.kind));
        let all = single.chain(in_arrays).chain(computing.map(|relocation| relocation.addend));
        all.chain(self.indirect_functions()).collect()
    }

    /// The positions in the file of the lengths of the arrays whose functions the dynamic linker calls.
    pub(super) fn array_lengths_at(self) -> Vec<usize> {
        ARRAYS.into_iter().filter_map(|(_, bytes)| self.dynamic_at(bytes)).collect()
    }

    /// The address of each entry of those arrays.
    fn slots(self) -> Vec<usize> {
        let mut slots = Vec::new();
        for (start, bytes) in ARRAYS {
            let (start, bytes) = (self.dynamic(start).unwrap_or(0), self.dynamic(bytes).unwrap_or(0));
            let count = bytes.min(self.0.len()) / 8;
            slots.extend((0..count).filter_map(|slot| start.checked_add(8 * slot)));
        }
        slots
    }

    fn relocations(self) -> Vec<Relocation> {
        let tables = RELOCATIONS.into_iter().filter_map(|(start, bytes)| {
            Some(self.table(self.offset_of(self.dynamic(start)?)?, 24, self.dynamic(bytes)? / 24))
        });
        let relocation = |entry: &[u8]| {
            let (at, info, addend) = (number::<8>(entry, 0)?, number::<8>(entry, 8)?, number::<8>(entry, 16)?);
            Some(Relocation { at, kind: info & 0xffff_ffff, symbol: info >> 32, addend })
        };
        tables.flatten().filter_map(relocation).collect()
    }

    /// The address that a relocation writes.
    fn value(self, relocation: &Relocation) -> usize {
        let symbol = || {
            let symbols = self.sections().find(|section| number::<4>(section, 4) == Some(DYNAMIC_SYMBOLS))?;
            let entry = number::<8>(symbols, 24)?.checked_add(relocation.symbol.checked_mul(24)?)?;
            number::<8>(self.0, entry.checked_add(8)?)
        };
        symbol().unwrap_or(0).wrapping_add(relocation.addend)
    }

    fn indirect_functions(self) -> Vec<usize> {
        let address = |_: &[u8], entry: &[u8]| {
            let is_indirect = number::<1>(entry, 4)? & 0xf == INDIRECT_FUNCTION;
            number::<8>(entry, 8).filter(|_| is_indirect)
        };
        [SYMBOLS, DYNAMIC_SYMBOLS].into_iter().flat_map(|kind| self.symbols(kind, address)).collect()
    }

    /// The names of the functions that begin at an address.
    pub(super) fn functions_at(self, address: usize) -> Vec<String> {
        self.symbols(SYMBOLS, |name, entry| {
            let found = number::<1>(entry, 4)? & 0xf == FUNCTION && number::<8>(entry, 8)? == address;
            found.then(|| String::from_utf8_lossy(name).into_owned())
        })
    }

    /// The results of `each` for the symbols of a kind of section, by name and entry.
    fn symbols<T>(self, kind: usize, each: impl Fn(&[u8], &[u8]) -> Option<T>) -> Vec<T> {
        self.try_symbols(kind, each).unwrap_or_default()
    }

    fn try_symbols<T>(self, kind: usize, each: impl Fn(&[u8], &[u8]) -> Option<T>) -> Option<Vec<T>> {
        let symbols = self.sections().find(|section| number::<4>(section, 4) == Some(kind))?;
        let names = self.section(number::<4>(symbols, 40)?)?;
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
                let _ = (elf.called_by_the_linker(), elf.functions_at(0), elf.array_lengths_at(), elf.has_section("x"));
            }
        }
    }
}
