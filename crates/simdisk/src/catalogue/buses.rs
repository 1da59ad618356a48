//! Buses. Riedel measured the phase times of a SCSI bus once, with a bus analyser: one request of 64 KB
//! takes three arbitrations, five groups of messages from the drive, and one command.

use super::fields::{Field, Unit, field};
use super::{Model, Parts, model};
use crate::bus::{
    ARBITRATE, ARBITRATE_WIN, BusSpec, COMMAND, DATA_IN_END, DATA_OUT_END, MESSAGE_IN, MESSAGE_OUT,
    RESELECT, SELECT, SELECT_END, STATUS,
};

pub(crate) static BUSES: Parts<BusSpec> = Parts { kind: "bus", fields: FIELDS, models: &MODELS };

static MODELS: [Model; 6] = [
    model("fast-wide", include_str!("../../catalogue/buses/fast-wide.toml")),
    model("ultra-wide", include_str!("../../catalogue/buses/ultra-wide.toml")),
    model("fast-narrow", include_str!("../../catalogue/buses/fast-narrow.toml")),
    model("ultra160", include_str!("../../catalogue/buses/ultra160.toml")),
    model("ata66", include_str!("../../catalogue/buses/ata66.toml")),
    model("friedman", include_str!("../../catalogue/buses/friedman.toml")),
];

const FIELDS: &[Field<BusSpec>] = &[
    field("drives", Unit::Count(1, 4_096), |it, value| it.most_drives = value as u32),
    field("Arbitrate", Unit::Time, |it, value| it.phase_ns[ARBITRATE] = value),
    field("Arbitrate Win", Unit::Time, |it, value| it.phase_ns[ARBITRATE_WIN] = value),
    field("Reselect", Unit::Time, |it, value| it.phase_ns[RESELECT] = value),
    field("Select", Unit::Time, |it, value| it.phase_ns[SELECT] = value),
    field("(Re)Select End", Unit::Time, |it, value| it.phase_ns[SELECT_END] = value),
    field("Message In", Unit::Time, |it, value| it.phase_ns[MESSAGE_IN] = value),
    field("Message Out", Unit::Time, |it, value| it.phase_ns[MESSAGE_OUT] = value),
    field("Command", Unit::Time, |it, value| it.phase_ns[COMMAND] = value),
    field("Data End", Unit::Time, |it, value| {
        (it.phase_ns[DATA_IN_END], it.phase_ns[DATA_OUT_END]) = (value, value);
    }),
    field("Status", Unit::Time, |it, value| it.phase_ns[STATUS] = value),
    field("rate in", Unit::Rate, |it, value| it.in_bytes_per_s = value),
    field("rate out", Unit::Rate, |it, value| it.out_bytes_per_s = value),
];
