//! Every public operation bears the failure of each driver call that it makes: an error each time, nothing leaked, the stream where it was,
//! and the next call works.

use std::error::Error;

use gpu_array::{ArrayError, GpuArray};
use gpu_driver::{
    Device, DevicePod, DeviceVec, Stream,
    emulated::Call::{self, Allocation, Copy, Event, Launch, ModuleLoad},
};
use gpu_random::{Discrete, Engine, Generator, Order, Philox, RandomError, Result, Xorwow, curandom::rand};
use ndarray::s;
use testkit::{Operation, Outcome, ensure, ensure_eq, fallible_functions, none_forgotten, sweeps};

testkit::failure_sweep!(RandomError, error in RandomError::Driver(error) | RandomError::Array(ArrayError::Driver(error)));

/// Five numbers, unless it is said otherwise.
const N: usize = 5;

/// Fills an array from a stream that is kept; where it fails the stream stays where it was.
fn fills<R: Engine, T: DevicePod + Default + PartialEq>(
    call: Call,
    n: usize,
    start: impl Fn() -> Result<Generator<R>>,
    fill: impl Fn(&mut Generator<R>, &mut DeviceVec<T>) -> Result<()>,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok((start()?, DeviceVec::zeros(&Stream::new(device)?, n)?));
    // The states on the device go with the stream that has them; what stays is a copy.
    let fill = |(rng, out): &mut (Generator<R>, DeviceVec<T>)| {
        let mut own = rng.clone();
        let outcome = fill(&mut own, out);
        *rng = own.clone();
        outcome
    };
    sweep(call, prepare, fill, |(rng, out), done| {
        ensure_eq!(*rng == start()?, done.is_none());
        ensure!(done.is_none() || out.to_vec()?.iter().any(|value| *value != T::default()));
        Ok(())
    })
}

/// A new array.
fn makes<T: 'static>(call: Call, make: impl Fn(&mut Philox, &Stream) -> Result<T>) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok((Philox::new(1), Stream::new(device)?));
    sweep(
        call,
        prepare,
        |(rng, stream)| make(rng, stream),
        |(rng, _), done| {
            ensure_eq!(*rng == Philox::new(1), done.is_none());
            Ok(())
        },
    )
}

fn xorwow() -> Result<Xorwow> {
    Ok(Xorwow::new(1))
}

fn philox() -> Result<Philox> {
    Ok(Philox::new(1))
}

/// What a fill from Philox makes.
const LAUNCHES: &[(Call, u64)] = &[(Launch, 1), (ModuleLoad, 1)];
const MAKES: &[(Call, u64)] = &[(Allocation, 1), (Launch, 1), (ModuleLoad, 1)];

/// A fill by a table.
const TABLE_LAUNCHES: &[(Call, u64)] = &[(Allocation, 1), (Launch, 1), (ModuleLoad, 1), (Copy, 1), (Event, 2)];
const TABLE_MAKES: &[(Call, u64)] = &[(Allocation, 2), (Launch, 1), (ModuleLoad, 1), (Copy, 1), (Event, 2)];

static OPERATIONS: &[Operation<Call>] = &[
    Operation {
        name: "Generator::fill_bernoulli, with jumps",
        makes: &[(Allocation, 5), (Launch, 3), (ModuleLoad, 3), (Copy, 2), (Event, 4)],
        sweep: |call| fills(call, 4096 * 130, xorwow, |rng, out| rng.fill_bernoulli(out, 0.5)),
    },
    Operation {
        name: "Generator::fill_bits",
        makes: &[(Allocation, 4), (Launch, 2), (ModuleLoad, 2), (Copy, 2), (Event, 4)],
        sweep: |call| fills(call, N, || xorwow()?.with_order(Order::Sequential), |rng, out| rng.fill_bits(out)),
    },
    Operation {
        name: "Generator::fill_bits, to another stream",
        makes: &[(Allocation, 4), (Launch, 3), (ModuleLoad, 2), (Copy, 2), (Event, 10)],
        sweep: |call| {
            let prepare = |device: &Device| {
                let home = || DeviceVec::<u32>::zeros(&Stream::new(device)?, N);
                Ok((Xorwow::new(1).with_order(Order::Generators(3))?, home()?, home()?))
            };
            sweep(
                call,
                prepare,
                |(rng, first, second)| {
                    let mut rng = rng.clone();
                    rng.fill_bits(&mut *first)?;
                    rng.fill_bits(&mut *second)
                },
                |_, _| Ok(()),
            )
        },
    },
    Operation {
        name: "Generator::fill_bits, of Philox",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out| rng.fill_bits(out)),
    },
    Operation {
        name: "Generator::fill_bits, of Philox from any number of generators",
        makes: &[(Allocation, 1), (Launch, 1), (ModuleLoad, 1), (Copy, 1), (Event, 4)],
        sweep: |call| fills(call, N, || philox()?.with_order(Order::Generators(3)), |rng, out| rng.fill_bits(out)),
    },
    Operation {
        name: "Generator::fill_uniform",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out: &mut DeviceVec<f32>| rng.fill_uniform(out)),
    },
    Operation {
        name: "Generator::fill_half_open",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out: &mut DeviceVec<f32>| rng.fill_half_open(out)),
    },
    Operation {
        name: "Generator::fill_range",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out| rng.fill_range(out, 5..9_u32)),
    },
    Operation {
        name: "Generator::fill_normal",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out: &mut DeviceVec<f32>| rng.fill_normal(out)),
    },
    Operation {
        name: "Generator::fill_normal_with",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out| rng.fill_normal_with(out, 1.0_f32, 2.0)),
    },
    Operation {
        name: "Generator::fill_log_normal",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out| rng.fill_log_normal(out, 1.0_f32, 2.0)),
    },
    Operation {
        name: "Generator::fill_exponential",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out| rng.fill_exponential(out, 2.0_f32)),
    },
    Operation {
        name: "Generator::fill_bernoulli",
        makes: LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out| rng.fill_bernoulli(out, 0.9)),
    },
    Operation {
        name: "warm",
        makes: &[(ModuleLoad, 24)],
        sweep: |call| sweep(call, |device| Ok(device.clone()), |device| gpu_random::warm(device), |_, _| Ok(())),
    },
    Operation {
        name: "Generator::fill_discrete",
        makes: TABLE_LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out| rng.fill_discrete(out, &Discrete::new(&[1.0, 2.0])?)),
    },
    Operation {
        name: "Generator::fill_binomial",
        makes: &[(Allocation, 4), (Launch, 1), (ModuleLoad, 1), (Copy, 2), (Event, 6)],
        sweep: |call| fills(call, N, xorwow, |rng, out| rng.fill_binomial(out, 9, 0.5)),
    },
    Operation {
        name: "Generator::gen_discrete",
        makes: TABLE_MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_discrete(stream, N, &Discrete::new(&[1.0, 2.0])?)),
    },
    Operation {
        name: "Generator::gen_binomial",
        makes: TABLE_MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_binomial(stream, N, 9, 0.5)),
    },
    Operation {
        name: "Generator::fill_poisson",
        makes: TABLE_LAUNCHES,
        sweep: |call| fills(call, N, philox, |rng, out| rng.fill_poisson(out, 5.0)),
    },
    Operation {
        name: "Generator::gen_bits",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_bits(stream, N)),
    },
    Operation {
        name: "Generator::gen_uniform",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_uniform::<f32, _>(stream, N)),
    },
    Operation {
        name: "Generator::gen_half_open",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_half_open::<f32, _>(stream, N)),
    },
    Operation {
        name: "Generator::gen_range",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_range(stream, N, 5..9_u32)),
    },
    Operation {
        name: "Generator::gen_normal",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_normal::<f32, _>(stream, N)),
    },
    Operation {
        name: "Generator::gen_normal_with",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_normal_with(stream, N, 1.0_f32, 2.0)),
    },
    Operation {
        name: "Generator::fill_normal, into columns",
        makes: &[(Allocation, 2), (Launch, 2), (ModuleLoad, 2)],
        sweep: |call| {
            makes(call, |rng, stream| {
                let mut x = GpuArray::<f32, _>::zeros(stream, (N, 4))?;
                rng.fill_normal(&mut x.slice_mut(s![.., 1..3])?)
            })
        },
    },
    Operation {
        name: "Generator::gen_log_normal",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_log_normal(stream, N, 1.0_f32, 2.0)),
    },
    Operation {
        name: "Generator::gen_exponential",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_exponential(stream, N, 2.0_f32)),
    },
    Operation {
        name: "Generator::gen_bernoulli",
        makes: MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_bernoulli(stream, N, 0.5)),
    },
    Operation {
        name: "Generator::gen_poisson",
        makes: TABLE_MAKES,
        sweep: |call| makes(call, |rng, stream| rng.gen_poisson(stream, N, 5.0)),
    },
    Operation {
        name: "rand",
        makes: MAKES,
        sweep: |call| {
            let prepare = |device: &Device| Ok(Stream::new(device)?);
            sweep(call, prepare, |stream| rand::<f32, _>(&*stream, N), |_, _| Ok(()))
        },
    },
];

/// Public functions that make no driver call.
const OTHERS: &[&str] = &["Generator::with_order", "Generator::with_seeds", "Generator::set_position"];

/// A test for each operation.
pub fn cases() -> impl Iterator<Item = (String, impl FnOnce(&()) -> Outcome + Send + 'static)> {
    sweeps(OPERATIONS, &KINDS)
}

pub fn no_fallible_function_is_forgotten(_: &()) -> Outcome {
    let sources = [
        include_str!("../../src/generator/mod.rs"),
        include_str!("../../src/generator/fill.rs"),
        include_str!("../../src/generator/create.rs"),
        include_str!("../../src/curandom.rs"),
        include_str!("../../src/device/entries.rs"),
    ];
    let found: Vec<String> = sources.into_iter().flat_map(fallible_functions).collect();
    none_forgotten(&found, OPERATIONS, OTHERS)
}
