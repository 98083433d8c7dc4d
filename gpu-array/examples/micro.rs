use gpu_array::{GpuArray, expression::*};
use std::time::Instant;
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let device = gpu_array::gpu_driver::Device::for_tests()?;
    let n = 1 << 14;
    let x = GpuArray::<f32, _>::zeros(&device, n)?;
    let y = GpuArray::<f32, _>::zeros(&device, n)?;
    precompile(&device, &[&(5.0 * &x + 6.0 * &y)])?;
    let reps = 200000;
    let mut best = [f64::MAX; 3];
    for _ in 0..7 {
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
            precompile(&device, &[&(5.0 * &x + 6.0 * &y)])?;
        }
        let e = t.elapsed();
        for (b, d) in best.iter_mut().zip([c, d, e]) {
            *b = b.min(d.as_nanos() as f64 / reps as f64);
        }
    }
    println!("build {:.0} ns, +assemble {:.0}, +plan, key, lookup {:.0}", best[0], best[1], best[2]);
    Ok(())
}
