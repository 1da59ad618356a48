//! Records each request of some disks, for `record --trace-io`.
//!
//! The event is `block_bio_queue`: the requests of programs and file systems, before the block layer
//! merges, splits or delays them. Issues to the device would show the device's own pace. The event also
//! occurs for devices that are built of others. Events arrive through a ring per processor, because a
//! recording needs all of them in user space. Counting in the kernel, as the tracer does, costs less and
//! stores less.

use super::error::TracerError;
use super::events::Events;
use super::format::Format;
use super::syscalls::{Record, Ring};
use super::tracer::kernel_number;
use crate::kernel::Roots;
use crate::kernel::device::partitions;
use crate::kernel::read::{cpu_list, device_numbers, text};
use crate::tracer::drained::Drained;
use record::{Nanos, OpKind, RecordedRequest};
use rustix::io::Errno;
use std::ffi::CString;

const SECTOR_BYTES: u64 = 512;

#[derive(Debug)]
struct Fields {
    device: usize,
    sector: usize,
    sectors: usize,
    kind: usize,
}

impl Fields {
    fn find(format: &Format) -> Option<Self> {
        let number = |name: &str| usize::try_from(format.number(name)?.offset).ok();
        let kind = usize::try_from(format.array("rwbs", 4)?).ok()?;
        Some(Self {
            device: number("dev")?,
            sector: number("sector")?,
            sectors: number("nr_sector")?,
            kind,
        })
    }
}

/// Characters of a process name that the kernel stores.
const NAME_MAX: usize = 15;

/// Records the requests of some disks until dropped.
#[derive(Debug)]
pub struct Recorder {
    rings: Vec<Ring>,
    fields: Fields,
    /// The kernel's number of each device, including partitions, and the index of its disk.
    devices: Vec<(u32, u16)>,
}

impl Recorder {
    /// Starts recording the requests to disks, including their partitions; with a name, only requests of
    /// processes with that name.
    ///
    /// # Errors
    /// If permission or kernel support is missing.
    pub fn open(
        roots: &Roots,
        disks: &[String],
        process: Option<&str>,
    ) -> Result<Self, TracerError> {
        const EVENT: &str = "block_bio_queue";
        let mut devices = Vec::new();
        for (name, index) in disks.iter().zip(0..) {
            let disk = roots.sys.join("class/block").join(name.replace('/', "!"));
            let all = std::iter::once(disk.clone()).chain(partitions(&disk));
            let numbers = all.filter_map(|device| kernel_number(device_numbers(&device)?));
            devices.extend(numbers.map(|number| (number, index)));
        }
        if devices.is_empty() {
            return Err(TracerError::NoDevices);
        }
        let format = Events::find(roots)?.format("block", EVENT);
        let format = format.map_err(|why| TracerError::Event { event: EVENT, why })?;
        let fields = Fields::find(&format).ok_or_else(|| TracerError::Event {
            event: EVENT,
            why: "it lacks a field".to_owned(),
        })?;
        let terms: Vec<String> = devices.iter().map(|(dev, _)| format!("dev == {dev}")).collect();
        let devices_alone = terms.join(" || ");
        let filter = match process {
            None => devices_alone,
            // The kernel stores fifteen characters of a name.
            Some(name) => {
                let kept: String = name.chars().take(NAME_MAX).collect();
                format!("({devices_alone}) && comm == \"{kept}\"")
            }
        };
        let filter = CString::new(filter).map_err(|_| TracerError::NoDevices)?;
        let online = text(&roots.sys.join("devices/system/cpu/online")).unwrap_or_default();
        let mut rings = Vec::new();
        for processor in cpu_list(&online) {
            let processor = i32::try_from(processor).unwrap_or(i32::MAX);
            let ring = Ring::open(format.id, processor, &filter);
            rings.push(ring.map_err(|cause: Errno| TracerError::of("recording requests", cause))?);
        }
        Ok(Self { rings, fields, devices })
    }

    /// Takes the requests recorded since the last call. Call it some hundred times a second.
    pub fn drain(&mut self) -> Drained {
        let mut drained = Drained::default();
        let (fields, devices) = (&self.fields, &self.devices);
        for ring in &mut self.rings {
            ring.drain(&mut |record| match record {
                Record::Event(time, data) => {
                    if book(fields, devices, time, data, &mut drained).is_none() {
                        drained.lost += 1;
                    }
                }
                Record::Lost(count) => drained.lost += count,
            });
        }
        drained
    }
}

/// Records an event; `None` if it cannot be parsed.
fn book(
    fields: &Fields,
    devices: &[(u32, u16)],
    time: u64,
    data: &[u8],
    into: &mut Drained,
) -> Option<()> {
    let four = |at: usize| Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let eight = |at: usize| Some(u64::from_ne_bytes(data.get(at..at + 8)?.try_into().ok()?));
    let number = four(fields.device)?;
    let device = devices.iter().find(|(known, _)| *known == number)?.1;
    let kind = data.get(fields.kind..)?;
    let kind = &kind[..kind.iter().position(|&letter| letter == 0).unwrap_or(0)];
    let has = |letter: u8| kind.contains(&letter);
    let bytes = u64::from(four(fields.sectors)?) * SECTOR_BYTES;
    let offset = || eight(fields.sector)?.checked_mul(SECTOR_BYTES);
    if has(b'D') {
        // The kernel discards up to 4 GiB at once.
        into.discards.extend(RecordedRequest::discards(device, Nanos(time), offset()?, bytes));
        return Some(());
    }
    let (op, kind) = match (has(b'R'), has(b'W')) {
        (true, _) => (OpKind::Read, &mut into.requests),
        (_, true) if bytes > 0 => (OpKind::Write, &mut into.requests),
        _ if has(b'F') => (OpKind::Write, &mut into.flushes),
        _ => return Some(()),
    };
    // An empty flush has no position: its sector is meaningless.
    let offset = if bytes > 0 { offset()? } else { 0 };
    let bytes = u32::try_from(bytes).ok()?;
    kind.push(RecordedRequest { at: Nanos(time), offset, bytes, op, device });
    Some(())
}
