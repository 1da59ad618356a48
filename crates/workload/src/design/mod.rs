//! Designs: data files that say which combinations of flags an experiment runs.
//!
//! A design names flags of `halfpower run` and the values that each takes. A combination is therefore the
//! arguments of one run: the parser of `run` reads it, and it is printed as a command line that a user can
//! type. Rejected: a second vocabulary for experiments, which would need its own rules, errors and tests. The
//! presets are designs in the same language (`designs/*.toml`). [`SPECIAL_KEYS`] are not flags of `run`: they
//! select what a trial runs on.
//!
//! All output lists axes in the order of the table (feature `preserve_order` of `toml`).

mod combine;
mod presets;
mod read;
mod write;

pub use combine::Combination;
pub use presets::{PRESETS, Preset, preset};

use record::EffectMeasure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The flags of `run` that a design may set. The others control where results go, what may be destroyed, or
/// which seed is used. They do not affect what is measured.
pub const FLAG_KEYS: [&str; 47] = [
    "arrival",
    "beside",
    "bs",
    "burst",
    "cache",
    "completion",
    "compressible",
    "direct",
    "fdatasync",
    "fsync",
    "hipri",
    "hit-size",
    "hot-share",
    "hot-size",
    "huge-pages",
    "interval",
    "io-priority",
    "cgroup",
    "io-size",
    "io-timeout",
    "iodepth",
    "ioengine",
    "keep-warm-up",
    "misalign",
    "numjobs",
    "offset",
    "passes",
    "pattern",
    "ramp-time",
    "rate-iops",
    "regions",
    "runtime",
    "rw",
    "rwmixread",
    "drop-cache",
    "seq-share",
    "size",
    "sqthread-poll",
    "stride",
    "sync-file-range",
    "raid",
    "chunk",
    "failed",
    "think-time",
    "until-precision",
    "zeros",
    "zipf-theta",
];

/// Keys that are not flags.
///
/// | key | means |
/// |---|---|
/// | `prepare` | what is done to the test file before the trial, by name |
/// | `sim` | keys that are added to a simulated target, as in `disks=2,raid=0` |
/// | `targets` | the number of targets to use, counted from the first |
/// | `target` | number of the target to use, from 1; `1,1` is a directory twice, with two files |
/// | `rpm` | revolutions per minute of the disk, for requests per revolution |
pub const SPECIAL_KEYS: [&str; 5] = ["prepare", "sim", "targets", "target", "rpm"];

/// One flag with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The flag, without its dashes.
    pub key: String,
    /// Its value; `None` for a switch.
    pub value: Option<String>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Name in tables.
    pub name: String,
    /// Its settings; empty for a switch that is off.
    pub settings: Vec<Setting>,
}

/// A parameter that is varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name: the flag, or a word of the author if its levels set several flags.
    pub name: String,
    /// Its levels, at least one, with distinct names.
    pub levels: Vec<Level>,
}

impl Axis {
    fn level(&self, name: &str) -> Option<&Level> {
        self.levels.iter().find(|level| level.name == name)
    }
}

/// Levels by axis. A combination matches if each named axis has one of the named levels.
pub type Pick = BTreeMap<String, Vec<String>>;

/// Combinations to skip: those that match `pick`, except those that match `except`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Combinations to skip.
    pub pick: Pick,
    /// Exceptions, which are not skipped; none if empty.
    pub except: Pick,
}

/// A question about the results: the effect of an axis' levels compared with one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contrast {
    /// The axis.
    pub axis: String,
    /// The level that the others are compared with.
    pub base: String,
    /// Axes with separate answers. The answer is averaged over all others.
    pub by: Vec<String>,
    /// The quantity to compare.
    pub measure: EffectMeasure,
}

/// Order of the trials in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// A different order in each block, drawn from the seed. A drift then affects all levels equally.
    #[default]
    Random,
    /// The order of the design; the last axis varies fastest.
    Written,
}

/// Which combinations an experiment runs, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// Name of the preset or of the file.
    pub name: String,
    /// One-line description.
    pub title: String,
    /// What it investigates and what it requires.
    pub about: String,
    /// How often each combination is run.
    pub blocks: u32,
    /// Order of the trials in a block.
    pub order: Order,
    /// Settings that all combinations share.
    pub constants: Vec<Setting>,
    /// The axes, in order.
    pub axes: Vec<Axis>,
    /// Combinations to skip.
    pub skips: Vec<Skip>,
    /// Questions about the results.
    pub contrasts: Vec<Contrast>,
    /// Alternative constants, by the name of a protocol: `paper` has the times of the publication.
    pub protocols: BTreeMap<String, Vec<Setting>>,
}

/// An error in a design.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// The text is not TOML, or has an unknown key or value.
    #[error("the design {name}, line {line}: {cause}; see `halfpower sweep --show riedel`")]
    Syntax {
        /// Name of the design.
        name: String,
        /// Line, from 1.
        line: usize,
        /// The parser's message.
        cause: String,
    },
    /// A key or value is invalid.
    #[error("the design {name}: {place} {problem}")]
    Wrong {
        /// Name of the design.
        name: String,
        /// Where the error is.
        place: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The preset does not exist.
    #[error("unknown preset {name:?}; use one of {known}, or the path of a TOML file")]
    NoPreset {
        /// The requested name.
        name: String,
        /// The available presets.
        known: String,
    },
}

pub(crate) fn is_key(key: &str) -> bool {
    FLAG_KEYS.contains(&key) || SPECIAL_KEYS.contains(&key)
}

impl DesignError {
    fn wrong(design: &str, place: &str, problem: impl Into<String>) -> Self {
        let (name, place) = (design.to_owned(), place.to_owned());
        Self::Wrong { name, place, problem: problem.into() }
    }
}

impl Design {
    /// The design with the constants of a protocol.
    ///
    /// # Errors
    /// If it has no protocol of that name.
    pub fn with_protocol(mut self, protocol: &str) -> Result<Self, DesignError> {
        let Some(settings) = self.protocols.get(protocol).cloned() else {
            let known: Vec<&str> = self.protocols.keys().map(String::as_str).collect();
            let problem = match known.is_empty() {
                true => "cannot be used, because the design has no protocols; omit it".to_owned(),
                false => format!("is not a protocol of this design; use {}", known.join(", ")),
            };
            return Err(DesignError::wrong(
                &self.name,
                &format!("--protocol {protocol:?}"),
                problem,
            ));
        };
        for setting in settings {
            self.constants.retain(|constant| constant.key != setting.key);
            if setting.value.as_deref() != Some("off") {
                self.constants.push(setting);
            }
        }
        Ok(self)
    }

    /// The design with other levels of an axis, or another constant, such as `bs=4k,64k`. A constant has one
    /// value; `key=` removes it.
    ///
    /// # Errors
    /// If the key is unknown, or if other parts of the design refer to the levels by name.
    pub fn with_setting(mut self, text: &str) -> Result<Self, DesignError> {
        let wrong =
            |problem: String| DesignError::wrong(&self.name, &format!("--set {text}"), problem);
        let (key, values) =
            text.split_once('=').ok_or_else(|| wrong("has no value; use KEY=VALUE".to_owned()))?;
        let key = key.replace('_', "-");
        if let Some(axis) = self.axes.iter().position(|axis| axis.name == key) {
            let old = &self.axes[axis];
            let levels = values
                .split(',')
                .map(|value| {
                    old.level(value).cloned().or_else(|| {
                        let setting = Setting { key: key.clone(), value: Some(value.to_owned()) };
                        is_key(&key)
                            .then(|| Level { name: value.to_owned(), settings: vec![setting] })
                    })
                })
                .collect::<Option<Vec<Level>>>()
                .ok_or_else(|| {
                    let names: Vec<&str> =
                        old.levels.iter().map(|level| level.name.as_str()).collect();
                    wrong(format!(
                        "names a level that the axis does not have; its levels are {}",
                        names.join(", ")
                    ))
                })?;
            self.axes[axis].levels = levels;
            self.forget_lost_levels();
            return self.checked();
        }
        if !is_key(&key) {
            return Err(DesignError::wrong(&self.name, "--set", read::unknown_key(&key)));
        }
        self.constants.retain(|constant| constant.key != key);
        if !values.is_empty() {
            self.constants.push(Setting { key, value: Some(values.to_owned()) });
        }
        self.checked()
    }

    /// Removes levels that no longer exist from skips and contrasts.
    fn forget_lost_levels(&mut self) {
        let old = self.clone();
        let has = |axis: &str, level: &str| old.level(axis, level).is_some();
        let prune = |pick: &mut Pick| {
            for (axis, levels) in pick.iter_mut() {
                levels.retain(|level| has(axis, level));
            }
            pick.values().any(Vec::is_empty)
        };
        self.skips.retain_mut(|skip| {
            if prune(&mut skip.except) {
                skip.except.clear();
            }
            !prune(&mut skip.pick)
        });
        self.contrasts.retain(|contrast| has(&contrast.axis, &contrast.base));
    }

    /// The level with this name on an axis.
    pub(crate) fn level(&self, axis: &str, level: &str) -> Option<&Level> {
        self.axes.iter().find(|candidate| candidate.name == axis)?.level(level)
    }
}
