//! Parses /proc/diskstats in all the formats that the kernel has used.
//!
//! Three id columns are followed by counters: 14 columns since Linux 2.6.25, 18 since 4.18 (discards), 20
//! since 5.5 (flushes); partitions had 7 before 2.6.25. Further columns are ignored, because the kernel
//! only ever appends. Sectors are 512 bytes on every device; times are 32-bit milliseconds that wrap.
//! Source: Documentation/admin-guide/iostats.rst of the kernel. Rejected: the `stat` file of each device in
//! sysfs, which reads several devices at different times.

use crate::kernel::error::KernelError;
use crate::kernel::read::Roots;
use engine::input;
use record::DeviceFacts;

/// Size of a sector in the kernel's counters, whatever the block size of a device.
pub(crate) const SECTOR_BYTES: u64 = 512;
const FILE: &str = "/proc/diskstats";
/// Columns of a partition before Linux 2.6.25.
const OLD_PARTITION_COLUMNS: usize = 7;
/// Columns with times, since Linux 2.6.25.
const FULL_COLUMNS: usize = 14;
/// Columns with discards, since Linux 4.18.
const DISCARD_COLUMNS: usize = 18;
/// Columns with flushes, since Linux 5.5.
const FLUSH_COLUMNS: usize = 20;
/// Largest decrease of a 32-bit time that is ignored, in ms: the kernel adds per-processor parts without a
/// lock, so a time may go back a little. A larger decrease is a wrap.
const BACKWARD_MS: u32 = 10_000;

/// Counters of one direction since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransferCounters {
    /// Requests completed, after merging.
    pub(crate) ios: u64,
    pub(crate) merges: Option<u64>,
    pub(crate) sectors: u64,
    /// Total time of the requests.
    pub(crate) time_ms: Option<u64>,
}

/// One line: the counters of one disk or partition since boot. Times are modulo 2^32 ms; a counter that
/// this kernel does not have is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskstatsLine {
    pub(crate) numbers: (u32, u32),
    pub(crate) device: String,
    pub(crate) reads: TransferCounters,
    pub(crate) writes: TransferCounters,
    pub(crate) in_flight: Option<u64>,
    /// Time with a request in flight.
    pub(crate) busy_ms: Option<u64>,
    /// Sum of the times of all requests.
    pub(crate) weighted_ms: Option<u64>,
    pub(crate) discards: Option<TransferCounters>,
    /// Flushes and their total ms.
    pub(crate) flushes: Option<(u64, u64)>,
    /// Whether it represents a mount from a file server, whose calls are counted.
    pub(crate) remote: bool,
}

/// The lines of the file, without empty ones.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Result<DiskstatsLine, KernelError>> + '_ {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines.map(|(line, number)| parse_line(line, number))
}

/// Parses one line; `number` counts from 1, for error messages.
fn parse_line(line: &str, number: usize) -> Result<DiskstatsLine, KernelError> {
    let fail = |problem: String| KernelError::Format {
        file: FILE,
        line: number,
        problem,
        text: line.to_owned(),
    };
    // On the stack: a machine with a thousand disks is read each second.
    let mut columns = [""; FLUSH_COLUMNS];
    let mut count = 0;
    for (column, word) in columns.iter_mut().zip(line.split_ascii_whitespace()) {
        *column = word;
        count += 1;
    }
    if count != OLD_PARTITION_COLUMNS && count < FULL_COLUMNS {
        return Err(fail(format!(
            "the line has {count} columns; expected {OLD_PARTITION_COLUMNS}, or at least \
             {FULL_COLUMNS}"
        )));
    }
    let value = |index: usize| {
        columns[index]
            .parse::<u64>()
            .map_err(|_| fail(format!("column {} is not a count", index + 1)))
    };
    let id = |index: usize| {
        let wrong = |_| fail(format!("column {} is not a device number", index + 1));
        value(index).and_then(|id| u32::try_from(id).map_err(wrong))
    };
    let mut parsed = DiskstatsLine {
        numbers: (id(0)?, id(1)?),
        device: columns[2].to_owned(),
        ..DiskstatsLine::default()
    };
    if count == OLD_PARTITION_COLUMNS {
        parsed.reads = TransferCounters { ios: value(3)?, sectors: value(4)?, ..parsed.reads };
        parsed.writes = TransferCounters { ios: value(5)?, sectors: value(6)?, ..parsed.writes };
        return Ok(parsed);
    }
    let transfer = |first: usize| -> Result<TransferCounters, KernelError> {
        Ok(TransferCounters {
            ios: value(first)?,
            merges: Some(value(first + 1)?),
            sectors: value(first + 2)?,
            time_ms: Some(value(first + 3)?),
        })
    };
    parsed.reads = transfer(3)?;
    parsed.writes = transfer(7)?;
    // Some kernels printed a negative number here after a lost decrement; treat it as none in flight.
    parsed.in_flight = Some(if columns[11].starts_with('-') { 0 } else { value(11)? });
    parsed.busy_ms = Some(value(12)?);
    parsed.weighted_ms = Some(value(13)?);
    if count >= DISCARD_COLUMNS {
        parsed.discards = Some(transfer(14)?);
    }
    if count >= FLUSH_COLUMNS {
        parsed.flushes = Some((value(18)?, value(19)?));
    }
    Ok(parsed)
}

/// A 32-bit millisecond counter, made monotone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wrapping {
    last: Option<u32>,
}

impl Wrapping {
    /// The increase since the last reading; the first reading counts from zero.
    pub(crate) fn advance(&mut self, reading: u64) -> u64 {
        // The kernel prints 32 bits; a wider reading is the same number modulo 2^32.
        let reading = reading as u32;
        let step = reading.wrapping_sub(self.last.unwrap_or(0));
        if self.last.is_some() && step > u32::MAX - BACKWARD_MS {
            return 0;
        }
        self.last = Some(reading);
        u64::from(step)
    }
}

/// The devices whose counters represent a disk: all its leaves if it is built of others (each carries a
/// part of the traffic), otherwise the disk itself.
pub(crate) fn counted_devices(disk: &DeviceFacts) -> Vec<String> {
    if disk.leaves.is_empty() { vec![disk.disk.clone()] } else { disk.leaves.clone() }
}

/// The lines of the named devices, in the order of the names.
pub(crate) fn read_lines(
    roots: &Roots,
    devices: &[String],
) -> Result<Vec<DiskstatsLine>, KernelError> {
    let path = roots.proc.join("diskstats");
    let text = input::kernel_text(&path)
        .map_err(|error| KernelError::io("read the counters in", &path, &error))?;
    let line_of = |device: &String| {
        let is = |line: &str| line.split_ascii_whitespace().nth(2) == Some(device.as_str());
        let found = text.lines().zip(1..).find(|(line, _)| is(line));
        let problem = || format!("the file has no line for the device {device}");
        let none = || KernelError::Lacks { file: FILE, problem: problem() };
        found.ok_or_else(none).and_then(|(line, number)| parse_line(line, number))
    };
    devices.iter().map(line_of).collect()
}
