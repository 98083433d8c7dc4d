//! Complex numbers on the device: storage and transfer, and each operation against the host, whose values the host's tests define.

use std::ffi::c_void;

use gpu_array::{
    ArrayError, Complex, DType, Element, GpuArray, concatenate,
    expression::{IntoExpr, Outside, gather, host, index, precompile, take},
    stack,
};
use gpu_driver::{COMPLEX, Definitions, Device, DevicePod, DeviceVec, KernelSpace, LaunchConfig, Program};
use ndarray::{Array, Array1, Array2, Array3, Axis, Dimension, Ix1, array, s};
use testkit::{AWKWARD_LENGTHS, Outcome, Rng, Test, ensure, ensure_eq, tests};

use crate::{
    complex::{c64, c128, difference, same},
    math::ulps,
};

pub const TESTS: &[Test<Device>] = tests![
    complex_arrays_round_trip_in_any_layout,
    complex_fills_write_every_place_and_no_other,
    complex_arrays_are_joined_and_taken,
    complex_operations_are_the_host_s,
    complex_operations_run_in_every_loop,
    complex_arrays_are_changed_in_place,
    real_scalars_stand_beside_complex_numbers,
    complex_numbers_of_users_kernels,
];

/// Both parts from a counter, no two alike.
fn counted<D: Dimension>(shape: impl ndarray::ShapeBuilder<Dim = D>) -> Array<Complex<f64>, D> {
    let mut count = 0.0;
    Array::from_shape_simple_fn(shape, || {
        count += 1.0;
        Complex::new(count, -0.5 - count)
    })
}

fn narrow<D: Dimension>(x: &Array<Complex<f64>, D>) -> Array<Complex<f32>, D> {
    x.mapv(|z| Complex::new(z.re as f32, z.im as f32))
}

fn complex_arrays_round_trip_in_any_layout(device: &Device) -> Outcome {
    fn check<T: Element, D: Dimension>(device: &Device, x: &Array<T, D>) -> Outcome {
        ensure_eq!(&GpuArray::from_ndarray(device, x)?.to_ndarray()?, x);
        ensure_eq!(GpuArray::from_ndarray(device, &x.t())?.to_ndarray()?, x.t());
        Ok(())
    }
    for n in AWKWARD_LENGTHS {
        check(device, &counted(n))?;
        check(device, &narrow(&counted(n)))?;
    }
    let x = narrow(&counted((5, 7, 9)));
    check(device, &x)?;
    let on_device = GpuArray::from_ndarray(device, &x)?;
    // Copies with gaps, steps, reversed and permuted axes.
    let part = s![1..;2, ..;-1, 3..];
    ensure_eq!(on_device.slice(part)?.to_ndarray()?, x.slice(part));
    ensure_eq!(on_device.view().permuted_axes([2, 0, 1])?.to_owned()?.to_ndarray()?, x.view().permuted_axes([2, 0, 1]));
    ensure_eq!(on_device.reshape((35, 9))?.to_ndarray()?, x.to_shape((35, 9))?);
    ensure_eq!(on_device.slice(s![2, 3, 4])?.get()?, x[[2, 3, 4]]);
    let mut target = GpuArray::<Complex<f32>, _>::zeros(device, (5, 14, 9))?;
    ensure!(target.to_ndarray()?.iter().all(|z| z.re.to_bits() == 0 && z.im.to_bits() == 0));
    target.slice_mut(s![.., 1..;2, ..])?.copy_from_ndarray(&x)?;
    let mut want = Array3::zeros((5, 14, 9));
    want.slice_mut(s![.., 1..;2, ..]).assign(&x);
    ensure_eq!(target.to_ndarray()?, want);
    ensure_eq!(format!("{target:?}"), "GpuArray<complex64>(shape [5, 14, 9], device 0)");
    Ok(())
}

fn complex_fills_write_every_place_and_no_other(device: &Device) -> Outcome {
    fn check<T: Element>(device: &Device, old: T, new: T) -> Outcome {
        for (start, len) in [(0, 0), (0, 40), (1, 1), (3, 2), (5, 17), (38, 2)] {
            let mut array = GpuArray::full(device, 40, old)?;
            array.slice_mut(s![start..start + len])?.fill(new)?;
            let mut want = Array1::from_elem(40, old);
            want.slice_mut(s![start..start + len]).fill(new);
            ensure_eq!(array.to_ndarray()?, want);
        }
        Ok(())
    }
    check(device, Complex::new(1.0f32, 2.0), Complex::new(-3.0, 0.25))?;
    check(device, Complex::new(1.0f32, 2.0), Complex::new(4.0, 4.0))?;
    check(device, Complex::new(1.0f64, 2.0), Complex::new(-3.0, 0.25))?;
    ensure_eq!(GpuArray::<Complex<f64>, _>::ones(device, 2)?.to_ndarray()?, array![Complex::ONE, Complex::ONE]);
    ensure_eq!(GpuArray::<Complex<f32>, _>::eye(device, 3)?.to_ndarray()?, Array2::eye(3));
    Ok(())
}

fn complex_arrays_are_joined_and_taken(device: &Device) -> Outcome {
    fn check<T: Element + Default>(device: &Device, x: &Array2<T>) -> Outcome {
        let on_device = GpuArray::from_ndarray(device, x)?;
        let (left, right) = (on_device.slice(s![.., ..3])?, on_device.slice(s![.., 3..])?);
        ensure_eq!(&concatenate(Axis(1), [left, right])?.to_ndarray()?, x);
        let reversed = concatenate(Axis(0), [on_device.slice(s![..;-1, ..])?, on_device.view()])?;
        ensure_eq!(reversed.to_ndarray()?, ndarray::concatenate(Axis(0), &[x.slice(s![..;-1, ..]), x.view()])?);
        let stacked = stack(Axis(1), [&on_device.t().to_owned()?, &on_device.t().to_owned()?])?;
        ensure_eq!(stacked.to_ndarray()?, ndarray::stack(Axis(1), &[x.t(), x.t()])?);
        let row = x.row(2).to_owned();
        let flat = GpuArray::from_ndarray(device, &row)?;
        let places = GpuArray::from_vec(device, vec![3i64, -1, 0, 100])?;
        let taken = take(&flat, &places, Outside::Value(x[[0, 0]])).eval()?;
        ensure_eq!(taken.to_ndarray()?, array![row[3], x[[0, 0]], row[0], x[[0, 0]]]);
        let column = gather(&on_device, &[index(Axis(0)), index::<Ix1, _>(Axis(0))], Outside::Clip);
        ensure_eq!(column.broadcast(4).eval()?.to_ndarray()?, x.diag().slice(s![..4]).to_owned());
        Ok(())
    }
    check(device, &counted((4, 9)))?;
    check(device, &narrow(&counted((4, 9))))?;
    // Large and transposed, by way of shared memory.
    let x = counted((300, 301));
    let on_device = GpuArray::from_ndarray(device, &x)?;
    let joined = concatenate(Axis(0), [on_device.t(), on_device.t()])?;
    ensure_eq!(joined.to_ndarray()?, ndarray::concatenate(Axis(0), &[x.t(), x.t()])?);
    Ok(())
}

/// A few units in the last place: hypot and atan2 of a GPU are not those of the host. Just beyond the largest number, infinity is near it.
fn near(got: [f64; 2], want: [f64; 2], part: DType) -> bool {
    same(got, want) || (0..2).all(|k| ulps(got[k], want[k], part) <= 4.0)
}

macro_rules! operations {
    ($device:ident, $module:ident, $part:expr) => {{
        let (a, b, x) = $module::operands();
        let (n, i) = (Array2::from_elem((1, 1), -2i8), Array2::from_elem((1, 1), 3i32));
        let shape = (a.len(), b.len());
        let (da, db) = (GpuArray::from_ndarray($device, &a)?, GpuArray::from_ndarray($device, &b)?);
        let dx = GpuArray::from_ndarray($device, &x)?;
        let (dn, di) = (GpuArray::from_ndarray($device, &n)?, GpuArray::from_ndarray($device, &i)?);
        let (ea, eb) = (IntoExpr::into_expr(&da), IntoExpr::into_expr(&db));
        let (ex, en) = (IntoExpr::into_expr(&dx), IntoExpr::into_expr(&dn));
        let ei = IntoExpr::into_expr(&di);
        let on_device = $module::operations(
            [&ea.broadcast(shape), &eb.broadcast(shape)],
            &ex.broadcast(shape),
            &en.broadcast(shape),
            &ei.broadcast(shape),
        );
        let all: Vec<_> = on_device.iter().map(|(_, value, _)| value.as_precompile()).collect();
        precompile($device, &all)?;
        for (name, value, definition) in &on_device {
            let got = value.eval()?;
            let want = $module::wanted(*definition, got.len());
            if matches!(*name, "abs" | "arg") {
                let bad = got.iter().zip(&want).find(|(got, want)| !near(**got, **want, $part));
                ensure!(bad.is_none(), "{name}: {bad:?}");
            } else if let Some(difference) = difference(name, &got, &want) {
                return Err(difference.into());
            }
        }
    }};
}

fn complex_operations_are_the_host_s(device: &Device) -> Outcome {
    operations!(device, c64, DType::F32);
    operations!(device, c128, DType::F64);
    Ok(())
}

fn real_scalars_stand_beside_complex_numbers(device: &Device) -> Outcome {
    let z = counted((3, 4));
    let on_device = GpuArray::from_ndarray(device, &z)?;
    let two = Complex::new(2.0, 0.0);
    let same = |got: GpuArray<Complex<f64>, _>, want: Array2<Complex<f64>>| -> Outcome {
        ensure_eq!(got.to_ndarray()?, want);
        Ok(())
    };
    let (view, owned) = (on_device.view(), || GpuArray::from_ndarray(device, &z));
    same((&on_device * 2.0 + 1.0).eval()?, &z * two + Complex::new(1.0, 0.0))?;
    same((2.0 * &on_device).eval()?, &z * two)?;
    same((2.0 / &view - 2.0).eval()?, (two / host(&z) - two).eval()?)?;
    same((owned()? - 2.0).eval()?, &z - two)?;
    same((2.0 - owned()?).eval()?, z.mapv(|z| two - z))?;
    ensure_eq!((2.0 + host(&z) / 2.0).eval()?, &z / two + two);
    let mut changed = owned()?;
    changed *= 2.0;
    changed -= 1.0;
    same(changed, &z * two - Complex::new(1.0, 0.0))?;
    // Of the same precision alone: an f32 literal beside complex numbers of f32.
    let narrow = narrow(&z);
    let got = (0.5 * &GpuArray::from_ndarray(device, &narrow)?).eval()?.to_ndarray()?;
    ensure_eq!(got, narrow * Complex::new(0.5, 0.0));
    ensure_eq!(on_device.eq(1.0).eval()?.to_ndarray()?, z.mapv(|z| z == Complex::new(1.0, 0.0)));
    Ok(())
}

/// Linear with every misalignment, strided, and tiled.
fn complex_operations_run_in_every_loop(device: &Device) -> Outcome {
    let mut rng = Rng(3);
    let mut part = || rng.uniform() * 4.0 - 2.0;
    let x = Array2::from_shape_simple_fn((70, 70), || Complex::new(part(), part()));
    let (y, narrow) = (x.mapv(|z| z.re as f32), narrow(&x));
    let (dx, dy, dn) = (
        GpuArray::from_ndarray(device, &x)?,
        GpuArray::from_ndarray(device, &y)?,
        GpuArray::from_ndarray(device, &narrow)?,
    );
    for part in [s![.., 1..], s![1..;2, ..], s![..;-3, 3..]] {
        let got = (dx.slice(part)? / dn.slice(part)? + dy.slice(part)?).eval()?.to_ndarray()?;
        let want = (host(x.slice(part)) / host(narrow.slice(part)) + host(y.slice(part))).eval()?;
        ensure_eq!(got, want);
    }
    let got = (dx.t() * &dn - dy.t()).eval()?.to_ndarray()?;
    let want = (host(x.t()) * host(&narrow) - host(y.t())).eval()?;
    ensure_eq!(got, want);
    let got = (dn.t() * &dn).eval()?.to_ndarray()?;
    ensure_eq!(got, (host(narrow.t()) * host(&narrow)).eval()?);
    for start in 0..9 {
        let (part, i) = (s![0, start..], Complex::new(0.0f32, 1.0));
        let got = (dn.slice(part)? * i).eval()?.to_ndarray()?;
        ensure_eq!(got, narrow.slice(part).mapv(|z| Complex::new(z.re * 0.0 - z.im, z.re + z.im * 0.0)));
    }
    Ok(())
}

fn complex_arrays_are_changed_in_place(device: &Device) -> Outcome {
    let x = array![Complex::new(1.0f32, 2.0), Complex::new(-3.0, 0.5)];
    let mut z = GpuArray::from_ndarray(device, &x)?;
    let y = GpuArray::from_vec(device, vec![2.0f32, 4.0])?;
    z += &y;
    z *= Complex::new(0.0, 2.0);
    z -= &GpuArray::from_vec(device, vec![1i8, -1])?;
    z /= &y;
    ensure_eq!(z.to_ndarray()?, array![Complex::new(-2.5, 3.0), Complex::new(0.0, 0.5)]);
    z.update(|z| z.conj())?;
    z.assign_where(&z.imag().lt(-1.0).eval()?, Complex::new(9.0, 9.0))?;
    ensure_eq!(z.to_ndarray()?, array![Complex::new(9.0, 9.0), Complex::new(0.0, -0.5)]);
    // Given up operands, and scalars on their left.
    let w = Complex::new(1.0, 0.0) / (-z);
    ensure_eq!(w.eval()?.to_ndarray()?[1], Complex::new(0.0, -2.0));
    let short = GpuArray::<Complex<f32>, _>::zeros(device, 3)?;
    ensure!(matches!((&short + &y).eval(), Err(ArrayError::Operands { .. })));
    Ok(())
}

#[repr(C)]
#[derive(Clone, Copy, Debug, DevicePod)]
struct Wave {
    amplitude: Complex<f32>,
    frequency: f32,
    phase: f32,
}

/// Complex numbers in structures, in arrays and by value; the operators of the header.
fn complex_numbers_of_users_kernels(device: &Device) -> Outcome {
    static SPACE: KernelSpace = KernelSpace::new();
    let text = format!(
        "#include \"complex.cuh\"\n{}
        extern \"C\" __global__ void sum(gpu::Complex<double> *out, const Wave *waves, gpu::Complex<double> factor, Wave last) {{
            gpu::Complex<double> total = 0.0;
            for (int k = 0; k < 3; k++) total += gpu::Complex<double>(waves[k].amplitude.re, waves[k].amplitude.im) * waves[k].phase;
            out[1] = (total / factor - 1.0) * factor;
            out[1] -= gpu::Complex<double>(last.amplitude.re, last.amplitude.im * last.frequency);
            out[0] = out[1] != out[1] ? 1.0 : out[1] == total ? 2.0 : 3.0;
        }}",
        Definitions::of::<Wave>()?.text()
    );
    let program = Program::new("waves.cu", text).header(COMPLEX.name, COMPLEX.text);
    let kernel = device.generated_kernel(&SPACE, &[SPACE.word()], || Ok(program.name_expression("sum")))?;
    let wave = |k: f32| Wave { amplitude: Complex::new(k, -2.0 * k), frequency: 3.0, phase: 2.0 };
    let stream = device.stream();
    let waves = DeviceVec::from_slice(&stream, &[wave(1.0), wave(2.0), wave(3.0)])?;
    let out = DeviceVec::<Complex<f64>>::zeros(&stream, 2)?;
    let config = LaunchConfig { grid: 1.into(), block: 1.into(), shared_bytes: 0 };
    let (mut to, mut from) = (out.as_raw(), waves.as_raw());
    let (mut factor, mut last) = (Complex::new(2.0f64, 0.0), wave(1.0));
    let mut values: [*mut c_void; 4] =
        [(&raw mut to).cast(), (&raw mut from).cast(), (&raw mut factor).cast(), (&raw mut last).cast()];
    #[expect(unsafe_code, reason = "a kernel of the test's own")]
    // SAFETY: the kernel has these parameters, and stays within both buffers.
    unsafe {
        kernel.launch_with(config, &mut values, &[&stream], &stream)?;
    }
    ensure_eq!(out.to_vec()?, [Complex::new(3.0, 0.0), Complex::new(9.0, -18.0)]);
    Ok(())
}
