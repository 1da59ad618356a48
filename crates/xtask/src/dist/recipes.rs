//! Writes recipes for Homebrew and winget, from the templates of `packaging`, with version, address and
//! checksums.

use super::{Dist, NAME, VERSION, put, sum};
use anyhow::{Result, ensure};
use std::path::Path;

const FORMULA: &str = include_str!("../../../../packaging/halfpower.rb");
/// A winget manifest has three files: for the version, for the installer, and for a language.
const WINGET: [(&str, &str); 3] = [
    ("", include_str!("../../../../packaging/winget.yaml")),
    (".installer", include_str!("../../../../packaging/winget.installer.yaml")),
    (".locale.en-US", include_str!("../../../../packaging/winget.locale.en-US.yaml")),
];

/// Writes both; winget's only if there is a Windows program.
pub(super) fn write(dist: &Dist) -> Result<()> {
    let archive = format!("{}.tar.gz", dist.stem());
    let formula = fill(dist, FORMULA, &archive, &dist.out.join(&archive))?;
    put(&dist.out.join("halfpower.rb"), formula)?;
    let Some(program) = &dist.windows else {
        println!("SKIP winget: --windows FILE names the program that its manifest is of");
        return Ok(());
    };
    let name = format!("{NAME}-{VERSION}-x86_64-pc-windows-gnu.exe");
    for (part, template) in WINGET {
        let manifest = fill(dist, template, &name, program)?;
        put(&dist.out.join(format!("{NAME}{part}.yaml")), manifest)?;
    }
    Ok(())
}

/// Fills a template for a file that is downloaded under a name.
fn fill(dist: &Dist, template: &str, name: &str, file: &Path) -> Result<String> {
    let filled = template
        .replace("@VERSION@", VERSION)
        .replace("@URL@", dist.url.trim_end_matches('/'))
        .replace("@FILE@", name)
        .replace("@SHA256@", &sum(file)?)
        .replace("@SHA256_UPPER@", &sum(file)?.to_uppercase());
    ensure!(!filled.contains('@'), "a place of a template is left empty:\n{filled}");
    Ok(filled)
}
