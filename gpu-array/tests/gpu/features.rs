//! Optional features: files of NumPy's, approx.

use std::{env, fs, path::PathBuf, process};

use gpu_array::{
    ArrayError, Complex, Element, GpuArray, GpuArray1, GpuArray2,
    ndarray_npy::{NpzReader, NpzWriter, ReadableElement, WritableElement},
};
use gpu_driver::Device;
use ndarray::{Array2, ShapeBuilder, array};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![files_of_numpys_come_back, archives_come_back, arrays_are_nearly_equal];

/// A file that goes at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("gpu-array-{}-{name}", process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn round_trip<T: Element + ReadableElement + WritableElement + PartialEq>(
    device: &Device,
    host: &Array2<T>,
) -> Outcome {
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
