//! The formats on the device: the only file that names their types.

use std::{fmt, time::Instant};

use clap::ValueEnum;
use gpu_array::GpuArray;
use gpu_driver::{Device, Stream};
use gpu_sparse::{CsrMatrix, DeviceCsr, PacketPlan, Scalar, linalg, linalg::Solution};
use ndarray::Ix1;

use crate::Outcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csr,
    Packets,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csr => "csr",
            Self::Packets => "packets",
        })
    }
}

/// What the host's build of packets took.
pub(crate) struct Built {
    pub(crate) plan_s: f64,
    pub(crate) build_s: f64,
    pub(crate) bytes: u64,
    /// The format that the plan advises, and why.
    pub(crate) advised: String,
    pub(crate) description: String,
}

/// Plans and builds packets, and drops them.
pub(crate) fn build_packets<T: Scalar>(a: &CsrMatrix<T>) -> Outcome<Built> {
    let started = Instant::now();
    let plan = PacketPlan::new(a)?;
    let planned = Instant::now();
    let packets = plan.build(a)?;
    let (plan_s, build_s) = ((planned - started).as_secs_f64(), planned.elapsed().as_secs_f64());
    let (advised, description) = (plan.format().to_string(), plan.description().to_string());
    Ok(Built { plan_s, build_s, bytes: packets.description().bytes, advised, description })
}

/// A matrix in device memory.
pub(crate) struct Resident<T: Scalar> {
    matrix: DeviceCsr<T>,
    upload_s: f64,
}

/// A right-hand side where the solver takes it from.
pub(crate) struct RightHandSide<T>(Vec<T>);

/// A solve that has ended.
pub(crate) struct Solved<T> {
    pub(crate) iterations: usize,
    pub(crate) status: String,
    solution: Solution<T>,
}

impl<T: Scalar> Resident<T> {
    /// Copies the matrix to the device in the format asked for, whatever the matrix would choose.
    pub(crate) fn upload(a: &CsrMatrix<T>, format: Format, device: &Device) -> Outcome<Self> {
        let started = Instant::now();
        let matrix = match format {
            Format::Csr => a.to_device(device)?,
            Format::Packets => return Err("packets cannot go to a device yet".into()),
        };
        device.synchronize()?;
        Ok(Self { matrix, upload_s: started.elapsed().as_secs_f64() })
    }

    /// Seconds of the upload, without the conversion.
    pub(crate) fn upload_s(&self) -> f64 {
        self.upload_s
    }

    /// Of the matrix, in device memory.
    pub(crate) fn bytes(&self) -> u64 {
        ((size_of::<T>() + 4) * self.matrix.nnz() + 8 * (self.matrix.rows() + 1)) as u64
    }

    pub(crate) fn stream(&self) -> &Stream {
        self.matrix.stream()
    }

    pub(crate) fn load_kernels(&self) -> Outcome {
        Ok(self.matrix.load_kernels()?)
    }

    pub(crate) fn matvec_into(&self, x: &GpuArray<T, Ix1>, y: &mut GpuArray<T, Ix1>) -> Outcome {
        Ok(self.matrix.matvec_into(x, y)?)
    }

    pub(crate) fn right_hand_side(&self, b: &[T]) -> Outcome<RightHandSide<T>> {
        Ok(RightHandSide(b.to_vec()))
    }

    /// Plain conjugate gradients from 0.
    pub(crate) fn solve(&self, b: &RightHandSide<T>, rtol: f64, maxiter: usize) -> Outcome<Solved<T>> {
        let solution = linalg::cg(&self.matrix, &b.0).rtol(rtol).maxiter(maxiter).solve()?;
        Ok(Solved { iterations: solution.iterations, status: solution.status.to_string(), solution })
    }
}

impl<T> RightHandSide<T> {
    /// Where it and the solution are.
    pub(crate) fn place(&self) -> &'static str {
        "host"
    }
}

impl<T: Scalar> Solved<T> {
    pub(crate) fn x(&self) -> Outcome<Vec<T>> {
        Ok(self.solution.x.to_vec())
    }
}
