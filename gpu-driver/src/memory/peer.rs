//! Copies between the memories of two devices.

use super::AccessDescription;
use super::{DeviceSlice, DeviceSliceMut, same_len};
use crate::{CudaCode, Device, DevicePod, DriverError, Event, Result, Stream, context::plain, sys};

impl Device {
    /// Whether the device can reach the memory of `peer` over a bus, without a way through the host.
    ///
    /// # Errors
    /// The driver's error.
    #[doc(alias = "cuDeviceCanAccessPeer")]
    pub fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        let mut can = 0;
        // SAFETY: the pointer is valid for the call.
        let code = unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.0.device, peer.0.device) };
        plain("cuDeviceCanAccessPeer", code)?;
        Ok(can != 0)
    }

    /// Lets kernels of this device read and write the memory of `peer`, in place: its buffers, those of later allocations too, and memory that
    /// other libraries have from `cuMemAlloc`; no [`GrowingVec`](crate::GrowingVec), no [`DevicePool`](crate::DevicePool), which has
    /// [a method of its own](crate::DevicePool::enable_peer_access), and no pools of other libraries. Pinned memory needs no access. Lasts
    /// as long as both devices have handles, or until [`Device::disable_peer_access`]. Once more does nothing.
    ///
    /// A launch takes such memory by its address ([`DeviceVec::as_raw`](crate::DeviceVec::as_raw)), or as a slice with a home of this device
    /// ([`DeviceSlice::with_home`]); the order with the memory's own home is the caller's, by events.
    ///
    /// # Cost
    /// Milliseconds, and later allocations of the peer are mapped twice.
    ///
    /// # Errors
    /// `Cuda` with `PEER_ACCESS_UNSUPPORTED` where no bus connects the devices ([`Device::can_access_peer`]); [`DeviceSliceMut::copy_from_peer`] works there,
    /// too. Else the driver's error.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, DeviceVec, LaunchConfig};
    /// let (device, peer) = (Device::new(0)?, Device::new(1)?);
    /// device.enable_peer_access(&peer)?;
    /// let far = DeviceVec::from_slice(&peer.stream(), &[1.0f32, 2.0])?;
    /// let text = "extern \"C\" __global__ void twice(const float *x, float *y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }";
    /// let (twice, mut y) = (device.compile(text)?.function("twice")?, [0.0f32; 2]);
    /// far.home().synchronize()?;
    /// // SAFETY: two threads read two elements, which are there, and nobody writes to them meanwhile.
    /// unsafe { twice.launch(LaunchConfig::new(1, 2), (far.as_raw(), &mut y), &device.stream())? };
    /// assert_eq!(y, [2.0, 4.0]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("cuCtxEnablePeerAccess", "cuMemPoolSetAccess"))]
    pub fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        const CALL: &str = "cuCtxEnablePeerAccess";
        const UNSUPPORTED: CudaCode = CudaCode(217);
        const ALREADY_ENABLED: i32 = 704;
        if self == peer {
            return Ok(());
        }
        if !self.can_access_peer(peer)? {
            return Err(DriverError::Cuda { call: CALL, code: UNSUPPORTED });
        }
        let current = self.enter()?;
        // SAFETY: both contexts are alive.
        let code = unsafe { sys::cuCtxEnablePeerAccess(peer.0.raw(), 0) };
        if code != ALREADY_ENABLED {
            self.check(CALL, code)?;
        }
        drop(current);
        peer.set_pool_access(&AccessDescription::read_write(self.0.device))
    }

    /// Takes the leave of [`Device::enable_peer_access`] back, after waiting for this device's work: kernels that use the memory of `peer` from then on
    /// fault. Nothing for the device itself, whose own memory it always reaches.
    ///
    /// # Errors
    /// `Cuda` with `PEER_ACCESS_NOT_ENABLED` where there is no leave; `InCapture` within a capture of this thread; `DeviceLost`; else the driver's error.
    ///
    /// ```no_run
    /// use gpu_driver::Device;
    /// let (device, peer) = (Device::new(0)?, Device::new(1)?);
    /// device.enable_peer_access(&peer)?;
    /// // … kernels of `device` that use the memory of `peer` …
    /// device.disable_peer_access(&peer)?;
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("cuCtxDisablePeerAccess", "cuMemPoolSetAccess"))]
    pub fn disable_peer_access(&self, peer: &Self) -> Result<()> {
        if self.0.captures_here() {
            return Err(DriverError::InCapture { op: "Device::disable_peer_access" });
        }
        if self == peer {
            return Ok(());
        }
        self.synchronize()?;
        let current = self.enter()?;
        // SAFETY: both contexts are alive.
        self.check("cuCtxDisablePeerAccess", unsafe { sys::cuCtxDisablePeerAccess(peer.0.raw()) })?;
        drop(current);
        peer.set_pool_access(&AccessDescription::none(self.0.device))
    }

    /// Sets the access of another device to the memory of this one's pool, which the access between contexts does not cover.
    fn set_pool_access(&self, access: &AccessDescription) -> Result<()> {
        if self.0.pool.is_null() {
            return Ok(());
        }
        let _current = self.enter()?;
        // SAFETY: the pool is alive, and the description is valid for the call.
        let code = unsafe { sys::cuMemPoolSetAccess(self.0.pool, (&raw const *access).cast(), 1) };
        self.check("cuMemPoolSetAccess", code)
    }
}

impl<T: DevicePod> DeviceSliceMut<'_, T> {
    /// Overwrites the slice with memory of any device. Returns at once; ordered with both home streams.
    ///
    /// # Cost
    /// One copy over the bus between the devices where there is one ([`Device::can_access_peer`]), else through the host.
    ///
    /// # Errors
    /// `Length` unless both have the same number of elements; `InCapture` where the devices are two; `DeviceLost`.
    ///
    /// ```no_run
    /// use gpu_driver::{Device, DeviceVec};
    /// let x = DeviceVec::from_slice(&Device::new(0)?.stream(), &[1, 2, 3])?;
    /// let mut y = DeviceVec::zeros(&Device::new(1)?.stream(), 3)?;
    /// y.as_mut_slice().copy_from_peer(x.as_slice())?;
    /// assert_eq!(y.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), gpu_driver::DriverError>(())
    /// ```
    #[doc(alias("memcpy_peer", "cuMemcpyPeer"))]
    pub fn copy_from_peer(&mut self, source: DeviceSlice<'_, T>) -> Result<()> {
        const OP: &str = "copy_from_peer";
        if source.home.device() == self.home.device() {
            return self.copy_from(source);
        }
        same_len(OP, self.len, source.len)?;
        if self.len == 0 {
            return Ok(());
        }
        let before = mark(OP, source.home)?;
        let after = {
            let (device, peer) = (self.home.device(), source.home.device());
            let current = device.enter()?;
            let _uncaptured = self.home.uncaptured(OP, &current)?;
            follow(self.home, &before)?;
            let (bytes, stream) = (self.len * size_of::<T>(), self.home.as_raw());
            // SAFETY: both memories have that many bytes, in the contexts of their devices, and the order of both homes holds them.
            let code = unsafe {
                sys::cuMemcpyPeerAsync(self.address, device.0.raw(), source.address, peer.0.raw(), bytes, stream)
            };
            device.check("cuMemcpyPeerAsync", code)?;
            Event::untimed_on(self.home, &current)
        };
        let joined = after.and_then(|after| {
            let _current = source.home.device().0.enter_quietly()?;
            follow(source.home, &after)
        });
        if joined.is_err() {
            // The source's home does not know of the copy: only its end makes a release of the source safe. So no report of an earlier error may come first.
            self.home.synchronize_entered(&self.home.device().0.enter_quietly()?)?;
        }
        joined
    }
}

/// The place that a stream has reached.
fn mark(op: &'static str, stream: &Stream) -> Result<Event> {
    let current = stream.device().enter()?;
    let _uncaptured = stream.uncaptured(op, &current)?;
    Event::untimed_on(stream, &current)
}

/// Makes later work of a stream wait for a mark of any device.
fn follow(stream: &Stream, mark: &Event) -> Result<()> {
    // SAFETY: both are alive, and the stream's context is current; the driver takes events of other devices.
    let code = unsafe { sys::cuStreamWaitEvent(stream.as_raw(), mark.as_raw(), 0) };
    stream.device().check("cuStreamWaitEvent", code)
}
