//! Files as people have them: how many the program takes, with which notes, and why it refuses the others.
//!
//! A kind of files is a row of [`KINDS`]: how one is told from other files, and the command that takes it. Nothing is
//! measured and nothing is written: a job file is read and planned (`--parse-only`), a result is imported without
//! being saved. Where fio is installed, job files that fio itself refuses are counted apart.

use crate::arguments::{Arguments, PATHS};
use crate::place;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const SWITCHES: [&str; 2] = ["--list", PATHS];
pub(crate) const VALUES: [&str; 2] = ["--least", "--binary"];

/// Longest file that is looked at.
const LOOKED_AT_BYTES: u64 = 64 << 20;

/// A kind of files.
struct Kind {
    name: &'static str,
    /// Whether bytes are one.
    is_in: fn(&[u8]) -> bool,
    /// The words behind `halfpower` that take the file of this name.
    words: fn(&str) -> Vec<String>,
    /// Words that files leave to the command line, and how the reason begins without them.
    left_to_the_line: (&'static str, &'static str),
    /// Whether the program that such files are of takes it; `None` where that cannot be asked.
    taken_by_its_own: fn(&Path, &str) -> Option<bool>,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "job files of fio",
        is_in: fio::looks_like_job_file,
        words: |name| words(&["run", name, "--parse-only", "--no-save"]),
        left_to_the_line: ("--size=1g", "size is missing: "),
        taken_by_its_own: |folder, name| {
            let parsed =
                Command::new("fio").args(["--parse-only", name]).current_dir(folder).output();
            parsed.ok().map(|output| output.status.success())
        },
    },
    Kind {
        name: "results of fio",
        is_in: |bytes| fio::result_at(&String::from_utf8_lossy(bytes)).is_some(),
        words: |name| words(&["record", name, "--json", "--no-save"]),
        left_to_the_line: ("", ""),
        taken_by_its_own: |_, _| None,
    },
    Kind {
        // Whatever else is a text: name a folder that holds nothing but recordings.
        name: "recordings of disks",
        is_in: |bytes| {
            let other = || fio::result_at(&String::from_utf8_lossy(bytes)).is_some();
            import::is_text(bytes) && !fio::looks_like_job_file(bytes) && !other()
        },
        words: |name| words(&["record", name, "--json", "--no-save"]),
        left_to_the_line: ("", ""),
        taken_by_its_own: |_, _| None,
    },
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What became of a file.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Honoured,
    /// With what was said.
    Noted(Vec<String>),
    /// With a word on the command line that the program of the file wants there too.
    Completed,
    /// With the reasons, without their places.
    Refused(Vec<String>),
}

/// Prints the table of each kind; whether of each as many percent are taken as `--least` says.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let least: Option<u32> = flags.value("--least")?;
    let binary = place::binary(flags.value("--binary")?, true)?;
    ensure!(!flags.rest().is_empty(), "name a folder or a file");
    let mut paths = Vec::new();
    for path in flags.rest() {
        collect(Path::new(path), &mut paths)?;
    }
    paths.sort();
    let mut good = true;
    for kind in &KINDS {
        let mut of_kind = paths.iter().filter(|path| is_of(kind, path)).peekable();
        if of_kind.peek().is_none() {
            continue;
        }
        let (mut fates, mut foreign) = (Vec::new(), 0);
        for path in of_kind {
            match fate(kind, path, &binary)? {
                Some(fate) => fates.push((path.clone(), fate)),
                None => foreign += 1,
            }
        }
        good &= print(kind, &fates, foreign, flags.has("--list"), least);
    }
    Ok(good)
}

/// All files below a path.
fn collect(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).with_context(|| path.display().to_string())? {
            collect(&entry?.path(), found)?;
        }
    } else if path.is_file() {
        found.push(std::fs::canonicalize(path)?);
    }
    Ok(())
}

fn is_of(kind: &Kind, path: &Path) -> bool {
    let short = std::fs::metadata(path).is_ok_and(|facts| facts.len() <= LOOKED_AT_BYTES);
    short && std::fs::read(path).is_ok_and(|bytes| (kind.is_in)(&bytes))
}

/// What becomes of a file, from its own folder; `None` where the program that it is of refuses it too.
fn fate(kind: &Kind, path: &Path, binary: &Path) -> Result<Option<Fate>> {
    let folder = path.parent().context("a file has a folder")?;
    let name = path.file_name().context("a file has a name")?.to_string_lossy();
    if (kind.taken_by_its_own)(folder, &name) == Some(false) {
        return Ok(None);
    }
    let taken = |more: &[&str]| {
        let mut command = Command::new(binary);
        command.args((kind.words)(&name)).args(more).current_dir(folder);
        let output = command.output();
        anyhow::Ok(told(
            &output.with_context(|| format!("cannot run {}", binary.display()))?,
            &name,
        ))
    };
    let fate = taken(&[])?;
    let (word, reason) = kind.left_to_the_line;
    let left_out = |reasons: &[String]| reasons.iter().any(|it| it.starts_with(reason));
    let fate = match fate {
        Fate::Refused(reasons) if !word.is_empty() && left_out(&reasons) => match taken(&[word])? {
            // What is wrong besides stays the reason.
            Fate::Refused(others) => Fate::Refused(others),
            _ => Fate::Completed,
        },
        fate => fate,
    };
    Ok(Some(fate))
}

/// From what the program said.
fn told(output: &Output, name: &str) -> Fate {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines = || stderr.lines().filter_map(|line| line.strip_prefix("halfpower: "));
    if matches!(output.status.code(), Some(0 | 1)) {
        let notes = lines().filter_map(|line| line.strip_prefix("  "));
        let notes = notes.map(|note| without_job(note).to_owned());
        let notes: Vec<String> = notes.chain(findings(&output.stdout)).collect();
        return if notes.is_empty() { Fate::Honoured } else { Fate::Noted(notes) };
    }
    let reasons = lines().filter(|line| !line.contains(" errors in "));
    Fate::Refused(reasons.map(|line| reason(line, name)).collect())
}

/// What is said of a recording beside its figures: the names of its findings.
fn findings(document: &[u8]) -> Vec<String> {
    let Ok(observation) = serde_json::from_slice::<record::Observation>(document) else {
        return Vec::new();
    };
    observation.findings.iter().map(|finding| finding.code.name()).collect()
}

/// A note without the name of its job in front.
fn without_job(note: &str) -> &str {
    let option = |text: &str| fio::option_kind(text) != fio::OptionKind::Unknown;
    match note.split_once(": ") {
        Some((job, rest)) if !option(job) && rest.contains(": ") => rest,
        _ => note,
    }
}

/// An obstacle without its place, and without the value of its option.
fn reason(line: &str, name: &str) -> String {
    let line = line.split(&format!(" ({name}")).next().unwrap_or(line);
    let placed = line.strip_prefix(name).and_then(|rest| rest.split_once(": "));
    let text = placed.map_or(line, |(_, text)| text);
    match text.split_once('=') {
        Some((option, rest)) if fio::option_kind(option) != fio::OptionKind::Unknown => {
            let why = rest.split_once(": ").map_or(rest, |(_, why)| why);
            format!("{option}: {why}")
        }
        _ => text.to_owned(),
    }
}

fn print(
    kind: &Kind,
    fates: &[(PathBuf, Fate)],
    foreign: usize,
    list: bool,
    least: Option<u32>,
) -> bool {
    let count = |wanted: fn(&Fate) -> bool| fates.iter().filter(|(_, fate)| wanted(fate)).count();
    let honoured = count(|fate| *fate == Fate::Honoured);
    let noted = count(|fate| matches!(fate, Fate::Noted(_)));
    let completed = count(|fate| *fate == Fate::Completed);
    let taken = honoured + noted;
    // What the program of the file refuses alone is neither taken nor refused here.
    let own = fates.len() - completed;
    let percent = (100 * taken).checked_div(own).unwrap_or(0);
    println!("{}: {} files", kind.name, fates.len());
    println!("  {honoured:5} as they are");
    println!("  {noted:5} with notes");
    if completed > 0 {
        let (word, _) = kind.left_to_the_line;
        println!("  {completed:5} with {word} on the line, which fio wants too; not counted below");
    }
    println!("  {:5} refused", own - taken);
    println!("  {percent:4} % taken");
    let foreign_engine = |fate: &Fate| matches!(fate, Fate::Refused(reasons) if reasons.iter().any(|reason| reason.starts_with("ioengine: ")));
    let of_engines = fates.iter().filter(|(_, fate)| foreign_engine(fate)).count();
    if of_engines > 0 {
        let percent = (100 * taken).checked_div(own - of_engines).unwrap_or(0);
        println!("  {percent:4} % of those whose engine halfpower has ({of_engines} have another)");
    }
    if foreign > 0 {
        println!("  {foreign:5} more that the program they are of refuses");
    }
    let notes = |fate: &Fate| match fate {
        Fate::Noted(notes) => notes.clone(),
        _ => Vec::new(),
    };
    let reasons = |fate: &Fate| match fate {
        Fate::Refused(reasons) => reasons.clone(),
        _ => Vec::new(),
    };
    counted("files with this note", fates, &notes);
    counted("files refused for this", fates, &reasons);
    if list {
        for (path, fate) in fates {
            let word = match fate {
                Fate::Honoured => "runs".to_owned(),
                Fate::Noted(notes) => format!("{} notes", notes.len()),
                Fate::Completed => format!("with {}", kind.left_to_the_line.0),
                Fate::Refused(reasons) => format!("refused: {}", reasons.join("; ")),
            };
            println!("  {}: {word}", path.display());
        }
    }
    least.is_none_or(|least| percent >= least as usize)
}

/// How many files have each text, the most frequent first.
fn counted(title: &str, fates: &[(PathBuf, Fate)], texts: &dyn Fn(&Fate) -> Vec<String>) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, fate) in fates {
        let mut of_file = texts(fate);
        of_file.sort();
        of_file.dedup();
        of_file.into_iter().for_each(|text| *counts.entry(text).or_default() += 1);
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if !counts.is_empty() {
        println!("  {title}");
    }
    counts.iter().for_each(|(text, count)| println!("    {count:5}  {text}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_obstacle_is_counted_without_its_place_and_value() {
        let same = "flow: the rates of jobs are not tied to each other";
        let of = |line| reason(line, "a.fio");
        assert_eq!(of("a.fio:3:1: flow=2: the rates of jobs are not tied to each other"), same);
        let alone = "a.fio:9:1: flow=8: the rates of jobs are not tied to each other (a.fio, a job file of fio)";
        assert_eq!(of(alone), same);
        assert_eq!(of("a.fio:1:1: size is missing: how large"), "size is missing: how large");
    }

    #[test]
    fn a_note_is_counted_without_the_name_of_its_job() {
        assert_eq!(without_job("job one: sync: O_DSYNC in place"), "sync: O_DSYNC in place");
        assert_eq!(without_job("sync: O_DSYNC in place: so"), "sync: O_DSYNC in place: so");
    }
}
