//! Opens existing recordings: from the database, or from files of any tool.
//!
//! Some commands take devices as well as recordings. They must never watch a live device because a file could
//! not be read: the verdict would be about the wrong machine. A word that names a file, or looks like one, is
//! therefore a file. If it cannot be read, the error says how to get a readable recording.

use crate::failure::{refuse_given, usage};
use crate::recognise::FileForm;
use crate::store_args::StoreArgs;
use crate::values::one_of;
use clap::Args;
use engine::input;
use host::kernel;
use host::target;
use import::{Format, Options, parse_moment, parse_utc_offset};
use record::{DocumentKind, Nanos, Observation, ObservedDevice, SavedDocument, quoted, shell_word};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use store::{LAST, Store, StoreError};

/// Minimum length of an abbreviated id.
const ID_MIN: usize = 6;

/// Flags for reading files of other tools.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Files of other tools")]
pub(crate) struct FormArgs {
    /// Format of the files: iostat (JSON), iostat-text, sadf-json, sadf-lines, sadf-pairs,
    /// sadf-xml, sar, diskstats, node-exporter, prometheus, telegraf, collectd, windows or
    /// observation [default: detected from the content].
    #[arg(long, value_name = "FORM", value_parser = one_of(&Format::ALL, Format::name))]
    pub(crate) format: Option<Format>,
    /// Time zone of times that contain no zone, such as +02:00 [default: UTC].
    #[arg(long, value_name = "OFFSET", value_parser = utc_offset, allow_hyphen_values = true)]
    utc_offset: Option<i64>,
    /// Time of a scrape that contains no time; repeat this flag for each scrape, in order.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    timestamp: Vec<u64>,
    /// Machine to import, if the files contain several: its name, or its Prometheus label instance.
    #[arg(long, value_name = "NAME")]
    pub(crate) instance: Option<String>,
}

impl FormArgs {
    /// Rejects flags for files if these words name no file.
    pub(crate) fn refuse_without_files(&self, words: &[String]) -> anyhow::Result<()> {
        let flags = [
            ("--format", self.format.is_some()),
            ("--utc-offset", self.utc_offset.is_some()),
            ("--timestamp", !self.timestamp.is_empty()),
            ("--instance", self.instance.is_some()),
        ];
        refuse_given(&flags, |flag| {
            let words =
                if words.is_empty() { "the command".to_owned() } else { quoted(words.join(" ")) };
            format!("{flag} applies to files of other tools, but {words} names no file")
        })
    }

    /// Import options. `interval` is the user's interval length, for a file without times.
    pub(crate) fn options(&self, interval: Option<Nanos>) -> Options {
        Options {
            utc_offset_s: self.utc_offset,
            interval_ns: interval.map(|interval| interval.0),
            scrape_times_ns: self.timestamp.clone(),
            instance: self.instance.clone(),
            now_ns: now_ns(),
        }
    }
}

fn now_ns() -> Option<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// Parses `+02:00`, `-0330` or `Z` into seconds.
fn utc_offset(text: &str) -> Result<i64, String> {
    parse_utc_offset(text).ok_or_else(|| "use +HH:MM or -HH:MM".to_owned())
}

fn moment(text: &str) -> Result<u64, String> {
    parse_moment(text)
        .ok_or_else(|| "use a time such as 2026-05-01T10:00:00Z, or seconds since 1970".to_owned())
}

/// What a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    File,
    /// Standard input or a pipe, which can be read only once.
    Stream,
    Saved,
    Device,
}

/// The words of a command line that names recordings or devices. What each names is decided once: a file that
/// appears later must not change it.
pub(crate) struct Sources(Vec<(String, Named)>);

impl Sources {
    /// # Errors
    /// If a word can only be a file, but the file does not exist.
    pub(crate) fn of(words: &[String]) -> anyhow::Result<Self> {
        let named = |word: &String| Ok((word.clone(), kind(word)?));
        words.iter().map(named).collect::<Result<_, _>>().map(Self)
    }

    /// Words that are known to name devices.
    pub(crate) fn devices(words: &[String]) -> Self {
        Self(words.iter().map(|word| (word.clone(), Named::Device)).collect())
    }

    /// Separates recordings from the names of devices in them. Words that only name devices stay together: they
    /// are devices to watch.
    pub(crate) fn and_devices(self) -> (Self, Vec<String>) {
        if self.are(|kind| kind == Named::Device) {
            return (self, Vec::new());
        }
        let is_device = |(_, kind): &(String, Named)| *kind == Named::Device;
        let (devices, recordings): (Vec<_>, Vec<_>) = self.0.into_iter().partition(is_device);
        (Self(recordings), devices.into_iter().map(|(word, _)| word).collect())
    }

    /// The words.
    pub(crate) fn words(&self) -> Vec<String> {
        self.0.iter().map(|(word, _)| word.clone()).collect()
    }

    fn are(&self, wanted: impl Fn(Named) -> bool) -> bool {
        self.0.iter().all(|(_, kind)| wanted(*kind))
    }

    /// Whether all of the words name files, pipes or standard input.
    pub(crate) fn are_files(&self) -> bool {
        !self.0.is_empty() && self.are(|kind| matches!(kind, Named::File | Named::Stream))
    }

    /// The recordings that the words name; `None` if they name devices. `interval` is the user's interval
    /// length, for a file without times.
    pub(crate) fn recordings(
        &self,
        keeping: &StoreArgs,
        (form, interval): (&FormArgs, Option<Nanos>),
    ) -> anyhow::Result<Option<Vec<Observation>>> {
        let words = self.words();
        if self.are_files() {
            let files = files(&words, form.format)?;
            if form.format.is_none() {
                refuse_others(&files)?;
            }
            let read = import::read_recordings(&files, form.format, &form.options(interval));
            return read.map(Some).map_err(|error| usage(error.to_string()));
        }
        if self.are(|kind| kind == Named::Device) {
            form.refuse_without_files(&words)?;
            return Ok(None);
        }
        let [id] = words.as_slice() else {
            return Err(usage(format!(
                "{} cannot be combined: name files of one machine or one saved observation, each \
                 with devices in it, or devices to watch",
                words.join(", ")
            )));
        };
        Ok(Some(vec![saved(id, &keeping.existing()?)?]))
    }

    /// What a command must name to read these recordings again: the files, or the `id` of the saved observation.
    /// `None` for devices, standard input and pipes.
    pub(crate) fn named_again(&self, id: &str) -> Option<String> {
        match self.0.as_slice() {
            [(_, Named::Saved)] => Some(id.to_owned()),
            [] => None,
            files => self.are(|kind| kind == Named::File).then(|| {
                let words: Vec<String> = files.iter().map(|(word, _)| shell_word(word)).collect();
                words.join(" ")
            }),
        }
    }
}

/// The names, in the recordings, of the disks that these words select. A word selects a disk by its name, by a
/// part of it (`F:` of `2 F:`), by its number (`8:16`), or by its serial number; case does not matter.
///
/// # Errors
/// If a word selects no disk, or several.
pub(crate) fn select_devices(
    words: &[String],
    within: &[Observation],
) -> anyhow::Result<Vec<String>> {
    let devices = || within.iter().flat_map(|one| &one.devices);
    let whole = || devices().filter(|it| it.partition_of.is_none() && it.built_of.is_empty());
    let names = |of: &dyn Fn(&ObservedDevice) -> bool| -> BTreeSet<String> {
        whole().filter(|device| of(device)).map(|device| device.name.clone()).collect()
    };
    let listed = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    let select = |word: &String| {
        let exact = names(&|device| device.name == plain(word));
        let found = if exact.is_empty() { names(&|device| selects(word, device)) } else { exact };
        match (found.len(), found.first()) {
            (1, Some(name)) => Ok(name.clone()),
            (0, _) => {
                let is_part = |it: &&ObservedDevice| it.name.eq_ignore_ascii_case(plain(word));
                let part = devices().find(is_part);
                let part = part.and_then(|part| Some((&part.name, part.partition_of.as_ref()?)));
                let hint = part.map(|(part, disk)| format!(" ({part} is a part of {disk})"));
                let disks = listed(names(&|_| true));
                let hint = hint.unwrap_or_default();
                Err(usage(format!("the recording has no disk {word}{hint}; its disks are {disks}")))
            }
            _ => Err(usage(format!("{word} selects several disks: {}; name one", listed(found)))),
        }
    };
    let selected: BTreeSet<String> = words.iter().map(select).collect::<Result<_, _>>()?;
    Ok(selected.into_iter().collect())
}

/// What people write around the name of a disk.
const FOLDERS: [&str; 4] = ["/dev/mapper/", "/dev/", r"\\.\", r"\\?\"];
const DISK_OBJECTS: [&str; 2] = ["physicaldrive", "physicaldisk"];

/// A word without the folder of devices before it and the separator behind it.
fn plain(word: &str) -> &str {
    let name = FOLDERS.iter().find_map(|folder| word.strip_prefix(folder)).unwrap_or(word);
    name.trim_end_matches(['/', '\\'])
}

/// Whether a word that is not the exact name of a disk selects this one.
fn selects(word: &str, device: &ObservedDevice) -> bool {
    let word = plain(word).to_lowercase();
    let number = DISK_OBJECTS.iter().find_map(|object| word.strip_prefix(object));
    let word = number.unwrap_or(&word).trim();
    let facts = device.facts.as_ref();
    let serial = facts.and_then(|facts| facts.serial.as_deref()).map(str::trim);
    // sar names a disk without a name by its numbers.
    let by_numbers = device.name.strip_prefix("dev").map(|numbers| numbers.replace('-', ":"));
    let numbers = facts.map(|facts| facts.major_minor.as_str()).or(by_numbers.as_deref());
    let name = device.name.to_lowercase();
    let part = |part: &str| part == word || part.strip_suffix(':') == Some(word);
    name == word
        || name.split(' ').any(part)
        || [serial, numbers].into_iter().flatten().any(|it| it.eq_ignore_ascii_case(word))
}

/// The saved observation of an id. For the id of another document, the error says what to name instead.
fn saved(id: &str, store: &Store) -> anyhow::Result<Observation> {
    let missing = match store.document(id) {
        Err(error @ StoreError::NotFound { .. }) if !id.starts_with(LAST) => error,
        found => return Ok(found?),
    };
    let Ok(other) = store.find(id, &DocumentKind::ALL) else { return Err(missing.into()) };
    let instead = match &other {
        SavedDocument::Diagnosis(it) => format!("name its observation, {}", it.observation_id),
        _ => "name an observation, a recording or a device".to_owned(),
    };
    let kind = other.kind().map_or("document", DocumentKind::name);
    Err(usage(format!(
        "{id} is a saved {kind}, which `halfpower show {id}` prints; this command needs an \
         observation: {instead}"
    )))
}

/// The word for standard input.
const STANDARD_INPUT: &str = "-";

/// Extension of Windows' counter logs.
const COUNTER_LOG: &str = "blg";

/// Reads files, and returns them with their names. `-` is standard input. A log that only the system can read
/// is converted to text. Without a `given` format, only the first bytes are read of a file that cannot be a
/// recording.
pub(crate) fn files(
    paths: &[impl AsRef<Path>],
    given: Option<Format>,
) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let named = |path: &Path| {
        let is_known = |head: &[u8]| given.is_some() || may_be_recording(head, path.is_file());
        let name = path.display().to_string();
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case(COUNTER_LOG)) {
            return Ok((name, kernel::counter_log(path).map_err(usage)?.into_bytes()));
        }
        Ok((name, input::bytes_if_known(path, input::RECORDING, is_known)?))
    };
    paths.iter().map(|path| named(path.as_ref())).collect()
}

/// Rejects files of a known form other than disk counters.
pub(crate) fn refuse_others(files: &[(String, Vec<u8>)]) -> anyhow::Result<()> {
    let other = |(name, bytes): &(String, Vec<u8>)| match FileForm::of(bytes) {
        FileForm::Counters(_) => None,
        form => form.refusal(name),
    };
    files.iter().find_map(other).map_or(Ok(()), |why| Err(usage(why)))
}

/// Words that mark a text whose disk data may come late: a scrape, a log of several tools.
const LATE: [&str; 4] = ["# HELP", "# TYPE", "avg-cpu", "Linux "];

/// Whether a file with these first bytes may be a recording. A file of a known format is read completely even if
/// some of its bytes are damaged: the first bytes alone would give a verdict on a part of the time. A text file
/// is read completely, because the data can start anywhere in it. A pipe may never end, so its first bytes must
/// contain a known word.
fn may_be_recording(head: &[u8], is_file: bool) -> bool {
    let text = String::from_utf8_lossy(head);
    let is_late = || LATE.iter().any(|word| text.contains(word));
    import::detect(head).is_ok()
        || FileForm::of(head) != FileForm::Other
        || is_late()
        || (is_file && import::is_text(head))
}

/// Whether a word is a file or stream, an id in the database, or else a device.
fn kind(word: &str) -> anyhow::Result<Named> {
    let path = Path::new(word);
    if word == STANDARD_INPUT {
        return Ok(Named::Stream);
    }
    if let Ok(facts) = path.metadata() {
        return Ok(match facts.is_file() {
            true => Named::File,
            false if target::is_pipe(&facts) => Named::Stream,
            false => Named::Device,
        });
    }
    let is_id = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    if word.starts_with(LAST) || word.len() >= ID_MIN && word.chars().all(is_id) {
        return Ok(Named::Saved);
    }
    let is_path = word.starts_with(['/', '.']) && !word.starts_with("/dev/");
    if is_path || path.extension().is_some() {
        return Err(usage(match path.try_exists() {
            Err(error) => format!("cannot read {word}: {error}"),
            Ok(_) => format!("{word} does not exist; name a recording or a device"),
        }));
    }
    Ok(Named::Device)
}
