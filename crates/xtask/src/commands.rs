//! Checks that the commands and outputs in the documentation are real.
//!
//! Every `halfpower VERB --flag` in a Markdown page, inline or in a block, must exist in the program's own
//! table of commands. Every command in a `console` block is run, and its output must match the page byte
//! by byte. Such blocks use simulated targets only, whose results are the same on every machine. Each page
//! has its own database, so a later command of the page can refer to a result as `last`. Output of a real
//! disk belongs in `text` blocks. `cargo xtask tidy --bless` writes the actual output into the page.

use crate::CommandLine;
use crate::tidy::{File, PageLine, Problem, list, prose_and_fences};
use anyhow::{Context, Result};
use clap::CommandFactory;
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
    let shell = Shell::new(root, binary)?;
    let mut halfpower = halfpower::command();
    halfpower.build();
    let mut problems = Vec::new();
    for file in list(root)?.iter().filter(|file| file.path.ends_with(".md")) {
        for line in prose_and_fences(&file.text) {
            for command in commands(&line) {
                let what = command_problem(&halfpower, command);
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
    /// Contains a link to the binary under its usual name, and a database per page.
    folder: tempfile::TempDir,
}

impl Shell {
    fn new(root: &Path, binary: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::os::unix::fs::symlink(binary, folder.path().join("halfpower"))?;
        Ok(Self { root: root.to_owned(), folder })
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

fn command_problem(halfpower: &clap::Command, command: &str) -> Option<String> {
    // The rest belongs to the shell, or is a comment.
    let command = command.split(['|', ';', '>', '#', '&']).next().unwrap_or_default();
    if let Some(rest) = command.strip_prefix("cargo xtask ") {
        let verb = rest.split_whitespace().next().unwrap_or_default();
        let known = CommandLine::command().find_subcommand(verb).is_some()
            || verb.chars().all(char::is_uppercase);
        return (!known).then(|| format!("cargo xtask knows no {verb}"));
    }
    let rest = STARTS.iter().find_map(|start| command.strip_prefix(start)).unwrap_or_default();
    let is_fio = |word: &str| word.starts_with("--name=") || word.ends_with(".fio");
    if rest.starts_with("run ") && rest.split_whitespace().any(is_fio) {
        return fio_problem(rest);
    }
    let verb = rest.split_whitespace().next().filter(|word| !word.starts_with('-'));
    // A placeholder such as VERB stands for any command.
    if verb.is_some_and(|verb| verb.contains(char::is_uppercase)) {
        return None;
    }
    let mut named = halfpower;
    for word in rest.split_whitespace() {
        let Some(inner) = named.find_subcommand(word) else { break };
        named = inner;
    }
    if let Some(verb) = verb.filter(|_| std::ptr::eq(named, halfpower)) {
        return Some(format!("halfpower knows no `{verb}`"));
    }
    let flags = rest.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    let flags = flags.map(|flag| flag.split('=').next().unwrap_or(flag));
    let mut flags = flags.map(|flag| flag.trim_end_matches([',', '.', ']', ')', ':']));
    let knows = |flag: &str| named.get_arguments().any(|known| known.get_long() == Some(flag));
    let unknown = flags.find(|flag| !flag.is_empty() && !knows(flag));
    unknown.map(|flag| format!("`halfpower {}` knows no --{flag}", named.get_name()))
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
