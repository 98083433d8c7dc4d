"""Arrays of the Rust library `python_module` beside those of CuPy and PyTorch, in one process.

usage: python_module.py LIBRARY [cupy] [torch]

It prints "same", or fails and says what differs.
"""

import ctypes
import sys

VERSIONED, UNVERSIONED = b"dltensor_versioned", b"dltensor"
# The taker of a capsule renames it, by a text that lives on.
USED = {VERSIONED: b"used_dltensor_versioned", UNVERSIONED: b"used_dltensor"}

library = ctypes.CDLL(sys.argv[1])
POINTER, SIZE, FLOAT, BYTE = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_float, ctypes.c_uint8
for name, result, arguments in [
    ("failure", ctypes.c_char_p, []),
    ("stream_handle", POINTER, []),
    ("range", POINTER, [SIZE, SIZE]),
    ("times", POINTER, [POINTER, FLOAT]),
    ("times_unversioned", POINTER, [POINTER, FLOAT]),
    ("add_in_place", ctypes.c_int, [POINTER, FLOAT]),
    ("element", FLOAT, [POINTER, SIZE, SIZE]),
    ("counted", POINTER, [SIZE, SIZE, BYTE, BYTE]),
    ("doubled", POINTER, [POINTER]),
    ("is_doubled", ctypes.c_int, [POINTER]),
]:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [POINTER, ctypes.c_char_p, POINTER]
python.PyCapsule_GetPointer.restype = POINTER
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


# The element types of ours, as DLPack has them: kind and bits.
TYPES = {
    "bool": (6, 8), "int8": (0, 8), "int16": (0, 16), "int32": (0, 32), "int64": (0, 64),
    "uint8": (1, 8), "uint16": (1, 16), "uint32": (1, 32), "uint64": (1, 64),
    "float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32), "float64": (2, 64),
    "complex64": (5, 64), "complex128": (5, 128),
}
# The types that each of the others must know; the unsigned ones of PyTorch came late, and CuPy has no bfloat16.
NEEDED = set(TYPES) - {"bfloat16", "uint16", "uint32", "uint64"}


def checked(result):
    """The result of a function of the library; an exception where it is null or -1."""
    if result in (None, -1):
        raise RuntimeError(library.failure().decode())
    return result


class Array:
    """An array of the library, which one other library may take over."""

    def __init__(self, tensor, form=VERSIONED):
        self.tensor, self.form = checked(tensor), form

    def __dlpack__(self, **_):
        checked(library.wait())
        return python.PyCapsule_New(self.tensor, self.form, None)

    def __dlpack_device__(self):
        return 2, checked(library.device_number())


def given(array, form=VERSIONED):
    """The tensor of an array of any library, which ours takes over."""
    version = {"max_version": (1, 1)} if form == VERSIONED else {}
    capsule = array.__dlpack__(stream=checked(library.stream_handle()), **version)
    tensor = python.PyCapsule_GetPointer(capsule, form)
    python.PyCapsule_SetName(capsule, USED[form])
    return tensor


def alone():
    """Arrays of ours go out and come in again."""
    x = Array(library.times(given(Array(library.range(3, 4))), 2.5))
    got = library.element(given(x), 2, 1)
    assert got == 22.5, got
    got = library.element(library.range(3, 4), 3, 0)
    assert got != got, got
    assert library.times(None, 1.0) is None and library.add_in_place(None, 1.0) == 0
    for name, (code, bits) in TYPES.items():
        doubled = Array(library.doubled(given(Array(library.counted(5, 7, code, bits)))))
        assert checked(library.is_doubled(given(doubled))) == 1, name
        once = library.is_doubled(given(Array(library.counted(5, 7, code, bits))))
        assert once == 0, (name, once)
    assert library.counted(5, 7, 2, 8) is None and "element type" in library.failure().decode()


class Cupy:
    def __init__(self):
        import cupy

        self.library, self.take = cupy, cupy.from_dlpack

    def range(self, n, dtype="float32"):
        return self.library.arange(n, dtype=dtype)

    def host(self, x):
        return x.get()

    def of(self, values, dtype):
        """A matrix of that type with the values of one of float64, or of which of them are odd."""
        return self.library.asarray(values % 2 if dtype == "bool" else values).astype(dtype)

    def name(self, x):
        return str(x.dtype)

    def doubled(self, x):
        """The matrix that ours makes of x."""
        return ~x if self.name(x) == "bool" else x + x

    def same(self, a, b):
        return self.name(a) == self.name(b) and bool((a == b).all())


class Torch:
    def __init__(self):
        import torch

        self.library, self.take = torch, torch.from_dlpack

    def range(self, n, dtype="float32"):
        return self.library.arange(n, dtype=getattr(self.library, dtype), device="cuda")

    def host(self, x):
        return x.cpu().numpy()

    def of(self, values, dtype):
        values = self.library.from_numpy(values % 2 if dtype == "bool" else values)
        return values.to(getattr(self.library, dtype)).cuda()

    def name(self, x):
        return str(x.dtype).removeprefix("torch.")

    def doubled(self, x):
        """The matrix that ours makes of x, computed on the host in a wide type: unsigned ones have few operations in PyTorch."""
        if self.name(x) == "bool":
            return ~x
        wide = self.library.complex128 if x.dtype.is_complex else self.library.float64
        return (x.cpu().to(wide) * 2).to(x.dtype).cuda()

    def same(self, a, b):
        return self.name(a) == self.name(b) and a.shape == b.shape and bool((self.wide(a) == self.wide(b)).all())

    def wide(self, x):
        return x.cpu().to(self.library.complex128)


def between(theirs, other):
    """Views of one library go through ours into another one, in both forms of DLPack."""
    x = theirs.range(12).reshape(3, 4)
    for view in [x, x.T, x[:, 1:], x[1:2]]:
        want = theirs.host(view) * 2.5
        for form, times in [(VERSIONED, library.times), (UNVERSIONED, library.times_unversioned)]:
            got = other.host(other.take(Array(times(given(view, form), 2.5), form)))
            assert got.shape == want.shape and (got == want).all(), (theirs, other, form, got, want)


def types_of(theirs):
    """The types of ours that another library exchanges with itself."""
    import numpy

    types = []
    for dtype in TYPES:
        try:
            x = theirs.of(numpy.arange(12.0).reshape(3, 4), dtype)
            if theirs.same(theirs.take(x), x):
                types.append(dtype)
        except (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            assert dtype not in NEEDED, (theirs, dtype, error)
    assert NEEDED <= set(types), (theirs, types)
    return types


def of_every_type(theirs, other):
    """Views of each type that two libraries have go through ours from one into the other."""
    import numpy

    shared = set(types_of(theirs)) & set(types_of(other))
    for dtype in sorted(shared):
        values = numpy.arange(12.0).reshape(3, 4)
        x, wants = theirs.of(values, dtype), other.doubled(other.of(values, dtype))
        for view, want in [(x, wants), (x.T, wants.T), (x[:, 1:], wants[:, 1:]), (x[1:2], wants[1:2])]:
            got = other.take(Array(library.doubled(given(view))))
            assert other.same(got, want), (theirs, other, dtype, got, want)


def in_place(theirs):
    """Ours writes into memory of another library, reads its changes, and refuses another type."""
    x = theirs.range(12).reshape(3, 4)
    want = theirs.host(x) + 1.5
    checked(library.add_in_place(given(x[:, 1:]), 1.5))
    checked(library.wait())
    want[:, 0] -= 1.5
    assert (theirs.host(x) == want).all(), (theirs, x, want)
    ours = theirs.take(Array(library.range(2, 3)))
    ours += 1
    assert library.element(given(ours), 1, 2) == 6.0
    refused = library.times(given(theirs.range(6, "int32").reshape(2, 3)), 2.0)
    assert refused is None and "float32" in library.failure().decode(), library.failure()


def give_back(theirs):
    """Memory comes back from both sides: 200 arrays of a GiB each do not fit side by side."""
    for _ in range(200):
        big = theirs.range(1 << 28).reshape(1 << 14, 1 << 14)
        big = theirs.take(Array(library.times(given(big), 1.0)))
    # The number before it is no float of 32 bits.
    assert float(big[-1, -1]) == float(1 << 28), big[-1, -1]


alone()
others = {"cupy": Cupy, "torch": Torch}
others = [others[name]() for name in sys.argv[2:]]
for theirs in others:
    for other in others:
        between(theirs, other)
        of_every_type(theirs, other)
    in_place(theirs)
    give_back(theirs)
print("same")
