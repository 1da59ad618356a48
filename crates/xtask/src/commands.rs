//! Checks that the commands and outputs in the documentation are real.
//!
//! Every `halfpower VERB --flag` in a Markdown page, inline or in a block, must exist according to the
//! binary's own `--help`. Every command in a `console` block is run, and its output must match the page byte
//! by byte. Such blocks use simulated targets only, whose results are the same on every machine. Each page
//! has its own database, so a later command of the page can refer to a result as `last`. Output of a real
//! disk belongs in `text` blocks. `cargo xtask tidy --bless` writes the actual output into the page.

use crate::CommandLine;
use crate::tidy::{File, PageLine, Problem, list, prose_and_fences};
use anyhow::{Context, Result};
use clap::CommandFactory;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use workload::fio;

/// How commands in the documentation start the program.
const STARTS: [&str; 2] = ["cargo run --release -- ", "halfpower "];

/// Checks all pages of the repository against the binary; `bless` writes the actual outputs into them.
///
/// # Errors
/// If a page cannot be read or written, or a program cannot be run.
pub fn check(root: &Path, binary: &Path, bless: bool) -> Result<Vec<Problem>> {
    let mut shell = Shell::new(root, binary)?;
    let mut problems = Vec::new();
    for file in list(root)?.iter().filter(|file| file.path.ends_with(".md")) {
        for line in prose_and_fences(&file.text) {
            for command in commands(&line) {
                let what = command_problem(&mut shell, command)?;
                problems.extend(what.map(|what| file.problem(line.number, what)));
            }
        }
        check_outputs(&shell, file, bless, &mut problems)?;
    }
    Ok(problems)
}

/// Runs commands of the documentation without the user's own database.
struct Shell {
    root: PathBuf,
    binary: PathBuf,
    /// Contains a link to the binary under its usual name, and a database per page.
    folder: tempfile::TempDir,
    /// Help texts by the words before the first flag; `None` if the binary rejects the words.
    helps: BTreeMap<String, Option<String>>,
}

impl Shell {
    fn new(root: &Path, binary: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::os::unix::fs::symlink(binary, folder.path().join("halfpower"))?;
        let (root, binary) = (root.to_owned(), binary.to_owned());
        Ok(Self { root, binary, folder, helps: BTreeMap::new() })
    }

    /// The output of `halfpower WORDS --help`.
    fn help(&mut self, words: &str) -> Result<Option<&str>> {
        if !self.helps.contains_key(words) {
            let mut command = Command::new(&self.binary);
            let output = command.args(words.split_whitespace()).arg("--help").output();
            let output = output.with_context(|| format!("cannot run {}", self.binary.display()))?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            self.helps.insert(words.to_owned(), output.status.success().then_some(text));
        }
        Ok(self.helps.get(words).and_then(Option::as_deref))
    }

    /// Standard output of a shell command of a page, at 80 columns and without colour.
    fn output(&self, command: &str, page: &str) -> Result<String> {
        let database = self.folder.path().join(format!("{}.db", page.replace('/', "-")));
        let command = command.replace(STARTS[0], STARTS[1]);
        let mut path = self.folder.path().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(&self.root)
            .env("PATH", path)
            .env("HALFPOWER_DB", database)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "80")
            .output()
            .context("cannot run sh")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The commands in a line. In a block it is the whole line, or the part after the prompt if the block also
/// shows output. In prose it is each inline code.
fn commands<'a>(line: &PageLine<'a>) -> Vec<&'a str> {
    let text = line.text.trim();
    let candidates: Vec<&str> = match line.fence {
        Some("console" | "text") => text.strip_prefix("$ ").into_iter().collect(),
        Some(_) => vec![text.trim_start_matches("$ ")],
        None => line.text.split('`').skip(1).step_by(2).collect(),
    };
    candidates
        .into_iter()
        .filter(|text| STARTS.iter().chain(&["cargo xtask "]).any(|start| text.starts_with(start)))
        .collect()
}

/// The problem of a `run` with fio's options, if any. Of a command that continues on the next line, only the
/// first line is checked.
fn fio_problem(rest: &str) -> Option<String> {
    let words = rest.split_whitespace().skip(1).filter(|word| *word != "\\");
    let options: Vec<String> =
        words.filter(|word| !word.ends_with(".fio")).map(str::to_owned).collect();
    if !options.iter().any(|word| word.starts_with("--name=")) {
        return None;
    }
    let read = fio::read_words(&options).and_then(|(_, sections)| {
        sections.iter().try_for_each(|section| {
            fio::run_of(section, &|_: &str| fio::FileKind::File { bytes: None }).map(drop)
        })
    });
    read.err().map(|errors| errors[0].to_string())
}

fn command_problem(shell: &mut Shell, command: &str) -> Result<Option<String>> {
    // The rest belongs to the shell, or is a comment.
    let command = command.split(['|', ';', '>', '#', '&']).next().unwrap_or_default();
    if let Some(rest) = command.strip_prefix("cargo xtask ") {
        let verb = rest.split_whitespace().next().unwrap_or_default();
        let known = CommandLine::command().find_subcommand(verb).is_some()
            || verb.chars().all(char::is_uppercase);
        return Ok((!known).then(|| format!("cargo xtask knows no {verb}")));
    }
    let rest = STARTS.iter().find_map(|start| command.strip_prefix(start)).unwrap_or_default();
    let is_fio = |word: &str| word.starts_with("--name=") || word.ends_with(".fio");
    if rest.starts_with("run ") && rest.split_whitespace().any(is_fio) {
        return Ok(fio_problem(rest));
    }
    let (verb, flags) = parts(rest);
    // A placeholder such as VERB stands for any command.
    if verb.chars().any(char::is_uppercase) {
        return Ok(None);
    }
    // The first page of help does not list the program's own flags.
    if verb.is_empty() && flags.iter().all(|flag| flag == "--version" || flag == "--help") {
        return Ok(None);
    }
    let Some(help) = shell.help(&verb)? else {
        return Ok(Some(format!("halfpower knows no `{verb}`")));
    };
    let unknown = flags.iter().find(|flag| !knows(help, flag));
    Ok(unknown.map(|flag| format!("`halfpower {verb}` knows no {flag}")))
}

/// Commands with two words.
const TWO_WORDS: [[&str; 2]; 2] = [["show", "list"], ["show", "validate"]];

/// The verb (with its second word, as in `show list`) and the long flags of a command.
fn parts(rest: &str) -> (String, Vec<String>) {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let has_two = TWO_WORDS.iter().any(|two| words.starts_with(two));
    let verbs = if has_two { 2 } else { 1 };
    let verb: Vec<&str> =
        words.iter().take(verbs).take_while(|word| !word.starts_with('-')).copied().collect();
    let flags = words
        .iter()
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .map(|word| word.split('=').next().unwrap_or(word))
        .map(|word| word.trim_end_matches([',', '.', ']', ')', ':']).to_owned())
        .collect();
    (verb.join(" "), flags)
}

/// Whether a help text lists a flag as a whole word.
fn knows(help: &str, flag: &str) -> bool {
    help.match_indices(flag).any(|(at, _)| {
        let after = help[at + flag.len()..].chars().next();
        after.is_none_or(|letter| !letter.is_alphanumeric() && letter != '-')
    })
}

/// Runs the commands of a page's console blocks, and compares or rewrites their outputs.
fn check_outputs(
    shell: &Shell,
    file: &File,
    bless: bool,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    let mut page = file.text.clone();
    let mut is_simulated = false;
    for session in sessions(&file.text) {
        let mut problem = |what: String| problems.push(file.problem(session.line, what));
        let uses_last = session.command.contains(" last");
        is_simulated |= session.command.contains(" sim:");
        if !is_simulated || !(uses_last || session.command.contains(" sim:")) {
            problem("a console block holds simulated targets only: use a text block".to_owned());
            continue;
        }
        let truth = shell.output(&session.command, &file.path)?;
        if truth == session.shown {
            continue;
        }
        if bless {
            let old = format!("$ {}\n{}", session.command, session.shown);
            page = page.replace(&old, &format!("$ {}\n{truth}", session.command));
        } else {
            let difference = first_difference(&session.shown, &truth);
            problem(format!(
                "`{}` prints something else now: {difference}; cargo xtask tidy --bless updates it",
                session.command
            ));
        }
    }
    if page != file.text {
        std::fs::write(shell.root.join(&file.path), page)
            .with_context(|| format!("cannot write {}", file.path))?;
    }
    Ok(())
}

/// A command of a console block and the output shown below it.
struct Session {
    line: usize,
    command: String,
    shown: String,
}

fn sessions(page: &str) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut last = 0;
    for line in prose_and_fences(page).iter().filter(|line| line.fence == Some("console")) {
        if let Some(command) = line.text.strip_prefix("$ ") {
            let (command, shown) = (command.to_owned(), String::new());
            sessions.push(Session { line: line.number, command, shown });
        } else if let Some(session) = sessions.last_mut()
            && line.number == last + 1
        {
            session.shown.push_str(line.text);
            session.shown.push('\n');
        }
        last = line.number;
    }
    sessions
}

fn first_difference(shown: &str, truth: &str) -> String {
    let alike = shown.lines().zip(truth.lines()).take_while(|(a, b)| a == b).count();
    let quoted = |text: &str| {
        text.lines().nth(alike).map_or_else(|| "nothing".to_owned(), |line| format!("{line:?}"))
    };
    let (shown, truth) = (quoted(shown), quoted(truth));
    if shown == truth {
        return "white space at the end".to_owned();
    }
    format!("line {} shows {shown}, is {truth}", alike + 1)
}
