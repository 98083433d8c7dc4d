//! Selections: the selected values, contiguous and in their order.
//!
//! ```no_run
//! use gpu_algos::{gpu_array::{GpuArray, gpu_driver::Device}, prelude::*};
//! use ndarray::array;
//!
//! let device = Device::first()?;
//! let x = GpuArray::from_ndarray(&device, &array![3.0f32, -1.0, 2.0, 2.0, -5.0])?;
//! let selected = x.select(x.gt(0.0)).eval()?; // on the device, with how many there are; nothing waits
//! assert_eq!(selected.len()?, 3); // waits, and copies one number
//! assert_eq!(selected.into_array()?.to_ndarray()?, array![3.0, 2.0, 2.0]);
//! let places = x.lt(0.0).nonzero().eval()?.into_array()?; // 1 and 4
//! let (parted, selected) = x.partition(x.lt(0.0)).eval()?.into_parts(); // -1, -5, 3, 2, 2; and 2
//! let mean = x.select(x.gt(0.0)).mean().get()?; // one launch, which moves no value
//! let runs = x.run_length_encode().eval()?; // 3, -1, 2, -5 with lengths and places
//! # Ok::<(), gpu_algos::AlgoError>(())
//! ```
//!
//! Sorting (`sort`, `argsort`) is not here: the end of gpu-array's `NUMPY.md` names a way round.
//!
//! One launch reads each value once and writes the selected values; see `device/select_single_pass.cuh`, and `device/select_pipelined.cuh` for many
//! values. A partition counts first, in the same launch.
//!
//! Tests: `tests/gpu/selections.rs` (known answers, edges of tiles), `selections_random.rs` (layouts), `block.rs` (the prefixes of tiles), `choices.txt`
//! (the kernel of each problem).

mod along;
#[cfg(test)]
mod choices;
mod launch;
mod leaves;
mod masked;
mod methods;
mod place;
mod plan;
mod policy;
mod results;
pub(crate) mod samples;
mod selection;

pub use masked::Masked;
pub use methods::Select;
pub use results::{Partitioned, Runs, Selected};
pub use selection::{Partition, RunLengths, Selection, Selects};
