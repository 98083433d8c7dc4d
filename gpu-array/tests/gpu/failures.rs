//! Every public operation bears the failure of each driver call that it makes: an error each time, nothing leaked, inputs as
//! they were, and the next call works.

use std::error::Error;

use gpu_array::{ArrayError, GpuArray, Result, reference};
use gpu_driver::{
    Device, Stream,
    emulated::{
        Call::{self, Allocation, Copy, Launch, ModuleLoad},
        Emulated,
    },
};
use ndarray::{Array, Array2, Dimension, Ix1, Ix2, array, s};
use testkit::{Operation, Outcome, ensure, ensure_eq, fallible_functions, none_forgotten, sweeps};

const KINDS: [Call; 5] = [Allocation, Launch, ModuleLoad, Copy, Call::Event];

fn sweep<S, T>(
    call: Call,
    prepare: impl Fn(&Device) -> Result<S>,
    operation: impl Fn(&mut S) -> Result<T>,
    check: impl Fn(&S, Option<&T>) -> Outcome,
) -> Result<u64, Box<dyn Error>> {
    let expected = |error: &ArrayError| matches!(error, ArrayError::Driver(error) if call.leads_to(error));
    let prepare = |device: &Device| Ok(prepare(device)?);
    Ok(Emulated::new().fail_each(call, prepare, operation, check, expected)?.calls)
}

/// A new array holds what it should.
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

/// What makes driver calls that can be made to fail.
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
        name: "GpuArray::full",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| makes(call, |device| GpuArray::full(device, (2, 3), 7), Array2::from_elem((2, 3), 7)),
    },
    Operation {
        name: "GpuArray::arange",
        makes: &[(Allocation, 1), (ModuleLoad, 1), (Launch, 1)],
        sweep: |call| makes::<Ix1>(call, |device| GpuArray::arange(device, 3, 100, 7), reference::arange(3, 100, 7)?),
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
        name: "GpuArray::to_ndarray",
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
        name: "GpuArray::fill",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| works(call, |array| array.fill(9), Array2::from_elem((2, 3), 9), |()| Ok(())),
    },
    Operation {
        name: "fill",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            let part = |array: &mut GpuArray<i32, Ix2>| gpu_array::fill(array.as_mut_device_vec().slice_mut(1..5)?, 9);
            works(call, part, array![[1, 9, 9], [9, 9, 6]], |()| Ok(()))
        },
    },
];

/// Public functions that make no driver call.
const OTHERS: &[&str] = &["GpuArray::from_device_vec", "arange"];

/// A test for each operation.
pub fn cases() -> impl Iterator<Item = (String, impl FnOnce(&()) -> Outcome + Send + 'static)> {
    sweeps(OPERATIONS, &KINDS)
}

pub fn no_fallible_function_is_forgotten(_: &()) -> Outcome {
    let sources = [
        include_str!("../../src/array.rs"),
        include_str!("../../src/create/mod.rs"),
        include_str!("../../src/dense.rs"),
        include_str!("../../src/element/mod.rs"),
        include_str!("../../src/element/range.rs"),
        include_str!("../../src/layout/mod.rs"),
        include_str!("../../src/methods.rs"),
        include_str!("../../src/pinned.rs"),
        include_str!("../../src/transfer.rs"),
        include_str!("../../src/view.rs"),
        include_str!("../../src/reference.rs"),
    ];
    let found: Vec<String> = sources.into_iter().flat_map(fallible_functions).collect();
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
