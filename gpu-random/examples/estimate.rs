//! Estimates pi, and the price of an option, by random numbers, with an interval that shrinks as they grow more:
//! `cargo run --release --example estimate -- --plot estimate.svg`.
//!
//! pi is four times the share of points of the unit square that lie in the circle. The option is a European call on a share whose price follows a
//! geometric Brownian motion; its expected value is known (Black and Scholes 1973).
#![forbid(unsafe_code)]

#[path = "estimate/plot.rs"]
mod plot;
#[path = "estimate/running.rs"]
mod running;

use std::{error::Error, path::PathBuf};

use clap::{Parser, ValueEnum};
use gpu_algos::prelude::*;
use gpu_array::{GpuArray, expression::where_};
use gpu_driver::Device;
use gpu_random::Philox;
use running::{Running, Snapshot};

/// Estimates pi and an option's price.
#[derive(Parser)]
struct Arguments {
    /// Points, and paths of the share, in all.
    #[arg(long, default_value_t = 1 << 24)]
    count: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_enum, default_value_t = Processor::Cpu)]
    device: Processor,
    /// Draws how the intervals shrink.
    #[arg(long)]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Processor {
    Cpu,
    Cuda,
}

/// Mean and variance of some values.
type Moments = Result<(f64, f64), Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Arguments::parse();
    let device = match options.device {
        Processor::Cpu => None,
        Processor::Cuda => Some(Device::first()?),
    };
    let device = device.as_ref();
    let mut rng = Philox::new(options.seed);
    let pi = estimate("pi", std::f64::consts::PI, options.count, |n| points(&mut rng, n, device))?;
    let option = estimate("option", CALL.price(), options.count, |n| paths(&mut rng, n, device))?;
    if let Some(path) = options.plot {
        plot::intervals(&path, &[("pi", pi), ("option", option)])?;
        println!("{} shows the intervals", path.display());
    }
    Ok(())
}

/// Means of batches, each as large as all before it.
fn estimate(
    name: &str,
    truth: f64,
    count: usize,
    mut batch: impl FnMut(usize) -> Moments,
) -> Result<Vec<Snapshot>, Box<dyn Error>> {
    let (mut running, mut told) = (Running::default(), Vec::new());
    let mut next = 256.min(count.max(1));
    while next > 0 {
        let (mean, variance) = batch(next)?;
        running.add(next, mean, variance);
        let now = running.now(truth);
        println!("{name}: {now}");
        told.push(now);
        next = running.count().min(count.saturating_sub(running.count()));
    }
    Ok(told)
}

/// 4 for points in the circle, else 0.
fn points(rng: &mut Philox, n: usize, device: Option<&Device>) -> Moments {
    let Some(device) = device else {
        let (mut x, mut y) = (vec![0.0_f64; n], vec![0.0_f64; n]);
        rng.fill_uniform(&mut x)?;
        rng.fill_uniform(&mut y)?;
        return Ok(running::moments(x.iter().zip(&y).map(|(x, y)| if x * x + y * y <= 1.0 { 4.0 } else { 0.0 })));
    };
    let (x, y): (GpuArray<f64, _>, GpuArray<f64, _>) = (rng.gen_uniform(device, n)?, rng.gen_uniform(device, n)?);
    let (mean, variance) = where_((x.square() + y.square()).le(1.0), 4.0, 0.0).mean_var(0).eval()?;
    Ok((mean.get()?, variance.get()?))
}

/// Mean and variance of the option's pay-off, discounted to today.
fn paths(rng: &mut Philox, n: usize, device: Option<&Device>) -> Moments {
    let Call { share, strike, rate, volatility, years } = CALL;
    let (drift, spread) = ((rate - 0.5 * volatility * volatility) * years, volatility * years.sqrt());
    let discount = (-rate * years).exp();
    let Some(device) = device else {
        let mut z = vec![0.0_f64; n];
        rng.fill_normal(&mut z)?;
        let pays = |z: &f64| discount * (share * (drift + spread * z).exp() - strike).max(0.0);
        return Ok(running::moments(z.iter().map(pays)));
    };
    let z: GpuArray<f64, _> = rng.gen_normal(device, n)?;
    let pays = (((spread * &z + drift).exp() * share - strike).maximum(0.0)) * discount;
    let (mean, variance) = pays.mean_var(0).eval()?;
    Ok((mean.get()?, variance.get()?))
}

/// The right to buy a share for a price at a time.
struct Call {
    share: f64,
    strike: f64,
    rate: f64,
    volatility: f64,
    years: f64,
}

const CALL: Call = Call { share: 100.0, strike: 105.0, rate: 0.02, volatility: 0.2, years: 1.0 };

impl Call {
    /// The option's price by the formula of Black and Scholes.
    fn price(&self) -> f64 {
        let spread = self.volatility * self.years.sqrt();
        let first = ((self.share / self.strike).ln() + self.rate * self.years) / spread + 0.5 * spread;
        let discount = (-self.rate * self.years).exp();
        self.share * running::normal_below(first) - discount * self.strike * running::normal_below(first - spread)
    }
}
