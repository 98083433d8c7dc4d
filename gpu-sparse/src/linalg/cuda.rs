//! The passes of conjugate gradients on a CUDA device.
//!
//! The plain version: the host takes every decision, so each iteration waits twice for sums (a third time for a preconditioner
//! that is an operator). Vectors and the sums' partials stay on the device.

use std::borrow::Cow;

use gpu_algos::reference::{dot, norm2};
use gpu_driver::DeviceVec;

use super::LinearOperator;
use super::engine::{Engine, System};
use super::outcome::Approximation;
use super::preconditioner::Prepared;
use crate::device::{DeviceCsr, launch};
use crate::{Result, Scalar};

/// Vectors in device memory, ordered by the matrix's stream.
pub(super) struct Cuda<'a, 'm, T: Scalar> {
    a: &'a DeviceCsr<T>,
    b: DeviceVec<T>,
    preconditioner: Applied<'m, T>,
    x: DeviceVec<T>,
    r: DeviceVec<T>,
    p: DeviceVec<T>,
    q: DeviceVec<T>,
    sums: launch::Sums,
}

/// A preconditioner in the form in which the device applies it.
enum Applied<'m, T: Scalar> {
    /// `z = r`.
    Identity,
    /// `z = D r`, computed where it is used and never stored.
    Diagonal(DeviceVec<T>),
    /// `z = M r` by a matrix on the same device.
    Matrix(&'m DeviceCsr<T>, DeviceVec<T>),
    /// `z = M r` on the host: `r` goes there, `z` comes back, each time.
    Host { m: &'m dyn LinearOperator<T>, z: DeviceVec<T>, r_on_host: Vec<T>, z_on_host: Vec<T> },
}

impl<'m, T: Scalar> Applied<'m, T> {
    fn new(prepared: Prepared<'m, T>, a: &DeviceCsr<T>) -> Result<Self> {
        let (stream, n) = (a.stream(), a.rows());
        Ok(match prepared {
            Prepared::Identity => Self::Identity,
            Prepared::Diagonal(inverse) => Self::Diagonal(DeviceVec::from_slice(stream, &inverse)?),
            Prepared::Operator(m) => match m.on_device() {
                Some(m) if m.device() == a.device() => Self::Matrix(m, DeviceVec::zeros(stream, n)?),
                _ => {
                    let (z, r_on_host, z_on_host) =
                        (DeviceVec::zeros(stream, n)?, vec![T::zero(); n], vec![T::zero(); n]);
                    Self::Host { m, z, r_on_host, z_on_host }
                }
            },
        })
    }
}

impl<'a, 'm, T: Scalar> Cuda<'a, 'm, T> {
    pub(super) fn new(a: &'a DeviceCsr<T>, system: System<'_, 'm, T>) -> Result<Self> {
        let (stream, n) = (a.stream(), a.rows());
        Ok(Self {
            a,
            b: DeviceVec::from_slice(stream, system.b)?,
            x: DeviceVec::from_slice(stream, &system.guess())?,
            preconditioner: Applied::new(system.preconditioner, a)?,
            r: DeviceVec::zeros(stream, n)?,
            p: DeviceVec::zeros(stream, n)?,
            q: DeviceVec::zeros(stream, n)?,
            sums: launch::Sums::new(stream)?,
        })
    }
}

impl<T: Scalar> Engine<T> for Cuda<'_, '_, T> {
    fn residual_of_zero(&mut self) -> Result<()> {
        Ok(self.r.copy_from(self.b.as_slice())?)
    }

    fn true_residual(&mut self) -> Result<f64> {
        // Outside, squares have left the range of f64 or lost digits at its end: the host has the careful norm for that.
        const SQUARES: std::ops::RangeInclusive<f64> = 1e-280..=f64::MAX;
        let square = launch::residual(self.a, &self.x, &self.b, &mut self.r, &mut self.sums)?;
        if SQUARES.contains(&square) || square.is_nan() {
            return Ok(square.sqrt());
        }
        Ok(norm2(&self.r.to_vec()?))
    }

    fn rescale(&mut self, unit: f64) -> Result<f64> {
        launch::rescale(&mut self.r, unit.recip(), &mut self.sums)
    }

    fn precondition(&mut self, square: f64) -> Result<f64> {
        match &mut self.preconditioner {
            Applied::Identity => Ok(square),
            Applied::Diagonal(inverse) => launch::weighted_square(&self.r, inverse, &mut self.sums),
            Applied::Matrix(m, z) => launch::product_dot(m, &self.r, z, &mut self.sums),
            Applied::Host { m, z, r_on_host, z_on_host } => {
                self.r.copy_to_slice(r_on_host)?;
                m.apply(r_on_host, z_on_host)?;
                z.copy_from_slice(z_on_host)?;
                Ok(dot(r_on_host, z_on_host)?)
            }
        }
    }

    fn first_direction(&mut self) -> Result<()> {
        match &self.preconditioner {
            Applied::Identity => self.p.copy_from(self.r.as_slice())?,
            Applied::Diagonal(inverse) => launch::scaled_direction(&mut self.p, &self.r, inverse)?,
            Applied::Matrix(_, z) | Applied::Host { z, .. } => self.p.copy_from(z.as_slice())?,
        }
        Ok(())
    }

    fn apply_dot(&mut self) -> Result<f64> {
        launch::product_dot(self.a, &self.p, &mut self.q, &mut self.sums)
    }

    fn update_residual(&mut self, alpha: T) -> Result<(f64, Option<f64>)> {
        let (r, q, sums) = (&mut self.r, &self.q, &mut self.sums);
        if let Applied::Diagonal(inverse) = &self.preconditioner {
            let [square, rho] = launch::update_residual_diagonal(r, q, inverse, alpha, sums)?;
            return Ok((square, Some(rho)));
        }
        let square = launch::update_residual(r, q, alpha, sums)?;
        Ok((square, matches!(self.preconditioner, Applied::Identity).then_some(square)))
    }

    fn update_solution_and_direction(&mut self, step: T, beta: T) -> Result<()> {
        let (x, p, r) = (&mut self.x, &mut self.p, &self.r);
        match &self.preconditioner {
            Applied::Identity => launch::update_solution_and_direction(x, p, r, step, beta),
            Applied::Diagonal(inverse) => {
                launch::update_solution_and_direction_diagonal(x, p, (r, inverse), step, beta)
            }
            Applied::Matrix(_, z) | Applied::Host { z, .. } => {
                launch::update_solution_and_direction(x, p, z, step, beta)
            }
        }
    }

    fn update_solution(&mut self, step: T) -> Result<()> {
        launch::update_solution(&mut self.x, &self.p, step)
    }

    fn into_solution(self) -> Result<Vec<T>> {
        Ok(self.x.to_vec()?)
    }
}

impl<T: Scalar> Approximation<T> for Cuda<'_, '_, T> {
    fn on_host(&self) -> Result<Cow<'_, [T]>> {
        Ok(self.x.to_vec()?.into())
    }
}
