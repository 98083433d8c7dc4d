//! Stencils, closed-form eigenvectors, and known properties of each matrix.

use std::f64::consts::PI;

use approx::assert_abs_diff_eq;

use super::*;
use crate::{CsrMatrix, SparseError};

/// The sine vector of wave numbers `waves`: an eigenvector of every constant-coefficient Poisson matrix.
fn sines(extent: [usize; 3], waves: [usize; 3]) -> Vec<f64> {
    let factor = |axis: usize, i: usize| ((i + 1) as f64 * angle(extent, waves, axis)).sin();
    let mut x = Vec::new();
    for (k, j) in (0..extent[2]).flat_map(|k| (0..extent[1]).map(move |j| (k, j))) {
        x.extend((0..extent[0]).map(|i| {
            let z = if waves[2] > 0 { factor(2, k) } else { 1.0 };
            let y = if waves[1] > 0 { factor(1, j) } else { 1.0 };
            factor(0, i) * y * z
        }));
    }
    x
}

fn angle(extent: [usize; 3], waves: [usize; 3], axis: usize) -> f64 {
    waves[axis] as f64 * PI / (extent[axis] + 1) as f64
}

fn assert_eigenpair(a: &CsrMatrix<f64>, x: &[f64], lambda: f64) {
    let y = a.matvec(x).unwrap();
    assert!(x.iter().any(|x| x.abs() > 0.5));
    for (y, x) in y.iter().zip(x) {
        assert!((y - lambda * x).abs() < 1e-12 * (1.0 + lambda), "{y} for {lambda} * {x}");
    }
}

#[test]
fn sines_are_eigenvectors_of_the_axis_stencils() {
    let factors = [1.0, 0.25, 16.0];
    for (extent, waves) in [([9, 1, 1], [1, 0, 0]), ([9, 7, 1], [2, 1, 0]), ([6, 5, 4], [1, 5, 2])] {
        let [nx, ny, nz] = extent;
        let poisson = match waves {
            [_, 0, 0] => Poisson::one_d(nx),
            [_, _, 0] => Poisson::two_d(nx, ny),
            _ => Poisson::three_d(nx, ny, nz),
        };
        let a = poisson.anisotropy(factors).build().unwrap();
        let axes = (0..3).filter(|&axis| waves[axis] > 0);
        let lambda = axes.map(|axis| factors[axis] * (2.0 - 2.0 * angle(extent, waves, axis).cos())).sum();
        assert_eigenpair(&a, &sines(extent, waves), lambda);
    }
}

#[test]
fn sines_are_eigenvectors_of_the_full_stencils() {
    let product = |extent, waves, axes: usize| -> f64 {
        (0..axes).map(|axis| 1.0 + 2.0 * angle(extent, waves, axis).cos()).product()
    };
    let (extent, waves) = ([8, 6, 1], [1, 3, 0]);
    let a = Poisson::two_d_9(8, 6).build().unwrap();
    assert_eigenpair(&a, &sines(extent, waves), 9.0 - product(extent, waves, 2));
    let (extent, waves) = ([5, 6, 7], [2, 1, 3]);
    let a = Poisson::three_d_27(5, 6, 7).build().unwrap();
    assert_eigenpair(&a, &sines(extent, waves), 27.0 - product(extent, waves, 3));
}

#[test]
fn stencils_have_their_points_and_weights() {
    let centre = |poisson: Poisson<'_>, row: usize| {
        let a = poisson.build::<f64>().unwrap();
        let (columns, values) = a.row(row).map(|(c, v)| (c.to_vec(), v.to_vec())).unwrap();
        let middle = columns.iter().position(|&c| c as usize == row).unwrap();
        let others_are_minus_one = values.iter().enumerate().all(|(k, &v)| k == middle || v == -1.0);
        (columns.len(), values[middle], others_are_minus_one)
    };
    assert_eq!(centre(Poisson::one_d(5), 2), (3, 2.0, true));
    assert_eq!(centre(Poisson::two_d(5, 5), 12), (5, 4.0, true));
    assert_eq!(centre(Poisson::two_d_9(5, 5), 12), (9, 8.0, true));
    assert_eq!(centre(Poisson::three_d(3, 3, 3), 13), (7, 6.0, true));
    assert_eq!(centre(Poisson::three_d_27(3, 3, 3), 13), (27, 26.0, true));
    assert_eq!(centre(Poisson::three_d_27(3, 3, 3), 0), (8, 26.0, true));
    let a = Poisson::two_d_9(3, 3).anisotropy([1.0, 5.0, 99.0]).build::<f64>().unwrap();
    assert_eq!(a.row(4).unwrap().1, [-3.0, -5.0, -3.0, -1.0, 24.0, -1.0, -3.0, -5.0, -3.0]);
    assert_eq!(Poisson::three_d(128, 4, 3).build::<f32>().unwrap().nnz(), 7 * 1536 - 2 * (12 + 384 + 512));
}

/// Symmetric, no positive entry off the diagonal, row sums not negative and somewhere positive, columns in order.
fn assert_m_matrix(a: &CsrMatrix<f64>) {
    let (starts, columns, values) = (a.row_starts().to_vec(), a.columns().to_vec(), a.values().to_vec());
    assert!(CsrMatrix::from_parts(a.rows(), a.cols(), starts, columns, values).is_ok());
    assert!(a.is_symmetric(0.0));
    let mut positive_sums = 0;
    for i in 0..a.rows() {
        let (columns, values) = a.row(i).unwrap();
        let diagonal = a.get(i, i).unwrap();
        assert!(columns.iter().zip(values).all(|(&c, &v)| (c as usize == i) == (v > 0.0)));
        let sum: f64 = values.iter().sum();
        assert!(sum >= -1e-14 * diagonal, "row {i}: {sum}");
        positive_sums += usize::from(sum > 1e-3 * diagonal);
    }
    assert!(positive_sums > 0);
}

#[test]
fn variable_coefficients_give_symmetric_m_matrices() {
    for mean in [Mean::Harmonic, Mean::Arithmetic] {
        for poisson in [
            Poisson::one_d(50),
            Poisson::two_d(9, 13),
            Poisson::two_d_9(9, 13),
            Poisson::three_d(5, 6, 7),
            Poisson::three_d_27(5, 6, 7),
        ] {
            let a = poisson.anisotropy([1.0, 10.0, 0.1]).random_coefficients(3, 1e4).mean(mean).build().unwrap();
            assert_m_matrix(&a);
        }
    }
}

#[test]
fn coefficients_are_averaged_as_promised() {
    let k = |[i, _, _]: [usize; 3]| [1.0, 3.0, 3.0][i];
    let a = Poisson::one_d(3).coefficients(k).build::<f64>().unwrap();
    // Edges: left wall 1, harmonic(1, 3) = 1.5, 3, right wall 3.
    assert_eq!(a.values(), [2.5, -1.5, -1.5, 4.5, -3.0, -3.0, 6.0]);
    let a = Poisson::one_d(3).coefficients(k).mean(Mean::Arithmetic).build::<f64>().unwrap();
    assert_eq!(a.values(), [3.0, -2.0, -2.0, 5.0, -3.0, -3.0, 6.0]);
    let seen = Poisson::three_d(2, 3, 4).coefficients(|[i, j, k]| (1 + i + 10 * j + 100 * k) as f64);
    let (a, n) = (seen.build::<f64>().unwrap(), 24);
    assert!((a.get(n - 1, n - 2).unwrap() + 2.0 * 321.0 * 322.0 / 643.0).abs() < 1e-12);
    assert!((a.get(0, 1).unwrap() + 2.0 * 1.0 * 2.0 / 3.0).abs() < 1e-15);
    assert!((a.get(0, 6).unwrap() + 2.0 * 1.0 * 101.0 / 102.0).abs() < 1e-15);
    let random = |seed| Poisson::two_d(8, 8).random_coefficients(seed, 10.0).build::<f64>().unwrap();
    assert_eq!(random(1), random(1));
    assert_ne!(random(1), random(2));
}

#[test]
fn impossible_grids_are_errors() {
    let parameter = |p: Poisson<'_>| matches!(p.build::<f64>(), Err(SparseError::Parameter { .. }));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(parameter(Poisson::two_d(3, 3).anisotropy([1.0, bad, 1.0])));
        assert!(parameter(Poisson::two_d(3, 3).coefficients(move |[i, j, _]| if i + j == 3 { bad } else { 1.0 })));
        assert!(matches!(wathen::<f64>(2, 2, |i, _| [1.0, bad][i]), Err(SparseError::Parameter { .. })));
        assert!(Poisson::one_d(3).anisotropy([1.0, bad, bad]).build::<f64>().is_ok());
    }
    let huge = usize::MAX;
    for poisson in [Poisson::one_d(1 << 32), Poisson::two_d(huge, 2), Poisson::three_d(huge, huge, huge)] {
        assert!(matches!(poisson.build::<f64>(), Err(SparseError::TooLarge { .. })));
    }
    assert!(matches!(wathen::<f64>(huge, huge, |_, _| 1.0), Err(SparseError::TooLarge { .. })));
    assert_eq!(Poisson::three_d(huge, huge, 0).build::<f64>().unwrap().rows(), 0);
}

#[test]
fn wathen_integrates_the_density() {
    // The element holds the integrals of products of shape functions that sum to 1: over [-1, 1]^2 with x^2 as a check.
    let x = [1.0, 0.0, -1.0, -1.0, -1.0, 0.0, 1.0, 1.0];
    let form = |u: &[f64; 8]| (0..64).map(|k| u[k / 8] * wathen::ELEMENT[k / 8][k % 8] * u[k % 8]).sum::<f64>() / 45.0;
    assert_abs_diff_eq!(form(&[1.0; 8]), 4.0, epsilon = 1e-14);
    assert_abs_diff_eq!(form(&x), 4.0 / 3.0, epsilon = 1e-14);
    assert!((0..64).all(|k| wathen::ELEMENT[k / 8][k % 8] == wathen::ELEMENT[k % 8][k / 8]));
    let density = |i: usize, j: usize| (1 + i + 3 * j) as f64;
    let a = wathen::<f64>(5, 4, density).unwrap();
    assert_eq!(a.rows(), 3 * 20 + 10 + 8 + 1);
    let total: f64 = (0..20).map(|k| density(k % 5, k / 5)).sum();
    assert_abs_diff_eq!(a.matvec(&vec![1.0; a.rows()]).unwrap().sum(), 4.0 * total, epsilon = 1e-10);
    assert!(a.is_symmetric(0.0));
}

#[test]
fn wathen_elements_share_the_nodes_of_their_common_edge() {
    let nodes = wathen::element_nodes;
    let (here, right, above) = (nodes(5, 2, 1), nodes(5, 3, 1), nodes(5, 2, 2));
    assert_eq!([here[0], here[7], here[6]], [right[2], right[3], right[4]]);
    assert_eq!([here[2], here[1], here[0]], [above[4], above[5], above[6]]);
    // MATLAB's formulas, from 1: nn(1) = 3 j nx + 2 i + 2 j + 1, nn(4) = (3 j - 1) nx + 2 j + i - 1, nn(5) = 3 (j - 1) nx + 2 i + 2 j - 3.
    let (nx, i, j) = (5, 3, 2);
    assert_eq!(here[0] + 1, 3 * j * nx + 2 * i + 2 * j + 1);
    assert_eq!(here[3] + 1, (3 * j - 1) * nx + 2 * j + i - 1);
    assert_eq!(here[4] + 1, 3 * (j - 1) * nx + 2 * i + 2 * j - 3);
    let all: std::collections::BTreeSet<usize> = (0..20).flat_map(|e| nodes(5, e % 5, e / 5)).collect();
    assert_eq!((all.len(), all.last()), (79, Some(&78)));
}

#[test]
fn wathen_scaled_by_its_diagonal_has_a_narrow_spectrum() {
    // x . A x / x . D x lies in [0.25, 4.5] for every x: random ones, and combs that pick every second to every 101st node.
    let a = wathen_random::<f64>(8, 9, 42).unwrap();
    let diagonal = a.diagonal();
    let combs = (2..102).map(|step| (0..a.rows()).map(|k| f64::from(k % step == 0)).collect());
    let random = (0..100).map(|seed| (0..a.rows()).map(|k| 2.0 * unit_hash(seed, k as u64) - 1.0).collect());
    let mut seen = [f64::INFINITY, 0.0_f64];
    for x in combs.chain(random).collect::<Vec<Vec<f64>>>() {
        let form: f64 = a.matvec(&x).unwrap().iter().zip(&x).map(|(y, x)| x * y).sum();
        let scale: f64 = diagonal.iter().zip(&x).map(|(d, x)| d * x * x).sum();
        seen = [seen[0].min(form / scale), seen[1].max(form / scale)];
    }
    assert!(seen[0] >= 0.25 && seen[0] < 1.0 && seen[1] <= 4.5 && seen[1] > 1.0, "{seen:?}");
    assert!(a.diagonal().iter().all(|&d| d > 0.0));
}

#[test]
fn extrusion_of_lines_is_the_grid() {
    let line = |n| Poisson::one_d(n).build::<f64>().unwrap();
    let plane = extrude(&line(7), &line(5), Numbering::LayerMajor).unwrap();
    assert_eq!(plane, Poisson::two_d(7, 5).build().unwrap());
    assert_eq!(extrude(&line(5), &line(7), Numbering::ZFastest).unwrap(), plane);
    let space = extrude(&plane, &line(3), Numbering::LayerMajor).unwrap();
    assert_eq!(space, Poisson::three_d(7, 5, 3).build().unwrap());
}

#[test]
fn numberings_are_permutations_of_each_other() {
    // No diagonal entry in row 0 of A, none at all in T: entries that are not stored must not be invented.
    let a = CsrMatrix::from_parts(3, 3, vec![0, 1, 3, 5], vec![2, 0, 1, 1, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    let t = CsrMatrix::from_parts(2, 2, vec![0, 1, 2], vec![1, 0], vec![10.0, 20.0]).unwrap();
    let layers = extrude(&a, &t, Numbering::LayerMajor).unwrap();
    let fastest = extrude(&a, &t, Numbering::ZFastest).unwrap();
    assert_eq!((layers.nnz(), fastest.nnz()), (5 * 2 + 2 * 3, 16));
    let (starts, columns, values) =
        (fastest.row_starts().to_vec(), fastest.columns().to_vec(), fastest.values().to_vec());
    assert!(CsrMatrix::from_parts(6, 6, starts, columns, values).is_ok());
    for (i, k) in (0..3).flat_map(|i| (0..2).map(move |k| (i, k))) {
        for (j, l) in (0..3).flat_map(|j| (0..2).map(move |l| (j, l))) {
            let of_a = if k == l { a.get(i, j).unwrap() } else { 0.0 };
            let of_t = if i == j { t.get(k, l).unwrap() } else { 0.0 };
            assert_eq!(fastest.get(i * 2 + k, j * 2 + l), Some(of_a + of_t));
            assert_eq!(layers.get(k * 3 + i, l * 3 + j), Some(of_a + of_t));
        }
    }
    let flat = CsrMatrix::<f64>::from_parts(1, 2, vec![0, 0], vec![], vec![]).unwrap();
    assert!(matches!(extrude(&a, &flat, Numbering::LayerMajor), Err(SparseError::Shape { .. })));
}
