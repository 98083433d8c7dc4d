//! Pools of device memory, the device's and a program's, and of pinned memory: what they hold, their limits, and the places of allocations.

use gpu_driver::{
    ArrayShape, CudaArray, Device, DevicePool, DeviceVec, DriverError, GrowingVec, ManagedVec, MipmappedArray,
    PinnedPool, PinnedPoolUse, PinnedVec, Stream,
};
use testkit::{Outcome, ensure, ensure_eq};

/// Used and held bytes, and the peak.
fn bytes(usage: PinnedPoolUse) -> [usize; 3] {
    [usage.used_bytes, usage.held_bytes, usage.peak_bytes]
}

pub fn pinned_memory_of_all_sizes_is_kept_in_a_pool(device: &Device) -> Outcome {
    let pool = PinnedPool::new(device);
    ensure_eq!(pool.usage(), PinnedPoolUse::default());
    let small = pool.from_slice(&[7u8; 10])?;
    let large = pool.from_slice(&[1.5f64; 100_000])?;
    const SMALL: usize = 4096;
    let large_bytes = bytes(pool.usage())[0] - SMALL;
    ensure!((800_000..=1_000_000).contains(&large_bytes), "{large_bytes}");
    ensure!(large.iter().all(|&x| x == 1.5) && *small == [7; 10], "contents");
    let place = large.as_ptr() as usize;
    drop(large);
    drop(small);
    let usage = pool.usage();
    ensure_eq!(bytes(usage), [0, SMALL + large_bytes, SMALL + large_bytes]);
    ensure_eq!((usage.used_buffers, usage.held_buffers), (0, 2));
    // The same memory once more, cleared, for a length of the same class and another type.
    let again = pool.zeros::<u32>(200_000 - 7)?;
    ensure!(again.as_ptr() as usize == place && again.iter().all(|&x| x == 0), "not reused, or not cleared");
    ensure_eq!(bytes(pool.usage()), [large_bytes, SMALL, SMALL + large_bytes]);
    // Copies use it as any pinned memory.
    let mut x = DeviceVec::<u32>::zeros(&Stream::new(device)?, again.len())?;
    let uploaded = x.upload(again)?.wait()?;
    let back = x.download(uploaded)?.wait()?;
    ensure!(back.as_ptr() as usize == place && back.to_vec().len() == x.len(), "another buffer");
    pool.free_held();
    ensure_eq!(bytes(pool.usage()), [large_bytes, 0, SMALL + large_bytes]);
    // Vectors outlive their pool, and go to none then.
    pool.stop_holding();
    drop(pool.zeros::<u8>(5)?);
    let copy = pool.clone();
    drop(pool);
    drop(back);
    ensure_eq!(bytes(copy.usage())[..2], [0, 0]);
    let last = copy.from_slice(&[3u8; 3])?;
    drop(copy);
    ensure_eq!(last.into_vec()?, [3; 3]);
    ensure_eq!(PinnedPool::new(device).zeros::<u64>(0)?.len(), 0);
    Ok(())
}

pub fn a_pool_of_pinned_memory_has_a_limit(device: &Device) -> Outcome {
    let pool = PinnedPool::new(device);
    pool.set_limit(100_000);
    let first = pool.zeros::<u8>(60_000)?;
    let used = pool.usage().used_bytes;
    let error = pool.zeros::<u8>(60_000).err().ok_or("beyond the limit")?;
    let is_right =
        matches!(error, DriverError::OverLimit { used_bytes, limit_bytes: 100_000, .. } if used_bytes == used);
    ensure!(is_right && error.to_string().contains("of pinned memory"), "{error:?}");
    ensure!(pool.zeros::<u8>(usize::MAX / 2).is_err() && pool.zeros::<u64>(usize::MAX).is_err(), "too large");
    // Held memory makes room.
    drop(first);
    ensure_eq!(pool.usage().held_buffers, 1);
    let second = pool.zeros::<u8>(90_000)?;
    ensure_eq!((pool.usage().held_buffers, pool.usage().used_buffers), (0, 1));
    ensure!(pool.usage().peak_bytes <= 100_000, "{pool:?}");
    pool.set_limit(1000);
    drop(second);
    ensure_eq!(bytes(pool.usage())[..2], [0, 0]);
    // Eight threads at once.
    pool.set_limit(usize::MAX);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let pool = &pool;
            scope.spawn(move || {
                for i in 0..50 {
                    let buffer = pool.from_slice(&vec![thread as u8; 1 + 1000 * (i % 9)]);
                    assert!(buffer.is_ok_and(|buffer| buffer.iter().all(|&x| x == thread as u8)));
                }
            });
        }
    });
    ensure_eq!(pool.usage().used_bytes, 0);
    Ok(())
}

pub fn the_pool_tells_its_peaks(device: &Device) -> Outcome {
    const BYTES: u64 = 32 << 20;
    let stream = Stream::new(device)?;
    device.synchronize()?;
    device.reset_pool_peaks()?;
    let before = device.pool_use()?;
    ensure_eq!((before.peak_used_bytes, before.peak_reserved_bytes), (before.used_bytes, before.reserved_bytes));
    drop(DeviceVec::<u8>::zeros(&stream, BYTES as usize)?);
    device.synchronize()?;
    let after = device.pool_use()?;
    ensure_eq!(after.used_bytes, before.used_bytes);
    ensure!(after.peak_used_bytes >= before.used_bytes + BYTES, "{after:?}");
    ensure!(after.peak_reserved_bytes >= after.peak_used_bytes, "{after:?}");
    device.reset_pool_peaks()?;
    ensure_eq!(device.pool_use()?.peak_used_bytes, after.used_bytes);
    Ok(())
}

pub fn error_buffers_beyond_the_limit_of_the_pool(device: &Device) -> Outcome {
    const BYTES: usize = 16 << 20;
    let stream = Stream::new(device)?;
    device.synchronize()?;
    let used = device.pool_use()?.used_bytes;
    device.set_pool_limit(used + (BYTES + BYTES / 2) as u64);
    let within = || -> Outcome {
        let mut first = DeviceVec::<u8>::zeros(&stream, BYTES)?;
        let error = DeviceVec::<u8>::zeros(&stream, BYTES).err().ok_or("beyond the limit")?;
        let is_right = matches!(error, DriverError::OverLimit { requested_bytes: BYTES, .. });
        ensure!(is_right && error.to_string().contains("the limit that the program has set"), "{error:?}");
        // A buffer whose release is under way counts no more.
        for _ in 0..20 {
            drop(first);
            first = DeviceVec::zeros(&stream, BYTES)?;
        }
        Ok(())
    };
    let outcome = within();
    device.set_pool_limit(u64::MAX);
    outcome?;
    let _three = [(); 3].map(|()| DeviceVec::<u8>::zeros(&stream, BYTES).is_ok());
    Ok(())
}

pub fn buffers_of_a_pool_of_one_s_own(device: &Device) -> Outcome {
    const BYTES: usize = 128 << 20;
    let (pool, stream) = (DevicePool::new(device)?, Stream::new(device)?);
    ensure_eq!((pool.usage()?.used_bytes, pool.usage()?.reserved_bytes, pool.release_threshold()?), (0, 0, u64::MAX));
    let mut x = pool.from_slice(&stream, &[1.5f32, -2.0, 3.0])?;
    x.copy_from_slice(&[4.0, 5.0, 6.0])?;
    ensure_eq!((x.to_vec()?, x.try_clone()?.to_vec()?), (vec![4.0, 5.0, 6.0], vec![4.0, 5.0, 6.0]));
    ensure_eq!(
        (pool.zeros::<u64>(&stream, 0)?.len(), x.home() == &stream, x.device() == pool.device()),
        (0, true, true)
    );
    let small = pool.usage()?.used_bytes;
    ensure!((12..BYTES as u64).contains(&small), "{small}");
    let large = pool.zeros::<u8>(&stream, BYTES)?;
    ensure!(large.slice(BYTES - 1000..)?.to_vec()?.iter().all(|&byte| byte == 0), "not cleared");
    ensure!(pool.usage()?.used_bytes >= small + BYTES as u64, "{:?}", pool.usage()?);
    drop(large);
    device.synchronize()?;
    // It keeps what was released, until it is told otherwise.
    let kept = pool.usage()?;
    ensure_eq!(kept.used_bytes, small);
    ensure!(kept.reserved_bytes >= BYTES as u64 && kept.peak_used_bytes >= small + BYTES as u64, "{kept:?}");
    pool.reset_peaks()?;
    ensure_eq!(pool.usage()?.peak_used_bytes, small);
    pool.trim(0)?;
    ensure!(pool.usage()?.reserved_bytes < kept.reserved_bytes, "{:?}", pool.usage()?);
    pool.set_release_threshold(0)?;
    ensure_eq!(pool.release_threshold()?, 0);
    drop(pool.zeros::<u8>(&stream, BYTES)?);
    device.synchronize()?;
    stream.synchronize()?;
    ensure!(pool.usage()?.reserved_bytes < BYTES as u64, "{:?}", pool.usage()?);
    pool.enable_peer_access(device)?;
    ensure_eq!(x.to_vec()?, [4.0, 5.0, 6.0]);
    Ok(())
}

pub fn a_pool_is_dropped_before_its_buffers(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let (pool, other) = (DevicePool::new(device)?, DevicePool::new(device)?);
    let x = pool.from_slice(&stream, &vec![7u32; 100_000])?;
    let y = pool.clone().from_slice(&stream, &[9u8])?;
    drop(pool);
    // Memory of another pool, and of the device's, is other memory.
    let (z, w) =
        (other.from_slice(&stream, &vec![1u32; 100_000])?, DeviceVec::from_slice(&stream, &vec![2u32; 100_000])?);
    let places = [x.as_raw(), z.as_raw(), w.as_raw()];
    ensure!(places[0] != places[1] && places[1] != places[2] && places[0] != places[2], "{places:?}");
    ensure!(x.to_vec()?.iter().all(|&x| x == 7) && y.to_vec()? == [9], "changed behind the drop of the pool");
    drop((x, other));
    ensure_eq!((y.to_vec()?, z.to_vec()?[99_999], w.to_vec()?[0]), (vec![9], 1, 2));
    // Many pools, each dropped before a buffer of it.
    for round in 0..50u32 {
        let x = DevicePool::new(device)?.from_slice(&stream, &[round; 10])?;
        ensure_eq!(x.to_vec()?, [round; 10]);
    }
    Ok(())
}

pub fn error_pools_beyond_their_limit_and_in_captures(device: &Device) -> Outcome {
    const BYTES: usize = 16 << 20;
    let (pool, stream) = (DevicePool::new(device)?, Stream::new(device)?);
    pool.set_limit((BYTES + BYTES / 2) as u64);
    let mut first = pool.zeros::<u8>(&stream, BYTES)?;
    let error = pool.zeros::<u8>(&stream, BYTES).err().ok_or("beyond the limit")?;
    ensure!(matches!(error, DriverError::OverLimit { requested_bytes: BYTES, .. }), "{error:?}");
    // Others have no part in the limit, and a release that is under way counts no more.
    drop(DeviceVec::<u8>::zeros(&stream, BYTES)?);
    for _ in 0..20 {
        drop(first);
        first = pool.zeros(&stream, BYTES)?;
    }
    let huge = pool.zeros::<u8>(&stream, usize::MAX / 4);
    ensure!(matches!(huge, Err(DriverError::OutOfMemory { .. })), "{huge:?}");
    ensure!(matches!(pool.zeros::<u64>(&stream, usize::MAX / 4), Err(DriverError::TooLarge { .. })));
    let captured = stream.capture(|| pool.zeros::<u8>(&stream, 4).map(drop));
    ensure!(matches!(captured, Err(DriverError::InCapture { .. })), "{captured:?}");
    pool.set_limit(u64::MAX);
    ensure_eq!(pool.zeros::<u8>(&stream, 2 * BYTES)?.len(), 2 * BYTES);
    Ok(())
}

pub fn allocations_that_are_alive_tell_their_places(device: &Device) -> Outcome {
    let stream = Stream::new(device)?;
    let earlier = DeviceVec::<f32>::zeros(&stream, 10)?;
    let trace = device.trace_allocations();
    ensure_eq!((trace.alive().len(), trace.to_string()), (0, "no allocation is alive".to_owned()));
    let (line, x) = (line!(), DeviceVec::<f32>::zeros(&stream, 10)?);
    let copy = x.try_clone()?;
    let part = x.slice(..5)?.try_clone()?;
    let host = PinnedVec::from_slice(device, &[1u64; 3])?;
    let pooled = PinnedPool::new(device).zeros::<u8>(7)?;
    let registered = PinnedVec::register(device, vec![1u8; 9])?;
    let managed = ManagedVec::from_slice(&stream, &[1u16; 4])?;
    let mut growing = GrowingVec::<u32>::with_capacity(&stream, 1 << 20)?;
    let array = CudaArray::from_slice(&stream, ArrayShape::plane(2, 3), &[1.0f32; 6])?;
    let levels = MipmappedArray::<u32>::zeros(&stream, ArrayShape::plane(4, 4), 2)?;
    let zeros = CudaArray::<u8>::zeros(&stream, ArrayShape::line(9))?;
    drop(DeviceVec::from_slice(&stream, &[1u8; 100])?);
    let alive: Vec<_> = trace.alive().iter().map(|one| (one.owner, one.bytes, one.place.line() - line)).collect();
    let want = [
        ("DeviceVec", 40, 0),
        ("DeviceVec", 40, 1),
        ("DeviceVec", 20, 2),
        ("PinnedVec", 24, 3),
        ("PinnedVec", 7, 4),
        ("PinnedVec", 9, 5),
        ("ManagedVec", 8, 6),
        ("GrowingVec", 0, 7),
        ("CudaArray", 24, 8),
        ("MipmappedArray", 80, 9),
        ("CudaArray", 9, 10),
    ];
    ensure_eq!(alive, want);
    ensure!(trace.alive().iter().all(|one| one.place.file().ends_with("pools.rs")), "{trace}");
    ensure!(trace.to_string().starts_with(&format!("40 bytes of a DeviceVec from {}:{line}", file!())), "{trace}");
    // One that grows counts its memory.
    growing.resize(100_000, 1)?;
    let bytes = growing.allocated() * 4;
    ensure!(
        bytes >= 400_000 && trace.alive().iter().any(|one| (one.owner, one.bytes) == ("GrowingVec", bytes)),
        "{trace}"
    );
    drop((growing, array, levels, zeros));
    // A buffer that is forgotten is the one that stays.
    let forgotten = std::mem::ManuallyDrop::new(part);
    drop((x, copy, host, pooled, managed, earlier));
    ensure_eq!(registered.into_vec()?, [1; 9]);
    ensure_eq!(trace.alive().iter().map(|one| one.bytes).collect::<Vec<_>>(), [20]);
    drop(std::mem::ManuallyDrop::into_inner(forgotten));
    ensure!(trace.alive().is_empty(), "{trace}");
    // Nothing is recorded behind the trace.
    drop(trace);
    let untraced = DeviceVec::<f32>::zeros(&stream, 10)?;
    ensure!(device.trace_allocations().alive().is_empty(), "recorded");
    drop(untraced);
    Ok(())
}
