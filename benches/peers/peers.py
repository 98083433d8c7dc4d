"""Times the peers that Python has, one round of them, and appends a line of JSON for each figure, gap and version.

    python3 peers.py [--filter REGEX] [--seconds 0.3] [--list]

With BENCH_BACKEND=cuda CuPy, PyTorch and PyCUDA are measured, with cpu SciPy and NumPy; unset, cuda where there is a device. BENCH_SET
(full, quick, tiny) chooses the sizes, BENCH_CASES is the folder of exported matrices, BENCH_FACTS the file that the lines go to (unset:
the standard output), BENCH_PEERS=0 leaves nothing to do, BENCH_CHECK=0 leaves the checks of answers out. REGEX is looked for anywhere in a figure's id,
`<operation>/<dtype>/<case>/<library>/<measure>`; --list prints the ids and measures nothing.

A library that is not installed, a missing device, a figure that fails or whose answer is wrong are lines with "kind": "gap", and the exit
code is 0; it is 2 for wrong usage. Each library runs in a process of its own, so that one that crashes takes no other with it; a figure that
crashes or does not end is a gap, and another process goes on behind it.
How to add an operation: the head of peer/__init__.py.
"""

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from peer import facts, figures, libraries, matrices  # noqa: E402

SETS = ("full", "quick", "tiny")
BACKENDS = {"cuda": "cuda", "cpu": "cpu", "emulated": "cuda"}
# So many figures of a library may end their process.
MOST_ENDS = 4


def backend():
    """The one asked for, else cuda where the driver has a device."""
    asked = os.environ.get("BENCH_BACKEND")
    if asked:
        return asked
    try:
        driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0)
        found = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except (OSError, AttributeError):
        found = False
    return "cuda" if found else "cpu"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", metavar="REGEX")
    parser.add_argument("--seconds", type=float, default=0.3, help="time to measure for, per figure")
    parser.add_argument("--list", action="store_true", help="print the ids of the figures")
    parser.add_argument("--library", choices=sorted(libraries.ALL), help="measure this one only, in this process")
    parser.add_argument("--first", type=int, default=0, help="begin with the library's figure of this number")
    parser.add_argument("--begun", metavar="FILE", help="where the number of the figure goes that is measured")
    given = parser.parse_args()
    try:
        given.matches = re.compile(given.filter).search
    except re.error as error:
        parser.error(f"--filter: {error}")
    if not 0 < given.seconds < float("inf"):
        parser.error("--seconds: a positive number")
    given.backend = backend()
    if given.backend not in BACKENDS:
        parser.error(f"BENCH_BACKEND: one of {', '.join(BACKENDS)}")
    given.set = os.environ.get("BENCH_SET") or "quick"
    if given.set not in SETS:
        parser.error(f"BENCH_SET: one of {', '.join(SETS)}")
    return given


def apart(name, plan, given):
    """Measures a library's figures in a process of its own, and behind each figure that ends it in another."""
    command = [sys.executable, __file__, f"--library={name}", f"--filter={given.filter}", f"--seconds={given.seconds}"]
    environment, first = {**os.environ, "BENCH_BACKEND": given.backend}, 0
    with tempfile.TemporaryDirectory() as folder:
        begun, said = os.path.join(folder, "begun"), os.path.join(folder, "said")
        for _ in range(MOST_ENDS):
            with open(said, "w+", encoding="utf-8") as errors:
                code = subprocess.run([*command, f"--first={first}", f"--begun={begun}"], env=environment, stderr=errors).returncode
                errors.seek(0)
                text = errors.read()
            sys.stderr.write(text)
            if code == 0:
                return
            # A stack begins with the innermost call.
            stack = text[max(text.rfind("Timeout ("), 0) :].strip()
            reason = f"its process ended with code {code}: {stack[:300]}"
            number = int(open(begun, encoding="utf-8").read()) if os.path.exists(begun) else None
            if number is None:
                return facts.gap(name, f"{reason}; figures are missing")
            for id in plan[number].ids.values():
                facts.gap(name, reason, id)
            first = number + 1
            os.remove(begun)
            if first == len(plan):
                return
    facts.gap(name, f"{MOST_ENDS} of its processes ended; figures are missing")


def main():
    given = options()
    if os.environ.get("BENCH_PEERS") == "0":
        return
    cases = matrices.found(os.environ.get("BENCH_CASES"))
    for name, library in libraries.ALL.items():
        if library.backend != BACKENDS[given.backend] or given.library not in (None, name):
            continue
        plan = figures.of(library, given.set, cases, given.matches)
        if not plan:
            continue
        if given.list:
            for figure in plan:
                print("\n".join(figure.ids.values()))
        elif given.backend == "emulated":
            facts.gap(name, "does not run on the emulated device")
        elif given.library:

            def begun(number):
                if given.begun:
                    with open(given.begun, "w", encoding="utf-8") as file:
                        file.write(str(number))

            figures.measure(library(), plan, given.seconds, given.first, begun)
        else:
            apart(name, plan, given)


if __name__ == "__main__":
    main()
