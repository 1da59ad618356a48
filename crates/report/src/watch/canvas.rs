//! Lines of a screen: as many as fit, each as wide as it is, cut at its edge.
//!
//! A page of this program may grow; a screen may not. What does not fit below is not drawn, and
//! whoever draws asks first how much room is left. Text goes through [`Span`], which escapes it.
//! Rejected: the `Page` of printed reports, whose width is bounded for reading and whose length is
//! not.

use crate::page::{Span, Tone, painted, wrap};

/// A part of the screen under construction.
#[derive(Debug)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    lines: Vec<Vec<Span>>,
}

impl Canvas {
    /// An empty one.
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, lines: Vec::new() }
    }

    /// Columns.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Lines that are still free.
    pub(super) fn left(&self) -> usize {
        self.height - self.lines.len()
    }

    /// Lines that are taken.
    pub(super) fn used(&self) -> usize {
        self.lines.len()
    }

    /// One line; nothing where there is no room.
    pub(super) fn line(&mut self, spans: Vec<Span>) {
        if self.left() > 0 {
            self.lines.push(spans);
        }
    }

    /// An empty line; none at the top, never two.
    pub(super) fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.line(Vec::new());
        }
    }

    /// Wrapped text. The first line begins with `lead`, the others with as many spaces.
    pub(super) fn hanging(&mut self, lead: Vec<Span>, text: &str, tone: Tone) {
        let indent: usize = lead.iter().map(Span::width).sum();
        let room = self.width.saturating_sub(indent);
        let mut lead = lead;
        for line in wrap(&crate::escape(text), room, room) {
            lead.push(Span::new(line, tone));
            self.line(lead);
            lead = vec![Span::plain(" ".repeat(indent))];
        }
    }

    /// Takes over the lines of another one, as far as they fit.
    pub(super) fn append(&mut self, other: Self) {
        other.lines.into_iter().for_each(|line| self.line(line));
    }

    /// Empty lines to the end.
    pub(super) fn fill(&mut self) {
        self.lines.resize(self.height, Vec::new());
    }

    /// The lines as text, with one more below.
    pub(super) fn finish(self, last: &[Span], color: bool) -> Vec<String> {
        let width = self.width;
        let lines = self.lines.iter().map(Vec::as_slice).chain([last]);
        lines.map(|line| painted(line, width, color)).collect()
    }
}
