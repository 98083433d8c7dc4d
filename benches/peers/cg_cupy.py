"""Times CuPy's conjugate gradients and products on a matrix that `sparse_device --export DIR` wrote; one line of JSON each.

    python cg_cupy.py DIR [--what spmv,cg,solve] [--iterations 200] [--rtol 1e-8]

The matrix and b are on the device before the clock starts. A solve is timed by the host's clock from the call to the device at rest
and divided by its iterations, of which tolerance 0 makes it do all; products between two events as in sparse_device. What fails is a
line with "what": "error"; the rest goes on, the exit code is 1.
"""

import argparse
import inspect
import json
import math
import pathlib
import statistics
import sys
import time

WARM_UP_MS = 50.0
BATCH_MS = 1.25
BATCHES = 25
REPEATS = 3


class Report:
    def __init__(self):
        self.facts = {"peer": "cupy"}
        self.failed = False

    def line(self, what, **fields):
        none = lambda value: None if isinstance(value, float) and not math.isfinite(value) else value
        fields = {name: none(value) for name, value in fields.items()}
        print(json.dumps({"what": what, **self.facts, **fields}), flush=True)

    def guard(self, stage, step, *arguments):
        try:
            step(self, *arguments)
        except Exception as error:  # a peer's failure is a finding, not the end
            message = f"{type(error).__name__}: {error}"
            print(f"{stage}: {message}", file=sys.stderr)
            self.line("error", stage=stage, error=message)
            self.failed = True


def load(folder):
    """The matrix as host arrays, and the header."""
    import numpy as np

    header = json.loads((folder / "header.json").read_text())
    real = {"f32": np.float32, "f64": np.float64}[header["dtype"]]
    kinds = {"row_starts": np.dtype(header["row_starts"]), "columns": np.int32, "values": real, "x": real, "b": real}
    return header, {name: np.fromfile(folder / f"{name}.bin", dtype=kind) for name, kind in kinds.items()}


def device_ms(cupy, work):
    """Median and least time of one run, and the runs of a batch."""

    def batch(runs):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(runs):
            work()
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(start, end)

    batch(1)
    runs, warm, run_ms = 1, 0.0, 1e-6
    while warm < WARM_UP_MS:
        ms = batch(runs)
        warm += max(ms, 1e-3)
        run_ms = max(ms / runs, 1e-6)
        runs = max(1, min(2 * runs, math.ceil(WARM_UP_MS / 4 / run_ms)))
    runs = max(1, math.ceil(BATCH_MS / run_ms))
    times = [batch(runs) / runs for _ in range(BATCHES)]
    return statistics.median(times), min(times), runs


def spmv(report, cupy, a, x):
    y = a @ x
    median, least, runs = device_ms(cupy, lambda: a @ x)
    format_bytes = a.nnz * (a.data.itemsize + 4) + (a.shape[0] + 1) * 4
    moved = format_bytes + sum(a.shape) * a.data.itemsize
    report.line(
        "spmv",
        format="csr",
        ms=median,
        least_ms=least,
        gb_per_s=moved / median / 1e6,
        format_bytes=format_bytes,
        bytes_per_nonzero=format_bytes / max(a.nnz, 1),
        moved_bytes=moved,
        batches=BATCHES,
        runs_per_batch=runs,
        norm_y=float(cupy.linalg.norm(y)),
    )


def solver(cg):
    """cg with the keywords of this CuPy: `tol` was renamed to `rtol`."""
    keyword = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"
    return lambda a, b, rtol, **more: cg(a, b, **{keyword: rtol}, atol=0.0, **more)


def solves(report, cupy, a, b, iterations, rtol):
    """`iterations` of them; and a solve to the tolerance `rtol`, unless that is None."""
    from cupyx.scipy.sparse.linalg import cg

    cg = solver(cg)
    synchronize = cupy.cuda.Device().synchronize

    def timed(repeats, tolerance, **more):
        times, outcome = [], None
        for _ in range(repeats):
            synchronize()
            start = time.perf_counter()
            outcome = cg(a, b, tolerance, **more)
            synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times), outcome

    timed(1, 0.0, maxiter=iterations)
    ms, (_, info) = timed(REPEATS, 0.0, maxiter=iterations)
    report.line("cg", iterations=iterations, info=int(info), ms=ms, ms_per_iteration=ms / iterations)
    if rtol is None:
        return
    made = [0]

    def count(_):
        made[0] += 1

    # The callback costs a call of Python an iteration, next to nothing beside CuPy's own.
    ms, (x, info) = timed(1, rtol, maxiter=min(10 * a.shape[0], 100_000), callback=count)
    residual = float(cupy.linalg.norm(b - a @ x) / cupy.linalg.norm(b))
    report.line("solve", rtol=rtol, iterations=made[0], info=int(info), ms=ms, true_residual=residual)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--what", default="spmv,cg,solve")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--rtol", type=float, default=1e-8)
    options = parser.parse_args()
    what = options.what.split(",")
    report = Report()

    def measure(report):
        import cupy
        import cupyx.scipy.sparse

        header, host = load(options.folder)
        report.facts |= {"version": cupy.__version__} | {name: header[name] for name in ("matrix", "rows", "nnz", "dtype")}
        device = {name: cupy.asarray(array) for name, array in host.items()}
        entries = (device["values"], device["columns"], device["row_starts"])
        a = cupyx.scipy.sparse.csr_matrix(entries, shape=(header["rows"], header["cols"]))
        if "spmv" in what:
            report.guard("spmv", spmv, cupy, a, device["x"])
        if "cg" in what:
            rtol = options.rtol if "solve" in what else None
            report.guard("cg", solves, cupy, a, device["b"], options.iterations, rtol)

    report.guard("start", measure)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
