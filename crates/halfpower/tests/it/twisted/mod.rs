//! Fuzzes all external inputs: no reader may panic, abort, hang, or take 256 MiB more memory.
//!
//! Each library reader runs in its own process with limits of memory and time. The command line is tested
//! with the program itself, unprivileged, in an empty folder. Inputs are mutated. An input that causes a new
//! behaviour (the output without its numbers is new) joins the inputs to mutate, which guides the search
//! without compiler instrumentation. Every search starts with the inputs that earlier ones found
//! (`crates/halfpower/tests/twisted`). A test tries a sample; `HALFPOWER_PROVE=1 cargo test` runs a
//! hundred times as long. Rejected: cargo-fuzz, which needs a nightly compiler.

mod growth;
mod mutations;
mod readers;

use anyhow::{Context, Result, ensure};
use mutations::Mutator;
use readers::{READERS, Reader};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use testkit::{Capability, is_child, passes_in_child};

/// Number of inputs per reader in addition to the initial ones; a hundredth for the command line.
const SAMPLE: usize = 200;
const ALL: usize = 50_000;
/// Limits of memory and time for all inputs of a reader.
const LIMITS: [&str; 4] = ["prlimit", "--as=1073741824", "timeout", "3000"];
/// Maximum size of an input.
const LARGEST: usize = 1 << 20;
const CORPUS_MAX: usize = 2_000;

macro_rules! readers {
    ($($test:ident: $reader:literal),+ $(,)?) => {
        $(#[test]
        fn $test() {
            tried($reader, concat!("twisted::", stringify!($test)));
        })+
    };
}

readers! {
    no_importer_fails_on_twisted_input: "importers",
    no_document_fails_on_twisted_input: "documents",
    no_design_fails_on_twisted_input: "designs",
    no_simulated_device_fails_on_twisted_words: "simulated",
    no_described_device_fails_on_twisted_input: "machines",
    no_load_fails_on_twisted_words: "loads",
    no_job_file_fails_on_twisted_input: "jobs",
    no_command_line_fails_on_twisted_words: "commands",
}

fn tried(name: &str, test: &str) {
    let reader = READERS.iter().find(|reader| reader.name == name).unwrap();
    if is_child() {
        return search(reader).unwrap();
    }
    // Only for the command line: root can become an unprivileged user.
    let needed: &[Capability] =
        if name == "commands" { &[Capability::Root, Capability::Setpriv] } else { &[] };
    if testkit::enter(&format!("{test}::place"), needed).is_some() {
        passes_in_child(test, &LIMITS);
    }
}

fn kept(reader: &Reader) -> Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/twisted");
    let path = folder.join(format!("{}.json", reader.name));
    if !path.exists() {
        return Ok(Vec::new());
    }
    let texts: Vec<String> = serde_json::from_slice(&std::fs::read(&path)?)?;
    // Each character of the text is one byte.
    let bytes = |text: &String| -> Result<Vec<u8>, _> { text.chars().map(u8::try_from).collect() };
    texts.iter().map(bytes).collect::<Result<_, _>>().context(path.display().to_string())
}

/// File with the input that is being read, which remains if the process is killed or aborts.
fn current(reader: &Reader) -> PathBuf {
    std::env::temp_dir().join(format!("halfpower-twisted-{}", reader.name))
}

fn search(reader: &Reader) -> Result<()> {
    let mut corpus = (reader.corpus)()?;
    ensure!(!corpus.is_empty(), "{} has no inputs to begin with", reader.name);
    corpus.extend(kept(reader)?);
    let mut most = testkit::draws(SAMPLE, ALL);
    if reader.name == "commands" {
        most /= 100;
        corpus.truncate(testkit::draws(most, corpus.len()));
    }
    std::panic::set_hook(Box::new(|_| {}));
    let mut mutator = Mutator::new(1, &corpus);
    let (mut known, seeds, path) = (BTreeSet::new(), corpus.len(), current(reader));
    for tried in 0..seeds + most {
        let input = match corpus.get(tried).filter(|_| tried < seeds) {
            Some(seed) => seed.clone(),
            None => mutator.twist(&corpus, LARGEST),
        };
        std::fs::write(&path, &input)?;
        let resident = growth::begin()?;
        let outcome = catch_unwind(AssertUnwindSafe(|| (reader.read)(&input)));
        let grown = growth::since(resident)?;
        ensure!(grown <= growth::MOST_BYTES, "{} MiB more for {}", grown >> 20, path.display());
        let behaviour = outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            Err(text
                .or_else(|| panic.downcast_ref().map(|it: &&str| (*it).to_owned()))
                .unwrap_or_default())
        });
        let behaviour =
            behaviour.map_err(anyhow::Error::msg).context(path.display().to_string())?;
        if known.insert(without_numbers(&behaviour)) && tried >= seeds && corpus.len() < CORPUS_MAX
        {
            corpus.push(input);
        }
    }
    std::fs::remove_file(&path)?;
    Ok(())
}

/// Removes numbers and quoted text. Texts that differ only in these count as the same behaviour.
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

#[test]
fn behaviours_are_told_apart_by_words_and_not_by_numbers() {
    assert_eq!(without_numbers("line 12: \"ab\" at 3, 'x'"), "line #: \"\" at #, ''");
    assert_ne!(without_numbers("no size"), without_numbers("no depth"));
}
