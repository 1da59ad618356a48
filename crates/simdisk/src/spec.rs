//! Reading `sim:NAME,key=value,...` into the specification of a device.
//!
//! A family is a table of names, a table of keys and a way to begin; adding one is a line in
//! [`FAMILIES`] and a variant of [`SimKind`].

use crate::any_device::AnyDevice;
use crate::extracted::{ExtractedDrive, ExtractedSpec};
use crate::flash::{self, FlashDevice, FlashSpec};
use crate::keys::{self, Key, Kind};
use crate::machine::{self, Machine, MachineSpec};
use crate::queue::QueueDevice;
use crate::queue_spec::{self, QueueSpec};
use record::Bytes;
use std::path::Path;

/// How the name of a file of parameters ends.
const PARAMETERS: &str = ".parv";

/// Devices that share their keys.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// What they are, as a heading.
    pub title: &'static str,
    /// Their names.
    pub kinds: &'static [Kind],
    keys: fn() -> Vec<Key>,
    /// The specification of a name before any key is set.
    begin: fn(&'static str) -> SimKind,
}

impl Family {
    /// Their keys, which hold for each of them.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        (self.keys)()
    }
}

/// All families.
pub const FAMILIES: &[Family] = &[
    Family {
        title: "Queues with a known truth",
        kinds: queue_spec::KINDS,
        keys: || keys::keys(queue_spec::KEYS),
        begin: |_| SimKind::Queue(keys::with_defaults(queue_spec::KEYS)),
    },
    Family {
        title: "Flash drives",
        kinds: flash::KINDS,
        keys: || keys::keys(flash::KEYS),
        begin: |_| SimKind::Flash(Box::new(keys::with_defaults(flash::KEYS))),
    },
    Family {
        title: "Machines with disk drives",
        kinds: machine::KINDS,
        keys: || keys::keys(machine::KEYS),
        begin: |name| SimKind::Machine(Box::new(MachineSpec::new(name))),
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
    /// A drive with the parameters of a real one.
    Extracted(Box<ExtractedSpec>),
}

impl SimKind {
    /// Sets a key; `false` if there is none of this name, an error if the value cannot be used.
    fn set(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match self {
            Self::Queue(spec) => keys::set(queue_spec::KEYS, spec, key, value),
            Self::Flash(spec) => keys::set(flash::KEYS, &mut **spec, key, value),
            Self::Machine(spec) => keys::set(machine::KEYS, &mut **spec, key, value),
            // All of it stands in its file.
            Self::Extracted(_) => Ok(false),
        }
    }

    /// Whether the values go together.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Queue(_) | Self::Extracted(_) => Ok(()),
            Self::Flash(spec) => spec.check(),
            Self::Machine(spec) => spec.check(),
        }
    }
}

/// A simulated target.
#[derive(Clone, Debug, PartialEq)]
pub struct SimSpec {
    /// The text after `sim:`, as given.
    pub text: String,
    /// What it describes.
    pub kind: SimKind,
}

/// A simulated target that does not exist. All of these are errors of usage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A name or a key that there is not, a near one as a clause, and all of them.
    #[error("{0}{1}; known are {2}")]
    Unknown(String, String, String),
    /// Not of the form key=value.
    #[error("'{0}' in a simulated target is not of the form key=value")]
    Form(String),
    /// A key, a value of it that cannot be read, and why.
    #[error("{0}={1} of a simulated device cannot be used: {2}")]
    Value(String, String, String),
    /// A file of parameters, and what is wrong with it.
    #[error("sim:{0}: {1}")]
    File(String, String),
    /// A target whose values do not go together, and why.
    #[error("sim:{0} cannot be built: {1}")]
    Together(String, String),
}

impl SpecError {
    fn unknown<'a>(what: String, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.collect();
        let near = known.iter().map(|known| (strsim::levenshtein(name, known), known)).min();
        let near = near.filter(|&(distance, _)| distance <= 2);
        let hint = near.map(|(_, known)| format!(" (did you mean '{known}'?)"));
        Self::Unknown(what, hint.unwrap_or_default(), known.join(", "))
    }
}

fn find(name: &str) -> Option<(&'static Family, &'static Kind)> {
    FAMILIES.iter().find_map(|family| {
        family.kinds.iter().find(|kind| kind.name == name).map(|kind| (family, kind))
    })
}

impl SimSpec {
    /// Reads `NAME,key=value,...`, the text after `sim:`.
    ///
    /// # Errors
    /// Names the part that is wrong and, for a name that is nearly right, the right one.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        if name.ends_with(PARAMETERS) {
            return Self::extracted(text, name, parts.next());
        }
        let (family, row) = find(name).ok_or_else(|| {
            let names = FAMILIES.iter().flat_map(|family| family.kinds).map(|kind| kind.name);
            SpecError::unknown(format!("there is no simulated device '{name}'"), name, names)
        })?;
        let mut kind = (family.begin)(row.name);
        let defaults = row.defaults.iter().map(|&(key, value)| Ok((key, value)));
        let given =
            parts.map(|part| part.split_once('=').ok_or_else(|| SpecError::Form(part.to_owned())));
        for pair in defaults.chain(given) {
            let (key, value) = pair?;
            let known = kind
                .set(key, value)
                .map_err(|why| SpecError::Value(key.to_owned(), value.to_owned(), why))?;
            if !known {
                let (all, what) = (family.keys(), format!("sim:{} has no '{key}'", row.name));
                return Err(SpecError::unknown(what, key, all.iter().map(|key| key.name)));
            }
        }
        kind.check().map_err(|why| SpecError::Together(text.to_owned(), why))?;
        Ok(Self { text: text.to_owned(), kind })
    }

    /// The drive that a file of parameters describes.
    fn extracted(text: &str, name: &str, key: Option<&str>) -> Result<Self, SpecError> {
        if let Some(key) = key {
            let why = "all of it stands in its file".to_owned();
            return Err(SpecError::Value(key.to_owned(), String::new(), why));
        }
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
        let wrong = |why| SpecError::File(name.to_owned(), why);
        let parameters = read(Path::new(name)).map_err(wrong)?;
        // Files are named beside the one that names them.
        let mut beside = |file: &str| read(&folder.join(file));
        let spec = ExtractedSpec::read(name, &parameters, &mut beside).map_err(wrong)?;
        Ok(Self { text: text.to_owned(), kind: SimKind::Extracted(Box::new(spec)) })
    }

    /// Capacity of the device.
    #[must_use]
    pub fn size(&self) -> Bytes {
        match &self.kind {
            SimKind::Queue(spec) => spec.size,
            SimKind::Flash(spec) => spec.size,
            SimKind::Machine(spec) => Bytes(spec.size_bytes()),
            SimKind::Extracted(spec) => Bytes(spec.bytes()),
        }
    }

    /// The device at time zero; `seed` makes every random choice of it.
    #[must_use]
    pub fn build(&self, seed: u64) -> AnyDevice {
        match &self.kind {
            SimKind::Queue(spec) => AnyDevice::Queue(Box::new(QueueDevice::new(spec, seed))),
            SimKind::Flash(spec) => AnyDevice::Flash(Box::new(FlashDevice::new(spec, seed))),
            SimKind::Machine(spec) => AnyDevice::Machine(Box::new(Machine::new(spec))),
            SimKind::Extracted(spec) => AnyDevice::Extracted(Box::new(ExtractedDrive::new(spec))),
        }
    }
}
