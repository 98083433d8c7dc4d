//! Stream capture, and graphs.

use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_uint, c_ulonglong, c_void},
    os::unix::ffi::OsStrExt,
    sync::Arc,
};

use super::{pointer, store, store_if_wanted, table};
use crate::{
    code::{
        CAPTURE_INVALIDATED, CAPTURE_UNJOINED, CAPTURE_UNMATCHED, CAPTURE_UNSUPPORTED, INVALID_HANDLE, INVALID_VALUE,
        NOT_FOUND, OPERATING_SYSTEM, UPDATE_FAILURE,
    },
    state::call,
    work::{Capture, CaptureError, Graph, Op},
};

table![
    cuStreamBeginCapture_v2,
    cuStreamEndCapture,
    cuStreamIsCapturing,
    cuStreamGetCaptureInfo,
    cuThreadExchangeStreamCaptureMode,
    cuGraphCreate,
    cuGraphDestroy,
    cuGraphGetNodes,
    cuGraphInstantiate_v2,
    cuGraphInstantiateWithFlags,
    cuGraphExecUpdate,
    cuGraphLaunch,
    cuGraphUpload,
    cuGraphExecDestroy,
    cuGraphDebugDotPrint,
];

unsafe extern "C" fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: c_int) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let context = state.stream_state(stream)?.context;
        if !(0..=2).contains(&mode) {
            return Err(INVALID_VALUE);
        }
        // The legacy stream cannot be captured.
        if state.context(context)?.null_stream == stream {
            return Err(CAPTURE_UNSUPPORTED);
        }
        if state.stream_state(stream)?.capture.is_some() {
            return Err(INVALID_VALUE);
        }
        let capture = state.handle();
        state.captures.insert(capture, Capture { origin: stream, ..Capture::default() });
        state.stream_state(stream)?.capture = Some((capture, Vec::new()));
        Ok(())
    })
}

unsafe extern "C" fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let (capture, tail) = state.stream_state(stream)?.capture.clone().ok_or(INVALID_VALUE)?;
        if state.captures.get(&capture).is_none_or(|capture| capture.origin != stream) {
            return Err(CAPTURE_UNMATCHED);
        }
        let ended = state.captures.remove(&capture).ok_or(INVALID_VALUE)?;
        for other in state.streams.values_mut() {
            if other.capture.as_ref().is_some_and(|(of, _)| *of == capture) {
                other.capture = None;
            }
        }
        let made = ended.finish(&tail).map_err(|error| match error {
            CaptureError::Invalidated => CAPTURE_INVALIDATED,
            CaptureError::Unjoined => CAPTURE_UNJOINED,
        });
        // SAFETY: the caller passes a place for the answer; so below.
        unsafe { store(graph, pointer(0))? };
        let made = made?;
        let handle = state.handle();
        state.graphs.insert(handle, Arc::new(made));
        // SAFETY: see above.
        unsafe { store(graph, pointer(handle)) }
    })
}

unsafe extern "C" fn cuStreamIsCapturing(stream: *mut c_void, status: *mut c_int) -> c_int {
    // SAFETY: passed on.
    unsafe { cuStreamGetCaptureInfo(stream, status, std::ptr::null_mut()) }
}

unsafe extern "C" fn cuStreamGetCaptureInfo(stream: *mut c_void, status: *mut c_int, id: *mut u64) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let capture = state.stream_state(stream)?.capture.clone().map(|(capture, _)| capture);
        let invalid = capture.and_then(|capture| state.captures.get(&capture)).is_some_and(|capture| capture.invalid);
        let answer = match (capture, invalid) {
            (None, _) => 0,
            (Some(_), false) => 1,
            (Some(_), true) => 2,
        };
        // SAFETY: see above.
        unsafe {
            store_if_wanted(id, capture.unwrap_or(0) as u64);
            store(status, answer)
        }
    })
}

unsafe extern "C" fn cuThreadExchangeStreamCaptureMode(_mode: *mut c_int) -> c_int {
    call(|_| Ok(()))
}

unsafe extern "C" fn cuGraphCreate(graph: *mut *mut c_void, _flags: c_uint) -> c_int {
    call(|state| {
        let made = state.handle();
        state.graphs.insert(made, Arc::default());
        // SAFETY: see above.
        unsafe { store(graph, pointer(made)) }
    })
}

unsafe extern "C" fn cuGraphDestroy(graph: *mut c_void) -> c_int {
    call(|state| {
        let graph = state.graphs.remove(&(graph as usize)).ok_or(INVALID_VALUE)?;
        state.forget_graph(graph);
        Ok(())
    })
}

unsafe extern "C" fn cuGraphGetNodes(graph: *mut c_void, nodes: *mut *mut c_void, count: *mut usize) -> c_int {
    call(|state| {
        let graph = state.graphs.get(&(graph as usize)).ok_or(INVALID_VALUE)?;
        // Nodes have no handles here: only their number can be asked for.
        if !nodes.is_null() {
            return Err(NOT_FOUND);
        }
        // SAFETY: see above.
        unsafe { store(count, graph.nodes.len()) }
    })
}

unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut *mut c_void,
    graph: *mut c_void,
    _flags: c_ulonglong,
) -> c_int {
    call(|state| {
        let graph: Arc<Graph> = state.graphs.get(&(graph as usize)).ok_or(INVALID_VALUE)?.clone();
        let made = state.handle();
        state.executables.insert(made, graph);
        // SAFETY: see above.
        unsafe { store(executable, pointer(made)) }
    })
}

unsafe extern "C" fn cuGraphInstantiate_v2(
    executable: *mut *mut c_void,
    graph: *mut c_void,
    _error_node: *mut *mut c_void,
    _log: *mut c_char,
    _log_bytes: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { cuGraphInstantiateWithFlags(executable, graph, 0) }
}

unsafe extern "C" fn cuGraphExecUpdate(
    executable: *mut c_void,
    graph: *mut c_void,
    error_node: *mut *mut c_void,
    reason: *mut c_int,
) -> c_int {
    const TOPOLOGY_CHANGED: c_int = 2;
    call(|state| {
        let new = state.graphs.get(&(graph as usize)).ok_or(INVALID_VALUE)?.clone();
        let old = state.executables.get_mut(&(executable as usize)).ok_or(INVALID_HANDLE)?;
        let fits = old.can_become(&new);
        // SAFETY: see above.
        unsafe {
            store_if_wanted(error_node, pointer(0));
            store_if_wanted(reason, if fits { 0 } else { TOPOLOGY_CHANGED });
        }
        if !fits {
            return Err(UPDATE_FAILURE);
        }
        // Queued launches hold the old one.
        *old = new;
        Ok(())
    })
}

unsafe extern "C" fn cuGraphLaunch(executable: *mut c_void, stream: *mut c_void) -> c_int {
    call(|state| {
        let stream = state.stream(stream)?;
        let graph = state.executables.get(&(executable as usize)).ok_or(INVALID_HANDLE)?.clone();
        state.not_captured(stream)?;
        state.enqueue(stream, Op::Graph(graph))
    })
}

unsafe extern "C" fn cuGraphUpload(executable: *mut c_void, stream: *mut c_void) -> c_int {
    call(|state| {
        state.stream(stream)?;
        state.executables.get(&(executable as usize)).map(drop).ok_or(INVALID_HANDLE)
    })
}

unsafe extern "C" fn cuGraphExecDestroy(executable: *mut c_void) -> c_int {
    // Queued launches hold the graph itself.
    call(|state| {
        let graph = state.executables.remove(&(executable as usize)).ok_or(INVALID_HANDLE)?;
        state.forget_graph(graph);
        Ok(())
    })
}

unsafe extern "C" fn cuGraphDebugDotPrint(graph: *mut c_void, path: *const c_char, _flags: c_uint) -> c_int {
    call(|state| {
        let graph = state.graphs.get(&(graph as usize)).ok_or(INVALID_HANDLE)?;
        if path.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: a text that ends in NUL, as the driver's documentation asks.
        let path = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
        std::fs::write(path, graph.to_dot()).map_err(|_| OPERATING_SYSTEM)
    })
}
