//! Counts requests, bytes and flushes on a disk by process, and fsyncs.
//!
//! This costs far less than the tracer: a single program at the start of requests finds the process and
//! adds to its counts. So it runs wherever it is permitted, while the tracer runs only on request. An fsync
//! is counted where the file system handles it, not at the system call. That event names the device, which
//! a descriptor does not. It covers fsync, fdatasync, msync and `O_SYNC` writes alike, as well as those of
//! io_uring, which come from a thread of the same process. The flush that follows often comes from the
//! journal, for several fsyncs at once, and cannot be assigned to a user's process.
//!
//! Not counted: fsyncs on file systems without such an event (btrfs: the process's own flushes are
//! counted), sync and syncfs. It is also unknown for which process the kernel's threads write back.
//!
//! Rejected: the events of the system calls (they give a descriptor, and io_uring has none); /proc/PID/io
//! (all devices together, no fsyncs, a file per process).

use super::assembler::{
    Arithmetic, Assembler, KernelFunction, Label, ProgramError, Register, When, Width,
};
use super::error::TracerError;
use super::events::{Attached, Events};
use super::format::Format;
use super::programs::{Devices, address, look_up, update};
use super::syscalls::{Map, MapKind};
use super::tracer::{DeviceNumber, slot_numbers};
use crate::kernel::process::{ProcessFacts, outstanding, process_facts};
use crate::kernel::read::device_numbers;
use crate::kernel::{self, Roots};
use Register::{R0, R1, R2, R3, R6, R7, R8, R10};
use record::ProcessIo;
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Maximum number of separate processes.
const PROCESSES: usize = 8_192;
/// Processes with their own row per reading of a device; the rest are combined by program and group.
const NAMED: usize = 32;
/// Maximum number of processes whose waiting requests are checked, and the minimum share of a process's
/// requests on one disk for it to count as using only that disk.
const LOOKED_AT: usize = 256;
const ONE_DISK: f64 = 0.95;
/// Pause between reading the counters and sampling the programs, which the reading delayed.
const CATCH_UP: Duration = Duration::from_millis(2);
/// The letter before the operation of a request that first flushes the device's cache.
const FLUSH_FIRST: i32 = b'F' as i32;
/// Bytes of a sector in events.
const SECTOR_BYTES: u64 = 512;

/// Words of an entry: reads, writes, their sectors, flushes; or fsyncs alone. The name follows.
const COUNTS: usize = 5;
const NAME_BYTES: usize = 16;
const ENTRY_BYTES: usize = COUNTS * 8 + NAME_BYTES;
const SECTORS: i16 = 16;
const FLUSHES: i16 = 32;
/// Key: (slot of the disk or number of the file system's device, process).
const KEY_BYTES: usize = 16;

// Offsets in the stack frame, below its end.
const PROCESS: i16 = -8;
const KEY: i16 = -16;
const SLOT: i16 = -24;
const ENTRY: i16 = SLOT - ENTRY_BYTES as i16;

/// File system events of an fsync that name the device.
const FSYNCS: [(&str, &str); 3] =
    [("ext4", "ext4_sync_file_enter"), ("xfs", "xfs_file_fsync"), ("f2fs", "f2fs_sync_file_enter")];

/// Counts per entry since the last reading, by key.
type Counts = BTreeMap<(u64, u32), ([u64; COUNTS], String)>;

/// Counts the I/O on some disks by process.
#[derive(Debug)]
pub struct Issuers {
    disks: Vec<DeviceNumber>,
    requests: CountMap,
    fsyncs: CountMap,
    _devices: Devices,
    _attached: Vec<Attached>,
    roots: Roots,
    /// Indexes of the disks below a file system's device.
    below: HashMap<u64, Vec<usize>>,
    /// The last facts about each process, which may have ended since.
    told: HashMap<u32, ProcessFacts>,
}

impl Issuers {
    /// Starts counting for disks, given by their numbers.
    ///
    /// # Errors
    /// If privileges, kernel support or a device's requests are missing.
    pub fn open(roots: &Roots, disks: &[DeviceNumber]) -> Result<Self, TracerError> {
        if disks.is_empty() {
            return Err(TracerError::NoDevices);
        }
        let numbers = slot_numbers(roots, disks)?;
        let events = Events::find(roots)?;
        let failed = |cause| TracerError::of("making a BPF map", cause);
        let devices = Devices::new(numbers).map_err(failed)?;
        let requests = CountMap::new().map_err(failed)?;
        let fsyncs = CountMap::new().map_err(failed)?;
        let starts = |event: &'static str| {
            events.attach("block", event, |format| request_program(&devices, &requests.map, format))
        };
        // Before Linux 6.5 a request is counted when it is allocated.
        let started = starts("block_io_start").or_else(|_| starts("block_getrq"))?;
        let of_files = FSYNCS.into_iter().filter_map(|(group, event)| {
            // A file system that this kernel does not have has no event.
            events.attach(group, event, |format| fsync_program(&fsyncs.map, format)).ok()
        });
        let attached = of_files.chain([started]).collect();
        Ok(Self {
            disks: disks.to_vec(),
            requests,
            fsyncs,
            _devices: devices,
            _attached: attached,
            roots: roots.clone(),
            below: HashMap::new(),
            told: HashMap::new(),
        })
    }

    /// The I/O by process since the last call, or since the start, for each disk in the given order; the
    /// busiest process first.
    ///
    /// # Errors
    /// If the kernel does not return the counts.
    pub fn read(&mut self) -> Result<Vec<(DeviceNumber, Vec<ProcessIo>)>, TracerError> {
        let failed = |cause| TracerError::of("reading a BPF map", cause);
        let requests = self.requests.read().map_err(failed)?;
        let fsyncs = self.fsyncs.read().map_err(failed)?;
        let mut rows: BTreeMap<(usize, u32), ProcessIo> = BTreeMap::new();
        let row = |process, name| ProcessIo {
            process: Some(process),
            processes: 1,
            name,
            ..ProcessIo::default()
        };
        for ((slot, process), (counts, name)) in requests {
            let [reads, writes, read_sectors, write_sectors, flushes] = counts;
            let own = ProcessIo {
                reads,
                writes,
                read_bytes: read_sectors * SECTOR_BYTES,
                write_bytes: write_sectors * SECTOR_BYTES,
                flushes,
                ..row(process, name)
            };
            rows.insert((slot as usize, process), own);
        }
        for ((device, process), ([count, ..], name)) in fsyncs {
            for slot in self.disks_below(device) {
                let entry = rows.entry((slot, process));
                entry.or_insert_with(|| row(process, name.clone())).fsyncs += count;
            }
        }
        self.tell(rows.values_mut());
        self.look_at_waits(&mut rows);
        let mut found: Vec<(DeviceNumber, Vec<ProcessIo>)> =
            self.disks.iter().map(|disk| (*disk, Vec::new())).collect();
        for ((slot, _), row) in rows {
            if let Some((_, list)) = found.get_mut(slot) {
                list.push(row);
            }
        }
        found.iter_mut().for_each(|(_, list)| shorten(list));
        Ok(found)
    }

    /// Sets the waiting requests of processes that use only one disk, if there are few such processes.
    fn look_at_waits(&self, rows: &mut BTreeMap<(usize, u32), ProcessIo>) {
        if rows.len() > LOOKED_AT {
            return;
        }
        let mut total: HashMap<u32, u64> = HashMap::new();
        for ((_, process), row) in rows.iter() {
            *total.entry(*process).or_default() += row.reads + row.writes;
        }
        let uses_one_disk = |process: u32, row: &ProcessIo| {
            let (own, all) = (row.reads + row.writes, total.get(&process).copied().unwrap_or(0));
            !row.kernel_thread && own > 0 && own as f64 >= ONE_DISK * all as f64
        };
        let rows = rows.iter_mut().map(|((_, process), row)| (*process, row));
        let asked: Vec<_> = rows.filter(|(process, row)| uses_one_disk(*process, row)).collect();
        if !asked.is_empty() {
            std::thread::sleep(CATCH_UP);
        }
        for (process, row) in asked {
            row.outstanding = outstanding(&self.roots, process);
        }
    }

    /// Indexes of the disks that a file system's device is, or is built of.
    fn disks_below(&mut self, device: u64) -> Vec<usize> {
        let find = || {
            let number = ((device >> 20) as u32, (device & 0xF_FFFF) as u32);
            let facts = kernel::device::device_of(&self.roots, number)?;
            let class = self.roots.sys.join("class/block");
            let numbers = facts
                .leaves
                .iter()
                .chain([&facts.disk])
                .filter_map(|name| device_numbers(&class.join(name.replace('/', "!"))));
            let mut slots: Vec<usize> =
                numbers.filter_map(|leaf| self.disks.iter().position(|&one| one == leaf)).collect();
            slots.sort_unstable();
            slots.dedup();
            Some(slots)
        };
        if let Some(known) = self.below.get(&device) {
            return known.clone();
        }
        let found = find().unwrap_or_default();
        self.below.insert(device, found.clone());
        found
    }

    /// Adds the kernel's facts about the processes to their counts.
    fn tell<'a>(&mut self, rows: impl Iterator<Item = &'a mut ProcessIo>) {
        let mut told = HashMap::new();
        for row in rows {
            let Some(process) = row.process else { continue };
            let facts = told.entry(process).or_insert_with(|| {
                process_facts(&self.roots, process).or_else(|| self.told.remove(&process))
            });
            if let Some(facts) = facts {
                row.name.clone_from(&facts.name);
                row.group.clone_from(&facts.group);
                row.kernel_thread = facts.kernel_thread;
            }
        }
        self.told =
            told.into_iter().filter_map(|(process, facts)| Some((process, facts?))).collect();
    }
}

/// Keeps the busiest rows first; combines the rest by program and group.
fn shorten(list: &mut Vec<ProcessIo>) {
    list.sort_by_cached_key(|row| (Reverse(row.reads + row.writes + row.fsyncs), row.process));
    let mut rest: BTreeMap<(String, Option<String>, bool), ProcessIo> = BTreeMap::new();
    for row in list.drain(list.len().min(NAMED)..) {
        let key = (row.name.clone(), row.group.clone(), row.kernel_thread);
        let Some(sum) = rest.get_mut(&key) else {
            rest.insert(key, ProcessIo { process: None, ..row });
            continue;
        };
        sum.processes += row.processes;
        sum.reads += row.reads;
        sum.writes += row.writes;
        sum.read_bytes += row.read_bytes;
        sum.write_bytes += row.write_bytes;
        sum.flushes += row.flushes;
        sum.fsyncs += row.fsyncs;
        sum.outstanding = sum.outstanding.zip(row.outstanding).map(|(sum, own)| sum + own);
    }
    list.extend(rest.into_values());
}

/// Counts by key in the kernel, and their values at the last reading.
#[derive(Debug)]
struct CountMap {
    map: Map,
    last: HashMap<Vec<u8>, [u64; COUNTS]>,
}

impl CountMap {
    fn new() -> Result<Self, Errno> {
        let map = Map::new(MapKind::ForgettingHash, KEY_BYTES, ENTRY_BYTES, PROCESSES)?;
        Ok(Self { map, last: HashMap::new() })
    }

    fn read(&mut self) -> Result<Counts, Errno> {
        let (mut found, mut last) = (Counts::new(), HashMap::new());
        let (mut key, mut words) = (self.map.next_key(None)?, Vec::new());
        // New processes may appear during this loop; if a key is gone, the kernel starts again.
        for _ in 0..2 * PROCESSES {
            let Some(this) = key else { break };
            if self.map.get(&this, &mut words).is_ok()
                && let Some((counts, name)) = words.split_first_chunk::<COUNTS>()
                && let ([first, process], _) = this.as_chunks()
            {
                let old = self.last.get(&this).copied().unwrap_or_default();
                // A key that was evicted and seen again starts at zero.
                let anew = counts.iter().zip(old).any(|(now, old)| *now < old);
                let old = if anew { [0; COUNTS] } else { old };
                let news = std::array::from_fn(|index| counts[index] - old[index]);
                let key = (u64::from_ne_bytes(*first), u64::from_ne_bytes(*process) as u32);
                if news != [0; COUNTS] {
                    found.insert(key, (news, program_name(name)));
                }
                last.insert(this.clone(), *counts);
            }
            key = self.map.next_key(Some(&this))?;
        }
        self.last = last;
        Ok(found)
    }
}

fn program_name(words: &[u64]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Program at the start of a request: adds it to the counts of its process.
fn request_program(
    devices: &Devices,
    map: &Map,
    format: &Format,
) -> Result<Vec<u64>, ProgramError> {
    let device = format.number("dev").ok_or(ProgramError::Field("dev"))?;
    let length = format.number("nr_sector").ok_or(ProgramError::Field("nr_sector"))?;
    let operation = format.array("rwbs", 2).ok_or(ProgramError::Field("rwbs"))?;
    let mut code = Assembler::default();
    let (out, no_data) = (code.label(), code.label());
    code.set(R6, R1);
    code.load_place(R1, R6, device);
    devices.find_slot(&mut code, SLOT, out);
    find_operation(&mut code, operation, out);
    find_entry(&mut code, map, R7, out);
    code.load_place(R2, R6, length);
    code.jump_if(R2, When::Equal, 0, no_data);
    code.compute(Arithmetic::ShiftLeft, R8, 3);
    code.set(R1, R0);
    code.compute(Arithmetic::Add, R1, R8);
    code.set(R3, 1);
    code.add_shared(R1, 0, R3);
    code.add_shared(R1, SECTORS, R2);
    code.bind(no_data);
    code.load(Width::One, R1, R6, operation);
    code.jump_if(R1, When::NotEqual, FLUSH_FIRST, out);
    code.set(R3, 1);
    code.add_shared(R0, FLUSHES, R3);
    code.bind(out);
    code.exit();
    code.finish()
}

/// Sets `R8` to 0 for reads and 1 for writes, or jumps to `out`. The letter of the operation is the first,
/// or the second after that of a preceding flush. Uses `R1`.
fn find_operation(code: &mut Assembler, at: i16, out: Label) {
    let (plain, read, known) = (code.label(), code.label(), code.label());
    code.load(Width::One, R1, R6, at);
    code.jump_if(R1, When::NotEqual, FLUSH_FIRST, plain);
    code.load(Width::One, R1, R6, at + 1);
    code.bind(plain);
    code.jump_if(R1, When::Equal, i32::from(b'R'), read);
    code.set(R8, 1);
    code.jump_if(R1, When::Equal, i32::from(b'W'), known);
    code.jump(out);
    code.bind(read);
    code.set(R8, 0);
    code.bind(known);
}

/// Program where a file system handles an fsync: adds it to the counts of the process on that device.
fn fsync_program(map: &Map, format: &Format) -> Result<Vec<u64>, ProgramError> {
    let device = format.number("dev").ok_or(ProgramError::Field("dev"))?;
    let mut code = Assembler::default();
    let out = code.label();
    code.load_place(R7, R1, device);
    find_entry(&mut code, map, R7, out);
    code.set(R3, 1);
    code.add_shared(R0, 0, R3);
    code.bind(out);
    code.exit();
    code.finish()
}

/// Sets `R0` to the entry of the current process and `first`; creates it if missing. Uses `R1` to `R4`.
fn find_entry(code: &mut Assembler, map: &Map, first: Register, out: Label) {
    let (unknown, found) = (code.label(), code.label());
    code.call(KernelFunction::ProcessAndThread);
    code.compute(Arithmetic::ShiftRight, R0, 32);
    code.store(Width::Eight, R10, KEY, first);
    code.store(Width::Eight, R10, PROCESS, R0);
    look_up(code, map, KEY, unknown);
    code.jump(found);
    code.bind(unknown);
    for word in 0..COUNTS as i16 {
        code.store(Width::Eight, R10, ENTRY + word * 8, 0);
    }
    address(code, R1, ENTRY + COUNTS as i16 * 8);
    code.set(R2, NAME_BYTES as i32);
    code.call(KernelFunction::ProcessName);
    code.jump_if(R0, When::NotEqual, 0, out);
    update(code, map, KEY, ENTRY);
    look_up(code, map, KEY, out);
    code.bind(found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_behind_the_busiest_are_together_by_program_and_group() {
        let row = |process: u32, group: &str| ProcessIo {
            process: Some(process),
            processes: 1,
            name: "postgres".to_owned(),
            group: Some(group.to_owned()),
            reads: 2,
            fsyncs: 1,
            ..ProcessIo::default()
        };
        let mut list: Vec<ProcessIo> = (0..NAMED as u32 + 5).map(|id| row(id, "/db")).collect();
        list.push(row(900, "/other"));
        list.push(ProcessIo { reads: 500, ..row(901, "/busy") });
        shorten(&mut list);
        assert_eq!(list.len(), NAMED + 2);
        assert_eq!(list[0].process, Some(901));
        let rest = |group: &str| {
            let named =
                |row: &&ProcessIo| row.process.is_none() && row.group.as_deref() == Some(group);
            let row = list.iter().find(named).unwrap();
            (row.processes, row.reads, row.fsyncs)
        };
        assert_eq!(rest("/db"), (6, 12, 6));
        assert_eq!(rest("/other"), (1, 2, 1));
    }
}
