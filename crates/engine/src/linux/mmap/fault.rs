//! Copies memory safely even if pages of a mapped file have disappeared.
//!
//! The copy keeps its progress in registers. On x86-64 it is one string instruction, which the processor can
//! interrupt at any byte. On aarch64 it is a loop of loads and stores. The handler of SIGBUS checks whether
//! the fault occurred in the copy. If so, it moves the instruction pointer to the end of the copy, which
//! returns how many bytes may not have been copied. For any other SIGBUS, it restores the previous action and
//! the faulting instruction runs again. The kernel uses the same technique for copies from memory that may be
//! missing (its exception table).
//!
//! The first mmap engine installs the handler for the whole process. Rejected: sigsetjmp (returns twice,
//! which Rust does not allow), and mapping zeros in place of the page (the reader would continue with data
//! that never existed).

use crate::EngineError;
use rustix::io::Errno;
use std::arch::global_asm;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

// System V calling convention: `to` in RDI, `from` in RSI, `bytes` in RDX; the result in RAX.
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

// Procedure call standard of aarch64: `to` in X0, `from` in X1, `bytes` in X2; the result in X0. The count
// decreases after the stores that it covers.
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

/// The previous action of SIGBUS, or why it could not be replaced.
static FORMER: OnceLock<Result<libc::sigaction, Errno>> = OnceLock::new();

/// Copies. Returns 0, or how many bytes may not have been copied because a page is missing.
///
/// # Safety
/// Both ranges must be mapped with the right protection for `bytes` bytes and not overlap, and [`install`]
/// must have succeeded.
#[inline]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) -> usize {
    // SAFETY: as the caller promises; on x86-64 the direction flag is clear by the calling convention.
    unsafe { halfpower_copy(to, from, bytes) }
}

/// Installs the SIGBUS handler, once per process.
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
    // SAFETY: all zeros is a valid value of both structures: no flags, an empty mask.
    let (mut action, mut former): (libc::sigaction, libc::sigaction) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    action.sa_sigaction = on_bus_error as *const () as usize;
    // Use the alternate stack if the thread has one, as the standard library's handler does.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both structures are valid, and the handler is async-signal-safe.
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

/// Instruction pointer of the interrupted code.
#[cfg(target_arch = "x86_64")]
fn instruction(context: &mut libc::ucontext_t) -> &mut Word {
    &mut context.uc_mcontext.gregs[libc::REG_RIP as usize]
}

/// Instruction pointer of the interrupted code.
#[cfg(target_arch = "aarch64")]
fn instruction(context: &mut libc::ucontext_t) -> &mut Word {
    &mut context.uc_mcontext.pc
}

/// Ends a copy early, and passes every other fault on. Async-signal-safe: it reads two addresses and writes
/// one register, or calls sigaction.
extern "C" fn on_bus_error(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the third argument is the interrupted context.
    let instruction = instruction(unsafe { &mut *context.cast::<libc::ucontext_t>() });
    let copy = (&raw const halfpower_copy_access) as Word..(&raw const halfpower_copy_end) as Word;
    if copy.contains(instruction) {
        *instruction = copy.end;
        return;
    }
    if let Some(Ok(former)) = FORMER.get() {
        // SAFETY: the structure is valid, as the kernel returned it.
        unsafe { libc::sigaction(libc::SIGBUS, former, std::ptr::null_mut()) };
    }
}
