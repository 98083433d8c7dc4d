//! Times beside one parallel loop written by hand. `cargo test --release -p gpu-array --lib host::tests::speed -- --ignored --nocapture`

use std::{hint::black_box, time::Instant};

use ndarray::Array1;
use rayon::prelude::*;

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

fn by_hand(x: &Array1<f32>, y: &Array1<f32>, f: impl Fn(f32, f32) -> f32 + Sync) -> Vec<f32> {
    let (x, y) = (x.as_slice().unwrap(), y.as_slice().unwrap());
    x.par_iter().zip(y).with_min_len(4096).map(|(x, y)| f(*x, *y)).collect()
}

fn fresh(
    name: &str,
    n: usize,
    code: impl for<'a> Fn(&'a Array1<f32>, &'a Array1<f32>) -> Builder<'a>,
    f: impl Fn(f32, f32) -> f32 + Sync,
) {
    let (x, y) = inputs(n);
    let mut code = code(&x, &y);
    assert!(code.last::<f32>().unwrap() == by_hand(&x, &y, &f));
    let repeat = (1_000_000 / n).clamp(1, 1000);
    let (ours, theirs) = beside(
        || (0..repeat).for_each(|_| drop(black_box(code.last::<f32>()))),
        || (0..repeat).for_each(|_| drop(black_box(by_hand(&x, &y, &f)))),
    );
    let (a, b) = (ours / repeat as f64, theirs / repeat as f64);
    println!("n {n:>9}  {name:<9} {a:>10.4} ms, by hand {b:>10.4} ms: {:.2}x", b / a);
}

#[test]
#[ignore = "measures"]
fn fresh_arrays() {
    for n in [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        fresh("linear", n, linear, |x, y| 5.0 * x + 6.0 * y);
        fresh("functions", n, functions, |x, y| x.exp() * y.sin() + x.abs().sqrt());
    }
}

#[test]
#[ignore = "measures"]
fn used_arrays() {
    for n in [1_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000] {
        let (x, y) = inputs(n);
        let (mut out, mut other) = (vec![0f32; n], vec![0f32; n]);
        let repeat = (1_000_000 / n).clamp(1, 1000);
        for (name, code) in [("linear", linear as for<'a> fn(&'a _, &'a _) -> Builder<'a>), ("functions", functions)] {
            let mut code = code(&x, &y);
            let last = code.code.steps.len() as u32 - 1;
            let (x, y) = (x.as_slice().unwrap(), y.as_slice().unwrap());
            let mut by_hand = || {
                let all = other.par_iter_mut().zip(x).zip(y).with_min_len(4096);
                match name {
                    "linear" => all.for_each(|((z, x), y)| *z = 5.0 * x + 6.0 * y),
                    _ => all.for_each(|((z, x), y)| *z = x.exp() * y.sin() + x.abs().sqrt()),
                }
            };
            let (a, b) = beside(
                || (0..repeat).for_each(|_| code.run(&[last], vec![HostSliceMut::F32(&mut out)]).unwrap()),
                || (0..repeat).for_each(|_| by_hand()),
            );
            let (a, b) = (a / repeat as f64, b / repeat as f64);
            println!("used n {n:>9}  {name:<9} {a:>10.4} ms, by hand {b:>10.4} ms: {:.2}x", b / a);
        }
    }
}

/// x + y of a matrix and something of other strides, beside x + x.
#[test]
#[ignore = "measures"]
fn strides() {
    for (rows, columns) in [(10_000, 1_000), (1_000_000, 10), (3_333_333, 3), (3_162, 3_162)] {
        let x = Array1::from_elem(rows * columns, 1f32).into_shape_with_order((rows, columns)).unwrap();
        let mut out = vec![0f32; rows * columns];
        let (c, n) = (columns as isize, rows as isize);
        let sorts = [
            ("the same", 0, [c, 1]),
            ("a row", 0, [0, 1]),
            ("a column", 0, [1, 0]),
            ("reversed", n * c - 1, [-c, -1]),
            ("transposed", 0, [1, n]),
        ];
        for (name, offset, strides) in sorts {
            let mut code = Builder::new(&[rows, columns]);
            let (left, right) = (code.leaf(x.view().into_dyn()), code.leaf_at(x.view().into_dyn(), offset, &strides));
            let sum = code.step(Op::Add, DType::F32, &[left, right]);
            let (a, _) = beside(|| code.run(&[sum], vec![HostSliceMut::F32(&mut out)]).unwrap(), || {});
            println!("{rows:>8} x {columns:<5} + {name:<10} {a:>8.3} ms");
        }
    }
}
