"""Operations on vectors and dense matrices: sizes, bytes, right answers.

A vector is a block of at most 2^20 random numbers in [-1, 1), repeated: as random to the machine as one that never repeats, and its
right answers follow from those of the block, in float64.
"""

import dataclasses
import functools
import typing

SEED = 20261121
PERIOD = 1 << 20
PIECE = 1 << 16
SIZE = {"u8": 1, "f16": 2, "f32": 4, "f64": 8, "c64": 8}
FLOATS = ("f32", "f64")
# The error that an answer may have; relative to the sum of magnitudes where numbers are added.
BOUND = {"u8": 0.0, "f16": 4e-3, "f32": 1e-4, "f64": 1e-12, "c64": 1e-4}
FILLED = 1.5

VECTORS = {
    "full": [("f32", 1 << 20), ("f32", 1 << 28), ("f64", 1 << 27)],
    "quick": [("f32", 1 << 20)],
    "tiny": [("f32", 4096), ("f64", 4096)],
}
# As long as the benches of ours on the CPU.
ON_CPU = {
    "full": [(dtype, n) for dtype in FLOATS for n in (1 << 20, 1 << 25)],
    "quick": [(dtype, 1 << 20) for dtype in FLOATS],
    "tiny": VECTORS["tiny"],
}
# As short as a launch too.
REDUCED = {
    **VECTORS,
    "full": [("f32", 1 << 14), ("f32", 1 << 20), ("f32", 1 << 28), ("f64", 1 << 14), ("f64", 1 << 20), ("f64", 1 << 27)],
    "quick": [("f32", 1 << 20), ("f64", 1 << 20)],
}
# As many bytes as the longest of f32.
TOTALS = {
    "full": [*REDUCED["full"], ("f16", 1 << 29)],
    "quick": [*REDUCED["quick"], ("f16", 1 << 21)],
    "tiny": [*REDUCED["tiny"], ("f16", 8192)],
}
SUMS = {**VECTORS, "full": [("f32", 1 << 20), ("f32", 1 << 28)]}
PLACES = {which: [size for size in reduced if size[0] == "f32"] for which, reduced in REDUCED.items()}
# The bus knows no element types, and locking pages for longer vectors takes many times as long as what is measured.
TRANSFERS = {"full": [("f32", 1 << 20), ("f32", 1 << 24), ("f32", 1 << 28)], "quick": [("f32", 1 << 20)], "tiny": [("f32", 4096)]}
SQUARES = {
    "full": [("f32", 4096), ("f64", 4096)],
    "quick": [("f32", 512), ("f64", 512)],
    "tiny": [("f32", 64), ("f64", 64)],
}


class Vectors:
    """Two vectors of `n` numbers, as blocks on the host."""

    def __init__(self, dtype, n, variant):
        self.dtype, self.n, self.variant = dtype, n, variant
        self.period = min(n, PERIOD)
        self.repeats = n // self.period
        self.copies = -(-n // self.period)  # one more than repeats where the last is cut
        self.bytes = n * SIZE[dtype]

    def block(self, which):
        import numpy as np

        parts = 2 if self.dtype == "c64" else 1
        random = np.random.default_rng([SEED, which]).random(parts * self.period)
        if self.dtype == "u8":
            return (256 * random).astype(np.uint8)
        if self.dtype == "c64":
            return (2 * random - 1).astype(np.float32).view(np.complex64)
        return (2 * random - 1).astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[self.dtype])

    x = functools.cached_property(lambda self: self.block(0))
    y = functools.cached_property(lambda self: self.block(1))

    def places(self, n=None):
        """The first, middle and last ones: where a long answer, of n elements, is looked at."""
        n = n or self.n
        piece = min(n, PIECE)
        return [slice(start, start + piece) for start in sorted({0, (n - piece) // 2, n - piece})]

    def expected(self, block, place):
        """The repeated block there."""
        import numpy as np

        return block[np.arange(place.start, place.stop) % self.period]

    def prefix_sums(self, block, place):
        import numpy as np

        sums, at = np.cumsum(block, dtype=np.float64), np.arange(place.start, place.stop)
        return (at // self.period) * sums[-1] + sums[at % self.period]


class Squares:
    """Two square matrices on the host."""

    def __init__(self, dtype, n, variant):
        import numpy as np

        self.dtype, self.n, self.variant = dtype, n, variant
        real = np.float32 if dtype == "f32" else np.float64
        self.a, self.b = ((2 * np.random.default_rng([SEED, i]).random((n, n)) - 1).astype(real) for i in (0, 1))


@dataclasses.dataclass
class Operation:
    """`error` compares with the right answer: of the data and a function that brings the answer, or a place of it, to the host."""

    error: typing.Callable
    bytes: typing.Callable = lambda data: None
    flops: typing.Callable = lambda data: None
    ceiling: str = None
    data: type = Vectors
    sizes: dict = dataclasses.field(default_factory=lambda: VECTORS)
    on_cpu: dict = dataclasses.field(default_factory=lambda: ON_CPU)
    variants: tuple = ("",)
    measures: tuple = ("device", "wall")
    slack: float = 1.0  # how many times the usual bound its error may be
    makes: bool = False  # whether a new array is what is measured; that of a case `-eval` is

    def makes_arrays(self, data):
        return self.makes or getattr(data, "variant", "") == "-eval"


def total(terms):
    """Of the answer, a sum of n terms: those of a block, repeated."""

    def error(v, host):
        of_block = terms(v)
        return abs(float(host()) - v.repeats * of_block.sum()) / (v.repeats * abs(of_block).sum())

    return error


def everywhere(difference):
    """The largest of a difference at places of the answer."""
    return lambda v, host: max(float(difference(v, place, host(place)).max()) for place in v.places())


def wide(block):
    return block.astype("c16" if block.dtype.kind == "c" else "f8")


def of_prefix_sums(v, place, got):
    return abs(got - v.prefix_sums(v.x, place)) / v.prefix_sums(abs(v.x), place)


def of_counting(v, place, got):
    import numpy as np

    want = np.arange(place.start, place.stop)
    return abs(wide(got) - want) / np.maximum(want, 1)


def of_the_largest(v, host):
    at = int(host())
    return float(v.x.max() - v.x[at % v.period]) if 0 <= at < v.n else float("inf")


def of_the_norm(v, host):
    want = (v.repeats * (wide(v.x) ** 2).sum()) ** 0.5
    return abs(float(host()) - want) / want


def of_uniform(v, host):
    """None can be known; but all lie in [0, 1], and their mean is that of a fair generator."""
    import numpy as np

    sample = np.concatenate([host(place) for place in v.places()])
    if not ((sample >= 0) & (sample <= 1)).all() or abs(sample.mean(dtype="f8") - 0.5) > 5 / (12 * sample.size) ** 0.5:
        raise ArithmeticError("these are not uniform random numbers")


def of_a_product(s, host):
    """Of three rows, relative to |A| |B|."""
    rows = sorted({0, s.n // 2, s.n - 1})
    got, a, b = host()[rows], wide(s.a[rows]), wide(s.b)
    return float((abs(got - a @ b) / (abs(a) @ abs(b))).max())


same_as_x = everywhere(lambda v, place, got: abs(got - v.expected(v.x, place)))

OPERATIONS = {
    "sum": Operation(total(lambda v: wide(v.x)), lambda v: v.bytes, ceiling="read", sizes=TOTALS),
    "dot": Operation(total(lambda v: wide(v.x) * wide(v.y)), lambda v: 2 * v.bytes, ceiling="read", sizes=REDUCED),
    # NumPy's of 2^28 f32 is off by 1.5e-3: squares add up without cancelling, in f32. A figure with its error, no wrong answer.
    "norm2": Operation(of_the_norm, lambda v: v.bytes, ceiling="read", slack=100.0),
    "argmax": Operation(of_the_largest, lambda v: v.bytes, ceiling="read", sizes=PLACES),
    "inclusive-scan": Operation(everywhere(of_prefix_sums), lambda v: 2 * v.bytes, ceiling="copy", sizes=SUMS),
    "fill": Operation(everywhere(lambda v, place, got: abs(got - FILLED)), lambda v: v.bytes, ceiling="fill"),
    "copy": Operation(same_as_x, lambda v: 2 * v.bytes, ceiling="copy"),
    "arange": Operation(everywhere(of_counting), lambda v: v.bytes, ceiling="fill", makes=True),
    "xorwow-uniform": Operation(of_uniform, lambda v: v.bytes, ceiling="fill"),
    "upload": Operation(same_as_x, lambda v: v.bytes, sizes=TRANSFERS, variants=("-pageable", "-pinned"), measures=("wall",)),
    "download": Operation(
        same_as_x, lambda v: v.bytes, sizes=TRANSFERS, variants=("-pageable", "-pinned", "-fresh"), measures=("wall",)
    ),
    "gemm": Operation(of_a_product, flops=lambda s: 2 * s.n**3, data=Squares, sizes=SQUARES),
}
