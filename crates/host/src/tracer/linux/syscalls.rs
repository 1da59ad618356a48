//! Wraps the system calls of the tracer that have no safe form: bpf(2), tracepoints by perf_event_open(2),
//! and a private mount of tracefs.
//!
//! Every argument block is a live structure of ours with the layout of include/uapi/linux/bpf.h. Keys and
//! values are checked against the sizes of their map, from which the kernel takes the lengths. The number
//! of value copies that the kernel writes is measured ([`value_copies`]). It is not read from a file,
//! because the caller's /sys folder may belong to another machine.

use crate::kernel::{PerfEventAttributes, checked, own_descriptor as own, perf_event_open};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::mem::size_of;
use std::sync::OnceLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum MapKind {
    Hash = 1,
    Array = 2,
    /// An array with a copy for each processor.
    ProcessorArray = 6,
    /// A hash that evicts the least recently used entry when it is full.
    ForgettingHash = 9,
}

#[derive(Debug)]
pub(super) struct Map {
    descriptor: OwnedFd,
    kind: MapKind,
    key_bytes: usize,
    value_bytes: usize,
    /// Values that a look-up writes: one for each possible processor if the map has copies.
    copies: usize,
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapElement {
    map: u32,
    padding: u32,
    key: u64,
    /// Address of the value, or where the next key is written.
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_kind: u32,
    /// Fields about the program's source: no types, functions or lines.
    source: [u32; 9],
    attach_type: u32,
    attach_program: u32,
    padding: u32,
}

const _: () = assert!(size_of::<MapElement>() == 32);
const _: () = assert!(size_of::<ProgramLoad>() == 120);
const _: () = assert!(std::mem::offset_of!(ProgramLoad, attach_type) == 108);

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const MAP_NEXT_KEY: libc::c_int = 4;
const PROGRAM_LOAD: libc::c_int = 5;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
/// `BPF_PROG_TYPE_TRACEPOINT`.
const TRACEPOINT_PROGRAM: u32 = 5;
/// `BPF_PROG_TYPE_TRACING`, with the arguments of a tracepoint (`BPF_TRACE_RAW_TP`).
const TRACING_PROGRAM: u32 = 26;
const TRACE_RAW_TRACEPOINT: u32 = 23;
/// Size of the buffer for the verifier's message on a rejected program.
const LOG_BYTES: usize = 64 << 10;
/// The verifier logs what a diagnosis needs, without each state.
const LOG_LEVEL: u32 = 1;
/// In older kernels, only programs with a GPL-compatible licence may use timing functions; this crate's
/// programs have both licences.
const LICENSE: &std::ffi::CStr = c"Dual MIT/GPL";

#[repr(C)]
struct RawTracepointOpen {
    /// None: the program's attach type identifies the event.
    name: u64,
    program: u32,
    padding: u32,
}

/// The event that a program is made for and attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttachTo {
    /// An event by the number in its format file: the program gets the fields listed there.
    Format(u64),
    /// An event by its type: the program gets the arguments of the kernel's own call, so that the kernel
    /// need not assemble the fields.
    Type(u32),
}

/// # Safety
/// `attributes` must match the command, and every address in it must be valid for what the command reads or
/// writes there.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> Result<libc::c_long, Errno> {
    // SAFETY: the structure is live and exclusive, its size is given, and the caller guarantees the
    // addresses inside.
    checked(unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>())
    })
}

impl Map {
    /// Creates a map with space for this many entries.
    pub(super) fn new(
        kind: MapKind,
        key_bytes: usize,
        value_bytes: usize,
        entries: usize,
    ) -> Result<Self, Errno> {
        let copies = if kind == MapKind::ProcessorArray { value_copies()? } else { 1 };
        Self::with_copies(kind, key_bytes, value_bytes, entries, copies)
    }

    fn with_copies(
        kind: MapKind,
        key_bytes: usize,
        value_bytes: usize,
        entries: usize,
        copies: usize,
    ) -> Result<Self, Errno> {
        let mut attributes = MapCreate {
            kind: kind as u32,
            key_bytes: key_bytes as u32,
            value_bytes: value_bytes as u32,
            entries: u32::try_from(entries).map_err(|_| Errno::TOOBIG)?,
            flags: 0,
        };
        // SAFETY: the command reads only numbers, and returns a new descriptor.
        let descriptor = unsafe { own(bpf(MAP_CREATE, &mut attributes)?) }?;
        Ok(Self { descriptor, kind, key_bytes, value_bytes, copies })
    }

    /// The number by which programs refer to it.
    pub(super) fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// The key must have the map's key length; `None` only if the command allows it.
    fn element(&self, key: Option<&[u8]>, value: u64) -> Result<MapElement, Errno> {
        if key.is_some_and(|key| key.len() != self.key_bytes) {
            return Err(Errno::INVAL);
        }
        let (map, key) = (self.number() as u32, key.map_or(0, |key| key.as_ptr() as u64));
        Ok(MapElement { map, padding: 0, key, value, flags: 0 })
    }

    /// Sets an entry; not for maps with copies.
    pub(super) fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        if value.len() != self.value_bytes || self.kind == MapKind::ProcessorArray {
            return Err(Errno::INVAL);
        }
        let mut attributes = self.element(Some(key), value.as_ptr() as u64)?;
        // SAFETY: key and value are live and have the map's lengths, as checked; both are only read.
        unsafe { bpf(MAP_UPDATE, &mut attributes) }.map(drop)
    }

    /// Reads all copies of an entry into words.
    pub(super) fn get(&self, key: &[u8], words: &mut Vec<u64>) -> Result<(), Errno> {
        words.clear();
        words.resize(self.value_bytes.div_ceil(8) * self.copies, UNWRITTEN);
        let mut attributes = self.element(Some(key), words.as_mut_ptr() as u64)?;
        // SAFETY: the key has the map's length, and the buffer has space for all that the kernel writes:
        // the value, rounded up to words, once per copy as measured by `value_copies`, or for more
        // processors than any kernel has.
        unsafe { bpf(MAP_LOOKUP, &mut attributes) }.map(drop)
    }

    /// The key after a given one, or the first.
    pub(super) fn next_key(&self, key: Option<&[u8]>) -> Result<Option<Vec<u8>>, Errno> {
        let mut next = vec![0; self.key_bytes];
        let mut attributes = self.element(key, next.as_mut_ptr() as u64)?;
        // SAFETY: the key is null or has the map's length, as has the buffer for the next one.
        match unsafe { bpf(MAP_NEXT_KEY, &mut attributes) } {
            Ok(_) => Ok(Some(next)),
            Err(Errno::NOENT) => Ok(None),
            Err(cause) => Err(cause),
        }
    }
}

/// Marks buffer words that the kernel has not written; the values of a new map are zeros.
const UNWRITTEN: u64 = u64::MAX;
/// More processors than any kernel can be built for (CONFIG_NR_CPUS is at most 8,192).
const PROCESSORS_MAX: usize = 1 << 16;

/// How many copies of a value this kernel keeps in a [`MapKind::ProcessorArray`]: one for each possible
/// processor. Measured once, by a look-up in a map of one word with space for more processors than any
/// kernel has. The number does not change while a kernel runs.
pub(super) fn value_copies() -> Result<usize, Errno> {
    static COPIES: OnceLock<usize> = OnceLock::new();
    if let Some(&copies) = COPIES.get() {
        return Ok(copies);
    }
    let probe = Map::with_copies(MapKind::ProcessorArray, 4, 8, 1, PROCESSORS_MAX)?;
    let mut words = Vec::new();
    probe.get(&[0; 4], &mut words)?;
    let copies = words.iter().take_while(|&&word| word != UNWRITTEN).count();
    // None or all: the kernel does not behave as documented.
    if copies == 0 || copies == PROCESSORS_MAX {
        return Err(Errno::RANGE);
    }
    Ok(*COPIES.get_or_init(|| copies))
}

/// Loads a program for an event. An error includes the verifier's message.
pub(super) fn load_program(at: AttachTo, code: &[u64]) -> Result<OwnedFd, (Errno, String)> {
    let (kind, attach_kind, attach_type) = match at {
        AttachTo::Format(_) => (TRACEPOINT_PROGRAM, 0, 0),
        AttachTo::Type(type_id) => (TRACING_PROGRAM, TRACE_RAW_TRACEPOINT, type_id),
    };
    let load = |log: &mut [u8]| {
        let mut attributes = ProgramLoad {
            kind,
            instructions: code.len() as u32,
            code: code.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
            log_level: if log.is_empty() { 0 } else { LOG_LEVEL },
            log_bytes: log.len() as u32,
            log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
            kernel_version: 0,
            flags: 0,
            name: [0; 16],
            interface: 0,
            attach_kind,
            source: [0; 9],
            attach_type,
            attach_program: 0,
            padding: 0,
        };
        // SAFETY: the code is `instructions` words long, the licence ends with a zero byte, and the log has
        // `log_bytes` bytes; the command returns a new descriptor.
        unsafe { bpf(PROGRAM_LOAD, &mut attributes).and_then(|outcome| own(outcome)) }
    };
    let cause = match load(&mut []) {
        Ok(program) => return Ok(program),
        Err(cause) => cause,
    };
    if !matches!(cause, Errno::INVAL | Errno::ACCESS | Errno::TOOBIG) {
        return Err((cause, String::new()));
    }
    let mut log = vec![0; LOG_BYTES];
    // The log comes from a second attempt; the error of the first attempt is reported.
    drop(load(&mut log));
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    Err((cause, String::from_utf8_lossy(&log[..end]).into_owned()))
}

/// `PERF_TYPE_TRACEPOINT`.
const TYPE_TRACEPOINT: u32 = 2;
/// `PERF_EVENT_IOC_SET_BPF`, `_IOW('$', 8, __u32)`.
const SET_PROGRAM: libc::Ioctl = 0x4004_2408;
/// `PERF_EVENT_IOC_ENABLE`, `_IO('$', 0)`.
const ENABLE: libc::Ioctl = 0x2400;

/// Runs a program at each occurrence of a tracepoint, on any processor, until the event is dropped.
pub(super) fn attach(at: AttachTo, program: impl AsFd) -> Result<OwnedFd, Errno> {
    let AttachTo::Format(tracepoint) = at else {
        let program = program.as_fd().as_raw_fd() as u32;
        let mut attributes = RawTracepointOpen { name: 0, program, padding: 0 };
        // SAFETY: the command reads a descriptor number, and returns a new descriptor.
        return unsafe { own(bpf(RAW_TRACEPOINT_OPEN, &mut attributes)?) };
    };
    let attributes = PerfEventAttributes::of(TYPE_TRACEPOINT, tracepoint);
    // A program runs for the whole tracepoint; the processor only applies to the event.
    let (any_process, first_processor) = (-1, 0);
    let event = perf_event_open(&attributes, any_process, first_processor)?;
    let (number, program) = (event.as_raw_fd(), program.as_fd().as_raw_fd());
    // SAFETY: the argument is a descriptor number.
    checked(unsafe { libc::ioctl(number, SET_PROGRAM, program) })?;
    // SAFETY: it takes no argument.
    checked(unsafe { libc::ioctl(number, ENABLE, 0) })?;
    Ok(event)
}

/// `PERF_SAMPLE_TIME` and `PERF_SAMPLE_RAW`: the time of an event and its fields.
const SAMPLE_TIME_AND_FIELDS: u64 = 1 << 2 | 1 << 10;
/// `PERF_EVENT_IOC_SET_FILTER`, `_IOW('$', 6, char *)`.
const SET_FILTER: libc::Ioctl = 0x4008_2406;
/// `PERF_RECORD_LOST` and `PERF_RECORD_SAMPLE`.
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
/// Offsets in a ring's first page: how far the kernel has written, and how far we have read.
const HEAD_AT: usize = 1_024;
const TAIL_AT: usize = 1_032;
/// Bytes of a record's header: kind, flags, length.
const RECORD_HEAD_BYTES: usize = 8;
/// Bytes of a ring, a power-of-two multiple of any page size: some ten thousand events.
const RING_BYTES: usize = 2 << 20;

/// The events of one tracepoint on one processor.
#[derive(Debug)]
pub(super) struct Ring {
    _event: OwnedFd,
    base: std::ptr::NonNull<u8>,
}

pub(super) enum Record<'a> {
    /// An event: its time in ns, and its fields.
    Event(u64, &'a [u8]),
    /// Number of events lost for lack of space.
    Lost(u64),
}

impl Ring {
    /// Opens the events of a tracepoint, by the number in its format file, on one processor, limited by a
    /// trace event filter.
    pub(super) fn open(
        tracepoint: u64,
        processor: i32,
        filter: &std::ffi::CStr,
    ) -> Result<Self, Errno> {
        let attributes =
            PerfEventAttributes::each(TYPE_TRACEPOINT, tracepoint, SAMPLE_TIME_AND_FIELDS);
        let any_process = -1;
        let event = perf_event_open(&attributes, any_process, processor)?;
        // SAFETY: the argument is a text that ends with a zero byte, which the kernel copies.
        checked(unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER, filter.as_ptr()) })?;
        let (protection, bytes) = (ProtFlags::READ | ProtFlags::WRITE, Self::mapped_bytes());
        // SAFETY: a mapping at an address of the kernel's choice aliases no memory of ours.
        let base =
            unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, &event, 0) }?;
        let base = std::ptr::NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { _event: event, base })
    }

    fn mapped_bytes() -> usize {
        rustix::param::page_size() + RING_BYTES
    }

    /// A word of the first page, which both the kernel and this process change at any time.
    fn word(&self, at: usize) -> &std::sync::atomic::AtomicU64 {
        // SAFETY: the word is in the mapping, which lives as long as `self`, at a multiple of its size, and
        // is only used as an atomic.
        unsafe { &*self.base.as_ptr().add(at).cast() }
    }

    /// Takes all records out. An invalid record ends it.
    pub(super) fn drain(&mut self, each: &mut dyn FnMut(Record<'_>)) {
        use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
        let size = RING_BYTES;
        let head = self.word(HEAD_AT).load(Acquire);
        let mut tail = self.word(TAIL_AT).load(Relaxed);
        let mut record = Vec::new();
        while head.wrapping_sub(tail) >= RECORD_HEAD_BYTES as u64 {
            let available = head.wrapping_sub(tail) as usize;
            let mut first = [0; RECORD_HEAD_BYTES];
            self.copy(tail as usize % size, &mut first);
            let kind = u32::from_ne_bytes([first[0], first[1], first[2], first[3]]);
            let length = usize::from(u16::from_ne_bytes([first[6], first[7]]));
            if length < RECORD_HEAD_BYTES || length > available {
                each(Record::Lost(1));
                tail = head;
                break;
            }
            record.resize(length, 0);
            self.copy(tail as usize % size, &mut record);
            let word = |at: usize| {
                let bytes = record.get(at..at + 8)?.try_into().ok()?;
                Some(u64::from_ne_bytes(bytes))
            };
            match kind {
                RECORD_SAMPLE => {
                    let fields = record.get(RECORD_HEAD_BYTES + 12..).unwrap_or_default();
                    if let Some(time) = word(RECORD_HEAD_BYTES) {
                        each(Record::Event(time, fields));
                    }
                }
                RECORD_LOST => each(Record::Lost(word(RECORD_HEAD_BYTES + 8).unwrap_or(1))),
                _ => {}
            }
            tail += length as u64;
        }
        self.word(TAIL_AT).store(tail, Release);
    }

    /// Copies data that the kernel has written, from a position in the ring, with wrap-around.
    fn copy(&self, at: usize, into: &mut [u8]) {
        let size = RING_BYTES;
        let first = into.len().min(size - at);
        let (begin, rest) = into.split_at_mut(first);
        // SAFETY: both parts are in the data pages of the mapping, between what we have read and what the
        // kernel has written; it does not change them until the tail moves.
        unsafe {
            let data = self.base.as_ptr().add(rustix::param::page_size());
            std::ptr::copy_nonoverlapping(data.add(at), begin.as_mut_ptr(), begin.len());
            std::ptr::copy_nonoverlapping(data, rest.as_mut_ptr(), rest.len());
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of that length, and nothing refers to it any more.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), Self::mapped_bytes()) };
        debug_assert!(unmapped.is_ok(), "a whole mapping of ours");
    }
}

/// A tracefs without a mount point, removed with the descriptor. Linux 5.2 and later.
pub(super) fn private_tracefs() -> Result<OwnedFd, Errno> {
    use libc::{FSCONFIG_CMD_CREATE, FSMOUNT_CLOEXEC, FSOPEN_CLOEXEC, SYS_fsconfig, SYS_fsmount};
    let name = c"tracefs".as_ptr();
    // SAFETY: the name ends with a zero byte; the call returns a new descriptor.
    let context = unsafe { own(libc::syscall(libc::SYS_fsopen, name, FSOPEN_CLOEXEC)) }?;
    let number = context.as_raw_fd();
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: the command takes neither key nor value.
    checked(unsafe { libc::syscall(SYS_fsconfig, number, FSCONFIG_CMD_CREATE, none, none, 0) })?;
    // SAFETY: the call takes only numbers and returns a new descriptor.
    unsafe { own(libc::syscall(SYS_fsmount, number, FSMOUNT_CLOEXEC, 0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::read::{cpu_list, text};
    use testkit::requires;

    #[test]
    fn the_kernel_writes_a_copy_for_each_possible_processor_and_no_more() {
        requires!(Root);
        let copies = match value_copies() {
            Err(cause) => return testkit::skip("value_copies", &format!("bpf(2): {cause}")),
            Ok(copies) => copies,
        };
        let list = text(std::path::Path::new("/sys/devices/system/cpu/possible")).unwrap();
        assert_eq!(copies, cpu_list(&list).len());
        // Also for a value that is not a whole number of words.
        let map = Map::with_copies(MapKind::ProcessorArray, 4, 20, 1, 4 * copies).unwrap();
        let mut words = Vec::new();
        map.get(&[0; 4], &mut words).unwrap();
        let written = words.iter().take_while(|&&word| word != UNWRITTEN).count();
        assert_eq!(written, 3 * copies);
        assert!(words[written..].iter().all(|&word| word == UNWRITTEN));
    }
}
