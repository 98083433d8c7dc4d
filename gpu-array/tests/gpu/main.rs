//! Tests of gpu-array on a device, and its kernels with NVRTC; reported as ignored where one is missing.
#![allow(missing_docs, unreachable_pub)]

use std::process::ExitCode;

use gpu_array::{ArrayError, GpuArray, KERNELS, Number, reference};
use gpu_driver::{Device, DevicePod, Stream, emulated::Emulated, nvrtc};
use ndarray::{Array, Array1, Array2, Array3, ArrayD, Ix1, IxDyn, s};
use testkit::{AWKWARD_LENGTHS, Outcome, Suite, ensure, ensure_eq, tests};

mod apart;
#[path = "../complex/mod.rs"]
mod complex;
mod complex_functions;
#[path = "complex.rs"]
mod complex_numbers;
mod complex_numpy;
mod complex_powers;
mod counts;
mod either_place;
mod examples;
mod exchanging;
mod expressions;
mod failures;
mod features;
#[path = "half.rs"]
mod halves;
mod indexing;
mod joining;
mod large;
mod literals;
mod math;
mod owned;
mod precise;
mod programs;
mod putting;
mod pycuda;
#[path = "../random/mod.rs"]
mod random;
mod retyped;
mod seam;
mod special;
mod structure;
mod views;

const NEEDS_A_GPU: &str = "the emulated device has not the memory, nor the time";

fn main() -> ExitCode {
    use failures::{a_failed_copy_prints_as_its_text, no_fallible_function_is_forgotten};
    use seam::{another_crate_s_loop_fuses_an_expression, made_values_are_the_same_on_either_place};
    let compiler = || nvrtc::version().map(|_| ());
    let device = Device::for_tests();
    let on_device = tests![
        any_layout_round_trips,
        zero_and_full_of_every_type,
        fill_writes_every_place_and_no_other,
        arange_equals_the_reference,
        arrays_print,
        wrong_shapes_are_errors,
        other_streams_work,
        another_crate_s_loop_fuses_an_expression,
        made_values_are_the_same_on_either_place,
    ];
    // Failures on demand are of the emulated device; where a GPU does the tests it is not asked for.
    let on_gpu = device.as_ref().is_ok_and(|device| !device.is_emulated());
    let require = if on_gpu { "" } else { "GPU_TESTS" };
    let emulated = || {
        device.as_ref().map_err(ToString::to_string)?;
        Emulated::new().open().map(|_| ()).map_err(|error| error.to_string())
    };
    let gpu = device.clone().map_err(|error| error.to_string());
    let gpu = if on_gpu { gpu } else { Err(NEEDS_A_GPU.to_owned()) };
    let text = |error: gpu_driver::DriverError| error.to_string();
    let python = device.clone().map_err(text).and_then(|device| exchanging::python().map(|()| device));
    let precise = device.clone().map_err(text).and_then(|device| Ok((device, precise::compiler()?)));
    let with_numpy = device.clone().map_err(text).and_then(|device| complex_numpy::python().map(|_| device));
    let with_others = exchanging::others(&device).and_then(|()| python.clone());
    let by_failure = tests![no_fallible_function_is_forgotten, a_failed_copy_prints_as_its_text];
    let kernels =
        KERNELS.checks().map(|(name, instance, arch)| (name, move |_: &()| Ok(instance.compile(arch).map(drop)?)));
    Suite::new()
        .group("device", device.clone(), "GPU_TESTS", on_device)
        .group("device", device.clone(), "GPU_TESTS", views::TESTS)
        .group("device", device.clone(), "GPU_TESTS", programs::TESTS)
        .group("device", device.clone(), "GPU_TESTS", complex_numbers::TESTS)
        .group("device", device.clone(), "GPU_TESTS", complex_functions::TESTS)
        .group("device", device.clone(), "GPU_TESTS", complex_powers::TESTS)
        .group("device", device.clone(), "GPU_TESTS", halves::TESTS)
        .group("device", device.clone(), "GPU_TESTS", literals::TESTS)
        .group("device", device.clone(), "GPU_TESTS", expressions::TESTS)
        .group("device", device.clone(), "GPU_TESTS", math::TESTS)
        .group("device", device.clone(), "GPU_TESTS", special::TESTS)
        .group("precise", precise, "GPU_TESTS", precise::TESTS)
        .group("device", device.clone(), "GPU_TESTS", structure::TESTS)
        .group("device", device.clone(), "GPU_TESTS", owned::TESTS)
        .group("device", device.clone(), "GPU_TESTS", exchanging::TESTS)
        .group("device", python.clone(), "GPU_TESTS", exchanging::WITH_PYTHON)
        .group("device", with_others, "", exchanging::WITH_OTHERS)
        .group("device", device.clone(), "GPU_TESTS", features::TESTS)
        .group("device", with_numpy, "GPU_TESTS", features::WITH_NUMPY)
        .group("device", device.clone(), "GPU_TESTS", indexing::TESTS)
        .group("device", device.clone(), "GPU_TESTS", joining::TESTS)
        .group("device", device.clone(), "GPU_TESTS", putting::TESTS)
        .group("device", device.clone(), "GPU_TESTS", retyped::TESTS)
        .group("device", device.clone(), "GPU_TESTS", apart::TESTS)
        .group("device", device.clone(), "GPU_TESTS", either_place::TESTS)
        .group("device", device.clone(), "GPU_TESTS", examples::TESTS)
        .group("numpy", complex_numpy::python(), "GPU_TESTS", complex_numpy::TESTS)
        .group("numpy", complex_numpy::python(), "GPU_TESTS", complex_functions::OF_NUMPY)
        .group("numpy", complex_numpy::python(), "GPU_TESTS", complex_powers::OF_NUMPY)
        .group("numpy", complex_numpy::python(), "GPU_TESTS", halves::OF_NUMPY)
        .group("pycuda", device.clone(), "GPU_TESTS", pycuda::TESTS)
        .group("large", gpu, if on_gpu { "GPU_TESTS" } else { "" }, large::TESTS)
        .group("counts", emulated(), require, counts::TESTS)
        .group("counts", emulated(), require, owned::COUNTS)
        .group("device", emulated(), require, halves::EMULATED)
        .group("alone", emulated(), require, structure::ALONE)
        .cases("failures", emulated(), require, failures::cases())
        .group("failures", emulated(), require, by_failure)
        .group("kernels", compiler(), "GPU_COMPILE", halves::COMPILED)
        .cases("kernels", compiler(), "GPU_COMPILE", kernels)
        .compiles_quickly(nvrtc::version().map_or(0, |(version, _)| version.major))
        .spread()
        .in_processes(!on_gpu)
        .run()
}

fn any_layout_round_trips(device: &Device) -> Outcome {
    let host = Array3::from_shape_fn((3, 5, 7), |(i, j, k)| (i * 100 + j * 10 + k) as f32);
    ensure_eq!(GpuArray::from_ndarray(device, &host)?.to_ndarray()?, host);
    let views = [
        host.slice(s![.., ..;2, ..;-1]),
        host.slice(s![1..2, .., 3..]),
        host.view().permuted_axes([2, 0, 1]),
        host.slice(s![.., 2..2, ..]),
    ];
    for view in views {
        let back = GpuArray::from_ndarray(device, &view)?.to_ndarray()?;
        ensure_eq!(back, view);
        ensure!(back.is_standard_layout());
    }
    let broadcast = Array1::from(vec![1i64, 2, 3]);
    let broadcast = broadcast.broadcast((4, 3)).ok_or("shape")?;
    ensure_eq!(GpuArray::from_ndarray(device, &broadcast)?.to_ndarray()?, broadcast);
    let dynamic = ArrayD::<u8>::from_elem(IxDyn(&[2, 1, 3, 1]), 9);
    ensure_eq!(GpuArray::from_ndarray(device, &dynamic)?.to_ndarray()?, dynamic);
    let scalar = ndarray::arr0(3.5f64);
    ensure_eq!(GpuArray::from_ndarray(device, &scalar)?.to_ndarray()?, scalar);
    Ok(())
}

fn zero_and_full_of_every_type(device: &Device) -> Outcome {
    fn check<T: Number>(device: &Device, start: T, step: T) -> Outcome {
        let value = T::range_value(start, step, 5);
        for n in AWKWARD_LENGTHS {
            let full = GpuArray::full(device, n, value)?;
            ensure_eq!(full.to_ndarray()?, Array::from_elem(n, value));
            let zeros = GpuArray::<T, Ix1>::zeros(device, n)?.to_ndarray()?;
            ensure!(zeros.iter().all(|z| z.to_string() == "0"), "{} zeros of {n}", T::DTYPE);
        }
        Ok(())
    }
    check(device, 1u8, 3)?;
    check(device, -7i8, 3)?;
    check(device, 1u16, 300)?;
    check(device, -7i16, 300)?;
    check(device, 7u32, 100_000)?;
    check(device, -7i32, 100_000)?;
    check(device, 7u64, 1 << 40)?;
    check(device, -7i64, 1 << 40)?;
    check(device, 1.5f32, 0.1)?;
    check(device, 1.5f64, 0.1)
}

fn fill_writes_every_place_and_no_other(device: &Device) -> Outcome {
    // Every misalignment: a fill of part of a buffer leaves its neighbours as they were.
    fn check<T: Number<Storage = T> + DevicePod>(device: &Device, old: T, new: T) -> Outcome {
        for start in 0..18 {
            for len in [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100] {
                let mut array = GpuArray::full(device, 160, old)?;
                array.slice_mut(s![start..start + len])?.fill(new)?;
                let mut want = Array1::from_elem(160, old);
                want.slice_mut(s![start..start + len]).fill(new);
                ensure_eq!(array.to_ndarray()?, want);
            }
        }
        Ok(())
    }
    check(device, 1u8, 2)?;
    check(device, 1u32, 2)?;
    check(device, 1.0f64, 2.0)?;
    let mut big = GpuArray::<f32, _>::zeros(device, (1000, 1001))?;
    big.fill(f32::NAN)?;
    ensure!(big.to_ndarray()?.iter().all(|x| x.is_nan()));
    Ok(())
}

fn arange_equals_the_reference(device: &Device) -> Outcome {
    fn check<T: Number>(device: &Device, start: T, stop: T, step: T) -> Outcome {
        let got = GpuArray::arange(device, start, stop, step)?.to_ndarray()?;
        ensure_eq!(got, reference::arange(start, stop, step)?);
        Ok(())
    }
    check(device, 0i32, 100_000, 1)?;
    check(device, 100i32, -100_000, -7)?;
    check(device, i64::MIN, i64::MAX, i64::MAX / 1000)?;
    check(device, -128i8, 127, 1)?;
    check(device, 0u8, 255, 2)?;
    check(device, 0u64, u64::MAX, u64::MAX / 777)?;
    check(device, -1.0f32, 1.0, 1e-5)?;
    check(device, 0.0f32, 20_000_000.0, 1.0)?; // beyond 2^24, where f32 counts no more by one
    check(device, 0.1f64, 1000.0, 0.1)?;
    // Integers: within 32 bits, up to where f64 counts by one, and beyond.
    check(device, 2_147_483_000.0f32, 2_147_483_648.0, 1.0)?;
    check(device, 2_147_483_000.0f64, 2_147_483_648.0, 1.0)?;
    check(device, 2_147_483_000.0f64, 2_147_484_000.0, 1.0)?;
    check(device, -2_147_483_000.0f64, -2_147_484_000.0, -7.0)?;
    check(device, 1000.0f32, -70_000.0, -3.0)?;
    check(device, 9_007_199_254_740_000.0f64, 9_007_199_254_740_992.0, 1.0)?;
    check(device, 9_007_199_254_740_000.0f64, 9_007_199_254_742_000.0, 3.0)?;
    check(device, 1e300f64, 1.1e300, 1e296)?;
    check(device, half::f16::from_f32(-500.0), half::f16::from_f32(60_000.0), half::f16::from_f32(33.0))?;
    let falling = GpuArray::arange(device, -0.0f64, -3.0, -1.0)?.to_ndarray()?;
    ensure!(falling.to_vec() == [0.0, -1.0, -2.0] && falling[0].is_sign_negative(), "{falling}");
    check(device, 5.0f64, 0.0, -0.3)?;
    check(device, 0i16, 0, 1)?;
    ensure!(matches!(GpuArray::arange(device, 0, 1, 0), Err(ArrayError::Range { .. })));
    Ok(())
}

fn arrays_print(device: &Device) -> Outcome {
    let host = Array2::from_shape_fn((2, 3), |(i, j)| i * 3 + j).mapv(|x| x as i32);
    let x = GpuArray::from_ndarray(device, &host)?;
    ensure_eq!(x.to_string(), host.to_string());
    ensure_eq!(format!("{x:?}"), "GpuArray<int32>(shape [2, 3], device 0)");
    ensure_eq!((x.shape().to_vec(), x.ndim(), x.len(), x.is_empty()), (vec![2, 3], 2, 6, false));
    Ok(())
}

fn wrong_shapes_are_errors(device: &Device) -> Outcome {
    ensure!(matches!(GpuArray::<f64, _>::zeros(device, (usize::MAX, 2)), Err(ArrayError::TooLarge { .. })));
    let data = GpuArray::<f32, _>::zeros(device, 6)?.into_device_vec();
    let array = GpuArray::from_device_vec(data, (2, 3))?;
    ensure_eq!(array.shape(), [2, 3]);
    let wrong = GpuArray::from_device_vec(array.into_device_vec(), (2, 2));
    ensure!(matches!(wrong, Err(ArrayError::Length { expected: 4, got: 6, .. })));
    Ok(())
}

fn other_streams_work(device: &Device) -> Outcome {
    let side = Stream::new(device)?;
    let mut x = GpuArray::full(&side, (10, 10), 3i32)?;
    x.fill(4)?;
    ensure!(x.stream() == &side);
    ensure!(x.try_clone()?.to_ndarray()?.iter().all(|&v| v == 4));
    Ok(())
}
