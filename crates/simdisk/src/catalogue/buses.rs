//! Buses. The phase times of a SCSI bus were measured once, by Riedel, with a bus analyser: one
//! request of 64 KB is three arbitrations, five occasions of messages from the drive, one command.

use super::Source::{Assumed, Derived, Fitted, Paper};
use super::{Parameter, Part, row};

const TABLE_4: &str = "Riedel, Table 4, 64 KB, 1 disk: share of the bus x time of a request";
const ULTRA160: &str = "Chung, figure 15, 2 KB, 1 deep: an eighth of the Ultra-Wide time";

/// The buses.
pub(super) const BUSES: &[Part] = &[
    Part {
        kind: "bus",
        name: "fast-wide",
        help: "Fast-Wide SCSI, 20 MB/s advertised",
        parameters: FAST_WIDE,
    },
    Part {
        kind: "bus",
        name: "ultra-wide",
        help: "Ultra-Wide SCSI, 40 MB/s advertised",
        parameters: ULTRA_WIDE,
    },
    Part {
        kind: "bus",
        name: "fast-narrow",
        help: "Fast narrow SCSI, 10 MB/s advertised",
        parameters: FAST_NARROW,
    },
    Part {
        kind: "bus",
        name: "ultra160",
        help: "Ultra160 SCSI, 160 MB/s advertised",
        parameters: ULTRA_160,
    },
    Part {
        kind: "bus",
        name: "ata66",
        help: "IDE channel, UltraATA/66, 66.6 MB/s advertised, one drive",
        parameters: ATA_66,
    },
    Part {
        kind: "bus",
        name: "friedman",
        help: "the path to Friedman's disk, which he does not describe",
        parameters: FRIEDMAN,
    },
];

const FAST_WIDE: &[Parameter] = &[
    row("drives", 15, "", Paper("SCSI: 16 addresses, one of them the adapter's")),
    row("Arbitrate", 2_900, "ns", Fitted(TABLE_4)),
    row("Arbitrate Win", 1_500, "ns", Fitted(TABLE_4)),
    row("Reselect", 1_100, "ns", Fitted(TABLE_4)),
    row("Select", 4_400, "ns", Fitted(TABLE_4)),
    row("(Re)Select End", 750, "ns", Fitted(TABLE_4)),
    row("Message In", 32_500, "ns", Fitted(TABLE_4)),
    row("Message Out", 29_500, "ns", Fitted(TABLE_4)),
    row("Command", 11_000, "ns", Fitted(TABLE_4)),
    row("Data End", 3_500, "ns", Fitted(TABLE_4)),
    row("Status", 4_000, "ns", Fitted(TABLE_4)),
    row("rate in", 17_940_000, "B/s", Fitted("Riedel, Table 3: 64 KB less 16 KB, prefetch hits")),
    row("rate out", 17_940_000, "B/s", Derived("as inward")),
];

const ULTRA_WIDE: &[Parameter] = &[
    row("drives", 15, "", Paper("SCSI: 16 addresses, one of them the adapter's")),
    row("Arbitrate", 2_900, "ns", Fitted(TABLE_4)),
    row("Arbitrate Win", 1_500, "ns", Fitted(TABLE_4)),
    row("Reselect", 1_100, "ns", Fitted(TABLE_4)),
    row("Select", 4_400, "ns", Fitted(TABLE_4)),
    row("(Re)Select End", 750, "ns", Fitted(TABLE_4)),
    row("Message In", 32_500, "ns", Fitted(TABLE_4)),
    row("Message Out", 29_500, "ns", Fitted(TABLE_4)),
    row("Command", 11_000, "ns", Fitted(TABLE_4)),
    row("Data End", 3_500, "ns", Fitted(TABLE_4)),
    row("Status", 4_000, "ns", Fitted(TABLE_4)),
    row("rate in", 34_500_000, "B/s", Derived("Riedel, Table 4: 26.9 % of the time for 9.2 MB/s")),
    row("rate out", 23_000_000, "B/s", Fitted("Riedel, figure 13, plateau of aligned writes")),
];

const FAST_NARROW: &[Parameter] = &[
    row("drives", 7, "", Paper("SCSI: 8 addresses, one of them the adapter's")),
    row("Arbitrate", 2_900, "ns", Fitted(TABLE_4)),
    row("Arbitrate Win", 1_500, "ns", Fitted(TABLE_4)),
    row("Reselect", 1_100, "ns", Fitted(TABLE_4)),
    row("Select", 4_400, "ns", Fitted(TABLE_4)),
    row("(Re)Select End", 750, "ns", Fitted(TABLE_4)),
    row("Message In", 32_500, "ns", Fitted(TABLE_4)),
    row("Message Out", 29_500, "ns", Fitted(TABLE_4)),
    row("Command", 11_000, "ns", Fitted(TABLE_4)),
    row("Data End", 3_500, "ns", Fitted(TABLE_4)),
    row("Status", 4_000, "ns", Fitted(TABLE_4)),
    row("rate in", 9_730_000, "B/s", Fitted("Riedel, Table 3: 64 KB less 16 KB, prefetch hits")),
    row("rate out", 9_730_000, "B/s", Derived("as inward")),
];

const ULTRA_160: &[Parameter] = &[
    row("drives", 15, "", Paper("Chung, section 1: 15 devices on one string")),
    row("Arbitrate", 1_500, "ns", Assumed("half of the Ultra-Wide time")),
    row("Arbitrate Win", 700, "ns", Assumed("half of the Ultra-Wide time")),
    row("Reselect", 500, "ns", Assumed("half of the Ultra-Wide time")),
    row("Select", 2_000, "ns", Assumed("half of the Ultra-Wide time")),
    row("(Re)Select End", 400, "ns", Assumed("half of the Ultra-Wide time")),
    row("Message In", 4_000, "ns", Fitted(ULTRA160)),
    row("Message Out", 3_700, "ns", Fitted(ULTRA160)),
    row("Command", 1_400, "ns", Fitted(ULTRA160)),
    row("Data End", 400, "ns", Fitted(ULTRA160)),
    row("Status", 500, "ns", Fitted(ULTRA160)),
    row("rate in", 160_000_000, "B/s", Paper("Chung, Table 5")),
    row("rate out", 160_000_000, "B/s", Paper("Chung, Table 5")),
];

const ATA_66: &[Parameter] = &[
    row("drives", 1, "", Paper("Chung, section 3.3: each drive on its own string")),
    row("Arbitrate", 0, "ns", Derived("one drive, one master: there is none")),
    row("Arbitrate Win", 0, "ns", Derived("there is none")),
    row("Reselect", 0, "ns", Derived("the drive does not disconnect")),
    row("Select", 1_000, "ns", Assumed("one register")),
    row("(Re)Select End", 0, "ns", Derived("there is none")),
    row("Message In", 0, "ns", Derived("there are none")),
    row("Message Out", 0, "ns", Derived("there are none")),
    row("Command", 5_000, "ns", Assumed("seven registers")),
    row("Data End", 1_000, "ns", Assumed("end of a burst")),
    row("Status", 5_000, "ns", Assumed("interrupt and one register")),
    row("rate in", 66_600_000, "B/s", Paper("Chung, Table 5")),
    row("rate out", 66_600_000, "B/s", Paper("Chung, Table 5")),
];

const FRIEDMAN: &[Parameter] = &[
    row("drives", 15, "", Assumed("SCSI")),
    row("Arbitrate", 1_500, "ns", Assumed("as Ultra160")),
    row("Arbitrate Win", 700, "ns", Assumed("as Ultra160")),
    row("Reselect", 500, "ns", Assumed("as Ultra160")),
    row("Select", 2_000, "ns", Assumed("as Ultra160")),
    row("(Re)Select End", 400, "ns", Assumed("as Ultra160")),
    row("Message In", 4_000, "ns", Assumed("as Ultra160")),
    row("Message Out", 3_700, "ns", Assumed("as Ultra160")),
    row("Command", 1_400, "ns", Assumed("as Ultra160")),
    row("Data End", 400, "ns", Assumed("as Ultra160")),
    row("Status", 500, "ns", Assumed("as Ultra160")),
    row("rate in", 50_000_000, "B/s", Fitted("Friedman, Table 4, 64K sequential read")),
    row("rate out", 50_000_000, "B/s", Derived("as inward")),
];
