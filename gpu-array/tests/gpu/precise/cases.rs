//! The functions that are measured, with the errors that the documentation of their methods allows.

use std::f64::consts::FRAC_PI_2;

use super::functions::Piece::{self, Any, Exponents, Multiples, Positive, Range};

/// Arguments that a case takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Region {
    All,
    /// |x| is less.
    Within(f64),
    /// |x| is not less.
    Beyond(f64),
    /// From the first to the second.
    Between(f64, f64),
}

/// A function in a region. Pairs are for f32 and f64.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub function: &'static str,
    pub order: u8,
    pub region: Region,
    /// Of the arguments of a function that has several cases, this has one in so many.
    pub share: usize,
    pub x: &'static [Piece],
    pub y: &'static [Piece],
    /// Units in the last place, on the device.
    pub ulps: [f64; 2],
    /// On the host.
    pub on_host: [f64; 2],
    /// On the emulated device, where it is larger than both.
    pub emulated: [f64; 2],
    /// Errors up to this number count for nothing.
    pub allowed: [f64; 2],
    /// Units in the last place of the larger of the value and the amplitude that `errors.cpp` defines, on the device, on the host and on the emulated
    /// device.
    pub amplitudes: [[f64; 2]; 3],
}

/// Where no bound is documented.
const NONE: [f64; 2] = [f64::INFINITY; 2];
/// The C library's functions on the host.
const LIBRARY: [f64; 2] = [2.0; 2];

impl Case {
    const fn new(function: &'static str, ulps: [f64; 2], on_host: [f64; 2], x: &'static [Piece]) -> Self {
        let (emulated, allowed, amplitudes) = ([0.0; 2], [0.0; 2], [NONE; 3]);
        Self {
            function,
            order: 0,
            region: Region::All,
            share: 1,
            x,
            y: &[],
            ulps,
            on_host,
            emulated,
            allowed,
            amplitudes,
        }
    }

    const fn of_two(self, y: &'static [Piece]) -> Self {
        Self { y, ..self }
    }

    const fn on_host(self, on_host: [f64; 2]) -> Self {
        Self { on_host, ..self }
    }

    const fn emulated(self, emulated: [f64; 2]) -> Self {
        Self { emulated, ..self }
    }

    const fn part(self, share: usize, region: Region) -> Self {
        Self { share, region, ..self }
    }

    const fn or(self, allowed: [f64; 2]) -> Self {
        Self { allowed, ..self }
    }

    const fn amplitudes(self, amplitudes: [[f64; 2]; 3]) -> Self {
        Self { amplitudes, ..self }
    }
}

const fn library(function: &'static str, ulps: [f64; 2], x: &'static [Piece]) -> Case {
    Case::new(function, ulps, LIBRARY, x)
}

/// The host rounds values of f64 to f32.
const fn special(function: &'static str, ulps: [f64; 2], x: &'static [Piece]) -> Case {
    Case::new(function, ulps, [1.0, ulps[1]], x)
}

const fn exact(function: &'static str, x: &'static [Piece]) -> Case {
    Case::new(function, [0.0; 2], [0.0; 2], x)
}

const LOGARITHM: &[Piece] = &[Any, Positive(-1022, 1023), Positive(-10, 10), Multiples(1.0, 1, 1)];
const CIRCLE: &[Piece] = &[Any, Range(-10.0, 10.0), Exponents(-40, 30), Multiples(FRAC_PI_2, -1_000_000, 1_000_000)];
const UNIT: &[Piece] = &[Range(-1.0, 1.0), Exponents(-1022, 0), Exponents(-10, 0), Multiples(1.0, -1, 1)];
const HYPERBOLA: &[Piece] = &[Range(-711.0, 711.0), Range(-90.0, 90.0), Range(-3.0, 3.0), Exponents(-60, 4)];
const PLANE: &[Piece] = &[Any, Exponents(-30, 30), Range(-1.0, 1.0)];
const BASE: &[Piece] = &[Positive(-1022, 1023), Positive(-40, 40), Range(0.0, 3.0), Multiples(1.0, -9, 9)];
const POWER: &[Piece] = &[Range(-30.0, 30.0), Exponents(-20, 12), Multiples(1.0, -20, 20)];

pub const ELEMENTARY: &[Case] = &[
    library("exp", [2.0, 1.0], &[Any, Range(-750.0, 712.0), Range(-105.0, 90.0), Exponents(-60, 4)]),
    library("exp2", [2.0, 2.0], &[Any, Range(-1080.0, 1026.0), Range(-151.0, 129.0), Exponents(-60, 4)]),
    library("expm1", [2.0, 2.0], &[Range(-40.0, 712.0), Range(-20.0, 90.0), Range(-2.0, 2.0), Exponents(-1022, 4)]),
    library("log", [1.0, 1.0], LOGARITHM),
    library("log2", [1.0, 2.0], LOGARITHM),
    library("log10", [2.0, 2.0], LOGARITHM).on_host([3.0, 2.0]),
    library("log1p", [1.0, 2.0], &[Exponents(-1022, 1), Range(-1.0, 1.0), Positive(-2, 1023), Multiples(-1.0, 1, 1)]),
    library("cbrt", [1.0, 1.0], &[Any, Exponents(-10, 10)]).on_host([2.0, 4.0]),
    library("sin", [2.0, 2.0], CIRCLE),
    library("cos", [2.0, 2.0], CIRCLE),
    library("tan", [4.0, 3.0], CIRCLE),
    library("asin", [2.0, 2.0], UNIT),
    library("acos", [2.0, 2.0], UNIT),
    library("atan", [2.0, 2.0], &[Any, Range(-10.0, 10.0), Exponents(-60, 60), Multiples(1.0, -1, 1)]),
    library("sinh", [3.0, 2.0], HYPERBOLA),
    library("cosh", [3.0, 2.0], HYPERBOLA),
    library("tanh", [2.0, 2.0], &[Range(-22.0, 22.0), Range(-1.0, 1.0), Exponents(-1022, 6)]).on_host([3.0, 3.0]),
    library("pow", [8.0, 2.0], BASE).of_two(POWER),
    library("atan2", [3.0, 2.0], PLANE).of_two(PLANE),
    library("hypot", [3.0, 2.0], PLANE).of_two(PLANE),
];

/// Units in the last place of 1.
const fn units(n: f64) -> [f64; 2] {
    [n * f32::EPSILON as f64, n * f64::EPSILON]
}

const ABOVE: &[Piece] = &[Positive(-1022, 1022), Range(-2.0, 4.0), Range(0.0, 200.0), Multiples(1.0, -1, 2)];
const BELOW: &[Piece] = &[Range(-11.1, -2.0), Multiples(1.0, -170, -2), Range(-200.0, -11.0), Exponents(1, 50)];

const FACTORIAL: &[Piece] = &[Range(-30.0, 30.0), Range(-185.0, 172.0), Exponents(-60, 3), Multiples(1.0, -170, 171)];

pub const SPECIAL: &[Case] = &[
    special("asinh", [3.0, 3.0], &[Any, Exponents(-60, 60), Range(-3.0, 3.0)]),
    special("acosh", [4.0, 3.0], &[Range(1.0, 3.0), Multiples(1.0, 1, 1), Positive(0, 1023), Positive(0, 60)]),
    special("atanh", [4.0, 3.0], UNIT),
    special("erf", [2.0, 2.0], &[Range(-6.0, 6.0), Range(-1.0, 1.0), Exponents(-1022, 3)]),
    special("erfc", [5.0, 5.0], &[Range(-6.0, 27.5), Range(0.0, 10.0), Range(-1.0, 1.0), Exponents(-60, 5)]),
    special("log_gamma", [6.0, 4.0], ABOVE).part(2, Region::Between(-2.0, f64::INFINITY)),
    special("log_gamma", NONE, BELOW)
        .part(2, Region::Between(f64::NEG_INFINITY, -2.0))
        .or(units(6.0))
        .on_host([1.0, f64::INFINITY])
        .amplitudes([[6.0; 2]; 3]),
    special("gamma", [5.0, 10.0], FACTORIAL).emulated([8.0, 10.0]),
];

const NEAR: &[Piece] = &[Range(-8.0, 8.0), Exponents(-1022, 3), Exponents(-10, 3)];
const FAR: &[Piece] = &[Range(8.0, 100.0), Range(-100.0, -8.0), Exponents(3, 30), Exponents(3, 1023)];
/// The functions of the second kind are NaN below 0.
const NEAR_ABOVE: &[Piece] = &[Range(0.0, 8.0), Positive(-1022, 3), Positive(-10, 3)];
const FAR_ABOVE: &[Piece] = &[Range(8.0, 100.0), Positive(3, 30), Positive(3, 1023)];
const ORDERS: &[Piece] =
    &[Range(-40.0, 200.0), Range(-8.0, 40.0), Exponents(-1022, 10), Positive(3, 60), Positive(3, 1023)];

const fn below_8(function: &'static str, x: &'static [Piece]) -> Case {
    special(function, [9.0, 7.0], x).or(units(1.0)).part(2, Region::Within(8.0)).amplitudes([
        NONE,
        [1.0, 5.0],
        [5.0; 2],
    ])
}

const fn from_8(function: &'static str, x: &'static [Piece]) -> Case {
    let case = special(function, [0.0; 2], x).on_host([0.0; 2]).or([2.2e-6, 5e-12]).part(2, Region::Beyond(8.0));
    case.amplitudes([NONE, [1.0, 6.0], [6.0; 2]])
}

const fn of_order(case: Case, order: u8, least: f64) -> Case {
    let amplitude = [1.0, least + order as f64];
    Case { order, ..case }.or([1.2e-11; 2]).amplitudes([NONE, amplitude, amplitude])
}

const fn jn(order: u8) -> Case {
    of_order(special("jn", [1.0, 0.0], ORDERS).part(4, Region::All), order, 40.0)
}

const fn yn_below_8(order: u8) -> Case {
    of_order(special("yn", [1.0, 2.0 + 2.5 * order as f64], NEAR_ABOVE).part(8, Region::Within(8.0)), order, 8.0)
}

const fn yn_from_8(order: u8) -> Case {
    of_order(special("yn", [1.0, 2e-11 / f64::EPSILON], FAR_ABOVE).part(8, Region::Beyond(8.0)), order, 8.0)
}

pub const BESSEL: &[Case] = &[
    below_8("j0", NEAR),
    from_8("j0", FAR),
    below_8("j1", NEAR),
    from_8("j1", FAR),
    below_8("y0", NEAR_ABOVE),
    from_8("y0", FAR_ABOVE),
    below_8("y1", NEAR_ABOVE),
    from_8("y1", FAR_ABOVE),
    jn(2),
    jn(5),
    jn(30),
    jn(128),
    yn_below_8(2),
    yn_from_8(2),
    yn_below_8(5),
    yn_from_8(5),
    yn_below_8(30),
    yn_from_8(30),
    yn_below_8(128),
    yn_from_8(128),
];

const FLOATS: &[Piece] = &[Any, Exponents(-60, 60), Multiples(1.0, -100, 100)];
const SHIFTS: &[Piece] = &[Range(-2200.0, 2200.0), Range(-300.0, 300.0), Range(-20.0, 20.0)];

pub const EXACT: &[Case] = &[
    exact("sqrt", FLOATS),
    exact("mantissa", FLOATS),
    exact("exponent", FLOATS),
    exact("fraction", FLOATS),
    exact("integer", FLOATS),
    exact("ldexp", FLOATS).of_two(SHIFTS),
    exact("copysign", FLOATS).of_two(FLOATS),
    exact("nextafter", FLOATS).of_two(FLOATS),
];
