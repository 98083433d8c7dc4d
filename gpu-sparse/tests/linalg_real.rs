//! Conjugate gradients on real matrices, against the iterations that SciPy 1.17.1 needs for the same systems.
//!
//! Without the files (see `real/mod.rs`) the tests are reported as ignored.

use std::process::ExitCode;

use gpu_sparse::gallery;
use testkit::{Outcome, Suite, ensure, tests};

mod real;

fn main() -> ExitCode {
    let files = || real::folder().map(|_| ()).ok_or("GPU_SPARSE_MATRICES is not set");
    let solves = real::SPD.into_iter().map(|case| {
        (case.0.to_owned(), move |_: &()| {
            real::compare_both(case, |a| Ok(a.clone()))?;
            Ok(())
        })
    });
    Suite::new()
        .cases("iterations_are_those_of_scipy", files(), "", solves)
        .group("gallery", files(), "", tests![wathen_small_has_the_pattern_of_the_gallery])
        .run()
}

fn wathen_small_has_the_pattern_of_the_gallery(_: &()) -> Outcome {
    let (file, made) = (real::read("wathen_small")?, gallery::wathen::<f64>(49, 49, |_, _| 1.0)?);
    ensure!((file.row_starts(), file.columns()) == (made.row_starts(), made.columns()), "the patterns differ");
    Ok(())
}
