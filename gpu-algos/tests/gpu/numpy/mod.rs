//! Reductions, scans and selection on the host against NumPy: values, types of results, NaN, infinities and zeros of both signs. The fast code and
//! the definitions are compared with it side by side, since each promises NumPy's results, and a device is compared with the definitions alone.

mod einsums;
mod scans;

use std::{
    fmt::Write as _,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use gpu_algos::{
    gpu_array::{Complex, DType, Element, Float, f16},
    host,
    operators::*,
    reference,
};
use ndarray::{Array, ArrayD, ArrayViewD, Axis, Dimension, IxDyn, Slice};
use testkit::{Outcome, Rng, Test, ensure, ensure_eq, tests};

/// A Python that has NumPy.
type Python = PathBuf;

pub const TESTS: &[Test<Python>] = tests![host_and_reference];

pub fn python() -> Result<Python, String> {
    testkit::python(&["numpy"])
}

/// 40 arrays of most types, with each reduction, scan and selection, and einsums, on all threads and by the definition.
fn host_and_reference(python: &Python) -> Outcome {
    let mut cases = String::new();
    for seed in 0..40 {
        let mut rng = Rng(seed);
        of_type(&mut cases, &mut rng, |rng| rng.below(2) == 0);
        of_type(&mut cases, &mut rng, |rng| rng.next_u64() as u32);
        let special = rng.below(4);
        of_type(&mut cases, &mut rng, |rng| float(rng, special) as f32);
        of_type(&mut cases, &mut rng, |rng| f16::rounded_from_f64(float(rng, special)));
        of_complex(&mut cases, &mut rng, |rng| Complex::new(float(rng, special) as f32, float(rng, 0) as f32));
        einsums::of_every_type(&mut cases, &mut rng);
    }
    let mut child = Command::new(python)
        .args(["-c", include_str!("check.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().ok_or("no pipe")?.write_all(cases.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the script ended with {}", output.status);
    let told = String::from_utf8(output.stdout)?;
    ensure_eq!(told.trim(), cases.lines().count().to_string());
    Ok(())
}

/// Mostly small numbers, of which `special` has NaN, infinities or both among them.
fn float(rng: &mut Rng, special: usize) -> f64 {
    match (rng.below(30), special) {
        (0..3, 1 | 3) => f64::NAN,
        (3, 2 | 3) => f64::INFINITY,
        (4, 2 | 3) => f64::NEG_INFINITY,
        (5, _) => -0.0,
        (6, _) => 0.0,
        _ => (rng.below(64) as f64 + 1.0) / 32.0,
    }
}

/// All of one random array over random axes.
fn of_type<T: Operand>(cases: &mut String, rng: &mut Rng, mut element: impl FnMut(&mut Rng) -> T) {
    let rank = 1 + rng.below(4);
    let most = [3000, 60, 12, 6][rank - 1];
    let shape: Vec<usize> = (0..rank).map(|_| 1 + rng.below(most)).collect();
    let array = ArrayD::from_shape_simple_fn(IxDyn(&shape), || element(rng));
    let mut order: Vec<usize> = (0..rank).collect();
    rng.shuffle(&mut order);
    let mut view = array.view().permuted_axes(order);
    for axis in 0..rank {
        view.slice_axis_inplace(Axis(axis), Slice::new(0, None, [1, 1, -1, 2][rng.below(4)]));
    }
    let mut axes: Vec<Axis> = (0..rank).map(Axis).collect();
    rng.shuffle(&mut axes);
    axes.truncate(1 + rng.below(rank));
    let case = Case { view: view.view(), axes: &axes, ddof: rng.below(3) as u64 };
    case.write(cases, "sum", &Sum::new());
    case.write(cases, "product", &Product::new());
    case.write(cases, "mean", &Mean::new());
    case.write(cases, "var", &Variance::new(case.ddof));
    case.write(cases, "std", &StandardDeviation::new(case.ddof));
    case.write(cases, "min", &Min::new());
    case.write(cases, "max", &Max::new());
    case.write(cases, "argmin", &ArgMin::new());
    case.write(cases, "argmax", &ArgMax::new());
    case.write(cases, "any", &Any::new());
    case.write(cases, "all", &All::new());
    case.write(cases, "count", &Count::new());
    case.write(cases, "l1", &NormL1::new());
    case.write(cases, "l2", &NormL2::new());
    case.write(cases, "lmax", &NormMax::new());
    if T::FLOAT {
        without_nan(cases, &case);
    }
    scans::of_case(cases, rng, &case);
}

/// Sums, norms and scans of one random array of complex numbers.
fn of_complex<T: Summand>(cases: &mut String, rng: &mut Rng, mut element: impl FnMut(&mut Rng) -> T) {
    let shape = [1 + rng.below(40), 1 + rng.below(70)];
    let array = ArrayD::from_shape_simple_fn(IxDyn(&shape), || element(rng));
    let mut view = array.t();
    view.slice_axis_inplace(Axis(0), Slice::new(0, None, [1, -1, 2][rng.below(3)]));
    let axes = [Axis(0), Axis(1)];
    let axes = if rng.below(2) == 0 { &axes[..] } else { &axes[rng.below(2)..][..1] };
    let case = Case { view: view.view(), axes, ddof: 0 };
    case.write(cases, "sum", &Sum::new());
    case.write(cases, "mean", &Mean::new());
    case.write(cases, "any", &Any::new());
    case.write(cases, "all", &All::new());
    case.write(cases, "count", &Count::new());
    case.write(cases, "l1", &NormL1::new());
    case.write(cases, "l2", &NormL2::new());
    case.write(cases, "lmax", &NormMax::new());
    case.line(cases, "cumsum", &host::cumsum(&case.view, axes[0]).expect("an axis"), &[]);
    case.line(cases, "cumsum", &reference::cumsum(&case.view, axes[0]).expect("an axis"), &[]);
}

/// The forms that leave NaN out; of the other types they are the plain ones.
fn without_nan<T: Operand>(cases: &mut String, case: &Case<'_, T>) {
    case.write(cases, "nansum", &NanSum::new());
    case.write(cases, "nanprod", &NanProduct::new());
    case.write(cases, "nanmean", &NanMean::new());
    case.write(cases, "nanvar", &NanVariance::new(case.ddof));
    case.write(cases, "nanstd", &NanStandardDeviation::new(case.ddof));
    case.write(cases, "nanmin", &NanMin::new());
    case.write(cases, "nanmax", &NanMax::new());
    case.write(cases, "nanargmin", &NanArgMin::new());
    case.write(cases, "nanargmax", &NanArgMax::new());
}

struct Case<'a, T> {
    view: ArrayViewD<'a, T>,
    axes: &'a [Axis],
    ddof: u64,
}

impl<T: Element> Case<'_, T> {
    /// A reduction, as lines for the script.
    fn write<O: Operator<Value = T, Output: Element>>(&self, cases: &mut String, name: &str, op: &O) {
        for got in [host::reduce_axes(op, &self.view, self.axes), reference::reduce_axes(op, &self.view, self.axes)] {
            self.line(cases, name, &got.expect("there are elements"), &[]);
        }
    }

    /// What was got, and the mask that it is about.
    fn line<O: Element, D: Dimension>(&self, cases: &mut String, name: &str, got: &Array<O, D>, mask: &[bool]) {
        let axes: Vec<usize> = self.axes.iter().map(|axis| axis.index()).collect();
        let (dtype, result): (DType, DType) = (T::DTYPE, O::DTYPE);
        let (shape, ddof) = (self.view.shape(), self.ddof);
        let (input, output) = (bits(self.view.iter()), bits(got.iter()));
        let _ = writeln!(
            cases,
            r#"{{"op":"{name}","dtype":"{dtype}","result":"{result}","shape":{shape:?},"axes":{axes:?},"ddof":{ddof},"mask":{mask:?},"input":"{input}","output":"{output}"}}"#
        );
    }
}

/// The bytes in memory, in hexadecimal.
fn bits<'a, T: Element>(elements: impl Iterator<Item = &'a T>) -> String {
    let mut text = String::new();
    for element in elements {
        let parts = if T::DTYPE.is_complex() { 2 } else { 1 };
        for word in &element.to_words()[..parts] {
            for byte in &word.to_le_bytes()[..size_of::<T::Storage>() / parts] {
                let _ = write!(text, "{byte:02x}");
            }
        }
    }
    text
}
