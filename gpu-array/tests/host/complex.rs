//! Complex numbers on the CPU against their definitions, at all pairs of awkward values.

use gpu_array::{Complex, Element, expression::host};
use ndarray::{Array2, array};

use crate::complex::{c64, c128, difference};

macro_rules! each_operation {
    ($test:ident $module:ident) => {
        #[test]
        fn $test() {
            let (a, b, x) = $module::operands();
            // Of the shape of both, so that every result has a value for each pair.
            let shape = (a.len(), b.len());
            let (a, b, x) = (host(&a).broadcast(shape), host(&b).broadcast(shape), host(&x).broadcast(shape));
            let (n, i) = (Array2::from_elem((1, 1), -2i8), Array2::from_elem((1, 1), 3i32));
            let (n, i) = (host(&n).broadcast(shape), host(&i).broadcast(shape));
            for (name, value, definition) in $module::operations([&a, &b], &x, &n, &i) {
                let got = value.eval().unwrap();
                let want = $module::wanted(definition, got.len());
                assert_eq!(difference(name, &got, &want), None);
            }
        }
    };
}
each_operation!(operations_on_complex64_follow_their_definitions c64);
each_operation!(operations_on_complex128_follow_their_definitions c128);

#[test]
fn values_that_are_the_same_everywhere_keep_both_parts() {
    let z = array![Complex::new(1.0, 2.0), Complex::new(3.0, -4.0)];
    let one = array![Complex::new(0.5, -8.0)];
    let got = (host(&z) + (host(&one) * Complex::new(0.0, 1.0) - Complex::from(2.0))).eval().unwrap();
    assert_eq!(got, array![Complex::new(7.0, 2.5), Complex::new(9.0, -3.5)]);
    assert_eq!(<Complex<f64> as Element>::DTYPE.name(), "complex128");
    let text = format!("{:?}", host(&z) * Complex::new(0.0, 1.5));
    assert_eq!(text, "Expr<complex128>((complex128[2] * complex(0, 1.5)))");
}
