//! The presets: designs that come with the program, in the language of all designs.

use super::{Design, DesignError};

/// A design that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The text of a preset, of its own name.
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
    "writeback",
    "wal",
    "extend",
    "subpage",
    "align",
    "hints",
    "stripe",
    "raid",
    "layers",
    "engines",
    "smp",
    "cacheability",
    "network",
];

/// The preset of this name.
///
/// # Errors
/// If there is none.
pub fn preset(name: &str) -> Result<Design, DesignError> {
    match PRESETS.iter().find(|preset| preset.name == name) {
        Some(preset) => Design::parse(name, preset.text),
        None => Err(DesignError::NoPreset {
            name: name.to_owned(),
            known: PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", "),
        }),
    }
}
