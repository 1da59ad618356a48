//! Lists the parts of the program: a bill of materials (CycloneDX 1.5), and the licences with their texts.
//!
//! The crates come from `cargo tree`, which knows the features of this program. Other parts are added: the C
//! library, Rust's standard library, and C code inside crates. Crates that run only during the build are
//! listed as `excluded`; their licences do not bind recipients of the program. A licence expression with a
//! licence that has not been reviewed is an error.

use super::{Dist, NAME, VERSION, output, put, rust_library, rustc_tells, sum};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Reviewed licences. All of them allow distribution with their text (MPL-2.0 requires the sources of its own
/// files, which crates.io provides).
const KNOWN: [&str; 15] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "LLVM-exception",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
/// Prefixes of the names of files that contain a licence or must be distributed.
const TEXTS: [&str; 6] = ["licen", "copying", "copyright", "notice", "unlicense", "authors"];
/// The licence of the program itself.
const CHOICE: &str =
    "halfpower is under the MIT licence or the Apache License 2.0, as you choose.\n";
/// The licence of musl, which Rust's distribution links without including the text.
const MUSL_TEXT: &str = include_str!("musl-licence.txt");

/// The dependencies of each part, by package URLs.
type Needs = BTreeMap<String, Vec<String>>;

/// A part of the program.
struct Part {
    name: String,
    version: String,
    licence: String,
    /// Package URL (purl).
    url: String,
    /// SHA-256 of the package, from Cargo.lock.
    sum: Option<String>,
    /// Whether it is in the program; otherwise it is only used to build it.
    inside: bool,
    /// Licence texts by file name.
    texts: Vec<(String, String)>,
}

/// Writes `sbom.cdx.json` and the licences, into the tree and next to the packages.
pub(super) fn write(dist: &Dist, tree: &Path) -> Result<()> {
    let (mut parts, edges) = crates(dist)?;
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
    put(&dist.out.join("LICENCES.txt"), &licences)?;
    let bill = bill(dist, &parts, &edges)?;
    put(&dist.out.join(format!("{}.cdx.json", dist.stem())), bill)
}

/// The crates of the program, and their dependencies by package URLs.
fn crates(dist: &Dist) -> Result<(Vec<Part>, Needs)> {
    let cargo = || {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&dist.root);
        cargo
    };
    let listed = |edges: &str| -> Result<BTreeSet<(String, String)>> {
        let words = ["tree", "--locked", "--package=halfpower", "--prefix=none", "--format={p}"];
        let text = output(cargo().args(words).args(["--edges", edges, "--target", &dist.target]))?;
        Ok(text.lines().filter_map(name_and_version).collect())
    };
    // Procedural macros run in the compiler, and so do crates that only they need.
    let inside = listed("normal,no-proc-macro")?;
    let all = listed("normal,build")?;
    let words = ["metadata", "--locked", "--format-version=1", "--filter-platform", &dist.target];
    let metadata: Value = serde_json::from_str(&output(cargo().args(words))?)?;
    let sums = lock_sums(&std::fs::read_to_string(dist.root.join("Cargo.lock"))?);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mut parts, mut urls) = (Vec::new(), BTreeMap::new());
    for package in metadata["packages"].as_array().context("cargo metadata has no packages")? {
        let key = (text(&package["name"]), text(&package["version"]));
        if !all.contains(&key) {
            continue;
        }
        let (name, version) = key.clone();
        let own = package["source"].is_null();
        let url = format!("pkg:cargo/{name}@{version}");
        urls.insert(text(&package["id"]), url.clone());
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let folder = manifest.parent().context("a manifest has a folder")?;
        parts.push(Part {
            licence: text(&package["license"]).replace('/', " OR "),
            sum: sums.get(&key).cloned(),
            inside: inside.contains(&key),
            texts: if own { Vec::new() } else { texts(folder)? },
            name,
            version,
            url,
        });
    }
    parts.sort_by(|a, b| a.url.cmp(&b.url));
    let mut edges = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
        let Some(url) = urls.get(&text(&node["id"])) else { continue };
        let needs = node["dependencies"].as_array().into_iter().flatten();
        let mut needs: Vec<String> =
            needs.filter_map(|id| urls.get(id.as_str()?).cloned()).collect();
        needs.sort();
        edges.insert(url.clone(), needs);
    }
    Ok((parts, edges))
}

/// The first two words of `serde v1.0.229 (proc-macro) (*)`.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

/// The checksums in Cargo.lock by name and version.
fn lock_sums(lock: &str) -> BTreeMap<(String, String), String> {
    let entry = |block: &str| {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.trim_start_matches(" = ").trim_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    };
    lock.split("[[package]]").filter_map(entry).collect()
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

/// The parts that are not crates: Rust's library, the C library, SQLite.
fn others(dist: &Dist, parts: &[Part]) -> Result<Vec<Part>> {
    let part = |name: &str, version: String, licence: &str| Part {
        url: format!("pkg:generic/{name}@{version}"),
        name: name.to_owned(),
        version,
        licence: licence.to_owned(),
        sum: None,
        inside: true,
        texts: Vec::new(),
    };
    let release = rustc_tells(&dist.root, "release")?;
    let mut others = vec![
        part("rust-std", release.clone(), "MIT OR Apache-2.0"),
        part("llvm-libunwind", release, "Apache-2.0 WITH LLVM-exception"),
    ];
    if dist.target.ends_with("musl") {
        let library =
            rust_library(&dist.root)?.join(&dist.target).join("lib/self-contained/libc.a");
        let mut musl = part("musl", musl_version(&std::fs::read(library)?)?, "MIT");
        musl.texts = vec![("COPYRIGHT".to_owned(), MUSL_TEXT.to_owned())];
        others.push(musl);
    }
    let sqlite = parts.iter().find(|part| part.name == "libsqlite3-sys");
    let sqlite = sqlite.context("the store has no SQLite of its own any more: mend this list")?;
    // In `0.38.1+3.51.2`, the version of SQLite follows the plus sign.
    let version = sqlite.version.split_once('+').map(|(_, version)| version.to_owned());
    let version = match version {
        Some(version) => version,
        None => sqlite_version(dist, &sqlite.name)?,
    };
    let mut sqlite = part("sqlite", version, "");
    sqlite.texts =
        vec![("public domain".to_owned(), "SQLite is in the public domain.\n".to_owned())];
    others.push(sqlite);
    Ok(others)
}

/// The version in musl's archive, which is stored as text (`__libc_version`).
fn musl_version(archive: &[u8]) -> Result<String> {
    let printable = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let version = archive.split(|byte| !printable(byte)).find(|word| {
        word.starts_with(b"1.") && word.iter().filter(|byte| **byte == b'.').count() == 2
    });
    let version = version.context("the C library of the target does not tell its version")?;
    Ok(String::from_utf8_lossy(version).into_owned())
}

/// The version in the header of the bundled SQLite.
fn sqlite_version(dist: &Dist, name: &str) -> Result<String> {
    let words = ["metadata", "--locked", "--format-version=1"];
    let metadata = output(Command::new("cargo").args(words).current_dir(&dist.root))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.into_iter().find(|package| package["name"] == name);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let folder = manifest.and_then(|path| Path::new(path).parent()).context("no SQLite")?;
    let header = std::fs::read_to_string(folder.join("sqlite3/sqlite3.h"))?;
    let line = header.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "));
    Ok(line.context("SQLite's header tells no version")?.trim().trim_matches('"').to_owned())
}

/// Rejects a part with a licence that has not been reviewed.
fn check(part: &Part) -> Result<()> {
    let unknown: Vec<&str> = words_of(&part.licence).filter(|word| !KNOWN.contains(word)).collect();
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
    for part in parts.iter().filter(|part| part.inside && !part.name.starts_with(NAME)) {
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

/// The bill of materials as CycloneDX 1.5. Its serial number is derived from Cargo.lock.
fn bill(dist: &Dist, parts: &[Part], edges: &Needs) -> Result<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(dist.epoch)?)?.to_string();
    let lock = sum(&dist.root.join("Cargo.lock"))?;
    let serial = format!(
        "urn:uuid:{}-{}-5{}-8{}-{}",
        &lock[..8],
        &lock[8..12],
        &lock[13..16],
        &lock[17..20],
        &lock[20..32]
    );
    let main = format!("pkg:cargo/{NAME}@{VERSION}");
    let component = |part: &Part| {
        let mut component = json!({
            "type": "library",
            "bom-ref": part.url,
            "name": part.name,
            "version": part.version,
            "purl": part.url,
            "scope": if part.inside { "required" } else { "excluded" },
        });
        if part.licence.is_empty() {
            component["licenses"] = json!([{ "license": { "name": "public domain" } }]);
        } else {
            component["licenses"] = json!([{ "expression": part.licence }]);
        }
        if let Some(sum) = &part.sum {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    };
    let components: Vec<Value> =
        parts.iter().filter(|part| part.url != main).map(component).collect();
    let mut dependencies: Vec<Value> =
        edges.iter().map(|(url, needs)| json!({ "ref": url, "dependsOn": needs })).collect();
    for part in parts.iter().filter(|part| !edges.contains_key(&part.url)) {
        dependencies.push(json!({ "ref": part.url, "dependsOn": [] }));
    }
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": serial,
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {
                "type": "application",
                "bom-ref": main,
                "name": NAME,
                "version": VERSION,
                "purl": main,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(format!("{bill:#}\n"))
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
            url: String::new(),
            sum: None,
            inside: true,
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
    fn sums_and_names_are_read_from_cargos_own_texts() {
        let lock = "version = 4\n[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\
                    source = \"registry\"\nchecksum = \"ab12\"\n\n[[package]]\nname = \"own\"\n\
                    version = \"0.1.0\"\n";
        let key = ("a".to_owned(), "1.2.3".to_owned());
        assert_eq!(lock_sums(lock), BTreeMap::from([(key.clone(), "ab12".to_owned())]));
        assert_eq!(name_and_version("a v1.2.3 (proc-macro) (*)"), Some(key));
        assert_eq!(name_and_version(""), None);
        assert_eq!(musl_version(b"\0x1.2\0v1.2.5\0").unwrap(), "1.2.5");
    }
}
