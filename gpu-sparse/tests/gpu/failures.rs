//! Every public operation on a device bears the failure of each driver call that it makes: an error each time, nothing leaked,
//! inputs as they were, and the next call works.

use std::error::Error;

use approx::abs_diff_eq;
use gpu_array::{ArrayError, GpuArray};
use gpu_driver::{
    Device, DriverError, Stream,
    emulated::{
        Call::{self, Allocation, Copy, Launch, ModuleLoad},
        Emulated, Schedule,
    },
};
use gpu_sparse::linalg::{Cg, Jacobi, LinearOperator, Solution, cg, from_fn};
use gpu_sparse::{CsrMatrix, DeviceMatrix, Result, Scalar, SparseError};
use ndarray::Ix1;
use testkit::{Operation, Outcome, ensure, ensure_eq, fallible_functions, none_forgotten, sweeps};

testkit::failure_sweep!(SparseError, error in SparseError::Driver(error) | SparseError::Array(ArrayError::Driver(error)));

/// [[4, 1, 0], [1, 3, 0], [0, 0, 2]]: positive definite, with three distinct eigenvalues.
fn matrix<T: Scalar>() -> Result<CsrMatrix<T>> {
    let values = [4.0, 1.0, 1.0, 3.0, 2.0].map(T::from_f64).to_vec();
    CsrMatrix::from_parts(3, 3, vec![0, 2, 4, 5], vec![0, 1, 0, 1, 2], values)
}

const X: [f64; 3] = [1.0, -2.0, 4.0];
/// The matrix times [`X`].
const B: [f64; 3] = [2.0, -5.0, 8.0];

/// What is on the device is the matrix still.
fn is_whole<T: Scalar>(a: &DeviceMatrix<T>) -> Outcome {
    ensure!(a.to_csr()? == matrix::<T>()?);
    Ok(())
}

struct Product {
    a: DeviceMatrix<f64>,
    x: GpuArray<f64, Ix1>,
    y: GpuArray<f64, Ix1>,
}

/// A product of the matrix and a vector; `y` is zero before.
fn multiplies<T>(
    call: Call,
    operation: impl Fn(&mut Product) -> Result<T>,
    check: impl Fn(&Product, Option<&T>) -> Outcome,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| {
        let x = GpuArray::from_ndarray(device, &ndarray::arr1(&X))?;
        Ok(Product { a: matrix()?.to_device(device)?, x, y: GpuArray::zeros(device, 3)? })
    };
    sweep(call, prepare, operation, |product, result| {
        is_whole(&product.a)?;
        ensure_eq!(product.x.to_ndarray()?.to_vec(), X);
        check(product, result)
    })
}

/// A solve on the device, whose right-hand side and guess are on the host.
fn solves<T: Scalar>(call: Call, configure: impl for<'x> Fn(Cg<'x, T>) -> Cg<'x, T>) -> Result<u64, Box<dyn Error>> {
    // Short blocks: each captured launch is one to fail.
    solves_with(call, |_| Ok(()), |a, ()| configure(cg(a, &B.map(T::from_f64)).check_every(2)).solve())
}

fn solves_with<T: Scalar, M>(
    call: Call,
    prepare: impl Fn(&Device) -> Result<M>,
    solve: impl Fn(&DeviceMatrix<T>, &M) -> Result<Solution<T>>,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok((matrix::<T>()?.to_device(device)?, prepare(device)?));
    sweep(
        call,
        prepare,
        |(a, m)| solve(a, m),
        |(a, _), solution| {
            is_whole(a)?;
            let Some(solution) = solution else { return Ok(()) };
            let near =
                solution.x.iter().zip(X).all(|(&got, want)| abs_diff_eq!(Scalar::to_f64(got), want, epsilon = 1e-3));
            ensure!(solution.is_converged() && near, "{solution}: {}", solution.x);
            Ok(())
        },
    )
}

/// An approximate inverse of the matrix, in the form of a matrix.
fn inverse() -> Result<CsrMatrix<f64>> {
    CsrMatrix::from_parts(3, 3, vec![0, 1, 2, 3], vec![0, 1, 2], vec![0.25, 0.3, 0.5])
}

/// What makes driver calls that can be made to fail. A solve makes at least two iterations.
static OPERATIONS: &[Operation<Call>] = &[
    Operation {
        name: "CsrMatrix::to_device",
        makes: &[(Allocation, 3), (Copy, 3)],
        sweep: |call| {
            let prepare = |device: &Device| Ok((matrix::<f64>()?, device.clone()));
            sweep(
                call,
                prepare,
                |(a, device)| a.to_device(&*device),
                |(a, _), placed| {
                    ensure!(*a == matrix()?);
                    placed.map_or(Ok(()), is_whole)
                },
            )
        },
    },
    Operation {
        name: "PacketMatrix::to_device",
        makes: &[(Allocation, 4), (Copy, 4)],
        sweep: |call| {
            let prepare = |device: &Device| Ok((matrix::<f64>()?.to_packets()?, device.clone()));
            sweep(
                call,
                prepare,
                |(a, device)| a.to_device(&*device),
                |(a, _), placed| {
                    ensure!(a.to_csr() == matrix()?);
                    placed.map_or(Ok(()), is_whole)
                },
            )
        },
    },
    Operation {
        name: "DeviceMatrix::new",
        makes: &[(Allocation, 4), (Copy, 4)],
        sweep: |call| {
            let prepare = |device: &Device| Ok((matrix::<f64>()?, device.clone()));
            sweep(
                call,
                prepare,
                |(a, device)| DeviceMatrix::new(a, &*device),
                |(a, _), placed| {
                    ensure!(*a == matrix()?);
                    placed.map_or(Ok(()), is_whole)
                },
            )
        },
    },
    Operation {
        name: "DeviceMatrix::to_csr",
        makes: &[(Copy, 5)],
        sweep: |call| {
            let prepare = |device: &Device| matrix::<f64>()?.to_packets()?.to_device(device);
            sweep(
                call,
                prepare,
                |placed| placed.to_csr(),
                |placed, a| {
                    ensure!(a.is_none_or(|a| Some(a) == matrix().ok().as_ref()));
                    is_whole(placed)
                },
            )
        },
    },
    Operation {
        name: "warm",
        makes: &[(ModuleLoad, 24)],
        sweep: |call| sweep(call, |device| Ok(device.clone()), |device| gpu_sparse::warm(device), |_, _| Ok(())),
    },
    Operation {
        name: "DeviceMatrix::load_kernels",
        makes: &[(ModuleLoad, 12)],
        sweep: |call| {
            let prepare = |device: &Device| matrix::<f32>()?.to_device(device);
            sweep(call, prepare, |a| a.load_kernels(), |a, _| is_whole(a))
        },
    },
    Operation {
        name: "DeviceMatrix::matvec",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            multiplies(
                call,
                |product| product.a.matvec(&product.x),
                |_, y| {
                    let Some(y) = y else { return Ok(()) };
                    ensure_eq!(y.to_ndarray()?.to_vec(), B);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "DeviceMatrix::matvec_into",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            multiplies(
                call,
                |Product { a, x, y }| a.matvec_into(x, y),
                |product, done| {
                    let want = if done.is_some() { B } else { [0.0; 3] };
                    ensure_eq!(product.y.to_ndarray()?.to_vec(), want);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "DeviceMatrix::axpby_into",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            multiplies(
                call,
                |Product { a, x, y }| a.axpby_into(1.0, x, 2.0, y),
                |product, done| {
                    let want = if done.is_some() { B } else { [0.0; 3] };
                    ensure_eq!(product.y.to_ndarray()?.to_vec(), want);
                    Ok(())
                },
            )
        },
    },
    // A row of two segments, for which blocks leave sums for each other.
    Operation {
        name: "DeviceMatrix::matvec, of a long row",
        makes: &[(Allocation, 3), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            const LENGTH: usize = 5000;
            let prepare = |device: &Device| {
                let (starts, columns) = (vec![0, LENGTH as u64], (0..LENGTH as u32).collect());
                let a = CsrMatrix::from_parts(1, LENGTH, starts, columns, vec![1.0; LENGTH])?;
                Ok((a.to_device(device)?, GpuArray::full(device, LENGTH, 2.0)?))
            };
            sweep(
                call,
                prepare,
                |(a, x)| a.matvec(x),
                |(_, x), y| {
                    ensure_eq!(x.to_ndarray()?[0], 2.0);
                    let Some(y) = y else { return Ok(()) };
                    ensure_eq!(y.to_ndarray()?.to_vec(), [2.0 * LENGTH as f64]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "LinearOperator::apply",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 2)],
        sweep: |call| {
            let apply = |product: &mut Product| {
                let mut y = [f64::NAN; 3];
                product.a.apply(&X, &mut y).map(|()| y)
            };
            multiplies(call, apply, |_, y| {
                ensure!(y.is_none_or(|y| *y == B), "{y:?}");
                Ok(())
            })
        },
    },
    Operation {
        name: "LinearOperator::apply_dot",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 2)],
        sweep: |call| {
            let apply = |product: &mut Product| {
                let mut y = [f64::NAN; 3];
                product.a.apply_dot(&X, &mut y).map(|dot| (y, dot))
            };
            multiplies(call, apply, |_, result| {
                ensure!(result.is_none_or(|result| *result == (B, 44.0)), "{result:?}");
                Ok(())
            })
        },
    },
    Operation {
        name: "LinearOperator::residual",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 2)],
        sweep: |call| {
            let residual = |product: &mut Product| {
                let mut r = [f64::NAN; 3];
                product.a.residual(&X, &[3.0; 3], &mut r).map(|()| r)
            };
            multiplies(call, residual, |_, r| {
                ensure!(r.is_none_or(|r| *r == B.map(|b| 3.0 - b)), "{r:?}");
                Ok(())
            })
        },
    },
    Operation {
        name: "Cg::load_kernels",
        makes: &[(ModuleLoad, 6)],
        sweep: |call| {
            let prepare = |device: &Device| matrix::<f64>()?.to_device(device);
            sweep(call, prepare, |a| cg(&*a, &B).load_kernels(), |a, _| is_whole(a))
        },
    },
    // b, x, r, p, q, the scalars and three buffers for sums, pinned memory; five kernels; a captured launch for each pass.
    Operation {
        name: "Cg::solve",
        makes: &[(Allocation, 8), (ModuleLoad, 5), (Launch, 9), (Copy, 6), (Call::Event, 6)],
        sweep: |call| solves::<f64>(call, |solve| solve.rtol(1e-8)),
    },
    Operation {
        name: "Cg::solve, in f32",
        makes: &[(Allocation, 8), (ModuleLoad, 5), (Launch, 9), (Copy, 6), (Call::Event, 6)],
        sweep: |call| solves::<f32>(call, |solve| solve.rtol(1e-5)),
    },
    Operation {
        name: "Cg::solve, with a guess",
        makes: &[(Allocation, 8), (ModuleLoad, 5), (Launch, 9), (Copy, 6), (Call::Event, 6)],
        sweep: |call| {
            solves_with(
                call,
                |_| Ok([0.5, -1.0, 3.0]),
                |a, guess| cg(a, &B).x0(guess).check_every(2).rtol(1e-8).solve(),
            )
        },
    },
    Operation {
        name: "Cg::solve, in packets",
        makes: &[(Allocation, 8), (ModuleLoad, 5), (Launch, 9), (Copy, 6), (Call::Event, 6)],
        sweep: |call| {
            let prepare = |device: &Device| matrix()?.to_packets()?.to_device(device);
            solves_with(call, prepare, |_: &DeviceMatrix<f64>, packets| {
                cg(packets, &B).check_every(2).rtol(1e-8).solve()
            })
        },
    },
    Operation {
        name: "Cg::solve, with vectors on the device",
        makes: &[(Allocation, 8), (ModuleLoad, 5), (Launch, 9), (Copy, 6), (Call::Event, 8)],
        sweep: |call| {
            let prepare = |device: &Device| {
                let b = GpuArray::from_ndarray(device, &ndarray::arr1(&B))?;
                Ok((matrix::<f64>()?.to_device(&Stream::new(device)?)?, b))
            };
            sweep(
                call,
                prepare,
                |(a, b)| cg(&*a, &*b).x0(&*b).check_every(2).rtol(1e-8).solve(),
                |(a, b), solution| {
                    is_whole(a)?;
                    ensure_eq!(b.to_ndarray()?.to_vec(), B);
                    let Some(solution) = solution else { return Ok(()) };
                    let x = solution.x.to_ndarray()?;
                    ensure!(
                        x.iter().zip(X).all(|(&got, want)| abs_diff_eq!(got, want, epsilon = 1e-3)),
                        "{solution}: {x}"
                    );
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Cg::solve, with Jacobi",
        makes: &[(Allocation, 9), (ModuleLoad, 6), (Launch, 9), (Copy, 6), (Call::Event, 6)],
        sweep: |call| solves::<f64>(call, |solve| solve.rtol(1e-8).preconditioner(Jacobi)),
    },
    Operation {
        name: "Cg::solve, with a matrix on the host",
        makes: &[(Allocation, 9), (ModuleLoad, 5), (Launch, 9), (Copy, 12), (Call::Event, 6)],
        sweep: |call| {
            solves_with(call, |_| inverse(), |a, m| cg(a, &B).preconditioner(m).check_every(2).rtol(1e-8).solve())
        },
    },
    Operation {
        name: "Cg::solve, with a matrix on the device, on another stream",
        makes: &[(Allocation, 9), (ModuleLoad, 5), (Launch, 9), (Copy, 6), (Call::Event, 6)],
        sweep: |call| {
            let prepare = |device: &Device| inverse()?.to_device(&Stream::new(device)?);
            solves_with(call, prepare, |a, m| cg(a, &B).preconditioner(m).check_every(2).rtol(1e-8).solve())
        },
    },
    Operation {
        name: "Cg::solve, with a closure",
        makes: &[(Allocation, 9), (ModuleLoad, 5), (Launch, 9), (Copy, 12), (Call::Event, 6)],
        sweep: |call| {
            solves_with(
                call,
                |_| Ok(()),
                |a, ()| {
                    let half =
                        from_fn(3, |r: &[f64], z: &mut [f64]| z.iter_mut().zip(r).for_each(|(z, r)| *z = 0.5 * r));
                    cg(a, &B).preconditioner(&half).rtol(1e-8).solve()
                },
            )
        },
    },
    Operation {
        name: "Cg::solve, on the CPU with a preconditioner on the device",
        makes: &[(Allocation, 6), (ModuleLoad, 1), (Launch, 3), (Copy, 6)],
        sweep: |call| {
            let prepare = |device: &Device| inverse()?.to_device(device);
            let solve =
                |_: &DeviceMatrix<f64>, m: &DeviceMatrix<f64>| cg(&matrix()?, &B).preconditioner(m).rtol(1e-8).solve();
            solves_with(call, prepare, solve)
        },
    },
    // A failed copy for the callback is the callback's to see.
    Operation {
        name: "Progress::x",
        makes: &[(Allocation, 8), (ModuleLoad, 5), (Launch, 6), (Copy, 8), (Call::Event, 6)],
        sweep: |call| {
            solves_with(
                call,
                |_| Ok(()),
                |a, ()| {
                    let mut seen = Ok(());
                    let watched = cg(a, &B).rtol(1e-8).callback(|progress| {
                        if let Err(error) = progress.x() {
                            seen = Err(error);
                        }
                    });
                    let solution = watched.solve()?;
                    seen.map(|()| solution)
                },
            )
        },
    },
];

/// Public functions that make no driver call.
const OTHERS: &[&str] = &["compile_cg"];

/// A test for each operation.
pub fn cases() -> impl Iterator<Item = (String, impl FnOnce(&()) -> Outcome + Send + 'static)> {
    sweeps(OPERATIONS, &KINDS)
}

pub fn no_fallible_function_is_forgotten(_: &()) -> Outcome {
    let sources = [
        include_str!("../../src/device/mod.rs"),
        include_str!("../../src/product/device/mod.rs"),
        include_str!("../../src/registry.rs"),
        include_str!("../../src/linalg/cg/mod.rs"),
        include_str!("../../src/linalg/outcome.rs"),
    ];
    let mut found: Vec<String> = sources.into_iter().flat_map(fallible_functions).collect();
    // Methods of the trait, which `DeviceMatrix` has or inherits.
    found.extend(["apply", "apply_dot", "residual"].map(|name| format!("LinearOperator::{name}")));
    none_forgotten(&found, OPERATIONS, OTHERS)
}

/// A matrix of one device and vectors of another are an error.
pub fn objects_of_two_devices_do_not_mix(_: &()) -> Outcome {
    let (one, other) = (Emulated::new().open()?, Emulated::new().open()?);
    let a = matrix::<f64>()?.to_device(&one)?;
    let (x, far) =
        (GpuArray::from_ndarray(&one, &ndarray::arr1(&X))?, GpuArray::from_ndarray(&other, &ndarray::arr1(&X))?);
    let (mut y, mut far_y) = (GpuArray::zeros(&one, 3)?, GpuArray::zeros(&other, 3)?);
    for outcome in [a.matvec(&far).map(drop), a.matvec_into(&far, &mut y), a.matvec_into(&x, &mut far_y)] {
        ensure!(matches!(outcome, Err(SparseError::Driver(DriverError::WrongDevice { .. }))), "{outcome:?}");
    }
    ensure_eq!(a.matvec(&x)?.to_ndarray()?.to_vec(), B);
    // A preconditioner on another device is applied there, through the host.
    let m = inverse()?.to_device(&other)?;
    let solution = cg(&a, &B).rtol(1e-8).preconditioner(&m).solve()?;
    ensure!(solution.is_converged(), "{solution}");
    let same = cg(&a, &B).rtol(1e-8).preconditioner(&inverse()?).solve()?;
    ensure_eq!(solution.x, same.x);
    Ok(())
}

/// A solve that ends with an error leaves passes enqueued, which read the matrices after the caller has dropped them.
pub fn matrices_go_behind_a_solve_that_failed(_: &()) -> Outcome {
    for (call, seed) in [Copy, Allocation, Launch].into_iter().flat_map(|call| (0..5).map(move |seed| (call, seed))) {
        for at in 1.. {
            let device = Emulated::new().schedule(Schedule::Random).seed(seed).open()?;
            let emulation = device.emulation().ok_or("emulated")?;
            let [of_a, of_m] = [Stream::new(&device)?, Stream::new(&device)?];
            let (a, m) = (matrix::<f64>()?.to_device(&of_a)?, inverse()?.to_device(&of_m)?);
            emulation.fail(call, at, false)?;
            let outcome = cg(&a, &B).preconditioner(&m).check_every(2).solve().map(drop);
            emulation.stop_failing()?;
            drop((a, m));
            device.synchronize().map_err(|error| format!("{call:?} {at}, seed {seed}: {error}"))?;
            if outcome.is_ok() {
                break;
            }
        }
    }
    Ok(())
}
