//! The matrices by name, and which set has which.

use std::{fmt, path::PathBuf};

use gpu_sparse::{
    CsrMatrix, Scalar,
    gallery::{self, Numbering, Poisson},
    io,
};

use crate::harness::{Outcome, Set};

/// Seed of the coefficients of stencils, and the largest over the smallest.
const SEED: u64 = 1;
const CONTRAST: f64 = 100.0;

/// The type of a matrix's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// 4 bytes.
    F32,
    /// 8 bytes.
    F64,
}

/// The operations that are measured with a matrix, named as in ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `y = A x`.
    Spmv,
    /// `y = 0.5 A x - 0.25 y`.
    Axpby,
    /// 200 iterations of conjugate gradients.
    Cg,
    /// 200 iterations of conjugate gradients with Jacobi's preconditioner.
    CgJacobi,
    /// On the CPU: entries to compressed rows, those to packets, and Matrix Market files; each has an operation's name of its own.
    Convert,
}

impl Operation {
    /// The first part of an id.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spmv => "spmv",
            Self::Axpby => "axpby",
            Self::Cg => "cg200",
            Self::CgJacobi => "cg200-jacobi",
            Self::Convert => "convert",
        }
    }
}

/// One matrix to measure with.
#[derive(Clone, Debug)]
pub struct Case {
    /// The case part of its ids.
    pub name: String,
    /// The dtype part.
    pub element_type: ElementType,
    /// The operations that are measured with it.
    pub operations: &'static [Operation],
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Poisson1d(usize),
    Poisson2d(usize),
    Poisson3d(usize),
    Stencil27(usize),
    /// A mesh of a file, so many layers of it, numbered along the layers' normal first or layer by layer.
    Extruded(&'static str, usize, Numbering),
}

impl Kind {
    fn case(self, element_type: ElementType, operations: &'static [Operation]) -> Case {
        Case { name: self.to_string(), element_type, operations, kind: self }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson1d(n) => write!(f, "poisson1d-{n}-variable"),
            Self::Poisson2d(n) => write!(f, "poisson2d-{n}-variable"),
            Self::Poisson3d(n) => write!(f, "poisson3d-{n}-variable"),
            Self::Stencil27(n) => write!(f, "stencil27-{n}-variable"),
            Self::Extruded(mesh, layers, Numbering::ZFastest) => write!(f, "{mesh}x{layers}-zfastest"),
            Self::Extruded(mesh, layers, _) => write!(f, "{mesh}x{layers}-layermajor"),
        }
    }
}

/// The matrices of a set, for a device or for the CPU.
pub fn cases(set: Set, on_gpu: bool) -> Vec<Case> {
    use {ElementType::*, Kind::*, Operation::*};
    const ALL: &[Operation] = &[Spmv, Axpby, Cg, CgJacobi];
    const SOLVES: &[Operation] = &[Spmv, Cg, CgJacobi];
    const HOST: &[Operation] = &[Spmv, Axpby, Cg, CgJacobi, Convert];
    match (set, on_gpu) {
        // A line of that length needs more than 200 iterations.
        (Set::Tiny, _) => vec![Poisson1d(500).case(F64, HOST), Poisson3d(6).case(F32, &[Spmv, Axpby])],
        (Set::Quick, true) => vec![
            Poisson2d(128).case(F64, &[Spmv, Cg]),
            Poisson3d(128).case(F64, ALL),
            Poisson3d(128).case(F32, &[Spmv, Cg]),
            Extruded("brack2", 10, Numbering::ZFastest).case(F64, &[Spmv]),
        ],
        (Set::Full, true) => {
            let mut all: Vec<Case> = [64, 128, 256, 512].map(|n| Poisson2d(n).case(F64, &[Spmv, Cg])).into();
            all.extend([
                Poisson3d(256).case(F64, SOLVES),
                Poisson3d(256).case(F32, &[Spmv]),
                Stencil27(160).case(F64, &[Spmv]),
                Extruded("brack2", 100, Numbering::ZFastest).case(F64, &[Spmv]),
                Extruded("brack2", 100, Numbering::LayerMajor).case(F64, &[Spmv]),
            ]);
            all
        }
        (Set::Quick, false) => {
            vec![Poisson2d(128).case(F64, &[Spmv, Cg]), Poisson3d(64).case(F64, HOST), Poisson3d(64).case(F32, &[Spmv])]
        }
        (Set::Full, false) => vec![
            Poisson2d(128).case(F64, &[Spmv, Cg]),
            Poisson2d(512).case(F64, &[Spmv, Cg]),
            Poisson3d(64).case(F64, HOST),
            Poisson3d(64).case(F32, &[Spmv]),
            Poisson3d(128).case(F64, &[Spmv]),
            Poisson3d(128).case(F32, &[Spmv]),
            Stencil27(80).case(F64, &[Spmv]),
            Extruded("brack2", 10, Numbering::ZFastest).case(F64, &[Spmv]),
        ],
    }
}

impl Case {
    /// The file that the matrix is made of, where it is not there: `GPU_SPARSE_MATRICES` names the folder.
    pub fn missing_file(&self) -> Option<String> {
        let Kind::Extruded(mesh, ..) = self.kind else { return None };
        match mesh_file(mesh) {
            Some(path) if path.exists() => None,
            Some(path) => Some(format!("{} is not there", path.display())),
            None => Some("GPU_SPARSE_MATRICES, the folder of matrices, is not set".to_owned()),
        }
    }

    /// Makes the matrix, or reads it.
    ///
    /// # Errors
    /// Where its file is missing or wrong.
    pub fn matrix<T: Scalar>(&self) -> Outcome<CsrMatrix<T>> {
        let variable = |grid: Poisson<'static>| grid.random_coefficients(SEED, CONTRAST).build();
        Ok(match self.kind {
            Kind::Poisson1d(n) => variable(Poisson::one_d(n))?,
            Kind::Poisson2d(n) => variable(Poisson::two_d(n, n))?,
            Kind::Poisson3d(n) => variable(Poisson::three_d(n, n, n))?,
            Kind::Stencil27(n) => variable(Poisson::three_d_27(n, n, n))?,
            Kind::Extruded(mesh, layers, numbering) => {
                let path = mesh_file(mesh).ok_or("GPU_SPARSE_MATRICES is not set")?;
                gallery::extrude(&io::read_matrix_market(path)?, &Poisson::one_d(layers).build()?, numbering)?
            }
        })
    }
}

fn mesh_file(mesh: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("GPU_SPARSE_MATRICES").filter(|folder| !folder.is_empty())?;
    Some(PathBuf::from(folder).join(format!("mesh_{mesh}.mtx.gz")))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_tell_cases_apart() {
        for (set, on_gpu) in [Set::Tiny, Set::Quick, Set::Full].into_iter().flat_map(|set| [(set, true), (set, false)])
        {
            let all = cases(set, on_gpu);
            let names: HashSet<_> =
                all.iter().map(|case| (&case.name, case.element_type == ElementType::F32)).collect();
            assert!(names.len() == all.len() && !all.is_empty(), "{set:?}");
        }
        let full: Vec<String> = cases(Set::Full, true).into_iter().map(|case| case.name).collect();
        for name in ["poisson3d-256-variable", "stencil27-160-variable", "brack2x100-zfastest", "brack2x100-layermajor"]
        {
            assert!(full.iter().any(|case| case == name), "{name}");
        }
    }

    #[test]
    fn small_cases_are_made() -> Outcome {
        for case in cases(Set::Tiny, true) {
            let a: CsrMatrix<f64> = case.matrix()?;
            assert!(a.is_symmetric(1e-14) && a.rows() > 100, "{}", case.name);
        }
        Ok(())
    }
}
