//! Job files and command lines as sections of settings.

use crate::FioError;

/// How deep files may include each other.
const INCLUDED_MAX: usize = 16;

/// An option that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As it was written.
    pub name: String,
    /// `None` where it was written without one.
    pub value: Option<String>,
    /// File, line and column, or the word of the command line.
    pub place: String,
}

/// A job: what is set for it, in order, with what holds for all jobs in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub place: String,
    /// Of two settings of an option the later one counts.
    pub settings: Vec<Setting>,
}

/// What is read so far.
#[derive(Default)]
struct Reading {
    global: Vec<Setting>,
    jobs: Vec<Section>,
    /// Whether settings are of the last job or of all that follow.
    in_job: Option<bool>,
}

impl Reading {
    fn begin(&mut self, name: &str, place: String) {
        let job = name != "global";
        self.in_job = Some(job);
        if job {
            let (name, settings) = (name.to_owned(), self.global.clone());
            self.jobs.push(Section { name, place, settings });
        }
    }

    fn set(&mut self, setting: Setting) -> Result<(), FioError> {
        match (self.in_job, self.jobs.last_mut()) {
            (Some(true), Some(job)) => job.settings.push(setting),
            (Some(_), _) => self.global.push(setting),
            (None, _) => {
                let what = "an option before the first [section]; begin with [global] or [NAME]";
                return Err(FioError::new(setting.place, what));
            }
        }
        Ok(())
    }

    fn finish(self, place: &str) -> Result<Vec<Section>, FioError> {
        if self.jobs.is_empty() {
            return Err(FioError::new(place, "no job in it; add a [NAME] with what it does"));
        }
        Ok(self.jobs)
    }
}

/// Reads a job file. `include` gives the text of a file that it names, `environment` the value of a
/// variable.
///
/// # Errors
/// The first line that means nothing, with its place.
pub fn read_file(
    name: &str,
    text: &str,
    include: &dyn Fn(&str) -> Result<String, String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Section>, FioError> {
    let mut reading = Reading::default();
    read_into(&mut reading, name, text, &Around { include, environment }, 0)?;
    reading.finish(name)
}

struct Around<'a> {
    include: &'a dyn Fn(&str) -> Result<String, String>,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

fn read_into(
    reading: &mut Reading,
    name: &str,
    text: &str,
    around: &Around<'_>,
    depth: usize,
) -> Result<(), FioError> {
    for (number, line) in (1..).zip(text.lines()) {
        // A comment ends a line anywhere in it, as fio has it.
        let told = line.split([';', '#']).next().unwrap_or_default();
        let column = told.len() - told.trim_start().len() + 1;
        let place = format!("{name}:{number}:{column}");
        let told = told.trim();
        if told.is_empty() {
            continue;
        }
        if let Some(rest) = told.strip_prefix('[') {
            let section = rest.strip_suffix(']').filter(|section| !section.trim().is_empty());
            let section = section.ok_or_else(|| {
                FioError::new(&place, format!("{told:?} is no section; write [NAME]"))
            })?;
            reading.begin(section.trim(), place);
            continue;
        }
        if let Some(file) = told.strip_prefix("include ") {
            let file = file.trim();
            if depth == INCLUDED_MAX {
                return Err(FioError::new(place, "files include each other without an end"));
            }
            let text = (around.include)(file)
                .map_err(|why| FioError::new(&place, format!("cannot include {file}: {why}")))?;
            read_into(reading, file, &text, around, depth + 1)?;
            continue;
        }
        let (option, value) = match told.split_once('=') {
            Some((option, value)) => (option.trim(), Some(filled(value.trim(), around, &place)?)),
            None => (told, None),
        };
        let word = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        if option.is_empty() || !option.chars().all(word) {
            return Err(FioError::new(place, format!("{told:?} is no option; write NAME=VALUE")));
        }
        reading.set(Setting { name: option.to_owned(), value, place })?;
    }
    Ok(())
}

/// A value with the variables of the environment in it.
fn filled(value: &str, around: &Around<'_>, place: &str) -> Result<String, FioError> {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, behind) = after
            .split_once('}')
            .ok_or_else(|| FioError::new(place, format!("{value:?} has a ${{ without its }}")))?;
        let found = (around.environment)(variable)
            .ok_or_else(|| FioError::new(place, format!("the variable {variable} is not set")))?;
        text.push_str(before);
        text.push_str(&found);
        rest = behind;
    }
    text.push_str(rest);
    Ok(text)
}

/// Reads a command line of fio: its options, of which `--name` begins a job.
///
/// # Errors
/// A word that is no option, or an option before the first `--name`.
pub fn read_words(words: &[String]) -> Result<Vec<Section>, FioError> {
    let mut reading = Reading::default();
    let mut left = words.iter().peekable();
    while let Some(word) = left.next() {
        let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) else {
            return Err(FioError::new(word, "no option of fio; its options begin with --"));
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            // A value may stand in a word of its own.
            None => (option, left.next_if(|next| !next.starts_with("--")).cloned()),
        };
        if name == "name" {
            let job = value.filter(|value| !value.is_empty());
            let job = job.ok_or_else(|| FioError::new(word, "a job needs a name: --name=NAME"))?;
            reading.begin(&job, word.clone());
            continue;
        }
        if reading.in_job.is_none() {
            // What stands in front of the first job holds for all.
            reading.in_job = Some(false);
        }
        reading.set(Setting { name: name.to_owned(), value, place: word.clone() })?;
    }
    reading.finish("the command line")
}
