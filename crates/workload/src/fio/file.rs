//! Parses fio job files into sections of settings.

use crate::fio::FioError;
use crate::fio::keywords::computed;

/// Maximum nesting of included files.
const INCLUDED_MAX: usize = 16;

/// An option with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, as written.
    pub name: String,
    /// Its value; `None` without one.
    pub value: Option<String>,
    /// File, line and column, or the word on the command line.
    pub place: String,
}

/// A job: its settings in order, after the settings for all jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name: that of the section, or the value of `name`.
    pub name: String,
    /// Where it starts.
    pub place: String,
    /// If an option occurs twice, the later setting applies.
    pub settings: Vec<Setting>,
}

#[derive(Default)]
pub(crate) struct Reading {
    global: Vec<Setting>,
    jobs: Vec<Section>,
    /// Whether settings belong to the last job or to all following jobs.
    in_job: Option<bool>,
    faults: Vec<FioError>,
}

impl Reading {
    /// Starts with settings for all jobs, which those of the file override.
    pub(crate) fn after(global: &[Setting]) -> Self {
        Self { global: global.to_vec(), ..Self::default() }
    }

    pub(crate) fn begin(&mut self, name: &str, place: String) {
        let job = name != "global";
        self.in_job = Some(job);
        if job {
            let (name, settings) = (name.to_owned(), self.global.clone());
            self.jobs.push(Section { name, place, settings });
        }
    }

    /// Starts the settings for all jobs, if no section has started.
    pub(crate) fn begin_global(&mut self) {
        self.in_job.get_or_insert(false);
    }

    pub(crate) fn set(&mut self, setting: Setting) {
        match (self.in_job, self.jobs.last_mut()) {
            (Some(true), Some(job)) => job.settings.push(setting),
            (Some(_), _) => self.global.push(setting),
            (None, _) => {
                let what = "this option is before the first [section]; begin with [global] or \
                            [NAME]";
                self.fault(setting.place, what);
            }
        }
    }

    pub(crate) fn fault(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.faults.push(FioError::new(place, what));
    }

    pub(crate) fn global(&self) -> &[Setting] {
        &self.global
    }

    pub(crate) fn finish(mut self) -> Result<Vec<Section>, Vec<FioError>> {
        for job in &mut self.jobs {
            let renamed = job.settings.iter().rfind(|setting| setting.name == "name");
            if let Some(name) = renamed.and_then(|setting| setting.value.clone()) {
                job.name = name;
            }
            job.settings.retain(|setting| setting.name != "name");
        }
        if self.faults.is_empty() { Ok(self.jobs) } else { Err(self.faults) }
    }
}

/// Parses a job file. The file's settings override `defaults`. `include` returns the text of an included
/// file, and `environment` the value of a variable, or of a keyword of fio by its name with the dollar sign
/// (`$ncpus`).
///
/// # Errors
/// All invalid lines, with their places.
pub fn read_file(
    name: &str,
    text: &str,
    defaults: &[Setting],
    include: &dyn Fn(&str) -> Result<String, String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Section>, Vec<FioError>> {
    let mut reading = Reading::after(defaults);
    let around = Around { include, environment };
    read_into(&mut reading, name, text.trim_start_matches('\u{feff}'), &around, 0);
    if reading.jobs.is_empty() && reading.faults.is_empty() {
        reading.fault(name, "the file has no job; add a section [NAME] with options");
    }
    reading.finish()
}

struct Around<'a> {
    include: &'a dyn Fn(&str) -> Result<String, String>,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

fn read_into(reading: &mut Reading, name: &str, text: &str, around: &Around<'_>, depth: usize) {
    for (number, line) in (1..).zip(text.lines()) {
        // As in fio, a comment can start anywhere in a line.
        let code = line.split([';', '#']).next().unwrap_or_default();
        let column = code.len() - code.trim_start().len() + 1;
        let place = format!("{name}:{number}:{column}");
        let code = code.trim();
        if code.is_empty() {
            continue;
        }
        if let Some(rest) = code.strip_prefix('[') {
            match rest.strip_suffix(']').filter(|section| !section.trim().is_empty()) {
                Some(section) => reading.begin(section.trim(), place),
                None => reading.fault(place, format!("{code:?} is not a section; write [NAME]")),
            }
            continue;
        }
        if let Some(file) = code.strip_prefix("include ") {
            let file = file.trim();
            if depth == INCLUDED_MAX {
                reading.fault(place, "the files include each other endlessly");
                return;
            }
            match (around.include)(file) {
                Ok(text) => read_into(reading, file, &text, around, depth + 1),
                Err(why) => reading.fault(place, format!("cannot include {file}: {why}")),
            }
            continue;
        }
        match setting(code, around, &place) {
            Ok(setting) => reading.set(setting),
            Err(what) => reading.fault(place, what),
        }
    }
}

fn setting(code: &str, around: &Around<'_>, place: &str) -> Result<Setting, String> {
    let (option, value) = match code.split_once('=') {
        Some((option, value)) => {
            let value = computed(&filled(value.trim(), around)?, around.environment)?;
            (option.trim(), Some(value))
        }
        None => (code, None),
    };
    let word = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if code.starts_with("//") {
        return Err(format!(
            "{code:?} is not an option; a comment begins with # or ;, not with //"
        ));
    }
    if option.is_empty() || !option.chars().all(word) {
        return Err(format!("{code:?} is not an option; write NAME=VALUE"));
    }
    Ok(Setting { name: option.to_owned(), value, place: place.to_owned() })
}

/// Replaces environment variables in a value. fio replaces an unset variable with nothing. Here that is an
/// error if any of the value remains: `${FOLDER}/data` must not become `/data`.
fn filled(value: &str, around: &Around<'_>) -> Result<String, String> {
    let (mut text, mut unset) = (String::new(), None);
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, behind) =
            after.split_once('}').ok_or_else(|| format!("{value:?} has a ${{ without a }}"))?;
        text.push_str(before);
        match (around.environment)(variable) {
            Some(found) => text.push_str(&found),
            None => unset = Some(variable),
        }
        rest = behind;
    }
    text.push_str(rest);
    match unset.filter(|_| !text.is_empty()) {
        Some(variable) => Err(format!("the variable {variable} is not set")),
        None => Ok(text),
    }
}
