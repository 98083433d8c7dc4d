//! Copy, read and fill: the speeds that everything else is held against.

use gpu_driver::DeviceVec;
use rayon::prelude::*;

use super::read::Reader;
use crate::{
    data,
    harness::{Check, Harness, Set, Work},
};

/// Elements that one task of a pass on the CPU takes.
const PIECE: usize = 1 << 16;

/// `copy`, `read` and `fill`, of bytes, on the device or on the CPU's threads.
pub fn ceilings(harness: &mut Harness) {
    let bytes: usize = match (harness.on_gpu(), harness.set()) {
        (_, Set::Tiny) => 1 << 14,
        (true, _) => 1 << 31,
        // Several times the caches of a large machine.
        (false, set) => set.pick(0, 1 << 28, 1 << 30),
    };
    copy_on_gpu(harness, bytes);
    if harness.set() == Set::Full {
        // The bytes that are moved by a sum of two vectors of 2^28 f32, a transpose of 16384^2, one of 8192^2: these are held against the copies.
        for bytes in [3 << 29, 1 << 30, 1 << 28] {
            copy_on_gpu(harness, bytes);
        }
        // The bytes that are read by a reduction of 2^28 f32, an expression of four such operands, one of 8192^2. A product of two vectors reads
        // `bytes`.
        for bytes in [1 << 30, 1 << 32, 1 << 28] {
            read_on_gpu(harness, bytes);
        }
    }
    read_on_gpu(harness, bytes);
    fill_on_gpu(harness, bytes);
    on_cpu(harness, bytes);
}

fn copy_on_gpu(harness: &mut Harness, bytes: usize) {
    let n = bytes / 4;
    harness.figure("copy", "bytes", bytes, "machine").work(Work::copies(2 * bytes as u64)).device_only().on_gpu(
        |gpu| Ok((DeviceVec::from_slice(gpu.stream(), &data::words(n))?, DeviceVec::zeros(gpu.stream(), n)?)),
        |(from, to)| Ok(to.copy_from(from.as_slice())?),
        |(_, to), ()| Ok(Check::equal(&to.to_vec()?, &data::words(n))),
    );
}

fn read_on_gpu(harness: &mut Harness, bytes: usize) {
    let n = bytes / 4;
    harness.figure("read", "bytes", bytes, "machine").work(Work::reads(bytes as u64)).device_only().on_gpu(
        |gpu| Ok(Reader::new(gpu, &data::words(n))?),
        |reader| Ok(reader.read()?),
        |reader, ()| Ok(Check::equal(&[reader.sum()?], &[sum(&data::words(n))])),
    );
}

fn fill_on_gpu(harness: &mut Harness, bytes: usize) {
    let n = bytes / 4;
    harness.figure("fill", "bytes", bytes, "machine").work(Work::fills(bytes as u64)).device_only().on_gpu(
        |gpu| Ok(DeviceVec::from_slice(gpu.stream(), &data::words(n))?),
        |buffer| Ok(buffer.set_zero()?),
        |buffer, ()| Ok(Check::equal(&buffer.to_vec()?, &vec![0; n])),
    );
}

fn on_cpu(harness: &mut Harness, bytes: usize) {
    let n = bytes / 4;
    harness.figure("copy", "bytes", bytes, "machine").work(Work::copies(2 * bytes as u64)).on_cpu(
        || Ok((data::words(n), vec![0_u32; n])),
        |(from, to)| {
            to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE)).for_each(|(to, from)| to.copy_from_slice(from));
            Ok(())
        },
        |(from, to), ()| Ok(Check::equal(to, from)),
    );
    harness.figure("read", "bytes", bytes, "machine").work(Work::reads(bytes as u64)).on_cpu(
        || Ok(data::words(n)),
        |words| Ok(sum(words)),
        |words, got| Ok(Check::equal(&[got], &[words.iter().fold(0, |sum, &word| sum.wrapping_add(word))])),
    );
    harness.figure("fill", "bytes", bytes, "machine").work(Work::fills(bytes as u64)).on_cpu(
        || Ok(data::words(n)),
        |words| {
            words.par_chunks_mut(PIECE).for_each(|piece| piece.fill(0));
            Ok(())
        },
        |words, ()| Ok(Check::holds(words.iter().all(|&word| word == 0))),
    );
}

fn sum(words: &[u32]) -> u32 {
    let of_piece = |piece: &[u32]| piece.iter().fold(0_u32, |sum, &word| sum.wrapping_add(word));
    words.par_chunks(PIECE).map(of_piece).reduce(|| 0, u32::wrapping_add)
}
