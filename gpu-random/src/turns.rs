//! How many generators take turns at a stream, and how far each of them is.
//!
//! A stream has `G` generators, one for each subsequence of the seed, and a cursor. In a turn the generator at the cursor draws some units
//! and gives some values, which stand side by side in the output; then the cursor moves on. How much a turn draws and gives depends on
//! the kind of fill, so that generators may be at different places; those between two boundaries are at the same one.

/// The size of a turn: its draws, in the units in which a generator counts (words, or blocks of four), and the values it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) draws: u32,
    pub(crate) values: u32,
    /// Whether the values left of a turn that was begun are those of any other kind of turn too, as with Philox; else they are dropped when
    /// the kind changes.
    pub(crate) shared: bool,
}

/// The generators from `from` on, up to the next piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    pub(crate) from: u32,
    pub(crate) draws: u128,
}

/// A turn that has given some of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Begun {
    given: u32,
    draws: u32,
    values: u32,
}

/// The progress of a stream: the draws of each generator, and the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    generators: u32,
    cursor: u32,
    begun: Option<Begun>,
    /// At least one, the first from 0, neighbours different.
    pieces: Vec<Piece>,
}

/// The turns of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FillCall {
    /// The generator of the first turn.
    pub(crate) cursor: u32,
    /// Units that the generator before it, the last of a round, draws first: those of a turn whose other values are dropped.
    pub(crate) dropped: u32,
    /// Values of the first turn that were given before.
    pub(crate) skip: u32,
    /// Number of turns that give values.
    pub(crate) turns: u64,
    /// Number of turns that have given all of their values then: all, or all but the last.
    pub(crate) complete: u64,
    /// Units that a turn draws.
    pub(crate) draws: u32,
}

impl StreamPosition {
    /// A stream at its start.
    pub(crate) fn new(generators: u32) -> Self {
        Self { generators, cursor: 0, begun: None, pieces: vec![Piece { from: 0, draws: 0 }] }
    }

    /// A stream after `values` values of turns of one kind.
    pub(crate) fn after(generators: u32, turn: Turn, values: u64) -> Self {
        let mut turns = Self::new(generators);
        let call = turns.call(turn, values);
        turns.advance(&call, turn, values);
        turns
    }

    pub(crate) fn generators(&self) -> u32 {
        self.generators
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The turns of a fill of `values` values, at least one.
    pub(crate) fn call(&self, turn: Turn, values: u64) -> FillCall {
        let mut call = FillCall { cursor: self.cursor, dropped: 0, skip: 0, turns: 0, complete: 0, draws: turn.draws };
        match self.begun {
            Some(begun) if turn.shared || (begun.draws, begun.values) == (turn.draws, turn.values) => {
                call.skip = begun.given
            }
            Some(begun) => {
                call.dropped = begun.draws;
                call.cursor = (self.cursor + 1) % self.generators;
            }
            None => {}
        }
        let all = u128::from(values) + u128::from(call.skip);
        call.turns = all.div_ceil(turn.values.into()) as u64;
        call.complete = (all / u128::from(turn.values)) as u64;
        call
    }

    /// Moves on by the values of a call.
    pub(crate) fn advance(&mut self, call: &FillCall, turn: Turn, values: u64) {
        if call.dropped > 0 {
            self.draw(self.cursor, 1, call.dropped.into());
        }
        let generators = u64::from(self.generators);
        let rounds = call.complete / generators;
        for piece in &mut self.pieces {
            piece.draws += u128::from(rounds) * u128::from(turn.draws);
        }
        let rest = (call.complete % generators) as u32;
        self.draw(call.cursor, rest, turn.draws.into());
        self.cursor = ((u64::from(call.cursor) + u64::from(rest)) % generators) as u32;
        let given = ((u128::from(values) + u128::from(call.skip)) % u128::from(turn.values)) as u32;
        self.begun = (given > 0).then_some(Begun { given, draws: turn.draws, values: turn.values });
    }

    /// Lets `count` generators from `first` on, at most all, draw so much.
    fn draw(&mut self, first: u32, count: u32, draws: u128) {
        let end = u64::from(first) + u64::from(count);
        let generators = u64::from(self.generators);
        let wrapped = end.saturating_sub(generators) as u32;
        self.draw_between(0, wrapped, draws);
        self.draw_between(first, end.min(generators) as u32, draws);
        self.pieces.dedup_by_key(|piece| piece.draws);
    }

    fn draw_between(&mut self, start: u32, end: u32, draws: u128) {
        if start == end {
            return;
        }
        self.cut(start);
        self.cut(end);
        for piece in self.pieces.iter_mut().filter(|piece| (start..end).contains(&piece.from)) {
            piece.draws += draws;
        }
    }

    fn cut(&mut self, at: u32) {
        if at == self.generators {
            return;
        }
        let behind = self.pieces.partition_point(|piece| piece.from <= at);
        let before = self.pieces[behind - 1];
        if before.from < at {
            self.pieces.insert(behind, Piece { from: at, draws: before.draws });
        }
    }

    /// Units that a generator has drawn.
    pub(crate) fn drawn(&self, generator: u32) -> u128 {
        self.pieces[self.pieces.partition_point(|piece| piece.from <= generator) - 1].draws
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: Turn = Turn { draws: 1, values: 1, shared: false };
    const PAIR: Turn = Turn { draws: 2, values: 2, shared: false };
    const WIDE_PAIR: Turn = Turn { draws: 4, values: 2, shared: false };
    const TWO_WORDS: Turn = Turn { draws: 2, values: 1, shared: false };
    const FOUR_WORDS: Turn = Turn { draws: 4, values: 1, shared: false };
    const BLOCK: Turn = Turn { draws: 1, values: 4, shared: true };
    const BLOCKS: Turn = Turn { draws: 2, values: 4, shared: true };

    /// One turn after the other.
    struct Slow {
        drawn: Vec<u128>,
        cursor: usize,
        /// Given, and the turn.
        begun: Option<(u32, Turn)>,
    }

    impl Slow {
        fn new(generators: u32) -> Self {
            Self { drawn: vec![0; generators as usize], cursor: 0, begun: None }
        }

        fn take(&mut self, turn: Turn, values: u64) {
            if let Some((_, begun)) = self.begun.filter(|&(_, begun)| values > 0 && !turn.shared && begun != turn) {
                self.end(begun.draws);
            }
            for _ in 0..values {
                let given = self.begun.map_or(0, |(given, _)| given) + 1;
                self.begun = Some((given, turn));
                if given == turn.values {
                    self.end(turn.draws);
                }
            }
        }

        fn end(&mut self, draws: u32) {
            self.drawn[self.cursor] += u128::from(draws);
            self.cursor = (self.cursor + 1) % self.drawn.len();
            self.begun = None;
        }
    }

    #[test]
    fn mixed_calls_are_turns_one_after_the_other() {
        for (generators, kinds) in [
            (1, [WORD, PAIR, WIDE_PAIR]),
            (7, [WORD, PAIR, WIDE_PAIR]),
            (7, [BLOCK, BLOCKS, BLOCK]),
            (64, [PAIR, WIDE_PAIR, WORD]),
            (7, [PAIR, TWO_WORDS, WORD]),
            (7, [WIDE_PAIR, FOUR_WORDS, TWO_WORDS]),
        ] {
            let (mut slow, mut turns) = (Slow::new(generators), StreamPosition::new(generators));
            let mut random = 1_u64;
            for _ in 0..2000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let turn = kinds[(random >> 40) as usize % 3];
                let values = (random >> 50) % 40 + 1;
                let call = turns.call(turn, values);
                assert!(call.turns - call.complete <= 1 && call.skip < turn.values);
                turns.advance(&call, turn, values);
                slow.take(turn, values);
                assert_eq!(turns.cursor as usize, slow.cursor);
                for generator in 0..generators {
                    assert_eq!(turns.drawn(generator), slow.drawn[generator as usize]);
                }
                assert!(turns.pieces.len() <= generators as usize);
            }
        }
    }

    #[test]
    fn calls_of_one_kind_are_one_call() {
        let whole = StreamPosition::after(4096, WORD, 5 + 7 + 4096 + 1 + 100 + 8193);
        let mut turns = StreamPosition::new(4096);
        for values in [5, 7, 4096, 1, 100, 8193] {
            let call = turns.call(WORD, values);
            assert_eq!((call.turns, call.complete, call.skip, call.dropped), (values, values, 0, 0));
            turns.advance(&call, WORD, values);
        }
        assert_eq!(turns, whole);
        assert_eq!(turns.pieces.len(), 2);
        assert_eq!(StreamPosition::after(4096, WORD, u64::MAX).drawn(0), 1 << 52);
    }
}
