//! References: the mean colours of cells of a page's parts, as a person last reviewed them.
//!
//! Fonts differ between machines, so every letter of a picture differs. The positions and widths of the parts
//! and the content of plots must not differ. Plots are compared without their text, because the program
//! itself computes the text's width to place the rest. A reference has for each part its position and width,
//! which must agree closely; its height, which may vary with the text within bounds; and the mean colours of
//! its cells, many for a plot and few for text. All references together are a few hundred kilobytes of text,
//! so a reviewer sees changes. Rejected: pictures (megabytes that differ everywhere with the font), and a
//! hash (it shows that something differs, but not where or how much).

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fmt::Write;

/// Columns and rows of cells, for a plot and for text.
pub(super) const PLOT_CELLS: (usize, usize) = (24, 12);
pub(super) const TEXT_CELLS: (usize, usize) = (4, 1);
/// Maximum difference of positions and widths, as a share of the page's width.
const PLACE: f64 = 0.03;
/// Maximum difference of the height of text: a factor, or pixels.
const TEXT_HEIGHT: (f64, f64) = (1.8, 60.0);
/// Maximum difference of the height of a plot, in pixels.
const PLOT_HEIGHT: f64 = 2.0;
/// Maximum mean difference of the cells' colours, on a scale of 35 steps.
const PLOT_COLOURS: f64 = 0.15;
const TEXT_COLOURS: f64 = 3.0;
/// Maximum difference of one cell of a plot, on a scale of 35 steps: the rounding error.
const PLOT_CELL: f64 = 1.0;

/// A part of a page and its box in pixels.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Part {
    pub(super) name: String,
    /// Whether it is a plot.
    pub(super) drawn: bool,
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Mean colours of its cells.
    #[serde(default)]
    pub(super) cells: String,
}

/// The parts of a page in one look.
#[derive(Clone, Debug)]
pub(super) struct Looked {
    /// Description, such as `1000 px, light`.
    pub(super) look: String,
    pub(super) width: u32,
    pub(super) parts: Vec<Part>,
}

/// Formats a reference.
pub(super) fn written(all: &[Looked]) -> String {
    let mut text = String::new();
    for one in all {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", one.look);
        for part in &one.parts {
            let Part { name, left, width, height, cells, .. } = part;
            let kind = if part.drawn { "plot" } else { "text" };
            let _ = writeln!(text, "  {kind} {name} {left:.0} {width:.0} {height:.0} {cells}");
        }
    }
    text
}

/// Parses a reference.
///
/// # Errors
/// If the text is not a reference.
pub(super) fn read(text: &str) -> Result<Vec<Looked>> {
    let mut all: Vec<Looked> = Vec::new();
    for line in text.lines() {
        let Some(words) = line.strip_prefix("  ") else {
            let width = line.split(' ').next().unwrap_or_default().parse()?;
            all.push(Looked { look: line.to_owned(), width, parts: Vec::new() });
            continue;
        };
        let words: Vec<&str> = words.split(' ').collect();
        let [kind, name, left, width, height, cells] = words[..] else {
            anyhow::bail!("no part of a reference: {line:?}");
        };
        let last = all.last_mut().context("a part before the first look")?;
        let (left, width, height) = (left.parse()?, width.parse()?, height.parse()?);
        let (name, cells) = (name.to_owned(), cells.to_owned());
        last.parts.push(Part { name, drawn: kind == "plot", left, top: 0.0, width, height, cells });
    }
    ensure!(!all.is_empty(), "an empty reference");
    Ok(all)
}

/// The differences from a reference, one sentence each.
pub(super) fn differences(now: &Looked, then: &Looked) -> Vec<String> {
    // Longer text may push the last parts out of view; only the parts in both are compared.
    let gone = then.parts.len().abs_diff(now.parts.len());
    let mut found = Vec::new();
    if gone > 2 {
        found.push(format!("{} parts are in view, not {}", now.parts.len(), then.parts.len()));
    }
    for (place, (new, old)) in now.parts.iter().zip(&then.parts).enumerate() {
        let name = format!("part {} ({})", place + 1, old.name);
        if new.name != old.name {
            found.push(format!("{name} is {} now", new.name));
            break;
        }
        found.extend(moved(new, old, f64::from(now.width)).map(|how| format!("{name} {how}")));
        found.extend(coloured(new, old).map(|how| format!("{name} {how}")));
    }
    found
}

fn moved(new: &Part, old: &Part, page: f64) -> Option<String> {
    let [left, width] = [new.left - old.left, new.width - old.width].map(f64::abs);
    if left > PLACE * page || width > PLACE * page {
        let [new, old] = [new, old].map(|it| format!("{:.0} wide at {:.0}", it.width, it.left));
        return Some(format!("is {new}, not {old}"));
    }
    let (longer, shorter) = (new.height.max(old.height), new.height.min(old.height));
    let much = match old.drawn {
        true => longer - shorter > PLOT_HEIGHT,
        false => longer / shorter > TEXT_HEIGHT.0 && longer - shorter > TEXT_HEIGHT.1,
    };
    much.then(|| format!("is {:.0} high, not {:.0}", new.height, old.height))
}

fn coloured(new: &Part, old: &Part) -> Option<String> {
    let digit = |letter: char| f64::from(letter.to_digit(36).unwrap_or(0));
    let pairs = new.cells.chars().zip(old.cells.chars());
    let differences: Vec<f64> = pairs.map(|(a, b)| (digit(a) - digit(b)).abs()).collect();
    let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
    let most = differences.iter().copied().fold(0.0, f64::max);
    let much = match old.drawn {
        true => mean > PLOT_COLOURS || most > PLOT_CELL,
        false => mean > TEXT_COLOURS,
    };
    much.then(|| format!("looks different: by {mean:.2} of 35 in the mean, {most:.0} at most"))
}
