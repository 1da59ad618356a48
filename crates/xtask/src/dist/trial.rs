//! Tries the packages as users do: installs each with its own tool in an empty root, runs the program there,
//! and removes it without a trace. If the machine lacks something, the test is skipped with the reason.

use super::{Dist, NAME, VERSION, output};
use anyhow::{Context, Result, ensure};
use std::process::Command;
use testkit::Capability;

/// A typical first command. Its output is the same everywhere.
const FIRST: [&str; 4] = ["run", "sim:mm1,service=5ms", "--no-save", "--json"];
/// The programs that install packages, with the words that install and remove one.
const TOOLS: [(&str, &str, &str, &str); 2] =
    [("dpkg", ".deb", "--install", "--purge"), ("rpm", ".rpm", "--install", "--erase")];

/// Tries what is possible here; returns whether all succeeded.
pub(super) fn run(dist: &Dist) -> Result<bool> {
    let mut good = true;
    for (tool, end, install, remove) in TOOLS {
        let lack = Capability::Root
            .missing()
            .or_else(|| (!crate::place::has(tool)).then(|| format!("{tool} is not installed")));
        if let Some(lack) = lack {
            testkit::skip(&format!("dist: {tool}"), &lack);
            continue;
        }
        match try_package(dist, tool, end, [install, remove]) {
            Ok(()) => println!("{tool}: ok"),
            Err(error) => {
                println!("{tool}: {error:#}");
                good = false;
            }
        }
    }
    Ok(good)
}

/// Installs, runs and removes a package. A simulated document depends only on its command line, so the
/// installed program must print what the built one prints.
fn try_package(dist: &Dist, tool: &str, end: &str, [install, remove]: [&str; 2]) -> Result<()> {
    let name = dist.files()?.into_iter().find(|name| name.ends_with(end));
    let package = dist.out.join(name.with_context(|| format!("no package {end}"))?);
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    let with_tool = |verb: &str, what: &str| {
        output(Command::new(tool).arg(format!("--root={}", root.display())).args([verb, what]))
    };
    let installed = |words: &[&str]| {
        output(Command::new("chroot").arg(root).arg(format!("/usr/bin/{NAME}")).args(words))
    };
    with_tool(install, &package.display().to_string())?;
    let version = installed(&["--version"])?;
    ensure!(version.trim() == format!("{NAME} {VERSION}"), "the version is {version:?}");
    let ours = output(Command::new(dist.out.join(NAME)).args(FIRST))?;
    ensure!(installed(&FIRST)? == ours, "the installed program prints another document");
    with_tool(remove, NAME)?;
    let left = output(Command::new("find").arg(root).args(["-name", &format!("*{NAME}*")]))?;
    ensure!(left.is_empty(), "the removed package left {left}");
    Ok(())
}
