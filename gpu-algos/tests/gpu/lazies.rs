//! Lazy values that are never evaluated, over arrays with the error of an operator.

use gpu_algos::{
    AlgoError,
    gpu_array::{
        ArrayError, GpuArray,
        gpu_driver::{Device, emulated::Emulated},
    },
    matmul::gemm,
    prelude::*,
};
use ndarray::Ix1;
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

/// On emulated devices of their own, whose next call nobody else makes.
pub const TESTS: &[Test<()>] = tests![
    a_lazy_value_that_is_not_evaluated_keeps_no_error,
    an_evaluated_lazy_value_returns_the_error,
    a_lazy_value_sees_the_array_as_it_is_when_evaluated,
];

type Array = GpuArray<f32, Ix1>;
type Build = fn(&Array);
type Evaluate = fn(&Array) -> Result<(), AlgoError>;

/// Lazy values that read their argument, each built and dropped.
const BUILT: [(&str, Build); 9] = [
    ("sum", |x| drop(x.sum())),
    ("norm_l1", |x| drop(x.norm_l1())),
    ("dot", |x| drop(x.dot(x))),
    ("cumsum, printed", |x| drop(format!("{:?}", x.cumsum()))),
    ("cumsum of a map", |x| drop(x.cumsum().map(|sum| sum + x))),
    ("segments", |x| drop(x.zeros_like().map(|zeros| drop(zeros.cumsum().segments(x.gt(0.0)))))),
    ("select", |x| drop(x.select(x.gt(0.0)))),
    ("run_length_encode", |x| drop(x.run_length_encode())),
    ("matmul, printed", |x| drop(format!("{:?}", x.matmul(x * 2.0)))),
];

/// Lazy values that read their argument, evaluated.
const EVALUATED: [(&str, Evaluate); 8] = [
    ("sum", |x| x.sum().eval().map(drop)),
    ("norm_l1", |x| x.norm_l1().get().map(drop)),
    ("dot", |x| x.dot(x).eval().map(drop)),
    ("cumsum of a map", |x| x.zeros_like()?.cumsum().map(|sum| sum + x).eval().map(drop)),
    ("segments", |x| x.zeros_like()?.cumsum().segments(x.gt(0.0)).eval().map(drop)),
    ("select", |x| x.zeros_like()?.select(x.gt(0.0)).eval().map(drop)),
    ("matmul", |x| x.zeros_like()?.matmul(x * 2.0).eval().map(drop)),
    ("gemm", |x| {
        gemm(1.0, x.zeros_like()?.reshape((1, 3))?, x.reshape((3, 1))?, 0.0, &mut GpuArray::zeros(x.stream(), (1, 1))?)
    }),
];

fn failed(device: &Device, n: usize) -> Result<Array, ArrayError> {
    let mut x = Array::full(device, n, 2.0)?;
    x += &Array::zeros(device, 5)?;
    Ok(x)
}

fn a_lazy_value_that_is_not_evaluated_keeps_no_error(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    for (name, build) in BUILT {
        let x = failed(&device, 3)?;
        build(&x);
        drop(x);
        let text = device.synchronize().map_err(|error| error.to_string());
        ensure!(
            matches!(&text, Err(text) if text.starts_with("while dropping an array: `+=` at ")),
            "{name}: {text:?}"
        );
        device.synchronize()?;
    }
    Ok(())
}

fn an_evaluated_lazy_value_returns_the_error(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    for n in [3, 0] {
        for (name, evaluate) in EVALUATED.iter().filter(|(name, _)| n == 3 || *name == "sum" || *name == "select") {
            let x = failed(&device, n)?;
            let got = evaluate(&x);
            ensure!(matches!(got, Err(AlgoError::Array(ArrayError::Operator { op: "+=", .. }))), "{name}: {got:?}");
            drop(x);
            device.synchronize()?;
        }
    }
    Ok(())
}

fn a_lazy_value_sees_the_array_as_it_is_when_evaluated(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = failed(&device, 3)?;
    let sum = x.sum();
    ensure!(sum.get().is_err() && x.take_error().is_err());
    ensure_eq!(sum.get()?, 6.0);
    Ok(())
}
