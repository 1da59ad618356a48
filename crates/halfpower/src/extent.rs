//! `--verbose` and `--quiet`: how much a command prints, and which commands reject these flags.
//!
//! A flag that would be ignored is rejected. The flags belong to the whole program, so that no command lacks
//! them. The arguments of each command decide whether it prints a page.

use crate::failure::usage;
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use report::Extent;

/// Commands whose output has one length only.
const NO_PAGE: [&str; 9] =
    ["advise", "completions", "doctor", "explain", "export", "lab", "list", "man", "report"];
/// Commands with `--verbose` but without `--quiet`.
const NO_LINE: [&str; 1] = ["watch"];
/// Arguments that make other commands print something other than their page.
const NO_PAGE_BY: [&str; 8] =
    ["list", "list_sim", "show_sim", "show", "dry_run", "fio", "for_ticket", "listen"];

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ExtentArgs {
    /// Print the complete result: evidence, notes, conditions, and how to repeat it.
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = "Results")]
    verbose: bool,
    /// Print the answer in one line, without progress.
    #[arg(long, short, global = true, help_heading = "Results")]
    quiet: bool,
}

impl ExtentArgs {
    /// Sets how much is printed.
    ///
    /// # Errors
    /// If this command would ignore one of the flags.
    pub(crate) fn set(self, words: &ArgMatches) -> anyhow::Result<()> {
        let (flag, extent) = match (self.verbose, self.quiet) {
            (true, _) => ("--verbose", Extent::Whole),
            (_, true) => ("--quiet", Extent::Line),
            _ => ("", Extent::Short),
        };
        if !flag.is_empty() {
            refuse(flag, words)?;
        }
        output::set_extent(extent);
        Ok(())
    }
}

/// The innermost subcommand, and its arguments.
pub(crate) fn innermost(words: &ArgMatches) -> (&str, &ArgMatches) {
    let (mut command, mut words) = ("halfpower", words);
    while let Some((name, of_it)) = words.subcommand() {
        (command, words) = (name, of_it);
    }
    (command, words)
}

fn is_refused(command: &str, flag: &str) -> bool {
    NO_PAGE.contains(&command) || flag == "quiet" && NO_LINE.contains(&command)
}

/// Hides these flags in the help of commands that reject them.
pub(crate) fn without_refused(mut command: Command) -> Command {
    for flag in ["verbose", "quiet"] {
        if is_refused(command.get_name(), flag) {
            let letter = flag.chars().next();
            let hidden = Arg::new(flag).long(flag).short(letter).action(ArgAction::SetTrue);
            command = command.arg(hidden.global(true).hide(true));
        }
    }
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, without_refused))
}

fn refuse(flag: &str, words: &ArgMatches) -> anyhow::Result<()> {
    let (command, words) = innermost(words);
    if is_refused(command, flag.trim_start_matches('-')) {
        let text = match NO_PAGE.contains(&command) {
            true => {
                format!("{flag}: `{command}` has only one level of detail; omit this flag")
            }
            false => format!("{flag}: `{command}` has no shorter output; omit this flag"),
        };
        return Err(usage(text));
    }
    let given = |id: &str| {
        let known = words.try_contains_id(id).is_ok_and(|there| there);
        known && words.value_source(id) == Some(clap::parser::ValueSource::CommandLine)
    };
    if flag == "--verbose" && given("json") {
        return Err(usage(
            "--verbose: --json already prints the complete document; omit one of them",
        ));
    }
    if let Some(other) = NO_PAGE_BY.iter().find(|id| given(id)) {
        let other = other.replace('_', "-");
        return Err(usage(format!("{flag}: --{other} does not print a page; omit one of them")));
    }
    Ok(())
}

/// Removes these flags from words in fio's language.
///
/// # Errors
/// If both flags are given.
pub(crate) fn take(words: &mut Vec<String>, as_json: bool) -> anyhow::Result<()> {
    let mut taken = |names: [&str; 2]| {
        let before = words.len();
        words.retain(|word| !names.contains(&word.as_str()));
        words.len() < before
    };
    let (verbose, quiet) = (taken(["--verbose", "-v"]), taken(["--quiet", "-q"]));
    match (verbose, quiet) {
        (true, true) => return Err(usage("--verbose and --quiet contradict each other")),
        (true, false) if as_json => {
            return Err(usage(
                "--verbose: JSON is already the complete document; omit one of them",
            ));
        }
        (true, false) => output::set_extent(Extent::Whole),
        (false, true) => output::set_extent(Extent::Line),
        (false, false) => {}
    }
    Ok(())
}
