//! The packet format through its public face: back and forth, and products against compressed rows and their definition.
//!
//! Without the files of real matrices the tests of those are reported as ignored.
#![allow(unreachable_pub, reason = "the device's tests share the cases")]

use std::process::ExitCode;

use approx::abs_diff_eq;
use gpu_sparse::linalg::LinearOperator;
use gpu_sparse::{CsrMatrix, Format, PacketMatrix, PacketPlan, Scalar, SparseError, gallery::Poisson, io};
use ndarray::{Array1, s};
use testkit::{Outcome, Rng, Suite, ensure, ensure_eq, tests};

mod cases;

/// The faster format on an H200, for files where the other takes a tenth more; without lsc_f2, the one of them that the advice misses.
const MEASURED: [(&str, Format); 8] = [
    ("1138_bus", Format::Packets),
    ("ani4", Format::Packets),
    ("bcsstk16", Format::Csr),
    ("franz6_rect", Format::Packets),
    ("mesh_4elt", Format::Packets),
    ("mesh_mdual", Format::Packets),
    ("notredame_www", Format::Csr),
    ("orsirr_1", Format::Packets),
];

fn main() -> ExitCode {
    let always = Ok::<(), String>(());
    let awkward = || cases::awkward().into_iter();
    let plain = awkward().map(|(name, a)| (name, move |_: &()| both_types(&a, None)));
    // Caps so low that most rows are long, up to all of them.
    let caps = awkward()
        .map(|(name, a)| (name, move |_: &()| [0, 1, 4, 16].into_iter().try_for_each(|cap| both_types(&a, Some(cap)))));
    let files = cases::real_files();
    let found = files.as_ref().map(drop).map_err(String::clone);
    let names = files.unwrap_or_else(|_| vec![("every_file".into(), "".into())]);
    let real = names.into_iter().map(|(name, path)| {
        let measured = MEASURED.iter().find(|(file, _)| *file == name).map(|(_, format)| *format);
        (name, move |_: &()| {
            let a = io::read_matrix_market::<f64>(&path)?;
            let plan = PacketPlan::new(&a)?;
            println!("{}", plan.description());
            if let Some(want) = measured {
                ensure_eq!(plan.format(), want);
            }
            both_types(&a, None)
        })
    });
    let others = tests![
        results_do_not_depend_on_the_number_of_threads,
        every_kind_of_vector_is_taken,
        wrong_lengths_are_errors,
        plans_are_for_their_pattern_alone,
        the_last_column_there_can_be,
        values_keep_their_bits,
        what_solvers_ask_is_that_of_compressed_rows,
        advice_by_kind_of_matrix,
        descriptions_add_up_and_say_why,
    ];
    Suite::new()
        .cases("awkward", always.clone(), "", plain)
        .cases("long_rows", always.clone(), "", caps)
        .cases("real", found, "", real)
        .group("packets", always, "", others)
        .run()
}

fn both_types(a: &CsrMatrix<f64>, cap: Option<usize>) -> Outcome {
    check(a, cap, 1e-13)?;
    check(&a.map_values(|value| value as f32), cap, 1e-5)
}

fn plan<T: Scalar>(a: &CsrMatrix<T>, cap: Option<usize>) -> gpu_sparse::Result<PacketPlan> {
    cap.map_or_else(|| PacketPlan::new(a), |cap| PacketPlan::with_long_row_cap(a, cap))
}

/// Back and forth, and every product: near that of compressed rows, and the bits of the definition.
fn check<T: Scalar>(a: &CsrMatrix<T>, cap: Option<usize>, tolerance: f64) -> Outcome {
    let (rows, cols) = (a.rows(), a.cols());
    let plan = plan(a, cap)?;
    let packets = plan.build(a)?;
    ensure_eq!(packets.description(), plan.description());
    ensure_eq!((packets.rows(), packets.cols(), packets.nnz()), (rows, cols, a.nnz()));
    ensure!(same_bits(a, &packets.to_csr()), "other bits come back");

    let vector = |seed, n: usize| -> Vec<T> {
        let mut rng = Rng(seed);
        (0..n).map(|_| T::from_f64(2.0 * rng.uniform() - 1.0)).collect()
    };
    let (mut x, b) = (vector(1, cols), vector(2, rows));
    // Where no row has an entry x must not be read.
    let mut used = vec![false; cols];
    a.columns().iter().for_each(|&column| used[column as usize] = true);
    for (column, x) in x.iter_mut().enumerate().filter(|&(column, _)| !used[column]) {
        *x = if column % 2 == 0 { T::nan() } else { T::infinity() };
    }
    let y = packets.matvec(&x)?;
    let want = a.matvec(&x)?;
    let cap = cap.unwrap_or_else(|| (4 * a.nnz().div_ceil(rows.max(1))).clamp(64, 1024));
    let mut sums = Vec::with_capacity(rows);
    for row in 0..rows {
        let (columns, values) = a.row(row).ok_or("a row is missing")?;
        let products = columns.iter().zip(values).map(|(&column, &value)| value.to_f64() * x[column as usize].to_f64());
        let scale: f64 = products.map(f64::abs).sum();
        let (got, want) = (y[row].to_f64(), want[row].to_f64());
        ensure!((got - want).abs() <= tolerance * scale, "row {row}: {got:e}, in compressed rows {want:e}");
        sums.push(if columns.len() > cap { long_row(columns, values, &x) } else { short_row(columns, values, &x) });
    }
    // Nor where other rows have entries.
    for row in [0, rows / 2, rows.saturating_sub(1)].into_iter().filter(|&row| row < rows) {
        let mut alone = vec![T::nan(); cols];
        a.row(row).ok_or("a row is missing")?.0.iter().for_each(|&column| alone[column as usize] = x[column as usize]);
        ensure!(packets.matvec(&alone)?[row] == y[row], "row {row} depends on more than its columns");
    }
    let bits = |y: &[T], of: &dyn Fn(f64, T) -> f64| {
        let same = |row: usize| T::from_f64(of(sums[row], b[row])).to_f64().to_bits() == y[row].to_f64().to_bits();
        (0..rows).find(|&row| !same(row)).map_or(Ok(()), |row| Err(format!("row {row} has other bits: {}", y[row])))
    };
    bits(y.as_slice().ok_or("y is in one piece")?, &|sum, _| sum)?;
    let mut out = b.clone();
    packets.axpby_into(T::from_f64(0.7), &x, T::from_f64(-0.3), &mut out[..])?;
    let (alpha, beta) = (T::from_f64(0.7).to_f64(), T::from_f64(-0.3).to_f64());
    bits(&out, &|sum, b| alpha * sum + beta * b.to_f64())?;
    let mut out = vec![T::nan(); rows];
    packets.axpby_into(T::from_f64(0.7), &x, T::zero(), &mut out[..])?;
    bits(&out, &|sum, _| alpha * sum)?;
    packets.residual(&x, &b, &mut out)?;
    bits(&out, &|sum, b| b.to_f64() - sum)?;
    packets.apply(&x, &mut out)?;
    bits(&out, &|sum, _| sum)?;
    Ok(())
}

fn short_row<T: Scalar>(columns: &[u32], values: &[T], x: &[T]) -> f64 {
    columns.iter().zip(values).fold(0.0, |sum, (&c, &v)| v.to_f64().mul_add(x[c as usize].to_f64(), sum))
}

/// A long row as its definition reads: 256 threads for each 4096 entries, then shuffles down within each warp.
fn long_row<T: Scalar>(columns: &[u32], values: &[T], x: &[T]) -> f64 {
    let mut row = 0.0;
    for (columns, values) in columns.chunks(4096).zip(values.chunks(4096)) {
        let mut total = 0.0;
        for warp in 0..8 {
            let of_lane = |lane: usize| {
                let entries = (32 * warp + lane..columns.len()).step_by(256);
                entries.fold(0.0, |sum, k| values[k].to_f64().mul_add(x[columns[k] as usize].to_f64(), sum))
            };
            let mut lanes: Vec<f64> = (0..32).map(of_lane).collect();
            for offset in [16, 8, 4, 2, 1] {
                lanes = (0..32).map(|i| lanes[i] + lanes.get(i + offset).unwrap_or(&lanes[i])).collect();
            }
            total += lanes[0];
        }
        row += total;
    }
    row
}

fn same_bits<T: Scalar>(a: &CsrMatrix<T>, b: &CsrMatrix<T>) -> bool {
    // Of f32 the bits of a NaN may change on the way to f64, but to the same ones.
    let bits = |m: &CsrMatrix<T>| m.values().iter().map(|&value| value.to_f64().to_bits()).collect::<Vec<_>>();
    (a.rows(), a.cols()) == (b.rows(), b.cols())
        && (a.row_starts(), a.columns()) == (b.row_starts(), b.columns())
        && bits(a) == bits(b)
}

/// Enough packets for several blocks of work.
fn mixed() -> gpu_sparse::Result<CsrMatrix<f64>> {
    cases::spread((9000, 9000), 11, |i| if i % 1500 == 3 { 5000 } else { i % 23 }, |i| i)
}

fn results_do_not_depend_on_the_number_of_threads(_: &()) -> Outcome {
    let a = mixed()?;
    let x: Vec<f64> = (0..a.cols()).map(|i| (i as f64).sin()).collect();
    let make = || -> gpu_sparse::Result<_> {
        let packets = a.to_packets()?;
        Ok((packets.matvec(&x)?, packets.to_csr(), packets))
    };
    let run = |threads| -> Result<_, Box<dyn std::error::Error>> {
        Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(make)?)
    };
    let one = run(1)?;
    ensure!(one.2.description().long_rows == 6, "{}", one.2.description());
    for threads in [2, 3, 7] {
        ensure!(run(threads)? == one, "{threads} threads");
    }
    Ok(())
}

fn every_kind_of_vector_is_taken(_: &()) -> Outcome {
    let packets = cases::spread((50, 40), 3, |i| i % 7, |i| i)?.to_packets()?;
    let spaced = Array1::from_iter((0..120).map(f64::from));
    let strided = spaced.slice(s![..;3]);
    let packed = strided.to_vec();
    let want = packets.matvec(&packed)?;
    ensure_eq!(packets.matvec(strided)?, want);
    ensure_eq!(packets.matvec(&strided.to_owned())?, want);
    let mut out = Array1::from(vec![9.0; 100]);
    packets.matvec_into(&packed, out.slice_mut(s![..;2]))?;
    ensure_eq!(out.slice(s![..;2]), want);
    ensure!(out.slice(s![1..;2]).iter().all(|&v| v == 9.0), "elements between were written");
    Ok(())
}

fn wrong_lengths_are_errors(_: &()) -> Outcome {
    let packets = cases::spread((5, 4), 1, |_| 2, |i| i)?.to_packets()?;
    let (four, five) = ([1.0; 4], [1.0; 5]);
    let mut y = [7.0; 5];
    let outcomes = [
        packets.matvec(&five).map(drop),
        packets.matvec_into(&five, &mut y),
        packets.matvec_into(&four, &mut y[..4]),
        packets.axpby_into(1.0, &five, 1.0, &mut y),
        packets.apply(&four, &mut y[..3]),
        packets.residual(&four, &four, &mut y),
        packets.residual(&four, &five, &mut y[..4]),
        packets.apply_dot(&four, &mut y).map(drop), // not square
    ];
    for (k, outcome) in outcomes.into_iter().enumerate() {
        ensure!(matches!(outcome, Err(SparseError::Shape { .. })), "{k}: {outcome:?}");
    }
    ensure_eq!(y, [7.0; 5]);
    Ok(())
}

fn plans_are_for_their_pattern_alone(_: &()) -> Outcome {
    let a = cases::spread((1100, 1100), 3, |i| if i == 700 { 400 } else { 1 + i % 9 }, |i| i)?;
    let plan = PacketPlan::new(&a)?;
    let scaled = a.map_values(|value| 3.0 * value);
    ensure!(plan.build(&scaled)?.to_csr() == scaled, "the same pattern with other values");
    // The same numbers of rows, columns and entries, but other rows.
    let turned = |shift: usize| {
        let length = move |i: usize| (i + shift) % 1100;
        cases::spread((1100, 1100), 3, move |i| if length(i) == 700 { 400 } else { 1 + length(i) % 9 }, |i| i)
    };
    for shift in [1, 32, 400] {
        // Where it fits by chance it is right.
        let other = turned(shift)?;
        ensure!(plan.build(&other).is_err() || plan.build(&other)?.to_csr() == other, "turned by {shift}");
    }
    let outcome = plan.build(&turned(750)?).map(drop); // the long row is in the other packet
    ensure!(matches!(outcome, Err(SparseError::Shape { .. })), "{outcome:?}");
    let stairs = |up: usize| cases::spread((320, 320), 1, move |i| 1 + (i / 32 + up) % 10, |i| i);
    let outcome = PacketPlan::new(&stairs(0)?)?.build(&stairs(1)?).map(drop); // slices that are wider than planned
    ensure!(matches!(outcome, Err(SparseError::Shape { .. })), "{outcome:?}");
    // Columns that need more bits than planned.
    let near = cases::spread((64, 70_000), 1, |_| 1, |i| i)?;
    let far = cases::spread((64, 70_000), 1, |_| 1, |i| i % 32 * 2200)?;
    ensure!(matches!(PacketPlan::new(&near)?.build(&far), Err(SparseError::Shape { .. })), "far columns fit");
    let two = |second: u32| CsrMatrix::from_parts(2, 70_000, vec![0, 1, 2], vec![1, second], vec![1.0; 2]);
    let fits = PacketPlan::new(&two(5)?)?;
    ensure_eq!(fits.build(&two(1 + 0xFFFE)?)?.to_csr(), two(1 + 0xFFFE)?);
    ensure!(fits.build(&two(1 + 0xFFFF)?).is_err(), "the mark of an empty place is a column");
    let narrow = a.map_values(|value| value as f32);
    ensure!(matches!(plan.build(&narrow), Err(SparseError::Shape { .. })), "elements of another size");
    Ok(())
}

/// Too many columns for an x, but not for the format.
fn the_last_column_there_can_be(_: &()) -> Outcome {
    let cols = u32::MAX as usize;
    let last = u32::MAX - 1;
    let narrow = CsrMatrix::from_parts(2, cols, vec![0, 1, 2], vec![last - 0xFFFE, last], vec![1.0, 2.0])?;
    let wide = CsrMatrix::from_parts(2, cols, vec![0, 1, 2], vec![0, last], vec![1.0, 2.0])?;
    for (a, wide_slices) in [(narrow, 0), (wide, 1)] {
        let packets = a.to_packets()?;
        ensure_eq!(packets.description().wide_slices, wide_slices);
        ensure!(packets.to_csr() == a, "{:?}", packets.to_csr());
        let long = PacketPlan::with_long_row_cap(&a, 0)?.build(&a)?;
        ensure!(long.to_csr() == a, "{:?}", long.to_csr());
    }
    Ok(())
}

fn values_keep_their_bits(_: &()) -> Outcome {
    let odd = [f64::from_bits(0x7FF8_0000_DEAD_BEEF), -0.0, 0.0, f64::NEG_INFINITY, f64::from_bits(1), -f64::NAN];
    let odd32 = [f32::from_bits(0x7FC0_BEEF), -0.0, 0.0, f32::NEG_INFINITY, f32::from_bits(1), -f32::NAN];
    let (starts, columns) = (vec![0, 2, 2, 6], vec![0, 4, 1, 2, 3, 4]);
    let a = CsrMatrix::from_parts(3, 5, starts.clone(), columns.clone(), odd.to_vec())?;
    let b = CsrMatrix::from_parts(3, 5, starts, columns, odd32.to_vec())?;
    for cap in [0, 2, 64] {
        let back = PacketPlan::with_long_row_cap(&a, cap)?.build(&a)?.to_csr();
        ensure_eq!(back.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>(), odd.map(f64::to_bits).to_vec());
        let back = PacketPlan::with_long_row_cap(&b, cap)?.build(&b)?.to_csr();
        ensure_eq!(back.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>(), odd32.map(f32::to_bits).to_vec());
    }
    Ok(())
}

fn what_solvers_ask_is_that_of_compressed_rows(_: &()) -> Outcome {
    let bits = |diagonal: Option<Vec<f64>>| diagonal.map(|d| d.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    for (name, a) in cases::awkward() {
        for cap in [0, 3, 64] {
            let packets = PacketPlan::with_long_row_cap(&a, cap)?.build(&a)?;
            ensure!(bits(packets.diagonal()) == bits(LinearOperator::diagonal(&a)), "{name}: diagonal");
            ensure_eq!((packets.shape(), packets.is_finite()), (a.shape(), true));
        }
    }
    let mut a = mixed()?;
    for (entry, value) in [(0, f64::NAN), (a.nnz() - 1, f64::INFINITY), (a.nnz() / 2, -f64::NAN)] {
        let before = std::mem::replace(&mut a.values_mut()[entry], value);
        ensure!(!a.to_packets()?.is_finite(), "{value} goes unseen at {entry}");
        a.values_mut()[entry] = before;
    }
    let a = Poisson::three_d(30, 30, 10).random_coefficients(1, 10.0).build::<f64>()?;
    let packets = a.to_packets()?;
    let x: Vec<f64> = (0..a.cols()).map(|i| (i as f64).cos()).collect();
    let (mut y, mut want) = (vec![0.0; a.rows()], vec![0.0; a.rows()]);
    let (got, want_dot) = (packets.apply_dot(&x, &mut y)?, a.apply_dot(&x, &mut want)?);
    ensure_eq!(y, packets.matvec(&x)?.to_vec());
    ensure_eq!(got.to_bits(), gpu_algos::host::dot(&x, &y)?.to_bits());
    ensure!((got - want_dot).abs() <= 1e-12 * want_dot.abs(), "{got} for {want_dot}");
    Ok(())
}

fn advice_by_kind_of_matrix(_: &()) -> Outcome {
    let advice = |a: &CsrMatrix<f64>| -> gpu_sparse::Result<[Format; 2]> {
        Ok([PacketPlan::new(a)?.format(), PacketPlan::new(&a.map_values(|v| v as f32))?.format()])
    };
    let stencils = [
        Poisson::one_d(5000).build()?,
        Poisson::two_d(500, 500).build()?,
        Poisson::three_d(60, 60, 60).build()?,
        Poisson::three_d_27(40, 40, 40).build()?,
    ];
    for a in stencils {
        ensure!(advice(&a)? == [Format::Packets; 2], "{}", PacketPlan::new(&a)?.description());
    }
    // In each packet one row of 64 and many of one, where sorting does not help; the next row starts 20,011 columns further.
    let n = 200_000;
    let padded = cases::spread((n, n), 3001, |i| if i % 1024 == 0 { 64 } else { 1 }, |i| i * 20_011)?;
    let plain = PacketPlan::new(&padded)?;
    ensure!(plain.description().wide_slices == plain.description().slices, "{}", plain.description());
    let against = [
        cases::spread((4, 5000), 1, |_| 5000, |_| 0)?, // all long
        cases::spread((3, 800), 1, |_| 800, |_| 0)?,   // none long
        cases::spread((320, 320), 1, |_| 320, |_| 0)?, // no padding, but 320 steps
        padded,
        cases::spread((0, 0), 1, |_| 0, |_| 0)?,
        cases::spread((5000, 20), 1, |_| 0, |_| 0)?,
    ];
    for a in against {
        ensure!(advice(&a)? == [Format::Csr; 2], "{}", PacketPlan::new(&a)?.description());
    }
    Ok(())
}

fn descriptions_add_up_and_say_why(_: &()) -> Outcome {
    for (name, a) in cases::awkward() {
        for cap in [2, 64] {
            let plan = PacketPlan::with_long_row_cap(&a, cap)?;
            let d = plan.description();
            let parts = [d.values_bytes, d.padding_bytes, d.columns16_bytes, d.columns32_bytes, d.bases_bytes];
            let others = [d.heads_bytes, d.order_bytes, d.long_rows_bytes];
            ensure!(parts.iter().chain(&others).sum::<u64>() == d.bytes, "{name}: {d:?}");
            let (rows, nnz) = (a.rows() as u64, a.nnz() as u64);
            ensure_eq!((d.csr_bytes, d.format), (12 * nnz + 8 * (rows + 1), Format::Packets));
            ensure_eq!((d.slices, d.packets), (a.rows().div_ceil(32), a.rows().div_ceil(1024)));
            ensure_eq!(d.long_rows, (0..a.rows()).filter(|&i| a.row(i).is_some_and(|(c, _)| c.len() > cap)).count());
            let csr = plan.csr_description();
            ensure_eq!((csr.format, csr.bytes), (Format::Csr, d.csr_bytes));
            for text in [d.to_string(), csr.to_string()] {
                ensure!(text.contains("pay") && text.lines().count() <= 4, "{text}");
            }
        }
    }
    // Two packets of 1024 rows and 3 entries: nothing but slots and heads.
    let a = cases::spread((2048, 2048), 1, |_| 3, |i| i.min(2045))?;
    let packets = PacketMatrix::from_csr(&a)?;
    let d = packets.description();
    let slots = 64 * 3;
    ensure_eq!(d.bytes, slots * (32 * 8 + 64 + 4) + 4 * 65 + 4 * 64 + 4 * 2);
    ensure_eq!((d.padding_bytes, d.longest_slice, d.ordered_packets), (0, 3, 0));
    ensure!(abs_diff_eq!(d.bytes_per_nonzero(), d.bytes as f64 / 6144.0, epsilon = 1e-12), "{d}");
    ensure!(d.to_string().contains("values 8.00, 16-bit columns 2.00, bases 0.12"), "{d}");
    let csr = gpu_sparse::Description::of_csr(2048, 2048, 6144, 8);
    ensure_eq!((csr.bytes, csr.bytes_per_nonzero()), (d.csr_bytes, d.csr_bytes_per_nonzero()));
    ensure!(!csr.to_string().contains("pay"), "{csr}");
    let none = gpu_sparse::Description::of_csr(usize::MAX, 0, usize::MAX, 8);
    ensure_eq!((none.bytes, none.csr_bytes), (u64::MAX, u64::MAX));
    ensure_eq!(gpu_sparse::Description::of_csr(9, 9, 0, 4).bytes_per_nonzero(), 0.0);
    ensure_eq!(format!("{:>8}|{}", Format::Packets, Format::Csr), " packets|csr");
    Ok(())
}
