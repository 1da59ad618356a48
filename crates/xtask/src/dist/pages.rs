//! Writes manual pages and shell completions, as the program itself prints them.

use super::put;
use anyhow::Result;
use clap_complete::Shell;
use std::path::Path;

/// Each shell with the path of its completions on Debian and others.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "usr/share/bash-completion/completions/halfpower"),
    (Shell::Zsh, "usr/share/zsh/vendor-completions/_halfpower"),
    (Shell::Fish, "usr/share/fish/vendor_completions.d/halfpower.fish"),
];
/// Folder of the manual pages.
pub(super) const MANUAL: &str = "usr/share/man/man1";

/// Writes both below a tree with the layout of a system's root; `epoch` is the date of the pages.
pub(super) fn write(tree: &Path, epoch: u64) -> Result<()> {
    for (shell, path) in COMPLETIONS {
        put(&tree.join(path), halfpower::completions(shell))?;
    }
    let date = jiff::Timestamp::from_second(i64::try_from(epoch)?)?.strftime("%Y-%m-%d");
    for (name, text) in halfpower::manual_pages(&date.to_string()) {
        put(&tree.join(MANUAL).join(name), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::NAME;

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
}
