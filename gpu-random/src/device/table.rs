//! Constant data of kernels, which launches and captured graphs share.
#![expect(unsafe_code, reason = "graphs read tables without an order of streams")]

use std::sync::Arc;

use gpu_driver::{DevicePod, DeviceSlice, DeviceVec, Event, Stream as Queue};

use crate::{Result, distribution::Distribution};

/// Device memory that is written once.
#[derive(Debug)]
pub(super) struct DeviceTable<T: DevicePod> {
    data: DeviceVec<T>,
    /// Behind the work that writes it.
    written: Event,
}

/// The tables of a fill: makes those that are missing.
#[derive(Debug)]
pub(super) struct FillContext<'q> {
    /// The stream that is filled on.
    pub(super) queue: &'q Queue,
    /// The capture that it is part of.
    pub(super) capture: Option<u64>,
    /// Another one where that is captured, since tables are made now and not by the graph.
    aside: Option<Queue>,
}

impl<T: DevicePod> DeviceTable<T> {
    /// The stream that orders the table.
    pub(super) fn home(&self) -> &Queue {
        self.data.home()
    }
}

/// The parameters of a distribution, as kernels take them. They live until the launch, with the table that they name.
pub(super) struct Parameters {
    pub(super) values: [u64; 3],
    _table: Option<Arc<DeviceTable<u32>>>,
}

impl Parameters {
    /// The parameters without a table.
    pub(super) fn of<D: Distribution>(distribution: &D) -> Self {
        Self { values: distribution.parameters(), _table: None }
    }
}

impl<'q> FillContext<'q> {
    pub(super) fn new(queue: &'q Queue) -> Result<Self> {
        let capture = queue.capture_number()?;
        let aside = capture.map(|_| Queue::new(queue.device())).transpose()?;
        Ok(Self { queue, capture, aside })
    }

    /// The stream that tables are made on.
    pub(super) fn maker(&self) -> &Queue {
        self.aside.as_ref().unwrap_or(self.queue)
    }

    /// A table of these values.
    pub(super) fn table<T: DevicePod>(&self, values: &[T]) -> Result<Arc<DeviceTable<T>>> {
        self.written(DeviceVec::from_slice(self.maker(), values)?)
    }

    /// The parameters of a distribution for kernels on the stream.
    pub(super) fn parameters<D: Distribution>(&self, distribution: &D) -> Result<Parameters> {
        let mut parameters = Parameters::of(distribution);
        if !distribution.table().is_empty() {
            let table = self.table(distribution.table())?;
            parameters.values[0] = self.read(&table)?.as_raw();
            parameters._table = Some(table);
        }
        Ok(parameters)
    }

    /// A table of data that the maker's work enqueued so far writes.
    pub(super) fn written<T: DevicePod>(&self, data: DeviceVec<T>) -> Result<Arc<DeviceTable<T>>> {
        let written = self.maker().record()?;
        Ok(Arc::new(DeviceTable { data, written }))
    }

    /// The table for a launch on the stream; a graph keeps it.
    pub(super) fn read<'t, T: DevicePod>(&'t self, table: &'t Arc<DeviceTable<T>>) -> Result<DeviceSlice<'t, T>> {
        if self.capture.is_none() {
            return Ok(table.data.as_slice());
        }
        table.written.synchronize()?;
        if !self.queue.retain_in_graph(table)? {
            // A capture by other means than `Stream::capture` has nobody to keep the table: the launch is refused there, as any other buffer's is.
            return Ok(table.data.as_slice());
        }
        // SAFETY: the table has been written and is never changed again; the graph keeps it.
        Ok(unsafe { table.data.as_slice().with_home(self.queue) })
    }
}
