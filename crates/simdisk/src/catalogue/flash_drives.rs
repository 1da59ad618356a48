//! Where the parameters of the flash drives come from, for the documentation; their values are
//! the defaults of their keys.
//!
//! No data sheet prints what is inside a drive. What is assumed lies within what makers publish of
//! TLC flash and its interfaces; what is derived makes the drive as a whole give the figures of its
//! class of data sheet (SATA: 550/520 MB/s, 95,000/90,000 IOPS, 100 us; NVMe on PCIe 3.0 x4:
//! 3.5/3.0 GB/s, 500,000 IOPS and more, 80 to 90 us).

use super::Source::{self, Assumed, Derived};
use super::{Parameter, Part};
use crate::flash::{self, ReadOrder, Start};
use record::{Bytes, Nanos};

/// By key.
type Sources = &'static [(&'static str, Source)];

/// The drives.
pub(super) fn parts() -> impl Iterator<Item = Part> {
    flash::KINDS.iter().zip([&[SATA][..], &[NVME, SATA]]).map(|(kind, sources)| Part {
        kind: "flash drive",
        name: kind.name,
        help: kind.help,
        parameters: crate::keys::keys(flash::KEYS)
            .into_iter()
            .filter_map(|key| {
                let own = kind.defaults.iter().find(|(name, _)| *name == key.name);
                let (value, unit) = measured(own.map_or(key.default, |(_, text)| text));
                let of = |list: &Sources| list.iter().find(|(name, _)| *name == key.name);
                let (name, source) = *sources.iter().find_map(of)?;
                Some(Parameter { name, value, unit, source })
            })
            .collect(),
    })
}

/// The value of a key in its unit; of a choice its place and its word.
fn measured(text: &'static str) -> (u64, &'static str) {
    let number = |text: &str| text.parse::<u64>().ok();
    let bytes = |text: &str| text.parse::<Bytes>().ok().map(|bytes| bytes.0);
    let nanos = text.parse::<Nanos>().ok().map(|nanos| nanos.0);
    let order = ReadOrder::WORDS.iter().map(|(name, _)| *name).position(|it| it == text);
    let start = Start::WORDS.iter().map(|(name, _)| *name).position(|it| it == text);
    number(text)
        .map(|value| (value, ""))
        .or_else(|| text.strip_suffix('%').and_then(number).map(|value| (value, "%")))
        .or_else(|| text.strip_suffix("/s").and_then(bytes).map(|value| (value, "B/s")))
        .or_else(|| nanos.map(|value| (value, "ns")))
        .or_else(|| bytes(text).map(|value| (value, "B")))
        .or_else(|| order.or(start).map(|place| (place as u64, text)))
        .unwrap_or((u64::from(text == "on"), "switch"))
}

const SATA: Sources = &[
    ("size", Assumed("small beside a real drive, so that overwriting it takes seconds")),
    ("op", Assumed("a GiB of flash for each GB offered: 2^30 over 10^9 is 7 % more")),
    ("channels", Assumed("controllers of client drives have 4 or 8")),
    ("dies", Assumed("512 GB of 256 Gb dies")),
    ("read", Assumed("50 to 80 us are published for TLC flash")),
    ("program", Derived("data sheet: 520 MB/s of writes over 16 dies")),
    ("erase", Assumed("3 to 10 ms are published for TLC flash")),
    ("page", Assumed("two planes of 16 KiB, as makers of TLC flash publish")),
    ("block", Assumed("576 such pages; less where the drive is small, erased in less time")),
    ("channel", Assumed("400 MT/s of 8 bits: ONFI 3, Toggle 2")),
    ("reads", Assumed("reads before programs, as firmware generally does")),
    ("buffer", Assumed("a small part of the drive's memory, most holds the map")),
    ("plp", Assumed("client drives have no capacitors")),
    ("gc", Assumed("any drive uses its idle time")),
    ("preconditioned", Assumed("a drive in use: full, as most test files and fills leave it")),
    ("queue", Derived("native command queueing: 32 tags")),
    ("link", Derived("SATA 6 Gb/s: 600 MB/s after coding, less framing")),
    ("duplex", Derived("SATA carries data one way at a time")),
    ("command", Derived("data sheet: 95,000 random reads a second")),
    ("write-command", Derived("data sheet: 90,000 random writes a second")),
    ("overhead", Derived("data sheet: time of a random read at depth 1, less its parts")),
];

const NVME: Sources = &[
    ("channels", Assumed("controllers of this class have 8")),
    ("dies", Assumed("1 TB of 128 Gb dies")),
    ("program", Derived("data sheet: 3.0 GB/s of writes over 64 dies")),
    ("channel", Assumed("800 MT/s of 8 bits: ONFI 4, Toggle 3")),
    ("reads", Assumed("drives of this class suspend programs for reads")),
    ("queue", Assumed("NVMe allows 65,535 per queue; drivers use 1,023 or so")),
    ("link", Derived("PCIe 3.0 x4: 3.94 GB/s after coding, less packet headers")),
    ("duplex", Derived("PCI Express has wires for each direction")),
    ("command", Derived("data sheet: 600,000 random reads a second")),
    ("write-command", Derived("data sheet: 550,000 random writes a second")),
];
