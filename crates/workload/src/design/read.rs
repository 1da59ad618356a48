//! From the text of a design to a [`Design`] that holds together.
//!
//! Each mistake is told with its place and what is known there. What only the parser of `run` can
//! judge (whether `4x` is a size) is left to it: it sees every combination before anything runs.

use super::value::Value;
use super::{Axis, Contrast, Design, DesignError, Level, Order, Pick, Setting, Skip};
use super::{is_key, known_keys};
use record::EffectMeasure;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of a design that names no number: the least that gives an interval worth having.
const BLOCKS: u32 = 3;
/// Most blocks.
const MAX_BLOCKS: u32 = 1_000;
/// Most combinations: a slip of the keyboard rather than an experiment.
const MAX_COMBINATIONS: usize = 100_000;
/// What a design consists of.
const PARTS: [&str; 10] = [
    "title",
    "about",
    "blocks",
    "order",
    "precondition",
    "constants",
    "axes",
    "skip",
    "contrast",
    "protocol",
];

/// Reads values, and knows of which design it is.
struct Reader<'a> {
    name: &'a str,
}

type Table = Vec<(String, Value)>;

impl Design {
    /// Reads a design.
    ///
    /// # Errors
    /// If it is no TOML, has keys that mean nothing, or does not hold together.
    pub fn parse(name: &str, text: &str) -> Result<Self, DesignError> {
        let reader = Reader { name };
        let syntax = |cause: String| DesignError::Syntax { name: name.to_owned(), cause };
        let value: Value = basic_toml::from_str(text).map_err(|cause| syntax(cause.to_string()))?;
        let Value::Table(parts) = value else {
            return Err(syntax("it is no table".to_owned()));
        };
        reader.design(parts)?.checked()
    }

    /// The design, if it holds together.
    pub(super) fn checked(self) -> Result<Self, DesignError> {
        let wrong = |place: &str, problem: String| DesignError::Wrong {
            name: self.name.clone(),
            place: place.to_owned(),
            problem,
        };
        if !(1..=MAX_BLOCKS).contains(&self.blocks) {
            return Err(wrong("blocks", format!("must be from 1 to {MAX_BLOCKS}")));
        }
        for axis in &self.axes {
            let place = format!("axes.{}", axis.name);
            if axis.levels.is_empty() {
                return Err(wrong(&place, "has no level; give it at least one".to_owned()));
            }
            let names: BTreeSet<&str> =
                axis.levels.iter().map(|level| level.name.as_str()).collect();
            if names.len() < axis.levels.len() {
                return Err(wrong(&place, "has two levels of one name".to_owned()));
            }
        }
        let combinations = self
            .axes
            .iter()
            .try_fold(1_usize, |product, axis| product.checked_mul(axis.levels.len()))
            .filter(|product| *product <= MAX_COMBINATIONS);
        if combinations.is_none() {
            let problem = format!("make more than {MAX_COMBINATIONS} combinations; vary less");
            return Err(wrong("axes", problem));
        }
        self.check_contrasts(&wrong)?;
        if self.combinations().is_empty() {
            return Err(wrong("skip", "leaves nothing to run".to_owned()));
        }
        Ok(self)
    }

    fn check_contrasts(
        &self,
        wrong: &dyn Fn(&str, String) -> DesignError,
    ) -> Result<(), DesignError> {
        let axis = |name: &str| self.axes.iter().any(|axis| axis.name == name);
        for contrast in &self.contrasts {
            let unknown = contrast.by.iter().chain([&contrast.axis]).find(|name| !axis(name));
            if let Some(name) = unknown {
                return Err(wrong("contrast", format!("names {name:?}, which is no axis")));
            }
            if self.level(&contrast.axis, &contrast.base).is_none() {
                let (axis, base) = (&contrast.axis, &contrast.base);
                return Err(wrong(
                    "contrast",
                    format!("has the base {base:?}, which is no level of {axis}"),
                ));
            }
            if contrast.by.contains(&contrast.axis) {
                let problem = format!("tells {:?} apart by itself", contrast.axis);
                return Err(wrong("contrast", problem));
            }
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn wrong(&self, place: &str, problem: impl Into<String>) -> DesignError {
        let (name, place) = (self.name.to_owned(), place.to_owned());
        DesignError::Wrong { name, place, problem: problem.into() }
    }

    fn unknown(&self, place: &str, key: &str, known: String) -> DesignError {
        let (name, place) = (self.name.to_owned(), place.to_owned());
        DesignError::UnknownKey { name, place, key: key.to_owned(), known }
    }

    fn design(&self, parts: Table) -> Result<Design, DesignError> {
        let mut design = Design {
            name: self.name.to_owned(),
            title: String::new(),
            about: String::new(),
            blocks: BLOCKS,
            order: Order::Random,
            precondition: false,
            constants: Vec::new(),
            axes: Vec::new(),
            skips: Vec::new(),
            contrasts: Vec::new(),
            protocols: BTreeMap::new(),
        };
        for (key, value) in parts {
            match (key.as_str(), value) {
                ("title", Value::Text(text)) => design.title = text,
                ("about", Value::Text(text)) => text.trim().clone_into(&mut design.about),
                ("blocks", Value::Integer(blocks)) => {
                    design.blocks = u32::try_from(blocks).unwrap_or(0);
                }
                ("order", Value::Text(text)) => design.order = self.order(&text)?,
                ("precondition", Value::Switch(on)) => design.precondition = on,
                ("constants", Value::Table(table)) => {
                    design.constants = self.settings("constants", table)?;
                }
                ("axes", Value::Table(table)) => {
                    design.axes = table
                        .into_iter()
                        .map(|(name, levels)| self.axis(&name, levels))
                        .collect::<Result<_, _>>()?;
                }
                ("skip", value) => {
                    design.skips = self
                        .tables("skip", value)?
                        .into_iter()
                        .map(|table| self.skip(&design, table))
                        .collect::<Result<_, _>>()?;
                }
                ("contrast", value) => {
                    design.contrasts = self
                        .tables("contrast", value)?
                        .into_iter()
                        .map(|table| self.contrast(table))
                        .collect::<Result<_, _>>()?;
                }
                ("protocol", Value::Table(table)) => {
                    for (name, settings) in table {
                        let place = format!("protocol.{name}");
                        let Value::Table(settings) = settings else {
                            return Err(self.wrong(&place, "is no table"));
                        };
                        let settings = self.settings(&place, settings)?;
                        design.protocols.insert(name, settings);
                    }
                }
                (key, value) if PARTS.contains(&key) => {
                    let problem = format!("cannot be {}", value.kind());
                    return Err(self.wrong(key, problem));
                }
                (key, _) => return Err(self.unknown("it", key, PARTS.join(", "))),
            }
        }
        Ok(design)
    }

    fn order(&self, text: &str) -> Result<Order, DesignError> {
        match text {
            "random" => Ok(Order::Random),
            "written" => Ok(Order::Written),
            _ => Err(self.wrong("order", "must be \"random\" or \"written\"")),
        }
    }

    /// One or several tables.
    fn tables(&self, place: &str, value: Value) -> Result<Vec<Table>, DesignError> {
        let values = if let Value::List(values) = value { values } else { vec![value] };
        let table = |value| match value {
            Value::Table(table) => Ok(table),
            other => Err(self.wrong(place, format!("cannot be {}", other.kind()))),
        };
        values.into_iter().map(table).collect()
    }

    /// Flags with one value each.
    fn settings(&self, place: &str, table: Table) -> Result<Vec<Setting>, DesignError> {
        let mut settings: Vec<Setting> = Vec::new();
        for (key, value) in table {
            let key = key.replace('_', "-");
            if !is_key(&key) {
                return Err(self.unknown(place, &key, known_keys()));
            }
            if settings.iter().any(|setting| setting.key == key) {
                return Err(self.wrong(&format!("{place}.{key}"), "is there twice"));
            }
            settings.extend(self.setting(place, key, value)?);
        }
        Ok(settings)
    }

    /// One flag; none where it is a switch that is off.
    fn setting(
        &self,
        place: &str,
        key: String,
        value: Value,
    ) -> Result<Option<Setting>, DesignError> {
        let value = match value {
            Value::Switch(on) => return Ok(on.then_some(Setting { key, value: None })),
            other => self.scalar(&format!("{place}.{key}"), other)?,
        };
        Ok(Some(Setting { key, value: Some(value) }))
    }

    /// A text or a number, as it would be typed.
    fn scalar(&self, place: &str, value: Value) -> Result<String, DesignError> {
        match value {
            Value::Text(text) if text.starts_with('-') => {
                Err(self.wrong(place, "begins with a dash, like a flag of its own"))
            }
            Value::Text(text) => Ok(text),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(self.wrong(place, format!("cannot be {}", other.kind()))),
        }
    }

    fn axis(&self, name: &str, levels: Value) -> Result<Axis, DesignError> {
        let name = name.replace('_', "-");
        let place = format!("axes.{name}");
        let Value::List(levels) = levels else {
            return Err(self.wrong(&place, "is no list of levels"));
        };
        let levels = levels
            .into_iter()
            .map(|level| self.level(&name, &place, level))
            .collect::<Result<_, _>>()?;
        Ok(Axis { name, levels })
    }

    fn level(&self, axis: &str, place: &str, level: Value) -> Result<Level, DesignError> {
        let Value::Table(mut table) = level else {
            if !is_key(axis) {
                return Err(self.unknown(
                    "axes",
                    axis,
                    known_keys() + ", or levels that are tables",
                ));
            }
            let name = match &level {
                Value::Switch(on) => on.to_string(),
                other => self.scalar(place, other.clone())?,
            };
            let setting = self.setting(place, axis.to_owned(), level)?;
            return Ok(Level { name, settings: setting.into_iter().collect() });
        };
        let named = table.iter().position(|(key, _)| key == "name");
        let Some(named) = named else {
            return Err(self.wrong(place, "has a level without a name; add name = \"…\""));
        };
        let (_, name) = table.remove(named);
        let name = self.scalar(place, name)?;
        Ok(Level { name, settings: self.settings(place, table)? })
    }

    fn skip(&self, design: &Design, table: Table) -> Result<Skip, DesignError> {
        let mut skip = Skip { pick: Pick::new(), except: Pick::new() };
        for (key, value) in table {
            match (key.as_str(), value) {
                ("except", Value::Table(inner)) => {
                    for (axis, value) in inner {
                        let (axis, levels) = self.picked(design, "skip.except", &axis, value)?;
                        skip.except.insert(axis, levels);
                    }
                }
                (_, value) => {
                    let (axis, levels) = self.picked(design, "skip", &key, value)?;
                    skip.pick.insert(axis, levels);
                }
            }
        }
        Ok(skip)
    }

    /// An axis and levels of it.
    fn picked(
        &self,
        design: &Design,
        place: &str,
        axis: &str,
        value: Value,
    ) -> Result<(String, Vec<String>), DesignError> {
        let axis = axis.replace('_', "-");
        let values = if let Value::List(values) = value { values } else { vec![value] };
        let place = format!("{place}.{axis}");
        let mut levels = Vec::new();
        for value in values {
            let level = match value {
                Value::Switch(on) => on.to_string(),
                other => self.scalar(&place, other)?,
            };
            if design.level(&axis, &level).is_none() {
                let problem = format!("names {level:?}, which is no level of an axis above it");
                return Err(self.wrong(&place, problem));
            }
            levels.push(level);
        }
        Ok((axis, levels))
    }

    fn contrast(&self, table: Table) -> Result<Contrast, DesignError> {
        let mut contrast = Contrast {
            axis: String::new(),
            base: String::new(),
            by: Vec::new(),
            measure: EffectMeasure::Throughput,
        };
        for (key, value) in table {
            match (key.as_str(), value) {
                ("axis", value) => contrast.axis = self.scalar("contrast.axis", value)?,
                ("base", value) => contrast.base = self.scalar("contrast.base", value)?,
                ("by", Value::List(axes)) => {
                    contrast.by = axes
                        .into_iter()
                        .map(|axis| self.scalar("contrast.by", axis))
                        .collect::<Result<_, _>>()?;
                }
                ("by", _) => return Err(self.wrong("contrast.by", "is no list of axes")),
                ("measure", value) => {
                    let name = self.scalar("contrast.measure", value)?;
                    let known = || EffectMeasure::ALL.into_iter();
                    let found = known().find(|measure| measure.name() == name);
                    contrast.measure = found.ok_or_else(|| {
                        let names: Vec<&str> = known().map(EffectMeasure::name).collect();
                        self.wrong(
                            "contrast.measure",
                            format!("must be one of {}", names.join(", ")),
                        )
                    })?;
                }
                (key, _) => {
                    return Err(self.unknown("contrast", key, "axis, base, by, measure".into()));
                }
            }
        }
        Ok(contrast)
    }
}
