//! How fast it reads: `cargo test --release -p gpu-sparse --test matrix_market -- --ignored speed`.

use std::fmt::Write;
use std::time::Instant;

use gpu_sparse::io::{parse_matrix_market_coo, write_matrix_market_coo_to};

/// The slowest that is good enough, in bytes a second on one core.
const GOAL: f64 = 100e6;

/// The shortest lines that are common, where the work for each line weighs most.
fn pattern() -> String {
    let mut text = "%%MatrixMarket matrix coordinate pattern general\n9999 9999 3000000\n".to_owned();
    for k in 0..3_000_000_u64 {
        writeln!(text, "{} {}", k / 301 + 1, k * 7919 % 9999 + 1).unwrap();
    }
    text
}

/// A coordinate file of about 40 MB.
fn text(digits: usize, exponent: &str) -> String {
    let (n, entries) = (1_000_000_u64, 40_000_000 / (digits as u64 + 22));
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {entries}\n");
    for k in 0..entries {
        let (row, col) = (k * n / entries + 1, k.wrapping_mul(2_654_435_761) % n + 1);
        let value = format!("{:.*e}", digits - 1, (k as f64 + 0.5).sin());
        writeln!(text, "{row} {col} {}", value.replace('e', exponent)).unwrap();
    }
    text
}

pub(super) fn a_hundred_megabytes_a_second() {
    let kinds = [(7, "e"), (12, "e"), (17, "e"), (17, "D")];
    let texts = kinds.map(|(digits, exponent)| (format!("{digits} digits, {exponent}"), text(digits, exponent)));
    for (name, text) in texts.into_iter().chain([("pattern".to_owned(), pattern())]) {
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let start = Instant::now();
            let a = parse_matrix_market_coo::<f64>(text.as_bytes()).unwrap();
            best = best.min(start.elapsed().as_secs_f64());
            assert!(a.nnz() > 100_000);
        }
        let speed = text.len() as f64 / best;
        eprintln!("{name}: {:.0} MB/s", speed / 1e6);
        assert!(speed >= GOAL, "{speed} bytes/s");
    }
    let a = parse_matrix_market_coo::<f64>(text(17, "e").as_bytes()).unwrap();
    let mut out = Vec::new();
    let start = Instant::now();
    write_matrix_market_coo_to(&mut out, &a).unwrap();
    eprintln!("written at {:.0} MB/s", out.len() as f64 / start.elapsed().as_secs_f64() / 1e6);
}
