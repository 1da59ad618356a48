//! Writes the plots of stories as SVG files.

use crate::story::Story;

/// The first line of every SVG file, by which a repeated command recognises its own files.
pub const PLOT_MARK: &str = "<!-- halfpower plot -->";
/// Largest length of a title in a file name, in characters.
const NAME_LETTERS: usize = 60;

/// Names without extension (document, number and title), and SVG, of all plots.
#[must_use]
pub fn plot_files(stories: &[Story]) -> Vec<(String, String)> {
    let charts = stories.iter().enumerate().flat_map(|(document, story)| {
        story.charts.iter().enumerate().map(move |(number, chart)| (document, number, chart))
    });
    let file = |(document, number, chart): (usize, usize, &crate::chart::Chart)| {
        let name = format!("{}-{:02}-{}", document + 1, number + 1, slug(&chart.title));
        (name, chart.svg_file())
    };
    charts.map(file).collect()
}

/// Converts a title to a part of a file name.
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
