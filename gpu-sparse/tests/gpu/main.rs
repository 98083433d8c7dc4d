//! Tests of gpu-sparse on a device, and its kernels with NVRTC; reported as ignored where one is missing.
#![allow(missing_docs, unreachable_pub)]

use std::{ops::Range, process::ExitCode};

use gpu_driver::{Device, emulated::Emulated, nvrtc};
use gpu_sparse::KERNELS;
use testkit::{Outcome, Suite, tests};

mod ahead;
#[path = "../cases/mod.rs"]
mod cases;
mod examples;
mod failures;
mod outcomes;
mod products;
#[path = "../real/mod.rs"]
mod real;
mod solves;

fn main() -> ExitCode {
    if let Some(code) = ahead::run_as_child() {
        return code;
    }
    use {ahead::*, failures::*, outcomes::*, products::*, solves::*};
    let compiler = || nvrtc::version().map(|_| ());
    let device = Device::for_tests;
    let on_device = tests![
        products_match_the_reference,
        axpby_matches_the_reference,
        the_format_follows_the_plan,
        grids_at_their_limit_stride_over_the_rest,
        only_stored_entries_touch_x,
        products_on_other_streams_and_into_old_memory,
        a_matrix_on_the_device_describes_itself,
        products_of_wrong_shape_are_errors,
        views_and_expressions_are_multiplied,
        a_device_matrix_is_an_operator_on_host_vectors,
        poisson_as_on_the_cpu,
        wathen_as_on_the_cpu,
        variable_coefficients_as_on_the_cpu,
        rows_of_several_segments,
        preconditioners_in_every_form,
        guesses_and_views_are_taken,
        the_callback_sees_every_iteration,
        the_monitor_sees_every_iteration_in_order,
        looks_of_the_host_change_nothing,
        iterates_follow_the_cpu,
        vectors_on_the_device_stay_there,
        any_scale_of_matrix_and_right_hand_side,
        two_solves_at_once,
        zero_right_hand_side_and_exact_guess,
        sizes_zero_and_one_and_diagonals,
        iteration_limits,
        not_positive_definite,
        residuals_grow_as_far_as_they_may,
        preconditioners_that_cannot_be,
        nan_and_infinity_in_the_input,
        what_is_not_finite_on_the_way_is_named,
        f32_does_not_claim_what_it_cannot_reach,
        tolerance_zero_ends,
        wrong_shapes_and_tolerances_are_errors,
        errors_of_all_crates_become_one,
        kernels_of_a_solve_are_compiled_before_there_is_a_device,
    ];
    // Failures on demand are of the emulated device; where a GPU does the tests it is not asked for.
    let on_gpu = device().is_ok_and(|device| !device.is_emulated());
    let require_emulated = if on_gpu { "" } else { "GPU_TESTS" };
    let emulated = || {
        device().map_err(|error| error.to_string())?;
        Emulated::new().open().map(|_| ()).map_err(|error| error.to_string())
    };
    let by_failure = tests![
        no_fallible_function_is_forgotten,
        objects_of_two_devices_do_not_mix,
        matrices_go_behind_a_solve_that_failed,
    ];
    let by_count = tests![first_products_load_nothing_after_warm];
    // Without the files the real matrices stay ignored, even where device tests must run.
    let (files, require) = match real::folder() {
        Some(_) => (device().map_err(|error| error.to_string()), "GPU_TESTS"),
        None => (Err("GPU_SPARSE_MATRICES is not set".to_owned()), ""),
    };
    let is_emulated = device().is_ok_and(|device| device.is_emulated());
    let (of_real, most_work) = if is_emulated { ("real, Jacobi alone", EMULATED_WORK) } else { ("real", usize::MAX) };
    let kernels = KERNELS.checks();
    let kernels = kernels.map(|(name, instance, arch)| (name, move |_: &()| Ok(instance.compile(arch).map(drop)?)));
    let suite = Suite::new()
        .group("device", device(), "GPU_TESTS", on_device)
        .group("device", device(), "GPU_TESTS", examples::TESTS)
        .cases("device", device(), "GPU_TESTS", awkward_cases())
        .group("counts", emulated(), require_emulated, by_count)
        .cases("failures", emulated(), require_emulated, cases())
        .group("failures", emulated(), require_emulated, by_failure)
        .cases("real", files.clone(), require, real_cases())
        .cases(of_real, files, require, solve_cases(0..most_work))
        .cases("kernels", compiler(), "GPU_COMPILE", kernels)
        .compiles_quickly(nvrtc::version().map_or(0, |(version, _)| version.major))
        .spread();
    let large = tests![solves_longer_than_one_grid];
    if !is_emulated {
        return suite.group("device", device(), "GPU_TESTS", large).run();
    }
    let left = Err::<Device, _>("they would take minutes on the emulated device".to_owned());
    let suite = suite.group("device, left to a GPU", left.clone(), "", large);
    suite.cases("real, left to a GPU", left, "", solve_cases(most_work..usize::MAX)).in_processes(true).run()
}

/// Entries times iterations with Jacobi up to which a real matrix is solved on the emulated device: some five seconds.
const EMULATED_WORK: usize = 10_000_000;

/// Conjugate gradients on each real matrix whose work, entries times iterations with Jacobi, lies in the range.
fn solve_cases(work: Range<usize>) -> impl Iterator<Item = (String, impl FnOnce(&Device) -> Outcome)> {
    let of_work = move |&(_, _, nnz, _, jacobi): &real::Case| work.contains(&(nnz * jacobi));
    real::SPD.into_iter().filter(of_work).map(|case| {
        (format!("cg, {}", case.0), move |device: &Device| {
            if device.is_emulated() {
                // Without preconditioner it takes up to three times as many iterations.
                real::compare_jacobi(case, |a| a.to_device(device))?;
                return real::compare_jacobi(case, |a| a.to_packets()?.to_device(device));
            }
            real::compare_both(case, |a| a.to_device(device))?;
            real::compare_both(case, |a| a.to_packets()?.to_device(device))
        })
    })
}
