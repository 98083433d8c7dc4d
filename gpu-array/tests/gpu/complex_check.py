"""Compares operations on complex numbers, read as lines `name TAB type TAB bytes of complex128`, with NumPy's."""

import sys

import numpy as np

np.seterr(all="ignore")

# NumPy's vector code may contract a product, so that its bits depend on the machine, and those of large factors too: a product of parts
# that overflows is infinite only if it is rounded alone. The definitions in the Rust tests say which.
PRODUCTS = {"a * b", "a * b + a", "square", "powi", "a * x", "a * i", "2.5 * a"}
NEAR = PRODUCTS | {"abs", "arg"}


def operations(z):
    a, b = np.broadcast_arrays(z[:, None], z[None, :])
    x = b.imag
    c = z.dtype.type(0.75 - 1.3j)
    other = np.complex128 if z.dtype == np.complex64 else np.complex64
    n, i = np.int8(-2), np.full(a.shape, 3, np.int32)
    one = z.dtype.type(1)
    return {
        "a + b": lambda: a + b,
        "a - b": lambda: a - b,
        "a * b": lambda: a * b,
        "a / b": lambda: a / b,
        "a * b + a": lambda: a * b + a,
        "-a": lambda: -a,
        "conj": lambda: a.conj(),
        "real": lambda: a.real,
        "imag": lambda: a.imag,
        "abs": lambda: abs(a),
        "arg": lambda: np.angle(a),
        "a == b": lambda: a == b,
        "a != b": lambda: a != b,
        "is_nan": lambda: np.isnan(a),
        "is_finite": lambda: np.isfinite(a),
        "where": lambda: np.where(a == b, a, c),
        "square": lambda: a * a,
        "recip": lambda: one / a,
        "powi": lambda: one / (a * a * a),
        "a * x": lambda: a * x,
        "x / a": lambda: x / a,
        "a - n": lambda: a - np.full(a.shape, n),
        "a * i": lambda: a * i,
        "a / C": lambda: a / c,
        "C / a": lambda: c / a,
        "2.5 * a": lambda: z.dtype.type(2.5) * a,
        "x + C": lambda: x + c,
        "C - x": lambda: c - x,
        "to complex": lambda: x.astype(z.dtype),
        "to the other complex": lambda: a.astype(other),
        "to bool": lambda: a.astype(bool),
        "to real": lambda: a.real,
        "from bool": lambda: (a == b).astype(z.dtype),
        "from an integer": lambda: i.astype(z.dtype),
    }


def same(got, want):
    return (got.view(np.uint64) == want.view(np.uint64)) | (np.isnan(got) & np.isnan(want))


known, compared = {}, 0
for line in sys.stdin:
    name, dtype, digits = line.split("\t")
    got = np.frombuffer(bytes.fromhex(digits.strip()), np.complex128)
    if name == "operands":
        known = operations(got.astype(dtype))
        z = got
        continue
    if name not in known:
        continue
    want = np.ascontiguousarray(known[name]().astype(np.complex128)).ravel()
    got_parts, want_parts = got.view(np.float64), want.view(np.float64)
    fits = same(got_parts, want_parts)
    if name in NEAR:
        eps = np.finfo(dtype).eps
        tiny = np.finfo(dtype).tiny
        size = np.repeat(np.abs(want), 2)
        fits |= np.abs(got_parts - want_parts) <= 8 * eps * size + tiny
    if name in PRODUCTS:
        large = np.finfo(dtype).max ** (1 / 3) / 4
        parts = np.abs(z.view(np.float64).reshape(-1, 2))
        moderate = ~((parts > large) & np.isfinite(parts)).any(1)
        both = (moderate[:, None] & moderate[None, :]).ravel()
        assert both.sum() > 10000
        fits |= ~np.repeat(both, 2)
    if not fits.all():
        at = np.flatnonzero(~fits)[0] // 2
        a, b = z[at // len(z)], z[at % len(z)]
        print(f"{dtype} {name}: {(~fits).sum()} parts; at {a} {b}: got {got[at]}, NumPy has {want[at]}")
    compared += 1
print("same" if compared == 64 else f"{compared} lines compared")
