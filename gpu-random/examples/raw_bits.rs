//! Writes a stream's words to standard output until its reader has enough, for programs that test generators:
//! `cargo run --release --example raw_bits -- xorwow 1234 | dieharder -a -g 200`.
#![forbid(unsafe_code)]

use std::{
    error::Error,
    io::{ErrorKind, Write},
};

use gpu_random::{Engine, Generator, PhiloxRng, XorwowRng};

/// Words that are written at a time.
const PART: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["xorwow", seed] => write(Generator::<XorwowRng>::new(seed.parse()?)),
        ["philox", seed] => write(Generator::<PhiloxRng>::new(seed.parse()?)),
        _ => Err("which generator, and which seed: xorwow 1234".into()),
    }
}

fn write<R: Engine>(mut rng: Generator<R>) -> Result<(), Box<dyn Error>> {
    let (mut words, mut out) = (vec![0; PART], std::io::stdout().lock());
    loop {
        rng.fill_bits(&mut words)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        match out.write_all(&bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
}
