//! The kernels and launches that reductions choose.

use gpu_array::DType;

use super::{
    axes::Axes,
    params::launch,
    plan::{ReduceProblem, choose},
};
use crate::common::{
    choices::{DEVICES, Operands, TableOperand, Uncompiled, compare, described},
    launch::DeviceLimits,
    operator::{DeviceOperator, OperatorKind},
    source::ValueSource,
};

fn chosen(source: &Operands, is_kept: &[bool], operator: &DeviceOperator, limits: &DeviceLimits) -> String {
    let (leaves, shape) = (source.leaves(), source.shape());
    let outer: Vec<usize> = shape.iter().zip(is_kept).filter(|(_, outer)| **outer).map(|(&length, _)| length).collect();
    let outer_strides = TableOperand::contiguous(DType::F32, &outer, 0).strides;
    let axes = Axes::of(shape, &leaves, is_kept, &outer_strides, operator);
    if axes.results() == 0 {
        return "nothing".to_owned();
    }
    let problem = ReduceProblem { shape, leaves: &leaves, axes: &axes, operator };
    let plan = match choose(&problem, limits, |_, _| Ok(Uncompiled(limits))) {
        Ok(plan) => plan,
        Err(error) => return error.to_string(),
    };
    let kernel = plan.policy.template("E", &plan.operator.text());
    format!("{kernel} {}", described(&launch(source, &problem, &plan, &[1 << 50, 1 << 51])))
}

/// The shapes of the table, each with the axes that stay.
fn shapes() -> Vec<(Vec<usize>, Vec<bool>)> {
    let lines = [0, 1, 31, 1000, 1 << 16, 1 << 20, (1 << 21) + 1, 1 << 28, 1 << 33].map(|n| (vec![n], vec![false]));
    let matrices = [[1000, 300], [1 << 20, 3], [3, 1 << 20], [1 << 12, 1 << 12], [64, 64]];
    let matrices = matrices.map(|shape| [[true, false], [false, true]].map(|outer| (shape.to_vec(), outer.to_vec())));
    let cubes = [[true, false, true], [false, true, false]].map(|outer| (vec![50, 60, 70], outer.to_vec()));
    lines.into_iter().chain(matrices.into_iter().flatten()).chain(cubes).collect()
}

/// The operands of the table, with a name for each layout.
fn operands(value: DType, shape: &[usize]) -> [(&'static str, Vec<TableOperand>); 8] {
    let plain = |offset| TableOperand::contiguous(value, shape, offset);
    let mut strided = plain(0);
    strided.strides.iter_mut().for_each(|stride| *stride *= 2);
    let mut reversed = plain(0);
    reversed.strides[0] *= -1;
    let mut broadcast = plain(0);
    broadcast.strides[0] = 0;
    let mut repeated = plain(0);
    repeated.strides[shape.len() - 1] = 0;
    [
        ("plain", vec![plain(0)]),
        ("offset", vec![plain(1)]),
        ("strided", vec![strided]),
        ("reversed", vec![reversed]),
        ("broadcast", vec![broadcast]),
        ("two", vec![plain(0), plain(0)]),
        ("six", vec![plain(3); 6]),
        ("repeated", vec![plain(0), repeated]),
    ]
}

/// The operators of the table over these values; the first one is the sum.
fn operators(value: DType) -> [DeviceOperator; 5] {
    let kinds = [
        OperatorKind::Sum { carried: value, result: value },
        OperatorKind::Extreme { greatest: true },
        OperatorKind::ArgExtreme { greatest: true, narrow: false },
        OperatorKind::Variance { result: DType::F64, ddof: 1 },
        OperatorKind::NormL2,
    ];
    kinds.map(|kind| DeviceOperator::new(kind, value, false))
}

#[test]
fn choices_are_those_of_the_file() {
    let mut lines = Vec::new();
    for (device, limits) in DEVICES.iter().enumerate() {
        for (shape, is_kept) in shapes() {
            // The first device sees all cases, and all values, layouts and operators with one of the others.
            let counts = if device == 0 {
                [(DType::F32, 8, 5), (DType::U8, 2, 1), (DType::F64, 2, 1)]
            } else {
                [(DType::F32, 1, 1); 3]
            };
            let tables = &counts[..if device == 0 { 3 } else { 1 }];
            for &(value, layouts, most_operators) in tables {
                for (number, (layout, operands)) in operands(value, &shape).into_iter().take(layouts).enumerate() {
                    let most = if number == 0 { most_operators } else { 1 };
                    for operator in operators(value).into_iter().take(most) {
                        let source = Operands { shape: shape.clone(), operands: operands.clone(), first: 0 };
                        let choice = chosen(&source, &is_kept, &operator, limits);
                        lines.push(format!("{device} {shape:?} {is_kept:?} {layout}: {choice}"));
                    }
                }
            }
        }
    }
    compare(&lines, include_str!("choices.txt"));
}
