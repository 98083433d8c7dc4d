//! Chunks, threads, registers, several outputs, uniform values, malformed codes.

use std::sync::Arc;

use gpu_driver::Header;

use super::*;
use crate::expression::{Scope, graph::ErasedSource, host::plan::Plan};

#[test]
fn plain_expression() {
    let (x, y) = ([1f32, 2.0, 3.0], [10f32, 20.0, 30.0]);
    let mut b = Builder::new(&[3]);
    let (five, x, y) = (b.scalar(5f32), b.slice(&x), b.slice(&y));
    let scaled = b.step(Op::Multiply, DType::F32, &[five, x]);
    b.step(Op::Add, DType::F32, &[scaled, y]);
    assert_eq!(b.last::<f32>().unwrap(), [15.0, 30.0, 45.0]);
}

/// x -> (x * x) ^ x - x, of as many places as there are.
fn some_steps<T: Element>(b: &mut Builder<'_>, x: u32) -> u32 {
    let square = b.step(Op::Multiply, T::DTYPE, &[x, x]);
    let mixed = b.step(Op::Xor, T::DTYPE, &[square, x]);
    b.step(Op::Subtract, T::DTYPE, &[mixed, x])
}

#[test]
fn chunk_boundaries() {
    fn check<T: Element + Default>(n: usize, at: impl Fn(usize) -> T, want: impl Fn(T) -> T) {
        let x: Vec<T> = (0..n).map(at).collect();
        let mut b = Builder::new(&[n]);
        let leaf = b.slice(&x);
        some_steps::<T>(&mut b, leaf);
        let want: Vec<T> = x.iter().map(|&x| want(x)).collect();
        assert!(b.last::<T>().unwrap() == want, "{n} of {}", T::DTYPE);
    }
    // Registers of 16 KiB.
    for (bytes, counts) in [(1, [1, 2, 5, 20]), (4, [1, 2, 7, 20]), (8, [1, 3, 31, 40])] {
        for chunks in counts {
            for n in [chunks * 16384 / bytes - 1, chunks * 16384 / bytes, chunks * 16384 / bytes + 1] {
                match bytes {
                    1 => check(n, |i| (i * 7) as u8, |x| (x.wrapping_mul(x) ^ x).wrapping_sub(x)),
                    4 => check(n, |i| (i * 7) as u32, |x| (x.wrapping_mul(x) ^ x).wrapping_sub(x)),
                    _ => check(n, |i| i as i64 * 7, |x| (x.wrapping_mul(x) ^ x).wrapping_sub(x)),
                }
            }
        }
    }
}

#[test]
fn several_outputs_of_different_types() {
    for n in [1, 100, 4097, 300_000] {
        let x: Vec<i32> = (0..n as i32).map(|i| i - 50).collect();
        let mut b = Builder::new(&[n]);
        let (leaf, zero) = (b.slice(&x), b.scalar(0i32));
        let negative = b.step(Op::Less, DType::Bool, &[leaf, zero]);
        let wide = b.step(Op::Cast, DType::F64, &[leaf]);
        let root = b.step(Op::Sqrt, DType::F64, &[wide]);
        let small = b.step(Op::Cast, DType::U8, &[leaf]);
        let seven = b.scalar(7u16);
        let (mut flags, mut roots, mut wides, mut again) = (vec![false; n], vec![0.0; n], vec![0.0; n], vec![1.0; n]);
        let (mut bytes, mut copy, mut sevens) = (vec![0; n], vec![0; n], vec![0; n]);
        let outputs = vec![
            HostSliceMut::F64(&mut roots),
            HostSliceMut::Bool(&mut flags),
            HostSliceMut::F64(&mut wides),
            HostSliceMut::I32(&mut copy),
            HostSliceMut::U8(&mut bytes),
            HostSliceMut::U16(&mut sevens),
            HostSliceMut::F64(&mut again),
        ];
        b.run(&[root, negative, wide, leaf, small, seven, wide], outputs).unwrap();
        for (i, &x) in x.iter().enumerate() {
            assert_eq!((flags[i], copy[i], bytes[i], sevens[i]), (x < 0, x, x as u8, 7));
            assert_eq!((wides[i], again[i]), (f64::from(x), f64::from(x)));
            assert!(roots[i] == f64::from(x).sqrt() || (x < 0 && roots[i].is_nan()));
        }
    }
}

#[test]
fn a_long_chain_needs_few_registers() {
    let n = 1000;
    let x: Vec<i64> = (0..n as i64).collect();
    let mut b = Builder::new(&[n]);
    let (leaf, three) = (b.slice(&x), b.scalar(3i64));
    let mut last = leaf;
    for i in 0..200_000 {
        last = match i % 3 {
            0 => b.step(Op::Multiply, DType::I64, &[last, three]),
            1 => b.step(Op::Add, DType::I64, &[last, leaf]),
            _ => b.step(Op::Xor, DType::I64, &[three, last]),
        };
    }
    let mut want = x.clone();
    for i in 0..200_000 {
        for (value, x) in want.iter_mut().zip(&x) {
            *value = match i % 3 {
                0 => value.wrapping_mul(3),
                1 => value.wrapping_add(*x),
                _ => 3 ^ *value,
            };
        }
    }
    assert_eq!(b.last::<i64>().unwrap(), want);
    assert_eq!(Plan::new(&b.code).unwrap().register_count(), 2);
}

#[test]
fn a_long_chain_of_constants_is_computed_once() {
    let mut b = Builder::new(&[1_000_000]);
    let (one, mut last) = (b.scalar(1u32), b.scalar(0u32));
    for _ in 0..200_000 {
        last = b.step(Op::Add, DType::U32, &[last, one]);
    }
    assert!(b.last::<u32>().unwrap().iter().all(|&value| value == 200_000));
    assert_eq!(Plan::new(&b.code).unwrap().register_count(), 0);
}

#[test]
fn many_live_values() {
    // All 500 are needed at the end, and a sum: chunks become shorter.
    let n = 5000;
    let x: Vec<i64> = (0..n as i64).collect();
    let mut b = Builder::new(&[n]);
    let leaf = b.slice(&x);
    let values: Vec<u32> = (0..500i64)
        .map(|i| {
            let i = b.scalar(i);
            b.step(Op::Multiply, DType::I64, &[leaf, i])
        })
        .collect();
    let sum = values.into_iter().rev().reduce(|sum, value| b.step(Op::Add, DType::I64, &[sum, value]));
    assert!(sum.is_some());
    let want: Vec<i64> = x.iter().map(|x| x * (499 * 500 / 2)).collect();
    assert_eq!(b.last::<i64>().unwrap(), want);
    let plan = Plan::new(&b.code).unwrap();
    assert_eq!((plan.register_count(), plan.chunk()), (501, 256));
}

#[test]
fn what_nobody_needs_is_not_computed() {
    let x = [1f32, 2.0];
    let mut b = Builder::new(&[2]);
    let x = b.slice(&x);
    // This one would be an error.
    b.step(Op::And, DType::F32, &[x, x]);
    b.step(Op::Negate, DType::F32, &[x]);
    assert_eq!(b.last::<f32>().unwrap(), [-1.0, -2.0]);
}

#[test]
fn a_product_that_others_read_too() {
    let x: Vec<f32> = (0..10_000).map(|i| i as f32).collect();
    let mut b = Builder::new(&[x.len()]);
    let (leaf, three) = (b.slice(&x), b.scalar(3f32));
    let product = b.step(Op::Multiply, DType::F32, &[leaf, three]);
    let sum = b.step(Op::Add, DType::F32, &[product, leaf]);
    let square = b.step(Op::Multiply, DType::F32, &[product, product]);
    let alone = b.step(Op::Multiply, DType::F32, &[three, leaf]);
    let twice = b.step(Op::Add, DType::F32, &[alone, alone]);
    let (mut sums, mut squares, mut twices, mut alones) = (x.clone(), x.clone(), x.clone(), x.clone());
    let slices = [&mut sums, &mut squares, &mut twices, &mut alones];
    b.run(&[sum, square, twice, alone], slices.map(|slice| HostSliceMut::F32(slice)).into()).unwrap();
    for (i, &x) in x.iter().enumerate() {
        assert_eq!((sums[i], squares[i], twices[i], alones[i]), (4.0 * x, 3.0 * x * (3.0 * x), 6.0 * x, 3.0 * x));
    }
}

#[test]
fn select_of_slices_and_scalars() {
    let (c, x, y) = ([true, false, true, false], [1u8, 2, 3, 4], [10u8, 20, 30, 40]);
    for which in 0..8 {
        let mut b = Builder::new(&[4]);
        let condition = if which & 1 == 0 { b.slice(&c) } else { b.scalar(false) };
        let left = if which & 2 == 0 { b.slice(&x) } else { b.scalar(9u8) };
        let right = if which & 4 == 0 { b.slice(&y) } else { b.scalar(8u8) };
        b.step(Op::Select, DType::U8, &[condition, left, right]);
        let want: Vec<u8> = (0..4)
            .map(|i| match (which & 1 == 0 && c[i], which & 2 == 0, which & 4 == 0) {
                (true, true, _) => x[i],
                (true, false, _) => 9,
                (false, _, true) => y[i],
                (false, _, false) => 8,
            })
            .collect();
        assert_eq!(b.last::<u8>().unwrap(), want, "{which}");
    }
}

/// The square of the place.
#[derive(Debug)]
struct Squares;

impl ErasedSource for Squares {
    fn dtype(&self) -> DType {
        DType::F64
    }
    fn header(&self) -> Header {
        Header { name: "", text: "" }
    }
    fn function(&self) -> &'static str {
        ""
    }
    fn words(&self) -> &[u64] {
        &[]
    }
    fn scope(&self) -> Option<Scope> {
        None
    }
    fn fill(&self, places: &[i64], out: HostSliceMut<'_>) {
        let HostSliceMut::F64(out) = out else { panic!("of another type") };
        out.iter_mut().zip(places).for_each(|(out, &place)| *out = (place * place) as f64);
    }
}

#[test]
fn sources() {
    let mut b = Builder::new(&[100, 300]);
    b.code.sources.push(Arc::new(Squares));
    let place = b.index(0, &[300, 1]);
    let values = b.step(Op::Source, DType::F64, &[0, place]);
    b.step(Op::Negate, DType::F64, &[values]);
    let want: Vec<f64> = (0..30_000).map(|i| -f64::from(i) * f64::from(i)).collect();
    assert_eq!(b.last::<f64>().unwrap(), want);
    let four = b.scalar(4i64);
    b.step(Op::Source, DType::F64, &[0, four]);
    assert!(b.last::<f64>().unwrap() == vec![16.0; 30_000]);
    b.step(Op::Source, DType::I64, &[0, place]);
    assert!(b.last::<i64>().is_err());
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let n = 1_000_003;
    let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
    let mut b = Builder::new(&[n]);
    let leaf = b.slice(&x);
    let exp = b.step(Op::Exp, DType::F64, &[leaf]);
    b.step(Op::Power, DType::F64, &[exp, leaf]);
    let mut with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| b.last::<f64>().unwrap())
    };
    let one = with(1);
    assert!(one.iter().zip(&x).all(|(got, x)| *got == x.exp().powf(*x)));
    assert!(with(2) == one && with(7) == one);
}

#[test]
fn no_places_and_one() {
    let none: [f32; 0] = [];
    let mut b = Builder::new(&[0]);
    let leaf = b.slice(&none);
    b.step(Op::Exp, DType::F32, &[leaf]);
    assert!(b.last::<f32>().unwrap().is_empty());
    let mut b = Builder::new(&[]);
    let leaf = b.leaf_at(ArrayViewD::from_shape(&[][..], &[4f32]).unwrap(), 0, &[]);
    b.step(Op::Sqrt, DType::F32, &[leaf]);
    assert_eq!(b.last::<f32>().unwrap(), [2.0]);
}

#[test]
fn malformed_codes_are_errors() {
    let x = [1f32, 2.0];
    let new = || {
        let mut b = Builder::new(&[2]);
        b.slice(&x);
        b
    };
    let fails = |op, dtype, args: &[u32]| {
        let mut b = new();
        b.step(op, dtype, args);
        b.last::<f32>().is_err()
    };
    assert!(!fails(Op::Negate, DType::F32, &[0]));
    assert!(fails(Op::Negate, DType::F32, &[1]), "itself");
    assert!(fails(Op::Negate, DType::F32, &[9]), "nothing");
    assert!(fails(Op::Leaf, DType::F32, &[1]), "no such leaf");
    assert!(fails(Op::Scalar, DType::F32, &[0]), "no such scalar");
    assert!(fails(Op::Gather, DType::F32, &[0, 0, 0]), "no such table");
    assert!(fails(Op::Source, DType::F32, &[0, 0]), "no such source");
    assert!(fails(Op::Leaf, DType::F64, &[0]), "of another type");
    assert!(fails(Op::Select, DType::F32, &[0, 0, 0]), "no condition");
    assert!(fails(Op::Less, DType::F32, &[0, 0]), "a result of another type");
    let mut b = new();
    let other = b.scalar(1f64);
    b.step(Op::Add, DType::F32, &[0, other]);
    assert!(b.last::<f32>().is_err(), "an operand of another type");
    for (shape, places) in [(&[usize::MAX, 2][..], None), (&[usize::MAX, 2, 0][..], Some(0))] {
        let mut b = Builder::new(shape);
        let one = b.scalar(1f32);
        assert_eq!(b.run(&[one], vec![HostSliceMut::F32(&mut [])]).ok(), places.map(|_: usize| ()));
    }
    let mut out = [0f32; 2];
    assert!(new().run(&[0], vec![]).is_err());
    assert!(new().run(&[0], vec![HostSliceMut::F32(&mut out[..1])]).is_err());
    assert!(new().run(&[1], vec![HostSliceMut::F32(&mut out)]).is_err());
    assert!(new().run(&[0], vec![HostSliceMut::I32(&mut [0; 2])]).is_err());
    assert!(new().run(&[0], vec![HostSliceMut::F32(&mut out)]).is_ok());
}
