//! Builds the distribution: one static program, packages, completions, manual pages, licences and the
//! build file of a container.
//!
//! The machine's own tools (dpkg-deb, rpmbuild, tar) build everything from one folder. All files have the
//! time of the last commit, so two builds of one commit are identical: `--check` builds from a second folder
//! and compares. `--try` installs and removes the packages in empty roots. Rejected: cargo-deb
//! and cargo-generate-rpm, which add about two hundred crates for the work of two programs that every
//! distribution has.

mod binary;
mod licences;
mod packages;
mod pages;
mod second;
mod trial;

use crate::{child, place};
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// Build twice, and compare.
    #[arg(long)]
    check: bool,
    /// Install and remove the packages.
    #[arg(long = "try")]
    tries: bool,
    /// A target that needs no library of the machine.
    #[arg(long, default_value = "x86_64-unknown-linux-musl")]
    target: String,
}

const NAME: &str = "halfpower";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// One-sentence description for all catalogues.
const SUMMARY: &str = "measures disks and says what to expect from them and how to use them";

/// The build file of a container with the program alone.
const CONTAINER: &str = include_str!("../../../../packaging/Containerfile");

/// What to build, and its folders.
struct Dist {
    /// Sources.
    root: PathBuf,
    /// Build folder of cargo.
    build: PathBuf,
    /// Output folder.
    out: PathBuf,
    target: String,
    /// Timestamp of files and packages, in seconds since 1970.
    epoch: u64,
}

pub(crate) fn run(flags: &Flags) -> Result<bool> {
    let root = place::root();
    let dist = Dist {
        build: place::target_folder().join("dist-build"),
        out: place::target_folder().join("dist"),
        target: flags.target.clone(),
        epoch: epoch(&root)?,
        root,
    };
    dist.make()?;
    let mut good = true;
    if flags.check {
        good &= second::check(&dist)?;
    }
    if flags.tries {
        good &= trial::run(&dist)?;
    }
    Ok(good)
}

impl Dist {
    /// Builds everything from scratch.
    fn make(&self) -> Result<()> {
        if self.out.exists() {
            std::fs::remove_dir_all(&self.out)?;
        }
        std::fs::create_dir_all(&self.out)?;
        let binary = binary::build(self)?;
        let tree = self.out.join("tree");
        pages::write(&tree, self.epoch)?;
        licences::write(self, &tree)?;
        packages::write(self, &tree, &binary)?;
        std::fs::copy(&binary, self.out.join(NAME))?;
        put(&self.out.join("Containerfile"), CONTAINER)?;
        std::fs::remove_dir_all(&tree)?;
        self.sums()
    }

    /// Architecture name for Debian, and for RPM and others.
    fn machines(&self) -> Result<(&'static str, &'static str)> {
        match self.target.split('-').next() {
            Some("x86_64") => Ok(("amd64", "x86_64")),
            Some("aarch64") => Ok(("arm64", "aarch64")),
            _ => anyhow::bail!("no package is made for {}", self.target),
        }
    }

    /// File name without extension.
    fn stem(&self) -> String {
        format!("{NAME}-{VERSION}-{}", self.target)
    }

    /// Names of the output files, sorted.
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

    /// Writes the checksums of all files in the format of sha256sum, and lists the files.
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

/// Writes a file and creates its folders.
fn put(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Standard output of a command that must succeed.
fn output(command: &mut Command) -> Result<String> {
    child::text(command, &[0])
}

/// A value of `rustc -vV` by its name, such as `host`.
fn rustc_tells(root: &Path, name: &str) -> Result<String> {
    let about = output(Command::new("rustc").arg("-vV").current_dir(root))?;
    let told = about.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    told.map(str::to_owned).with_context(|| format!("rustc -vV tells no {name}"))
}

/// Timestamp of all files: `SOURCE_DATE_EPOCH`, or else the time of the last commit.
fn epoch(root: &Path) -> Result<u64> {
    let told = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(told) => told,
        Err(_) => {
            output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?
        }
    };
    told.trim().parse().with_context(|| format!("SOURCE_DATE_EPOCH is no number: {told:?}"))
}
