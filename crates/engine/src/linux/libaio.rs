//! Linux native asynchronous I/O through its raw system calls: io_submit and io_getevents.
//!
//! Databases used this interface before io_uring, and still do. It is asynchronous only with direct I/O.
//! Without O_DIRECT, io_submit does the whole transfer before it returns, so the queue depth is one. The
//! features state that. Rejected: the library of the same name (wrappers with their own errno convention),
//! and reading the completion ring in user memory (its layout is not a public interface).

use super::system_call::call;
use crate::input;
use crate::{
    ACTS, Clock, Completion, EngineError, Memory, MonotonicClock, Setup, Transfer, Transport, Wait,
    transport,
};
use record::Nanos;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use std::os::fd::{BorrowedFd, RawFd};

/// The feature line for files that are open without O_DIRECT, where the real queue depth is one.
pub const IO_SUBMIT_BLOCKS: &str = "io_submit blocks: the target is open without O_DIRECT";

/// A control block (linux/aio_abi.h, struct iocb).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Control {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    address: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// A completion (linux/aio_abi.h, struct io_event).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    control: u64,
    result: i64,
    result2: i64,
}

/// Opcodes by act (linux/aio_abi.h, IOCB_CMD_PREAD, IOCB_CMD_PWRITE, IOCB_CMD_FSYNC and IOCB_CMD_FDSYNC).
/// Write-out and trims have none. The kernel refuses u16::MAX, and no workload uses it.
const OPCODES: [u16; ACTS] = [0, 1, 2, 3, u16::MAX, u16::MAX, u16::MAX];

/// Performs transfers through io_submit and io_getevents.
#[derive(Debug)]
pub struct Libaio {
    context: usize,
    files: Vec<RawFd>,
    /// Indexed by tag. Accessed only through pointers from one `as_mut_ptr`. A reference to the whole list
    /// would invalidate the pointers that the kernel holds.
    controls: Vec<Control>,
    /// Addresses of pushed control blocks that the kernel has not accepted yet.
    pending: Vec<*mut Control>,
    /// Completions of transfers that io_submit refused.
    refused: Vec<Completion>,
    events: Vec<Event>,
    /// Number of transfers in the kernel.
    in_kernel: u32,
    buffered: bool,
    /// Whether the context stays allocated until the process ends, because something is in flight.
    abandoned: bool,
}

/// Error for a kernel that refuses a context, with a remedy.
fn refusal(errno: Errno, most: u32) -> EngineError {
    let limit = input::kernel_text("/proc/sys/fs/aio-max-nr".as_ref()).unwrap_or_default();
    let (cause, remedy) = match errno {
        Errno::AGAIN => (
            format!(
                "the system-wide limit leaves fewer than {most} requests (fs.aio-max-nr is {})",
                limit.trim()
            ),
            "raise the limit with sysctl, or use a smaller --iodepth",
        ),
        Errno::NOSYS => (
            "the kernel was built without it, or a seccomp filter hides it".to_owned(),
            "use --ioengine io_uring or sync",
        ),
        _ => ("io_setup failed".to_owned(), "use --ioengine io_uring or sync"),
    };
    EngineError::Unavailable { engine: "libaio", cause, errno: errno.into(), remedy }
}

impl Transport for Libaio {
    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        let mut context = 0usize;
        let address = std::ptr::from_mut(&mut context) as usize;
        // SAFETY: the kernel writes the context to the word that the second argument points to.
        unsafe { call(libc::SYS_io_setup, [most as usize, address, 0, 0, 0]) }
            .map_err(|errno| refusal(errno, most))?;
        let buffered = setup.files.iter().any(|&file| {
            // SAFETY: the owner of the files keeps the descriptor open while the engine exists.
            let file = unsafe { BorrowedFd::borrow_raw(file) };
            fcntl_getfl(file).is_ok_and(|flags| !flags.contains(OFlags::DIRECT))
        });
        Ok(Self {
            context,
            files: setup.files.clone(),
            controls: vec![Control::default(); most as usize],
            pending: Vec::with_capacity(most as usize),
            refused: Vec::with_capacity(most as usize),
            events: vec![Event::default(); most as usize],
            in_kernel: 0,
            buffered,
            abandoned: false,
        })
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        let tag = transfer.tag as usize;
        assert!(tag < self.controls.len(), "tag {tag} of {}", self.controls.len());
        let block = Control {
            data: u64::from(transfer.tag),
            opcode: OPCODES[transfer.act as usize],
            file: self.files[transfer.file as usize] as u32,
            address: transfer.address as u64,
            bytes: u64::from(transfer.bytes),
            offset: transfer.offset as i64,
            ..Control::default()
        };
        // SAFETY: the tag is in range, as was just checked, and the kernel does not use its block: no two
        // transfers in flight have the same tag. `as_mut_ptr` creates no reference to the blocks.
        let control = unsafe {
            let control = self.controls.as_mut_ptr().add(tag);
            control.write(block);
            control
        };
        self.pending.push(control);
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.submit()
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        loop {
            self.submit()?;
            let room = ask.max as usize - (done.len() - before);
            let refused = self.refused.len().min(room);
            done.extend(self.refused.drain(..refused));
            let got = (done.len() - before) as u32;
            let left = ask.deadline.map(|end| end.since(MonotonicClock.now()));
            let over = left == Some(Nanos(0));
            let need = if over { 0 } else { ask.min.saturating_sub(got).min(self.in_kernel) };
            if self.in_kernel > 0 && got < ask.max {
                self.events(need, ask.max - got, left, done)?;
            }
            if (done.len() - before) as u32 >= ask.min || over {
                return Ok(());
            }
        }
    }

    fn quiesce(&mut self) -> bool {
        self.pending.clear();
        // These are finished. If `drained` received them, it would count them as transfers in flight.
        self.refused.clear();
        let in_kernel = self.in_kernel;
        self.abandoned = !transport::drained(self, in_kernel, MonotonicClock.now());
        !self.abandoned
    }

    fn features(&self) -> Vec<String> {
        let mut features = vec!["io_submit/io_getevents".to_owned()];
        if self.buffered {
            features.push(IO_SUBMIT_BLOCKS.to_owned());
        }
        features
    }
}

impl Libaio {
    /// Submits the pending transfers. A request that the kernel refuses becomes a completion with that error.
    /// If the kernel has no room now, the rest waits for the next call.
    fn submit(&mut self) -> Result<(), EngineError> {
        let mut taken = 0;
        while taken < self.pending.len() {
            let rest = &self.pending[taken..];
            let arguments = [self.context, rest.len(), rest.as_ptr() as usize, 0, 0];
            // SAFETY: the pointers are to control blocks in `controls`, whose buffer never moves. The memory
            // and files in them outlive the transfer.
            match unsafe { call(libc::SYS_io_submit, arguments) } {
                Ok(0) => break,
                Ok(count) => {
                    taken += count;
                    self.in_kernel += count as u32;
                }
                Err(Errno::AGAIN) if self.in_kernel > 0 => break,
                Err(Errno::INTR) => {}
                Err(errno @ (Errno::NOSYS | Errno::FAULT)) => {
                    return Err(EngineError::Broken { call: "io_submit", errno: errno.into() });
                }
                // The error is for the first one. If earlier ones existed, the kernel would have returned
                // their count.
                Err(errno) => {
                    // SAFETY: the pointer is to a control block in `controls` that the kernel did not accept.
                    let tag = unsafe { (*rest[0]).data } as u32;
                    let outcome = -errno.raw_os_error();
                    self.refused.push(Completion { slot: tag, outcome });
                    taken += 1;
                }
            }
        }
        self.pending.drain(..taken);
        Ok(())
    }

    /// Appends between `min` and `max` completions, fewer if `left` ends the wait.
    fn events(
        &mut self,
        min: u32,
        max: u32,
        left: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let left = left.unwrap_or(Nanos(0));
        let time = libc::timespec {
            tv_sec: (left.0 / 1_000_000_000) as i64,
            tv_nsec: (left.0 % 1_000_000_000) as i64,
        };
        // Without a deadline, pass no time: the wait is unlimited.
        let limit = if left == Nanos(0) { 0 } else { std::ptr::from_ref(&time) as usize };
        let room = (max as usize).min(self.events.len());
        let events = self.events.as_mut_ptr() as usize;
        // SAFETY: the array has room for this many events. The array and the time are valid during the call.
        let result = unsafe {
            call(libc::SYS_io_getevents, [self.context, min as usize, room, events, limit])
        };
        let count = match result {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(errno) => {
                return Err(EngineError::Broken { call: "io_getevents", errno: errno.into() });
            }
        };
        self.in_kernel -= count as u32;
        done.extend(
            self.events[..count]
                .iter()
                .map(|event| Completion { slot: event.data as u32, outcome: event.result as i32 }),
        );
        Ok(())
    }
}

impl Drop for Libaio {
    fn drop(&mut self) {
        if !self.abandoned {
            // SAFETY: the context belongs to this value and is empty. Otherwise the call would wait for
            // transfers in flight.
            let _ = unsafe { call(libc::SYS_io_destroy, [self.context, 0, 0, 0, 0]) };
        }
    }
}
