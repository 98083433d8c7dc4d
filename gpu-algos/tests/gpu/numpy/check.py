"""Reads cases from stdin, computes each with NumPy, and says which differ; the last line is how many there were.

A case is a line of JSON: operation, element type, shape, axes, ddof, mask, and the bits of input and result in hexadecimal, both in C order.
An einsum has subscripts, and a list of inputs with their shapes.
Scans and `compress` are along the first of the axes.
"""
import json
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")


def norms(x, axes, kind):
    x = np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
    if kind == "l1":
        return np.abs(x).sum(axis=axes)
    return np.sqrt((x * x).sum(axis=axes)) if kind == "l2" else np.abs(x).max(axis=axes, initial=0.0)


def places(function, x, axes):
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    flat = x.transpose(kept + sorted(axes)).reshape([x.shape[axis] for axis in kept] + [-1])
    if not function.__name__.startswith("nan") or x.dtype.kind != "f":
        return function(flat, axis=-1)
    found = np.empty(flat.shape[:-1], np.int64)
    for at in np.ndindex(found.shape):
        there = np.flatnonzero(~np.isnan(flat[at]))
        found[at] = there[function(flat[at][there])] if len(there) else -1
    return found


def want(case, x, axes):
    op, ddof = case["op"], case["ddof"]
    if "cum" in op:
        return scan(op, x, case["axes"][0])
    compacted = selection(case, x)
    if compacted is not None:
        return compacted
    float_type = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind)
    real = {"f": x.dtype, "c": x.real.dtype}.get(x.dtype.kind, np.float64)
    total = {"sum": np.sum, "product": np.prod, "nansum": np.nansum, "nanprod": np.nanprod}
    wide = {"mean": np.mean, "var": np.var, "std": np.std, "nanmean": np.nanmean, "nanvar": np.nanvar, "nanstd": np.nanstd}
    plain = {"min": np.min, "max": np.max, "nanmin": np.nanmin, "nanmax": np.nanmax, "any": np.any, "all": np.all}
    place = {"argmin": np.argmin, "argmax": np.argmax, "nanargmin": np.nanargmin, "nanargmax": np.nanargmax}
    if op in total:
        result = total[op](x, axis=axes, dtype=float_type)
        return result.astype(x.dtype) if float_type else result
    if op == "mean" and x.dtype.kind == "c":
        # NumPy divides by a complex number, which brings a NaN into the other part.
        sums, count = np.asarray(np.sum(x, axis=axes, dtype=np.complex128)), np.prod([x.shape[axis] for axis in axes])
        return np.stack([sums.real / count, sums.imag / count], axis=-1).view(np.complex128)[..., 0].astype(x.dtype)
    if op in wide:
        count = np.prod([x.shape[axis] for axis in axes])
        if op in ("var", "std") and count <= ddof:
            # NumPy divides by 0 here, which gives inf where the values differ.
            return np.full(np.mean(x, axis=axes).shape, np.nan, real)
        return np.asarray(wide[op](x, axis=axes, dtype=np.float64, **({} if "mean" in op else {"ddof": ddof}))).astype(real)
    if op in plain:
        return plain[op](x, axis=axes)
    if op in place:
        return places(place[op], x, axes)
    if op == "count":
        return np.count_nonzero(x, axis=axes)
    return np.asarray(norms(x, axes, op)).astype(real)


def scan(op, x, axis):
    """A scan by its NumPy function; `exclusive` puts the identity element in front, `reversed` begins at the end."""
    if op.startswith("reversed_"):
        return np.flip(scan(op.removeprefix("reversed_"), np.flip(x, axis), axis), axis)
    if op.startswith("exclusive_"):
        inclusive = scan(op.removeprefix("exclusive_"), x, axis)
        first = np.full_like(inclusive.take([0], axis), identity(op.removeprefix("exclusive_"), inclusive.dtype))
        return np.concatenate([first, inclusive.take(range(x.shape[axis] - 1), axis)], axis)
    if op in ("cummax", "cummin"):
        return (np.maximum if op == "cummax" else np.minimum).accumulate(x, axis)
    float_type = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind)
    result = getattr(np, op)(x, axis, dtype=float_type)
    return result.astype(x.dtype) if float_type else result


def identity(op, dtype):
    if op in ("cumsum", "cumprod"):
        return op == "cumprod"
    least = op == "cummax"
    if dtype.kind == "f":
        return -np.inf if least else np.inf
    if dtype.kind == "b":
        return not least
    return np.iinfo(dtype).min if least else np.iinfo(dtype).max


def selection(case, x):
    op, axis = case["op"], case["axes"][0]
    flat = x.ravel()
    heads = np.concatenate([[True], flat[1:] != flat[:-1]])
    offsets = np.flatnonzero(heads)
    results = {
        "select": lambda: x[x > 0],
        "partition": lambda: np.concatenate([x[x > 0], x[~(x > 0)]]),
        "nonzero": lambda: np.concatenate(np.nonzero(x)),
        "compress": lambda: np.compress(case["mask"], x, axis),
        "unique": lambda: flat[heads],
        "run_values": lambda: flat[heads],
        "run_offsets": lambda: offsets,
        "run_lengths": lambda: np.diff(offsets, append=flat.size),
    }
    return results[op]() if op in results else None


def same(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind == "c":
        return same(got.real, want.real) and same(got.imag, want.imag)
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    # Each is rounded once from f64.
    close = {2: 1e-3, 4: 1e-6, 8: 1e-11}[got.dtype.itemsize]
    return np.allclose(got, want, rtol=close, atol=close * 1e-2, equal_nan=True)


def einsum(case):
    """What is wrong with an einsum; None if nothing is."""
    arrays = [
        np.frombuffer(bytes.fromhex(bits), case["dtype"]).reshape(shape)
        for bits, shape in zip(case["inputs"], case["shapes"])
    ]
    right = np.asarray(np.einsum(case["subscripts"], *arrays))
    got = np.frombuffer(bytes.fromhex(case["output"]), case["result"]).reshape(case["shape"])
    if same(got, right):
        return None
    return f"einsum {case['subscripts']} of {case['dtype']} {case['shapes']}: got {got!r}, NumPy {right!r}"


def main():
    count = 0
    for line in sys.stdin.readlines():
        case = json.loads(line)
        count += 1
        if case["op"] == "einsum":
            if told := einsum(case):
                print(told)
            continue
        x = np.frombuffer(bytes.fromhex(case["input"]), case["dtype"]).reshape(case["shape"])
        axes = tuple(case["axes"])
        right = np.asarray(want(case, x, axes))
        got = np.frombuffer(bytes.fromhex(case["output"]), case["result"]).reshape(right.shape)
        if not same(got, right):
            print(f"{case['op']} of {case['dtype']} {case['shape']} over {axes}: got {got!r}, NumPy {right!r} ({right.dtype})")
    print(count)


main()
