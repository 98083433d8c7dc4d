//! Kernels that are compiled before there is a device, in a process with a cache of its own: this program, started again.

use std::{
    env, fs,
    path::Path,
    process::{Command, ExitCode},
};

use gpu_array::GpuArray;
use gpu_driver::{
    Device,
    emulated::{Call, Emulated},
};
use gpu_sparse::gallery::Poisson;
use gpu_sparse::linalg::{Jacobi, cg};
use gpu_sparse::{Format, Scalar, compile_cg};
use ndarray::aview1;
use testkit::{Outcome, ensure, ensure_eq};

const CHILD: &str = "GPU_SPARSE_AHEAD";

/// Does the part of the test that has the cache for itself.
pub fn run_as_child() -> Option<ExitCode> {
    env::var_os(CHILD)?;
    Some(match a_solve_compiles_nothing_more() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

/// Entries of the cache: files of kernels for a GPU, folders of those for the emulated device.
fn entries(device: &Device) -> Result<usize, Box<dyn std::error::Error>> {
    let folder = env::var("GPU_CACHE_DIR")?;
    let folder = if device.is_emulated() { Path::new(&folder).join("emulated") } else { folder.into() };
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().len()));
    let lengths: Result<Vec<usize>, std::io::Error> = names.collect();
    Ok(lengths?.into_iter().filter(|&length| length >= 64).count())
}

fn a_solve_compiles_nothing_more() -> Outcome {
    for (format, by_diagonal) in [(Format::Packets, true), (Format::Csr, false)] {
        compile_cg::<f64>(Device::arch_of(0)?, format, by_diagonal)?;
        let device = Device::first()?;
        let before = entries(&device)?;
        ensure!(before >= 6, "{before} kernels");
        let a = Poisson::two_d(20, 20).build::<f64>()?;
        let a = if format == Format::Csr { a.to_device(&device)? } else { a.to_packets()?.to_device(&device)? };
        let b = vec![1.0; 400];
        let solve = cg(&a, &b).rtol(1e-8);
        let solution = if by_diagonal { solve.preconditioner(Jacobi).solve()? } else { solve.solve()? };
        ensure!(solution.is_converged(), "{solution}");
        ensure_eq!(entries(&device)?, before);
    }
    Ok(())
}

/// A first product or solve after [`gpu_sparse::warm`] loads, and so compiles, nothing.
pub fn first_products_load_nothing_after_warm(_: &()) -> Outcome {
    fn check<T: Scalar>(device: &Device) -> Outcome {
        let a = Poisson::two_d(30, 20).build::<T>()?;
        let x: Vec<T> = (0..600).map(|i| T::from_f64(f64::from(i % 7))).collect();
        let device_x = GpuArray::from_ndarray(device, &aview1(&x))?;
        let want = a.to_packets()?.matvec(&x)?;
        for placed in [a.to_device(device)?, a.to_packets()?.to_device(device)?] {
            ensure!(placed.matvec(&device_x)?.to_ndarray()? == want, "another product");
            for by_diagonal in [false, true] {
                let solve = cg(&placed, &x).rtol(1e-4);
                let solution = if by_diagonal { solve.preconditioner(Jacobi).solve()? } else { solve.solve()? };
                ensure!(solution.is_converged(), "{solution}");
            }
        }
        Ok(())
    }
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    gpu_sparse::warm(&device)?;
    let loaded = emulation.calls(Call::ModuleLoad)?;
    ensure!(loaded >= 10, "{loaded} modules were loaded");
    check::<f32>(&device)?;
    check::<f64>(&device)?;
    ensure_eq!(emulation.calls(Call::ModuleLoad)? - loaded, 0);
    Ok(())
}

pub fn kernels_of_a_solve_are_compiled_before_there_is_a_device(device: &Device) -> Outcome {
    let cache = tempfile::tempdir()?;
    let mut command = Command::new(env::current_exe()?);
    command.env(CHILD, "1").env("GPU_CACHE_DIR", cache.path());
    command.env("GPU_DEVICE", if device.is_emulated() { "emulated" } else { "cuda" });
    let output = command.output()?;
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(())
}
