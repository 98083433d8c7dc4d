//! Memory from and to other libraries: who gives it back, when, and what is refused.
#![expect(unsafe_code, reason = "the other side of an exchange")]

use std::{
    env,
    ffi::c_void,
    path::{Path, PathBuf},
    process::Command,
    ptr::null_mut,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use gpu_array::{
    ArrayError, Complex, DType, Element, GpuArray, GpuView, bf16,
    exchange::{
        DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, DlPack,
        DlPackUnversioned, FLAG_READ_ONLY, ForeignArray,
    },
    f16,
};
use gpu_driver::{Device, DeviceVec, LaunchConfig, Stream, emulated::Emulated};
use ndarray::{Array2, Array3, Ix1, Ix2, Ix3, ShapeBuilder, array, s};
use testkit::{Outcome, Test, ensure, ensure_eq, tests};

pub const TESTS: &[Test<Device>] = tests![
    an_array_goes_out_and_comes_back,
    every_type_goes_out_and_comes_back,
    the_deleter_is_called_once_by_the_last_owner,
    tensors_of_any_strides_come_in,
    wrong_tensors_are_refused_and_deleted,
    foreign_memory_is_given_back_after_its_last_use,
    read_only_memory_is_not_written,
    the_array_interface_tells_the_facts,
    failed_operators_on_foreign_arrays_are_told_until_these_are_overwritten,
    arrays_are_arguments_of_kernels,
    arrays_are_copied_to_other_devices,
];

fn arrays_are_arguments_of_kernels(device: &Device) -> Outcome {
    let text = r#"
extern "C" __global__ void axpy(float a, const float *x, float *y, const unsigned char *mask) {
    if (mask[threadIdx.x]) y[threadIdx.x] += a * x[threadIdx.x];
}"#;
    let axpy = device.compile(text)?.function("axpy")?;
    let (x, mask) = (array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]], array![true, false, true, true, true, false]);
    let x = GpuArray::from_ndarray(&Stream::new(device)?, &x)?;
    let mask = GpuArray::from_ndarray(device, &mask)?;
    let mut y = GpuArray::full(&Stream::new(device)?, (2, 3), 10.0f32)?;
    // SAFETY: six threads touch an element each.
    unsafe { axpy.launch(LaunchConfig::new(1, 6), (2.0f32, &x, &mut y, &mask), &device.stream())? };
    ensure_eq!(y.to_ndarray()?, array![[12.0, 10.0, 16.0], [18.0, 20.0, 10.0]]);
    // A view by its memory; elements of another type are told.
    let (row, mut out) = (x.slice(s![1, ..])?, GpuArray::<f32, _>::zeros(device, 3)?);
    // SAFETY: three threads touch an element each.
    unsafe {
        axpy.launch(LaunchConfig::new(1, 3), (1.0f32, row.as_device_slice()?.input(), &mut out, &mask), row.stream())?;
    }
    ensure_eq!(out.to_ndarray()?, array![4.0, 0.0, 6.0]);
    type Wrong<'a> = (f32, &'a GpuArray<f64, Ix2>, &'a mut GpuArray<f32, Ix2>, &'a GpuArray<bool, Ix1>);
    let error = axpy.check::<Wrong<'_>>().unwrap_err().to_string();
    ensure!(error.contains("argument 2 of kernel `axpy`, `x`"), "{error}");
    // The error of an operator is that of the launch, for a read and for a written array.
    y += &GpuArray::<f32, _>::zeros(device, 4)?;
    // SAFETY: nothing is launched.
    let launches = unsafe {
        [
            axpy.launch(LaunchConfig::new(1, 6), (2.0f32, &y, &mut out, &mask), &device.stream()),
            axpy.launch(LaunchConfig::new(1, 6), (2.0f32, &x, &mut y, &mask), &device.stream()),
        ]
    };
    for result in launches {
        let error = result.unwrap_err().to_string();
        ensure!(error.contains("+="), "{error}");
    }
    ensure!(y.take_error().is_err());
    Ok(())
}

fn arrays_are_copied_to_other_devices(device: &Device) -> Outcome {
    let h = array![[1, 2, 3], [4, 5, 6]];
    // The other device is an emulated one where the first is, and a stream of the same where there is one GPU alone.
    let other = if device.is_emulated() { Emulated::new().open()? } else { Device::new(Device::count()? - 1)? };
    let side = Stream::new(&other)?;
    for fortran in [false, true] {
        let source = if fortran { h.t().as_standard_layout().to_owned().reversed_axes() } else { h.clone() };
        let mut x = GpuArray::from_ndarray(device, &source)?;
        let y = x.to_device(&side)?;
        x.fill(0)?;
        ensure_eq!((y.device(), y.strides(), y.to_ndarray()?), (&other, x.strides(), h.clone()));
        x += &GpuArray::<i32, _>::zeros(device, 4)?;
        ensure!(matches!(x.to_device(&side), Err(ArrayError::Operator { op: "+=", .. })));
        ensure!(x.take_error().is_err());
    }
    let none = GpuArray::<bool, _>::zeros(device, (0, 3))?.to_device(&side)?;
    ensure_eq!(none.shape(), [0, 3]);
    ensure_eq!(GpuArray::<f32, _>::zeros(device, 1)?.dtype(), DType::F32);
    Ok(())
}

fn an_array_goes_out_and_comes_back(device: &Device) -> Outcome {
    let h = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f32);
    for fortran in [false, true] {
        let source = if fortran { h.t().as_standard_layout().to_owned().reversed_axes() } else { h.clone() };
        let x = GpuArray::from_ndarray(device, &source)?;
        let (address, stream) = (x.as_device_vec().as_raw(), x.stream().clone());
        let tensor = x.into_dlpack()?;
        let facts = tensor.tensor();
        ensure_eq!((facts.data as u64, facts.ndim, facts.byte_offset), (address, 2, 0));
        ensure_eq!((facts.dtype, facts.device.device_type), (DLDataType { code: 2, bits: 32, lanes: 1 }, 2));
        // As C hands it over.
        let raw = tensor.into_raw();
        // SAFETY: it came from `into_raw`.
        let (version, shape, strides) = unsafe {
            let shape = std::slice::from_raw_parts((*raw).dl_tensor.shape, 2);
            ((*raw).version, shape.to_vec(), std::slice::from_raw_parts((*raw).dl_tensor.strides, 2).to_vec())
        };
        ensure_eq!((version.major, shape, strides), (1, vec![3, 4], if fortran { vec![1, 3] } else { vec![4, 1] }));
        // SAFETY: nobody else has the tensor; the array is ready on its own stream.
        let mut back = unsafe {
            let tensor = DlPack::from_raw(raw).ok_or("null")?;
            ForeignArray::<f32, Ix2>::from_dlpack(&stream, tensor)?
        };
        ensure_eq!(back.view().to_ndarray()?, h);
        let mut view = back.view_mut()?;
        view += 1.0;
        ensure_eq!(back.to_owned()?.to_ndarray()?, &h + 1.0);
        ensure_eq!((&back.view() * 2.0).eval()?.to_ndarray()?, (&h + 1.0) * 2.0);
    }
    // Before version 1.0; other types.
    let flags = array![true, false, true];
    let x = GpuArray::from_ndarray(device, &flags)?;
    let stream = x.stream().clone();
    let tensor = x.into_dlpack_unversioned()?;
    ensure_eq!(tensor.tensor().dtype, DLDataType { code: 6, bits: 8, lanes: 1 });
    // SAFETY: as above.
    let back = unsafe { ForeignArray::<bool, Ix1>::from_dlpack_unversioned(&stream, tensor)? };
    ensure_eq!(back.view().to_ndarray()?, flags);
    let z = GpuArray::from_ndarray(device, &array![Complex::new(1.0f64, -2.0)])?.into_dlpack()?;
    ensure_eq!(z.tensor().dtype, DLDataType { code: 5, bits: 128, lanes: 1 });
    Ok(())
}

/// Memory of another library, and how often it has been given back.
struct Theirs {
    memory: Option<DeviceVec<f32>>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    deleted: Arc<AtomicUsize>,
}

unsafe extern "C" fn delete_versioned(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: `Theirs::versioned` boxed both.
    unsafe {
        let theirs = Box::from_raw((*tensor).manager_ctx.cast::<Theirs>());
        theirs.deleted.fetch_add(1, Ordering::SeqCst);
        drop(Box::from_raw(tensor));
    }
}

unsafe extern "C" fn delete_unversioned(tensor: *mut DLManagedTensor) {
    // SAFETY: `Theirs::unversioned` boxed both.
    unsafe {
        let theirs = Box::from_raw((*tensor).manager_ctx.cast::<Theirs>());
        theirs.deleted.fetch_add(1, Ordering::SeqCst);
        drop(Box::from_raw(tensor));
    }
}

impl Theirs {
    fn new(stream: &Stream, n: usize) -> gpu_driver::Result<Self> {
        let numbers: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let memory = Some(DeviceVec::from_slice(stream, &numbers)?);
        Ok(Self { memory, shape: vec![n as i64], strides: vec![1], deleted: Arc::default() })
    }

    fn tensor(&mut self, element: usize) -> DLTensor {
        let address = self.memory.as_ref().map_or(0, DeviceVec::as_raw);
        DLTensor {
            data: address as *mut c_void,
            device: DLDevice {
                device_type: 2,
                device_id: self.memory.as_ref().map_or(0, |m| m.device().ordinal() as i32),
            },
            ndim: self.shape.len() as i32,
            dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
            shape: self.shape.as_mut_ptr(),
            strides: if self.strides.is_empty() { null_mut() } else { self.strides.as_mut_ptr() },
            byte_offset: 4 * element as u64,
        }
    }

    fn versioned(self, element: usize, change: impl FnOnce(&mut DLManagedTensorVersioned)) -> DlPack {
        let mut theirs = Box::new(self);
        let dl_tensor = theirs.tensor(element);
        let mut managed = DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 0 },
            manager_ctx: Box::into_raw(theirs).cast(),
            deleter: Some(delete_versioned),
            flags: 0,
            dl_tensor,
        };
        change(&mut managed);
        // SAFETY: a valid tensor, given up here.
        unsafe { DlPack::from_raw(Box::into_raw(Box::new(managed))) }.expect("not null")
    }

    fn unversioned(self) -> DlPackUnversioned {
        let mut theirs = Box::new(self);
        let dl_tensor = theirs.tensor(0);
        let manager_ctx = Box::into_raw(theirs).cast();
        let managed = DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete_unversioned) };
        // SAFETY: a valid tensor, given up here.
        unsafe { DlPackUnversioned::from_raw(Box::into_raw(Box::new(managed))) }.expect("not null")
    }
}

/// An array of each type goes out as what `dlpack.h` and the array interface call it, in both forms of DLPack, comes back as it was, and is no other
/// type's.
fn every_type_goes_out_and_comes_back(device: &Device) -> Outcome {
    fn of<T: Element>(device: &Device, values: [T; 3], (code, bits): (u8, u8), typestr: &str) -> Outcome {
        let (dtype, case) = (DLDataType { code, bits, lanes: 1 }, T::DTYPE);
        ensure_eq!((DType::from_dlpack(dtype), DType::from_typestr(typestr)), (Some(case), Some(case)));
        let host = ndarray::Array1::from(values.to_vec());
        let x = GpuArray::from_ndarray(device, &host)?;
        let stream = x.stream().clone();
        ensure_eq!(x.view().cuda_array_interface()?.typestr, typestr);
        let back = x.slice(s![..;-2])?;
        let strides = back.cuda_array_interface()?.strides;
        ensure!(strides == Some(vec![-2 * i64::from(bits / 8) as isize]), "{case}: {strides:?}");
        let tensor = x.try_clone()?.into_dlpack()?;
        ensure_eq!(tensor.tensor().dtype, dtype);
        // SAFETY: the array is ready on its own stream, and nobody else has it.
        let mut got = unsafe { ForeignArray::<T, Ix1>::from_dlpack(&stream, tensor)? };
        ensure!(got.view().to_ndarray()? == host, "{case}");
        got.view_mut()?.assign(x.slice(s![..;-1])?)?;
        ensure!(got.view().to_ndarray()? == host.slice(s![..;-1]), "{case}");
        let tensor = x.try_clone()?.into_dlpack_unversioned()?;
        ensure_eq!(tensor.tensor().dtype, dtype);
        // SAFETY: as above.
        let got = unsafe { ForeignArray::<T, Ix1>::from_dlpack_unversioned(&stream, tensor)? };
        ensure!(got.view().to_ndarray()? == host, "{case}");
        refused::<T, i8>(&x, &stream)?;
        refused::<T, u16>(&x, &stream)?;
        refused::<T, f16>(&x, &stream)?;
        refused::<T, f32>(&x, &stream)?;
        refused::<T, Complex<f32>>(&x, &stream)?;
        refused::<T, bool>(&x, &stream)
    }
    fn refused<T: Element, U: Element>(x: &GpuArray<T, Ix1>, stream: &Stream) -> Outcome {
        // SAFETY: as above.
        let got = unsafe { ForeignArray::<U, Ix1>::from_dlpack(stream, x.try_clone()?.into_dlpack()?) };
        ensure!(got.is_ok() == (T::DTYPE == U::DTYPE), "{} as {}", T::DTYPE, U::DTYPE);
        Ok(())
    }
    of(device, [true, false, false], (6, 8), "|b1")?;
    of(device, [i8::MIN, 0, i8::MAX], (0, 8), "|i1")?;
    of(device, [i16::MIN, 0, i16::MAX], (0, 16), "<i2")?;
    of(device, [i32::MIN, 0, i32::MAX], (0, 32), "<i4")?;
    of(device, [i64::MIN, 0, i64::MAX], (0, 64), "<i8")?;
    of(device, [0, 1, u8::MAX], (1, 8), "|u1")?;
    of(device, [0, 1, u16::MAX], (1, 16), "<u2")?;
    of(device, [0, 1, u32::MAX], (1, 32), "<u4")?;
    of(device, [0, 1, u64::MAX], (1, 64), "<u8")?;
    of(device, [f16::MAX, f16::NEG_ONE, f16::INFINITY], (2, 16), "<f2")?;
    of(device, [bf16::MAX, bf16::NEG_ONE, bf16::INFINITY], (4, 16), "<V2")?;
    of(device, [f32::MAX, -1.0, f32::INFINITY], (2, 32), "<f4")?;
    of(device, [f64::MAX, -1.0, f64::INFINITY], (2, 64), "<f8")?;
    of(device, [Complex::new(1.0f32, -2.0), Complex::new(0.0, 3.0), Complex::new(0.5, 0.0)], (5, 64), "<c8")?;
    of(device, [Complex::new(1.0f64, -2.0), Complex::new(0.0, 3.0), Complex::new(0.5, 0.0)], (5, 128), "<c16")?;
    // Those were all, and nothing else is a type: floats of 8 bits, vectors, handles.
    ensure_eq!(DType::ALL.len(), 15);
    for (code, bits, lanes) in [(2, 8, 1), (7, 8, 1), (2, 32, 2), (3, 64, 1), (4, 32, 1), (5, 32, 1), (6, 1, 1)] {
        ensure_eq!(DType::from_dlpack(DLDataType { code, bits, lanes }), None);
    }
    for typestr in ["|f4", ">f4", "<f", "", "<b1", "|V2", "<c4"] {
        ensure_eq!(DType::from_typestr(typestr), None);
    }
    Ok(())
}

fn the_deleter_is_called_once_by_the_last_owner(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let theirs = Theirs::new(&stream, 100)?;
    let deleted = theirs.deleted.clone();
    drop(theirs.versioned(0, |_| {}));
    ensure_eq!(deleted.swap(0, Ordering::SeqCst), 1);
    for unversioned in [false, true] {
        let theirs = Theirs::new(&stream, 100)?;
        let deleted = theirs.deleted.clone();
        // SAFETY: the memory is ready on the stream, and nobody else uses it.
        let x = unsafe {
            match unversioned {
                true => ForeignArray::<f32, Ix1>::from_dlpack_unversioned(&stream, theirs.unversioned())?,
                false => ForeignArray::<f32, Ix1>::from_dlpack(&stream, theirs.versioned(0, |_| {}))?,
            }
        };
        let sum = (&x.view() + 1.0).eval()?;
        ensure_eq!(deleted.load(Ordering::SeqCst), 0);
        drop(x);
        ensure_eq!(deleted.load(Ordering::SeqCst), 1);
        ensure_eq!(sum.to_ndarray()?[99], 100.0);
    }
    // Null is no tensor.
    // SAFETY: null is allowed.
    ensure!(unsafe { DlPack::from_raw(null_mut()) }.is_none());
    Ok(())
}

fn tensors_of_any_strides_come_in(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let all = Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (30 * i + 6 * j + k) as f32);
    let views = [
        all.view(),
        all.slice(s![1..3, ..;2, 2..5]),
        all.slice(s![..;-1, .., ..;-2]),
        all.view().permuted_axes([2, 0, 1]),
        all.slice(s![.., 0..0, ..]),
    ];
    for view in views {
        let mut theirs = Theirs::new(&stream, all.len())?;
        theirs.shape = view.shape().iter().map(|&length| length as i64).collect();
        theirs.strides = view.strides().iter().map(|&stride| stride as i64).collect();
        let first = if view.is_empty() { 0 } else { view[[0, 0, 0]] as usize };
        // SAFETY: strides and offset are those of a view of the whole.
        let mut x = unsafe { ForeignArray::<f32, Ix3>::from_dlpack(&stream, theirs.versioned(first, |_| {}))? };
        ensure_eq!(x.view().to_ndarray()?, view);
        x.view_mut()?.fill(-1.0)?;
        ensure_eq!(x.to_owned()?.to_ndarray()?, view.mapv(|_| -1.0));
    }
    // No strides stand for C order.
    let mut theirs = Theirs::new(&stream, 6)?;
    (theirs.shape, theirs.strides) = (vec![2, 3], vec![]);
    // SAFETY: six elements.
    let x = unsafe { ForeignArray::<f32, Ix2>::from_dlpack(&stream, theirs.versioned(0, |_| {}))? };
    ensure_eq!(x.view().to_ndarray()?, array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    Ok(())
}

fn wrong_tensors_are_refused_and_deleted(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    type Change = fn(&mut DLManagedTensorVersioned);
    let changes: [(&str, Change); 7] = [
        ("another type", |m| m.dl_tensor.dtype.code = 0),
        ("vectors", |m| m.dl_tensor.dtype.lanes = 4),
        ("host memory", |m| m.dl_tensor.device.device_type = 1),
        ("another device", |m| m.dl_tensor.device.device_id += 1),
        ("another rank", |m| m.dl_tensor.ndim = 0),
        ("an address between elements", |m| m.dl_tensor.byte_offset = 2),
        // SAFETY: one number.
        ("elements that share an address", |m| unsafe { *m.dl_tensor.strides = 0 }),
    ];
    for (name, change) in changes {
        let theirs = Theirs::new(&stream, 10)?;
        let deleted = theirs.deleted.clone();
        // SAFETY: it is refused.
        let refused = unsafe { ForeignArray::<f32, Ix1>::from_dlpack(&stream, theirs.versioned(0, change)) };
        ensure!(refused.is_err(), "{name}: {refused:?}");
        ensure_eq!((name, deleted.load(Ordering::SeqCst)), (name, 1));
    }
    // Another major version: nothing but version and deleter can be known.
    let theirs = Theirs::new(&stream, 10)?;
    let deleted = theirs.deleted.clone();
    // SAFETY: it is refused.
    let refused =
        unsafe { ForeignArray::<f32, Ix1>::from_dlpack(&stream, theirs.versioned(0, |m| m.version.major = 2)) };
    ensure!(matches!(&refused, Err(ArrayError::Exchange { got, .. }) if got.contains('2')), "{refused:?}");
    ensure_eq!(deleted.load(Ordering::SeqCst), 1);
    Ok(())
}

fn foreign_memory_is_given_back_after_its_last_use(device: &Device) -> Outcome {
    /// Tells its drop.
    struct Told(#[expect(dead_code, reason = "it is dropped")] DeviceVec<f64>, Arc<AtomicUsize>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (home, other) = (Stream::new(device)?, Stream::new(device)?);
    let dropped = Arc::new(AtomicUsize::new(0));
    let theirs = DeviceVec::from_slice(&other, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let (address, owner) = (theirs.as_raw(), Told(theirs, dropped.clone()));
    // SAFETY: six elements of the other stream, which the owner keeps.
    let x = unsafe {
        ForeignArray::<f64, Ix2>::from_raw(&home, address, &[2, 2], Some(&[3, 1]), Some(other.as_raw().cast()), owner)?
    };
    let twice = (&x.view() * 2.0).eval()?;
    ensure_eq!(twice.to_ndarray()?, array![[2.0, 4.0], [8.0, 10.0]]);
    let on_other = (&x.view() + 1.0).eval_on(&other)?;
    ensure_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(x);
    ensure_eq!(dropped.load(Ordering::SeqCst), 1);
    ensure_eq!(on_other.to_ndarray()?, array![[2.0, 3.0], [5.0, 6.0]]);
    // A rank that does not fit drops the owner too.
    let theirs = DeviceVec::from_slice(&other, &[1.0, 2.0])?;
    let (address, owner) = (theirs.as_raw(), Told(theirs, dropped.clone()));
    // SAFETY: it is refused.
    let refused = unsafe { ForeignArray::<f64, Ix2>::from_raw(&home, address, &[2], None, None, owner) };
    ensure!(matches!(refused, Err(ArrayError::Ndim { .. })));
    ensure_eq!(dropped.load(Ordering::SeqCst), 2);
    Ok(())
}

fn read_only_memory_is_not_written(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let theirs = Theirs::new(&stream, 4)?;
    let tensor = theirs.versioned(0, |managed| managed.flags = FLAG_READ_ONLY);
    // SAFETY: the memory is ready on the stream, and nobody else uses it.
    let mut x = unsafe { ForeignArray::<f32, Ix1>::from_dlpack(&stream, tensor)? };
    ensure!(matches!(x.view_mut(), Err(ArrayError::Exchange { .. })));
    ensure_eq!(x.view().to_ndarray()?, array![0.0, 1.0, 2.0, 3.0]);
    // It may repeat elements, as a broadcast tensor does.
    let mut theirs = Theirs::new(&stream, 4)?;
    (theirs.shape, theirs.strides) = (vec![2, 3], vec![0, 1]);
    let tensor = theirs.versioned(1, |managed| managed.flags = FLAG_READ_ONLY);
    // SAFETY: as above.
    let x = unsafe { ForeignArray::<f32, Ix2>::from_dlpack(&stream, tensor)? };
    ensure_eq!(x.view().to_ndarray()?, array![[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]);
    Ok(())
}

fn the_array_interface_tells_the_facts(device: &Device) -> Outcome {
    let x = GpuArray::<f32, _>::zeros(device, (2, 3))?;
    let facts = x.view().cuda_array_interface()?;
    ensure_eq!((&facts.shape[..], facts.typestr, facts.strides.clone()), (&[2, 3][..], "<f4", None));
    ensure_eq!((facts.address, facts.stream), (x.as_device_vec().as_raw(), x.stream().as_raw() as u64));
    let part: GpuView<'_, f32, _> = x.slice(s![..;-1, 1..])?;
    let facts = part.cuda_array_interface()?;
    ensure_eq!(facts.strides, Some(vec![-12, 4]));
    ensure_eq!(facts.address, x.as_device_vec().as_raw() + 4 * 4);
    let text = format!(
        "{{'shape': (2, 2, ), 'typestr': '<f4', 'data': ({}, True), 'strides': (-12, 4, ), 'version': 3, 'stream': {}}}",
        facts.address, facts.stream
    );
    ensure_eq!(facts.to_string(), text);
    let fortran = GpuArray::<i64, _>::zeros(device, (2, 3).f())?;
    ensure_eq!(fortran.view().cuda_array_interface()?.strides, Some(vec![8, 16]));
    ensure_eq!(GpuArray::<u8, _>::zeros(device, 0)?.view().cuda_array_interface()?.address, 0);
    let names: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.typestr()).collect();
    ensure_eq!(names[..3], ["|b1", "|i1", "<i2"]);
    // A view to write says so: PyTorch takes no other memory.
    let mut x = GpuArray::<f32, _>::zeros(device, (2, 3))?;
    let address = x.as_device_vec().as_raw();
    let mut column = x.slice_mut(s![.., 1..])?;
    let facts = column.cuda_array_interface()?;
    ensure_eq!((facts.address, facts.read_only, facts.strides.clone()), (address + 4, false, Some(vec![12, 4])));
    ensure!(facts.to_string().contains(&format!("'data': ({}, False)", address + 4)), "{facts}");
    column += &GpuArray::<f32, _>::zeros(device, 5)?.into_shape((1, 5))?;
    ensure!(matches!(column.cuda_array_interface(), Err(ArrayError::Operator { op: "+=", .. })));
    let _ = x.take_error();
    Ok(())
}

fn failed_operators_on_foreign_arrays_are_told_until_these_are_overwritten(device: &Device) -> Outcome {
    let home = Stream::new(device)?;
    let theirs = DeviceVec::from_slice(&home, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    // The first two of three columns: the buffer has an element between the rows.
    // SAFETY: six elements of the stream, which the owner keeps.
    let mut x =
        unsafe { ForeignArray::<f64, Ix2>::from_raw(&home, theirs.as_raw(), &[2, 2], Some(&[3, 1]), None, theirs)? };
    let wrong = GpuArray::<f64, _>::zeros(device, (2, 5))?;
    let mut view = x.view_mut()?;
    view += &wrong;
    for _ in 0..2 {
        ensure!(matches!(x.view().to_ndarray(), Err(ArrayError::Operator { op: "+=", .. })));
    }
    // A part that is overwritten leaves the error.
    let part = x.view_mut()?.slice_mut(s![.., ..1])?.fill(9.0);
    ensure!(part.is_err());
    x.view_mut()?.fill(7.0)?;
    ensure_eq!(x.view().to_ndarray()?, array![[7.0, 7.0], [7.0, 7.0]]);
    let mut view = x.view_mut()?;
    view += &wrong;
    ensure!(matches!(x.take_error(), Err(ArrayError::Operator { op: "+=", .. })));
    ensure_eq!(x.view().to_ndarray()?, array![[7.0, 7.0], [7.0, 7.0]]);
    Ok(())
}

/// The libraries of Python with which a process exchanges arrays.
const OTHERS: [&str; 2] = ["cupy", "torch"];

pub const WITH_PYTHON: &[Test<Device>] = tests![a_python_module_gives_and_takes_arrays];
pub const WITH_OTHERS: &[Test<Device>] = tests![one_process_exchanges_arrays_with_cupy_and_pytorch];

/// Whether this machine has the example's library and a Python.
pub fn python() -> Result<(), String> {
    let library = library()?;
    let missing = format!("{} is missing: run `cargo build --example python_module`", library.display());
    testkit::python(&["ctypes"]).and_then(|_| if library.exists() { Ok(()) } else { Err(missing) })
}

/// Whether this machine has those libraries, and a GPU for them.
pub fn others(device: &gpu_driver::Result<Device>) -> Result<(), String> {
    let device = device.as_ref().map_err(ToString::to_string)?;
    if device.is_emulated() {
        return Err("CuPy and PyTorch know no emulated device".to_owned());
    }
    python().and_then(|()| testkit::python(&OTHERS)).map(drop)
}

/// The example's library, beside the folder that holds this test.
fn library() -> Result<PathBuf, String> {
    let test = env::current_exe().map_err(|error| error.to_string())?;
    let folder = test.parent().and_then(Path::parent).ok_or("the test lies in no folder")?;
    Ok(folder.join("examples/libpython_module.so"))
}

/// Runs `python_module.py` with libraries, in a process of its own.
fn run_python(device: &Device, others: &[&str]) -> Outcome {
    let script = Path::new("tests/gpu/python_module.py");
    let mut command = Command::new(testkit::python(&["ctypes"])?);
    if device.is_emulated() {
        command.env("GPU_DEVICE", "emulated");
    }
    let output = command.arg(script).arg(library()?).args(others).output()?;
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success() && told.trim() == "same", "{}: {told}{errors}", output.status);
    Ok(())
}

fn a_python_module_gives_and_takes_arrays(device: &Device) -> Outcome {
    run_python(device, &[])
}

fn one_process_exchanges_arrays_with_cupy_and_pytorch(device: &Device) -> Outcome {
    run_python(device, &OTHERS)
}
