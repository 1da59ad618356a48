//! The second build: copies the sources to another folder, builds there, and compares byte by byte.

use super::{Dist, output};
use anyhow::Result;
use std::process::Command;

/// Builds everything a second time in another folder; returns whether each file is identical.
pub(super) fn check(dist: &Dist) -> Result<bool> {
    let folder = tempfile::Builder::new().prefix("another-place-").tempdir()?;
    let sources = folder.path().join("somewhere-else/sources");
    std::fs::create_dir_all(&sources)?;
    // Committed and new files, without ignored ones.
    let copy =
        "git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t \"$0\"";
    output(Command::new("sh").args(["-c", copy]).arg(&sources).current_dir(&dist.root))?;
    let again = Dist {
        build: folder.path().join("build"),
        out: folder.path().join("out"),
        root: sources,
        target: dist.target.clone(),
        epoch: dist.epoch,
    };
    again.make()?;
    let mut diff = Command::new("diff");
    let good = diff.arg("-rq").args([&dist.out, &again.out]).status()?.success();
    println!("two builds: {}", if good { "the same bytes" } else { "NOT the same" });
    Ok(good)
}
