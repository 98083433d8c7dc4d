//! Requests that cannot be met are errors, and leave the stream where it was.

use gpu_random::{Order, Philox, RandomError, Result, Xorwow};
use ndarray::{Array2, s};

fn parameter(outcome: Result<()>, name: &str) {
    assert!(matches!(&outcome, Err(RandomError::Parameter { name: got, .. }) if *got == name), "{outcome:?}");
}

#[test]
fn parameters_outside_their_range() {
    let mut rng = Philox::new(1);
    let out = &mut [0.0_f64; 3][..];
    for mean in [f64::NAN, f64::INFINITY] {
        parameter(rng.fill_normal_with(&mut *out, mean, 1.0), "mean");
        parameter(rng.fill_log_normal(&mut *out, mean, 1.0), "mean");
    }
    for deviation in [-1.0, f64::NAN, f64::INFINITY] {
        parameter(rng.fill_normal_with(&mut *out, 0.0, deviation), "deviation");
        parameter(rng.fill_log_normal(&mut *out, 0.0, deviation), "deviation");
    }
    for mean in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        parameter(rng.fill_exponential(&mut *out, mean), "mean");
    }
    for probability in [-0.1, 1.5, f64::NAN] {
        parameter(rng.fill_bernoulli(&mut [0_u8; 3][..], probability), "probability");
    }
    for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e10] {
        parameter(rng.fill_poisson(&mut [0_u32; 3][..], lambda), "lambda");
    }
    assert!(matches!(rng.fill_range(&mut *out, 1.0..1.0), Err(RandomError::EmptyRange { .. })));
    assert!(matches!(rng.fill_range(&mut [0_i32; 3][..], 4..4), Err(RandomError::EmptyRange { .. })));
    assert_eq!(rng, Philox::new(1));
    assert_eq!(out, [0.0; 3]);
    rng.fill_normal_with(&mut *out, 5.0, 0.0).expect("a deviation of 0 is none");
    assert_eq!(out, [5.0; 3]);
}

#[test]
fn orders_without_generators_or_with_too_many() {
    for generators in [0, (1 << 24) + 1] {
        let outcome = Xorwow::new(1).with_order(Order::Generators(generators));
        assert!(matches!(outcome, Err(RandomError::Generators { .. })), "{outcome:?}");
    }
    assert!(matches!(Xorwow::with_seeds(&[]), Err(RandomError::Generators { got: 0, .. })));
    let seeded = Xorwow::with_seeds(&[1, 2, 3]).expect("three seeds");
    assert!(matches!(seeded.with_order(Order::Generators(4)), Err(RandomError::Generators { got: 4, most: 3 })));
}

#[test]
fn positions_of_other_streams() {
    let (mut xorwow, philox) = (Xorwow::new(1), Philox::new(1).with_order(Order::Generators(4096)).expect("a few"));
    let outcome = xorwow.set_position(&philox.position());
    assert!(matches!(outcome, Err(RandomError::PositionKind { got: "XORWOW", .. })), "{outcome:?}");
    let three = Xorwow::new(1).with_order(Order::Generators(3)).expect("three");
    let outcome = xorwow.set_position(&three.position());
    assert!(matches!(outcome, Err(RandomError::Position { expected: 3, got: 4096 })), "{outcome:?}");
    assert!(xorwow == Xorwow::new(1));
}

#[test]
fn arrays_with_gaps_are_filled_in_c_order() {
    let mut numbers = [0; 8];
    Philox::new(1).fill_bits(&mut numbers[..]).expect("host memory");
    let mut array = Array2::<u32>::zeros((4, 4));
    Philox::new(1).fill_bits(&mut array.slice_mut(s![.., 1..3])).expect("columns");
    assert!(array.slice(s![.., 1..3]).iter().eq(&numbers) && array.column(0).sum() == 0 && array.column(3).sum() == 0);
    let mut array = Array2::<u32>::zeros((4, 4));
    Philox::new(1).fill_bits(&mut array.slice_mut(s![1..3, ..])).expect("whole rows");
    assert_eq!((array[[1, 0]], array[[3, 0]]), (Philox::new(1).first(), 0));
    Philox::new(1).fill_bits(&mut array.slice_mut(s![..;2, ..;-2])).expect("reversed columns");
    assert!(array.slice(s![..;2, ..;-2]).iter().eq(&numbers[..4]));
}

trait First {
    fn first(self) -> u32;
}

impl First for Philox {
    fn first(mut self) -> u32 {
        let mut out = [0];
        self.fill_bits(&mut out[..]).expect("host memory");
        out[0]
    }
}
