//! The kernels and launches that products choose.

use gpu_array::DType;

use super::{
    launch::{of_stack, of_tiles, of_warps},
    plan::{MatmulPlan, Wanted, choose, time_in_words},
    precision::Precision,
    problem::{MatmulProblem, MatmulShape},
    tensor_cores::{self, Products},
};
use crate::common::{
    array_operand::ArrayLayout,
    choices::{DEVICES, TableOperand, compare, described},
    launch::DeviceLimits,
    shape::in_order,
};

/// An operand of the table: a transposed one has its columns as neighbours.
fn operand(shape: &[usize], number: usize, offset: usize, is_transposed: bool) -> (u64, Vec<isize>) {
    let mut operand = TableOperand::contiguous(DType::F32, shape, offset);
    if is_transposed && let [.., rows, columns] = *shape {
        let last = shape.len() - 1;
        (operand.strides[last - 1], operand.strides[last]) = (1, rows as isize);
        operand.strides[..last - 1].copy_from_slice(&in_order(&shape[..last - 1], (rows * columns) as isize));
    }
    (operand.address(number), operand.strides)
}

/// The product of arrays of these shapes, of a layout.
fn problem(dtype: DType, [a, b]: [&[usize]; 2], layout: usize) -> Result<MatmulProblem, String> {
    let shape = MatmulShape::of("matmul", a, b).map_err(|error| error.to_string())?;
    let result = shape.result();
    let offset = usize::from(layout == 4);
    let (left, a_strides) = operand(a, 0, offset, layout & 1 != 0);
    let (right, b_strides) = operand(b, 1, offset, layout & 2 != 0);
    let (target, c_strides) = operand(&result, 2, 0, false);
    let a = shape.left(&ArrayLayout { address: left, shape: a, strides: &a_strides });
    let b = shape.right(&ArrayLayout { address: right, shape: b, strides: &b_strides });
    let c = shape.target(&ArrayLayout { address: target, shape: &result, strides: &c_strides });
    Ok(MatmulProblem::new(dtype, &shape, [a, b, c], [[1, 0], [0; 2]]))
}

fn chosen(dtype: DType, shapes: [&[usize]; 2], layout: usize, limits: &DeviceLimits) -> String {
    let problem = match problem(dtype, shapes, layout) {
        Ok(problem) => problem,
        Err(error) => return error,
    };
    match choose("matmul", &problem, Wanted::default(), limits) {
        Ok(MatmulPlan::Stack(policy)) => {
            format!("{} {}", policy.template(dtype), described(&of_stack(&problem, &policy)))
        }
        Ok(MatmulPlan::Warps(plan)) => {
            format!("{} {}", plan.tile.template(dtype), described(&of_warps(&problem, &plan)))
        }
        Ok(MatmulPlan::Tiles(plan)) => {
            let (kernel, splits) = (plan.policy.template(dtype), plan.grid.splits);
            format!("{kernel} splits {splits} {}", described(&of_tiles(plan.problem(&problem), &plan)))
        }
        Err(error) => error.to_string(),
    }
}

/// The choice among tensor cores and the other kernels.
fn on_tensor_cores(
    dtype: DType,
    precision: Precision,
    shapes: [&[usize]; 2],
    layout: usize,
    limits: &DeviceLimits,
) -> String {
    let problem = match problem(dtype, shapes, layout) {
        Ok(problem) => problem,
        Err(error) => return error,
    };
    let strict = if dtype == DType::F32 {
        choose("matmul", &problem, Wanted::default(), limits)
            .map(|plan| plan.time().map_or(f64::INFINITY, |time| time as f64))
    } else {
        Ok(time_in_words(&problem, limits))
    };
    let products = Products::of(dtype, precision).ok_or("no products");
    match (strict, products) {
        (Ok(strict), Ok(products)) => tensor_cores::described(&problem, products, strict, limits),
        (Err(error), _) => error.to_string(),
        (_, Err(reason)) => reason.to_owned(),
    }
}

#[test]
fn choices_are_those_of_the_file() {
    let square = |n: usize| vec![vec![n, n], vec![n, n]];
    let shapes: Vec<Vec<Vec<usize>>> = [2, 8, 33, 70, 256, 512, 1024, 2048, 4096, 8192]
        .map(square)
        .into_iter()
        .chain([
            vec![vec![8192, 8192], vec![8192, 32]],
            vec![vec![131_072, 64], vec![64, 64]],
            vec![vec![257, 1031], vec![1031, 4093]],
            vec![vec![16, 1 << 20], vec![1 << 20, 16]],
            // More columns of tiles than 2^29.
            vec![vec![8, 1], vec![1, 1 << 38]],
            vec![vec![5, 0], vec![0, 7]],
            vec![vec![1 << 20, 8, 8], vec![1 << 20, 8, 8]],
            vec![vec![65_536, 32, 32], vec![65_536, 32, 32]],
            vec![vec![20_000, 12, 13], vec![20_000, 13, 11]],
            vec![vec![16_384, 64, 64], vec![16_384, 64, 64]],
            vec![vec![100, 32, 32], vec![32, 32]],
            vec![vec![1 << 32, 8, 8], vec![1 << 32, 8, 8]],
            vec![vec![8192, 8192], vec![8192, 5]],
            vec![vec![12, 8192], vec![8192, 8192]],
        ])
        .collect();
    let mut lines = Vec::new();
    for (device, limits) in DEVICES.iter().enumerate() {
        for shape in &shapes {
            // The first device sees all layouts and types.
            for layout in 0..if device == 0 { 5 } else { 1 } {
                let dtypes = [DType::F32, DType::F64, DType::C64, DType::C128];
                for dtype in dtypes.into_iter().take(if device == 0 && layout == 0 { 4 } else { 1 }) {
                    let (name, choice) = (dtype.name(), chosen(dtype, [&shape[0], &shape[1]], layout, limits));
                    lines.push(format!("{device} {shape:?} {name} layout {layout}: {choice}"));
                }
            }
        }
    }
    for (device, limits) in DEVICES.iter().enumerate() {
        for shape in &shapes[..14] {
            for layout in 0..if device == 0 { 4 } else { 1 } {
                let of = |dtype, precision| on_tensor_cores(dtype, precision, [&shape[0], &shape[1]], layout, limits);
                lines.push(format!("{device} {shape:?} layout {layout}, TF32: {}", of(DType::F32, Precision::Tf32)));
                lines.push(format!(
                    "{device} {shape:?} layout {layout}, emulated: {}",
                    of(DType::F32, Precision::Emulated)
                ));
                lines.push(format!("{device} {shape:?} layout {layout}, bf16: {}", of(DType::BF16, Precision::Strict)));
                lines.push(format!("{device} {shape:?} layout {layout}, i8: {}", of(DType::I8, Precision::Strict)));
            }
        }
    }
    compare(&lines, include_str!("choices.txt"));
}

/// The shapes of the device test `products_of_few_columns`, and those that are computed transposed.
#[test]
fn few_columns_are_chosen_for_the_shapes_of_their_test() {
    let emulated = DeviceLimits { multiprocessors: 4, ..DEVICES[0] };
    let small = [[300, 516, 32], [256, 1000, 21], [132, 2048, 16], [64, 1540, 9], [500, 512, 8], [68, 4096, 2]];
    let large = [[8500, 516, 32], [4100, 1000, 21], [4096, 2048, 16], [8192, 1540, 9], [9000, 512, 8], [4000, 4096, 2]];
    for (limits, sizes) in [(&emulated, small), (&DEVICES[0], large)] {
        for [m, k, n] in sizes {
            for layout in 0..4 {
                for shapes in [[&[m, k][..], &[k, n]], [&[n, k], &[k, m]]] {
                    let choice = chosen(DType::F32, shapes, layout, limits);
                    assert!(choice.contains("matmul_skinny"), "{shapes:?}, layout {layout}: {choice}");
                }
            }
        }
    }
}

/// An expression around a product has the bits of the product alone: where warps compute it, in the order of k, so does the kernel with an epilogue.
#[test]
fn products_of_warps_keep_their_order_in_expressions() {
    let with_epilogue = Wanted { epilogue: true, ..Wanted::default() };
    for shapes in [[&[1024, 32, 512][..], &[1024, 512, 64]], [&[200, 64, 384], &[200, 384, 128]]] {
        let problem = problem(DType::F32, shapes, 0).expect("a product");
        let alone = choose("matmul", &problem, Wanted::default(), &DEVICES[0]).expect("a plan");
        let within = choose("matmul", &problem, with_epilogue, &DEVICES[0]).expect("a plan");
        assert_eq!(alone.time(), within.time(), "{shapes:?}");
        let (MatmulPlan::Warps(_), MatmulPlan::Tiles(plan)) = (alone, within) else {
            panic!("{shapes:?}: other kernels")
        };
        assert!(plan.grid.splits == 1 && !plan.policy.tile.is_skinny(), "{shapes:?}: {:?}", plan.policy);
    }
}

/// The shapes of the device test `products_of_equal_shares`: four multiprocessors are the emulated device's.
#[test]
fn equal_shares_are_chosen_for_the_shapes_of_their_test() {
    let of_type = |dtype, limits, [m, k, n]: [usize; 3]| chosen(dtype, [&[m, k], &[k, n]], 0, limits);
    let chosen_for = |limits, shape| of_type(DType::F32, limits, shape);
    let emulated = DeviceLimits { multiprocessors: 4, ..DEVICES[0] };
    for shape in [[257, 1031, 33], [49, 513, 515]] {
        let choice = chosen_for(&emulated, shape);
        assert!(choice.contains("matmul_shares"), "{shape:?}: {choice}");
    }
    for (limits, shape) in
        [(&emulated, [257, 1031, 33]), (&emulated, [257, 1031, 127]), (&DEVICES[0], [257, 1031, 4093])]
    {
        let choice = of_type(DType::F64, limits, shape);
        assert!(choice.contains("matmul_shares"), "f64, {shape:?}: {choice}");
    }
    for shape in [[257, 1031, 4093], [257, 1024, 4096], [160, 1031, 7400]] {
        let choice = chosen_for(&DEVICES[0], shape);
        assert!(choice.contains("matmul_shares"), "{shape:?}: {choice}");
    }
}
