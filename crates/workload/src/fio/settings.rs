//! The settings of a job by name, of which none is left over, and what is wrong with them.

use crate::fio::options::{OptionKind, canonical, is_of_engine, leftover, option_kind};
use crate::fio::values::{number, switch};
use crate::fio::{FioError, Section, Setting};
use std::cell::{Cell, RefCell};

/// Why an option without a value is none; fio puts nothing in the place of a variable that is not set.
const MISSING: &str = "a value is missing; a variable that is not set counts as empty";

/// Settings by their first name. What is wrong with one is kept, and reading goes on.
pub(crate) struct Settings<'a> {
    section: &'a Section,
    /// Which were asked for, by their position in the section.
    taken: RefCell<Vec<bool>>,
    faults: RefCell<Vec<FioError>>,
    /// Whether its engine is none of ours, so that options of engines are not looked at.
    foreign: Cell<bool>,
}

impl<'a> Settings<'a> {
    pub(crate) fn new(section: &'a Section) -> Self {
        let taken = RefCell::new(vec![false; section.settings.len()]);
        Self { section, taken, faults: RefCell::default(), foreign: Cell::new(false) }
    }

    /// The setting that counts: the last of its name.
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

    /// One that has to have a value, by a reader of values; `None` also where the value is wrong, which is kept.
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

    /// The engine is none of ours: what it would need is not looked for.
    pub(crate) fn without_engine(&self) {
        self.foreign.set(true);
    }

    pub(crate) fn has_engine(&self) -> bool {
        !self.foreign.get()
    }

    /// Keeps that an option, or where it is missing the job, cannot be honoured.
    pub(crate) fn refuse(&self, name: &str, why: &str) {
        let fault = match self.get(name) {
            Some(setting) => fault(setting, why),
            None => FioError::new(&self.section.place, why),
        };
        self.keep(fault);
    }

    fn keep(&self, fault: FioError) {
        let mut faults = self.faults.borrow_mut();
        // An option that two readers look at is wrong once.
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }

    /// Notes on what became no flag.
    ///
    /// # Errors
    /// All that cannot be honoured.
    pub(crate) fn finish(self) -> Result<Vec<String>, Vec<FioError>> {
        let mut notes = Vec::new();
        for (setting, taken) in self.section.settings.iter().zip(self.taken.borrow().iter()) {
            if *taken || self.foreign.get() && is_of_engine(&setting.name) {
                continue;
            }
            match leftover(&setting.name, setting.value.as_deref()) {
                Ok(note) => notes.extend(note.map(|note| format!("{}: {note}", setting.name))),
                Err(why) => self.keep(fault(setting, &why)),
            }
        }
        let faults = self.faults.into_inner();
        if faults.is_empty() { Ok(notes) } else { Err(faults) }
    }
}

/// A text without the quotes around it.
fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

fn fault(setting: &Setting, why: &str) -> FioError {
    // A word of a command line is its own place.
    if setting.place.starts_with('-') {
        return FioError::new(&setting.place, why);
    }
    let value = setting.value.as_deref().map(|value| format!("={value}")).unwrap_or_default();
    FioError::new(&setting.place, format!("{}{value}: {why}", setting.name))
}
