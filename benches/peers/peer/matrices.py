"""Operations on the matrices in the folder BENCH_CASES: `<case>-<dtype>/header.json` with its raw little-endian arrays."""

import functools
import inspect
import json
import pathlib

from .operations import SIZE, Operation

ITERATIONS = 200
PIECE = 1 << 15


class Matrix:
    """Compressed rows on disk, mapped into memory when they are looked at."""

    def __init__(self, folder, header):
        self.folder, self.case, self.dtype = folder, header["matrix"], header["dtype"]
        self.rows, self.cols, self.nnz = (int(header[name]) for name in ("rows", "cols", "nnz"))
        self.operations = header.get("operations", ["spmv"])
        kinds = {"int32": "<i4", "int64": "<i8", "f32": "<f4", "f64": "<f8"}
        real = kinds[self.dtype]
        self.kinds = {"row_starts": kinds[header["row_starts"]], "columns": "<i4", "values": real, "x": real, "b": real}
        size = SIZE[self.dtype]
        format_bytes = self.nnz * (size + 4) + (self.rows + 1) * 4
        self.product_bytes = format_bytes + (self.rows + self.cols) * size
        # An iteration: the matrix and ten vectors, two more with the diagonal, as few as passes can be joined to.
        self.cg_bytes = ITERATIONS * (format_bytes + 10 * self.rows * size)
        self.jacobi_bytes = ITERATIONS * (format_bytes + 12 * self.rows * size)
        self.build_bytes = self.nnz * (2 * (size + 4) + 4) + (self.rows + 1) * 4

    def array(self, name):
        import numpy as np

        return np.asarray(np.memmap(self.folder / f"{name}.bin", dtype=self.kinds[name], mode="r"))

    def parts(self, x):
        """At the first, middle and last rows: the place, A x and |A| |x| in float64, b."""
        import numpy as np

        starts, piece = self.array("row_starts"), min(self.rows, PIECE)
        for first in sorted({0, (self.rows - piece) // 2, self.rows - piece}):
            place = slice(first, first + piece)
            entries = slice(int(starts[first]), int(starts[first + piece]))
            row = np.repeat(np.arange(piece), np.diff(starts[first : first + piece + 1]))
            terms = self.array("values")[entries] * x[self.array("columns")[entries]].astype(np.float64)
            add = functools.partial(np.bincount, row, minlength=piece)
            yield place, add(terms), add(abs(terms)), self.array("b")[place]


def found(folder):
    """The matrices in the folder, by name; those whose header cannot be read are left out."""
    matrices = []
    for header in sorted(pathlib.Path(folder).glob("*/header.json")) if folder else []:
        try:
            matrices.append(Matrix(header.parent, json.loads(header.read_text())))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return matrices


def solver(cg):
    """`cg` of SciPy or CuPy for 200 iterations that no tolerance ends; `tol` was renamed to `rtol` in both."""
    tolerance = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"

    def solve(a, b, preconditioner=None):
        x, info = cg(a, b, maxiter=ITERATIONS, M=preconditioner, atol=0.0, **{tolerance: 0.0})
        if int(info) != ITERATIONS:
            raise RuntimeError(f"stopped before {ITERATIONS} iterations (info {info})")
        return x

    return solve


def of_a_product(m, host):
    got = host()
    return max(
        float((abs(got[place] - want) / abs(magnitude).clip(min=1e-300)).max()) for place, want, magnitude, _ in m.parts(m.array("x"))
    )


def of_a_solve(m, host):
    """The error after a number of iterations is not known; but the residual is no number where something went wrong."""
    if not all(abs(b - ax).max() < float("inf") for _, ax, _, b in m.parts(host())):
        raise ArithmeticError("the residual is not finite")


def of_a_build(m, host):
    """The same rows as those exported, each number in its place."""
    import numpy as np

    a = host()
    same = all(np.array_equal(ours, m.array(name)) for ours, name in ((a.indptr, "row_starts"), (a.indices, "columns"), (a.data, "values")))
    return 0.0 if same else float("inf")


OPERATIONS = {
    "spmv": Operation(of_a_product, lambda m: m.product_bytes, ceiling="read"),
    # A solve waits for the device itself.
    "cg200": Operation(of_a_solve, lambda m: m.cg_bytes, ceiling="copy", measures=("wall",)),
    "cg200-jacobi": Operation(of_a_solve, lambda m: m.jacobi_bytes, ceiling="copy", measures=("wall",)),
    "coo-to-csr": Operation(of_a_build, lambda m: m.build_bytes, ceiling="copy"),
}
# What is measured where a header asks for the other.
IMPLIED = {"coo-to-csr": "spmv"}
