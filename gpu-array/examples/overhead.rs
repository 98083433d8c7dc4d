use gpu_array::gpu_driver::*;
use gpu_array::{GpuArray, expression::*};
use std::time::Instant;
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let device = gpu_array::gpu_driver::Device::first()?;
    let n = 1 << 14;
    let x = GpuArray::<f32, _>::full(&device, n, 1.0)?;
    let y = GpuArray::<f32, _>::full(&device, n, 2.0)?;
    let mut z = GpuArray::<f32, _>::full(&device, n, 2.0)?;
    macro_rules! first { ($($name:literal $e:expr;)*) => { $( let t = Instant::now(); $e.eval()?; println!("first {} {:?}", $name, t.elapsed()); )* } }
    first! { "lincomb" 5.0 * &x + 6.0 * &y; "lincomb2" 5.0 * &x + &y * 6.0; "lincomb3" &x * 5.0 + &y * 6.0; "lincomb4" &x * 5.0 - &y * 6.0; "lincomb5" &x * 5.0 - 6.0 * &y;
      "wave" x.exp() * y.sin() + x.abs().sqrt(); "wave2" x.exp() * y.sin() + y.abs().sqrt(); "wave3" x.exp() * y.sin() - y.abs().sqrt(); "wave4" x.exp() / y.sin() - y.abs().sqrt(); "wave5" x.sin() / y.exp() - y.abs().sqrt(); }
    let reps = 2000;
    for _ in 0..5 {
        let t = Instant::now();
        for _ in 0..reps {
            std::hint::black_box((5.0 * &x + 6.0 * &y).eval()?);
        }
        let a = t.elapsed();
        device.synchronize()?;
        let t = Instant::now();
        for _ in 0..reps {
            z.assign(5.0 * &x + 6.0 * &y)?;
        }
        let b = t.elapsed();
        device.synchronize()?;
        let t = Instant::now();
        for _ in 0..reps {
            std::hint::black_box(5.0 * &x + 6.0 * &y);
        }
        let c = t.elapsed();
        let t = Instant::now();
        for _ in 0..reps {
            std::hint::black_box((5.0 * &x + 6.0 * &y).shape()?);
        }
        let d = t.elapsed();
        let t = Instant::now();
        for _ in 0..reps {
            std::hint::black_box(GpuArray::<f32, _>::zeros(&device, 0)?);
        }
        let e0 = t.elapsed();
        let s = device.stream();
        let t = Instant::now();
        for _ in 0..reps {
            std::hint::black_box(unsafe { gpu_array::gpu_driver::DeviceVec::<f32>::uninitialized(&s, n)? });
        }
        let e = t.elapsed();
        device.synchronize()?;
        let f = |d: std::time::Duration| d.as_nanos() as f64 / reps as f64 / 1e3;
        println!(
            "eval {:.2} us, assign {:.2}, build {:.2}, build+assemble {:.2}, alloc {:.2} {:.2}",
            f(a),
            f(b),
            f(c),
            f(d),
            f(e),
            f(e0)
        );
    }
    let p = Program::new("k.cu", "struct W { unsigned long long w[9]; }; extern \"C\" __global__ void k(const __grid_constant__ W w) { if (w.w[0] == 77) *(float*)w.w[1] = 0; }").name_expression("k");
    let k = device.generated_kernel(&[1], || Ok(p))?;
    let s = device.stream();
    for _ in 0..3 {
        let t = Instant::now();
        for _ in 0..reps {
            unsafe {
                k.launch(LaunchConfig { grid: 16.into(), block: 256.into(), shared_bytes: 0 }, &[0; 9], &[&s, &s], &s)?
            };
        }
        let a = t.elapsed();
        device.synchronize()?;
        println!("bare generated launch {:.2} us", a.as_nanos() as f64 / reps as f64 / 1e3);
    }
    Ok(())
}
