//! Prints tables on a terminal, with bars inside: exact numbers and their shape in one row.
//!
//! A curve is shown as a bar in each row instead of a plot. A row can be read, quoted and found in
//! a log file, and needs no special font. A table that does not fit loses its least important
//! columns first, and rows are never broken. On a terminal, what still does not fit is truncated.
//! Rejected: plots on a character grid, which show a shape to the nearest character and no values.

use crate::page::{Page, Span, Tone, shortened, shortened_name};
use crate::story::{BEFORE_CUTS, Cell, Column, Cut, Side, Table};

/// Width of the longest bar in columns; longer bars add no information.
const LONGEST_BAR: usize = 34;
/// Width of the shortest useful bar in columns.
const SHORTEST_BAR: usize = 4;
/// Least width of a truncated text in columns.
const SHORTEST_TEXT: usize = 14;
/// Parts of a full block, from zero to seven eighths (Unicode block elements, U+2588 to U+258F).
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

pub(crate) fn print(table: &Table, page: &mut Page) {
    let widths = widths(table, page.width(), page.whole_rows());
    if table.columns.iter().any(|column| !column.group.is_empty()) {
        page.line(groups(&table.columns, &widths));
    }
    if table.columns.iter().any(|column| !column.title.is_empty()) {
        let title = |column: &Column| Cell::toned(&column.title, Tone::Faint);
        page.line(line(table, &table.columns.iter().map(title).collect::<Vec<_>>(), &widths));
    }
    table.rows.iter().for_each(|row| page.line(line(table, row, &widths)));
}

/// Whether a whole table fits into this many columns.
pub(crate) fn fits(table: &Table, width: usize) -> bool {
    total(&table.columns, &least_widths(table)) <= width
}

fn least_width(cell: &Cell) -> usize {
    let text = Span::plain(&cell.text).width();
    if cell.bar.is_some() { SHORTEST_BAR + text } else { text }
}

/// Width of each column with the shortest bars; `None` for an empty column.
fn least_widths(table: &Table) -> Vec<Option<usize>> {
    let width = |(index, column): (usize, &Column)| {
        let cells = table.rows.iter().filter_map(|row| row.get(index)).map(least_width).max();
        let content = cells.filter(|&width| width > 0);
        content.map(|width| width.max(Span::plain(&column.title).width()))
    };
    table.columns.iter().enumerate().map(width).collect()
}

/// Width of each column; `None` for an empty or dropped one. With whole rows, the same columns are dropped,
/// but no text is truncated.
fn widths(table: &Table, page_width: usize, whole_rows: bool) -> Vec<Option<usize>> {
    let columns = &table.columns;
    let least = least_widths(table);
    let mut widths = least.clone();
    while total(columns, &widths) > page_width {
        let present = columns.iter().zip(&widths).filter(|(_, width)| width.is_some());
        let rank = present.map(|(column, _)| column.expendable).max().unwrap_or(0);
        let wide = columns.iter().zip(&mut widths).filter(|(column, _)| column.flexible.is_some());
        let widest = wide.filter_map(|(_, width)| width.as_mut()).max();
        if let Some(width) = widest.filter(|it| **it > SHORTEST_TEXT && rank < BEFORE_CUTS) {
            *width -= 1;
            continue;
        }
        if rank == 0 {
            break;
        }
        for (column, width) in columns.iter().zip(&mut widths) {
            if column.expendable == rank {
                *width = None;
            }
        }
    }
    if whole_rows {
        widths.iter_mut().zip(least).for_each(|(width, least)| *width = width.and(least));
    }
    let spare = page_width.saturating_sub(total(columns, &widths));
    let bars = columns.iter().filter(|column| column.side == Side::Bar).count().max(1);
    for (column, width) in columns.iter().zip(&mut widths) {
        if let (Side::Bar, Some(width)) = (column.side, width) {
            *width += (spare / bars).min(LONGEST_BAR - SHORTEST_BAR);
        }
    }
    widths
}

fn total(columns: &[Column], widths: &[Option<usize>]) -> usize {
    let present = columns.iter().zip(widths);
    present.filter_map(|(column, width)| width.map(|width| width + column.gap)).sum()
}

fn line(table: &Table, cells: &[Cell], widths: &[Option<usize>]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (index, ((column, width), cell)) in table.columns.iter().zip(widths).zip(cells).enumerate()
    {
        let Some(width) = *width else { continue };
        let pad = |used: usize| Span::plain(" ".repeat(width.saturating_sub(used)));
        spans.push(Span::plain(" ".repeat(column.gap)));
        let cut = match column.flexible {
            None => cell.text.clone(),
            Some(Cut::End) => shortened(&crate::escape(&cell.text), width),
            Some(Cut::Middle) => shortened_name(&crate::escape(&cell.text), width),
        };
        let text = Span::new(cut, cell.tone);
        let used = text.width();
        match (cell.bar, column.side) {
            (Some(share), _) => {
                let marks = table.rows.iter().filter_map(|row| row.get(index));
                let longest = marks.map(|cell| Span::plain(&cell.text).width()).max().unwrap_or(0);
                let drawn = Span::plain(bar(share, width.saturating_sub(longest)));
                let used = drawn.width() + used;
                spans.extend([drawn, text, pad(used)]);
            }
            (None, Side::Right) => spans.extend([pad(used), text]),
            (None, _) => spans.extend([text, pad(used)]),
        }
    }
    spans
}

/// Titles above groups of columns, each with a rule up to its last column.
fn groups(columns: &[Column], widths: &[Option<usize>]) -> Vec<Span> {
    let mut runs: Vec<(&str, usize, usize)> = Vec::new();
    let mut position = 0;
    for (column, width) in columns.iter().zip(widths) {
        let Some(width) = *width else { continue };
        let begin = position + column.gap;
        position = begin + width;
        match runs.last_mut() {
            Some((group, _, end)) if *group == column.group => *end = position,
            _ => runs.push((&column.group, begin, position)),
        }
    }
    let mut text = String::new();
    for (group, begin, end) in runs.into_iter().filter(|(group, ..)| !group.is_empty()) {
        text.push_str(&" ".repeat(begin.saturating_sub(text.chars().count())));
        text.push_str(group);
        if let Some(rest) = end.checked_sub(text.chars().count() + 1) {
            text.push(' ');
            text.push_str(&"─".repeat(rest));
        }
    }
    vec![Span::new(text, Tone::Faint)]
}

/// A bar of `share` of `width` columns, in steps of an eighth. Any positive share is visible.
fn bar(share: f64, width: usize) -> String {
    if !share.is_finite() || share <= 0.0 || width == 0 {
        return String::new();
    }
    let eighths = ((share.min(1.0) * width as f64 * 8.0).round() as usize).max(1);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}
