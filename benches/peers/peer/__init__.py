"""What peers.py is made of.

    facts.py       the lines that are written
    timing.py      how a call is timed
    operations.py  the operations on vectors and dense matrices: sizes, bytes, and what the right answer is
    arrays.py      expressions over arrays and copies between layouts, likewise, and the calls of libraries that compute eagerly
    reductions.py  reductions, likewise
    matrices.py    the operations on exported matrices, likewise
    figures.py     which figures a library gives, and the measuring of one
    libraries.py   the libraries: for each operation that one has, a method that prepares the call to time

To add an operation, describe it in `OPERATIONS` of operations.py, arrays.py or reductions.py and give a method of its name (with `_` for `-`)
to every library that has it: from the data it makes what the call needs and returns the call, which returns the answer. Sizes, ids,
checks, timing and gaps follow. Nothing here imports a library before one of its figures is measured.
"""
