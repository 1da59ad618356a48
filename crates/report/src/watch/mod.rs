//! Draws the live screen from the current data and the reader's choices.
//!
//! Drawing uses data alone: no clock, no terminal, no state of its own. Every size, every number of devices
//! and every missing figure can therefore be tested, and a screen seen during an incident can be redrawn from
//! a recording. The binary owns the terminal and the keys.
//!
//! The reader's question is "is it this disk, and what is wrong with it". The upper part has one line per
//! device, the busiest first, with the latency split in two, and with the saturation if there is a profile.
//! The lower part explains the selected device in words. Unknown figures are dashes; how to obtain them is
//! stated once. The width determines what else is shown: 80 columns have the essential figures, 195 have all.
//!
//! A colour means "look": figures beyond the profile's expectation are coloured, and marked for readers who
//! see no colour. Rejected: gauges and colours for every figure (a colour that is always present has no
//! meaning), fixed thresholds (10 ms are much for one disk and little for another), and tabs with one page
//! per figure (the answer comes from comparing them).

mod curve;
mod detail;
mod lines;
mod order;
mod table;
mod words;

pub use lines::{watch_header, watch_line};
pub use order::{SortBy, watch_order};
pub use table::watch_table;

use crate::number;
use crate::page::{Page, Span, Tone};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{self, Line};
use ratatui::widgets::{Paragraph, Widget};
use record::{
    Calibrated, Confidence, Context, Figure, Interval, ObservedDevice, Profile, UtilizationLaw,
    Verdict,
};
use std::sync::Arc;

/// One past interval of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PastMoment {
    /// IOPS; `None` if unknown.
    pub per_s: Option<f64>,
    /// Mean latency, in nanoseconds; `None` without requests, or if it is below the counters' resolution.
    pub latency_ns: Option<f64>,
    /// Latency that the profile expected, in nanoseconds.
    pub expected_ns: Option<f64>,
}

/// The verdict on a device, from its last intervals.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct WatchVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Its confidence.
    pub confidence: Confidence,
    /// The reason in a sentence, with numbers.
    pub claim: String,
    /// Other explanations, a sentence each.
    pub alternatives: Vec<String>,
    /// Recommended actions, the best first.
    pub advice: Vec<String>,
    /// Length of the observed time up to now, in nanoseconds.
    pub observed_ns: u64,
    /// Probabilities of the verdict, which comes first, and of the alternatives; each verdict once.
    pub probabilities: Vec<VerdictProbability>,
}

/// Probability of a verdict, compared with the alternatives.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct VerdictProbability {
    /// The verdict.
    pub verdict: Verdict,
    /// 0 to 1.
    pub probability: f64,
}

/// One device on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchRow {
    /// The device and its facts.
    pub device: Arc<ObservedDevice>,
    /// Its last interval; `None` right after it appeared.
    pub interval: Option<Interval>,
    /// The latency split by the utilization law.
    pub utilization_law: Option<UtilizationLaw>,
    /// The latency split by the profile.
    pub calibrated: Option<Calibrated>,
    /// The current verdict.
    pub verdict: Option<WatchVerdict>,
    /// A short description of its profile; `None` without one.
    pub profile: Option<String>,
    /// A saved profile of the device that does not fit, why, and what to do.
    pub unused_profile: Option<String>,
    /// The command that would create a profile.
    pub profile_command: String,
    /// Past intervals, the latest last; at most as many as the screen has columns.
    pub past: Vec<PastMoment>,
}

impl WatchRow {
    /// A figure of the last interval, if known.
    pub fn figure(&self, of: impl Fn(&Interval) -> Option<Figure>) -> Option<f64> {
        Some(of(self.interval.as_ref()?)?.value)
    }

    /// A latency of the last interval in words, if known.
    fn latency(&self, of: impl Fn(&Interval) -> Option<Figure>) -> Option<String> {
        Some(number::latency(of(self.interval.as_ref()?)?))
    }

    /// Service and queue latency in nanoseconds: by the profile if there is one, otherwise by the
    /// utilization law.
    #[must_use]
    pub fn split(&self) -> Option<(f64, f64)> {
        let by_law = self.utilization_law.map(|split| (split.service_ns, split.queue_ns));
        let latency_ns = self.figure(|interval| interval.all.latency_ns).filter(|it| *it > 0.0)?;
        self.calibrated.map(|split| (latency_ns - split.queue_ns, split.queue_ns)).or(by_law)
    }
}

/// The data to display.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchData {
    /// Host name; empty if unknown.
    pub host: String,
    /// Time of day, as displayed.
    pub time: String,
    /// Length of an interval, as displayed.
    pub interval: String,
    /// The devices, in kernel order.
    pub rows: Vec<WatchRow>,
    /// Number of devices that are not shown.
    pub hidden: usize,
    /// The state of the system.
    pub context: Context,
    /// The profile of the selected device, for its depth curve.
    pub profile: Option<Profile>,
    /// Notes on events, the latest first.
    pub notes: Vec<String>,
}

/// The reader's choices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchView {
    /// Sort key of the devices.
    pub sort: SortBy,
    /// Whether the order is reversed.
    pub reversed: bool,
    /// Text that shown devices must contain; empty for all.
    pub filter: String,
    /// Whether the reader is typing the filter.
    pub typing: bool,
    /// Whether throughput uses powers of 1024.
    pub binary: bool,
    /// Whether idle devices are listed.
    pub all: bool,
    /// Name of the selected device. If it is not listed, the first device is selected.
    pub picked: Option<String>,
    /// Whether the selected device uses the whole screen.
    pub detail: bool,
    /// Whether the help is shown.
    pub help: bool,
    /// Whether the display is paused.
    pub paused: bool,
    /// Short description of the current recording; `None` without one.
    pub recording: Option<String>,
    /// A response to the last key, until the next one.
    pub remark: Option<String>,
}

impl WatchView {
    /// A throughput in the selected units.
    pub(crate) fn rate(&self, bytes_per_s: f64) -> String {
        if self.binary { number::binary_rate(bytes_per_s) } else { number::rate(bytes_per_s) }
    }
}

/// A clickable place on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchPlace {
    /// The line of the device with this name.
    Device(String),
    /// The title of a sortable column.
    Title(SortBy),
}

/// The keys and their functions, in the order of the help.
const KEYS: [(&str, &str); 10] = [
    ("up, down, k, j", "select a device (also Home, End, Page Up, Page Down)"),
    ("Enter", "show the selected device on the whole screen; Esc: back"),
    ("s, S", "sort by the next column; reverse the order"),
    ("/", "filter by name, model or process; Esc: all devices again"),
    ("mouse, m", "click a device or a title; m: mouse off, to select text"),
    ("p, Space", "pause and continue; counting continues"),
    ("r", "start or stop a recording, saved as by `halfpower record`"),
    ("a", "show or hide idle devices, unused devices and partitions"),
    ("+, -, u", "longer and shorter intervals; MB/s or MiB/s"),
    ("h, ?, q, Ctrl-C", "show or hide this page; quit"),
];

/// The keys in the footer, the most important first: 80 columns show all, a narrow screen the first few.
const FOOTER: [&str; 2] =
    ["q:quit h:help", "Enter:open s:sort /:find p:pause r:rec a:all u:unit +-:sec m:mouse"];
/// Explains the mark of a busy figure in the footer while one is shown, between the two.
const BUSY_MARK: &str = "busy ?:unreliable";
/// The table shrinks to this many rows in favour of the selected device's details.
const TABLE_ROWS_MIN: usize = 3;

/// Draws the screen.
pub fn watch_screen(
    data: &WatchData,
    view: &WatchView,
    color: bool,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (body, footer) = split(area, area.height.saturating_sub(1));
    if view.help {
        draw(&help(body), body, buffer);
    } else {
        let layout = Layout::of(data, view, body);
        draw(&layout.head, layout.top, buffer);
        let rest = layout.rest;
        match layout.sorted.get(layout.picked) {
            _ if view.detail && layout.gone => draw(&gone(rest, view), rest, buffer),
            None => draw(&nothing(rest, data, view), rest, buffer),
            Some(row) if view.detail => draw(&detail::pane(rest, data, view, row), rest, buffer),
            Some(row) => {
                table::draw(&layout.sorted, layout.picked, view, layout.table, buffer);
                let (between, below) = split(rest, 1);
                draw(&idle(between, data, view), between, buffer);
                draw(&detail::pane(below, data, view, row), below, buffer);
            }
        }
    }
    draw(&keys(footer, data, view), footer, buffer);
    if !color {
        buffer.set_style(area, Style::reset());
    }
}

/// The clickable place at a column and row of a screen of this size, if any.
#[must_use]
pub fn watch_place(
    data: &WatchData,
    view: &WatchView,
    area: Rect,
    (column, row): (u16, u16),
) -> Option<WatchPlace> {
    if view.help || view.detail {
        return None;
    }
    let (body, _) = split(area, area.height.saturating_sub(1));
    let layout = Layout::of(data, view, body);
    let inside = layout.table.contains((column, row).into());
    let line = usize::from(row.checked_sub(layout.table.y).filter(|_| inside)?);
    let Some(line) = line.checked_sub(1) else {
        let sort = table::sort_at(&layout.sorted, layout.table, column)?;
        return Some(WatchPlace::Title(sort));
    };
    let first = table::first_shown(layout.picked, layout.table);
    let row = layout.sorted.get(first + line)?;
    Some(WatchPlace::Device(row.device.name.clone()))
}

/// Positions of the parts of the screen.
struct Layout<'d> {
    head: Page,
    top: Rect,
    /// The shown rows in display order. `picked` is the index of the selected one.
    sorted: Vec<&'d WatchRow>,
    picked: usize,
    /// Whether the selected device is missing from them.
    gone: bool,
    table: Rect,
    /// The area below the table, or below the head if there is no table.
    rest: Rect,
}

impl<'d> Layout<'d> {
    fn of(data: &'d WatchData, view: &WatchView, body: Rect) -> Self {
        let order = watch_order(&data.rows, view);
        let sorted: Vec<&WatchRow> = order.iter().map(|&index| &data.rows[index]).collect();
        let is_picked = |row: &&WatchRow| Some(&row.device.name) == view.picked.as_ref();
        let place = sorted.iter().position(is_picked);
        let picked = place.unwrap_or(0);
        let head = head(body, data, view);
        let (top, rest) = split(body, head.lines().len() as u16);
        let (mut table, mut below) = (Rect::default(), rest);
        if let Some(row) = sorted.get(picked).filter(|_| !view.detail) {
            // The table gets the rows that the details leave, and at least a third.
            let pane = detail::pane(rest, data, view, row);
            let left = usize::from(rest.height);
            let least = sorted.len().min((left / 3).max(TABLE_ROWS_MIN)) + 1;
            let most = left.saturating_sub(pane.lines().len() + 1).max(least);
            (table, below) = split(rest, most.min(sorted.len() + 1) as u16);
        }
        let gone = place.is_none() && view.picked.is_some();
        Self { head, top, sorted, picked, gone, table, rest: below }
    }
}

/// One line for all devices without a line of their own.
fn idle(area: Rect, data: &WatchData, view: &WatchView) -> Page {
    let mut line = Page::of_screen(area.width.into());
    let shown = watch_order(&data.rows, view);
    let text = idle_line(&data.rows, &shown, " (a)", usize::from(area.width).saturating_sub(2));
    if let Some(text) = text.filter(|_| view.filter.is_empty()) {
        line.line(vec![Span::new(format!("  {text}"), Tone::Faint)]);
    }
    line
}

/// Names of the hidden devices, as many as fit; `None` if all are shown.
fn idle_line(rows: &[WatchRow], shown: &[usize], key: &str, width: usize) -> Option<String> {
    let names = (0..rows.len()).filter(|index| !shown.contains(index));
    let names: Vec<&str> = names.map(|index| rows[index].device.name.as_str()).collect();
    let text = format!("{} idle{key}: {}", names.len(), names.join(", "));
    let text = crate::page::shortened(&crate::escape(&text), width);
    (!names.is_empty()).then_some(text)
}

/// Draws a page, cut to the area. ratatui's own wrapping has no hanging indent and would separate a
/// number from its unit.
fn draw(page: &Page, area: Rect, buffer: &mut Buffer) {
    let span = |span: &Span| text::Span::styled(span.text.clone(), style(span.tone));
    let lines = page.lines().iter().map(|line| line.iter().map(span).collect());
    Paragraph::new(lines.collect::<Vec<Line<'_>>>()).render(area, buffer);
}

fn style(tone: Tone) -> Style {
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

/// The first `height` rows of an area, or fewer, and the remaining rows.
fn split(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    (Rect { height, ..area }, Rect { y: area.y + height, height: area.height - height, ..area })
}

/// The head: host, time, totals, and the state of the system.
fn head(area: Rect, data: &WatchData, view: &WatchView) -> Page {
    let columns = usize::from(area.width);
    let mut pane = Page::of_screen(columns);
    let mut title = vec![Span::new("halfpower watch", Tone::Strong)];
    let paused = view.paused.then(|| ("PAUSED (p)".to_owned(), Tone::Warn));
    let recording = view.recording.as_ref().map(|it| (format!("RECORDING {it} (r)"), Tone::Bad));
    let filter = Some(&view.filter).filter(|filter| !filter.is_empty());
    let filter = filter.map(|filter| (format!("ONLY /{filter} (Esc)"), Tone::Warn));
    for (text, tone) in paused.into_iter().chain(recording).chain(filter) {
        title.extend([Span::plain("  "), Span::new(text, tone)]);
    }
    let host = if data.host.is_empty() { String::new() } else { format!("  {}", data.host) };
    for text in [host, format!("  {}", data.time), format!("  every {}", data.interval)] {
        title.push(Span::plain(text));
    }
    pane.line(words::fitting(title, columns));
    pane.line(words::fitting(words::totals(data, view), columns));
    pane.line(words::fitting(words::surroundings(&data.context), columns));
    for limit in words::limits(data).into_iter().take(2) {
        pane.line(vec![Span::new(limit, Tone::Warn)]);
    }
    if let Some(note) = data.notes.first() {
        pane.line(vec![Span::new(note, Tone::Faint)]);
    }
    pane.blank();
    pane
}

fn help(area: Rect) -> Page {
    let mut pane = Page::of_screen(area.width.into());
    for (heading, entries) in [("Keys", KEYS.as_slice()), ("Figures", &table::MEANINGS)] {
        pane.line(vec![Span::new(heading, Tone::Strong)]);
        for (name, text) in entries {
            let lead = Span::new(format!("  {name:<15} "), Tone::Strong);
            pane.hanging(vec![lead], text, Tone::Plain);
        }
    }
    pane
}

/// The last line: the filter being typed, a response to the last key, or the keys.
fn keys(area: Rect, data: &WatchData, view: &WatchView) -> Page {
    let mut line = Page::of_screen(area.width.into());
    let (text, tone) = if view.typing {
        let typed = format!("/{}_  Enter: keep the filter; Esc: all devices", view.filter);
        (typed, Tone::Strong)
    } else if let Some(remark) = &view.remark {
        (remark.clone(), Tone::Strong)
    } else {
        let doubted = data.rows.iter().any(|row| row.device.busy_doubt.is_some());
        let mark = (doubted && !view.detail && !view.help).then_some(BUSY_MARK);
        let mut fitting = String::new();
        let [first, rest] = FOOTER.map(|keys| keys.split(' '));
        for key in first.chain(mark).chain(rest) {
            let gap = if fitting.is_empty() { "" } else { " " };
            if fitting.len() + gap.len() + key.len() > usize::from(area.width) {
                break;
            }
            fitting.extend([gap, key]);
        }
        (fitting, Tone::Faint)
    };
    line.line(vec![Span::new(text, tone)]);
    line
}

/// The message if the opened device has disappeared.
fn gone(area: Rect, view: &WatchView) -> Page {
    let mut pane = Page::of_screen(area.width.into());
    let name = view.picked.as_deref().unwrap_or_default();
    let text = format!("{name} is gone, or hidden by the filter. Esc goes back.");
    pane.hanging(Vec::new(), &text, Tone::Plain);
    pane
}

/// The message if there is no device to show.
fn nothing(area: Rect, data: &WatchData, view: &WatchView) -> Page {
    let mut pane = Page::of_screen(area.width.into());
    let text = if !view.filter.is_empty() && !data.rows.is_empty() {
        "No device has this text in its name, model or processes. Esc shows all."
    } else if data.hidden > 0 {
        "No device has done any I/O since the machine started. Press a for all devices."
    } else {
        "No block device is visible here. A container may hide them: run outside the container."
    };
    pane.hanging(Vec::new(), text, Tone::Plain);
    pane
}
