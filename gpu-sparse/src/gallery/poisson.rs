//! Poisson's equation on a regular grid.

use std::fmt;

use rayon::prelude::*;

use super::{positive, unit_hash};
use crate::coo::MAX_DIM;
use crate::csr::{CsrMatrix, Emit, from_row_function};
use crate::{Result, Scalar, SparseError, start_threads};

/// How the coefficients of two neighbouring points make that of the edge between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mean {
    /// `2 k l / (k + l)`: keeps the flux right where the coefficient jumps (Patankar 1980, section 4.2-3). The default.
    #[default]
    Harmonic,
    /// `(k + l) / 2`.
    Arithmetic,
}

/// `-div(k grad u)` on a grid of `nx` x `ny` x `nz` inner points with `u = 0` all around, times the square of the spacing.
///
/// Row `i + nx (j + ny k)` belongs to point (i, j, k): x runs fastest. With points `a`, `b` one step apart in direction `d`,
///
/// `A[a][b] = -w(d) mean(k_a, k_b)`, `A[a][a] = sum over all directions d of w(d) mean(k_a, k_b)`,
///
/// where a neighbour outside the grid has the coefficient `k_a`. `w(d)` is the anisotropy of the axis of `d`; for the diagonal
/// directions of the 9- and 27-point stencils it is the mean over the axes that `d` moves along. So without coefficients and
/// anisotropy all neighbours weigh -1 and the diagonal holds 2, 4, 6, 8 or 26: in 2-D and 9 points three times the bilinear finite
/// element, in 3-D and 27 points the matrix of HPCG (Dongarra, Heroux & Luszczek 2015).
///
/// The matrix is symmetric (bitwise), an M-matrix (no positive entry off the diagonal, no negative row sum, some positive, up to rounding) and so
/// positive definite. Cost: two parallel passes; memory for the result and, with coefficients, 8 bytes per point.
///
/// ```
/// use gpu_sparse::gallery::Poisson;
///
/// let a = Poisson::two_d(3, 3).build::<f64>()?;
/// assert_eq!(a.row(4).map(|(_, values)| values.to_vec()), Some(vec![-1.0, -1.0, 4.0, -1.0, -1.0]));
/// let rough = Poisson::three_d_27(4, 4, 4).random_coefficients(7, 1000.0).build::<f32>()?;
/// assert!(rough.is_symmetric(0.0));
/// # Ok::<(), gpu_sparse::SparseError>(())
/// ```
#[must_use = "nothing is made before build()"]
pub struct Poisson<'f> {
    extent: [usize; 3],
    dimensions: usize,
    diagonals: bool,
    anisotropy: [f64; 3],
    coefficients: Option<Coefficients<'f>>,
    mean: Mean,
}

/// The coefficient of a point.
type Coefficients<'f> = Box<dyn Fn([usize; 3]) -> f64 + Sync + 'f>;

impl fmt::Debug for Poisson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { extent, diagonals, anisotropy, mean, .. } = self;
        let mut out = f.debug_struct("Poisson");
        out.field("extent", extent).field("diagonals", diagonals).field("anisotropy", anisotropy).field("mean", mean);
        out.field("variable", &self.coefficients.is_some()).finish_non_exhaustive()
    }
}

impl<'f> Poisson<'f> {
    fn new(extent: [usize; 3], dimensions: usize) -> Self {
        let (anisotropy, mean) = ([1.0; 3], Mean::default());
        Self { extent, dimensions, diagonals: false, anisotropy, coefficients: None, mean }
    }

    /// `n` points on a line, 3-point stencil.
    pub fn one_d(n: usize) -> Self {
        Self::new([n, 1, 1], 1)
    }

    /// `nx` x `ny` points, 5-point stencil.
    pub fn two_d(nx: usize, ny: usize) -> Self {
        Self::new([nx, ny, 1], 2)
    }

    /// `nx` x `ny` x `nz` points, 7-point stencil.
    pub fn three_d(nx: usize, ny: usize, nz: usize) -> Self {
        Self::new([nx, ny, nz], 3)
    }

    /// `nx` x `ny` points, 9-point stencil.
    pub fn two_d_9(nx: usize, ny: usize) -> Self {
        Self::two_d(nx, ny).with_diagonals()
    }

    /// `nx` x `ny` x `nz` points, 27-point stencil.
    pub fn three_d_27(nx: usize, ny: usize, nz: usize) -> Self {
        Self::three_d(nx, ny, nz).with_diagonals()
    }

    fn with_diagonals(mut self) -> Self {
        self.diagonals = true;
        self
    }

    /// A factor for each axis (x, y, z; those beyond the grid's dimensions are not looked at).
    pub fn anisotropy(mut self, factors: [f64; 3]) -> Self {
        self.anisotropy = factors;
        self
    }

    /// The coefficient of each point, as a function of its (i, j, k); positive and finite.
    pub fn coefficients(mut self, coefficient: impl Fn([usize; 3]) -> f64 + Sync + 'f) -> Self {
        self.coefficients = Some(Box::new(coefficient));
        self
    }

    /// Coefficients `contrast^u`, `u` uniform in [0, 1), independent from point to point: a function of `seed` and the point.
    pub fn random_coefficients(self, seed: u64, contrast: f64) -> Self {
        let [nx, ny, _] = self.extent;
        self.coefficients(move |[i, j, k]| contrast.powf(unit_hash(seed, (i + nx * (j + ny * k)) as u64)))
    }

    /// How the coefficients of two points are averaged.
    pub fn mean(mut self, mean: Mean) -> Self {
        self.mean = mean;
        self
    }

    /// Makes the matrix.
    ///
    /// # Errors
    /// `TooLarge` for more points than `u32::MAX`; `Parameter` for an anisotropy or a coefficient that is not positive and finite.
    pub fn build<T: Scalar>(&self) -> Result<CsrMatrix<T>> {
        let points = self.points()?;
        for &factor in &self.anisotropy[..self.dimensions] {
            positive("anisotropy", factor)?;
        }
        let coefficients = self.evaluate_coefficients(points)?;
        let neighbours = self.neighbours();
        from_row_function(points, points, |row, emit| self.row(row, &neighbours, coefficients.as_deref(), emit))
    }

    fn points(&self) -> Result<usize> {
        let product = self.extent.iter().map(|&e| e as u128).try_fold(1_u128, u128::checked_mul);
        match product {
            Some(points) if points <= MAX_DIM as u128 => Ok(points as usize),
            _ if self.extent.contains(&0) => Ok(0),
            _ => {
                let value = product.map_or(u64::MAX, |p| u64::try_from(p).unwrap_or(u64::MAX));
                Err(SparseError::TooLarge { quantity: "points of the grid", value, limit: MAX_DIM as u64 })
            }
        }
    }

    fn evaluate_coefficients(&self, points: usize) -> Result<Option<Vec<f64>>> {
        let Some(coefficient) = &self.coefficients else { return Ok(None) };
        start_threads()?;
        let values: Vec<f64> = (0..points).into_par_iter().map(|row| coefficient(self.point(row))).collect();
        values.iter().try_for_each(|&k| positive("coefficient", k).map(drop))?;
        Ok(Some(values))
    }

    fn point(&self, row: usize) -> [usize; 3] {
        let [nx, ny, _] = self.extent;
        [row % nx, row / nx % ny, row / nx / ny]
    }

    /// The directions of the stencil without its centre, in the order of the columns they lead to.
    fn neighbours(&self) -> Vec<Neighbour> {
        let reach = |axis: usize| if axis < self.dimensions { -1..=1 } else { 0..=0 };
        let mut neighbours = Vec::new();
        for (z, y) in reach(2).flat_map(|z| reach(1).map(move |y| (z, y))) {
            for x in reach(0) {
                let step: [isize; 3] = [x, y, z];
                let axes = || (0..3).filter(|&axis| step[axis] != 0);
                let moved = axes().count();
                if moved == 1 || (moved > 1 && self.diagonals) {
                    let weight = axes().map(|axis| self.anisotropy[axis]).sum::<f64>() / moved as f64;
                    neighbours.push(Neighbour { step, weight });
                }
            }
        }
        neighbours
    }

    /// The row that `step` from `point` leads to; `None` outside the grid.
    fn beyond(&self, point: [usize; 3], step: [isize; 3]) -> Option<usize> {
        let mut to = [0; 3];
        for axis in 0..3 {
            to[axis] = point[axis].checked_add_signed(step[axis]).filter(|&c| c < self.extent[axis])?;
        }
        Some(to[0] + self.extent[0] * (to[1] + self.extent[1] * to[2]))
    }

    fn row<T: Scalar>(&self, row: usize, neighbours: &[Neighbour], coefficients: Option<&[f64]>, emit: Emit<'_, T>) {
        let point = self.point(row);
        let edge = |neighbour: &Neighbour| {
            let column = self.beyond(point, neighbour.step);
            let mean = coefficients.map_or(1.0, |k| self.mean.of(k[row], k[column.unwrap_or(row)]));
            (column, neighbour.weight * mean)
        };
        let diagonal: f64 = neighbours.iter().map(|neighbour| edge(neighbour).1).sum();
        let (before, after) = neighbours.split_at(neighbours.len() / 2);
        for (column, weight) in before.iter().map(edge) {
            column.into_iter().for_each(|column| emit(column, T::from_f64(-weight)));
        }
        emit(row, T::from_f64(diagonal));
        for (column, weight) in after.iter().map(edge) {
            column.into_iter().for_each(|column| emit(column, T::from_f64(-weight)));
        }
    }
}

/// One direction of the stencil.
struct Neighbour {
    step: [isize; 3],
    weight: f64,
}

impl Mean {
    /// The mean of two positive numbers; the same bits in either order.
    fn of(self, k: f64, l: f64) -> f64 {
        match self {
            _ if k == l => k,
            Self::Harmonic => 2.0 / (k.recip() + l.recip()),
            Self::Arithmetic => 0.5 * (k + l),
        }
    }
}
