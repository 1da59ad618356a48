//! The plots of stories as files: SVG, and PNG by resvg in a build with the feature `png`.
//!
//! PNG is off by default: resvg and its fonts add some forty crates for what most readers never ask.
//! Without it `--png` names the two ways out. Rejected: an installed browser, which needs a folder of
//! its own and runs without its sandbox where the user is root.

use crate::story::Story;

/// The first line of every SVG file, by which one is known when the command is repeated.
pub const PLOT_MARK: &str = "<!-- halfpower plot -->";
/// Letters of a title in a file name.
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

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The build cannot draw.
    #[error(
        "--png: this build cannot draw PNG; build it with `cargo build --release --features png`, \
         or use --svg and convert the files"
    )]
    NotBuilt,
    /// The machine has no font.
    #[error(
        "--png needs a font for its text, and this machine has none; install one (Debian: \
         fonts-dejavu-core), or use --svg"
    )]
    NoFont,
    /// A plot cannot be drawn.
    #[error("cannot draw the plot as PNG: {0}")]
    Draw(String),
}

/// Families that are made for text, the first that is installed is taken.
#[cfg(feature = "png")]
const FAMILIES: [&str; 6] =
    ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica", "FreeSans"];

/// What draws, with the fonts of this machine; a build without `png` has none.
#[derive(Debug)]
pub struct Rasteriser {
    #[cfg(feature = "png")]
    options: resvg::usvg::Options<'static>,
}

#[cfg(feature = "png")]
impl Rasteriser {
    /// Looks for the fonts of the system.
    ///
    /// # Errors
    /// If there is no font.
    pub fn find() -> Result<Self, PngError> {
        let mut fonts = resvg::usvg::fontdb::Database::new();
        fonts.load_system_fonts();
        let installed: Vec<String> = fonts
            .faces()
            .flat_map(|face| face.families.iter().map(|(family, _)| family.clone()))
            .collect();
        let known = FAMILIES.into_iter().find(|name| installed.iter().any(|had| had == name));
        let family = known.map(str::to_owned).or_else(|| installed.first().cloned());
        fonts.set_sans_serif_family(family.ok_or(PngError::NoFont)?);
        let options = resvg::usvg::Options { fontdb: fonts.into(), ..Default::default() };
        Ok(Self { options })
    }

    /// An SVG as PNG of its own size.
    ///
    /// # Errors
    /// If it is no SVG or too large.
    pub fn draw(&self, svg: &str) -> Result<Vec<u8>, PngError> {
        let draw = |why: String| PngError::Draw(why);
        let tree = resvg::usvg::Tree::from_str(svg, &self.options)
            .map_err(|error| draw(error.to_string()))?;
        let size = tree.size().to_int_size();
        let mut pixels = resvg::tiny_skia::Pixmap::new(size.width(), size.height())
            .ok_or_else(|| draw("it is too large".to_owned()))?;
        resvg::render(&tree, resvg::tiny_skia::Transform::identity(), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| draw(error.to_string()))
    }
}

#[cfg(not(feature = "png"))]
impl Rasteriser {
    /// None.
    ///
    /// # Errors
    /// Always.
    pub fn find() -> Result<Self, PngError> {
        Err(PngError::NotBuilt)
    }

    /// Never called, since none is found.
    ///
    /// # Errors
    /// Always.
    pub fn draw(&self, _svg: &str) -> Result<Vec<u8>, PngError> {
        Err(PngError::NotBuilt)
    }
}
