//! Random expressions on the device against the same on the host, in every loop.

use gpu_array::{DType, expression::precompile};
use gpu_driver::Device;
use testkit::{Outcome, Rng, Test, ensure, tests};

use crate::random::{Any, AnyArray, Layout, Program, REAL, any::AnyGpu, build, program::Choice};

pub const TESTS: &[Test<Device>] =
    tests![random_programs_of_few_types, random_programs_of_all_types, random_programs_are_assigned_to_any_view,];

/// A program with its arrays on both places.
struct Case {
    seed: u64,
    program: Program,
    views: Vec<Layout>,
    arrays: Vec<AnyArray>,
    on_device: Vec<AnyGpu>,
}

impl Case {
    fn new(
        device: &Device,
        seed: u64,
        program: &Program,
        views: Vec<Layout>,
        rng: &mut Rng,
    ) -> gpu_array::Result<Self> {
        let leaves = program.leaves().into_iter().zip(&views);
        let arrays: Vec<_> = leaves.map(|(dtype, view)| AnyArray::random(dtype, &view.base, rng)).collect();
        let on_device = arrays.iter().map(|array| array.to_gpu(device)).collect::<Result<_, _>>()?;
        Ok(Self { seed, program: program.clone(), views, arrays, on_device })
    }

    fn on_host(&self) -> Any<'_, gpu_array::expression::Host> {
        let leaves: Vec<_> = self.arrays.iter().zip(&self.views).map(|(array, view)| array.leaf(view)).collect();
        build(&self.program, &leaves)
    }

    fn on_device(&self) -> gpu_array::Result<Any<'_, gpu_array::expression::Gpu>> {
        let leaves: Vec<_> =
            self.on_device.iter().zip(&self.views).map(|(array, view)| array.leaf(view)).collect::<Result<_, _>>()?;
        Ok(build(&self.program, &leaves))
    }
}

/// Makes views for so many leaves.
type Layouts = fn(usize, &mut Rng) -> Vec<Layout>;

/// Arrays of one axis without gaps, at any place of their buffers: the linear loop, aligned and not.
fn linear(leaves: usize, rng: &mut Rng) -> Vec<Layout> {
    let n = [1, 2, 7, 31, 100, 513, 1025, 4099][rng.below(8)];
    let aligned = rng.below(3) == 0;
    let one = |rng: &mut Rng| match rng.below(8) {
        0 => Layout::whole(&[1]),
        _ => Layout::of(&[n], vec![0], &[(if aligned { 0 } else { rng.below(17) }, 1, rng.below(2))]),
    };
    let mut views: Vec<_> = (0..leaves).map(|_| one(rng)).collect();
    views[0] = Layout::of(&[n], vec![0], &[(if aligned { 0 } else { rng.below(17) }, 1, 0)]);
    views
}

/// Arrays of two or three axes, some of which lie across the others: the tiled loop, with full and partial tiles.
fn tiled(leaves: usize, rng: &mut Rng) -> Vec<Layout> {
    let shape: &[usize] =
        [&[67, 130][..], &[128, 64], &[16, 257], &[3, 20, 70], &[33, 2, 40], &[64, 129]][rng.below(6)];
    let rank = shape.len();
    let gaps = |rng: &mut Rng| {
        (0..rank).map(|_| (rng.below(3), [1, 1, 1, -1][rng.below(4)], rng.below(2))).collect::<Vec<_>>()
    };
    let mut views: Vec<_> = (0..leaves)
        .map(|_| match rng.below(4) {
            0 => Layout::whole(&shape[1..]),
            1 => Layout::of(shape, (0..rank).rev().collect(), &gaps(rng)),
            2 => Layout::of(shape, (0..rank).collect(), &gaps(rng)),
            _ => Layout::whole(shape),
        })
        .collect();
    let mut order: Vec<_> = (0..rank).collect();
    order.swap(0, rank - 1);
    let cuts = if rng.below(2) == 0 { vec![(0, 1, 0); rank] } else { vec![(1, 1, 2); rank] };
    views[0] = Layout::of(shape, order, &cuts);
    views
}

/// Any views of one shape: the strided loop more often than not.
fn strided(leaves: usize, rng: &mut Rng) -> Vec<Layout> {
    let shapes: [&[usize]; 10] = [
        &[],
        &[5],
        &[300],
        &[9, 40],
        &[3, 5, 7],
        &[2, 3, 4, 5],
        &[2, 1, 3, 4, 5],
        &[0, 3],
        &[2, 2, 2, 2, 2, 2, 2, 2, 3],
        &[37, 12],
    ];
    let shape = shapes[rng.below(10)];
    (0..leaves).map(|_| Layout::random(shape, rng)).collect()
}

/// Rows of whole packs, to which some leaves are broadcast: the loop over rows, with rows of one block and of several.
fn rows(leaves: usize, rng: &mut Rng) -> Vec<Layout> {
    let shape: &[usize] = [&[3, 1024][..], &[2, 2, 1040], &[5, 1296], &[2, 4112]][rng.below(4)];
    let rank = shape.len();
    let with_gaps = |rng: &mut Rng| {
        let mut cuts = vec![(0, 1, 0); rank];
        cuts[rank - 1] = [(0, 1, 16), (16, 1, 0), (1, 1, 2), (0, 1, 3)][rng.below(4)];
        Layout::of(shape, (0..rank).collect(), &cuts)
    };
    let mut views: Vec<_> = (0..leaves)
        .map(|_| match rng.below(4) {
            0 => Layout::whole(&shape[rank - 1..]),
            1 => Layout::whole(&[&shape[..rank - 1], &[1]].concat()),
            2 => Layout::whole(shape),
            _ => with_gaps(rng),
        })
        .collect();
    // Rows of other lengths than those of the result: they are not one row.
    views[0] = with_gaps(rng);
    views
}

/// Each program in each of the loops with several layouts; all compiled together.
fn check(device: &Device, choice: Choice<'_>, seeds: std::ops::Range<u64>) -> Outcome {
    let mut cases = Vec::new();
    for seed in testkit::seeds(seeds) {
        let mut rng = Rng(seed);
        let leaves = 1 + rng.below(3);
        let size = 1 + rng.below(8);
        let program = Program::random(choice, leaves, size, &mut rng);
        for (layouts, times) in [(linear as Layouts, 4), (strided, 4), (tiled, 4), (rows, 2)] {
            for _ in 0..times {
                let views = layouts(leaves, &mut rng);
                cases.push(Case::new(device, seed, &program, views, &mut rng)?);
            }
        }
    }
    let expressions = cases.iter().map(Case::on_device).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<_> = expressions.iter().map(Any::as_precompile).collect();
    precompile(device, &all)?;
    for (case, expression) in cases.iter().zip(&expressions) {
        let want = case.on_host().eval()?;
        let got = expression.eval()?;
        if let Some(difference) = got.difference(&want) {
            return Err(format!("seed {}: {difference}\n{expression:?}\n{:?}", case.seed, case.views).into());
        }
    }
    Ok(())
}

fn random_programs_of_few_types(device: &Device) -> Outcome {
    let dtypes = [DType::F32, DType::F64, DType::U8, DType::I64, DType::Bool];
    check(device, Choice { dtypes: &dtypes, exact: true }, 0..30)
}

fn random_programs_of_all_types(device: &Device) -> Outcome {
    check(device, Choice { dtypes: &REAL, exact: true }, 1000..1030)
}

fn random_programs_are_assigned_to_any_view(device: &Device) -> Outcome {
    let choice = Choice { dtypes: &[DType::F32, DType::F64, DType::U8, DType::I64], exact: true };
    for seed in testkit::seeds(2000..2005) {
        let mut rng = Rng(seed);
        let program = Program::random(choice, 2, 3, &mut rng);
        for layouts in [linear, strided, tiled, tiled, rows] {
            let views = layouts(2, &mut rng);
            let case = Case::new(device, seed, &program, views, &mut rng)?;
            let value = case.on_host().eval_array()?;
            let shape = value.grid().shape;
            for _ in 0..8 {
                let mut order: Vec<_> = (0..shape.len()).collect();
                rng.shuffle(&mut order);
                let cut = |rng: &mut Rng| (rng.below(20), [1, 1, -1, 2, -3][rng.below(5)], rng.below(3));
                let cuts: Vec<_> = shape.iter().map(|_| cut(&mut rng)).collect();
                let target = Layout::of(&shape, order, &cuts);
                let mut want = AnyArray::random(program.dtype(), &target.base, &mut rng);
                let mut array = want.to_gpu(device)?;
                array.assign(&target, &case.on_device()?)?;
                want.write(&target, &value);
                let difference = array.to_host()?.grid().difference(&want.grid());
                ensure!(
                    difference.is_none(),
                    "seed {seed}: {difference:?}\n{:?}\n{:?}\n{target:?}",
                    case.on_device()?,
                    case.views
                );
            }
        }
    }
    Ok(())
}
