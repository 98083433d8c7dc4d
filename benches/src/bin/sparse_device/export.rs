//! The matrix as raw files, for programs that are not ours.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    time::Instant,
};

use gpu_sparse::{CsrMatrix, Scalar};
use rayon::prelude::*;
use serde_json::json;

use crate::{
    Outcome,
    report::{Report, element_type},
};

/// A number with a fixed place in a raw file.
pub(crate) trait Raw: Copy + Send + Sync {
    const BYTES: usize;
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

/// Writes `row_starts.bin` (int32 when every number fits, else int64), `columns.bin` (int32), `values.bin`, `x.bin` and `b.bin`, all
/// little-endian, and at last `header.json`: where it is, the rest is whole.
pub(crate) fn write<T: Scalar + Raw>(
    folder: &Path,
    name: &str,
    a: &CsrMatrix<T>,
    x: &[T],
    b: &[T],
    report: &mut Report,
) -> Outcome {
    let started = Instant::now();
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
    raw_file(&folder.join("x.bin"), x, |&x| x)?;
    raw_file(&folder.join("b.bin"), b, |&b| b)?;
    let facts = json!({
        "matrix": name,
        "rows": a.rows(),
        "cols": a.cols(),
        "nnz": a.nnz(),
        "dtype": element_type::<T>(),
        "row_starts": if short { "int32" } else { "int64" },
    });
    fs::write(&header, format!("{facts}\n"))?;
    report.line(json!({"what": "export", "seconds": started.elapsed().as_secs_f64()}));
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
    use gpu_sparse::gallery::Poisson;

    use super::*;

    #[test]
    fn files_hold_the_matrix() -> Outcome {
        let a: CsrMatrix<f32> = Poisson::one_d(3).build()?;
        let folder = tempfile::tempdir()?;
        write(folder.path(), "line", &a, &[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], &mut Report::default())?;
        let numbers = |name: &str| -> Outcome<Vec<[u8; 4]>> {
            Ok(fs::read(folder.path().join(name))?.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]).collect())
        };
        let integers = |name| {
            Ok::<_, Box<dyn std::error::Error>>(numbers(name)?.into_iter().map(i32::from_le_bytes).collect::<Vec<_>>())
        };
        let floats = |name| {
            Ok::<_, Box<dyn std::error::Error>>(numbers(name)?.into_iter().map(f32::from_le_bytes).collect::<Vec<_>>())
        };
        assert_eq!(integers("row_starts.bin")?, [0, 2, 5, 7]);
        assert_eq!(integers("columns.bin")?, [0, 1, 0, 1, 2, 1, 2]);
        assert_eq!(floats("values.bin")?, [2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0]);
        assert_eq!((floats("x.bin")?, floats("b.bin")?), (vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]));
        let header: serde_json::Value = serde_json::from_slice(&fs::read(folder.path().join("header.json"))?)?;
        assert_eq!((&header["rows"], &header["nnz"], &header["dtype"]), (&json!(3), &json!(7), &json!("f32")));
        Ok(())
    }
}
