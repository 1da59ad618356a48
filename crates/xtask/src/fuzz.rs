//! `cargo xtask fuzz`: whatever comes from outside, twisted at random, for as long as one likes.
//!
//! Each reader of the program's own process is called in a child of this one, with a limit of memory
//! and of time for each input; a panic, an abort, a hang, or 256 MiB more memory is a fault, and its input is kept. The
//! command line is tried on the program itself, without rights, in an empty folder. An input that
//! makes a reader behave as none before it, by its words without their numbers, joins the corpus:
//! that guides the search without a compiler's help. `--keep` adds the shorter ones to those that are
//! committed (`crates/xtask/corpus`), with which every search begins. Rejected: cargo-fuzz, which needs a
//! nightly compiler.

mod growth;
mod mutations;
mod readers;

use crate::{arguments::Arguments, place};
use anyhow::{Context, Result, bail, ensure};
use mutations::Mutator;
use nix::sys::resource::{Resource, setrlimit};
use readers::{READERS, Reader};
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) const SWITCHES: [&str; 2] = ["--child", "--keep"];
pub(crate) const VALUES: [&str; 4] = ["--only", "--seconds", "--first", "--binary"];
/// For each reader, unless told otherwise.
const SECONDS: u64 = 60;
/// Address space of a child.
const MEMORY: u64 = 1 << 30;
/// One input takes milliseconds; a signal ends the child after this.
const HANG_S: u32 = 20;
/// Words that a reader repeats from its input are new behaviours without end.
const CORPUS_MAX: usize = 2_000;
/// Of the inputs that are committed: how long each is at most, and how many a reader has.
const KEPT_BYTES: usize = 2 << 10;
const KEPT_MAX: usize = 150;
/// The largest input: faults of size are found by the numbers in it.
const LARGEST: usize = 1 << 20;

/// Where inputs are kept: `corpus` and `faults` of each reader.
fn folder(reader: &Reader) -> PathBuf {
    place::target_folder().join("fuzz").join(reader.name)
}

/// Tries all readers, or one; whether none has a fault.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let seconds = flags.value("--seconds")?.unwrap_or(SECONDS);
    let first: u64 = flags.value("--first")?.unwrap_or(1);
    let only: Option<String> = flags.value("--only")?;
    let chosen: Vec<&Reader> =
        READERS.iter().filter(|it| only.as_deref().is_none_or(|name| name == it.name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
        bail!("no such reader; known are {}", names.join(", "));
    }
    let binary = place::binary(flags.value("--binary")?, true)?;
    if flags.has("--child") {
        return child(chosen[0], &binary, first, Duration::from_secs(seconds));
    }
    let mut fine = true;
    for reader in chosen {
        let faults = parent(reader, &binary, first, Duration::from_secs(seconds))?;
        fine &= faults == 0;
        if flags.has("--keep") {
            commit(reader)?;
        }
    }
    Ok(fine)
}

/// Starts children until the time is over, one after the other where one dies; how many faults.
fn parent(reader: &Reader, binary: &Path, first: u64, length: Duration) -> Result<usize> {
    let (begin, mut seed) = (Instant::now(), first);
    let faults = folder(reader).join("faults");
    std::fs::create_dir_all(&faults)?;
    std::fs::create_dir_all(folder(reader).join("corpus"))?;
    let before = std::fs::read_dir(&faults)?.count();
    loop {
        let left = length.saturating_sub(begin.elapsed()).as_secs();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["fuzz", "--child", "--only", reader.name, "--seconds", &left.to_string()]);
        command.args(["--first", &seed.to_string()]).arg("--binary").arg(binary);
        let status = command.status()?;
        if let Some(signal) = status.signal() {
            let kept = faults.join(format!("signal-{signal}-{seed}"));
            std::fs::copy(current(reader), &kept).context("the last input")?;
            println!("{}: a child died of signal {signal}: {}", reader.name, kept.display());
        } else {
            ensure!(matches!(status.code(), Some(0 | 1)), "a child ended with {status}");
        }
        seed += 1;
        if status.code().is_some() || begin.elapsed() >= length {
            break;
        }
    }
    Ok(std::fs::read_dir(&faults)?.count() - before)
}

/// The input that is being read, which outlives the one that reads it.
fn current(reader: &Reader) -> PathBuf {
    folder(reader).join("current")
}

/// Where the inputs of a reader are committed: a list of texts, whose letters are the bytes.
fn committed(reader: &Reader) -> PathBuf {
    place::root().join("crates/xtask/corpus").join(format!("{}.json", reader.name))
}

/// The inputs that are committed.
fn kept(reader: &Reader) -> Result<Vec<Vec<u8>>> {
    let path = committed(reader);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let texts: Vec<String> = serde_json::from_slice(&std::fs::read(&path)?)?;
    let bytes = |text: &String| -> Result<Vec<u8>, _> { text.chars().map(u8::try_from).collect() };
    texts.iter().map(bytes).collect::<Result<_, _>>().context(path.display().to_string())
}

/// Adds what was found to what is committed.
fn commit(reader: &Reader) -> Result<()> {
    let mut inputs = kept(reader)?;
    for entry in std::fs::read_dir(folder(reader).join("corpus"))? {
        inputs.push(std::fs::read(entry?.path())?);
    }
    inputs.retain(|input| input.len() <= KEPT_BYTES);
    inputs.sort_by_key(|input| (input.len(), input.clone()));
    inputs.dedup();
    inputs.truncate(KEPT_MAX);
    let text = |input: &Vec<u8>| input.iter().map(|&byte| char::from(byte)).collect();
    let texts: Vec<String> = inputs.iter().map(text).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let path = committed(reader);
    std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    std::fs::write(path, format!("{}\n", serde_json::to_string_pretty(&texts)?))?;
    Ok(())
}

/// Reads one input after the other; whether all went well.
fn child(reader: &Reader, binary: &Path, seed: u64, length: Duration) -> Result<bool> {
    let mut corpus = (reader.corpus)(binary)?;
    ensure!(!corpus.is_empty(), "{} has no corpus", reader.name);
    corpus.extend(kept(reader)?);
    for entry in std::fs::read_dir(folder(reader).join("corpus"))? {
        corpus.push(std::fs::read(entry?.path())?);
    }
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY)?;
    // What a panic says is kept with its input, and once.
    std::panic::set_hook(Box::new(|_| {}));
    let mut mutator = Mutator::new(seed, &corpus);
    let (mut known, mut panics) = (BTreeSet::new(), BTreeSet::new());
    let mut most_grown = 0;
    let (begin, mut tried, seeds) = (Instant::now(), 0_usize, corpus.len());
    while tried < seeds || begin.elapsed() < length {
        let input = match corpus.get(tried).filter(|_| tried < seeds) {
            Some(seed) => seed.clone(),
            None => mutator.twist(&corpus, LARGEST),
        };
        std::fs::write(current(reader), &input)?;
        nix::unistd::alarm::set(HANG_S);
        let resident = growth::begin()?;
        let outcome = catch_unwind(AssertUnwindSafe(|| (reader.read)(&input, binary)));
        nix::unistd::alarm::cancel();
        let grown = growth::since(resident)?;
        most_grown = most_grown.max(grown);
        if grown > growth::MOST_BYTES {
            let fault = format!("grew by {} MiB", grown >> 20);
            keep(reader, &input, &fault, &mut panics)?;
        }
        tried += 1;
        match outcome {
            Ok(Ok(behaviour)) => {
                let new = known.insert(without_numbers(&behaviour));
                if new && tried > seeds && corpus.len() < CORPUS_MAX {
                    let kept = folder(reader)
                        .join("corpus")
                        .join(record::hex_digest(&String::from_utf8_lossy(&input)));
                    std::fs::write(kept, &input)?;
                    corpus.push(input);
                }
            }
            Ok(Err(fault)) => keep(reader, &input, &fault, &mut panics)?,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&it| it.to_owned()));
                keep(reader, &input, &text.unwrap_or_default(), &mut panics)?;
            }
        }
    }
    println!(
        "{}: {tried} inputs in {:.0} s, {} behaviours, {} kinds of faults, largest growth {} MiB",
        reader.name,
        begin.elapsed().as_secs_f64(),
        known.len(),
        panics.len(),
        most_grown.max(growth::of_children()?) >> 20
    );
    Ok(panics.is_empty())
}

/// Keeps the first input of each kind of fault.
fn keep(reader: &Reader, input: &[u8], fault: &str, kinds: &mut BTreeSet<String>) -> Result<()> {
    let kind = without_numbers(fault);
    if !kinds.insert(kind.clone()) {
        return Ok(());
    }
    let path = folder(reader).join("faults").join(record::hex_digest(&kind));
    std::fs::write(&path, input)?;
    println!("{}: {fault}\n  {}", reader.name, path.display());
    Ok(())
}

/// Words with one sign in place of each number and of each quoted text, which differ without end.
fn without_numbers(text: &str) -> String {
    let mut kept = String::new();
    let (mut in_number, mut quoted) = (false, false);
    for sign in text.chars() {
        if matches!(sign, '"' | '\'' | '`') {
            quoted = !quoted;
            kept.push(sign);
        } else if !quoted {
            let digit = sign.is_ascii_digit();
            if !(digit && in_number) {
                kept.push(if digit { '#' } else { sign });
            }
            in_number = digit;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_committed_is_read_without_a_fault() {
        let mut read = 0;
        // Commands are runs of the program.
        for reader in READERS.iter().filter(|reader| reader.name != "commands") {
            for input in kept(reader).unwrap() {
                let behaviour = (reader.read)(&input, Path::new(""));
                assert!(behaviour.is_ok(), "{}: {behaviour:?} of {input:?}", reader.name);
                read += 1;
            }
        }
        assert!(read > 0, "a corpus is committed");
    }

    #[test]
    fn behaviours_are_told_apart_by_words_and_not_by_numbers() {
        assert_eq!(without_numbers("line 12: \"ab\" at 3, 'x'"), "line #: \"\" at #, ''");
        assert_ne!(without_numbers("no size"), without_numbers("no depth"));
    }
}
