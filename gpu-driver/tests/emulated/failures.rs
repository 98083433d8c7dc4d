//! Every public operation bears the failure of each driver call that it makes: an error each time, nothing leaked, inputs as
//! they were, and the next call works.

use std::{error::Error, marker::PhantomData, sync::LazyLock};

use gpu_driver::{
    ArrayShape, CudaArray, CudaCode, Device, DevicePod, DevicePool, DeviceVec, Dim3, DriverError, Entry, Event,
    Function, GrowingVec, In, JitOptions, Kernel, LaunchConfig, ManagedVec, Module, Out, PinnedPool, PinnedVec,
    Pitched, Preload, Program, Registry, Result, SCRATCH_COUNTERS, Source, Stream, Tuner, Variants, cust,
    emulated::{
        Call::{self, Allocation, Copy, Launch, ModuleLoad, Release},
        Emulated,
    },
};
use testkit::{Operation, Outcome, ensure, ensure_eq, fallible_functions, none_forgotten, sweeps};

use crate::harness::SPACE;

const KINDS: [Call; 5] = [Allocation, Launch, ModuleLoad, Copy, Call::Event];

static SOURCE: Source = Source {
    name: "twice.cu",
    text: "template <class T> __global__ void twice(const T *x, T *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }\n",
    headers: &[],
};

struct Twice<T>(PhantomData<T>);
impl<T: DevicePod> Entry for Twice<T> {
    type Policy = ();
    type Args<'a> = (In<'a, T>, Out<'a, T>);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "twice";
    fn template((): &()) -> String {
        T::CUDA_NAME.to_owned()
    }
    fn block((): &()) -> Dim3 {
        3.into()
    }
}

static KERNELS: LazyLock<Registry> = LazyLock::new(|| Registry::new("failures").with::<Twice<u32>>(&()));

const HOST: [u32; 3] = [7, 8, 9];
const NEW: [u32; 3] = [1, 2, 3];
const DOUBLED: [u32; 3] = [14, 16, 18];

/// See [`Emulated::fail_each`].
fn sweep<S, T>(
    call: Call,
    prepare: impl Fn(&Device) -> Result<S>,
    operation: impl Fn(&mut S) -> Result<T>,
    check: impl Fn(&S, Option<&T>) -> Outcome,
) -> Result<u64, Box<dyn Error>> {
    let prepare = |device: &Device| Ok(prepare(device)?);
    let borne = Emulated::new().fail_each(call, prepare, operation, check, |error| call.leads_to(error))?;
    // The pool is trimmed and asked again; nothing else is tried twice.
    let retried = if call == Allocation { borne.retried } else { 0 };
    ensure_eq!(borne.retried, retried);
    Ok(borne.calls)
}

/// A new buffer holds what it should.
fn makes(call: Call, make: impl Fn(&Stream) -> Result<DeviceVec<u32>>, want: [u32; 3]) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| Ok(device.stream()),
        |stream| make(stream),
        |_, made| {
            let Some(made) = made else { return Ok(()) };
            ensure_eq!(made.to_vec()?, want);
            Ok(())
        },
    )
}

/// A buffer changes from `HOST` to `want`, and not at all where that fails. The other buffer's home is another stream.
fn changes(
    call: Call,
    change: impl Fn(&mut DeviceVec<u32>, &DeviceVec<u32>) -> Result<()>,
    want: [u32; 3],
) -> Result<u64, Box<dyn Error>> {
    becomes(call, change, |got, done| got == if done { want } else { HOST })
}

/// A buffer that was `HOST` is `right` after a change, told whether that succeeded.
fn becomes(
    call: Call,
    change: impl Fn(&mut DeviceVec<u32>, &DeviceVec<u32>) -> Result<()>,
    right: impl Fn([u32; 3], bool) -> bool,
) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| {
            let new = DeviceVec::from_slice(&Stream::new(device)?, &NEW)?;
            Ok((DeviceVec::from_slice(&device.stream(), &HOST)?, new))
        },
        |(buffer, new)| change(buffer, new),
        |(buffer, new), done| {
            ensure_eq!(new.to_vec()?, NEW);
            let got: [u32; 3] = buffer.to_vec()?.try_into().map_err(|other| format!("{other:?}"))?;
            ensure!(right(got, done.is_some()), "{got:?}");
            Ok(())
        },
    )
}

/// An array grows, and has no elements, or those before the call that failed.
fn grows(call: Call, grow: impl Fn(&mut GrowingVec<u32>) -> Result<()>) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| GrowingVec::with_capacity(&device.stream(), 100),
        |x| grow(x),
        |x, done| {
            let got = x.to_vec()?;
            ensure!(got.len() >= 3 || (done.is_none() && got.is_empty()), "{got:?}");
            ensure!(got.iter().take(3).zip(HOST).all(|(got, want)| *got == want || *got == 7), "{got:?}");
            Ok(())
        },
    )
}

/// Something is read that must be `HOST`, from a buffer that stays as it is.
fn reads(call: Call, read: impl Fn(&DeviceVec<u32>) -> Result<Vec<u32>>) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| DeviceVec::from_slice(&device.stream(), &HOST),
        |buffer| read(buffer),
        |buffer, got| {
            ensure_eq!(buffer.to_vec()?, HOST);
            ensure!(got.is_none_or(|got| *got == HOST), "{got:?}");
            Ok(())
        },
    )
}

/// An array becomes `want`, and is `HOST` where the change fails, while device memory of another home stays `NEW`.
fn changes_array(
    call: Call,
    change: impl Fn(&mut CudaArray<u32>, &DeviceVec<u32>) -> Result<()>,
    want: [u32; 3],
) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| {
            let array = CudaArray::from_slice(&device.stream(), ArrayShape::line(3), &HOST)?;
            Ok((array, DeviceVec::from_slice(&Stream::new(device)?, &NEW)?))
        },
        |(array, new)| change(array, new),
        |(array, new), done| {
            ensure_eq!(new.to_vec()?, NEW);
            let got = array.to_vec()?;
            // An event may fail when the copy is enqueued already.
            let late = call == Call::Event && done.is_none() && got == want;
            ensure!(late || got == if done.is_some() { want } else { HOST }, "{got:?}");
            Ok(())
        },
    )
}

/// `HOST` is read from an array.
fn reads_array(call: Call, read: impl Fn(&CudaArray<u32>, &Stream) -> Result<Vec<u32>>) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| Ok((CudaArray::from_slice(&device.stream(), ArrayShape::line(3), &HOST)?, Stream::new(device)?)),
        |(array, other)| read(array, other),
        |(array, _), got| {
            ensure_eq!(array.to_vec()?, HOST);
            ensure!(got.is_none_or(|got| *got == HOST), "{got:?}");
            Ok(())
        },
    )
}

fn makes_array(
    call: Call,
    make: impl Fn(&Stream) -> Result<CudaArray<u32>>,
    want: [u32; 3],
) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| Ok(device.stream()),
        |stream| make(stream),
        |_, made| {
            let Some(made) = made else { return Ok(()) };
            ensure_eq!(made.to_vec()?, want);
            Ok(())
        },
    )
}

fn pinned(call: Call, make: impl Fn(&Device) -> Result<PinnedVec<u32>>, want: [u32; 3]) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| Ok(device.clone()),
        |device| make(device),
        |_, made| {
            ensure!(made.is_none_or(|made| **made == want));
            Ok(())
        },
    )
}

fn on_stream<T>(call: Call, ask: impl Fn(&Stream) -> Result<T>) -> Result<u64, Box<dyn Error>> {
    sweep(call, Stream::new, |stream| ask(stream), |stream, _| Ok(stream.synchronize()?))
}

struct Launches {
    kernel: Kernel<Twice<u32>>,
    x: DeviceVec<u32>,
    y: DeviceVec<u32>,
    stream: Stream,
}

/// Doubles `x` into `y`, which is `NEW` before.
fn launches(
    call: Call,
    homes_elsewhere: bool,
    launch: impl Fn(&mut Launches) -> Result<()>,
) -> Result<u64, Box<dyn Error>> {
    sweep(
        call,
        |device| {
            let stream = device.stream();
            let home = || if homes_elsewhere { Stream::new(device) } else { Ok(device.stream()) };
            let (x, y) = (DeviceVec::from_slice(&home()?, &HOST)?, DeviceVec::from_slice(&home()?, &NEW)?);
            Ok(Launches { kernel: KERNELS.kernel(device, &())?, x, y, stream })
        },
        launch,
        |inputs, done| {
            ensure_eq!(inputs.x.to_vec()?, HOST);
            let got = inputs.y.to_vec()?;
            // An event may fail when the kernel has been launched already: it is waited for then.
            let late = call == Call::Event && done.is_none() && got == DOUBLED;
            ensure!(late || got == if done.is_some() { DOUBLED } else { NEW }, "{got:?}");
            Ok(())
        },
    )
}

fn typed(inputs: &mut Launches) -> Result<()> {
    let Launches { kernel, x, y, stream } = inputs;
    // SAFETY: three threads read x[..3] and write y[..3].
    unsafe { kernel.launch(1, (x.input(), y.output()), stream) }
}

/// The head of a stream's scratch memory.
pub fn counters(stream: &Stream, address: u64) -> Result<Vec<u32>> {
    let mut host = vec![u32::MAX; SCRATCH_COUNTERS / 4];
    stream.synchronize()?;
    let _current = stream.device().make_current()?;
    // SAFETY: both have that many bytes.
    let code = unsafe { cust::sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, SCRATCH_COUNTERS) };
    let code = CudaCode(code as i32);
    if code == CudaCode(0) { Ok(host) } else { Err(DriverError::Cuda { call: "cuMemcpyDtoH", code }) }
}

fn program() -> Program {
    Program::new("twice.cu", SOURCE.text).name_expression("twice<unsigned int>")
}

fn load(device: &Device) -> Result<Module> {
    Module::load(device, &program().compile(device.arch())?)
}

fn by_name(function: &Function, x: &DeviceVec<u32>, y: &mut DeviceVec<u32>) -> Result<()> {
    let (mut from, mut to) = (x.as_raw(), y.as_raw());
    let config = LaunchConfig { grid: 1.into(), block: 3.into(), shared_bytes: 0 };
    // SAFETY: three threads read x[..3] and write y[..3], whose home is the stream.
    unsafe { function.launch_raw(config, &mut [(&raw mut from).cast(), (&raw mut to).cast()], &y.home().clone()) }
}

/// A variable that holds `HOST`.
fn variable(device: &Device) -> Result<gpu_driver::Global<u32>> {
    device
        .compile("__device__ unsigned values[3] = {7, 8, 9}; extern \"C\" __global__ void f() { ++values[0]; }")?
        .global("values")
}

fn generated_program() -> Program {
    let text = "struct Words { unsigned long long word[2]; };\n\
        __global__ void twice(const __grid_constant__ Words words) {\n\
            ((unsigned *)words.word[1])[threadIdx.x] = 2 * ((const unsigned *)words.word[0])[threadIdx.x];\n}\n";
    Program::new("generated.cu", text).name_expression("twice")
}

fn generated(inputs: &mut Launches) -> Result<()> {
    let Launches { x, y, stream, .. } = inputs;
    let kernel = stream.device().generated_kernel(&SPACE, &[SPACE.word(), 2], || Ok(generated_program()))?;
    let words = [x.as_raw(), y.as_raw()];
    let config = LaunchConfig { grid: 1.into(), block: 3.into(), shared_bytes: 0 };
    // SAFETY: the kernel takes two words; three threads read x[..3] and write y[..3], whose homes are named.
    unsafe { kernel.launch(config, &words, &[x.home(), y.home()], stream) }
}

/// As [`generated`], with a kernel whose parameters are pointers.
fn generated_with_pointers(inputs: &mut Launches) -> Result<()> {
    let Launches { x, y, stream, .. } = inputs;
    let text = "__global__ void twice(const unsigned *x, unsigned char factor, unsigned *y) { y[threadIdx.x] = factor * x[threadIdx.x]; }";
    let program = || Ok(Program::new("pointers.cu", text).name_expression("twice"));
    let kernel = stream.device().generated_kernel(&SPACE, &[SPACE.word(), 3], program)?;
    let (mut from, mut factor, mut to) = (x.as_raw(), 2u8, y.as_raw());
    let mut values = [(&raw mut from).cast(), (&raw mut factor).cast(), (&raw mut to).cast()];
    let config = LaunchConfig { grid: 1.into(), block: 3.into(), shared_bytes: 0 };
    // SAFETY: the values are of the types of the parameters; three threads read x[..3] and write y[..3], whose homes are named.
    unsafe { kernel.launch_with(config, &mut values, &[x.home(), y.home()], stream) }
}

/// What makes driver calls that can be made to fail.
static OPERATIONS: &[Operation<Call>] = &[
    Operation {
        name: "DeviceVec::uninitialized",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            // SAFETY: never read.
            makes(call, |stream| unsafe { DeviceVec::uninitialized(stream, 3) }, [u32::MAX; 3])
        },
    },
    Operation {
        name: "Tuner::tune",
        makes: &[(Allocation, 2), (Copy, 4), (Call::Event, 4)],
        sweep: |call| {
            let folder = tempfile::tempdir()?;
            let copy = |_: &Stream, x: &DeviceVec<u32>| x.try_clone();
            let variants = Variants::new("copy").variant("a", copy).variant("b", copy);
            sweep(
                call,
                |device| {
                    let tuner = Tuner::in_folder(device, folder.path())?.rounds(1);
                    tuner.clear().map_err(|error| DriverError::Unreported { text: error.to_string() })?;
                    Ok((tuner, DeviceVec::from_slice(&device.stream(), &HOST)?))
                },
                |(tuner, x)| tuner.tune(&variants, 3, x, x.home()),
                |(tuner, x), choice| {
                    ensure_eq!(x.to_vec()?, HOST);
                    ensure_eq!(tuner.choice("copy", 3), choice.cloned());
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "DeviceVec::zeros",
        makes: &[(Allocation, 1)],
        sweep: |call| makes(call, |stream| DeviceVec::zeros(stream, 3), [0; 3]),
    },
    Operation {
        name: "DeviceVec::from_slice",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| makes(call, |stream| DeviceVec::from_slice(stream, &HOST), HOST),
    },
    Operation {
        name: "DeviceVec::from_vec",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| makes(call, |stream| DeviceVec::from_vec(stream, HOST.to_vec()), HOST),
    },
    Operation {
        name: "DevicePool::zeros",
        makes: &[(Allocation, 1)],
        sweep: |call| makes(call, |stream| DevicePool::new(stream.device())?.zeros(stream, 3), [0; 3]),
    },
    Operation {
        name: "DevicePool::from_slice",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| makes(call, |stream| DevicePool::new(stream.device())?.from_slice(stream, &HOST), HOST),
    },
    Operation {
        name: "DeviceVec::try_clone",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| {
            let prepare = |device: &Device| DeviceVec::from_slice(&device.stream(), &HOST);
            sweep(
                call,
                prepare,
                |buffer| buffer.try_clone(),
                |buffer, clone| {
                    ensure_eq!(buffer.to_vec()?, HOST);
                    ensure_eq!(clone.unwrap_or(buffer).to_vec()?, HOST);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "DeviceVec::copy_from_slice",
        makes: &[(Copy, 1)],
        sweep: |call| changes(call, |buffer, _| buffer.copy_from_slice(&NEW), NEW),
    },
    Operation {
        name: "DeviceSliceMut::copy_from_slice",
        makes: &[(Copy, 1)],
        sweep: |call| changes(call, |buffer, _| buffer.slice_mut(1..)?.copy_from_slice(&[5, 6]), [7, 5, 6]),
    },
    Operation {
        name: "DeviceVec::copy_from",
        makes: &[(Copy, 1), (Call::Event, 6)],
        sweep: |call| changes_late(call, |buffer, new| buffer.copy_from(new.as_slice()), NEW),
    },
    Operation {
        name: "DeviceSliceMut::copy_from",
        makes: &[(Copy, 1), (Call::Event, 6)],
        sweep: |call| changes_late(call, |buffer, new| buffer.slice_mut(..2)?.copy_from(new.slice(1..)?), [2, 3, 9]),
    },
    Operation {
        name: "DeviceSliceMut::copy_from_peer",
        makes: &[(Copy, 1), (Call::Event, 3)],
        sweep: |call| {
            let other = Emulated::new().open()?;
            let near = DeviceVec::from_slice(&other.stream(), &NEW)?;
            changes_late(call, |buffer, _| buffer.as_mut_slice().copy_from_peer(near.as_slice()), NEW)
        },
    },
    Operation {
        name: "DeviceSliceMut::copy_box_from_slice",
        makes: &[(Copy, 1)],
        sweep: |call| {
            let place = Pitched::plane(2, 1).within(2);
            changes(call, |buffer, _| buffer.as_mut_slice().copy_box_from_slice(place, &NEW, place), [1, 8, 3])
        },
    },
    Operation {
        name: "DeviceSliceMut::copy_box_from",
        makes: &[(Copy, 1), (Call::Event, 6)],
        sweep: |call| {
            let place = Pitched::plane(2, 1).within(2);
            changes_late(
                call,
                |buffer, new| buffer.as_mut_slice().copy_box_from(place, new.as_slice(), place),
                [1, 8, 3],
            )
        },
    },
    Operation {
        name: "DeviceSlice::copy_box_to_slice",
        makes: &[(Copy, 1)],
        sweep: |call| {
            reads(call, |buffer| {
                let (mut host, row) = (vec![0; 3], Pitched::plane(1, 3));
                buffer.as_slice().copy_box_to_slice(row, &mut host, row)?;
                Ok(host)
            })
        },
    },
    Operation {
        name: "DeviceVec::pitched",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            let make = |stream: &mut Stream| DeviceVec::<u32>::pitched(stream, 2, 3);
            sweep(call, |device| Ok(device.stream()), make, |_, _| Ok(()))
        },
    },
    Operation {
        name: "DeviceVec::copy_to_slice",
        makes: &[(Copy, 1)],
        sweep: |call| {
            reads(call, |buffer| {
                let mut host = vec![0; 3];
                buffer.copy_to_slice(&mut host)?;
                Ok(host)
            })
        },
    },
    Operation {
        name: "DeviceVec::from_foreign",
        makes: &[(Copy, 1), (Call::Event, 3)],
        sweep: |call| {
            reads(call, |buffer| {
                let (home, theirs) = (Stream::new(buffer.device())?, buffer.home());
                let after = Some(theirs.as_raw());
                // SAFETY: three elements, which nobody changes.
                unsafe { DeviceVec::from_foreign(&home, buffer.as_raw(), 3, after, ())? }.to_vec()
            })
        },
    },
    Operation { name: "DeviceVec::to_vec", makes: &[(Copy, 1)], sweep: |call| reads(call, DeviceVec::to_vec) },
    Operation {
        name: "DeviceSlice::copy_to_slice",
        makes: &[(Copy, 1)],
        sweep: |call| {
            reads(call, |buffer| {
                let mut host = vec![7; 3];
                buffer.slice(1..)?.copy_to_slice(&mut host[1..])?;
                Ok(host)
            })
        },
    },
    Operation {
        name: "DeviceSlice::to_vec",
        makes: &[(Copy, 1)],
        sweep: |call| reads(call, |buffer| Ok([vec![7], buffer.slice(1..)?.to_vec()?].concat())),
    },
    Operation {
        name: "DeviceSlice::try_clone",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| reads(call, |buffer| Ok([vec![7], buffer.slice(1..)?.try_clone()?.to_vec()?].concat())),
    },
    Operation {
        name: "DeviceVec::upload",
        makes: &[(Allocation, 1), (Copy, 1), (Call::Event, 2)],
        sweep: |call| {
            changes_late(
                call,
                |buffer, new| buffer.upload(PinnedVec::from_slice(new.device(), &NEW)?)?.wait().map(drop),
                NEW,
            )
        },
    },
    Operation {
        name: "DeviceVec::download",
        makes: &[(Allocation, 1), (Copy, 1), (Call::Event, 2)],
        sweep: |call| {
            reads(call, |buffer| Ok(buffer.download(PinnedVec::zeros(buffer.device(), 3)?)?.wait()?.to_vec()))
        },
    },
    Operation {
        name: "Pending::wait",
        makes: &[(Allocation, 1), (Copy, 1), (Call::Event, 2)],
        sweep: |call| {
            reads(call, |buffer| {
                // Dropped without a wait of the caller's: the memory is given back when the copy has run.
                drop(buffer.download(PinnedVec::zeros(buffer.device(), 3)?)?);
                Ok(HOST.to_vec())
            })
        },
    },
    Operation {
        name: "PinnedVec::zeros",
        makes: &[(Allocation, 1)],
        sweep: |call| pinned(call, |device| PinnedVec::zeros(device, 3), [0; 3]),
    },
    Operation {
        name: "PinnedPool::zeros",
        makes: &[(Allocation, 1)],
        sweep: |call| pinned(call, |device| PinnedPool::new(device).zeros(3), [0; 3]),
    },
    Operation {
        name: "PinnedPool::from_slice",
        makes: &[(Allocation, 1)],
        sweep: |call| pinned(call, |device| PinnedPool::new(device).from_slice(&NEW), NEW),
    },
    Operation {
        name: "PinnedVec::write_combined",
        makes: &[(Allocation, 1)],
        sweep: |call| pinned(call, |device| PinnedVec::write_combined(device, 3), [0; 3]),
    },
    Operation {
        name: "DeviceVec::shareable",
        makes: &[(Allocation, 1)],
        sweep: |call| makes(call, |stream| DeviceVec::shareable(stream, 3), [0; 3]),
    },
    Operation {
        name: "GrowingVec::with_capacity",
        makes: &[(Allocation, 1)],
        sweep: |call| on_stream(call, |stream| GrowingVec::<u32>::with_capacity(stream, 3)),
    },
    Operation {
        name: "GrowingVec::extend_from_slice, push",
        makes: &[(Allocation, 1), (Copy, 2)],
        sweep: |call| {
            grows(call, |x| {
                x.extend_from_slice(&HOST)?;
                x.push(NEW[0])
            })
        },
    },
    Operation { name: "GrowingVec::resize", makes: &[(Allocation, 1)], sweep: |call| grows(call, |x| x.resize(3, 7)) },
    Operation {
        name: "ManagedVec::zeros",
        makes: &[(Allocation, 1)],
        sweep: |call| on_stream(call, |stream| ManagedVec::<u32>::zeros(stream, 3)),
    },
    Operation {
        name: "ManagedVec::from_slice",
        makes: &[(Allocation, 1)],
        sweep: |call| on_stream(call, |stream| ManagedVec::from_slice(stream, &HOST)),
    },
    Operation {
        name: "PinnedVec::from_slice",
        makes: &[(Allocation, 1)],
        sweep: |call| pinned(call, |device| PinnedVec::from_slice(device, &HOST), HOST),
    },
    Operation {
        name: "CudaArray::uninitialized",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            // SAFETY: the emulated device fills it with ones.
            makes_array(call, |stream| unsafe { CudaArray::uninitialized(stream, ArrayShape::line(3)) }, [u32::MAX; 3])
        },
    },
    Operation {
        name: "CudaArray::zeros",
        makes: &[(Allocation, 2), (Copy, 3)],
        sweep: |call| makes_array(call, |stream| CudaArray::zeros(stream, ArrayShape::volume(3, 1, 1)), [0; 3]),
    },
    Operation {
        name: "MipmappedArray::zeros",
        makes: &[(Allocation, 3), (Copy, 2)],
        sweep: |call| {
            sweep(
                call,
                |device| Ok(device.stream()),
                |stream| gpu_driver::MipmappedArray::<u32>::zeros(stream, ArrayShape::plane(2, 2), 2),
                |_, made| {
                    let Some(made) = made else { return Ok(()) };
                    ensure_eq!((made.level(0)?.to_vec()?, made.level(1)?.to_vec()?), (vec![0; 4], vec![0]));
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "CudaArray::from_slice",
        makes: &[(Allocation, 1), (Copy, 1)],
        sweep: |call| makes_array(call, |stream| CudaArray::from_slice(stream, ArrayShape::plane(3, 1), &HOST), HOST),
    },
    Operation {
        name: "CudaArray::copy_from_slice",
        makes: &[(Copy, 1)],
        sweep: |call| changes_array(call, |array, _| array.copy_from_slice(&NEW), NEW),
    },
    Operation {
        name: "CudaArray::copy_box_from_slice",
        makes: &[(Copy, 1)],
        sweep: |call| {
            let place = Pitched::plane(1, 2);
            changes_array(call, |array, _| array.copy_box_from_slice([0, 0, 1], &NEW, place), [7, 1, 2])
        },
    },
    Operation {
        name: "CudaArray::copy_from",
        makes: &[(Copy, 1), (Call::Event, 6)],
        sweep: |call| changes_array(call, |array, new| array.copy_from(new.as_slice()), NEW),
    },
    Operation {
        name: "CudaArray::copy_box_from",
        makes: &[(Copy, 1), (Call::Event, 6)],
        sweep: |call| {
            let place = Pitched::plane(1, 2).from(1);
            changes_array(call, |array, new| array.copy_box_from([0; 3], new.as_slice(), place), [2, 3, 9])
        },
    },
    Operation {
        name: "CudaArray::copy_from_array",
        makes: &[(Allocation, 1), (Copy, 2), (Call::Event, 6)],
        sweep: |call| {
            changes_array(
                call,
                |array, new| array.copy_from_array(&CudaArray::from_slice(new.home(), ArrayShape::line(3), &NEW)?),
                NEW,
            )
        },
    },
    Operation {
        name: "CudaArray::to_vec",
        makes: &[(Copy, 1)],
        sweep: |call| reads_array(call, |array, _| array.to_vec()),
    },
    Operation {
        name: "CudaArray::copy_to_slice",
        makes: &[(Copy, 1)],
        sweep: |call| {
            reads_array(call, |array, _| {
                let mut host = vec![0; 3];
                array.copy_to_slice(&mut host)?;
                Ok(host)
            })
        },
    },
    Operation {
        name: "CudaArray::copy_box_to_slice",
        makes: &[(Copy, 1)],
        sweep: |call| {
            reads_array(call, |array, _| {
                let mut host = vec![7; 3];
                array.copy_box_to_slice([0, 0, 1], &mut host, Pitched::plane(1, 2).from(1))?;
                Ok(host)
            })
        },
    },
    Operation {
        name: "CudaArray::copy_to",
        makes: &[(Allocation, 1), (Copy, 2), (Call::Event, 6)],
        sweep: |call| {
            reads_array(call, |array, other| {
                let mut memory = DeviceVec::zeros(other, 3)?;
                array.copy_to(&mut memory.as_mut_slice())?;
                memory.to_vec()
            })
        },
    },
    Operation {
        name: "CudaArray::copy_box_to_device",
        makes: &[(Allocation, 1), (Copy, 2), (Call::Event, 6)],
        sweep: |call| {
            reads_array(call, |array, other| {
                let mut memory = DeviceVec::zeros(other, 3)?;
                array.copy_box_to_device([0; 3], &mut memory.as_mut_slice(), Pitched::plane(1, 3))?;
                memory.to_vec()
            })
        },
    },
    Operation { name: "Stream::record", makes: &[(Call::Event, 2)], sweep: |call| on_stream(call, Stream::record) },
    Operation {
        name: "Stream::follow",
        makes: &[(Call::Event, 3)],
        sweep: |call| on_stream(call, |stream| stream.follow(&stream.device().stream())),
    },
    Operation {
        name: "Stream::wait",
        makes: &[(Call::Event, 1)],
        sweep: |call| {
            let prepare = |device: &Device| Ok((device.stream().record()?, Stream::new(device)?));
            sweep(call, prepare, |(event, stream)| stream.wait(event), |(_, stream), _| Ok(stream.synchronize()?))
        },
    },
    Operation {
        name: "Event::new",
        makes: &[(Call::Event, 1)],
        sweep: |call| on_stream(call, |stream| Event::new(stream.device())),
    },
    Operation {
        name: "Event::untimed",
        makes: &[(Call::Event, 1)],
        sweep: |call| on_stream(call, |stream| Event::untimed(stream.device())),
    },
    Operation {
        name: "Event::blocking",
        makes: &[(Call::Event, 1)],
        sweep: |call| on_stream(call, |stream| Event::blocking(stream.device())),
    },
    Operation {
        name: "Event::record",
        makes: &[(Call::Event, 1)],
        sweep: |call| {
            let prepare = |device: &Device| Ok((Event::new(device)?, device.stream()));
            sweep(call, prepare, |(event, stream)| event.record(stream), |(event, _), _| Ok(event.synchronize()?))
        },
    },
    Operation {
        name: "Stream::capture",
        makes: &[(Launch, 1)],
        sweep: |call| {
            launches(call, false, |inputs| {
                let stream = inputs.stream.clone();
                let (graph, ()) = stream.capture(|| typed(inputs))?;
                // SAFETY: the buffers of the capture, which nothing else uses.
                unsafe { graph.launch(&stream) }
            })
        },
    },
    Operation {
        name: "Graph::update",
        makes: &[(Launch, 2)],
        sweep: |call| {
            launches(call, false, |inputs| {
                let stream = inputs.stream.clone();
                let (mut graph, ()) = stream.capture(|| typed(inputs))?;
                graph.update(&stream, || typed(inputs))?;
                // SAFETY: the buffers of the capture, which nothing else uses.
                unsafe { graph.launch(&stream) }
            })
        },
    },
    Operation {
        // The main stream has its memory from the first run on.
        name: "Stream::with_scratch",
        makes: &[(Launch, 1)],
        sweep: |call| {
            launches(call, false, |inputs| {
                let stream = inputs.stream.clone();
                stream.with_scratch(100, |_| typed(inputs))
            })
        },
    },
    Operation {
        name: "Stream::with_scratch, of more than there is",
        makes: &[(Allocation, 1)],
        sweep: |call| {
            let prepare = |device: &Device| {
                let stream = Stream::new(device)?;
                stream.with_scratch(1, Ok::<_, DriverError>)?;
                Ok(stream)
            };
            let grow = |stream: &mut Stream| stream.with_scratch(1 << 20, Ok::<_, DriverError>);
            sweep(call, prepare, grow, |stream, address| {
                // What came before the failure does not matter: the counters are zero.
                let address = address.copied().map_or_else(|| stream.with_scratch(1, Ok::<_, DriverError>), Ok)?;
                ensure!(counters(stream, address)?.iter().all(|&counter| counter == 0));
                Ok(())
            })
        },
    },
    Operation {
        name: "Stream::with_scratch, for the first time",
        makes: &[(Allocation, 1)],
        sweep: |call| on_stream(call, |stream| stream.with_scratch(1, Ok::<_, DriverError>)),
    },
    Operation {
        name: "Stream::with_cleared_scratch",
        makes: &[(Allocation, 1)],
        sweep: |call| on_stream(call, |stream| stream.with_cleared_scratch(1, Ok::<_, DriverError>)),
    },
    Operation {
        name: "Stream::with_scratch, captured",
        makes: &[(Allocation, 2), (Launch, 1)],
        sweep: |call| {
            launches(call, false, |inputs| {
                let stream = inputs.stream.clone();
                let (graph, ()) = stream.capture(|| {
                    stream.with_scratch(1, Ok::<_, DriverError>)?;
                    stream.with_scratch(1 << 20, |_| typed(inputs))
                })?;
                // SAFETY: the buffers of the capture, which nothing else uses.
                unsafe { graph.launch(&stream) }
            })
        },
    },
    Operation {
        name: "Registry::kernel",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| {
            let prepare = |device: &Device| Ok(device.clone());
            sweep(call, prepare, |device| KERNELS.kernel::<Twice<u32>>(device, &()), |_, _| Ok(()))
        },
    },
    Operation {
        name: "Preload::run",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| {
            let prepare = |device: &Device| Ok(device.clone());
            let preload = |device: &mut Device| Preload::new(&KERNELS, device).and::<Twice<u32>>(&()).run();
            sweep(call, prepare, preload, |_, _| Ok(()))
        },
    },
    Operation { name: "Kernel::launch", makes: &[(Launch, 1)], sweep: |call| launches(call, false, typed) },
    Operation {
        name: "Kernel::launch, of buffers with homes elsewhere",
        makes: &[(Launch, 1), (Call::Event, 12)],
        sweep: |call| launches(call, true, typed),
    },
    Operation {
        name: "Device::generated_kernel",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| {
            let prepare = |device: &Device| Ok(device.clone());
            let make =
                |device: &mut Device| device.generated_kernel(&SPACE, &[SPACE.word(), 7], || Ok(generated_program()));
            sweep(call, prepare, make, |device, made| {
                ensure_eq!(device.has_generated_kernel(&SPACE, &[SPACE.word(), 7]), made.is_some());
                Ok(())
            })
        },
    },
    Operation {
        name: "Device::generate_kernels",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| {
            let prepare = |device: &Device| Ok(device.clone());
            let make =
                |device: &mut Device| device.generate_kernels(&SPACE, &[&[SPACE.word(), 8]], &generated_program());
            sweep(call, prepare, make, |device, made| {
                ensure_eq!(device.has_generated_kernel(&SPACE, &[SPACE.word(), 8]), made.is_some());
                Ok(())
            })
        },
    },
    Operation {
        name: "GeneratedKernel::launch",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| launches(call, false, generated),
    },
    Operation {
        name: "GeneratedKernel::launch, of buffers with homes elsewhere",
        makes: &[(ModuleLoad, 1), (Launch, 1), (Call::Event, 12)],
        sweep: |call| launches(call, true, generated),
    },
    Operation {
        name: "GeneratedKernel::launch_with",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| launches(call, false, generated_with_pointers),
    },
    Operation {
        name: "Module::load",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| sweep(call, |device| Ok(device.clone()), |device| load(device), |_, _| Ok(())),
    },
    Operation {
        name: "Device::compile",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| sweep(call, |device| Ok(device.clone()), |device| device.compile(program()), |_, _| Ok(())),
    },
    Operation {
        name: "Module::load_image",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| {
            let load = |device: &mut Device| {
                // SAFETY: the image is whole.
                unsafe { Module::load_image(device, program().compile(device.arch())?.image()) }
            };
            sweep(call, |device| Ok(device.clone()), load, |_, _| Ok(()))
        },
    },
    Operation {
        name: "Module::load_image_with",
        makes: &[(ModuleLoad, 1)],
        sweep: |call| {
            let load = |device: &mut Device| {
                let (binary, options) = (program().compile(device.arch())?, JitOptions::new().line_info());
                // SAFETY: the image is whole.
                unsafe { Module::load_image_with(device, binary.image(), &options) }
            };
            sweep(call, |device| Ok(device.clone()), load, |_, _| Ok(()))
        },
    },
    Operation {
        name: "Global::read",
        makes: &[(ModuleLoad, 1), (Copy, 1)],
        sweep: |call| {
            let read = |stream: &mut Stream| variable(stream.device())?.read(stream);
            sweep(
                call,
                |device| Ok(device.stream()),
                read,
                |_, read| {
                    ensure_eq!(read.map_or(HOST.as_slice(), |read| read), HOST);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Global::write",
        makes: &[(ModuleLoad, 1), (Copy, 2)],
        sweep: |call| {
            let write = |stream: &mut Stream| {
                let variable = variable(stream.device())?;
                variable.write(&NEW, stream)?;
                variable.read(stream)
            };
            sweep(
                call,
                |device| Ok(device.stream()),
                write,
                |_, read| {
                    ensure_eq!(read.map_or(NEW.as_slice(), |read| read), NEW);
                    Ok(())
                },
            )
        },
    },
    Operation {
        name: "Function::launch_raw",
        makes: &[(ModuleLoad, 1), (Launch, 1)],
        sweep: |call| {
            launches(call, false, |inputs| {
                let function = load(inputs.stream.device())?.function("twice<unsigned int>")?;
                by_name(&function, &inputs.x, &mut inputs.y)
            })
        },
    },
    Operation {
        name: "Function::launch, of buffers with homes elsewhere",
        makes: &[(ModuleLoad, 1), (Launch, 1), (Call::Event, 12)],
        sweep: |call| {
            launches(call, true, |inputs| {
                let function = load(inputs.stream.device())?.function("twice<unsigned int>")?;
                let arguments = (inputs.x.input(), inputs.y.output());
                // SAFETY: three threads read x[..3] and write y[..3].
                unsafe { function.launch(LaunchConfig::new(1, 3), arguments, &inputs.stream) }
            })
        },
    },
    Operation {
        name: "Function::launch, of slices of the host",
        makes: &[(ModuleLoad, 1), (Launch, 1), (Allocation, 2), (Copy, 3), (Release, 2)],
        sweep: |call| {
            sweep(
                call,
                |device| Ok(device.stream()),
                |stream| {
                    let function = load(stream.device())?.function("twice<unsigned int>")?;
                    let mut doubled = NEW;
                    // SAFETY: three threads read three elements and write three.
                    unsafe { function.launch(LaunchConfig::new(1, 3), (&HOST, &mut doubled), stream)? };
                    Ok(doubled)
                },
                |_, doubled| {
                    ensure_eq!(*doubled.unwrap_or(&DOUBLED), DOUBLED);
                    Ok(())
                },
            )
        },
    },
];

/// Public functions that make no driver call of those kinds: they ask, wait, or compute on the host.
const OTHERS: &[&str] = &[
    "Device::attribute",
    "Device::attributes",
    "Device::by_name",
    "Device::by_pci_bus_id",
    "Device::cache_config",
    "Device::can_access_peer",
    "Device::compile_dynamic", // refused by the emulated device
    "Device::arch_of",
    "Device::count",
    "Device::data",
    "Device::disable_peer_access",
    "Device::driver_version",
    "Device::enable_peer_access",
    "Device::first",
    "Device::for_tests",
    "Device::from_environment",
    "Device::limit",
    "Device::make_current",
    "Device::memory",
    "Device::multiprocessors",
    "Device::new",
    "Device::pci_bus_id",
    "Device::pointer_facts",
    "Device::pool_use",
    "Device::reset_pool_peaks",
    "Device::set_cache_config",
    "Device::set_limit",
    "Device::stream_priorities",
    "Device::synchronize",
    "Device::trim_pool",
    "Device::uuid",
    "Device::with_most_free_memory",
    "DevicePool::enable_peer_access",
    "DevicePool::new",
    "DevicePool::release_threshold",
    "DevicePool::reset_peaks",
    "DevicePool::set_release_threshold",
    "DevicePool::trim",
    "DevicePool::uninitialized", // in the sweep of `DevicePool::zeros`
    "DevicePool::usage",
    "DeviceSlice::cast",
    "DeviceSlice::slice",
    "DeviceSliceMut::fill",
    "DeviceSliceMut::fill_box",
    "DeviceSliceMut::fill_by_memset",
    "Device::as_cust",
    "Device::from_cust",
    "DeviceVec::as_cust",
    "DeviceVec::from_cust", // `DeviceVec::from_foreign`, which has a sweep
    "DeviceVec::into_cust",
    "Event::as_cust",
    "Event::from_cust",
    "Event::into_cust",
    "Function::with_cust",
    "Module::as_cust",
    "Module::from_cust",
    "Module::into_cust",
    "PinnedVec::into_cust",
    "Stream::as_cust",
    "Stream::into_cust",
    "Stream::from_cust", // `Stream::from_foreign`
    "DeviceVec::set_zero",
    "DeviceVec::ipc_handle",
    "DeviceVec::open_ipc",
    "DeviceVec::slice",
    "DeviceVec::slice_mut",
    "Event::elapsed_ms_since",
    "Event::interprocess",
    "Event::ipc_handle",
    "Event::open_ipc",
    "Event::is_done",
    "Event::synchronize",
    "Function::attributes",
    "Function::check",
    "Function::max_active_blocks",
    "Function::occupancy",
    "Function::parameter_bytes",
    "Function::set_cache_config",
    "Function::suggested_block",
    "GeneratedKernel::resident_blocks",
    "Graph::write_dot",
    "Graph::launch", // in a sweep of `Stream::capture`",
    // Calls of graphics cannot be made to fail; the group `graphics` lets allocations and releases within them fail.
    "Device::gl_ordinals",
    "GlBuffer::map",
    "GlBuffer::register",
    "GlBuffer::set_access",
    "GlImage::map",
    "GlImage::map_part",
    "GlImage::register",
    "GlImage::register_for_surfaces",
    "GlImage::set_access",
    "MappedGlBuffer::as_mut_slice",
    "MappedGlBuffer::in_out",
    "MappedGlBuffer::output",
    "MappedGlBuffer::unmap",
    "MappedGlImage::array_mut",
    "MappedGlImage::unmap",
    "Instance::compile",
    "Instance::compile_with_report",
    // Calls of the linker cannot be made to fail.
    "Linker::add_binary",
    "Linker::add_file",
    "Linker::add_image",
    "Linker::add_ptx",
    "Linker::into_image",
    "Linker::link", // loads as `Module::load_image_with`
    "Linker::new",
    "GrowingVec::push", // `GrowingVec::extend_from_slice`, whose sweep calls it
    "ManagedVec::advise",
    "ManagedVec::host",
    "ManagedVec::host_mut",
    "ManagedVec::prefetch_to_device",
    "ManagedVec::prefetch_to_host",
    "Module::function",
    "Module::global",
    "Module::load_fitting", // `Module::load`
    "Module::load_file",    // reads a file, then `Module::load_image`
    "Pending::is_done",
    "PinnedVec::device_address",
    "PinnedVec::into_vec",
    "PinnedVec::register", // locks memory that is there
    "PinnedVec::register_aligned",
    "PinnedVec::into_aligned",
    "AlignedVec::zeros", // memory of the host
    "AlignedVec::from_slice",
    "Stream::call_host",
    "Stream::capture_number",
    "Stream::from_foreign",
    "Stream::is_capturing",
    "Stream::is_idle",
    "Stream::retain_in_graph",
    "Stream::new",
    "Stream::priority",
    "Stream::synchronize",
    "Surface::of_array",
    "Stream::with_priority",
    "TensorMap::new",
    "Texture::of_array",
    "MipmappedArray::level",
    "MipmappedArray::level_mut",
    "Texture::of_line",
    "Texture::of_mipmaps",
    "Texture::of_plane",
    "Tuner::clear",
    "Tuner::forget",
    "Tuner::in_folder",
    "Tuner::new",
    "Tuner::tune_with", // does the work of `Tuner::tune`
    "Variants::run",    // runs a function of the user's
];

/// As [`changes`], for work whose last step, an event, may fail when the change is made already.
fn changes_late(
    call: Call,
    change: impl Fn(&mut DeviceVec<u32>, &DeviceVec<u32>) -> Result<()>,
    want: [u32; 3],
) -> Result<u64, Box<dyn Error>> {
    if call != Call::Event {
        return changes(call, change, want);
    }
    becomes(call, change, |got, done| got == want || (!done && got == HOST))
}

/// A test for each operation.
pub fn cases() -> impl Iterator<Item = (String, impl FnOnce(&()) -> Outcome + Send + 'static)> {
    sweeps(OPERATIONS, &KINDS)
}

pub fn no_fallible_function_is_forgotten(_: &()) -> Outcome {
    let sources = [
        include_str!("../../src/attributes/data.rs"),
        include_str!("../../src/attributes/device.rs"),
        include_str!("../../src/capture.rs"),
        include_str!("../../src/context/mod.rs"),
        include_str!("../../src/context/current.rs"),
        include_str!("../../src/cust_handles.rs"),
        include_str!("../../src/cust_memory.rs"),
        include_str!("../../src/device.rs"),
        include_str!("../../src/event.rs"),
        include_str!("../../src/generated.rs"),
        include_str!("../../src/global.rs"),
        include_str!("../../src/gl/buffer.rs"),
        include_str!("../../src/gl/image.rs"),
        include_str!("../../src/gl/mod.rs"),
        include_str!("../../src/graph.rs"),
        include_str!("../../src/kernel.rs"),
        include_str!("../../src/memory/fill.rs"),
        include_str!("../../src/memory/foreign.rs"),
        include_str!("../../src/memory/growing.rs"),
        include_str!("../../src/memory/ipc.rs"),
        include_str!("../../src/memory/managed.rs"),
        include_str!("../../src/memory/mod.rs"),
        include_str!("../../src/memory/own_pool.rs"),
        include_str!("../../src/memory/peer.rs"),
        include_str!("../../src/memory/pitched.rs"),
        include_str!("../../src/memory/slices.rs"),
        include_str!("../../src/texture/array.rs"),
        include_str!("../../src/texture/mipmaps.rs"),
        include_str!("../../src/texture/object.rs"),
        include_str!("../../src/texture/surface.rs"),
        include_str!("../../src/module/dynamic.rs"),
        include_str!("../../src/module/function.rs"),
        include_str!("../../src/module/linker.rs"),
        include_str!("../../src/module/mod.rs"),
        include_str!("../../src/occupancy.rs"),
        include_str!("../../src/pinned/aligned.rs"),
        include_str!("../../src/pinned/mod.rs"),
        include_str!("../../src/pinned/pool.rs"),
        include_str!("../../src/pointer.rs"),
        include_str!("../../src/pool.rs"),
        include_str!("../../src/preload.rs"),
        include_str!("../../src/scratch.rs"),
        include_str!("../../src/stream.rs"),
        include_str!("../../src/tensor_map.rs"),
        include_str!("../../src/tuner/mod.rs"),
        include_str!("../../src/tuner/variants.rs"),
    ];
    let found: Vec<String> = sources.into_iter().flat_map(fallible_functions).collect();
    none_forgotten(&found, OPERATIONS, OTHERS)
}

/// What fails in a Drop is the error of the next call on the device, once; what was not released stays allocated.
pub fn what_fails_in_a_drop_is_the_next_call_s_error(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let stream = device.stream();
    let (x, y) = (DeviceVec::from_slice(&stream, &HOST)?, DeviceVec::from_slice(&stream, &HOST)?);
    let (first, second) = (PinnedVec::<u32>::zeros(&device, 3)?, DeviceVec::<u32>::zeros(&stream, 3)?);
    let live = emulation.live_allocations()?;
    emulation.fail(Release, 1, true)?;
    drop(first);
    drop(second);
    emulation.stop_failing()?;
    // A wait for borrowed memory comes first, so the copy is whole though the call fails.
    for what in ["pinned memory", "a device buffer"] {
        let error = x.to_vec().unwrap_err();
        ensure!(Release.leads_to(&error) && error.to_string().contains(what), "{error}");
    }
    ensure_eq!(x.to_vec()?, HOST);
    ensure_eq!(emulation.live_allocations()?, live);
    drop((x, y));
    ensure_eq!(emulation.live_allocations()?, live - 2);
    Ok(())
}

/// A failure with a fatal code loses the device, and a new one can be had.
pub fn a_fatal_failure_loses_the_device(_: &()) -> Outcome {
    const ECC: gpu_driver::CudaCode = gpu_driver::CudaCode(214);
    for call in KINDS {
        let device = Emulated::new().open()?;
        let x = DeviceVec::from_slice(&device.stream(), &HOST)?;
        let emulation = device.emulation().ok_or("emulated")?;
        emulation.fail_with(call, 1, false, ECC)?;
        let work = || -> Result<()> {
            let mut inputs = Launches {
                kernel: KERNELS.kernel(&device, &())?,
                x: x.try_clone()?,
                y: DeviceVec::zeros(&Stream::new(&device)?, 3)?,
                stream: device.stream(),
            };
            typed(&mut inputs)
        };
        for _ in 0..2 {
            let error = work().unwrap_err();
            ensure!(matches!(error, DriverError::DeviceLost { code: ECC, .. }), "{call:?}: {error}");
            ensure!(error.to_string().contains("asked for"), "{call:?}: {error}");
        }
        ensure!(emulation.live_allocations().is_err());
        ensure_eq!(DeviceVec::from_slice(&Emulated::new().open()?.stream(), &HOST)?.to_vec()?, HOST);
    }
    Ok(())
}

/// Operations with one mistake each, which the sweep must find.
pub fn mistakes_are_found(_: &()) -> Outcome {
    type Buffer = DeviceVec<u32>;
    fn find(operation: impl Fn(&mut Buffer) -> Result<Buffer>) -> Result<String, Box<dyn Error>> {
        let prepare = |device: &Device| DeviceVec::from_slice(&device.stream(), &HOST);
        let check = |buffer: &Buffer, clone: Option<&Buffer>| {
            ensure_eq!(buffer.to_vec()?, HOST);
            ensure_eq!(clone.unwrap_or(buffer).to_vec()?, HOST);
            Ok(())
        };
        Ok(sweep(Allocation, prepare, operation, check).err().ok_or("no mistake found")?.to_string())
    }
    let leaks = find(|buffer| {
        let first = buffer.try_clone()?;
        let second = buffer.try_clone();
        if second.is_err() {
            std::mem::forget(first);
        }
        second
    })?;
    ensure!(leaks.contains("Allocation number 2") && leaks.contains("2 live allocations after the error"), "{leaks}");
    let swallows = find(|buffer| buffer.try_clone().or_else(|_| DeviceVec::zeros(buffer.home(), 0)))?;
    ensure!(swallows.contains("Allocation number 1 and all later ones failing: no error"), "{swallows}");
    let other = find(|buffer| buffer.try_clone().map_err(|_| DriverError::NoDevice))?;
    ensure!(other.contains("another error than expected"), "{other}");
    let spoils = find(|buffer| {
        buffer.copy_from_slice(&NEW)?;
        let clone = buffer.try_clone()?;
        buffer.copy_from_slice(&HOST)?;
        Ok(clone)
    })?;
    ensure!(spoils.contains("the inputs after the error"), "{spoils}");
    let wrong = find(|buffer| DeviceVec::zeros(buffer.home(), 3))?;
    ensure!(wrong.contains("the next call's result"), "{wrong}");
    let always = find(|_| Err(DriverError::NoDevice))?;
    ensure!(always.contains("an error though no call failed"), "{always}");
    Ok(())
}

/// Each call of a large copy fails once: the copy is an error, or goes on with fewer buffers, and the next one is whole.
pub fn large_copies_that_fail_are_errors(_: &()) -> Outcome {
    let device = Emulated::new().open()?;
    let emulation = device.emulation().ok_or("emulated")?;
    let host: Vec<u32> = (0..(40 << 18) + 7).map(|i: u32| i.wrapping_mul(2654435761)).collect();
    let mut buffer = DeviceVec::from_slice(&device.stream(), &host)?;
    for call in [Copy, Call::Event] {
        for number in [1, 2, 5, 17, 20] {
            emulation.fail(call, number, false)?;
            let got = buffer.to_vec();
            ensure!(if call == Copy { got.is_err() } else { got.is_err() || got.is_ok_and(|got| got == host) });
            ensure!(buffer.to_vec()? == host, "after {call:?} {number} of a copy to the host");
            emulation.fail(call, number, false)?;
            let done = buffer.copy_from_slice(&host);
            ensure!(call != Copy || done.is_err());
            buffer.copy_from_slice(&host)?;
            ensure!(buffer.to_vec()? == host, "after {call:?} {number} of a copy to the device");
        }
    }
    Ok(())
}
