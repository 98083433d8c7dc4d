//! The matrix as the place needs it, in the format asked for or the one that pays.

use gpu_sparse::{CsrMatrix, Description, Format, PacketPlan, linalg::LinearOperator};

use crate::{Outcome, backend::Backend, options};

/// The operator of a solve, and its description.
pub(crate) struct System<'a> {
    pub(crate) operator: Box<dyn LinearOperator<f64> + 'a>,
    pub(crate) description: Description,
    /// Why it is in this format.
    pub(crate) why: String,
}

impl<'a> System<'a> {
    /// Puts the matrix where it is solved.
    pub(crate) fn build(a: &'a CsrMatrix<f64>, place: &Backend, asked: options::Format) -> Outcome<Self> {
        let (plan, why) = choose(a, place, asked)?;
        let packets = plan.map(|plan| plan.build(a)).transpose()?;
        let (operator, description): (Box<dyn LinearOperator<f64> + 'a>, _) = match (place, packets) {
            (Backend::Cpu { .. }, None) => {
                (Box::new(a), Description::of_csr(a.rows(), a.cols(), a.nnz(), size_of::<f64>()))
            }
            (Backend::Cpu { .. }, Some(packets)) => {
                let description = packets.description().clone();
                (Box::new(packets), description)
            }
            (Backend::Device { device, .. }, packets) => {
                let placed = packets.map_or_else(|| a.to_device(device), |packets| packets.to_device(device))?;
                device.synchronize()?;
                let description = placed.description().clone();
                (Box::new(placed), description)
            }
        };
        Ok(Self { operator, description, why })
    }
}

/// The plan for packets, where they are wanted, and why they are or are not. `auto` decides as `DeviceMatrix::new` does on a device.
fn choose(a: &CsrMatrix<f64>, place: &Backend, asked: options::Format) -> Outcome<(Option<PacketPlan>, String)> {
    Ok(match (asked, place) {
        (options::Format::Csr, _) => (None, "asked for".to_owned()),
        (options::Format::Packets, _) => (Some(PacketPlan::new(a)?), "asked for".to_owned()),
        (options::Format::Auto, Backend::Cpu { .. }) => (None, "packets are made for GPUs".to_owned()),
        (options::Format::Auto, Backend::Device { .. }) => match PacketPlan::new(a) {
            Ok(plan) => {
                let why = plan.description().reason().unwrap_or_default();
                ((plan.format() == Format::Packets).then_some(plan), why)
            }
            Err(error) => (None, error.to_string()),
        },
    })
}
