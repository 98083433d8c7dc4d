//! Each mathematical function at a million arguments, on the device and on the host, against functions of higher precision.
//!
//! `GPU_TESTS_ERRORS=print` prints the largest errors; a test that fails has them in its message.

use std::{
    collections::VecDeque,
    env,
    path::Path,
    thread::{self, JoinHandle},
};

use gpu_array::{
    DType, Float, GpuArray,
    expression::{Backend, Gpu, Host, Precompile, host, precompile},
    ndarray_npy::WritableElement,
};
use gpu_driver::Device;
use ndarray::{ArrayD, s};
use testkit::{Outcome, Rng, Test, ensure, rng, tests};

use self::{
    cases::{BESSEL, Case, ELEMENTARY, EXACT, SPECIAL},
    functions::{Piece, function},
    reference::{Compiler, Errors, Program},
    table::Row,
};
use crate::math::{special_arguments, vector};

mod cases;
mod functions;
mod reference;
mod table;

pub use reference::compiler;

/// A device, and the compiler of the reference.
pub type Machine = (Device, Compiler);

pub const TESTS: &[Test<Machine>] = tests![
    functions_of_f32_keep_their_bounds,
    functions_of_f64_keep_their_bounds,
    special_functions_of_f32_keep_their_bounds,
    special_functions_of_f64_keep_their_bounds,
    bessel_functions_of_f32_keep_their_bounds,
    bessel_functions_of_f64_keep_their_bounds,
    exact_functions_of_f32_are_exact,
    exact_functions_of_f64_are_exact,
    the_reference_has_the_values_of_the_table,
];

fn functions_of_f32_keep_their_bounds(machine: &Machine) -> Outcome {
    check::<f32>(machine, ELEMENTARY)
}

fn functions_of_f64_keep_their_bounds(machine: &Machine) -> Outcome {
    check::<f64>(machine, ELEMENTARY)
}

fn special_functions_of_f32_keep_their_bounds(machine: &Machine) -> Outcome {
    check::<f32>(machine, SPECIAL)
}

fn special_functions_of_f64_keep_their_bounds(machine: &Machine) -> Outcome {
    check::<f64>(machine, SPECIAL)
}

fn bessel_functions_of_f32_keep_their_bounds(machine: &Machine) -> Outcome {
    check::<f32>(machine, BESSEL)
}

fn bessel_functions_of_f64_keep_their_bounds(machine: &Machine) -> Outcome {
    check::<f64>(machine, BESSEL)
}

fn exact_functions_of_f32_are_exact(machine: &Machine) -> Outcome {
    check::<f32>(machine, EXACT)
}

fn exact_functions_of_f64_are_exact(machine: &Machine) -> Outcome {
    check::<f64>(machine, EXACT)
}

/// Arguments of each function, of all its cases together.
const ARGUMENTS: usize = 1_000_000;
/// On the emulated device, whose functions are the C library's.
const ARGUMENTS_EMULATED: usize = 50_000;

/// Whether the table of errors is printed.
fn prints() -> Result<bool, String> {
    match env::var_os("GPU_TESTS_ERRORS").unwrap_or_default() {
        value if value.is_empty() => Ok(false),
        value if value == "print" => Ok(true),
        value => Err(format!("GPU_TESTS_ERRORS={} is not known; expected print", value.display())),
    }
}

/// Values from the pieces in turn, behind special ones.
fn draw<T: Float>(rng: &mut Rng, pieces: &[Piece], special: &[f64], n: usize, takes: impl Fn(f64) -> bool) -> ArrayD<T>
where
    f64: From<T>,
{
    let mut all: Vec<T> = Vec::with_capacity(n);
    all.extend(special.iter().map(|&x| T::rounded_from_f64(x)).filter(|&x| takes(x.into())));
    while all.len() < n {
        let piece = pieces[rng.below(pieces.len())];
        let x = T::rounded_from_f64(piece.draw(rng, T::DTYPE));
        if takes(x.into()) {
            all.push(x);
        }
    }
    vector(all)
}

/// The arguments of a case; a function of one ignores the second.
fn operands<T: Float>(rng: &mut Rng, case: &Case) -> [ArrayD<T>; 2]
where
    f64: From<T>,
{
    let special = special_arguments();
    let n = ARGUMENTS / case.share;
    if case.y.is_empty() {
        let x = draw(rng, case.x, &special, n, |x| case.region.has(x));
        return [x.clone(), x];
    }
    // Each with each.
    let few: Vec<f64> = special.into_iter().step_by(3).collect();
    let left: Vec<f64> = few.iter().flat_map(|&x| few.iter().map(move |_| x)).collect();
    let right: Vec<f64> = few.iter().flat_map(|_| few.iter().copied()).collect();
    [draw(rng, case.x, &left, n, |_| true), draw(rng, case.y, &right, n, |_| true)]
}

/// The values of a function on a device at the first arguments, and on the host at all.
fn values<T: Float>(
    device: &Device,
    case: &Case,
    [x, y]: [&ArrayD<T>; 2],
) -> Result<[ArrayD<T>; 2], Box<dyn std::error::Error>> {
    let count = if device.is_emulated() { ARGUMENTS_EMULATED.min(x.len()) } else { x.len() };
    let part = |values: &ArrayD<T>| GpuArray::from_ndarray(device, &values.slice(s![..count]).into_dyn());
    let (a, b, order) = (part(x)?, part(y)?, case.order.into());
    let on_device = function::<T, Gpu>(case.function, order, [&Gpu::expr(&a), &Gpu::expr(&b)])?;
    let on_host = function::<T, Host>(case.function, order, [&host(x), &host(y)])?;
    Ok([on_device.eval()?.to_ndarray()?, on_host.eval()?])
}

/// Compiles the kernels of all cases together.
fn compile<T: Float>(device: &Device, cases: &[Case]) -> Outcome {
    let x = GpuArray::<T, _>::zeros(device, ndarray::IxDyn(&[ARGUMENTS_EMULATED]))?;
    let x = Gpu::expr(&x);
    let all = cases.iter().map(|case| function::<T, Gpu>(case.function, case.order.into(), [&x, &x]));
    let all: Vec<_> = all.collect::<Result<_, _>>()?;
    let list: Vec<_> = all.iter().map(|value| value as &dyn Precompile).collect();
    Ok(precompile(device, &list)?)
}

/// The program that computes the reference takes longest, so it runs beside the next cases.
fn check<T: Float + WritableElement>((device, compiler): &Machine, cases: &[Case]) -> Outcome
where
    f64: From<T>,
{
    let (program, prints) = (Program::build(compiler)?, prints()?);
    compile::<T>(device, cases)?;
    let most = thread::available_parallelism().map_or(2, |count| count.get().min(8));
    let (mut running, mut rows, mut rng) = (VecDeque::new(), Vec::new(), rng(31));
    for &case in cases {
        let [x, y] = operands::<T>(&mut rng, &case);
        let values = values(device, &case, [&x, &y])?;
        if running.len() == most {
            rows.extend(running.pop_front().map(joined).transpose()?.into_iter().flatten());
        }
        let (path, emulated) = (program.path(), device.is_emulated());
        running.push_back(thread::spawn(move || measure(&path, &case, [&x, &y], [&values[0], &values[1]], emulated)));
    }
    for thread in running {
        rows.extend(joined(thread)?);
    }
    let table = table::table(&rows);
    if prints {
        eprintln!("{table}");
    }
    ensure!(rows.iter().all(Row::holds), "errors are larger than documented (!):\n{table}");
    Ok(())
}

type Measuring = JoinHandle<Result<[Row; 2], String>>;

fn joined(thread: Measuring) -> Result<[Row; 2], String> {
    thread.join().map_err(|_| "a thread panicked".to_owned())?
}

fn measure<T: Float + WritableElement>(
    program: &Path,
    case: &Case,
    arguments: [&ArrayD<T>; 2],
    values: [&ArrayD<T>; 2],
    emulated: bool,
) -> Result<[Row; 2], String> {
    let index = usize::from(T::DTYPE == DType::F64);
    let errors = reference::errors(program, case.function, case.order, case.allowed[index], arguments, &values)?;
    let &[on_device, on_host] = errors.as_slice() else { return Err("not the errors of two places".to_owned()) };
    let row =
        |place, errors, ulps, amplitude, n| Row { case: *case, dtype: T::DTYPE, place, errors, ulps, amplitude, n };
    let host = case.on_host[index];
    let of_device = if emulated { case.emulated[index].max(case.ulps[index]).max(host) } else { case.ulps[index] };
    let [device_amplitude, host_amplitude, emulated_amplitude] = case.amplitudes.map(|pair| pair[index]);
    let amplitude = if emulated { emulated_amplitude } else { device_amplitude };
    let name = if emulated { "emulated" } else { "device" };
    Ok([
        row(name, on_device, of_device, amplitude, values[0].len()),
        row("host", on_host, host, host_amplitude, values[1].len()),
    ])
}

/// What the reference computes is the table's value, which mpmath computed with 60 digits and rounded once.
fn the_reference_has_the_values_of_the_table((_, compiler): &Machine) -> Outcome {
    let program = Program::build(compiler)?;
    let text = include_str!("../special.txt");
    let names = [("lgamma", "log_gamma"), ("tgamma", "gamma")];
    let mut all: Vec<(&str, Vec<f64>, Vec<f64>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let &[name, x, value] = fields.as_slice() else { return Err(line.into()) };
        if all.last().is_none_or(|(last, ..)| *last != name) {
            all.push((name, Vec::new(), Vec::new()));
        }
        let (_, arguments, values) = all.last_mut().ok_or("no function")?;
        arguments.push(x.parse()?);
        values.push(value.parse()?);
    }
    for (name, x, values) in all {
        let order: u8 = name.trim_start_matches(['j', 'y']).parse().unwrap_or(0);
        let of_order = if name.starts_with('j') { "jn" } else { "yn" };
        let renamed = names.iter().find(|(other, _)| *other == name).map_or(name, |(_, method)| method);
        let function = if order > 1 { of_order } else { renamed };
        let (x, values) = (vector(x), vector(values));
        let errors = reference::errors(&program.path(), function, order, 0.0, [&x, &x], &[&values])?;
        // The table has arguments nearest to zeros of Bessel functions.
        let is_near = |errors: &Errors| {
            if function.starts_with(['j', 'y']) { errors.amplitude[0] <= 0.51 } else { errors.ulps <= 0.51 }
        };
        ensure!(errors.iter().all(is_near), "{name}: {errors:?}");
    }
    Ok(())
}
