//! Recordings that exist already: in the database, or in files of any tool.
//!
//! A command that takes devices as well as recordings must never watch a device because it could
//! not read a file: the verdict would be about the wrong machine. So a word that names a file, or
//! looks like one, is a file; what cannot be read is an error that says how to get a readable
//! recording.

use crate::failure::usage;
use crate::store_args::StoreArgs;
use import::{Format, detect};
use record::Observation;
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

/// The recordings that these words name; `None` where they name devices.
pub(crate) fn named(
    words: &[String],
    keeping: &StoreArgs,
) -> anyhow::Result<Option<Vec<Observation>>> {
    let kinds = words.iter().map(|word| kind(word)).collect::<Result<Vec<_>, _>>()?;
    let all = |kind: Named| kinds.iter().all(|one| *one == kind);
    match words {
        _ if all(Named::Device) => Ok(None),
        _ if all(Named::File) => {
            let read = import::read_recordings(&files(words, None)?);
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

/// How names of Windows' counter logs end.
const COUNTER_LOG: &str = "blg";

/// Files with their names; `-` is standard input, and what only the system can read comes as text.
/// Of a file without a form that is known, where none is `given`, the first bytes alone are read.
pub(crate) fn files(
    paths: &[impl AsRef<Path>],
    given: Option<Format>,
) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let is_known = |head: &[u8]| {
        let is_fio = || String::from_utf8_lossy(head).contains("fio version");
        given.is_some() || detect(head).is_ok() || is_fio()
    };
    let named = |path: &Path| {
        let name = path.display().to_string();
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case(COUNTER_LOG)) {
            return Ok((name, kernel::counter_log(path).map_err(usage)?.into_bytes()));
        }
        Ok((name, input::bytes_if_known(path, input::RECORDING, is_known)?))
    };
    paths.iter().map(|path| named(path.as_ref())).collect()
}

/// Whether a word is a file, an id in the database, or anything else, which only a device can be.
fn kind(word: &str) -> anyhow::Result<Named> {
    let path = Path::new(word);
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
