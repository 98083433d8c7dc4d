//! The kernels and launches that linear algebra chooses.

use gpu_array::DType;

use super::{
    Triangle,
    params::launch,
    plan::choose,
    problem::{LinalgFunction, LinalgProblem, LinalgShape},
};
use crate::{
    common::{
        array_operand::ArrayLayout,
        choices::{DEVICES, TableOperand, compare, described},
        launch::DeviceLimits,
    },
    matmul::Matrix,
};

/// An operand of that shape in C order.
fn operand(shape: &[usize], number: usize, has_axes: (bool, bool), rank: usize) -> Matrix {
    let operand = TableOperand::contiguous(DType::F32, shape, 0);
    Matrix::new(&ArrayLayout { address: operand.address(number), shape, strides: &operand.strides }, has_axes, rank)
}

fn chosen(function: LinalgFunction, dtype: DType, [a, b]: [&[usize]; 2], limits: &DeviceLimits) -> String {
    let has_sides = matches!(function, LinalgFunction::Solve | LinalgFunction::SolveTriangular(_));
    let shape = match LinalgShape::of(function, a, has_sides.then_some(b)) {
        Ok(shape) => shape,
        Err(error) => return error.to_string(),
    };
    let rank = shape.batch.len();
    let c = operand(&shape.result, 0, shape.has_axes, rank);
    let b = if has_sides { operand(b, 2, shape.has_axes, rank) } else { Matrix::none(rank) };
    let problem = LinalgProblem::new(function, dtype, &shape, [c, operand(a, 1, (true, true), rank), b]);
    let plan = choose(&problem, limits);
    format!("{} {}", plan.kernel.template(dtype, plan.policy.algorithm), described(&launch(&problem, &plan)))
}

#[test]
fn choices_are_those_of_the_file() {
    let functions = [
        LinalgFunction::SolveTriangular(Triangle::Lower),
        LinalgFunction::SolveTriangular(Triangle::UnitUpper),
        LinalgFunction::Cholesky,
        LinalgFunction::LuFactor,
        LinalgFunction::Solve,
        LinalgFunction::Inverse,
        LinalgFunction::Determinant,
        LinalgFunction::LogDeterminant,
        LinalgFunction::Qr,
    ];
    let stacks =
        [(0, 3), (1, 5), (3, 1000), (8, 1 << 20), (16, 1 << 18), (17, 2), (32, 65_536), (33, 7), (64, 16_384), (65, 1)];
    let mut lines = Vec::new();
    for (device, limits) in DEVICES.iter().enumerate() {
        for function in functions {
            for (n, matrices) in stacks {
                let (a, b) = ([matrices, n, n], [matrices, n, 3]);
                // The first device sees both types, and the others one.
                for dtype in [DType::F32, DType::F64].into_iter().take(if device == 0 { 2 } else { 1 }) {
                    let choice = chosen(function, dtype, [&a, &b], limits);
                    lines.push(format!("{device} {function:?} {a:?} {}: {choice}", dtype.name()));
                }
            }
        }
    }
    compare(&lines, include_str!("choices.txt"));
}

#[test]
fn shared_memory_needs_no_opt_in() {
    for n in 0..=64 {
        for (function, dtype) in [
            (LinalgFunction::Inverse, DType::F64),
            (LinalgFunction::Qr, DType::F64),
            (LinalgFunction::Solve, DType::F32),
        ] {
            let (a, b) = ([100, n, n], [100, n, 64]);
            let shape = LinalgShape::of(function, &a, (function == LinalgFunction::Solve).then_some(&b[..])).unwrap();
            let problem = LinalgProblem::new(function, dtype, &shape, [(); 3].map(|()| Matrix::none(1)));
            let policy = choose(&problem, &DEVICES[0]).policy;
            let (bytes, threads) = (policy.shared_bytes(dtype), policy.threads());
            assert!(
                bytes <= 48 << 10 && threads % 32 == 0 && threads <= 128,
                "{n} rows: {bytes} bytes, {threads} threads"
            );
        }
    }
}
