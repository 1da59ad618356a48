//! Buses. The phase times of a SCSI bus were measured once, by Riedel, with a bus analyser: one
//! request of 64 KB is three arbitrations, five occasions of messages from the drive, one command.

use super::Source::{Assumed, Derived, Fitted, Paper};
use super::{Field, Model, Parts, Rest, Rows, model};
use crate::bus::{
    ARBITRATE, ARBITRATE_WIN, BusSpec, COMMAND, DATA_IN_END, DATA_OUT_END, MESSAGE_IN, MESSAGE_OUT,
    RESELECT, SELECT, SELECT_END, STATUS,
};

const TABLE_4: &str = "Riedel, Table 4, 64 KB, 1 disk: share of the bus x time of a request";
const ULTRA160: &str = "Chung, figure 15, 2 KB, 1 deep: an eighth of the Ultra-Wide time";
const HALF: &str = "half of the Ultra-Wide time";

pub(crate) const BUSES: Parts<BusSpec> = Parts { kind: "bus", fields: FIELDS, models: MODELS };

const MODELS: &[Model] = &[
    model("fast-wide", &[FAST_WIDE]).help("Fast-Wide SCSI, 20 MB/s advertised"),
    model("ultra-wide", &[ULTRA_WIDE, FAST_WIDE]).help("Ultra-Wide SCSI, 40 MB/s advertised"),
    model("fast-narrow", &[FAST_NARROW, FAST_WIDE]).help("Fast narrow SCSI, 10 MB/s advertised"),
    model("ultra160", &[ULTRA_160]).help("Ultra160 SCSI, 160 MB/s advertised"),
    model("ata66", &[ATA_66]).help("IDE channel, UltraATA/66, 66.6 MB/s advertised, one drive"),
    model("friedman", &[FRIEDMAN])
        .help("the path to Friedman's disk, which he does not describe")
        .rest(Rest::As(ULTRA_160, Assumed("as Ultra160"))),
];

const FIELDS: &[Field<BusSpec>] = &[
    ("drives", &[""], |it, value| it.most_drives = value as u32),
    ("Arbitrate", &["ns"], |it, value| it.phase_ns[ARBITRATE] = value),
    ("Arbitrate Win", &["ns"], |it, value| it.phase_ns[ARBITRATE_WIN] = value),
    ("Reselect", &["ns"], |it, value| it.phase_ns[RESELECT] = value),
    ("Select", &["ns"], |it, value| it.phase_ns[SELECT] = value),
    ("(Re)Select End", &["ns"], |it, value| it.phase_ns[SELECT_END] = value),
    ("Message In", &["ns"], |it, value| it.phase_ns[MESSAGE_IN] = value),
    ("Message Out", &["ns"], |it, value| it.phase_ns[MESSAGE_OUT] = value),
    ("Command", &["ns"], |it, value| it.phase_ns[COMMAND] = value),
    ("Data End", &["ns"], |it, value| {
        (it.phase_ns[DATA_IN_END], it.phase_ns[DATA_OUT_END]) = (value, value);
    }),
    ("Status", &["ns"], |it, value| it.phase_ns[STATUS] = value),
    ("rate in", &["B/s"], |it, value| it.in_bytes_per_s = value),
    ("rate out", &["B/s"], |it, value| it.out_bytes_per_s = value),
];

const FAST_WIDE: Rows = &[
    ("drives", 15, Paper("SCSI: 16 addresses, one of them the adapter's")),
    ("Arbitrate", 2_900, Fitted(TABLE_4)),
    ("Arbitrate Win", 1_500, Fitted(TABLE_4)),
    ("Reselect", 1_100, Fitted(TABLE_4)),
    ("Select", 4_400, Fitted(TABLE_4)),
    ("(Re)Select End", 750, Fitted(TABLE_4)),
    ("Message In", 32_500, Fitted(TABLE_4)),
    ("Message Out", 29_500, Fitted(TABLE_4)),
    ("Command", 11_000, Fitted(TABLE_4)),
    ("Data End", 3_500, Fitted(TABLE_4)),
    ("Status", 4_000, Fitted(TABLE_4)),
    ("rate in", 17_940_000, Fitted("Riedel, Table 3: 64 KB less 16 KB, prefetch hits")),
    ("rate out", 17_940_000, Derived("as inward")),
];

const ULTRA_WIDE: Rows = &[
    ("rate in", 34_500_000, Derived("Riedel, Table 4: 26.9 % of the time for 9.2 MB/s")),
    ("rate out", 23_000_000, Fitted("Riedel, figure 13, plateau of aligned writes")),
];

const FAST_NARROW: Rows = &[
    ("drives", 7, Paper("SCSI: 8 addresses, one of them the adapter's")),
    ("rate in", 9_730_000, Fitted("Riedel, Table 3: 64 KB less 16 KB, prefetch hits")),
    ("rate out", 9_730_000, Derived("as inward")),
];

const ULTRA_160: Rows = &[
    ("drives", 15, Paper("Chung, section 1: 15 devices on one string")),
    ("Arbitrate", 1_500, Assumed(HALF)),
    ("Arbitrate Win", 700, Assumed(HALF)),
    ("Reselect", 500, Assumed(HALF)),
    ("Select", 2_000, Assumed(HALF)),
    ("(Re)Select End", 400, Assumed(HALF)),
    ("Message In", 4_000, Fitted(ULTRA160)),
    ("Message Out", 3_700, Fitted(ULTRA160)),
    ("Command", 1_400, Fitted(ULTRA160)),
    ("Data End", 400, Fitted(ULTRA160)),
    ("Status", 500, Fitted(ULTRA160)),
    ("rate in", 160_000_000, Paper("Chung, Table 5")),
    ("rate out", 160_000_000, Paper("Chung, Table 5")),
];

const ATA_66: Rows = &[
    ("drives", 1, Paper("Chung, section 3.3: each drive on its own string")),
    ("Arbitrate", 0, Derived("one drive, one master: there is none")),
    ("Arbitrate Win", 0, Derived("there is none")),
    ("Reselect", 0, Derived("the drive does not disconnect")),
    ("Select", 1_000, Assumed("one register")),
    ("(Re)Select End", 0, Derived("there is none")),
    ("Message In", 0, Derived("there are none")),
    ("Message Out", 0, Derived("there are none")),
    ("Command", 5_000, Assumed("seven registers")),
    ("Data End", 1_000, Assumed("end of a burst")),
    ("Status", 5_000, Assumed("interrupt and one register")),
    ("rate in", 66_600_000, Paper("Chung, Table 5")),
    ("rate out", 66_600_000, Paper("Chung, Table 5")),
];

const FRIEDMAN: Rows = &[
    ("drives", 15, Assumed("SCSI")),
    ("rate in", 50_000_000, Fitted("Friedman, Table 4, 64K sequential read")),
    ("rate out", 50_000_000, Derived("as inward")),
];
