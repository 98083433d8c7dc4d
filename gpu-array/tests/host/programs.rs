//! Random programs against their definition.

use gpu_array::DType;
use testkit::{Rng, seeds};

use crate::random::{AnyArray, Grid, Layout, Program, REAL, build, build::build_all, program::Choice};

/// A shape of up to five axes and a few hundred places, sometimes none.
fn shape(rng: &mut Rng) -> Vec<usize> {
    let rank = rng.below(6);
    let most = [1, 300, 17, 7, 4, 3][rank];
    (0..rank).map(|_| if rng.below(25) == 0 { 0 } else { 1 + rng.below(most) }).collect()
}

fn one(seed: u64, choice: Choice<'_>) {
    let mut rng = Rng(seed);
    let shape = shape(&mut rng);
    let leaves = 1 + rng.below(4);
    let size = 1 + rng.below(25);
    let program = Program::random(choice, leaves, size, &mut rng);
    let views: Vec<Layout> = program.leaves().iter().map(|_| Layout::random(&shape, &mut rng)).collect();
    let arrays: Vec<AnyArray> = program
        .leaves()
        .iter()
        .zip(&views)
        .map(|(&dtype, view)| AnyArray::random(dtype, &view.base, &mut rng))
        .collect();
    let leaves: Vec<_> = arrays.iter().zip(&views).map(|(array, view)| array.leaf(view)).collect();
    let values: Vec<Grid> = arrays.iter().zip(&views).map(|(array, view)| array.viewed(view).grid()).collect();
    let expression = build(&program, &leaves);
    let got = expression.eval().unwrap_or_else(|error| panic!("seed {seed}: {error}\n{expression:?}"));
    let Some(difference) = got.difference(&program.compute(&values)) else { return };
    // The first step that is wrong says more.
    for ((step, got), want) in program.steps.iter().zip(build_all(&program, &leaves)).zip(program.compute_all(&values))
    {
        if let Some(difference) = got.eval().expect("a part of an expression with a value").difference(&want) {
            panic!("seed {seed}: {difference} in {:?}\n{got:?}", step.kind);
        }
    }
    panic!("seed {seed}: {difference}, though no step alone is wrong\n{expression:?}");
}

#[test]
fn random_expressions_of_all_types() {
    seeds(0..20_000).for_each(|seed| one(seed, Choice { dtypes: &REAL, exact: false }));
}

/// Of few types: longer runs without a cast, which more operations take as they are.
#[test]
fn random_expressions_of_few_types() {
    for (i, &dtype) in REAL.iter().enumerate() {
        let first = 1_000_000 * (1 + i as u64);
        seeds(first..first + 1000).for_each(|seed| one(seed, Choice { dtypes: &[dtype, DType::Bool], exact: false }));
    }
}
