//! What is said of a zone map: the bands, the loss, the lowest rate, and the map as bars.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends, xs};
use crate::number;
use crate::story::{Cell, Story, told};
use crate::target;
use record::{Bytes, Unit, ZoneMap, ZonePosition, format_bytes, shell_word};

/// Lines of the map; more positions are drawn several to a line.
const LINES: usize = 30;

/// The story of a zone map.
#[must_use]
pub fn zones(map: &ZoneMap) -> Story {
    let chance = number::percent(map.false_alarm_share);
    let mut story = Story::new("Zones", target::summary(&map.target), map.simulated)
        .saved(&map.id, &map.findings);
    story.headline = match map.bands.len() {
        0 | 1 => format!(
            "No zones: no step is larger than what {} passes can distinguish (test at {chance}).",
            map.passes
        ),
        many => format!(
            "{many} zones; on a medium without zones the test finds one in {chance} of maps."
        ),
    };
    story.fact("loss", loss(map));
    let lowest = told(&map.lowest, |place| {
        format!(
            "{} at {}, what a stream over all of it can count on",
            number::rate_with_interval(&place.bytes_per_s),
            format_bytes(place.offset_bytes.0)
        )
    });
    story.fact("lowest", lowest);
    story.fact("mean", number::rate_with_interval(&map.mean_bytes_per_s));
    bands(&mut story, map);
    positions(&mut story, map);
    story.charts.extend(zone_map(map));
    let targets = std::slice::from_ref(&map.target);
    let about = (map.halfpower_version.as_str(), map.time.as_deref(), map.seed);
    target::conditions(&mut story, targets, map.environment.as_ref(), about);
    let (positions, passes, depth) = (map.positions.len(), map.passes, map.depth);
    let [window, request] = [map.window_bytes, map.request_bytes].map(|it| format_bytes(it.0));
    let design = format!(
        "{positions} positions, {passes} passes in random order, {window} of reads of {request} at QD \
         {depth} at each"
    );
    story.condition("design", design);
    let path = shell_word(&map.target.path);
    story.commands.push(format!("halfpower zones {path} --seed {}", map.seed));
    story
}

fn loss(map: &ZoneMap) -> String {
    told(&map.inner_loss, |loss| {
        let none = if loss.includes(0.0) { "; it may be zero" } else { "" };
        let range = number::with_range(loss, number::percent);
        format!("{range} from the first to the last places{none}")
    })
}

fn bands(story: &mut Story, map: &ZoneMap) {
    let [first, _, ..] = map.bands.as_slice() else { return };
    let first = first.bytes_per_s.value;
    let remark = "ranges of equal rate; narrow zones of a disk share one";
    story.section("Bands", remark).table(&map.bands, |t| {
        t.right("from", |band| format_bytes(band.offset_bytes.0));
        t.right("positions", |band| (band.last - band.first + 1).to_string());
        t.of("bytes_per_s", |band| band.bytes_per_s.value).gap(3);
        t.interval(|band| band.bytes_per_s);
        t.right("of first", |band| number::percent(band.bytes_per_s.value / first)).gap(3);
    });
}

fn positions(story: &mut Story, map: &ZoneMap) {
    let per_line = map.positions.len().div_ceil(LINES).max(1);
    let remark = match per_line {
        1 => "rate at each position".to_owned(),
        many => format!("mean rate of {many} positions a line"),
    };
    let lines = map.positions.chunks(per_line).filter_map(|group: &[ZonePosition]| {
        let rates: Vec<f64> = group.iter().map(|place| place.bytes_per_s.value).collect();
        Some((group.first()?.offset_bytes, stats::mean(&rates)))
    });
    let lines: Vec<(Bytes, f64)> = lines.collect();
    let largest = lines.iter().map(|(_, rate)| *rate).fold(f64::MIN_POSITIVE, f64::max);
    story.section("Map", &remark).table(lines, |t| {
        t.right("from", |(offset, _)| format_bytes(offset.0));
        t.of("bytes_per_s", |(_, rate)| *rate);
        t.bar(|(_, rate)| Cell::bar(rate / largest, ""));
    });
}

fn zone_map(map: &ZoneMap) -> Option<Chart> {
    let offset = |bytes: Bytes| bytes.0 as f64;
    let positions = &map.positions;
    let points: Vec<Point> = positions
        .iter()
        .map(|position| Point::estimate(offset(position.offset_bytes), &position.bytes_per_s))
        .collect();
    let most = points.iter().map(|point| point.y).fold(0.0, f64::max);
    let step = offset(positions.get(1)?.offset_bytes) - offset(positions.first()?.offset_bytes);
    let bands = map.bands.iter().flat_map(|band| {
        let last = positions.get(band.last as usize).map_or(0.0, |p| offset(p.offset_bytes));
        [offset(band.offset_bytes), last + step].map(|x| Point::estimate(x, &band.bytes_per_s))
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
    let series = vec![
        Series::new("positions", Form::Marks, points),
        Series::new("zones", Form::Trace, bands.collect()),
    ];
    Some(Chart {
        title: "Throughput against position".to_owned(),
        finding,
        errors: "Error bars and bands: 95 % confidence interval over the passes.".to_owned(),
        x: Axis::over("position", Some(Unit::Bytes), xs(&series)),
        y: Axis::from_zero("throughput", Some(Unit::BytesPerSecond), ends(&series)),
        rules: vec![Rule::level(most / 2.0, "half of the most measured")],
        series,
    })
}
