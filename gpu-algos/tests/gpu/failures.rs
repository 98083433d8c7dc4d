//! Every public operation bears the failure of each driver call that it makes: an error each time, nothing leaked, arrays as
//! they were, and the next call works.

use std::error::Error;

use gpu_algos::{
    AlgoError, Result,
    einsum::{einsum, einsum_with_precision, inner, kron},
    gpu_array::{
        ArrayError, GpuArray, GpuViewMut, Number,
        expression::{Gpu, index},
        gpu_driver::{
            Device, Stream,
            emulated::Call::{self, Allocation, Copy, Event, Launch, ModuleLoad},
        },
    },
    kernels::{ArrayScanKernel, ElementwiseKernel, IndexRange, ReductionKernel, ScanKernel},
    linalg,
    matmul::{
        Precision, gemm, gemm_with_precision, matmul_each, matmul_each_into, matmul_i32, matmul_i32_into, tensordot,
        tensordot_into, tensordot_with_precision,
    },
    prelude::*,
    reduce::Summable,
    reference,
};
use ndarray::{Array1, Array2, Array3, Axis, Ix0, Ix1, Ix2, Ix3, IxDyn, array, s};
use testkit::{Operation, Outcome, ensure, ensure_eq, fallible_functions, none_forgotten, sweeps};

testkit::failure_sweep!(AlgoError, error in AlgoError::Driver(error) | AlgoError::Array(ArrayError::Driver(error)));

/// Columns such that several blocks work on each of their sums, and on that of all.
const COLUMNS: usize = 8;

fn host(rows: usize) -> Array2<i32> {
    Array2::from_shape_fn((rows, COLUMNS), |(i, j)| (i * 7 % 101 + j) as i32)
}

const SMALL: usize = 5;
const LARGE: usize = 5000;
/// As many terms of a product as several blocks share.
const SHARED: usize = 1000;

/// Reduces an array with the elements of [`host`] on a stream of its own, so that it has no scratch memory yet; the array stays as it is.
fn reduces<T>(
    call: Call,
    rows: usize,
    operation: impl Fn(&GpuArray<i32, Ix2>) -> Result<T>,
    check: impl Fn(&T) -> Outcome,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok(GpuArray::from_ndarray(&Stream::new(device)?, &host(rows))?);
    sweep(
        call,
        prepare,
        |array| operation(array),
        |array, result| {
            ensure_eq!(array.to_ndarray()?, host(rows));
            result.map_or(Ok(()), &check)
        },
    )
}

/// Writes the sums of columns into every other element of an array, whose other elements stay as they were in any case, as all do where the
/// operation fails; but where the array is of `another` stream, which may fail to be joined behind the launch.
fn writes(call: Call, rows: usize, another: bool) -> Result<u64, Box<dyn Error>> {
    type Arrays = (GpuArray<i32, Ix2>, GpuArray<i64, Ix1>);
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        let home = if another { Stream::new(device)? } else { stream.clone() };
        Ok((GpuArray::from_ndarray(&stream, &host(rows))?, GpuArray::full(&home, 2 * COLUMNS, -1i64)?))
    };
    let write = |(x, target): &mut Arrays| x.sum().axis(Axis(0)).write_into(target.slice_mut(s![..;2])?);
    sweep(call, prepare, write, |(x, target), done| {
        let old = Array1::from_elem(2 * COLUMNS, -1);
        let mut new = old.clone();
        new.slice_mut(s![..;2]).assign(&column_sums(rows));
        let got = target.to_ndarray()?;
        let is_right = if done.is_some() { got == new } else { got == old || (another && call == Event && got == new) };
        ensure!(is_right, "{got}, of {done:?}");
        ensure_eq!(x.to_ndarray()?, host(rows));
        Ok(())
    })
}

/// Writes the product of columns by columns into the middle of an array, whose other elements stay as they were in any case, as all do where the
/// operation fails.
fn multiplies(
    call: Call,
    rows: usize,
    factor: i32,
    operation: impl Fn(&GpuArray<i32, Ix2>, GpuViewMut<'_, i32, Ix2>) -> Result<()>,
) -> Result<u64, Box<dyn Error>> {
    type Arrays = (GpuArray<i32, Ix2>, GpuArray<i32, Ix2>);
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        Ok((GpuArray::from_ndarray(&stream, &host(rows))?, GpuArray::full(&stream, (COLUMNS + 2, COLUMNS), 3)?))
    };
    let write = |(x, target): &mut Arrays| operation(x, target.slice_mut(s![1..=COLUMNS, ..])?);
    sweep(call, prepare, write, |(x, target), done| {
        let mut want = Array2::from_elem((COLUMNS + 2, COLUMNS), 3);
        if done.is_some() {
            let mut part = want.slice_mut(s![1..=COLUMNS, ..]);
            part *= factor;
            part += &column_products(rows);
        }
        ensure_eq!(target.to_ndarray()?, want);
        ensure_eq!(x.to_ndarray()?, host(rows));
        Ok(())
    })
}

/// Multiplies matrices of f32 in a precision into an array, which stays as it was where that fails.
fn in_precision(
    call: Call,
    operation: impl Fn(&GpuArray<f32, Ix2>, &mut GpuArray<f32, Ix2>) -> Result<()>,
) -> Result<u64, Box<dyn Error>> {
    let halves = || host(SMALL).mapv(|x| x as f32 / 2.0);
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        Ok((GpuArray::from_ndarray(&stream, &halves())?, GpuArray::full(&stream, (COLUMNS, COLUMNS), 3.0f32)?))
    };
    let multiply = |(x, target): &mut (GpuArray<f32, Ix2>, GpuArray<f32, Ix2>)| operation(x, target);
    sweep(call, prepare, multiply, |(x, target), done| {
        let products = halves().t().dot(&halves());
        let want = if done.is_some() { products } else { Array2::from_elem((COLUMNS, COLUMNS), 3.0) };
        ensure_eq!(target.to_ndarray()?, want);
        ensure_eq!(x.to_ndarray()?, halves());
        Ok(())
    })
}

/// Multiplies the transpose of a matrix of f32 by the matrix.
fn squares(
    call: Call,
    operation: impl Fn(&GpuArray<f32, Ix2>) -> Result<GpuArray<f32, IxDyn>>,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok(GpuArray::from_ndarray(device, &host(SMALL).mapv(|x| x as f32))?);
    sweep(
        call,
        prepare,
        |x: &mut GpuArray<f32, Ix2>| operation(x),
        |x, done| {
            ensure_eq!(x.to_ndarray()?, host(SMALL).mapv(|x| x as f32));
            if let Some(got) = done {
                ensure_eq!(got.to_ndarray()?, column_products(SMALL).mapv(|x| x as f32).into_dyn());
            }
            Ok(())
        },
    )
}

/// A stack of two matrices and its inverses.
fn small_matrices() -> (Array3<f64>, Array3<f64>) {
    let a = array![[[2.0, 1.0], [0.0, 4.0]], [[0.0, 8.0], [1.0, 0.0]]];
    (a, array![[[0.5, -0.125], [0.0, 0.25]], [[0.0, 1.0], [0.125, 0.0]]])
}

/// Computes a function of a stack of matrices, which stays as it is.
fn of_matrices<T>(
    call: Call,
    operation: impl Fn(&GpuArray<f64, Ix3>) -> Result<T>,
    check: impl Fn(&T) -> Outcome,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok(GpuArray::from_ndarray(&Stream::new(device)?, &small_matrices().0)?);
    sweep(
        call,
        prepare,
        |a| operation(a),
        |a, result| {
            ensure_eq!(a.to_ndarray()?, small_matrices().0);
            result.map_or(Ok(()), &check)
        },
    )
}

/// Writes inverses into an array. Where the copy of the status fails, they are written already.
fn writes_inverses(call: Call) -> Result<u64, Box<dyn Error>> {
    type Arrays = (GpuArray<f64, Ix3>, GpuArray<f64, Ix3>);
    let (a, inverses) = small_matrices();
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        Ok((GpuArray::from_ndarray(&stream, &a)?, GpuArray::full(&stream, (2, 2, 2), 3.0)?))
    };
    let write = |(a, target): &mut Arrays| linalg::inv(&*a).write_into(target);
    sweep(call, prepare, write, |(_, target), done| {
        let got = target.to_ndarray()?;
        ensure!(if done.is_some() || call == Copy { got == inverses } else { got.iter().all(|&x| x == 3.0) }, "{got}");
        Ok(())
    })
}

/// Products of bytes, whose factors are both copied, into an array that stays as it was where the operation fails.
fn of_bytes(
    call: Call,
    operation: impl Fn(&GpuArray<i8, Ix2>, &mut GpuArray<i32, Ix2>) -> Result<()>,
) -> Result<u64, Box<dyn Error>> {
    let bytes = || host(SMALL).mapv(|x| x as i8);
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        Ok((GpuArray::from_ndarray(&stream, &bytes())?, GpuArray::full(&stream, (COLUMNS, COLUMNS), 3)?))
    };
    let multiply = |(x, target): &mut (GpuArray<i8, Ix2>, GpuArray<i32, Ix2>)| operation(x, target);
    sweep(call, prepare, multiply, |(x, target), done| {
        let want = if done.is_some() { column_products(SMALL) } else { Array2::from_elem((COLUMNS, COLUMNS), 3) };
        ensure_eq!(target.to_ndarray()?, want);
        ensure_eq!(x.to_ndarray()?, bytes());
        Ok(())
    })
}

fn column_products(rows: usize) -> Array2<i32> {
    reference::matmul(host(rows).t(), &host(rows)).unwrap_or_default()
}

fn total(rows: usize) -> i64 {
    host(rows).mapv(i64::from).sum()
}

fn column_sums(rows: usize) -> Array1<i64> {
    host(rows).mapv(i64::from).sum_axis(Axis(0))
}

/// What selections keep is above it.
const LIMIT: i32 = 20;

/// Runs of equal neighbours in [`host`] of [`SMALL`] rows: each row begins with what the one before it ends with.
const RUNS: usize = 36;

fn above_limit(rows: usize) -> Array1<i32> {
    host(rows).into_iter().filter(|&x| x > LIMIT).collect()
}

/// Asks a selection of a few values something that is true.
fn selected(call: Call, operation: impl Fn(&GpuArray<i32, Ix2>) -> Result<bool>) -> Result<u64, Box<dyn Error>> {
    reduces(call, SMALL, operation, |&holds| {
        ensure!(holds);
        Ok(())
    })
}

/// Writes what is above the limit into every other element of an array, whose other elements stay as they were.
fn keeps(
    call: Call,
    rows: usize,
    operation: impl Fn(&GpuArray<i32, Ix2>, GpuViewMut<'_, i32, Ix1>, &mut GpuArray<i64, Ix0>) -> Result<()>,
) -> Result<u64, Box<dyn Error>> {
    type Arrays = (GpuArray<i32, Ix2>, GpuArray<i32, Ix1>, GpuArray<i64, Ix0>);
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        let target = GpuArray::full(&stream, 2 * rows * COLUMNS, -1)?;
        Ok((GpuArray::from_ndarray(&stream, &host(rows))?, target, GpuArray::full(&stream, (), -1i64)?))
    };
    let write = |(x, target, count): &mut Arrays| operation(x, target.slice_mut(s![..;2])?, count);
    sweep(call, prepare, write, |(x, target, count), done| {
        let got = target.to_ndarray()?;
        ensure!(got.iter().skip(1).step_by(2).all(|&x| x == -1));
        if done.is_some() {
            let want = above_limit(rows);
            ensure_eq!(count.get()?, want.len() as i64);
            ensure_eq!(got.slice(s![..2 * want.len(); 2]), want);
        } else {
            ensure!(got.iter().all(|&x| x == -1), "{got}");
        }
        ensure_eq!(x.to_ndarray()?, host(rows));
        Ok(())
    })
}

/// Writes runs into arrays, which stay as they were or have them all.
fn runs_into(call: Call) -> Result<u64, Box<dyn Error>> {
    type Arrays = (GpuArray<i32, Ix2>, GpuArray<i32, Ix1>, [GpuArray<i64, Ix1>; 2], GpuArray<i64, Ix0>);
    let n = SMALL * COLUMNS;
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        let beside = [GpuArray::full(&stream, n, 0i64)?, GpuArray::full(&stream, n, 0i64)?];
        let values = GpuArray::full(&stream, n, -1)?;
        Ok((GpuArray::from_ndarray(&stream, &host(SMALL))?, values, beside, GpuArray::full(&stream, (), 0i64)?))
    };
    let write = |(x, values, [offsets, lengths], count): &mut Arrays| {
        x.run_length_encode().write_into(values, offsets, lengths, count)
    };
    sweep(call, prepare, write, |(_, values, [_, lengths], count), done| {
        let want = if done.is_some() { n as i64 } else { 0 };
        ensure_eq!(lengths.to_ndarray()?.sum(), want);
        ensure_eq!(count.get()? > 0, done.is_some());
        ensure_eq!(values.to_ndarray()?.iter().any(|&x| x != -1), done.is_some());
        Ok(())
    })
}

/// Sums in the order of places.
fn user_sum() -> Result<ReductionKernel<i64>> {
    ReductionKernel::new("const int *x", "0", "a + b", "x[i]")
}

/// Adds one to each element.
fn user_step() -> Result<ElementwiseKernel> {
    ElementwiseKernel::new("int *x", "x[i] += 1")
}

/// Sums in place.
fn user_scan() -> Result<ScanKernel<i32>> {
    ScanKernel::new("int *x", "0", "a + b", "x[i]", "x[i] = item")
}

fn user_sums() -> Result<ArrayScanKernel<i32>> {
    ScanKernel::inclusive("a + b", "0")
}

/// As many places as several blocks share.
const LONG: usize = 10_000;

/// Calls a user's scan of ones, on a stream of its own; the array stays as it is where that fails.
fn scans(call: Call, operation: impl Fn(&mut GpuArray<i32, Ix1>) -> Result<()>) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok(GpuArray::full(&Stream::new(device)?, LONG, 1)?);
    sweep(call, prepare, operation, |x, done| {
        let want = if done.is_some() { Array1::from_iter(1..=LONG as i32) } else { Array1::ones(LONG) };
        ensure!(x.to_ndarray()? == want);
        Ok(())
    })
}

/// Calls a user's kernel that changes an array of four.
fn steps(
    call: Call,
    operation: impl Fn(&mut GpuArray<i32, Ix1>) -> Result<()>,
    want: Array1<i32>,
) -> Result<u64, Box<dyn Error>> {
    let old = array![1, 2, 3, 4];
    let prepare = |device: &Device| Ok(GpuArray::from_ndarray(device, &old)?);
    sweep(call, prepare, operation, |x, done| {
        ensure_eq!(&x.to_ndarray()?, if done.is_some() { &want } else { &old });
        Ok(())
    })
}

/// Adds 7 at the places 1, 4 and 4 of an array. Where the last wait fails, it may have been added.
fn adds<T: Summable + Number>(call: Call, old: [T; 5], seven: T, new: [T; 5]) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        Ok((GpuArray::from_vec(&stream, old)?, GpuArray::from_vec(&stream, vec![1, 4, -1])?))
    };
    let add = |(x, at): &mut (GpuArray<T, Ix1>, GpuArray<i64, Ix1>)| {
        // It undoes the sum of a call that failed in its wait.
        x.update(|x| x % seven)?;
        x.add_at(&*at, seven)
    };
    sweep(call, prepare, add, |(x, at), done| {
        let got = x.to_ndarray()?.to_vec();
        ensure!(got == new || done.is_none() && got == old, "{done:?}: {got:?}");
        ensure!(done.is_some() || call == Copy || got == old, "{got:?}");
        ensure_eq!(at.to_ndarray()?, array![1, 4, -1]);
        Ok(())
    })
}

/// A change of an array with the indices 1, 4 and -1.
type Change = fn(&mut GpuArray<f32, Ix1>, &GpuArray<i64, Ix1>) -> Result<()>;

/// Changes an array by operations at the places 1, 4 and 4.
fn combines(call: Call, combine: Change, new: [f32; 5]) -> Result<u64, Box<dyn Error>> {
    let old = [1f32, 2., 3., 4., 5.];
    let prepare = |device: &Device| {
        let stream = Stream::new(device)?;
        Ok((GpuArray::from_vec(&stream, old)?, GpuArray::from_vec(&stream, vec![1, 4, -1])?))
    };
    let change = |(x, at): &mut (GpuArray<f32, Ix1>, GpuArray<i64, Ix1>)| {
        x.copy_from_ndarray(&Array1::from(old.to_vec()))?;
        combine(x, at)
    };
    sweep(call, prepare, change, |(x, at), done| {
        let got = x.to_ndarray()?.to_vec();
        ensure!(got == new || done.is_none() && got == old, "{done:?}: {got:?}");
        ensure_eq!(at.to_ndarray()?, array![1, 4, -1]);
        Ok(())
    })
}

/// What makes driver calls that can be made to fail.
static OPERATIONS: &[Operation<Call>] = &[
    Operation {
        name: "Reduction::eval, in an expression",
        makes: &[(Allocation, 3), (ModuleLoad, 2), (Launch, 2)],
        sweep: |call| {
            let centred = |x: &GpuArray<i32, Ix2>| Ok((x - x.max().axis(Axis(0)) + x.min().axis(Axis(0))).eval()?);
            reduces(call, SMALL, centred, |got| {
                let x = host(SMALL);
                let of = |pick: fn(i32, i32) -> i32, first| x.fold_axis(Axis(0), first, |&a, &b| pick(a, b));
                ensure_eq!(got.to_ndarray()?, &x - &of(i32::max, i32::MIN) + &of(i32::min, i32::MAX));
                Ok(())
            })
        },
    },
    Operation {
        name: "Reduction::eval",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let means = |x: &GpuArray<i32, Ix2>| x.max().axis(Axis(1)).eval();
            reduces(call, SMALL, means, |got| {
                ensure_eq!(got.to_ndarray()?, host(SMALL).column(COLUMNS - 1).to_owned());
                Ok(())
            })
        },
    },
    Operation {
        name: "Reduction::eval, of two results",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| x.min_max().eval(),
                |(least, greatest)| {
                    ensure_eq!((least.get()?, greatest.get()?), (0, 28 + COLUMNS as i32 - 1));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Reduction::eval, by several blocks",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                LARGE,
                |x| x.sum().eval(),
                |got| {
                    ensure_eq!(got.get()?, total(LARGE));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Reduction::eval, of columns by several blocks",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                LARGE,
                |x| x.sum().axis(Axis(0)).eval(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, column_sums(LARGE));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Reduction::get",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| x.sum().get(),
                |&got| {
                    ensure_eq!(got, total(SMALL));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Reduction::write_into",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| writes(call, SMALL, false),
    },
    Operation {
        name: "Reduction::write_into, of another stream by several blocks",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1), (Event, 1)],
        sweep: |call| writes(call, LARGE, true),
    },
    Operation {
        name: "MatrixProduct::eval",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| x.t().matmul(x).eval(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, column_products(SMALL));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "MatrixProduct::eval, by several blocks of an expression",
        makes: &[(Allocation, 3), (ModuleLoad, 2), (Launch, 2)],
        sweep: |call| {
            reduces(
                call,
                SHARED,
                |x| x.t().matmul(x * 1).eval(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, column_products(SHARED));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "MatrixProduct::eval, by the kernel of an expression around it",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| Ok((x.t().matmul(x) + 1).eval()?),
                |got| {
                    ensure_eq!(got.to_ndarray()?, column_products(SMALL) + 1);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "MatrixProduct::eval, before the kernel of an expression around it",
        makes: &[(Allocation, 2), (ModuleLoad, 2), (Launch, 2)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| Ok(x.t().matmul(x).into_expr().gt(0).eval()?),
                |got| {
                    ensure_eq!(got.to_ndarray()?, column_products(SMALL).mapv(|x| x > 0));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "MatrixProduct::get",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| x.index_axis(Axis(1), 0)?.matmul(x.index_axis(Axis(1), 1)?).get(),
                |&got| {
                    ensure_eq!(got, column_products(SMALL)[[0, 1]]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "MatrixProduct::write_into",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| multiplies(call, SMALL, 0, |x, target| x.t().matmul(x).write_into(target)),
    },
    Operation {
        name: "MatrixProduct::write_into, emulated",
        makes: &[(Allocation, 2), (ModuleLoad, 2), (Launch, 2)],
        sweep: |call| {
            in_precision(call, |x, target| x.t().matmul(x).precision(Precision::Emulated.forced()).write_into(target))
        },
    },
    Operation {
        name: "matmul_i32_into",
        makes: &[(Allocation, 2), (ModuleLoad, 2), (Launch, 3)],
        sweep: |call| of_bytes(call, |x, target| matmul_i32_into(x.t(), x, target)),
    },
    Operation {
        name: "matmul_i32",
        makes: &[(Allocation, 3), (ModuleLoad, 2), (Launch, 3)],
        sweep: |call| of_bytes(call, |x, target| matmul_i32(x.t(), x).map(|product| *target = product)),
    },
    Operation {
        name: "LinalgValue::eval",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| {
            of_matrices(
                call,
                |a| linalg::inv(a).eval(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, small_matrices().1);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "LinalgValue::get",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| {
            of_matrices(
                call,
                |a| linalg::det(a.index_axis(Axis(0), 1)?).get(),
                |&got| {
                    ensure_eq!(got, -8.0);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "LinalgValue::eval_with_info",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            of_matrices(
                call,
                |a| linalg::inv(a).eval_with_info(),
                |(got, info)| {
                    ensure_eq!((got.to_ndarray()?, info.to_ndarray()?), (small_matrices().1, array![0, 0].into_dyn()));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "LinalgValue::write_into",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: writes_inverses,
    },
    Operation {
        name: "LuFactors::eval",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            of_matrices(
                call,
                |a| linalg::lu_factor(a).eval(),
                |(_, pivots)| {
                    ensure_eq!(pivots.to_ndarray()?, array![[0, 1], [1, 1]]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "LuFactors::eval_with_info",
        makes: &[(Allocation, 3), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            of_matrices(
                call,
                |a| linalg::lu_factor(a).eval_with_info(),
                |(_, _, info)| {
                    ensure_eq!(info.to_ndarray()?, array![0, 0].into_dyn());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "SignedLogs::eval",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            of_matrices(
                call,
                |a| linalg::slogdet(a).eval(),
                |(signs, _)| {
                    ensure_eq!(signs.to_ndarray()?, array![1.0, -1.0]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "SignedLogs::eval_with_info",
        makes: &[(Allocation, 3), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            of_matrices(
                call,
                |a| linalg::slogdet(a).eval_with_info(),
                |(signs, _, info)| {
                    ensure_eq!(signs.to_ndarray()?, array![1.0, -1.0]);
                    ensure_eq!(info.to_ndarray()?, array![0, 0].into_dyn());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "QrFactors::eval",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            of_matrices(
                call,
                |a| linalg::qr(a).eval(),
                |(_, r)| {
                    let r = r.to_ndarray()?;
                    ensure_eq!(r.slice(s![0, .., ..]), array![[2.0, 1.0], [0.0, 4.0]]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "gemm_with_precision",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| in_precision(call, |x, target| gemm_with_precision(Precision::Tf32, 1.0, x.t(), x, 0.0, target)),
    },
    Operation {
        name: "gemm",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| multiplies(call, SMALL, 2, |x, target| gemm(1, x.t(), x, 2, target)),
    },
    Operation {
        name: "gemm, by several blocks",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| multiplies(call, SHARED, 2, |x, target| gemm(1, x.t(), x, 2, target)),
    },
    Operation {
        name: "tensordot",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| tensordot(x, x, ([0], [0])),
                |got| {
                    ensure_eq!(got.to_ndarray()?, column_products(SMALL).into_dyn());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "tensordot_with_precision",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| squares(call, |x| tensordot_with_precision(Precision::Tf32, x, x, ([0], [0]))),
    },
    Operation {
        name: "tensordot_into",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| multiplies(call, SMALL, 0, |x, target| tensordot_into(x, x, ([0], [0]), target)),
    },
    Operation {
        name: "matmul_each",
        makes: &[(Allocation, 2), (Copy, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| matmul_each([x.t(), x.t()], [x, x]),
                |got| {
                    let got = got.to_ndarray()?;
                    ensure!(got.outer_iter().all(|product| product == column_products(SMALL)), "{got}");
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "matmul_each_into",
        makes: &[(Allocation, 1), (Copy, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            multiplies(call, SMALL, 0, |x, mut target| {
                let (first, second) = target.split_at_mut(Axis(1), COLUMNS / 2)?;
                let (left, right) = x.split_at(Axis(1), COLUMNS / 2)?;
                matmul_each_into([x.t(), x.t()], [left, right], [first, second])
            })
        },
    },
    Operation {
        name: "tensordot, of a copy",
        makes: &[(Allocation, 2), (ModuleLoad, 2), (Launch, 2)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| {
                    tensordot(
                        x.reshape((SMALL, 2, COLUMNS / 2))?,
                        x.index_axis(Axis(0), 1)?.slice(s![..2])?,
                        ([1], [0]),
                    )
                },
                |got| {
                    let x = host(SMALL);
                    let want = Array2::from_shape_fn((SMALL, COLUMNS / 2), |(i, j)| {
                        x[[i, j]] * x[[1, 0]] + x[[i, COLUMNS / 2 + j]] * x[[1, 1]]
                    });
                    ensure_eq!(got.to_ndarray()?, want.into_dyn());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "einsum",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| einsum("ki,kj->ij", [x, x]),
                |got| {
                    ensure_eq!(got.to_ndarray()?, column_products(SMALL).into_dyn());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "einsum_with_precision",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| squares(call, |x| einsum_with_precision(Precision::Tf32, "ki,kj->ij", [x, x])),
    },
    Operation {
        name: "einsum, of three steps",
        makes: &[(Allocation, 3), (ModuleLoad, 2), (Launch, 3)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| einsum("ij,kl->jl", [x, x]),
                |got| {
                    let sums = host(SMALL).sum_axis(Axis(0));
                    let want = Array2::from_shape_fn((COLUMNS, COLUMNS), |(j, l)| sums[j] * sums[l]);
                    ensure_eq!(got.to_ndarray()?, want.into_dyn());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "kron",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| kron(x, x),
                |got| {
                    ensure_eq!(got.to_ndarray()?, reference::kron(&host(SMALL), &host(SMALL))?);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "inner",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| inner(x, x),
                |got| {
                    ensure_eq!(got.to_ndarray()?, reference::inner(&host(SMALL), &host(SMALL))?);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Scan::eval",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| x.cumsum().axis(Axis(0)).eval(),
                |got| {
                    ensure_eq!(got.to_ndarray()?.row(SMALL - 1).to_owned(), column_sums(SMALL));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Scan::eval, by several blocks",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let sums = |x: &GpuArray<i32, Ix2>| x.cumsum().map(|sum| sum * 2).eval();
            reduces(call, LARGE, sums, |got| {
                ensure_eq!(got.to_ndarray()?[LARGE * COLUMNS - 1], 2 * total(LARGE));
                Ok(())
            })
        },
    },
    Operation {
        name: "Scan::write_into",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let prepare = |device: &Device| {
                let stream = Stream::new(device)?;
                let target = GpuArray::full(&stream, LARGE * COLUMNS, -1i64)?;
                Ok((GpuArray::from_ndarray(&stream, &host(LARGE))?, target))
            };
            let write = |(x, target): &mut (GpuArray<i32, Ix2>, _)| x.cumsum().write_into(target);
            sweep(call, prepare, write, |(_, target), done| {
                let want = if done.is_some() { total(LARGE) } else { -1 };
                ensure_eq!(target.to_ndarray()?[LARGE * COLUMNS - 1], want);
                Ok(())
            })
        },
    },
    Operation {
        name: "InPlace::run",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let run = |x: &mut GpuArray<i32, Ix1>| x.cummax_in_place().reverse().run();
            steps(call, run, array![4, 4, 4, 4])
        },
    },
    Operation {
        name: "Masked::eval",
        makes: &[(Allocation, 3), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                LARGE,
                |x| x.select(x.gt(LIMIT)).eval(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, above_limit(LARGE));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Masked::to_array",
        makes: &[(Allocation, 3), (ModuleLoad, 1), (Launch, 1), (Copy, 2)],
        sweep: |call| selected(call, |x| Ok(x.select(x.gt(LIMIT)).to_array()?.len() == above_limit(SMALL).len())),
    },
    Operation {
        name: "Masked::write_into",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| keeps(call, LARGE, |x, target, count| x.select(x.gt(LIMIT)).write_into(target, count)),
    },
    Operation {
        name: "Reduction::eval, of selected values",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| x.select(x.gt(LIMIT)).sum().eval(),
                |got| {
                    ensure_eq!(got.get()?, above_limit(SMALL).mapv(i64::from).sum());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Reduction::eval, of the greatest selected value",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| selected(call, |x| Ok(x.select(x.gt(LIMIT)).max().eval()?.get()? == 28 + COLUMNS as i32 - 1)),
    },
    Operation {
        name: "Selection::eval",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| selected(call, |x| Ok(x.nonzero().eval()?.stream().device() == x.stream().device())),
    },
    Operation {
        name: "Selection::to_array",
        makes: &[(Allocation, 3), (ModuleLoad, 1), (Launch, 1), (Copy, 2)],
        sweep: |call| selected(call, |x| Ok(x.gt(LIMIT).nonzero().to_array()?.len() == above_limit(SMALL).len())),
    },
    Operation {
        name: "Partition::eval",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| x.partition(x.gt(LIMIT)).eval(),
                |got| {
                    ensure_eq!(got.views()?.0.to_ndarray()?, above_limit(SMALL));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Partition::to_arrays",
        makes: &[(Allocation, 4), (ModuleLoad, 1), (Launch, 1), (Copy, 3)],
        sweep: |call| selected(call, |x| Ok(x.partition(x.gt(LIMIT)).to_arrays()?.0.len() == above_limit(SMALL).len())),
    },
    Operation {
        name: "Partition::write_into",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| keeps(call, SMALL, |x, target, count| x.partition(x.gt(LIMIT)).write_into(target, count)),
    },
    Operation {
        name: "RunLengths::eval",
        makes: &[(Allocation, 4), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            reduces(
                call,
                SMALL,
                |x| x.run_length_encode().eval(),
                |got| {
                    ensure_eq!(got.views()?.2.to_ndarray()?.sum(), (SMALL * COLUMNS) as i64);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "RunLengths::to_arrays",
        makes: &[(Allocation, 7), (ModuleLoad, 1), (Launch, 1), (Copy, 4)],
        sweep: |call| selected(call, |x| Ok(x.gt(LIMIT).run_length_encode().to_arrays()?.0.len() == 2)),
    },
    Operation { name: "RunLengths::write_into", makes: &[(ModuleLoad, 1), (Launch, 1)], sweep: runs_into },
    Operation {
        name: "Selected::len",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| selected(call, |x| Ok(x.select(x.gt(LIMIT)).eval()?.len()? == above_limit(SMALL).len())),
    },
    Operation {
        name: "Selected::is_empty",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| selected(call, |x| Ok(!x.select(x.gt(LIMIT)).eval()?.is_empty()?)),
    },
    Operation {
        name: "Selected::view",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| selected(call, |x| Ok(x.select(x.gt(LIMIT)).eval()?.view()?.len() == above_limit(SMALL).len())),
    },
    Operation {
        name: "Selected::into_array",
        makes: &[(Allocation, 3), (ModuleLoad, 1), (Launch, 1), (Copy, 2)],
        sweep: |call| {
            selected(call, |x| Ok(x.select(x.gt(LIMIT)).eval()?.into_array()?.len() == above_limit(SMALL).len()))
        },
    },
    Operation {
        name: "Selected::to_ndarray",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 2)],
        sweep: |call| selected(call, |x| Ok(x.select(x.gt(LIMIT)).eval()?.to_ndarray()? == above_limit(SMALL))),
    },
    Operation {
        name: "Partitioned::selected",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| selected(call, |x| Ok(x.partition(x.gt(LIMIT)).eval()?.selected()? == above_limit(SMALL).len())),
    },
    Operation {
        name: "Partitioned::views",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| {
            selected(call, |x| Ok(x.partition(x.gt(LIMIT)).eval()?.views()?.0.len() == above_limit(SMALL).len()))
        },
    },
    Operation {
        name: "Partitioned::into_arrays",
        makes: &[(Allocation, 4), (ModuleLoad, 1), (Launch, 1), (Copy, 3)],
        sweep: |call| {
            selected(call, |x| {
                let (selected, others) = x.partition(x.gt(LIMIT)).eval()?.into_arrays()?;
                Ok(selected.len() == above_limit(SMALL).len() && others.len() == SMALL * COLUMNS - selected.len())
            })
        },
    },
    Operation {
        name: "Runs::len",
        makes: &[(Allocation, 4), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| selected(call, |x| Ok(x.run_length_encode().eval()?.len()? == RUNS)),
    },
    Operation {
        name: "Runs::is_empty",
        makes: &[(Allocation, 4), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| selected(call, |x| Ok(!x.run_length_encode().eval()?.is_empty()?)),
    },
    Operation {
        name: "Runs::views",
        makes: &[(Allocation, 4), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| selected(call, |x| Ok(x.run_length_encode().eval()?.views()?.1.len() == RUNS)),
    },
    Operation {
        name: "Runs::into_arrays",
        makes: &[(Allocation, 7), (ModuleLoad, 1), (Launch, 1), (Copy, 4)],
        sweep: |call| {
            selected(call, |x| Ok(x.gt(LIMIT).run_length_encode().eval()?.into_arrays()?.2.to_ndarray()?.sum() == 40))
        },
    },
    Operation {
        name: "ReductionKernel::call",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let sum = user_sum()?;
            let flat = |x: &GpuArray<i32, Ix2>| -> Result<_> {
                let x = x.reshape(LARGE * COLUMNS)?;
                // SAFETY: the text reads place i of its array.
                unsafe { sum.call(&[x.into()]) }
            };
            reduces(call, LARGE, flat, |got| {
                ensure_eq!(got.to_vec()?, vec![total(LARGE)]);
                Ok(())
            })
        },
    },
    Operation {
        name: "ReductionKernel::call_over",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let sum = user_sum()?;
            let flat = |x: &GpuArray<i32, Ix2>| -> Result<_> {
                let x = x.reshape(SMALL * COLUMNS)?;
                // SAFETY: as above.
                unsafe { sum.call_over(IndexRange::range(0, 2, 1), &[x.into()]) }
            };
            reduces(call, SMALL, flat, |got| {
                ensure_eq!(got.to_vec()?, vec![1]);
                Ok(())
            })
        },
    },
    Operation {
        name: "ReductionKernel::call_into",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let prepare = |device: &Device| {
                Ok((GpuArray::from_ndarray(device, &array![1, 2, 3])?, GpuArray::full(device, 2, -1i64)?))
            };
            let sum = user_sum()?;
            let into = |(x, target): &mut (GpuArray<i32, Ix1>, GpuArray<i64, Ix1>)| {
                // SAFETY: as above.
                unsafe { sum.call_into(target.slice_mut(s![1..])?, IndexRange::all(), &[(&*x).into()]) }
            };
            sweep(call, prepare, into, |(x, target), done| {
                let want = array![-1, if done.is_some() { 6 } else { -1 }];
                ensure_eq!((x.to_ndarray()?, target.to_ndarray()?), (array![1, 2, 3], want));
                Ok(())
            })
        },
    },
    Operation {
        name: "ReductionKernel::compile",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| reduces(call, SMALL, |x| user_sum()?.compile(x.device()), |()| Ok(())),
    },
    Operation {
        name: "ScanKernel::call",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let scan = user_scan()?;
            // SAFETY: the text changes place i of its array.
            scans(call, |x| unsafe { scan.call(&[x.into()]) })
        },
    },
    Operation {
        name: "ScanKernel::call_over",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let scan = user_scan()?;
            // SAFETY: as above.
            steps(call, |x| unsafe { scan.call_over(IndexRange::range(1, 4, 2), &[x.into()]) }, array![1, 2, 3, 6])
        },
    },
    Operation {
        name: "ScanKernel::compile",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| steps(call, |x| user_scan()?.compile(x.device()), array![1, 2, 3, 4]),
    },
    Operation {
        name: "ArrayScanKernel::call",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let sums = user_sums()?;
            let flat = |x: &GpuArray<i32, Ix2>| -> Result<_> {
                let x = x.reshape(LARGE * COLUMNS)?;
                // SAFETY: the texts are an associative operator and its identity element.
                unsafe { sums.call(x) }
            };
            reduces(call, LARGE, flat, |got| {
                ensure_eq!(got.to_vec()?.last().copied(), Some(total(LARGE) as i32));
                Ok(())
            })
        },
    },
    Operation {
        name: "ArrayScanKernel::call_into",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let sums = user_sums()?;
            let prepare = |device: &Device| {
                let stream = Stream::new(device)?;
                Ok((GpuArray::full(&stream, LONG, 2)?, GpuArray::full(&stream, LONG, -1)?))
            };
            let into = |(x, target): &mut (GpuArray<i32, Ix1>, GpuArray<i32, Ix1>)| {
                // SAFETY: as above.
                unsafe { sums.call_into(&*x, target) }
            };
            sweep(call, prepare, into, |(x, target), done| {
                ensure!(x.to_ndarray()?.iter().all(|&x| x == 2));
                let want = |i| if done.is_some() { 2 * (i + 1) } else { -1 };
                ensure!(target.to_ndarray()? == Array1::from_iter((0..LONG as i32).map(want)));
                Ok(())
            })
        },
    },
    Operation {
        name: "ArrayScanKernel::in_place",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let sums = user_sums()?;
            // SAFETY: as above.
            scans(call, |x| unsafe { sums.in_place(x) })
        },
    },
    Operation {
        name: "ArrayScanKernel::compile",
        makes: &[(ModuleLoad, 2)],
        sweep: |call| steps(call, |x| user_sums()?.compile(x.device()), array![1, 2, 3, 4]),
    },
    Operation {
        name: "ElementwiseKernel::call",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let step = user_step()?;
            // SAFETY: the text changes place i of its array.
            steps(call, |x| unsafe { step.call(&[x.into()]) }, array![2, 3, 4, 5])
        },
    },
    Operation {
        name: "ElementwiseKernel::call_over",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let step = user_step()?;
            // SAFETY: as above.
            steps(call, |x| unsafe { step.call_over(IndexRange::range(1, 4, 2), &[x.into()]) }, array![1, 3, 3, 5])
        },
    },
    Operation {
        name: "ElementwiseKernel::compile",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| steps(call, |x| user_step()?.compile(x.device()), array![1, 2, 3, 4]),
    },
    Operation {
        name: "WriteAt::add_at",
        makes: &[(Allocation, 1), (ModuleLoad, 3), (Launch, 3), (Copy, 1)],
        sweep: |call| adds(call, [1i32, 2, 3, 4, 5], 7, [1i32, 9, 3, 4, 19]),
    },
    Operation {
        name: "WriteAt::add_at, of floats",
        makes: &[(Allocation, 8), (ModuleLoad, 8), (Launch, 8), (Copy, 2)],
        sweep: |call| adds(call, [1f32, 2., 3., 4., 5.], 7.0, [1f32, 9., 3., 4., 19.]),
    },
    Operation {
        name: "WriteAt::subtract_at",
        makes: &[(Allocation, 8), (ModuleLoad, 8), (Launch, 8), (Copy, 2)],
        sweep: |call| combines(call, |x, at| x.subtract_at(at, 1.0), [1., 1., 3., 4., 3.]),
    },
    Operation {
        name: "WriteAt::multiply_at",
        makes: &[(Allocation, 8), (ModuleLoad, 8), (Launch, 8), (Copy, 2)],
        sweep: |call| combines(call, |x, at| x.multiply_at(at, 2.0), [1., 4., 3., 4., 20.]),
    },
    Operation {
        name: "WriteAt::minimum_at",
        makes: &[(Allocation, 8), (ModuleLoad, 8), (Launch, 8), (Copy, 2)],
        sweep: |call| combines(call, |x, at| x.minimum_at(at, 3.0), [1., 2., 3., 4., 3.]),
    },
    Operation {
        name: "WriteAt::maximum_at",
        makes: &[(Allocation, 8), (ModuleLoad, 8), (Launch, 8), (Copy, 2)],
        sweep: |call| combines(call, |x, at| x.maximum_at(at, 3.0), [1., 3., 3., 4., 5.]),
    },
    Operation {
        name: "WriteAt::assign_selected",
        makes: &[(Allocation, 4), (ModuleLoad, 4), (Launch, 4), (Copy, 1)],
        sweep: |call| {
            combines(
                call,
                |x, at| x.assign_selected(index::<Ix1, Gpu>(Axis(0)).lt(3), at.cast::<f32>()),
                [1., 4., -1., 4., 5.],
            )
        },
    },
];

/// Public functions that make no driver call that can be made to fail.
const OTHERS: &[&str] = &[
    "ArrayScanKernel::name",
    "ArrayScanKernel::with_type",
    "Declaration::kernel",
    "Declaration::reduction",
    "Declaration::scan",
    "ElementwiseKernel::name",
    "ElementwiseKernel::new",
    "ElementwiseKernel::with_type",
    "ReductionKernel::name",
    "ReductionKernel::new",
    "ReductionKernel::with_type",
    "ScanKernel::exclusive",
    "ScanKernel::inclusive",
    "ScanKernel::name",
    "ScanKernel::new",
    "ScanKernel::with_type",
    // `Masked::write_into` is it.
    "Selection::write_into",
];

/// A test for each operation.
pub fn cases() -> impl Iterator<Item = (String, impl FnOnce(&()) -> Outcome + Send + 'static)> {
    sweeps(OPERATIONS, &KINDS)
}

/// The modules `host` and `reference` make no driver call.
pub fn no_fallible_function_is_forgotten(_: &()) -> Outcome {
    let sources = [
        include_str!("../../src/write_at/mod.rs"),
        include_str!("../../src/einsum/mod.rs"),
        include_str!("../../src/einsum/products.rs"),
        include_str!("../../src/select/launch.rs"),
        include_str!("../../src/select/masked.rs"),
        include_str!("../../src/select/methods.rs"),
        include_str!("../../src/select/place.rs"),
        include_str!("../../src/select/results.rs"),
        include_str!("../../src/select/selection.rs"),
        include_str!("../../src/kernels/arguments.rs"),
        include_str!("../../src/kernels/bind.rs"),
        include_str!("../../src/kernels/builder.rs"),
        include_str!("../../src/kernels/declaration.rs"),
        include_str!("../../src/kernels/elementwise/mod.rs"),
        include_str!("../../src/kernels/elementwise/text.rs"),
        include_str!("../../src/kernels/mod.rs"),
        include_str!("../../src/kernels/places.rs"),
        include_str!("../../src/kernels/program.rs"),
        include_str!("../../src/kernels/reduction.rs"),
        include_str!("../../src/kernels/scan/array.rs"),
        include_str!("../../src/kernels/scan/mod.rs"),
        include_str!("../../src/kernels/scan/samples.rs"),
        include_str!("../../src/kernels/scan/text.rs"),
        include_str!("../../src/kernels/types.rs"),
        include_str!("../../src/linalg/factors.rs"),
        include_str!("../../src/linalg/functions.rs"),
        include_str!("../../src/linalg/launch.rs"),
        include_str!("../../src/linalg/value.rs"),
        include_str!("../../src/matmul/integers.rs"),
        include_str!("../../src/matmul/launch.rs"),
        include_str!("../../src/matmul/lists.rs"),
        include_str!("../../src/matmul/methods.rs"),
        include_str!("../../src/matmul/product.rs"),
        include_str!("../../src/matmul/tensordot.rs"),
        include_str!("../../src/reduce/launch.rs"),
        include_str!("../../src/reduce/methods.rs"),
        include_str!("../../src/reduce/mod.rs"),
        include_str!("../../src/reduce/operand.rs"),
        include_str!("../../src/reduce/reduction.rs"),
        include_str!("../../src/registry.rs"),
        include_str!("../../src/scan/in_place.rs"),
        include_str!("../../src/scan/launch.rs"),
        include_str!("../../src/scan/methods.rs"),
        include_str!("../../src/scan/lazy.rs"),
    ];
    // Methods of traits are not found in the sources.
    let of_traits = ["add_at", "subtract_at", "multiply_at", "minimum_at", "maximum_at", "assign_selected"];
    let of_traits = of_traits.map(|name| format!("WriteAt::{name}"));
    let found: Vec<String> = sources.into_iter().flat_map(fallible_functions).chain(of_traits).collect();
    none_forgotten(&found, OPERATIONS, OTHERS)
}
