"""Compares operations on numbers of 16 bits, read as lines `name TAB bytes of float64`, with those of NumPy's float16."""

import sys

import numpy as np

np.seterr(all="ignore")

# NumPy computes these in float32, with errors of its own, and rounds them.
NEAR = {"exp", "log", "sin", "tanh", "cbrt", "atan2", "hypot", "pow"}


def operations(z):
    a, b = np.broadcast_arrays(z[:, None], z[None, :])
    half = np.float16(0.5)
    return {
        "a + b": lambda: a + b,
        "a - b": lambda: a - b,
        "a * b": lambda: a * b,
        "a / b": lambda: a / b,
        "a % b": lambda: a % b,
        "a // b": lambda: a // b,
        "fmod": lambda: np.fmod(a, b),
        "-a": lambda: -a,
        "abs": lambda: abs(a),
        "sign": lambda: np.sign(a),
        "sqrt": lambda: np.sqrt(a),
        "floor": lambda: np.floor(a),
        "ceil": lambda: np.ceil(a),
        "round": lambda: np.round(a),
        "trunc": lambda: np.trunc(a),
        "minimum": lambda: np.minimum(a, b),
        "maximum": lambda: np.maximum(a, b),
        "fmin": lambda: np.fmin(a, b),
        "copysign": lambda: np.copysign(a, b),
        "square": lambda: np.square(a),
        "recip": lambda: np.reciprocal(a),
        "a * 0.5": lambda: a * half,
        "where": lambda: np.where(a < b, a, b),
        "mantissa": lambda: np.frexp(a)[0],
        "exponent": lambda: np.frexp(a)[1],
        "fraction": lambda: np.modf(a)[0],
        "ldexp": lambda: np.ldexp(a, 3),
        "ldexp far": lambda: np.ldexp(a, -100000),
        "nextafter": lambda: np.nextafter(a, b),
        "a < b": lambda: a < b,
        "a >= b": lambda: a >= b,
        "a == b": lambda: a == b,
        "a != b": lambda: a != b,
        "is_nan": lambda: np.isnan(a),
        "is_finite": lambda: np.isfinite(a),
        "to f32": lambda: a.astype(np.float32),
        "to bool": lambda: a.astype(bool),
        "to complex": lambda: a.astype(np.complex128).real,
        "from bool": lambda: (a > b).astype(np.float16),
        "from complex": lambda: a.astype(np.complex64).real.astype(np.float16),
        "with f32": lambda: a + b.astype(np.float32),
        "exp": lambda: np.exp(a),
        "log": lambda: np.log(a),
        "sin": lambda: np.sin(a),
        "tanh": lambda: np.tanh(a),
        "cbrt": lambda: np.cbrt(a),
        "atan2": lambda: np.arctan2(a, b),
        "hypot": lambda: np.hypot(a, b),
        "pow": lambda: a**b,
        "two roundings": lambda: a * b + a,
        "powi": lambda: a**2,
    }


def same(got, want):
    return (got.view(np.uint64) == want.view(np.uint64)) | (np.isnan(got) & np.isnan(want))


compared = 0
for line in sys.stdin:
    name, digits = line.split("\t")
    got = np.frombuffer(bytes.fromhex(digits.strip()), np.float64)
    if name == "operands":
        z = got.astype(np.float16)
        known = operations(z)
        continue
    if name not in known:
        continue
    result = np.ascontiguousarray(known[name]()).ravel()
    want = result.astype(np.float64)
    fits = same(got, want)
    if name in {"minimum", "maximum", "fmin", "nextafter"}:
        # Of two zeros NumPy takes either; where both operands of nextafter are zeros, C takes the second and NumPy the first.
        fits |= (got == 0) & (want == 0)
    if name in NEAR:
        near = [np.nextafter(result, np.float16(to)).astype(np.float64) for to in (-np.inf, np.inf)]
        fits |= same(got, near[0]) | same(got, near[1])
    if not fits.all():
        at = np.flatnonzero(~fits)[0]
        print(f"{name}: {(~fits).sum()} values; at {z[at // len(z)]} {z[at % len(z)]}: got {got[at]}, NumPy has {want[at]}")
    compared += 1
print("same" if compared == 51 else f"{compared} operations compared")
