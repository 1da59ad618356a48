//! A copy that survives when pages of a mapped file are gone.
//!
//! The copy keeps its progress in registers: on x86-64 it is one string instruction, which the processor
//! can interrupt at any byte, on aarch64 a loop of loads and stores. The handler of SIGBUS looks
//! whether the fault came from there; if so, it moves the instruction pointer behind it, and the copy
//! returns how many bytes are not known to be copied. Any other
//! SIGBUS is given back: the former action is restored and the faulting instruction runs again. The
//! kernel copies from memory that may not be there in the same way (its exception table).
//!
//! The first mmap engine installs the handler for the process. Rejected: sigsetjmp (returns twice,
//! which Rust does not allow), and mapping zeros in the place (the reader would go on with data that
//! was never there).

use crate::EngineError;
use rustix::io::Errno;
use std::arch::global_asm;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

// System V calling convention: to in RDI, from in RSI, bytes in RDX; the result in RAX.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".pushsection .text.halfpower_copy, \"ax\", @progbits",
    ".globl halfpower_copy",
    ".globl halfpower_copy_access",
    ".globl halfpower_copy_end",
    ".type halfpower_copy, @function",
    "halfpower_copy:",
    "mov rcx, rdx",
    "halfpower_copy_access:",
    "rep movsb",
    "halfpower_copy_end:",
    "mov rax, rcx",
    "ret",
    ".size halfpower_copy, . - halfpower_copy",
    ".popsection",
);

// Procedure call standard of aarch64: to in X0, from in X1, bytes in X2; the result in X0. A count goes
// down after its stores.
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".pushsection .text.halfpower_copy, \"ax\", %progbits",
    ".globl halfpower_copy",
    ".globl halfpower_copy_access",
    ".globl halfpower_copy_end",
    ".type halfpower_copy, %function",
    "halfpower_copy:",
    "halfpower_copy_access:",
    "subs x3, x2, #64",
    "b.lo 2f",
    "1:",
    "ldp q0, q1, [x1]",
    "ldp q2, q3, [x1, #32]",
    "add x1, x1, #64",
    "stp q0, q1, [x0]",
    "stp q2, q3, [x0, #32]",
    "add x0, x0, #64",
    "mov x2, x3",
    "subs x3, x3, #64",
    "b.hs 1b",
    "2:",
    "cbz x2, halfpower_copy_end",
    "3:",
    "ldrb w4, [x1], #1",
    "strb w4, [x0], #1",
    "subs x2, x2, #1",
    "b.ne 3b",
    "halfpower_copy_end:",
    "mov x0, x2",
    "ret",
    ".size halfpower_copy, . - halfpower_copy",
    ".popsection",
);

unsafe extern "C" {
    fn halfpower_copy(to: *mut u8, from: *const u8, bytes: usize) -> usize;
    static halfpower_copy_access: u8;
    static halfpower_copy_end: u8;
}

/// Who handled SIGBUS before, and whether we could take it over.
static FORMER: OnceLock<Result<libc::sigaction, Errno>> = OnceLock::new();

/// Copies; returns 0, or how many bytes are not known to be copied because a page was gone.
///
/// # Safety
/// Both ranges must be mapped with the right protection for so many bytes and not overlap, and
/// [`install`] must have succeeded.
#[inline]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> usize {
    // SAFETY: as the caller promises; on x86-64 the direction flag is clear by the calling convention.
    unsafe { halfpower_copy(to, from, bytes) }
}

/// Takes SIGBUS over, once per process.
pub(super) fn install() -> Result<(), EngineError> {
    match FORMER.get_or_init(take_over) {
        Ok(_) => Ok(()),
        Err(errno) => Err(EngineError::Unavailable {
            engine: "mmap",
            cause: "a handler for SIGBUS (missing page) cannot be installed".to_owned(),
            errno: (*errno).into(),
            remedy: "use another engine",
        }),
    }
}

fn take_over() -> Result<libc::sigaction, Errno> {
    // SAFETY: all zeros is a valid value of both records: no flags, an empty mask.
    let (mut action, mut former): (libc::sigaction, libc::sigaction) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    action.sa_sigaction = on_bus_error as *const () as usize;
    // On the alternate stack where the thread has one, as the standard library's handler does.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both records are valid; the handler does only what a handler may.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const action, &raw mut former) } == 0 {
        return Ok(former);
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

/// A word of the interrupted registers.
#[cfg(target_arch = "x86_64")]
type Word = libc::greg_t;
/// A word of the interrupted registers.
#[cfg(target_arch = "aarch64")]
type Word = libc::c_ulonglong;

/// Where the interrupted program goes on.
#[cfg(target_arch = "x86_64")]
fn instruction(context: &mut libc::ucontext_t) -> &mut Word {
    &mut context.uc_mcontext.gregs[libc::REG_RIP as usize]
}

/// Where the interrupted program goes on.
#[cfg(target_arch = "aarch64")]
fn instruction(context: &mut libc::ucontext_t) -> &mut Word {
    &mut context.uc_mcontext.pc
}

/// Lets a copy end early; gives everything else back. Async-signal-safe: reads two addresses and
/// writes one register, or calls sigaction.
extern "C" fn on_bus_error(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the third argument is the interrupted context.
    let instruction = instruction(unsafe { &mut *context.cast::<libc::ucontext_t>() });
    let copy = (&raw const halfpower_copy_access) as Word..(&raw const halfpower_copy_end) as Word;
    if copy.contains(instruction) {
        *instruction = copy.end;
        return;
    }
    if let Some(Ok(former)) = FORMER.get() {
        // SAFETY: a valid record, as the kernel gave it.
        unsafe { libc::sigaction(libc::SIGBUS, former, std::ptr::null_mut()) };
    }
}
