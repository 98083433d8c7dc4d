//! Accesses outside all mapped memory: the system's signal becomes a fault of the emulated thread.
//!
//! With access hooks a bad address is refused before it is touched. Without them, and for accesses that the compiler does
//! not instrument, the page protection of [`super::memory`] raises SIGSEGV or SIGBUS in the kernel's code; the handler then
//! makes the coroutine return to the scheduler. Signals from anywhere else go to the handler that was there before.

use std::{
    ptr::null_mut,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, AtomicUsize, Ordering},
    },
};

use crate::block::{Ending, Fiber};

/// The coroutine that runs, if one does: there is one at a time, by the driver's lock.
static WATCHED: AtomicPtr<Fiber> = AtomicPtr::new(null_mut());

/// Number, address and code address of the last signal that was taken.
static TAKEN: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// A signal that was taken, with its address and the code address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) signal: i32,
    pub(super) address: usize,
    pub(super) pc: usize,
}

const SIGNALS: [i32; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE];
static BEFORE: OnceLock<[libc::sigaction; 3]> = OnceLock::new();

/// Tells the handler which coroutine runs now; null for none. It stays where it is until the next call.
pub(super) fn watch(fiber: *mut Fiber) {
    WATCHED.store(fiber, Ordering::Relaxed);
}

/// The last signal.
pub(super) fn taken() -> Taken {
    let [signal, address, pc] = [0, 1, 2].map(|at: usize| TAKEN[at].load(Ordering::Relaxed));
    Taken { signal: signal as i32, address, pc }
}

/// Installs the handler, once.
pub(super) fn install() {
    BEFORE.get_or_init(|| {
        SIGNALS.map(|signal| {
            // SAFETY: zero bytes are an empty action; the handler is a function of the required signature.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut before: libc::sigaction = std::mem::zeroed();
                let handler: unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = handle;
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                libc::sigaction(signal, &action, &mut before);
                before
            }
        })
    });
}

unsafe extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes a context of this type to a SA_SIGINFO handler.
    let machine = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    let (stack_pointer, pc) = registers(machine);
    let fiber = WATCHED.load(Ordering::Relaxed);
    // SAFETY: the scheduler keeps the coroutine in place while it is watched. On another thread of the process the stack
    // pointer lies elsewhere.
    let handler = unsafe { fiber.as_ref() }.map(Fiber::trap_handler);
    match handler {
        Some(fiber) if fiber.stack_ptr_in_bounds(stack_pointer) => {
            // SAFETY: a fault's information holds its address.
            let address = unsafe { (*info).si_addr() } as usize;
            TAKEN[0].store(signal as usize, Ordering::Relaxed);
            TAKEN[1].store(address, Ordering::Relaxed);
            TAKEN[2].store(pc, Ordering::Relaxed);
            // SAFETY: the interrupted code is a kernel on the coroutine's stack, which ends here; its registers are set below.
            let target = unsafe { fiber.setup_trap_handler(|| Ending::Signal) };
            set_registers(machine, &target);
        }
        _ => pass_on(signal, info, context),
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(machine: &libc::mcontext_t) -> (usize, usize) {
    (machine.gregs[libc::REG_RSP as usize] as usize, machine.gregs[libc::REG_RIP as usize] as usize)
}

#[cfg(target_arch = "x86_64")]
fn set_registers(machine: &mut libc::mcontext_t, target: &corosensei::trap::TrapHandlerRegs) {
    machine.gregs[libc::REG_RIP as usize] = target.rip as i64;
    machine.gregs[libc::REG_RSP as usize] = target.rsp as i64;
    machine.gregs[libc::REG_RBP as usize] = target.rbp as i64;
    machine.gregs[libc::REG_RDI as usize] = target.rdi as i64;
    machine.gregs[libc::REG_RSI as usize] = target.rsi as i64;
}

#[cfg(target_arch = "aarch64")]
fn registers(machine: &libc::mcontext_t) -> (usize, usize) {
    (machine.sp as usize, machine.pc as usize)
}

#[cfg(target_arch = "aarch64")]
fn set_registers(machine: &mut libc::mcontext_t, target: &corosensei::trap::TrapHandlerRegs) {
    machine.pc = target.pc;
    machine.sp = target.sp;
    machine.regs[0] = target.x0;
    machine.regs[1] = target.x1;
    machine.regs[29] = target.x29;
    machine.regs[30] = target.lr;
}

/// Hands a signal to the action that was installed before ours.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let at = SIGNALS.iter().position(|&known| known == signal);
    let Some(before) = BEFORE.get().zip(at).map(|(all, at)| &all[at]) else { return };
    // SAFETY: the action that was installed before ours, called as its flags ask.
    unsafe {
        if before.sa_sigaction == libc::SIG_DFL || before.sa_sigaction == libc::SIG_IGN {
            libc::sigaction(signal, before, null_mut());
        } else if before.sa_flags & libc::SA_SIGINFO != 0 {
            let handler: unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(before.sa_sigaction);
            handler(signal, info, context);
        } else {
            let handler: unsafe extern "C" fn(i32) = std::mem::transmute(before.sa_sigaction);
            handler(signal);
        }
    }
}
