//! No text makes the Matrix Market reader panic, lie about lines, or take memory that the text does not back.
//!
//! Files from `tests/wellformed` and `tests/malformed` are damaged at random, but with a sense for what matters in them.
//! `GPU_TESTS_SEED` repeats a run, `GPU_FUZZ_INPUTS` sets its length.
#![allow(unsafe_code, reason = "memory is measured by an allocator of our own")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use gpu_sparse::io::{parse_header, parse_matrix_market_coo, parse_vector, write_matrix_market_coo_to};
use gpu_sparse::{CooMatrix, Result, SparseError};
use testkit::Rng;

/// The system's allocator, counting the bytes of each thread.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let live = LIVE.get() + bytes;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: every call goes to `System` unchanged; counting neither allocates nor panics (the cells need no set-up or drop).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both blocks may be there while the bytes are copied.
        count(size as isize);
        count(-(layout.size() as isize));
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result, and the most bytes that were in use on the way to it.
fn peak_of<R>(action: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = action();
    (result, (PEAK.get() - before) as usize)
}

/// Buffers: at most 3 MiB while a line of 1 MiB comes in, the inflater's window, the first entries.
const SLACK: usize = 4 << 20;
/// An entry takes 16 bytes when done and at most 32 while its vector grows. The shortest text for one is an array's
/// "1\n", which a symmetric file doubles: 64 bytes for 2. (A line of an ordinary coordinate file has 15 or more.)
const WORST: usize = 32;
/// A vector may have 2^20 + 16 n values for n entries of a coordinate file, 4 bytes each or more.
const VECTOR_SLACK: usize = SLACK + (8 << 20);
const VECTOR_WORST: usize = WORST + 16 * 8 / 4;

/// Choices of the damage.
struct Random(Rng);

impl Random {
    /// Below `n`, and 0 when there is nothing to choose from.
    fn below(&mut self, n: usize) -> usize {
        self.0.below(n.max(1))
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "1000000",
    "4294967295",
    "4294967296",
    "1000000000000000000",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "1e999",
    "-1D400",
    "1d-400",
    "nan",
    "-inf",
    "Infinity",
    ".",
    "-",
    "e",
    "D",
    "%",
    "\t",
    "\r",
    "\0",
    "\u{661}",
    "",
    "matrix",
    "coordinate",
    "array",
    "real",
    "integer",
    "pattern",
    "complex",
    "general",
    "symmetric",
    "skew-symmetric",
    "hermitian",
    "%%MatrixMarket",
];

fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Changes one thing.
fn damage(text: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    match random.below(10) {
        0 if !text.is_empty() => {
            let at = random.below(text.len());
            text[at] ^= 1 << random.below(8);
        }
        1 => text.truncate(random.below(text.len() + 1)),
        2 => {
            let (at, from) = (random.below(text.len() + 1), random.below(other.len() + 1));
            text.truncate(at);
            text.extend_from_slice(&other[from..]);
        }
        3 => {
            let at = random.below(text.len() + 1);
            let bytes: Vec<u8> = (0..random.below(9)).map(|_| random.0.next_u64() as u8).collect();
            text.splice(at..at, bytes);
        }
        4 => *text = String::from_utf8_lossy(text).replace('\n', "\r\n").into_bytes(),
        5 | 6 => damage_line(text, random),
        _ => replace_word(text, random),
    }
}

/// Deletes, repeats or moves a line.
fn damage_line(text: &mut Vec<u8>, random: &mut Random) {
    let mut lines = lines_of(text);
    if lines.is_empty() {
        return;
    }
    let (from, to) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => drop(lines.remove(from)),
        1 => lines.insert(to, lines[from].clone()),
        _ => lines.swap(from, to),
    }
    *text = lines.concat();
}

/// Puts another word in the place of one, most often near the top.
fn replace_word(text: &mut Vec<u8>, random: &mut Random) {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let starts: Vec<usize> =
        (0..text.len()).filter(|&at| !blank(&text[at]) && (at == 0 || blank(&text[at - 1]))).collect();
    if starts.is_empty() {
        return;
    }
    let reach = if random.below(2) == 0 { 12 } else { starts.len() };
    let start = starts[random.below(reach.min(starts.len()))];
    let end = text[start..].iter().position(blank).map_or(text.len(), |length| start + length);
    let word: &&str = random.pick(WORDS);
    text.splice(start..end, word.bytes());
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The text as the reader sees it: as far as it can be decompressed.
fn plain(input: &[u8]) -> Vec<u8> {
    if !input.starts_with(&[0x1f, 0x8b]) {
        return input.to_vec();
    }
    let mut text = Vec::new();
    let mut decoder = MultiGzDecoder::new(input);
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = decoder.read(&mut chunk) {
        text.extend_from_slice(&chunk[..count]);
    }
    text
}

/// All files, each as it is and, when compressed and small, as the text in it.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for folder in ["wellformed", "malformed"] {
        let folder = Path::new("tests").join(folder);
        let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let bytes = std::fs::read(path).unwrap();
            let text = plain(&bytes);
            if text != bytes && text.len() < 10_000 {
                seeds.push(text);
            }
            // More of the good ones, so that many inputs begin well.
            seeds.extend(std::iter::repeat_n(bytes, if folder.ends_with("wellformed") { 4 } else { 1 }));
        }
    }
    seeds
}

fn make_input(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(seeds).clone();
    for _ in 0..random.below(4) {
        let other: &Vec<u8> = random.pick(seeds);
        damage(&mut input, other, random);
    }
    if random.below(8) == 0 {
        input = compressed(&input);
        for _ in 0..random.below(3) {
            let other: &Vec<u8> = random.pick(seeds);
            damage(&mut input, other, random);
        }
    }
    input
}

/// How often each outcome came up.
type Outcomes = BTreeMap<String, u64>;

fn check(input: &[u8], outcomes: &mut Outcomes) {
    let text = plain(input);
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
    let (double, peak) = peak_of(|| parse_matrix_market_coo::<f64>(input));
    assert!(peak <= WORST * text.len() + SLACK, "{peak} bytes for a text of {}", text.len());
    let (vector, peak) = peak_of(|| parse_vector::<f64>(input));
    assert!(peak <= VECTOR_WORST * text.len() + VECTOR_SLACK, "{peak} bytes for a vector of {}", text.len());
    let (header, peak) = peak_of(|| parse_header(input));
    assert!(peak <= SLACK, "{peak} bytes for a header");

    check_error(&header, lines);
    check_error(&vector, lines);
    check_error(&parse_matrix_market_coo::<f32>(input), lines);
    *outcomes.entry(check_error(&double, lines)).or_default() += 1;
    if let Ok(matrix) = double {
        assert_eq!((matrix.rows(), matrix.cols()), header.map(|header| (header.rows, header.cols)).unwrap());
        check_round_trip(&matrix);
    }
}

/// Every error is about a line of the text, or the one that would come next. Gives the outcome a name.
fn check_error<R>(result: &Result<R>, lines: u64) -> String {
    match result {
        Ok(_) => "read".to_owned(),
        Err(SparseError::MatrixMarket(error)) => {
            assert!((1..=lines + 1).contains(&error.line), "{error}, but there are {lines} lines");
            assert!(error.to_string().starts_with(&format!("line {}: ", error.line)));
            assert!(error.to_string().len() < 400, "{error}");
            let kind = format!("{:?}", error.kind);
            kind.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned()
        }
        Err(other) => panic!("not an error of the text: {other}"),
    }
}

fn check_round_trip(matrix: &CooMatrix<f64>) {
    let mut text = Vec::new();
    write_matrix_market_coo_to(&mut text, matrix).unwrap();
    let again = parse_matrix_market_coo::<f64>(&text[..]).unwrap();
    assert_eq!((again.row_indices(), again.col_indices()), (matrix.row_indices(), matrix.col_indices()));
    for (got, want) in again.values().iter().zip(matrix.values()) {
        let same = got.to_bits() == want.to_bits();
        assert!(same || (got.is_nan() && want.is_nan()), "{got} {want}");
    }
}

#[test]
fn damaged_files_are_read_or_refused() {
    let seed = testkit::number("GPU_TESTS_SEED", 20_261_121);
    let inputs = testkit::number("GPU_FUZZ_INPUTS", 150_000);
    let seeds = seeds();
    let mut outcomes = Outcomes::new();
    for number in 0..inputs {
        let mut random = Random(Rng(seed.wrapping_add(number)));
        let input = make_input(&seeds, &mut random);
        let checked = catch_unwind(AssertUnwindSafe(|| check(&input, &mut outcomes)));
        assert!(checked.is_ok(), "GPU_TESTS_SEED={} fails: \"{}\"", seed.wrapping_add(number), input.escape_ascii());
    }
    eprintln!("{outcomes:?}");
    if inputs >= 20_000 {
        // Without these the damage would have missed most of the reader.
        assert!(outcomes["read"] > inputs / 50, "{outcomes:?}");
        assert!(outcomes.len() >= 22, "{outcomes:?}");
    }
}

/// A coordinate file with the values of 7 digits that are common in practice.
fn ordinary(entries: u32, promised: u64) -> String {
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n90000000 90000000 {promised}\n");
    for k in 0..entries {
        text += &format!("{} {} {:.6e}\n", 4000 + 3 * k, 5000 + 2 * k, f64::from(k + 1).sin());
    }
    text
}

/// Drops a matrix, and says how many bytes that gave back.
fn bytes_held(matrix: CooMatrix<f64>) -> usize {
    let before = LIVE.get();
    drop(matrix);
    (before - LIVE.get()) as usize
}

#[test]
fn memory_follows_the_entries_and_not_the_header() {
    // Several sizes: growth is at its worst just after a step.
    for entries in [60_000, 100_000, 120_000, 150_000, 200_000] {
        for promised in [entries.into(), 1_000_000_000_000_000_000] {
            let text = ordinary(entries, promised);
            let (result, peak) = peak_of(|| parse_matrix_market_coo::<f64>(text.as_bytes()));
            assert_eq!(result.is_ok(), promised == u64::from(entries));
            let bound = 32 * entries as usize + (1 << 20);
            assert!(peak <= bound, "{peak} bytes for {entries} entries of {promised}");
            assert!(bound <= 2 * text.len() + (1 << 20));
        }
    }
}

#[test]
fn the_worst_text_keeps_to_its_bound() {
    let side = 1500;
    let ones = "1\n".repeat(side * (side + 1) / 2);
    let text = format!("%%MatrixMarket matrix array integer symmetric\n{side} {side}\n{ones}");
    let (matrix, peak) = peak_of(|| parse_matrix_market_coo::<f64>(text.as_bytes()).unwrap());
    assert_eq!(matrix.nnz(), side * side);
    assert!(peak <= WORST * text.len() + SLACK, "{peak} bytes for a text of {}", text.len());
}

#[test]
fn a_matrix_holds_its_entries_and_nothing_behind_them() {
    let general = ordinary(100_000, 100_000);
    assert_eq!(bytes_held(parse_matrix_market_coo(general.as_bytes()).unwrap()), 100_000 * 16);
    // Half of the entries have no mirror image, so fewer come than the header allows.
    let mut symmetric = "%%MatrixMarket matrix coordinate pattern symmetric\n50000 50000 99999\n1 1\n".to_owned();
    for k in 2..=50_000 {
        symmetric += &format!("{k} {k}\n{k} 1\n");
    }
    assert_eq!(bytes_held(parse_matrix_market_coo(symmetric.as_bytes()).unwrap()), 149_998 * 16);
}

#[test]
fn long_lines_and_bombs_take_no_memory() {
    let long = format!("%%MatrixMarket matrix coordinate real general\n%{}\n", "-".repeat(50 << 20));
    for text in [long.as_bytes(), &compressed(long.as_bytes())] {
        let (refused, peak) = peak_of(|| parse_matrix_market_coo::<f64>(text));
        assert!(check_error(&refused, 2) == "LineTooLong" && peak <= SLACK, "{peak} bytes for a long line");
    }
    let blank = format!("%%MatrixMarket matrix coordinate real general\n{}", "\n".repeat(20 << 20));
    let bomb = compressed(blank.as_bytes());
    let (refused, peak) = peak_of(|| parse_matrix_market_coo::<f64>(&bomb[..]));
    assert!(check_error(&refused, 21 << 20) == "MissingSizes" && peak <= SLACK, "{peak} bytes for blank lines");
}
