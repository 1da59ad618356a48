//! `halfpower completions` and `man`, made from the same table of commands as `--help`.

use crate::cli::{CompletionsArgs, ManArgs};
use crate::help::command;
use crate::output::{self, Verdict};
use anyhow::Context;
use clap::Command;
use clap::builder::Resettable;
use clap_complete::Shell;
use plan::session;

const NAME: &str = "halfpower";

pub(crate) fn print_completions(arguments: &CompletionsArgs) -> anyhow::Result<Verdict> {
    output::print(&completions(arguments.shell))
}

pub(crate) fn man(arguments: &ManArgs) -> anyhow::Result<Verdict> {
    let pages = manual_pages("");
    let Some(folder) = &arguments.folder else {
        let first = pages.into_iter().last().map(|(_, text)| text);
        return output::print(&first.unwrap_or_default());
    };
    let cannot = || format!("cannot write the manual pages to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    for (name, text) in &pages {
        std::fs::write(folder.join(name), text).with_context(cannot)?;
    }
    output::print(&format!("{}: {} pages\n", folder.display(), pages.len()))
}

/// The completions for a shell.
#[must_use]
pub fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), NAME, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The manual pages with their file names, the program's own page last. `date` is printed in their footers.
#[must_use]
pub fn manual_pages(date: &str) -> Vec<(String, String)> {
    let mut command = command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, date, &mut pages);
    pages
}

/// Adds the pages of a command's subcommands, then its own.
fn add_pages(command: &Command, date: &str, pages: &mut Vec<(String, String)>) {
    for own in command.get_subcommands() {
        add_pages(own, date, pages);
    }
    let notes = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let bare = command.clone().after_help(Resettable::Reset).after_long_help(Resettable::Reset);
    let page = clap_mangen::Man::new(bare);
    let source = format!("{NAME} {}", session::VERSION);
    let page = page.date(date).source(source).manual("Commands of halfpower");
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = page.render(&mut text);
    // An empty line is a paragraph break; mandoc warns about a line break next to it.
    let mut text = String::from_utf8_lossy(&text).replace(".br\n\n.br\n", "\n");
    if let Some(notes) = notes {
        text += &format!(".SH NOTES\n.nf\n{}.fi\n", unfilled(&notes));
    }
    pages.push((page.get_filename(), text));
}

/// Formats preformatted lines (examples and tables) for roff.
fn unfilled(text: &str) -> String {
    let line = |line: &str| {
        let escaped = line.replace('\\', "\\e").replace('-', "\\-");
        // A line that begins with one of these would be a roff request.
        let guard = if escaped.starts_with(['.', '\'']) { "\\&" } else { "" };
        format!("{guard}{escaped}\n")
    };
    text.lines().map(line).collect()
}
