//! The engine of the host: passes on the CPU's threads, decisions between them (`stepwise.rs`).

use std::borrow::Cow;

use gpu_algos::host::{dot, norm2};

use super::engine::{End, Engine, WorkSegment};
use super::stepwise::{self, Passes};
use crate::linalg::log::Log;
use crate::linalg::operator::LinearOperator;
use crate::linalg::outcome::Approximation;
use crate::linalg::preconditioner::Prepared;
use crate::{Result, Scalar};

mod passes;

/// Vectors in host memory, passes by rayon, the matrix through its operator.
pub(super) struct HostEngine<'a, 'm, T: Scalar> {
    a: &'a dyn LinearOperator<T>,
    b: Cow<'a, [T]>,
    preconditioner: Prepared<'m, T>,
    x: Vec<T>,
    r: Vec<T>,
    p: Vec<T>,
    q: Vec<T>,
    /// Empty unless the preconditioner is an operator.
    z: Vec<T>,
}

impl<'a, 'm, T: Scalar> HostEngine<'a, 'm, T> {
    pub(super) fn new(
        a: &'a dyn LinearOperator<T>,
        b: Cow<'a, [T]>,
        x0: Option<Cow<'a, [T]>>,
        preconditioner: Prepared<'m, T>,
    ) -> Self {
        let x = x0.map_or_else(|| vec![T::zero(); b.len()], Cow::into_owned);
        let q = vec![T::zero(); x.len()];
        Self { a, b, preconditioner, x, r: Vec::new(), p: Vec::new(), q, z: Vec::new() }
    }
}

impl<T: Scalar> Engine<T> for HostEngine<'_, '_, T> {
    type Vector = Vec<T>;

    fn norm_of_b(&mut self) -> Result<f64> {
        Ok(norm2(&self.b))
    }

    fn guess_is_finite(&mut self) -> Result<bool> {
        Ok(self.x.iter().all(|x| x.is_finite()))
    }

    fn residual_of_zero(&mut self) -> Result<()> {
        self.r = self.b.to_vec();
        Ok(())
    }

    fn true_residual(&mut self) -> Result<f64> {
        self.r = vec![T::zero(); self.x.len()];
        self.a.residual(&self.x, &self.b, &mut self.r)?;
        Ok(norm2(&self.r))
    }

    fn rescale(&mut self, unit: f64) -> Result<f64> {
        self.r.iter_mut().for_each(|r| *r = T::from_f64((*r).into() / unit));
        Ok(norm2(&self.r).powi(2))
    }

    fn iterate(&mut self, segment: WorkSegment, log: &mut Log<'_, T>) -> Result<End> {
        stepwise::iterate(self, segment, log)
    }

    fn into_solution(self) -> Result<Vec<T>> {
        Ok(self.x)
    }

    fn into_zero(self) -> Result<Vec<T>> {
        Ok(vec![T::zero(); self.x.len()])
    }
}

impl<T: Scalar> Passes<T> for HostEngine<'_, '_, T> {
    fn precondition(&mut self, square: f64) -> Result<f64> {
        match &self.preconditioner {
            Prepared::Identity => Ok(square),
            Prepared::Diagonal(inverse) => Ok(passes::weighted_square(&mut self.r, inverse)),
            Prepared::Operator(m) => {
                self.z.resize(self.r.len(), T::zero());
                m.apply(&self.r, &mut self.z)?;
                Ok(dot(&self.r, &self.z)?)
            }
        }
    }

    fn first_direction(&mut self) -> Result<()> {
        self.p = match &self.preconditioner {
            Prepared::Identity => self.r.clone(),
            Prepared::Diagonal(inverse) => self.r.iter().zip(inverse).map(|(&r, &d)| d * r).collect(),
            Prepared::Operator(_) => self.z.clone(),
        };
        Ok(())
    }

    fn apply_dot(&mut self) -> Result<f64> {
        self.a.apply_dot(&self.p, &mut self.q)
    }

    fn update_residual(&mut self, alpha: T) -> Result<(f64, Option<f64>)> {
        let (r, q) = (&mut self.r, &self.q);
        if let Prepared::Diagonal(inverse) = &self.preconditioner {
            let [square, rho] = passes::update_residual_diagonal(r, q, alpha, inverse);
            return Ok((square, Some(rho)));
        }
        let square = passes::update_residual(r, q, alpha);
        Ok((square, matches!(self.preconditioner, Prepared::Identity).then_some(square)))
    }

    fn update_solution_and_direction(&mut self, step: T, beta: T) -> Result<()> {
        let (x, p, r) = (&mut self.x, &mut self.p, &self.r);
        match &self.preconditioner {
            Prepared::Identity => passes::update_solution_and_direction(x, p, r, step, beta),
            Prepared::Diagonal(inverse) => {
                passes::update_solution_and_direction_diagonal(x, p, (r, inverse), step, beta);
            }
            Prepared::Operator(_) => passes::update_solution_and_direction(x, p, &self.z, step, beta),
        }
        Ok(())
    }

    fn update_solution(&mut self, step: T) -> Result<()> {
        passes::update_solution(&mut self.x, &mut self.p, step);
        Ok(())
    }
}

impl<T: Scalar> Approximation<T> for HostEngine<'_, '_, T> {
    fn on_host(&self) -> Result<Cow<'_, [T]>> {
        Ok(Cow::Borrowed(&self.x))
    }
}
