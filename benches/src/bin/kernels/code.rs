//! A hash of machine code, by which two builds are compared.

use sha2::{Digest, Sha256};

/// The first 64 bits of the SHA-256 of the instructions in a cubin, which is an ELF file of 64 bits: all sections `.text.…`, in the order of their
/// contents. Names play no part, so a kernel that was renamed keeps it. `None` if the image is no such file.
pub(crate) fn hash(image: &[u8]) -> Option<u64> {
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let field = image.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte)))
    };
    if !image.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count, names) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |index: usize| table.checked_add(index.checked_mul(size)?);
    let place = |index: usize| {
        let (start, length) = (number(header(index)? + 0x18, 8)?, number(header(index)? + 0x20, 8)?);
        image.get(start..start.checked_add(length)?)
    };
    let names = place(names)?;
    let mut texts = Vec::new();
    for index in 0..count {
        let name = names.get(number(header(index)?, 4)?..)?;
        if name.starts_with(b".text") {
            texts.push(place(index)?);
        }
    }
    texts.sort_unstable();
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    Some(u64::from_be_bytes(hash.finalize()[..8].try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with a section of names and these sections.
    fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut image = vec![0; 0x40];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let mut names = vec![0];
        let mut headers = Vec::new();
        let mut add = |image: &mut Vec<u8>, name: usize, bytes: &[u8]| {
            let mut header = vec![0; 0x40];
            header[..4].copy_from_slice(&(name as u32).to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(image.len() as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            image.extend(bytes);
            headers.extend(header);
        };
        for (name, bytes) in sections {
            add(&mut image, names.len(), bytes);
            names.extend(name.bytes().chain([0]));
        }
        add(&mut image, 0, &names);
        let table = image.len() as u64;
        image.extend(headers);
        image[0x28..0x30].copy_from_slice(&table.to_le_bytes());
        image[0x3a] = 0x40;
        image[0x3c] = sections.len() as u8 + 1;
        image[0x3e] = sections.len() as u8;
        image
    }

    #[test]
    fn names_and_other_sections_play_no_part() {
        let one = hash(&elf(&[(".text.a", b"code"), (".nv.info", b"1")]));
        assert!(one.is_some());
        assert_eq!(one, hash(&elf(&[(".nv.info", b"22"), (".text.renamed", b"code")])));
        assert_ne!(one, hash(&elf(&[(".text.a", b"Code"), (".nv.info", b"1")])));
        let two: [(&str, &[u8]); 2] = [(".text.a", b"code"), (".text.b", b"more")];
        assert_eq!(hash(&elf(&two)), hash(&elf(&[(".text.b", b"code"), (".text.a", b"more")])));
        assert_ne!(hash(&elf(&two)), hash(&elf(&[(".text.a", b"codemore")])));
    }

    #[test]
    fn what_is_cut_off_has_none() {
        let whole = elf(&[(".text.a", b"code")]);
        // The rest of the last header is not read.
        assert!((0..whole.len() - 0x18).all(|len| hash(&whole[..len]).is_none()));
        assert_eq!(hash(b"// PTX"), None);
    }
}
