"""Conjugate gradients, ours and SciPy's, in one run: rounds that alternate the two, medians, the ratio.

    cargo build --release -p gpu-sparse --example cg_poisson
    python benches/peers/cg_compare.py [--rounds 5] [--n 128] [--iterations 40] [--save FILE]

Needs numpy and scipy. Prints one line a round and one of JSON at the end; --save writes that object to a file.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def measure(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--n", type=int, default=128)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--save", type=pathlib.Path)
    options = parser.parse_args()

    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
    size = [str(options.n), str(options.iterations), "3"]
    commands = {
        "ours": [str(target / "release/examples/cg_poisson"), *size],
        "scipy": [sys.executable, str(HERE / "cg_scipy.py"), *size],
    }
    rounds = []
    for number in range(options.rounds):
        row = {name: measure(command)["ms_per_iteration"] for name, command in commands.items()}
        rounds.append(row)
        print(f"round {number + 1}: ours {row['ours']:.2f} ms, scipy {row['scipy']:.2f} ms, ratio {row['scipy'] / row['ours']:.2f}")
    median = {name: statistics.median(row[name] for row in rounds) for name in commands}
    result = {
        "bench": "cg per iteration, 7-point Poisson, f64, cpu",
        "n": options.n,
        "processor": processor(),
        "threads": os.cpu_count(),
        "median_ms_per_iteration": median,
        "ratio_of_medians": round(median["scipy"] / median["ours"], 3),
        "rounds": rounds,
    }
    print(json.dumps(result))
    if options.save:
        options.save.parent.mkdir(parents=True, exist_ok=True)
        options.save.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
