//! Complex numbers on the host against NumPy, whose rules they follow.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use gpu_array::{
    Complex, DType,
    expression::{Host, host},
    promote,
};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

use crate::complex::{Values, c64, c128};

/// A Python that has NumPy.
pub type Python = PathBuf;

pub const TESTS: &[Test<Python>] = tests![complex_operations_are_numpys, complex_types_are_numpys];

pub fn python() -> Result<Python, String> {
    testkit::python(&["numpy"])
}

/// The script's word on its input: "same", or the differences that it found.
pub fn told(python: &Python, script: &str, input: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut child = Command::new(python).args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("no pipe")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("the script ended with {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// A line of the bytes of values, in hexadecimal, as complex128.
pub fn line(text: &mut String, name: &str, dtype: &str, values: &Values) {
    let _ = write!(text, "{name}\t{dtype}\t");
    for byte in values.iter().flatten().flat_map(|part| part.to_le_bytes()) {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\n');
}

macro_rules! lines {
    ($text:ident, $module:ident, $dtype:literal) => {{
        let (a, b, x) = $module::operands();
        let shape = (a.len(), b.len());
        let of = |values: &ndarray::Array2<$module::Z>| {
            values.iter().map(|z| [z.re.into(), z.im.into()]).collect::<Values>()
        };
        line($text, "operands", $dtype, &of(&a));
        let (n, i) = (ndarray::Array2::from_elem((1, 1), -2i8), ndarray::Array2::from_elem((1, 1), 3i32));
        let all = $module::operations::<Host>(
            [&host(&a).broadcast(shape), &host(&b).broadcast(shape)],
            &host(&x).broadcast(shape),
            &host(&n).broadcast(shape),
            &host(&i).broadcast(shape),
        );
        for (name, value, _) in all {
            line($text, name, $dtype, &value.eval()?);
        }
    }};
}

/// All of them at each pair of awkward values: infinities, NaN, zeros of both signs, values whose squares overflow or vanish.
fn complex_operations_are_numpys(python: &Python) -> Outcome {
    let mut input = String::new();
    let text = &mut input;
    lines!(text, c64, "complex64");
    lines!(text, c128, "complex128");
    ensure_eq!(told(python, include_str!("complex_check.py"), &input)?, "same");
    Ok(())
}

fn complex_types_are_numpys(python: &Python) -> Outcome {
    let script = "import sys, numpy as np\n\
                  for line in sys.stdin:\n    a, b, c = line.split()\n    \
                  if np.promote_types(a, b) != np.dtype(c): sys.exit(line)\n\
                  z = np.array([np.complex64(1)])\nprint('same')";
    let mut input = String::new();
    // NumPy has no bfloat16 by itself.
    let all = DType::ALL.into_iter().filter(|&dtype| dtype != DType::BF16);
    for a in all.clone() {
        for b in all.clone() {
            let _ = writeln!(input, "{a} {b} {}", promote(a, b));
        }
    }
    ensure_eq!(told(python, script, &input)?, "same");
    ensure!(size_of::<Complex<f32>>() == DType::C64.bytes() && size_of::<Complex<f64>>() == DType::C128.bytes());
    Ok(())
}
