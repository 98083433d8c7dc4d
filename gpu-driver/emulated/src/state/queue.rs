//! The queues of streams: the operations that go in, and the one that runs next.

use std::sync::Arc;

use super::{DriverState, objects::Stream};
use crate::{
    code::{CAPTURE_INVALIDATED, CAPTURE_UNSUPPORTED, CONTEXT_IS_DESTROYED, INVALID_VALUE, Outcome, UNKNOWN},
    work::{Mark, Node, Op},
};

/// A queue of this length runs before more is taken in.
const LONGEST_QUEUE: usize = 4096;

impl DriverState {
    /// Queues work on a stream, or adds it to the capture that the stream is part of.
    pub(crate) fn enqueue(&mut self, stream: usize, op: Op) -> Outcome {
        let state = self.stream_state(stream)?;
        let (context, blocking) = (state.context, state.flags & 1 == 0);
        if let Some((capture, after)) = state.capture.clone() {
            return self.capture_op(stream, capture, after, op);
        }
        let null = self.context(context)?.null_stream;
        if stream == null {
            let others = self.streams.iter().filter(|(_, s)| s.context == context && s.flags & 1 == 0);
            let mut busy: Vec<usize> = others.filter(|(_, s)| !s.queue.is_empty()).map(|(&handle, _)| handle).collect();
            // In the same order each time, so that a seed gives the same run.
            busy.sort_unstable();
            for other in busy.into_iter().filter(|&other| other != null) {
                self.follow(null, other)?;
            }
        } else if blocking && !self.stream_state(null)?.queue.is_empty() {
            self.follow(stream, null)?;
        }
        self.stream_state(stream)?.queue.push_back(op);
        while self.stream_state(stream)?.queue.len() > LONGEST_QUEUE {
            self.run_one(context)?;
        }
        Ok(())
    }

    /// Makes later work of `stream` wait for the work that `other` holds now.
    fn follow(&mut self, stream: usize, other: usize) -> Outcome {
        let mark = Arc::new(Mark::default());
        self.stream_state(other)?.queue.push_back(Op::Record(mark.clone()));
        self.stream_state(stream)?.queue.push_back(Op::Wait(mark));
        Ok(())
    }

    fn capture_op(&mut self, stream: usize, capture: usize, after: Vec<usize>, op: Op) -> Outcome {
        let nodes = self.captures.get_mut(&capture).ok_or(CAPTURE_INVALIDATED)?;
        match op {
            // Memory that the graph allocates alone can be released in it.
            Op::Release(at) if !nodes.nodes.iter().any(|node| matches!(node.op, Op::Begin(of) if of == at)) => {
                return Err(INVALID_VALUE);
            }
            Op::Begin(at) => self.memory.set_of_graph(at, true),
            _ => {}
        }
        nodes.nodes.push(Node { op, after });
        let last = nodes.nodes.len() - 1;
        self.stream_state(stream)?.capture = Some((capture, vec![last]));
        Ok(())
    }

    /// Refuses a call that would wait for a stream that is being captured.
    pub(crate) fn not_captured(&mut self, stream: usize) -> Outcome {
        let Some((capture, _)) = self.stream_state(stream)?.capture.clone() else { return Ok(()) };
        if let Some(capture) = self.captures.get_mut(&capture) {
            capture.invalid = true;
        }
        Err(CAPTURE_UNSUPPORTED)
    }

    /// Runs queued work until `done`.
    pub(crate) fn run_until(&mut self, context: usize, done: impl Fn(&Self) -> bool) -> Outcome {
        while !done(self) {
            if !self.run_one(context)? {
                return Err(UNKNOWN);
            }
        }
        self.usable(context).map(drop)
    }

    pub(crate) fn finish_stream(&mut self, stream: usize) -> Outcome {
        self.not_captured(stream)?;
        let context = self.stream_state(stream)?.context;
        self.run_until(context, |state| state.streams.get(&stream).is_none_or(|stream| stream.queue.is_empty()))
    }

    /// Runs all that a context has queued.
    pub(crate) fn drain(&mut self, context: usize) -> Outcome {
        self.run_until(context, |state| {
            state.streams.values().all(|stream| stream.context != context || stream.queue.is_empty())
        })
    }

    /// Runs one operation: of this context if one can run, else of any. False when none can.
    pub(crate) fn run_one(&mut self, context: usize) -> Outcome<bool> {
        let mut ready = self.ready(|stream| stream.context == context);
        if ready.is_empty() {
            ready = self.ready(|_| true);
        }
        // Streams are kept in no order; sorted, the choice depends on the seed alone.
        ready.sort_unstable();
        let Some(chooser) = self.contexts.get_mut(&context) else { return Err(CONTEXT_IS_DESTROYED) };
        if ready.is_empty() {
            return Ok(false);
        }
        let stream = ready[chooser.random.below(ready.len() as u64) as usize];
        let Some((op, owner)) =
            self.streams.get_mut(&stream).and_then(|stream| Some((stream.queue.pop_front()?, stream.context)))
        else {
            return Ok(false);
        };
        self.forget_stream(stream);
        if let Err(fault) = self.run_op(owner, &op) {
            self.lose(owner, fault);
            self.usable(context)?;
        }
        Ok(true)
    }

    fn ready(&self, of: impl Fn(&Stream) -> bool) -> Vec<usize> {
        let can_run = |stream: &Stream| match stream.queue.front() {
            None => false,
            Some(Op::Wait(mark)) => mark.is_done(),
            Some(_) => true,
        };
        self.streams.iter().filter(|(_, stream)| of(stream) && can_run(stream)).map(|(&handle, _)| handle).collect()
    }

    /// Takes out a stream that was destroyed, once nothing is queued on it.
    pub(crate) fn forget_stream(&mut self, stream: usize) {
        if self.streams.get(&stream).is_some_and(|stream| stream.is_destroyed && stream.queue.is_empty()) {
            self.streams.remove(&stream);
        }
    }

    pub(super) fn forget_work(&mut self, context: usize) {
        for stream in self.streams.values_mut().filter(|stream| stream.context == context) {
            for op in stream.queue.drain(..) {
                if let Op::Record(mark) = op {
                    mark.set(0.0);
                }
            }
        }
        self.streams.retain(|_, stream| !stream.is_destroyed || !stream.queue.is_empty());
    }
}
