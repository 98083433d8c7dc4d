"""Compares powers of complex numbers with NumPy's. Of each type it reads lines `name TAB type TAB bytes of complex128`: `z`, `w`, and `pow` at each pair."""

import sys

import numpy as np

np.seterr(all="ignore")


def parts(values):
    return np.ascontiguousarray(values.astype(np.complex128)).view(np.float64).reshape(-1, 2)


def differences(z, w, got, dtype):
    limits = np.finfo(dtype)
    wider = np.complex128 if dtype == "complex64" else np.clongdouble
    own, exact = np.power(z, w), np.power(z.astype(wider), w.astype(wider)).astype(dtype)
    got, own, exact = parts(got), parts(own), parts(exact)
    # Where the power is exp(w log z): the radians that an error of one unit in the logarithm makes.
    log = np.log(z)
    # By parts: NumPy may contract its products, which then overflow later.
    angle = w.real * log.imag + w.imag * log.real
    slack = limits.eps * np.hypot(np.abs(w.real * log.real - w.imag * log.imag), np.abs(angle)).astype(float)
    integer = (w.imag == 0) & (np.abs(w.real) < 100) & (w.real == np.trunc(w.real))
    slack = np.where(integer | ~np.isfinite(slack), limits.eps * 100, slack)[:, None]
    # No digit of such an angle is known, so the signs are not either. C99 leaves the signs of exp(-inf + i NaN) and of
    # exp(-inf + i inf) open (G.6.3.1).
    free = (slack > 1 / 8) | (np.isnan(angle)[:, None] & (own == 0).all(axis=1, keepdims=True))
    same_sign = (np.signbit(got) == np.signbit(own)) | free
    # The special values are those of the same precision: products overflow there.
    same = (np.isnan(got) & np.isnan(own)) | ((np.abs(got) == np.abs(own)) & same_sign)
    # Other values are those of the higher precision.
    size = np.hypot(exact[:, :1], exact[:, 1:])
    near = np.abs(got - exact) <= (8 * limits.eps + 4 * slack) * size + 8 * limits.smallest_subnormal
    near |= (slack > 1 / 8) & (np.hypot(got[:, :1], got[:, 1:]) <= 2 * np.hypot(own[:, :1], own[:, 1:]))
    near &= np.isfinite(own) & (got != 0) & (own != 0)
    return ~(same | near).all(axis=1), own


z, w, count = None, None, 0
for line in sys.stdin:
    name, dtype, digits = line.split("\t")
    values = np.frombuffer(bytes.fromhex(digits.strip()), np.complex128)
    if name == "z":
        z = values.astype(dtype)
    elif name == "w":
        w = values.astype(dtype)
    else:
        a, b = np.repeat(z, len(w)), np.tile(w, len(z))
        if name == "pow of reals":
            # NumPy makes complex numbers of them, too.
            b = b.real
            assert (np.power(a, b).view(np.uint8) == np.power(a, b.astype(dtype)).view(np.uint8)).all()
            b = b.astype(dtype)
        bad, want = differences(a, b, values, dtype)
        count += 1
        for i in np.flatnonzero(bad)[:12]:
            print(f"{name}: {a[i]} ** {b[i]} of {dtype}: got {values[i]}, NumPy has {want[i]}")
        if bad.any():
            print(f"{name} of {dtype}: {bad.sum()} of {len(bad)} differ")
print("same" if count == 4 else f"{count} lines")
