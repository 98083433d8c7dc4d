//! Conjugate gradients on the device against the CPU's.

use std::thread;

use approx::relative_eq;
use gpu_array::GpuArray;
use gpu_driver::{Device, Stream};
use gpu_sparse::gallery::{Poisson, wathen_random};
use gpu_sparse::linalg::{Cg, Jacobi, Preconditioner, Quantity, Solution, Status, cg, from_fn};
use gpu_sparse::{CooMatrix, CsrMatrix, DeviceMatrix, Scalar, SparseError};
use ndarray::{Array1, Array2, Axis, s};
use testkit::{Outcome, ensure, ensure_eq};

use crate::products::in_both_formats;

pub fn sine<T: Scalar>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::from_f64(((i + 1) as f64).sin())).collect()
}

/// Norm of `b - A x`, in f64.
pub fn residual<T: Scalar>(a: &CsrMatrix<T>, x: &Array1<T>, b: &[T]) -> Result<f64, gpu_sparse::SparseError> {
    let product = a.map_values(|v| v.to_f64()).matvec(&x.mapv(|x| x.to_f64()))?;
    Ok(product.iter().zip(b).map(|(ax, &b)| (b.to_f64() - ax).powi(2)).sum::<f64>().sqrt())
}

fn norm<T: Scalar>(b: &[T]) -> f64 {
    b.iter().map(|&b| b.to_f64().powi(2)).sum::<f64>().sqrt()
}

/// Edges of a grid for a GPU, or smaller ones for the emulated device, which needs a second for what takes a GPU a millisecond.
pub fn edges<const N: usize>(device: &Device, full: [usize; N], emulated: [usize; N]) -> [usize; N] {
    if device.is_emulated() { emulated } else { full }
}

/// That two runs have the same bits.
fn same_bits<T: Scalar>(one: &Solution<T>, two: &Solution<T>) -> Outcome {
    ensure_eq!((one.iterations, one.status), (two.iterations, two.status));
    ensure!(one.history == two.history && one.residual_norm == two.residual_norm && one.x == two.x);
    Ok(())
}

/// Solves on both, on the device twice: as many iterations within 2 % (or 2), and the residual found is below the tolerance.
fn agree<T: Scalar>(
    device: &Device,
    label: &str,
    a: &CsrMatrix<T>,
    rtol: f64,
    configure: impl for<'x> Fn(Cg<'x, T>) -> Cg<'x, T>,
) -> Outcome {
    let b = sine(a.rows());
    let cpu = configure(cg(a, &b).rtol(rtol)).solve()?;
    let allowed = (0.02 * cpu.iterations as f64).max(2.0);
    for placed in in_both_formats(device, a)? {
        let gpu = configure(cg(&placed, &b).rtol(rtol)).solve()?;
        same_bits(&gpu, &configure(cg(&placed, &b).rtol(rtol)).solve()?)?;
        ensure!(cpu.is_converged() && gpu.is_converged(), "{label}, {placed:?}: {cpu}; {gpu}");
        ensure!(gpu.iterations.abs_diff(cpu.iterations) as f64 <= allowed, "{label}, {placed:?}: {cpu}; {gpu}");
        ensure!(residual(a, &gpu.x, &b)? <= 2.01 * rtol * norm(&b), "{label}, {placed:?}: {gpu}");
        ensure_eq!(gpu.history.len(), gpu.iterations + 1);
    }
    Ok(())
}

/// Without preconditioner and with Jacobi, in f64 and f32.
fn agree_in_all_ways(device: &Device, label: &str, a: &CsrMatrix<f64>) -> Outcome {
    fn of_type<T: Scalar>(device: &Device, label: &str, a: &CsrMatrix<T>, rtol: f64) -> Outcome {
        let label = |way: &str| format!("{label}, {}, {way}", T::DTYPE);
        agree(device, &label("plain"), a, rtol, |solve| solve)?;
        agree(device, &label("Jacobi"), a, rtol, |solve| solve.preconditioner(Jacobi))
    }
    of_type(device, label, a, 1e-8)?;
    of_type(device, label, &a.map_values(|v| v as f32), 1e-4)
}

pub fn poisson_as_on_the_cpu(device: &Device) -> Outcome {
    let [x, y, z] = edges(device, [20, 20, 20], [9, 8, 10]);
    agree_in_all_ways(device, "7-point", &Poisson::three_d(x, y, z).build()?)?;
    agree_in_all_ways(device, "tridiagonal", &Poisson::one_d(33).build()?)
}

pub fn wathen_as_on_the_cpu(device: &Device) -> Outcome {
    let [x, y] = edges(device, [20, 21], [8, 7]);
    agree_in_all_ways(device, "wathen", &wathen_random(x, y, 3)?)
}

pub fn variable_coefficients_as_on_the_cpu(device: &Device) -> Outcome {
    let [x, y, z] = edges(device, [15, 16, 17], [7, 8, 9]);
    agree_in_all_ways(device, "variable", &Poisson::three_d(x, y, z).random_coefficients(4, 10.0).build()?)
}

/// For a GPU: 2112 blocks take 2,162,688 elements of a vector at once.
pub fn solves_longer_than_one_grid(device: &Device) -> Outcome {
    let a = Poisson::two_d(1500, 1500).build::<f64>()?;
    agree(device, "5-point", &a, 0.3, |solve| solve)?;
    agree(device, "5-point", &a, 0.3, |solve| solve.preconditioner(Jacobi))
}

/// An arrow: the first row and column and the diagonal are full, so that one row is longer than a segment, in both formats.
fn arrow<T: Scalar>(n: usize) -> Result<CsrMatrix<T>, SparseError> {
    let (mut rows, mut cols, mut values) = (vec![0], vec![0], vec![T::from_f64(2.0 * n as f64)]);
    for i in 1..n as u32 {
        let weight = (f64::from(i)).sin();
        for (row, col, value) in [(i, i, 3.0), (0, i, weight), (i, 0, weight)] {
            rows.push(row);
            cols.push(col);
            values.push(T::from_f64(value));
        }
    }
    Ok(CooMatrix::from_triplets(n, n, rows, cols, values)?.to_csr())
}

pub fn rows_of_several_segments(device: &Device) -> Outcome {
    fn of_type<T: Scalar>(device: &Device, rtol: f64) -> Outcome
    where
        for<'x> &'x CsrMatrix<T>: Preconditioner<T>,
        for<'x> &'x DeviceMatrix<T>: Preconditioner<T>,
    {
        let a = arrow::<T>(9001)?;
        let b = sine(9001);
        for placed in in_both_formats(device, &a)? {
            for m in in_both_formats(device, &a)? {
                // Not the inverse of anything, but symmetric and positive definite: every iteration has two such products.
                let cpu = cg(&a, &b).rtol(rtol).preconditioner(&a).solve()?;
                let one = cg(&placed, &b).rtol(rtol).preconditioner(&m).check_every(1).solve()?;
                ensure!(one.is_converged() && one.iterations.abs_diff(cpu.iterations) <= 2, "{placed:?}: {one}; {cpu}");
                same_bits(&cg(&placed, &b).rtol(rtol).preconditioner(&m).check_every(3).solve()?, &one)?;
                ensure!(residual(&a, &one.x, &b)? <= 2.01 * rtol * norm(&b), "{one}");
            }
            let (plain, jacobi) =
                (cg(&placed, &b).rtol(rtol).solve()?, cg(&placed, &b).rtol(rtol).preconditioner(Jacobi).solve()?);
            ensure!(plain.is_converged() && jacobi.is_converged(), "{plain}; {jacobi}");
        }
        Ok(())
    }
    of_type::<f64>(device, 1e-10)?;
    of_type::<f32>(device, 1e-4)
}

pub fn preconditioners_in_every_form(device: &Device) -> Outcome {
    let a = wathen_random::<f64>(12, 11, 5)?;
    let n = a.rows();
    let inverse: Vec<f64> = a.diagonal().iter().map(|d| 1.0 / d).collect();
    let starts = (0..=n as u64).collect();
    let as_matrix = CsrMatrix::from_parts(n, n, starts, (0..n as u32).collect(), inverse.clone())?;
    let on_device = as_matrix.to_device(&Stream::new(device)?)?;
    let in_packets = as_matrix.to_packets()?.to_device(device)?;
    let as_closure = from_fn(n, |r: &[f64], z: &mut [f64]| {
        z.iter_mut().zip(r).zip(&inverse).for_each(|((z, r), d)| *z = d * r);
    });
    let (placed, b) = (a.to_device(device)?, sine(n));
    let jacobi = cg(&placed, &b).rtol(1e-8).preconditioner(Jacobi).solve()?;
    let matrix = cg(&placed, &b).rtol(1e-8).preconditioner(&as_matrix).solve()?;
    let device_matrix = cg(&placed, &b).rtol(1e-8).preconditioner(&on_device).solve()?;
    let packets = cg(&placed, &b).rtol(1e-8).preconditioner(&in_packets).solve()?;
    for k in [1, 5] {
        same_bits(&cg(&placed, &b).rtol(1e-8).preconditioner(&on_device).check_every(k).solve()?, &device_matrix)?;
    }
    let closure = cg(&placed, &b).rtol(1e-8).preconditioner(&as_closure).solve()?;
    for s in [&jacobi, &matrix, &device_matrix, &packets, &closure] {
        ensure!(s.is_converged() && residual(&a, &s.x, &b)? <= 2.01e-8 * norm(&b), "{s}");
        ensure!(s.iterations.abs_diff(jacobi.iterations) <= 2, "{s}; {jacobi}");
    }
    ensure_eq!(matrix.x, closure.x);
    // The CPU's engine with a preconditioner on the device: right, through host copies.
    let mixed = cg(&a, &b).rtol(1e-8).preconditioner(&on_device).solve()?;
    ensure!(mixed.is_converged() && mixed.iterations.abs_diff(jacobi.iterations) <= 2, "{mixed}");
    Ok(())
}

pub fn guesses_and_views_are_taken(device: &Device) -> Outcome {
    let a = Poisson::two_d(30, 31).build::<f64>()?;
    let (placed, n) = (a.to_device(device)?, a.rows());
    let guess: Array1<f64> = (0..2 * n).map(|i| 3.0 * (i as f64).cos()).collect();
    let b: Array1<f64> = sine(2 * n).into();
    let (guess, b) = (guess.slice(s![..;2]), b.slice(s![..;-2]));
    let cpu = cg(&a, b).x0(guess).rtol(1e-9).solve()?;
    let gpu = cg(&placed, b).x0(guess).rtol(1e-9).solve()?;
    ensure!(gpu.is_converged() && gpu.iterations.abs_diff(cpu.iterations) <= 2, "{cpu}; {gpu}");
    ensure!(relative_eq!(gpu.history[0], cpu.history[0], epsilon = 0.0, max_relative = 1e-14));
    ensure!(residual(&a, &gpu.x, &b.to_vec())? <= 2.01e-9 * norm(&b.to_vec()));
    same_bits(&gpu, &cg(&placed, b).x0(guess).rtol(1e-9).solve()?)
}

pub fn the_callback_sees_every_iteration(device: &Device) -> Outcome {
    let a = Poisson::two_d(15, 15).build::<f64>()?;
    let (placed, b) = (a.to_device(device)?, sine(225));
    let mut seen = Vec::new();
    let watched = cg(&placed, &b)
        .rtol(1e-8)
        .preconditioner(Jacobi)
        .callback(|progress| {
            seen.push((progress.iteration, progress.residual_norm, progress.x().map(|x| x.into_owned())))
        })
        .solve()?;
    ensure_eq!(seen.len(), watched.iterations);
    let seen = seen.into_iter().map(|(iteration, norm, x)| Ok((iteration, norm, x?)));
    let seen = seen.collect::<gpu_sparse::Result<Vec<_>>>()?;
    for (k, (iteration, norm, x)) in seen.iter().enumerate() {
        ensure_eq!((*iteration, *norm), (k + 1, watched.history[k + 1]));
        ensure!(relative_eq!(*norm, residual(&a, x, &b)?, epsilon = 0.0, max_relative = 1e-5), "iteration {iteration}");
    }
    ensure!(seen.last().is_some_and(|(.., x)| *x == watched.x));
    same_bits(&watched, &cg(&placed, &b).rtol(1e-8).preconditioner(Jacobi).solve()?)
}

/// The number of iterations between two looks of the host is seen in nothing: not where a solve ends, nor in a bit of it.
pub fn looks_of_the_host_change_nothing(device: &Device) -> Outcome {
    let a = Poisson::two_d(17, 18).random_coefficients(7, 1000.0).build::<f64>()?;
    let b = sine(a.rows());
    for placed in in_both_formats(device, &a)? {
        for jacobi in [false, true] {
            let solve = |k: Option<usize>, maxiter: usize| {
                let mut solve = cg(&placed, &b).rtol(1e-9).maxiter(maxiter);
                if jacobi {
                    solve = solve.preconditioner(Jacobi);
                }
                k.into_iter().fold(solve, Cg::check_every).solve()
            };
            let chosen = solve(None, 1000)?;
            // More than the residuals that the device remembers; twice as many without a preconditioner.
            ensure!(chosen.is_converged() && chosen.iterations > if jacobi { 64 } else { 128 }, "{chosen}");
            // Among others such that the last iteration is the last of a block, the first of one, and the one before the last.
            let n = chosen.iterations;
            let ends = [0, 1].map(|rest| (5..=64).find(|k| n % k == rest)).into_iter().flatten();
            let before_last = (5..=64).find(|k| n % k == k - 1);
            for k in [1, 2, 3, 64].into_iter().chain(ends).chain(before_last) {
                same_bits(&solve(Some(k), 1000)?, &chosen)?;
            }
            // A limit that is no multiple of the block.
            let limited = solve(Some(1), n - 3)?;
            ensure_eq!((limited.status, limited.iterations), (Status::MaxIterations, n - 3));
            for k in [2, 7, 64] {
                same_bits(&solve(Some(k), n - 3)?, &limited)?;
            }
            same_bits(&solve(Some(5), n)?, &chosen)?;
        }
        for k in [0, 65, usize::MAX] {
            let outcome = cg(&placed, &b).check_every(k).solve();
            ensure!(matches!(outcome, Err(SparseError::Parameter { name: "check_every", .. })), "{k}: {outcome:?}");
        }
    }
    Ok(())
}

/// The iterates of the device are those of the CPU but for rounding: every pass, one after another, on awkward sizes.
pub fn iterates_follow_the_cpu(device: &Device) -> Outcome {
    for n in [31, 32, 33, 255, 256, 257, 1023, 1024, 1025] {
        let a = Poisson::one_d(n).random_coefficients(n as u64, 3.0).build::<f64>()?;
        let (b, guess) = (sine(n), sine::<f64>(n).iter().map(|v| v * v).collect::<Vec<_>>());
        for placed in in_both_formats(device, &a)? {
            for (maxiter, jacobi) in [(1, false), (5, false), (2, true), (5, true)] {
                let of = |solve: Cg<'_, f64>| {
                    let solve = solve.rtol(0.0).maxiter(maxiter);
                    if jacobi { solve.preconditioner(Jacobi).solve() } else { solve.solve() }
                };
                let (cpu, gpu) = (of(cg(&a, &b).x0(&guess))?, of(cg(&placed, &b).x0(&guess))?);
                ensure_eq!(gpu.iterations, cpu.iterations);
                let close = |got: f64, want: f64, size: f64| (got - want).abs() <= 1e-10 * size;
                let size = cpu.x.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
                ensure!(gpu.x.iter().zip(&cpu.x).all(|(&g, &c)| close(g, c, size)), "{placed:?}, {maxiter}, {jacobi}");
                let first = cpu.history[0];
                ensure!(gpu.history.iter().zip(&cpu.history).all(|(&g, &c)| close(g, c, first)));
            }
        }
    }
    Ok(())
}

pub fn vectors_on_the_device_stay_there(device: &Device) -> Outcome {
    let a = Poisson::two_d(20, 21).build::<f64>()?;
    let (b, guess) = (Array1::from_vec(sine(420)), Array1::from_elem(420, 0.5));
    let of_b = Stream::new(device)?;
    let (device_b, device_guess) = (GpuArray::from_ndarray(&of_b, &b)?, GpuArray::from_ndarray(device, &guess)?);
    for placed in in_both_formats(device, &a)? {
        let host = cg(&placed, &b).x0(&guess).rtol(1e-9).solve()?;
        let there = cg(&placed, &device_b).x0(&device_guess).rtol(1e-9).solve()?;
        ensure!(there.x.stream() == &of_b && there.is_converged());
        ensure_eq!((there.x.to_ndarray()?, &there.history, there.iterations), (host.x, &host.history, host.iterations));
        let (plain, zero) = (cg(&placed, &device_b).solve()?, cg(&placed, &GpuArray::zeros(device, 420)?).solve()?);
        ensure_eq!(plain.x.to_ndarray()?, cg(&placed, &b).solve()?.x);
        ensure!(zero.is_converged() && zero.x.to_ndarray()? == Array1::<f64>::zeros(420));
        let bad = GpuArray::full(device, 420, f64::NAN)?;
        ensure_eq!(
            cg(&placed, &device_b).x0(&bad).solve()?.status,
            Status::NonFinite { quantity: Quantity::Guess, iteration: 0 }
        );
        let status = cg(&placed, &bad).solve()?.status;
        ensure_eq!(status, Status::NonFinite { quantity: Quantity::RightHandSide, iteration: 0 });
        ensure!(cg(&placed, &GpuArray::zeros(device, 419)?).solve().is_err());
        ensure!(cg(&placed, &device_b).x0(&GpuArray::zeros(device, 421)?).solve().is_err());
    }
    // Views of any layout and expressions: solved to the same bits, on the stream of the first array.
    let columns = GpuArray::from_ndarray(&of_b, &Array2::from_shape_fn((420, 3), |(i, _)| b[i]))?;
    for placed in in_both_formats(device, &a)? {
        let want = cg(&placed, &device_b).x0(&device_guess).rtol(1e-9).solve()?.x.to_ndarray()?;
        let column = columns.slice(s![.., 1])?;
        let of_view = cg(&placed, &column).x0(device_guess.slice(s![..;-1])?).rtol(1e-9).solve()?;
        ensure!(of_view.x.stream() == &of_b && of_view.x.to_ndarray()? == want);
        let of_expression = cg(&placed, &column * 2.0 - &device_b).x0(&device_guess + 0.0).rtol(1e-9).solve()?;
        ensure!(of_expression.x.stream() == &of_b && of_expression.x.to_ndarray()? == want);
        ensure!(cg(&placed, columns.slice(s![..419, 0])?).solve().is_err());
        ensure!(matches!(
            cg(&placed, &device_b + columns.t().index_axis(Axis(1), 0)?).solve(),
            Err(SparseError::Array(_))
        ));
    }
    let (host, there) = (cg(&a, &b).rtol(1e-9).solve()?, cg(&a, columns.slice(s![.., 2])?).rtol(1e-9).solve()?);
    ensure!(there.x.stream() == &of_b && there.x.to_ndarray()? == host.x);
    // A matrix on the host: solved there, and the solution brought back.
    let (host, there) = (cg(&a, &b).rtol(1e-9).solve()?, cg(&a, &device_b).rtol(1e-9).solve()?);
    ensure!(there.x.stream() == &of_b && there.x.to_ndarray()? == host.x);
    Ok(())
}

pub fn the_monitor_sees_every_iteration_in_order(device: &Device) -> Outcome {
    let a = Poisson::two_d(17, 18).random_coefficients(7, 1000.0).build::<f64>()?;
    let (placed, b) = (a.to_packets()?.to_device(device)?, sine(306));
    for k in [1, 5, 64] {
        let mut seen = Vec::new();
        let watched = cg(&placed, &b).rtol(1e-8).check_every(k).monitor(|norm| seen.push(*norm)).solve()?;
        ensure!(seen.len() == watched.iterations && seen.len() > 128, "{watched}");
        for (i, norm) in seen.iter().enumerate() {
            ensure_eq!((norm.iteration, norm.residual_norm), (i + 1, watched.history[i + 1]));
            let norm_b = norm.residual_norm / norm.relative_residual;
            ensure!(relative_eq!(norm_b, self::norm(&b), epsilon = 0.0, max_relative = 1e-14));
        }
        same_bits(&watched, &cg(&placed, &b).rtol(1e-8).solve()?)?;
    }
    Ok(())
}

pub fn any_scale_of_matrix_and_right_hand_side(device: &Device) -> Outcome {
    let unit = Poisson::two_d(20, 20).build::<f64>()?;
    let want = cg(&unit, &sine(400)).rtol(1e-10).solve()?;
    let (huge, tiny) = (2_f64.powi(498), 2_f64.powi(-498)); // 1e150, 1e-150, exact
    for (of_a, of_b) in [(huge, 1.0), (tiny, 1.0), (1.0, huge), (1.0, tiny), (huge, tiny), (tiny, huge)] {
        let placed = unit.map_values(|v| v * of_a).to_device(device)?;
        let b: Vec<f64> = sine::<f64>(400).iter().map(|v| v * of_b).collect();
        let plain = cg(&placed, &b).rtol(1e-10).solve()?;
        let jacobi = cg(&placed, &b).rtol(1e-10).preconditioner(Jacobi).solve()?;
        for s in [plain, jacobi] {
            ensure!(s.is_converged() && s.iterations.abs_diff(want.iterations) <= 2, "{of_a:e} {of_b:e}: {s}");
            ensure!(s.x.iter().zip(&want.x).all(|(&g, &w)| relative_eq!(
                g / of_b * of_a,
                w,
                epsilon = 0.0,
                max_relative = 1e-8
            )));
        }
    }
    let tiny = Poisson::one_d(30).build::<f32>()?.to_device(device)?;
    let s = cg(&tiny, &[1e-30_f32; 30]).solve()?;
    ensure!(s.is_converged() && s.iterations == 15, "{s}");
    Ok(())
}

pub fn two_solves_at_once(device: &Device) -> Outcome {
    let [x, y, z] = edges(device, [12, 13, 14], [5, 6, 7]);
    let [rounds] = edges(device, [5], [2]);
    let a = Poisson::three_d(x, y, z).random_coefficients(2, 100.0).build::<f64>()?;
    let b = sine(a.rows());
    let shared = a.to_device(device)?;
    let alone = cg(&shared, &b).rtol(1e-9).solve()?;
    let alone_jacobi = cg(&shared, &b).rtol(1e-9).preconditioner(Jacobi).solve()?;
    let solve = |own_stream: bool| -> Result<(), String> {
        let run = || -> Outcome {
            let own = if own_stream { Some(a.to_device(&Stream::new(device)?)?) } else { None };
            let placed = own.as_ref().unwrap_or(&shared);
            for _ in 0..rounds {
                same_bits(&cg(placed, &b).rtol(1e-9).solve()?, &alone)?;
                same_bits(&cg(placed, &b).rtol(1e-9).preconditioner(Jacobi).solve()?, &alone_jacobi)?;
            }
            Ok(())
        };
        run().map_err(|error| error.to_string())
    };
    thread::scope(|scope| {
        // Two on streams of their own, two that share a matrix and its stream.
        let threads = [true, true, false, false].map(|own| scope.spawn(move || solve(own)));
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}
