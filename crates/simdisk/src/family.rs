//! The families of simulated devices. Devices of a family have the same keys and are built in the same way.
//!
//! A family is a table of names, a table of keys and a function that creates the specification. To add one,
//! add a line in [`FAMILIES`] and a variant of [`SimKind`].

use crate::catalogue::{ADAPTERS, BUSES, DRIVES, HOSTS, KINDS_OF_PARTS, Rows};
use crate::flash::{self, FlashSpec};
use crate::keys::{self, BY_KIND, Key, Kind};
use crate::machine::{self, MachineSpec};
use crate::queue_spec::{self, QueueSpec};
use crate::toml_text::Given;

/// The parts of a machine in the order of [`KINDS_OF_PARTS`]; empty for other families.
pub(crate) type Parts = [Rows; KINDS_OF_PARTS.len()];

/// Devices that share their keys.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The word for `family = "…"` in a file.
    pub name: &'static str,
    /// The heading in lists.
    pub title: &'static str,
    /// Names of its devices.
    pub kinds: &'static [Kind],
    keys: fn() -> Vec<Key>,
    /// The specification from the parts of a machine, before any key is set.
    pub(crate) begin: fn(&Parts) -> SimKind,
}

impl Family {
    /// The keys, which apply to every device of the family.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        (self.keys)()
    }

    /// The keys that a device sets to a value other than the default.
    #[must_use]
    pub fn changes(&self, kind: &Kind) -> Vec<(String, String)> {
        if kind.file.is_empty() {
            return kind
                .sets
                .iter()
                .map(|&(key, text)| (key.to_owned(), text.to_owned()))
                .collect();
        }
        let keys = self.keys();
        let default = |name: &str| keys.iter().find(|key| key.name == name).map(|key| &key.default);
        let changed = kind.entries().into_iter().filter_map(|entry| match entry.value {
            Given::Text(text) => {
                let default = default(&entry.key).filter(|default| *default != BY_KIND)?;
                (text != *default).then(|| (entry.key.into_owned(), text.into_owned()))
            }
            Given::Table(_) => None,
        });
        changed.collect()
    }
}

/// All families.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "queue",
        title: "Queues with known exact results",
        kinds: queue_spec::KINDS,
        keys: || keys::keys(queue_spec::KEYS),
        begin: |_| {
            let keys = keys::keys(queue_spec::KEYS);
            SimKind::Queue(keys::with_defaults(queue_spec::KEYS, &keys, QueueSpec::default()))
        },
    },
    Family {
        name: "flash",
        title: "Flash drives",
        kinds: flash::KINDS,
        keys: flash::keys_with_defaults,
        begin: |_| {
            let (keys, spec) = (flash::keys_with_defaults(), FlashSpec::default());
            SimKind::Flash(Box::new(keys::with_defaults(flash::KEYS, &keys, spec)))
        },
    },
    Family {
        name: "machine",
        title: "Machines with disk drives",
        kinds: machine::KINDS,
        keys: || keys::keys(machine::KEYS),
        begin: |[drive, bus, adapter, host]| {
            let (drive, bus) = (DRIVES.build(drive), BUSES.build(bus));
            let (adapter, host) = (ADAPTERS.build(adapter), HOSTS.build(host));
            SimKind::Machine(Box::new(MachineSpec::new(drive, bus, adapter, host)))
        },
    },
];

/// The specification of a device, by family.
#[derive(Clone, Debug, PartialEq)]
pub enum SimKind {
    /// Servers with one queue.
    Queue(QueueSpec),
    /// A flash drive.
    Flash(Box<FlashSpec>),
    /// A machine with disk drives.
    Machine(Box<MachineSpec>),
}

impl SimKind {
    /// Sets a key; returns `false` if the key is unknown, an error if the value cannot be used.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match self {
            Self::Queue(spec) => keys::set(queue_spec::KEYS, spec, key, value),
            Self::Flash(spec) => keys::set(flash::KEYS, &mut **spec, key, value),
            Self::Machine(spec) => keys::set(machine::KEYS, &mut **spec, key, value),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Queue(_) => Ok(()),
            Self::Flash(spec) => spec.check(),
            Self::Machine(spec) => spec.check(),
        }
    }
}
