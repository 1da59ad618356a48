//! Adapters between buses and PCI.

use super::Source::{Assumed, Derived, Fitted, Paper};
use super::{Parameter, Part, row};

/// The adapters.
pub(super) const ADAPTERS: &[Part] = &[
    Part { kind: "adapter", name: "aha2940", help: "Adaptec 2940UW, one bus", parameters: AHA2940 },
    Part { kind: "adapter", name: "aic160", help: "Adaptec AIC Ultra160", parameters: AIC160 },
    Part {
        kind: "adapter",
        name: "3w5400",
        help: "3ware 3W-5400, four IDE channels",
        parameters: W5400,
    },
    Part {
        kind: "adapter",
        name: "3w6800",
        help: "3ware 3W-6800, eight IDE channels",
        parameters: W6800,
    },
];

const AHA2940: &[Parameter] = &[
    row("channels", 1, "", Paper("Riedel, section 4: an adapter per bus")),
    row("rate in", 0, "B/s", Assumed("never binds: the bus does")),
    row("rate out", 0, "B/s", Assumed("in the rate of the bus, with which it was measured")),
    row("command", 0, "ns", Assumed("in the phases of the bus")),
    row("exclusive or, per KiB", 20_000, "ns", Assumed("50 MB/s, as controllers of its time")),
];

const AIC160: &[Parameter] = &[
    row("channels", 1, "", Paper("Chung, Table 5")),
    row("rate in", 0, "B/s", Paper("Chung, section 3.2: PCI binds")),
    row("rate out", 50_000_000, "B/s", Paper("Chung, Table 6: 50 MB/s of writes")),
    row("command", 0, "ns", Assumed("in the phases of the bus")),
    row("exclusive or, per KiB", 20_000, "ns", Assumed("50 MB/s, as controllers of its time")),
];

const W5400: &[Parameter] = &[
    row("channels", 4, "", Paper("Chung, section 3.3")),
    row("rate in", 58_900_000, "B/s", Paper("Chung, Table 6")),
    row("rate out", 40_000_000, "B/s", Paper("Chung, Table 6")),
    row("command", 300_000, "ns", Fitted("Chung, figure 26: disk speed from 8 KB on, 2 deep")),
    row("exclusive or, per KiB", 20_000, "ns", Derived("it has no RAID 5; as the others")),
];

const W6800: &[Parameter] = &[
    row("channels", 8, "", Paper("Chung, section 3.3")),
    row("rate in", 101_000_000, "B/s", Paper("Chung, Table 6")),
    row("rate out", 85_000_000, "B/s", Paper("Chung, Table 6")),
    row("command", 60_000, "ns", Assumed("a fifth of the 3W-5400's: no figure shows it")),
    row("exclusive or, per KiB", 20_000, "ns", Derived("as the others")),
];
