//! Finds the advertised peaks of components, with their sources.
//!
//! Links report speed and width to the kernel, memory modules report theirs to the firmware, and the user
//! states a data sheet with `--pap`. Everything else is unknown. A peak guessed from the measurement would
//! make the ratio one, whatever the hardware. Rejected: tables of processors and chip sets by model, and the rate of a benchmark elsewhere.

mod line_rate;
mod network;
mod pcie;
mod smbios;

pub use line_rate::link_peak;
pub use network::{is_network, network_peak};
pub use pcie::{Hop, buses};
pub use smbios::memory_peak;

use record::{Advertised, ComponentKind, Measured};

/// A peak that the user states with `--pap`.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// Kind of component.
    pub kind: ComponentKind,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

impl Stated {
    /// Parses `NAME=RATE`, for example `link=600MB/s`.
    ///
    /// # Errors
    /// The expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, rate) = text
            .split_once('=')
            .ok_or("use NAME=RATE, for example link=600MB/s or memory=25.6GB/s")?;
        let kind = ComponentKind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(|| {
            let names = ComponentKind::ALL.map(ComponentKind::name).join(", ");
            format!("unknown component '{name}'; use one of {names}")
        })?;
        Ok(Self { kind, bytes_per_s: rate_of(rate)? })
    }
}

/// Bytes per second from text such as `98.5MB/s` or `3.5GB`.
///
/// # Errors
/// The expected form.
pub(crate) fn rate_of(text: &str) -> Result<f64, String> {
    let size = text.strip_suffix("/s").unwrap_or(text);
    let bytes: record::Bytes =
        size.parse().map_err(|error: record::UnitError| error.to_string())?;
    if bytes.0 == 0 {
        return Err("use a rate above 0, for example 600MB/s".to_owned());
    }
    Ok(bytes.0 as f64)
}

/// The peak that the user states for a kind, otherwise `found`.
#[must_use]
pub fn or_stated(
    kind: ComponentKind,
    stated: &[Stated],
    found: Measured<Advertised>,
) -> Measured<Advertised> {
    // The last value counts, as with any flag.
    let word = stated.iter().rev().find(|stated| stated.kind == kind);
    word.map_or(found, |stated| {
        Measured::Value(Advertised {
            bytes_per_s: stated.bytes_per_s,
            source: "stated by --pap".to_owned(),
        })
    })
}
