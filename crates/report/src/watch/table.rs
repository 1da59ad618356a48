//! The table of devices: the columns that fit, and as many rows around the picked one.
//!
//! One list holds all columns, so that titles, entries, widths and the help cannot disagree. Ranks
//! decide what 80 columns keep: who, how much, how long and why it takes that long, how full. The
//! rest is one key away.

use super::{WatchRow, style, words};
use crate::number;
use crate::page::{Tone, shortened};
use Entry::{Known, Text, Toned};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{HighlightSpacing, Row, StatefulWidget, Table, TableState};
use unicode_width::UnicodeWidthStr;

/// In front of the picked row. A terminal without colours shows it, too.
const MARK: &str = ">";
const GAP: usize = 1;
/// The widest name, where there is room for it.
const WIDEST_NAME: usize = 24;
const NEAR_FULL: f64 = 0.9;

struct Column {
    title: &'static str,
    width: usize,
    /// The larger, the sooner it goes where the screen is narrow.
    rank: u8,
    entry: Entry,
}

enum Entry {
    /// A figure, from the right; a dash where it is not known.
    Known(fn(&WatchRow) -> Option<String>),
    /// The same in a tone of its own.
    Toned(fn(&WatchRow) -> Option<(String, Tone)>),
    /// Text from the left, given the room that there is.
    Text(fn(&WatchRow, usize) -> String),
}

impl Column {
    /// The title, on the side where the entries are.
    fn heading(&self) -> Line<'static> {
        let title = Line::from(self.title);
        if matches!(self.entry, Text(_)) { title } else { title.right_aligned() }
    }

    fn cell(&self, row: &WatchRow, width: usize) -> Line<'static> {
        let (text, tone) = match self.entry {
            Known(of) => (number::or_none(of(row), |text| text), Tone::Plain),
            Toned(of) => of(row).unwrap_or((number::NONE.to_owned(), Tone::Plain)),
            Text(of) => return shortened(&crate::escape(&of(row, width)), width).into(),
        };
        Line::from(Span::styled(crate::escape(&text), style(tone))).right_aligned()
    }
}

/// What the figures mean, for the help: a line each, so that all of it fits 80 by 24.
pub(super) const MEANINGS: [(&str, &str); 10] = [
    ("read/s, write/s", "IOPS: requests completed per second, after merging"),
    ("bytes/s", "throughput of both, in powers of 1000"),
    ("latency", "mean time of a request, from start to end in the block layer"),
    ("service, queue", "its split: by the profile, else by S = U/X (overlap is queue)"),
    ("expect", "latency that the profile predicts at this queue depth"),
    ("QD", "queue depth: mean requests in flight"),
    ("busy", "share of time with any; 100 % is not full; ? in doubt"),
    ("sat", "saturation: IOPS over the largest of this mix, by the profile"),
    ("history", "latency of the last intervals, on a scale of its own"),
    ("verdict", "diagnosis of the last 30 s; ? other explanations remain"),
];

const COLUMNS: [Column; 20] = [
    column("device", 10, 0, Text(|row, _| row.device.name.clone())),
    column("read/s", 6, 0, Known(|row| row.figure(|i| i.read.per_s).map(number::count))),
    column("write/s", 7, 0, Known(|row| row.figure(|i| i.write.per_s).map(number::count))),
    column("bytes/s", 9, 0, Known(|row| row.figure(|i| i.all.bytes_per_s).map(number::rate))),
    column("size", 8, 3, Known(|row| row.figure(|i| i.all.request_bytes).map(number::size))),
    column("r size", 8, 9, Known(|row| row.figure(|i| i.read.request_bytes).map(number::size))),
    column("w size", 8, 9, Known(|row| row.figure(|i| i.write.request_bytes).map(number::size))),
    column("merged/s", 8, 12, Known(|row| row.figure(|i| i.all.merged_per_s).map(number::count))),
    column("latency", 7, 0, Toned(latency)),
    column("=service", 8, 0, Known(|row| split(row).map(|(service, _)| number::time(service)))),
    column("+queue", 7, 0, Known(|row| split(row).map(|(_, queue)| number::time(queue)))),
    column("expect", 8, 2, Known(|row| Some(number::time(row.calibrated?.expected_ns.value)))),
    column("r lat", 8, 10, Known(|row| row.figure(|i| i.read.latency_ns).map(number::time))),
    column("w lat", 8, 10, Known(|row| row.figure(|i| i.write.latency_ns).map(number::time))),
    column("QD", 5, 0, Known(|row| row.figure(|i| i.concurrency).map(number::digits))),
    column("QD now", 6, 11, Known(|row| row.figure(|i| i.in_flight).map(number::count))),
    column("busy", 6, 1, Known(busy)),
    column("sat", 5, 0, Toned(saturation)),
    column("history", 16, 7, Text(words::past)),
    column("verdict", 14, 6, Text(|row, _| words::verdict(row))),
];

const fn column(title: &'static str, width: usize, rank: u8, entry: Entry) -> Column {
    Column { title, width, rank, entry }
}

/// Service and queue time: by the profile where there is one, else by the utilization law.
pub(super) fn split(row: &WatchRow) -> Option<(f64, f64)> {
    let by_law = row.utilization_law.map(|split| (split.service_ns, split.queue_ns));
    let latency_ns = row.figure(|interval| interval.all.latency_ns)?;
    row.calibrated.map(|split| (latency_ns - split.queue_ns, split.queue_ns)).or(by_law)
}

/// The latency, marked where it is beyond what the profile allows.
fn latency(row: &WatchRow) -> Option<(String, Tone)> {
    let text = row.figure(|interval| interval.all.latency_ns).map(number::time)?;
    let troubled = row.verdict.as_ref().is_some_and(|verdict| verdict.verdict.is_slow());
    Some((text, if troubled { Tone::Warn } else { Tone::Plain }))
}

fn busy(row: &WatchRow) -> Option<String> {
    let text = row.figure(|interval| interval.busy_share).map(number::percent)?;
    Some(if row.device.busy_doubt.is_some() { text + "?" } else { text })
}

/// Saturation, marked from where the rate can hardly grow.
fn saturation(row: &WatchRow) -> Option<(String, Tone)> {
    let share = row.calibrated?.saturation;
    let tone = if share >= NEAR_FULL { Tone::Warn } else { Tone::Plain };
    Some((number::percent(share), tone))
}

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
    let longest = rows.iter().map(|row| crate::escape(&row.device.name).width()).max();
    if let Some((_, name)) = shown.first_mut() {
        let more = longest.unwrap_or(0).min(WIDEST_NAME).saturating_sub(*name).min(spare);
        *name += more;
        spare -= more;
    }
    let texts = |(column, _): &&mut (&Column, usize)| matches!(column.entry, Text(_));
    let mut texts: Vec<&mut (&Column, usize)> = shown.iter_mut().skip(1).filter(texts).collect();
    let share = spare / texts.len().max(1);
    texts.iter_mut().for_each(|(_, width)| *width += share);
    shown
}
