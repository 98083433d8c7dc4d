"""Reductions of whole vectors, of expressions and along an axis: sizes, bytes, right answers, and the calls that CuPy and PyTorch share.

Sums, products and the place of the largest are described in operations.py; what is here stands beside them.
"""

import functools

from .arrays import NOWHERE, Square, answered, at, sizes
from .operations import PLACES, SIZE, Operation, Vectors, total, wide

AWAY = 1.5  # what divides is kept away from 0, so that no term outweighs all others
LONGEST = sizes([("f32", 1 << 28)], [("f32", 1 << 20)], [("f32", 4096)])
SHORT = sizes([("f32", 1 << 14)], [("f32", 1 << 14)], [("f32", 4096)])
SIDES = sizes([("f32", 8192)], [("f32", 1024)], [("f32", 64)])


class Four(Vectors):
    """Four vectors."""

    def z(self):
        return self.block(2)

    def w(self):
        return self.block(3) + self.x.dtype.type(AWAY)


def of_the_largest_value(v, host):
    return abs(float(host()) - float(v.x.max()))


def of_mean_and_variance(v, host):
    """The mean relative to the deviation, for it is near 0, and the variance."""
    x = wide(v.x)
    mean, variance = x.mean(), x.var()
    return max(abs(float(host(0)) - mean) / variance**0.5, abs(float(host(1)) - variance) / variance)


def of_axis(axis):
    """Sums of columns or rows; magnitudes are what the error is relative to."""

    def want(v, i):
        import numpy as np

        others, sums, magnitudes = np.arange(v.side), np.empty(len(i)), np.empty(len(i))
        for place, k in enumerate(i):
            x = at(v, v.x, others * v.side + k if axis == 0 else k * v.side + others)
            sums[place], magnitudes[place] = x.sum(), abs(x).sum()
        return sums, magnitudes

    return answered(want, lambda v: v.side)


def axis_bytes(v):
    return v.bytes + v.side * SIZE[v.dtype]


def whole(v):
    """The matrix."""
    import numpy as np

    return np.tile(v.x, v.copies)[: v.n].reshape(v.side, v.side)


class Matrix(Square):
    """A square matrix with the means and deviations of its columns, and the tops and sums of its rows."""

    @functools.cached_property
    def columns(self):
        x = whole(self)
        return wide(x.mean(0, dtype="f8")), wide(x.std(0, dtype="f8"))

    @functools.cached_property
    def rows(self):
        import numpy as np

        x = whole(self)
        tops = wide(x.max(1))
        return tops, np.array([np.exp(wide(row) - top).sum() for row, top in zip(x, tops)])


def of_standardised(v, i):
    means, deviations = v.columns
    x, mean, deviation = at(v, v.x, i), means[i % v.side], deviations[i % v.side]
    return (x - mean) / deviation, (abs(x) + abs(mean)) / deviation


def of_softmax(v, i):
    import numpy as np

    tops, sums = v.rows
    value = np.exp(at(v, v.x, i) - tops[i // v.side]) / sums[i // v.side]
    return value, value


OPERATIONS = {
    "max": Operation(of_the_largest_value, lambda v: v.bytes, ceiling="read", sizes=PLACES),
    "mean-var": Operation(of_mean_and_variance, lambda v: v.bytes, ceiling="read", sizes=LONGEST, on_cpu=NOWHERE),
    "expression-sum": Operation(
        total(lambda v: wide(v.x) * wide(v.y) + wide(v.z()) / wide(v.w())),
        lambda v: 4 * v.bytes,
        ceiling="read",
        data=Four,
        sizes=LONGEST,
        on_cpu=NOWHERE,
    ),
    "reduce-axis0": Operation(of_axis(0), axis_bytes, ceiling="read", data=Square, sizes=SIDES, on_cpu=NOWHERE),
    "reduce-axis1": Operation(of_axis(1), axis_bytes, ceiling="read", data=Square, sizes=SIDES, on_cpu=NOWHERE),
    "standardise": Operation(
        answered(of_standardised), lambda v: 2 * v.bytes, ceiling="copy", data=Matrix, sizes=SIDES, on_cpu=NOWHERE
    ),
    "softmax": Operation(
        answered(of_softmax), lambda v: 2 * v.bytes, ceiling="copy", data=Matrix, sizes=SIDES, on_cpu=NOWHERE, slack=4.0
    ),
    "reduce-overhead": Operation(
        total(lambda v: wide(v.x)), sizes=SHORT, on_cpu=NOWHERE, variants=("-eval", "-write"), measures=("enqueue",)
    ),
}


class Reducing:
    """What CuPy and PyTorch write the same way; `vector` makes an input."""

    def four(self, v):
        return (self.vector(v, block) for block in (v.x, v.y, v.z(), v.w()))

    def sum(self, v):
        x = self.vector(v, v.x)
        return lambda: self.module.sum(x)

    def dot(self, v):
        x, y = self.vector(v, v.x), self.vector(v, v.y)
        return lambda: self.module.dot(x, y)

    def max(self, v):
        x = self.vector(v, v.x)
        return lambda: self.module.max(x)

    def argmax(self, v):
        x = self.vector(v, v.x)
        return lambda: self.module.argmax(x)

    def expression_sum(self, v):
        a, b, c, d = self.four(v)
        return lambda: self.module.sum(a * b + c / d)

    def reduce_axis0(self, v):
        x = self.vector(v, v.x).reshape(v.side, v.side)
        return lambda: self.module.sum(x, 0)

    def reduce_axis1(self, v):
        x = self.vector(v, v.x).reshape(v.side, v.side)
        return lambda: self.module.sum(x, 1)

    def reduce_overhead(self, v):
        x = self.vector(v, v.x)
        if v.variant == "-eval":
            return lambda: self.module.sum(x)
        out = self.module.sum(x)
        return lambda: self.module.sum(x, 0, out=out)
