//! Opens, attaches and reads the tracer.

use super::error::TracerError;
use super::events::{Attached, attach};
use super::fields::Fields;
use super::programs::{Devices, Event, Maps, Plan};
use super::syscalls::{AttachTo, Map, MapKind, value_copies};
use super::types::KernelTypes;
use super::{layout, programs};
use crate::kernel::Roots;
use crate::kernel::device::partitions;
use crate::kernel::read::{device_numbers, link_name, names, number, text};
use record::Traced;
use rustix::io::Errno;

/// Maximum memory for counts, over all processors, and for requests in flight.
const BYTES_MAX: usize = 256 << 20;

/// Major and minor number of a device.
pub(super) type DeviceNumber = (u32, u32);

/// Traces the requests of some disks.
#[derive(Debug)]
pub struct Tracer {
    devices: Vec<Followed>,
    plan: Plan,
    /// The programs; dropping these detaches them.
    attached: Vec<Attached>,
    roots: Roots,
    /// The figures that this kernel does not report, and the results that need them.
    pub lacks: Vec<String>,
}

/// One disk, and the counts at the last reading.
#[derive(Debug)]
struct Followed {
    number: DeviceNumber,
    counts: Vec<u64>,
    /// Requests in flight when the tracer started, whose issue was not seen.
    at_start: u64,
    /// Requests issued, not completed and not in flight, at the last reading.
    vanished: u64,
    /// Lost events already reported.
    lost: u64,
}

/// The sum of a count over reads and writes.
fn of_both(counts: &[u64], word: usize) -> u64 {
    counts[word] + counts[layout::OP_WORDS + word]
}

impl Followed {
    /// The number of requests newly known as lost. The kernel skips a program that would interrupt another
    /// one, so some events are not counted. A request counts as lost if it was issued but has neither
    /// completed nor is in flight, or if its completion has no issue. Requests in flight are read at a
    /// different moment than the counts, so a request must be missing in two consecutive readings.
    fn lost(&mut self, in_flight: u64) -> u64 {
        let sum = |word: usize| of_both(&self.counts, word);
        let completed: u64 = (layout::DEVICE..layout::DEVICE + layout::TIME_BUCKETS).map(sum).sum();
        let once = sum(layout::ISSUED).saturating_sub(sum(layout::REQUEUED));
        let now = once.saturating_sub(completed + in_flight);
        let vanished = now.min(std::mem::replace(&mut self.vanished, now));
        let unmatched = sum(layout::UNMATCHED).saturating_sub(self.at_start);
        let all = self.lost.max(vanished).max(unmatched);
        all - std::mem::replace(&mut self.lost, all)
    }
}

impl Tracer {
    /// Starts tracing the requests of the disks with these device numbers.
    ///
    /// # Errors
    /// If privileges or kernel support are missing, or if the kernel does not trace one of the devices.
    pub fn open(roots: &Roots, devices: &[DeviceNumber]) -> Result<Self, TracerError> {
        if devices.is_empty() {
            return Err(TracerError::NoDevices);
        }
        let copies = value_copies().map_err(|cause| TracerError::of("making a BPF map", cause))?;
        let tags: Vec<Tags> = devices.iter().map(|&number| tags_of(roots, number)).collect();
        let bytes = |tags: &Tags| {
            layout::WORDS * 8 * copies + tags.queues * tags.each * programs::ENTRY_BYTES
        };
        let mut left = BYTES_MAX;
        let fits = |tags: &&Tags| {
            left.checked_sub(bytes(tags)).is_some_and(|rest| {
                left = rest;
                true
            })
        };
        let most = tags.iter().take_while(fits).count().max(1);
        if devices.len() > most {
            return Err(TracerError::TooMany { count: devices.len(), most });
        }
        let numbers = slot_numbers(roots, devices)?;
        let types = KernelTypes::read(roots)?;
        let fields = Fields::find(&types).map_err(|field| TracerError::Event {
            event: Event::Complete.name(),
            why: format!("the kernel's type information has no usable {field}"),
        })?;
        let failed = |cause| TracerError::of("making a BPF map", cause);
        let devices_of = Devices::new(numbers).map_err(failed)?;
        let maps = make_maps(&tags).map_err(failed)?;
        let plan = Plan { maps, devices: devices_of, fields };
        fill(&plan, &tags).map_err(failed)?;
        let mut tracer = Self {
            devices: Vec::new(),
            plan,
            attached: Vec::new(),
            roots: roots.clone(),
            lacks: Vec::new(),
        };
        tracer.attach_all(&types)?;
        for (slot, &number) in devices.iter().enumerate() {
            let in_flight = in_flight(roots, number);
            let counts = tracer.plan.counts(slot)?;
            // Completions were traced before issues were.
            let at_start = in_flight + of_both(&counts, layout::UNMATCHED);
            tracer.devices.push(Followed { number, counts, at_start, vanished: 0, lost: 0 });
        }
        Ok(tracer)
    }

    /// Attaches the programs, those for the end of requests first: otherwise a request could be issued
    /// whose end is not seen.
    fn attach_all(&mut self, types: &KernelTypes) -> Result<(), TracerError> {
        for needed in [Event::Complete, Event::Requeue, Event::Issue] {
            self.attach(types, needed)?;
        }
        let waits = self.attach(types, Event::Getrq);
        if let Err(error) = waits.and_then(|()| self.attach(types, Event::BioQueue)) {
            self.lacks.push(format!("waits before a request starts are not visible: {error}"));
        }
        Ok(())
    }

    fn attach(&mut self, types: &KernelTypes, event: Event) -> Result<(), TracerError> {
        let why = || "this kernel has none".to_owned();
        let missing = || TracerError::Event { event: event.name(), why: why() };
        let point = types.tracepoint(event.name(), event.structure()).ok_or_else(missing)?;
        let code = event.program(&self.plan, point);
        self.attached.push(attach(event.name(), AttachTo::Type(point.type_id), code)?);
        Ok(())
    }

    /// The events since the last call, or since the start, for each device in the given order.
    ///
    /// # Errors
    /// If the kernel does not return the counts.
    pub fn read(&mut self) -> Result<Vec<(DeviceNumber, Traced)>, TracerError> {
        let mut answers = Vec::with_capacity(self.devices.len());
        for (slot, device) in self.devices.iter_mut().enumerate() {
            let in_flight = in_flight(&self.roots, device.number);
            let sums = self.plan.counts(slot)?;
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

impl Plan {
    /// The counts of a device so far, over all processors.
    fn counts(&self, slot: usize) -> Result<Vec<u64>, TracerError> {
        let mut words = Vec::new();
        let read = self.maps.counts.get(&(slot as u32).to_ne_bytes(), &mut words);
        read.map_err(|cause| TracerError::of("reading a BPF map", cause))?;
        let mut sums = vec![0_u64; layout::WORDS];
        for copy in words.chunks_exact(layout::WORDS) {
            sums.iter_mut().zip(copy).for_each(|(sum, word)| *sum += word);
        }
        Ok(sums)
    }
}

/// The device numbers in events of these disks, each with the index of its disk.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tags {
    queues: usize,
    /// Tags in one hardware queue.
    each: usize,
}

fn tags_of(roots: &Roots, (major, minor): DeviceNumber) -> Tags {
    let directory = roots.sys.join(format!("dev/block/{major}:{minor}/mq"));
    let queues = names(&directory);
    let tags = |queue: &String| number(&directory.join(queue).join("nr_tags"));
    let each = queues.iter().filter_map(tags).max().unwrap_or(0);
    Tags { queues: queues.len().max(1), each: (each as usize).max(1) }
}

fn make_maps(tags: &[Tags]) -> Result<Maps, Errno> {
    use programs::{BIOS, ENDS_BYTES, ENTRY_BYTES};
    let array = |value, entries| Map::new(MapKind::Array, 4, value, entries);
    let requests = tags.iter().map(|tags| tags.queues * tags.each).sum();
    Ok(Maps {
        bios: array(ENTRY_BYTES, BIOS)?,
        tags: array(ENTRY_BYTES, tags.len())?,
        requests: array(ENTRY_BYTES, requests)?,
        ends: array(ENDS_BYTES, tags.len())?,
        counts: Map::new(MapKind::ProcessorArray, 4, layout::WORDS * 8, tags.len())?,
    })
}

/// Sets the initial map entries that the programs expect.
fn fill(plan: &Plan, tags: &[Tags]) -> Result<(), Errno> {
    // No request begins at the very last sector; the replacement counter is 0.
    let mut none = vec![0xFF; programs::ENDS_BYTES];
    none[programs::STREAMS * 8..].fill(0);
    let mut begin = 0;
    for (slot, tags) in (0_u32..).zip(tags) {
        plan.maps.ends.set(&slot.to_ne_bytes(), &none)?;
        let entry = [begin, tags.each as u64].map(u64::to_ne_bytes);
        plan.maps.tags.set(&slot.to_ne_bytes(), entry.as_flattened())?;
        begin += (tags.queues * tags.each) as u64;
    }
    Ok(())
}

/// The named devices whose requests can be traced, with their numbers: whole disks that accept requests.
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

/// The kernel's internal form of a device number.
pub(super) fn kernel_number((major, minor): DeviceNumber) -> Option<u32> {
    (major < 1 << 11 && minor < 1 << 20).then_some(major << 20 | minor)
}

/// The device numbers in events of a disk: its own and its partitions'.
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

fn in_flight(roots: &Roots, (major, minor): DeviceNumber) -> u64 {
    let line = text(&roots.sys.join(format!("dev/block/{major}:{minor}/inflight")));
    let line = line.unwrap_or_default();
    line.split_ascii_whitespace().filter_map(|count| count.parse::<u64>().ok()).sum()
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
        let roots = Roots::below(fake.root());
        assert_eq!(numbers_of(&roots, (8, 0)), Ok(vec![8 << 20, 8 << 20 | 1]));
        assert_eq!(in_flight(&roots, (8, 0)), 7);
    }

    #[test]
    fn a_request_is_lost_once_and_those_in_progress_are_not() {
        let mut device = Followed {
            number: (8, 0),
            counts: vec![0; layout::WORDS],
            at_start: 2,
            vanished: 0,
            lost: 0,
        };
        device.counts[layout::ISSUED] = 12;
        device.counts[layout::REQUEUED] = 2;
        device.counts[layout::DEVICE + 70] = 6;
        device.counts[layout::UNMATCHED] = 2;
        assert_eq!(device.lost(4), 0);
        // The load may have grown since the requests in flight were read.
        assert_eq!(device.lost(0), 0);
        assert_eq!(device.lost(4), 0);
        assert_eq!((device.lost(1), device.lost(1)), (0, 3));
        assert_eq!(device.lost(1), 0);
        device.counts[layout::DEVICE + 70] = 10;
        assert_eq!(device.lost(0), 0);
    }
}
