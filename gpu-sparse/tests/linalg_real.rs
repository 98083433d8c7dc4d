//! Conjugate gradients on real matrices, against the iterations that SciPy 1.17.1 needs for the same systems.
//!
//! Without the files (see `real/mod.rs`) the tests are reported as ignored.

use gpu_sparse::gallery;
use libtest_mimic::{Arguments, Failed, Trial};

mod real;

fn main() {
    let mut trials: Vec<Trial> = Vec::new();
    for case in real::SPD {
        let name = format!("iterations_are_those_of_scipy::{}", case.0);
        trials.push(Trial::test(name, move || Ok(real::compare_both(case, |a| Ok(a.clone()))?)));
    }
    trials.push(Trial::test("wathen_small_has_the_pattern_of_the_gallery", compare_wathen));
    let missing = real::folder().is_none();
    let trials = trials.into_iter().map(|trial| trial.with_ignored_flag(missing)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn compare_wathen() -> Result<(), Failed> {
    let (file, made) = (real::read("wathen_small")?, gallery::wathen::<f64>(49, 49, |_, _| 1.0)?);
    let same = (file.row_starts(), file.columns()) == (made.row_starts(), made.columns());
    if same { Ok(()) } else { Err("the patterns differ".into()) }
}
