//! The kernels and launches that scans choose.

use gpu_array::DType;

use super::{
    launch::{Heads, ScanJob},
    plan::choose,
    policy::{ScanAlgorithm, ScanPolicy},
};
use crate::{
    common::{
        axes::Leaves,
        choices::{DEVICES, Operands, TableOperand, Uncompiled, compare, described},
        launch::DeviceLimits,
        operator::{DeviceOperator, OperatorKind},
        source::ValueSource,
    },
    tiles::{layout::TileTarget, policy::TilePolicy},
};

/// A scan of the table.
struct Problem {
    shape: Vec<usize>,
    axis: Option<usize>,
    reverse: bool,
    operator: DeviceOperator,
    values: Vec<TableOperand>,
    heads: Option<(TableOperand, Heads)>,
    epilogue: Option<TableOperand>,
    target: TableOperand,
}

impl Problem {
    fn chosen(&self, limits: &DeviceLimits) -> String {
        let Self { shape, axis, reverse, operator, .. } = self;
        let source = Operands { shape: shape.clone(), operands: self.values.clone(), first: 1 };
        let next = self.values.len() + 1;
        let of =
            |operand: &TableOperand, first| Operands { shape: shape.clone(), operands: vec![operand.clone()], first };
        let heads = self.heads.as_ref().map(|(operand, kind)| (of(operand, next), *kind));
        let epilogue = self.epilogue.as_ref().map(|operand| of(operand, next + 1));
        let job = ScanJob {
            source: &source,
            heads: heads.as_ref().map(|(heads, kind)| (heads as &dyn ValueSource, *kind)),
            epilogue: epilogue.as_ref().map(|epilogue| (epilogue as &dyn ValueSource, &[][..])),
            operator,
            mode: 0,
            axis: *axis,
            reverse: *reverse,
        };
        let target =
            TileTarget { address: self.target.address(0), dtype: self.target.dtype, strides: &self.target.strides };

        if shape.contains(&0) {
            return "nothing".to_owned();
        }
        let leaves: Leaves<'_> = job.sources().flat_map(|source| source.leaves()).collect();
        let layout = job.layout(&leaves, &target);
        let problem = job.problem(&layout, &leaves, &target);
        let plan = match choose(&problem, limits, |_| Ok(Uncompiled(limits))) {
            Ok(plan) => plan,
            Err(error) => return error.to_string(),
        };
        let ScanPolicy { algorithm, tile } = plan.policy;
        let kernel = match algorithm {
            ScanAlgorithm::SinglePass => "scan_single_pass".to_owned(),
            ScanAlgorithm::Pipelined { tiles_ahead } => format!("scan_pipelined of {tiles_ahead} ahead"),
            ScanAlgorithm::SingleWave { tiles_per_block } => format!("scan_single_wave of {tiles_per_block} tiles"),
            ScanAlgorithm::Rows => "scan_rows".to_owned(),
            ScanAlgorithm::Columns => "scan_columns".to_owned(),
            ScanAlgorithm::ColumnStrips { lanes } => format!("scan_column_strips of {lanes} lanes"),
        };
        let TilePolicy { threads, service_threads, vector_size, vectors_per_thread, .. } = tile;
        let none = || std::iter::empty();
        let launch = described(&layout.launch(plan.grid, &tile, (none(), none())));
        let mode = problem.mode;
        format!("{kernel} {threads} + {service_threads}, {vector_size}, {vectors_per_thread}, mode {mode} {launch}")
    }
}

/// The operators of the table, with the type of their values.
fn operators() -> [(DType, DeviceOperator); 5] {
    let sum =
        |value, carried, result| (value, DeviceOperator::new(OperatorKind::Sum { carried, result }, value, false));
    [
        sum(DType::F32, DType::F32, DType::F32),
        sum(DType::F32, DType::F64, DType::F32),
        sum(DType::F64, DType::F64, DType::F64),
        sum(DType::U8, DType::U64, DType::U64),
        (DType::I32, DeviceOperator::new(OperatorKind::Extreme { greatest: true }, DType::I32, false)),
    ]
}

/// The shapes of the table, each with the scanned axis.
fn shapes() -> Vec<(Vec<usize>, Option<usize>)> {
    let vectors =
        [0, 1, 100, 4096, 1 << 16, 200_000, 1 << 20, 3 << 20, 1 << 22, 1 << 26, 1 << 33].map(|n| (vec![n], None));
    let matrices =
        [[1000, 300], [1 << 20, 4], [4, 1 << 20], [1 << 12, 1 << 12], [300, 1 << 14], [64, 64], [1 << 16, 1 << 17]];
    let matrices = matrices.map(|shape| [None, Some(0), Some(1)].map(|axis| (shape.to_vec(), axis)));
    vectors.into_iter().chain(matrices.into_iter().flatten()).chain([(vec![50, 60, 70], Some(1))]).collect()
}

#[test]
fn choices_are_those_of_the_file() {
    let mut rows = Vec::new();
    for (device, limits) in DEVICES.iter().enumerate() {
        for (shape, axis) in shapes() {
            for (number, (value, operator)) in operators().into_iter().enumerate() {
                let result = operator.results()[0];
                let plain = |offset| TableOperand::contiguous(value, &shape, offset);
                let problem = || Problem {
                    shape: shape.clone(),
                    axis,
                    reverse: false,
                    operator: operator.clone(),
                    values: vec![plain(0)],
                    heads: None,
                    epilogue: None,
                    target: TableOperand::contiguous(result, &shape, 0),
                };
                let heads = |dtype, kind| Some((TableOperand::contiguous(dtype, &shape, 0), kind));
                let mut strided = plain(0);
                strided.strides.iter_mut().for_each(|stride| *stride *= 2);
                let mut transposed = problem();
                transposed.values[0].strides.reverse();
                transposed.target.strides.reverse();
                let problems = [
                    ("plain", problem()),
                    ("keys", Problem { heads: heads(DType::I32, Heads::Keys), ..problem() }),
                    ("reverse", Problem { reverse: true, ..problem() }),
                    ("flags", Problem { heads: heads(DType::Bool, Heads::Flags), ..problem() }),
                    ("offset", Problem { values: vec![plain(1)], ..problem() }),
                    ("offset target", Problem { target: TableOperand::contiguous(result, &shape, 1), ..problem() }),
                    ("strided", Problem { values: vec![strided], ..problem() }),
                    ("two", Problem { values: vec![plain(0), plain(0)], ..problem() }),
                    ("epilogue", Problem { epilogue: Some(TableOperand::contiguous(value, &shape, 0)), ..problem() }),
                    ("transposed", transposed),
                ];
                // All devices see all operators, and the first device all layouts with the first operator.
                let most = match (device, number) {
                    (0, 0) => problems.len(),
                    (0, _) => 2,
                    _ => 1,
                };
                for (layout, problem) in problems.into_iter().take(most) {
                    rows.push(format!("{device} {shape:?} {axis:?} {value} {layout}: {}", problem.chosen(limits)));
                }
            }
        }
    }
    compare(&rows, include_str!("choices.txt"));
}
