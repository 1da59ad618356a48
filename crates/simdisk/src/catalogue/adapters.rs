//! Adapters between buses and PCI.

use super::Source::{Assumed, Derived, Fitted, Paper};
use super::{Field, Model, Parts, Rows, model};

/// An adapter between buses and PCI: rates from and to the drives, 0 for one that never binds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdapterSpec {
    /// Buses or channels on one.
    pub channels: u32,
    pub in_bytes_per_s: u64,
    pub out_bytes_per_s: u64,
    /// Its processor, per command.
    pub command_ns: u64,
    pub xor_per_kib_ns: u64,
}

pub(crate) const ADAPTERS: Parts<AdapterSpec> =
    Parts { kind: "adapter", fields: FIELDS, models: MODELS };

const MODELS: &[Model] = &[
    model("aha2940", &[AHA2940]).help("Adaptec 2940UW, one bus"),
    model("aic160", &[AIC160, AHA2940]).help("Adaptec AIC Ultra160"),
    model("3w5400", &[W5400]).help("3ware 3W-5400, four IDE channels"),
    model("3w6800", &[W6800]).help("3ware 3W-6800, eight IDE channels"),
];

const FIELDS: &[Field<AdapterSpec>] = &[
    ("channels", &[""], |it, value| it.channels = value as u32),
    ("rate in", &["B/s"], |it, value| it.in_bytes_per_s = value),
    ("rate out", &["B/s"], |it, value| it.out_bytes_per_s = value),
    ("command", &["ns"], |it, value| it.command_ns = value),
    ("exclusive or, per KiB", &["ns"], |it, value| it.xor_per_kib_ns = value),
];

const AHA2940: Rows = &[
    ("channels", 1, Paper("Riedel, section 4: an adapter per bus")),
    ("rate in", 0, Assumed("never binds: the bus does")),
    ("rate out", 0, Assumed("in the rate of the bus, with which it was measured")),
    ("command", 0, Assumed("in the phases of the bus")),
    ("exclusive or, per KiB", 20_000, Assumed("50 MB/s, as controllers of its time")),
];

const AIC160: Rows = &[
    ("channels", 1, Paper("Chung, Table 5")),
    ("rate in", 0, Paper("Chung, section 3.2: PCI binds")),
    ("rate out", 50_000_000, Paper("Chung, Table 6: 50 MB/s of writes")),
];

const W5400: Rows = &[
    ("channels", 4, Paper("Chung, section 3.3")),
    ("rate in", 58_900_000, Paper("Chung, Table 6")),
    ("rate out", 40_000_000, Paper("Chung, Table 6")),
    ("command", 300_000, Fitted("Chung, figure 26: disk speed from 8 KB on, 2 deep")),
    ("exclusive or, per KiB", 20_000, Derived("it has no RAID 5; as the others")),
];

const W6800: Rows = &[
    ("channels", 8, Paper("Chung, section 3.3")),
    ("rate in", 101_000_000, Paper("Chung, Table 6")),
    ("rate out", 85_000_000, Paper("Chung, Table 6")),
    ("command", 60_000, Assumed("a fifth of the 3W-5400's: no figure shows it")),
    ("exclusive or, per KiB", 20_000, Derived("as the others")),
];
