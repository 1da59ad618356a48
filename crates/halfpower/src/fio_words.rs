//! Decides whether the words after `halfpower run` are in fio's language, and which of them are halfpower's.
//!
//! They are in fio's language if they name a job file (recognised by its content), a job (`--name`), or no
//! target but `--filename` or `--directory`, for which fio itself would require a job name. A file, device or
//! folder before `--name` becomes the file or folder of the fio jobs. If a line names a target and no job,
//! fio options that do not affect the load are ignored with a remark. Without this rule the parser would
//! suggest `--failed` for `--filename`.

use crate::failure::usage;
use crate::output;
use crate::recognise::FileForm;
use crate::run_args::RunArgs;
use clap::{Args, Command};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use workload::fio::{self, OptionKind};

/// Options that both fio and `run` have. They have the meaning of `run`.
const OURS: [&str; 2] = ["output", "overwrite"];
/// Flags that allow jobs to write.
const ALLOW: [&str; 2] = ["overwrite", "destroy-data-on"];

/// A request in fio's language.
#[derive(Debug, Default)]
pub(crate) struct FioWords {
    /// Value of `output-format`.
    pub(crate) format: Option<String>,
    pub(crate) files: Vec<String>,
    /// fio's options.
    pub(crate) options: Vec<String>,
    /// If not empty, only the jobs with these names run.
    pub(crate) only: Vec<String>,
    /// Flags of `run`.
    pub(crate) ours: Vec<String>,
    /// Flags that allow jobs to write.
    pub(crate) allow: Vec<String>,
    /// Print the planned runs and run nothing.
    pub(crate) parse_only: bool,
    /// No job may write.
    pub(crate) readonly: bool,
}

#[derive(Debug)]
pub(crate) enum Language {
    Fio(FioWords),
    /// halfpower's: the words to parse.
    Ours(Vec<OsString>),
}

/// A word of the command line.
struct Word<'a> {
    /// The word as typed.
    text: &'a str,
    /// Name without dashes and value; empty if the word is not an option.
    name: &'a str,
    has_value: bool,
}

impl<'a> Word<'a> {
    fn of(text: &'a str) -> Self {
        let option = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).unwrap_or_default();
        let (name, has_value) = option.split_once('=').map_or((option, false), |it| (it.0, true));
        Self { text, name, has_value }
    }

    fn value(&self) -> Option<&'a str> {
        self.text.split_once('=').map(|(_, value)| value)
    }
}

/// The flags of `run` by name, and whether each takes a value.
struct Flags(BTreeMap<String, bool>);

impl Flags {
    fn of_run() -> Self {
        let command = RunArgs::augment_args(Command::new("run"));
        let mut flags = BTreeMap::new();
        for flag in command.get_arguments() {
            let least = flag.get_num_args().map_or(1, |range| range.min_values());
            let takes = flag.get_action().takes_values() && least > 0;
            let names = flag.get_long_and_visible_aliases().unwrap_or_default();
            let hidden = flag.get_all_aliases().unwrap_or_default();
            flags.extend(names.into_iter().chain(hidden).map(|name| (name.to_owned(), takes)));
        }
        for global in ["verbose", "quiet", "help"] {
            flags.insert(global.to_owned(), false);
        }
        Self(flags)
    }

    /// Whether the next word is the flag's value; `None` if `run` has no such flag.
    fn takes_next(&self, word: &Word<'_>) -> Option<bool> {
        // Flags of `run` have two dashes, or one dash and a letter.
        match word.text {
            "-v" | "-q" | "-h" => return Some(false),
            text if !text.starts_with("--") => return None,
            _ => {}
        }
        self.0.get(word.name).map(|takes| *takes && !word.has_value)
    }
}

/// Finds the language of a command line, whose first word is the program's name.
///
/// # Errors
/// If a fio option cannot be combined with a target.
pub(crate) fn language(all: Vec<OsString>) -> anyhow::Result<Language> {
    // A complete fio command line, pasted after `run`.
    let pasted = all.get(1).is_some_and(|word| word == "run")
        && all.get(2).is_some_and(|word| word == "fio")
        && !Path::new("fio").exists();
    let all = if pasted { [&all[..2], &all[3..]].concat() } else { all };
    let texts: Option<Vec<&str>> = all.iter().map(|word| word.to_str()).collect();
    let Some((["run"], words)) =
        texts.as_deref().and_then(|words| words.get(1..)?.split_at_checked(1))
    else {
        return Ok(Language::Ours(all));
    };
    let flags = Flags::of_run();
    let has = |names: &[&str]| {
        words.iter().any(|word| word.starts_with('-') && names.contains(&Word::of(word).name))
    };
    let named: Vec<&str> = positional(words, &flags).collect();
    let jobs = named.is_empty() || named.iter().any(|name| is_job_file(name));
    if jobs && (has(&["name"]) || !named.is_empty()) {
        return Ok(Language::Fio(fio_words(words, &flags)));
    }
    if has(&["name"]) && named.iter().all(|name| Path::new(name).exists()) {
        if has(&["filename", "directory"]) {
            let target = named.join(" ");
            return Err(usage(format!(
                "{target}: --filename or --directory also names a target; omit one of them"
            )));
        }
        let mut found = fio_words(words, &flags);
        let targets = std::mem::take(&mut found.files);
        found.options.splice(0..0, as_options(&targets)?);
        return Ok(Language::Fio(found));
    }
    if has(&["filename", "directory"]) && positional(words, &flags).next().is_none() {
        let named: Vec<&str> = ["--name=job"].into_iter().chain(words.iter().copied()).collect();
        return Ok(Language::Fio(fio_words(&named, &flags)));
    }
    let mut kept: Vec<OsString> = all[..2].to_vec();
    let mut left = words.iter().peekable();
    while let Some(text) = left.next() {
        let word = Word::of(text);
        let foreign = flags.takes_next(&word).is_none() && text.len() > 2 && !word.name.is_empty();
        let kind = fio::option_kind(word.name);
        if !foreign || kind == OptionKind::Unknown {
            kept.push(text.into());
            if flags.takes_next(&word) == Some(true) {
                kept.extend(left.next().map(OsString::from));
            }
            continue;
        }
        if word.name == "parse-only" {
            let text = "--parse-only works with fio's job files and command lines (--name=JOB \
                        --filename=FILE); nothing was run";
            return Err(usage(text));
        }
        let (name, mut value) = (word.name, word.value());
        if kind == OptionKind::WithValue && !word.has_value {
            value = left.next_if(|next| !next.starts_with('-')).copied();
        }
        let note = fio::without_load(name, value)
            .map_err(|why| usage(format!("{text} is a fio option: {why}")))?;
        let note = note.unwrap_or("it has no effect here");
        output::remark(&format!("{text} is a fio option without effect: {note}"));
    }
    Ok(Language::Ours(kept))
}

/// Converts targets to the fio option that names them.
fn as_options(targets: &[String]) -> anyhow::Result<[String; 1]> {
    let folders = targets.iter().filter(|target| Path::new(target).is_dir()).count();
    let option = match folders {
        0 => "--filename",
        all if all == targets.len() => "--directory",
        _ => return Err(usage("a fio job can have files or folders, but not both; omit one kind")),
    };
    let names: Vec<String> = targets.iter().map(|target| target.replace(':', "\\:")).collect();
    Ok([format!("{option}={}", names.join(":"))])
}

/// Words that are neither options nor their values.
fn positional<'a>(words: &'a [&str], flags: &'a Flags) -> impl Iterator<Item = &'a str> {
    let mut left = words.iter();
    std::iter::from_fn(move || {
        while let Some(text) = left.next() {
            if !text.starts_with('-') {
                return Some(*text);
            }
            let word = Word::of(text);
            // A misspelt option is more likely to have a value than not.
            let fios = || fio::option_kind(word.name) != OptionKind::Switch && !word.has_value;
            // fio's `--thread file` and halfpower's `--overwrite file` end with a target.
            if flags.takes_next(&word).unwrap_or_else(fios) {
                left.next();
            }
        }
        None
    })
}

/// Sorts the words into job files, fio's options, and halfpower's flags.
fn fio_words(words: &[&str], flags: &Flags) -> FioWords {
    let mut found = FioWords::default();
    let mut left = words.iter().peekable();
    while let Some(text) = left.next() {
        let word = Word::of(text);
        let kind = fio::option_kind(word.name);
        let ours = OURS.contains(&word.name) && !(word.name == "overwrite" && word.has_value);
        let ours = ours || kind == OptionKind::Unknown && flags.takes_next(&word).is_some();
        match word.name {
            "" => found.files.push((*text).to_owned()),
            "section" => {
                let value = word.value().or_else(|| left.next().copied());
                found.only.extend(value.map(str::to_owned));
            }
            "output-format" => {
                let value = word.value().or_else(|| left.next().copied());
                found.format = value.map(str::to_owned);
            }
            "parse-only" => found.parse_only = true,
            "readonly" => found.readonly = true,
            _ => {
                let list = match ours {
                    true if ALLOW.contains(&word.name) => &mut found.allow,
                    true => &mut found.ours,
                    false => &mut found.options,
                };
                list.push((*text).to_owned());
                let follows = match ours {
                    true => flags.takes_next(&word) == Some(true),
                    false => kind != OptionKind::Switch && !word.has_value,
                };
                if follows {
                    list.extend(
                        left.next_if(|next| ours || !next.starts_with('-'))
                            .map(|it| (*it).to_owned()),
                    );
                }
            }
        }
    }
    found
}

/// Whether a file is a fio job file: by its content or, if that is unknown, by its name.
fn is_job_file(path: &str) -> bool {
    match FileForm::of_file(Path::new(path)) {
        Some(FileForm::JobFile) => true,
        Some(FileForm::Other) => path.ends_with(".fio"),
        Some(_) => false,
        None => path.ends_with(".fio") && !Path::new(path).exists(),
    }
}
