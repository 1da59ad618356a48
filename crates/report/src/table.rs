//! Tables with bars inside: exact numbers and their shape in one row.
//!
//! A curve is drawn as a bar beside each row instead of a plot: a row can be read, quoted and
//! searched in a log file, and survives a font without fancy glyphs. A table that does not fit
//! loses its least important columns first and never breaks a row. Rejected: plots on a character
//! grid, which show a shape to the nearest character and no value at all.

use crate::page::{Page, Span, Tone};

/// Columns of the widest bar; longer ones tell no more.
const LONGEST_BAR: usize = 34;
/// Columns of the shortest bar that still tells something.
const SHORTEST_BAR: usize = 4;
/// Parts of a full block, from none to eight eighths (Unicode block elements, U+2588 to U+258F).
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// How a column is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text from the left.
    Left,
    /// Numbers from the right.
    Right,
    /// A bar, in the room that is left over.
    Bar,
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    kind: Kind,
    /// Spaces before it.
    gap: usize,
    /// Columns with the largest value go first where the table is too wide; zero stays.
    expendable: u8,
}

impl Column {
    /// A column of text.
    pub(crate) const fn left(gap: usize) -> Self {
        Self { kind: Kind::Left, gap, expendable: 0 }
    }

    /// A column of numbers.
    pub(crate) const fn right(gap: usize) -> Self {
        Self { kind: Kind::Right, gap, expendable: 0 }
    }

    /// A column of bars.
    pub(crate) const fn bar(gap: usize) -> Self {
        Self { kind: Kind::Bar, gap, expendable: 0 }
    }

    /// The same column, to be dropped in a narrow table; larger ranks go first.
    pub(crate) const fn expendable(mut self, rank: u8) -> Self {
        self.expendable = rank;
        self
    }
}

/// What stands in one place.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// Nothing.
    Empty,
    /// Text.
    Text(Span),
    /// A bar of this share (0 to 1) of the column, with a mark right behind it.
    Bar(f64, &'static str),
}

impl Entry {
    /// Plain text.
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Span::plain(text))
    }

    /// Text in a tone.
    pub(crate) fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Self::Text(Span::new(text, tone))
    }

    fn least_width(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Text(span) => span.width(),
            Self::Bar(_, mark) => SHORTEST_BAR + mark.chars().count(),
        }
    }

    fn mark_width(&self) -> usize {
        if let Self::Bar(_, mark) = self { mark.chars().count() } else { 0 }
    }
}

/// One line of a table.
#[derive(Clone, Debug)]
enum Row {
    /// One entry per column.
    Entries(Vec<Entry>),
    /// Labels with a rule over ranges of columns: label, first column, last column.
    Groups(Vec<(String, usize, usize)>),
}

/// A table under construction.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// One more row; missing entries are empty.
    pub(crate) fn row(&mut self, mut entries: Vec<Entry>) {
        entries.resize(self.columns.len(), Entry::Empty);
        self.rows.push(Row::Entries(entries));
    }

    /// A row of column titles.
    pub(crate) fn titles(&mut self, titles: &[&str]) {
        self.row(titles.iter().map(|title| Entry::toned(title, Tone::Faint)).collect());
    }

    /// A row of titles over several columns each: label, first column, last column.
    pub(crate) fn groups(&mut self, groups: Vec<(String, usize, usize)>) {
        self.rows.push(Row::Groups(groups));
    }

    /// Whether all of it fits on the page.
    pub(crate) fn fits(&self, page: &Page) -> bool {
        self.total(&self.least_widths()) <= page.width()
    }

    /// Puts the table on the page.
    pub(crate) fn print(&self, page: &mut Page) {
        let widths = self.widths(page.width());
        for row in &self.rows {
            match row {
                Row::Entries(entries) => page.line(self.entries(entries, &widths)),
                Row::Groups(groups) => page.line(self.rules(groups, &widths)),
            }
        }
    }

    /// Width of each column with the shortest bars, `None` for an empty one.
    fn least_widths(&self) -> Vec<Option<usize>> {
        (0..self.columns.len())
            .map(|column| self.entries_of(column).map(Entry::least_width).max())
            .map(|width| width.filter(|&width| width > 0))
            .collect()
    }

    /// Width of each column, `None` for an empty or dropped one.
    fn widths(&self, page_width: usize) -> Vec<Option<usize>> {
        let mut widths = self.least_widths();
        while self.total(&widths) > page_width {
            let present = self.columns.iter().zip(&widths).filter(|(_, width)| width.is_some());
            let rank = present.map(|(column, _)| column.expendable).max().unwrap_or(0);
            if rank == 0 {
                break;
            }
            for (column, width) in self.columns.iter().zip(&mut widths) {
                if column.expendable == rank {
                    *width = None;
                }
            }
        }
        let spare = page_width.saturating_sub(self.total(&widths));
        let bars = self.columns.iter().filter(|column| column.kind == Kind::Bar).count().max(1);
        for (column, width) in self.columns.iter().zip(&mut widths) {
            if let (Kind::Bar, Some(width)) = (column.kind, width) {
                *width += (spare / bars).min(LONGEST_BAR - SHORTEST_BAR);
            }
        }
        widths
    }

    fn entries_of(&self, column: usize) -> impl Iterator<Item = &Entry> {
        self.rows.iter().filter_map(move |row| match row {
            Row::Entries(entries) => entries.get(column),
            Row::Groups(_) => None,
        })
    }

    fn total(&self, widths: &[Option<usize>]) -> usize {
        let present = self.columns.iter().zip(widths);
        present.filter_map(|(column, width)| width.map(|width| width + column.gap)).sum()
    }

    fn entries(&self, entries: &[Entry], widths: &[Option<usize>]) -> Vec<Span> {
        let mut spans = Vec::new();
        for (index, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            let Some(width) = *width else { continue };
            let pad = |used: usize| Span::plain(" ".repeat(width.saturating_sub(used)));
            spans.push(Span::plain(" ".repeat(column.gap)));
            match entries.get(index) {
                Some(Entry::Text(span)) if column.kind == Kind::Right => {
                    spans.extend([pad(span.width()), span.clone()]);
                }
                Some(Entry::Text(span)) => spans.extend([span.clone(), pad(span.width())]),
                Some(Entry::Bar(share, mark)) => {
                    let longest = self.entries_of(index).map(Entry::mark_width).max().unwrap_or(0);
                    let drawn = Span::plain(bar(*share, width.saturating_sub(longest)));
                    let mark = Span::new(mark, Tone::Strong);
                    let used = drawn.width() + mark.width();
                    spans.extend([drawn, mark, pad(used)]);
                }
                Some(Entry::Empty) | None => spans.push(pad(0)),
            }
        }
        spans
    }

    fn rules(&self, groups: &[(String, usize, usize)], widths: &[Option<usize>]) -> Vec<Span> {
        // Left edge of each column's content, and the edge behind it.
        let mut edges = Vec::new();
        let mut position = 0;
        for (column, width) in self.columns.iter().zip(widths) {
            let start = position + width.map_or(0, |_| column.gap);
            position = start + width.unwrap_or(0);
            edges.push((start, position));
        }
        let mut line = String::new();
        for (label, first, last) in groups {
            let (Some(&(start, _)), Some(&(_, end))) = (edges.get(*first), edges.get(*last)) else {
                continue;
            };
            let used = line.chars().count();
            line.push_str(&" ".repeat(start.saturating_sub(used)));
            let rest = (end - start).saturating_sub(label.chars().count() + 1);
            line.push_str(&format!("{label} {}", "─".repeat(rest)));
        }
        vec![Span::new(line, Tone::Faint)]
    }
}

/// A bar of `share` of `width` columns, to an eighth of a column. Anything above zero shows.
fn bar(share: f64, width: usize) -> String {
    if !share.is_finite() || share <= 0.0 || width == 0 {
        return String::new();
    }
    let eighths = ((share.min(1.0) * width as f64 * 8.0).round() as usize).max(1);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;

    fn printed(table: &Table) -> String {
        let mut page = Page::new(&Style { color: false, width: 80 });
        table.print(&mut page);
        page.finish()
    }

    #[test]
    fn a_bar_is_proportional_to_an_eighth_of_a_column_and_never_longer_than_its_room() {
        assert_eq!(bar(0.5, 8), "████");
        assert_eq!(bar(0.51, 10), "█████▏");
        assert_eq!(bar(1e-9, 8), "▏");
        assert_eq!(bar(7.0, 3), "███");
        assert_eq!(bar(f64::NAN, 8) + &bar(-1.0, 8) + &bar(0.0, 8), "");
    }

    #[test]
    fn a_table_that_is_too_wide_loses_its_most_expendable_column_whole() {
        let columns = vec![Column::left(2), Column::left(2).expendable(1), Column::right(2)];
        let mut table = Table::new(columns);
        let long = "x".repeat(40);
        table.row(vec![Entry::text(&long), Entry::text("gone"), Entry::text(&long[..34])]);
        table.row(vec![Entry::text("a"), Entry::text("gone"), Entry::text("b")]);
        let text = printed(&table);
        assert!(!text.contains("gone"), "{text}");
        assert_eq!(text.lines().map(|line| line.chars().count()).max(), Some(78));
    }

    #[test]
    fn group_rules_span_their_columns() {
        let mut table = Table::new(vec![Column::left(0), Column::right(2), Column::right(1)]);
        table.groups(vec![("g".into(), 1, 2)]);
        table.row(vec![Entry::text("ab"), Entry::text("1234"), Entry::text("56")]);
        assert_eq!(printed(&table), "    g ─────\nab  1234 56\n");
    }
}
