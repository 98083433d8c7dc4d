//! Streams and events.

use std::{
    collections::VecDeque,
    ffi::{c_int, c_uint, c_void},
    sync::Arc,
};

use super::{pointer, store, table};
use crate::{
    code::{CAPTURED_EVENT, INVALID_HANDLE, INVALID_VALUE, NOT_READY, Outcome},
    kinds::Call,
    state::{DriverState, Event, Recorded, Stream, call},
    work::{HostCall, Mark, Op},
};

table![
    cuStreamCreate,
    cuStreamCreateWithPriority,
    cuStreamDestroy_v2,
    cuStreamSynchronize,
    cuStreamQuery,
    cuStreamWaitEvent,
    cuStreamGetFlags,
    cuStreamGetPriority,
    cuStreamGetCtx,
    cuLaunchHostFunc,
    cuEventCreate,
    cuEventRecord,
    cuEventRecordWithFlags,
    cuEventQuery,
    cuEventSynchronize,
    cuEventDestroy_v2,
    cuEventElapsedTime,
];

const CAPTURE_ISOLATION: c_int = 905;
const CAPTURE_MERGE: c_int = 902;
const DISABLE_TIMING: c_uint = 2;

unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> c_int {
    // SAFETY: passed on.
    unsafe { cuStreamCreateWithPriority(stream, flags, 0) }
}

unsafe extern "C" fn cuStreamCreateWithPriority(stream: *mut *mut c_void, flags: c_uint, priority: c_int) -> c_int {
    call(|state| {
        let context = state.current()?;
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let made = state.handle();
        let priority = priority.clamp(-5, 0);
        state.streams.insert(
            made,
            Stream { context, flags, priority, queue: VecDeque::new(), capture: None, is_destroyed: false },
        );
        // SAFETY: the caller passes a place for the answer; so below.
        unsafe { store(stream, pointer(made)) }
    })
}

unsafe extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let context = state.stream_state(stream)?.context;
        if state.context(context)?.null_stream == stream {
            return Err(INVALID_HANDLE);
        }
        // A stream that goes spoils the capture that it is part of. Its work from before is no part of that.
        let _captured = state.not_captured(stream);
        state.captures.retain(|_, capture| capture.origin != stream);
        state.stream_state(stream)?.capture = None;
        let (captures, streams) = (&state.captures, state.streams.values_mut());
        for other in streams.filter(|other| other.capture.as_ref().is_some_and(|(of, _)| !captures.contains_key(of))) {
            other.capture = None;
        }
        // The queue runs on, as late as any other.
        state.stream_state(stream)?.is_destroyed = true;
        state.forget_stream(stream);
        Ok(())
    })
}

unsafe extern "C" fn cuStreamSynchronize(stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        state.finish_stream(stream)
    })
}

/// Answers a question about queued work, then lets some of it run: who asks again and again sees it end.
fn query(state: &mut DriverState, context: usize, done: bool) -> Outcome {
    if done {
        return Ok(());
    }
    state.run_one(context)?;
    Err(NOT_READY)
}

unsafe extern "C" fn cuStreamQuery(stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        state.not_captured(stream)?;
        let this = state.stream_state(stream)?;
        let (context, done) = (this.context, this.queue.is_empty());
        query(state, context, done)
    })
}

unsafe extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: c_uint) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let context = state.stream_state(stream)?.context;
        let recorded = state.events.get(&(event as usize)).ok_or(INVALID_HANDLE)?.recorded.clone();
        state.count(context, Call::Event)?;
        let captured = state.stream_state(stream)?.capture.clone();
        match (recorded, captured) {
            (Recorded::Never, _) => Ok(()),
            (Recorded::Marked(mark), None) => state.enqueue(stream, Op::Wait(mark)),
            (Recorded::Marked(_), Some(_)) => Err(CAPTURE_ISOLATION),
            (Recorded::Captured(capture, after), None) => {
                if !state.captures.contains_key(&capture) {
                    return Err(CAPTURED_EVENT);
                }
                state.stream_state(stream)?.capture = Some((capture, after));
                Ok(())
            }
            (Recorded::Captured(capture, after), Some((own, mut tail))) => {
                if own != capture {
                    return Err(CAPTURE_MERGE);
                }
                tail.extend(after.into_iter().filter(|node| !tail.contains(node)).collect::<Vec<_>>());
                state.stream_state(stream)?.capture = Some((own, tail));
                Ok(())
            }
        }
    })
}

unsafe extern "C" fn cuStreamGetFlags(stream: *mut c_void, flags: *mut c_uint) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        // SAFETY: see above.
        unsafe { store(flags, state.stream_state(stream)?.flags) }
    })
}

unsafe extern "C" fn cuStreamGetPriority(stream: *mut c_void, priority: *mut c_int) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        // SAFETY: see above.
        unsafe { store(priority, state.stream_state(stream)?.priority) }
    })
}

unsafe extern "C" fn cuStreamGetCtx(stream: *mut c_void, context: *mut *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        // SAFETY: see above.
        unsafe { store(context, pointer(state.stream_state(stream)?.context)) }
    })
}

unsafe extern "C" fn cuLaunchHostFunc(
    stream: *mut c_void,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let function = function.ok_or(INVALID_VALUE)?;
        state.enqueue(stream, Op::Call(HostCall { function, data }))
    })
}

unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, flags: c_uint) -> c_int {
    call(|state| {
        let context = state.current()?;
        state.count(context, Call::Event)?;
        let made = state.handle();
        let timed = flags & DISABLE_TIMING == 0;
        state.events.insert(made, Event { context, timed, recorded: Recorded::Never });
        // SAFETY: see above.
        unsafe { store(event, pointer(made)) }
    })
}

fn event(state: &mut DriverState, event: *mut c_void) -> Outcome<&mut Event> {
    let context = state.events.get(&(event as usize)).ok_or(INVALID_HANDLE)?.context;
    state.usable(context)?;
    state.events.get_mut(&(event as usize)).ok_or(INVALID_HANDLE)
}

unsafe extern "C" fn cuEventRecord(handle: *mut c_void, stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let of_stream = state.stream_state(stream)?.context;
        if event(state, handle)?.context != of_stream {
            return Err(INVALID_HANDLE);
        }
        state.count(of_stream, Call::Event)?;
        let recorded = match state.stream_state(stream)?.capture.clone() {
            Some((capture, tail)) => Recorded::Captured(capture, tail),
            None => {
                let mark = Arc::new(Mark::default());
                state.enqueue(stream, Op::Record(mark.clone()))?;
                Recorded::Marked(mark)
            }
        };
        event(state, handle)?.recorded = recorded;
        Ok(())
    })
}

unsafe extern "C" fn cuEventRecordWithFlags(handle: *mut c_void, stream: *mut c_void, _flags: c_uint) -> c_int {
    // SAFETY: passed on.
    unsafe { cuEventRecord(handle, stream) }
}

/// The mark of an event outside a capture, if it was recorded.
fn mark(state: &mut DriverState, handle: *mut c_void) -> Outcome<Option<Arc<Mark>>> {
    match event(state, handle)?.recorded.clone() {
        Recorded::Never => Ok(None),
        Recorded::Marked(mark) => Ok(Some(mark)),
        Recorded::Captured(..) => Err(CAPTURED_EVENT),
    }
}

unsafe extern "C" fn cuEventQuery(handle: *mut c_void) -> c_int {
    call(|state| {
        let Some(mark) = mark(state, handle)? else { return Ok(()) };
        let context = event(state, handle)?.context;
        query(state, context, mark.is_done())
    })
}

unsafe extern "C" fn cuEventSynchronize(handle: *mut c_void) -> c_int {
    call(|state| {
        let Some(mark) = mark(state, handle)? else { return Ok(()) };
        let context = event(state, handle)?.context;
        state.run_until(context, |_| mark.is_done())
    })
}

unsafe extern "C" fn cuEventDestroy_v2(handle: *mut c_void) -> c_int {
    call(|state| {
        event(state, handle)?;
        state.events.remove(&(handle as usize));
        Ok(())
    })
}

unsafe extern "C" fn cuEventElapsedTime(ms: *mut f32, start: *mut c_void, end: *mut c_void) -> c_int {
    call(|state| {
        let timed = event(state, start)?.timed && event(state, end)?.timed;
        let (start, end) = (mark(state, start)?, mark(state, end)?);
        let (Some(start), Some(end), true) = (start, end, timed) else { return Err(INVALID_HANDLE) };
        if !start.is_done() || !end.is_done() {
            return Err(NOT_READY);
        }
        // SAFETY: see above.
        unsafe { store(ms, (end.ms() - start.ms()) as f32) }
    })
}
