//! The flash drives as tables of rows with their sources, for the documentation.
//!
//! A row's name is that of its key, so a test can build the drive from the rows and compare it
//! with what the name gives: the table cannot say something that is not simulated. No data sheet prints
//! what is inside a drive. What is assumed lies within what makers publish of TLC flash and its
//! interfaces; what is derived makes the drive as a whole give the figures of its class of data
//! sheet (SATA: 550/520 MB/s, 95,000/90,000 IOPS, 100 us; NVMe on PCIe 3.0 x4: 3.5/3.0 GB/s,
//! 500,000 IOPS and more, 80 to 90 us).

use super::Source::{self, Assumed, Derived};
use super::{Parameter, Part, row};

const SIZE: Source = Assumed("small beside a real drive, so that overwriting it takes seconds");
const OP: Source = Assumed("a GiB of flash for each GB offered: 2^30 over 10^9 is 7 % more");
const PAGE: Source = Assumed("two planes of 16 KiB, as makers of TLC flash publish");
const BLOCK: Source = Assumed("576 such pages; less where the drive is small, erased in less time");
const ERASE: Source = Assumed("3 to 10 ms are published for TLC flash");
const SENSE: Source = Assumed("50 to 80 us are published for TLC flash");
const PLP: Source = Assumed("client drives have no capacitors");
const IDLE: Source = Assumed("any drive uses its idle time");
const START: Source = Assumed("a drive in use: full, as most test files and fills leave it");
const OVERHEAD: Source = Derived("data sheet: time of a random read at depth 1, less its parts");

/// The drives.
pub(super) const FLASH_DRIVES: &[Part] = &[
    Part {
        kind: "flash drive",
        name: "sata-ssd",
        help: "SATA SSD of ordinary specification: 550/520 MB/s, 95k/90k IOPS, 100 us",
        parameters: SATA,
    },
    Part {
        kind: "flash drive",
        name: "nvme-ssd",
        help: "NVMe SSD of ordinary specification, PCIe 3.0 x4: 3.5/3.0 GB/s, 600k IOPS, 85 us",
        parameters: NVME,
    },
];

const SATA: &[Parameter] = &[
    row("size", 32 << 30, "B", SIZE),
    row("op", 7, "%", OP),
    row("channels", 4, "", Assumed("controllers of client drives have 4 or 8")),
    row("dies", 16, "", Assumed("512 GB of 256 Gb dies")),
    row("read", 60_000, "ns", SENSE),
    row("program", 925_000, "ns", Derived("data sheet: 520 MB/s of writes over 16 dies")),
    row("erase", 5_000_000, "ns", ERASE),
    row("page", 32 << 10, "B", PAGE),
    row("block", 18 << 20, "B", BLOCK),
    row("channel", 400_000_000, "B/s", Assumed("400 MT/s of 8 bits: ONFI 3, Toggle 2")),
    row("reads", 1, "first", Assumed("reads before programs, as firmware generally does")),
    row("buffer", 8 << 20, "B", Assumed("a small part of the drive's memory, most holds the map")),
    row("plp", 0, "switch", PLP),
    row("gc", 1, "switch", IDLE),
    row("preconditioned", 1, "sequential", START),
    row("queue", 32, "", Derived("native command queueing: 32 tags")),
    row("link", 550_000_000, "B/s", Derived("SATA 6 Gb/s: 600 MB/s after coding, less framing")),
    row("duplex", 0, "switch", Derived("SATA carries data one way at a time")),
    row("command", 10_500, "ns", Derived("data sheet: 95,000 random reads a second")),
    row("write-command", 11_100, "ns", Derived("data sheet: 90,000 random writes a second")),
    row("overhead", 12_000, "ns", OVERHEAD),
];

const NVME: &[Parameter] = &[
    row("size", 32 << 30, "B", SIZE),
    row("op", 7, "%", OP),
    row("channels", 8, "", Assumed("controllers of this class have 8")),
    row("dies", 64, "", Assumed("1 TB of 128 Gb dies")),
    row("read", 65_000, "ns", SENSE),
    row("program", 658_000, "ns", Derived("data sheet: 3.0 GB/s of writes over 64 dies")),
    row("erase", 5_000_000, "ns", ERASE),
    row("page", 32 << 10, "B", PAGE),
    row("block", 18 << 20, "B", BLOCK),
    row("channel", 800_000_000, "B/s", Assumed("800 MT/s of 8 bits: ONFI 4, Toggle 3")),
    row("reads", 2, "suspend", Assumed("drives of this class suspend programs for reads")),
    row("buffer", 16 << 20, "B", Assumed("a small part of the drive's memory, most holds the map")),
    row("plp", 0, "switch", PLP),
    row("gc", 1, "switch", IDLE),
    row("preconditioned", 1, "sequential", START),
    row("queue", 1_024, "", Assumed("NVMe allows 65,535 per queue; drivers use 1,023 or so")),
    row(
        "link",
        3_500_000_000,
        "B/s",
        Derived("PCIe 3.0 x4: 3.94 GB/s after coding, less packet headers"),
    ),
    row("duplex", 1, "switch", Derived("PCI Express has wires for each direction")),
    row("command", 1_600, "ns", Derived("data sheet: 600,000 random reads a second")),
    row("write-command", 1_800, "ns", Derived("data sheet: 550,000 random writes a second")),
    row("overhead", 12_000, "ns", OVERHEAD),
];
