//! Facts of devices and kernels; needs a device and a compiler.

use std::{
    panic::resume_unwind,
    ptr::null_mut,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use gpu_driver::{
    Arch, Attribute, CacheConfig, Device, DeviceVec, DriverError, Event, HostOut, LaunchConfig, Limit, Program, Stream,
    profiler,
};
use testkit::{Outcome, ensure, ensure_eq};

pub fn attributes_have_names(device: &Device) -> Outcome {
    let all = device.attributes()?;
    ensure!(all.len() > 80, "{}", all.len());
    for (attribute, value) in &all {
        ensure!(!attribute.name().is_empty());
        ensure_eq!(i64::from(device.attribute(*attribute)?), i64::from((*value).max(0)));
    }
    let of = |attribute| all.iter().find(|(other, _)| *other == attribute).map(|(_, value)| *value);
    ensure_eq!(of(Attribute::WARP_SIZE), Some(32));
    ensure_eq!(of(Attribute::MULTIPROCESSOR_COUNT), Some(device.multiprocessors()? as i32));
    let (major, minor) = device.compute_capability();
    ensure_eq!(of(Attribute::COMPUTE_CAPABILITY_MAJOR), Some(major as i32));
    ensure_eq!(of("compute_capability_minor".parse()?), Some(minor as i32));
    ensure_eq!(device.memory_bytes(), device.memory()?.1);
    Ok(())
}

pub fn devices_are_found_by_name_and_place(device: &Device) -> Outcome {
    let id = device.pci_bus_id()?;
    ensure!(id.matches(':').count() == 2 && id.contains('.'), "{id}");
    ensure!(device.uuid()? != [0; 16]);
    let by_place = Device::by_pci_bus_id(&id)?;
    ensure_eq!((by_place.ordinal(), by_place.pci_bus_id()?), (device.ordinal(), id));
    let by_name = Device::by_name(&device.name().to_uppercase())?;
    ensure_eq!(by_name.name(), device.name());
    ensure!(Device::with_most_free_memory()?.memory()?.0 > 0);
    let told = |result: Result<Device, DriverError>| result.err().map(|error| error.to_string()).unwrap_or_default();
    let text = told(Device::by_name("Voodoo 2"));
    ensure!(text.contains("no device `Voodoo 2`") && text.contains(device.name()), "{text}");
    let text = told(Device::by_pci_bus_id("0000:ff:1f.7"));
    ensure!(text.contains("no device `0000:ff:1f.7`") && text.contains(&device.pci_bus_id()?), "{text}");
    ensure!(matches!(Device::by_pci_bus_id("\0"), Err(DriverError::Nul { .. })));
    Ok(())
}

pub fn limits_and_preferences_are_read_and_set(device: &Device) -> Outcome {
    let before = device.limit(Limit::StackBytes)?;
    ensure!(before > 0, "threads have stacks");
    device.set_limit(Limit::StackBytes, before + 1024)?;
    ensure!(device.is_emulated() || device.limit(Limit::StackBytes)? >= before + 1024);
    device.set_limit(Limit::StackBytes, before)?;
    device.set_cache_config(CacheConfig::L1)?;
    ensure!([CacheConfig::L1, CacheConfig::None].contains(&device.cache_config()?));
    device.set_cache_config(CacheConfig::None)?;
    ensure_eq!(device.cache_config()?, CacheConfig::None);
    let refused = Stream::new(device)?.capture(|| device.set_limit(Limit::StackBytes, before));
    ensure!(matches!(refused, Err(DriverError::InCapture { .. })));
    Ok(())
}

pub fn facts_for_launches_are_those_of_the_driver(device: &Device) -> Outcome {
    let data = device.data()?;
    ensure_eq!((data.warp_size, data.max_threads_per_block, data.max_block), (32, 1024, [1024, 1024, 64]));
    ensure_eq!(data.max_grid, [i32::MAX as u32, 65_535, 65_535]);
    ensure_eq!(data.multiprocessors, device.multiprocessors()?);
    ensure!((32..=64).contains(&data.warps_per_multiprocessor) && data.blocks_per_multiprocessor >= 16, "{data:?}");
    ensure!(
        data.registers_per_block <= data.registers_per_multiprocessor && data.registers_per_block >= 32_768,
        "{data:?}"
    );
    let shared = [
        data.shared_bytes_per_block,
        data.dynamic_shared_bytes_per_block,
        data.dynamic_shared_bytes_per_block + data.reserved_shared_bytes_per_block,
        data.shared_bytes_per_multiprocessor,
    ];
    ensure!(shared.is_sorted() && shared[0] >= 48 * 1024, "{data:?}");
    ensure!(data.l2_bytes > 1 << 18 && data.clock_khz > 100_000, "{data:?}");
    Ok(())
}

/// A table of each thread, whose index the compiler does not know: it lies in local memory.
pub const LOCAL: &str = r#"
extern "C" __global__ void look_up(int *x) {
    int table[64];
    for (int i = 0; i < 64; ++i) table[i] = x[i] * i;
    for (int i = 0; i < 64; ++i) table[x[i] & 63] += table[(x[i] + i) & 63];
    x[threadIdx.x] = table[x[threadIdx.x] & 63];
}"#;

pub fn a_table_of_a_thread_lies_in_local_memory(_: &()) -> Outcome {
    let binary = Program::from(LOCAL).option("--ptxas-options=-v").compile(Arch::new(9, 0))?;
    ensure!(binary.log().contains("256 bytes stack frame"), "{}", binary.log());
    Ok(())
}

pub fn kernels_tell_their_resources(device: &Device) -> Outcome {
    let text = "extern \"C\" __global__ void __launch_bounds__(96) f(int *x) {\n\
        __shared__ int tile[96];\n tile[threadIdx.x] = 1;\n __syncthreads();\n x[threadIdx.x] = tile[(threadIdx.x + 1) % blockDim.x];\n}";
    let f = device.compile(text)?.function("f")?;
    let facts = f.attributes()?;
    ensure_eq!(facts.max_threads_per_block, 96);
    ensure!(facts.registers > 0 && facts.max_dynamic_shared_bytes >= 40_000, "{facts:?}");
    ensure!(device.is_emulated() || facts.shared_bytes >= 384, "{facts:?}");
    // The emulated device does not know them.
    let local = device.compile(LOCAL)?.function("look_up")?.attributes()?;
    ensure!(device.is_emulated() || local.local_bytes >= 256, "{local:?}");
    ensure!(device.is_emulated() || facts.local_bytes == 0, "{facts:?}");
    let number = device.arch().number();
    ensure!(device.is_emulated() || facts.binary_version == number, "{facts:?}");
    f.set_cache_config(CacheConfig::Shared)?;
    let (few, many) = (f.max_active_blocks(96, 0)?, f.max_active_blocks(96, 40_000)?);
    ensure!(few > many && many > 0, "{few} {many}");
    ensure_eq!(f.max_active_blocks(1025, 0).unwrap_or(0), 0);
    let warps = f64::from(device.data()?.warps_per_multiprocessor);
    ensure_eq!(f.occupancy(96, 0)?, f64::from(3 * few) / warps);
    ensure_eq!(f.occupancy(33, 40_000)?, f64::from(2 * f.max_active_blocks(33, 40_000)?) / warps);
    ensure!(f.occupancy(96, 0)? <= 1.0 && f.occupancy(96, 0)? > f.occupancy(96, 40_000)?);
    let (threads, blocks) = f.suggested_block(0)?;
    ensure!((1..=96).contains(&threads) && blocks >= device.multiprocessors()?, "{threads} {blocks}");
    ensure!(matches!(f.suggested_block(u32::MAX), Err(DriverError::SharedMemory { .. })));
    let mut x = vec![0i32; threads as usize];
    // SAFETY: each thread writes one element.
    unsafe { f.launch(LaunchConfig::new(1, threads), (HostOut(&mut x),), &device.stream())? };
    ensure!(x.iter().all(|&x| x == 1), "{x:?}");
    Ok(())
}

pub fn streams_have_priorities(device: &Device) -> Outcome {
    let (least, greatest) = device.stream_priorities()?;
    ensure!(least >= greatest, "{least} {greatest}");
    for (wish, want) in [(0, 0), (greatest, greatest), (greatest - 100, greatest)] {
        let stream = Stream::with_priority(device, wish)?;
        ensure_eq!(stream.priority()?, want);
        ensure_eq!(DeviceVec::from_slice(&stream, &[wish])?.to_vec()?, [wish]);
    }
    Ok(())
}

pub fn a_function_of_the_host_is_called_in_the_stream_s_order(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (sender, receiver) = mpsc::channel();
    for number in 0..3 {
        let sender = sender.clone();
        stream.call_host(move || _ = sender.send(number))?;
    }
    // A panic is printed, and ends its function alone.
    stream.call_host(|| panic!("this panic is part of the test"))?;
    // So is that of a payload that panics when it is dropped. It has no message here: the hook is not asked.
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            resume_unwind(Box::new("gone wrong"));
        }
    }
    stream.call_host(|| resume_unwind(Box::new(Panics)))?;
    stream.synchronize()?;
    stream.call_host(move || _ = sender.send(3))?;
    stream.synchronize()?;
    ensure_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    let captured = stream.capture(|| {
        assert!(matches!(stream.call_host(|| {}), Err(DriverError::InCapture { .. })));
        Ok::<_, DriverError>(())
    });
    ensure!(captured.is_ok());
    Ok(())
}

pub fn events_without_time_and_with_sleep(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (untimed, blocking, timed) = (Event::untimed(device)?, Event::blocking(device)?, Event::new(device)?);
    for event in [&untimed, &blocking, &timed] {
        event.record(&stream)?;
        event.synchronize()?;
        ensure!(event.is_done()?);
    }
    ensure!(timed.elapsed_ms_since(&blocking)? >= 0.0);
    ensure!(timed.elapsed_ms_since(&untimed).is_err() && untimed.elapsed_ms_since(&timed).is_err());
    Ok(())
}

pub fn a_graph_is_written_for_graphviz(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let set = device.compile("extern \"C\" __global__ void set_one(int *x) { *x = 1; }")?.function("set_one")?;
    let mut x = DeviceVec::<i32>::zeros(&stream, 4)?;
    let (graph, ()) = stream.capture(|| {
        x.set_zero()?;
        // SAFETY: one thread writes one element.
        unsafe { set.launch(LaunchConfig::new(1, 1), (x.in_out(),), &stream) }
    })?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("graph.dot");
    graph.write_dot(&path)?;
    let text = std::fs::read_to_string(&path)?;
    ensure!(text.starts_with("digraph") && text.contains("set_one") && text.contains("->"), "{text}");
    ensure!(graph.write_dot("/nowhere/graph.dot").is_err());
    // SAFETY: the buffer is alive, and nothing else uses it.
    unsafe { graph.launch(&stream)? };
    ensure_eq!(x.to_vec()?, [1, 0, 0, 0]);
    Ok(())
}

/// Whether the others who own it let it go within some seconds.
pub fn is_given_back<T>(owned: &Arc<T>) -> bool {
    (0..2000).any(|_| {
        Arc::strong_count(owned) == 1 || {
            thread::sleep(Duration::from_millis(5));
            false
        }
    })
}

pub fn a_stream_of_another_library_is_used_and_given_back(device: &Device) -> Outcome {
    // The other library is this one: its stream is the owner's.
    let theirs = Arc::new(Stream::new(device)?);
    // SAFETY: the stream lives as long as the owner.
    let stream = unsafe { Stream::from_foreign(device, theirs.as_raw(), theirs.clone())? };
    ensure_eq!((stream.as_raw(), Arc::strong_count(&theirs)), (theirs.as_raw(), 2));
    let x = DeviceVec::from_slice(&stream, &[1, 2, 3])?;
    let (graph, ()) = stream.capture(|| stream.with_scratch(100, |_| Ok::<_, DriverError>(())))?;
    stream.with_scratch(100, |_| Ok::<_, DriverError>(()))?;
    ensure_eq!(x.to_vec()?, [1, 2, 3]);
    device.synchronize()?;
    drop((stream, graph));
    ensure_eq!(Arc::strong_count(&theirs), 2); // the buffer has it for its home
    drop(x);
    // A thread that waits for all streams of the device, while another one captures, has each of them for that time.
    ensure!(is_given_back(&theirs), "{} owners", Arc::strong_count(&theirs));
    ensure_eq!(DeviceVec::from_slice(&theirs, &[4])?.to_vec()?, [4]); // it was not destroyed
    // SAFETY: it is refused.
    let null = unsafe { Stream::from_foreign(device, null_mut(), ()) };
    ensure!(matches!(null, Err(DriverError::Length { .. })));
    Ok(())
}

pub fn a_profiler_is_started_and_stopped(device: &Device) -> Outcome {
    profiler::start(device)?;
    let range = profiler::range("a range, whether anybody listens or not");
    profiler::mark("a moment");
    drop(range);
    Ok(profiler::stop(device)?)
}
