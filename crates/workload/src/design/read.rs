//! Parses the text of a design into a consistent [`Design`].
//!
//! `toml` parses the text and reports the line of a syntax error. This module checks what `toml` cannot know
//! (which keys are flags, which levels exist), and reports each error with its place and the valid values.
//! Only the parser of `run` can check values (whether `4x` is a size). It sees every combination before
//! anything runs.

use super::{
    Axis, Contrast, Design, DesignError, FLAG_KEYS, Level, Order, Pick, SPECIAL_KEYS, Setting,
    Skip, is_key,
};
use record::EffectMeasure;
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Default number of blocks: the minimum for a useful interval.
const DEFAULT_BLOCKS: u32 = 3;
const MAX_BLOCKS: u32 = 1_000;
/// Maximum number of combinations. More are a typing error, not an experiment.
const MAX_COMBINATIONS: usize = 100_000;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    title: String,
    about: String,
    blocks: Option<u32>,
    order: Order,
    constants: Table,
    axes: Table,
    skip: Vec<Table>,
    contrast: Vec<WrittenContrast>,
    protocol: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenContrast {
    axis: String,
    base: Value,
    #[serde(default)]
    by: Vec<String>,
    #[serde(default = "throughput")]
    measure: EffectMeasure,
}

fn throughput() -> EffectMeasure {
    EffectMeasure::Throughput
}

/// Parses values of one design, whose name it adds to errors.
struct Reader<'a> {
    name: &'a str,
}

impl Design {
    /// Parses a design.
    ///
    /// # Errors
    /// If it is not TOML, has unknown keys, or is inconsistent.
    pub fn parse(name: &str, text: &str) -> Result<Self, DesignError> {
        let written: Written = toml::from_str(text).map_err(|error| {
            let (line, cause) = crate::toml_fault(text, &error);
            DesignError::Syntax { name: name.to_owned(), line, cause }
        })?;
        Reader { name }.design(written)?.checked()
    }

    /// Returns the design if it is consistent.
    pub(super) fn checked(self) -> Result<Self, DesignError> {
        let wrong = |place: &str, problem| DesignError::wrong(&self.name, place, problem);
        if !(1..=MAX_BLOCKS).contains(&self.blocks) {
            return Err(wrong("blocks", format!("must be from 1 to {MAX_BLOCKS}")));
        }
        for axis in &self.axes {
            let place = format!("axes.{}", axis.name);
            if axis.levels.is_empty() {
                return Err(wrong(&place, "has no levels; give it at least one".to_owned()));
            }
            let names: BTreeSet<&str> =
                axis.levels.iter().map(|level| level.name.as_str()).collect();
            if names.len() < axis.levels.len() {
                return Err(wrong(&place, "has two levels with the same name".to_owned()));
            }
        }
        let combinations = self
            .axes
            .iter()
            .try_fold(1_usize, |product, axis| product.checked_mul(axis.levels.len()))
            .filter(|product| *product <= MAX_COMBINATIONS);
        if combinations.is_none() {
            let problem =
                format!("have more than {MAX_COMBINATIONS} combinations; use fewer axes or levels");
            return Err(wrong("axes", problem));
        }
        self.check_contrasts().map_err(|problem| wrong("contrast", problem))?;
        if self.combinations().is_empty() {
            return Err(wrong("skip", "excludes every combination; skip fewer".to_owned()));
        }
        Ok(self)
    }

    fn check_contrasts(&self) -> Result<(), String> {
        let is_axis = |name: &str| self.axes.iter().any(|axis| axis.name == name);
        for contrast in &self.contrasts {
            let unknown = contrast.by.iter().chain([&contrast.axis]).find(|name| !is_axis(name));
            if let Some(name) = unknown {
                return Err(format!("names {name:?}, which is not an axis"));
            }
            let Contrast { axis, base, by, .. } = contrast;
            if self.level(axis, base).is_none() {
                return Err(format!("has the base {base:?}, which is not a level of {axis}"));
            }
            if by.contains(axis) {
                return Err(format!("lists its own axis, {axis:?}, under the key by"));
            }
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn wrong(&self, place: &str, problem: impl Into<String>) -> DesignError {
        DesignError::wrong(self.name, place, problem)
    }

    fn design(&self, written: Written) -> Result<Design, DesignError> {
        let axes = written.axes.into_iter().map(|(name, levels)| self.axis(&name, levels));
        let protocols = written.protocol.into_iter().map(|(name, settings)| {
            let place = format!("protocol.{name}");
            let settings = self.settings(&place, self.table(&place, settings)?)?;
            Ok((name, settings))
        });
        let contrasts = written.contrast.into_iter().map(|contrast| {
            let base = self.scalar("contrast.base", contrast.base)?;
            let WrittenContrast { axis, by, measure, .. } = contrast;
            Ok(Contrast { axis, base, by, measure })
        });
        let mut design = Design {
            name: self.name.to_owned(),
            title: written.title,
            about: written.about.trim().to_owned(),
            blocks: written.blocks.unwrap_or(DEFAULT_BLOCKS),
            order: written.order,
            constants: self.settings("constants", written.constants)?,
            axes: axes.collect::<Result<_, _>>()?,
            skips: Vec::new(),
            contrasts: contrasts.collect::<Result<_, _>>()?,
            protocols: protocols.collect::<Result<_, _>>()?,
        };
        let skips = written.skip.into_iter().map(|mut table| {
            let except = table.remove("except");
            let except =
                except.map_or(Ok(Table::new()), |inner| self.table("skip.except", inner))?;
            Ok(Skip {
                pick: self.pick(&design, "skip", table)?,
                except: self.pick(&design, "skip.except", except)?,
            })
        });
        design.skips = skips.collect::<Result<_, _>>()?;
        Ok(design)
    }

    fn table(&self, place: &str, value: Value) -> Result<Table, DesignError> {
        match value {
            Value::Table(table) => Ok(table),
            other => Err(self.wrong(place, format!("must be a table, not {}", other.type_str()))),
        }
    }

    /// Flags with one value each. A switch that is off is not a setting.
    fn settings(&self, place: &str, table: Table) -> Result<Vec<Setting>, DesignError> {
        let mut settings: Vec<Setting> = Vec::new();
        for (key, value) in table {
            let key = key.replace('_', "-");
            let place_of_key = format!("{place}.{key}");
            if !is_key(&key) {
                return Err(self.wrong(place, unknown_key(&key)));
            }
            if settings.iter().any(|setting| setting.key == key) {
                return Err(self.wrong(&place_of_key, "is set twice"));
            }
            settings.extend(self.setting(&place_of_key, key, value)?);
        }
        Ok(settings)
    }

    fn setting(
        &self,
        place: &str,
        key: String,
        value: Value,
    ) -> Result<Option<Setting>, DesignError> {
        match value {
            Value::Boolean(on) => Ok(on.then_some(Setting { key, value: None })),
            other => Ok(Some(Setting { key, value: Some(self.scalar(place, other)?) })),
        }
    }

    /// A value as a user would type it.
    fn scalar(&self, place: &str, value: Value) -> Result<String, DesignError> {
        match value {
            // The flags of a job next to the first are such a text.
            Value::String(text) if text.starts_with('-') && !place.ends_with("beside") => {
                Err(self.wrong(place, "begins with a dash, so it looks like another flag"))
            }
            Value::String(text) => Ok(text),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Float(number) => Ok(number.to_string()),
            Value::Boolean(on) => Ok(on.to_string()),
            other => {
                let problem =
                    format!("must be a string, a number, true or false, not {}", other.type_str());
                Err(self.wrong(place, problem))
            }
        }
    }

    fn axis(&self, name: &str, levels: Value) -> Result<Axis, DesignError> {
        let name = name.replace('_', "-");
        let place = format!("axes.{name}");
        let Value::Array(levels) = levels else {
            return Err(self.wrong(&place, "is not a list of levels"));
        };
        let levels = levels.into_iter().map(|level| self.level(&name, &place, level));
        let levels = levels.collect::<Result<_, _>>()?;
        Ok(Axis { name, levels })
    }

    /// Parses a level: a value of the flag that the axis is named after, or a table with its own name.
    fn level(&self, axis: &str, place: &str, level: Value) -> Result<Level, DesignError> {
        let Value::Table(mut table) = level else {
            if !is_key(axis) {
                let problem = unknown_key(axis) + ", or levels that are tables";
                return Err(self.wrong("axes", problem));
            }
            let name = self.scalar(place, level.clone())?;
            let setting = self.setting(place, axis.to_owned(), level)?;
            return Ok(Level { name, settings: setting.into_iter().collect() });
        };
        let Some(name) = table.remove("name") else {
            return Err(self.wrong(place, "has a level without a name; add name = \"…\""));
        };
        Ok(Level { name: self.scalar(place, name)?, settings: self.settings(place, table)? })
    }

    /// Parses levels of existing axes.
    fn pick(&self, design: &Design, place: &str, table: Table) -> Result<Pick, DesignError> {
        let mut pick = Pick::new();
        for (axis, value) in table {
            let axis = axis.replace('_', "-");
            let place = format!("{place}.{axis}");
            let values = if let Value::Array(values) = value { values } else { vec![value] };
            let levels = values.into_iter().map(|value| {
                let level = self.scalar(&place, value)?;
                if design.level(&axis, &level).is_none() {
                    let problem = format!("names {level:?}, which is not a level of an axis");
                    return Err(self.wrong(&place, problem));
                }
                Ok(level)
            });
            let levels = levels.collect::<Result<_, _>>()?;
            pick.insert(axis, levels);
        }
        Ok(pick)
    }
}

pub(super) fn unknown_key(key: &str) -> String {
    let known: Vec<&str> = FLAG_KEYS.into_iter().chain(SPECIAL_KEYS).collect();
    format!("has an unknown key {key:?}; use one of {}", known.join(", "))
}
