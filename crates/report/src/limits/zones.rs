//! What `halfpower zones` prints: the bands, the loss, the lowest rate, and the map as bars.

use super::{VALUES, conditions, rate};
use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number, profile, target};
use record::{Measured, ZoneMap, ZonePosition, format_bytes, format_rate};

/// Lines of the map; more positions are drawn several to a line.
const LINES: usize = 30;

/// A zone map, answer first.
#[must_use]
pub fn zones_text(map: &ZoneMap, style: &Style) -> String {
    let mut page = Page::new(style);
    let mut lead = vec![Span::new("Zones: ", Tone::Strong)];
    if map.simulated {
        lead.push(Span::new("SIMULATED, no real disk: ", Tone::Warn));
    }
    page.flowing(lead, 2, &target::summary(&map.target), Tone::Plain);
    finding::print_verdict(&mut page, &map.findings);
    page.blank();
    answer(&mut page, map);
    bands(&mut page, map);
    positions(&mut page, map);
    if !map.findings.is_empty() {
        page.heading("Findings", "");
        finding::print(&mut page, &map.findings);
    }
    page.blank();
    let mut parts = profile::environment_parts(map.environment.as_ref());
    parts.push(format!(
        "{} positions, {} passes in random order, {} of reads of {}, {} deep, at each",
        map.positions.len(),
        map.passes,
        format_bytes(map.window_bytes.0),
        format_bytes(map.request_bytes.0),
        map.depth
    ));
    parts.extend(map.time.as_deref().map(number::when));
    conditions(&mut page, map.simulated, parts, &map.id, map.seed, &map.halfpower_version);
    page.finish()
}

fn answer(page: &mut Page, map: &ZoneMap) {
    let chance = number::percent_text(map.false_alarm_share);
    let found = match map.bands.len() {
        0 | 1 => format!(
            "no step found: flat within what {} passes can tell (test at {chance})",
            map.passes
        ),
        many => {
            format!("{many} bands told apart; a map of flat media shows one in {chance} of all")
        }
    };
    page.labelled("steps", VALUES, &found);
    let loss = match &map.inner_loss {
        Measured::Value(loss) => {
            let (low, high) = (number::percent_text(loss.low), number::percent_text(loss.high));
            let value = number::percent_text(loss.value);
            let zero =
                if loss.low <= 0.0 && loss.high >= 0.0 { ": none that can be told" } else { "" };
            format!("{value} from the first to the last places, between {low} and {high}{zero}")
        }
        Measured::NotMeasured { not_measured } => format!("not measured: {not_measured}"),
    };
    page.labelled("loss", VALUES, &loss);
    let lowest = match &map.lowest {
        Measured::Value(place) => {
            format!("{} at {}", rate(&place.bytes_per_s), format_bytes(place.offset_bytes.0))
        }
        Measured::NotMeasured { not_measured } => format!("not measured: {not_measured}"),
    };
    let count_on = format!("{lowest}: what a stream over all of it can count on");
    page.labelled("lowest", VALUES, &count_on);
    page.labelled("mean", VALUES, &rate(&map.mean_bytes_per_s));
}

fn bands(page: &mut Page, map: &ZoneMap) {
    if map.bands.len() < 2 {
        return;
    }
    page.heading("Bands", "stretches of equal rate; narrow zones of a disk share one");
    let mut table = Table::new(vec![
        Column::right(2),
        Column::right(2),
        Column::right(3),
        Column::left(1),
        Column::right(3),
    ]);
    table.titles(&["from", "positions", "rate", "", "of first"]);
    let first = map.bands[0].bytes_per_s.value;
    for band in &map.bands {
        table.row(vec![
            Entry::text(format_bytes(band.offset_bytes.0)),
            Entry::text((band.last - band.first + 1).to_string()),
            Entry::text(number::rate(band.bytes_per_s.value)),
            Entry::text(number::interval(number::relative(&band.bytes_per_s))),
            Entry::text(number::percent(band.bytes_per_s.value / first)),
        ]);
    }
    table.print(page);
}

fn positions(page: &mut Page, map: &ZoneMap) {
    let per_line = map.positions.len().div_ceil(LINES).max(1);
    let remark = match per_line {
        1 => "rate at each position".to_owned(),
        many => format!("mean rate of {many} positions a line"),
    };
    page.heading("Map", &remark);
    let mean = |group: &[ZonePosition]| {
        group.iter().map(|place| place.bytes_per_s.value).sum::<f64>() / group.len() as f64
    };
    let groups: Vec<(&ZonePosition, f64)> = map
        .positions
        .chunks(per_line)
        .filter_map(|group| Some((group.first()?, mean(group))))
        .collect();
    let largest = groups.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let mut table = Table::new(vec![Column::right(2), Column::right(2), Column::bar(2)]);
    for (place, value) in groups {
        table.row(vec![
            Entry::text(format_bytes(place.offset_bytes.0)),
            Entry::text(format_rate(value)),
            Entry::Bar(value / largest.max(f64::MIN_POSITIVE), ""),
        ]);
    }
    table.print(page);
}
