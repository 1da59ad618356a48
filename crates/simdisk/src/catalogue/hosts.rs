//! Hosts: processors and what a request costs them, PCI and memory.

use super::Source::{Assumed, Derived, Fitted, Paper};
use super::{Parameter, Part, row};

const OURS: &str = "for questions that leave the host out";

/// The hosts.
pub(super) const HOSTS: &[Part] = &[
    Part {
        kind: "host",
        name: "p6-200",
        help: "Gateway G6-200, one Pentium Pro of 200 MHz, NT 4.0 SP3 (Riedel 1997)",
        parameters: P6_200,
    },
    Part {
        kind: "host",
        name: "p3-733",
        help: "Dell Precision 420, two Pentium III of 733 MHz, Windows 2000 (Chung 2000)",
        parameters: P3_733,
    },
    Part {
        kind: "host",
        name: "p3-733-ide",
        help: "the same with the driver of the 3ware card (Chung 2000, section 8.3)",
        parameters: P3_733_IDE,
    },
    Part {
        kind: "host",
        name: "ideal",
        help: "a host whose processors, memory and PCI take no time",
        parameters: IDEAL,
    },
];

const P6_200: &[Parameter] = &[
    row("processors", 1, "", Paper("Riedel, Table 1")),
    row("direct read", 112_000, "ns", Fitted("Riedel, figure 4, CPU per request, 2-64 KB")),
    row("direct read, per KiB", 600, "ns", Fitted("Riedel, figure 4, CPU per request, 2-64 KB")),
    row("direct write", 112_000, "ns", Fitted("Riedel, figure 4, CPU per request, 2-64 KB")),
    row("direct write, per KiB", 500, "ns", Fitted("Riedel, figure 4, CPU per request, 2-64 KB")),
    row("further transfer", 30_000, "ns", Fitted("Riedel, figure 4, 128 KB against 64 KB")),
    row("buffered read", 60_000, "ns", Fitted("Riedel, figure 2, CPU per MB, 2 and 32 KB")),
    row("buffered read, per KiB", 9_750, "ns", Fitted("Riedel, figure 2, less the transfers")),
    row("buffered write", 115_000, "ns", Fitted("Riedel, figure 2, CPU per MB, 4 and 32 KB")),
    row("buffered write, per KiB", 15_250, "ns", Fitted("Riedel, figure 2, less the transfers")),
    row("transfer of the cache", 112_000, "ns", Derived("a direct read")),
    row("memory", 64 << 20, "B", Paper("Riedel, Table 1")),
    row("exclusive or, per KiB", 1_300, "ns", Fitted("Riedel, figure 17, CPU per MB of writes")),
    row("PCI", 75_500_000, "B/s", Fitted("Riedel, section 4: 72 MB/s of three adapters")),
    row("memory, outward", 422_000_000, "B/s", Paper("Riedel, Table 1")),
    row("memory, inward", 422_000_000, "B/s", Paper("Riedel, Table 1")),
];

const P3_733: &[Parameter] = &[
    row("processors", 2, "", Paper("Chung, Table 5")),
    row("direct read", 50_000, "ns", Paper("Chung, Table 11")),
    row("direct read, per KiB", 500, "ns", Paper("Chung, Table 11")),
    row("direct write", 50_000, "ns", Paper("Chung, Table 11")),
    row("direct write, per KiB", 500, "ns", Paper("Chung, Table 11")),
    row("further transfer", 20_000, "ns", Assumed("as of the Pentium Pro, by clock")),
    row("buffered read", 12_000, "ns", Paper("Chung, Table 11")),
    row("buffered read, per KiB", 5_300, "ns", Derived("Chung, Table 11, less the transfers")),
    row("buffered write", 12_000, "ns", Paper("Chung, Table 11")),
    row("buffered write, per KiB", 6_300, "ns", Derived("Chung, Table 11, less the transfers")),
    row("transfer of the cache", 45_000, "ns", Paper("Chung, section 8.2: 45 us per 64 KB")),
    row("memory", 256 << 20, "B", Paper("Chung, Table 5")),
    row("exclusive or, per KiB", 350, "ns", Derived("as of the Pentium Pro, by clock")),
    row("PCI", 90_500_000, "B/s", Fitted("Chung, section 7.4: 87 MB/s of four disks at 64 KB")),
    row("memory, outward", 975_000_000, "B/s", Paper("Chung, Table 6: read")),
    row("memory, inward", 550_000_000, "B/s", Paper("Chung, Table 6: write")),
];

const P3_733_IDE: &[Parameter] = &[
    row("processors", 2, "", Paper("Chung, Table 5")),
    row("direct read", 57_000, "ns", Paper("Chung, section 8.3")),
    row("direct read, per KiB", 530, "ns", Paper("Chung, section 8.3")),
    row("direct write", 57_000, "ns", Paper("Chung, section 8.3")),
    row("direct write, per KiB", 420, "ns", Paper("Chung, section 8.3")),
    row("further transfer", 20_000, "ns", Assumed("as of the Pentium Pro, by clock")),
    row("buffered read", 12_000, "ns", Paper("Chung, Table 11")),
    row("buffered read, per KiB", 5_300, "ns", Derived("Chung, Table 11, less the transfers")),
    row("buffered write", 12_000, "ns", Paper("Chung, Table 11")),
    row("buffered write, per KiB", 6_300, "ns", Derived("Chung, Table 11, less the transfers")),
    row("transfer of the cache", 45_000, "ns", Paper("Chung, section 8.2: 45 us per 64 KB")),
    row("memory", 256 << 20, "B", Paper("Chung, Table 5")),
    row("exclusive or, per KiB", 350, "ns", Derived("as of the Pentium Pro, by clock")),
    row("PCI", 98_500_000, "B/s", Paper("Chung, Table 6: PCI bus; the card binds before")),
    row("memory, outward", 975_000_000, "B/s", Paper("Chung, Table 6: read")),
    row("memory, inward", 550_000_000, "B/s", Paper("Chung, Table 6: write")),
];

const IDEAL: &[Parameter] = &[
    row("processors", 0, "", Assumed(OURS)),
    row("direct read", 0, "ns", Assumed(OURS)),
    row("direct read, per KiB", 0, "ns", Assumed(OURS)),
    row("direct write", 0, "ns", Assumed(OURS)),
    row("direct write, per KiB", 0, "ns", Assumed(OURS)),
    row("further transfer", 0, "ns", Assumed(OURS)),
    row("buffered read", 0, "ns", Assumed(OURS)),
    row("buffered read, per KiB", 0, "ns", Assumed(OURS)),
    row("buffered write", 0, "ns", Assumed(OURS)),
    row("buffered write, per KiB", 0, "ns", Assumed(OURS)),
    row("transfer of the cache", 0, "ns", Assumed(OURS)),
    row("memory", 1 << 30, "B", Assumed("as systems of today")),
    row("exclusive or, per KiB", 0, "ns", Assumed(OURS)),
    row("PCI", 0, "B/s", Assumed(OURS)),
    row("memory, outward", 0, "B/s", Assumed(OURS)),
    row("memory, inward", 0, "B/s", Assumed(OURS)),
];
