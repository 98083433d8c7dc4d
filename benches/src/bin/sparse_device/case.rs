//! The matrices, by name, and their vectors.

use std::path::PathBuf;

use gpu_sparse::{
    CsrMatrix, Scalar,
    gallery::{self, Numbering, Poisson},
    io,
};
use rayon::prelude::*;

use crate::{Outcome, options::Options};

/// Seed of the stencils' coefficients.
const SEED: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementType {
    F32,
    F64,
}

/// One matrix to measure with.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    name: String,
    kind: Kind,
    element_type: ElementType,
}

#[derive(Clone, Debug)]
enum Kind {
    Poisson2d(usize),
    Poisson3d(usize),
    Stencil27(usize),
    Extruded { file: String, layers: usize, numbering: Numbering },
    File(String),
}

impl Case {
    /// Reads a name as the command line has it.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let mut parts: Vec<&str> = name.split(':').collect();
        let element_type = match parts.last() {
            Some(&"f32") => ElementType::F32,
            _ => ElementType::F64,
        };
        if matches!(parts.last(), Some(&"f32" | &"f64")) {
            parts.pop();
        }
        let kind = match parts[..] {
            ["poisson2d", n] => Kind::Poisson2d(number(n)?),
            ["poisson3d", n] => Kind::Poisson3d(number(n)?),
            ["stencil27", n] => Kind::Stencil27(number(n)?),
            ["extruded", file, layers, numbering] => {
                let numbering = match numbering {
                    "zfastest" => Numbering::ZFastest,
                    "layermajor" => Numbering::LayerMajor,
                    other => return Err(format!("`{other}` is no numbering: zfastest or layermajor")),
                };
                Kind::Extruded { file: file.to_owned(), layers: number(layers)?, numbering }
            }
            ["file", file] => Kind::File(file.to_owned()),
            _ => return Err(format!("`{name}` is no case; --help lists them")),
        };
        Ok(Self { name: name.to_owned(), kind, element_type })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Makes the matrix, or reads it.
    pub(crate) fn matrix<T: Scalar>(&self, options: &Options) -> Outcome<CsrMatrix<T>> {
        let variable = |grid: Poisson<'static>| grid.random_coefficients(SEED, options.contrast).build();
        Ok(match &self.kind {
            &Kind::Poisson2d(n) => variable(Poisson::two_d(n, n))?,
            &Kind::Poisson3d(n) => variable(Poisson::three_d(n, n, n))?,
            &Kind::Stencil27(n) => variable(Poisson::three_d_27(n, n, n))?,
            Kind::Extruded { file, layers, numbering } => {
                gallery::extrude(&read(file, options)?, &Poisson::one_d(*layers).build()?, *numbering)?
            }
            Kind::File(file) => read(file, options)?,
        })
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|error: std::num::ParseIntError| format!("`{text}`: {error}"))
}

/// The file as named, or of that name in the folder of matrices.
fn read<T: Scalar>(name: &str, options: &Options) -> Outcome<CsrMatrix<T>> {
    let mut path = PathBuf::from(name);
    if let (false, Some(folder)) = (path.exists(), &options.matrices) {
        path = folder.join(name);
    }
    Ok(io::read_matrix_market(&path)?)
}

/// `x[i]` uniform in [-1, 1), a function of `i` alone (one step of SplitMix64, Steele, Lea & Flood 2014).
pub(crate) fn random_vector<T: Scalar>(n: usize) -> Vec<T> {
    let element = |i: usize| {
        let mut z = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..n).into_par_iter().map(|i| T::from_f64(element(i))).collect()
}

/// `b[i] = sin(i + 1)`.
pub(crate) fn right_hand_side<T: Scalar>(n: usize) -> Vec<T> {
    (0..n).into_par_iter().map(|i| T::from_f64(((i + 1) as f64).sin())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read() {
        for (name, want) in [
            ("poisson3d:256:f64", ElementType::F64),
            ("poisson2d:64", ElementType::F64),
            ("stencil27:160:f32", ElementType::F32),
            ("extruded:mesh.mtx.gz:100:zfastest", ElementType::F64),
            ("extruded:mesh.mtx.gz:100:layermajor:f32", ElementType::F32),
            ("file:a.mtx:f32", ElementType::F32),
        ] {
            let case = Case::parse(name);
            assert_eq!(case.map(|case| (case.name().to_owned(), case.element_type())), Ok((name.to_owned(), want)));
        }
        for name in
            ["", "poisson3d", "poisson3d:x", "poisson3d:-1", "poisson4d:3", "extruded:f:3", "extruded:f:3:up", "file"]
        {
            assert!(Case::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn random_numbers_fill_their_range() {
        let x: Vec<f64> = random_vector(10_000);
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        assert!(x.iter().all(|x| (-1.0..1.0).contains(x)) && mean.abs() < 0.03, "{mean}");
    }
}
