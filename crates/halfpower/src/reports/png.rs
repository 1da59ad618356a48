//! PNG of the plots, by resvg, in a build with the feature `png`.
//!
//! It is off by default: resvg and its fonts add some forty crates for what most readers never ask.
//! Without it `--png` names the two ways out. Rejected: an installed browser, which needs a folder of
//! its own and runs without its sandbox where the user is root.

#[cfg(feature = "png")]
pub(super) use with_resvg::Rasteriser;
#[cfg(not(feature = "png"))]
pub(super) use without::Rasteriser;

#[cfg(not(feature = "png"))]
mod without {
    use crate::failure::UsageError;

    /// What draws, in a build without it.
    #[derive(Debug)]
    pub(in crate::reports) enum Rasteriser {}

    impl Rasteriser {
        pub(in crate::reports) fn find() -> anyhow::Result<Self> {
            let text = "--png: this build cannot draw PNG; build it with `cargo build --release \
                        --features png`, or use --svg and convert the files";
            Err(UsageError(text.to_owned()).into())
        }

        pub(in crate::reports) fn draw(&self, _svg: &str) -> anyhow::Result<Vec<u8>> {
            match *self {}
        }
    }
}

#[cfg(feature = "png")]
mod with_resvg {
    use anyhow::{Context, anyhow};
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree, fontdb};
    use std::sync::Arc;

    /// Families that are made for text, the first that is installed is taken.
    const FAMILIES: [&str; 6] =
        ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica", "FreeSans"];

    /// What draws, with the fonts of this machine.
    #[derive(Debug)]
    pub(in crate::reports) struct Rasteriser {
        options: Options<'static>,
    }

    impl Rasteriser {
        /// Looks for the fonts of the system.
        pub(in crate::reports) fn find() -> anyhow::Result<Self> {
            let mut fonts = fontdb::Database::new();
            fonts.load_system_fonts();
            let installed: Vec<String> = fonts
                .faces()
                .flat_map(|face| face.families.iter().map(|(family, _)| family.clone()))
                .collect();
            let known = FAMILIES.into_iter().find(|name| installed.iter().any(|had| had == name));
            let family = known.map(str::to_owned).or_else(|| installed.first().cloned());
            let family = family.ok_or_else(|| {
                anyhow!(
                    "--png needs a font for its text, and this machine has none; install one (Debian: \
                     fonts-dejavu-core), or use --svg"
                )
            })?;
            fonts.set_sans_serif_family(family);
            let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
            Ok(Self { options })
        }

        /// An SVG as PNG of its own size.
        pub(in crate::reports) fn draw(&self, svg: &str) -> anyhow::Result<Vec<u8>> {
            let tree = Tree::from_str(svg, &self.options).context("cannot read the plot as SVG")?;
            let size = tree.size().to_int_size();
            let mut pixels = Pixmap::new(size.width(), size.height())
                .context("the plot is too large to draw")?;
            resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
            pixels.encode_png().context("cannot write the plot as PNG")
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
