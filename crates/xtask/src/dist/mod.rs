//! What is given to people who do not build: one static program, packages, completions, manual pages,
//! licences, a bill of materials, and recipes for a container, Homebrew and winget.
//!
//! Everything is made by the machine's own tools (dpkg-deb, rpmbuild, tar) from one folder, whose files carry
//! the time of the last commit, so that two builds of one commit give the same bytes: `--check` makes a
//! second one from another folder and compares them. `--try` installs the packages in a Debian of their
//! own and removes them. Rejected: cargo-deb and cargo-generate-rpm, which bring some two hundred crates
//! for what two programs of every distribution do.

mod binary;
mod container;
mod materials;
mod packages;
mod pages;
mod recipes;
mod second;
mod trial;

use crate::{arguments::Arguments, place};
use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const SWITCHES: [&str; 2] = ["--check", "--try"];
pub(crate) const VALUES: [&str; 3] = ["--target", "--url", "--windows"];

/// The target that needs no library of the machine.
const TARGET: &str = "x86_64-unknown-linux-musl";
/// Where the recipes fetch from, unless told otherwise: a name that nobody can own.
const URL: &str = "https://example.invalid/halfpower";
const NAME: &str = "halfpower";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// One sentence for every catalogue.
const SUMMARY: &str = "measures disks and says what to expect from them and how to use them";

/// What is to be made, and where from and to.
struct Dist {
    /// The sources.
    root: PathBuf,
    /// Where cargo builds.
    build: PathBuf,
    /// What comes of it.
    out: PathBuf,
    target: String,
    url: String,
    /// A Windows program for the manifest of winget.
    windows: Option<PathBuf>,
    /// Seconds since 1970 that files and packages carry.
    epoch: u64,
}

pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let root = place::root();
    let dist = Dist {
        build: place::target_folder().join("dist-build"),
        out: place::target_folder().join("dist"),
        target: flags.value("--target")?.unwrap_or_else(|| TARGET.to_owned()),
        url: flags.value("--url")?.unwrap_or_else(|| URL.to_owned()),
        windows: flags.value("--windows")?,
        epoch: epoch(&root)?,
        root,
    };
    dist.make()?;
    let mut good = true;
    if flags.has("--check") {
        good &= second::check(&dist)?;
    }
    if flags.has("--try") {
        good &= trial::run(&dist)?;
    }
    Ok(good)
}

impl Dist {
    /// Makes everything anew.
    fn make(&self) -> Result<()> {
        if self.out.exists() {
            std::fs::remove_dir_all(&self.out)?;
        }
        std::fs::create_dir_all(&self.out)?;
        let binary = binary::build(self)?;
        let tree = self.out.join("tree");
        pages::write(&tree, self.epoch)?;
        materials::write(self, &tree)?;
        packages::write(self, &tree, &binary)?;
        recipes::write(self)?;
        container::write(self)?;
        std::fs::remove_dir_all(&tree)?;
        self.sums()
    }

    /// Debian's, RPM's and everybody's name of the processor.
    fn machines(&self) -> Result<(&'static str, &'static str)> {
        match self.target.split('-').next() {
            Some("x86_64") => Ok(("amd64", "x86_64")),
            Some("aarch64") => Ok(("arm64", "aarch64")),
            _ => anyhow::bail!("no package is made for {}", self.target),
        }
    }

    /// What its files are called before their ending.
    fn stem(&self) -> String {
        format!("{NAME}-{VERSION}-{}", self.target)
    }

    /// The names of the files that were made, sorted.
    fn files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.out)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Writes the sums of all files, as sha256sum does, and lists them.
    fn sums(&self) -> Result<()> {
        let mut lines = String::new();
        for name in self.files()? {
            let path = self.out.join(&name);
            let bytes = std::fs::metadata(&path)?.len();
            println!("{bytes:>10}  {name}");
            lines += &format!("{}  {name}\n", sum(&path)?);
        }
        std::fs::write(self.out.join("SHA256SUMS"), lines)?;
        println!("in {}", self.out.display());
        Ok(())
    }
}

/// SHA-256 of a file, in hexadecimal.
fn sum(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file and the folders above it.
fn put(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Runs a command that must succeed; its standard output.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}: {}", output.status, words.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What the compiler of these sources says of itself under this name, as `host`.
fn rustc_tells(root: &Path, name: &str) -> Result<String> {
    let about = output(Command::new("rustc").arg("-vV").current_dir(root))?;
    let told = about.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    told.map(str::to_owned).with_context(|| format!("rustc -vV tells no {name}"))
}

/// Where the parts of that compiler lie, target by target.
fn rust_library(root: &Path) -> Result<PathBuf> {
    let folder = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
    Ok(Path::new(folder.trim()).join("lib/rustlib"))
}

/// The time that everything carries: `SOURCE_DATE_EPOCH`, else that of the last commit.
fn epoch(root: &Path) -> Result<u64> {
    let told = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(told) => told,
        Err(_) => {
            output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?
        }
    };
    told.trim().parse().with_context(|| format!("SOURCE_DATE_EPOCH is no number: {told:?}"))
}
