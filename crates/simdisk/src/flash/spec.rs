//! The parameters of a flash drive, their keys, and the drives of the catalogue.
//!
//! Two drives of ordinary specification: the figures on the data sheets of many client drives of
//! 1 TB (SATA: 550/520 MB/s, 95,000/90,000 IOPS; NVMe on PCIe 3.0 x4: 3.5/3.0 GB/s, 500,000 IOPS
//! and more, 80 to 90 us per read). They are no maker's product. A data sheet says nothing of what
//! is inside; the numbers of channels and dies and the times of the flash are assumed within what
//! makers publish of TLC flash, and chosen so that the drive as a whole gives those figures.
//! `parts` gives each parameter with its unit and origin.

use crate::keys::{
    Kind, Setting, bytes, bytes_per_s, choice, count32, kind, percentage, put, setting, switch,
    time_from,
};
use record::{Bytes, Nanos};

/// In which order a die takes its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadOrder {
    /// In order of arrival.
    #[default]
    Queued,
    /// Reads of the host before all that waits.
    First,
    /// And they interrupt a program or an erasure that is under way.
    Suspend,
}

/// The state of the drive at time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Nothing was ever written: reads find nothing, and come back without the flash.
    #[default]
    Fresh,
    /// Written once in order; the spare blocks are free.
    Sequential,
    /// Overwritten at random until steady.
    Random,
}

/// Parameters of a flash drive; `sim:` gives each key its default.
#[derive(Clone, Debug, Default, PartialEq)]
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

pub(crate) const KINDS: &[Kind] = &[
    kind(
        "sata-ssd",
        &[],
        "SATA SSD of ordinary specification: 550/520 MB/s, 95k/90k IOPS, 32 commands",
    ),
    kind(
        "nvme-ssd",
        &[
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
        "NVMe SSD of ordinary specification, PCIe 3.0 x4: 3.5/3.0 GB/s, 500k IOPS and more",
    ),
];

/// The defaults are those of the SATA drive.
pub(crate) const KEYS: &[Setting<FlashSpec>] = &[
    setting(
        "size",
        "32GiB",
        "capacity, up to 1TiB; takes 8 bytes of memory per 4 KiB",
        |it, value| put(&mut it.size, bytes(value)),
    ),
    setting(
        "op",
        "7%",
        "over-provisioning: spare flash as a share of the capacity",
        |it, value| put(&mut it.op, percentage(value, 1.0, 300.0)),
    ),
    setting("channels", "4", "channels between controller and dies", |it, value| {
        put(&mut it.channels, count32(value, 1, 64))
    }),
    setting("dies", "16", "dies over all channels; each does one thing a time", |it, value| {
        put(&mut it.dies, count32(value, 1, 1_024))
    }),
    setting("read", "60us", "time to sense a page", |it, value| put(&mut it.read, nanos(value))),
    setting("program", "925us", "time to program a page", |it, value| {
        put(&mut it.program, nanos(value))
    }),
    setting("erase", "5ms", "time to erase a block", |it, value| put(&mut it.erase, nanos(value))),
    setting("page", "32KiB", "what a die programs at once, over its planes", |it, value| {
        put(&mut it.page, bytes(value))
    }),
    setting("block", "18MiB", "erase block of a die, over its planes", |it, value| {
        put(&mut it.block, bytes(value))
    }),
    setting("channel", "400MB/s", "transfer rate of a channel", |it, value| {
        put(&mut it.channel_bytes_per_s, rate(value))
    }),
    setting(
        "reads",
        "first",
        "order of a die's work: queued, first (reads before what waits), or suspend (reads also \
         interrupt what is under way)",
        |it, value| {
            let words = [
                ("queued", ReadOrder::Queued),
                ("first", ReadOrder::First),
                ("suspend", ReadOrder::Suspend),
            ];
            put(&mut it.reads, choice(value, &words))
        },
    ),
    setting("buffer", "8MiB", "write buffer; what is in it is acknowledged", |it, value| {
        put(&mut it.buffer, bytes(value))
    }),
    setting(
        "plp",
        "off",
        "on: the buffer survives a loss of power, so that writes through all caches need not wait \
         for the flash",
        |it, value| put(&mut it.plp, switch(value)),
    ),
    setting(
        "gc",
        "on",
        "on: collects while idle, too; off: only when free blocks run low",
        |it, value| put(&mut it.gc, switch(value)),
    ),
    setting(
        "preconditioned",
        "sequential",
        "state at time zero: fresh (never written), sequential (written once, in order) or random \
         (overwritten until steady)",
        |it, value| {
            let words = [
                ("fresh", Start::Fresh),
                ("sequential", Start::Sequential),
                ("random", Start::Random),
            ];
            put(&mut it.start, choice(value, &words))
        },
    ),
    setting("queue", "32", "commands that it takes at once; more wait outside", |it, value| {
        put(&mut it.queue, count32(value, 1, 65_536))
    }),
    setting("link", "550MB/s", "transfer rate of the link", |it, value| {
        put(&mut it.link_bytes_per_s, rate(value))
    }),
    setting("duplex", "off", "on: the link carries both directions at once", |it, value| {
        put(&mut it.duplex, switch(value))
    }),
    setting("command", "10500ns", "controller time of a read, one by one", |it, value| {
        put(&mut it.command, nanos(value))
    }),
    setting("write-command", "11100ns", "controller time of a write, one by one", |it, value| {
        put(&mut it.write_command, nanos(value))
    }),
    setting("overhead", "12us", "time of a command beside that, in parallel", |it, value| {
        put(&mut it.overhead, nanos(value))
    }),
];

/// Smallest and largest capacity.
const SIZES: (u64, u64) = (128 << 20, 1 << 40);
/// Shortest time that can be set: the clock ticks in nanoseconds.
const SHORTEST: Nanos = Nanos(100);
/// What the buffer holds at least: a piece of a request, and pages that are programmed meanwhile.
const BUFFER_MIN: u64 = 256 << 10;
const BUFFER_PAGES_MIN: u64 = 8;

impl FlashSpec {
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
    match bytes_per_s(value)? {
        rate @ 1_000_000..=1_000_000_000_000 => Ok(rate),
        _ => Err("use a rate from 1MB/s to 1TB/s".to_owned()),
    }
}

fn nanos(value: &str) -> Result<Nanos, String> {
    time_from(value, SHORTEST)
}
