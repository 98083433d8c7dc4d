"""Compares values that were computed elsewhere with those of the lines of NumPy that they are given with."""
import re
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
inf, NaN = float("inf"), float("nan")
counted, wrong = [0], []
# The error that is documented of a function on a device, where it is larger than that of the others.
documented = {"special.jn": 1.2e-11}


def value_of(line):
    """Of an expression its value, of a statement the array that it changes: the first that it names."""
    arrays = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in globals().items()}
    try:
        value, changed = eval(line, arrays), r"\((\w+)"
    except SyntaxError:
        exec(line, arrays)
        value, changed = None, r"(\w+)"
    return arrays[re.search(changed, line).group(1)] if value is None else value


def case(line, place, dtype, shape, elements):
    want = np.asarray(value_of(line))
    got = np.array(elements, dtype=dtype).reshape(shape)
    counted[0] += 1
    if want.dtype != got.dtype or want.shape != got.shape:
        wrong.append(f"{line} on {place}: {got.dtype}{got.shape} in place of {want.dtype}{want.shape}")
    elif want.dtype.kind in "biu":
        if not np.array_equal(want, got):
            wrong.append(f"{line} on {place}: {got} in place of {want}")
    else:
        finite = np.abs(want[np.isfinite(want)])
        bound = 16 * np.finfo(want.dtype).eps * (finite.max() if finite.size else 1.0)
        if place == "device":
            bound = max(bound, documented.get(line.split("(")[0], 0.0))
        same = (want == got) | (np.isnan(want) & np.isnan(got)) | (np.abs(want - got) <= bound)
        if not same.all():
            wrong.append(f"{line} on {place}: {got} in place of {want}")


def finish():
    for text in wrong:
        print(text)
    if wrong:
        sys.exit(1)
    print(counted[0])


