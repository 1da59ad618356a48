//! The table of devices: the columns that fit, and as many rows around the picked one.

use super::WatchRow;
use super::canvas::Canvas;
use super::columns::{COLUMNS, Column, Entry};
use crate::page::{Span, Tone};

/// In front of the picked row, and of the others. A terminal without colours shows it, too.
const MARKS: (&str, &str) = (">", " ");
/// Room between columns.
const GAP: usize = 1;
/// The widest name, where there is room for it.
const WIDEST_NAME: usize = 24;

/// Prints the titles and at most `height` - 1 rows.
pub(super) fn print(screen: &mut Canvas, sorted: &[&WatchRow], picked: usize, height: usize) {
    let room = height.min(screen.left()).saturating_sub(1).max(1);
    let columns = fitting(screen.width(), sorted);
    let titles: Vec<String> =
        columns.iter().map(|&(column, width)| column.heading(width)).collect();
    screen.line(vec![Span::new(MARKS.1.to_owned() + &titles.join(" "), Tone::Faint)]);
    // The picked row is the last one shown, unless it is among the first.
    let first = (picked + 1).saturating_sub(room);
    for (index, row) in sorted.iter().enumerate().skip(first).take(room) {
        screen.line(entries(&columns, row, index == picked));
    }
}

/// The columns that fit, with their widths; room that is left over goes to the names, then to the
/// text columns at the end.
fn fitting(width: usize, rows: &[&WatchRow]) -> Vec<(&'static Column, usize)> {
    let total = |columns: &[(&Column, usize)]| -> usize {
        MARKS.0.len() + columns.iter().map(|(_, width)| width + GAP).sum::<usize>() - GAP
    };
    let mut columns: Vec<(&Column, usize)> =
        COLUMNS.iter().map(|column| (column, column.width)).collect();
    while total(&columns) > width {
        let rank = columns.iter().map(|(column, _)| column.rank).max().unwrap_or(0);
        if rank == 0 {
            break;
        }
        columns.retain(|(column, _)| column.rank < rank);
    }
    let mut spare = width.saturating_sub(total(&columns));
    let longest = rows.iter().map(|row| Span::plain(&row.device.name).width()).max().unwrap_or(0);
    if let Some((_, name)) = columns.first_mut() {
        let more = longest.min(WIDEST_NAME).saturating_sub(*name).min(spare);
        *name += more;
        spare -= more;
    }
    let texts = |(column, _): &&mut (&Column, usize)| matches!(column.entry, Entry::Text(_));
    let mut texts: Vec<&mut (&Column, usize)> = columns.iter_mut().skip(1).filter(texts).collect();
    let share = spare / texts.len().max(1);
    texts.iter_mut().for_each(|(_, width)| *width += share);
    columns
}

/// One row.
fn entries(columns: &[(&Column, usize)], row: &WatchRow, picked: bool) -> Vec<Span> {
    let mark = if picked { MARKS.0 } else { MARKS.1 };
    let tone = |tone: Tone| if picked { Tone::Picked } else { tone };
    let mut spans = vec![Span::new(mark, tone(Tone::Plain))];
    for (index, &(column, width)) in columns.iter().enumerate() {
        if index > 0 {
            spans.push(Span::new(" ", tone(Tone::Plain)));
        }
        let (text, own, right) = column.entry(row, width);
        let text = cut(&crate::escape(&text), width);
        let text = if right { format!("{text:>width$}") } else { format!("{text:<width$}") };
        spans.push(Span::new(text, tone(own)));
    }
    spans
}

/// At most so many columns; the last one says that something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
