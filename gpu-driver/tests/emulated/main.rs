//! The emulated device: kernels as users write them give the GPU's results on it, in every order of threads and blocks, and
//! broken kernels are reported with their line. What needs no fault runs on a GPU too, where there is one.
#![allow(missing_docs, unreachable_pub)]

use std::{path::Path, process::ExitCode};

use gpu_driver::{Arch, Device, Program, emulated::Emulated, nvrtc};
use testkit::{Outcome, Suite, tests};

mod broken;
mod correct;
mod driver;
mod failures;
mod functions;
mod graphics;
mod harness;
mod limits;
mod prelude;
mod scratch;
mod streams;
mod textures;
mod user;

use harness::everywhere;

const HOPPER: Arch = Arch::new(9, 0);

/// Every text, and each broken one once more in its corrected form.
fn programs() -> Vec<(String, Program)> {
    let plain = user::TEXTS.iter().chain(functions::TEXTS).chain(streams::TEXTS).copied().chain(correct::texts());
    let mut all: Vec<_> = plain.map(|text| (text.stem().to_owned(), text.program())).collect();
    for text in broken::texts() {
        all.push((text.stem().to_owned(), text.program()));
        all.push((format!("{} fixed", text.stem()), text.program().option("-DFIXED")));
    }
    all
}

/// Compiles without a word: a user's compiler takes these texts as they are.
fn compiles(program: &Program) -> Outcome {
    let binary = program.compile(HOPPER)?;
    match binary.log().trim() {
        "" => Ok(()),
        log => Err(log.into()),
    }
}

fn main() -> ExitCode {
    if let Some(code) = functions::run_as_child().or_else(driver::run_as_child) {
        return code;
    }
    use {
        broken::*, driver::*, failures::*, functions::*, graphics::*, limits::*, prelude::*, scratch::*, streams::*,
        textures::*, user::*,
    };
    let compiler = nvrtc::version().map(|_| ());
    let device = Device::for_tests();
    // Where a GPU does the tests the emulated device is not asked for; elsewhere its absence is a failure like any other.
    let on_gpu = device.as_ref().is_ok_and(|device| !device.is_emulated());
    let require = if on_gpu { "" } else { "GPU_TESTS" };
    let emulated = || Emulated::new().open().map(|_| ()).map_err(|error| error.to_string());
    let checked = emulated().and_then(|()| checks_are_on());
    let require_checked = if checks_are_on().is_ok() { require } else { "" };

    let in_every_order: &[testkit::Test<Device>] = tests![
        matrix_product,
        tree_reduction,
        shuffle_reduction,
        hillis_steele_scan,
        look_back_scan,
        look_back_packed,
        histogram,
        blur,
        transpose,
        game_of_life,
        mandelbrot,
        convolution,
        csr_product,
        bitonic_sort,
        dynamic_shared,
        block_votes,
        struct_argument,
        templates,
        module_variables,
        atomics,
        vector_types,
        three_dimensions,
        device_functions,
        launches_in_a_row,
        warp_functions,
        intrinsics,
    ];
    let once = tests![
        printf_reaches_the_standard_output,
        launches_beyond_the_limits_are_refused,
        an_event_orders_two_streams,
        an_event_keeps_a_buffer_until_it_was_used,
        a_copy_is_ordered_with_both_homes,
        a_pending_copy_keeps_its_pinned_memory,
        a_module_goes_behind_its_work,
        an_order_in_a_drop_stops_for_nothing,
    ];
    let user =
        in_every_order.iter().map(|&(name, test)| (name.to_owned(), move |device: &Device| everywhere(device, test)));
    let correct =
        correct::cases().into_iter().map(|(name, test)| (name, move |device: &Device| everywhere(device, test)));
    let by_address = tests![null_pointer, host_pointer, a_buffer_of_another_device, use_after_free];
    let in_lines = tests![mistakes_in_kernels_are_reported_with_their_line];
    let by_failure = tests![
        no_fallible_function_is_forgotten,
        what_fails_in_a_drop_is_the_next_call_s_error,
        large_copies_that_fail_are_errors,
        a_fatal_failure_loses_the_device,
        mistakes_are_found,
    ];
    let of_driver = tests![
        objects_of_two_devices_do_not_mix,
        memory_is_copied_between_two_devices,
        a_kernel_that_overlaps_must_wait_before_it_touches_memory,
        copies_to_shared_memory_ask_for_the_alignment_of_the_whole,
        copies_that_are_not_there_clear,
        a_warp_multiplies_matrices,
        a_warp_multiplies_matrices_of_more_columns,
        a_fault_stays_on_its_device,
        the_environment_says_what_the_device_is,
        two_devices_are_two,
        the_last_handle_ends_the_device_and_a_new_one_starts,
        the_environment_makes_calls_fail,
        pinned_sources_are_read_late_and_pageable_ones_at_once,
        a_vector_is_copied_without_waiting,
        boxes_without_bytes_are_not_copied,
        the_legacy_stream_is_ordered_with_blocking_streams_alone,
        the_seed_decides_the_order_of_two_streams,
        polling_ends,
        cust_reads_attributes_and_occupancy,
        indices_beyond_32_bits_are_tested_in_chosen_blocks,
        handles_drop_in_two_thousand_orders,
        the_memory_of_a_lost_device_comes_back,
        memory_is_released_under_another_context,
        a_stream_dropped_within_a_capture_keeps_its_work,
        memory_of_a_driver_s_capture_is_the_graph_s,
        pinned_memory_that_goes_too_early_is_a_fault,
        a_module_that_goes_too_early_is_a_fault,
        plain_memory_can_be_had_beside_a_capture,
        scratch_goes_with_its_stream,
        scratch_of_a_graph_goes_with_it,
        scratch_of_a_capture_that_fails_goes,
        scratch_of_a_stream_dropped_within_a_capture_goes_at_its_end,
        scratch_is_cleared_when_a_graph_s_is_made,
        scratch_is_left_alone_on_a_lost_device,
        scratch_of_a_graph_is_no_memory_behind_it,
        mistakes_with_textures_are_reported,
        textures_and_surfaces_that_are_gone_are_reported,
        accesses_beyond_a_surface_are_reported,
        arrays_are_counted_and_given_back,
        mipmaps_without_memory_tell_their_size,
    ];
    let of_graphics = tests![
        kernels_use_mapped_buffers_of_opengl,
        the_access_of_a_mapping_is_kept,
        slices_of_opengl_are_copied,
        kernels_use_mapped_images_of_opengl,
        error_buffers_of_opengl_that_cannot_be_mapped,
        mappings_that_cannot_end_are_reported,
        textures_that_outlive_a_mapping_are_reported,
        a_kernel_behind_a_mapping_is_found,
    ];
    let in_drops = tests![
        an_order_in_a_drop_leaves_the_older_error_for_later,
        an_order_in_a_drop_without_an_event_waits,
        a_drop_that_waits_leaves_the_older_error_for_later,
        an_order_in_a_drop_of_two_devices_waits,
        an_order_in_a_drop_does_nothing_on_a_lost_device,
    ];
    let by_order = tests![a_missing_event_shows_for_some_seed];
    let by_order_checked = tests![an_early_release_shows_for_some_seed];
    let compiling = programs().into_iter().map(|(name, program)| (name, move |_: &()| compiles(&program)));
    // A bundle holds programs and no sources.
    let script = Path::new(SELF_TEST).exists().then_some(()).ok_or(format!("{SELF_TEST} is not here"));
    Suite::new()
        .cases("user", device.clone(), "GPU_TESTS", user)
        .group("device", device.clone(), "GPU_TESTS", once)
        .cases("correct", device, "GPU_TESTS", correct)
        .cases("failures", emulated(), require, failures::cases())
        .group("driver", emulated(), require, of_driver)
        .group("graphics", emulated(), require, of_graphics)
        .group("headers", emulated().and(script), "", tests![headers_pass_their_own_test])
        .group("failures", emulated(), require, by_failure)
        .group("failures", emulated(), require, in_drops)
        .cases("broken", emulated(), require, broken::cases(Noticed::Always))
        .group("broken", emulated(), require, by_order)
        .cases("broken", checked.clone(), require_checked, broken::cases(Noticed::ByChecks))
        .group("broken", checked.clone(), require_checked, by_address)
        .group("broken", checked.clone(), require_checked, in_lines)
        .group("broken", checked, require_checked, by_order_checked)
        .cases("nvrtc", compiler, "GPU_COMPILE", compiling)
        .run()
}
