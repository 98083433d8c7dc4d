//! Objects of this crate as cust's, and the reverse.

use std::panic::Location;

use gpu_driver::{
    Device, DeviceVec, DriverError, Event, Function, LaunchConfig, Module, PinnedPool, PinnedVec, Program, Stream,
    cust::{
        self,
        context::{Context, CurrentContext},
        event::{EventFlags, EventStatus},
        function::FunctionAttribute,
        launch,
        memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer},
        stream::StreamFlags,
    },
    emulated::Emulated,
};
use testkit::{Outcome, ensure, ensure_eq};

const TWICE: &str =
    "extern \"C\" __global__ void twice(unsigned *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }";

fn current() -> usize {
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is valid for the call.
    let _ = unsafe { cust::sys::cuCtxGetCurrent(&mut raw) };
    raw as usize
}

/// cust launches our kernel on our stream and buffer, and records our event; all stay ours.
pub fn our_handles_are_lent_to_cust(device: &Device) -> Outcome {
    let module = device.compile(TWICE)?;
    let (stream, event) = (Stream::new(device)?, Event::new(device)?);
    let before = current();
    let context = device.as_cust()?;
    ensure_eq!(current(), before);
    ensure_eq!(context.as_raw(), device.as_raw_context());
    let mut x = DeviceVec::from_slice(&stream, &[1u32, 2, 3])?;
    let _current = device.make_current()?;
    CurrentContext::set_current(&*context)?;
    for round in 1..3u32 {
        {
            // SAFETY: the work is on the buffer's home, and views of the stream are not used within captures.
            let theirs = unsafe { stream.as_cust()? };
            ensure_eq!(theirs.as_inner(), stream.as_raw());
            let (lent, mark) = (module.as_cust()?, event.as_cust()?);
            let twice = lent.get_function("twice")?;
            // SAFETY: three threads double three elements.
            unsafe { launch!(twice<<<1, 32, 0, theirs>>>(x.as_cust_pointer(), 3i32))? };
            mark.record(&theirs)?;
            mark.synchronize()?;
            ensure_eq!(mark.query()?, EventStatus::Ready);
        }
        // Nothing was destroyed with the views.
        ensure!(event.is_done()?, "our event has the mark that cust has recorded");
        ensure_eq!(x.to_vec()?, [1, 2, 3].map(|x| x << (2 * round - 1)));
        let ours = module.function("twice")?;
        // SAFETY: as above.
        unsafe { ours.launch(LaunchConfig::new(1, 32), (x.in_out(), 3), &stream)? };
    }
    let ours = module.function("twice")?;
    // SAFETY: as above.
    let theirs = unsafe { stream.as_cust()? };
    let threads = ours.with_cust(|twice| {
        // SAFETY: as above.
        unsafe { launch!(twice<<<1, 32, 0, theirs>>>(x.as_cust_pointer(), 3i32))? };
        twice.get_attribute(FunctionAttribute::MaxThreadsPerBlock)
    })??;
    ensure_eq!(threads as u32, ours.attributes()?.max_threads_per_block);

    // SAFETY: the buffer outlives the view, and each copy has run before the next use.
    let mut slice = **unsafe { x.as_cust()? };
    let mut host = [0u32; 3];
    slice.copy_to(&mut host)?;
    ensure_eq!(host, [32, 64, 96]);
    let pinned = PinnedVec::from_slice(device, &[7u32, 8, 9])?;
    // SAFETY: the pinned memory lives until the stream is waited for.
    unsafe { slice.async_copy_from(&*pinned.as_cust(), &theirs)? };
    stream.synchronize()?;
    ensure_eq!(x.to_vec()?, *pinned);
    Ok(())
}

/// Our launches on cust's objects, which then become ours.
pub fn handles_of_cust_become_ours(device: &Device) -> Outcome {
    let _current = device.make_current()?;
    let context = Context::new(cust::device::Device::get_device(device.ordinal() as u32)?)?;
    let same = Device::from_cust(&context)?;
    ensure_eq!(&same, device);
    drop(context);

    let binary = Program::new("twice.cu", TWICE).compile(device.arch())?;
    let theirs = cust::module::Module::from_cubin(binary.image(), &[])?;
    let stream = Stream::from_cust(device, cust::stream::Stream::new(StreamFlags::DEFAULT, None)?)?;
    let mut x = DeviceVec::from_slice(&stream, &[1u32, 2, 3])?;
    let function = theirs.get_function("twice")?;
    // SAFETY: the module outlives the kernel and its work, which is waited for.
    let twice = unsafe { Function::from_cust(device, &function, "theirs") };
    // SAFETY: three threads double three elements.
    unsafe { twice.launch(LaunchConfig::new(1, 32), (x.in_out(), 3), &stream)? };
    ensure_eq!(x.to_vec()?, [2, 4, 6]);
    // SAFETY: never launched: the number of arguments differs.
    let error = unsafe { twice.launch(LaunchConfig::new(1, 32), (x.in_out(),), &stream) }.err();
    ensure!(error.is_some_and(|error| error.to_string().contains("theirs")), "the kernel is named");
    drop(twice);
    // SAFETY: loaded with the device's context current.
    let twice = unsafe { Module::from_cust(device, theirs)? }.function("twice")?;
    // SAFETY: as above.
    unsafe { twice.launch(LaunchConfig::new(1, 32), (x.in_out(), 3), &stream)? };

    let (start, end) = (cust::event::Event::new(EventFlags::DEFAULT)?, cust::event::Event::new(EventFlags::DEFAULT)?);
    // SAFETY: the stream is in no capture.
    start.record(&*unsafe { stream.as_cust()? })?;
    let (start, end) = (Event::from_cust(device, start)?, Event::from_cust(device, end)?);
    end.record(&stream)?;
    ensure!(end.elapsed_ms_since(&start)? >= 0.0, "time goes on");

    let locked = LockedBuffer::new(&5u32, 3)?;
    // SAFETY: the context was current, and nothing uses the buffer.
    let pinned = unsafe { PinnedVec::from_cust(device, locked) };
    ensure_eq!(*pinned, [5, 5, 5]);
    let pinned = x.upload(pinned)?.wait()?;
    ensure_eq!(x.to_vec()?, *pinned);
    drop((pinned, start, end, twice, x, stream));
    device.synchronize()?;
    Ok(())
}

/// Streams, events and modules change their owner where nothing of ours needs them, and are destroyed once.
pub fn our_streams_events_and_modules_become_cust_s(device: &Device) -> Outcome {
    let is_refused = |error: Option<DriverError>, what: &str| match error {
        Some(error @ DriverError::Length { .. }) => error.to_string().contains(what),
        _ => false,
    };
    let context = device.make_current()?;
    let mut x = DeviceVec::from_slice(&Stream::new(device)?, &[1u32, 2, 3])?;
    let (one, module) = (Stream::new(device)?, device.compile(TWICE)?);
    one.with_scratch(64, |_| Ok::<_, DriverError>(()))?;
    let (stream, event, module) = (one.into_cust()?, Event::new(device)?.into_cust()?, module.into_cust()?);
    x.home().synchronize()?;
    let twice = module.get_function("twice")?;
    // SAFETY: three threads double three elements, which nobody else uses meanwhile.
    unsafe { launch!(twice<<<1, 32, 0, stream>>>(x.as_cust_pointer(), 3i32))? };
    event.record(&stream)?;
    event.synchronize()?;
    ensure_eq!(x.to_vec()?, [2, 4, 6]);
    drop((stream, event, module));
    device.synchronize()?;

    let main = device.stream().into_cust();
    ensure!(is_refused(main.err(), "main stream"), "the main stream");
    let home = x.home().clone().into_cust();
    ensure!(is_refused(home.err(), "buffers or clones"), "the home of a buffer");
    let theirs = Stream::from_cust(device, cust::stream::Stream::new(StreamFlags::DEFAULT, None)?)?;
    let theirs = theirs.into_cust();
    ensure!(is_refused(theirs.err(), "another library"), "cust's own");
    let module = device.compile(TWICE)?;
    let twice = module.function("twice")?;
    let used = module.into_cust();
    ensure!(is_refused(used.err(), "others share"), "a module with a kernel");
    // SAFETY: as above.
    unsafe { twice.launch(LaunchConfig::new(1, 32), (x.in_out(), 3), &device.stream())? };
    ensure_eq!(x.to_vec()?, [4, 8, 12]);
    let module = device.compile(TWICE)?;
    let (_graph, refused) = Stream::new(device)?.capture(|| Ok::<_, DriverError>(module.into_cust().err()))?;
    ensure!(matches!(refused, Some(DriverError::InCapture { op: "Module::into_cust" })), "{refused:?}");
    drop(context);
    device.synchronize()?;
    // They outlive the last handle of ours.
    let own = if device.is_emulated() { Emulated::new().open()? } else { device.clone() };
    let (stream, event) = (Stream::new(&own)?.into_cust()?, Event::new(&own)?.into_cust()?);
    drop(own);
    event.record(&stream)?;
    Ok(event.synchronize()?)
}

/// Buffers change their owner, and are freed once.
pub fn our_buffers_become_cust_s(device: &Device) -> Outcome {
    // A device of its own counts what is alive.
    let own = if device.is_emulated() { Emulated::new().open()? } else { device.clone() };
    let live = || own.emulation().map(|emulation| emulation.live_allocations()).transpose();
    let (stream, before) = (own.stream(), live()?);
    let _current = own.make_current()?;
    let x = DeviceVec::from_slice(&stream, &[1u32, 2, 3])?.into_cust()?;
    let locked = PinnedVec::from_slice(&own, &[4u32, 5, 6])?.into_cust()?;
    let empty: DeviceBuffer<u32> = DeviceVec::zeros(&stream, 0)?.into_cust()?;
    ensure_eq!(x.as_host_vec()?, [1, 2, 3]);
    ensure_eq!(*locked, [4, 5, 6]);
    ensure_eq!(empty.len(), 0);
    // SAFETY: the buffer is of this context, and no work on it is left.
    let adopted = unsafe { DeviceVec::from_cust(&stream, x, None)? };
    let error = adopted.into_cust().err();
    ensure!(matches!(error, Some(DriverError::Length { op: "DeviceVec::into_cust", .. })), "{error:?}");
    let again = DeviceVec::from_slice(&stream, &[1u32])?.into_cust()?;
    drop((again, locked, empty));
    let of_pool = PinnedPool::new(&own).zeros::<u32>(4)?;
    for foreign in [PinnedVec::register(&own, vec![0u32; 4096])?, of_pool] {
        let error = foreign.into_cust().err();
        ensure!(matches!(error, Some(DriverError::Length { op: "PinnedVec::into_cust", .. })), "{error:?}");
    }
    // What cust owns is alive elsewhere.
    let (trace, first) = (own.trace_allocations(), line!());
    let x = DeviceVec::from_slice(&stream, &[1u32])?;
    let given = (x.into_cust()?, PinnedVec::from_slice(&own, &[2u32])?.into_cust()?);
    // On a GPU the device has allocations of other tests too.
    let is_recorded = |last: u32| {
        let is_ours = |place: &Location| place.file() == file!() && (first..last).contains(&place.line());
        trace.alive().iter().any(|one| is_ours(one.place))
    };
    ensure!(!is_recorded(line!()), "{trace}");
    let kept = DeviceVec::from_slice(&stream, &[3u32])?;
    ensure!(is_recorded(line!()), "{trace}");
    drop((given, kept, trace));
    own.synchronize()?;
    ensure_eq!(live()?, before);
    Ok(())
}

pub fn buffers_that_cust_owns_outlive_our_device(device: &Device) -> Outcome {
    let own = if device.is_emulated() { Emulated::new().open()? } else { device.clone() };
    let memory = DeviceVec::from_slice(&own.stream(), &[1u32, 2, 3])?.into_cust()?;
    let locked = PinnedVec::from_slice(&own, &[4u32, 5, 6])?.into_cust()?;
    let context = own.make_current()?;
    ensure_eq!(memory.as_host_vec()?, [1, 2, 3]);
    drop((context, own));
    // The last handles of the device have gone, where it was of this test alone.
    ensure_eq!(*locked, [4, 5, 6]);
    drop((memory, locked));
    Ok(())
}
