//! Launches of `xorwow.cu`, and of the kernel in `xorwow_start.cu` that makes states.
#![expect(unsafe_code, reason = "one block per kernel launch")]

use std::sync::Arc;

use gpu_driver::{Device, DevicePod, DeviceSliceMut, DeviceVec, Stream as Queue};

use super::{
    constants::{ANY_THREADS, FEW_THREADS, FILL_THREADS, FIRST_GENERATORS, XORWOW_GENERATORS},
    entries::{Fill, FillAny, FillFew, FillFirst, KERNELS, START_THREADS, Start},
    jumps::{JumpKind, Jumps},
    policy::{self, Chunks},
    table::{DeviceTable, FillContext},
};
use crate::{
    Result, XorwowRng,
    distribution::Distribution,
    engine::{FillRequest, Rules, Seed},
    turns::{FillCall, Piece, StreamPosition},
    xorwow::{
        jump::Polynomial,
        start::{self, SeedSequence},
    },
};

/// Jumps that are kept for later fills.
const KEPT: usize = 6;
/// Draws that some generators may be ahead of others without a jump of their own.
const AHEAD: u128 = 64;
/// Blocks to a chunk of `xorwow_fill`, and to a part of `xorwow_fill_few`.
const BLOCKS: u32 = XORWOW_GENERATORS / 2 / FILL_THREADS;
const BLOCKS_OF_FEW: u32 = XORWOW_GENERATORS / FEW_THREADS;

/// The states of a stream's generators on the device that it was filled on last.
#[derive(Default)]
pub(crate) struct DeviceStates(Option<OnDevice>);

struct OnDevice {
    device: Device,
    tables: StateTables,
    /// The states of fills that run.
    running: Option<StatesAndJumps>,
    /// The states of the capture that was filled in last. A graph makes its states itself, so that it gives the same numbers at each
    /// launch, and a stream whose capture came to nothing has lost none; their memory is the graph's.
    captured: Option<(u64, StatesAndJumps)>,
}

/// Tables from which states are made.
struct StateTables {
    /// Polynomials that lead to the subsequences.
    subsequences: Arc<DeviceTable<u32>>,
    /// How many of them are those of one generator each.
    own: u32,
    /// The seeds of generators that have their own.
    seeds: Arc<DeviceTable<u32>>,
}

/// States that fills hand to each other, and the jumps within them.
struct StatesAndJumps {
    chain: Chain,
    /// The last ones used, latest last.
    jumps: Vec<Jumps>,
}

struct Chain {
    /// The stream's step to which `now` belongs; `None` where it belongs to none.
    step: Option<u64>,
    now: DeviceVec<u32>,
    /// The states that a fill leaves; then the two change places.
    next: DeviceVec<u32>,
}

/// Fills `out`.
pub(crate) fn fill<D: Distribution>(
    request: FillRequest<'_, XorwowRng>,
    distribution: D,
    out: DeviceSliceMut<'_, D::Value>,
) -> Result<()> {
    let FillRequest { seed, turns, call, step, states } = request;
    let queue = out.home().clone();
    let context = FillContext::new(&queue)?;
    let slot = &mut states.device.0;
    let serves = slot.as_ref().map_or(Ok(false), |states| states.serves(&context))?;
    if !serves {
        *slot = Some(OnDevice::new(&context, seed, turns.generators())?);
    }
    let Some(OnDevice { tables, running, captured, .. }) = slot.as_mut() else { return Ok(()) };
    let new = || StatesAndJumps::new(&queue, turns.generators());
    let (progress, made): (&mut StatesAndJumps, &[Jumps]) = match context.capture {
        None => {
            let known = running.take();
            (running.insert(known.map_or_else(new, Ok)?), &[])
        }
        Some(number) => {
            let ours = captured.take().filter(|(of, _)| *of == number).map(|(_, progress)| progress);
            let (_, progress) = captured.insert((number, ours.map_or_else(new, Ok)?));
            (progress, running.as_ref().map_or(&[], |running| &running.jumps))
        }
    };
    let is_in_curand_order = turns.generators() == XorwowRng::GENERATORS;
    let short = if is_in_curand_order { ShortFill::new::<D>(call, &out) } else { None };
    // The seed of a stream at its start, whose states nobody has made.
    let unmade = match (seed, turns.pieces()) {
        (Seed::One(seed), [Piece { draws: 0, .. }]) if progress.chain.step != Some(step) => Some(*seed),
        _ => None,
    };
    if short.is_none() || unmade.is_none() {
        progress.chain.bring(tables, &context, seed, turns, step)?;
    }
    match (short, unmade) {
        (Some(fill), Some(seed)) => progress.chain.first(tables, &context, seed, fill, distribution, out)?,
        (Some(fill), None) => progress.chain.few(&context, fill, distribution, out)?,
        _ if is_in_curand_order => progress.curand_order(made, &context, call, distribution, out)?,
        _ => progress.any_order(made, &context, turns.generators(), call, distribution, out)?,
    }
    let Chain { step: at, now, next } = &mut progress.chain;
    std::mem::swap(now, next);
    *at = Some(step + 1);
    Ok(())
}

// SAFETY: 165 words without padding, as the structure in xorwow.cuh, whose size xorwow.cu asserts.
unsafe impl DevicePod for SeedSequence {
    const CUDA_NAME: &'static str = "gpu_random::SeedSequence";
}

/// A short fill in cuRAND's order, of whole turns.
struct ShortFill {
    turns: u32,
    cursor: u32,
    parts: Chunks,
}

impl ShortFill {
    fn new<D: Distribution>(call: FillCall, out: &DeviceSliceMut<'_, D::Value>) -> Option<Self> {
        let parts = policy::few::<D>(call.complete / u64::from(XorwowRng::GENERATORS))?;
        let is_whole = is_exact::<D>(call, out) && call.dropped == 0;
        is_whole.then_some(Self { turns: call.turns as u32, cursor: call.cursor, parts })
    }
}

/// Whether a fill has whole turns, and its values are aligned for stores of several at a time.
fn is_exact<D: Distribution>(call: FillCall, out: &DeviceSliceMut<'_, D::Value>) -> bool {
    call.skip == 0 && call.turns == call.complete && (D::VALUES == 1 || out.as_raw() % 16 == 0)
}

impl OnDevice {
    fn new(context: &FillContext<'_>, seed: &Seed, generators: u32) -> Result<Self> {
        let (jumps, own) = start::subsequences(generators);
        let jumps: Vec<u32> = jumps.into_iter().flat_map(Polynomial::digits).collect();
        let seeds: &[u32] = match seed {
            Seed::One(_) => &[],
            Seed::Each(seeds) => seeds,
        };
        let tables = StateTables { subsequences: context.table(&jumps)?, own, seeds: context.table(seeds)? };
        Ok(Self { device: context.queue.device().clone(), tables, running: None, captured: None })
    }

    /// Whether a fill can use these states: those of another device cannot be read, and states of a stream that is being captured would make the fill
    /// part of that capture.
    fn serves(&self, context: &FillContext<'_>) -> Result<bool> {
        if self.device != *context.queue.device() {
            return Ok(false);
        }
        if context.capture.is_some() {
            return Ok(true);
        }
        let progress = self.running.iter();
        let states = progress.clone().flat_map(|progress| [progress.chain.now.home(), progress.chain.next.home()]);
        let jumps = progress.flat_map(|progress| &progress.jumps).map(|jumps| jumps.data.home());
        let tables = [self.tables.subsequences.home(), self.tables.seeds.home()];
        for home in states.chain(jumps).chain(tables).filter(|&home| home != context.queue) {
            if home.is_capturing()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Chain {
    /// Makes the states those of this place of the stream.
    fn bring(
        &mut self,
        tables: &StateTables,
        context: &FillContext<'_>,
        seed: &Seed,
        turns: &StreamPosition,
        step: u64,
    ) -> Result<()> {
        if self.step == Some(step) {
            return Ok(());
        }
        self.step = None;
        // Fills of one kind leave two pieces at most, the first somewhat ahead.
        let (draws, split, more) = match *turns.pieces() {
            [all] => (all.draws, 0, 0),
            [ahead, others] if (1..AHEAD).contains(&ahead.draws.wrapping_sub(others.draws)) => {
                (others.draws, others.from, (ahead.draws - others.draws) as u32)
            }
            _ => {
                let states = context.table(&start::states(seed, turns))?;
                self.now.copy_from(context.read(&states)?)?;
                self.step = Some(step);
                return Ok(());
            }
        };
        let (one, each) = match seed {
            Seed::One(seed) => (*seed, 0),
            Seed::Each(_) => (0, 1),
        };
        let digits = Polynomial::steps(draws).digits();
        let [d0, d1, d2, d3] = [0, 2, 4, 6].map(|at| u64::from(digits[at + 1]) << 32 | u64::from(digits[at]));
        let generators = turns.generators();
        // Of the draws, the kernel needs to know whether there are any, and their number modulo 2^32.
        let counted = (draws as u64) & 0xffff_ffff | u64::from(draws != 0) << 32;
        let arguments = (
            one,
            context.read(&tables.seeds)?.input(),
            each,
            context.read(&tables.subsequences)?.input(),
            tables.own,
            self.now.output(),
            generators,
            d0,
            d1,
            d2,
            d3,
            counted,
            split,
            more,
        );
        let queue = context.queue;
        let kernel = KERNELS.kernel::<Start>(queue.device(), &())?;
        // SAFETY: a thread for each generator, of which each has six words in `now`, a polynomial in `subsequences`, which has `own` and one for
        // each `own` generators, and a seed where `each` says so.
        unsafe { kernel.launch(generators.div_ceil(START_THREADS), arguments, queue)? };
        self.step = Some(step);
        Ok(())
    }

    /// A short fill, the first one of a seed's stream: makes the states in the same launch.
    fn first<D: Distribution>(
        &mut self,
        tables: &StateTables,
        context: &FillContext<'_>,
        seed: u64,
        ShortFill { turns, parts, .. }: ShortFill,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()> {
        self.step = None;
        let parameters = context.parameters(&distribution)?;
        let [a, b, c] = parameters.values;
        let subsequences = context.read(&tables.subsequences)?.input();
        let (sequence, next) = (SeedSequence::new(seed), self.next.output());
        let arguments = (sequence, subsequences, next, out.output(), turns, parts.rows as u32, parts.count, a, b, c);
        let queue = context.queue;
        let kernel = KERNELS.kernel::<FillFirst<D>>(queue.device(), &())?;
        // SAFETY: 32 generators to a block; each of the 4096 has a polynomial in `subsequences`, since it has its own, and six words in `next`; `out`
        // has room for the values of the turns, and is aligned to a turn where it gives two values; there are at most 8 parts, and all but
        // the last are of whole rows.
        unsafe { kernel.launch(XORWOW_GENERATORS / FIRST_GENERATORS, arguments, queue)? };
        Ok(())
    }

    /// A short fill from the states that there are.
    fn few<D: Distribution>(
        &mut self,
        context: &FillContext<'_>,
        ShortFill { turns, cursor, parts }: ShortFill,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()> {
        let parameters = context.parameters(&distribution)?;
        let [a, b, c] = parameters.values;
        let (now, next) = (self.now.input(), self.next.output());
        let arguments = (now, next, out.output(), turns, cursor, parts.rows as u32, parts.count, a, b, c);
        let queue = context.queue;
        let kernel = KERNELS.kernel::<FillFew<D>>(queue.device(), &())?;
        // SAFETY: 64 blocks to a part; `now` and `next` have six words for each of 4096 generators; `out` has room for the values of the turns, and
        // is aligned to a turn where it gives two values; all parts but the last are of whole rows.
        unsafe { kernel.launch(BLOCKS_OF_FEW * parts.count, arguments, queue)? };
        Ok(())
    }
}

impl StatesAndJumps {
    fn new(queue: &Queue, generators: u32) -> Result<Self> {
        let words = 6 * generators as usize;
        // SAFETY: states are read once they have been made, by a kernel or a copy that writes all of them.
        let (now, next) = unsafe { (DeviceVec::uninitialized(queue, words)?, DeviceVec::uninitialized(queue, words)?) };
        Ok(Self { chain: Chain { step: None, now, next }, jumps: Vec::new() })
    }

    fn curand_order<D: Distribution>(
        &mut self,
        made: &[Jumps],
        context: &FillContext<'_>,
        call: FillCall,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()> {
        let generators = u64::from(XorwowRng::GENERATORS);
        let n = out.len() as u64;
        let exact = is_exact::<D>(call, &out);
        let parameters = context.parameters(&distribution)?;
        let [a, b, c] = parameters.values;
        let queue = context.queue;
        let chunks = policy::curand_order::<D>(call.complete / generators);
        let jumps = self.jumps(made, context, chunks, D::WORDS, JumpKind::Tables)?;
        let Chain { now, next, .. } = &mut self.chain;
        let tables = context.read(&jumps)?.input();
        let counts = (call.turns, call.complete, call.cursor, call.skip, call.dropped, chunks.rows, chunks.count);
        let arguments = (
            now.input(),
            next.output(),
            tables,
            out.output(),
            n,
            counts.0,
            counts.1,
            counts.2,
            counts.3,
            counts.4,
            counts.5,
            counts.6,
            a,
            b,
            c,
        );
        let kernel = KERNELS.kernel::<Fill<D>>(queue.device(), &exact)?;
        // SAFETY: eight blocks to a chunk; there is a table for each chunk but the first; `now` and `next` have six words for each of 4096
        // generators; `out` has n values and is aligned where the kernel takes it to be; the chunks cover all whole rows.
        unsafe { kernel.launch(BLOCKS * chunks.count, arguments, queue)? };
        Ok(())
    }

    fn any_order<D: Distribution>(
        &mut self,
        made: &[Jumps],
        context: &FillContext<'_>,
        generators: u32,
        call: FillCall,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()> {
        let n = out.len() as u64;
        let chunks = policy::any_order(call.complete / u64::from(generators), generators);
        let queue = context.queue;
        let jumps = self.jumps(made, context, chunks, D::WORDS, JumpKind::Polynomials)?;
        let Chain { now, next, .. } = &mut self.chain;
        let parameters = context.parameters(&distribution)?;
        let [a, b, c] = parameters.values;
        let jumps = context.read(&jumps)?.input();
        let counts = (call.turns, call.complete, call.cursor, call.skip, call.dropped, chunks.rows);
        let arguments = (
            now.input(),
            next.output(),
            jumps,
            out.output(),
            n,
            counts.0,
            counts.1,
            counts.2,
            counts.3,
            counts.4,
            counts.5,
            generators,
            chunks.count,
            a,
            b,
            c,
        );
        let threads = u64::from(generators) * u64::from(chunks.count);
        let kernel = KERNELS.kernel::<FillAny<D>>(queue.device(), &())?;
        // SAFETY: a thread for each chunk of each generator, to which a polynomial each of the first 256 and of the others leads; `now` and `next`
        // have six words for each generator; `out` has n values; the chunks cover all whole rows.
        unsafe { kernel.launch(threads.div_ceil(ANY_THREADS.into()) as u32, arguments, queue)? };
        Ok(())
    }

    /// The jumps to chunks, made now unless they are kept here or among those that `made` has.
    fn jumps(
        &mut self,
        made: &[Jumps],
        context: &FillContext<'_>,
        chunks: Chunks,
        words: usize,
        kind: JumpKind,
    ) -> Result<Arc<DeviceTable<u32>>> {
        let draws = u128::from(chunks.rows) * words as u128;
        let serves = |known: &Jumps| {
            chunks.count == 1 && kind == JumpKind::Tables || known.draws == draws && known.chunks >= chunks.count
        };
        let jumps = match self.jumps.iter().position(serves) {
            Some(at) => self.jumps.remove(at),
            None => match made.iter().find(|known| serves(known)) {
                Some(known) => known.clone(),
                None => Jumps { draws, chunks: chunks.count, data: kind.make(context, draws, chunks.count)? },
            },
        };
        if self.jumps.len() >= KEPT {
            self.jumps.remove(0);
        }
        let data = jumps.data.clone();
        self.jumps.push(jumps);
        Ok(data)
    }
}
