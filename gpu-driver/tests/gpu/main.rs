//! Tests of gpu-driver on a device and with NVRTC; reported as ignored where one is missing.
#![allow(missing_docs, unreachable_pub)]

use std::{
    process::ExitCode,
    sync::{PoisonError, RwLock},
};

use gpu_driver::{Device, nvrtc};
use testkit::{Suite, tests};

mod arrays;
mod compile;
mod complex;
mod cust_handles;
mod device;
mod examples;
mod facts;
mod fake;
mod faults;
mod filters;
mod functions;
mod graphs;
mod ipc;
mod jit;
mod kernels;
mod memory;
mod missing;
mod mistakes;
mod nvcc;
mod params;
mod pools;
mod processes;
mod scratch;
mod tensors;
mod textures;
mod tuning;

const OF_THE_EMULATED_DEVICE: &str = "it is a test of the emulated device";

/// Held shared by a test, alone by one that fills the card or counts all of its memory.
static CARD: RwLock<()> = RwLock::new(());

/// The test, run when no other disturbs it or is disturbed by it.
fn in_turn((name, test): testkit::Test<Device>) -> (String, impl FnOnce(&Device) -> testkit::Outcome) {
    const ALONE: [&str; 5] = [
        "error_out_of_memory_leaves_everything_usable",
        "the_pool_keeps_and_gives_back",
        "the_pool_tells_its_peaks",
        "error_buffers_beyond_the_limit_of_the_pool",
        "allocations_that_are_alive_tell_their_places",
    ];
    let run = move |device: &Device| {
        if ALONE.contains(&name) {
            let _alone = CARD.write().unwrap_or_else(PoisonError::into_inner);
            return test(device);
        }
        let _shared = CARD.read().unwrap_or_else(PoisonError::into_inner);
        test(device)
    };
    (name.to_owned(), run)
}

fn main() -> ExitCode {
    if let Some(code) = faults::run_as_child()
        .or_else(missing::run_as_child)
        .or_else(processes::run_as_child)
        .or_else(ipc::run_as_child)
    {
        return code;
    }
    use {
        arrays::*, compile::*, complex::*, cust_handles::*, device::*, examples::*, facts::*, fake::*, faults::*,
        filters::*, functions::*, graphs::*, ipc::*, jit::*, memory::*, missing::*, mistakes::*, nvcc::*, params::*,
        pools::*, processes::*, scratch::*, tensors::*, textures::*, tuning::*,
    };
    let compiler = || nvrtc::version().map(|_| ());
    let device = Device::for_tests();
    let on_device = tests![
        device_describes_itself,
        every_type_and_length_round_trips,
        slices_read_and_write_parts,
        large_copies_are_whole,
        pinned_copies_own_their_buffer,
        streams_run_in_order_and_idle,
        a_launch_on_another_stream_waits_for_the_home,
        slices_are_filled_and_their_neighbours_not,
        generated_kernels_are_kept_under_their_keys,
        kernels_that_overlap_keep_the_order_of_their_stream,
        events_order_and_time,
        typed_launch_computes,
        large_dynamic_shared_memory_is_asked_for,
        error_refused_launches_leave_everything_usable,
        error_out_of_memory_leaves_everything_usable,
        error_missing_functions_are_named,
        error_an_event_never_recorded_has_no_time,
        the_pool_keeps_and_gives_back,
        sixteen_threads_at_once,
        handles_drop_in_any_order,
        a_context_of_the_users_stays_current,
        a_guard_keeps_its_context_and_puts_back_none,
        cust_works_beside_us,
        buffers_of_cust_and_ours_pass_both_ways,
        our_handles_are_lent_to_cust,
        handles_of_cust_become_ours,
        our_buffers_become_cust_s,
        our_streams_events_and_modules_become_cust_s,
        buffers_that_cust_owns_outlive_our_device,
        a_graph_replays_with_changed_inputs,
        a_capture_forks_and_joins,
        an_error_within_a_capture_leaves_the_stream_usable,
        a_panic_within_a_capture_leaves_the_stream_usable,
        error_of_the_caller_s_own_type_comes_first,
        waits_of_other_threads_leave_a_capture_alone,
        a_capture_refuses_to_wait_for_the_device,
        error_what_cannot_be_captured,
        error_a_capture_with_a_buffer_of_another_home,
        buffers_of_a_capture_are_shared_with_its_graph,
        buffers_of_a_capture_are_used_again,
        buffers_that_are_dropped_in_a_capture_stay_with_its_graph,
        buffers_of_a_capture_that_another_releases_stay_with_both,
        copies_beside_captures_of_another_thread_are_refused_or_right,
        a_graph_keeps_its_modules_and_what_it_is_given,
        error_a_graph_within_a_capture,
        parameters_have_names,
        error_parameters_that_differ_do_not_compile,
        captures_wait_for_no_thread_that_waits,
        scratch_gives_right_sums_whatever_it_held,
        scratch_grows_and_stays,
        cleared_scratch_is_zero,
        numbers_are_drawn_before_the_stream,
        the_last_block_to_arrive_sees_the_others,
        scratch_of_two_streams_in_two_threads,
        scratch_of_one_stream_in_four_threads,
        scratch_of_a_graph_is_its_own,
        scratch_of_forked_streams_is_not_shared,
        error_scratch_within_scratch,
        shared_memory_is_read_by_addresses_of_32_bits,
        tiles_are_multiplied_by_a_warp_exactly,
        error_a_map_that_breaks_a_rule,
        attributes_have_names,
        devices_are_found_by_name_and_place,
        limits_and_preferences_are_read_and_set,
        kernels_tell_their_resources,
        facts_for_launches_are_those_of_the_driver,
        streams_have_priorities,
        a_stream_of_another_library_is_used_and_given_back,
        a_function_of_the_host_is_called_in_the_stream_s_order,
        events_without_time_and_with_sleep,
        a_graph_is_written_for_graphviz,
        cooperative_blocks_wait_for_each_other,
        clusters_are_formed_where_the_device_has_them,
        a_kernel_from_a_string_takes_a_tuple,
        values_of_all_sizes_are_passed,
        slices_of_the_host_are_arguments,
        memory_of_the_device_is_an_argument,
        error_arguments_that_do_not_fit_are_named,
        error_a_name_that_is_missing_says_how_to_get_one,
        a_program_for_several_architectures_is_loaded_as_it_fits,
        mistakes_in_launches_say_what_to_do,
        mistakes_in_programs_say_what_to_do,
        mistakes_with_memory_and_events_say_what_to_do,
        error_slices_of_the_host_within_a_capture,
        functions_of_one_kernel_share_its_limit_of_shared_memory,
        a_kernel_from_a_template_has_its_loops_unrolled,
        variables_are_read_and_written,
        error_a_variable_that_is_not_there,
        images_of_other_origin_are_loaded,
        ptx_is_compiled_with_options_and_logs,
        programs_that_call_each_other_are_linked,
        headers_of_c_and_cuda_are_the_same_everywhere,
        functions_of_pycuda_s_complex_numbers,
        error_a_header_that_is_not_there,
        boxes_are_copied_between_memories_of_any_pitch,
        rows_of_pitched_memory_are_aligned,
        boxes_are_filled_and_their_neighbours_not,
        error_a_box_that_does_not_fit,
        a_graph_holds_copies_and_fills_of_boxes,
        a_graph_is_updated_in_place,
        a_profiler_is_started_and_stopped,
        vectors_are_pinned_where_they_lie,
        aligned_memory_is_pinned_where_it_lies,
        write_combined_memory_is_copied,
        kernels_reach_pinned_memory_in_place,
        managed_memory_is_the_host_s_and_the_device_s,
        addresses_tell_their_memory,
        memory_of_any_device_is_copied,
        memory_and_events_are_shared_between_processes,
        arrays_grow_in_place,
        arrays_that_grow_wait_for_their_last_kernel,
        error_arrays_that_cannot_grow,
        kernels_reach_memory_of_other_devices,
        arrays_of_every_shape_and_type_round_trip,
        boxes_are_copied_into_arrays_and_out_of_them,
        textures_of_every_form_give_their_elements,
        mipmaps_are_read_by_their_level_of_detail,
        error_mipmaps_and_levels_that_are_not_there,
        textures_and_surfaces_have_all_types_and_channels,
        the_linear_filter_interpolates,
        elements_around_a_place_are_gathered,
        address_modes_lead_beyond_the_border,
        integers_are_read_as_numbers_up_to_one,
        the_filter_of_a_cube_stays_on_its_face,
        textures_read_device_memory,
        surfaces_of_every_form_are_read_and_written,
        a_graph_keeps_textures_surfaces_and_arrays,
        a_texture_is_dropped_behind_the_kernels_that_read_it,
        error_shapes_and_samplings_that_no_device_has,
        handles_come_and_go_without_growth,
        the_child_of_a_fork_gets_errors_and_releases_nothing,
        eight_processes_start_with_one_cache,
        pinned_memory_of_all_sizes_is_kept_in_a_pool,
        a_pool_of_pinned_memory_has_a_limit,
        the_pool_tells_its_peaks,
        error_buffers_beyond_the_limit_of_the_pool,
        buffers_of_a_pool_of_one_s_own,
        a_pool_is_dropped_before_its_buffers,
        error_pools_beyond_their_limit_and_in_captures,
        allocations_that_are_alive_tell_their_places,
        the_fastest_variant_is_kept_for_later_programs,
        error_variants_with_other_answers,
        variants_are_chosen_by_hand_and_forgotten,
        variants_that_reorder_sums_take_part_where_they_are_allowed,
        fault_illegal_address,
        fault_trap,
        fault_misaligned,
    ];
    let with_maps = tests![
        boxes_are_copied_with_zeros_around_the_tensor,
        shares_of_boxes_reach_all_blocks_of_a_cluster,
        tiles_are_multiplied_exactly,
        rows_in_registers_are_multiplied_exactly,
    ];
    let compiling = tests![
        templates_are_found_by_name_expression,
        headers_and_options_reach_the_compiler,
        a_minimal_program_has_all_declarations_that_it_needs,
        an_error_keeps_log_name_and_numbered_source,
        a_registered_kernel_s_error_marks_its_own_lines,
        options_that_make_no_code_or_no_sense_are_errors,
        includes_find_given_headers_alone,
        headers_of_c_and_cuda_compile_for_gpus,
        functions_of_pycuda_s_complex_numbers_compile_for_gpus,
        kernels_with_textures_compile_for_gpus,
        kernels_that_launch_kernels_compile_for_gpus,
        a_program_is_kept_where_it_is_asked_for,
        a_kernel_that_differs_from_its_rust_type_does_not_compile,
        mistakes_in_programs_for_gpus_say_what_to_do,
        a_table_of_a_thread_lies_in_local_memory,
        kernels_that_ask_for_their_cluster_compile_for_gpus,
        an_architecture_newer_than_nvrtc_gets_ptx,
        texts_with_nul_are_refused,
        without_a_cache_each_program_is_compiled,
        a_file_that_is_named_by_its_path_is_read_each_time,
        sixteen_threads_compile_at_once,
        options_of_the_environment_are_given_to_nvrtc,
    ];
    let by_nvcc = tests![
        nvcc_compiles_with_headers_and_options,
        error_code_of_nvcc_on_the_emulated_device,
        headers_that_no_key_holds_are_read_each_time,
        error_what_nvcc_does_not_compile
    ];
    let anywhere = tests![
        no_nvcc_says_what_was_searched,
        no_driver_says_what_was_searched,
        no_nvrtc_says_what_was_searched,
        empty_paths_of_the_environment_are_as_none,
        hidden_and_unknown_devices_are_errors,
        a_device_is_chosen_by_the_environment,
        values_that_mean_nothing_are_errors,
        a_cache_that_others_can_write_is_refused,
        cust_itself_reports_no_device,
    ];
    let with_cxx = tests![
        a_cache_is_made_for_this_user_alone,
        a_cache_that_cannot_be_written_serves,
        a_part_of_the_cache_that_others_can_write_is_not_used
    ];
    let with_fake = tests![
        an_old_driver_is_named_with_what_is_needed,
        a_driver_without_devices_says_so,
        a_broken_driver_is_explained,
        functions_that_a_driver_lacks_are_errors,
        ranges_go_to_the_profiler_s_library,
    ];
    let kernels = kernels::KERNELS
        .checks()
        .map(|(name, instance, arch)| (name, move |_: &()| Ok(instance.compile(arch).map(drop)?)));
    // The emulated device takes no part, whatever is required.
    let is_emulated = device.as_ref().is_ok_and(Device::is_emulated);
    let with_a_gpu = if is_emulated { "" } else { "GPU_NVCC_TESTS" };
    let emulated = device.clone().map_err(|error| error.to_string());
    let emulated =
        emulated.and_then(|device| if is_emulated { Ok(device) } else { Err(OF_THE_EMULATED_DEVICE.to_owned()) });
    // Tests of a device take the card in turn, whatever else they need.
    let in_turns = |tests: &[testkit::Test<Device>]| tests.iter().map(|&case| in_turn(case)).collect::<Vec<_>>();
    Suite::new()
        .cases("device", device, "GPU_TESTS", in_turns(&[examples::TESTS, on_device].concat()))
        .cases("device", device_with_maps(), "", in_turns(with_maps))
        .cases("device", device_with_opengl(), "GPU_GL", in_turns(tests![the_example_gl_waves]))
        .group("device", emulated, "", tests![error_kernels_that_launch_kernels_on_the_emulated_device])
        .group("nvrtc", compiler(), "GPU_COMPILE", compiling)
        .group("nvrtc", compiler_with_cache(), "", tests![the_second_compilation_comes_from_the_cache])
        .group("nvcc", nvrtc::nvcc().map(|_| ()), "GPU_NVCC_TESTS", by_nvcc)
        .group("nvcc_device", device_with_nvcc(), with_a_gpu, tests![code_of_nvcc_runs])
        .group("dynamic", device_with_runtime(), "", tests![the_example_dynamic_parallelism])
        .cases("kernels", compiler(), "GPU_COMPILE", kernels)
        .group("fake_driver", fake::build(), "", with_fake)
        .group("missing", Ok::<_, String>(()), "", anywhere)
        .group("cache", cxx(), "", with_cxx)
        .group("cache", root(), "", tests![a_cache_of_another_user_is_refused])
        .run()
}
