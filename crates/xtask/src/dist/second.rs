//! The second build: copies the sources to another folder, builds there, and compares byte by byte.

use super::{Dist, output};
use anyhow::{Context, Result};
use std::process::Command;

/// Builds everything a second time in another folder; returns whether each file is identical.
pub(super) fn check(dist: &Dist) -> Result<bool> {
    let folder = tempfile::Builder::new().prefix("another-place-").tempdir()?;
    let sources = folder.path().join("somewhere-else/sources");
    std::fs::create_dir_all(&sources)?;
    // Committed and new files, without ignored ones.
    let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let names = output(Command::new("git").args(listed).current_dir(&dist.root))?;
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let from = dist.root.join(name);
        // The list includes files whose removal is not committed yet.
        if from.is_file() {
            let to = sources.join(name);
            std::fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            std::fs::copy(&from, &to)?;
        }
    }
    let again = Dist {
        build: folder.path().join("build"),
        out: folder.path().join("out"),
        root: sources,
        target: dist.target.clone(),
        epoch: dist.epoch,
    };
    again.make()?;
    let (ours, theirs) = (dist.files()?, again.files()?);
    let mut good = ours == theirs;
    if !good {
        println!("the second build made other files: {theirs:?}");
    }
    for name in ours {
        let same = std::fs::read(dist.out.join(&name))? == std::fs::read(again.out.join(&name))?;
        if !same {
            println!("{name}: the two builds differ; diffoscope shows where");
        }
        good &= same;
    }
    println!("two builds: {}", if good { "the same bytes" } else { "NOT the same" });
    Ok(good)
}
