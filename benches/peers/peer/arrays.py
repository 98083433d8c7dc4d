"""Expressions over arrays and copies between layouts: sizes, bytes, right answers, and the calls of libraries that compute eagerly.

Inputs are the vectors of operations.py; matrices and cubes are such vectors in C order, and so are answers.
"""

from .operations import SIZE, Operation, Vectors, wide

NOWHERE = {"full": [], "quick": [], "tiny": []}


def sizes(full, quick, tiny):
    return {"full": full, "quick": quick, "tiny": tiny}


LENGTHS = sizes([("f32", 1 << 14), ("f32", 1 << 20), ("f32", 1 << 28)], [("f32", 1 << 20)], [("f32", 4096)])
LINCOMB = sizes(
    [*LENGTHS["full"], ("f64", 1 << 27), ("f16", 1 << 29), ("c64", 1 << 27), ("f32", 1 << 14, "-eval")],
    [*LENGTHS["quick"], ("f64", 1 << 19), ("f16", 1 << 21), ("c64", 1 << 19), ("f32", 1 << 14, "-eval")],
    [*LENGTHS["tiny"], ("f64", 2048), ("f16", 8192), ("c64", 2048), ("f32", 4096, "-eval")],
)
ON_CPU = sizes([("f32", 1 << 20), ("f32", 10_000_000)], [("f32", 1 << 20)], [("f32", 4096)])
LONGEST = sizes([("f32", 1 << 28)], [("f32", 1 << 20)], [("f32", 4096)])
EIGHTHS = sizes([("f32", 1 << 25)], [("f32", 1 << 17)], [("f32", 512)])
SHORT = sizes([("f32", 1 << 14)], [("f32", 1 << 14)], [("f32", 4096)])
BROADCAST = sizes([("f32", 8192)], [("f32", 1024)], [("f32", 64)])
LARGE = sizes([("f32", 16384)], [("f32", 1024)], [("f32", 64)])
TRANSPOSES = sizes(
    [("f32", 8192), ("f32", 16384), ("f64", 8192), ("u8", 16384)],
    [("f32", 512), ("f32", 1024), ("f64", 512), ("u8", 1024)],
    [("f32", 32), ("f32", 64), ("f64", 32), ("u8", 64)],
)
ROWS = sizes([("f32", 8192)], [("f32", 512)], [("f32", 32)])
HUNDREDS = sizes([("f32", 100_000_000)], [("f32", 1_000_000)], [("f32", 4000)])
CUBES = sizes([("f32", 256)], [("f32", 64)], [("f32", 16)])
CASTS = sizes(
    [("f32", 1 << 27, "-to-f64"), ("u8", 1 << 28, "-to-f32")],
    [("f32", 1 << 19, "-to-f64"), ("u8", 1 << 20, "-to-f32")],
    [("f32", 2048, "-to-f64"), ("u8", 4096, "-to-f32")],
)


class Square(Vectors):
    """A square matrix of so many rows."""

    def __init__(self, dtype, n, variant):
        super().__init__(dtype, n * n, variant)
        self.side = n


class Cube(Vectors):
    """So many square matrices of so many rows."""

    def __init__(self, dtype, n, variant):
        super().__init__(dtype, n**3, variant)
        self.side = n


class Eight(Vectors):
    """Eight vectors of n numbers, one behind the other."""

    def __init__(self, dtype, n, variant):
        super().__init__(dtype, 8 * n, variant)
        self.part = n


def at(v, block, places):
    return wide(block[places % v.period])


def answered(want, length=lambda v: v.n):
    """The error of an answer of so many elements, of which `want` gives those at some places and the size that the error is relative to."""

    def error(v, host):
        import numpy as np

        largest = 0.0
        for place in v.places(length(v)):
            value, size = want(v, np.arange(place.start, place.stop))
            difference = abs(wide(host(place)) - value)
            # What is 0 has to be 0.
            ratio = np.divide(difference, size, out=np.where(difference == 0, 0.0, np.inf), where=size != 0)
            largest = max(largest, float(ratio.max()))
        return largest

    return error


def moved(source, length=lambda v: v.n):
    """The same where place i of the answer is to have the number from place `source(v, i)`."""

    def want(v, i):
        value = at(v, v.x, source(v, i))
        return value, abs(value)

    return answered(want, length)


def taken_row(v, i):
    """Of which row is row i of the result: each row once, neighbours from far apart."""
    return (i * 3001 + 17) % v.side


def of_lincomb(v, i):
    a, b = 5 * at(v, v.x, i), 6 * at(v, v.y, i)
    return a + b, abs(a) + abs(b)


def of_wave(v, i):
    import numpy as np

    x, y = at(v, v.x, i), at(v, v.y, i)
    a, b = np.exp(x) * np.sin(y), np.sqrt(abs(x))
    return a + b, abs(a) + b


def of_eight(v, i):
    parts = [at(v, v.x, k * v.part + i) for k in range(8)]
    a, b, c, d = (parts[k] + parts[k + 1] for k in (0, 2, 4, 6))
    e, f, g, h = (abs(parts[k]) + abs(parts[k + 1]) for k in (0, 2, 4, 6))
    return 0.5 * (a * b + c * d), 0.5 * (e * f + g * h)


def of_broadcast(v, i):
    other = i % v.side if v.variant == "-row" else i // v.side
    a, b = at(v, v.x, i), at(v, v.x, other)
    return a + b, abs(a) + abs(b)


def of_where(v, i):
    x = at(v, v.x, i)
    return x * (x >= 0), abs(x)


def of_less(v, i):
    less = wide(at(v, v.x, i) < 0)
    return less, less


def of_cast(v, i):
    value = at(v, v.x, i)
    return value, abs(value)


def cast_bytes(v):
    return v.n * (SIZE[v.dtype] + SIZE[v.variant.removeprefix("-to-")])


def twice(v):
    return 2 * v.bytes


def thrice(v):
    return 3 * v.bytes


OPERATIONS = {
    "lincomb": Operation(answered(of_lincomb), thrice, ceiling="copy", sizes=LINCOMB, on_cpu=ON_CPU),
    "wave": Operation(answered(of_wave), thrice, ceiling="copy", sizes=LENGTHS, on_cpu=ON_CPU),
    "fused8": Operation(
        answered(of_eight, lambda v: v.part), lambda v: 9 * v.bytes // 8, ceiling="copy", data=Eight, sizes=EIGHTHS, on_cpu=NOWHERE
    ),
    "broadcast-add": Operation(
        answered(of_broadcast),
        lambda v: 2 * v.bytes + v.side * SIZE[v.dtype],
        ceiling="copy",
        data=Square,
        sizes=BROADCAST,
        on_cpu=NOWHERE,
        variants=("-row", "-column"),
    ),
    "where": Operation(answered(of_where), twice, ceiling="copy", sizes=LONGEST, on_cpu=NOWHERE),
    "less": Operation(answered(of_less), lambda v: v.bytes + v.n, ceiling="copy", sizes=LONGEST, on_cpu=NOWHERE),
    "transpose": Operation(
        moved(lambda v, i: i % v.side * v.side + i // v.side), twice, ceiling="copy", data=Square, sizes=TRANSPOSES, on_cpu=NOWHERE
    ),
    "permute": Operation(
        moved(lambda v, i: i % v.side**2 * v.side + i // v.side**2),
        twice,
        ceiling="copy",
        data=Cube,
        sizes=CUBES,
        on_cpu=NOWHERE,
        variants=("-201",),
    ),
    "strided-copy": Operation(
        moved(lambda v, i: 2 * (i // (v.side // 2)) * v.side + 2 * (i % (v.side // 2)), lambda v: v.n // 4),
        lambda v: v.bytes // 2,
        ceiling="copy",
        data=Square,
        sizes=LARGE,
        on_cpu=NOWHERE,
    ),
    "flip": Operation(moved(lambda v, i: v.n - 1 - i), twice, ceiling="copy", sizes=LONGEST, on_cpu=NOWHERE),
    "roll": Operation(moved(lambda v, i: (i - v.n // 3) % v.n), twice, ceiling="copy", sizes=LONGEST, on_cpu=NOWHERE),
    "take-rows": Operation(
        moved(lambda v, i: taken_row(v, i // v.side) * v.side + i % v.side),
        lambda v: 2 * v.bytes + 8 * v.side,
        ceiling="copy",
        data=Square,
        sizes=ROWS,
        on_cpu=NOWHERE,
    ),
    "concatenate": Operation(
        moved(lambda v, i: i), twice, ceiling="copy", sizes=HUNDREDS, on_cpu=NOWHERE, variants=("-from-100",)
    ),
    "astype": Operation(answered(of_cast), cast_bytes, ceiling="copy", sizes=CASTS, on_cpu=NOWHERE),
    "expression-overhead": Operation(
        answered(of_lincomb), sizes=SHORT, on_cpu=NOWHERE, variants=("-eval", "-assign"), measures=("enqueue",)
    ),
}


class Eager:
    """What users write, one operation after the other, each into a new array. `module` has the functions, `vector` makes an input;
    a library whose arrays are not NumPy's says what differs."""

    def contiguous(self, x):
        return self.module.ascontiguousarray(x)

    def permuted(self, x):
        return x.transpose(2, 0, 1)

    def reversed(self, x):
        return self.contiguous(x[::-1])

    def converted(self, x, dtype):
        return x.astype({"f32": "float32", "f64": "float64"}[dtype])

    def two(self, v):
        return self.vector(v, v.x), self.vector(v, v.y)

    def lincomb(self, v):
        x, y = self.two(v)
        return lambda: 5 * x + 6 * y

    def wave(self, v):
        m, (x, y) = self.module, self.two(v)
        return lambda: m.exp(x) * m.sin(y) + m.sqrt(m.abs(x))

    def fused8(self, v):
        a, b, c, d, e, f, g, h = self.vector(v, v.x).reshape(8, v.part)
        return lambda: ((a + b) * (c + d) + (e + f) * (g + h)) * 0.5

    def broadcast_add(self, v):
        x = self.vector(v, v.x)
        other = x[: v.side].reshape((1, -1) if v.variant == "-row" else (-1, 1)) + 0
        matrix = x.reshape(v.side, v.side)
        return lambda: (matrix + other).reshape(-1)

    def where(self, v):
        x = self.vector(v, v.x)
        zero = x[:1] * 0
        return lambda: self.module.where(x < 0, zero, x)

    def less(self, v):
        x = self.vector(v, v.x)
        return lambda: x < 0

    def transpose(self, v):
        x = self.vector(v, v.x).reshape(v.side, v.side)
        return lambda: self.contiguous(x.T).reshape(-1)

    def permute(self, v):
        x = self.vector(v, v.x).reshape(v.side, v.side, v.side)
        return lambda: self.contiguous(self.permuted(x)).reshape(-1)

    def strided_copy(self, v):
        x = self.vector(v, v.x).reshape(v.side, v.side)
        return lambda: self.contiguous(x[::2, ::2]).reshape(-1)

    def flip(self, v):
        x = self.vector(v, v.x)
        return lambda: self.reversed(x)

    def roll(self, v):
        x, shift = self.vector(v, v.x), v.n // 3
        return lambda: self.module.roll(x, shift)

    def indices(self, numbers):
        return self.module.asarray(numbers)

    def taken(self, x, rows):
        return x[rows]

    def take_rows(self, v):
        import numpy as np

        x = self.vector(v, v.x).reshape(v.side, v.side)
        rows = self.indices(taken_row(v, np.arange(v.side)))
        return lambda: self.taken(x, rows).reshape(-1)

    def concatenate(self, v):
        x, part = self.vector(v, v.x), v.n // 100
        # Sums are arrays of their own.
        parts = [x[k * part : (k + 1) * part] + 0 for k in range(100)]
        return lambda: self.module.concatenate(parts)

    def astype(self, v):
        x, dtype = self.vector(v, v.x), v.variant.removeprefix("-to-")
        return lambda: self.converted(x, dtype)

    def expression_overhead(self, v):
        x, y = self.two(v)
        if v.variant == "-eval":
            return lambda: 5 * x + 6 * y
        out = x + y

        def call():
            out[:] = 5 * x + 6 * y
            return out

        return call
