//! The first page of help: the commands in groups, the most important flags of each, and the command that a
//! path needs.
//!
//! The first page fits 24 lines of 80 columns. `-h` shows about ten flags of a command, `--help` all of them.
//! Both come from the table of commands, so no name or sentence exists twice.

use crate::cli::Cli;
use crate::failure::usage;
use crate::output::Verdict;
use crate::{extent, output, recognise};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use recognise::FileForm;
use record::shell_word;
use std::path::Path;

/// The commands of the first page, grouped by purpose.
const GROUPS: [(&str, &[&str]); 4] = [
    ("What can a disk do?", &["check", "run", "compare"]),
    ("Why is it slow?", &["diagnose", "watch", "record"]),
    ("What should I change?", &["predict", "advise"]),
    ("Manage results", &["show", "report", "export", "doctor"]),
];
/// Commands that `lab` lists.
const LAB: [&str; 5] = ["sweep", "limits", "zones", "papers", "agent"];

/// Arguments that `-h` shows. For commands that are not listed here, it shows all.
const SHORT: [(&str, &str); 9] = [
    ("check", "target budget for_diagnosis sustained no_write size file json no_save"),
    ("run", "targets rw bs iodepth numjobs rwmixread rate_iops size cache runtime json overwrite"),
    ("diagnose", "sources length profile for_ticket trace no_probe load all json no_save"),
    ("watch", "devices interval sort profile once count json listen"),
    ("record", "devices length interval output trace_io trace format json no_save"),
    ("predict", "source rate_iops bs iodepth rwmixread slo now faster disks raid json"),
    ("report", "what output kind svg md csv json"),
    ("sweep", "design targets list show dry_run resume blocks set runtime size"),
    ("limits", "target targets budget json no_save"),
];

/// The table of commands and flags.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    for (name, shown) in SHORT {
        command = command.mut_subcommand(name, |of_it| {
            of_it.mut_args(|argument| {
                let id = argument.get_id().as_str();
                let hidden = shown.split(' ').all(|one| one != id);
                argument.hide_short_help(hidden)
            })
        });
    }
    let command = extent::without_refused(command);
    let first = first_page(&command);
    command.override_help(first)
}

fn row(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    let about = about.map(ToString::to_string).unwrap_or_default();
    format!("  {name:<8}  {}\n", about.trim_end_matches('.'))
}

fn first_page(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page = format!(
        "{about}\n\nUsage: halfpower COMMAND ...   (COMMAND -h: short help, --help: full help)\n\n"
    );
    for (title, names) in GROUPS {
        page += &format!("{title}\n");
        page.extend(names.iter().map(|name| row(command, name)));
    }
    page + "\nAlso: halfpower lab (experiments), explain CODE, completions SHELL, man"
}

/// `halfpower lab`: lists the commands for experiments.
pub(crate) fn lab() -> anyhow::Result<Verdict> {
    let command = Cli::command();
    let rows: String = LAB.iter().map(|name| row(&command, name)).collect();
    output::print(&format!(
        "Commands for experiments:\n{rows}\nhalfpower COMMAND -h explains each.\n"
    ))
}

/// Suggests a command if the user typed a path instead of one; `None` for any other mistake.
pub(crate) fn meant(error: &clap::Error) -> Option<anyhow::Error> {
    let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    if word == "fio" {
        return Some(usage(
            "put a fio command line after `halfpower run`, as in `halfpower run fio --name=a ...`",
        ));
    }
    let path = Path::new(word);
    if !path.exists() && !word.contains('/') && !word.starts_with("sim:") {
        return None;
    }
    let known = FileForm::of_file(path).and_then(|form| form.refusal(word));
    Some(usage(known.unwrap_or_else(|| {
        let target = shell_word(word);
        format!(
            "'{word}' is a target, not a command; `halfpower check {target}` measures it, `halfpower \
             diagnose {target}` finds out why it is slow, `halfpower run {target}` loads it"
        )
    })))
}
