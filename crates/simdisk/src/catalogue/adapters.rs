//! Adapters between buses and PCI.

use super::fields::{Field, Unit, field};
use super::{Model, Parts, model};

/// An adapter between buses and PCI. Rates are from and to the drives; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdapterSpec {
    /// Buses or channels per adapter.
    pub channels: u32,
    pub in_bytes_per_s: u64,
    pub out_bytes_per_s: u64,
    /// Time of its processor per command.
    pub command_ns: u64,
    pub xor_per_kib_ns: u64,
}

pub(crate) static ADAPTERS: Parts<AdapterSpec> =
    Parts { kind: "adapter", fields: FIELDS, models: &MODELS };

static MODELS: [Model; 5] = [
    model("none", include_str!("../../catalogue/adapters/none.toml")),
    model("aha2940", include_str!("../../catalogue/adapters/aha2940.toml")),
    model("aic160", include_str!("../../catalogue/adapters/aic160.toml")),
    model("3w5400", include_str!("../../catalogue/adapters/3w5400.toml")),
    model("3w6800", include_str!("../../catalogue/adapters/3w6800.toml")),
];

const FIELDS: &[Field<AdapterSpec>] = &[
    field("channels", Unit::Count(1, 4_096), |it, value| it.channels = value as u32),
    field("rate in", Unit::RateOrNone, |it, value| it.in_bytes_per_s = value),
    field("rate out", Unit::RateOrNone, |it, value| it.out_bytes_per_s = value),
    field("command", Unit::Time, |it, value| it.command_ns = value),
    field("exclusive or, per KiB", Unit::TimePerKib, |it, value| it.xor_per_kib_ns = value),
];
