//! Optional features: files of NumPy's, approx.

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use gpu_array::{ArrayError, Complex, GpuArray, GpuArray1, GpuArray2, NpyElement, NpzReader, NpzWriter, bf16, f16};
use gpu_driver::Device;
use ndarray::{Array2, Ix1, Ix2, ShapeBuilder, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

use crate::complex_numpy::{python, told};

pub const TESTS: &[Test<Device>] = tests![
    files_of_numpys_come_back,
    files_of_16_bits_come_back,
    archives_come_back,
    broken_archives_are_told,
    arrays_are_nearly_equal,
    arrays_and_views_are_compared_at_either_place,
];
pub const WITH_NUMPY: &[Test<Device>] = tests![files_of_16_bits_are_numpys, archives_are_numpys];

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

/// The text of an error about a file.
fn reason_of<T>(result: gpu_array::Result<T>, file: &Scratch) -> Result<String, Box<dyn std::error::Error>> {
    match result {
        Err(ArrayError::File { path, source }) if path == file.0 => Ok(source.to_string()),
        Err(other) => Err(other.into()),
        Ok(_) => Err("no error".into()),
    }
}

fn archives_come_back(device: &Device) -> Outcome {
    let x = array![[1.0f32, 2.0, -0.5], [3.0, 4.0, f32::INFINITY]];
    let (halves, bits) = (x.mapv(bf16::from_f32), x.mapv(|x| x > 1.5));
    for compressed in [false, true] {
        let file = Scratch::new("archive.npz");
        let mut archive = if compressed { NpzWriter::create_compressed(&file.0)? } else { NpzWriter::create(&file.0)? };
        let on_device = GpuArray::from_ndarray(device, &x)?;
        archive.write("x", &on_device)?;
        archive.write("turned", &on_device.t().to_owned()?)?;
        archive.write_ndarray("halves", &halves.t())?;
        archive.write("bits", &GpuArray::from_ndarray(device, &bits)?)?;
        archive.write_ndarray("none", &Array2::<i64>::zeros((0, 3)))?;
        archive.write_ndarray("long", &Array2::<u8>::zeros((100, 1000)))?;
        archive.finish()?;
        let mut archive = NpzReader::open(&file.0)?;
        let mut names = archive.names();
        names.sort();
        ensure_eq!(names, ["bits", "halves", "long", "none", "turned", "x"]);
        ensure_eq!(archive.read::<f32, Ix2>(device, "x")?.to_ndarray()?, x);
        let turned = archive.read::<f32, Ix2>(device, "turned")?;
        ensure_eq!((turned.strides(), turned.to_ndarray()?), (&[1, 3][..], x.t().to_owned()));
        ensure_eq!(archive.read_ndarray::<bf16, Ix2>("halves")?, halves.t());
        ensure_eq!(archive.read_ndarray::<bool, Ix2>("bits")?, bits);
        ensure_eq!(archive.read::<i64, Ix2>(device, "none")?.to_ndarray()?.dim(), (0, 3));
        // NumPy takes the name of the entry too.
        ensure_eq!(archive.read_ndarray::<u8, Ix2>("long.npy")?.dim(), (100, 1000));
        ensure_eq!(archive.read_ndarray::<u8, Ix2>("long")?.dim(), (100, 1000));
        ensure!((fs::metadata(&file.0)?.len() < 10_000) == compressed);
        let reason = reason_of(archive.read_ndarray::<f32, Ix2>("y"), &file)?;
        ensure!(reason.contains("no array `y`") && reason.contains("turned"), "{reason}");
        let reason = reason_of(archive.read_ndarray::<u8, Ix2>("x"), &file)?;
        ensure!(reason.contains("<f4"), "{reason}");
        let reason = reason_of(archive.read_ndarray::<i32, Ix2>("x"), &file)?;
        ensure!(reason.contains("<f4"), "{reason}");
        reason_of(archive.read_ndarray::<f32, Ix1>("x"), &file)?;
    }
    let file = Scratch::new("twice.npz");
    let mut archive = NpzWriter::create(&file.0)?;
    archive.write_ndarray("x", &x)?;
    reason_of(archive.write_ndarray("x", &x), &file)?;
    let nowhere = Scratch::new("no folder/x.npz");
    reason_of(NpzWriter::create(&nowhere.0), &nowhere)?;
    reason_of(NpzReader::open(&nowhere.0), &nowhere)?;
    Ok(())
}

/// The bytes of the archive with numbers in place of others, at each place where they are.
fn with_numbers(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + old.len()].copy_from_slice(new);
        }
    }
    bytes
}

fn broken_archives_are_told(_: &Device) -> Outcome {
    let file = Scratch::new("broken.npz");
    // Numbers that deflate hardly makes fewer, so that most bytes are those of the array.
    let x = Array2::from_shape_fn((64, 64), |(i, j)| ((i * 64 + j) as u32).wrapping_mul(0x9e37_79b9));
    for compressed in [false, true] {
        let mut archive = if compressed { NpzWriter::create_compressed(&file.0)? } else { NpzWriter::create(&file.0)? };
        archive.write_ndarray("x", &x)?;
        archive.finish()?;
        let bytes = fs::read(&file.0)?;
        let read = |bytes: &[u8]| {
            fs::write(&file.0, bytes)?;
            let read = NpzReader::open(&file.0).and_then(|mut archive| archive.read_ndarray::<u32, Ix2>("x"));
            reason_of(read, &file).map_err(|error| {
                Box::<dyn std::error::Error>::from(format!("{error}: {} bytes, compressed: {compressed}", bytes.len()))
            })
        };
        // Cut off anywhere, or empty.
        for length in [0, 1, 30, bytes.len() / 2, bytes.len() - 22, bytes.len() - 1] {
            read(&bytes[..length])?;
        }
        // A changed byte of the array.
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 0x55;
        read(&changed)?;
        // The method of another compressor, behind the signatures of both headers: bzip2, which is not read here.
        let own: [u8; 2] = if compressed { [8, 0] } else { [0, 0] };
        let mut other = bytes.clone();
        for (signature, place) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
            let at = bytes.windows(4).position(|four| four == signature).ok_or("a header")? + place;
            ensure_eq!(bytes[at..at + 2], own);
            other[at] = 12;
        }
        let reason = read(&other)?;
        ensure!(reason.to_lowercase().contains("compression"), "{reason}");
        // More and fewer bytes stated than there are, and more than fit into memory.
        let stated = (64 * 64 * 4 + 128u32).to_le_bytes();
        ensure!(bytes.windows(4).any(|four| four == stated));
        let reason = read(&with_numbers(&bytes, &stated, &(64 * 64 * 4u32).to_le_bytes()))?;
        ensure!(reason.contains("the header asks for 16384 bytes") || reason.contains("cannot hold"), "{reason}");
        let reason = read(&with_numbers(&bytes, &stated, &0xf000_0000u32.to_le_bytes()))?;
        ensure!(reason.contains("cannot hold the 4026531840 bytes") || reason.contains("asks for"), "{reason}");
        if !compressed {
            let reason = read(&with_numbers(&bytes, b"(64, 64)", b"(64, 99)"))?;
            ensure!(reason.contains("asks for 25344 bytes"), "{reason}");
        }
    }
    // Headers of plain files that ask for what is not there.
    let long = Scratch::new("long.npy");
    let header = |shape: &str| {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (text.len() as u16).to_le_bytes();
        [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes(), &[0; 8]].concat()
    };
    for (shape, of) in [
        ("(2,)", ""),
        ("(3,)", "asks for 12 bytes of elements, and there are 8"),
        ("(1152921504606846976,)", "asks for 4611686018427387904 bytes"),
        ("(4611686018427387904, 4)", "more than 2^64"),
        ("(-2,)", "no number"),
        ("2", "no shape"),
        (&"(".repeat(30_000), "brackets"),
    ] {
        fs::write(&long.0, header(shape))?;
        let read = GpuArray1::<f32>::read_npy(&Device::for_tests()?, &long.0);
        if of.is_empty() {
            ensure_eq!(read?.len(), 2);
            continue;
        }
        let reason = reason_of(read, &long)?;
        ensure!(reason.contains(of), "{shape}: {reason}");
    }
    Ok(())
}

/// NumPy reads the first two archives, writes the next two, and a last one whose array has more bytes than the archive states.
const ARCHIVES: &str = r#"
import io
import struct
import sys
import zipfile
import numpy as np
stored, packed, savez, compressed, bomb = [line.strip() for line in sys.stdin]
x = (np.arange(12).reshape(3, 4) - 5)
arrays = {
    "bool": x > 0, "complex64": (x + 2j * x).astype(np.complex64), "complex128": x * 1j,
    **{name: x.astype(name) for name in ["int8", "int16", "int32", "int64", "float16", "float32", "float64"]},
    **{name: abs(x).astype(name) for name in ["uint8", "uint16", "uint32", "uint64"]},
}
for path in stored, packed:
    got = np.load(path)
    assert sorted(got.files) == sorted(arrays), got.files
    for name, want in arrays.items():
        assert got[name].dtype == want.dtype and (got[name] == want).all(), (path, name, got[name])
with zipfile.ZipFile(packed) as archive:
    assert all(entry.compress_type == zipfile.ZIP_DEFLATED for entry in archive.infolist())
np.savez(savez, **arrays)
np.savez_compressed(compressed, **arrays)
file = io.BytesIO()
np.save(file, np.zeros(8, np.uint8))
true = file.tell()
file.write(bytes(1 << 26))
with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("x.npy", file.getvalue())
whole = open(bomb, "rb").read()
open(bomb, "wb").write(whole.replace(struct.pack("<I", true + (1 << 26)), struct.pack("<I", true)))
print("same")
"#;

/// Arrays of every type that NumPy has, as the script has them.
macro_rules! each_numpy_type {
    ($x:ident, $each:ident) => {
        $each!("bool", $x.mapv(|x| x > 0));
        $each!("int8", $x.mapv(|x| x as i8));
        $each!("int16", $x.mapv(|x| x as i16));
        $each!("int32", $x.mapv(|x| x as i32));
        $each!("int64", $x.clone());
        $each!("uint8", $x.mapv(|x| x.unsigned_abs() as u8));
        $each!("uint16", $x.mapv(|x| x.unsigned_abs() as u16));
        $each!("uint32", $x.mapv(|x| x.unsigned_abs() as u32));
        $each!("uint64", $x.mapv(|x| x.unsigned_abs()));
        $each!("float16", $x.mapv(|x| f16::from_f32(x as f32)));
        $each!("float32", $x.mapv(|x| x as f32));
        $each!("float64", $x.mapv(|x| x as f64));
        $each!("complex64", $x.mapv(|x| Complex::new(x as f32, 2.0 * x as f32)));
        $each!("complex128", $x.mapv(|x| Complex::new(0.0, x as f64)));
    };
}

/// An array of the same type.
fn like<T: NpyElement>(_: &Array2<T>, array: GpuArray2<T>) -> GpuArray2<T> {
    array
}

fn archives_are_numpys(device: &Device) -> Outcome {
    let files = ["stored", "packed", "savez", "compressed", "bomb"].map(|name| Scratch::new(&format!("{name}.npz")));
    let [stored, packed, savez, compressed, bomb] = &files;
    let x = Array2::from_shape_fn((3, 4), |(i, j)| (4 * i + j) as i64 - 5);
    for mut archive in [NpzWriter::create(&stored.0)?, NpzWriter::create_compressed(&packed.0)?] {
        macro_rules! write {
            ($name:literal, $array:expr) => {
                archive.write($name, &GpuArray::from_ndarray(device, &$array)?)?
            };
        }
        each_numpy_type!(x, write);
        archive.finish()?;
    }
    let paths: Vec<String> = files.iter().map(|file| format!("{}\n", file.0.display())).collect();
    ensure_eq!(told(&python()?, ARCHIVES, &paths.concat())?, "same");
    for file in [savez, compressed] {
        let mut archive = NpzReader::open(&file.0)?;
        macro_rules! read {
            ($name:literal, $array:expr) => {{
                let want = $array;
                let got = like(&want, archive.read(device, $name)?);
                ensure_eq!(got.to_ndarray()?, want);
            }};
        }
        each_numpy_type!(x, read);
    }
    let reason = reason_of(NpzReader::open(&bomb.0)?.read_ndarray::<u8, Ix1>("x"), bomb)?;
    ensure!(reason.contains("more than the 136 bytes stated"), "{reason}");
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
