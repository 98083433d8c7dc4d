//! Random einsums on the host against NumPy, of numbers whose sums are exact.

use std::fmt::Write as _;

use gpu_algos::{
    einsum::EinsumElement,
    gpu_array::{Complex, DType, f16},
    host, reference,
};
use ndarray::{ArrayD, IxDyn};
use testkit::Rng;

use super::bits;
use crate::einsum::Case;

pub fn of_every_type(cases: &mut String, rng: &mut Rng) {
    for _ in 0..2 {
        of(cases, rng, |rng| rng.next_u64() as i8);
        of(cases, rng, Rng::next_u64);
        of(cases, rng, |rng| rng.below(3) as f64 - 1.0);
        of(cases, rng, |rng| f16::from_f32(rng.below(3) as f32 - 1.0));
        of(cases, rng, |rng| Complex::new(rng.below(3) as f32 - 1.0, rng.below(3) as f32 - 1.0));
    }
}

/// A random einsum, as lines for the script.
fn of<T: EinsumElement>(cases: &mut String, rng: &mut Rng, element: fn(&mut Rng) -> T) {
    let Case { subscripts, shapes } = Case::random(rng);
    let operands: Vec<ArrayD<T>> =
        shapes.iter().map(|shape| ArrayD::from_shape_simple_fn(IxDyn(shape), || element(rng))).collect();
    let views = || operands.iter().map(|operand| operand.view()).collect::<Vec<_>>();
    let (dtype, inputs): (DType, Vec<String>) =
        (T::DTYPE, operands.iter().map(|operand| bits(operand.iter())).collect());
    for got in [host::einsum(&subscripts, views()), reference::einsum(&subscripts, views())] {
        let got = got.expect("the shapes fit");
        let (output, shape) = (bits(got.iter()), got.shape());
        let _ = writeln!(
            cases,
            r#"{{"op":"einsum","subscripts":"{subscripts}","dtype":"{dtype}","result":"{dtype}","shapes":{shapes:?},"inputs":{inputs:?},"shape":{shape:?},"output":"{output}"}}"#
        );
    }
}
