//! Draws the table of devices: the columns that fit, and as many rows as fit around the selected one.
//!
//! A single list has all columns, so that titles, entries, widths and help are consistent. Ranks determine
//! which columns fit a width: 80 columns have the name, the load, the latency, the expectation and the
//! verdict; 40 columns still have the verdict. The details are one key away. Without a screen the same
//! columns are printed as text.

use super::{SortBy, WatchRow, WatchView, style, watch_order, words};
use crate::number;
use crate::page::{Tone, shortened, shortened_name};
use Entry::{Known, Rate, Text, Toned, TonedText};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{HighlightSpacing, Row, StatefulWidget, Table, TableState};
use unicode_width::UnicodeWidthStr;

/// Marks the selected row, also on terminals without colours.
const MARK: &str = ">";
const GAP: usize = 1;
/// Marks the title of the sort column: largest first, or smallest first.
const DOWN: &str = "▾";
const UP: &str = "▴";
/// Marks a figure beyond the profile's expectation.
const BEYOND: &str = "!";
/// Largest width of a name, if there is space.
const WIDEST_NAME: usize = 24;
const NEAR_FULL: f64 = 0.9;
/// A column for the screen only. It shows past intervals, which text output has already printed.
const HISTORY: &str = "history";

struct Column {
    title: &'static str,
    /// Sort key for a click on the title.
    sort: Option<SortBy>,
    width: usize,
    /// Columns with the largest rank are dropped first on a narrow screen.
    rank: u8,
    entry: Entry,
}

enum Entry {
    /// A right-aligned figure; a dash if unknown.
    Known(fn(&WatchRow) -> Option<String>),
    /// A figure with a tone.
    Toned(fn(&WatchRow) -> Option<(String, Tone)>),
    /// Bytes per second, in the selected units.
    Rate(fn(&WatchRow) -> Option<f64>),
    /// Left-aligned text for a given width.
    Text(fn(&WatchRow, usize) -> String),
    /// Text with a tone.
    TonedText(fn(&WatchRow, usize) -> (String, Tone)),
}

impl Column {
    /// The title, aligned like the entries, with a mark if it is the sort column.
    fn heading(&self, view: &WatchView) -> Line<'static> {
        let of_both = [SortBy::Reads, SortBy::Writes];
        let is_sorted = self.sort == Some(view.sort)
            || (view.sort == SortBy::Rate && self.sort.is_some_and(|it| of_both.contains(&it)));
        let mark = match (is_sorted, (view.sort == SortBy::Name) != view.reversed) {
            (false, _) => "",
            (true, false) => DOWN,
            (true, true) => UP,
        };
        let title = format!("{}{mark}", self.title);
        let tone = if is_sorted { Tone::Strong } else { Tone::Faint };
        let title = Line::from(Span::styled(title, style(tone)));
        if self.is_text() { title } else { title.right_aligned() }
    }

    fn is_text(&self) -> bool {
        matches!(self.entry, Text(_) | TonedText(_))
    }

    fn cell(&self, row: &WatchRow, view: &WatchView, width: usize) -> Line<'static> {
        let unknown = || (number::NONE.to_owned(), Tone::Plain);
        let (text, tone) = match self.entry {
            Known(of) => (number::or_none(of(row), |text| text), Tone::Plain),
            Toned(of) => of(row).unwrap_or_else(unknown),
            Rate(of) => (number::or_none(of(row), |rate| view.rate(rate)), Tone::Plain),
            Text(of) => (of(row, width), Tone::Plain),
            TonedText(of) => of(row, width),
        };
        let text = crate::escape(&text);
        if self.is_text() {
            return Line::from(Span::styled(shortened(&text, width), style(tone)));
        }
        // A number without its first digits would be wrong.
        Line::from(Span::styled(shortened(&text, width), style(tone))).right_aligned()
    }
}

/// Explanations of the figures for the help, one line each, so that they fit 80 by 24.
pub(super) const MEANINGS: [(&str, &str); 11] = [
    ("read/s, write/s", "IOPS: requests completed per second, after merging"),
    ("bytes/s", "read plus write throughput; u switches MB/s and MiB/s"),
    ("latency", "mean time of a request in the block layer; ! beyond expect"),
    ("expect", "latency that the profile predicts at this queue depth"),
    ("QD", "queue depth: mean requests in flight"),
    ("busy", "share of time with any request; not saturation; ?: unreliable"),
    ("verdict", "diagnosis of the last 30 s; ? other explanations remain"),
    ("sat", "saturation: IOPS relative to the profile's max for this mix"),
    ("process", "process with most requests, and its share (Linux, root only)"),
    ("service, queue", "latency split by profile, else by S = U/X (overlap is queue)"),
    (HISTORY, "latency in recent intervals, on its own scale"),
];

const COLUMNS: [Column; 21] = [
    column("device", 8, 0, Text(name)).by(SortBy::Name),
    column("read/s", 7, 2, Known(|row| row.figure(|i| i.read.per_s).map(number::count)))
        .by(SortBy::Reads),
    column("write/s", 8, 3, Known(|row| row.figure(|i| i.write.per_s).map(number::count)))
        .by(SortBy::Writes),
    column("bytes/s", 10, 6, Rate(|row| row.figure(|i| i.all.bytes_per_s))).by(SortBy::Throughput),
    column("size", 8, 14, Known(|row| row.figure(|i| i.all.request_bytes).map(number::size))),
    column("r size", 8, 17, Known(|row| row.figure(|i| i.read.request_bytes).map(number::size))),
    column("w size", 8, 17, Known(|row| row.figure(|i| i.write.request_bytes).map(number::size))),
    column("merged/s", 8, 20, Known(|row| row.figure(|i| i.all.merged_per_s).map(number::count))),
    column("latency", 8, 0, Toned(latency)).by(SortBy::Latency),
    column("expect", 7, 4, Known(|row| Some(number::time(row.calibrated?.expected_ns.value))))
        .by(SortBy::LatencyRatio),
    column("=service", 8, 13, Known(|row| row.split().map(|(service, _)| number::time(service)))),
    column("+queue", 7, 13, Known(|row| row.split().map(|(_, queue)| number::time(queue)))),
    column("r lat", 8, 18, Known(|row| row.latency(|i| i.read.latency_ns))),
    column("w lat", 8, 18, Known(|row| row.latency(|i| i.write.latency_ns))),
    column("QD", 6, 1, Known(|row| row.figure(|i| i.concurrency).map(number::count)))
        .by(SortBy::Concurrency),
    column("QD now", 6, 19, Known(|row| row.figure(|i| i.in_flight).map(number::count))),
    column("busy", 6, 5, Known(busy)).by(SortBy::Busy),
    column("sat", 6, 11, Toned(saturation)).by(SortBy::Saturation),
    column("verdict", 11, 0, TonedText(words::verdict)).by(SortBy::Verdict),
    column("process", 12, 12, Text(words::process)),
    column(HISTORY, 16, 15, Text(words::past)),
];

const fn column(title: &'static str, width: usize, rank: u8, entry: Entry) -> Column {
    Column { title, sort: None, width, rank, entry }
}

impl Column {
    const fn by(mut self, sort: SortBy) -> Self {
        self.sort = Some(sort);
        self
    }
}

fn name(row: &WatchRow, width: usize) -> String {
    shortened_name(&crate::escape(&row.device.name), width)
}

/// The latency, marked if it exceeds the interval that the profile expects for this load. It is red
/// if the verdict over half a minute says slow, too.
fn latency(row: &WatchRow) -> Option<(String, Tone)> {
    let latency_ns = row.figure(|interval| interval.all.latency_ns)?;
    let text = row.latency(|interval| interval.all.latency_ns)?;
    if row.calibrated.is_none_or(|split| latency_ns <= split.expected_ns.high) {
        return Some((text, Tone::Plain));
    }
    let is_slow = row.verdict.as_ref().is_some_and(|verdict| verdict.verdict.is_slow());
    Some((text + BEYOND, if is_slow { Tone::Bad } else { Tone::Warn }))
}

fn busy(row: &WatchRow) -> Option<String> {
    let text = row.figure(|interval| interval.busy_share).map(number::percent)?;
    Some(if row.device.busy_doubt.is_some() { text + "?" } else { text })
}

/// Saturation, marked when the rate can hardly increase further.
fn saturation(row: &WatchRow) -> Option<(String, Tone)> {
    let share = row.calibrated?.saturation;
    let text = number::percent(share);
    Some(if share >= NEAR_FULL { (text + BEYOND, Tone::Warn) } else { (text, Tone::Plain) })
}

/// Number of device rows in an area, below the titles.
fn room(area: Rect) -> usize {
    usize::from(area.height).saturating_sub(1).max(1)
}

/// Index of the first row shown: the selected row is the last one shown, unless it is among the first.
pub(super) fn first_shown(picked: usize, area: Rect) -> usize {
    (picked + 1).saturating_sub(room(area))
}

/// The sort key of the title at a screen column.
pub(super) fn sort_at(sorted: &[&WatchRow], area: Rect, at: u16) -> Option<SortBy> {
    let mut end = usize::from(area.x) + MARK.len();
    let shown = on_screen(area, sorted);
    let hit = shown.iter().find(|(_, width)| {
        end += width + GAP;
        usize::from(at) < end
    });
    hit.and_then(|(column, _)| column.sort)
}

pub(super) fn draw(
    sorted: &[&WatchRow],
    picked: usize,
    view: &WatchView,
    area: Rect,
    buffer: &mut Buffer,
) {
    let shown = on_screen(area, sorted);
    let titles = Row::new(shown.iter().map(|(column, _)| column.heading(view)));
    let first = first_shown(picked, area);
    let rows = sorted.iter().skip(first).take(room(area));
    let rows = rows
        .map(|row| Row::new(shown.iter().map(|(column, width)| column.cell(row, view, *width))));
    let widths = shown.iter().map(|(_, width)| Constraint::Length(*width as u16));
    let table = Table::new(rows, widths)
        .header(titles)
        .column_spacing(GAP as u16)
        .highlight_symbol(MARK)
        .highlight_spacing(HighlightSpacing::Always)
        .row_highlight_style(style(Tone::Picked));
    let mut state = TableState::new().with_selected(picked - first.min(picked));
    table.render(area, buffer, &mut state);
}

/// The devices as text of at most this width, in the columns that fit: a line each, and one line
/// for the idle ones. The titles begin with the time.
#[must_use]
pub fn watch_table(rows: &[WatchRow], view: &WatchView, time: &str, width: usize) -> String {
    let order = watch_order(rows, view);
    let sorted: Vec<&WatchRow> = order.iter().map(|&at| &rows[at]).collect();
    let columns = COLUMNS.iter().filter(|column| column.title != HISTORY);
    let mut columns: Vec<(&Column, usize)> = columns.map(|column| (column, column.width)).collect();
    columns[0].1 = columns[0].1.max(time.width());
    let shown = fitting(columns, width, &sorted);
    let line = |text: &dyn Fn(&'static Column, usize) -> String| {
        let entries = shown.iter().map(|(column, width)| {
            let text = text(column, *width);
            let pad = " ".repeat(width.saturating_sub(text.width()));
            if column.is_text() { text + &pad } else { pad + &text }
        });
        entries.collect::<Vec<_>>().join(" ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&|column, _| match column.sort {
        Some(SortBy::Name) => time.to_owned(),
        _ => column.title.to_owned(),
    });
    text.extend(
        sorted.iter().map(|row| line(&|column, width| column.cell(row, view, width).to_string())),
    );
    text + &super::idle_line(rows, &order, "", width).map_or(String::new(), |line| line + "\n")
}

/// The columns of a screen.
fn on_screen(area: Rect, rows: &[&WatchRow]) -> Vec<(&'static Column, usize)> {
    let columns = COLUMNS.iter().map(|column| (column, column.width)).collect();
    fitting(columns, usize::from(area.width).saturating_sub(MARK.len()), rows)
}

/// The columns that fit, with their widths. Extra space goes to the names, then to the text columns
/// at the end.
fn fitting(
    mut shown: Vec<(&'static Column, usize)>,
    width: usize,
    rows: &[&WatchRow],
) -> Vec<(&'static Column, usize)> {
    let total = |shown: &[(&Column, usize)]| -> usize {
        shown.iter().map(|(_, width)| width + GAP).sum::<usize>() - GAP
    };
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
    let texts = |(column, _): &&mut (&Column, usize)| column.is_text();
    let mut texts: Vec<&mut (&Column, usize)> = shown.iter_mut().skip(1).filter(texts).collect();
    let share = spare / texts.len().max(1);
    texts.iter_mut().for_each(|(_, width)| *width += share);
    shown
}
