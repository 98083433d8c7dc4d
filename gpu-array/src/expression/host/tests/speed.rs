//! Times beside loops written by hand. `cargo test --release -p gpu-array --lib host::tests::speed -- --ignored --nocapture`

use std::{hint::black_box, time::Instant};

use ndarray::{Array1, Zip};

use super::*;

/// Milliseconds: the median of some calls, the calls of both taken in turn.
fn beside(mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (f64, f64) {
    let once = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64() * 1e3
    };
    let (mut a, mut b): (Vec<_>, Vec<_>) = (0..31).map(|_| (once(&mut ours), once(&mut theirs))).unzip();
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    (a[15], b[15])
}

fn inputs(n: usize) -> (Array1<f32>, Array1<f32>) {
    (Array1::from_shape_fn(n, |i| i as f32 * 1e-6), Array1::from_shape_fn(n, |i| (n - i) as f32 * 1e-6))
}

fn linear<'a>(x: &'a Array1<f32>, y: &'a Array1<f32>) -> Builder<'a> {
    let mut b = Builder::new(&[x.len()]);
    let (five, six) = (b.scalar(5f32), b.scalar(6f32));
    let (x, y) = (b.leaf(x.view().into_dyn()), b.leaf(y.view().into_dyn()));
    let left = b.step(Op::Multiply, DType::F32, &[five, x]);
    let right = b.step(Op::Multiply, DType::F32, &[six, y]);
    b.step(Op::Add, DType::F32, &[left, right]);
    b
}

fn functions<'a>(x: &'a Array1<f32>, y: &'a Array1<f32>) -> Builder<'a> {
    let mut b = Builder::new(&[x.len()]);
    let (x, y) = (b.leaf(x.view().into_dyn()), b.leaf(y.view().into_dyn()));
    let mut f = |op, args: &[u32]| b.step(op, DType::F32, args);
    let (exp, sin, abs) = (f(Op::Exp, &[x]), f(Op::Sin, &[y]), f(Op::Absolute, &[x]));
    let (product, root) = (f(Op::Multiply, &[exp, sin]), f(Op::Sqrt, &[abs]));
    f(Op::Add, &[product, root]);
    b
}

#[test]
#[ignore = "measures"]
fn fresh_arrays() {
    for n in [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        let (x, y) = inputs(n);
        let repeat = (1_000_000 / n).clamp(1, 1000);
        let many = |f: &mut dyn FnMut()| (0..repeat).for_each(|_| f());
        let mut code = linear(&x, &y);
        let (a, b) = beside(
            || many(&mut || drop(black_box(code.last::<f32>()))),
            || many(&mut || drop(black_box(Zip::from(&x).and(&y).par_map_collect(|x, y| 5.0 * x + 6.0 * y)))),
        );
        println!("n {n:>9}  5x+6y     ours {:>10.4} ms  zip {:>10.4} ms  {:.2}x", a / repeat as f64, b / repeat as f64, b / a);
        let mut code = functions(&x, &y);
        let (a, b) = beside(
            || many(&mut || drop(black_box(code.last::<f32>()))),
            || {
                many(&mut || {
                    drop(black_box(Zip::from(&x).and(&y).par_map_collect(|x, y| x.exp() * y.sin() + x.abs().sqrt())))
                });
            },
        );
        println!("n {n:>9}  functions ours {:>10.4} ms  zip {:>10.4} ms  {:.2}x", a / repeat as f64, b / repeat as f64, b / a);
    }
}

#[test]
#[ignore = "measures"]
fn used_arrays() {
    let n = 10_000_000;
    let (x, y) = inputs(n);
    let (mut out, mut other) = (vec![0f32; n], Array1::<f32>::zeros(n));
    let mut code = linear(&x, &y);
    let last = code.code.steps.len() as u32 - 1;
    let (a, b) = beside(
        || code.run(&[last], vec![HostSliceMut::F32(&mut out)]).unwrap(),
        || Zip::from(&mut other).and(&x).and(&y).par_for_each(|z, x, y| *z = 5.0 * x + 6.0 * y),
    );
    println!("n {n}  5x+6y into a used array  ours {a:.3} ms  zip {b:.3} ms  {:.2}x", b / a);
}
