//! Sparse products and conjugate gradients on the CPU: `cargo bench -p benches --bench sparse`.
#![allow(missing_docs)]

use std::hint::black_box;

use benches::{poisson, product_bytes};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpu_sparse::linalg;

const SIZES: [usize; 2] = [32, 64];
/// Iterations of one timed solve; every bench checks that it made them.
const ITERATIONS: usize = 20;

fn product(c: &mut Criterion) {
    let mut group = c.benchmark_group("spmv/f64/cpu");
    for n in SIZES {
        let (a, x) = poisson(n).expect("the sizes fit");
        let mut y = vec![0.0; a.rows()];
        group.throughput(Throughput::Bytes(product_bytes(&a)));
        group.bench_function(format!("poisson7_{n}"), |bench| {
            bench.iter(|| a.matvec_into(black_box(&x), &mut y).expect("the shapes fit"));
        });
    }
    group.finish();
}

fn solve(c: &mut Criterion) {
    let mut group = c.benchmark_group("cg/f64/cpu");
    group.sample_size(20);
    for n in SIZES {
        let (a, b) = poisson(n).expect("the sizes fit");
        let bytes = (product_bytes(&a) + 8 * 8 * a.rows() as u64) * ITERATIONS as u64;
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(format!("poisson7_{n}"), |bench| {
            bench.iter(|| {
                let solution =
                    linalg::cg(&a, black_box(&b)).rtol(0.0).maxiter(ITERATIONS).solve().expect("valid input");
                assert_eq!(solution.iterations, ITERATIONS);
            });
        });
    }
    group.finish();
}

criterion_group!(sparse, product, solve);
criterion_main!(sparse);
