//! Drives: the disks of Riedel, van Ingen and Gray 1997, of Chung, Gray, Worthington and Horst
//! 2000, and of Friedman.
//!
//! The papers print the media rate as the manufacturer does, which counts everything on a track. The rate
//! that a request sees is lower, for two reasons. The rows here exclude the codes and gaps between sectors,
//! and the geometry adds the skew between tracks.

use super::fields::{Field, Unit, field};
use super::{Model, Parts, model};
use crate::drive::{DriveSpec, Order};

pub(crate) static DRIVES: Parts<DriveSpec> =
    Parts { kind: "drive", fields: FIELDS, models: &MODELS };

static MODELS: [Model; 6] = [
    model("st15150w", include_str!("../../catalogue/drives/st15150w.toml")),
    model("st34371w", include_str!("../../catalogue/drives/st34371w.toml")),
    model("st15150n", include_str!("../../catalogue/drives/st15150n.toml")),
    model("atlas10k", include_str!("../../catalogue/drives/atlas10k.toml")),
    model("fireball", include_str!("../../catalogue/drives/fireball.toml")),
    model("friedman10k", include_str!("../../catalogue/drives/friedman10k.toml")),
];

const FIELDS: &[Field<DriveSpec>] = &[
    field("capacity", Unit::Bytes(1 << 20, 1 << 47), |it, value| it.capacity_bytes = value),
    field("speed", Unit::Speed(600, 100_000), |it, value| it.rpm = value as u32),
    field("heads", Unit::Count(1, 1_024), |it, value| it.heads = value as u32),
    field("zones", Unit::Count(1, 1_024), |it, value| it.zones = value as u32),
    field("media rate, outermost track", Unit::Rate, |it, value| it.outer_bytes_per_s = value),
    field("media rate, innermost track", Unit::Rate, |it, value| it.inner_bytes_per_s = value),
    field("head switch", Unit::Time, |it, value| it.head_switch_ns = value),
    field("cylinder switch", Unit::Time, |it, value| it.cylinder_switch_ns = value),
    field("seek, next cylinder", Unit::Time, |it, value| it.track_seek_ns = value),
    field("seek, average", Unit::Time, |it, value| it.average_seek_ns = value),
    field("seek, full stroke", Unit::TimeOrNone, |it, value| it.full_seek_ns = value),
    field("settling", Unit::Time, |it, value| it.settle_ns = value),
    field("read segments", Unit::Count(1, 4_096), |it, value| it.segments = value as u32),
    field("read segment", Unit::Bytes(512, 1 << 40), |it, value| it.segment_bytes = value),
    field("write buffer", Unit::Bytes(512, 1 << 40), |it, value| it.write_buffer_bytes = value),
    field("write runs", Unit::Count(1, 65_536), |it, value| it.write_runs = value as u32),
    field("burst", Unit::Bytes(512, 1 << 40), |it, value| it.burst_bytes = value),
    field("finds what it sent", Unit::Switch, |it, value| it.rereads = value != 0),
    field("finding it", Unit::Time, |it, value| it.reread_ns = value),
    field("writes on arrival", Unit::Switch, |it, value| it.write_on_arrival = value != 0),
    field("writes miss the skew of cylinders", Unit::Switch, |it, value| {
        it.write_misses_skew = value != 0;
    }),
    field("overlaps writes", Unit::Switch, |it, value| it.overlaps_writes = value != 0),
    field("order", Unit::Choice(&["arrival", "elevator", "soonest"]), |it, value| {
        it.order = [Order::Arrival, Order::Elevator, Order::Soonest][value as usize];
    }),
    field("window", Unit::Count(1, 65_536), |it, value| it.window = value as u32),
    field("commands at once", Unit::Count(1, 65_536), |it, value| it.tags = value as u32),
    field("firmware, command", Unit::Time, |it, value| it.command_ns = value),
    field("firmware, command to write", Unit::Time, |it, value| it.write_command_ns = value),
    field("firmware, command among others", Unit::Time, |it, value| it.queued_ns = value),
    field("firmware, first after another drive", Unit::Time, |it, value| it.wake_ns = value),
    field("firmware, end", Unit::Time, |it, value| it.after_ns = value),
    field("firmware, write-through", Unit::Time, |it, value| it.write_through_ns = value),
];
