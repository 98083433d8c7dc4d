use gpu_array::gpu_driver::*;
use gpu_array::{ArrayError, GpuArray, expression::*};
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
    let burst = 100;
    macro_rules! time { ($name:literal, $e:expr) => {{
        let mut all: Vec<f64> = (0..60).map(|_| { device.synchronize().unwrap(); let t = Instant::now(); for _ in 0..burst { (|| { std::hint::black_box($e); Ok::<(), ArrayError>(()) })().unwrap(); } t.elapsed().as_nanos() as f64 / burst as f64 / 1e3 }).collect();
        device.synchronize()?;
        all.sort_by(f64::total_cmp);
        println!("{} {:.2} us (least {:.2}, most {:.2})", $name, all[30], all[0], all[59]);
    }}; }
    let s = device.stream();
    let p = Program::new("k.cu", "struct W { unsigned long long w[9]; }; extern \"C\" __global__ void k(const __grid_constant__ W w) { if (w.w[0] == 77) *(float*)w.w[1] = 0; }").name_expression("k");
    let k = device.generated_kernel(&[1], || Ok(p))?;
    let p = Program::new(
        "k.cu",
        "struct W { unsigned long long w[9]; }; extern \"C\" __global__ void k(const __grid_constant__ W w) { if (w.w[0] == 77) *(float*)w.w[1] = 0; }",
    );
    let m = Module::load(&device, &p.compile(device.arch())?)?;
    let f = m.function("k")?;
    let mut raw = [0u64; 9];
    for _ in 0..3 {
        time!("eval", (5.0 * &x + 6.0 * &y).eval()?);
        time!("assign", z.assign(5.0 * &x + 6.0 * &y)?);
        time!("build", 5.0 * &x + 6.0 * &y);
        time!("build+assemble", (5.0 * &x + 6.0 * &y).shape()?);
        time!("precompile", precompile(&device, &[&(5.0 * &x + 6.0 * &y)])?);
        time!("alloc+free", unsafe { DeviceVec::<f32>::uninitialized(&s, n)? });
        time!("generated launch", unsafe {
            k.launch(LaunchConfig { grid: 16.into(), block: 256.into(), shared_bytes: 0 }, &[0; 9], &[&s, &s], &s)?
        });
        time!("function launch", unsafe {
            f.launch(
                LaunchConfig { grid: 16.into(), block: 256.into(), shared_bytes: 0 },
                &mut [raw.as_mut_ptr().cast()],
                &s,
            )?
        });
        time!("device memory attribute", device.multiprocessors()?);
    }
    Ok(())
}
