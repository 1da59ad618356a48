//! `cargo xtask screenshots`: checks every kind of page in a browser, at three widths, light and dark.
//!
//! Two checks complement each other. The first one tests rules for all pages (`layout.js`: overlapping
//! labels, marks outside their axes, sideways scrolling, faint text). The second one compares a page with its
//! last reviewed state (`reference`). Pages are also checked without their script and in print, where nothing
//! may stay folded. `--bless` accepts the current state, and rewrites the picture in the README; `--png`
//! saves pictures for a reviewer. The short form, run for each change, checks a few kinds.

mod browser;
mod kinds;
mod reference;

use crate::place;
use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine};
use browser::{Browser, Look, Tab};
use kinds::{Kind, Maker, PICTURED, kinds};
use reference::{Looked, PLOT_CELLS, Part, TEXT_CELLS, differences};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::Capability;

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// Accept the current state, and rewrite the picture in the README.
    #[arg(long)]
    bless: bool,
    /// One kind of page.
    #[arg(long)]
    only: Option<String>,
    /// A folder for pictures of the pages.
    #[arg(long)]
    png: Option<PathBuf>,
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Widths of a phone, half a screen, and a screen.
const WIDTHS: [u32; 3] = [400, 1000, 1600];
/// Height of the visible part of a page.
const HEIGHT: u32 = 1568;
/// Width of a printed page, in pixels.
const PAPER: u32 = 700;
/// Width and height of a picture in the documentation.
const PICTURE: (u32, u32) = (1000, 900);
/// Folder of the references, below the root.
const REFERENCES: &str = "crates/xtask/references";

const LAYOUT: &str = include_str!("layout.js");
const BLOCKS: &str = include_str!("blocks.js");
const CELLS: &str = include_str!("cells.js");
/// Scripts that hide and show the text in plots.
const WORDLESS: &str = "document.head.insertAdjacentHTML('beforeend', \
    '<style id=wordless>.plot text{visibility:hidden}</style>')";
const WORDS: &str = "document.getElementById('wordless').remove()";
/// Script that lists the titles of folds whose content is not printed.
const FOLDED: &str = "[...document.querySelectorAll('article > details')] \
    .filter((fold) => ![...fold.children].slice(1).some((e) => e.checkVisibility({ contentVisibilityAuto: true }) \
        && e.getBoundingClientRect().height > 0)) \
    .map((fold) => fold.querySelector('summary').textContent)";

/// Checks a few kinds of pages. Returns whether they are right.
///
/// # Errors
/// If a page cannot be made or the browser does not answer.
pub(crate) fn short() -> Result<bool> {
    place::needs(Capability::Chromium.lack())?;
    check(&kinds(|kind| kind.short)?, place::dev_binary()?, None, false)
}

pub(crate) fn run(flags: &Flags) -> Result<bool> {
    let kinds = kinds(|kind| flags.only.as_ref().is_none_or(|name| *name == kind.name))?;
    place::needs(Capability::Chromium.lack())?;
    let binary = place::binary(flags.binary.as_deref(), true)?;
    check(&kinds, binary, flags.png.as_deref(), flags.bless)
}

/// Checks pages of these kinds and prints the problems; returns whether there are none.
fn check(kinds: &[Kind], binary: PathBuf, pictures: Option<&Path>, bless: bool) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let maker = Maker { binary, folder: folder.path(), root: place::root() };
    let mut eye = Eye::open(&WIDTHS)?;
    let mut problems = 0;
    for kind in kinds {
        let page = maker.make(kind).with_context(|| kind.name.clone())?;
        let (mut found, all) = eye.look_at(&page, pictures.map(|folder| (folder, &*kind.name)))?;
        let file = maker.root.join(REFERENCES).join(format!("{}.txt", kind.name));
        if bless {
            std::fs::create_dir_all(maker.root.join(REFERENCES))?;
            std::fs::write(&file, reference::written(&all))?;
            if kind.name == PICTURED.0 {
                eye.keep_picture(&page, &maker.root.join(PICTURED.1))?;
            }
        } else {
            let text = std::fs::read_to_string(&file);
            let text = text.with_context(|| format!("{}: make it by --bless", file.display()))?;
            for (now, then) in all.iter().zip(&reference::read(&text)?) {
                let all = differences(now, then);
                found.extend(all.into_iter().map(|what| format!("{}: {what}", now.look)));
            }
        }
        found.iter().for_each(|what| println!("{}, {what}", kind.name));
        problems += found.len();
    }
    println!("screenshots: {} kinds of pages, {problems} problems", kinds.len());
    if problems > 0 {
        println!("look at them with --png FOLDER; what is meant, `--bless` takes for right");
    }
    Ok(problems == 0)
}

/// The browser and two tabs: one for pages, one that reads pictures.
struct Eye {
    browser: Browser,
    page: Tab,
    reader: Tab,
    widths: Vec<u32>,
}

impl Eye {
    fn open(widths: &[u32]) -> Result<Self> {
        let mut browser = Browser::start()?;
        let (page, reader) = (browser.tab()?, browser.tab()?);
        Ok(Self { browser, page, reader, widths: widths.to_vec() })
    }

    /// All widths, each light and dark.
    fn sights(&self) -> Vec<(u32, bool)> {
        self.widths.iter().flat_map(|width| [(*width, false), (*width, true)]).collect()
    }

    /// Checks a page with its script, without it, and in print. Returns the violated rules, each with the
    /// look in which it appears, and the page's parts in all looks. Saves pictures if requested.
    fn look_at(
        &mut self,
        page: &Path,
        pictures: Option<(&Path, &str)>,
    ) -> Result<(Vec<String>, Vec<Looked>)> {
        let (mut faults, mut all) = (Vec::new(), Vec::new());
        for (width, dark) in self.sights() {
            let look = Look { dark, ..Look::light(width, HEIGHT) };
            self.browser.open(&self.page, &url(page), look)?;
            if let Some((folder, name)) = pictures {
                let scheme = if dark { "dark" } else { "light" };
                std::fs::create_dir_all(folder)?;
                self.save(&folder.join(format!("{name}-{width}-{scheme}.png")))?;
            }
            all.push(Looked { look: named(look), width, parts: self.parts()? });
            faults.extend(self.ask(LAYOUT)?.map(|what| format!("{}: {what}", named(look))));
        }
        let html = std::fs::read_to_string(page)?;
        let bare = page.with_extension("bare.html");
        std::fs::write(&bare, html.rsplit_once("<script>").map_or(&*html, |(before, _)| before))?;
        for width in self.widths.clone() {
            let look = Look::light(width, HEIGHT);
            self.browser.open(&self.page, &url(&bare), look)?;
            let found = self.ask(LAYOUT)?;
            faults.extend(found.map(|what| format!("{} without script: {what}", named(look))));
        }
        let look = Look { print: true, ..Look::light(PAPER, HEIGHT) };
        self.browser.open(&self.page, &url(&bare), look)?;
        faults.extend(self.ask(FOLDED)?.map(|fold| format!("print: {fold:?} stays folded")));
        Ok((faults, all))
    }

    /// Writes a picture of the top of a page in light colours, for the documentation. It is made together
    /// with the reference, so it is up to date while the reference matches.
    fn keep_picture(&mut self, page: &Path, file: &Path) -> Result<()> {
        self.browser.open(&self.page, &url(page), Look::light(PICTURE.0, PICTURE.1))?;
        self.save(file)
    }

    /// Saves a picture of the open page.
    fn save(&mut self, file: &Path) -> Result<()> {
        let picture = BASE64_STANDARD.decode(self.browser.picture(&self.page)?);
        std::fs::write(file, picture.map_err(anyhow::Error::msg)?)
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// The parts of the open page with the colours of their cells.
    fn parts(&mut self) -> Result<Vec<Part>> {
        let parts = self.browser.evaluate(&self.page, BLOCKS)?;
        let mut parts: Vec<Part> = serde_json::from_value(parts)?;
        self.browser.evaluate(&self.page, WORDLESS)?;
        let picture = self.browser.picture(&self.page)?;
        self.browser.evaluate(&self.page, WORDS)?;
        let boxes = parts.iter().map(|part| {
            let (columns, rows) = if part.drawn { PLOT_CELLS } else { TEXT_CELLS };
            json!({
                "left": part.left, "top": part.top, "width": part.width, "height": part.height,
                "columns": columns, "rows": rows,
            })
        });
        let boxes: Vec<Value> = boxes.collect();
        let asked = format!("{}({}, {})", CELLS.trim_end(), json!(picture), json!(boxes));
        let cells = self.browser.evaluate(&self.reader, &asked)?;
        for (part, cells) in parts.iter_mut().zip(texts(&cells)?) {
            part.cells = cells.to_owned();
        }
        Ok(parts)
    }

    /// The texts that a script in the page returns.
    fn ask(&mut self, script: &str) -> Result<std::vec::IntoIter<String>> {
        let value = self.browser.evaluate(&self.page, script)?;
        let texts: Vec<String> = texts(&value)?.map(str::to_owned).collect();
        Ok(texts.into_iter())
    }
}

fn url(file: &Path) -> String {
    format!("file://{}", file.display())
}

fn named(look: Look) -> String {
    format!("{} px, {}", look.width, if look.dark { "dark" } else { "light" })
}

/// An array of texts.
fn texts(value: &Value) -> Result<impl Iterator<Item = &str>> {
    let all = value.as_array().context("a script in the page says nothing")?;
    Ok(all.iter().filter_map(Value::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::chart::{Axis, Chart, Form, Point, Rule, Series};
    use report::{Action, Fact, Story, report_html};
    use testkit::requires;

    fn chart(title: &str) -> Chart {
        let curve = |name: &str, factor: f64| {
            let points = (0..8).map(|at| {
                let (x, y) = (f64::from(1 << at), factor * f64::from(at + 1));
                Point::within(x, y, 0.9 * y, 1.1 * y)
            });
            Series::new(name, Form::Curve, points.collect())
        };
        Chart {
            title: title.to_owned(),
            finding: format!("{title} grows with the depth."),
            errors: "Error bars: 95 %.".to_owned(),
            x: Axis::at_values("queue depth", None, true, [1.0, 128.0]),
            y: Axis::from_zero("rate", Some(record::Unit::PerSecond), [100.0]),
            series: vec![curve("reads", 10.0), curve("writes", 9.0)],
            rules: vec![Rule::level(40.0, "half of the maximum")],
        }
    }

    fn page() -> String {
        let fact = |name: &str, value: &str| Fact {
            name: name.to_owned(),
            value: value.to_owned(),
            ..Fact::default()
        };
        let what = "Use a queue depth of 32.".to_owned();
        report_html(&[Story {
            kind: "Profile".to_owned(),
            subject: "a disk".to_owned(),
            headline: "Reads up to 80 IOPS, writes up to 48 IOPS.".to_owned(),
            charts: vec![chart("Rate"), chart("Rate of another")],
            facts: vec![fact("reads", "80 IOPS"), fact("writes", "48 IOPS")],
            actions: vec![Action { what, ..Action::default() }],
            conditions: vec![("engine".to_owned(), "none".to_owned())],
            ..Story::default()
        }])
    }

    /// The page with additional style.
    fn styled(style: &str) -> String {
        page().replace("</head>", &format!("<style>{style}</style></head>"))
    }

    fn look_at(eye: &mut Eye, html: &str) -> (Vec<String>, Vec<Looked>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.html");
        std::fs::write(&file, html).unwrap();
        eye.look_at(&file, None).unwrap()
    }

    #[test]
    fn a_page_that_breaks_a_rule_is_found() {
        requires!(Chromium);
        let mut eye = Eye::open(&[1000]).unwrap();
        let mut faults = |html: &str| look_at(&mut eye, html).0;
        assert_eq!(faults(&page()), Vec::<String>::new());
        for (style, fault) in [
            ("svg text{font-size:24px!important}", "overprints"),
            (".mark{transform:translateX(90px)}", "outside the axes"),
            ("g.scales text{transform:translate(70px,-150px)}", "overprints a mark"),
            ("article{width:1700px}", "the window"),
            ("p{color:#999!important}", "has a contrast of"),
            (".c0,.c1{color:#0452a9!important}", "have one colour"),
            (".lead .facts{margin-top:-5rem}", "overlaps"),
            (".facts dd{white-space:nowrap;width:60rem}", "leaves its box"),
            (".plot>svg{width:80px!important;min-width:0!important}", "the plot is"),
            (".scales text{display:none}", "labels"),
            (
                "@media print{details::details-content{content-visibility:hidden!important}}",
                "stays folded",
            ),
        ] {
            let found = faults(&styled(style));
            assert!(found.iter().any(|what| what.contains(fault)), "{style}: {found:?}");
        }
        let twice = page().replace("\"k\":-2", "\"k\":0").replace("\"k\":2", "\"k\":0");
        let found = faults(&twice);
        assert!(found.iter().any(|what| what.contains("an interval of series")), "{found:?}");
    }

    #[test]
    fn a_page_that_looks_different_is_found_and_one_in_another_font_is_not() {
        requires!(Chromium);
        let mut eye = Eye::open(&[400, 1600]).unwrap();
        let (_, then) = look_at(&mut eye, &page());
        let kept = reference::read(&reference::written(&then)).unwrap();
        let mut found = |html: &str| -> Vec<String> {
            let (_, now) = look_at(&mut eye, html);
            now.iter().zip(&kept).flat_map(|(now, then)| differences(now, then)).collect()
        };
        assert_eq!(found(&page()), Vec::<String>::new());
        for font in ["serif", "monospace"] {
            let style = format!("body,button,svg text{{font-family:{font}!important}}");
            assert_eq!(found(&styled(&style)), Vec::<String>::new(), "{font}");
        }
        for style in [
            "svg.data{visibility:hidden}",
            "svg.data [data-series=\"1\"]{visibility:hidden}",
            "svg.data .rules{visibility:hidden}",
            ".lead>div:last-child{margin-left:-20rem}",
            ".conclusions{display:none}",
            ".plot svg{height:220px}",
            ":root{--page:#ffe0e0!important}",
            "article{padding-left:15%}",
        ] {
            assert_ne!(found(&styled(style)), Vec::<String>::new(), "{style}");
        }
    }
}
