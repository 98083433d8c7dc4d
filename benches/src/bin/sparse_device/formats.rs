//! The formats on the device: the only file that names their types.

use std::{fmt, time::Instant};

use clap::ValueEnum;
use gpu_array::GpuArray;
use gpu_driver::{Device, Stream};
use gpu_sparse::{
    CsrMatrix, DeviceMatrix, PacketPlan, Scalar,
    linalg::{self, OnDevice, Solution},
};
use ndarray::{Ix1, aview1};

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
    matrix: DeviceMatrix<T>,
    upload_s: f64,
}

/// A right-hand side where the solver takes it from.
pub(crate) struct RightHandSide<T: Scalar>(GpuArray<T, Ix1>);

/// A solve that has ended.
pub(crate) struct Solved<T: Scalar>(Solution<T, OnDevice>);

impl<T: Scalar> Resident<T> {
    /// Copies the matrix to the device in the format asked for, whatever the matrix would choose.
    pub(crate) fn upload(a: &CsrMatrix<T>, format: Format, device: &Device) -> Outcome<Self> {
        let timed = |copy: &dyn Fn() -> gpu_sparse::Result<DeviceMatrix<T>>| -> Outcome<Self> {
            let started = Instant::now();
            let matrix = copy()?;
            device.synchronize()?;
            Ok(Self { matrix, upload_s: started.elapsed().as_secs_f64() })
        };
        match format {
            Format::Csr => timed(&|| a.to_device(device)),
            Format::Packets => {
                let packets = a.to_packets()?;
                timed(&|| packets.to_device(device))
            }
        }
    }

    /// Seconds of the upload, without the conversion.
    pub(crate) fn upload_s(&self) -> f64 {
        self.upload_s
    }

    /// Of the matrix, in device memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.matrix.description().bytes
    }

    pub(crate) fn stream(&self) -> &Stream {
        self.matrix.stream()
    }

    /// Waits until the device is at rest, whatever stream its work is on.
    pub(crate) fn synchronize(&self) -> Outcome {
        Ok(self.matrix.device().synchronize()?)
    }

    pub(crate) fn load_kernels(&self) -> Outcome {
        Ok(self.matrix.load_kernels()?)
    }

    pub(crate) fn matvec_into(&self, x: &GpuArray<T, Ix1>, y: &mut GpuArray<T, Ix1>) -> Outcome {
        Ok(self.matrix.matvec_into(x, y)?)
    }

    pub(crate) fn right_hand_side(&self, b: &[T]) -> Outcome<RightHandSide<T>> {
        Ok(RightHandSide(GpuArray::from_ndarray(self.stream(), &aview1(b))?))
    }

    /// Plain conjugate gradients from 0; the host looks at the device after `check_every` iterations, where that is given.
    pub(crate) fn solve(
        &self,
        b: &RightHandSide<T>,
        rtol: f64,
        maxiter: usize,
        check_every: Option<usize>,
    ) -> Outcome<Solved<T>> {
        let mut cg = linalg::cg(&self.matrix, &b.0).rtol(rtol).maxiter(maxiter);
        if let Some(iterations) = check_every {
            cg = cg.check_every(iterations);
        }
        Ok(Solved(cg.solve()?))
    }
}

impl<T: Scalar> Solved<T> {
    pub(crate) fn iterations(&self) -> usize {
        self.0.iterations
    }

    pub(crate) fn status(&self) -> String {
        self.0.status.to_string()
    }

    pub(crate) fn x(&self) -> Outcome<Vec<T>> {
        Ok(self.0.x.to_ndarray()?.to_vec())
    }
}
