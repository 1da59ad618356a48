//! The parameters of a flash drive, their keys, and two drives with typical specifications.
//!
//! The drives have the figures on the data sheets of many client drives of 1 TB and are not products of any
//! manufacturer; their files below `catalogue/flash` give the source of each value. No data sheet describes
//! the inside of a drive. Assumed values are within what manufacturers publish about TLC flash and its
//! interfaces. Derived values make the whole drive match the figures of its class of data sheet (SATA:
//! 550/520 MB/s, 95,000/90,000 IOPS, 100 us; NVMe on PCIe 3.0 x4: 3.5/3.0 GB/s, 500,000 IOPS and more, 80
//! to 90 us).

use crate::keys::{
    self, BY_KIND, Key, Kind, Setting, bytes, bytes_per_s, choice, count, filed, key, percentage,
    put, switch, time_from,
};
use crate::toml_text::Given;
use record::{Bytes, Nanos};

/// The order in which a die takes its work; the help of `reads` explains each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadOrder {
    #[default]
    Queued,
    First,
    Suspend,
}

/// The state of the drive at time zero; the help of `preconditioned` explains each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    #[default]
    Fresh,
    Sequential,
    Random,
}

/// Parameters of a flash drive, set by `KEYS`, whose help explains each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlashSpec {
    /// Capacity offered to the host.
    pub size: Bytes,
    /// Spare flash as a share of the capacity.
    pub(crate) op: f64,
    pub(crate) channels: u32,
    pub(crate) dies: u32,
    pub(crate) read: Nanos,
    pub(crate) program: Nanos,
    pub(crate) erase: Nanos,
    pub(crate) page: Bytes,
    pub(crate) block: Bytes,
    pub(crate) channel_bytes_per_s: u64,
    pub(crate) reads: ReadOrder,
    pub(crate) buffer: Bytes,
    pub(crate) plp: bool,
    pub(crate) gc: bool,
    pub(crate) start: Start,
    pub(crate) queue: u32,
    pub(crate) link_bytes_per_s: u64,
    pub(crate) duplex: bool,
    pub(crate) command: Nanos,
    pub(crate) write_command: Nanos,
    pub(crate) overhead: Nanos,
}

/// The first drive gives all values; the others give only those that differ.
pub(crate) const KINDS: &[Kind] = &[
    filed("sata-ssd", include_str!("../../catalogue/flash/sata-ssd.toml")),
    filed("nvme-ssd", include_str!("../../catalogue/flash/nvme-ssd.toml")),
];

impl ReadOrder {
    pub(crate) const WORDS: &[(&str, Self)] =
        &[("queued", Self::Queued), ("first", Self::First), ("suspend", Self::Suspend)];
}

impl Start {
    pub(crate) const WORDS: &[(&str, Self)] =
        &[("fresh", Self::Fresh), ("sequential", Self::Sequential), ("random", Self::Random)];
}

pub(crate) const KEYS: &[Setting<FlashSpec>] = &[
    key("size", BY_KIND, "capacity, up to 1TiB; uses 8 bytes of memory per 4 KiB")
        .sets(|it, value| put(&mut it.size, bytes(value))),
    key("op", BY_KIND, "over-provisioning: spare flash as a share of the capacity")
        .sets(|it, value| put(&mut it.op, percentage(value, 1.0, 300.0))),
    key("channels", BY_KIND, "channels between controller and dies")
        .sets(|it, value| put(&mut it.channels, count(value, 1, 64))),
    key("dies", BY_KIND, "total number of dies; each does one operation at a time")
        .sets(|it, value| put(&mut it.dies, count(value, 1, 1_024))),
    key("read", BY_KIND, "time to sense a page").sets(|it, value| put(&mut it.read, nanos(value))),
    key("program", BY_KIND, "time to program a page")
        .sets(|it, value| put(&mut it.program, nanos(value))),
    key("erase", BY_KIND, "time to erase a block")
        .sets(|it, value| put(&mut it.erase, nanos(value))),
    key("page", BY_KIND, "bytes that a die programs at once, on all its planes")
        .sets(|it, value| put(&mut it.page, bytes(value))),
    key("block", BY_KIND, "size of a die's erase block, across all its planes")
        .sets(|it, value| put(&mut it.block, bytes(value))),
    key("channel", BY_KIND, "transfer rate of a channel")
        .sets(|it, value| put(&mut it.channel_bytes_per_s, rate(value))),
    key(
        "reads",
        BY_KIND,
        "order of a die's work: queued, first (reads go before other waiting work), or suspend \
         (reads also interrupt current work)",
    )
    .sets(|it, value| put(&mut it.reads, choice(value, ReadOrder::WORDS))),
    key("buffer", BY_KIND, "write buffer; a write completes when its data is in the buffer")
        .sets(|it, value| put(&mut it.buffer, bytes(value))),
    key(
        "plp",
        BY_KIND,
        "on: the buffer survives a power loss, so durable writes do not wait for the flash",
    )
    .sets(|it, value| put(&mut it.plp, switch(value))),
    key(
        "gc",
        BY_KIND,
        "on: garbage collection also runs while idle; off: only when few blocks are free",
    )
    .sets(|it, value| put(&mut it.gc, switch(value))),
    key(
        "preconditioned",
        BY_KIND,
        "state at time zero: fresh (never written), sequential (written once, in order) or random \
         (overwritten until steady)",
    )
    .sets(|it, value| put(&mut it.start, choice(value, Start::WORDS))),
    key("queue", BY_KIND, "maximum number of commands in the drive; further commands wait outside")
        .sets(|it, value| put(&mut it.queue, count(value, 1, 65_536))),
    key("link", BY_KIND, "transfer rate of the link")
        .sets(|it, value| put(&mut it.link_bytes_per_s, rate(value))),
    key("duplex", BY_KIND, "on: the link carries both directions at the same time")
        .sets(|it, value| put(&mut it.duplex, switch(value))),
    key(
        "command",
        BY_KIND,
        "controller time per read; the controller handles one command at a time",
    )
    .sets(|it, value| put(&mut it.command, nanos(value))),
    key("write-command", BY_KIND, "controller time per write")
        .sets(|it, value| put(&mut it.write_command, nanos(value))),
    key("overhead", BY_KIND, "additional time per command, during which commands overlap")
        .sets(|it, value| put(&mut it.overhead, nanos(value))),
];

/// The keys, with the values of the first drive as defaults.
pub(crate) fn keys_with_defaults() -> Vec<Key> {
    let mut keys = keys::keys(KEYS);
    for entry in KINDS[0].entries() {
        let key = keys.iter_mut().find(|key| key.name == entry.key);
        if let (Some(key), Given::Text(text)) = (key, entry.value) {
            key.default = text;
        }
    }
    keys
}

const SIZES: (u64, u64) = (128 << 20, 1 << 40);
/// Shortest time that can be set; the clock ticks in nanoseconds.
const SHORTEST: Nanos = Nanos(100);
/// Minimum buffer: a piece of a request, and pages that are programmed meanwhile.
const BUFFER_MIN: u64 = 256 << 10;
const BUFFER_PAGES_MIN: u64 = 8;

impl FlashSpec {
    /// Whether the parameters are consistent, once all keys are set; otherwise the key and valid values.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.dies.is_multiple_of(self.channels) {
            return Err(format!(
                "dies={} is not a multiple of channels={}",
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
