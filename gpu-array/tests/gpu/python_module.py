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
POINTER, SIZE, FLOAT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_float
for name, result, arguments in [
    ("failure", ctypes.c_char_p, []),
    ("stream_handle", POINTER, []),
    ("range", POINTER, [SIZE, SIZE]),
    ("times", POINTER, [POINTER, FLOAT]),
    ("times_unversioned", POINTER, [POINTER, FLOAT]),
    ("add_in_place", ctypes.c_int, [POINTER, FLOAT]),
    ("element", FLOAT, [POINTER, SIZE, SIZE]),
]:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [POINTER, ctypes.c_char_p, POINTER]
python.PyCapsule_GetPointer.restype = POINTER
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


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


class Cupy:
    def __init__(self):
        import cupy

        self.library, self.take = cupy, cupy.from_dlpack

    def range(self, n, dtype="float32"):
        return self.library.arange(n, dtype=dtype)

    def host(self, x):
        return x.get()


class Torch:
    def __init__(self):
        import torch

        self.library, self.take = torch, torch.from_dlpack

    def range(self, n, dtype="float32"):
        return self.library.arange(n, dtype=getattr(self.library, dtype), device="cuda")

    def host(self, x):
        return x.cpu().numpy()


def between(theirs, other):
    """Views of one library go through ours into another one, in both forms of DLPack."""
    x = theirs.range(12).reshape(3, 4)
    for view in [x, x.T, x[:, 1:], x[1:2]]:
        want = theirs.host(view) * 2.5
        for form, times in [(VERSIONED, library.times), (UNVERSIONED, library.times_unversioned)]:
            got = other.host(other.take(Array(times(given(view, form), 2.5), form)))
            assert got.shape == want.shape and (got == want).all(), (theirs, other, form, got, want)


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
    in_place(theirs)
    give_back(theirs)
print("same")
