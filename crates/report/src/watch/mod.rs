//! The live screen, as a function of what is known now and of what the reader chose to see.
//!
//! A screen is drawn from data alone: no clock, no terminal, no state of its own. So every size,
//! every number of devices and every missing figure is a test, and what is on the screen in an
//! incident can be drawn again from a recording. The binary owns the terminal and the keys.
//!
//! The reader's question is "is it this disk, and what is wrong with it". So one line per device
//! stands above, the busiest first, with the latency split in two and the saturation where a
//! profile tells it; and below, in words, what is the matter with the picked one. A figure that is
//! not known is a dash; what would make it known is said once. Room decides what else is shown:
//! 80 columns take the essential figures, 200 take all.
//!
//! A colour means "look": a figure has one where it is beyond what the profile expects, and a mark with
//! it for those who see no colour. Rejected: gauges and colours for every figure (a colour that is always
//! there says nothing), thresholds of our own (10 ms are much for one disk and little for another), and one page per figure with tabs between (the answer is in looking at
//! them together).

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

/// One moment in the past of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PastMoment {
    /// Requests per second; `None` where not known.
    pub per_s: Option<f64>,
    /// Mean latency, in nanoseconds; `None` without requests.
    pub latency_ns: Option<f64>,
    /// What the profile expected of it, in nanoseconds.
    pub expected_ns: Option<f64>,
}

/// The verdict on a device, as far as the last moments allow one.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct WatchVerdict {
    /// Which.
    pub verdict: Verdict,
    /// How sure.
    pub confidence: Confidence,
    /// The sentence with its numbers.
    pub claim: String,
    /// Other explanations, a sentence each.
    pub alternatives: Vec<String>,
    /// What to do, the best first, an action each.
    pub advice: Vec<String>,
    /// The time that it is about, up to now, in nanoseconds.
    pub observed_ns: u64,
    /// How probable the verdict and each alternative is, the verdict first; of each verdict once.
    pub probabilities: Vec<VerdictProbability>,
}

/// How probable a verdict is beside the others that the evidence leaves open.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct VerdictProbability {
    /// Which.
    pub verdict: Verdict,
    /// 0 to 1.
    pub probability: f64,
}

/// One device on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchRow {
    /// What it is.
    pub device: Arc<ObservedDevice>,
    /// Its last interval; `None` right after it appeared.
    pub interval: Option<Interval>,
    /// The latency split by the utilization law.
    pub utilization_law: Option<UtilizationLaw>,
    /// The same split by the profile.
    pub calibrated: Option<Calibrated>,
    /// What is the matter.
    pub verdict: Option<WatchVerdict>,
    /// A few words on the profile that stands for it; `None` without one.
    pub profile: Option<String>,
    /// The command that would make one.
    pub profile_command: String,
    /// Its past, the latest last; as long as the screen is wide, at most.
    pub past: Vec<PastMoment>,
}

impl WatchRow {
    /// A figure of the last interval, where it is known.
    pub fn figure(&self, of: impl Fn(&Interval) -> Option<Figure>) -> Option<f64> {
        Some(of(self.interval.as_ref()?)?.value)
    }

    /// Service and queue time in nanoseconds: by the profile where there is one, else by the utilization
    /// law.
    #[must_use]
    pub fn split(&self) -> Option<(f64, f64)> {
        let by_law = self.utilization_law.map(|split| (split.service_ns, split.queue_ns));
        let latency_ns = self.figure(|interval| interval.all.latency_ns)?;
        self.calibrated.map(|split| (latency_ns - split.queue_ns, split.queue_ns)).or(by_law)
    }
}

/// What is known now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchData {
    /// Name of the machine; empty where not known.
    pub host: String,
    /// The time of day, as it is to be shown.
    pub time: String,
    /// Length of an interval, as it is to be shown.
    pub interval: String,
    /// The devices, in the order of the kernel.
    pub rows: Vec<WatchRow>,
    /// Devices that are there and not shown.
    pub hidden: usize,
    /// The system as a whole.
    pub context: Context,
    /// The profile of the picked device, for its depth curve.
    pub profile: Option<Profile>,
    /// What happened beside the figures, the last first.
    pub notes: Vec<String>,
}

/// What the reader chose to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchView {
    /// By what the devices are sorted.
    pub sort: SortBy,
    /// Whether the order is reversed.
    pub reversed: bool,
    /// Text that the devices shown must hold; empty for all.
    pub filter: String,
    /// Whether the reader is typing it.
    pub typing: bool,
    /// Whether throughput is shown in powers of 1024.
    pub binary: bool,
    /// Whether idle devices have a line each.
    pub all: bool,
    /// Name of the picked device; the first one where it is not there.
    pub picked: Option<String>,
    /// Whether the picked one has the whole screen.
    pub detail: bool,
    /// Whether the help is shown.
    pub help: bool,
    /// Whether the figures are paused.
    pub paused: bool,
    /// What is being recorded, a few words; `None` where nothing is.
    pub recording: Option<String>,
    /// A remark on the last key, until the next one.
    pub remark: Option<String>,
}

impl WatchView {
    /// A throughput in the units that the reader chose.
    pub(crate) fn rate(&self, bytes_per_s: f64) -> String {
        if self.binary { number::binary_rate(bytes_per_s) } else { number::rate(bytes_per_s) }
    }
}

/// What stands at a place of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchPlace {
    /// The line of the device of this name.
    Device(String),
    /// The title of a column that devices can be sorted by.
    Title(SortBy),
}

/// The keys, with what they do; in the order of the help.
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

/// The keys below the picked device, the most needed first: 80 columns have all, a narrow screen the
/// first of them.
const FOOTER: [&str; 11] = [
    "q:quit",
    "h:help",
    "Enter:open",
    "s:sort",
    "/:find",
    "p:pause",
    "r:rec",
    "a:all",
    "u:unit",
    "+-:sec",
    "m:mouse",
];
/// The table gives way to what is said of the picked device down to this many rows.
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
    draw(&keys(footer, view), footer, buffer);
    if !color {
        buffer.set_style(area, Style::reset());
    }
}

/// What stands at a column and a row of a screen of this size, where it answers to a click.
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

/// Where the parts of the screen stand.
struct Layout<'d> {
    head: Page,
    top: Rect,
    /// The rows that are shown, in their order, and the place of the picked one.
    sorted: Vec<&'d WatchRow>,
    picked: usize,
    /// Whether the picked device is not among them.
    gone: bool,
    table: Rect,
    /// What is below the table; all below the head where no table is shown.
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
            // The table has what the pane below leaves, and at least a third.
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

/// The devices that have no line, in one.
fn idle(area: Rect, data: &WatchData, view: &WatchView) -> Page {
    let mut line = Page::of_screen(area.width.into());
    let shown = watch_order(&data.rows, view);
    let text = idle_line(&data.rows, &shown, " (a)", usize::from(area.width).saturating_sub(2));
    if let Some(text) = text.filter(|_| view.filter.is_empty()) {
        line.line(vec![Span::new(format!("  {text}"), Tone::Faint)]);
    }
    line
}

/// The names of the devices that are not among those shown, as far as they fit; `None` where all are shown.
fn idle_line(rows: &[WatchRow], shown: &[usize], key: &str, width: usize) -> Option<String> {
    let names = (0..rows.len()).filter(|index| !shown.contains(index));
    let names: Vec<&str> = names.map(|index| rows[index].device.name.as_str()).collect();
    let text = format!("{} idle{key}: {}", names.len(), names.join(", "));
    let text = crate::page::shortened(&crate::escape(&text), width);
    (!names.is_empty()).then_some(text)
}

/// What a page holds, as far as it fits. ratatui's own wrapping would know no hanging indent and part
/// a number from its unit.
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

/// The first `height` rows of an area, as far as it has them, and the others.
fn split(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    (Rect { height, ..area }, Rect { y: area.y + height, height: area.height - height, ..area })
}

/// The first lines: where, when, how much in all, and the system around the disks.
fn head(area: Rect, data: &WatchData, view: &WatchView) -> Page {
    let columns = usize::from(area.width);
    let mut pane = Page::of_screen(columns);
    let mut title = vec![Span::new("halfpower watch", Tone::Strong)];
    if view.paused {
        title.extend([Span::plain("  "), Span::new("PAUSED (p)", Tone::Warn)]);
    }
    if let Some(recording) = &view.recording {
        let text = format!("RECORDING {recording} (r)");
        title.extend([Span::plain("  "), Span::new(text, Tone::Bad)]);
    }
    if !view.filter.is_empty() {
        let text = format!("ONLY /{} (Esc)", view.filter);
        title.extend([Span::plain("  "), Span::new(text, Tone::Warn)]);
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

/// The last line: what is typed, a remark on the last key, or the keys.
fn keys(area: Rect, view: &WatchView) -> Page {
    let mut line = Page::of_screen(area.width.into());
    let typed;
    let (text, tone) = if view.typing {
        typed = format!("/{}_  Enter: keep the filter; Esc: all devices", view.filter);
        (typed.as_str(), Tone::Strong)
    } else if let Some(remark) = &view.remark {
        (remark.as_str(), Tone::Strong)
    } else {
        let mut fitting = String::new();
        for key in FOOTER {
            let gap = if fitting.is_empty() { "" } else { " " };
            if fitting.len() + gap.len() + key.len() > usize::from(area.width) {
                break;
            }
            fitting.push_str(gap);
            fitting.push_str(key);
        }
        typed = fitting;
        (typed.as_str(), Tone::Faint)
    };
    line.line(vec![Span::new(text, tone)]);
    line
}

/// Where the device that the reader opened is not there any more.
fn gone(area: Rect, view: &WatchView) -> Page {
    let mut pane = Page::of_screen(area.width.into());
    let name = view.picked.as_deref().unwrap_or_default();
    let text = format!("{name} is gone, or hidden by the filter. Esc goes back.");
    pane.hanging(Vec::new(), &text, Tone::Plain);
    pane
}

/// Where there is no device at all to show.
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
