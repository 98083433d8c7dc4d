//! The prelude's branches for devices without the instruction.

use gpu_driver::{Device, DeviceVec, DriverError, LaunchConfig, Program, emulated::Emulated};
use testkit::{Outcome, Rng, ensure, ensure_eq};

use crate::harness::{SPACE, ramp};

/// Parameters of one word, which is an address.
const WORDS: &str = "#include \"prelude.cuh\"\nstruct Words { unsigned long long word[1]; };\n";

/// Launches a kernel of one warp, which the body is of, with the address of `x`. The number tells kernels apart.
fn run<T: gpu_driver::DevicePod>(device: &Device, number: u64, body: &str, x: &DeviceVec<T>) -> gpu_driver::Result<()> {
    let text =
        format!("{WORDS}template <int> __global__ void run(const __grid_constant__ Words words) {{\n{body}\n}}\n");
    let program = Program::new("run.cu", text).name_expression("run<0>");
    let kernel = device.generated_kernel(&SPACE, &[SPACE.word(), number], || Ok(program))?;
    let config = LaunchConfig { grid: 1.into(), block: 32.into(), shared_bytes: 0 };
    // SAFETY: one word; the bodies touch elements of `x` alone.
    unsafe { kernel.launch(config, &[x.as_raw()], &[x.home()], x.home()) }?;
    device.synchronize()
}

pub fn copies_to_shared_memory_ask_for_the_alignment_of_the_whole(_: &()) -> Outcome {
    for (number, function, rest) in [(0, "copy_to_shared<16>", ""), (1, "copy_to_shared_if<16>", ", true")] {
        for skipped in [0u64, 2] {
            let device = Emulated::new().open()?;
            let x = DeviceVec::from_slice(&device.stream(), &ramp(8))?;
            let body = format!(
                "SHARED(uint4, copied, [1]); unsigned *x = (unsigned *)words.word[0];\n\
                 if (threadIdx.x == 0) {{ gpu::{function}(copied, x + {skipped}{rest}); gpu::end_batch_of_copies();\n\
                 gpu::wait_for_copies<0>(); x[7] = copied[0].x + copied[0].w; }}"
            );
            let outcome = run(&device, 100 + 2 * number + skipped, &body, &x);
            if skipped == 0 {
                outcome?;
                ensure_eq!(x.to_vec()?[7], ramp(8)[skipped as usize] + ramp(8)[skipped as usize + 3]);
                continue;
            }
            let Err(error) = outcome else { return Err(format!("{function}: no report").into()) };
            ensure!(matches!(&error, DriverError::DeviceLost { code, .. } if code.0 == 716), "{function}: {error}");
        }
    }
    Ok(())
}

pub fn copies_that_are_not_there_clear(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let x = DeviceVec::from_slice(&device.stream(), &ramp(32))?;
    // Every second thread copies; the others would read past the end.
    let body = "SHARED(unsigned, copied, [32]); unsigned *x = (unsigned *)words.word[0]; const int t = threadIdx.x;\n\
                copied[t] = 7; gpu::copy_to_shared_if<4>(copied + t, x + t + (t % 2) * 1000, t % 2 == 0);\n\
                gpu::end_batch_of_copies(); gpu::wait_for_copies<0>(); __syncthreads(); x[t] = copied[t];";
    run(&device, 110, body, &x)?;
    let want: Vec<u32> = ramp(32).iter().zip(0..).map(|(&value, t)| if t % 2 == 0 { value } else { 0 }).collect();
    ensure_eq!(x.to_vec()?, want);
    Ok(())
}

pub fn a_warp_multiplies_matrices(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let mut rng = Rng(31);
    // a of 16 x 4, b of 4 x 8, c of 16 x 8, one behind the other; values of many sizes, so that the order of additions tells.
    let values: Vec<f64> = (0..224).map(|_| (rng.uniform() - 0.5) * 10f64.powi(rng.below(12) as i32)).collect();
    let x = DeviceVec::from_slice(&device.stream(), &values)?;
    let body = "double *a = (double *)words.word[0], *b = a + 64, *at = b + 32; const int g = threadIdx.x / 4, t = threadIdx.x % 4;\n\
                double c[4]; const double rows[2] = {a[4 * g + t], a[4 * (g + 8) + t]};\n\
                for (int i = 0; i < 4; i++) c[i] = at[(g + i / 2 * 8) * 8 + 2 * t + i % 2];\n\
                gpu::warp_multiply_add(c, rows, b[8 * t + g]);\n\
                for (int i = 0; i < 4; i++) at[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = c[i];";
    run(&device, 111, body, &x)?;
    let got = x.to_vec()?;
    for (row, column) in (0..16).flat_map(|row| (0..8).map(move |column| (row, column))) {
        let place = 96 + 8 * row + column;
        let term = |sum: f64, k: usize| values[4 * row + k].mul_add(values[64 + 8 * k + column], sum);
        ensure_eq!((row, column, got[place]), (row, column, (0..4).fold(values[place], term)));
    }
    Ok(())
}

pub fn a_warp_multiplies_matrices_of_more_columns(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let mut rng = Rng(32);
    for depth in [8, 16] {
        // a of 16 x depth, b of depth x 8, c of 16 x 8, one behind the other.
        let values: Vec<f64> =
            (0..24 * depth + 128).map(|_| (rng.uniform() - 0.5) * 10f64.powi(rng.below(12) as i32)).collect();
        let x = DeviceVec::from_slice(&device.stream(), &values)?;
        let body = format!(
            "const int K = {depth}, g = threadIdx.x / 4, t = threadIdx.x % 4;\n\
             double *a = (double *)words.word[0], *b = a + 16 * K, *at = b + 8 * K, c[4], rows[K / 2], columns[K / 4];\n\
             for (int q = 0; q < K / 4; q++) {{ columns[q] = b[8 * (t + 4 * q) + g];\n\
             for (int half = 0; half < 2; half++) rows[2 * q + half] = a[K * (g + 8 * half) + t + 4 * q]; }}\n\
             for (int i = 0; i < 4; i++) c[i] = at[(g + i / 2 * 8) * 8 + 2 * t + i % 2];\n\
             gpu::warp_multiply_add(c, rows, columns);\n\
             for (int i = 0; i < 4; i++) at[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = c[i];"
        );
        run(&device, 112 + depth as u64, &body, &x)?;
        let got = x.to_vec()?;
        for (row, column) in (0..16).flat_map(|row| (0..8).map(move |column| (row, column))) {
            let place = 24 * depth + 8 * row + column;
            let term = |sum: f64, k: usize| values[depth * row + k].mul_add(values[16 * depth + 8 * k + column], sum);
            ensure_eq!((depth, row, column, got[place]), (depth, row, column, (0..depth).fold(values[place], term)));
        }
    }
    Ok(())
}
