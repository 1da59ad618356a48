//! Defines a part of a drawing: a path or a text.

use askama::Template;

/// A path, or a text if the path is empty.
#[derive(Default, Template)]
#[template(path = "shape.svg")]
pub(crate) struct Shape {
    class: String,
    path: String,
    /// Attributes of a text.
    place: String,
    anchor: &'static str,
    /// The text, or the tooltip of a path.
    text: String,
}

impl Shape {
    pub(super) fn path(class: impl Into<String>, path: String) -> Self {
        Self { class: class.into(), path, ..Self::default() }
    }

    pub(super) fn tip(self, text: String) -> Self {
        Self { text, ..self }
    }

    pub(super) fn text(class: &str, (x, y): (f64, f64), anchor: &'static str, text: &str) -> Self {
        let place = format!("x=\"{x:.1}\" y=\"{y:.1}\"");
        let (class, text) = (class.to_owned(), text.to_owned());
        Self { class, place, anchor, text, path: String::new() }
    }
}
