//! Lines of a part of the screen: as many as fit, text wrapped to its width.
//!
//! Text goes through [`span`], which escapes it. Rejected: ratatui's own wrapping, which knows no
//! hanging indent and would part a number from its unit.

use crate::page::{Tone, wrap};
use crate::story::{Field, Table};
use crate::view::table::lines;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};

pub(super) fn span(text: impl AsRef<str>, tone: Tone) -> Span<'static> {
    Span::styled(crate::escape(text.as_ref()), style(tone))
}

pub(super) fn style(tone: Tone) -> Style {
    let style = Style::new();
    match tone {
        Tone::Plain => style,
        Tone::Strong => style.add_modifier(Modifier::BOLD),
        Tone::Faint => style.add_modifier(Modifier::DIM),
        Tone::Warn => style.fg(Color::Yellow).add_modifier(Modifier::BOLD),
        Tone::Bad => style.fg(Color::Red).add_modifier(Modifier::BOLD),
        Tone::Good => style.fg(Color::Green),
        Tone::Picked => style.add_modifier(Modifier::REVERSED),
    }
}

pub(super) struct Pane {
    pub(super) width: usize,
    height: usize,
    lines: Vec<Line<'static>>,
}

impl Pane {
    pub(super) fn new(area: Rect) -> Self {
        Self { width: area.width.into(), height: area.height.into(), lines: Vec::new() }
    }

    pub(super) fn used(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn left(&self) -> usize {
        self.height.saturating_sub(self.lines.len())
    }

    pub(super) fn line(&mut self, spans: Vec<Span<'static>>) {
        self.lines.push(Line::from(spans));
    }

    /// An empty line; none at the top, never two.
    pub(super) fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    /// Wrapped text. The first line begins with `lead`, the others with as many spaces.
    pub(super) fn hanging(&mut self, lead: Vec<Span<'static>>, text: &str, tone: Tone) {
        let indent = lead.iter().map(Span::width).sum();
        let room = self.width.saturating_sub(indent);
        let mut lead = lead;
        for line in wrap(&crate::escape(text), room, room) {
            lead.push(span(line, tone));
            self.line(lead);
            lead = vec![Span::raw(" ".repeat(indent))];
        }
    }

    pub(super) fn table<R>(
        &mut self,
        rows: impl IntoIterator<Item = R>,
        fields: Vec<Field<'_, R>>,
    ) {
        for line in lines(&Table::of(rows, fields), self.width) {
            let spans = line.into_iter().map(|it| Span::styled(it.text, style(it.tone)));
            self.lines.push(spans.collect());
        }
    }

    /// Wrapped texts behind one label, where there are any.
    pub(super) fn labelled(&mut self, label: Span<'static>, parts: &[String]) {
        if !parts.is_empty() {
            self.hanging(vec![label], &parts.join(", "), Tone::Plain);
        }
    }

    pub(super) fn draw(self, area: Rect, buffer: &mut Buffer) {
        Paragraph::new(self.lines).render(area, buffer);
    }
}
