//! Times lone reads of a device during an observation: single reads, each after a pause. They
//! replace a profile if there is none.
//!
//! One thread reads random 4 KiB blocks with direct I/O, one after another. After each read it
//! pauses a hundred times as long as the read took, so the reads use at most 1 % of the device's
//! time. They queue like other requests. If the device has idle time, some of the reads find it
//! idle, and the fastest tenth gives the latency at queue depth 1. A device that the user did not
//! name is read only after it has served another program, so no sleeping disk is woken up.

use host::kernel::Roots;
use host::target::{self, Access};
use record::{Bytes, CacheMode, LoneReads};
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Size of a read, which is also the strictest alignment that devices require.
const BLOCK: usize = 4096;
const LENGTH: Duration = Duration::from_secs(5);
/// Pause as a multiple of the previous read's time, and the shortest pause.
const REST: u32 = 100;
const REST_MIN: Duration = Duration::from_millis(50);
/// Fewest reads for a result.
const READS_MIN: usize = 5;

/// A background thread that reads a device.
pub(crate) struct Probe {
    pub(crate) device: String,
    times_ns: Arc<Mutex<Vec<u64>>>,
    over: Arc<AtomicBool>,
}

impl Probe {
    /// Starts reading a device of this machine; `None` if it cannot be opened.
    pub(crate) fn start(device: &str) -> Option<Self> {
        let path = Path::new("/dev").join(device);
        let block = Bytes(BLOCK as u64);
        let access = Access::ReadOnly;
        let handle = target::open_target(&Roots::default(), &path, &access, None, block).ok()?;
        let file = File::from(target::reopen(&handle, CacheMode::Device, false).ok()?);
        let blocks = handle.facts.size_bytes.0 / block.0;
        let probe =
            Self { device: device.to_owned(), times_ns: Arc::default(), over: Arc::default() };
        let (times_ns, over) = (Arc::clone(&probe.times_ns), Arc::clone(&probe.over));
        // The thread is never joined: a read of a device that no longer answers does not return.
        let read = move || read_on(file, blocks, &times_ns, &over);
        thread::Builder::new().name("lone-reads".to_owned()).spawn(read).ok()?;
        Some(probe)
    }

    /// Stops it and returns the result, if there are enough reads.
    pub(crate) fn finish(self) -> Option<LoneReads> {
        self.over.store(true, Ordering::Relaxed);
        let mut times = self.times_ns.lock().unwrap_or_else(PoisonError::into_inner).clone();
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 100];
        (times.len() >= READS_MIN).then(|| LoneReads {
            reads: u32::try_from(times.len()).unwrap_or(u32::MAX),
            quick_ns: at(10),
            median_ns: at(50),
            slowest_ns: at(100),
        })
    }
}

fn read_on(mut file: File, blocks: u64, times_ns: &Mutex<Vec<u64>>, over: &AtomicBool) {
    let mut memory = vec![0; 2 * BLOCK];
    let start = memory.as_ptr().align_offset(BLOCK);
    let Some(buffer) = memory.get_mut(start..start + BLOCK).filter(|_| blocks > 0) else { return };
    let (random, begin) = (RandomState::new(), Instant::now());
    let mut number = 0_u64;
    while begin.elapsed() < LENGTH && !over.load(Ordering::Relaxed) {
        number += 1;
        let place = random.hash_one(number) % blocks * BLOCK as u64;
        if file.seek(SeekFrom::Start(place)).is_err() {
            return;
        }
        let asked = Instant::now();
        if !file.read(buffer).is_ok_and(|bytes| bytes == BLOCK) {
            return;
        }
        let took = asked.elapsed();
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        times_ns.lock().unwrap_or_else(PoisonError::into_inner).push(ns);
        thread::sleep(took.saturating_mul(REST).max(REST_MIN));
    }
}
