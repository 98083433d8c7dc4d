"""Seconds of one call, by events on the device (`device`, `calls`) or by the host's clock (`wall`, `enqueue`, `cpu`): a function for each measure.

On the device: 50 ms of work first, then batches of at least 1.25 ms between two events, for the time that was asked for, and the median
over the batches. A call of less than 50 us is captured into a graph of many where the library can do that, so that the time between
launches does not count. `calls` is without graphs, for cases of new arrays: a graph allocates its memory once.
"""

import dataclasses
import math
import statistics
import time

WARM_UP_S = 50e-3
BATCH_S = 1.25e-3
SHORT_S = 50e-6
MOST_CAPTURED = 1000
MOST_WAITING = 100
UNEXPLAINED_S = 1e-3


@dataclasses.dataclass
class Timing:
    seconds: float
    spread: float
    timed_by: str = None

    def fields(self):
        fields = {"seconds": self.seconds, "spread": round(self.spread, 5)}
        return {**fields, "timed_by": self.timed_by} if self.timed_by else fields


def device(library, call, seconds):
    each, calls, timed_by = warm_device(library, call), 1, "calls"
    if each < SHORT_S:
        captured = min(MOST_CAPTURED, math.ceil(BATCH_S / each))
        try:
            replay = library.capture(call, captured)
        except Exception:  # it cannot be captured: launched call by call, which the line says
            replay = None
        if replay:
            call, calls, timed_by = replay, captured, "graph"
            each = warm_device(library, call)
    return in_batches(library, call, seconds, each, calls, timed_by)


def calls(library, call, seconds):
    return in_batches(library, call, seconds, warm_device(library, call), 1, "calls")


def in_batches(library, call, seconds, each, calls, timed_by):
    """Of a run that takes `each` seconds and is so many calls."""
    runs = max(1, math.ceil(BATCH_S / each))
    times = repeated(lambda: library.batch(call, runs), seconds, runs * each)
    return summary([batch / (runs * calls) for batch in times], timed_by)


def warm(once):
    """The least seconds of one run, once the machine is warm."""
    least, began = max(once(), 1e-9), time.perf_counter()
    while time.perf_counter() - began < WARM_UP_S:
        least = min(least, max(once(), 1e-9))
    return least


def warm_device(library, call):
    """Seconds of one run, once the device is warm; in longer and longer batches, to keep it busy."""
    library.batch(call, 1)
    runs, total, each = 1, 0.0, 1e-9
    while total < WARM_UP_S:
        batch = library.batch(call, runs)
        total += max(batch, 1e-6)
        each = max(batch / runs, 1e-9)
        runs = max(1, min(2 * runs, math.ceil(WARM_UP_S / 4 / each)))
    return each


def wall(library, call, seconds):
    """By the host's clock, from the call to the device at rest, call by call."""

    def once():
        start = time.perf_counter()
        call()
        library.wait()
        return time.perf_counter() - start

    return summary(repeated(once, seconds, warm(once)))


def contradiction(device, wall):
    """The error of a device's time that leaves most of a long time by the host's clock unexplained; None where there is none.

    CuPy's events once said 82 us of calls that took 7.9 ms. Calls from a graph have no launches between them, so they may be that much shorter.
    """
    if not (device and wall) or device.timed_by == "graph":
        return None
    if wall.seconds < 2 * device.seconds + UNEXPLAINED_S:
        return None
    return ArithmeticError(f"events say {device.seconds:.3g} s, the host's clock {wall.seconds:.3g} s")


def enqueue(library, call, seconds):
    """By the host's clock, in batches of calls that are waited for when it has stopped."""

    def batch():
        library.wait()
        start = time.perf_counter()
        for _ in range(MOST_WAITING):
            call()
        return (time.perf_counter() - start) / MOST_WAITING

    times = repeated(batch, seconds, warm(batch) * MOST_WAITING)
    library.wait()
    return summary(times)


def cpu(library, call, seconds):
    """By the host's clock, in batches of at least 1.25 ms."""

    def batch(runs):
        start = time.perf_counter()
        for _ in range(runs):
            call()
        return (time.perf_counter() - start) / runs

    each = warm(lambda: batch(1))
    runs = max(1, math.ceil(BATCH_S / each))
    return summary(repeated(lambda: batch(runs), seconds, runs * each))


def repeated(measure, seconds, each):
    """What `measure` gives, again and again for the time; at least 5 times, 3 times where each takes 0.1 s, once where it takes 2 s."""
    least = 1 if each > 2 else 3 if each > 0.1 else 5
    times, began = [], time.perf_counter()
    while len(times) < least or time.perf_counter() - began < seconds:
        times.append(measure())
    return times


def summary(times, timed_by=None):
    median = statistics.median(times)
    return Timing(median, (max(times) - min(times)) / max(median, 1e-12), timed_by)
