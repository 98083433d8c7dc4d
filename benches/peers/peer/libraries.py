"""The libraries. A method named after an operation prepares its call: from the data, on the device, memory allocated."""

from . import operations
from .arrays import Eager
from .matrices import solver
from .reductions import Reducing


class Library:
    """`open` imports the library and returns its version, or raises; on a device, `batch` and `capture` launch calls."""

    name = backend = None

    def wait(self):
        """Until all that was called has ended."""

    def host(self, answer):
        """The answer as an array of NumPy's."""
        return answer

    def release(self):
        """Gives memory that is not in use back."""

    def close(self):
        """Before the process ends."""

    def capture(self, call, calls):
        """What replays so many calls as one graph; nothing where graphs cannot be made."""


class OnCuPy(Library):
    """What runs on arrays of CuPy's."""

    backend = "cuda"

    def open(self):
        import cupy
        import cupyx

        cupy.cuda.runtime.getDeviceCount()
        self.cupy, self.cupyx, self.module = cupy, cupyx, cupy
        self.stream, self.loaded = cupy.cuda.Stream(non_blocking=True), (None, None)
        self.stream.use()
        return cupy.__version__

    def wait(self):
        self.stream.synchronize()

    def host(self, answer):
        return self.cupy.asnumpy(answer)

    def release(self):
        self.cupy.get_default_memory_pool().free_all_blocks()
        self.cupy.get_default_pinned_memory_pool().free_all_blocks()

    def close(self):
        self.loaded = (None, None)

    def batch(self, call, runs):
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record(self.stream)
        for _ in range(runs):
            call()
        end.record(self.stream)
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end) / 1e3

    def capture(self, call, calls):
        # On a stream of its own: a capture that fails spoils no other. The memory of its answers stays the pool's.
        side = self.cupy.cuda.Stream(non_blocking=True)
        self.wait()
        with side:
            call()
            side.synchronize()
            side.begin_capture()
            try:
                for _ in range(calls):
                    call()
            finally:
                graph = side.end_capture()
        return lambda side=side: graph.launch(self.stream)

    def vector(self, v, block):
        return self.cupy.tile(self.cupy.asarray(block), v.copies)[: v.n]


class CuPyKernel(OnCuPy):
    """Expressions as kernels that the user writes."""

    name = "cupy-kernel"
    LONGEST = 1 << 20  # elements that a reduction takes

    def kernel(self, v, text):
        """Into an array that is there, where the case is not of a new one."""
        x, y = self.vector(v, v.x), self.vector(v, v.y)
        kernel = self.cupy.ElementwiseKernel("T x, T y", "T z", text, "elementwise")
        if v.variant == "-eval":
            return lambda: kernel(x, y)
        out = self.cupy.empty_like(x)
        return lambda: kernel(x, y, out)

    def lincomb(self, v):
        return self.kernel(v, "z = T(5) * x + T(6) * y")

    def wave(self, v):
        return self.kernel(v, "z = exp(x) * sin(y) + sqrt(fabs(x))")

    expression_overhead = lincomb

    def reduction(self, v, blocks, names, text, name):
        if v.n > self.LONGEST:
            raise NotImplementedError("one block computes it, 0.2 s for 2^28 f32, and freeing memory behind it did not end")
        vectors = [self.vector(v, block) for block in blocks]
        types = ", ".join(f"T {operand}" for operand in names)
        kernel = self.cupy.ReductionKernel(types, "T z", text, "a + b", "z = a", "0", name)
        return lambda: kernel(*vectors)

    def dot(self, v):
        return self.reduction(v, (v.x, v.y), "xy", "x * y", "dot")

    def expression_sum(self, v):
        return self.reduction(v, (v.x, v.y, v.z(), v.w()), "xyuv", "x * y + u / v", "expression_sum")


class CuPyFuse(OnCuPy):
    """Expressions that CuPy makes kernels of."""

    name = "cupy-fuse"

    def lincomb(self, v):
        x, y, fused = self.vector(v, v.x), self.vector(v, v.y), self.cupy.fuse(kernel_name="lincomb")(
            lambda x, y: 5 * x + 6 * y
        )
        return lambda: fused(x, y)

    def wave(self, v):
        cupy, x, y = self.cupy, self.vector(v, v.x), self.vector(v, v.y)
        fused = cupy.fuse(kernel_name="wave")(lambda x, y: cupy.exp(x) * cupy.sin(y) + cupy.sqrt(cupy.abs(x)))
        return lambda: fused(x, y)


class CuPy(OnCuPy, Eager, Reducing):
    name = "cupy"

    def mean_var(self, v):
        x = self.vector(v, v.x)
        return lambda: (self.cupy.mean(x), self.cupy.var(x))

    def standardise(self, v):
        x = self.vector(v, v.x).reshape(v.side, v.side)
        return lambda: ((x - x.mean(0)) / x.std(0)).reshape(-1)

    def softmax(self, v):
        cupy, x = self.cupy, self.vector(v, v.x).reshape(v.side, v.side)

        def call():
            e = cupy.exp(x - x.max(1, keepdims=True))
            return (e / e.sum(1, keepdims=True)).reshape(-1)

        return call

    def inclusive_scan(self, v):
        x = self.vector(v, v.x)
        out = self.cupy.empty_like(x)
        return lambda: self.cupy.cumsum(x, out=out)

    def fill(self, v):
        x = self.vector(v, v.x)

        def call():
            x.fill(operations.FILLED)
            return x

        return call

    def copy(self, v):
        x = self.vector(v, v.x)
        out = self.cupy.empty_like(x)

        def call():
            self.cupy.copyto(out, x)
            return out

        return call

    def arange(self, v):
        return lambda: self.cupy.arange(v.n, dtype=v.x.dtype)

    def on_host(self, v):
        """A vector on the host, in the memory that the variant names."""
        import numpy as np

        memory = self.cupyx.empty_pinned if v.variant == "-pinned" else np.empty
        x = memory(v.n, dtype=v.x.dtype)
        x.reshape(v.repeats, v.period)[:] = v.x
        return x

    def upload(self, v):
        x, out = self.on_host(v), self.cupy.empty(v.n, v.x.dtype)

        def call():
            out.set(x)
            return out

        return call

    def download(self, v):
        x = self.vector(v, v.x)
        if v.variant == "-fresh":
            return lambda: x.get()
        out = self.on_host(v)
        out[:] = 0
        return lambda: x.get(out=out)

    def gemm(self, s):
        a, b = self.cupy.asarray(s.a), self.cupy.asarray(s.b)
        out = self.cupy.empty_like(a)
        return lambda: self.cupy.matmul(a, b, out=out)

    def matrix(self, m):
        """On the device; kept for the next operation with it."""
        # Here, because it wants libraries of CUDA that the operations on vectors do without.
        import cupyx.scipy.sparse.linalg

        self.sparse = cupyx.scipy.sparse
        if self.loaded[0] is not m:
            self.loaded = (None, None)
            self.release()
            entries = tuple(self.cupy.asarray(m.array(name)) for name in ("values", "columns", "row_starts"))
            self.loaded = (m, self.sparse.csr_matrix(entries, shape=(m.rows, m.cols)))
        return self.loaded[1]

    def spmv(self, m):
        a, x = self.matrix(m), self.cupy.asarray(m.array("x"))
        return lambda: a @ x

    def cg200(self, m):
        a, b, solve = self.matrix(m), self.cupy.asarray(m.array("b")), solver(self.sparse.linalg.cg)
        return lambda: solve(a, b)

    def cg200_jacobi(self, m):
        a, b, solve = self.matrix(m), self.cupy.asarray(m.array("b")), solver(self.sparse.linalg.cg)
        inverse = 1 / a.diagonal()
        jacobi = self.sparse.linalg.LinearOperator(a.shape, matvec=lambda r: inverse * r, dtype=a.dtype)
        return lambda: solve(a, b, jacobi)


class Torch(Library, Eager, Reducing):
    name, backend = "torch", "cuda"

    def open(self):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("no CUDA device")
        torch.set_float32_matmul_precision("highest")
        self.torch = self.module = torch
        return str(torch.__version__)

    def wait(self):
        self.torch.cuda.synchronize()

    def host(self, answer):
        return answer.cpu().numpy()

    def release(self):
        self.torch.cuda.empty_cache()

    def batch(self, call, runs):
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(runs):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def capture(self, call, calls):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for _ in range(calls):
                call()
        return graph.replay

    def vector(self, v, block):
        return self.torch.from_numpy(block).to("cuda").repeat(v.copies)[: v.n]

    def contiguous(self, x):
        return x.contiguous()

    def permuted(self, x):
        return x.permute(2, 0, 1)

    def reversed(self, x):
        return x.flip(0)

    def indices(self, numbers):
        return self.torch.from_numpy(numbers).to("cuda")

    def taken(self, x, rows):
        return self.torch.index_select(x, 0, rows)

    def converted(self, x, dtype):
        return x.to({"f32": self.torch.float32, "f64": self.torch.float64}[dtype])

    def mean_var(self, v):
        x = self.vector(v, v.x)
        return lambda: self.torch.var_mean(x, correction=0)[::-1]

    def standardise(self, v):
        x = self.vector(v, v.x).reshape(v.side, v.side)
        return lambda: ((x - x.mean(0)) / x.std(0, correction=0)).reshape(-1)

    def softmax(self, v):
        x = self.vector(v, v.x).reshape(v.side, v.side)
        return lambda: self.torch.softmax(x, 1).reshape(-1)

    def inclusive_scan(self, v):
        x = self.vector(v, v.x)
        out = self.torch.empty_like(x)
        return lambda: self.torch.cumsum(x, 0, out=out)

    def fill(self, v):
        x = self.vector(v, v.x)
        return lambda: x.fill_(operations.FILLED)

    def copy(self, v):
        x = self.vector(v, v.x)
        out = self.torch.empty_like(x)
        return lambda: out.copy_(x)

    def gemm(self, s):
        a, b = (self.torch.from_numpy(matrix).to("cuda") for matrix in (s.a, s.b))
        out = self.torch.empty_like(a)
        return lambda: self.torch.mm(a, b, out=out)


class PyCUDA(Library):
    name, backend = "pycuda", "cuda"

    def open(self):
        import pycuda
        import pycuda.autoinit
        import pycuda.curandom
        import pycuda.driver
        import pycuda.gpuarray
        import pycuda.scan
        import pycuda.tools

        self.pycuda, self.arrays = pycuda, pycuda.gpuarray
        # Answers and scratch come from a pool, as a program that minds its speed would have it.
        self.pool = pycuda.tools.DeviceMemoryPool()
        return pycuda.VERSION_TEXT

    def wait(self):
        self.pycuda.driver.Context.synchronize()

    def host(self, answer):
        return answer.get()

    def release(self):
        self.pool.free_held()

    def close(self):
        self.pool = None

    def batch(self, call, runs):
        start, end = self.pycuda.driver.Event(), self.pycuda.driver.Event()
        start.record()
        for _ in range(runs):
            call()
        end.record()
        end.synchronize()
        return start.time_till(end) / 1e3

    def empty(self, v):
        return self.arrays.empty(v.n, v.x.dtype, allocator=self.pool.allocate)

    def vector(self, v, block):
        x = self.empty(v)
        for i in range(v.repeats):
            self.pycuda.driver.memcpy_htod(int(x.gpudata) + i * block.nbytes, block)
        return x

    def sum(self, v):
        x = self.vector(v, v.x)
        return lambda: self.arrays.sum(x)

    def dot(self, v):
        x, y = self.vector(v, v.x), self.vector(v, v.y)
        return lambda: self.arrays.dot(x, y)

    def inclusive_scan(self, v):
        x, out = self.vector(v, v.x), self.empty(v)
        scan = self.pycuda.scan.InclusiveScanKernel(v.x.dtype, "a+b")

        def call():
            scan(x, out)
            return out

        return call

    def fill(self, v):
        x = self.empty(v)

        def call():
            x.fill(operations.FILLED)
            return x

        return call

    def xorwow_uniform(self, v):
        import numpy as np

        seeds = lambda count: self.arrays.to_gpu(np.full(count, operations.SEED, np.int32))  # noqa: E731
        x, random = self.empty(v), self.pycuda.curandom.XORWOWRandomNumberGenerator(seeds)

        def call():
            random.fill_uniform(x)
            return x

        return call


class NumPy(Library, Eager):
    name, backend = "numpy", "cpu"

    def open(self):
        import numpy

        self.numpy = self.module = numpy
        return numpy.__version__

    def vector(self, v, block):
        return self.numpy.resize(block, v.n)

    def dot(self, v):
        x, y = self.numpy.tile(v.x, v.repeats), self.numpy.tile(v.y, v.repeats)
        return lambda: self.numpy.dot(x, y)

    def norm2(self, v):
        x = self.numpy.tile(v.x, v.repeats)
        return lambda: self.numpy.linalg.norm(x)


class SciPy(Library):
    name, backend = "scipy", "cpu"

    def open(self):
        import numpy
        import scipy
        import scipy.sparse
        import scipy.sparse.linalg

        self.numpy, self.sparse = numpy, scipy.sparse
        return scipy.__version__

    def matrix(self, m):
        # Copied into memory: pages of the file would be read while the clock runs.
        entries = tuple(self.numpy.array(m.array(name)) for name in ("values", "columns", "row_starts"))
        return self.sparse.csr_array(entries, shape=(m.rows, m.cols))

    def spmv(self, m):
        a, x = self.matrix(m), self.numpy.array(m.array("x"))
        return lambda: a @ x

    def cg200(self, m):
        a, b, solve = self.matrix(m), self.numpy.array(m.array("b")), solver(self.sparse.linalg.cg)
        return lambda: solve(a, b)

    def cg200_jacobi(self, m):
        a, b, solve = self.matrix(m), self.numpy.array(m.array("b")), solver(self.sparse.linalg.cg)
        inverse = 1 / a.diagonal()
        jacobi = self.sparse.linalg.LinearOperator(a.shape, matvec=lambda r: inverse * r, dtype=a.dtype)
        return lambda: solve(a, b, jacobi)

    def coo_to_csr(self, m):
        """Of entries in random order; sorted, and duplicates looked for."""
        a = self.matrix(m)
        order = self.numpy.random.default_rng(operations.SEED).permutation(m.nnz)
        row = self.numpy.repeat(self.numpy.arange(m.rows, dtype=a.indices.dtype), self.numpy.diff(a.indptr))
        entries = (a.data[order], (row[order], a.indices[order]))

        def call():
            # A new matrix each time: one that has been converted knows that it has no duplicates.
            return self.sparse.coo_array(entries, shape=a.shape).tocsr()

        return call


ALL = {library.name: library for library in (CuPy, CuPyKernel, CuPyFuse, Torch, PyCUDA, SciPy, NumPy)}
