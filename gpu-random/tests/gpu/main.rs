//! Tests of gpu-random on a device, and its kernels with NVRTC; reported as ignored where one is missing.
#![allow(missing_docs, unreachable_pub)]

use std::{
    process::ExitCode,
    sync::{PoisonError, RwLock},
};

use gpu_driver::{Device, emulated::Emulated, nvrtc};
use testkit::{Suite, tests};

mod curand;
mod failures;
mod fills;
mod options;
mod user_kernels;

/// Held shared by tests that capture, alone by those of cuRAND, whose waits for the whole device end every capture of it.
static CAPTURES: RwLock<()> = RwLock::new(());

/// The test, run while no test of cuRAND runs if it captures.
fn beside_curand((name, test): testkit::Test<Device>) -> (String, impl FnOnce(&Device) -> testkit::Outcome) {
    const CAPTURING: [&str; 4] = [
        "fills_are_captured",
        "a_graph_of_fills_outlives_its_generator",
        "a_graph_keeps_the_tables_of_its_fills",
        "fills_beside_a_capture_stay_out_of_it",
    ];
    let run = move |device: &Device| {
        let _shared = CAPTURING.contains(&name).then(|| CAPTURES.read().unwrap_or_else(PoisonError::into_inner));
        test(device)
    };
    (name.to_owned(), run)
}

/// The test, run while none captures.
fn alone<D>((name, test): testkit::Test<D>) -> (String, impl FnOnce(&D) -> testkit::Outcome) {
    let run = move |needed: &D| {
        let _alone = CAPTURES.write().unwrap_or_else(PoisonError::into_inner);
        test(needed)
    };
    (name.to_owned(), run)
}

fn main() -> ExitCode {
    use {failures::*, fills::*, user_kernels::*};
    let compiler = || nvrtc::version().map(|_| ());
    let device = Device::for_tests;
    let on_device: &[testkit::Test<Device>] = tests![
        bits_and_uniform_numbers_are_those_of_the_host,
        real_numbers_are_those_of_the_host,
        real_numbers_agree_within_ulps,
        long_fills_are_those_of_the_host,
        discrete_numbers_are_those_of_the_host,
        calls_of_any_kind_and_length_continue,
        offsets_of_multiples_of_2_to_the_32_draws,
        a_seed_can_be_set_before_each_fill,
        any_number_of_generators,
        parts_of_arrays_are_filled,
        views_of_any_layout_are_filled,
        streams_move_between_places,
        odd_normal_numbers_before_other_kinds,
        fills_are_captured,
        a_graph_of_fills_outlives_its_generator,
        a_graph_keeps_the_tables_of_its_fills,
        fills_beside_a_capture_stay_out_of_it,
        generators_in_kernels_are_those_of_the_host,
        generators_in_kernels_are_those_of_curand,
    ];
    let on_gpu = device().ok().filter(|device| !device.is_emulated());
    let large = on_gpu.clone().ok_or("the emulated device has not the memory, nor the time");
    // Failures on demand are of the emulated device; where a GPU does the tests it is not asked for.
    let require_emulated = if on_gpu.is_some() { "" } else { "GPU_TESTS" };
    let emulated = || {
        device().map_err(|error| error.to_string())?;
        Emulated::new().open().map(|_| ()).map_err(|error| error.to_string())
    };
    // Where cuRAND is missing these stay ignored, even where device tests must run.
    let library = curand::library::open();
    let beside = library.clone().and_then(|curand| match device() {
        Ok(device) if device.is_emulated() => Err("cuRAND fills memory of GPUs".to_owned()),
        Ok(device) => Ok((device, curand)),
        Err(error) => Err(error.to_string()),
    });
    let kernels = gpu_random::KERNELS.checks().chain(KERNELS.checks());
    let kernels = kernels.map(|(name, instance, arch)| (name, move |_: &()| Ok(instance.compile(arch).map(drop)?)));
    Suite::new()
        .cases("device", device(), "GPU_TESTS", on_device.iter().copied().map(beside_curand))
        .group("large", large, if on_gpu.is_some() { "GPU_TESTS" } else { "" }, tests![more_than_32_bits_count])
        .group(
            "counts",
            emulated(),
            require_emulated,
            tests![
                generators_a_little_ahead_start_on_the_device,
                a_view_that_cannot_be_written_leaves_the_stream,
                first_fills_load_nothing_after_warm,
            ],
        )
        .cases("failures", emulated(), require_emulated, cases())
        .group("failures", emulated(), require_emulated, tests![no_fallible_function_is_forgotten])
        .group("curand on the host", library, "GPU_CURAND_TESTS", curand::HOST)
        .cases("curand", beside, "", curand::ON_DEVICE.iter().copied().map(alone))
        .group("options", compiler(), "GPU_COMPILE", options::OPTIONS)
        .cases("kernels", compiler(), "GPU_COMPILE", kernels)
        .compiles_quickly(nvrtc::version().map_or(0, |(version, _)| version.major))
        .spread()
        .in_processes(on_gpu.is_none())
        .run()
}
