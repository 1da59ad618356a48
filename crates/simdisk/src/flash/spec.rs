//! The parameters of a flash drive, their keys, and the drives of the catalogue.
//!
//! Two drives of ordinary specification: the figures on the data sheets of many client drives of
//! 1 TB (SATA: 550/520 MB/s, 95,000/90,000 IOPS; NVMe on PCIe 3.0 x4: 3.5/3.0 GB/s, 500,000 IOPS
//! and more, 80 to 90 us per read). They are no maker's product. A data sheet says nothing of what
//! is inside; the numbers of channels and dies and the times of the flash are assumed within what
//! makers publish of TLC flash, and chosen so that the drive as a whole gives those figures.
//! `parts` gives each parameter with its unit and origin.

use crate::spec::{Key, Kind};
use crate::value;
use record::{Bytes, Nanos};

/// In which order a die takes its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// In order of arrival.
    Queued,
    /// Reads of the host before all that waits.
    First,
    /// And they interrupt a program or an erasure that is under way.
    Suspend,
}

/// The state of the drive at time zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing was ever written: reads find nothing, and come back without the flash.
    Fresh,
    /// Written once in order; the spare blocks are free.
    Sequential,
    /// Overwritten at random until steady.
    Random,
}

/// Parameters of a flash drive.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashSpec {
    /// Capacity offered.
    pub size: Bytes,
    /// Spare flash as a share of the capacity.
    pub op: f64,
    /// Channels between controller and dies.
    pub channels: u32,
    /// Dies, over all channels.
    pub dies: u32,
    /// Time to sense a page.
    pub read: Nanos,
    /// Time to program a page.
    pub program: Nanos,
    /// Time to erase a block of a die.
    pub erase: Nanos,
    /// What a die programs at once, over its planes.
    pub page: Bytes,
    /// Erase block of a die, over its planes.
    pub block: Bytes,
    /// Transfer rate of a channel.
    pub channel_bytes_per_s: u64,
    /// In which order dies take their work.
    pub reads: ReadOrder,
    /// Write buffer.
    pub buffer: Bytes,
    /// Whether the buffer survives a loss of power, so that a forced write need not wait.
    pub plp: bool,
    /// Whether the drive collects while it has nothing else to do.
    pub gc: bool,
    /// The state at time zero.
    pub start: Start,
    /// Commands that the drive takes at once; more wait in the host.
    pub queue: u32,
    /// Transfer rate of the link.
    pub link_bytes_per_s: u64,
    /// Whether the link carries both directions at once.
    pub duplex: bool,
    /// Controller time of a read, one after the other.
    pub command: Nanos,
    /// Controller time of a write, one after the other.
    pub write_command: Nanos,
    /// What a command takes beside that, without keeping others.
    pub overhead: Nanos,
}

impl Default for FlashSpec {
    /// The SATA drive.
    fn default() -> Self {
        Self {
            size: Bytes(32 << 30),
            op: 0.07,
            channels: 4,
            dies: 16,
            read: Nanos(60_000),
            program: Nanos(925_000),
            erase: Nanos(5_000_000),
            page: Bytes(32 << 10),
            block: Bytes(18 << 20),
            channel_bytes_per_s: 400_000_000,
            reads: ReadOrder::First,
            buffer: Bytes(8 << 20),
            plp: false,
            gc: true,
            start: Start::Sequential,
            queue: 32,
            link_bytes_per_s: 550_000_000,
            duplex: false,
            command: Nanos(10_500),
            write_command: Nanos(11_100),
            overhead: Nanos(12_000),
        }
    }
}

/// The flash drives of the catalogue.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        name: "sata-ssd",
        defaults: &[],
        help: "SATA SSD of ordinary specification: 550/520 MB/s, 95k/90k IOPS, 32 commands",
    },
    Kind {
        name: "nvme-ssd",
        defaults: &[
            ("channels", "8"),
            ("dies", "64"),
            ("read", "65us"),
            ("program", "658us"),
            ("channel", "800MB/s"),
            ("reads", "suspend"),
            ("buffer", "16MiB"),
            ("queue", "1024"),
            ("link", "3500MB/s"),
            ("duplex", "on"),
            ("command", "1600ns"),
            ("write-command", "1800ns"),
        ],
        help: "NVMe SSD of ordinary specification, PCIe 3.0 x4: 3.5/3.0 GB/s, 500k IOPS and more",
    },
];

/// The keys.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "size",
        default: "32GiB",
        help: "capacity, up to 1TiB; takes 8 bytes of memory per 4 KiB",
    },
    Key {
        name: "op",
        default: "7%",
        help: "over-provisioning: spare flash as a share of the capacity",
    },
    Key { name: "channels", default: "4", help: "channels between controller and dies" },
    Key { name: "dies", default: "16", help: "dies over all channels; each does one thing a time" },
    Key { name: "read", default: "60us", help: "time to sense a page" },
    Key { name: "program", default: "925us", help: "time to program a page" },
    Key { name: "erase", default: "5ms", help: "time to erase a block" },
    Key { name: "page", default: "32KiB", help: "what a die programs at once, over its planes" },
    Key { name: "block", default: "18MiB", help: "erase block of a die, over its planes" },
    Key { name: "channel", default: "400MB/s", help: "transfer rate of a channel" },
    Key {
        name: "reads",
        default: "first",
        help: "order of a die's work: queued, first (reads before what waits), or suspend (reads \
               also interrupt what is under way)",
    },
    Key { name: "buffer", default: "8MiB", help: "write buffer; what is in it is acknowledged" },
    Key {
        name: "plp",
        default: "off",
        help: "on: the buffer survives a loss of power, so that writes through all caches need \
               not wait for the flash",
    },
    Key {
        name: "gc",
        default: "on",
        help: "on: collects while idle, too; off: only when free blocks run low",
    },
    Key {
        name: "preconditioned",
        default: "sequential",
        help: "state at time zero: fresh (never written), sequential (written once, in order) or \
               random (overwritten until steady)",
    },
    Key { name: "queue", default: "32", help: "commands that it takes at once; more wait outside" },
    Key { name: "link", default: "550MB/s", help: "transfer rate of the link" },
    Key { name: "duplex", default: "off", help: "on: the link carries both directions at once" },
    Key { name: "command", default: "10500ns", help: "controller time of a read, one by one" },
    Key {
        name: "write-command",
        default: "11100ns",
        help: "controller time of a write, one by one",
    },
    Key { name: "overhead", default: "12us", help: "time of a command beside that, in parallel" },
];

/// Smallest and largest capacity.
const SIZES: (u64, u64) = (128 << 20, 1 << 40);
/// Shortest time that can be set: the clock ticks in nanoseconds.
const SHORTEST: Nanos = Nanos(100);
/// What the buffer holds at least: a piece of a request, and pages that are programmed meanwhile.
const BUFFER_MIN: u64 = 256 << 10;
const BUFFER_PAGES_MIN: u64 = 8;

impl FlashSpec {
    /// Sets a key; whether there is such a key.
    ///
    /// # Errors
    /// Says what is wrong with the value.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match key {
            "size" => self.size = value::bytes(value)?,
            "op" => self.op = share(value)?,
            "channels" => self.channels = value::count(value, 1, 64)? as u32,
            "dies" => self.dies = value::count(value, 1, 1_024)? as u32,
            "read" => self.read = nanos(value)?,
            "program" => self.program = nanos(value)?,
            "erase" => self.erase = nanos(value)?,
            "page" => self.page = value::bytes(value)?,
            "block" => self.block = value::bytes(value)?,
            "channel" => self.channel_bytes_per_s = rate(value)?,
            "reads" => {
                self.reads = match value {
                    "queued" => ReadOrder::Queued,
                    "first" => ReadOrder::First,
                    "suspend" => ReadOrder::Suspend,
                    _ => return Err("use queued, first or suspend".to_owned()),
                };
            }
            "buffer" => self.buffer = value::bytes(value)?,
            "plp" => self.plp = value::switch(value)?,
            "gc" => self.gc = value::switch(value)?,
            "preconditioned" => {
                self.start = match value {
                    "fresh" => Start::Fresh,
                    "sequential" => Start::Sequential,
                    "random" => Start::Random,
                    _ => return Err("use fresh, sequential or random".to_owned()),
                };
            }
            "queue" => self.queue = value::count(value, 1, 65_536)? as u32,
            "link" => self.link_bytes_per_s = rate(value)?,
            "duplex" => self.duplex = value::switch(value)?,
            "command" => self.command = nanos(value)?,
            "write-command" => self.write_command = nanos(value)?,
            "overhead" => self.overhead = nanos(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the parameters go together; to be asked once all keys are set.
    ///
    /// # Errors
    /// Names the key and what would do.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.dies.is_multiple_of(self.channels) {
            return Err(format!(
                "dies={} cannot be shared out to channels={}; use a multiple",
                self.dies, self.channels
            ));
        }
        if !(4_096..=256 << 10).contains(&self.page.0) || !self.page.0.is_multiple_of(4_096) {
            return Err("page must be a multiple of 4KiB from 4KiB to 256KiB".to_owned());
        }
        if !self.block.0.is_multiple_of(self.page.0) || self.block.0 == 0 {
            return Err("block must be a multiple of page".to_owned());
        }
        let row = self.page.0 * u64::from(self.dies);
        let smallest = SIZES.0.max(64 * row);
        if !(smallest..=SIZES.1).contains(&self.size.0) || !self.size.0.is_multiple_of(4_096) {
            let smallest = record::format_bytes(smallest);
            return Err(format!(
                "size must be a multiple of 4KiB from {smallest} (64 pages of every die) to 1TiB"
            ));
        }
        let least = BUFFER_MIN.max(BUFFER_PAGES_MIN * self.page.0);
        if !(least..=self.size.0 / 4).contains(&self.buffer.0) {
            let least = record::format_bytes(least);
            return Err(format!("buffer must be from {least} to a quarter of size"));
        }
        Ok(())
    }
}

fn rate(value: &str) -> Result<u64, String> {
    match value::bytes_per_s(value)? {
        rate @ 1_000_000..=1_000_000_000_000 => Ok(rate),
        _ => Err("use a rate from 1MB/s to 1TB/s".to_owned()),
    }
}

fn nanos(value: &str) -> Result<Nanos, String> {
    value::time_from(value, SHORTEST, "100ns")
}

fn share(value: &str) -> Result<f64, String> {
    match value.strip_suffix('%').unwrap_or(value).parse::<f64>() {
        Ok(percent) if (1.0..=300.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("use a percentage from 1% to 300%".to_owned()),
    }
}
