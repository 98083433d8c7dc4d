//! One operation: it runs here, with the memory that it needs looked at first.

use std::sync::Arc;

use super::{CYCLES_PER_MS, DriverState, IN_HOST_CALL};
use crate::{
    code::{CONTEXT_IS_DESTROYED, ILLEGAL_ADDRESS, INVALID_HANDLE, LAUNCH_FAILED, Outcome, UNKNOWN},
    image::Image,
    launch::{self, Fault, Order, Surroundings, zero_arguments},
    memory::{Life, Refused},
    random::Random,
    work::{BoxRows, Op, Spread},
};

impl DriverState {
    /// The modules whose variables a context's kernels may use.
    fn images(&self, context: usize) -> Vec<Arc<Image>> {
        self.modules.values().filter(|module| module.context == context).map(|module| module.image.clone()).collect()
    }

    pub(super) fn run_op(&mut self, context: usize, op: &Op) -> Result<(), Fault> {
        match op {
            Op::Launch(order) => self.run_launch(context, order)?,
            Op::Write { to, data } => {
                self.expect(context, *to, data.len(), "a copy from the host writes")?;
                // SAFETY: checked to be allocated with that many bytes.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), *to as *mut u8, data.len()) };
            }
            Op::Copy { to, from, bytes } => {
                self.expect(context, *to, *bytes, "a copy writes")?;
                self.expect(context, *from, *bytes, "a copy reads")?;
                // SAFETY: device addresses are checked; host addresses are vouched for by the caller of the copy.
                unsafe { std::ptr::copy(*from as *const u8, *to as *mut u8, *bytes) };
            }
            Op::Fill { at, value, width, count } => {
                self.expect(context, *at, width * count, "a memset writes")?;
                self.fill(*at, *value, *width, *count);
            }
            Op::CopyRows { to, from, rows, data } => {
                self.run_copy_of_rows(context, *to, (*from, data.is_some()), *rows)?
            }
            Op::FillRows { to, rows, value, width } => {
                self.expect(context, to.start, rows.extent(*to).unwrap_or(usize::MAX), "a memset writes")?;
                rows.starts(*to).for_each(|at| self.fill(at, *value, *width, rows.width / width));
            }
            Op::Begin(address) => {
                if self.memory.find(*address).is_some_and(|all| all.life == Life::Live) {
                    let text = "a graph is launched again though memory that it allocates was not released";
                    return Err(Fault::new(LAUNCH_FAILED, text.to_owned()));
                }
                if !self.memory.begin(*address) {
                    let text = "this machine has no memory left for an allocation of the emulated device";
                    return Err(Fault::new(UNKNOWN, text.to_owned()));
                }
            }
            Op::Release(address) => {
                if self.memory.find(*address).is_some_and(|all| all.life == Life::Ordered) {
                    let text = "memory is released before its stream has allocated it (is an event missing between the streams?)";
                    return Err(Fault::new(ILLEGAL_ADDRESS, text.to_owned()));
                }
                self.memory.release(*address);
            }
            Op::Record(mark) => mark.set(self.now_ms(context)),
            Op::Call(call) => {
                // The driver's lock is held: as with a real driver, the function may not call it.
                IN_HOST_CALL.set(true);
                // SAFETY: whoever queued the call vouches for it.
                unsafe { (call.function)(call.data) };
                IN_HOST_CALL.set(false);
            }
            Op::Graph(graph) => {
                let mut random = Random::new(self.contexts.get_mut(&context).map_or(0, |c| c.random.next()));
                for node in graph.random_order(&mut random) {
                    self.run_op(context, &graph.nodes[node].op)?;
                }
            }
            Op::Wait(_) => {}
        }
        Ok(())
    }

    /// Copies rows, from device memory or from data that the operation holds.
    fn run_copy_of_rows(
        &mut self,
        context: usize,
        to: Spread,
        (from, is_held): (Spread, bool),
        rows: BoxRows,
    ) -> Result<(), Fault> {
        let bytes = |at| rows.extent(at).unwrap_or(usize::MAX);
        self.expect(context, to.start, bytes(to), "a copy writes")?;
        if !is_held {
            self.expect(context, from.start, bytes(from), "a copy reads")?;
        }
        for (to, from) in rows.starts(to).zip(rows.starts(from)) {
            // SAFETY: as for a copy in one piece; the data lives in the operation.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, rows.width) };
        }
        Ok(())
    }

    fn run_launch(&mut self, context: usize, order: &Arc<Order>) -> Result<(), Fault> {
        if !self.modules.contains_key(&order.module) {
            let text = format!("kernel `{}` was to run after its module had been unloaded", order.name);
            return Err(Fault::new(ILLEGAL_ADDRESS, text));
        }
        let images = self.images(context);
        let Some(state) = self.contexts.get_mut(&context) else { return Ok(()) };
        let cycles = self.started.elapsed().as_secs_f64() * 1e3 * CYCLES_PER_MS;
        let around = Surroundings {
            memory: &self.memory,
            images,
            registered: &self.registered,
            texels: &self.texels,
            context,
            settings: &state.settings,
            random: &mut state.random,
            workshop: &mut self.workshop,
            cycles: cycles as u64 + state.cycles,
        };
        let mut order = Order::clone(order);
        order.chosen.clone_from(&state.chosen_blocks);
        state.cycles += launch::run(order, around)?;
        Ok(())
    }

    /// The largest block that a kernel may be launched with, by its launch bounds.
    pub(crate) fn most_threads(&mut self, function: usize) -> Outcome<u32> {
        const MOST: u32 = 1024;
        let state = self.functions.get(&function).ok_or(INVALID_HANDLE)?;
        if let Some(known) = state.most_threads {
            return Ok(known);
        }
        let (context, module, kernel) = (state.context, state.module, state.kernel);
        let image = self.modules.get(&module).ok_or(INVALID_HANDLE)?.image.clone();
        let zeros = zero_arguments(&image, kernel);
        let order = zeros.order(image, kernel, String::new());
        let images = self.images(context);
        let Some(state) = self.contexts.get(&context) else { return Err(CONTEXT_IS_DESTROYED) };
        let around = Surroundings {
            memory: &self.memory,
            images,
            registered: &self.registered,
            texels: &self.texels,
            context,
            settings: &state.settings,
            random: &mut Random::new(0),
            workshop: &mut self.workshop,
            cycles: 0,
        };
        let found = launch::launch_bound(order, around).unwrap_or(MOST).min(MOST);
        if let Some(function) = self.functions.get_mut(&function) {
            function.most_threads = Some(found);
        }
        Ok(found)
    }

    /// Checks that device memory of an operation is there when it runs. Host addresses are taken as they are.
    fn expect(&self, context: usize, address: usize, bytes: usize, access: &str) -> Result<(), Fault> {
        let refused = match self.memory.check(address, bytes, context) {
            Err(Refused::Unknown) if self.unloaded.iter().any(|module| module.image.contains(address)) => {
                let text = format!("{access} {bytes} bytes at {address:#x}, a variable of a module that was unloaded");
                return Err(Fault::new(ILLEGAL_ADDRESS, text));
            }
            Ok(_) | Err(Refused::Unknown | Refused::OtherContext(_)) => return Ok(()),
            Err(refused) => refused,
        };
        let state = match refused {
            Refused::NotYet(_) => "that its stream has not allocated yet (is an event missing between the streams?)",
            Refused::Released(_) => "that was released (use after free)",
            _ => "beyond its allocation",
        };
        Err(Fault::new(ILLEGAL_ADDRESS, format!("{access} {bytes} bytes at {address:#x}, memory {state}")))
    }

    fn fill(&self, at: usize, value: u32, width: usize, count: usize) {
        let bytes = width * count;
        if value == 0 && self.memory.zero_by_mapping(at, bytes) {
            return;
        }
        // SAFETY: the caller has checked that all bytes are allocated; the driver demands an address that fits the width.
        unsafe {
            match width {
                1 => std::ptr::write_bytes(at as *mut u8, value as u8, count),
                2 => std::slice::from_raw_parts_mut(at as *mut u16, count).fill(value as u16),
                _ => std::slice::from_raw_parts_mut(at as *mut u32, count).fill(value),
            }
        }
    }
}
