//! Builds the report on a zone map: the bands, the loss, the lowest rate, and the map as bars.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends, xs};
use crate::story::{Cell, Story, number, told};
use crate::target;
use record::{
    ArrayZones, Bytes, Estimate, Measured, MemberZones, Unit, ZoneMap, ZonePosition, format_bytes,
    shell_word,
};

/// Largest number of lines in the map; more positions share lines.
const LINES: usize = 30;
/// An array below this share of its members' total is limited by something else. Members that wait
/// for each other request by request cost a few percent.
const HELD_BACK: f64 = 0.9;
/// Default positions and passes of a map.
const USUAL: (usize, u32) = (60, 5);

/// The story of a zone map.
pub fn zones(map: &ZoneMap) -> Story {
    let mut story = Story::new("Zones", target::summary(&map.target), map.simulated)
        .saved(&map.id, &map.findings);
    let chance = number::percent(map.false_alarm_share);
    let none =
        format!("No zones: {} passes found no step (false-alarm rate {chance}).", map.passes);
    story.headline = steps(map).map_or(none, |zones| zones + ".");
    story.takeaway("loss", loss(map));
    story.fact("loss", loss(map));
    let lowest = told(&map.lowest, |place| {
        let rate = number::rate_with_interval(&place.bytes_per_s);
        let at = format_bytes(place.offset_bytes.0);
        format!("{rate} at {at}; a sequential read of the whole target can rely on this rate")
    });
    story.takeaway("lowest", lowest.clone());
    story.fact("lowest", lowest);
    story.fact("mean", number::rate_with_interval(&map.mean_bytes_per_s));
    match map.array.as_ref().map(Measured::known) {
        Some(Ok(array)) => members(&mut story, map, array),
        Some(Err(reason)) => story.fact("members", format!("not measured: {reason}")),
        None => {}
    }
    bands(&mut story, map);
    positions(&mut story, map);
    story.charts.extend(zone_map(map));
    let targets = std::slice::from_ref(&map.target);
    let about = (map.halfpower_version.as_str(), map.time.as_deref(), map.seed);
    target::conditions(&mut story, targets, map.environment.as_ref(), about);
    let (positions, passes, depth) = (map.positions.len(), map.passes, map.depth);
    let [window, request] = [map.window_bytes, map.request_bytes].map(|it| format_bytes(it.0));
    let design = format!(
        "{positions} positions, {passes} passes in random order; each position: {window} in reads of \
         {request} at QD {depth}"
    );
    story.condition("design", design);
    story.commands.push(command(map));
    story
}

/// `3 zones, from 210 MB/s at the start to 98 MB/s at the end`; `None` without a step.
fn steps(map: &ZoneMap) -> Option<String> {
    let [first, .., last] = map.bands.as_slice() else { return None };
    let [first, last] = [first, last].map(|band| number::rate(band.bytes_per_s.value));
    Some(format!("{} zones, from {first} at the start to {last} at the end", map.bands.len()))
}

/// The command that repeats the map.
fn command(map: &ZoneMap) -> String {
    let array = map.array.as_ref().and_then(Measured::value);
    // Members of halfpower's own stripe have individual names.
    let stripe = array.filter(|array| array.members.len() > 1);
    let mut words = vec!["halfpower zones".to_owned()];
    match stripe {
        Some(array) => {
            words.extend(array.members.iter().map(|member| shell_word(&member.target.path)));
            words.push(format!("--chunk {}", array.chunk_bytes.0));
        }
        None => words.push(shell_word(&map.target.path)),
    }
    if (map.positions.len(), map.passes) != USUAL {
        words.push(format!("--positions {} --passes {}", map.positions.len(), map.passes));
    }
    words.push(format!("--bs {} --iodepth {} --seed {}", map.request_bytes.0, map.depth, map.seed));
    words.join(" ")
}

/// The array's share of its members' total, and each member.
fn members(story: &mut Story, map: &ZoneMap, array: &ArrayZones) {
    let count = f64::from(array.count);
    let give = |share: &Measured<Estimate>| {
        told(share, |share| {
            let held = share.high < HELD_BACK;
            let why = if held { ": the bottleneck is above the members" } else { "" };
            let share = number::with_range(share, number::percent);
            format!("{share} of {count} times the slowest member's rate{why}")
        })
    };
    story.fact("first positions", give(&array.first_share));
    story.fact("last positions", give(&array.last_share));
    // Members without zones have no slow zone.
    let zoned = array.members.iter().filter(|member| member.bands.len() > 1);
    let slow = zoned.filter_map(|member| member.inner_loss.value());
    let most = slow.max_by(|a, b| a.value.total_cmp(&b.value));
    if let (Some(member), Some(whole)) = (most, map.inner_loss.value()) {
        let [member, array] = [member, whole].map(|loss| number::percent(loss.value));
        let member = format!("a member loses {member} of its rate, the array {array}");
        story.fact("slow zone", format!("from the first to the last positions, {member}"));
    }
    // Among equal members, none is the slowest.
    if array.members.len() > 1 {
        let cost = told(&array.slowest_cost, |cost| {
            let share = number::with_range(cost, number::percent);
            format!("the slowest member costs {share} of the members' total")
        });
        story.fact("slowest", cost);
    }
    let remark = match array.members.as_slice() {
        [_] => format!("one member for all {}, alone at QD {}", array.count, array.member_depth),
        _ => format!("each alone at QD {}", array.member_depth),
    };
    let rate = |member: &MemberZones, last: bool| {
        let place = if last { member.positions.last() } else { member.positions.first() };
        place.map_or(0.0, |place| place.bytes_per_s.value)
    };
    story.section("Members", &remark).table(&array.members, |t| {
        t.right("first", |member| number::rate(rate(member, false)));
        t.right("last", |member| number::rate(rate(member, true)));
        t.right("mean", |member| number::rate(member.mean_bytes_per_s.value));
        t.right("loss", |member| told(&member.inner_loss, |loss| number::percent(loss.value)));
        t.left("member", |member| member.target.path.clone()).gap(3);
    });
}

fn loss(map: &ZoneMap) -> String {
    told(&map.inner_loss, |loss| {
        let none = if loss.includes(0.0) { "; it may be zero" } else { "" };
        let range = number::with_range(loss, number::percent);
        format!("{range} from the first to the last positions{none}")
    })
}

fn bands(story: &mut Story, map: &ZoneMap) {
    let [first, _, ..] = map.bands.as_slice() else { return };
    let first = first.bytes_per_s.value;
    let remark = "ranges of equal rate; one range may combine several narrow zones of a disk";
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
        many => format!("mean rate of {many} positions per line"),
    };
    let lines = map.positions.chunks(per_line).filter_map(|group: &[ZonePosition]| {
        let rates: Vec<f64> = group.iter().map(|place| place.bytes_per_s.value).collect();
        Some((group.first()?.offset_bytes, stats::mean(&rates)))
    });
    let lines: Vec<(Bytes, f64)> = lines.collect();
    let largest = lines.iter().map(|(_, rate)| *rate).fold(f64::MIN_POSITIVE, f64::max);
    story.section("Map", &remark).supporting().table(lines, |t| {
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
    let (chance, p) = (number::percent(map.false_alarm_share), number::digits(map.p_value));
    let finding = match steps(map) {
        None => format!("No step was found (false-alarm rate {chance})."),
        Some(zones) => format!("{zones}; the probability of such steps by chance is {p}."),
    };
    let series = vec![
        Series::new("positions", Form::Marks, points),
        Series::new("zones", Form::Trace, bands.collect()),
    ];
    let x = Axis::over("position", Some(Unit::Bytes), xs(&series));
    let y = Axis::from_zero("throughput", Some(Unit::BytesPerSecond), ends(&series));
    let errors = "Error bars and bands: 95 % confidence interval over the passes.";
    let chart = Chart::new("Throughput against position", finding, (x, y), series);
    Some(chart.errors(errors).rules([Rule::level(most / 2.0, "half of the measured maximum")]))
}
