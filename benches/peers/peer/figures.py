"""Which figures a library gives, and the measuring of one."""

import dataclasses
import faulthandler
import functools
import gc
import os
import sys
import typing

from . import arrays, facts, matrices, operations, reductions, timing

# Checks take longer than the calls: of several rounds one makes them.
CHECKED = os.environ.get("BENCH_CHECK") != "0"

# Seconds after which a figure ends its process; the longest figures take ten.
LIMIT_S = 60


@dataclasses.dataclass
class Figure:
    """One call to time, by one measure or two."""

    operation: str
    dtype: str
    description: operations.Operation
    data: typing.Callable
    ids: dict  # of each measure


def of(library, which, cases, matches):
    """Those of which an id matches; all are known without the library."""
    figures = []

    def add(name, dtype, case, description, data):
        measures = description.measures if library.backend == "cuda" else ("cpu",)
        ids = {measure: f"{name}/{dtype}/{case}/{library.name}/{measure}" for measure in measures}
        ids = {measure: id for measure, id in ids.items() if matches(id)}
        if ids and hasattr(library, name.replace("-", "_")):
            figures.append(Figure(name, dtype, description, data, ids))

    for name, operation in {**operations.OPERATIONS, **arrays.OPERATIONS, **reductions.OPERATIONS}.items():
        sizes = operation.on_cpu if library.backend == "cpu" else operation.sizes
        for dtype, n, *variants in sizes[which]:
            for variant in variants or operation.variants:
                add(name, dtype, f"{n}{variant}", operation, functools.partial(operation.data, dtype, n, variant))
    for matrix in cases:
        for name, operation in matrices.OPERATIONS.items():
            if matrices.IMPLIED.get(name, name) in matrix.operations:
                add(name, matrix.dtype, matrix.case, operation, lambda matrix=matrix: matrix)
    return figures


def measure(library, figures, seconds, first, begun):
    """All of them from number `first` on; what fails is a gap. `begun` is told the number of each.

    A figure that takes longer than LIMIT_S ends the process, which writes the stack to standard error.
    """
    faulthandler.dump_traceback_later(LIMIT_S, exit=True, file=sys.__stderr__)
    try:
        version = library.open()
    except Exception as error:
        return facts.gap(library.name, error)
    facts.write("version", peer=library.name, version=version)
    gc.disable()  # not while a clock runs
    gc.freeze()  # what the imports made stays, and would be looked through after each figure
    for number, figure in enumerate(figures[first:], first):
        begun(number)
        faulthandler.dump_traceback_later(LIMIT_S, exit=True, file=sys.__stderr__)
        one(library, figure, seconds)
        gc.collect()
        library.release()
    library.close()
    faulthandler.cancel_dump_traceback_later()


def one(library, figure, seconds):
    """Checks the answer, unless another round does, then times the call; nothing of it stays."""
    try:
        data = figure.data()
        call = getattr(library, figure.operation.replace("-", "_"))(data)
        answer = call()
        library.wait()
        host = lambda place=None: library.host(answer if place is None else answer[place])  # noqa: E731
        error = figure.description.error(data, host) if CHECKED else None
        if error is not None and not error <= figure.description.slack * operations.BOUND[figure.dtype]:
            raise ArithmeticError(f"a wrong answer: error {error:.3g}")
        del answer
    except Exception as failure:
        for id in figure.ids.values():
            facts.gap(library.name, failure, id)
        return
    about = {"bytes": figure.description.bytes(data), "flops": figure.description.flops(data), "ceiling": figure.description.ceiling}
    timings = {}
    for measure, id in figure.ids.items():
        try:
            by_calls = measure == "device" and figure.description.makes_arrays(data)
            timings[measure] = getattr(timing, "calls" if by_calls else measure)(library, call, seconds)
        except Exception as failure:
            facts.gap(library.name, failure, id)
    wrong = timing.contradiction(timings.get("device"), timings.get("wall"))
    if wrong:
        facts.gap(library.name, wrong, figure.ids["device"])
        del timings["device"]
    for measure, timed in timings.items():
        facts.write("figure", id=figure.ids[measure], peer=True, **about, error=error, **timed.fields())
