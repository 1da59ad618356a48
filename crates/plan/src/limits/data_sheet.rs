//! Reads a data sheet from a TOML file: the maker's figures for a drive, in the units of the sheet.

use crate::limits::pap::rate_of;
use model::DataSheet;
use record::Nanos;
use serde::Deserialize;

/// A data sheet as written by the user.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    name: String,
    seek: Option<String>,
    write_seek: Option<String>,
    rpm: Option<f64>,
    transfer: String,
    overhead: Option<String>,
}

/// Name and figures of a data sheet from its text.
///
/// # Errors
/// The invalid key and the values it accepts.
pub fn parse(text: &str) -> Result<(String, DataSheet), String> {
    let written: Written = toml::from_str(text).map_err(|error| {
        let (line, cause) = workload::toml_fault(text, &error);
        format!("line {line}: {cause}")
    })?;
    let time = |key: &str, text: &Option<String>| {
        let time = text.as_deref().map(str::parse::<Nanos>).transpose();
        time.map(|time| time.map(|time| time.0 as f64)).map_err(|error| format!("{key}: {error}"))
    };
    let seek = time("seek", &written.seek)?.unwrap_or(0.0);
    let bytes_per_s = rate_of(&written.transfer).map_err(|error| format!("transfer: {error}"))?;
    let rpm = written.rpm.unwrap_or(0.0);
    if !(0.0..=1e6).contains(&rpm) {
        return Err("rpm: use revolutions per minute, for example 7200".to_owned());
    }
    let sheet = DataSheet {
        read_seek_ns: seek,
        write_seek_ns: time("write-seek", &written.write_seek)?.unwrap_or(seek),
        rpm,
        bytes_per_s,
        overhead_ns: time("overhead", &written.overhead)?.unwrap_or(0.0),
    };
    Ok((written.name, sheet))
}
