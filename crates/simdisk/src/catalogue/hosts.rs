//! Hosts: processors and the CPU cost of a request, PCI and memory.

use super::fields::{Field, Unit, field};
use super::{Model, Parts, model};
use crate::files::CallCosts;

/// A host. Rates are those of a PCI bus and those at which devices write and read memory; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSpec {
    /// 0 if work takes no time.
    pub processors: u32,
    pub costs: CallCosts,
    /// Memory for the file-system cache.
    pub memory_bytes: u64,
    pub xor_per_kib_ns: u64,
    pub pci_in_bytes_per_s: u64,
    /// Lower than the rate inward: adapters read memory more slowly than they write it.
    pub pci_out_bytes_per_s: u64,
    pub memory_in_bytes_per_s: u64,
    pub memory_out_bytes_per_s: u64,
}

pub(crate) static HOSTS: Parts<HostSpec> = Parts { kind: "host", fields: FIELDS, models: &MODELS };

static MODELS: [Model; 5] = [
    model("p6-200", include_str!("../../catalogue/hosts/p6-200.toml")),
    model("p3-733", include_str!("../../catalogue/hosts/p3-733.toml")),
    model("p3-733-ide", include_str!("../../catalogue/hosts/p3-733-ide.toml")),
    model("p3-733-dynamic", include_str!("../../catalogue/hosts/p3-733-dynamic.toml")),
    model("ideal", include_str!("../../catalogue/hosts/ideal.toml")),
];

const FIELDS: &[Field<HostSpec>] = &[
    field("processors", Unit::Count(0, 4_096), |it, value| it.processors = value as u32),
    field("direct read", Unit::Time, |it, value| it.costs.direct_read.fixed_ns = value),
    field("direct read, per KiB", Unit::TimePerKib, |it, value| {
        it.costs.direct_read.per_kib_ns = value;
    }),
    field("direct write", Unit::Time, |it, value| it.costs.direct_write.fixed_ns = value),
    field("direct write, per KiB", Unit::TimePerKib, |it, value| {
        it.costs.direct_write.per_kib_ns = value;
    }),
    field("further transfer", Unit::Time, |it, value| it.costs.extra_transfer_ns = value),
    field("buffered read", Unit::Time, |it, value| it.costs.buffered_read.fixed_ns = value),
    field("buffered read, per KiB", Unit::TimePerKib, |it, value| {
        it.costs.buffered_read.per_kib_ns = value;
    }),
    field("buffered write", Unit::Time, |it, value| it.costs.buffered_write.fixed_ns = value),
    field("buffered write, per KiB", Unit::TimePerKib, |it, value| {
        it.costs.buffered_write.per_kib_ns = value;
    }),
    field("transfer of the cache", Unit::Time, |it, value| it.costs.background_ns = value),
    field("memory", Unit::Bytes(1 << 20, 1 << 47), |it, value| it.memory_bytes = value),
    field("exclusive or, per KiB", Unit::TimePerKib, |it, value| it.xor_per_kib_ns = value),
    field("PCI", Unit::RateOrNone, |it, value| it.pci_in_bytes_per_s = value),
    field("PCI, outward", Unit::RateOrNone, |it, value| it.pci_out_bytes_per_s = value),
    field("memory, outward", Unit::RateOrNone, |it, value| it.memory_out_bytes_per_s = value),
    field("memory, inward", Unit::RateOrNone, |it, value| it.memory_in_bytes_per_s = value),
];
