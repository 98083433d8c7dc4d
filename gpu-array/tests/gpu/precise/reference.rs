//! The functions of long double of the machine's C library, by a program that its C++ compiler builds.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use gpu_array::{
    Float,
    ndarray_npy::{WritableElement, WriteNpyExt},
};
use ndarray::ArrayD;

/// Bits of mantissa that leave the errors of the reference below 0.01 ulp of f64.
const LEAST_BITS: u32 = 64;

/// The command of a C++ compiler: the program, and words that stand before all others.
pub type Compiler = Vec<String>;

/// A compiler whose long double is precise enough: `CXX` if it is set, else the first of c++, g++ and clang++.
pub fn compiler() -> Result<Compiler, String> {
    let asked = env::var("CXX").unwrap_or_default();
    let asked: Compiler = asked.split_whitespace().map(str::to_owned).collect();
    let candidates =
        if asked.is_empty() { ["c++", "g++", "clang++"].map(|name| vec![name.to_owned()]).into() } else { vec![asked] };
    let tried: Vec<String> = candidates.iter().map(|words| words.join(" ")).collect();
    let found = candidates.into_iter().find_map(|words| Some((bits(&words)?, words)));
    match found {
        Some((bits, words)) if bits >= LEAST_BITS => Ok(words),
        Some((bits, words)) => {
            Err(format!("long double of {} has {bits} bits, at least {LEAST_BITS} are needed", words.join(" ")))
        }
        None => Err(format!("no C++ compiler answers: tried {}", tried.join(", "))),
    }
}

/// The bits of the mantissa of long double.
fn bits(compiler: &Compiler) -> Option<u32> {
    let mut command = Command::new(compiler.first()?);
    command.args(&compiler[1..]).args(["-dM", "-E", "-x", "c++", "/dev/null"]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("#define __LDBL_MANT_DIG__ ")?.trim().parse().ok())
}

/// The program in a folder of its own, which goes with it.
pub struct Program(PathBuf);

impl Program {
    pub fn build(compiler: &Compiler) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let program = Self(env::temp_dir().join(format!("gpu-array-{}-precise-{number}", process::id())));
        let text = |error: std::io::Error| error.to_string();
        fs::create_dir(&program.0).map_err(text)?;
        fs::write(program.0.join("errors.cpp"), include_str!("errors.cpp")).map_err(text)?;
        let mut command = Command::new(&compiler[0]);
        command.args(&compiler[1..]).args(["-O2", "-std=c++17", "-o", "errors", "errors.cpp"]).current_dir(&program.0);
        let output = command.stdin(Stdio::null()).output().map_err(text)?;
        if output.status.success() { Ok(program) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    pub fn path(&self) -> PathBuf {
        self.0.join("errors")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The largest errors of the values of one place.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    /// In units in the last place of the exact value, among the errors larger than the allowed number; with the arguments and both values.
    pub ulps: f64,
    pub arguments: [f64; 2],
    pub got: f64,
    pub want: f64,
    /// As a number, and its argument.
    pub absolute: [f64; 2],
    /// In units in the last place of the larger of the value and sqrt(2 / (pi |x|)), and its argument.
    pub amplitude: [f64; 2],
}

/// The errors of `values`, one array of each place, of a function of `arguments`.
pub fn errors<T: Float + WritableElement>(
    program: &Path,
    function: &str,
    order: u8,
    allowed: f64,
    arguments: [&ArrayD<T>; 2],
    values: &[&ArrayD<T>],
) -> Result<Vec<Errors>, String> {
    let text = |error: std::io::Error| error.to_string();
    let dtype = if size_of::<T>() == 4 { "f32" } else { "f64" };
    let mut command = Command::new(program);
    command.args([function, dtype, &order.to_string(), &format!("{allowed:e}")]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(text)?;
    let mut input = child.stdin.take().ok_or("no pipe")?;
    // A program that ended early says why itself.
    let _ = arguments.iter().chain(values).try_for_each(|array| array.write_npy(&mut input));
    drop(input);
    let output = child.wait_with_output().map_err(text)?;
    let lines = String::from_utf8_lossy(&output.stdout);
    let all: Option<Vec<Errors>> = lines.lines().map(parse).collect();
    let all = all.filter(|all| output.status.success() && all.len() == values.len());
    all.ok_or_else(|| format!("the reference of {function} ended with {} and said: {lines}", output.status))
}

fn parse(line: &str) -> Option<Errors> {
    let numbers: Vec<f64> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let &[ulps, x, y, got, want, absolute, at, amplitude, there] = numbers.as_slice() else { return None };
    Some(Errors { ulps, arguments: [x, y], got, want, absolute: [absolute, at], amplitude: [amplitude, there] })
}
