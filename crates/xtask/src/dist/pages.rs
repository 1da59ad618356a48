//! Manual pages and shell completions, from the table of commands that `--help` is printed from.

use super::{NAME, VERSION, put};
use anyhow::Result;
use clap::builder::Resettable;
use clap_complete::Shell;
use std::path::Path;

/// Each shell with where Debian and others look for its completions.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "usr/share/bash-completion/completions/halfpower"),
    (Shell::Zsh, "usr/share/zsh/vendor-completions/_halfpower"),
    (Shell::Fish, "usr/share/fish/vendor_completions.d/halfpower.fish"),
];
/// Where manual pages belong.
pub(super) const MANUAL: &str = "usr/share/man/man1";

/// Writes both below a tree that is laid out as a system's root; `epoch` is the date of the pages.
pub(super) fn write(tree: &Path, epoch: u64) -> Result<()> {
    for (shell, path) in COMPLETIONS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut halfpower::command(), NAME, &mut text);
        put(&tree.join(path), text)?;
    }
    let date = jiff::Timestamp::from_second(i64::try_from(epoch)?)?.strftime("%Y-%m-%d");
    let mut command = halfpower::command().disable_help_subcommand(true);
    command.build();
    manual(&command, &date.to_string(), &tree.join(MANUAL))
}

/// The page of a command and those of its own commands.
fn manual(command: &clap::Command, date: &str, folder: &Path) -> Result<()> {
    for own in command.get_subcommands().filter(|own| !own.is_hide_set()) {
        manual(own, date, folder)?;
    }
    let notes = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let bare = command.clone().after_help(Resettable::Reset).after_long_help(Resettable::Reset);
    let page = clap_mangen::Man::new(bare);
    let page = page.date(date).source(format!("{NAME} {VERSION}")).manual("Commands of halfpower");
    let mut text = Vec::new();
    page.render(&mut text)?;
    // An empty line is a paragraph by itself; mandoc calls a break beside it one too many.
    let mut text = String::from_utf8(text)?.replace(".br\n\n.br\n", "\n");
    if let Some(notes) = notes {
        text += &format!(".SH NOTES\n.nf\n{}.fi\n", unfilled(&notes));
    }
    put(&folder.join(page.get_filename()), text)
}

/// Lines that are already broken, as roff takes them: examples and tables.
fn unfilled(text: &str) -> String {
    let line = |line: &str| {
        let escaped = line.replace('\\', "\\e").replace('-', "\\-");
        // A line that begins so would be a request.
        let guard = if escaped.starts_with(['.', '\'']) { "\\&" } else { "" };
        format!("{guard}{escaped}\n")
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_each_shell_completes_it() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 0).unwrap();
        let texts =
            COMPLETIONS.map(|(_, path)| std::fs::read_to_string(folder.path().join(path)).unwrap());
        let command = halfpower::command();
        assert!(command.get_subcommands().count() > 10);
        for verb in command.get_subcommands().map(clap::Command::get_name) {
            let page = folder.path().join(MANUAL).join(format!("{NAME}-{verb}.1"));
            let page = std::fs::read_to_string(page).unwrap();
            assert!(page.contains(".TH") && page.contains(verb), "{page}");
            assert!(page.contains("1970-01-01"), "{page}");
            assert!(texts.iter().all(|text| text.contains(verb)), "{verb}");
        }
    }

    #[test]
    fn a_line_of_an_example_is_no_request_and_keeps_its_signs() {
        assert_eq!(unfilled("run . --x\n.nf\n'a \\b"), "run . \\-\\-x\n\\&.nf\n\\&'a \\eb\n");
    }
}
