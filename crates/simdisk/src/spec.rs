//! Reading `sim:NAME,key=value,...` and `sim:FILE.toml,key=value,...` into the specification of a
//! device.

use crate::any_device::AnyDevice;
use crate::family::SimKind;
use crate::flash::FlashDevice;
use crate::form::{Form, Said, Wrong};
use crate::machine::Machine;
use crate::queue::QueueDevice;
use crate::show::shown;
use crate::toml_text::Fault;
use engine::input;
use record::{Bytes, hex_digest};
use std::path::Path;

/// How the name of a file ends that describes a device.
const DESCRIPTION: &str = ".toml";

/// A simulated target.
#[derive(Clone, Debug, PartialEq)]
pub struct SimSpec {
    /// The text after `sim:`, as given.
    pub text: String,
    /// What it describes.
    pub kind: SimKind,
    /// Hash of the file that describes it; `None` for a device of the
    /// catalogue.
    pub file_hash: Option<String>,
}

/// A simulated target that does not exist. All of these are errors of usage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A name or a key that there is not, a near one as a clause, and all of them.
    #[error("{0}{1}; use one of {2}")]
    Unknown(String, String, String),
    /// Not of the form key=value.
    #[error("in a simulated target, '{0}' does not have the form key=value")]
    Form(String),
    /// A key, a value of it that cannot be read, and why.
    #[error("{0}={1} cannot be used with this simulated device: {2}")]
    Value(String, String, String),
    /// A file that describes a device, and what is wrong with it.
    #[error("sim:{0}: {1}")]
    File(String, String),
    /// A target whose values do not go together, and why.
    #[error("sim:{0} cannot be built: {1}")]
    Together(String, String),
}

impl SimSpec {
    /// Reads `NAME,key=value,...`, the text after `sim:`.
    ///
    /// # Errors
    /// Names the part that is wrong and, for a name that is nearly right, the right one.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let name = text.split(',').next().unwrap_or_default();
        let (form, file_hash) = form_of(text)?;
        let kind = built(&form, text, name)?;
        Ok(Self { text: text.to_owned(), kind, file_hash })
    }

    /// The device `NAME,key=value,...` as a file that describes it, with all that can be changed.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn shown(text: &str) -> Result<String, SpecError> {
        let name = text.split(',').next().unwrap_or_default();
        let (form, _) = form_of(text)?;
        built(&form, text, name)?;
        Ok(shown(&form, text))
    }

    /// The same without the rebuild of a failed disk; `None` where there is none.
    #[must_use]
    pub fn without_rebuild(&self) -> Option<Self> {
        let SimKind::Machine(machine) = &self.kind else { return None };
        machine.rebuild?;
        Self::parse(&format!("{},rebuild=none", self.text)).ok()
    }

    /// Capacity of the device.
    #[must_use]
    pub fn size(&self) -> Bytes {
        match &self.kind {
            SimKind::Queue(spec) => spec.size,
            SimKind::Flash(spec) => spec.size,
            SimKind::Machine(spec) => Bytes(spec.size_bytes()),
        }
    }

    /// The device at time zero; `seed` makes every random choice of it.
    #[must_use]
    pub fn build(&self, seed: u64) -> AnyDevice {
        match &self.kind {
            SimKind::Queue(spec) => AnyDevice::Queue(Box::new(QueueDevice::new(spec, seed))),
            SimKind::Flash(spec) => AnyDevice::Flash(Box::new(FlashDevice::new(spec, seed))),
            SimKind::Machine(spec) => AnyDevice::Machine(Box::new(Machine::new(spec))),
        }
    }
}

/// What a file holds, or why it cannot be read.
fn file_text(path: &Path) -> Result<String, String> {
    input::text(path, input::MACHINE).map_err(|error| error.reason.to_string())
}

/// What `NAME,key=value,...` says, and the hash of the file if the name is one.
fn form_of(text: &str) -> Result<(Form, Option<String>), SpecError> {
    let mut parts = text.split(',');
    let name = parts.next().unwrap_or_default();
    let (mut form, file_hash) = if name.ends_with(DESCRIPTION) {
        let wrong = |why| SpecError::File(name.to_owned(), why);
        let text = file_text(Path::new(name)).map_err(wrong)?;
        let form = Form::read(&text);
        let form = form.map_err(|Fault { line, why }| wrong(format!("line {line}: {why}")))?;
        (form, Some(hex_digest(&text)))
    } else {
        let unknown = |(hint, known)| {
            SpecError::Unknown(format!("no simulated device is named '{name}'"), hint, known)
        };
        (Form::named(name).map_err(unknown)?, None)
    };
    for part in parts {
        let (key, text) = part.split_once('=').ok_or_else(|| SpecError::Form(part.to_owned()))?;
        form.said.push(Said::typed(key, text));
    }
    Ok((form, file_hash))
}

/// The specification of what is said, if it holds together.
fn built(form: &Form, text: &str, name: &str) -> Result<SimKind, SpecError> {
    let kind = form.build().map_err(|(said, wrong)| match (said.line, wrong) {
        (None, Wrong::Value(why)) => SpecError::Value(said.key.clone(), said.text.clone(), why),
        (None, Wrong::Key(hint, known)) => {
            SpecError::Unknown(format!("sim:{name} has no key '{}'", said.key), hint, known)
        }
        (Some(line), Wrong::Value(why)) => {
            let (key, text) = (&said.key, &said.text);
            let why = format!("line {line}: {key} = {text:?} cannot be used: {why}");
            SpecError::File(name.to_owned(), why)
        }
        (Some(line), Wrong::Key(hint, known)) => {
            let why = format!(
                "line {line}: this device has no key {:?}{hint}; known keys: {known}",
                said.key
            );
            SpecError::File(name.to_owned(), why)
        }
    })?;
    kind.check().map_err(|why| SpecError::Together(text.to_owned(), why))?;
    Ok(kind)
}
