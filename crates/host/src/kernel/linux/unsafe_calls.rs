//! Wraps every unsafe call of this crate, so that callers are safe.
//!
//! rustix has safe forms of nearly all calls needed. The exceptions: the identity of an ATA drive, a log
//! page and a feature of an NVMe device, the table of a device-mapper volume, `getrusage`, the idle policy
//! and perf events.

use rustix::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::thread::Pid;
use std::mem::{MaybeUninit, size_of};

/// Words in the response of an ATA drive to IDENTIFY DEVICE.
pub(crate) const ATA_WORDS: usize = 256;
/// The ioctl of include/uapi/linux/hdreg.h.
const HDIO_GET_IDENTITY: Opcode = 0x030D;

/// Checks that a descriptor refers to a block device. The number of an old ioctl contains no length. A
/// driver of another kind, reached through a folder in place of /sys, may use the number for a call that
/// writes more.
pub fn require_block_device(device: impl AsFd) -> Result<(), Errno> {
    let kind = FileType::from_raw_mode(fstat(device)?.st_mode);
    if kind.is_block_device() { Ok(()) } else { Err(Errno::NOTBLK) }
}

/// The identity data of an ATA drive (ATA/ATAPI Command Set, IDENTIFY DEVICE).
pub(crate) fn ata_identity(device: impl AsFd) -> Result<[u16; ATA_WORDS], Errno> {
    require_block_device(&device)?;
    let mut words = [0; ATA_WORDS];
    // SAFETY: the kernel writes at most 512 bytes, to a live, exclusive array of that size; every bit
    // pattern is valid in it.
    unsafe { ioctl(device, Updater::<HDIO_GET_IDENTITY, _>::new(&mut words)) }?;
    Ok(words)
}

/// Maximum bytes of a log page to read.
pub(crate) const LOG_BYTES: usize = 4096;
/// The ioctl of include/uapi/linux/nvme_ioctl.h, and the command "Get Log Page" of the NVMe base
/// specification.
const NVME_IOCTL_ADMIN_CMD: Opcode = 0xC048_4E41;
const GET_LOG_PAGE: u8 = 0x02;
const ADMIN_TIMEOUT_MS: u32 = 1_000;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_and_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_to_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<NvmeCommand>() == 72);

const GET_FEATURES: u8 = 0x0A;

/// A log page of a namespace of an NVMe device. A device without such a page leaves it zero or fails. Some
/// refuse to return more bytes than a page has, so `bytes` must be the length of the page, at most
/// [`LOG_BYTES`].
pub(crate) fn nvme_log_page(
    device: impl AsFd,
    (page, namespace): (u8, u32),
    bytes: usize,
) -> Result<[u8; LOG_BYTES], Errno> {
    let bytes = bytes.clamp(4, LOG_BYTES) as u32 / 4 * 4;
    // The number of four-byte words minus one, above the page number.
    let asked = ((bytes / 4 - 1) << 16) | u32::from(page);
    let command = NvmeCommand { opcode: GET_LOG_PAGE, namespace, ..NvmeCommand::default() };
    let (log, _) = nvme_read(
        device,
        NvmeCommand { words_10_to_15: [asked, 0, 0, 0, 0, 0], ..command },
        bytes,
    )?;
    Ok(log)
}

/// The current value of a feature of an NVMe device (its first word), which may return `bytes` of data.
pub(crate) fn nvme_feature(device: impl AsFd, feature: u8, bytes: usize) -> Result<u32, Errno> {
    let command = NvmeCommand { opcode: GET_FEATURES, ..NvmeCommand::default() };
    let words_10_to_15 = [u32::from(feature), 0, 0, 0, 0, 0];
    let (_, result) = nvme_read(device, NvmeCommand { words_10_to_15, ..command }, bytes as u32)?;
    Ok(result)
}

/// Runs a command that reads this number of bytes, at most [`LOG_BYTES`].
fn nvme_read(
    device: impl AsFd,
    mut command: NvmeCommand,
    bytes: u32,
) -> Result<([u8; LOG_BYTES], u32), Errno> {
    let mut data = [0; LOG_BYTES];
    command.data = data.as_mut_ptr() as u64;
    command.data_bytes = bytes.min(LOG_BYTES as u32);
    command.timeout_ms = ADMIN_TIMEOUT_MS;
    // SAFETY: the command is live and of the size that the opcode encodes. Before it returns, the kernel
    // writes its last field, and at most `data_bytes` bytes to the live array that `data` points to. Every
    // bit pattern is valid in both. A descriptor of another kind fails with ENOTTY.
    unsafe { ioctl(device, Updater::<NVME_IOCTL_ADMIN_CMD, _>::new(&mut command)) }?;
    Ok((data, command.result))
}

/// Maximum bytes of a device-mapper table to read, including the header.
const DM_BYTES: usize = 64 << 10;
/// `DM_TABLE_STATUS` of include/uapi/linux/dm-ioctl.h, for a `struct dm_ioctl` of 312 bytes.
const DM_TABLE_STATUS: Opcode = 0xC138_FD0C;
const DM_HEADER_BYTES: u32 = 312;
/// The interface version that every kernel since 2.6 accepts.
const DM_VERSION: [u32; 3] = [4, 0, 0];
/// Returns the line of each target, not its status; the kernel wipes its copy, which may hold a key.
const DM_STATUS_TABLE: u32 = 1 << 4;
const DM_SECURE_DATA: u32 = 1 << 15;
/// Without this flag, a pool writes its metadata before it responds.
const DM_NOFLUSH: u32 = 1 << 11;
const DM_BUFFER_FULL: u32 = 1 << 8;

/// `struct dm_ioctl`, and space for the data that the kernel writes after it.
#[repr(C)]
struct DmTable {
    version: [u32; 3],
    data_bytes: u32,
    data_start: u32,
    targets: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    rest: [u8; 7],
    data: [u8; DM_BYTES - DM_HEADER_BYTES as usize],
}

const _: () = assert!(size_of::<DmTable>() == DM_BYTES);

/// Each target of a device-mapper volume: its kind and its line, from the table or the status, through the
/// descriptor of /dev/mapper/control.
pub(crate) fn dm_targets(
    control: impl AsFd,
    (major, minor): (u32, u32),
    table: bool,
) -> Result<Vec<(String, String)>, Errno> {
    let mut asked = Box::new(DmTable {
        version: DM_VERSION,
        data_bytes: DM_BYTES as u32,
        data_start: DM_HEADER_BYTES,
        targets: 0,
        open_count: 0,
        flags: DM_SECURE_DATA | DM_NOFLUSH | if table { DM_STATUS_TABLE } else { 0 },
        event: 0,
        padding: 0,
        // In the encoding of the kernel's `new_encode_dev`.
        device: u64::from((minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)),
        name: [0; 128],
        uuid: [0; 129],
        rest: [0; 7],
        data: [0; DM_BYTES - DM_HEADER_BYTES as usize],
    });
    // SAFETY: the structure is live, exclusive, and `data_bytes` long, which is all that the kernel reads
    // and writes; every bit pattern is valid in it. A descriptor of another kind fails with ENOTTY.
    unsafe { ioctl(control, Updater::<DM_TABLE_STATUS, _>::new(&mut *asked)) }?;
    if asked.flags & DM_BUFFER_FULL != 0 {
        return Err(Errno::NOBUFS);
    }
    let found = dm_lines(&asked.data, asked.targets);
    // The line of an encrypted volume contains its key.
    asked.data.fill(0);
    Ok(found)
}

/// The targets after a header. Each has a `struct dm_target_spec` of 40 bytes: begin, length, status,
/// offset of the next target from the start of the data, and 16 bytes for the kind. Its line follows,
/// terminated by a zero.
fn dm_lines(data: &[u8], targets: u32) -> Vec<(String, String)> {
    const SPEC_BYTES: usize = 40;
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let (mut found, mut at) = (Vec::new(), 0_usize);
    for _ in 0..targets {
        let Some(spec) = data.get(at..at + SPEC_BYTES) else { break };
        let next: [u8; 4] = spec[20..24].try_into().unwrap_or_default();
        found.push((text(&spec[24..40]), text(&data[at + SPEC_BYTES..])));
        at = u32::from_ne_bytes(next) as usize;
    }
    found
}

/// User and system time of the whole process in microseconds.
pub(crate) fn process_times_us() -> Option<(u64, u64)> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a writable `rusage`, which the kernel fills.
    checked(unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) }).ok()?;
    // SAFETY: zero bytes are a valid `rusage` (integers only), and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let microseconds = |time: libc::timeval| {
        (u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000)
            .saturating_add(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    Some((microseconds(usage.ru_utime), microseconds(usage.ru_stime)))
}

/// `struct perf_event_attr` in its first version, which every kernel accepts.
#[repr(C)]
#[derive(Default)]
pub struct PerfEventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

impl PerfEventAttributes {
    /// An event of a kind, counted with the kernel's defaults.
    pub fn of(kind: u32, config: u64) -> Self {
        Self { kind, size: size_of::<Self>() as u32, config, ..Self::default() }
    }

    /// An event that writes a sample with these fields for each occurrence to the ring of its descriptor.
    #[must_use]
    pub fn each(kind: u32, config: u64, sample_type: u64) -> Self {
        Self { sample_period: 1, sample_type, ..Self::of(kind, config) }
    }
}

// `PERF_ATTR_SIZE_VER0`.
const _: () = assert!(size_of::<PerfEventAttributes>() == 64);

/// `PERF_FLAG_FD_CLOEXEC`.
const PERF_CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Opens an event of a process (0: this thread, -1: all) on a processor (-1: any), in no group.
pub fn perf_event_open(
    attributes: &PerfEventAttributes,
    process: libc::pid_t,
    processor: i32,
) -> Result<OwnedFd, Errno> {
    let no_group = -1_i32;
    // SAFETY: the kernel reads `size` bytes from the live structure. It writes at most its size field, and
    // only if the call fails with E2BIG, which a first-version structure cannot cause. The descriptor is
    // new, and no other code has it.
    unsafe {
        own_descriptor(libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            process,
            processor,
            no_group,
            PERF_CLOSE_ON_EXEC,
        ))
    }
}

/// Gives the calling thread the idle policy: it runs only when a processor is otherwise idle. Uses the
/// kernel's call directly, because the function of musl always fails (POSIX applies it to all threads of
/// the process).
pub(crate) fn set_idle_policy() -> Result<(), Errno> {
    // The kernel's `struct sched_param`.
    let priority: libc::c_int = 0;
    // SAFETY: the pointer is to a live structure, which the kernel only reads; 0 is the calling thread.
    let outcome = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const priority)
    };
    checked(outcome)?;
    Ok(())
}

/// CPU time used by a thread of this process, in ns.
pub(crate) fn thread_cpu_ns(thread: &Pid) -> Option<u64> {
    // include/linux/posix-timers.h: the complement of the number, then the bits for thread and scheduler.
    let clock: libc::clockid_t = (!thread.as_raw_nonzero().get() << 3) | 4 | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live `timespec`, which the kernel only writes.
    let outcome = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (outcome == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Wraps the result of a call as a new descriptor.
///
/// # Safety
/// The call must have created the descriptor, and no other code may own it.
pub unsafe fn own_descriptor(outcome: libc::c_long) -> Result<OwnedFd, Errno> {
    let descriptor = RawFd::try_from(checked(outcome)?).map_err(|_| Errno::OVERFLOW)?;
    // SAFETY: the caller guarantees it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The result of the call that was just made, or its `errno` if that is negative.
pub fn checked(outcome: impl Into<libc::c_long>) -> Result<libc::c_long, Errno> {
    let outcome = outcome.into();
    let error = || Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
    if outcome < 0 { Err(error()) } else { Ok(outcome) }
}
