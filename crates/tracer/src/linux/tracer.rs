//! Opening, attaching and reading the tracer.

use super::events::{Attached, Events};
use super::programs::{Devices, Event, Maps, Plan};
use super::syscalls::{Map, MapKind};
use super::{layout, programs};
use kernel::Roots;
use kernel::device::partitions;
use kernel::read::{cpu_list, device_numbers, link_name, text};
use record::Traced;
use rustix::io::Errno;

/// Requests and bios in progress that can be followed at once.
const IN_PROGRESS: usize = 65_536;
/// Memory for counts, all processors together.
const COUNT_BYTES: usize = 256 << 20;

/// Major and minor number of a device.
pub(super) type DeviceNumber = (u32, u32);

/// Why there is no tracer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracerError {
    /// Programs, events or tracefs are for the privileged.
    #[error("{0} needs root, or CAP_BPF and CAP_PERFMON with a readable tracefs")]
    NotPermitted(&'static str),
    /// The kernel was built without.
    #[error("this kernel has no {0}")]
    NoSupport(&'static str),
    /// A needed event is missing, or none that can be used.
    #[error("the kernel's event {event} cannot be used: {why}")]
    Event {
        /// Its name.
        event: &'static str,
        /// Why not.
        why: String,
    },
    /// The kernel does not take a program.
    #[error("the kernel rejects the program for {event} ({cause}): {why}")]
    Rejected {
        /// The event.
        event: &'static str,
        /// What it said.
        cause: Errno,
        /// The end of the verifier's words.
        why: String,
    },
    /// A device has no requests of its own.
    #[error("{0} takes no requests of its own: trace what it is built of")]
    NoRequests(String),
    /// Nothing to trace.
    #[error("there is no device to trace")]
    NoDevices,
    /// More devices than there is memory for.
    #[error("{count} devices are too many: {most} can be traced here; name those that matter")]
    TooMany {
        /// Asked for.
        count: usize,
        /// Possible.
        most: usize,
    },
    /// A call failed.
    #[error("{what} failed: {cause}")]
    Failed {
        /// The call.
        what: &'static str,
        /// The error.
        cause: Errno,
    },
}

impl TracerError {
    pub(super) fn of(what: &'static str, cause: Errno) -> Self {
        match cause {
            Errno::PERM | Errno::ACCESS => Self::NotPermitted(what),
            Errno::NOSYS => Self::NoSupport(what),
            cause => Self::Failed { what, cause },
        }
    }
}

/// Follows the requests of some disks.
#[derive(Debug)]
pub struct Tracer {
    devices: Vec<Followed>,
    plan: Plan,
    /// The programs, which end with them.
    attached: Vec<Attached>,
    roots: Roots,
    /// What this kernel does not tell, and what is lost with it.
    pub lacks: Vec<String>,
}

/// One disk, and the counts at the last reading.
#[derive(Debug)]
struct Followed {
    number: DeviceNumber,
    counts: Vec<u64>,
    /// Requests that were in progress when the tracer began: their ends have no beginning.
    at_start: u64,
    /// Events that are known to be lost, and were said to be.
    lost: u64,
}

impl Followed {
    /// Requests more that were lost. The kernel leaves a program out where it interrupts another
    /// one, and what it counts of that is too little: so a request is lost that was issued and
    /// neither completed nor is still in progress, or whose completion knows no issue. Requests in
    /// progress at one moment differ from those at another, so this is late rather than too much.
    fn lost(&mut self, in_flight: u64) -> u64 {
        let sum = |word: usize| self.counts[word] + self.counts[layout::OP_WORDS + word];
        let completed: u64 = (layout::DEVICE..layout::DEVICE + layout::TIME_BUCKETS).map(sum).sum();
        let vanished = sum(layout::ISSUED).saturating_sub(completed + in_flight);
        let unmatched = sum(layout::UNMATCHED).saturating_sub(self.at_start);
        let all = self.lost.max(vanished).max(unmatched);
        all - std::mem::replace(&mut self.lost, all)
    }
}

impl Tracer {
    /// Follows the requests of disks, given by their numbers, from now on.
    ///
    /// # Errors
    /// If the privileges, the kernel's support or a device's requests are missing.
    pub fn open(roots: &Roots, devices: &[DeviceNumber]) -> Result<Self, TracerError> {
        if devices.is_empty() {
            return Err(TracerError::NoDevices);
        }
        let processors = possible_processors(roots);
        let most = COUNT_BYTES / (layout::WORDS * 8 * processors);
        if devices.len() > most.max(1) {
            return Err(TracerError::TooMany { count: devices.len(), most: most.max(1) });
        }
        let numbers = slot_numbers(roots, devices)?;
        let events = Events::find(roots)?;
        let failed = |cause| TracerError::of("making a BPF map", cause);
        let devices_of = Devices::new(numbers, processors).map_err(failed)?;
        let maps = make_maps(devices.len(), processors).map_err(failed)?;
        let plan = Plan { maps, devices: devices_of };
        fill(&plan, devices.len()).map_err(failed)?;
        let mut tracer = Self {
            devices: Vec::new(),
            plan,
            attached: Vec::new(),
            roots: roots.clone(),
            lacks: Vec::new(),
        };
        tracer.attach_all(&events)?;
        let followed = |&number| {
            let at_start = in_flight(roots, number);
            Followed { number, counts: vec![0; layout::WORDS], at_start, lost: 0 }
        };
        tracer.devices = devices.iter().map(followed).collect();
        Ok(tracer)
    }

    /// Attaches the programs, those of the end first: a beginning without an end would be kept.
    fn attach_all(&mut self, events: &Events) -> Result<(), TracerError> {
        self.attach(events, Event::Complete)?;
        self.attach(events, Event::Issue)?;
        let starts = self.attach(events, Event::IoStart).is_ok();
        let mut waits = self.attach(events, Event::BioQueue);
        if starts {
            let getrq = Event::Getrq { waits: true, starts: false };
            waits = waits.and_then(|()| self.attach(events, getrq));
        } else {
            self.attach(events, Event::Getrq { waits: waits.is_ok(), starts: true })?;
            let lack = "the kernel has no block_io_start: requests start when they are allocated";
            self.lacks.push(lack.to_owned());
        }
        if let Err(error) = waits {
            self.lacks.push(format!("waits before a request are not seen: {error}"));
        }
        // Old kernels merge requests without a word.
        for event in [Event::FrontMerge, Event::BackMerge, Event::RequestMerge] {
            if let Err(error) = self.attach(events, event) {
                self.lacks.push(format!("requests that were merged late may be missing: {error}"));
            }
        }
        Ok(())
    }

    fn attach(&mut self, events: &Events, event: Event) -> Result<(), TracerError> {
        let program = |format: &_| event.program(&self.plan, format);
        self.attached.push(events.attach("block", event.name(), program)?);
        Ok(())
    }

    /// What happened since the last call, or since the start, for each device in the order in
    /// which they were given.
    ///
    /// # Errors
    /// If the kernel does not give the counts.
    pub fn read(&mut self) -> Result<Vec<(DeviceNumber, Traced)>, TracerError> {
        let failed = |cause| TracerError::of("reading a BPF map", cause);
        let mut words = Vec::new();
        let mut answers = Vec::with_capacity(self.devices.len());
        for (slot, device) in self.devices.iter_mut().enumerate() {
            let in_flight = in_flight(&self.roots, device.number);
            self.plan.maps.counts.get(&(slot as u32).to_ne_bytes(), &mut words).map_err(failed)?;
            let mut sums = vec![0_u64; layout::WORDS];
            for copy in words.chunks_exact(layout::WORDS) {
                sums.iter_mut().zip(copy).for_each(|(sum, word)| *sum += word);
            }
            let news: Vec<u64> = sums
                .iter()
                .zip(&device.counts)
                .map(|(new, old)| new.saturating_sub(*old))
                .collect();
            device.counts = sums;
            let lost = device.lost(in_flight);
            let traced = Traced {
                read: layout::operation(&news[..layout::OP_WORDS]),
                write: layout::operation(&news[layout::OP_WORDS..layout::BEFORE]),
                before_start_ns: layout::times(&news[layout::BEFORE..]),
                lost,
            };
            answers.push((device.number, traced));
        }
        Ok(answers)
    }
}

/// The numbers under which events of these disks come, each with the place of its disk.
pub(super) fn slot_numbers(
    roots: &Roots,
    devices: &[DeviceNumber],
) -> Result<Vec<(u32, u32)>, TracerError> {
    let mut numbers = Vec::new();
    for (slot, &device) in (0..).zip(devices) {
        numbers.extend(numbers_of(roots, device)?.into_iter().map(|number| (number, slot)));
    }
    Ok(numbers)
}

fn make_maps(devices: usize, processors: usize) -> Result<Maps, Errno> {
    use programs::{ENDS_BYTES, KEY_BYTES, REQUEST_BYTES};
    let map = |kind, key, value, entries| Map::new(kind, key, value, entries, processors);
    let recent = MapKind::ForgettingHash;
    Ok(Maps {
        queued: map(recent, KEY_BYTES, 8, IN_PROGRESS)?,
        requests: map(recent, KEY_BYTES, REQUEST_BYTES, IN_PROGRESS)?,
        ends: map(MapKind::Array, 4, ENDS_BYTES, devices)?,
        counts: map(MapKind::ProcessorArray, 4, layout::WORDS * 8, devices)?,
    })
}

/// Enters what the programs expect to find.
fn fill(plan: &Plan, devices: usize) -> Result<(), Errno> {
    // No request begins at the last sector of all; the counter of replacements is 0.
    let mut none = vec![0xFF; programs::ENDS_BYTES];
    none[programs::STREAMS * 8..].fill(0);
    (0..devices as u32).try_for_each(|slot| plan.maps.ends.set(&slot.to_ne_bytes(), &none))
}

/// Those of the named devices whose requests can be followed, with their numbers: whole disks that
/// take requests.
#[must_use]
pub fn request_disks<'a>(
    roots: &Roots,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<(String, DeviceNumber)> {
    let numbers = |name: &str| {
        let directory = roots.sys.join("class/block").join(name.replace('/', "!"));
        let number = device_numbers(&directory).filter(|_| directory.join("mq").exists())?;
        Some((name.to_owned(), number))
    };
    names.into_iter().filter_map(numbers).collect()
}

/// A device number as the kernel has it inside.
fn kernel_number((major, minor): DeviceNumber) -> Option<u32> {
    (major < 1 << 11 && minor < 1 << 20).then_some(major << 20 | minor)
}

/// The numbers under which events of a disk come: its own and its partitions'.
fn numbers_of(roots: &Roots, device: DeviceNumber) -> Result<Vec<u32>, TracerError> {
    let (major, minor) = device;
    let directory = roots.sys.join(format!("dev/block/{major}:{minor}"));
    if !directory.join("mq").exists() {
        let name = link_name(&directory).unwrap_or(format!("{major}:{minor}"));
        return Err(TracerError::NoRequests(name));
    }
    let numbers = partitions(&directory).filter_map(|part| device_numbers(&part));
    Ok(std::iter::once(device).chain(numbers).filter_map(kernel_number).collect())
}

/// Requests in progress at the device.
fn in_flight(roots: &Roots, (major, minor): DeviceNumber) -> u64 {
    let line = text(&roots.sys.join(format!("dev/block/{major}:{minor}/inflight")));
    let line = line.unwrap_or_default();
    line.split_ascii_whitespace().filter_map(|count| count.parse::<u64>().ok()).sum()
}

/// Processors that the kernel reserves memory for: `0-7`, or `0,2-3`.
pub(super) fn possible_processors(roots: &Roots) -> usize {
    let line = text(&roots.sys.join("devices/system/cpu/possible")).unwrap_or_default();
    cpu_list(&line).last().map_or(1, |&last| last as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Fake;

    #[test]
    fn partitions_belong_to_their_disk() {
        let fake = Fake::new();
        fake.sys("dev/block/8:0/mq/0/nr_tags", "64\n");
        fake.sys("dev/block/8:0/sda1/partition", "1\n");
        fake.sys("dev/block/8:0/sda1/dev", "8:1\n");
        fake.sys("dev/block/8:0/inflight", "       3        4\n");
        fake.sys("devices/system/cpu/possible", "0,2-7\n");
        let roots = Roots::below(fake.root());
        assert_eq!(numbers_of(&roots, (8, 0)), Ok(vec![8 << 20, 8 << 20 | 1]));
        assert_eq!((in_flight(&roots, (8, 0)), possible_processors(&roots)), (7, 8));
    }

    #[test]
    fn a_request_is_lost_once_and_those_in_progress_are_not() {
        let mut device =
            Followed { number: (8, 0), counts: vec![0; layout::WORDS], at_start: 2, lost: 0 };
        device.counts[layout::ISSUED] = 10;
        device.counts[layout::DEVICE + 70] = 6;
        device.counts[layout::UNMATCHED] = 2;
        assert_eq!(device.lost(4), 0);
        assert_eq!(device.lost(1), 3);
        assert_eq!(device.lost(1), 0);
        device.counts[layout::DEVICE + 70] = 10;
        assert_eq!(device.lost(0), 0);
    }
}
