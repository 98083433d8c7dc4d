"""Lines of facts: JSON objects, appended to the file BENCH_FACTS, else printed."""

import json
import math
import os


def write(kind, **fields):
    """One line, at once: what is measured so far survives whatever comes."""
    numbers = {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in fields.items()}
    line = json.dumps({"kind": kind, **numbers})
    path = os.environ.get("BENCH_FACTS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
    else:
        print(line, flush=True)


def gap(peer, reason, id=None):
    """A peer that is not there, or a figure of it. `reason`: a text, or the exception."""
    if isinstance(reason, ImportError):
        reason = str(reason)
    elif isinstance(reason, BaseException):
        reason = f"{type(reason).__name__}: {reason}"
    write("gap", peer=peer, **({"id": id} if id else {}), reason=" ".join(reason.split())[:400])
