//! Builds the report of `halfpower cost --price`: accesses per second and per unit of money, and the
//! number of disks that saturate a path.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends_across, ys};
use crate::number;
use crate::page::Tone;
use crate::story::{Cell, Story, joined};
use record::{Fill, PriceDocument, PriceRow, Sizing, Unit, format_bytes};

/// The story of cost and performance.
#[must_use]
pub fn price(document: &PriceDocument) -> Story {
    let money = &document.currency;
    let price = document.price.map(|price| format!(", {} {money}", number::digits(price)));
    let subject = format!("{}{}", document.target, price.unwrap_or_default());
    let mut story = Story::new("Cost", subject, document.simulated).saved("", &document.findings);
    story.fact("sequential", number::rate_with_interval(&document.sequential_bytes_per_s));
    if let Some(bytes) = document.bytes_per_price {
        let capacity = format_bytes(document.capacity_bytes.0);
        let megabytes = number::digits(bytes / 1e6);
        story.fact("capacity", format!("{megabytes} MB per {money}, for {capacity}"));
    }
    story.headline = headline(document);
    let megabytes = document.rows.iter().filter_map(|row| Some((row, row.price_per_maps?)));
    if let Some((row, cost)) = megabytes.min_by(|(_, a), (_, b)| a.total_cmp(b)) {
        let (cost, depth) = (number::digits(cost), row.depth);
        let text = format!("At QD {depth}, each 1 MB read per second costs {cost} {money}.");
        story.takeaway("", text);
    }
    story.charts.extend([filled(document), per_price(document)].into_iter().flatten());
    accesses(&mut story, document);
    fills(&mut story, document);
    story.condition("profile", &document.profile_id);
    story.written_by(&document.halfpower_version);
    story
}

fn accesses(story: &mut Story, document: &PriceDocument) {
    let remark = format!(
        "KAPS: random {} reads per second. MAPS: 1 MB reads per second; each takes positioning \
         and transfer, or only the transfer if requests overlap",
        format_bytes(document.access_bytes.0)
    );
    let money = &document.currency;
    let digits = |value: Option<f64>| Cell::or_empty(value, number::digits);
    story.section("Accesses", &remark).table(&document.rows, |t| {
        t.left("", |row| format!("QD {}", row.depth));
        t.right("KAPS", |row| Cell::toned(number::count(row.kaps.value), Tone::Strong));
        t.interval(|row| row.kaps);
        t.right("MAPS", |row| Cell::toned(number::digits(row.maps), Tone::Strong));
        t.right(format!("KAPS/{money}"), |row| digits(row.kaps_per_price));
        t.right(format!("MAPS/{money}"), |row| digits(row.maps_per_price));
        t.right(format!("{money}/KAPS"), |row| digits(row.price_per_kaps));
        t.right(format!("{money}/MAPS"), |row| digits(row.price_per_maps));
    });
}

fn fills(story: &mut Story, document: &PriceDocument) {
    if document.fills.is_empty() {
        return;
    }
    let remark = "for sequential reads, and for random reads at QD 1";
    let section = story.section("Disks per component", remark);
    let words = |sizing: &Sizing| match sizing.carried {
        0 => format!("one disk needs {} of it", number::percent(1.0 / sizing.quotient)),
        carried if carried == sizing.saturating => format!("{carried} saturate it"),
        carried => format!("{carried} at full speed, {} saturate it", sizing.saturating),
    };
    for fill in &document.fills {
        let (sequential, random) = (words(&fill.sequential), words(&fill.random));
        let rate = number::rate(fill.bytes_per_s);
        section.row(
            &fill.name,
            format!("{rate}; sequential reads: {sequential}; random reads: {random}"),
        );
    }
}

/// The cost of an access, or the number of disks needed.
fn headline(document: &PriceDocument) -> String {
    let best = document.rows.iter().filter_map(|row| Some((row, row.price_per_kaps?)));
    let best = best.min_by(|(_, a), (_, b)| a.total_cmp(b));
    let cost = best.map(|(row, price)| {
        let (price, money) = (number::digits(price), &document.currency);
        let size = format_bytes(document.access_bytes.0);
        format!("At QD {}, each random {size} read per second costs {price} {money}.", row.depth)
    });
    let first = document.fills.first().map(|fill| {
        let disks = number::counted(fill.sequential.saturating as f64, "such disk");
        let verb = if fill.sequential.saturating == 1 { "fills" } else { "fill" };
        format!("{disks} {verb} {} with sequential reads.", fill.name)
    });
    cost.or(first).unwrap_or_default()
}

/// The throughput of a number of disks, and the limits that it saturates: the break-even is where a
/// line meets a rule.
fn filled(document: &PriceDocument) -> Option<Chart> {
    let fills = &document.fills;
    let first = fills.first()?;
    let most =
        fills.iter().map(|fill| fill.random.saturating.max(fill.sequential.saturating)).max()?;
    let counts: Vec<f64> = std::iter::successors(Some(1.0), |count| Some(count * 2.0))
        .take_while(|count| *count < 2.0 * most as f64)
        .collect();
    // The throughput of a single disk follows from the limit and the number of disks that saturate it.
    let line = |name: &str, of: fn(&Fill) -> &Sizing| {
        let each = first.bytes_per_s / of(first).quotient;
        let points = counts.iter().map(|count| Point::bare(*count, count * each));
        Series::new(name, Form::Curve, points.collect())
    };
    let series = vec![
        line("sequential reads", |fill| &fill.sequential),
        line("random reads at QD 1", |fill| &fill.random),
    ];
    let rules: Vec<Rule> =
        fills.iter().map(|fill| Rule::level(fill.bytes_per_s, &fill.name)).collect();
    let finding = joined(fills, " ", |fill| {
        format!(
            "{} is saturated by {} with sequential reads, or {} with random reads.",
            fill.name,
            number::counted(fill.sequential.saturating as f64, "disk"),
            fill.random.saturating
        )
    });
    let values = ys(&series).chain(rules.iter().map(|rule| rule.at));
    Some(Chart {
        title: "Number of disks that saturate each component".to_owned(),
        finding,
        errors: "The rate of one disk times the number of disks, assuming no overhead of adapters \
                 and hosts. The error bars cover the figures of this one disk."
            .to_owned(),
        x: Axis::at_values("disks", None, true, counts.iter().copied()),
        y: Axis::decades("throughput of all", Some(Unit::BytesPerSecond), values),
        series,
        rules,
    })
}

/// Accesses per second that a unit of money buys.
fn per_price(document: &PriceDocument) -> Option<Chart> {
    let price = document.price?;
    let rows = || document.rows.iter().enumerate();
    let kaps =
        rows().map(|(at, row)| Point::known(at as f64, &row.kaps.scaled(price.recip())).across());
    let maps = rows().filter_map(|(at, row)| Some(Point::bare(row.maps_per_price?, at as f64)));
    let series = vec![
        Series::new("KAPS, small random reads", Form::Marks, kaps.collect()),
        Series::new("MAPS, reads of a megabyte", Form::Marks, maps.collect()),
    ];
    let ratio =
        |of: fn(&PriceRow) -> f64| Some(of(document.rows.last()?) / of(document.rows.first()?));
    let finding = match (document.rows.as_slice(), ratio(|row| row.kaps.value)) {
        ([_, .., last], Some(times)) => format!(
            "QD {} makes small reads {} times as cheap as QD 1.",
            last.depth,
            number::digits(times)
        ),
        _ => "A higher queue depth does not increase the accesses on this device.".to_owned(),
    };
    let money = &document.currency;
    Chart {
        title: format!("Accesses per second and {money}"),
        finding,
        errors: "Error bars: 95 % intervals of the rate; the price is exact. MAPS are computed \
                 from two rates and have no intervals."
            .to_owned(),
        x: Axis::decades(&format!("per second and {money}"), None, ends_across(&series)),
        y: Axis::named(document.rows.iter().map(|row| format!("QD {}", row.depth)).collect()),
        series,
        rules: Vec::new(),
    }
    .unless_empty()
}
