//! Recordings that exist already: in the database, or in files of any tool.
//!
//! A command that takes devices as well as recordings must never watch a device because it could
//! not read a file: the verdict would be about the wrong machine. So a word that names a file, or
//! looks like one, is a file; what cannot be read is an error that says how to get a readable
//! recording.

use crate::failure::UsageError;
use crate::store_args::{LAST, StoreArgs, newest_observation};
use anyhow::Context;
use import::{Format, Options};
use record::Observation;
use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use store::Store;

/// Fewest characters that can be the beginning of an id.
const ID_MIN: usize = 6;

/// What a word of the command line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    File,
    Saved,
    Device,
}

/// The recordings that these words name; `None` where they name devices.
pub(crate) fn named(
    words: &[String],
    store: &StoreArgs,
) -> anyhow::Result<Option<Vec<Observation>>> {
    let kinds = words.iter().map(|word| kind(word)).collect::<Result<Vec<_>, _>>()?;
    let all = |kind: Named| kinds.iter().all(|one| *one == kind);
    if all(Named::Device) {
        return Ok(None);
    }
    if all(Named::File) {
        return of_files(words).map(Some);
    }
    let [word] = words else {
        let text = format!(
            "{} name different things: name files of one machine, one saved observation, or devices",
            words.join(", ")
        );
        return Err(UsageError(text).into());
    };
    let store = Store::open_existing(&store.file()?)?;
    let found = if word == LAST { newest_observation(&store)? } else { store.document(word)? };
    Ok(Some(vec![found]))
}

/// Whether a word is a file, an id in the database, or anything else, which only a device can be.
fn kind(word: &str) -> Result<Named, UsageError> {
    if word == LAST {
        return Ok(Named::Saved);
    }
    let path = Path::new(word);
    if let Ok(facts) = path.metadata() {
        let is_file = |kind: FileType| kind.is_file() || kind.is_fifo();
        return Ok(if is_file(facts.file_type()) { Named::File } else { Named::Device });
    }
    let is_id = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    if word.len() >= ID_MIN && word.chars().all(is_id) {
        return Ok(Named::Saved);
    }
    let is_path = word.starts_with(['/', '.']) && !word.starts_with("/dev/");
    if is_path || path.extension().is_some() {
        let text = format!("{word}: there is no such file; name a recording or a device");
        return Err(UsageError(text));
    }
    Ok(Named::Device)
}

/// The recordings in these files. Several files must be of one machine.
fn of_files(paths: &[String]) -> anyhow::Result<Vec<Observation>> {
    let mut files = Vec::new();
    for path in paths {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
        files.push((path.as_str(), bytes));
    }
    let unreadable = |error: anyhow::Error| UsageError(format!("{error:#}"));
    let mut read = read(&files, None, &Options::default()).map_err(unreadable)?;
    if files.len() > 1 && read.len() > 1 {
        let of = |one: &Observation| {
            format!("{} of {}", one.source, one.host.as_deref().unwrap_or("an unnamed machine"))
        };
        let found: Vec<String> = read.iter().map(of).collect();
        let text = format!(
            "{} hold {} recordings ({}); name only files that one tool made on one machine",
            paths.join(", "),
            read.len(),
            found.join(", ")
        );
        return Err(UsageError(text).into());
    }
    let bytes: Vec<u8> = files.iter().flat_map(|(_, bytes)| bytes).copied().collect();
    for (place, observation) in read.iter_mut().enumerate() {
        if observation.id.is_empty() {
            // The same file is the same observation.
            let text = format!("{place} {}", String::from_utf8_lossy(&bytes));
            observation.id = record::hex_digest(&text);
        }
    }
    Ok(read)
}

/// Reads files, each with its name.
pub(crate) fn read(
    files: &[(&str, Vec<u8>)],
    format: Option<Format>,
    options: &Options,
) -> anyhow::Result<Vec<Observation>> {
    for (name, bytes) in files.iter().filter(|_| format.is_none()) {
        import::detect(bytes).with_context(|| format!("cannot read {name}"))?;
    }
    let bytes: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    let names = || files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    import::read(&bytes, format, options).with_context(|| format!("cannot read {}", names()))
}
