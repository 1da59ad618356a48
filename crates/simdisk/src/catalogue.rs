//! The parts that are known: every number of a drive, bus, adapter or host, with its source.
//!
//! A part is a table of rows, and the rows are all that it is made of: the same row sets the value
//! that is simulated and prints the line of the documentation, so that neither can say something
//! that the other does not. A source is a table of a paper, a derivation from one, an assumption
//! where the papers are silent and the published figures hardly depend on it, or a fit on one named
//! figure. What was fitted is never fitted again on another one.

mod adapters;
mod buses;
mod drives;
mod flash_drives;
mod hosts;

use crate::bus::BusSpec;
use crate::drive::{DriveSpec, Order};
use crate::host::HostSpec;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Printed in a paper: where.
    Paper(&'static str),
    /// Follows from what is printed: how.
    Derived(&'static str),
    /// Neither printed nor fitted: why this.
    Assumed(&'static str),
    /// Fitted once: on what.
    Fitted(&'static str),
}

impl Source {
    /// Its kind, in a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Paper(_) => "paper",
            Self::Derived(_) => "derived",
            Self::Assumed(_) => "assumed",
            Self::Fitted(_) => "fitted",
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &'static str {
        match self {
            Self::Paper(text) | Self::Derived(text) | Self::Assumed(text) | Self::Fitted(text) => {
                text
            }
        }
    }
}

/// One value of a part.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// Its value, in its unit; 0 and 1 for off and on.
    pub value: u64,
    /// Its unit; empty for a number.
    pub unit: &'static str,
    /// Where it comes from.
    pub source: Source,
}

/// A part.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What kind of part: drive, bus, adapter, host.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its values.
    pub parameters: &'static [Parameter],
}

/// A row of a table.
const fn row(name: &'static str, value: u64, unit: &'static str, source: Source) -> Parameter {
    Parameter { name, value, unit, source }
}

/// All parts, for documentation.
pub fn parts() -> impl Iterator<Item = &'static Part> {
    let drives = [drives::DRIVES, buses::BUSES, adapters::ADAPTERS, hosts::HOSTS];
    drives.into_iter().chain([flash_drives::FLASH_DRIVES]).flatten()
}

fn find(list: &'static [Part], name: &str) -> Option<&'static Part> {
    list.iter().find(|part| part.name == name)
}

/// An adapter between buses and PCI. Rates in bytes per second; 0 for one that never binds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdapterSpec {
    /// Buses or channels on one.
    pub channels: u32,
    /// From the drives.
    pub in_bytes_per_s: u64,
    /// To the drives.
    pub out_bytes_per_s: u64,
    /// Its processor, per command, in nanoseconds.
    pub command_ns: u64,
    /// Exclusive or over parity, per KiB, in nanoseconds.
    pub xor_per_kib_ns: u64,
}

/// A drive by name.
#[must_use]
pub fn drive(name: &str) -> Option<DriveSpec> {
    let mut spec = DriveSpec::default();
    for &Parameter { name, value, .. } in find(drives::DRIVES, name)?.parameters {
        let count = value as u32;
        match name {
            "capacity" => spec.capacity_bytes = value,
            "speed" => spec.rpm = count,
            "heads" => spec.heads = count,
            "zones" => spec.zones = count,
            "media rate, outermost track" => spec.outer_bytes_per_s = value,
            "media rate, innermost track" => spec.inner_bytes_per_s = value,
            "head switch" => spec.head_switch_ns = value,
            "cylinder switch" => spec.cylinder_switch_ns = value,
            "seek, next cylinder" => spec.track_seek_ns = value,
            "seek, average" => spec.average_seek_ns = value,
            "seek, full stroke" => spec.full_seek_ns = value,
            "settling" => spec.settle_ns = value,
            "read segments" => spec.segments = count,
            "read segment" => spec.segment_bytes = value,
            "write buffer" => spec.write_buffer_bytes = value,
            "write runs" => spec.write_runs = count,
            "burst" => spec.burst_bytes = value,
            "finds what it sent" => spec.rereads = value != 0,
            "finding it" => spec.reread_ns = value,
            "writes on arrival" => spec.write_on_arrival = value != 0,
            "writes miss the skew of cylinders" => spec.write_misses_skew = value != 0,
            "overlaps writes" => spec.overlaps_writes = value != 0,
            "order" => {
                spec.order = [Order::Arrival, Order::Elevator, Order::Soonest][value as usize];
            }
            "window" => spec.window = count,
            "commands at once" => spec.tags = count,
            "firmware, command" => spec.command_ns = value,
            "firmware, command to write" => spec.write_command_ns = value,
            "firmware, command among others" => spec.queued_ns = value,
            "firmware, first after another drive" => spec.wake_ns = value,
            "firmware, end" => spec.after_ns = value,
            "firmware, write-through" => spec.write_through_ns = value,
            _ => unreachable!("a drive has no {name}"),
        }
    }
    spec.write_cache = true;
    Some(spec)
}

/// A bus by name.
#[must_use]
pub fn bus(name: &str) -> Option<BusSpec> {
    let mut spec = BusSpec::default();
    for &Parameter { name, value, .. } in find(buses::BUSES, name)?.parameters {
        match name {
            "drives" => spec.most_drives = value as u32,
            "Arbitrate" => spec.arbitrate_ns = value,
            "Arbitrate Win" => spec.arbitrate_win_ns = value,
            "Reselect" => spec.reselect_ns = value,
            "Select" => spec.select_ns = value,
            "(Re)Select End" => spec.select_end_ns = value,
            "Message In" => spec.message_in_ns = value,
            "Message Out" => spec.message_out_ns = value,
            "Command" => spec.command_ns = value,
            "Data End" => spec.data_end_ns = value,
            "Status" => spec.status_ns = value,
            "rate in" => spec.in_bytes_per_s = value,
            "rate out" => spec.out_bytes_per_s = value,
            _ => unreachable!("a bus has no {name}"),
        }
    }
    Some(spec)
}

/// An adapter by name.
#[must_use]
pub fn adapter(name: &str) -> Option<AdapterSpec> {
    let mut spec = AdapterSpec::default();
    for &Parameter { name, value, .. } in find(adapters::ADAPTERS, name)?.parameters {
        match name {
            "channels" => spec.channels = value as u32,
            "rate in" => spec.in_bytes_per_s = value,
            "rate out" => spec.out_bytes_per_s = value,
            "command" => spec.command_ns = value,
            "exclusive or, per KiB" => spec.xor_per_kib_ns = value,
            _ => unreachable!("an adapter has no {name}"),
        }
    }
    Some(spec)
}

/// A host by name.
#[must_use]
pub fn host(name: &str) -> Option<HostSpec> {
    let mut spec = HostSpec::default();
    for &Parameter { name, value, .. } in find(hosts::HOSTS, name)?.parameters {
        match name {
            "processors" => spec.processors = value as u32,
            "direct read" => spec.costs.direct_read.fixed_ns = value,
            "direct read, per KiB" => spec.costs.direct_read.per_kib_ns = value,
            "direct write" => spec.costs.direct_write.fixed_ns = value,
            "direct write, per KiB" => spec.costs.direct_write.per_kib_ns = value,
            "further transfer" => spec.costs.extra_transfer_ns = value,
            "buffered read" => spec.costs.buffered_read.fixed_ns = value,
            "buffered read, per KiB" => spec.costs.buffered_read.per_kib_ns = value,
            "buffered write" => spec.costs.buffered_write.fixed_ns = value,
            "buffered write, per KiB" => spec.costs.buffered_write.per_kib_ns = value,
            "transfer of the cache" => spec.costs.background_ns = value,
            "memory" => spec.memory_bytes = value,
            "exclusive or, per KiB" => spec.xor_per_kib_ns = value,
            "PCI" => spec.pci_bytes_per_s = value,
            "memory, inward" => spec.memory_in_bytes_per_s = value,
            "memory, outward" => spec.memory_out_bytes_per_s = value,
            _ => unreachable!("a host has no {name}"),
        }
    }
    Some(spec)
}

/// Names of the parts of a kind.
fn names(list: &'static [Part]) -> String {
    list.iter().map(|part| part.name).collect::<Vec<_>>().join(", ")
}

/// Names of hosts, for messages.
pub(crate) fn host_names() -> String {
    names(hosts::HOSTS)
}

/// Names of adapters, for messages.
pub(crate) fn adapter_names() -> String {
    names(adapters::ADAPTERS)
}
