//! A disk whose latencies a test chooses: a loop device over a file that this process serves by FUSE.
//!
//! A loop device over memory is as fast as the processors, so slowing it down works only if other programs
//! leave the processors alone. This disk sleeps for each request instead. It serves several requests at
//! once, and the times of reads, writes, flushes and discards can change while it is in use. The data are
//! in an unlinked sparse file in memory. Rejected: a throttled control group (a limit, no latency); a
//! kernel module (few machines have one).

use crate::device::LoopDevice;
use crate::undo::{Folder, Undo, run};
use std::fs::File;
use std::io::{Error, Read, Result, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Largest write in one request, and the buffer for it with its header.
const LARGEST: usize = 1 << 20;
const ROOM: usize = LARGEST + 4096;
const HEAD: usize = 40;
/// Maximum requests that the kernel keeps in flight; more than any load here.
const IN_FLIGHT: u16 = 512;
const BLOCK: u64 = 4096;
/// A cap lets the unused requests of this time through later.
const BUCKET: Duration = Duration::from_millis(100);
/// How long attributes are valid, in seconds: nothing changes them.
const VALID_S: u64 = 3600;

/// Service times by kind of request. Each request takes 0.5 to 1.5 times its value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Service {
    /// For a read.
    pub read: Duration,
    /// For a write.
    pub write: Duration,
    /// For a flush of its cache, during which a loop device starts nothing else.
    pub flush: Duration,
    /// For a discard, during which a loop device starts nothing else.
    pub discard: Duration,
    /// Maximum reads and writes per second.
    pub cap: Option<f64>,
}

#[derive(Debug)]
struct Shared {
    service: Service,
    /// When the next request may begin, under a cap.
    next: Instant,
    dice: u64,
}

/// A disk served by this process.
#[derive(Debug)]
pub struct ServedDisk {
    shared: Arc<Mutex<Shared>>,
    // Dropped in this order: first the device, then the mount, whose end stops the servers.
    device: Option<LoopDevice>,
    _mount: Undo,
    file: PathBuf,
    _folder: Folder,
}

impl ServedDisk {
    /// Creates a disk of `bytes` that serves up to `servers` requests at the same time.
    ///
    /// # Errors
    /// If the kernel has no FUSE, or the device cannot be created.
    pub fn new(bytes: u64, servers: usize) -> Result<Self> {
        let mut disk = Self::file(bytes, servers)?;
        disk.device = Some(LoopDevice::over(&disk.file, &["--direct-io=on"])?);
        Ok(disk)
    }

    /// As [`ServedDisk::new`], without a loop device over it.
    ///
    /// # Errors
    /// If the kernel has no FUSE.
    pub fn file(bytes: u64, servers: usize) -> Result<Self> {
        let folder = Folder::within(&std::env::temp_dir(), "halfpower-served-")?;
        let file = folder.path().join("disk");
        File::create(&file)?;
        let data = tempfile::tempfile_in("/dev/shm")?;
        data.set_len(bytes)?;
        let wire = File::options().read(true).write(true).open("/dev/fuse")?;
        // The mount program gets the FUSE connection as its standard input.
        let options =
            "fd=0,rootmode=100644,user_id=0,group_id=0,default_permissions,max_read=1048576";
        let mut mount = Command::new("mount");
        mount.args(["-i", "-t", "fuse", "-o", options, "halfpower-test"]).arg(&file);
        run(mount.stdin(Stdio::from(wire.try_clone()?)))?;
        let path = file.to_string_lossy();
        let undo = Undo::by(format!("mount {path}"), &["umount", "--lazy", &path]);
        let shared = Shared { service: Service::default(), next: Instant::now(), dice: 1 };
        let shared = Arc::new(Mutex::new(shared));
        let server =
            Server { wire: Arc::new(wire), data: Arc::new(data), bytes, shared: shared.clone() };
        for _ in 0..servers {
            let server = server.clone();
            std::thread::spawn(move || server.serve());
        }
        Ok(Self { shared, device: None, _mount: undo, file, _folder: folder })
    }

    /// The device, or the file if there is no device.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.device.as_ref().map_or(&self.file, LoopDevice::path)
    }

    /// Changes the service times from now on; returns the previous ones.
    pub fn serves(&self, change: impl FnOnce(&mut Service)) -> Service {
        let mut shared = locked(&self.shared);
        let before = shared.service;
        change(&mut shared.service);
        before
    }
}

impl Drop for ServedDisk {
    fn drop(&mut self) {
        // Requests in a long service would delay the removal of the device.
        self.serves(|service| *service = Service::default());
    }
}

fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone)]
struct Server {
    wire: Arc<File>,
    data: Arc<File>,
    bytes: u64,
    shared: Arc<Mutex<Shared>>,
}

/// A request of the kernel, without its header.
struct Request<'a> {
    call: u32,
    body: &'a [u8],
}

impl Request<'_> {
    fn word(&self, at: usize) -> u32 {
        self.body
            .get(at..at + 4)
            .map_or(0, |it| u32::from_ne_bytes(it.try_into().unwrap_or_default()))
    }

    fn long(&self, at: usize) -> u64 {
        self.body
            .get(at..at + 8)
            .map_or(0, |it| u64::from_ne_bytes(it.try_into().unwrap_or_default()))
    }
}

/// The FUSE calls that occur here (include/uapi/linux/fuse.h).
mod call {
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const SETATTR: u32 = 4;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const WRITE: u32 = 16;
    pub(super) const STATFS: u32 = 17;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FSYNC: u32 = 20;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const DESTROY: u32 = 38;
    pub(super) const FALLOCATE: u32 = 43;
}

impl Server {
    /// Serves until the file is unmounted.
    fn serve(&self) {
        let mut room = vec![0; ROOM];
        loop {
            let length = match (&*self.wire).read(&mut room) {
                Ok(length) if length >= HEAD => length,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                _ => return,
            };
            let begin = Instant::now();
            let word = |at: usize| {
                u32::from_ne_bytes([room[at], room[at + 1], room[at + 2], room[at + 3]])
            };
            let request = Request { call: word(4), body: &room[HEAD..length] };
            let unique = &room[8..16];
            if matches!(request.call, call::FORGET | call::INTERRUPT) {
                continue;
            }
            let (error, answer) = match self.answer(&request) {
                Ok(answer) => (0, answer),
                Err(error) => (-error.raw_os_error().unwrap_or(libc::EIO), Vec::new()),
            };
            self.wait(&request, begin);
            let mut out = Vec::with_capacity(16 + answer.len());
            out.extend((16 + answer.len() as u32).to_ne_bytes());
            out.extend(error.to_ne_bytes());
            out.extend(unique);
            out.extend(answer);
            // An interrupted request expects no answer.
            let _ = (&*self.wire).write(&out);
        }
    }

    fn answer(&self, request: &Request<'_>) -> Result<Vec<u8>> {
        match request.call {
            call::INIT => Ok(init()),
            call::GETATTR | call::SETATTR => Ok(self.attributes()),
            // A handle, and the flags for direct I/O and parallel writes.
            call::OPEN => Ok([0_u64.to_ne_bytes(), (1_u64 | 1 << 6).to_ne_bytes()].concat()),
            call::READ => {
                let (at, length) = (request.long(8), request.word(16) as usize);
                let mut data = vec![0; length];
                let got = self.data.read_at(&mut data, at)?;
                data.truncate(got);
                Ok(data)
            }
            call::WRITE => {
                let (at, length) = (request.long(8), request.word(16));
                let data = request.body.get(40..40 + length as usize);
                self.data.write_all_at(data.ok_or_else(|| Error::other("short"))?, at)?;
                Ok([length.to_ne_bytes(), 0_u32.to_ne_bytes()].concat())
            }
            // Without a block size of the file system, a loop device does not discard.
            call::STATFS => {
                let blocks = self.bytes / BLOCK;
                let longs = [blocks, blocks, blocks, 1, 1].map(u64::to_ne_bytes).concat();
                let words = [BLOCK as u32, 255, BLOCK as u32, 0, 0, 0, 0, 0, 0, 0];
                Ok([longs, words.map(u32::to_ne_bytes).concat()].concat())
            }
            call::FSYNC | call::FLUSH | call::RELEASE | call::DESTROY | call::FALLOCATE => {
                Ok(Vec::new())
            }
            _ => Err(Error::from_raw_os_error(libc::ENOSYS)),
        }
    }

    fn attributes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(VALID_S.to_ne_bytes());
        out.extend(0_u64.to_ne_bytes());
        for long in [1, self.bytes, self.bytes / 512, 0, 0, 0] {
            out.extend(long.to_ne_bytes());
        }
        for word in [0, 0, 0, libc::S_IFREG | 0o644, 1, 0, 0, 0, BLOCK as u32, 0_u32] {
            out.extend(word.to_ne_bytes());
        }
        out
    }

    /// Sleeps for the service time of a request.
    fn wait(&self, request: &Request<'_>, begin: Instant) {
        let begin = {
            let mut shared = locked(&self.shared);
            let Service { read, write, flush, discard, cap } = shared.service;
            let (takes, capped) = match request.call {
                call::READ => (read, true),
                call::WRITE => (write, true),
                call::FSYNC => (flush, false),
                call::FALLOCATE => (discard, false),
                _ => return,
            };
            // A linear congruential generator (Knuth's MMIX) is random enough for jitter.
            shared.dice =
                shared.dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let share = 0.5 + (shared.dice >> 40) as f64 / (1 << 24) as f64;
            let mut starts = begin;
            if let Some(cap) = cap.filter(|_| capped) {
                // A token bucket that holds the requests of a short time, in case this process did not run.
                let slot = begin.checked_sub(BUCKET).map_or(shared.next, |at| at.max(shared.next));
                starts = begin.max(slot);
                shared.next = slot + Duration::from_secs_f64(1.0 / cap);
            }
            starts + takes.mul_f64(share)
        };
        std::thread::sleep(begin.saturating_duration_since(Instant::now()));
    }
}

fn init() -> Vec<u8> {
    /// Reads in the background, large writes, direct I/O in the background, many pages in a request.
    const FLAGS: u32 = 1 | 1 << 5 | 1 << 15 | 1 << 22;
    let mut out = Vec::new();
    for word in [7, 31, LARGEST as u32, FLAGS] {
        out.extend(word.to_ne_bytes());
    }
    out.extend(IN_FLIGHT.to_ne_bytes());
    out.extend(IN_FLIGHT.to_ne_bytes());
    for word in [LARGEST as u32, 1, (LARGEST / 4096) as u32] {
        out.extend(word.to_ne_bytes());
    }
    out.resize(64, 0);
    out
}
