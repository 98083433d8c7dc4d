"""Compares functions of complex numbers, read as lines `name TAB type TAB bytes of complex128`, with NumPy's of the next higher precision."""

import sys

import numpy as np

np.seterr(all="ignore")

FUNCTIONS = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}


def parts(values):
    return np.ascontiguousarray(values.astype(np.complex128)).view(np.float64).reshape(-1, 2)


def differences(name, z, got, dtype):
    wider = np.complex128 if dtype == "complex64" else np.clongdouble
    want = parts(FUNCTIONS[name](z.astype(wider)).astype(dtype))
    got, limits = parts(got), np.finfo(dtype)
    # Of an infinite value one part may be anything.
    infinite = np.isinf(want).any(axis=1) & np.isinf(got).any(axis=1)
    size = np.abs(want).max(axis=1, keepdims=True)
    near = np.abs(got - want) <= 4 * limits.eps * size + 4 * limits.smallest_subnormal
    largest = (np.abs(want) >= limits.max * (1 - 4 * limits.eps)) & np.isinf(got)
    same = (got == want) | (np.isnan(got) & np.isnan(want)) | near | largest
    # Signs of zeros, so the sides of branch cuts; C99 leaves those open whose argument is NaN, and where exp vanishes without a direction.
    open_ = np.isnan(z) | ((name == "exp") & np.isinf(z.real) & np.isinf(z.imag))
    sides = (want != 0) | (got != 0) | (np.signbit(want) == np.signbit(got)) | open_[:, None]
    return ~((same & sides).all(axis=1) | infinite), want


z, count = None, 0
for line in sys.stdin:
    name, dtype, digits = line.split("\t")
    values = np.frombuffer(bytes.fromhex(digits.strip()), np.complex128)
    if name == "operands":
        z = values.astype(dtype)
        continue
    bad, want = differences(name, z, values, dtype)
    count += 1
    for i in np.flatnonzero(bad)[:12]:
        print(f"{name}({z[i]}) of {dtype}: got {values[i]}, want {want[i]}")
print("same" if count == 2 * len(FUNCTIONS) else f"{count} functions")
