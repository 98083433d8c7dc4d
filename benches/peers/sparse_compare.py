"""Products and conjugate gradients on a GPU, ours, cuSPARSE's and CuPy's, in one run: rounds that alternate them, medians, ratios.

    cargo build --release -p benches
    python benches/peers/sparse_compare.py [--save FILE] [--rounds 3] [--case poisson3d:256:f64 ...]

Needs a GPU, nvcc with cuSPARSE, NumPy and CuPy; what is missing or fails is reported and the rest measured. All programs read the one
matrix that ours writes, which is deleted after its case. --save is rewritten after every program, so that nothing measured is
lost. The program of ours is looked for in the bundle, then in cargo's target folder; matrix files in GPU_SPARSE_MATRICES.
"""

import argparse
import datetime
import glob
import json
import os
import pathlib
import platform
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MESH = "extruded:mesh_brack2.mtx.gz:100"
# What to measure of each; the most important first, should the time run out.
CASES = {
    "poisson3d:256:f64": "spmv,cg,build",
    f"{MESH}:zfastest": "spmv,cg,build",
    f"{MESH}:layermajor": "spmv,cg,build",
    "poisson2d:64:f64": "spmv,cg",
    "poisson2d:128:f64": "spmv,cg",
    "poisson2d:256:f64": "spmv,cg",
    "poisson2d:512:f64": "spmv,cg",
    "poisson2d:4096:f64": "spmv",
    "stencil27:160:f64": "spmv",
    "poisson3d:256:f32": "spmv",
}
# Room for one exported matrix of the list above.
SCRATCH_BYTES = 6 << 30


def output(command, **more):
    """The first line that a command prints, None when it cannot."""
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **more)
        return done.stdout.strip().splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return None


def machine():
    gpu = output(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    name, _, driver = (gpu or "").partition(", ")
    return {"device": name or None, "driver": driver or None, "processor": processor(), "threads": os.cpu_count()}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def revision():
    """Of the sources: what the bundle says, else git."""
    note = HERE.parent / "build.json"
    if note.exists():
        return json.loads(note.read_text())["revision"]
    return output(["git", "-C", str(HERE), "describe", "--always", "--dirty"])


def ours():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
    places = [HERE.parent / "bin/sparse_device", target / "release/sparse_device"]
    return str(next((place for place in places if place.exists()), places[-1]))


def scratch():
    """A folder with room, in memory where there is enough."""
    memory = pathlib.Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free >= SCRATCH_BYTES:
        return memory
    return pathlib.Path(tempfile.gettempdir())


def packaged(part):
    """Folders `part` of CUDA as Python packages bring it."""
    return [path for root in sys.path for path in sorted(glob.glob(f"{root}/nvidia/*/{part}"))]


def compile_cusparse(folder, arch, nvcc):
    """Builds spmv_cusparse.cu; returns its path and environment. Raises RuntimeError with every attempt's message."""
    candidates = [nvcc, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc", *packaged("bin/nvcc")]
    nvcc = next((path for path in candidates if path and pathlib.Path(path).exists()), None)
    if not nvcc:
        raise RuntimeError("no nvcc: name it by --nvcc")
    program = str(folder / "spmv_cusparse")
    base = [nvcc, "-O3", "-std=c++17", f"-arch={arch}", str(HERE / "spmv_cusparse.cu"), "-o", program]
    root = pathlib.Path(nvcc).resolve().parent.parent
    folders = [str(root / "lib64"), str(root / "lib"), str(root / "targets/x86_64-linux/lib"), *packaged("lib")]
    libraries = [path for place in folders for path in sorted(glob.glob(f"{place}/libcusparse.so*"))]
    attempts = [["-lcusparse"]]
    for library in libraries:
        place = os.path.dirname(library)
        include = os.path.join(os.path.dirname(place), "include")
        headers = [f"-I{include}"] if os.path.exists(f"{include}/cusparse.h") else []
        attempts.append([*headers, f"-L{place}", "-Xlinker", library, "-Xlinker", f"-rpath={place}"])
    found = {**os.environ, "LD_LIBRARY_PATH": ":".join([os.environ.get("LD_LIBRARY_PATH", ""), *folders]).strip(":")}
    said = []
    for attempt in attempts:
        done = subprocess.run([*base, *attempt], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            said.append(f"{' '.join(attempt)}: {(done.stderr or done.stdout).strip()[-600:]}")
            continue
        for environment in [os.environ.copy(), found]:
            # Without arguments it tells its usage; where it cannot be loaded it does not come so far.
            trial = subprocess.run([program], capture_output=True, text=True, timeout=60, env=environment)
            if trial.returncode == 2:
                return program, environment
            said.append(f"{' '.join(attempt)}: built, but it does not start: {trial.stderr.strip()[-300:]}")
    raise RuntimeError("\n".join(said))


def run(command, environment, limit, folder):
    """The lines a program printed, and what went wrong, if anything did. What it printed before a failure counts."""
    out, err = folder / "stdout", folder / "stderr"
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        try:
            child = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=environment)
        except OSError as error:
            return [], f"{command[0]}: {error}"
        try:
            code = child.wait(timeout=limit)
            problem = None if code == 0 else f"exit code {code}"
        except subprocess.TimeoutExpired:
            problem = f"stopped after {limit:g} s"
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    lines = []
    for text in out.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            lines.append(line)
    if problem and not any(line.get("what") == "error" for line in lines):
        problem = " ".join([problem, err.read_text(errors="replace").strip()[-600:]]).strip()
    return lines, problem


def rounded(value):
    return float(f"{value:.6g}") if isinstance(value, float) else value


def named(program, line):
    """What a line's figure is called: the program, the format, the algorithm."""
    return " ".join(filter(None, [program, line.get("format"), line.get("algorithm", "").split(" ")[-1]]))


def summary(rounds):
    """Medians over the rounds of each figure, and the ratios of those. `rounds`: a list of {program: lines}."""
    figures = {"spmv": {}, "cg": {}, "solve": {}, "build": {}}
    for lines_of in rounds:
        for program, lines in lines_of.items():
            for line in lines:
                if line.get("what") in figures:
                    figures[line["what"]].setdefault(named(program, line), []).append(line)

    def median(lines, field):
        numbers = [line[field] for line in lines if isinstance(line.get(field), (int, float))]
        return rounded(statistics.median(numbers)) if numbers else None

    def table(what, once, medians):
        return {
            name: {field: rounded(lines[-1][field]) for field in once if field in lines[-1]}
            | {field: median(lines, field) for field in medians if any(field in line for line in lines)}
            | {"rounds": [rounded(line.get(medians[0])) for line in lines]}
            for name, lines in figures[what].items()
        }

    result = {
        "spmv": table("spmv", ["format_bytes", "bytes_per_nonzero", "moved_bytes", "error"], ["ms", "gb_per_s", "least_ms"]),
        "cg": table(
            "cg",
            ["iterations", "status", "info"],
            ["ms_per_iteration", "ms_per_iteration_by_difference"],
        ),
        "solve": table("solve", ["rtol", "iterations", "status", "info", "true_residual"], ["ms"]),
        "build": table("build", ["threads", "bytes_per_nonzero", "advised", "description"], ["build_s", "plan_s"]),
    }
    result["ratios"] = ratios(result)
    return result


def ratios(result):
    """How many times as long the peers take."""
    spmv = {name: row["ms"] for name, row in result["spmv"].items() if row.get("ms")}
    cg = {name: row["ms_per_iteration"] for name, row in result["cg"].items() if row.get("ms_per_iteration")}
    best = min((ms for name, ms in spmv.items() if name.startswith("cusparse csr")), default=None)
    rows = [
        ("spmv: cusparse best csr", best, spmv),
        ("spmv: cusparse sell32", next((ms for name, ms in spmv.items() if name.startswith("cusparse sell32")), None), spmv),
        ("cg: cupy", cg.get("cupy"), cg),
    ]
    return {
        f"{what} / {name}": round(peer / ms, 3)
        for what, peer, times in rows
        if peer
        for name, ms in times.items()
        if name.startswith("ours")
    }


class Comparison:
    def __init__(self, options):
        self.options = options
        self.began = time.monotonic()
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sparse-compare-", dir=options.scratch or scratch()))
        self.record = {
            "bench": "sparse products and conjugate gradients, ours and peers",
            "date": datetime.date.today().isoformat(),
            "revision": options.revision or revision(),
            **machine(),
            "versions": {},
            "rounds": options.rounds,
            "cases": [],
        }
        self.peers = {}

    def elapsed(self):
        return time.monotonic() - self.began

    def prepare(self):
        """Finds or builds the peers' programs."""
        self.peers = {"cusparse": None, "cupy": ([sys.executable, str(HERE / "cg_cupy.py")], os.environ.copy())}
        for given in self.options.peer:
            name, _, command = given.partition("=")
            self.peers[name] = (shlex.split(command), os.environ.copy()) if command else ()
        if self.peers["cusparse"] is None:
            try:
                program, environment = compile_cusparse(self.scratch, self.options.arch, self.options.nvcc)
                self.peers["cusparse"] = ([program], environment)
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                self.record["problems"] = [f"cusparse: {error}"]
                print(f"cusparse cannot be measured: {error}", flush=True)
        self.peers = {name: peer for name, peer in self.peers.items() if peer}

    def case(self, name, what):
        """All rounds of one matrix."""
        row = {"matrix": name}
        self.record["cases"].append(row)
        rounds, problems = [], []
        folder = pathlib.Path(tempfile.mkdtemp(prefix="case-", dir=self.scratch))
        began = time.monotonic()
        try:
            for number in range(self.options.rounds):
                if number > 0 and self.elapsed() > self.options.budget:
                    problems.append(f"the time is up after {number} rounds")
                    break
                rounds.append({})
                for program, (command, environment) in self.programs(name, what, folder, number).items():
                    if program != "ours" and not (folder / "header.json").exists():
                        print(f"{name} round {number + 1}: {program} has no matrix to read", flush=True)
                        continue
                    started = time.monotonic()
                    lines, problem = run(command, environment, self.options.limit, folder)
                    rounds[-1][program] = lines
                    said = [f"{program} {error_text(line)}" for line in lines if line.get("what") == "error"]
                    said += [f"{program}: {problem}"] if problem and not said else []
                    problems += [text for text in said if text not in problems]
                    self.note(row, lines, rounds, problems)
                    print(f"{name} round {number + 1}: {program} {time.monotonic() - started:.1f} s", *said, sep="\n    ", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            row["seconds"] = round(time.monotonic() - began, 1)
            self.save()
        print(table(row), flush=True)

    def programs(self, name, what, folder, number):
        """The commands of the round of that number. Ours writes the matrix when it is not there yet."""
        options = self.options
        without_build = ",".join(part for part in what.split(",") if part != "build") or "none"
        command = [options.program, "--case", name, "--what", what if number == 0 else without_build]
        command += [] if (folder / "header.json").exists() else ["--export", str(folder)]
        command += ["--emulated", "--iterations", "10", "--batches", "3"] if options.emulated else []
        environment = os.environ.copy()
        if (HERE.parent / "matrices").is_dir():
            environment.setdefault("GPU_SPARSE_MATRICES", str(HERE.parent / "matrices"))
        programs = {"ours": (command, environment)}
        for peer, (command, environment) in self.peers.items():
            # CuPy's solve to the tolerance takes seconds: once is enough.
            more = ["--what", f"{without_build},solve" if number == 0 else without_build] if peer == "cupy" else []
            programs[peer] = ([*command, str(folder), *more], environment)
        return programs

    def note(self, row, lines, rounds, problems):
        """Brings the record up to date."""
        for line in lines:
            if line.get("what") == "device":
                self.record["versions"] |= {name: line.get(name) for name in ("driver_cuda", "nvrtc")}
                self.record["device"] = self.record["device"] or line.get("device")
            if "version" in line:
                self.record["versions"][line.get("peer", "peer")] = line["version"]
            row.update({name: line[name] for name in ("rows", "nnz", "dtype") if name in line})
        row.update(summary(rounds))
        if problems:
            row["problems"] = problems
        self.save()

    def save(self):
        self.record["seconds"] = round(self.elapsed(), 1)
        path = self.options.save
        if not path:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(json.dumps(self.record, indent=1) + "\n")
        part.replace(path)

    def all(self):
        try:
            self.prepare()
            cases = {case: self.options.what or CASES.get(case, "spmv,cg,build") for case in self.options.case or CASES}
            for name, what in cases.items():
                if self.elapsed() > self.options.budget:
                    self.record.setdefault("problems", []).append(f"the time was up before {name}")
                    print(f"the time is up before {name}", flush=True)
                    break
                self.case(name, what)
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)
            self.save()
        print("\n".join(["", *map(table, self.record["cases"]), f"{self.elapsed():.0f} s"]))
        return 1 if any("problems" in part for part in [self.record, *self.record["cases"]]) else 0


def error_text(line):
    return " ".join(filter(None, [line.get("format"), line.get("stage")])) + ": " + str(line.get("error"))[:600]


def table(row):
    """The case in a few lines."""
    number = lambda value, pattern: "-" if value is None else pattern.format(value)
    lines = [f"== {row['matrix']}: {row.get('rows', '?')} rows, {row.get('nnz', '?')} nonzeros"]
    for name, spmv in row.get("spmv", {}).items():
        figures = [(spmv.get("ms"), "{:.4f} ms"), (spmv.get("gb_per_s"), "{:.0f} GB/s"), (spmv.get("bytes_per_nonzero"), "{:.2f} B/nnz")]
        error = f"error {number(spmv['error'], '{:.1e}')}" if "error" in spmv else ""
        lines.append(f"  spmv  {name:22}" + "  ".join(number(*figure) for figure in figures) + f"  {error}")
    for name, cg in row.get("cg", {}).items():
        difference = number(cg.get("ms_per_iteration_by_difference"), "by difference {:.4f}")
        whole = number(cg.get("ms_per_iteration"), "{:.4f} ms an iteration")
        lines.append(f"  cg    {name:22}{whole} of {cg.get('iterations')}  {difference}")
    for name, solve in row.get("solve", {}).items():
        residual = number(solve.get("true_residual"), "{:.2e}")
        lines.append(f"  solve {name:22}{number(solve.get('ms'), '{:.1f} ms')}, {solve.get('iterations')} iterations, residual {residual}")
    for name, build in row.get("build", {}).items():
        plan, fill = number(build.get("plan_s"), "{:.3f} s"), number(build.get("build_s"), "{:.3f} s")
        lines.append(f"  build {name:22}plan {plan}, build {fill}, {build.get('threads')} threads")
    lines += [f"  {ratio:.2f}  {name}" for name, ratio in row.get("ratios", {}).items()]
    lines += [f"  problem: {problem}" for problem in row.get("problems", [])]
    return "\n".join(lines)


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", help="a case of sparse_device; the default is a list of ten")
    parser.add_argument("--what", help="what to measure of every case: spmv,cg,build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", type=pathlib.Path, help="the record to write, a JSON file")
    parser.add_argument("--limit", type=float, default=90.0, help="seconds after which a program is stopped")
    parser.add_argument("--budget", type=float, default=540.0, help="seconds after which no further round or case begins")
    parser.add_argument("--scratch", type=pathlib.Path, help="folder for exported matrices; /dev/shm where it has room")
    parser.add_argument("--program", default=ours(), help="sparse_device")
    parser.add_argument("--nvcc")
    parser.add_argument("--arch", default="sm_90", help="for nvcc")
    parser.add_argument("--revision")
    parser.add_argument("--emulated", action="store_true", help="rehearse: ours on the emulated device")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another command for cusparse or cupy, or none; the folder of the matrix is added",
    )
    return parser.parse_args()


def stop(*_):
    raise SystemExit("stopped")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    sys.exit(Comparison(options()).all())
