//! The presets: designs that are compiled into the program, in the same language as all designs.

use super::{Design, DesignError};

/// A preset.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

/// Includes the file of each preset by its name.
macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../../designs/", $name, ".toml")) }),*]
    };
}

/// All presets, in the order of the list.
pub const PRESETS: &[Preset] = presets![
    "friedman",
    "friedman-full",
    "riedel",
    "chung",
    "modes",
    "wal",
    "extend",
    "subpage",
    "align",
    "stripe",
    "raid",
    "layers",
    "engines",
    "cacheability",
    "network",
];

/// The preset of this name.
///
/// # Errors
/// If it does not exist.
pub fn preset(name: &str) -> Result<Design, DesignError> {
    match PRESETS.iter().find(|preset| preset.name == name) {
        Some(preset) => Design::parse(name, preset.text),
        None => Err(DesignError::NoPreset {
            name: name.to_owned(),
            known: PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", "),
        }),
    }
}
