//! Fills of host memory: rows of all generators side by side, in chunks of rows that jumps make independent of each other.

use gpu_array::start_threads;
use rayon::prelude::*;

use super::{
    WEYL,
    jump::{Polynomial, Table},
    start,
};
use crate::{XorwowRng, distribution::Distribution, engine::FillRequest};

/// Values that make a chunk worth its jumps.
const CHUNK_VALUES: u64 = 1 << 20;
/// Below so many generators a loop goes along the rows of each.
const FEW: usize = 32;

/// The states of all generators, as kept for the next fill.
#[derive(Default)]
pub(crate) struct HostStates {
    step: Option<u64>,
    rows: Vec<u32>,
}

/// Fills `out`.
pub(crate) fn fill<D: Distribution>(
    request: &FillRequest<'_, XorwowRng>,
    kept: &mut HostStates,
    distribution: D,
    out: &mut [D::Value],
) {
    let FillRequest { call, step, .. } = *request;
    if kept.step != Some(step) {
        kept.rows = start::states(request.seed, request.turns);
    }
    let generators = request.turns.generators() as usize;
    let mut lanes = Lanes::of(&kept.rows, generators, call.cursor as usize);
    lanes.skip(generators - 1, call.dropped);

    let rounds = generators as u64;
    // All rows but the last one, which may be a part.
    let full = call.turns.div_ceil(rounds) - 1;
    let last = (call.turns - full * rounds) as usize;
    let stay = (call.complete.saturating_sub(full * rounds)) as usize;
    let chunk = (CHUNK_VALUES / (rounds * D::VALUES as u64)).max(64).min(full.max(1));
    let chunks = full.div_ceil(chunk).max(1);
    let parts = cut(out, (chunk * rounds) as usize * D::VALUES, call.skip as usize, chunks as usize);
    // Where the threads cannot be started there is one.
    let _ = start_threads();
    let ends: Vec<Option<Vec<u32>>> = parts
        .into_par_iter()
        .enumerate()
        .map(|(at, part)| {
            let first = at as u64 * chunk;
            let mut lanes = lanes.clone();
            lanes.jump(u128::from(first) * D::WORDS as u128);
            let mut work = Work {
                distribution: &distribution,
                skip: if at == 0 { call.skip as usize } else { 0 },
                lanes,
                out: part,
                drawn: Vec::new(),
            };
            let rows = chunk.min(full - first);
            work.rows(rows as usize);
            (at as u64 + 1 == chunks).then(|| work.last_row(rows as usize, last, stay).states(call.cursor as usize))
        })
        .collect();
    if let Some(rows) = ends.into_iter().flatten().next() {
        *kept = HostStates { step: Some(step + 1), rows };
    }
}

/// `out` in parts of `size` values, the first shorter by `skip`; the last takes the rest.
fn cut<T>(mut out: &mut [T], size: usize, skip: usize, parts: usize) -> Vec<&mut [T]> {
    let mut all = Vec::with_capacity(parts);
    for part in 1..parts {
        let (before, behind) = out.split_at_mut(if part == 1 { size - skip } else { size });
        all.push(before);
        out = behind;
    }
    all.push(out);
    all
}

/// Generators side by side, the one at the cursor first. The five words take turns at being the oldest, which a step replaces.
#[derive(Clone)]
struct Lanes {
    v: [Vec<u32>; 5],
    d: Vec<u32>,
    oldest: usize,
}

impl Lanes {
    fn of(rows: &[u32], generators: usize, cursor: usize) -> Self {
        let row = |row: usize| {
            let mut row = rows[row * generators..][..generators].to_vec();
            row.rotate_left(cursor);
            row
        };
        Self { v: std::array::from_fn(row), d: row(5), oldest: 0 }
    }

    /// Lets one generator draw before all others.
    fn skip(&mut self, lane: usize, draws: u32) {
        for _ in 0..draws {
            let v = super::jump::step(std::array::from_fn(|word| self.v[word][lane]));
            self.d[lane] = self.d[lane].wrapping_add(WEYL);
            for (word, value) in v.into_iter().enumerate() {
                self.v[word][lane] = value;
            }
        }
    }

    /// Goes on by so many draws, before any step.
    fn jump(&mut self, draws: u128) {
        if draws == 0 {
            return;
        }
        let table = Table::new(Polynomial::steps(draws));
        for lane in 0..self.d.len() {
            let v = table.apply(std::array::from_fn(|word| self.v[word][lane]));
            for (word, value) in v.into_iter().enumerate() {
                self.v[word][lane] = value;
            }
            self.d[lane] = self.d[lane].wrapping_add(WEYL.wrapping_mul(draws as u32));
        }
    }

    /// A draw of each generator.
    fn draw(&mut self, words: &mut [u32]) {
        let newest = (self.oldest + 4) % 5;
        let mut oldest = std::mem::take(&mut self.v[self.oldest]);
        for (((word, v0), &v4), d) in words.iter_mut().zip(&mut oldest).zip(&self.v[newest]).zip(&mut self.d) {
            let t = *v0 ^ (*v0 >> 2);
            *v0 = (v4 ^ (v4 << 4)) ^ (t ^ (t << 1));
            *d = d.wrapping_add(WEYL);
            *word = d.wrapping_add(*v0);
        }
        self.v[self.oldest] = oldest;
        self.oldest = (self.oldest + 1) % 5;
    }

    /// One generator's words, oldest first.
    fn words(&self, lane: usize) -> [u32; 5] {
        std::array::from_fn(|word| self.v[(self.oldest + word) % 5][lane])
    }

    /// The states as they are kept.
    fn states(mut self, cursor: usize) -> Vec<u32> {
        self.v.rotate_left(self.oldest);
        let [a, b, c, d, e] = self.v;
        let mut rows = [a, b, c, d, e, self.d];
        rows.iter_mut().for_each(|row| row.rotate_right(cursor));
        rows.concat()
    }
}

/// A chunk of rows.
struct Work<'a, D: Distribution> {
    distribution: &'a D,
    /// Values of the first turn that are left out.
    skip: usize,
    lanes: Lanes,
    out: &'a mut [D::Value],
    /// The words of a row.
    drawn: Vec<u32>,
}

impl<D: Distribution> Work<'_, D> {
    /// So many whole rows.
    fn rows(&mut self, rows: usize) {
        let lanes = self.lanes.d.len();
        if lanes < FEW {
            return (0..lanes).for_each(|lane| self.rows_of(lane, rows));
        }
        for row in 0..rows {
            self.row(row, lanes);
        }
    }

    /// The last row, of which `last` generators give values, and `stay` have given all of theirs. Gives the lanes as they are then.
    fn last_row(mut self, row: usize, last: usize, stay: usize) -> Lanes {
        let before = self.lanes.clone();
        self.row(row, last);
        for lane in stay..before.d.len() {
            for (word, value) in before.words(lane).into_iter().enumerate() {
                let at = (self.lanes.oldest + word) % 5;
                self.lanes.v[at][lane] = value;
            }
            self.lanes.d[lane] = before.d[lane];
        }
        self.lanes
    }

    /// The values of a row's first `lanes` turns. Every generator draws.
    fn row(&mut self, row: usize, lanes: usize) {
        let all = self.lanes.d.len();
        let mut drawn = std::mem::take(&mut self.drawn);
        drawn.resize(D::WORDS * all, 0);
        drawn.chunks_exact_mut(all).for_each(|words| self.lanes.draw(words));
        for lane in 0..lanes {
            let words = std::array::from_fn(|word| if word < D::WORDS { drawn[word * all + lane] } else { 0 });
            self.write(row * all + lane, words);
        }
        self.drawn = drawn;
    }

    /// The values of one generator in all rows.
    fn rows_of(&mut self, lane: usize, rows: usize) {
        let lanes = self.lanes.d.len();
        let (mut v, mut d) = (self.lanes.words(lane), self.lanes.d[lane]);
        for row in 0..rows {
            let mut words = [0; 4];
            for word in words.iter_mut().take(D::WORDS) {
                v = super::jump::step(v);
                d = d.wrapping_add(WEYL);
                *word = d.wrapping_add(v[4]);
            }
            self.write(row * lanes + lane, words);
        }
        for (word, value) in v.into_iter().enumerate() {
            let at = (self.lanes.oldest + word) % 5;
            self.lanes.v[at][lane] = value;
        }
        self.lanes.d[lane] = d;
    }

    #[inline(always)]
    fn write(&mut self, turn: usize, words: [u32; 4]) {
        let values = self.distribution.values(words);
        for (at, value) in values.into_iter().enumerate().take(D::VALUES) {
            // A turn in the first or the last place may give fewer.
            let place = (turn * D::VALUES + at).wrapping_sub(self.skip);
            if let Some(out) = self.out.get_mut(place) {
                *out = value;
            }
        }
    }
}
