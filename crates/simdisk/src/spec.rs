//! Parses `sim:NAME,key=value,...` and `sim:FILE.toml,key=value,...` into the specification of a device.

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

/// The suffix of files that describe a device.
const DESCRIPTION: &str = ".toml";

/// A simulated target.
#[derive(Clone, Debug, PartialEq)]
pub struct SimSpec {
    /// The text after `sim:`, as given.
    pub text: String,
    /// The device that it describes.
    pub kind: SimKind,
    /// Hash of the file that describes it; `None` for a device of the catalogue.
    pub file_hash: Option<String>,
}

/// An invalid simulated target; all are usage errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// An unknown name or key, a similar one as a clause, and all known ones.
    #[error("{0}{1}; use one of {2}")]
    Unknown(String, String, String),
    /// An argument that is not of the form key=value.
    #[error("in a simulated target, '{0}' does not have the form key=value")]
    Form(String),
    /// A key, an invalid value, and why.
    #[error("{0}={1} cannot be used with this simulated device: {2}")]
    Value(String, String, String),
    /// A file that describes a device, and its error.
    #[error("sim:{0}: {1}")]
    File(String, String),
    /// A target whose values are inconsistent, and why.
    #[error("sim:{0} cannot be built: {1}")]
    Together(String, String),
}

impl SimSpec {
    /// Parses `NAME,key=value,...`, the text after `sim:`.
    ///
    /// # Errors
    /// Names the wrong part and, for a nearly correct name, the right one.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let name = text.split(',').next().unwrap_or_default();
        let (form, file_hash) = form_of(text)?;
        let kind = built(&form, text, name)?;
        Ok(Self { text: text.to_owned(), kind, file_hash })
    }

    /// The device `NAME,key=value,...` as a file that describes it, with everything that can be changed.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn shown(text: &str) -> Result<String, SpecError> {
        let name = text.split(',').next().unwrap_or_default();
        let (form, _) = form_of(text)?;
        built(&form, text, name)?;
        Ok(shown(&form, text))
    }

    /// The same device without the rebuild of a failed disk; `None` if it has none.
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

    /// The device at time zero; `seed` determines its random choices.
    #[must_use]
    pub fn build(&self, seed: u64) -> AnyDevice {
        match &self.kind {
            SimKind::Queue(spec) => AnyDevice::Queue(Box::new(QueueDevice::new(spec, seed))),
            SimKind::Flash(spec) => AnyDevice::Flash(Box::new(FlashDevice::new(spec, seed))),
            SimKind::Machine(spec) => AnyDevice::Machine(Box::new(Machine::new(spec))),
        }
    }
}

fn file_text(path: &Path) -> Result<String, String> {
    input::text(path, input::MACHINE).map_err(|error| error.reason.to_string())
}

/// The settings in `NAME,key=value,...`, and the hash of the file if the name is one.
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

/// The specification from the settings, if they are consistent.
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
