//! PNG of the plots, by resvg, in a build with the feature `png`.
//!
//! It is off by default: resvg and its fonts add some forty crates for what most readers never ask.
//! Without it `--png` names the two ways out. Rejected: an installed browser, which needs a folder of
//! its own and runs without its sandbox where the user is root.

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
