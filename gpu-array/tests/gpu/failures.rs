//! Every public operation bears the failure of each driver call that it makes: an error each time, nothing leaked, inputs as
//! they were, and the next call works.
#![expect(unsafe_code, reason = "an array over memory of another")]

use std::error::Error;

use gpu_array::{
    ArrayError, GpuArray, GpuViewMut, PinnedArray, Result, concatenate,
    exchange::ForeignArray,
    expression::{Gpu, PutOperation, constant, eval_all, eye, index, precompile, put_combine},
    hstack, reference, stack, vstack,
};
use gpu_driver::{
    Device, Stream,
    emulated::{
        Call::{self, Allocation, Copy, Event, Launch, ModuleLoad},
        Emulated,
    },
};
use ndarray::{Array, Array2, Axis, Dimension, Ix1, Ix2, ShapeBuilder, array, s};
use testkit::{Operation, Outcome, ensure, ensure_eq, fallible_functions, none_forgotten, sweeps};

testkit::failure_sweep!(ArrayError, error in ArrayError::Driver(error));

/// A new array holds the elements of `want`.
fn makes<D: Dimension>(
    call: Call,
    make: impl Fn(&Device) -> Result<GpuArray<i32, D>>,
    want: Array<i32, D>,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok(device.clone());
    sweep(
        call,
        prepare,
        |device| make(device),
        |_, made| {
            let Some(made) = made else { return Ok(()) };
            ensure_eq!(made.to_ndarray()?, want);
            Ok(())
        },
    )
}

fn host() -> Array2<i32> {
    array![[1, 2, 3], [4, 5, 6]]
}

/// Works on an array with the elements of [`host`], which `operation` must leave as `want`, and as they were where it fails.
fn works<T>(
    call: Call,
    operation: impl Fn(&mut GpuArray<i32, Ix2>) -> Result<T>,
    want: Array2<i32>,
    check: impl Fn(&T) -> Outcome,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| GpuArray::from_ndarray(device, &host());
    sweep(call, prepare, operation, |array, result| {
        ensure_eq!(array.to_ndarray()?, if result.is_some() { want.clone() } else { host() });
        result.map_or(Ok(()), &check)
    })
}

/// A new array in pinned memory holds the elements of `want`.
fn pins(
    call: Call,
    make: impl Fn(&Device) -> Result<PinnedArray<i32, Ix2>>,
    want: Array2<i32>,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok(device.clone());
    sweep(
        call,
        prepare,
        |device| make(device),
        |_, made| {
            ensure!(made.is_none_or(|made| made.view() == want), "got {made:?}");
            Ok(())
        },
    )
}

/// Writes to the view `[.., 1]` of an array with the elements of [`host`], whose other elements stay as they were in any case, as all do where
/// the operation fails.
fn writes_to_a_view(
    call: Call,
    operation: impl Fn(&mut GpuViewMut<'_, i32, Ix1>) -> Result<()>,
    want: Array<i32, Ix1>,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| GpuArray::from_ndarray(device, &host());
    let operation = |array: &mut GpuArray<i32, Ix2>| operation(&mut array.slice_mut(s![.., 1])?);
    sweep(call, prepare, operation, |array, result| {
        let got = array.to_ndarray()?;
        ensure_eq!(got.slice(s![.., ..;2]), host().slice_move(s![.., ..;2]));
        let old = host().column(1).to_owned();
        ensure_eq!(got.column(1), if result.is_some() { want.clone() } else { old });
        Ok(())
    })
}

/// Writes at the places 0 and 4 of an array with the elements of [`host`]. Where the wait at the end fails, they may have been written.
fn puts(
    call: Call,
    put: impl Fn(&mut GpuArray<i32, Ix2>, &GpuArray<i64, Ix1>) -> Result<()>,
    want: Array2<i32>,
) -> Result<u64, Box<dyn Error>> {
    let prepare =
        |device: &Device| Ok((GpuArray::from_ndarray(device, &host())?, GpuArray::from_vec(device, vec![0, 4])?));
    let operation = |(x, at): &mut (GpuArray<i32, Ix2>, GpuArray<i64, Ix1>)| put(x, at);
    sweep(call, prepare, operation, |(x, at), done| {
        let got = x.to_ndarray()?;
        ensure!(got == want || done.is_none() && got == host(), "{done:?}: {got}");
        ensure!(done.is_some() || call == Copy || got == host(), "{got}");
        ensure_eq!(at.to_ndarray()?, array![0, 4]);
        Ok(())
    })
}

/// Operations with driver calls that can be made to fail.
static OPERATIONS: &[Operation<Call>] = &[
    Operation {
        name: "GpuArray::from_ndarray",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| makes(call, |device| GpuArray::from_ndarray(device, &host()), host()),
    },
    Operation {
        name: "GpuArray::from_ndarray, of a view on a stream of its own",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| {
            let reversed = host().slice_move(s![..;-1, ..;-1]).reversed_axes();
            let want = reversed.clone();
            makes(call, move |device| GpuArray::from_ndarray(&Stream::new(device)?, &reversed), want)
        },
    },
    Operation {
        name: "GpuArray::zeros",
        makes: &[(Allocation, 1)],
        sweep: |call| makes(call, |device| GpuArray::zeros(device, (2, 3)), Array2::zeros((2, 3))),
    },
    Operation {
        name: "GpuArray::empty",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            let make = |device: &Device| {
                // SAFETY: all of it is written next.
                let mut empty = unsafe { GpuArray::empty(device, (2, 3))? };
                empty.fill(7)?;
                Ok(empty)
            };
            makes(call, make, Array2::from_elem((2, 3), 7))
        },
    },
    Operation {
        name: "GpuArray::full",
        makes: &[(Allocation, 1)],
        sweep: |call| makes(call, |device| GpuArray::full(device, (2, 3), 7), Array2::from_elem((2, 3), 7)),
    },
    Operation {
        name: "GpuArray::arange",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| makes::<Ix1>(call, |device| GpuArray::arange(device, 3, 100, 7), reference::arange(3, 100, 7)?),
    },
    Operation {
        name: "GpuArray::ones",
        makes: &[(Allocation, 1)],
        sweep: |call| makes(call, |device| GpuArray::ones(device, (2, 3)), Array2::ones((2, 3))),
    },
    Operation {
        name: "GpuArray::from_shape_vec",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| {
            let make = |device: &Device| GpuArray::from_shape_vec(device, (2, 3), [1, 2, 3, 4, 5, 6]);
            makes(call, make, host())
        },
    },
    Operation {
        name: "GpuArray::from_vec",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| makes(call, |device| GpuArray::from_vec(device, vec![1, 2]), array![1, 2]),
    },
    Operation {
        name: "GpuArray::eye",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| makes(call, |device| GpuArray::eye(device, 3), Array2::eye(3)),
    },
    Operation {
        name: "GpuArray::linspace",
        makes: &[(Allocation, 2), (ModuleLoad, 2), (Launch, 2)],
        sweep: |call| {
            let make = |device: &Device| GpuArray::linspace(device, 0.0f32, 4.0, 3)?.cast::<i32>().eval();
            makes(call, make, array![0, 2, 4])
        },
    },
    Operation {
        name: "GpuArray::linspace_without_end",
        makes: &[(Allocation, 2), (ModuleLoad, 2), (Launch, 2)],
        sweep: |call| {
            let make = |device: &Device| GpuArray::linspace_without_end(device, 0.0f64, 6.0, 3)?.cast::<i32>().eval();
            makes(call, make, array![0, 2, 4])
        },
    },
    Operation {
        name: "any::zeros_like",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.zeros_like(),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, Array2::zeros((2, 3)));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::empty_like",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            works(
                call,
                // SAFETY: it is not read.
                |array| unsafe { array.empty_like() },
                host(),
                |got| {
                    ensure_eq!(got.shape(), [2, 3]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::ones_like",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.ones_like(),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, Array2::ones((2, 3)));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::full_like",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.t().full_like(7),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, Array2::from_elem((3, 2), 7));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "GpuArray::try_clone",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.try_clone(),
                host(),
                |clone| {
                    ensure_eq!(clone.to_ndarray()?, host());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "GpuArray::to_device",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.to_device(&array.device().stream()),
                host(),
                |clone| {
                    ensure_eq!(clone.to_ndarray()?, host());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::to_ndarray",
        makes: &[(Copy, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.to_ndarray(),
                host(),
                |got| {
                    ensure_eq!(*got, host());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::fill",
        makes: &[],
        sweep: |call| works(call, |array| array.fill(9), Array2::from_elem((2, 3), 9), |()| Ok(())),
    },
    Operation {
        name: "any::fill, of a view with gaps",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| writes_to_a_view(call, |view| view.fill(9), array![9, 9]),
    },
    Operation {
        name: "any::to_ndarray, of a view with gaps",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.t().slice(s![..;-2, ..])?.to_ndarray(),
                host(),
                |got| {
                    ensure_eq!(*got, array![[3, 6], [1, 4]]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::to_owned",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.t().to_owned(),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, host().reversed_axes());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::to_owned, of a view with gaps",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.slice(s![.., ..;2])?.to_owned(),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, array![[1, 3], [4, 6]]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::to_standard_layout",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.t().to_standard_layout(),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, host().reversed_axes());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "ForeignArray::to_owned",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            works(
                call,
                |array| {
                    let (address, home) = (array.as_device_vec().as_raw(), array.stream().clone());
                    // SAFETY: the transposed elements of the array, which outlives this one; nobody writes to them.
                    let x = unsafe {
                        ForeignArray::<i32, Ix2>::from_raw(&home, address, &[3, 2], Some(&[1, 3]), None, ())?
                    };
                    x.to_owned()
                },
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, host().reversed_axes());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::get",
        makes: &[(Copy, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.slice(s![1, 1])?.get(),
                host(),
                |got| {
                    ensure_eq!(*got, 5);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "any::copy_to_ndarray",
        makes: &[(Copy, 1)],
        sweep: |call| {
            let copy = |array: &mut GpuArray<i32, Ix2>| {
                let mut target = Array2::zeros((2, 3));
                array.copy_to_ndarray(&mut target)?;
                Ok(target)
            };
            works(call, copy, host(), |got| {
                ensure_eq!(*got, host());
                Ok(())
            })
        },
    },
    Operation {
        name: "any::copy_from_ndarray",
        makes: &[(Copy, 1)],
        sweep: |call| works(call, |array| array.copy_from_ndarray(&(host() * 2)), host() * 2, |()| Ok(())),
    },
    Operation {
        name: "any::copy_from_ndarray, to a view with gaps",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1), (Copy, 1)],
        sweep: |call| writes_to_a_view(call, |view| view.copy_from_ndarray(&array![7, 8]), array![7, 8]),
    },
    Operation {
        name: "PinnedArray::zeros",
        makes: &[(Allocation, 1)],
        sweep: |call| pins(call, |device| PinnedArray::zeros(device, (2, 3)), Array2::zeros((2, 3))),
    },
    Operation {
        name: "PinnedArray::from_ndarray",
        makes: &[(Allocation, 1)],
        sweep: |call| pins(call, |device| PinnedArray::from_ndarray(device, &host()), host()),
    },
    Operation {
        name: "GpuArray::upload",
        makes: &[(Allocation, 1), (Copy, 1), (Call::Event, 1)],
        sweep: |call| {
            let prepare = |device: &Device| {
                let pinned = PinnedArray::from_ndarray(device, &(host() * 2))?;
                Ok((GpuArray::from_ndarray(device, &host())?, pinned))
            };
            let upload = |state: &mut (GpuArray<i32, Ix2>, PinnedArray<i32, Ix2>)| {
                let source = PinnedArray::from_ndarray(state.0.device(), &state.1.view())?;
                state.0.upload(source)?.wait()
            };
            sweep(call, prepare, upload, |(array, _), back| {
                let got = array.to_ndarray()?;
                let Some(back) = back else { return Ok(()) };
                ensure_eq!((&got, back.view()), (&(host() * 2), got.view()));
                Ok(())
            })
        },
    },
    Operation {
        name: "GpuArray::download",
        makes: &[(Allocation, 1), (Copy, 1), (Call::Event, 1)],
        sweep: |call| {
            works(
                call,
                |array| array.download(PinnedArray::zeros(array.device(), (2, 3))?)?.wait(),
                host(),
                |got| {
                    ensure_eq!(got.view(), host());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Expr::eval",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let twice = |array: &mut GpuArray<i32, Ix2>| (&*array * 2 + 1).eval();
            works(call, twice, host(), |got| {
                ensure_eq!(got.to_ndarray()?, host() * 2 + 1);
                Ok(())
            })
        },
    },
    Operation {
        name: "Expr::eval, of arrays of two streams",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1), (Call::Event, 1)],
        sweep: |call| {
            let prepare = |device: &Device| {
                let side = Stream::new(device)?;
                Ok((GpuArray::from_ndarray(device, &host())?, GpuArray::from_ndarray(&side, &host())?))
            };
            let sum = |(x, y): &mut (GpuArray<i32, Ix2>, GpuArray<i32, Ix2>)| (&*x + &*y).eval();
            sweep(call, prepare, sum, |(x, y), sum| {
                ensure_eq!((x.to_ndarray()?, y.to_ndarray()?), (host(), host()));
                let Some(sum) = sum else { return Ok(()) };
                ensure_eq!(sum.to_ndarray()?, host() * 2);
                Ok(())
            })
        },
    },
    Operation {
        name: "Expr::eval_on",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| makes(call, |device| eye::<i32, Gpu>(3).eval_on(device), Array2::eye(3)),
    },
    Operation {
        name: "eval_all",
        makes: &[(Allocation, 2), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let both = |array: &mut GpuArray<i32, Ix2>| eval_all((&*array * 2, array.gt(3)));
            works(call, both, host(), |(twice, mask)| {
                ensure_eq!((twice.to_ndarray()?, mask.to_ndarray()?), (host() * 2, host().mapv(|x| x > 3)));
                Ok(())
            })
        },
    },
    Operation {
        name: "precompile",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| {
            let compile = |array: &mut GpuArray<i32, Ix2>| precompile(array.stream(), &[&(-&*array), &array.sqrt()]);
            works(call, compile, host(), |()| Ok(()))
        },
    },
    Operation {
        name: "warm",
        makes: &[(ModuleLoad, 1), (Allocation, 4)],
        sweep: |call| works(call, |array| gpu_array::warm(array.stream().device()), host(), |()| Ok(())),
    },
    Operation {
        name: "GpuArray::assign",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let prepare =
                |device: &Device| Ok((GpuArray::zeros(device, (2, 3))?, GpuArray::from_ndarray(device, &host())?));
            let assign = |(x, y): &mut (GpuArray<i32, Ix2>, GpuArray<i32, Ix2>)| x.assign(&*y * 2);
            sweep(call, prepare, assign, |(x, y), done| {
                let want = if done.is_some() { host() * 2 } else { Array2::zeros((2, 3)) };
                ensure_eq!((x.to_ndarray()?, y.to_ndarray()?), (want, host()));
                Ok(())
            })
        },
    },
    Operation {
        name: "GpuArray::update",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| works(call, |array| array.update(|x| x.clamp(2, 4)), host().mapv(|x| x.clamp(2, 4)), |()| Ok(())),
    },
    Operation {
        name: "GpuArray::update, by an operator that reports later",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let operator = |array: &mut GpuArray<i32, Ix2>| {
                *array |= 8;
                // Without the device.
                array.take_error().map_err(|error| match error {
                    ArrayError::Operator { op: "|=", source, .. } => *source,
                    other => other,
                })
            };
            works(call, operator, host() | 8, |()| Ok(()))
        },
    },
    Operation {
        name: "concatenate",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let join =
                |array: &mut GpuArray<i32, Ix2>| concatenate(Axis(1), [array.view(), array.slice(s![.., ..;-1])?]);
            works(call, join, host(), |got| {
                ensure_eq!(got.to_ndarray()?, array![[1, 2, 3, 3, 2, 1], [4, 5, 6, 6, 5, 4]]);
                Ok(())
            })
        },
    },
    Operation {
        name: "concatenate, of arrays of several streams and of large transposed ones",
        makes: &[(Allocation, 1), (ModuleLoad, 2), (Launch, 2), (Event, 6)],
        sweep: |call| {
            let across = || Array2::from_shape_fn((256, 256).f(), |(i, j)| (i * 1000 + j) as i32);
            let prepare = |device: &Device| {
                let (home, other) = (Stream::new(device)?, Stream::new(device)?);
                Ok((GpuArray::full(&home, (256, 2), 7)?, GpuArray::from_ndarray(&other, &across())?))
            };
            let join = |(x, y): &mut (GpuArray<i32, Ix2>, GpuArray<i32, Ix2>)| concatenate(Axis(1), [&*x, &*y]);
            sweep(call, prepare, join, |(x, y), joined| {
                let seven = Array2::from_elem((256, 2), 7);
                ensure!(x.to_ndarray()? == seven && y.to_ndarray()? == across());
                let Some(joined) = joined else { return Ok(()) };
                ensure!(joined.to_ndarray()? == ndarray::concatenate![Axis(1), seven, across()]);
                Ok(())
            })
        },
    },
    Operation {
        name: "stack",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            works(
                call,
                |array| stack(Axis(2), [&*array]),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, host().insert_axis(Axis(2)));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "hstack",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            works(
                call,
                |array| hstack([&*array, &*array]),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, array![[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "vstack",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            works(
                call,
                |array| vstack([&*array, &*array]),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, array![[1, 2, 3], [4, 5, 6], [1, 2, 3], [4, 5, 6]]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Expr::full_like",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            works(
                call,
                |array| (&*array + 1).full_like(5),
                host(),
                |got| {
                    ensure_eq!(got.to_ndarray()?, array![[5, 5, 5], [5, 5, 5]]);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "GpuViewMut::assign",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| writes_to_a_view(call, |view| view.assign(constant::<i32, Gpu>(9)), array![9, 9]),
    },
    Operation {
        name: "GpuArray::assign_where",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let even = index::<Ix1, Gpu>(Axis(0)).ne(1);
            works(call, move |array| array.assign_where(&even, 7), array![[7, 2, 7], [7, 5, 7]], |()| Ok(()))
        },
    },
    Operation {
        name: "GpuViewMut::assign_where",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let first = index::<Ix1, Gpu>(Axis(0)).eq(0);
            writes_to_a_view(call, move |view| view.assign_where(&first, 7), array![7, 5])
        },
    },
    Operation {
        name: "GpuArray::put",
        makes: &[(Allocation, 1), (ModuleLoad, 2), (Launch, 2), (Copy, 1)],
        sweep: |call| puts(call, |x, at| x.put(at, 7), array![[7, 2, 3], [4, 7, 6]]),
    },
    Operation {
        name: "GpuViewMut::put",
        makes: &[(Allocation, 2), (ModuleLoad, 3), (Launch, 3), (Copy, 1)],
        sweep: |call| puts(call, |x, at| x.t_mut().put(at, &at.cast::<i32>() + 1), array![[1, 2, 5], [4, 5, 6]]),
    },
    Operation {
        name: "put_combine",
        makes: &[(Allocation, 1), (ModuleLoad, 3), (Launch, 3), (Copy, 1)],
        sweep: |call| {
            let add = |x: &mut GpuArray<i32, Ix2>, at: &GpuArray<i64, Ix1>| {
                // It undoes the sum of a call that failed in its wait.
                x.update(|x| x % 7)?;
                put_combine("add_at", PutOperation::Sum, &mut x.view_mut(), at, 7)
            };
            puts(call, add, array![[8, 2, 3], [4, 12, 6]])
        },
    },
    Operation {
        name: "Lowered::eval_on_device",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let prepare = |device: &Device| GpuArray::from_ndarray(device, &host());
            let operation = |x: &mut GpuArray<i32, Ix2>| (&*x + 1).lower()?.eval_on_device::<i32>(&x.stream().clone());
            sweep(call, prepare, operation, |x, sum| {
                ensure_eq!(x.to_ndarray()?, host());
                let Some(sum) = sum else { return Ok(()) };
                ensure_eq!(sum.to_ndarray()?, (host() + 1).into_dyn());
                Ok(())
            })
        },
    },
    Operation {
        name: "GpuViewMut::update",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| writes_to_a_view(call, |view| view.view_mut().update(|x| x.maximum(4)), array![4, 5]),
    },
];

/// Public functions that make no driver call that can be made to fail.
const OTHERS: &[&str] = &[
    "Expr::lower",
    "ForeignArray::from_raw",
    "ForeignArray::view_mut",
    "ForeignArray::take_error",
    "GpuView::cuda_array_interface",
    "GpuViewMut::cuda_array_interface",
    "Expr::lower_deferred",
    "Expr::lower_with",
    "Expr::shape",
    "Expr::slice",
    "Expr::view_as",
    "Expr::permuted_axes",
    "Expr::swap_axes",
    "Expr::invert_axis",
    "Expr::reshape",
    "Expr::as_strided",
    "Expr::insert_axis",
    "Expr::index_axis",
    "Expr::diagonal_of",
    "Expr::split",
    "Expr::array_split",
    "Expr::split_at_indices",
    "Expr::split_at",
    // These are `Expr::eval`.
    "Expr::to_owned",
    "Expr::zeros_like",
    "Expr::ones_like",
    "GpuArray::from_device_vec",
    "GpuArray::from_storage",
    "GpuArray::take_error",
    "GpuArray::into_dimensionality",
    "GpuArray::into_permuted_axes",
    "GpuArray::into_shape",
    "GpuView::as_device_slice",
    "GpuView::into_dimensionality",
    "GpuViewMut::into_device_slice_mut",
    "GpuViewMut::into_memory_order_slice_mut",
    "GpuViewMut::into_dimensionality",
    "GpuViewMut::lower_mut",
    "Assembled::check",
    "Assembled::ready",
    "Assembled::stream",
    "Evaluated::new",
    "Lowered::eval_both_on_host",
    "Lowered::eval_on_host",
    "Lowered::stream",
    "PendingArray::is_done",
    "PendingArray::wait",
    "checked_len",
    "any::array_split",
    "any::as_strided",
    "any::broadcast",
    "any::chunks",
    "any::chunks_mut",
    "any::diagonal_of",
    "any::diagonal_of_mut",
    "any::index_axis",
    "any::index_axis_mut",
    "any::insert_axis",
    "any::insert_axis_mut",
    "any::invert_axis",
    "any::invert_axis_mut",
    "any::len_of",
    "any::permuted_axes",
    "any::permuted_axes_mut",
    "any::reshape",
    "any::reshape_mut",
    "any::reshape_with_order",
    "any::slice",
    "any::slice_mut",
    "any::split",
    "any::split_at",
    "any::split_at_indices",
    "any::split_at_mut",
    "any::swap_axes",
    "any::swap_axes_mut",
    "any::view_as",
    "any::view_as_mut",
    "arange",
    "meshgrid",
    "place",
    "put",
];

/// A test for each operation.
pub fn cases() -> impl Iterator<Item = (String, impl FnOnce(&()) -> Outcome + Send + 'static)> {
    sweeps(OPERATIONS, &KINDS)
}

pub fn no_fallible_function_is_forgotten(_: &()) -> Outcome {
    let sources = [
        include_str!("../../src/array.rs"),
        include_str!("../../src/backend.rs"),
        include_str!("../../src/chunks.rs"),
        include_str!("../../src/concatenate/join.rs"),
        include_str!("../../src/concatenate/launch.rs"),
        include_str!("../../src/concatenate/mod.rs"),
        include_str!("../../src/create.rs"),
        include_str!("../../src/dense.rs"),
        include_str!("../../src/element/mod.rs"),
        include_str!("../../src/element/range.rs"),
        include_str!("../../src/exchange/foreign.rs"),
        include_str!("../../src/exchange/interface.rs"),
        include_str!("../../src/expression/device/batch.rs"),
        include_str!("../../src/expression/device/lower.rs"),
        include_str!("../../src/expression/device/mod.rs"),
        include_str!("../../src/expression/graph/code/lowered.rs"),
        include_str!("../../src/expression/graph/source.rs"),
        include_str!("../../src/expression/job.rs"),
        include_str!("../../src/expression/mod.rs"),
        include_str!("../../src/expression/resolve.rs"),
        include_str!("../../src/expression/syntax/arrays.rs"),
        include_str!("../../src/expression/syntax/assign.rs"),
        include_str!("../../src/expression/syntax/deferred.rs"),
        include_str!("../../src/expression/syntax/evaluate.rs"),
        include_str!("../../src/expression/syntax/expr.rs"),
        include_str!("../../src/expression/syntax/expr/backend.rs"),
        include_str!("../../src/expression/syntax/functions.rs"),
        include_str!("../../src/expression/syntax/make.rs"),
        include_str!("../../src/expression/syntax/operators.rs"),
        include_str!("../../src/expression/syntax/precompile.rs"),
        include_str!("../../src/expression/syntax/views.rs"),
        include_str!("../../src/expression/operand.rs"),
        include_str!("../../src/put/launch.rs"),
        include_str!("../../src/put/mod.rs"),
        include_str!("../../src/warm.rs"),
        include_str!("../../src/layout/mod.rs"),
        include_str!("../../src/meshgrid.rs"),
        include_str!("../../src/methods/like.rs"),
        include_str!("../../src/methods/read.rs"),
        include_str!("../../src/methods/write.rs"),
        include_str!("../../src/pinned.rs"),
        include_str!("../../src/transfer.rs"),
        include_str!("../../src/view.rs"),
        include_str!("../../src/reference.rs"),
    ];
    let found = sources.into_iter().flat_map(fallible_functions);
    // Methods of several types come from macros, whose types have no name.
    let found: Vec<String> =
        found.map(|name| if name.starts_with("::") { format!("any{name}") } else { name }).collect();
    none_forgotten(&found, OPERATIONS, OTHERS)
}

/// An array prints in any case.
pub fn a_failed_copy_prints_as_its_text(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let array = GpuArray::from_ndarray(&device, &host())?;
    let emulation = device.emulation().ok_or("emulated")?;
    emulation.fail(Copy, 1, false)?;
    let text = array.to_string();
    ensure!(text.starts_with("<GpuArray<int32>(shape [2, 3], device 0): cuMemcpyDtoHAsync failed"), "{text}");
    ensure_eq!(array.to_string(), host().to_string());
    Ok(())
}
