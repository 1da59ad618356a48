//! Looks up the settings of a job by name, and collects errors. Every setting must be used or explained.

use crate::fio::options::{OptionKind, canonical, is_of_engine, leftover, option_kind};
use crate::fio::values::{number, switch};
use crate::fio::{FioError, Section, Setting};
use std::cell::{Cell, RefCell};

/// Error for an option without a value. fio replaces an unset variable with nothing.
const MISSING: &str = "a value is missing; a variable that is not set counts as empty";

/// Hint for a value with a comment as in C. fio reads a number before it, but not a file name.
const SLASHES: &str = "; a comment begins with # or ;, not with //";

/// Settings by their main name. Errors are collected, and parsing continues.
pub(crate) struct Settings<'a> {
    section: &'a Section,
    /// Which settings were looked up, by their position in the section.
    taken: RefCell<Vec<bool>>,
    faults: RefCell<Vec<FioError>>,
    /// Whether halfpower lacks the job's engine, so that options of engines are ignored.
    foreign: Cell<bool>,
}

impl<'a> Settings<'a> {
    pub(crate) fn new(section: &'a Section) -> Self {
        let taken = RefCell::new(vec![false; section.settings.len()]);
        Self { section, taken, faults: RefCell::default(), foreign: Cell::new(false) }
    }

    pub(crate) fn job_name(&self) -> &'a str {
        &self.section.name
    }

    /// The setting that applies: the last one with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Setting> {
        let mut found = None;
        for (at, setting) in self.section.settings.iter().enumerate() {
            if canonical(&setting.name) == name {
                self.taken.borrow_mut()[at] = true;
                found = Some(setting);
            }
        }
        found
    }

    /// Which of these options is set last. They are names of one property, so the others have no effect.
    pub(crate) fn last_of<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        let settings = self.section.settings.iter().rev();
        let mut listed = settings.filter_map(|setting| {
            names.iter().find(|name| **name == canonical(&setting.name)).copied()
        });
        listed.next()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl Fn(Option<&'a str>) -> Result<T, String>,
    ) -> Option<T> {
        let setting = self.get(name)?;
        match read(setting.value.as_deref()) {
            Ok(value) => Some(value),
            Err(why) => {
                self.keep(fault(setting, &why));
                None
            }
        }
    }

    /// Parses a setting that must have a value. Also returns `None` for a wrong value, and records the error.
    pub(crate) fn value<T>(
        &self,
        name: &str,
        read: impl Fn(&'a str) -> Result<T, String>,
    ) -> Option<T> {
        self.read(name, |value| {
            read(value.map(unquoted).filter(|text| !text.is_empty()).ok_or(MISSING)?)
        })
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.value(name, Ok)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.value(name, number)
    }

    pub(crate) fn on(&self, name: &str) -> bool {
        self.switch(name).unwrap_or(false)
    }

    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        let any = option_kind(name) == OptionKind::Switch;
        self.read(name, |text| switch(text, any))
    }

    /// Records that halfpower lacks the engine. Its options are then ignored.
    pub(crate) fn without_engine(&self) {
        self.foreign.set(true);
    }

    pub(crate) fn has_engine(&self) -> bool {
        !self.foreign.get()
    }

    /// Records that an option is not supported, at the job's place if the option is missing.
    pub(crate) fn refuse(&self, name: &str, why: &str) {
        let fault = match self.get(name) {
            Some(setting) => fault(setting, why),
            None => FioError::new(&self.section.place, why),
        };
        self.keep(fault);
    }

    /// Whether an error in this option was recorded.
    pub(crate) fn is_refused(&self, name: &str) -> bool {
        let faults = self.faults.borrow();
        self.get(name).is_some_and(|setting| faults.iter().any(|it| it.place == setting.place))
    }

    fn keep(&self, fault: FioError) {
        let mut faults = self.faults.borrow_mut();
        // Report an option only once if two converters read it.
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }

    /// Notes on settings that did not become a flag.
    ///
    /// # Errors
    /// All settings that are not supported.
    pub(crate) fn finish(self) -> Result<Vec<String>, Vec<FioError>> {
        let (mut notes, mut refusals) = (Together::default(), Together::default());
        for (setting, taken) in self.section.settings.iter().zip(self.taken.borrow().iter()) {
            if *taken || self.foreign.get() && is_of_engine(&setting.name) {
                continue;
            }
            match leftover(&setting.name, setting.value.as_deref()) {
                Ok(Some(note)) => notes.add(setting, note.to_owned()),
                Ok(None) => {}
                // Each unknown name has its own place.
                Err(why) if option_kind(&setting.name) == OptionKind::Unknown => {
                    self.keep(fault(setting, &why));
                }
                Err(why) => refusals.add(setting, why),
            }
        }
        for (settings, why) in refusals.0 {
            let all = names(&settings);
            let others = all.split_once(", ").map(|(_, others)| format!(" (also {others})"));
            self.keep(fault(settings[0], &(why + &others.unwrap_or_default())));
        }
        let notes = notes.0.iter().map(|(settings, note)| format!("{}: {note}", names(settings)));
        let notes: Vec<String> = notes.chain(self.overruled()).collect();
        let faults = self.faults.into_inner();
        if faults.is_empty() { Ok(notes) } else { Err(faults) }
    }

    /// Notes on options of the command line that the job file sets to another value.
    fn overruled(&self) -> Vec<String> {
        let all = &self.section.settings;
        let overruled = all.iter().enumerate().filter_map(|(at, setting)| {
            let name = canonical(&setting.name);
            let mut later = all[at + 1..].iter().filter(|other| canonical(&other.name) == name);
            let of_file = later.rfind(|other| !is_of_line(other))?;
            (is_of_line(setting) && of_file.value != setting.value).then(|| {
                format!(
                    "{}: no effect, because the job file sets {}, as in fio",
                    setting.place,
                    with_value(of_file)
                )
            })
        });
        overruled.collect()
    }
}

/// Settings that share a note or the reason of a refusal, in order of appearance.
#[derive(Default)]
struct Together<'a>(Vec<(Vec<&'a Setting>, String)>);

impl<'a> Together<'a> {
    fn add(&mut self, setting: &'a Setting, text: String) {
        match self.0.iter_mut().find(|(_, other)| *other == text) {
            Some((settings, _)) => settings.push(setting),
            None => self.0.push((vec![setting], text)),
        }
    }
}

/// The names of settings, each once.
fn names(settings: &[&Setting]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for setting in settings {
        if !names.contains(&setting.name.as_str()) {
            names.push(&setting.name);
        }
    }
    names.join(", ")
}

/// Whether an option is from the command line, whose words are their own places.
fn is_of_line(setting: &Setting) -> bool {
    setting.place.starts_with('-')
}

/// An option as in a job file.
fn with_value(setting: &Setting) -> String {
    let value = setting.value.as_deref().map(|value| format!("={value}")).unwrap_or_default();
    format!("{}{value}", setting.name)
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

fn fault(setting: &Setting, why: &str) -> FioError {
    if is_of_line(setting) {
        return FioError::new(&setting.place, why);
    }
    let told = with_value(setting);
    let slashes = told.contains(" //") || told.contains("\t//");
    let hint = if slashes { SLASHES } else { "" };
    FioError::new(&setting.place, format!("{told}: {why}{hint}"))
}
