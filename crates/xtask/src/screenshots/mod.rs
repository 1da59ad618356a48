//! `cargo xtask screenshots`: every kind of page in a browser, at three widths and in both schemes.
//!
//! Two questions, since no one of them sees everything. Does the page break a rule that holds for all
//! pages (`layout.js`: labels that overprint, marks outside their axes, sideways scrolling, faint text)?
//! `--png` keeps the pictures for the eye.

mod browser;
mod kinds;

use crate::arguments::Arguments;
use crate::place;
use anyhow::{Context, Result, ensure};
use base64::prelude::{BASE64_STANDARD, Engine};
use browser::{Browser, Look};
use kinds::{KINDS, Kind, Maker};
use std::path::{Path, PathBuf};
use testkit::Capability;

pub(crate) const SWITCHES: [&str; 2] = ["--bless", "--short"];
pub(crate) const VALUES: [&str; 3] = ["--only", "--png", "--binary"];

/// A telephone, half a screen, a screen.
const WIDTHS: [u32; 3] = [400, 1000, 1600];
/// What a reader sees before scrolling far.
const HEIGHT: u32 = 1568;
const LAYOUT: &str = include_str!("layout.js");

pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let only: Option<String> = flags.value("--only")?;
    let short = flags.has("--short");
    let chosen = |kind: &&Kind| match &only {
        Some(name) => name == kind.name,
        None => !short || kind.short,
    };
    let kinds: Vec<&Kind> = KINDS.iter().filter(chosen).collect();
    ensure!(!kinds.is_empty(), "--only takes {}", KINDS.map(|kind| kind.name).join(", "));
    if let Some(lack) = Capability::Chromium.lack() {
        println!("SKIP screenshots: {lack}");
        return Ok(true);
    }
    let folder = tempfile::tempdir()?;
    let binary = place::binary(flags.value("--binary")?, true)?;
    let maker = Maker { binary, folder: folder.path(), root: place::root() };
    let pictures: Option<PathBuf> = flags.value("--png")?;
    let mut browser = Browser::start()?;
    let mut problems = 0;
    for kind in &kinds {
        let page = maker.make(kind).with_context(|| kind.name)?;
        for found in look_at(&mut browser, kind, &page, pictures.as_deref())? {
            println!("{}, {found}", kind.name);
            problems += 1;
        }
    }
    println!("screenshots: {} kinds of pages, {problems} problems", kinds.len());
    Ok(problems == 0)
}

/// The defects of a page, each with the look at which it shows.
fn look_at(
    browser: &mut Browser,
    kind: &Kind,
    page: &Path,
    pictures: Option<&Path>,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let url = format!("file://{}", page.display());
    let tab = browser.tab()?;
    for width in WIDTHS {
        for dark in [false, true] {
            let look = Look { width, height: HEIGHT, dark, print: false };
            browser.open(&tab, &url, look)?;
            let scheme = if dark { "dark" } else { "light" };
            if let Some(folder) = pictures {
                let name = format!("{}-{width}-{scheme}.png", kind.name);
                let picture = BASE64_STANDARD.decode(browser.picture(&tab)?)?;
                std::fs::create_dir_all(folder)?;
                std::fs::write(folder.join(name), picture)?;
            }
            let defects = browser.evaluate(&tab, LAYOUT)?;
            for defect in defects.as_array().context("the script of the layout says nothing")? {
                found
                    .push(format!("{width} px, {scheme}: {}", defect.as_str().unwrap_or_default()));
            }
        }
    }
    Ok(found)
}
