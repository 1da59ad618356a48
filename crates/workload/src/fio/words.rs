//! Parses fio's command line into sections of settings.

use crate::fio::file::Reading;
use crate::fio::options::{OptionKind, option_kind};
use crate::fio::{FioError, Section, Setting};

/// Parses a fio command line into the settings for all jobs and the jobs. `--name` starts a job. Options may
/// have one dash or two.
///
/// # Errors
/// All words that are not options.
pub fn read_words(words: &[String]) -> Result<(Vec<Setting>, Vec<Section>), Vec<FioError>> {
    let mut reading = Reading::default();
    reading.begin_global();
    let mut left = words.iter().peekable();
    while let Some(word) = left.next() {
        let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let Some(option) = option.filter(|option| !option.is_empty()) else {
            reading.fault(word, "not a fio option; fio's options begin with --");
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            // A switch takes a value only after an equals sign, as in fio.
            None if option_kind(option) == OptionKind::Switch => (option, None),
            None => (option, left.next_if(|next| !next.starts_with('-')).cloned()),
        };
        if name == "name" {
            match value.filter(|value| !value.is_empty()) {
                Some(job) => reading.begin(&job, word.clone()),
                None => reading.fault(word, "a job needs a name: --name=NAME"),
            }
            continue;
        }
        let apart = value.as_ref().filter(|_| !word.contains('='));
        let place = apart.map_or_else(|| word.clone(), |value| format!("{word} {value}"));
        reading.set(Setting { name: name.to_owned(), value, place });
    }
    let global = reading.global().to_vec();
    Ok((global, reading.finish()?))
}
