//! Hosts: processors and what a request costs them, PCI and memory.

use super::Source::{Assumed, Derived, Fitted, Paper};
use super::{Field, Model, Parts, Rest, Rows, model};
use crate::files::CallCosts;

/// A host. Rates are those of a PCI bus and those at which devices write and read memory; 0 for one
/// that never binds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSpec {
    /// 0 for work that takes no time.
    pub processors: u32,
    pub costs: CallCosts,
    /// For the file-system cache.
    pub memory_bytes: u64,
    pub xor_per_kib_ns: u64,
    pub pci_bytes_per_s: u64,
    pub memory_in_bytes_per_s: u64,
    pub memory_out_bytes_per_s: u64,
}

pub(crate) const HOSTS: Parts<HostSpec> = Parts { kind: "host", fields: FIELDS, models: MODELS };

const MODELS: &[Model] = &[
    model("p6-200", &[P6_200])
        .help("Gateway G6-200, one Pentium Pro of 200 MHz, NT 4.0 SP3 (Riedel 1997)"),
    model("p3-733", &[P3_733])
        .help("Dell Precision 420, two Pentium III of 733 MHz, Windows 2000 (Chung 2000)"),
    model("p3-733-ide", &[P3_733_IDE, P3_733])
        .help("the same with the driver of the 3ware card (Chung 2000, section 8.3)"),
    model("ideal", &[&[("memory", 1 << 30, Assumed("as systems of today"))]])
        .help("a host whose processors, memory and PCI take no time")
        .rest(Rest::Zero(Assumed("for questions that leave the host out"))),
];

const FIELDS: &[Field<HostSpec>] = &[
    ("processors", &[""], |it, value| it.processors = value as u32),
    ("direct read", &["ns"], |it, value| it.costs.direct_read.fixed_ns = value),
    ("direct read, per KiB", &["ns"], |it, value| it.costs.direct_read.per_kib_ns = value),
    ("direct write", &["ns"], |it, value| it.costs.direct_write.fixed_ns = value),
    ("direct write, per KiB", &["ns"], |it, value| it.costs.direct_write.per_kib_ns = value),
    ("further transfer", &["ns"], |it, value| it.costs.extra_transfer_ns = value),
    ("buffered read", &["ns"], |it, value| it.costs.buffered_read.fixed_ns = value),
    ("buffered read, per KiB", &["ns"], |it, value| it.costs.buffered_read.per_kib_ns = value),
    ("buffered write", &["ns"], |it, value| it.costs.buffered_write.fixed_ns = value),
    ("buffered write, per KiB", &["ns"], |it, value| it.costs.buffered_write.per_kib_ns = value),
    ("transfer of the cache", &["ns"], |it, value| it.costs.background_ns = value),
    ("memory", &["B"], |it, value| it.memory_bytes = value),
    ("exclusive or, per KiB", &["ns"], |it, value| it.xor_per_kib_ns = value),
    ("PCI", &["B/s"], |it, value| it.pci_bytes_per_s = value),
    ("memory, outward", &["B/s"], |it, value| it.memory_out_bytes_per_s = value),
    ("memory, inward", &["B/s"], |it, value| it.memory_in_bytes_per_s = value),
];

const P6_200: Rows = &[
    ("processors", 1, Paper("Riedel, Table 1")),
    ("direct read", 112_000, Fitted("Riedel, figure 4, CPU per request, 2-64 KB")),
    ("direct read, per KiB", 600, Fitted("Riedel, figure 4, CPU per request, 2-64 KB")),
    ("direct write", 112_000, Fitted("Riedel, figure 4, CPU per request, 2-64 KB")),
    ("direct write, per KiB", 500, Fitted("Riedel, figure 4, CPU per request, 2-64 KB")),
    ("further transfer", 30_000, Fitted("Riedel, figure 4, 128 KB against 64 KB")),
    ("buffered read", 60_000, Fitted("Riedel, figure 2, CPU per MB, 2 and 32 KB")),
    ("buffered read, per KiB", 9_750, Fitted("Riedel, figure 2, less the transfers")),
    ("buffered write", 115_000, Fitted("Riedel, figure 2, CPU per MB, 4 and 32 KB")),
    ("buffered write, per KiB", 15_250, Fitted("Riedel, figure 2, less the transfers")),
    ("transfer of the cache", 112_000, Derived("a direct read")),
    ("memory", 64 << 20, Paper("Riedel, Table 1")),
    ("exclusive or, per KiB", 1_300, Fitted("Riedel, figure 17, CPU per MB of writes")),
    ("PCI", 75_500_000, Fitted("Riedel, section 4: 72 MB/s of three adapters")),
    ("memory, outward", 422_000_000, Paper("Riedel, Table 1")),
    ("memory, inward", 422_000_000, Paper("Riedel, Table 1")),
];

const P3_733: Rows = &[
    ("processors", 2, Paper("Chung, Table 5")),
    ("direct read", 50_000, Paper("Chung, Table 11")),
    ("direct read, per KiB", 500, Paper("Chung, Table 11")),
    ("direct write", 50_000, Paper("Chung, Table 11")),
    ("direct write, per KiB", 500, Paper("Chung, Table 11")),
    ("further transfer", 20_000, Assumed("as of the Pentium Pro, by clock")),
    ("buffered read", 12_000, Paper("Chung, Table 11")),
    ("buffered read, per KiB", 5_300, Derived("Chung, Table 11, less the transfers")),
    ("buffered write", 12_000, Paper("Chung, Table 11")),
    ("buffered write, per KiB", 6_300, Derived("Chung, Table 11, less the transfers")),
    ("transfer of the cache", 45_000, Paper("Chung, section 8.2: 45 us per 64 KB")),
    ("memory", 256 << 20, Paper("Chung, Table 5")),
    ("exclusive or, per KiB", 350, Derived("as of the Pentium Pro, by clock")),
    ("PCI", 90_500_000, Fitted("Chung, section 7.4: 87 MB/s of four disks at 64 KB")),
    ("memory, outward", 975_000_000, Paper("Chung, Table 6: read")),
    ("memory, inward", 550_000_000, Paper("Chung, Table 6: write")),
];

const P3_733_IDE: Rows = &[
    ("direct read", 57_000, Paper("Chung, section 8.3")),
    ("direct read, per KiB", 530, Paper("Chung, section 8.3")),
    ("direct write", 57_000, Paper("Chung, section 8.3")),
    ("direct write, per KiB", 420, Paper("Chung, section 8.3")),
    ("PCI", 98_500_000, Paper("Chung, Table 6: PCI bus; the card binds before")),
];
