//! Everyday lines of NumPy and ours beside them: each is evaluated on a device, on the host by the same tokens, and by NumPy, and all three agree.
//!
//! `gpu-array/NUMPY.md` is the page of these lines, which `the_page_has_every_line` compares with them (`GPU_NUMPY_PAGE=write` writes it).

mod apart;
mod elementwise;
mod reducing;

use std::{
    env, fmt,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use gpu_algos::{
    gpu_array::{
        Complex, Element, GpuArray, GpuArray1, GpuArray2, GpuView, Result,
        expression::{Backend, Expr, Host, host},
        gpu_driver::Device,
    },
    select::Selected,
};
use ndarray::{Array, Array1, Array2, Dimension, Ix1, Ix2, array};
use testkit::{Outcome, Test, ensure, tests};

pub const TESTS: &[Test<Python>] = tests![lines_agree_with_numpy];
pub const OF_SCIPY: &[Test<Python>] = tests![lines_agree_with_scipy];
pub const PAGE: &[Test<()>] = tests![the_page_has_every_line];

type Python = PathBuf;

/// The arrays of the lines, under their names there.
pub struct Arrays {
    x: Array2<f64>,
    y: Array2<f64>,
    u: Array2<f64>,
    v: Array1<f64>,
    c: Array2<f64>,
    i: Array2<i64>,
    j: Array2<i64>,
    k: Array1<i32>,
    n: Array1<u8>,
    m: Array2<bool>,
    f: Array2<f32>,
    z: Array1<Complex<f64>>,
    a: Array1<f64>,
}

impl Arrays {
    fn new() -> Self {
        Self {
            x: array![[0.5, -1.25, 3.0, 2.5], [4.0, 0.75, -2.0, 1.0], [1.5, 2.25, -0.5, 6.0]],
            y: array![[1.5, 2.0, 0.25, 3.0], [0.5, 1.0, 4.0, 2.0], [2.5, 0.75, 1.25, 3.5]],
            u: array![[0.5, -0.25, 0.125, 0.75], [-0.5, 0.0, 0.875, -0.625], [0.375, -0.75, 0.0625, 0.25]],
            v: array![1.0, 2.0, -3.0, 4.0],
            c: array![[0.5], [-1.0], [2.0]],
            i: array![[7, -3, 2, 5], [-8, 1, 0, 4], [3, 3, -6, 9]],
            j: array![[2, 4, -3, 1], [3, -2, 5, 6], [-4, 2, 4, 7]],
            k: array![3, 0, -1, 2],
            n: array![200, 3, 17, 255],
            m: array![[true, false, true, true], [false, false, true, false], [true, true, false, true]],
            f: array![[0.5, 1.5, -2.0, 3.25], [1.0, 0.25, 8.0, -1.0], [2.0, 4.5, 0.75, 1.25]],
            z: array![Complex::new(1.0, 2.0), Complex::new(-0.5, 0.25), Complex::new(0.0, -3.0)],
            a: array![3.0, 1.0, 1.0, f64::NAN, 2.0, 0.0],
        }
    }
}

/// The same arrays on a device.
pub struct OnDevice {
    x: GpuArray2<f64>,
    y: GpuArray2<f64>,
    u: GpuArray2<f64>,
    v: GpuArray1<f64>,
    c: GpuArray2<f64>,
    i: GpuArray2<i64>,
    j: GpuArray2<i64>,
    k: GpuArray1<i32>,
    n: GpuArray1<u8>,
    m: GpuArray2<bool>,
    f: GpuArray2<f32>,
    z: GpuArray1<Complex<f64>>,
    a: GpuArray1<f64>,
}

/// The same arrays as expressions on the host.
pub struct OnHost<'h> {
    x: Expr<'h, f64, Ix2, Host>,
    y: Expr<'h, f64, Ix2, Host>,
    u: Expr<'h, f64, Ix2, Host>,
    v: Expr<'h, f64, Ix1, Host>,
    c: Expr<'h, f64, Ix2, Host>,
    i: Expr<'h, i64, Ix2, Host>,
    j: Expr<'h, i64, Ix2, Host>,
    k: Expr<'h, i32, Ix1, Host>,
    n: Expr<'h, u8, Ix1, Host>,
    m: Expr<'h, bool, Ix2, Host>,
    f: Expr<'h, f32, Ix2, Host>,
    z: Expr<'h, Complex<f64>, Ix1, Host>,
    a: Expr<'h, f64, Ix1, Host>,
}

macro_rules! each {
    ($($name:ident)*) => {
        impl Arrays {
            fn on(&self, device: &Device) -> Result<OnDevice> {
                Ok(OnDevice { $($name: GpuArray::from_ndarray(device, &self.$name)?),* })
            }

            fn on_host(&self) -> OnHost<'_> {
                OnHost { $($name: host(&self.$name)),* }
            }

            /// Their definitions in Python.
            fn script(&self) -> String {
                let mut text = String::new();
                $(
                    let told = self.$name.told();
                    let (name, list, dtype, shape) = (stringify!($name), told.list(), told.dtype, told.shape());
                    let _ = writeln!(text, "{name} = np.array({list}, dtype=np.{dtype}).reshape({shape})");
                )*
                text
            }
        }
    };
}
each! { x y u v c i j k n m f z a }

/// A value as NumPy can compare it.
pub struct Told {
    dtype: &'static str,
    shape: Vec<usize>,
    elements: Vec<String>,
}

impl Told {
    fn list(&self) -> String {
        format!("[{}]", self.elements.join(", "))
    }

    fn shape(&self) -> String {
        let lengths: Vec<String> = self.shape.iter().map(|length| format!("{length},")).collect();
        format!("({})", lengths.concat())
    }
}

/// Elements as Python writes them.
pub trait InPython: Element {
    fn text(self) -> String;
}

macro_rules! in_python {
    ($($type:ty)*) => {
        $(impl InPython for $type {
            fn text(self) -> String {
                format!("{self:?}")
            }
        })*
    };
}
in_python! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

impl InPython for bool {
    fn text(self) -> String {
        if self { "True".to_owned() } else { "False".to_owned() }
    }
}

impl InPython for Complex<f64> {
    fn text(self) -> String {
        format!("complex({:?}, {:?})", self.re, self.im)
    }
}

/// Arrays of either place, single values, and pairs.
pub trait Tell {
    fn told(&self) -> Told;
}

impl<T: InPython, D: Dimension> Tell for Array<T, D> {
    fn told(&self) -> Told {
        let elements = self.iter().map(|&element| element.text()).collect();
        Told { dtype: T::DTYPE.name(), shape: self.shape().to_vec(), elements }
    }
}

impl<T: InPython, D: Dimension> Tell for GpuArray<T, D> {
    fn told(&self) -> Told {
        self.to_ndarray().unwrap_or_else(|_| Array::from_shape_simple_fn(D::zeros(self.ndim()), || T::ZERO)).told()
    }
}

impl<T: InPython, D: Dimension> Tell for GpuView<'_, T, D> {
    fn told(&self) -> Told {
        self.to_ndarray().unwrap_or_else(|_| Array::from_shape_simple_fn(D::zeros(self.ndim()), || T::ZERO)).told()
    }
}

impl<T: InPython, D: Dimension, P: Backend<Owned<T, D>: Tell>> Tell for Expr<'_, T, D, P> {
    fn told(&self) -> Told {
        let nothing = || Told { dtype: "no value", shape: Vec::new(), elements: Vec::new() };
        self.eval().map_or_else(|_| nothing(), |array| array.told())
    }
}

impl<T: InPython + Default> Tell for Selected<T> {
    fn told(&self) -> Told {
        self.to_ndarray().unwrap_or_default().told()
    }
}

/// All lines, and what they gave.
#[derive(Default)]
pub struct Lines {
    /// The cases of the script.
    script: String,
    /// Lines of NumPy and ours, below the title of their group.
    page: Vec<(String, Vec<(&'static str, String)>)>,
    failed: Vec<String>,
}

impl Lines {
    pub fn group(&mut self, title: &str) {
        self.page.push((title.to_owned(), Vec::new()));
    }

    pub fn line(&mut self, numpy: &'static str, ours: &str) {
        let ours = ours.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((_, lines)) = self.page.last_mut() {
            lines.push((numpy, ours));
        }
    }

    pub fn gave<V: Tell, E: fmt::Display>(&mut self, numpy: &'static str, place: &str, value: Result<V, E>) {
        match value {
            Ok(value) => {
                let told = value.told();
                let (list, dtype, shape) = (told.list(), told.dtype, told.shape());
                let _ = writeln!(self.script, "case({numpy:?}, {place:?}, {dtype:?}, {shape}, {list})");
            }
            Err(error) => self.failed.push(format!("{numpy} on {place}: {error}")),
        }
    }
}

/// Lines that a device and the host evaluate by the same tokens; the names before them are those of the arrays that they use.
macro_rules! lines {
    ($lines:ident, $gpu:ident, $host:ident, $title:literal, [$($name:ident)*]; $($numpy:literal => $ours:expr;)*) => {
        $lines.group($title);
        $($lines.line($numpy, stringify!($ours));)*
        if let Some(gpu) = $gpu {
            $(let $name = &gpu.$name;)*
            $($lines.gave($numpy, "device", ($ours).eval());)*
        }
        if let Some(host) = $host {
            $(let $name = &host.$name;)*
            $($lines.gave($numpy, "host", ($ours).eval());)*
        }
    };
}
pub(crate) use lines;

/// The results of lines that give an array each, at one place.
macro_rules! gave_arrays {
    ($lines:ident, $arrays:ident, $place:literal, [$($name:ident)*]; $($numpy:literal => $ours:expr;)*) => {
        if let Some(arrays) = $arrays {
            $(let $name = &arrays.$name;)*
            $(
                let run = || -> std::result::Result<_, gpu_algos::AlgoError> { Ok($ours) };
                $lines.gave($numpy, $place, run());
            )*
        }
    };
}
pub(crate) use gave_arrays;

/// Lines that give an array each, by the same tokens on a device and on the host.
macro_rules! array_lines {
    ($lines:ident, $gpu:ident, $host:ident, $title:literal, $names:tt; $($numpy:literal => $ours:expr;)*) => {
        $crate::lines::device_lines! { $lines, $gpu, $title, $names; $($numpy => $ours;)* }
        $crate::lines::gave_arrays! { $lines, $host, "host", $names; $($numpy => $ours;)* }
    };
}
pub(crate) use array_lines;

/// Lines of arrays on a device alone, which give an array each.
macro_rules! device_lines {
    ($lines:ident, $gpu:ident, $title:literal, $names:tt; $($numpy:literal => $ours:expr;)*) => {
        $lines.group($title);
        $($lines.line($numpy, stringify!($ours));)*
        $crate::lines::gave_arrays! { $lines, $gpu, "device", $names; $($numpy => $ours;)* }
    };
}
pub(crate) use device_lines;

fn all(gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) -> Lines {
    let mut lines = Lines::default();
    elementwise::arithmetic(&mut lines, gpu, host);
    elementwise::functions(&mut lines, gpu, host);
    elementwise::masks(&mut lines, gpu, host);
    elementwise::types(&mut lines, gpu, host);
    reducing::whole(&mut lines, gpu, host);
    reducing::along(&mut lines, gpu, host);
    reducing::selected(&mut lines, gpu, host);
    reducing::within(&mut lines, gpu, host);
    apart::moved(&mut lines, gpu, host);
    apart::parts(&mut lines, gpu, host);
    apart::written(&mut lines, gpu, host);
    apart::on_device(&mut lines, gpu);
    apart::small_matrices(&mut lines, gpu);
    apart::products(&mut lines, gpu);
    apart::scans(&mut lines, gpu, host);
    lines
}

/// Lines whose counterparts are in `scipy.special`.
fn of_scipy(gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) -> Lines {
    let mut lines = Lines::default();
    elementwise::special(&mut lines, gpu, host);
    lines
}

fn lines_agree_with_numpy(python: &Python) -> Outcome {
    agree(python, "", all)
}

fn lines_agree_with_scipy(python: &Python) -> Outcome {
    agree(python, "from scipy import special", of_scipy)
}

/// Lets Python compare the values of lines on a device and on the host with its own.
fn agree(python: &Python, imports: &str, of: fn(Option<&OnDevice>, Option<&OnHost<'_>>) -> Lines) -> Outcome {
    let device = Device::for_tests()?;
    let arrays = Arrays::new();
    let (gpu, host) = (arrays.on(&device)?, arrays.on_host());
    let lines = of(Some(&gpu), Some(&host));
    ensure!(lines.failed.is_empty(), "{}", lines.failed.join("\n"));
    let check = include_str!("check.py");
    let script = format!("{check}\n{imports}\n{}\n{}\nfinish()\n", arrays.script(), lines.script);
    let pipe = Stdio::piped;
    let mut child = Command::new(python).arg("-").stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn()?;
    child.stdin.take().ok_or("no pipe")?.write_all(script.as_bytes())?;
    let output = child.wait_with_output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    let cases = lines.script.lines().count();
    ensure!(told.trim() == cases.to_string(), "{told} in place of {cases}");
    Ok(())
}

const HEAD: &str = "# From NumPy to here

Each line of NumPy with ours. `x`, `y` and the like are arrays by reference: `&GpuArray` on a device, or `&host(&array)`, an expression of an array on the
host, for which the same text computes the same. `.eval()?` makes an array of a value, on a device or as ndarray's `Array`; without it the value goes into
a larger one, and all is one kernel. The lines come from `gpu-algos/tests/gpu/lines`, whose tests `lines_agree_with_numpy` and `lines_agree_with_scipy`
evaluate each on a device, on the host (but for those that say *on a device*) and by NumPy or SciPy, and compare types, shapes and values: integers exactly,
floats within 16 units in the last place of the greatest value, or `jn` on a device within its own bound.

Where a line has `?` it gives an array at once. [PYCUDA.md](PYCUDA.md) has the tests of PyCUDA.
";

const TAIL: &str = "
## Not here

| NumPy | until then |
|---|---|
| `np.sort`, `np.argsort`, `np.searchsorted`, `np.unique` | a copy on the host: `let mut h = x.to_ndarray()?.into_raw_vec_and_offset().0`, `h.sort_by(f64::total_cmp)`. `x.unique()` is here \
the `unique` of CUB and Thrust, the first value of each run of equal neighbours: that is NumPy's of sorted values alone |
| `np.median`, `np.percentile`, `np.quantile` | the same copy, sorted |
| `np.histogram` with edges, `np.digitize` | bins of one width: the line above; `add_at` counts at any indices |
| `np.linalg.eigh`, `eig`, `svd`, `pinv`, `matrix_rank`, `cond` | on the host, by a crate such as `faer`; least squares: the line with `qr` |
| `np.linalg` of matrices of more than 64 rows or columns | Cholesky, LU and QR factors are of small matrices, in stacks; `matmul` and `einsum` take any size |
| `np.fft`, `np.convolve`, `np.interp` | cuFFT or a kernel of one's own; a short convolution is a sum of `slice`s, or `as_strided` and `matmul` |
| `np.random.permutation`, `shuffle`, `choice` without replacement | on the host, by `rand` with the generators of `gpu-random`; \
with replacement `take(&x, &rng.gen_range(&device, n, 0..len)?, Outside::Wrap)` |
";

fn page(all: &[Lines]) -> String {
    let mut text = HEAD.to_owned();
    for (title, lines) in all.iter().flat_map(|lines| &lines.page) {
        let _ = write!(text, "\n## {title}\n\n| NumPy | here |\n|---|---|\n");
        for (numpy, ours) in lines {
            let _ = writeln!(text, "| `{}` | `{}` |", numpy.replace('|', "\\|"), ours.replace('|', "\\|"));
        }
    }
    text + TAIL
}

/// The folder of the page, which is written by tests from the sources.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../gpu-array")
}

/// Whether the sources are here. The page may be missing, and is a failure then.
pub fn sources() -> Result<(), String> {
    let manifest = folder().join("Cargo.toml");
    if manifest.exists() { Ok(()) } else { Err(format!("a bundle has no sources: {} is missing", manifest.display())) }
}

fn the_page_has_every_line(_: &()) -> Outcome {
    let path = folder().join("NUMPY.md");
    let page = page(&[all(None, None), of_scipy(None, None)]);
    if testkit::says("GPU_NUMPY_PAGE", "write") {
        fs::write(&path, &page)?;
    }
    let written = fs::read_to_string(&path)?;
    ensure!(written == page, "NUMPY.md is not the page of the lines: GPU_NUMPY_PAGE=write writes it");
    Ok(())
}
