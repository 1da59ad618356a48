//! PNG of the plots, by resvg, in a build with the feature `png`.
//!
//! It is off by default: resvg and its fonts add some forty crates for what most readers never ask.
//! Without it `--png` names the two ways out. Rejected: an installed browser, which needs a folder of
//! its own and runs without its sandbox where the user is root.

#[cfg(feature = "png")]
pub use with_resvg::Rasteriser;
#[cfg(not(feature = "png"))]
pub use without::Rasteriser;

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

#[cfg(not(feature = "png"))]
mod without {
    use super::PngError;

    /// What draws, in a build without it.
    #[derive(Debug)]
    pub enum Rasteriser {}

    impl Rasteriser {
        /// None.
        ///
        /// # Errors
        /// Always.
        pub fn find() -> Result<Self, PngError> {
            Err(PngError::NotBuilt)
        }

        /// Never called.
        ///
        /// # Errors
        /// Never.
        pub fn draw(&self, _svg: &str) -> Result<Vec<u8>, PngError> {
            match *self {}
        }
    }
}

#[cfg(feature = "png")]
mod with_resvg {
    use super::PngError;
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree, fontdb};
    use std::sync::Arc;

    /// Families that are made for text, the first that is installed is taken.
    const FAMILIES: [&str; 6] =
        ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica", "FreeSans"];

    /// What draws, with the fonts of this machine.
    #[derive(Debug)]
    pub struct Rasteriser {
        options: Options<'static>,
    }

    impl Rasteriser {
        /// Looks for the fonts of the system.
        ///
        /// # Errors
        /// If there is no font.
        pub fn find() -> Result<Self, PngError> {
            let mut fonts = fontdb::Database::new();
            fonts.load_system_fonts();
            let installed: Vec<String> = fonts
                .faces()
                .flat_map(|face| face.families.iter().map(|(family, _)| family.clone()))
                .collect();
            let known = FAMILIES.into_iter().find(|name| installed.iter().any(|had| had == name));
            let family = known.map(str::to_owned).or_else(|| installed.first().cloned());
            let family = family.ok_or(PngError::NoFont)?;
            fonts.set_sans_serif_family(family);
            let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
            Ok(Self { options })
        }

        /// An SVG as PNG of its own size.
        ///
        /// # Errors
        /// If it is no SVG or too large.
        pub fn draw(&self, svg: &str) -> Result<Vec<u8>, PngError> {
            let draw = |why: String| PngError::Draw(why);
            let tree =
                Tree::from_str(svg, &self.options).map_err(|error| draw(error.to_string()))?;
            let size = tree.size().to_int_size();
            let mut pixels = Pixmap::new(size.width(), size.height())
                .ok_or_else(|| draw("it is too large".to_owned()))?;
            resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
            pixels.encode_png().map_err(|error| draw(error.to_string()))
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn colours_and_text_of_a_plot_reach_the_png() {
            let svg = |text: &str| {
                format!(
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\">\
                     <style>.c0{{color:#0065a3}}.bar{{fill:currentColor}}</style>\
                     <g class=\"c0\"><path class=\"bar\" d=\"M0 0h10v20h-10z\"/></g>\
                     <text x=\"20\" y=\"15\" style=\"font:11px system-ui,sans-serif\">{text}</text></svg>"
                )
            };
            let Ok(rasteriser) = Rasteriser::find() else {
                return testkit::skip("png", "no font is installed");
            };
            let pixels = |text| Pixmap::decode_png(&rasteriser.draw(&svg(text)).unwrap()).unwrap();
            let (empty, full) = (pixels(""), pixels("HHH"));
            let corner = full.pixel(2, 2).unwrap();
            assert_eq!((corner.red(), corner.green(), corner.blue()), (0, 0x65, 0xa3));
            assert_ne!(empty.data(), full.data(), "the text is not drawn");
        }
    }
}
