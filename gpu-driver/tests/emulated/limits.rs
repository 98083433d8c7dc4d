//! Launches that the driver refuses: nothing runs, and the device stays usable. The same on a GPU and emulated.

use gpu_driver::{Device, Dim3, DriverError};
use testkit::{Outcome, ensure, ensure_eq};

use crate::harness::{Text, launch, ramp, text, upload, values};

static DEVICE_FUNCTIONS: Text = text!("user", "device_functions");
static STORE: Text = text!("broken", "store");

pub fn launches_beyond_the_limits_are_refused(device: &Device) -> Outcome {
    let stream = device.stream();
    let x = upload(device, &ramp(32))?;
    let store = STORE.function(device, "store")?;
    // Has __launch_bounds__(64); its four parameters are never looked at.
    let bounded = DEVICE_FUNCTIONS.function(device, "device_functions")?;
    let threads = |x: u32, y: u32, z: u32| Dim3 { x, y, z };
    let one = threads(1, 1, 1);
    let shapes = [
        ("1025 threads", &store, one, threads(1025, 1, 1), 0),
        ("32 x 33 threads", &store, one, threads(32, 33, 1), 0),
        ("65 threads along z", &store, one, threads(1, 1, 65), 0),
        ("no thread", &store, one, threads(32, 0, 1), 0),
        ("no block", &store, threads(0, 1, 1), one, 0),
        ("2^31 blocks", &store, threads(1 << 31, 1, 1), one, 0),
        ("65536 blocks along y", &store, threads(1, 65_536, 1), one, 0),
        ("65536 blocks along z", &store, threads(1, 1, 65_536), one, 0),
        ("shared memory of 228 KiB", &store, one, one, 228 * 1024),
        ("more threads than __launch_bounds__", &bounded, one, threads(65, 1, 1), 0),
    ];
    for (what, function, grid, block, shared_bytes) in shapes {
        let values = values![x.as_raw(), 0u64, 0u64, 0u64];
        let outcome = launch(function, grid, block, shared_bytes, values, &stream);
        let refused = matches!(outcome, Err(DriverError::Launch { .. } | DriverError::SharedMemory { .. }));
        ensure!(refused, "{what}: {outcome:?}");
        device.synchronize().map_err(|error| format!("{what}: {error}"))?;
    }
    ensure_eq!(x.to_vec()?, ramp(32));
    launch(&store, 1, 32, 0, values![x.as_raw()], &stream)?;
    ensure_eq!(x.to_vec()?, (0..32).map(|i| 2 * i).collect::<Vec<u32>>());
    Ok(())
}
