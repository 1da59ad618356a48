//! `cargo xtask fuzz`: whatever comes from outside, twisted at random, for as long as one likes.
//!
//! Each reader of the program's own process is called in a child of this one, with a limit of memory
//! and of time for each input; a panic, an abort or a hang is a fault, and its input is kept. The
//! command line is tried on the program itself, without rights, in an empty folder. An input that
//! makes a reader behave as none before it, by its words without their numbers, joins the corpus:
//! that guides the search without a compiler's help. Rejected: cargo-fuzz, which needs a nightly
//! compiler.

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

pub(crate) const SWITCHES: [&str; 1] = ["--child"];
pub(crate) const VALUES: [&str; 4] = ["--only", "--seconds", "--first", "--binary"];
/// For each reader, unless told otherwise.
const SECONDS: u64 = 60;
/// Address space of a child.
const MEMORY: u64 = 1 << 30;
/// One input takes milliseconds; a signal ends the child after this.
const HANG_S: u32 = 20;
/// Words that a reader repeats from its input are new behaviours without end.
const CORPUS_MAX: usize = 2_000;
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

/// Reads one input after the other; whether all went well.
fn child(reader: &Reader, binary: &Path, seed: u64, length: Duration) -> Result<bool> {
    let mut corpus = (reader.corpus)(binary)?;
    ensure!(!corpus.is_empty(), "{} has no corpus", reader.name);
    for entry in std::fs::read_dir(folder(reader).join("corpus"))? {
        corpus.push(std::fs::read(entry?.path())?);
    }
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY)?;
    // What a panic says is kept with its input, and once.
    std::panic::set_hook(Box::new(|_| {}));
    let mut mutator = Mutator::new(seed, &corpus);
    let (mut known, mut panics) = (BTreeSet::new(), BTreeSet::new());
    let (begin, mut tried, seeds) = (Instant::now(), 0_usize, corpus.len());
    while tried < seeds || begin.elapsed() < length {
        let input = match corpus.get(tried).filter(|_| tried < seeds) {
            Some(seed) => seed.clone(),
            None => mutator.twist(&corpus, LARGEST),
        };
        std::fs::write(current(reader), &input)?;
        nix::unistd::alarm::set(HANG_S);
        let outcome = catch_unwind(AssertUnwindSafe(|| (reader.read)(&input, binary)));
        nix::unistd::alarm::cancel();
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
        "{}: {tried} inputs in {:.0} s, {} behaviours, {} kinds of faults",
        reader.name,
        begin.elapsed().as_secs_f64(),
        known.len(),
        panics.len()
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
    fn behaviours_are_told_apart_by_words_and_not_by_numbers() {
        assert_eq!(without_numbers("line 12: \"ab\" at 3, 'x'"), "line #: \"\" at #, ''");
        assert_ne!(without_numbers("no size"), without_numbers("no depth"));
    }
}
