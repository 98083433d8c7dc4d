//! Arrays that come back from elsewhere, right and wrong.

use approx::abs_diff_eq;
use testkit::Rng;

use super::super::{NATURAL, NO_COLUMN, NO_DELTA, NO_ROW, RawPackets, WIDE};
use super::{PacketMatrix, PacketPlan, random};
use crate::{CsrMatrix, Result, SparseError};

fn raw(packets: &PacketMatrix<f64>) -> RawPackets<f64> {
    let p = packets.clone();
    RawPackets {
        rows: p.rows,
        cols: p.cols,
        slice_slots: p.slice_slots,
        slice_columns: p.slice_columns,
        bases: p.bases,
        deltas: p.deltas,
        wide_columns: p.wide_columns,
        values: p.values,
        packet_orders: p.packet_orders,
        order: p.order,
        long_rows: p.long_rows,
        long_starts: p.long_starts,
        long_columns: p.long_columns,
        long_values: p.long_values,
    }
}

#[test]
fn what_was_built_is_accepted_as_it_is() {
    let mut rng = Rng(3);
    for round in 0..60 {
        let mut a = random(&mut rng);
        if let (true, Some(value)) = (round % 3 == 0, a.values_mut().last_mut()) {
            *value = f64::INFINITY;
        }
        for cap in [0, 5, 64] {
            let built = PacketPlan::with_long_row_cap(&a, cap).unwrap().build(&a).unwrap();
            assert_eq!(PacketMatrix::from_raw(raw(&built)).unwrap(), built);
        }
    }
}

/// 1100 rows: a sorted packet with a long row, number 5, of 10 entries, and a natural one of three slices, of which the
/// second is wide.
fn small() -> RawPackets<f64> {
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for row in 0..1100_u32 {
        let (first, length) = match row {
            5 => (100, 10),
            1056..1088 => ((row - 1056) * 4000, 2),
            0..1024 => (row, 1 + row % 3),
            _ => (row, 2),
        };
        columns.extend((0..length).map(|k| first + 2 * k));
        starts.push(columns.len() as u64);
    }
    let values = (1..=columns.len()).map(|k| k as f64).collect();
    let a = CsrMatrix::from_parts(1100, 200_000, starts, columns, values).unwrap();
    let built = PacketPlan::with_long_row_cap(&a, 4).unwrap().build(&a).unwrap();
    assert_eq!((built.long_rows.as_slice(), built.packet_orders.as_slice()), (&[5][..], &[0, NATURAL][..]));
    assert_eq!((built.wide_columns.len(), built.order.len()), (64, 1024));
    raw(&built)
}

fn refused(change: impl FnOnce(&mut RawPackets<f64>)) -> &'static str {
    let mut raw = small();
    change(&mut raw);
    match PacketMatrix::from_raw(raw) {
        Err(SparseError::Packets { rule, .. }) => rule,
        Err(other) => panic!("{other}"),
        Ok(_) => "accepted",
    }
}

#[test]
fn each_rule_is_kept() {
    assert_eq!(refused(|_| ()), "accepted");
    assert_eq!(refused(|r| r.rows = 1200), "one start for each slice and the end");
    assert_eq!(refused(|r| r.rows = 1090), "entries belong to rows");
    assert_eq!(refused(|r| r.cols = 1000), "columns lie in the matrix");
    assert_eq!(refused(|r| r.cols = 124_002), "columns lie in the matrix");
    assert_eq!(refused(|r| r.cols = 124_003), "accepted");
    assert_eq!(refused(|r| r.slice_slots.push(0)), "one start for each slice and the end");
    assert_eq!(refused(|r| r.slice_slots[0] = 1), "slots start at 0");
    assert_eq!(refused(|r| r.slice_slots[35] += 1), "slots end with the values");
    assert_eq!(refused(|r| r.slice_slots[3] = u32::MAX), "slots rise");
    assert_eq!(refused(|r| _ = r.slice_columns.pop()), "one place of columns for each slice");
    assert_eq!(refused(|r| r.slice_columns[1] = WIDE - 1), "columns of slices lie in their array");
    assert_eq!(refused(|r| r.slice_columns[1] |= WIDE), "columns of slices lie in their array");
    assert_eq!(refused(|r| _ = r.values.pop()), "32 values for each slot");
    assert_eq!(refused(|r| _ = r.deltas.pop()), "32 deltas for each base");
    assert_eq!(refused(|r| _ = r.wide_columns.pop()), "32 columns for each wide slot");
    assert_eq!(refused(|r| (r.bases.push(0), r.deltas.extend([NO_DELTA; 32])).1), "columns for each slot");
    assert_eq!(refused(|r| r.bases[0] = u32::MAX), "columns lie in the matrix");
    assert_eq!(refused(|r| r.bases[1] = 0), "the columns of a row rise");
    assert_eq!(refused(|r| r.deltas[0] = NO_DELTA), "rows have no holes");
    assert_eq!(refused(|r| r.wide_columns[3] = NO_COLUMN), "rows have no holes");
    assert_eq!(refused(|r| r.wide_columns[35] = r.wide_columns[3]), "the columns of a row rise");
    assert_eq!(refused(|r| r.wide_columns[35] = 200_000), "columns lie in the matrix");
    assert_eq!(refused(|r| _ = r.packet_orders.pop()), "one order for each packet");
    assert_eq!(refused(|r| r.packet_orders[1] = 1), "orders lie in their array");
    assert_eq!(refused(|r| r.packet_orders[1] = 0), "an order has each row once");
    assert_eq!(refused(|r| r.packet_orders[0] = NATURAL), "packets with long rows have an order");
    assert_eq!(refused(|r| _ = r.order.pop()), "1024 rows for each order");
    assert_eq!(refused(|r| r.order[0] = r.order[1]), "an order has each row once");
    assert_eq!(refused(|r| r.order[0] = 1024), "an order has each row once");
    assert_eq!(refused(|r| r.order[0] = 5), "an order has each row once");
    assert_eq!(refused(|r| r.order[0] = NO_ROW), "an order has each row once");
    assert_eq!(refused(|r| r.order.swap(0, 1)), "accepted"); // another matrix
    assert_eq!(refused(|r| r.order.swap(0, 1023)), "entries belong to rows");
    assert_eq!(refused(|r| r.long_rows.push(7)), "one start for each long row and the end");
    assert_eq!(refused(|r| r.long_rows[0] = 6), "an order has each row once");
    assert_eq!(refused(|r| r.long_rows[0] = 1100), "long rows lie in the matrix");
    assert_eq!(refused(|r| r.long_rows[0] = 1099), "packets with long rows have an order");
    assert_eq!(refused(|r| (r.long_rows.push(5), r.long_starts.push(10)).1), "long rows rise");
    assert_eq!(refused(|r| r.long_starts.clear()), "one start for each long row and the end");
    assert_eq!(refused(|r| r.long_starts[0] = 1), "long rows start at 0");
    assert_eq!(refused(|r| r.long_starts[1] = u64::MAX), "long rows end with their values");
    assert_eq!(refused(|r| (r.long_rows.push(9), r.long_starts.insert(1, 11)).1), "starts of long rows rise");
    assert_eq!(refused(|r| r.long_columns.push(1)), "a column for each value");
    assert_eq!(refused(|r| r.long_columns[4] = 100), "the columns of a row rise");
    assert_eq!(refused(|r| r.long_columns[9] = NO_COLUMN), "columns lie in the matrix");
    let mut too_large = small();
    too_large.cols = usize::MAX;
    assert!(matches!(PacketMatrix::from_raw(too_large), Err(SparseError::TooLarge { .. })));
    assert!(
        PacketMatrix::from_raw(RawPackets::<f32> {
            long_starts: vec![0],
            slice_slots: vec![0],
            ..RawPackets::default()
        })
        .is_ok()
    );
    assert!(PacketMatrix::from_raw(RawPackets::<f32>::default()).is_err());
}

#[test]
fn the_last_packet_has_positions_for_its_own_slices_alone() {
    // 40 rows have 64 positions; a row behind them would not be multiplied.
    let a = CsrMatrix::from_parts(
        40,
        9,
        (0..=40).map(|row| u64::from(row > 0) * 9).collect(),
        (0..9).collect(),
        vec![1.0; 9],
    );
    let a = a.unwrap();
    let built = PacketPlan::with_long_row_cap(&a, 5).unwrap().build(&a).unwrap();
    let moved = |to: usize| {
        let mut raw = raw(&built);
        raw.order.swap(38, to);
        PacketMatrix::from_raw(raw)
    };
    assert_eq!(moved(63).unwrap().to_csr(), a);
    assert!(matches!(moved(64), Err(SparseError::Packets { rule: "an order has each row once", .. })));
}

#[test]
fn other_arrays_of_the_same_matrix_are_accepted() {
    let a = PacketMatrix::from_raw(small()).unwrap().to_csr();
    let mut other = small();
    // A narrow slice behind all others as a wide one, a lower base, numbers where nothing is.
    let (slots, places) = (other.slice_slots[34] as usize..other.slice_slots[35] as usize, other.slice_columns[34]);
    assert_eq!((slots.len(), places as usize + 2), (2, other.bases.len()));
    for slot in places as usize..places as usize + 2 {
        let column = |&delta: &u16| if delta == NO_DELTA { NO_COLUMN } else { other.bases[slot] + u32::from(delta) };
        let columns: Vec<u32> = other.deltas[32 * slot..32 * slot + 32].iter().map(column).collect();
        other.wide_columns.extend(columns);
    }
    other.bases.truncate(places as usize);
    other.deltas.truncate(32 * places as usize);
    other.slice_columns[34] = 2 | WIDE;
    *other.values.last_mut().unwrap() = f64::NAN;
    let slot = other.bases.len() - 1;
    other.bases[slot] -= 7;
    other.deltas[32 * slot..].iter_mut().filter(|delta| **delta != NO_DELTA).for_each(|delta| *delta += 7);
    let other = PacketMatrix::from_raw(other).unwrap();
    assert_eq!((other.to_csr(), other.finite), (a, true));
}

/// Changes one number somewhere, or the length of an array.
fn corrupt(raw: &mut RawPackets<f64>, rng: &mut Rng) {
    macro_rules! change {
        ($array:expr, $kind:ty) => {{
            let array = &mut $array;
            match rng.below(10) {
                0 => drop(array.pop()),
                1 => array.push(Default::default()),
                _ if array.is_empty() => array.push(Default::default()),
                _ => {
                    let at = rng.below(array.len());
                    let other = array[rng.below(array.len())];
                    let word = rng.next_u64() as $kind;
                    array[at] = [0, 1, <$kind>::MAX, array[at].wrapping_add(1), array[at].wrapping_sub(1), other, word]
                        [rng.below(7)];
                }
            }
        }};
    }
    match rng.below(13) {
        0 => {
            raw.rows =
                [raw.rows.wrapping_add(1), raw.rows.wrapping_sub(1), 0, usize::MAX, u32::MAX as usize][rng.below(5)]
        }
        1 => {
            raw.cols =
                [raw.cols.wrapping_add(1), raw.cols.wrapping_sub(1), 0, usize::MAX, u32::MAX as usize][rng.below(5)]
        }
        2 => change!(raw.slice_slots, u32),
        3 => change!(raw.slice_columns, u32),
        4 => change!(raw.bases, u32),
        5 => change!(raw.deltas, u16),
        6 => change!(raw.wide_columns, u32),
        7 => change!(raw.packet_orders, u32),
        8 => change!(raw.order, u16),
        9 => change!(raw.long_rows, u32),
        10 => change!(raw.long_starts, u64),
        11 => change!(raw.long_columns, u32),
        _ => drop(raw.values.pop()),
    }
}

#[test]
fn no_change_of_an_array_makes_a_panic_or_a_wrong_matrix() -> Result<()> {
    let mut rng = Rng(77);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..25 {
        let a = random(&mut rng);
        let cap = [0, 3, 64][rng.below(3)];
        let built = PacketPlan::with_long_row_cap(&a, cap)?.build(&a)?;
        for _ in 0..60 {
            let mut changed = raw(&built);
            for _ in 0..1 + rng.below(2) {
                corrupt(&mut changed, &mut rng);
            }
            let Ok(packets) = PacketMatrix::from_raw(changed) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            let b = packets.to_csr();
            let parts = (b.row_starts().to_vec(), b.columns().to_vec(), b.values().to_vec());
            let checked = CsrMatrix::from_parts(packets.rows, packets.cols, parts.0, parts.1, parts.2)?;
            assert_eq!((checked.nnz(), packets.nnz), (b.nnz(), b.nnz()));
            assert_eq!(packets.diagonal, b.diagonal().to_vec());
            if packets.cols < 1 << 20 {
                let x: Vec<f64> = (0..packets.cols).map(|_| rng.uniform()).collect();
                let (got, want) = (packets.matvec(&x)?, b.matvec(&x)?);
                assert!(got.iter().zip(&want).all(|(got, want)| abs_diff_eq!(got, want, epsilon = 1e-11)), "{cap}");
            }
        }
    }
    assert!(accepted > 50 && refused > 500, "{accepted} accepted, {refused} refused");
    Ok(())
}
