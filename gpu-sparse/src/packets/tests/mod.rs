//! Internals: where slices lie, which order a packet gets, and which values may come back from a device.

mod raw;

use testkit::Rng;

use super::order::RowOrder;
use super::plan::{PacketShape, SliceShape, place};
use super::{NATURAL, PACKET_ROWS, PACKET_SLICES, PacketMatrix, PacketPlan, SLICE_ROWS, WIDE};
use crate::{CsrMatrix, Scalar, SparseError};

/// A matrix of random size and random pattern, by turns of one kind or another: lengths alike, of all sizes, or with a few
/// long ones; columns near the diagonal or anywhere.
fn random(rng: &mut Rng) -> CsrMatrix<f64> {
    let rows = [1, 20, 33, 700, 1024, 1500, 2300][rng.below(7)] + rng.below(3);
    let cols = [1, 40, 3000, 0xFFFF, 0x1_0000, 0x1_0001, 200_000][rng.below(7)];
    let (kind, mean, near) = (rng.below(4), 1 + rng.below(12), rng.below(2) == 0);
    let band = 1 + rng.below(cols);
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..rows {
        let length = match kind {
            0 => mean,
            1 => rng.below(2 * mean),
            2 if rng.below(150) == 0 => 40 + rng.below(200),
            2 => rng.below(3),
            _ => mean * (row / 32 % 2) + 1,
        };
        let first = if near { row.min(cols - 1) } else { 0 };
        let width = if near { band.min(cols - first) } else { cols };
        let mut of_row: Vec<u32> = (0..length).map(|_| (first + rng.below(width)) as u32).collect();
        of_row.sort_unstable();
        of_row.dedup();
        values.extend(of_row.iter().map(|_| if rng.below(20) == 0 { 0.0 } else { rng.uniform() - 0.5 }));
        columns.extend(of_row);
        starts.push(values.len() as u64);
    }
    CsrMatrix::from_parts(rows, cols, starts, columns, values).expect("a pattern within the matrix")
}

/// Widths and bytes of the slots that `rows` would make, as the format is defined.
fn slots_of<T: Scalar>(a: &CsrMatrix<T>, rows: &[usize]) -> (Vec<SliceShape>, u64) {
    let mut bytes = 0;
    let shapes = rows.chunks(SLICE_ROWS).map(|rows| {
        let columns: Vec<&[u32]> = rows.iter().filter_map(|&row| a.row(row)).map(|(columns, _)| columns).collect();
        let width = columns.iter().map(|columns| columns.len()).max().unwrap_or(0);
        let wide = (0..width).any(|slot| {
            let of_slot = || columns.iter().filter_map(|columns| columns.get(slot).copied());
            of_slot().max().unwrap_or(0) - of_slot().min().unwrap_or(0) > 0xFFFE
        });
        bytes += width as u64 * (32 * size_of::<T>() as u64 + if wide { 128 } else { 68 });
        SliceShape { width: width as u32, wide }
    });
    (shapes.collect(), bytes)
}

/// The decision on each packet, from its definition, and the slices that follow.
fn decide<T: Scalar>(a: &CsrMatrix<T>, cap: usize) -> (Vec<RowOrder>, Vec<SliceShape>) {
    let length = |&row: &usize| a.row(row).map_or(0, |(columns, _)| columns.len());
    let (mut orders, mut shapes) = (Vec::new(), Vec::new());
    for first in (0..a.rows()).step_by(PACKET_ROWS) {
        let all: Vec<usize> = (first..a.rows().min(first + PACKET_ROWS)).collect();
        let short: Vec<usize> = all.iter().copied().filter(|row| length(row) <= cap).collect();
        let mut sorted = short.clone();
        sorted.sort_by_key(|row| std::cmp::Reverse(length(row)));
        let ((as_is, bytes), (by_length, sorted_bytes)) = (slots_of(a, &short), slots_of(a, &sorted));
        let any_long = short.len() < all.len();
        let price = if any_long { 0 } else { 2048 };
        let (order, mut slices) = match any_long {
            _ if sorted_bytes + price < bytes => (RowOrder::Sorted, by_length),
            true => (RowOrder::ClosedUp, as_is),
            false => (RowOrder::Natural, as_is),
        };
        slices.resize(all.len().div_ceil(SLICE_ROWS), SliceShape::default());
        orders.push(order);
        shapes.extend(slices);
    }
    (orders, shapes)
}

#[test]
fn orders_and_slices_are_those_of_the_definition() {
    let mut rng = Rng(11);
    let mut seen = [0; 3];
    for _ in 0..120 {
        let a = random(&mut rng);
        let cap = [0, 3, 20, 64, 1000][rng.below(5)];
        let plan = PacketPlan::with_long_row_cap(&a, cap).unwrap();
        let narrow = PacketPlan::with_long_row_cap(&a.map_values(|v| v as f32), cap).unwrap();
        for (plan, (orders, shapes)) in [(plan, decide(&a, cap)), (narrow, decide(&a.map_values(|v| v as f32), cap))] {
            let got: Vec<RowOrder> = plan.packets.iter().map(|packet| packet.order).collect();
            assert_eq!(got, orders);
            let placed = place(&shapes).unwrap();
            assert_eq!((&plan.slice_slots, &plan.slice_columns), (&placed.slots, &placed.columns));
            orders.iter().for_each(|&order| seen[order as usize] += 1);
        }
    }
    assert!(seen.iter().all(|&packets| packets > 20), "{seen:?}");
}

/// A matrix of rows that are `length(i)` entries long, from the first column on.
fn of_lengths(rows: usize, length: impl Fn(usize) -> usize) -> CsrMatrix<f64> {
    let starts = (0..=rows).scan(0, |end, row| Some(std::mem::replace(end, *end + length(row) as u64))).collect();
    let columns: Vec<u32> = (0..rows).flat_map(|row| 0..length(row) as u32).collect();
    let values = vec![1.0; columns.len()];
    CsrMatrix::from_parts(rows, 5000, starts, columns, values).unwrap()
}

#[test]
fn an_order_must_save_more_than_it_takes() {
    // One row of two entries in each of so many slices: sorted, they share one slice. A slot takes 324 or 196 bytes.
    let orders = |slices: usize| {
        let a = of_lengths(1024, |row| 1 + usize::from(row % 32 == 0 && row / 32 < slices));
        [PacketPlan::new(&a).unwrap(), PacketPlan::new(&a.map_values(|v| v as f32)).unwrap()]
            .map(|plan| plan.packets[0].order)
    };
    assert_eq!(orders(7), [RowOrder::Natural, RowOrder::Natural]);
    assert_eq!(orders(8), [RowOrder::Sorted, RowOrder::Natural]);
    assert_eq!(orders(11), [RowOrder::Sorted, RowOrder::Natural]);
    assert_eq!(orders(12), [RowOrder::Sorted, RowOrder::Sorted]);
}

#[test]
fn the_cap_follows_the_mean() {
    let cap =
        |rows, length: usize| PacketPlan::new(&of_lengths(rows, |row| length + usize::from(row == 0))).unwrap().cap;
    assert_eq!((cap(0, 9), cap(10, 0), cap(10, 15), cap(10, 16)), (64, 64, 64, 68));
    assert_eq!((cap(10, 254), cap(10, 255), cap(10, 4000)), (1020, 1024, 1024));
}

#[test]
fn slices_are_placed_one_after_another() {
    let slice = |width, wide| SliceShape { width, wide };
    let placed = place(&[slice(3, false), slice(2, true), slice(0, false), slice(4, true), slice(1, false)]).unwrap();
    assert_eq!(placed.slots, [0, 3, 5, 5, 9, 10]);
    assert_eq!(placed.columns, [0, WIDE, 3, 2 | WIDE, 3]);
    assert_eq!((placed.narrow_slots, placed.wide_slots), (4, 6));
    assert_eq!(place(&[]).unwrap().slots, [0]);
}

#[test]
fn too_many_slots_are_an_error() {
    let slice = |width| SliceShape { width, wide: width % 2 == 0 };
    let most = vec![slice(1 << 20); 2047];
    let with = |last: u32| place(&[&most[..], &[slice(last)]].concat());
    let fits = with((1 << 20) - 1).unwrap();
    assert_eq!(*fits.slots.last().unwrap(), (1 << 31) - 1);
    const LIMIT: u64 = (1 << 31) - 1;
    for (last, want) in [(1 << 20, LIMIT + 1), (u32::MAX, (2047 << 20) + u64::from(u32::MAX))] {
        let got = with(last).unwrap_err();
        assert!(matches!(got, SparseError::TooLarge { value, limit: LIMIT, .. } if value == want), "{got}");
    }
    let widest = place(&vec![slice(u32::MAX); 5000]).unwrap_err();
    assert!(matches!(widest, SparseError::TooLarge { value, .. } if value == 5000 * u64::from(u32::MAX)), "{widest}");
}

/// Checks the arrays of a built matrix where the format leaves no choice.
fn assert_canonical<T: Scalar>(packets: &PacketMatrix<T>, shapes: &[PacketShape]) {
    let slots = *packets.slice_slots.last().unwrap() as usize;
    assert_eq!(packets.values.len(), slots * SLICE_ROWS);
    assert_eq!(packets.deltas.len(), packets.bases.len() * SLICE_ROWS);
    assert_eq!(packets.bases.len() + packets.wide_columns.len() / SLICE_ROWS, slots);
    let mut next = 0;
    for (packet, shape) in shapes.iter().enumerate() {
        let ordered = shape.order != RowOrder::Natural;
        assert_eq!(packets.packet_orders[packet], if ordered { next } else { NATURAL });
        next += u32::from(ordered);
    }
    assert_eq!(packets.order.len(), next as usize * PACKET_ROWS);
    for (base, deltas) in packets.bases.iter().zip(packets.deltas.as_chunks::<SLICE_ROWS>().0) {
        // The base is a column that is present, so a delta is 0; every slot has an entry.
        assert!(deltas.contains(&0), "base {base}: {deltas:?}");
    }
    for packet in 0..packets.packets() {
        assert!(packets.packet_slices(packet).count() <= PACKET_SLICES);
        for (_, slice) in packets.packet_slices(packet) {
            for (slot, values) in slice.values.iter().enumerate() {
                let padding = values.iter().enumerate().filter(|&(lane, _)| slice.columns.get(slot, lane).is_none());
                for (_, value) in padding {
                    assert_eq!(value.to_f64().unwrap().to_bits(), 0);
                }
            }
        }
    }
}

#[test]
fn random_matrices_come_back_and_multiply_right() {
    let mut rng = Rng(5);
    for _ in 0..80 {
        let a = random(&mut rng);
        let cap = [0, 2, 64, 90][rng.below(4)];
        let plan = PacketPlan::with_long_row_cap(&a, cap).unwrap();
        let packets = plan.build(&a).unwrap();
        assert_canonical(&packets, &plan.packets);
        assert_eq!(packets.to_csr(), a);
        let x: Vec<f64> = (0..a.cols()).map(|_| rng.uniform() - 0.5).collect();
        let (got, want) = (packets.matvec(&x).unwrap(), a.matvec(&x).unwrap());
        let sizes: Vec<f64> = x.iter().map(|x| x.abs()).collect();
        let scales = a.map_values(f64::abs).matvec(&sizes).unwrap();
        for ((got, want), scale) in got.iter().zip(&want).zip(&scales) {
            assert!((got - want).abs() <= 1e-13 * scale, "{got} for {want}");
        }
    }
}
