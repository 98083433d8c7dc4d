//! Optional features: files of NumPy's, approx.

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use gpu_array::{
    ArrayError, Complex, GpuArray, GpuArray1, GpuArray2, NpyElement, bf16, f16,
    ndarray_npy::{NpzReader, NpzWriter},
};
use gpu_driver::Device;
use ndarray::{Array2, ShapeBuilder, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

use crate::complex_numpy::{python, told};

pub const TESTS: &[Test<Device>] = tests![
    files_of_numpys_come_back,
    files_of_16_bits_come_back,
    archives_come_back,
    arrays_are_nearly_equal,
    arrays_and_views_are_compared_at_either_place,
];
pub const WITH_NUMPY: &[Test<Device>] = tests![files_of_16_bits_are_numpys];

/// A file that goes at the end.
struct Scratch(PathBuf);

impl Scratch {
    /// A file that no other test of the process has, which may run at the same time.
    fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(env::temp_dir().join(format!("gpu-array-{}-{number}-{name}", process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn round_trip<T: NpyElement + PartialEq>(device: &Device, host: &Array2<T>) -> Outcome {
    let file = Scratch::new("round-trip.npy");
    for source in [host.clone(), host.t().to_owned(), host.t().as_standard_layout().to_owned().reversed_axes()] {
        GpuArray::from_ndarray(device, &source)?.write_npy(&file.0)?;
        let back = GpuArray2::<T>::read_npy(device, &file.0)?;
        ensure_eq!(back.to_ndarray()?, source);
    }
    Ok(())
}

fn files_of_numpys_come_back(device: &Device) -> Outcome {
    round_trip(device, &array![[1.5f32, -2.0, f32::INFINITY], [0.0, 4.0, 5.0]])?;
    round_trip(device, &array![[true, false], [true, true]])?;
    round_trip(device, &array![[i64::MIN, 7], [8, i64::MAX]])?;
    round_trip(device, &array![[Complex::new(1.0f64, -2.0)]])?;
    round_trip(device, &Array2::<u16>::zeros((0, 3)))?;
    let fortran = Scratch::new("fortran.npy");
    GpuArray::<f32, _>::zeros(device, (2, 3).f())?.write_npy(&fortran.0)?;
    let back = GpuArray2::<f32>::read_npy(device, &fortran.0)?;
    ensure_eq!(back.strides(), [1, 2]);
    // Another type, another rank, no file, no npy file.
    let refused = [
        GpuArray2::<f64>::read_npy(device, &fortran.0).map(drop),
        GpuArray1::<f32>::read_npy(device, &fortran.0).map(drop),
        GpuArray1::<f32>::read_npy(device, "no such file").map(drop),
        GpuArray1::<f32>::read_npy(device, file!()).map(drop),
        GpuArray::<f32, _>::zeros(device, 1)?.write_npy("no such folder/x.npy"),
    ];
    for refused in refused {
        ensure!(matches!(refused, Err(ArrayError::File { .. })), "{refused:?}");
    }
    Ok(())
}

/// Numbers that both types hold, infinite and subnormal ones of f16 among them.
fn halves<T>(of: impl Fn(f32) -> T) -> Array2<T> {
    array![[1.5, -2.0, f32::INFINITY], [-0.0, 2f32.powi(-14), 2f32.powi(-20)]].mapv(of)
}

fn files_of_16_bits_come_back(device: &Device) -> Outcome {
    fn refused<T: NpyElement>(device: &Device, file: &Scratch, of: &str) -> Outcome {
        let error = GpuArray2::<T>::read_npy(device, &file.0).map(drop);
        let Err(ArrayError::File { path, source }) = error else { return Err(format!("{error:?}").into()) };
        ensure!(path == file.0 && source.to_string().contains(of), "{source}");
        Ok(())
    }
    let (x, y) = (halves(f16::from_f32), halves(bf16::from_f32));
    round_trip(device, &x)?;
    round_trip(device, &y)?;
    round_trip(device, &Array2::<f16>::from_elem((0, 3), f16::ONE))?;
    let every: Array2<f16> = Array2::from_shape_fn((256, 256), |(i, j)| f16::from_bits((256 * i + j) as u16));
    let file = Scratch::new("every-f16.npy");
    GpuArray::from_ndarray(device, &every)?.write_npy(&file.0)?;
    let back = GpuArray2::<f16>::read_npy(device, &file.0)?.to_ndarray()?;
    ensure_eq!(back.mapv(f16::to_bits), every.mapv(f16::to_bits));
    // Two bytes, but of another type.
    refused::<bf16>(device, &file, "<f2")?;
    refused::<u16>(device, &file, "<f2")?;
    refused::<f32>(device, &file, "<f2")?;
    GpuArray::from_ndarray(device, &y)?.write_npy(&file.0)?;
    refused::<f16>(device, &file, "<V2")?;
    GpuArray::from_ndarray(device, &y.mapv(bf16::to_bits))?.write_npy(&file.0)?;
    refused::<f16>(device, &file, "<u2")?;
    refused::<bf16>(device, &file, "<u2")?;
    // More and fewer bytes than the shape asks for.
    GpuArray::from_ndarray(device, &x)?.write_npy(&file.0)?;
    let bytes = fs::read(&file.0)?;
    for wrong in [&bytes[..bytes.len() - 1], &[&bytes[..], &[0]].concat()] {
        fs::write(&file.0, wrong)?;
        let read = GpuArray2::<f16>::read_npy(device, &file.0).map(drop);
        ensure!(matches!(read, Err(ArrayError::File { .. })), "{read:?}");
    }
    Ok(())
}

/// NumPy reads the first three files, and writes the others.
const HALVES: &str = r#"
import sys
import numpy as np
f16, turned, bf16, big, void, ml = [line.strip() for line in sys.stdin]
x = np.array([[1.5, -2, np.inf], [-0.0, 2.0**-14, 2.0**-20]], np.float32)
bits = (x.view(np.uint32) >> 16).astype("<u2")
for path, want in (f16, x), (turned, x.T):
    got = np.load(path)
    assert got.dtype == np.dtype("<f2") and got.shape == want.shape, got.dtype
    assert got.tobytes() == want.astype("<f2").tobytes(), got
assert np.load(turned).flags.f_contiguous
got = np.load(bf16)
assert got.dtype == np.dtype("V2") and (got.view("<u2") == bits).all(), got
np.save(f16, x.astype("<f2"))
np.save(turned, x.astype("<f2").T)
np.save(big, x.astype(">f2"))
np.save(void, bits.view("V2"))
# The header that numpy.save writes of an array of ml_dtypes.bfloat16.
with open(ml, "wb") as file:
    np.lib.format.write_array_header_1_0(file, {"descr": "<V2", "fortran_order": False, "shape": x.shape})
    file.write(bits.tobytes())
print("same")
"#;

fn files_of_16_bits_are_numpys(device: &Device) -> Outcome {
    let names = ["f16", "turned", "bf16", "big", "void", "ml"];
    let files = names.map(|name| Scratch::new(&format!("{name}.npy")));
    let [f16_file, turned, bf16_file, big, void, ml] = &files;
    let (x, y) = (halves(f16::from_f32), halves(bf16::from_f32));
    let on_device = GpuArray::from_ndarray(device, &x)?;
    on_device.write_npy(&f16_file.0)?;
    GpuArray::from_ndarray(device, &x.t())?.write_npy(&turned.0)?;
    GpuArray::from_ndarray(device, &y)?.write_npy(&bf16_file.0)?;
    let paths: Vec<String> = files.iter().map(|file| file.0.display().to_string()).collect();
    ensure_eq!(told(&python()?, HALVES, &paths.join("\n"))?, "same");
    for file in [f16_file, big] {
        ensure_eq!(GpuArray2::<f16>::read_npy(device, &file.0)?.to_ndarray()?, x);
    }
    let back = GpuArray2::<f16>::read_npy(device, &turned.0)?;
    ensure_eq!((back.strides(), back.to_ndarray()?), (&[1, 3][..], x.t().to_owned()));
    for file in [bf16_file, void, ml] {
        ensure_eq!(GpuArray2::<bf16>::read_npy(device, &file.0)?.to_ndarray()?, y);
    }
    Ok(())
}

fn archives_come_back(device: &Device) -> Outcome {
    let archive = Scratch::new("archive.npz");
    let x = GpuArray::from_ndarray(device, &array![[1.0f32, 2.0], [3.0, 4.0]])?;
    let mut writer = NpzWriter::new(fs::File::create(&archive.0)?);
    writer.add_array("x", &x.to_ndarray()?)?;
    writer.add_array("twice", &(&x * 2.0).eval()?.to_ndarray()?)?;
    writer.finish()?;
    let mut reader = NpzReader::new(fs::File::open(&archive.0)?)?;
    let twice: Array2<f32> = reader.by_name("twice")?;
    ensure_eq!(GpuArray::from_ndarray(device, &twice)?.to_ndarray()?, x.to_ndarray()? * 2.0);
    Ok(())
}

fn arrays_are_nearly_equal(device: &Device) -> Outcome {
    use approx::{abs_diff_eq, relative_eq, ulps_eq};
    let x = GpuArray::from_ndarray(device, &array![1.0f64, 100.0])?;
    let near = GpuArray::from_ndarray(device, &array![1.0f64 + 1e-12, 100.0 + 1e-12])?;
    ensure!(abs_diff_eq!(x, near, epsilon = 1e-11) && !abs_diff_eq!(x, near));
    ensure!(relative_eq!(x, near, max_relative = 1e-11) && !relative_eq!(x, near));
    let host = near.to_ndarray()?;
    ensure!(abs_diff_eq!(x, host, epsilon = 1e-11) && !abs_diff_eq!(x, host));
    ensure!(relative_eq!(x, host, max_relative = 1e-11) && x != host && near == host && near == near.try_clone()?);
    let next = x.to_ndarray()?.mapv(f64::next_up);
    let on_device = GpuArray::from_ndarray(device, &next)?;
    ensure!(ulps_eq!(x, next, epsilon = 0.0, max_ulps = 1) && !ulps_eq!(x, next, epsilon = 0.0, max_ulps = 0));
    ensure!(ulps_eq!(x, on_device, epsilon = 0.0, max_ulps = 1) && !ulps_eq!(x, near, epsilon = 0.0, max_ulps = 1));
    let z = GpuArray::from_ndarray(device, &array![Complex::new(1.0f64, -2.0)])?;
    let turned = array![Complex::new(1.0f64, -2.0 + 1e-12)];
    ensure!(abs_diff_eq!(z, turned, epsilon = 1e-11) && !abs_diff_eq!(z, turned, epsilon = 1e-13));
    let longer = GpuArray::from_ndarray(device, &array![1.0f64, 100.0, 0.0])?;
    ensure!(!abs_diff_eq!(x, longer, epsilon = 1e9));
    let mut broken = x.try_clone()?;
    broken += &longer;
    ensure!(!abs_diff_eq!(broken, x, epsilon = 1e9) && broken != x);
    Ok(())
}

/// Checks operands whose elements differ by 1e-12 of themselves, at most by 1e-10.
fn compares<A, B>(name: &str, a: &A, b: &B) -> Outcome
where
    A: approx::RelativeEq<B, Epsilon = f64> + approx::UlpsEq<B>,
{
    ensure!(a != b, "{name}");
    ensure!(a.abs_diff_eq(b, 1e-9) && !a.abs_diff_eq(b, 1e-13) && !a.abs_diff_eq(b, A::default_epsilon()), "{name}");
    let relative = |most: f64| a.relative_eq(b, 0.0, most);
    ensure!(relative(2e-12) && !relative(1e-13) && !relative(A::default_max_relative()), "{name}");
    let ulps = |most: u32| a.ulps_eq(b, 0.0, most);
    ensure!(ulps(10_000) && !ulps(1000) && !ulps(A::default_max_ulps()), "{name}");
    Ok(())
}

fn equal<A: PartialEq<B>, B>(a: &A, b: &B) -> bool {
    a == b
}

fn arrays_and_views_are_compared_at_either_place(device: &Device) -> Outcome {
    // The second axis reversed is no contiguous view; beside the selected rows stand others.
    let h = array![[1.0f64, 2.0, 3.0], [4.0, 50.0, 100.0], [7.0, 8.0, 9.0]];
    let close = h.mapv(|x| x * (1.0 + 1e-12));
    let part = s![..2, ..;-1];
    let (x, mut x_mut) = (GpuArray::from_ndarray(device, &h)?, GpuArray::from_ndarray(device, &h)?);
    let (y, mut y_mut) = (GpuArray::from_ndarray(device, &close)?, GpuArray::from_ndarray(device, &close)?);
    let whole = GpuArray::from_ndarray(device, &h.slice(part))?;
    let close_whole = GpuArray::from_ndarray(device, &close.slice(part))?;
    let (a, a_mut, a_host) = (x.slice(part)?, x_mut.slice_mut(part)?, h.slice(part));
    let (b, b_mut, b_host) = (y.slice(part)?, y_mut.slice_mut(part)?, close.slice(part));
    macro_rules! all {
        ($($left:ident)*; $right:tt) => {$(all!(@one $left $right);)*};
        (@one $left:ident ($($right:ident)*)) => {$(
            compares(concat!(stringify!($left), " and ", stringify!($right)), &$left, &$right)?;
        )*};
    }
    all!(whole a a_mut; (close_whole b b_mut b_host));
    all!(a_host; (close_whole b b_mut));
    let owned = a_host.to_owned();
    ensure!(equal(&a, &whole) && equal(&whole, &a) && equal(&a, &a_mut) && equal(&a_mut, &a) && equal(&a_mut, &whole));
    ensure!(equal(&a_host, &a) && equal(&a, &a_host) && equal(&a_host, &a_mut) && equal(&a_mut, &a_host));
    ensure!(equal(&owned, &whole) && equal(&whole, &owned));
    // Of other shapes, and of an array with an error.
    ensure!(
        x != whole && x.view() != a && h != whole && !approx::abs_diff_eq!(a, x.slice(s![..2, ..2])?, epsilon = 1e9)
    );
    let mut broken = x.try_clone()?;
    broken += &GpuArray::<f64, _>::zeros(device, 4)?;
    ensure!(broken.view() != x && h != broken && !approx::abs_diff_eq!(h, broken, epsilon = 1e9));
    Ok(())
}
