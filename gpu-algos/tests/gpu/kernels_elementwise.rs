//! Kernels of a user's text, run for each place of arrays.

use gpu_algos::{
    AlgoError, elementwise_kernel,
    kernels::{ElementwiseKernel, IndexRange, KernelArg},
};
use gpu_array::{ArrayError, GpuArray};
use gpu_driver::{
    Device, DevicePod, DeviceVec, DriverError, Stream,
    emulated::{
        Call::{Allocation, Copy, Event, Launch, ModuleLoad},
        Emulated,
    },
};
use ndarray::{Array1, Array2, Ix1, ShapeBuilder, array, s};
use testkit::{AWKWARD_LENGTHS, Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    linear_combinations,
    declared_kernels_are_the_same,
    slices_as_python_has_them,
    ranges_of_arrays_of_different_lengths,
    every_length_and_alignment,
    tables_have_any_length,
    two_outputs,
    structures,
    structures_by_value,
    bools_are_bytes_in_memory,
    functions_of_expressions_are_there,
    every_type_of_value,
    texts_around_the_loop,
    only_what_the_text_uses_is_touched,
    layouts_in_c_order,
    errors_of_calls,
    errors_of_texts,
    part_of_a_captured_stream,
];

pub const COUNTS: &[Test<()>] =
    tests![one_launch_and_nothing_else, kernels_of_one_text_are_one, other_streams_and_devices];

pub const LARGE: &[Test<Device>] = tests![more_than_2_to_the_32_places];

/// Places that a block takes at once.
const TILE: usize = 1024;

elementwise_kernel! {
    /// `z = a x + b y`.
    fn lin_comb(a: f32, x: &[f32], b: f32, y: &[f32], z: &mut [f32]) {
        unsafe { "z[i] = a * x[i] + b * y[i];" }
    }
}

elementwise_kernel! {
    /// Adds the place to what is there.
    fn add_places(x: &mut [i64]) {
        unsafe { "x[i] += i + 1" }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, DevicePod)]
struct Extrema {
    least: i32,
    greatest: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, DevicePod)]
struct Numbered {
    number: u64,
    extrema: Extrema,
}

fn ramp(n: usize, factor: f32) -> Array1<f32> {
    Array1::from_iter((0..n).map(|i| (i % 1000) as f32 * factor - 3.0))
}

fn on<T: gpu_array::Element>(device: &Device, host: &Array1<T>) -> gpu_array::Result<GpuArray<T, Ix1>> {
    GpuArray::from_ndarray(device, host)
}

/// `test_elwise_kernel` of PyCUDA.
fn linear_combinations(device: &Device) -> Outcome {
    let (x, y) = (ramp(50, 1.0), ramp(50, -0.5));
    let (dx, dy) = (on(device, &x)?, on(device, &y)?);
    let mut z = GpuArray::<f32, _>::zeros(device, 50)?;
    let text = "float a, float *x, float b, float *y, float *z";
    let kernel = ElementwiseKernel::new(
        &text.replace("float *x", "const float *x").replace("float *y", "float const* y"),
        "z[i] = a*x[i] + b*y[i]",
    )?
    .name("linear_combination")?;
    // SAFETY: each place has elements of its own.
    unsafe { kernel.call(&[5.0f32.into(), (&dx).into(), 6.0f32.into(), (&dy).into(), (&mut z).into()])? };
    ensure_eq!(z.to_ndarray()?, 5.0 * &x + 6.0 * &y);
    ensure!(format!("{kernel:?}").contains("linear_combination(float a, const float *x"), "{kernel:?}");
    // Declared as what may be written, an array is passed as such.
    let kernel = ElementwiseKernel::new(text, "z[i] = a*x[i] + b*y[i]")?;
    let (mut dx, mut dy) = (dx, dy);
    // SAFETY: as above.
    unsafe { kernel.call(&[1.0f32.into(), (&mut dx).into(), 2.0f32.into(), (&mut dy).into(), (&mut z).into()])? };
    ensure_eq!(z.to_ndarray()?, &x + 2.0 * &y);
    Ok(())
}

fn declared_kernels_are_the_same(device: &Device) -> Outcome {
    let (x, y) = (ramp(3000, 1.0), ramp(3000, 2.0));
    let (dx, dy) = (on(device, &x)?, on(device, &y)?);
    let mut z = GpuArray::zeros(device, 3000)?;
    lin_comb(5.0, &dx, 6.0, &dy, &mut z)?;
    ensure_eq!(z.to_ndarray()?, 5.0 * &x + 6.0 * &y);
    lin_comb::over(IndexRange::slice(None, None, 7), -1.0, dx.view(), 0.0, dy.as_device_vec(), z.view_mut())?;
    for (i, &got) in z.to_ndarray()?.iter().enumerate() {
        ensure_eq!(got, if i % 7 == 0 { -x[i] } else { 5.0 * x[i] + 6.0 * y[i] });
    }
    lin_comb::kernel()?.compile(device)?;
    // A kernel may be declared in a function, of that function's types.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq, DevicePod)]
    struct Local {
        x: f32,
    }
    elementwise_kernel! {
        /// From a structure.
        fn unwrap(from: &[Local], to: &mut [f32]) { unsafe { "to[i] = from[i].x" } }
    }
    let stream = device.stream();
    let (from, mut to) =
        (DeviceVec::from_slice(&stream, &[Local { x: 1.5 }, Local { x: -2.0 }])?, DeviceVec::zeros(&stream, 2)?);
    unwrap(&from, &mut to)?;
    ensure_eq!(to.to_vec()?, [1.5, -2.0]);
    Ok(())
}

/// `test_ranged_elwise_kernel` of PyCUDA.
fn slices_as_python_has_them(device: &Device) -> Outcome {
    elementwise_kernel! {
        fn set_to_seven(x: &mut [f32]) { unsafe { "x[i] = 7" } }
    }
    let n = 50_000;
    let of =
        |start: Option<i64>, stop: Option<i64>, step: i64| (IndexRange::slice(start, stop, step), start, stop, step);
    let slices = [
        of(Some(5), Some(20_000), 1),
        of(Some(5), Some(20_000), 17),
        of(Some(3000), Some(5), -1),
        of(Some(1000), Some(-1), 1),
        of(None, Some(-10_000), 2),
        of(Some(-3), None, -1024),
    ];
    for (places, start, stop, step) in slices {
        let mut x = GpuArray::<f32, _>::zeros(device, n)?;
        set_to_seven::over(places, &mut x)?;
        let from_end = |at: i64| if at < 0 { at + n as i64 } else { at };
        let inside = |i: i64| {
            let (start, stop) = (start.map(from_end), stop.map(from_end));
            let first = start.unwrap_or(if step > 0 { 0 } else { n as i64 - 1 });
            let before = stop.is_none_or(|stop| if step > 0 { i < stop } else { i > stop });
            before && (i - first) % step == 0 && (i - first) / step >= 0
        };
        let want = Array1::from_iter((0..n as i64).map(|i| if inside(i) { 7.0f32 } else { 0.0 }));
        ensure!(x.to_ndarray()? == want, "{places}");
    }
    let mut x = GpuArray::<f32, _>::zeros(device, 10)?;
    set_to_seven::over(IndexRange::slice(8, 3, 1), &mut x)?;
    set_to_seven::over(IndexRange::range(3, 3, 1), &mut x)?;
    ensure_eq!(x.to_ndarray()?.sum(), 0.0);
    Ok(())
}

fn ranges_of_arrays_of_different_lengths(device: &Device) -> Outcome {
    elementwise_kernel! {
        fn copy(x: &[i64], length: &mut [i64], z: &mut [i64]) { unsafe { "z[i] = x[i]; length[i] = n" } }
    }
    let x = GpuArray::arange(device, 0i64, 5000, 1)?;
    let (mut length, mut z) = (GpuArray::zeros(device, 4000)?, GpuArray::full(device, 6000, -1i64)?);
    copy::over(IndexRange::range(3999, 0, -3), &x, &mut length, &mut z)?;
    let want = Array1::from_iter((0..6000).map(|i| if i % 3 == 0 && i > 0 && i < 4000 { i } else { -1 }));
    ensure_eq!(z.to_ndarray()?, want);
    ensure_eq!(length.to_ndarray()?, want.slice(s![..4000]).mapv(|i| if i < 0 { 0 } else { 4000 }));
    for places in [
        IndexRange::range(0, 4001, 1),
        IndexRange::range(-1, 5, 1),
        IndexRange::range(5, -2, -1),
        IndexRange::range(0, 5, 0),
    ] {
        let error = copy::over(places, &x, &mut length, &mut z).err();
        ensure!(matches!(error, Some(AlgoError::IndexRange { len: 4000, .. })), "{places}: {error:?}");
    }
    let error = copy::over(IndexRange::slice(0, 5, 1), &x, &mut length, &mut z).err();
    ensure!(matches!(error, Some(AlgoError::ArgumentLength { expected: 5000, got: 4000, .. })), "{error:?}");
    Ok(())
}

fn every_length_and_alignment(device: &Device) -> Outcome {
    let lengths = [0, 1, 31, 32, 33, TILE - 1, TILE, TILE + 1, 3 * TILE, 3 * TILE + 17, 10_007];
    for n in lengths.into_iter().chain(AWKWARD_LENGTHS).filter(|&n| n < 20_000) {
        for offset in [0, 1, 3] {
            let size = n + 8;
            let (x, y) = (ramp(size, 1.0), ramp(size, -2.0));
            let (dx, dy, mut dz) = (on(device, &x)?, on(device, &y)?, GpuArray::full(device, size, 9.0f32)?);
            let views = (dx.slice(s![offset..offset + n])?, dy.slice(s![5..5 + n])?);
            lin_comb(2.0, views.0, 3.0, views.1, dz.slice_mut(s![2..2 + n])?)?;
            let mut want = Array1::from_elem(size, 9.0);
            want.slice_mut(s![2..2 + n])
                .assign(&(2.0 * &x.slice(s![offset..offset + n]) + 3.0 * &y.slice(s![5..5 + n])));
            ensure!(dz.to_ndarray()? == want, "n = {n}, offset {offset}");
        }
        // Each place is visited once.
        let mut counts = GpuArray::zeros(device, n)?;
        add_places(&mut counts)?;
        add_places::over(IndexRange::slice(None, None, -1), &mut counts)?;
        ensure!(counts.to_ndarray()? == Array1::from_iter((0..n as i64).map(|i| 2 * (i + 1))), "n = {n}");
    }
    Ok(())
}

fn tables_have_any_length(device: &Device) -> Outcome {
    elementwise_kernel! {
        /// `z[i] = x[at[i]]`.
        ///
        /// # Safety
        /// Each of `at` is a place of `x`.
        unsafe fn gather(x: &[f32; _], at: &[u32], counts: &mut [u32; _], z: &mut [f32]) {
            "z[i] = x[at[i]]; atomicAdd(counts + at[i], 1u)"
        }
    }
    let at = Array1::from_iter((0..3000u32).map(|i| i * 7 % 5));
    let x = array![1.5f32, -2.0, 3.0, 0.0, 9.0];
    let (dx, dat) = (on(device, &x)?, on(device, &at)?);
    let (mut counts, mut z) = (GpuArray::zeros(device, 5)?, GpuArray::zeros(device, 3000)?);
    // SAFETY: all are below 5.
    unsafe { gather(&dx, &dat, &mut counts, &mut z)? };
    ensure_eq!(z.to_ndarray()?, at.mapv(|at| x[at as usize]));
    ensure_eq!(counts.to_ndarray()?, array![600, 600, 600, 600, 600]);
    let kernel = ElementwiseKernel::new("const float x[], float z[]", "z[0] = x[0]")?;
    // SAFETY: nothing is run.
    let error = unsafe { kernel.call(&[(&dx).into(), (&mut z).into()]) }.err();
    ensure!(matches!(error, Some(AlgoError::NoArray { .. })), "{error:?}");
    Ok(())
}

fn two_outputs(device: &Device) -> Outcome {
    let kernel = ElementwiseKernel::new(
        "const double *x, double *whole, float *rest, int limit",
        "double w = floor(x[i]); if (w > limit) w = limit; whole[i] = w; rest[i] = x[i] - w",
    )?;
    let x = Array1::from_iter((0..2500).map(|i| f64::from(i) * 0.25));
    let dx = on(device, &x)?;
    let (mut whole, mut rest) = (GpuArray::<f64, _>::zeros(device, 2500)?, GpuArray::<f32, _>::zeros(device, 2500)?);
    // SAFETY: each place has elements of its own.
    unsafe { kernel.call(&[(&dx).into(), (&mut whole).into(), (&mut rest).into(), 500.into()])? };
    let want = x.mapv(|x| x.floor().min(500.0));
    ensure_eq!(whole.to_ndarray()?, want);
    ensure_eq!(rest.to_ndarray()?, (&x - &want).mapv(|rest| rest as f32));
    Ok(())
}

/// The structure of PyCUDA's `test_struct_reduce`, element by element.
fn structures(device: &Device) -> Outcome {
    let stream = device.stream();
    let x: Vec<i32> = (0..1500).map(|i| i * 37 % 101 - 50).collect();
    let y: Vec<i32> = x.iter().rev().copied().collect();
    let (dx, dy) = (DeviceVec::from_slice(&stream, &x)?, DeviceVec::from_slice(&stream, &y)?);
    let mut all = DeviceVec::<Extrema>::zeros(&stream, 1500)?;
    let spans = ElementwiseKernel::new("const int *x, const int *y, Extrema *all", "all[i] = extrema(x[i], y[i])")?
        .with_type::<Extrema>()?
        .preamble("Extrema extrema(int a, int b) { return a < b ? Extrema{a, b} : Extrema{b, a}; }");
    // SAFETY: each place has elements of its own.
    unsafe { spans.call(&[(&dx).into(), (&dy).into(), (&mut all).into()])? };
    let want = x.iter().zip(&y).map(|(&x, &y)| Extrema { least: x.min(y), greatest: x.max(y) });
    ensure_eq!(all.to_vec()?, want.clone().collect::<Vec<_>>());

    elementwise_kernel! {
        fn number(all: &[Extrema], numbered: &mut [Numbered]) {
            unsafe { "numbered[i].number = i; numbered[i].extrema = all[i]" }
        }
    }
    let mut numbered = DeviceVec::<Numbered>::zeros(&stream, 1500)?;
    number(&all, &mut numbered)?;
    let want: Vec<_> = want.zip(0..).map(|(extrema, number)| Numbered { number, extrema }).collect();
    ensure_eq!(numbered.to_vec()?, want);
    // A part of a buffer is passed as a slice.
    number(all.slice(10..20)?, numbered.slice_mut(..10)?)?;
    ensure_eq!(numbered.slice(9..11)?.to_vec()?, [Numbered { number: 9, ..want[19] }, want[10]]);
    Ok(())
}

fn structures_by_value(device: &Device) -> Outcome {
    #[repr(C, align(16))]
    #[derive(Clone, Copy, Debug, PartialEq, DevicePod)]
    struct Affine {
        factor: f64,
        shift: i64,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq, DevicePod)]
    struct Short {
        a: i8,
        b: i8,
        c: i16,
        d: i32,
        e: i32,
    }
    elementwise_kernel! {
        fn apply(first: i8, affine: Affine, pair: Short, z: &mut [f64]) {
            unsafe { "z[i] = affine.factor * i + affine.shift + 1000 * pair.a + 100 * pair.b + 10 * pair.c + pair.d - pair.e + first" }
        }
    }
    let mut z = GpuArray::<f64, _>::zeros(device, 700)?;
    let short = Short { a: -1, b: 2, c: -300, d: 1 << 20, e: -9 };
    apply(3, Affine { factor: 0.5, shift: -4 }, short, &mut z)?;
    let shift = f64::from(-4 - 1000 + 200 - 3000 + (1 << 20) + 9 + 3);
    ensure_eq!(z.to_ndarray()?, Array1::from_iter((0..700).map(|i| 0.5 * f64::from(i) + shift)));
    let kernel =
        ElementwiseKernel::new("const Affine affine, double *z", "z[i] = affine.shift")?.with_type::<Affine>()?;
    // SAFETY: each place has an element of its own.
    unsafe { kernel.call(&[KernelArg::value(Affine { factor: 0.5, shift: -4 }), (&mut z).into()])? };
    ensure_eq!(z.to_ndarray()?, Array1::from_elem(700, -4.0));
    Ok(())
}

fn bools_are_bytes_in_memory(device: &Device) -> Outcome {
    let x = ramp(1500, 0.25);
    let dx = on(device, &x)?;
    let (mut positive, mut z) =
        (GpuArray::from_ndarray(device, &Array1::from_elem(1500, false))?, GpuArray::zeros(device, 1500)?);
    elementwise_kernel! {
        fn compare(flip: bool, x: &[f32], positive: &mut [bool]) { unsafe { "positive[i] = (x[i] > 0) != flip" } }
    }
    elementwise_kernel! {
        fn choose(positive: &[bool], z: &mut [f32]) { unsafe { "z[i] = positive[i] ? 1 : positive[i] == true ? 2 : 3" } }
    }
    for flip in [false, true] {
        compare(flip, &dx, &mut positive)?;
        ensure_eq!(positive.to_ndarray()?, x.mapv(|x| (x > 0.0) != flip));
        ensure!(positive.as_device_vec().to_vec()?.iter().all(|&byte| byte < 2));
        choose(&positive, &mut z)?;
        ensure_eq!(z.to_ndarray()?, x.mapv(|x| if (x > 0.0) != flip { 1.0 } else { 3.0 }));
    }
    // Any byte but 0 is true.
    let bytes = DeviceVec::from_slice(&device.stream(), &[0u8, 1, 2, 255])?;
    let mut z = GpuArray::zeros(device, 4)?;
    choose(&GpuArray::<bool, Ix1>::from_storage(bytes, 4)?, &mut z)?;
    ensure_eq!(z.to_ndarray()?, array![3.0, 1.0, 1.0, 1.0]);
    Ok(())
}

fn functions_of_expressions_are_there(device: &Device) -> Outcome {
    elementwise_kernel! {
        fn clamp(x: &mut [f32]) { unsafe { "x[i] = gpu::maximum(gpu::minimum(x[i], 5.0f), 2.0f)" } }
    }
    let x = ramp(100, 1.0);
    let mut dx = on(device, &x)?;
    clamp(&mut dx)?;
    ensure_eq!(dx.to_ndarray()?, x.mapv(|x| x.clamp(2.0, 5.0)));
    Ok(())
}

fn every_type_of_value(device: &Device) -> Outcome {
    let text = "bool a, signed char b, short c, int d, long long e, unsigned char f, unsigned short g, unsigned h, uint64_t j, float k, double l, double *z";
    let sum = "z[i] = double(a) + b + c + d + e + f + g + h + j + k + l";
    let kernel = ElementwiseKernel::new(text, sum)?;
    let mut z = GpuArray::<f64, _>::zeros(device, 3)?;
    let values: [KernelArg<'_>; 11] = [
        true.into(),
        (-1i8).into(),
        (-200i16).into(),
        (-30_000i32).into(),
        (-4_000_000_000i64).into(),
        5u8.into(),
        60_000u16.into(),
        4_000_000_000u32.into(),
        (1u64 << 40).into(),
        0.5f32.into(),
        0.25f64.into(),
    ];
    let mut all: Vec<_> = values.into();
    all.push((&mut z).into());
    // SAFETY: each place has an element of its own.
    unsafe { kernel.call(&all)? };
    let want = -200.0 - 30_000.0 + 5.0 + 60_000.0 + (1u64 << 40) as f64 + 0.75;
    ensure_eq!(z.to_ndarray()?, array![want, want, want]);
    Ok(())
}

fn texts_around_the_loop(device: &Device) -> Outcome {
    elementwise_kernel! {
        /// Counts places and threads.
        fn count(places: &mut [u32], threads: &mut [u32]) {
            unsafe {
                preamble: "int one() { return 1; } // a comment";
                loop_prep: "unsigned own = 0; const uint64_t thread = gpu::first_index() // without an end";
                after_loop: "if (thread < n) threads[thread] = own;";
                "own += one(); places[i] += 1 // as here"
            }
        }
    }
    for n in [1usize, 100, TILE, 40_000] {
        let (mut places, mut threads) = (GpuArray::zeros(device, n)?, GpuArray::zeros(device, n)?);
        count(&mut places, &mut threads)?;
        ensure!(places.to_ndarray()?.iter().all(|&count| count == 1), "n = {n}");
        let threads = threads.to_ndarray()?;
        let [all, most] = [threads.iter().sum::<u32>() as usize, threads.iter().copied().max().unwrap_or(0) as usize];
        ensure!(all == n, "n = {n}: {all} places were counted by the threads");
        ensure!(n < 40_000 || most > 1, "n = {n}: no thread has more than {most}");
    }
    let defined = ElementwiseKernel::new("int *x", "x[i] = WIDTH")?.option("-DWIDTH=12");
    let mut x = GpuArray::<i32, _>::zeros(device, 5)?;
    // SAFETY: each place has an element of its own.
    unsafe { defined.call(&[(&mut x).into()])? };
    ensure_eq!(x.to_ndarray()?, array![12, 12, 12, 12, 12]);
    let again = defined.option("-UWIDTH").option("-DWIDTH=max(int(i), 3)");
    // SAFETY: as above.
    unsafe { again.call(&[(&mut x).into()])? };
    ensure_eq!(x.to_ndarray()?, array![3, 3, 3, 3, 4]);
    Ok(())
}

fn only_what_the_text_uses_is_touched(device: &Device) -> Outcome {
    elementwise_kernel! {
        fn some(x: &[f32], unused: &mut [f32], unread: &[f32], z: &mut [f32]) { unsafe { "if (x[i] > 0) z[i] = 1" } }
    }
    let n = 5000;
    let x = ramp(n, 1.0).mapv(|x| if x as i32 % 3 == 0 { -x } else { x });
    let before = Array1::from_iter((0..n).map(|i| f32::from_bits(i as u32 | 0x7fc0_0000)));
    let bits = |x: &GpuArray<f32, Ix1>| Ok::<_, ArrayError>(x.to_ndarray()?.mapv(f32::to_bits));
    let (dx, unread) = (on(device, &x)?, on(device, &before)?);
    let (mut unused, mut z) = (on(device, &before)?, on(device, &before)?);
    some(&dx, &mut unused, &unread, &mut z)?;
    ensure_eq!(bits(&unused)?, before.mapv(f32::to_bits));
    for (i, &got) in bits(&z)?.iter().enumerate() {
        ensure_eq!(got, if x[i] > 0.0 { 1.0f32.to_bits() } else { before[i].to_bits() });
    }
    // What is not allocated would end the launch, on the emulated device and under compute-sanitizer.
    let kernel = ElementwiseKernel::new(
        "const int keep[], const float x[], float z[], char *places",
        "if (i < n / 2) z[i] = x[i]",
    )?;
    let (x, mut z) =
        (DeviceVec::from_slice(&device.stream(), &[1.5f32; 1000])?, DeviceVec::<f32>::zeros(&device.stream(), 1000)?);
    let (nothing, mut places) =
        (DeviceVec::<i32>::zeros(&device.stream(), 0)?, DeviceVec::<i8>::zeros(&device.stream(), 2000)?);
    // SAFETY: the condition keeps the indices below 1000; of `keep` there is no element to touch.
    unsafe { kernel.call(&[(&nothing).into(), (&x).into(), (&mut z).into(), (&mut places).into()])? };
    ensure_eq!(z.to_vec()?, [1.5; 1000]);
    Ok(())
}

fn layouts_in_c_order(device: &Device) -> Outcome {
    let host = Array2::from_shape_fn((30, 50), |(i, j)| (i * 50 + j) as i64);
    let mut x = GpuArray::from_ndarray(device, &host)?;
    add_places(&mut x)?;
    ensure_eq!(x.to_ndarray()?, &host * 2 + 1);
    // Rows are, columns and transposes are not.
    add_places(x.slice_mut(s![3..5, ..])?)?;
    ensure_eq!(x.slice(s![4, ..2])?.to_ndarray()?, array![401 + 51, 403 + 52]);
    let told = |error: Option<AlgoError>, layout: &str| {
        let want = format!(
            "kernel `add_places`: `int64_t *x` was given an array of {layout}; it takes arrays in C order without gaps"
        );
        let got = error.map(|error| error.to_string()).unwrap_or_default();
        if got.starts_with(&want) { Ok(()) } else { Err(got) }
    };
    told(add_places(x.slice_mut(s![.., 1])?).err(), "shape [30] with strides [50]")?;
    told(add_places(x.slice_mut(s![..;-1, ..])?).err(), "shape [30, 50] with strides [-50, 1]")?;
    told(add_places(x.t_mut()).err(), "shape [50, 30] with strides [1, 50]")?;
    let mut f = GpuArray::<i64, _>::zeros(device, (3, 4).f())?;
    ensure!(add_places(&mut f).is_err());
    add_places(f.t_mut())?;
    ensure_eq!(f.to_ndarray()?, array![[1, 4, 7, 10], [2, 5, 8, 11], [3, 6, 9, 12]]);
    Ok(())
}

fn errors_of_calls(device: &Device) -> Outcome {
    let kernel = ElementwiseKernel::new("float a, const float *x, float *z", "z[i] = a * x[i]")?.name("scale")?;
    let (x, mut z) = (GpuArray::full(device, 5, 1.0f32)?, GpuArray::full(device, 5, 2.0f32)?);
    let (mut short, wide) = (GpuArray::full(device, 4, 1.0f32)?, GpuArray::full(device, 5, 1.0f64)?);
    let call = |arguments: &[KernelArg<'_>]| {
        // SAFETY: each place has elements of its own.
        unsafe { kernel.call(arguments) }.err().map(|error| (error.to_string(), error))
    };
    let of_type = |got: Option<(String, AlgoError)>, argument: &str, given: &str| {
        let expected = format!("kernel `scale`: `{argument}` was given {given}");
        matches!(&got, Some((text, AlgoError::ArgumentType { .. })) if *text == expected)
            .then_some(())
            .ok_or(format!("{got:?}"))
    };
    let count = call(&[1.0f32.into(), (&x).into()]);
    ensure!(matches!(count, Some((_, AlgoError::ArgumentCount { expected: 3, got: 2, .. }))), "{count:?}");
    of_type(call(&[1.0f64.into(), (&x).into(), (&mut z).into()]), "float a", "a value of type double")?;
    of_type(call(&[1.0f32.into(), (&wide).into(), (&mut z).into()]), "const float *x", "an array of double to read")?;
    of_type(call(&[1.0f32.into(), (&x).into(), (&x).into()]), "float *z", "an array of float to read")?;
    of_type(call(&[(&x).into(), (&x).into(), (&mut z).into()]), "float a", "an array of float to read")?;
    of_type(call(&[1.0f32.into(), 1.0f32.into(), (&mut z).into()]), "const float *x", "a value of type float")?;
    let length = call(&[1.0f32.into(), (&x).into(), (&mut short).into()]);
    ensure!(matches!(length, Some((_, AlgoError::ArgumentLength { expected: 5, got: 4, .. }))), "{length:?}");
    let view = x.slice(s![..;2])?;
    let order = call(&[1.0f32.into(), (&view).into(), (&mut short).into()]);
    let said = order.map(|(text, _)| text).unwrap_or_default();
    ensure!(
        said.starts_with("kernel `scale`: `const float *x` was given an array of shape [3] with strides [2]; it"),
        "{said}"
    );
    // What an operator could not return comes first.
    short += &x;
    let pending = call(&[1.0f32.into(), (&x).into(), (&mut short).into()]);
    ensure!(matches!(pending, Some((_, AlgoError::Array(ArrayError::Operator { op: "+=", .. })))), "{pending:?}");
    ensure_eq!(z.to_ndarray()?, Array1::from_elem(5, 2.0));
    ensure!(call(&[1.0f32.into(), (&x).into(), (&mut z).into()]).is_none());
    Ok(())
}

fn errors_of_texts(device: &Device) -> Outcome {
    let mut z = GpuArray::<f32, _>::zeros(device, 5)?;
    for arguments in
        ["float *i", "float *n", "float *z, float *z", "float z[3]", "float **z", "float *gpu_z", "float *"]
    {
        let error = ElementwiseKernel::new(arguments, "").err();
        ensure!(matches!(error, Some(AlgoError::Argument { .. })), "{arguments}: {error:?}");
    }
    for name in ["", "3d", "a b", "z"] {
        let error = ElementwiseKernel::new("float *z", "")?.name(name).err();
        ensure!(matches!(error, Some(AlgoError::KernelName { .. })), "{name}: {error:?}");
    }
    let unknown = ElementwiseKernel::new("Extrema *all, float *z", "z[i] = all[i].least")?;
    let error = unknown.compile(device).err();
    ensure!(matches!(error, Some(AlgoError::UnknownType { .. })), "{error:?}");
    let wrong = ElementwiseKernel::new("float *z", "z[i] = nowhere")?.name("wrong")?;
    // SAFETY: it does not compile.
    let error = unsafe { wrong.call(&[(&mut z).into()]) }.err();
    let Some(AlgoError::Driver(DriverError::Compile(error))) = error else { return Err(format!("{error:?}").into()) };
    ensure!(error.name == "wrong.cu" && error.to_string().contains("z[i] = nowhere"), "{error}");
    // Two structures of one name.
    mod other {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, gpu_driver::DevicePod)]
        pub(super) struct Extrema {
            least: f32,
        }
    }
    let twice = ElementwiseKernel::new("", "")?.with_type::<Extrema>()?.with_type::<other::Extrema>().err();
    ensure!(matches!(twice, Some(AlgoError::Driver(DriverError::TypeName { .. }))), "{twice:?}");
    let other = ElementwiseKernel::new("Extrema *x", "x[i].least = 0")?.with_type::<other::Extrema>()?;
    let mut x = DeviceVec::<Extrema>::zeros(&device.stream(), 3)?;
    // SAFETY: it is refused.
    let error = unsafe { other.call(&[(&mut x).into()]) }.err();
    ensure!(matches!(error, Some(AlgoError::ArgumentType { .. })), "{error:?}");
    Ok(())
}

fn part_of_a_captured_stream(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let mut x = GpuArray::<i64, _>::zeros(&stream, 2000)?;
    add_places::kernel()?.compile(device)?;
    let (graph, ()) = stream.capture(|| add_places(&mut x))?;
    for _ in 0..3 {
        // SAFETY: the array is alive, and the launches are one behind the other.
        unsafe { graph.launch(&stream)? };
    }
    ensure_eq!(x.to_ndarray()?, Array1::from_iter((0..2000).map(|i| 3 * (i + 1))));
    Ok(())
}

fn one_launch_and_nothing_else(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let (x, mut z) = (GpuArray::full(&device, 5000, 1.0f32)?, GpuArray::zeros(&device, 5000)?);
    lin_comb(1.0, &x, 2.0, &x, &mut z)?;
    let emulation = device.emulation().ok_or("emulated")?;
    let count = || [Allocation, Launch, ModuleLoad, Copy, Event].map(|call| emulation.calls(call).unwrap_or(u64::MAX));
    let before = count();
    lin_comb(1.0, &x, 3.0, &x, &mut z)?;
    let after = count();
    ensure_eq!(std::array::from_fn(|kind| after[kind] - before[kind]), [0, 1, 0, 0, 0]);
    let mut empty = GpuArray::zeros(&device, 0)?;
    lin_comb(1.0, x.slice(s![..0])?, 3.0, x.slice(s![..0])?, &mut empty)?;
    ensure_eq!(count(), after);
    ensure_eq!(z.to_ndarray()?, Array1::from_elem(5000, 4.0));
    Ok(())
}

fn kernels_of_one_text_are_one(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let mut z = GpuArray::<f32, _>::zeros(&device, 5)?;
    let mut loads = Vec::new();
    for text in ["z[i] = 5", "z[i] = 5", "z[i] = 6"] {
        let kernel = ElementwiseKernel::new("float *z", text)?;
        for _ in 0..2 {
            // SAFETY: each place has an element of its own.
            unsafe { kernel.call(&[(&mut z).into()])? };
        }
        loads.push(emulation.calls(ModuleLoad)?);
    }
    ensure_eq!((loads[1] - loads[0], loads[2] - loads[1]), (0, 1));
    ensure_eq!(z.to_ndarray()?, Array1::from_elem(5, 6.0));
    Ok(())
}

fn other_streams_and_devices(_: &()) -> Outcome {
    let (device, second) = (Emulated::new().open()?, Emulated::new().open()?);
    let [a, b] = [Stream::new(&device)?, Stream::new(&device)?];
    // Work that is queued on either stream is done before the kernel, and what follows on them after it.
    let mut x = GpuArray::full(&a, 3000, 1.0f32)?;
    let y = GpuArray::full(&b, 3000, 2.0f32)?;
    let mut z = GpuArray::full(&b, 3000, 0.0f32)?;
    lin_comb(1.0, &x, 10.0, &y, &mut z)?;
    x.fill(7.0)?;
    ensure_eq!(z.to_ndarray()?, Array1::from_elem(3000, 21.0));
    let elsewhere = GpuArray::full(&second, 3000, 2.0f32)?;
    let error = lin_comb(1.0, &x, 1.0, &elsewhere, &mut z).err();
    ensure!(matches!(error, Some(AlgoError::Driver(DriverError::WrongDevice { .. }))), "{error:?}");
    Ok(())
}

/// `test_big_array_elementwise` of PyCUDA.
fn more_than_2_to_the_32_places(device: &Device) -> Outcome {
    elementwise_kernel! {
        fn number(x: &mut [u8]) { unsafe { "x[i] = (unsigned char)(i ^ i >> 8 ^ i >> 17 ^ i >> 29)" } }
    }
    let byte = |i: usize| (i ^ i >> 8 ^ i >> 17 ^ i >> 29) as u8;
    let n = (1usize << 32) + 1029;
    let mut x = GpuArray::<u8, _>::zeros(device, n)?;
    for places in [IndexRange::all(), IndexRange::slice(None, None, -1)] {
        x.fill(0)?;
        number::over(places, &mut x)?;
        for at in [0, (1 << 31) - 50, (1 << 32) - 50, n - 1200] {
            let got = x.slice(s![at..(at + 1200).min(n)])?.to_ndarray()?;
            ensure!(got.indexed_iter().all(|(i, &got)| got == byte(at + i)), "{places} from {at}");
        }
    }
    Ok(())
}
