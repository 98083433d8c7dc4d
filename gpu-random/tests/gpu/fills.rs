//! Fills of device memory against those of the host.
#![expect(unsafe_code, reason = "a graph is launched")]

use std::fmt::Debug;

use gpu_array::{ArrayError, GpuArray};
use gpu_driver::{
    Device, DevicePod, DeviceVec, Stream,
    emulated::{Call, Emulated, Emulation},
};
use gpu_random::{Discrete, Engine, Generator, Order, Philox, PhiloxRng, RandomError, Result, Xorwow, XorwowRng};
use ndarray::{Array2, ShapeBuilder, s};
use testkit::{Outcome, ensure, ensure_eq};

/// A fill, of host or device.
macro_rules! fill {
    ($rng:ident, $out:ident => $body:expr) => {
        (
            |$rng: &mut Generator<_>, $out: &mut Vec<_>| -> Result<()> { $body },
            |$rng: &mut Generator<_>, $out: &mut DeviceVec<_>| -> Result<()> { $body },
        )
    };
}

/// A fill from both generators, of values of that type; `exact` where the bits must be equal. A call of several parts is among them, and one with whole blocks.
macro_rules! both {
    ($device:ident, $type:ty, $exact:literal, $rng:ident, $out:ident => $body:expr) => {
        compare::<XorwowRng, $type>($device, Order::Curand, &[5, 4096 * 40 + 77], $exact, fill!($rng, $out => $body))?;
        compare::<PhiloxRng, $type>($device, Order::Curand, &[5, 3000, 3, 9001], $exact, fill!($rng, $out => $body))?;
    };
}

type Fills<R, T> =
    (fn(&mut Generator<R>, &mut Vec<T>) -> Result<()>, fn(&mut Generator<R>, &mut DeviceVec<T>) -> Result<()>);

/// Numbers that may differ between places.
trait Near: DevicePod + Default + PartialEq + Debug {
    fn near(self, other: Self) -> bool {
        self == other
    }
}
impl Near for u32 {}
impl Near for i32 {}
impl Near for u64 {}
impl Near for i64 {}
impl Near for u8 {}
impl Near for f32 {
    fn near(self, other: Self) -> bool {
        (self - other).abs() <= 4e-6 * (1.0 + other.abs())
    }
}
impl Near for f64 {
    fn near(self, other: Self) -> bool {
        (self - other).abs() <= 1e-14 * (1.0 + other.abs())
    }
}

/// The same calls on both sides; `exact` where the bits must be equal.
fn compare<R: Engine, T: Near>(
    device: &Device,
    order: Order,
    lengths: &[usize],
    exact: bool,
    (host, on_device): Fills<R, T>,
) -> Outcome {
    let mut of_host = Generator::<R>::new(0x1234_5678_9abc_def0).with_order(order)?;
    let mut of_device = of_host.clone();
    for &n in lengths {
        let mut want = vec![T::default(); n];
        host(&mut of_host, &mut want)?;
        let mut out = DeviceVec::zeros(&device.stream(), n)?;
        on_device(&mut of_device, &mut out)?;
        let got = out.to_vec()?;
        let bad = (0..n).find(|&at| if exact { got[at] != want[at] } else { !got[at].near(want[at]) });
        ensure!(bad.is_none(), "{order:?}, {n} of {lengths:?}: at {bad:?}, {:?}", bad.map(|at| (got[at], want[at])));
    }
    ensure!(of_host == of_device);
    Ok(())
}

pub fn bits_and_uniform_numbers_are_those_of_the_host(device: &Device) -> Outcome {
    both!(device, u32, true, rng, out => rng.fill_bits(out));
    both!(device, f32, true, rng, out => rng.fill_uniform(out));
    both!(device, f64, true, rng, out => rng.fill_uniform(out));
    both!(device, f32, true, rng, out => rng.fill_range(out, -3.0..7.5));
    both!(device, f64, true, rng, out => rng.fill_half_open(out));
    Ok(())
}

pub fn real_numbers_are_those_of_the_host(device: &Device) -> Outcome {
    both!(device, f32, false, rng, out => rng.fill_normal(out));
    both!(device, f64, false, rng, out => rng.fill_normal(out));
    both!(device, f32, false, rng, out => rng.fill_normal_with(out, 3.0, 0.5));
    both!(device, f64, false, rng, out => rng.fill_log_normal(out, 0.5, 0.25));
    both!(device, f32, false, rng, out => rng.fill_exponential(out, 2.0));
    Ok(())
}

/// As near as the documentation of the generators says.
pub fn real_numbers_agree_within_ulps(device: &Device) -> Outcome {
    fn worst<T: DevicePod + Default + Into<f64>>(
        device: &Device,
        (host, on_device): Fills<PhiloxRng, T>,
        of: impl Fn(f64) -> f64,
    ) -> Result<f64> {
        let n = if device.is_emulated() { 1 << 12 } else { 1 << 24 };
        let mut rng = Philox::new(77);
        let (mut want, mut out) = (vec![T::default(); n], DeviceVec::zeros(&device.stream(), n)?);
        host(&mut rng.clone(), &mut want)?;
        on_device(&mut rng, &mut out)?;
        let pairs = out.to_vec()?.into_iter().map(Into::into).zip(want.into_iter().map(Into::into));
        let apart = pairs.filter(|(got, want): &(f64, f64)| got != want);
        let ulps = apart.map(|(got, want)| (got - want).abs() / of(want));
        // NaN is the worst, and stays.
        Ok(ulps.fold(0.0, |worst: f64, ulps| if worst.is_nan() || ulps <= worst { worst } else { ulps }))
    }
    let (single, double) = (f64::from(f32::EPSILON), f64::EPSILON);
    let (of_normal, of_log_normal) = (|z: f64| z.abs().max(1.0), |x: f64| x * x.ln().abs().max(1.0));
    let ulps = [
        worst::<f32>(device, fill!(rng, out => rng.fill_normal(out)), |z| single * of_normal(z))?,
        worst::<f64>(device, fill!(rng, out => rng.fill_normal(out)), |z| double * of_normal(z))?,
        worst::<f32>(device, fill!(rng, out => rng.fill_log_normal(out, 0.0, 1.0)), |x| single * of_log_normal(x))?,
        worst::<f64>(device, fill!(rng, out => rng.fill_log_normal(out, 0.0, 1.0)), |x| double * of_log_normal(x))?,
        worst::<f32>(device, fill!(rng, out => rng.fill_exponential(out, 1.0)), |x| single * x)?,
        worst::<f64>(device, fill!(rng, out => rng.fill_exponential(out, 1.0)), |x| double * x)?,
    ];
    ensure!(ulps.iter().zip([32.0, 8.0, 34.0, 10.0, 2.0, 2.0]).all(|(&ulps, most)| ulps <= most), "{ulps:?}");
    Ok(())
}

/// As many numbers of each generator as it takes to jump to later ones, before and behind shorter calls.
pub fn long_fills_are_those_of_the_host(device: &Device) -> Outcome {
    fn long<T: Near>(device: &Device, n: usize, exact: bool, fills: Fills<XorwowRng, T>) -> Outcome {
        compare(device, Order::Curand, &[4099, n, 5], exact, fills)
    }
    long(device, 1_100_000, true, fill!(rng, out => rng.fill_bits(out)))?;
    long(device, 530_000, true, fill!(rng, out => rng.fill_uniform::<f64>(out)))?;
    long(device, 1_100_000, false, fill!(rng, out => rng.fill_normal::<f32>(out)))?;
    long(device, 1_100_001, false, fill!(rng, out => rng.fill_normal::<f64>(out)))
}

pub fn discrete_numbers_are_those_of_the_host(device: &Device) -> Outcome {
    both!(device, i32, true, rng, out => rng.fill_range(out, -5..60));
    both!(device, u64, true, rng, out => rng.fill_range(out, 0..(1 << 63) + 1));
    both!(device, u8, true, rng, out => rng.fill_bernoulli(out, 0.3));
    both!(device, u32, true, rng, out => rng.fill_poisson(out, 1.0));
    both!(device, u32, true, rng, out => rng.fill_poisson(out, 3.5));
    both!(device, u32, true, rng, out => rng.fill_poisson(out, 10.0));
    both!(device, u32, true, rng, out => rng.fill_poisson(out, 40.0));
    both!(device, u32, true, rng, out => rng.fill_poisson(out, 100.0));
    both!(device, u32, true, rng, out => rng.fill_poisson(out, 1e4));
    both!(device, u32, true, rng, out => rng.fill_poisson(out, 7e4));
    both!(device, u32, true, rng, out => rng.fill_poisson(out, 1e6));
    both!(device, u32, true, rng, out => rng.fill_binomial(out, 1000, 0.3));
    both!(device, u32, true, rng, out => rng.fill_discrete(out, &Discrete::new(&[1.0])?));
    // A table that kernels read from shared memory, and one that they do not.
    both!(device, u32, true, rng, out => rng.fill_discrete(out, &ramp(4096)?));
    both!(device, u32, true, rng, out => rng.fill_discrete(out, &ramp(40_000)?));
    fn in_order<R: Engine>(device: &Device, order: Order) -> Outcome {
        compare::<R, u32>(device, order, &[5, 20_000, 1], true, fill!(rng, out => rng.fill_discrete(out, &ramp(100)?)))
    }
    for order in [Order::Sequential, Order::Generators(7), Order::Generators(100_000)] {
        in_order::<XorwowRng>(device, order)?;
        in_order::<PhiloxRng>(device, order)?;
    }
    Ok(())
}

fn ramp(n: u32) -> Result<Discrete> {
    Discrete::new(&(0..n).map(f64::from).collect::<Vec<_>>())
}

/// A first fill after [`gpu_random::warm`], of few numbers or many, loads, and so compiles, nothing.
pub fn first_fills_load_nothing_after_warm(_: &()) -> Outcome {
    fn check<R: Engine>(device: &Device, emulation: &Emulation) -> Outcome {
        let rng = || Generator::<R>::new(3);
        let before = emulation.calls(Call::ModuleLoad)?;
        for n in [1, 1000, 100_001] {
            let (mut words, mut x) = (vec![0; n], vec![0.0f32; n]);
            rng().fill_bits(&mut words)?;
            rng().fill_uniform(&mut x)?;
            ensure!(rng().gen_bits(device, n)?.to_ndarray()?.to_vec() == words, "{n} words");
            ensure!(rng().gen_uniform::<f32, _>(device, n)?.to_ndarray()?.to_vec() == x, "{n} uniform numbers");
            rng().gen_uniform::<f64, _>(device, n)?;
            rng().gen_normal::<f32, _>(device, n)?;
            rng().gen_normal::<f64, _>(device, n)?;
            ensure_eq!((n, emulation.calls(Call::ModuleLoad)? - before), (n, 0));
        }
        Ok(())
    }
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    gpu_random::warm(&device)?;
    ensure!(emulation.calls(Call::ModuleLoad)? >= 20, "nothing was loaded");
    check::<XorwowRng>(&device, &emulation)?;
    check::<PhiloxRng>(&device, &emulation)
}

/// A graph keeps the table of a captured fill, in the memory where the fill found it.
pub fn a_graph_keeps_the_tables_of_its_fills(device: &Device) -> Outcome {
    fn check<R: Engine>(device: &Device) -> Outcome {
        let stream = Stream::new(device)?;
        let mut out = DeviceVec::<u32>::zeros(&stream, 9000)?;
        let mut rng = Generator::<R>::new(11);
        let (graph, ()) = stream.capture(|| -> Result<()> { rng.fill_discrete(&mut out, &ramp(300)?) })?;
        drop(rng);
        // Others write to memory that is free since.
        let others = DeviceVec::from_slice(&stream, &vec![!0u32; 1 << 16])?;
        let mut want = vec![0; 9000];
        Generator::<R>::new(11).fill_discrete(&mut want, &ramp(300)?)?;
        for _ in 0..2 {
            // SAFETY: `out` is alive, and nothing else uses it.
            unsafe { graph.launch(&stream)? };
            ensure_eq!(out.to_vec()?, want);
        }
        drop(others);
        Ok(())
    }
    check::<XorwowRng>(device)?;
    check::<PhiloxRng>(device)
}

/// A call of one kind or another, on either side.
fn one_of<R: Engine>(rng: &mut Generator<R>, kind: usize, n: usize, home: Option<&Device>) -> Result<Vec<f64>> {
    fn made<T: DevicePod + Default + Into<f64>>(
        n: usize,
        home: Option<&Device>,
        on_host: impl FnOnce(&mut Vec<T>) -> Result<()>,
        on_device: impl FnOnce(&mut DeviceVec<T>) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let values = match home {
            None => {
                let mut out = vec![T::default(); n];
                on_host(&mut out)?;
                out
            }
            Some(device) => {
                let mut out = DeviceVec::zeros(&device.stream(), n)?;
                on_device(&mut out)?;
                out.to_vec()?
            }
        };
        Ok(values.into_iter().map(Into::into).collect())
    }
    // Only one of the two closures is called.
    let rng = std::cell::RefCell::new(rng);
    match kind {
        0 => made::<u32>(n, home, |out| rng.borrow_mut().fill_bits(out), |out| rng.borrow_mut().fill_bits(out)),
        1 => made::<f64>(n, home, |out| rng.borrow_mut().fill_uniform(out), |out| rng.borrow_mut().fill_uniform(out)),
        2 => made::<f32>(n, home, |out| rng.borrow_mut().fill_normal(out), |out| rng.borrow_mut().fill_normal(out)),
        _ => made::<f64>(n, home, |out| rng.borrow_mut().fill_normal(out), |out| rng.borrow_mut().fill_normal(out)),
    }
}

fn mixed<R: Engine>(device: &Device, order: Order, most: usize, place: impl Fn(usize) -> bool) -> Outcome {
    let mut of_host = Generator::<R>::new(5).with_order(order)?.with_offset(3);
    let mut other = of_host.clone();
    let mut random = testkit::rng(7);
    for call in 0..24 {
        let (kind, n) = (random.below(4), random.below(most));
        let want = one_of(&mut of_host, kind, n, None)?;
        let got = one_of(&mut other, kind, n, place(call).then_some(device))?;
        let near = |at: &usize| (got[*at] - want[*at]).abs() <= 4e-6 * (1.0 + want[*at].abs());
        let bad = (0..n).find(|at| if kind < 2 { got[*at] != want[*at] } else { !near(at) });
        ensure!(bad.is_none(), "{order:?}, call {call} of kind {kind}, {n} values: at {bad:?}");
        ensure!(of_host == other);
    }
    Ok(())
}

pub fn calls_of_any_kind_and_length_continue(device: &Device) -> Outcome {
    mixed::<XorwowRng>(device, Order::Curand, 9000, |_| true)?;
    mixed::<PhiloxRng>(device, Order::Curand, 9000, |_| true)
}

pub fn any_number_of_generators(device: &Device) -> Outcome {
    for order in [Order::Sequential, Order::Generators(3), Order::Generators(64), Order::Generators(1001)] {
        mixed::<XorwowRng>(device, order, 5000, |_| true)?;
        mixed::<PhiloxRng>(device, order, 5000, |_| true)?;
    }
    // More than have a jump of their own.
    compare::<XorwowRng, u32>(
        device,
        Order::Generators(5000),
        &[1, 14_999],
        true,
        fill!(rng, out => rng.fill_bits(out)),
    )?;
    seeds_of_their_own::<XorwowRng>(device)?;
    seeds_of_their_own::<PhiloxRng>(device)?;
    compare::<XorwowRng, u32>(device, Order::Sequential, &[1, 100_000], true, fill!(rng, out => rng.fill_bits(out)))
}

/// The first short fill of a seed's stream makes the states of its generators itself, whatever was drawn before, and in how many parts it is cut.
pub fn a_seed_can_be_set_before_each_fill(device: &Device) -> Outcome {
    let (mut rng, mut host) = (Xorwow::new(1), Xorwow::new(1));
    let seeds = [0, 1, 0x5555_aaad_26b4_9000, u64::MAX];
    for (i, n) in [1, 4095, 4096, 4097, 8192, 3 * 4096 + 5, 30 * 4096, 300 * 4096].into_iter().enumerate() {
        rng.set_seed(seeds[i % seeds.len()]);
        host.set_seed(seeds[i % seeds.len()]);
        for n in [n, 10_000] {
            let mut want = vec![0u32; n];
            host.fill_bits(&mut want)?;
            ensure_eq!(rng.gen_bits(device, n)?.to_ndarray()?.into_raw_vec_and_offset().0, want);
        }
        // The pair-wise kinds, from the start of the next seed.
        rng.set_seed(n as u64);
        host.set_seed(n as u64);
        let mut want = vec![0.0f64; 2 * n];
        host.fill_uniform(&mut want)?;
        ensure_eq!(rng.gen_uniform::<f64, _>(device, 2 * n)?.to_ndarray()?.into_raw_vec_and_offset().0, want);
    }
    Ok(())
}

fn seeds_of_their_own<R: Engine>(device: &Device) -> Outcome {
    let mut of_host = Generator::<R>::with_seeds(&[7, 5, 1, 9, 4_000_000_000])?.with_offset(2);
    let mut of_device = of_host.clone();
    for n in [3, 2000] {
        let (mut want, mut got) = (vec![0; n], DeviceVec::zeros(&device.stream(), n)?);
        of_host.fill_bits(&mut want)?;
        of_device.fill_bits(&mut got)?;
        ensure_eq!(got.to_vec()?, want);
    }
    Ok(())
}

pub fn streams_move_between_places(device: &Device) -> Outcome {
    mixed::<XorwowRng>(device, Order::Curand, 9000, |call| call % 3 == 1)?;
    mixed::<XorwowRng>(device, Order::Generators(70), 500, |call| call % 3 == 1)?;
    mixed::<PhiloxRng>(device, Order::Curand, 9000, |call| call % 3 == 1)
}

/// Places that are not aligned, odd lengths, and nothing beside them written.
pub fn parts_of_arrays_are_filled(device: &Device) -> Outcome {
    fn part<R: Engine>(device: &Device, from: usize, n: usize) -> Outcome {
        let mut out = DeviceVec::from_slice(&device.stream(), &vec![-77.0_f32; n + from + 5])?;
        Generator::<R>::new(1).fill_normal(out.slice_mut(from..from + n)?)?;
        let mut want = vec![0.0_f32; n];
        Generator::<R>::new(1).fill_normal(&mut want)?;
        let got = out.to_vec()?;
        ensure!(got[..from].iter().chain(&got[from + n..]).all(|&value| value == -77.0), "{from}, {n}");
        ensure!(got[from..from + n].iter().zip(want).all(|(got, want)| got.near(want)), "{from}, {n}");
        Ok(())
    }
    for from in [0, 1, 2, 3, 4] {
        for n in [1, 2, 9, 8192, 8195] {
            part::<XorwowRng>(device, from, n)?;
            part::<PhiloxRng>(device, from, n)?;
        }
    }
    let x = Xorwow::new(1234).gen_bits(device, (2, 2))?;
    ensure_eq!(x.to_ndarray()?.into_raw_vec_and_offset().0, [624_778_773, 3_522_650_202, 2_363_946_744, 1_266_286_439]);
    let empty: GpuArray<f32, _> = Philox::new(1).gen_normal(device, 0)?;
    ensure_eq!(empty.len(), 0);
    let coins = Philox::new(1).gen_bernoulli(device, 100, 0.5)?;
    ensure!(coins.to_ndarray()?.iter().any(|&coin| coin));
    Ok(())
}

/// An odd normal number is left over where its pair's words are as many as those of the next kind's value.
pub fn odd_normal_numbers_before_other_kinds(device: &Device) -> Outcome {
    for n in [1, 5, 4095, 4096 * 200 - 1] {
        let (mut of_host, mut of_device) = (Xorwow::new(3), Xorwow::new(3));
        let (mut pairs, mut on_device) = (vec![0.0_f32; n], DeviceVec::<f32>::zeros(&device.stream(), n)?);
        of_host.fill_normal(&mut pairs)?;
        of_device.fill_normal(&mut on_device)?;
        let mut want = vec![0.0_f64; n + 1];
        of_host.fill_uniform(&mut want)?;
        // Behind the end nothing is written.
        let mut out = DeviceVec::from_slice(&device.stream(), &vec![-1.0_f64; n + 9])?;
        of_device.fill_uniform(out.slice_mut(..n + 1)?)?;
        let got = out.to_vec()?;
        ensure!(got[..n + 1] == want[..] && got[n + 1..] == [-1.0; 8], "{n}");
        let (mut pairs, mut on_device) = (vec![0.0_f64; n], DeviceVec::<f64>::zeros(&device.stream(), n)?);
        of_host.fill_normal(&mut pairs)?;
        of_device.fill_normal(&mut on_device)?;
        let (mut want, mut out) = (vec![0_u64; n], DeviceVec::<u64>::zeros(&device.stream(), n)?);
        of_host.fill_range(&mut want, 0..1 << 60)?;
        of_device.fill_range(&mut out, 0..1 << 60)?;
        ensure!(out.to_vec()? == want && of_host == of_device, "{n}");
    }
    Ok(())
}

/// A fill whose numbers do not arrive leaves the stream where it was, also on its device.
pub fn a_view_that_cannot_be_written_leaves_the_stream(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("it is emulated")?;
    let mut all = vec![0; 30_700];
    Xorwow::new(1).fill_bits(&mut all)?;
    // The last launch that can fail is the copy into the columns.
    for launch in 1.. {
        let mut x = GpuArray::<u32, _>::zeros(&device, (5000, 3))?;
        let mut rng = Xorwow::new(1);
        rng.fill_bits(&mut x)?;
        emulation.fail(Call::Launch, launch, false)?;
        let outcome = rng.fill_bits(&mut x.slice_mut(s![.., ..2])?);
        emulation.stop_failing()?;
        if outcome.is_ok() {
            ensure!(launch > 2, "a fill and a copy");
            return Ok(());
        }
        let mut few = vec![0; 700];
        rng.fill_bits(&mut few)?;
        ensure_eq!(few, all[15_000..15_700]);
        rng.fill_bits(&mut x)?;
        ensure!(x.to_ndarray()?.iter().eq(&all[15_700..]), "launch {launch}");
    }
    Ok(())
}

/// Views that lie side by side are filled where they are, others in C order; what is beside them stays.
pub fn views_of_any_layout_are_filled(device: &Device) -> Outcome {
    let parts = [s![.., ..], s![3..9, ..], s![.., 2..5], s![..;-1, ..], s![1..;3, ..;-2], s![4..4, ..], s![.., 3..4]];
    for part in parts {
        let mut host = Array2::<f32>::zeros((20, 7));
        let mut x = GpuArray::from_ndarray(device, &host)?;
        let (mut here, mut there) = (Philox::new(3), Philox::new(3));
        here.fill_normal(&mut host.slice_mut(part))?;
        there.fill_normal(&mut x.slice_mut(part)?)?;
        let near = |a: &Array2<f32>, b: &Array2<f32>| a.iter().zip(b).all(|(a, &b)| a.near(b));
        ensure!(near(&x.to_ndarray()?, &host), "{part:?}");
        // The stream has gone on by as many numbers.
        ensure_eq!(here.position(), there.position());
        let mut turned = GpuArray::<f32, _>::zeros(device, (20, 7).f())?;
        there.fill_normal(turned.slice_mut(part)?)?;
        let mut numbers = Array2::<f32>::zeros((20, 7).f());
        here.fill_normal(&mut numbers.slice_mut(part))?;
        ensure!(near(&turned.to_ndarray()?, &numbers), "{part:?} of columns");
    }
    // An operator that failed is told first, and no number is drawn.
    let mut x = GpuArray::<f32, _>::zeros(device, 3)?;
    x += &GpuArray::<f32, _>::zeros(device, 5)?;
    let mut rng = Philox::new(3);
    for _ in 0..2 {
        let told = rng.fill_normal(&mut x);
        ensure!(matches!(told, Err(RandomError::Array(ArrayError::Operator { op: "+=", .. }))), "{told:?}");
    }
    ensure_eq!(rng.position(), Philox::new(3).position());
    // A bool is a byte in memory.
    let mut coins = GpuArray::<bool, _>::full(device, (30, 4), true)?;
    Philox::new(5).fill_bernoulli(&mut coins.slice_mut(s![.., 1..3])?, 0.0)?;
    ensure_eq!(coins.to_ndarray()?, Array2::from_shape_fn((30, 4), |(_, j)| j == 0 || j == 3));
    let x = Philox::new(6).gen_normal_with::<f64, _>(device, (2, 50), 10.0, 0.0)?;
    ensure_eq!(x.to_ndarray()?, Array2::from_elem((2, 50), 10.0));
    Ok(())
}

/// A graph of fills does at each launch what its calls would have done.
pub fn fills_are_captured(device: &Device) -> Outcome {
    fn captured<R: Engine>(device: &Device) -> Outcome {
        // A stream of its own: what other threads do on the device's stream cannot be captured.
        let stream = Stream::new(device)?;
        let mut rng = Generator::<R>::new(8);
        let mut out = [DeviceVec::<f32>::zeros(&stream, 5000)?, DeviceVec::zeros(&stream, 5000)?];
        let mut next = DeviceVec::<f32>::zeros(&stream, 5000)?;
        rng.fill_normal(&mut out[0])?;
        let (graph, ()) = stream.capture(|| -> Result<()> {
            rng.fill_normal(&mut out[0])?;
            rng.fill_normal(&mut out[1])
        })?;
        let mut want = vec![0.0_f32; 15_000];
        Generator::<R>::new(8).fill_normal(&mut want)?;
        // Before the first launch, between two, and behind a fill of the stream itself, which goes on after those of the graph.
        for launch in 0..3 {
            // SAFETY: the arrays and the stream's states are alive, and nothing else uses them.
            unsafe { graph.launch(&stream)? };
            for (out, want) in out.iter().zip(want[5000..].chunks(5000)) {
                ensure!(out.to_vec()?.iter().zip(want).all(|(got, &want)| got.near(want)), "launch {launch}");
            }
            if launch == 1 {
                rng.fill_normal(&mut next)?;
            }
        }
        let mut all = vec![0.0_f32; 20_000];
        Generator::<R>::new(8).fill_normal(&mut all)?;
        ensure!(next.to_vec()?.iter().zip(&all[15_000..]).all(|(got, &want)| got.near(want)));
        // What was captured and came to nothing has moved the stream on, and nothing else.
        let failed = stream.capture(|| -> Result<()> {
            rng.fill_normal(&mut next)?;
            Err(gpu_random::RandomError::Generators { got: 0, most: 1 })
        });
        ensure!(failed.is_err());
        rng.fill_normal(&mut next)?;
        let mut all = vec![0.0_f32; 30_000];
        Generator::<R>::new(8).fill_normal(&mut all)?;
        ensure!(next.to_vec()?.iter().zip(&all[25_000..]).all(|(got, &want)| got.near(want)));
        Ok(())
    }
    captured::<XorwowRng>(device)?;
    captured::<PhiloxRng>(device)
}

/// A graph of fills has all that they read: the generator may go, start anew, or fill elsewhere, and memory that is allocated next is another.
pub fn a_graph_of_fills_outlives_its_generator(device: &Device) -> Outcome {
    fn outlives<R: Engine>(
        device: &Device,
        start: &dyn Fn() -> Result<Generator<R>>,
        lengths: &[usize],
        filled_before: bool,
        leave: &dyn Fn(Generator<R>) -> Result<()>,
    ) -> Outcome {
        let stream = Stream::new(device)?;
        let all: usize = lengths.iter().sum();
        let mut out = lengths.iter().map(|&n| Ok(DeviceVec::<u32>::zeros(&stream, n)?)).collect::<Result<Vec<_>>>()?;
        let (mut rng, mut of_host) = (start()?, start()?);
        if filled_before {
            rng.fill_bits(&mut out[0])?;
            of_host.fill_bits(&mut vec![0; lengths[0]])?;
        }
        let (graph, ()) = stream.capture(|| -> Result<()> { out.iter_mut().try_for_each(|out| rng.fill_bits(out)) })?;
        leave(rng)?;
        // Would have what the graph uses.
        let taken =
            (0..16).map(|i| Ok(DeviceVec::from_slice(&stream, &vec![i; 6 * 4096])?)).collect::<Result<Vec<_>>>()?;
        let mut want = vec![0; all];
        let mut rest = &mut want[..];
        for &n in lengths {
            let (part, others) = rest.split_at_mut(n);
            of_host.fill_bits(part)?;
            rest = others;
        }
        for _ in 0..2 {
            // SAFETY: the arrays are alive, and nothing else uses them.
            unsafe { graph.launch(&stream)? };
            let got = out.iter().map(DeviceVec::to_vec).collect::<Result<Vec<_>, _>>()?.concat();
            ensure!(got == want);
        }
        drop(graph);
        for (i, taken) in taken.iter().enumerate() {
            ensure!(taken.to_vec()? == vec![i as u32; 6 * 4096]);
        }
        Ok(())
    }
    fn each<R: Engine>(device: &Device, elsewhere: Option<&Device>) -> Outcome {
        let long = 4096 * 40 + 77;
        let starts: [&dyn Fn() -> Result<Generator<R>>; 4] = [
            &|| Ok(Generator::new(8)),
            &|| Generator::new(8).with_order(Order::Generators(1000)),
            &|| Generator::with_seeds(&[4, 5, 6]),
            // Behind calls of many kinds.
            &|| {
                let mut rng = Generator::new(8);
                rng.fill_bits(&mut [0; 3][..])?;
                rng.fill_uniform(&mut [0.0_f64; 7][..])?;
                rng.fill_normal(&mut [0.0_f32; 5][..])?;
                Ok(rng)
            },
        ];
        for start in starts {
            for filled_before in [false, true] {
                for lengths in [&[100, 5000][..], &[long, long, 9]] {
                    outlives(device, start, lengths, filled_before, &|rng| {
                        drop(rng);
                        Ok(())
                    })?;
                }
                outlives(device, start, &[5000], filled_before, &|mut rng| {
                    rng.set_offset(7);
                    let Some(other) = elsewhere else { return Ok(()) };
                    rng.fill_bits(&mut DeviceVec::zeros(&other.stream(), 5000)?)
                })?;
            }
        }
        outlives(device, starts[0], &[5000], true, &|rng| rng.with_order(Order::Generators(3)).map(drop))
    }
    let elsewhere = device.is_emulated().then(|| Emulated::new().open()).transpose()?;
    each::<XorwowRng>(device, elsewhere.as_ref())?;
    each::<PhiloxRng>(device, elsewhere.as_ref())
}

/// More elements, and more bytes, than 32 bits count.
pub fn more_than_32_bits_count(device: &Device) -> Outcome {
    fn long<R: Engine>(device: &Device, order: Order) -> Outcome {
        let n = (1_usize << 32) + 4099;
        let start = || Generator::<R>::new(3).with_order(order);
        let mut out = DeviceVec::<u32>::zeros(&device.stream(), n)?;
        start()?.fill_bits(&mut out)?;
        for from in [0, (1 << 30) - 7, (1 << 31) - 5, (1 << 32) - 9, n - 100] {
            let mut want = vec![0; 100];
            start()?.with_offset(from as u64).fill_bits(&mut want)?;
            ensure_eq!((from, out.slice(from..from + 100)?.to_vec()?), (from, want));
        }
        Ok(())
    }
    long::<XorwowRng>(device, Order::Curand)?;
    long::<PhiloxRng>(device, Order::Curand)?;
    long::<XorwowRng>(device, Order::Sequential)?;
    long::<PhiloxRng>(device, Order::Generators(3))
}

/// A fill on a stream that is not captured runs at once, though the fills before it were on the stream that is.
pub fn fills_beside_a_capture_stay_out_of_it(device: &Device) -> Outcome {
    fn beside<R: Engine>(device: &Device, start: &dyn Fn() -> Result<Generator<R>>) -> Outcome {
        const N: usize = 5000;
        let (captured, other) = (Stream::new(device)?, Stream::new(device)?);
        let (mut rng, mut of_host) = (start()?, start()?);
        let mut want = || -> Result<Vec<u32>> {
            let mut all = vec![0; N];
            of_host.fill_bits(&mut all)?;
            Ok(all)
        };
        let zeros = |stream| DeviceVec::<u32>::zeros(stream, N);
        let (mut before, mut within, mut after) = (zeros(&captured)?, zeros(&other)?, zeros(&captured)?);
        rng.fill_bits(&mut before)?;
        let (graph, ()) = captured.capture(|| rng.fill_bits(&mut within))?;
        rng.fill_bits(&mut after)?;
        for filled in [&before, &within, &after] {
            ensure!(filled.to_vec()? == want()?);
        }
        // The graph has no fill, so it needs nothing of the generator.
        drop(rng);
        // SAFETY: it holds no work.
        unsafe { graph.launch(&captured)? };
        captured.synchronize()?;
        Ok(())
    }
    beside::<XorwowRng>(device, &|| Ok(Generator::new(8)))?;
    beside::<XorwowRng>(device, &|| Generator::new(8).with_order(Order::Generators(1000)))?;
    beside::<PhiloxRng>(device, &|| Generator::with_seeds(&[4, 5, 6]))
}

/// The device is told the low 32 bits of the number of draws, and whether there are any.
pub fn offsets_of_multiples_of_2_to_the_32_draws(device: &Device) -> Outcome {
    for (generators, draws) in [(1, 1u64 << 32), (3, 5 << 32), (64, (1 << 33) + 9)] {
        for more in [0, 2] {
            let rng = Generator::<XorwowRng>::new(6).with_order(Order::Generators(generators))?;
            let rng = rng.with_offset(u64::from(generators) * draws + more);
            let (mut want, mut got) = ([0u32; 200], DeviceVec::zeros(&device.stream(), 200)?);
            rng.clone().fill_bits(&mut want[..])?;
            rng.clone().fill_bits(&mut got)?;
            ensure!(got.to_vec()? == want, "{generators} generators, {draws} draws and {more} more");
        }
    }
    Ok(())
}

/// Generators of which the first are a few draws ahead start as those that are level do: their states are not copied from the host.
pub fn generators_a_little_ahead_start_on_the_device(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let copies = |offset| -> Result<u64> {
        let mut out = DeviceVec::<u32>::zeros(&device.stream(), 5)?;
        let before = emulation.calls(Call::Copy)?;
        Xorwow::new(8).with_offset(offset).fill_bits(&mut out)?;
        Ok(emulation.calls(Call::Copy)? - before)
    };
    ensure_eq!(copies(3)?, copies(0)?);
    Ok(())
}
