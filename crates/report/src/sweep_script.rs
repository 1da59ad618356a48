//! Prints the trials of `--dry-run` as a script of `halfpower run` lines, as `cmdgen` made a script
//! of SQLIO calls from all its arguments.
//!
//! Each line can be run separately and gives the result of the sweep's trial: on a simulated target
//! the same document, byte for byte. Only the actions of a preset between trials are missing; a
//! line that lacks something says so.

use crate::escape;
use crate::story::joined;
use record::{Experiment, PlannedTrial, shell_word};
use std::collections::BTreeMap;

/// Makes a text safe in a comment: it cannot end the line.
fn comment(text: &str) -> String {
    escape(&text.replace(['\n', '\r'], " "))
}

/// The command-line words of a trial: its targets and flags.
#[derive(Clone, Debug)]
pub struct ScriptLine {
    /// The targets.
    pub targets: Vec<String>,
    /// The flags.
    pub flags: Vec<String>,
}

/// The script of an experiment that has not run and would take at most `longest`. `lines` has the
/// command-line words of each combination.
#[must_use]
pub fn sweep_script(
    experiment: &Experiment,
    lines: &BTreeMap<BTreeMap<String, String>, ScriptLine>,
    left_out: &[String],
    longest: &str,
) -> String {
    let plan = &experiment.plan;
    let blocks = plan.iter().map(|planned| planned.block).max().map_or(0, |last| last + 1);
    let targets: Vec<&str> = experiment.targets.iter().map(|target| target.path.as_str()).collect();
    let mut text = format!(
        "#!/bin/sh\n# halfpower sweep {} {}: {} trials in {blocks} blocks, at most {longest}\n",
        comment(&experiment.design),
        comment(&targets.join(" ")),
        plan.len(),
    );
    for sentence in left_out {
        text.push_str(&format!("# {}\n", comment(sentence)));
    }
    for planned in plan {
        let Some(command) = lines.get(&planned.levels) else { continue };
        text.push_str(&line(experiment, planned, command));
    }
    text
}

/// The line of one trial.
fn line(experiment: &Experiment, planned: &PlannedTrial, command: &ScriptLine) -> String {
    let seed = planned.seed.to_string();
    let mut words: Vec<&str> = vec!["halfpower", "run"];
    words.extend(command.targets.iter().chain(&command.flags).map(String::as_str));
    words.extend(["--seed", &seed]);
    let trace = format!("{}.csv", experiment.design.rsplit('/').next().unwrap_or("sweep"));
    // A trace line has a single operation and size, and a comment without commas.
    let traced = crate::check_trace_workload(&planned.workload).is_ok()
        && crate::check_trace_comment(&experiment.note).is_ok();
    let mut remarks = Vec::new();
    match experiment.note.as_str() {
        "" => {}
        note if traced => words.extend(["--sqlio-csv", &trace, "--comment", note]),
        note => remarks.push(note.to_owned()),
    }
    let preparation = planned.preparation.as_ref();
    remarks.extend(preparation.map(|it| format!("the sweep prepares the file: {it}")));
    let remark = match remarks.join("; ") {
        nothing if nothing.is_empty() => nothing,
        remarks => format!("  # {}", comment(&remarks)),
    };
    format!("{}{remark}\n", joined(words, " ", shell_word))
}
