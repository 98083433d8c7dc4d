//! The kernels and launches that selections choose.

use gpu_array::DType;

use super::{
    launch::{FLAGS, INDICES, KEYS, LENGTHS, Out, REJECTED, SelectJob, VALUES},
    leaves::Read,
    plan::choose,
    policy::{SelectAlgorithm, SelectPolicy},
};
use crate::{
    common::{
        axes::Leaves,
        choices::{DEVICES, Operands, TableOperand, Uncompiled, compare, described},
        launch::DeviceLimits,
        source::ValueSource,
    },
    tiles::policy::TilePolicy,
};

/// A selection of the table.
struct Problem {
    shape: Vec<usize>,
    values: Option<TableOperand>,
    heads: TableOperand,
    mode: u32,
    written: DType,
    step: isize,
    /// Whether the values are the operand that decides too.
    is_same: bool,
}

impl Problem {
    fn chosen(&self, limits: &DeviceLimits) -> String {
        let Self { shape, mode, .. } = self;
        let of =
            |operand: &TableOperand, first| Operands { shape: shape.clone(), operands: vec![operand.clone()], first };
        let (values, heads) =
            (self.values.as_ref().map(|values| of(values, 1)), of(&self.heads, 2 - usize::from(self.is_same)));
        let values = values.as_ref().map(|values| values as &dyn ValueSource);
        let job = SelectJob { values, heads: &heads, mode: *mode };
        let (address, places, lengths, count) = (1 << 50, 1 << 51, 1 << 52, 1 << 53);
        let out = Out { address, dtype: self.written, step: self.step, places, lengths, count };

        if shape.contains(&0) {
            return "nothing".to_owned();
        }
        let leaves: Leaves<'_> = job.sources().flat_map(|source| source.leaves()).collect();
        let (layout, read) = (job.layout(&leaves, &out), Read::of(&leaves, job.leaves_of_values()));
        let problem = job.problem(&layout, &leaves, &read, &out);
        let plan = match choose(&problem, limits, |_| Ok(Uncompiled(limits))) {
            Ok(plan) => plan,
            Err(error) => return error.to_string(),
        };
        let SelectPolicy { algorithm, tile } = plan.policy;
        let kernel = match algorithm {
            SelectAlgorithm::Pipelined { tiles_ahead } => format!("select_pipelined of {tiles_ahead} ahead"),
            SelectAlgorithm::SinglePass => "select_single_pass".to_owned(),
        };
        let TilePolicy { threads, service_threads, vector_size, vectors_per_thread, .. } = tile;
        let none = || std::iter::empty();
        let launch = described(&layout.launch(plan.grid, &tile, (none(), none())));
        let (mode, same) = (problem.mode, read.same);
        let tile = format!("{threads} + {service_threads}, {vector_size}, {vectors_per_thread}");
        format!("{kernel} {tile}, mode {mode} same {same} {launch}")
    }
}

/// The kinds of selections of the table: the moved values, the operand that decides, and the mode.
const KINDS: [(Option<DType>, DType, u32); 9] = [
    (Some(DType::F32), DType::Bool, FLAGS | VALUES),
    (Some(DType::F64), DType::Bool, FLAGS | VALUES | REJECTED),
    (Some(DType::U8), DType::Bool, FLAGS | VALUES),
    (Some(DType::F32), DType::F32, FLAGS | VALUES),
    (Some(DType::F64), DType::Bool, FLAGS | VALUES | INDICES),
    (None, DType::Bool, FLAGS | INDICES),
    (None, DType::I32, KEYS | VALUES),
    (None, DType::F64, KEYS | VALUES),
    (None, DType::F32, KEYS | VALUES | INDICES | LENGTHS),
];

#[test]
fn choices_are_those_of_the_file() {
    let mut lines = Vec::new();
    let counts = [0, 1, 1000, 4096, 1 << 16, 200_000, 1 << 20, 3 << 20, 1 << 23, 1 << 26, 1 << 33];
    let shapes = counts.map(|n| vec![n]).into_iter().chain([vec![1000, 300], vec![1 << 12, 1 << 13]]);
    let shapes: Vec<Vec<usize>> = shapes.collect();
    for (device, limits) in DEVICES.iter().enumerate() {
        for shape in &shapes {
            for (kind, (value, decides, mode)) in KINDS.into_iter().enumerate() {
                let written = if mode & VALUES == 0 { DType::I64 } else { value.unwrap_or(decides) };
                let problem = |offset| Problem {
                    shape: shape.clone(),
                    values: value.map(|value| TableOperand::contiguous(value, shape, offset)),
                    heads: TableOperand::contiguous(decides, shape, 0),
                    mode,
                    written,
                    step: 1,
                    is_same: kind == 3,
                };
                let mut strided = problem(0);
                strided.heads.strides.iter_mut().for_each(|stride| *stride *= 2);
                let problems = [
                    ("plain", problem(0)),
                    ("offset", problem(1)),
                    ("step", Problem { step: 2, ..problem(0) }),
                    ("strided", strided),
                ];
                let most = if device == 0 && kind == 0 { problems.len() } else { 1 };
                for (layout, problem) in problems.into_iter().take(most) {
                    lines.push(format!("{device} {shape:?} kind {kind} {layout}: {}", problem.chosen(limits)));
                }
            }
        }
    }
    compare(&lines, include_str!("choices.txt"));
}
