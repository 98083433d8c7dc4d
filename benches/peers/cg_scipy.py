"""Times scipy.sparse.linalg.cg on the 7-point Poisson matrix and prints one line of JSON.

The matrix and b = sin(i + 1) are those of `cargo run --release -p gpu-sparse --example cg_poisson`, which prints the same line.
Arguments: points per axis (128), iterations (40), repetitions (5, the median counts). Needs numpy and scipy.
"""

import json
import statistics
import sys
import time

import numpy as np
import scipy
import scipy.sparse as sparse
from scipy.sparse.linalg import cg


def poisson_3d(n):
    line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sparse.csr_array(sparse.kronsum(sparse.kronsum(line, line), line))


def main():
    defaults = [128, 40, 5]
    n, iterations, repetitions = [int(a) for a in sys.argv[1:]] + defaults[len(sys.argv) - 1 :]
    a = poisson_3d(n)
    a.sort_indices()
    b = np.sin(np.arange(1, a.shape[0] + 1, dtype=np.float64))
    times = []
    for _ in range(max(repetitions, 1)):
        start = time.perf_counter()
        _, info = cg(a, b, rtol=0.0, atol=0.0, maxiter=iterations)
        times.append((time.perf_counter() - start) * 1e3 / iterations)
        assert info == iterations, info
    print(
        json.dumps(
            {
                "peer": f"scipy {scipy.__version__} cg",
                "matrix": f"poisson 7-point {n}^3",
                "dtype": "f64",
                "iterations": iterations,
                "ms_per_iteration": round(statistics.median(times), 4),
            }
        )
    )


if __name__ == "__main__":
    main()
