//! Lists the parts of the program and their licences, with their texts.
//!
//! The crates come from `cargo tree`, which knows the features of this program and omits crates that run only
//! during the build. Other parts are added: the C library, Rust's standard library, and C code inside crates.
//! A licence expression with a licence that has not been reviewed is an error. Rejected: a bill of materials
//! as well, which `cargo cyclonedx` makes from Cargo.lock.

use super::{Dist, NAME, output, put, rustc_tells};
use crate::place;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Reviewed licences. All of them allow distribution with their text (MPL-2.0 requires the sources of its own
/// files, which crates.io provides).
const KNOWN: &str = "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 \
    CDLA-Permissive-2.0 ISC LLVM-exception MIT MIT-0 MPL-2.0 Unicode-3.0 Unlicense Zlib";
/// Prefixes of the names of files that contain a licence or must be distributed.
const TEXTS: [&str; 6] = ["licen", "copying", "copyright", "notice", "unlicense", "authors"];
/// The licence of the program itself.
const CHOICE: &str =
    "halfpower is under the MIT licence or the Apache License 2.0, as you choose.\n";
/// The licence of musl, which Rust's distribution links without including the text.
const MUSL_TEXT: &str = include_str!("musl-licence.txt");

/// A part of the program.
struct Part {
    name: String,
    version: String,
    licence: String,
    /// Licence texts by file name.
    texts: Vec<(String, String)>,
}

/// Writes the licences, into the tree and next to the packages.
pub(super) fn write(dist: &Dist, tree: &Path) -> Result<()> {
    let mut parts = crates(dist)?;
    parts.extend(others(dist, &parts)?);
    for part in &parts {
        check(part)?;
    }
    let documents = tree.join("usr/share/doc").join(NAME);
    let licences = licences(dist, &parts)?;
    put(&documents.join("LICENCES.txt"), &licences)?;
    // Debian has one copy of the Apache License for all packages, and rejects further copies.
    let own = std::fs::read_to_string(dist.root.join("LICENSE-MIT"))?;
    let copyright = format!(
        "{CHOICE}\n{own}\nOn Debian the Apache License 2.0 is /usr/share/common-licenses/Apache-2.0.\n\
         The licences of the parts that the program contains are in LICENCES.txt beside this file.\n"
    );
    put(&documents.join("copyright"), copyright)?;
    put(&dist.out.join("LICENCES.txt"), &licences)
}

/// The crates inside the program, sorted by name. Procedural macros run in the compiler, and so do crates that
/// only they need.
fn crates(dist: &Dist) -> Result<Vec<Part>> {
    let cargo = |words: &[&str]| {
        output(place::cargo().current_dir(&dist.root).args(words).arg(&dist.target))
    };
    let words = ["tree", "--locked", "--package=halfpower", "--prefix=none", "--format={p}"];
    let tree = cargo(&[&words[..], &["--edges=normal,no-proc-macro", "--target"]].concat())?;
    let inside: BTreeSet<(String, String)> = tree.lines().filter_map(name_and_version).collect();
    let words = ["metadata", "--locked", "--format-version=1", "--filter-platform"];
    let metadata: Value = serde_json::from_str(&cargo(&words)?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut parts = Vec::new();
    for package in metadata["packages"].as_array().context("cargo metadata has no packages")? {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        // Crates without a source are the program itself.
        if package["source"].is_null() || !inside.contains(&(name.clone(), version.clone())) {
            continue;
        }
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let texts = texts(manifest.parent().context("a manifest has a folder")?)?;
        let licence = text(&package["license"]).replace('/', " OR ");
        parts.push(Part { name, version, licence, texts });
    }
    parts.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(parts)
}

/// The first two words of `serde v1.0.229 (proc-macro) (*)`.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

/// The licence files of a package.
fn texts(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let small = name.to_lowercase();
        if entry.file_type()?.is_file() && TEXTS.iter().any(|begin| small.starts_with(begin)) {
            texts.push((name, String::from_utf8_lossy(&std::fs::read(entry.path())?).into_owned()));
        }
    }
    texts.sort();
    Ok(texts)
}

/// The parts that are not crates: Rust's library, the C library that comes with it, SQLite.
fn others(dist: &Dist, parts: &[Part]) -> Result<Vec<Part>> {
    let part = |name: &str, version: &str, licence: &str, texts: &[(&str, &str)]| Part {
        name: name.to_owned(),
        version: version.to_owned(),
        licence: licence.to_owned(),
        texts: texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
    };
    let release = rustc_tells(&dist.root, "release")?;
    let mut others = vec![
        part("rust-std", &release, "MIT OR Apache-2.0", &[]),
        part("llvm-libunwind of Rust", &release, "Apache-2.0 WITH LLVM-exception", &[]),
    ];
    if dist.target.ends_with("musl") {
        others.push(part("musl of Rust", &release, "MIT", &[("COPYRIGHT", MUSL_TEXT)]));
    }
    let sqlite = parts.iter().find(|part| part.name == "libsqlite3-sys");
    let sqlite = sqlite.context("the store has no SQLite of its own any more: update this list")?;
    let text = [("public domain", "SQLite is in the public domain.\n")];
    others.push(part("sqlite of libsqlite3-sys", &sqlite.version, "", &text));
    Ok(others)
}

/// Rejects a part with a licence that has not been reviewed.
fn check(part: &Part) -> Result<()> {
    let known = |word: &&str| KNOWN.split(' ').any(|known| known == *word);
    let unknown: Vec<&str> = words_of(&part.licence).filter(|word| !known(word)).collect();
    ensure!(
        unknown.is_empty() && (!part.licence.is_empty() || !part.texts.is_empty()),
        "{} {} is under {:?}: look at it, and add it to the known licences or do without the part",
        part.name,
        part.version,
        part.licence
    );
    Ok(())
}

/// The licences in an SPDX expression.
fn words_of(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split([' ', '(', ')']);
    words.filter(|word| !word.is_empty() && !["OR", "AND", "WITH"].contains(word))
}

/// The program's own licences, then each part's licence, then each text once.
fn licences(dist: &Dist, parts: &[Part]) -> Result<String> {
    let own = ["LICENSE-MIT", "LICENSE-APACHE"];
    let mut page = format!("{CHOICE}\n");
    for name in own {
        page += &std::fs::read_to_string(dist.root.join(name))?;
        page += "\n";
    }
    page += "The program contains these parts:\n\n";
    // Identical texts are printed once, with the names of all their parts.
    let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for part in parts {
        let licence = if part.licence.is_empty() { "public domain" } else { &part.licence };
        let none = if part.texts.is_empty() { " (the package holds no text)" } else { "" };
        page += &format!("  {} {}: {licence}{none}\n", part.name, part.version);
        for (name, text) in &part.texts {
            texts.entry(text.trim()).or_default().push(format!("{}: {name}", part.name));
        }
    }
    let mut texts: Vec<(Vec<String>, &str)> =
        texts.into_iter().map(|(text, whose)| (whose, text)).collect();
    texts.sort();
    for (whose, text) in texts {
        page += &format!("\n{}\n{}\n\n{text}\n", "-".repeat(72), whose.join(", "));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_that_nobody_has_looked_at_is_refused() {
        let part = |licence: &str| Part {
            name: "x".to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.to_owned(),
            texts: Vec::new(),
        };
        for good in ["MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]
        {
            check(&part(good)).unwrap();
        }
        for bad in ["", "AGPL-3.0", "MIT AND LicenseRef-mine"] {
            assert!(check(&part(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_are_read_from_cargos_own_text() {
        let key = ("a".to_owned(), "1.2.3".to_owned());
        assert_eq!(name_and_version("a v1.2.3 (proc-macro) (*)"), Some(key));
        assert_eq!(name_and_version(""), None);
    }
}
