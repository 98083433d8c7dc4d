//! Two streams: the order that an event gives holds for every seed, and an order that nothing gives fails for some.

use gpu_driver::{Device, DeviceVec, DriverError, Stream};
use testkit::{Outcome, ensure};

use crate::harness::{Text, launch, order, ramp, text, upload, values};

static PRODUCER_CONSUMER: Text = text!("correct", "producer_consumer");
static STORE: Text = text!("broken", "store");

/// The text of this file that no other has.
pub static TEXTS: &[&Text] = &[&PRODUCER_CONSUMER];

const SEEDS: std::ops::Range<u64> = 0..20;
const LEN: u32 = 100;

/// Produces on one stream and consumes on another; returns whether the consumer saw what was produced.
fn hand_over(device: &Device, with_event: bool) -> gpu_driver::Result<bool> {
    let module = PRODUCER_CONSUMER.load(device)?;
    let (produce, consume) = (module.function("produce")?, module.function("consume")?);
    let (first, second) = (Stream::new(device)?, Stream::new(device)?);
    let x = DeviceVec::<u32>::zeros(&first, LEN as usize)?;
    let y = DeviceVec::<u32>::zeros(&second, LEN as usize)?;
    device.synchronize()?;
    launch(&produce, 1, 64, 0, values![x.as_raw(), LEN], &first)?;
    if with_event {
        second.wait(&first.record()?)?;
    }
    launch(&consume, 1, 64, 0, values![x.as_raw(), y.as_raw(), LEN], &second)?;
    let right = y.to_vec()? == (1..=LEN).map(|i| 3 * i).collect::<Vec<_>>();
    device.synchronize()?;
    Ok(right)
}

/// On any device.
pub fn an_event_orders_two_streams(device: &Device) -> Outcome {
    ensure!(hand_over(device, true)?);
    if device.is_emulated() {
        for seed in SEEDS {
            ensure!(hand_over(&order("random").seed(seed).open()?, true)?, "seed {seed}");
        }
    }
    Ok(())
}

pub fn a_missing_event_shows_for_some_seed(_: &()) -> Outcome {
    let mut wrong = 0;
    for seed in SEEDS {
        let right = hand_over(&order("random").seed(seed).open()?, false);
        wrong += u32::from(!matches!(right, Ok(true)));
    }
    ensure!(wrong > 0, "20 seeds gave the right answer without an event");
    Ok(())
}

/// Uses a buffer on one stream and releases it on another, where it lives; returns the outcome of both.
fn release_elsewhere(device: &Device, with_event: bool) -> gpu_driver::Result<()> {
    let function = STORE.function(device, "store")?;
    let (home, other) = (device.stream(), Stream::new(device)?);
    let x = upload(device, &ramp(32))?;
    let address = x.as_raw();
    device.synchronize()?;
    launch(&function, 1, 32, 0, values![address], &other)?;
    if with_event {
        home.follow(&other)?;
    }
    drop(x);
    device.synchronize()
}

/// On any device.
pub fn an_event_keeps_a_buffer_until_it_was_used(device: &Device) -> Outcome {
    release_elsewhere(device, true)?;
    if device.is_emulated() {
        for seed in SEEDS {
            release_elsewhere(&order("random").seed(seed).open()?, true).map_err(|e| format!("seed {seed}: {e}"))?;
        }
    }
    Ok(())
}

pub fn an_early_release_shows_for_some_seed(_: &()) -> Outcome {
    let mut reported = 0;
    for seed in SEEDS {
        match release_elsewhere(&order("random").seed(seed).open()?, false) {
            Ok(()) => {}
            Err(DriverError::DeviceLost { code, .. }) if code.0 == 700 => reported += 1,
            Err(other) => return Err(other.into()),
        }
    }
    ensure!(reported > 0, "20 seeds used the buffer before it was released");
    Ok(())
}
