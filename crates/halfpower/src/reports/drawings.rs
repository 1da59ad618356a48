//! The plots as files: SVG, and PNG beside it.
//!
//! Files are named by document, number and title. An SVG of ours begins with a mark, by which it is
//! known when the command is repeated; a PNG can bear none, so that it stands beside its SVG and is
//! replaced with it. Anything else of the same name is refused.

use super::png::Rasteriser;
use crate::output;
use anyhow::{Context, anyhow};
use report::Story;
use std::path::{Path, PathBuf};

/// The first line of every SVG file.
const MARK: &str = "<!-- halfpower plot -->";
/// Letters of a title in a file name.
const NAME_LETTERS: usize = 60;

/// A folder for plots.
#[derive(Debug)]
pub(super) struct Drawings {
    flag: &'static str,
    folder: PathBuf,
    rasteriser: Option<Rasteriser>,
}

impl Drawings {
    /// Makes the folder where it is missing.
    pub(super) fn open(
        flag: &'static str,
        folder: &Path,
        rasteriser: Option<Rasteriser>,
    ) -> anyhow::Result<Self> {
        if folder.exists() && !folder.is_dir() {
            return Err(anyhow!("{flag} {folder:?} is no folder; name one"));
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder of {flag} {folder:?}"))?;
        Ok(Self { flag, folder: folder.to_owned(), rasteriser })
    }

    /// Writes all plots and says how many.
    pub(super) fn write(self, stories: &[Story]) -> anyhow::Result<String> {
        let mut written = 0;
        for (document, story) in stories.iter().enumerate() {
            for (number, chart) in story.charts.iter().enumerate() {
                let name = format!("{}-{:02}-{}", document + 1, number + 1, slug(&chart.title));
                let path = self.folder.join(format!("{name}.svg"));
                let png = self.folder.join(format!("{name}.png"));
                self.may_replace(&path, &png)?;
                let svg = chart.svg_file();
                let write = |path: &Path, bytes: &[u8]| {
                    std::fs::write(path, bytes)
                        .with_context(|| format!("cannot write the file of {} {path:?}", self.flag))
                };
                write(&path, format!("{MARK}\n{svg}").as_bytes())?;
                if let Some(rasteriser) = &self.rasteriser {
                    write(&png, &rasteriser.draw(&svg)?)?;
                }
                written += 1;
            }
        }
        let kinds = if self.rasteriser.is_some() { "SVG and PNG" } else { "SVG" };
        Ok(format!("{}: {written} plots as {kinds}", self.folder.display()))
    }

    fn may_replace(&self, svg: &Path, png: &Path) -> anyhow::Result<()> {
        let ours = || output::first_line(svg).is_ok_and(|line| line.trim_end() == MARK);
        let taken = [svg, png].into_iter().find(|path| path.exists());
        match taken {
            Some(path) if !ours() => Err(output::refusal(
                self.flag,
                path,
                "it exists and is no plot of this program; its content would be lost",
            )),
            _ => Ok(()),
        }
    }
}

/// A title as a part of a file name.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for letter in title.chars().flat_map(char::to_lowercase) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.len() >= NAME_LETTERS {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_title_becomes_a_name_that_cannot_leave_the_folder() {
        assert_eq!(slug("I/O rate against depth (read, 4k)"), "i-o-rate-against-depth-read-4k");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert!(slug(&"a".repeat(500)).len() <= 60);
    }
}
