//! Builds the program for a static target: stripped, small, and independent of the sources' path.
//!
//! The only traces of the build machine in a stripped binary are paths of the sources and of cargo's
//! registry, in messages of panics and of C assertions. Both are renamed. Rust's own linker merges identical
//! functions, which generic code produces in large numbers. Relative relocations are packed, which the
//! start-up code of Rust's musl supports. A release aborts on panic and has no function names, so the unwind
//! tables would be useless; omitting them saves a megabyte.

use super::{Dist, output, rustc_tells};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum size of the program, because it is copied to machines in trouble.
const LARGEST_BYTES: u64 = 20_000_000;
/// Linker script that omits the unwind tables.
const NO_TABLES: &str = "packaging/no-unwind-tables.ld";
/// Replacement paths inside the program.
const SOURCES: &str = "/halfpower";
const REGISTRY: &str = "/cargo";

/// Builds the program; an error if it is too large or depends on the machine.
pub(super) fn build(dist: &Dist) -> Result<PathBuf> {
    let home = cargo_home()?;
    let renamed = [(dist.root.as_path(), SOURCES), (home.as_path(), REGISTRY)];
    let mut rust: Vec<String> = renamed
        .iter()
        .map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()))
        .collect();
    rust.push("-Cforce-unwind-tables=no".to_owned());
    let c: Vec<String> = renamed
        .iter()
        .map(|(path, name)| format!("-ffile-prefix-map={}={name}", path.display()))
        .collect();
    let mut cargo = crate::place::cargo();
    cargo
        .current_dir(&dist.root)
        .args("rustc --quiet --locked --release --package=halfpower --bin=halfpower".split(' '))
        .args(["--target", &dist.target])
        .arg("--target-dir")
        .arg(&dist.build)
        .arg("--")
        .arg(format!("-Clink-arg=-B{}", linker(&dist.root)?.display()))
        .args(["-Clink-arg=-fuse-ld=lld", "-Clink-arg=-Wl,--icf=all"])
        .args(["-C", "link-arg=-Wl,-z,pack-relative-relocs", "-C"])
        .arg(format!("link-arg=-Wl,-T,{}", dist.root.join(NO_TABLES).display()))
        .env_remove("RUSTFLAGS")
        .env("CARGO_ENCODED_RUSTFLAGS", rust.join("\x1f"))
        .env(format!("CFLAGS_{}", dist.target.replace('-', "_")), c.join(" "))
        .env("SOURCE_DATE_EPOCH", dist.epoch.to_string());
    let status = cargo.status().context("cannot run cargo")?;
    ensure!(
        status.success(),
        "the build for {0} failed; it needs `rustup target add {0}` and a C compiler for it \
         (Debian: musl-tools)",
        dist.target
    );
    let built = dist.build.join(&dist.target).join("release/halfpower");
    check(&built)?;
    Ok(built)
}

/// The folder with Rust's own linker in the form that a C compiler calls.
fn linker(root: &Path) -> Result<PathBuf> {
    let rust = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
    let folder = Path::new(rust.trim()).join("lib/rustlib");
    let folder = folder.join(rustc_tells(root, "host")?).join("bin/gcc-ld");
    ensure!(folder.exists(), "this Rust comes without a linker: {} is not there", folder.display());
    Ok(folder)
}

/// cargo's home folder.
fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    Ok(PathBuf::from(std::env::var_os("HOME").context("no HOME")?).join(".cargo"))
}

/// Rejects a program that is too large, needs a library, or contains a path of this machine.
fn check(binary: &Path) -> Result<()> {
    let bytes = std::fs::read(binary)?;
    let headers = program_headers(&bytes).context("it is no ELF file of 64 bits")?;
    ensure!(
        !headers.contains(&INTERPRETER),
        "{} needs a dynamic linker: the target is not a static one",
        binary.display()
    );
    let home = std::env::var("HOME").unwrap_or_default();
    let traces: Vec<String> = [home, crate::place::root().display().to_string()]
        .into_iter()
        .filter(|path| path.len() > 1 && contains(&bytes, path.as_bytes()))
        .collect();
    ensure!(traces.is_empty(), "{} names folders of this machine: {traces:?}", binary.display());
    ensure!(
        bytes.len() as u64 <= LARGEST_BYTES,
        "{} has {} bytes, more than {LARGEST_BYTES}; `nm --size-sort -S -C` on a build with \
         CARGO_PROFILE_RELEASE_STRIP=none says of what",
        binary.display(),
        bytes.len()
    );
    let told = output(Command::new(binary).arg("--version"));
    // A program for another architecture cannot be run.
    if let Ok(told) = told {
        println!("{}: {} bytes, static", told.trim(), bytes.len());
    }
    Ok(())
}

/// `PT_INTERP` (elf(5)): the name of a dynamic linker.
const INTERPRETER: u32 = 3;

/// Types of the program headers of a 64-bit little-endian ELF file (elf(5)).
fn program_headers(bytes: &[u8]) -> Option<Vec<u32>> {
    bytes.starts_with(b"\x7fELF\x02\x01").then_some(())?;
    let word = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let begin = u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?);
    let (size, count) = (usize::from(word(54)?), usize::from(word(56)?));
    let kind = |index: usize| {
        let at = usize::try_from(begin).ok()?.checked_add(index * size)?;
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    (0..count).map(kind).collect()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_libraries_is_told_from_one_without() {
        // This test itself is a dynamically linked program.
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let headers = program_headers(&bytes).unwrap();
        assert!(headers.contains(&INTERPRETER), "{headers:?}");
        assert_eq!(program_headers(&bytes[..40]), None);
        assert_eq!(program_headers(b"#!/bin/sh"), None);
    }
}
