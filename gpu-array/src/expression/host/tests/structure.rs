//! Chunks, threads, registers, several outputs, uniform values, malformed codes.

use super::*;

#[test]
fn plain_expression() {
    let (x, y) = ([1f32, 2.0, 3.0], [10f32, 20.0, 30.0]);
    let mut b = Builder::new(&[3]);
    let (five, x, y) = (b.scalar(5f32), b.slice(&x), b.slice(&y));
    let scaled = b.step(Op::Multiply, DType::F32, &[five, x]);
    b.step(Op::Add, DType::F32, &[scaled, y]);
    assert_eq!(b.last::<f32>().unwrap(), [15.0, 30.0, 45.0]);
}
