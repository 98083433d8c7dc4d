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

# The signs that C99's annex G calls unspecified, and no other: function, parts of the argument, part of the value whose sign is open, paragraph.
# An argument without a sign is meant with either. sin(z) is -i sinh(iz), cos(z) is cosh(iz), and so on, by the definitions of G.6.
RE, IM = 0, 1
OPEN = [
    ("acos", "inf", "nan", IM, "G.6.1.1: NaN +- i inf"),
    ("asinh", "nan", "inf", RE, "G.6.2.2: +-inf + i NaN"),
    ("asin", "inf", "nan", IM, "G.6.2.2"),
    ("atanh", "nan", "inf", RE, "G.6.2.3: +-0 + i pi/2"),
    ("atan", "inf", "nan", IM, "G.6.2.3"),
    ("cosh", "0", "inf", IM, "G.6.2.4: NaN +- i0"),
    ("cosh", "0", "nan", IM, "G.6.2.4: NaN +- i0"),
    ("cosh", "inf", "inf", RE, "G.6.2.4: +-inf + i NaN"),
    ("cosh", "nan", "0", IM, "G.6.2.4: NaN +- i0"),
    ("cos", "inf", "0", IM, "G.6.2.4"),
    ("cos", "nan", "0", IM, "G.6.2.4"),
    ("cos", "inf", "inf", RE, "G.6.2.4"),
    ("cos", "0", "nan", IM, "G.6.2.4"),
    ("sinh", "0", "inf", RE, "G.6.2.5: +-0 + i NaN"),
    ("sinh", "0", "nan", RE, "G.6.2.5: +-0 + i NaN"),
    ("sinh", "inf", "inf", RE, "G.6.2.5: +-inf + i NaN"),
    ("sinh", "inf", "nan", RE, "G.6.2.5: +-inf + i NaN"),
    ("sin", "inf", "0", IM, "G.6.2.5"),
    ("sin", "nan", "0", IM, "G.6.2.5"),
    ("sin", "inf", "inf", IM, "G.6.2.5"),
    ("sin", "nan", "inf", IM, "G.6.2.5"),
    ("tanh", "inf", "inf", IM, "G.6.2.6: 1 +- i0"),
    ("tanh", "inf", "nan", IM, "G.6.2.6: 1 +- i0"),
    ("tan", "inf", "inf", RE, "G.6.2.6"),
    ("tan", "nan", "inf", RE, "G.6.2.6"),
    ("exp", "-inf", "inf", RE, "G.6.3.1: +-0 +- i0"),
    ("exp", "-inf", "inf", IM, "G.6.3.1: +-0 +- i0"),
    ("exp", "-inf", "nan", RE, "G.6.3.1: +-0 +- i0"),
    ("exp", "-inf", "nan", IM, "G.6.3.1: +-0 +- i0"),
    ("exp", "+inf", "inf", RE, "G.6.3.1: +-inf + i NaN"),
    ("exp", "+inf", "nan", RE, "G.6.3.1: +-inf + i NaN"),
    ("sqrt", "-inf", "nan", IM, "G.6.4.2: NaN +- i inf"),
]


def parts(values):
    return np.ascontiguousarray(values.astype(np.complex128)).view(np.float64).reshape(-1, 2)


def equals(part, text):
    value = float(text)
    if np.isnan(value):
        return np.isnan(part)
    return (part == value) if text[0] in "+-" else (np.abs(part) == value)


def open_signs(name, z):
    free = np.zeros((z.size, 2), bool)
    for function, re, im, part, _ in OPEN:
        if function == name:
            free[:, part] |= equals(z.real, re) & equals(z.imag, im)
    return free


def is_special(z, limits):
    """Arguments of which each part is one at which a definition branches: there no value may vanish instead of being tiny."""
    values = np.array([0, 1, 2.5, np.inf, limits.max, limits.tiny])
    return (np.isin(np.abs(parts(z)), values) | np.isnan(parts(z))).all(axis=1)


def differences(name, z, got, dtype):
    wider = np.complex128 if dtype == "complex64" else np.clongdouble
    want = parts(FUNCTIONS[name](z.astype(wider)).astype(dtype))
    got, limits = parts(got), np.finfo(dtype)
    # NaN where NaN is, infinities and zeros with their signs, and other parts within units of the larger finite one.
    same_sign = (np.signbit(got) == np.signbit(want)) | open_signs(name, z)
    exact = (np.isnan(got) & np.isnan(want)) | ((np.abs(got) == np.abs(want)) & same_sign)
    size = np.where(np.isfinite(want), np.abs(want), 0).max(axis=1, keepdims=True)
    near = np.abs(got - want) <= 4 * limits.eps * size + 4 * limits.smallest_subnormal
    near &= (got != 0) | (want != 0)
    near &= ~is_special(z, limits)[:, None] | ((got == 0) == (want == 0))
    largest = (np.minimum(np.abs(got), np.abs(want)) >= limits.max * (1 - 4 * limits.eps)) & same_sign
    return ~(exact | near | largest).all(axis=1), want


z, count = None, 0
for line in sys.stdin:
    name, dtype, digits = line.split("\t")
    values = np.frombuffer(bytes.fromhex(digits.strip()), np.complex128)
    if name == "operands":
        z = values.astype(dtype)
        special = is_special(z, np.finfo(dtype))
        # Twelve parts and NaN, in all pairs; NaN has either sign.
        assert len(np.unique(parts(z)[special].view(np.uint64), axis=0)) == 14 * 14
        continue
    bad, want = differences(name, z, values, dtype)
    count += 1
    for i in np.flatnonzero(bad)[:12]:
        print(f"{name}({z[i]}) of {dtype}: got {values[i]}, want {want[i]}")
print("same" if count == 2 * len(FUNCTIONS) else f"{count} functions")
