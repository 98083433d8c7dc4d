//! A matrix as raw files, for programs that are not ours.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use gpu_sparse::{CsrMatrix, Scalar};
use rayon::prelude::*;
use serde_json::json;

use super::Case;
use crate::{data, harness::Outcome};

/// A number with a fixed place in a raw file.
pub trait Raw: Copy + Send + Sync {
    /// The bytes of one number.
    const BYTES: usize;
    /// Writes its bytes, the lowest first.
    fn put(self, out: &mut [u8]);
}

macro_rules! raw {
    ($($T:ty),*) => {$(
        impl Raw for $T {
            const BYTES: usize = size_of::<$T>();
            fn put(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
raw!(f32, f64, u32, i64);

/// Writes the case's matrix `A`, `x` and `b` into `folder`: `row_starts.bin` (int32 when every number fits, else int64), `columns.bin`
/// (int32), `values.bin`, `x.bin` and `b.bin`, all little-endian, and at last `header.json`: where it is, the rest is whole.
///
/// # Errors
/// Those of the matrix and of the file system; more columns than int32 can count.
pub fn export<T: Scalar + Raw>(folder: &Path, case: &Case) -> Outcome {
    let a: CsrMatrix<T> = case.matrix()?;
    fs::create_dir_all(folder)?;
    let header = folder.join("header.json");
    if header.exists() {
        fs::remove_file(&header)?;
    }
    if a.cols() > i32::MAX as usize {
        return Err(format!("{} columns are too many for int32", a.cols()).into());
    }
    let short = a.nnz() <= i32::MAX as usize;
    let starts = folder.join("row_starts.bin");
    if short {
        raw_file(&starts, a.row_starts(), |&start| start as u32)?;
    } else {
        raw_file(&starts, a.row_starts(), |&start| start as i64)?;
    }
    raw_file(&folder.join("columns.bin"), a.columns(), |&column| column)?;
    raw_file(&folder.join("values.bin"), a.values(), |&value| value)?;
    raw_file(&folder.join("x.bin"), &data::uniform::<T>(a.cols()), |&x| x)?;
    raw_file(&folder.join("b.bin"), &data::sines::<T>(a.rows()), |&b| b)?;
    let facts = json!({
        "matrix": case.name,
        "dtype": data::dtype::<T>(),
        "operations": case.operations.iter().map(|operation| operation.name()).collect::<Vec<_>>(),
        "rows": a.rows(),
        "cols": a.cols(),
        "nnz": a.nnz(),
        "row_starts": if short { "int32" } else { "int64" },
    });
    fs::write(&header, format!("{facts}\n"))?;
    Ok(())
}

/// Writes the numbers that `number` makes of `items`.
fn raw_file<S: Sync, N: Raw>(path: &Path, items: &[S], number: impl Fn(&S) -> N + Sync) -> Outcome {
    const PIECE: usize = 1 << 22;
    const SHARE: usize = 1 << 14;
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::create(path).map_err(wrong)?;
    let mut bytes = vec![0; PIECE.min(items.len()) * N::BYTES];
    for piece in items.chunks(PIECE) {
        let bytes = &mut bytes[..piece.len() * N::BYTES];
        bytes.par_chunks_mut(SHARE * N::BYTES).zip(piece.par_chunks(SHARE)).for_each(|(out, share)| {
            for (out, item) in out.chunks_exact_mut(N::BYTES).zip(share) {
                number(item).put(out);
            }
        });
        file.write_all(bytes).map_err(wrong)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{harness::Set, sparse::cases};

    #[test]
    fn files_hold_the_matrix() -> Outcome {
        let all = cases(Set::Tiny, true);
        let case = &all[0];
        let folder = tempfile::tempdir()?;
        export::<f32>(folder.path(), case)?;
        let numbers = |name: &str| -> Outcome<Vec<[u8; 4]>> {
            Ok(fs::read(folder.path().join(name))?.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]).collect())
        };
        let integers = |name| Ok(numbers(name)?.into_iter().map(u32::from_le_bytes).collect::<Vec<_>>());
        let floats = |name| Ok(numbers(name)?.into_iter().map(f32::from_le_bytes).collect::<Vec<_>>());
        let a: CsrMatrix<f32> = case.matrix()?;
        let starts: Outcome<_> = integers("row_starts.bin");
        assert!(starts?.iter().map(|&start| u64::from(start)).eq(a.row_starts().iter().copied()));
        let columns: Outcome<_> = integers("columns.bin");
        assert_eq!(columns?, a.columns());
        let values: Outcome<_> = floats("values.bin");
        assert_eq!(values?, a.values());
        let (x, b): (Outcome<_>, Outcome<_>) = (floats("x.bin"), floats("b.bin"));
        assert_eq!((x?, b?), (data::uniform::<f32>(a.cols()), data::sines::<f32>(a.rows())));
        let header: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("header.json"))?)?;
        assert_eq!((&header["matrix"], &header["dtype"]), (&json!(case.name), &json!("f32")));
        assert_eq!(header["operations"][0], json!("spmv"));
        assert_eq!((header["rows"].as_u64(), header["nnz"].as_u64()), (Some(500), Some(a.nnz() as u64)));
        Ok(())
    }
}
