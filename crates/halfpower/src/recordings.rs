//! Recordings that exist already: in the database, or in files of any tool.
//!
//! A command that takes devices as well as recordings must never watch a device because it could
//! not read a file: the verdict would be about the wrong machine. So a word that names a file, or
//! looks like one, is a file; what cannot be read is an error that says how to get a readable
//! recording.

use crate::failure::usage;
use crate::recognise::FileForm;
use crate::store_args::StoreArgs;
use import::{Format, Options};
use record::{Nanos, Observation};
use std::path::Path;
use store::LAST;

/// Fewest characters that can be the beginning of an id.
const ID_MIN: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    File,
    Saved,
    Device,
}

/// The recordings that these words name; `None` where they name devices. `interval` is the length of the intervals of
/// a file without times, where the user named it.
pub(crate) fn named(
    words: &[String],
    keeping: &StoreArgs,
    interval: Option<Nanos>,
) -> anyhow::Result<Option<Vec<Observation>>> {
    let kinds = words.iter().map(|word| kind(word)).collect::<Result<Vec<_>, _>>()?;
    let all = |kind: Named| kinds.iter().all(|one| *one == kind);
    match words {
        _ if all(Named::Device) => Ok(None),
        _ if all(Named::File) => {
            let files = files(words, None)?;
            refuse_others(&files)?;
            let options = Options { interval_ns: interval.map(|it| it.0), ..Options::default() };
            let read = import::read_recordings(&files, &options);
            read.map(Some).map_err(|error| usage(error.to_string()))
        }
        [id] => Ok(Some(vec![keeping.existing()?.document(id)?])),
        _ => Err(usage(format!(
            "{} name different things: name files of one machine, one saved observation, or \
                 devices",
            words.join(", ")
        ))),
    }
}

/// The word for standard input.
const STANDARD_INPUT: &str = "-";

/// How names of Windows' counter logs end.
const COUNTER_LOG: &str = "blg";

/// Files with their names; `-` is standard input, and what only the system can read comes as text.
/// Of what cannot be a recording, where no form is `given`, the first bytes alone are read.
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

/// Refuses files that are no counters of disks but of another form.
pub(crate) fn refuse_others(files: &[(String, Vec<u8>)]) -> anyhow::Result<()> {
    let other = |(name, bytes): &(String, Vec<u8>)| match FileForm::of(bytes) {
        FileForm::Counters(_) => None,
        form => form.refusal(name),
    };
    files.iter().find_map(other).map_or(Ok(()), |why| Err(usage(why)))
}

/// Words of texts whose disks may come late: a scrape, a log of several tools.
const LATE: [&str; 4] = ["# HELP", "# TYPE", "avg-cpu", "Linux "];

/// Whether first bytes may be those of a recording. A text that is a file is read as a whole, because the form
/// shows anywhere in it; a pipe, which may have no end, must have a known word in them.
fn may_be_recording(head: &[u8], is_file: bool) -> bool {
    let text = String::from_utf8_lossy(head);
    let is_late = || LATE.iter().any(|word| text.contains(word));
    FileForm::of(head) != FileForm::Other || is_late() || (is_file && import::is_text(head))
}

/// Whether a word is a file, an id in the database, or anything else, which only a device can be.
fn kind(word: &str) -> anyhow::Result<Named> {
    let path = Path::new(word);
    if word == STANDARD_INPUT {
        return Ok(Named::File);
    }
    if let Ok(facts) = path.metadata() {
        let is_file = facts.is_file() || target::is_pipe(&facts);
        return Ok(if is_file { Named::File } else { Named::Device });
    }
    let is_id = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    if word.starts_with(LAST) || word.len() >= ID_MIN && word.chars().all(is_id) {
        return Ok(Named::Saved);
    }
    let is_path = word.starts_with(['/', '.']) && !word.starts_with("/dev/");
    if is_path || path.extension().is_some() {
        let text = format!("{word}: there is no such file; name a recording or a device");
        return Err(usage(text));
    }
    Ok(Named::Device)
}
