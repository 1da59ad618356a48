//! What is said of a zone map: the bands, the loss, the lowest rate, and the map as bars.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number;
use crate::story::{Cell, Column, Story, Table, quoted};
use crate::target;
use record::{Bytes, Measured, Unit, ZoneMap, ZonePosition, format_bytes};

/// Lines of the map; more positions are drawn several to a line.
const LINES: usize = 30;

/// The story of a zone map.
#[must_use]
pub fn zones(map: &ZoneMap) -> Story {
    let chance = number::percent(map.false_alarm_share);
    let mut story = Story {
        kind: "Zones".to_owned(),
        subject: target::summary(&map.target),
        id: map.id.clone(),
        simulated: map.simulated,
        headline: match map.bands.len() {
            0 | 1 => format!(
                "No zones: no step is larger than what {} passes can distinguish (test at {chance}).",
                map.passes
            ),
            many => format!(
                "{many} zones; on a medium without zones the test finds one in {chance} of maps."
            ),
        },
        findings: map.findings.clone(),
        ..Story::default()
    };
    story.fact("loss", loss(map));
    let lowest = match &map.lowest {
        Measured::Value(place) => format!(
            "{} at {}, what a stream over all of it can count on",
            number::with_interval(&place.bytes_per_s, number::rate),
            format_bytes(place.offset_bytes.0)
        ),
        Measured::NotMeasured { not_measured } => format!("not measured: {not_measured}"),
    };
    story.fact("lowest", lowest);
    story.fact("mean", number::with_interval(&map.mean_bytes_per_s, number::rate));
    bands(&mut story, map);
    positions(&mut story, map);
    story.charts.extend(zone_map(map));
    let targets = std::slice::from_ref(&map.target);
    let about = (map.halfpower_version.as_str(), map.time.as_deref(), map.seed);
    target::conditions(&mut story, targets, map.environment.as_ref(), about);
    let design = format!(
        "{} positions, {} passes in random order, {} of reads of {} at QD {} at each",
        map.positions.len(),
        map.passes,
        format_bytes(map.window_bytes.0),
        format_bytes(map.request_bytes.0),
        map.depth
    );
    story.condition("design", design);
    let path = quoted(&map.target.path);
    story.commands.push(format!("halfpower zones {path} --seed {}", map.seed));
    story
}

/// How much slower the last places are than the first.
fn loss(map: &ZoneMap) -> String {
    let loss = match &map.inner_loss {
        Measured::Value(loss) => loss,
        Measured::NotMeasured { not_measured } => return format!("not measured: {not_measured}"),
    };
    let none = if loss.low <= 0.0 && loss.high >= 0.0 { "; it may be zero" } else { "" };
    let range = number::with_range(loss, number::percent);
    format!("{range} from the first to the last places{none}")
}

fn bands(story: &mut Story, map: &ZoneMap) {
    let [first, _, ..] = map.bands.as_slice() else { return };
    let mut table = Table::new(vec![
        Column::right("from"),
        Column::right("positions"),
        Column::of("bytes_per_s").gap(3),
        Column::interval(),
        Column::right("of first").gap(3),
    ]);
    for band in &map.bands {
        table.row(vec![
            format_bytes(band.offset_bytes.0).into(),
            (band.last - band.first + 1).to_string().into(),
            number::rate(band.bytes_per_s.value).into(),
            Cell::interval(&band.bytes_per_s),
            number::percent(band.bytes_per_s.value / first.bytes_per_s.value).into(),
        ]);
    }
    story.section("Bands", "ranges of equal rate; narrow zones of a disk share one").table(table);
}

fn positions(story: &mut Story, map: &ZoneMap) {
    let per_line = map.positions.len().div_ceil(LINES).max(1);
    let remark = match per_line {
        1 => "rate at each position".to_owned(),
        many => format!("mean rate of {many} positions a line"),
    };
    let mean = |group: &[ZonePosition]| {
        group.iter().map(|place| place.bytes_per_s.value).sum::<f64>() / group.len() as f64
    };
    let groups: Vec<(&ZonePosition, f64)> = map
        .positions
        .chunks(per_line)
        .filter_map(|group| Some((group.first()?, mean(group))))
        .collect();
    let largest = groups.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let columns = vec![Column::right("from"), Column::of("bytes_per_s"), Column::bar()];
    let mut table = Table::new(columns);
    for (place, value) in groups {
        table.row(vec![
            format_bytes(place.offset_bytes.0).into(),
            number::rate(value).into(),
            Cell::bar(value / largest.max(f64::MIN_POSITIVE), ""),
        ]);
    }
    story.section("Map", &remark).table(table);
}

fn zone_map(map: &ZoneMap) -> Option<Chart> {
    let offset = |bytes: Bytes| bytes.0 as f64;
    let points: Vec<Point> = map
        .positions
        .iter()
        .map(|position| Point::estimate(offset(position.offset_bytes), &position.bytes_per_s))
        .collect();
    let most = points.iter().map(|point| point.y).fold(0.0, f64::max);
    let step =
        offset(map.positions.get(1)?.offset_bytes) - offset(map.positions.first()?.offset_bytes);
    let bands = map.bands.iter().flat_map(|band| {
        let end =
            map.positions.get(band.last as usize).map_or(0.0, |p| offset(p.offset_bytes)) + step;
        let at = |x: f64| Point::estimate(x, &band.bytes_per_s);
        [at(offset(band.offset_bytes)), at(end)]
    });
    let finding = match map.bands.as_slice() {
        [] | [_] => format!(
            "No step is found: by chance one would be seen in {} of maps without any.",
            number::percent(map.false_alarm_share)
        ),
        [first, .., last] => format!(
            "{} zones, from {} at the beginning to {} at the end (chance: {}).",
            map.bands.len(),
            number::rate(first.bytes_per_s.value),
            number::rate(last.bytes_per_s.value),
            number::digits(map.p_value)
        ),
    };
    let highs: Vec<f64> = points.iter().filter_map(|point| point.high).collect();
    let bands = Series::new("zones", Form::Trace, bands.collect());
    let x =
        Axis::over("position", Some(Unit::Bytes), points.iter().chain(&bands.points).map(|p| p.x));
    Some(Chart {
        title: "Throughput against position".to_owned(),
        finding,
        errors: "Error bars and bands: 95 % confidence interval over the passes.".to_owned(),
        x,
        y: Axis::from_zero("throughput", Some(Unit::BytesPerSecond), highs.into_iter()),
        rules: vec![Rule::level(most / 2.0, "half of the most measured")],
        series: vec![Series::new("positions", Form::Marks, points), bands],
    })
}
