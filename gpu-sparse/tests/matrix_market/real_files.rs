//! Matrices from practice, where `GPU_SPARSE_MATRICES` names a folder of them.

use gpu_sparse::io::{MatrixMarketWriter, parse_matrix_market_coo, read_matrix_market_coo};
use testkit::Outcome;

use super::{Folder, canonical, triplets};

/// Name, rows, columns, entries in both triangles.
const MATRICES: [(&str, usize, usize, usize); 14] = [
    ("1138_bus", 1138, 1138, 4054),
    ("ani4", 3081, 3081, 20_971),
    ("bcsstk16", 4884, 4884, 290_378),
    ("cage10", 11_397, 11_397, 150_645),
    ("franz6_rect", 10_592, 3016, 48_472),
    ("fuego0", 1500, 1500, 12_338),
    ("lsc_f2", 5890, 5890, 82_582),
    ("mesh_4elt", 15_606, 15_606, 107_362),
    ("mesh_brack2", 62_631, 62_631, 795_749),
    ("mesh_mdual", 258_569, 258_569, 1_284_833),
    ("notredame_www", 325_729, 325_729, 929_849),
    ("orsirr_1", 1030, 1030, 6858),
    ("teko_convdiff_f", 2178, 2178, 37_636),
    ("wathen_small", 7400, 7400, 113_632),
];

pub(super) fn real_files_have_their_sizes_and_survive_a_round_trip(folder: &Folder) -> Outcome {
    for (name, rows, cols, nnz) in MATRICES {
        let a = read_matrix_market_coo::<f64>(folder.join(format!("{name}.mtx.gz"))).unwrap();
        assert_eq!((a.rows(), a.cols(), a.nnz()), (rows, cols, nnz), "{name}");
        let mut text = Vec::new();
        MatrixMarketWriter::new().detect_symmetry().write_to(&mut text, &a).unwrap();
        let again = parse_matrix_market_coo::<f64>(&text[..]).unwrap();
        assert_eq!(canonical(triplets(&again)), canonical(triplets(&a)), "{name}");
    }
    Ok(())
}
