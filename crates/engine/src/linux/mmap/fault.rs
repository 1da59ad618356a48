//! A copy that survives when pages of a mapped file are gone.
//!
//! The copy is one string instruction, which the processor can interrupt at any byte with its progress
//! in registers. The handler of SIGBUS looks whether the fault came from that instruction; if so, it
//! moves the instruction pointer behind it, and the copy returns how many bytes are left. Any other
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

unsafe extern "C" {
    fn halfpower_copy(to: *mut u8, from: *const u8, bytes: usize) -> usize;
    static halfpower_copy_access: u8;
    static halfpower_copy_end: u8;
}

/// Who handled SIGBUS before, and whether we could take it over.
static FORMER: OnceLock<Result<libc::sigaction, Errno>> = OnceLock::new();

/// Copies; returns the bytes that could not be copied because a page was gone.
///
/// # Safety
/// Both ranges must be mapped with the right protection for so many bytes and not overlap, and
/// [`install`] must have succeeded.
#[inline]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> usize {
    // SAFETY: as the caller promises; the direction flag is clear by the calling convention.
    unsafe { halfpower_copy(to, from, bytes) }
}

/// Takes SIGBUS over, once per process.
pub(super) fn install() -> Result<(), EngineError> {
    match FORMER.get_or_init(take_over) {
        Ok(_) => Ok(()),
        Err(errno) => Err(EngineError::Unavailable {
            engine: "mmap",
            cause: "the signal of a missing page (SIGBUS) cannot be handled".to_owned(),
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

/// Lets a copy end early; gives everything else back. Async-signal-safe: reads two addresses and
/// writes one register, or calls sigaction.
extern "C" fn on_bus_error(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    const INSTRUCTION: usize = libc::REG_RIP as usize;
    // SAFETY: with SA_SIGINFO the third argument is the interrupted context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    if registers[INSTRUCTION] == (&raw const halfpower_copy_access) as i64 {
        registers[INSTRUCTION] = (&raw const halfpower_copy_end) as i64;
        return;
    }
    if let Some(Ok(former)) = FORMER.get() {
        // SAFETY: a valid record, as the kernel gave it.
        unsafe { libc::sigaction(libc::SIGBUS, former, std::ptr::null_mut()) };
    }
}
