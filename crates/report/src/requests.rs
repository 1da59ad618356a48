//! Builds the report on recorded requests: their totals.

use crate::chart::{Axis, Chart, Form, Point, Series, xs, ys};
use crate::number::{self, counted};
use crate::story::{Story, joined};
use crate::trial::sizes;
use record::{
    CachePoint, RequestsSide, RequestsSummary, Spacing, Unit, enough_cache, format_bytes,
    shell_word,
};

/// Least share of reads for which a cache size is listed.
const CACHE_SHARE_MIN: f64 = 0.005;

/// The story of recorded requests.
pub fn requests(summary: &RequestsSummary) -> Story {
    let span = number::time(summary.span_ns.0 as f64);
    let requests = counted(summary.requests as f64, "request");
    let subject = format!("{} with {requests} in {span}", summary.source);
    let mut story = Story::new("Recorded requests", subject, false);
    story.headline = joined(summary.sides(), ", ", |(name, side)| {
        format!("{} {name}/s of {}", number::count(side.per_s), sizes(&side.sizes))
    });
    for (name, side) in summary.sides() {
        facts(&mut story, name, side);
    }
    story.takeaway("arrivals", arrivals(summary));
    story.charts.extend([cached(summary), sizes_of(summary)].into_iter().flatten());
    beside(&mut story, summary);
    cache(&mut story, summary);
    story.condition("requests", &summary.digest);
    story.written_by(&summary.halfpower_version);
    story
}

/// The other requests in the recording.
fn beside(story: &mut Story, summary: &RequestsSummary) {
    let section = story.section("Other requests", "");
    let many = |count: u64| number::count(count as f64);
    section.row("flushes", many(summary.flushes));
    section.row("discards", many(summary.discards));
    section.row("lost", summary.lost.map_or_else(|| "not in the file".to_owned(), many));
    section.row("reach", format_bytes(summary.reach.0));
    let devices = Some(summary.devices).filter(|devices| *devices > 1);
    section.rows("devices", devices.map(|devices| number::count(f64::from(devices))));
}

/// The shares of recorded reads that caches of some sizes would have served, in one line.
#[must_use]
pub fn reuse(curve: &[CachePoint], source: &str) -> String {
    let told = curve.iter().filter(|point| point.read_hit_share >= CACHE_SHARE_MIN);
    let sizes = joined(told, ", ", |point| {
        format!("{} with {}", number::percent(point.read_hit_share), format_bytes(point.bytes.0))
    });
    if sizes.is_empty() {
        return format!("{source}: reads hardly ever repeat, so a cache would not help");
    }
    format!("{source}: share of the reads that a cache would have served: {sizes}")
}

/// The reads that a cache of each size would have served.
fn cache(story: &mut Story, summary: &RequestsSummary) {
    let Some(last) = summary.cache.last().filter(|last| last.read_hit_share > 0.0) else { return };
    // Sizes below the first that serves any reads are left out.
    let told = summary.cache.iter().filter(|point| point.read_hit_share >= CACHE_SHARE_MIN);
    let remark = "an LRU cache in front of these requests, initially empty";
    let section = story.section("Reads that a cache would serve", remark);
    section.table(told, |t| {
        t.right("size", |point| format_bytes(point.bytes.0));
        t.right("reads served", |point| number::percent(point.read_hit_share));
    });
    let (size, share) = (format_bytes(last.bytes.0), number::percent(last.read_hit_share));
    let enough = enough_cache(&summary.cache).unwrap_or(*last);
    let memory = format_bytes(enough.bytes.0).replace(' ', "");
    let source = shell_word(&summary.source);
    section.note(format!(
        "A cache larger than {size} serves no more than {share}. To predict the effect of memory: \
         halfpower predict RECORDING --memory {memory} --recorded {source}"
    ));
}

/// How the requests of each direction arrive, in words.
fn arrivals(summary: &RequestsSummary) -> String {
    joined(summary.sides(), ", ", |(name, side)| format!("{name} arrive {}", spacing(side).1))
}

/// How requests are spaced, in a word and in a sentence.
fn spacing(side: &RequestsSide) -> (&'static str, &'static str) {
    match side.spacing() {
        Spacing::Even => ("even", "at equal intervals"),
        Spacing::Chance => ("by chance", "at random, as from independent users"),
        Spacing::Bursts => ("bursts", "in bursts"),
    }
}

fn facts(story: &mut Story, name: &str, side: &RequestsSide) {
    let mean = side.bytes.0 as f64 / side.requests.max(1) as f64;
    story.fact_of(name, "number", number::count(side.requests as f64));
    story.fact_of(name, "rate", number::per_second(side.per_s));
    story.fact_of(name, "mean size", format_bytes(mean as u64));
    story.fact_of(name, "adjacent", number::percent(side.sequential_share));
    let over = number::time(side.dispersion_over_ns.0 as f64);
    let kind = spacing(side).0;
    let dispersion = format!("{} in {over}: {kind}", number::digits(side.dispersion));
    story.fact_of(name, "dispersion", dispersion);
    let span = side.end.0.saturating_sub(side.begin.0);
    let touched = format!("{} of {}", format_bytes(side.touched.0), format_bytes(span));
    story.fact_of(name, "touched", touched);
    let popular = match side.zipf_theta {
        Some(theta) => format!("Zipf, theta {}", number::digits(theta)),
        None => "all positions equally often".to_owned(),
    };
    story.fact_of(name, "popularity", popular);
}

/// The share of reads that a cache of each size would have served.
fn cached(summary: &RequestsSummary) -> Option<Chart> {
    let enough = enough_cache(&summary.cache).filter(|point| point.read_hit_share > 0.0)?;
    let points = summary.cache.iter().map(|it| Point::bare(it.bytes.0 as f64, it.read_hit_share));
    let series = vec![Series::new("reads served", Form::Curve, points.collect())];
    let (size, share) = (format_bytes(enough.bytes.0), number::percent(enough.read_hit_share));
    let finding =
        format!("A cache of {size} serves {share} of the reads, and a larger one hardly more.");
    let errors = "Counted over all requests of the recording, so there are no error bars. The cache \
                  is LRU and initially empty.";
    let x = Axis::at_values("size of the cache", Some(Unit::Bytes), true, xs(&series));
    let y = Axis::from_zero("of the reads", Some(Unit::Share), ys(&series));
    let chart = Chart::new("Reads that a cache would serve", finding, (x, y), series);
    chart.errors(errors).unless_empty()
}

/// The distribution of request sizes.
fn sizes_of(summary: &RequestsSummary) -> Option<Chart> {
    let mut bytes: Vec<u64> =
        summary.sides().flat_map(|(_, side)| side.sizes.iter().map(|size| size.bytes.0)).collect();
    bytes.sort_unstable();
    bytes.dedup();
    // The headline states a single size.
    if summary.sides().all(|(_, side)| side.sizes.len() < 2) {
        return None;
    }
    let series = summary.sides().map(|(name, side)| {
        let points = side.sizes.iter().filter_map(|size| {
            let row = bytes.iter().position(|one| *one == size.bytes.0)?;
            Some(Point::bare(f64::from(size.percent) / 100.0, row as f64))
        });
        Series::new(name, Form::Bars, points.collect())
    });
    let series: Vec<Series> = series.collect();
    let finding = joined(summary.sides(), " ", |(name, side)| {
        let most = side.sizes.iter().max_by_key(|size| size.percent);
        most.map_or_else(String::new, |most| {
            let share = number::percent(f64::from(most.percent) / 100.0);
            format!("{share} of the {name} are {} long.", format_bytes(most.bytes.0))
        })
    });
    let x = Axis::from_zero("of the reads or of the writes", Some(Unit::Share), xs(&series));
    let y = Axis::named(bytes.iter().map(|bytes| format_bytes(*bytes)).collect());
    Chart::new("Sizes of the requests", finding, (x, y), series)
        .errors("The most frequent sizes and the largest size. Counts have no error bars.")
        .unless_empty()
}
