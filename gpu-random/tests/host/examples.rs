//! The programs in `examples/`, started as a user starts them.

use std::{
    env,
    io::Read,
    path::Path,
    process::{Command, Stdio},
};

/// An example's program, beside the folder that holds this test.
fn program(name: &str) -> Command {
    let test = env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(Path::parent).expect("tests lie in target/<profile>/deps");
    let program = folder.join("examples").join(name);
    assert!(program.exists(), "{} is missing: run `cargo build --example {name}`", program.display());
    Command::new(program)
}

/// The text that a program prints.
fn printed(name: &str, arguments: &str) -> String {
    let output = program(name).args(arguments.split(' ')).output().expect("the program starts");
    assert!(output.status.success(), "{name} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_example_generate_prints_curands_numbers() {
    let got = printed("generate", "--generator xorwow --kind u32 --seed 1234 --count 4");
    assert_eq!(got.split_whitespace().collect::<Vec<_>>(), ["624778773", "3522650202", "2363946744", "1266286439"]);
    let all = printed("generate", "--generator philox --kind normal-f32 --seed 7 --subsequence 3 --count 12");
    let behind =
        printed("generate", "--generator philox --kind normal-f32 --seed 7 --subsequence 3 --offset 4 --count 8");
    assert_eq!(all.lines().skip(4).collect::<Vec<_>>(), behind.lines().collect::<Vec<_>>());
}

#[test]
fn the_example_estimate_comes_near() {
    let got = printed("estimate", "--count 65536 --seed 3");
    let last = got.lines().rfind(|line| line.starts_with("pi: ")).expect("estimates of pi");
    assert!(last.contains("3.1") && got.lines().any(|line| line.starts_with("option: ")), "{got}");
}

#[test]
fn the_example_raw_bits_ends_with_its_reader() {
    let mut child = program("raw_bits").args(["xorwow", "1234"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut words = [0; 8];
    child.stdout.take().expect("a pipe").read_exact(&mut words).expect("two words");
    assert_eq!(words[..4], 624_778_773_u32.to_le_bytes());
    assert_eq!(words[4..], 3_522_650_202_u32.to_le_bytes());
    assert!(child.wait().expect("it ends").success());
}
