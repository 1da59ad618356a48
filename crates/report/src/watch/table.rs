//! The table of devices: the columns that fit, and as many rows around the picked one.

use super::WatchRow;
use super::columns::{COLUMNS, Column, Entry};
use super::pane::style;
use crate::page::{Tone, columns};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::widgets::{HighlightSpacing, Row, StatefulWidget, Table, TableState};

/// In front of the picked row. A terminal without colours shows it, too.
const MARK: &str = ">";
const GAP: usize = 1;
/// The widest name, where there is room for it.
const WIDEST_NAME: usize = 24;

pub(super) fn draw(sorted: &[&WatchRow], picked: usize, area: Rect, buffer: &mut Buffer) {
    let shown = fitting(area.width.into(), sorted);
    let titles = Row::new(shown.iter().map(|(column, _)| column.heading()));
    let room = usize::from(area.height).saturating_sub(1).max(1);
    // The picked row is the last one shown, unless it is among the first.
    let first = (picked + 1).saturating_sub(room);
    let rows = sorted.iter().skip(first).take(room);
    let rows =
        rows.map(|row| Row::new(shown.iter().map(|(column, width)| column.cell(row, *width))));
    let widths = shown.iter().map(|(_, width)| Constraint::Length(*width as u16));
    let table = Table::new(rows, widths)
        .header(titles.style(style(Tone::Faint)))
        .column_spacing(GAP as u16)
        .highlight_symbol(MARK)
        .highlight_spacing(HighlightSpacing::Always)
        .row_highlight_style(style(Tone::Picked));
    let mut state = TableState::new().with_selected(picked - first.min(picked));
    table.render(area, buffer, &mut state);
}

/// The columns that fit, with their widths; room that is left over goes to the names, then to the
/// text columns at the end.
fn fitting(width: usize, rows: &[&WatchRow]) -> Vec<(&'static Column, usize)> {
    let total = |shown: &[(&Column, usize)]| -> usize {
        MARK.len() + shown.iter().map(|(_, width)| width + GAP).sum::<usize>() - GAP
    };
    let mut shown: Vec<(&Column, usize)> =
        COLUMNS.iter().map(|column| (column, column.width)).collect();
    while total(&shown) > width && shown.len() > 1 {
        let rank = shown.iter().map(|(column, _)| column.rank).max().unwrap_or(0);
        match rank {
            0 => shown.truncate(shown.len() - 1),
            _ => shown.retain(|(column, _)| column.rank < rank),
        }
    }
    let mut spare = width.saturating_sub(total(&shown));
    let longest = rows.iter().map(|row| columns(&crate::escape(&row.device.name))).max();
    if let Some((_, name)) = shown.first_mut() {
        let more = longest.unwrap_or(0).min(WIDEST_NAME).saturating_sub(*name).min(spare);
        *name += more;
        spare -= more;
    }
    let texts = |(column, _): &&mut (&Column, usize)| matches!(column.entry, Entry::Text(_));
    let mut texts: Vec<&mut (&Column, usize)> = shown.iter_mut().skip(1).filter(texts).collect();
    let share = spare / texts.len().max(1);
    texts.iter_mut().for_each(|(_, width)| *width += share);
    shown
}
