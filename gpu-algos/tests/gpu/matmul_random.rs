//! Matrix products of random shapes and layouts, against the reference.

use gpu_algos::{
    gpu_array::{GpuArray, gpu_driver::Device},
    matmul::MatmulElement,
    prelude::*,
    reference,
};
use ndarray::ArrayViewD;
use testkit::{Layout, Outcome, Rng, Test, rng, same, tests};

use crate::{
    layouts::{base, of_gpu},
    matmul::near,
};

pub const TESTS: &[Test<Device>] = tests![random_products_of_f32, random_products_of_f64, random_products_of_i64];

/// Products of each type.
const CASES: usize = 60;

/// The shapes of two factors: vectors, matrices, or stacks of which some axes are repeated.
fn shapes(rng: &mut Rng) -> [Vec<usize>; 2] {
    let length = |rng: &mut Rng| [1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 44, 64, 67][rng.below(13)];
    let (m, n) = (length(rng), length(rng));
    let k = if rng.below(6) == 0 { 300 + rng.below(400) } else { length(rng) };
    let (a, b) =
        (if rng.below(8) == 0 { vec![k] } else { vec![m, k] }, if rng.below(8) == 0 { vec![k] } else { vec![k, n] });
    let stack: Vec<usize> = (0..rng.below(3)).map(|_| 1 + rng.below(3)).collect();
    let stacked = |matrix: Vec<usize>, rng: &mut Rng| {
        if matrix.len() < 2 {
            return matrix;
        }
        let own = &stack[rng.below(stack.len() + 1)..];
        own.iter().map(|&length| if rng.below(4) == 0 { 1 } else { length }).chain(matrix).collect()
    };
    [stacked(a, rng), stacked(b, rng)]
}

/// Compares products of elements that `element` makes.
fn check<T: MatmulElement>(
    device: &Device,
    rng: &mut Rng,
    element: fn(&mut Rng) -> T,
    compare: fn(ArrayViewD<'_, T>, [ArrayViewD<'_, T>; 2], &str) -> Outcome,
) -> Outcome {
    for _ in 0..CASES {
        let layouts = shapes(rng).map(|shape| {
            let all = Layout::each(&shape);
            all[rng.below(all.len())].1.clone()
        });
        let [x, y] = layouts.each_ref().map(|layout| base(layout, rng, element));
        let (a, b) = (GpuArray::from_ndarray(device, &x)?, GpuArray::from_ndarray(device, &y)?);
        let (a, b) = (of_gpu(&layouts[0], &a)?, of_gpu(&layouts[1], &b)?);
        let got = a.matmul(&b).eval()?.to_ndarray()?;
        let on_host = [layouts[0].of_host(x.view()), layouts[1].of_host(y.view())];
        compare(got.view(), on_host, &format!("{layouts:?}"))?;
    }
    Ok(())
}

pub fn random_products_of_f32(device: &Device) -> Outcome {
    let near = |got: ArrayViewD<'_, f32>, [a, b]: [ArrayViewD<'_, f32>; 2], case: &str| near(got, a, b, case);
    check(device, &mut rng(20_041), |rng| rng.uniform() as f32 - 0.5, near)
}

pub fn random_products_of_f64(device: &Device) -> Outcome {
    let near = |got: ArrayViewD<'_, f64>, [a, b]: [ArrayViewD<'_, f64>; 2], case: &str| near(got, a, b, case);
    check(device, &mut rng(20_042), |rng| rng.uniform() - 0.5, near)
}

pub fn random_products_of_i64(device: &Device) -> Outcome {
    let equal = |got: ArrayViewD<'_, i64>, [a, b]: [ArrayViewD<'_, i64>; 2], case: &str| {
        let want = reference::matmul(a, b)?;
        same(&got.iter().copied().collect::<Vec<_>>(), &want.into_iter().collect::<Vec<_>>(), case)
    };
    check(device, &mut rng(20_043), |rng| rng.next_u64() as i64, equal)
}
