//! Tests the content of pages for single kinds of documents.

use crate::report::common;
use model::papers::{self, Chart, Class, ClassCount, PAPERS_SCHEMA, Paper, Point, Row, Verdict};
use record::{
    Bytes, CacheMode, ComponentUse, CostFit, CostLine, CostModel, CostPoint, Estimate, Figure,
    HistogramSnapshot, Interval, Locality, Measured, Mix, ModelName, Observation, ObservedDevice,
    Offered, OpKind, Pattern, PhaseUse, Prediction, PredictionDocument, SavedDocument, Traced,
    TracedOp,
};
use report::{self, Block, Extent, Style, cost_fit, observation, papers as story, terminal};
use std::collections::{BTreeMap, BTreeSet};

fn fit(break_even_bytes: Measured<Estimate>) -> CostFit {
    let line = |cache, fixed: f64, per_kib: f64| CostLine {
        cache,
        points: [4_096_u64, 65_536]
            .map(|bytes| CostPoint {
                bytes: Bytes(bytes),
                us_per_io: Estimate::symmetric(fixed + per_kib * bytes as f64 / 1024.0, 0.5, 3),
                residual_us: Some(0.3),
            })
            .to_vec(),
        line: Measured::Value(CostModel {
            fixed_us: Estimate::symmetric(fixed, 1.0, 9),
            us_per_kib: Estimate::symmetric(per_kib, 0.01, 9),
            reduced_chi_square: 1.0,
        }),
    };
    CostFit {
        schema: record::COST_FIT_SCHEMA.to_owned(),
        halfpower_version: "0".to_owned(),
        id: "id".to_owned(),
        time: None,
        seed: 1,
        targets: Vec::new(),
        op: OpKind::Read,
        pattern: Pattern::Random,
        depth: 1,
        area_bytes: Bytes(64 << 20),
        modes: vec![line(CacheMode::All, 12.0, 6.0), line(CacheMode::Device, 50.0, 0.5)],
        break_even_bytes,
        findings: Vec::new(),
        environment: None,
    }
}

#[test]
fn the_page_of_a_cost_fit_gives_both_lines_their_points_and_where_they_cross() {
    let crossing = Estimate { low: 6_000.0, high: 8_000.0, ..Estimate::symmetric(7_065.0, 1.0, 9) };
    let text = terminal(&cost_fit(&fit(Measured::Value(crossing))), &Style::default());
    assert!(text.contains("12.0 µs ± 1.00 µs + 6.00 µs ± 10.0 ns per KiB"), "{text}");
    assert!(text.contains("cost the same at 6.90 KiB"), "{text}");
    assert!(text.contains("64 KiB"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_cost_fit_without_a_crossing_says_why() {
    let reason = "no break-even in this range: requests buffered cost more at every size";
    let text = terminal(&cost_fit(&fit(Measured::not(reason))), &Style::default());
    assert!(text.contains("no break-even in this range"), "{text}");
}

/// The text of a trial about its device's components.
fn text(components: &[ComponentUse]) -> String {
    let mut trial = common::clean_trial();
    trial.result.components = components.to_vec();
    let blocks = report::trial(&trial).sections.into_iter().flat_map(|section| section.blocks);
    let mut row = blocks.filter_map(|block| match block {
        Block::Row(name, text) if name == "components" => Some(text),
        _ => None,
    });
    row.next().unwrap()
}

fn component(name: &str, busy_share: f64) -> ComponentUse {
    let phase = |name: &str, share| PhaseUse { name: name.to_owned(), share };
    let phases = vec![phase("data", 0.75), phase("selection", 0.25)];
    ComponentUse { name: name.to_owned(), units: 1, busy_share, phases }
}

#[test]
fn the_busiest_component_binds_only_if_it_is_busy_nearly_all_the_time() {
    let bus = text(&[component("drive 0", 0.4), component("bus 0", 0.98)]);
    assert!(
        bus.starts_with("bus 0 is the bottleneck. Busy: bus 0 98 % (data 75 %, selection 25 %)"),
        "{bus}"
    );
    let none = text(&[component("drive 0", 0.4), component("bus 0", 0.5)]);
    assert!(none.starts_with("no bottleneck"), "{none}");
}

#[test]
fn of_several_that_are_always_busy_the_one_nearest_to_the_host_binds() {
    let path = [component("PCI 0", 0.96), component("bus 0", 1.0), component("drive 0", 0.99)];
    let shown = text(&path);
    assert!(shown.starts_with("PCI 0 is the bottleneck. Busy: bus 0 100 %"), "{shown}");
}

#[test]
fn of_many_components_the_busiest_are_shown_and_the_others_counted() {
    let many: Vec<ComponentUse> = (0..1_000)
        .map(|index| component(&format!("drive {index}"), f64::from(index) / 1e3))
        .collect();
    let shown = text(&many);
    assert!(shown.contains("drive 999") && shown.contains("994 others at most 99"), "{shown}");
    assert!(shown.len() < 500, "{shown}");
}

fn histogram(values: &[u64]) -> HistogramSnapshot {
    HistogramSnapshot { buckets: values.iter().map(|value| (*value as u32, 1)).collect() }
}

fn observed(traced: Option<Traced>) -> String {
    let processes = traced.is_some().then(|| vec![common::process(7, "a\u{1b}b", 2)]);
    let interval = Interval {
        device: "sda".into(),
        duration_ns: 1_000_000_000,
        traced: traced.map(Box::new),
        processes,
        ..Interval::default()
    };
    let device = ObservedDevice { name: "sda".into(), ..ObservedDevice::default() };
    let observed =
        Observation { devices: vec![device], intervals: vec![interval], ..Observation::default() };
    terminal(&observation(&observed), &Style::default())
}

#[test]
fn what_was_traced_is_told_with_both_parts_and_without_a_tracer_nothing_is() {
    assert!(!observed(None).contains("tracer"));
    let mut traced = Traced { lost: 3, ..Traced::default() };
    traced.read = TracedOp {
        queue_ns: histogram(&[100, 101]),
        device_ns: histogram(&[300, 301]),
        sequential_share: Some(0.5),
        ..TracedOp::default()
    };
    let text = observed(Some(traced));
    let row: Vec<&str> = text
        .lines()
        .find(|line| line.contains("sda") && line.contains("reads"))
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!((row[0], row[1], row[2]), ("sda", "reads", "2"));
    assert!(row.ends_with(&["50", "%"]), "{row:?}");
    assert!(!text.contains("writes  "), "{text}");
    assert!(text.contains("3 requests lost"), "{text}");
    assert!(text.contains("(7) in db.service") && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("no request waited"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// A report of one series, one claim and two rows that were not attempted.
fn example() -> papers::Report {
    let points = [(2.0, 1.0, 1.1), (64.0, 8.0, 4.0)].map(|(x, published, reproduced)| Point {
        x: Some(x),
        published: Some(published),
        reproduced: Some(reproduced),
        fitted: false,
    });
    let series = Row {
        id: "fig1.a".to_owned(),
        paper: Paper::Riedel,
        figure: "Figure 1".to_owned(),
        chart: Some("fig1".to_owned()),
        subject: "Disk <b>\u{1b}[2J of a very long name that fits no column at all".to_owned(),
        unit: "MB/s".to_owned(),
        class: Class::Simulated,
        published: "1.00 .. 8.00".to_owned(),
        reproduced: Some("1.10 .. 4.00".to_owned()),
        points: points.to_vec(),
        deviation: Some(0.3),
        deviation_max: Some(0.5),
        tolerance: "median 15%, max 40%".to_owned(),
        verdict: Verdict::Deviates,
        reason: "median 30%; max 50%".to_owned(),
        method: "a[x]".to_owned(),
        runs: vec!["halfpower run sim:a --bs 2k".to_owned()],
    };
    let claim = Row {
        id: "R1".to_owned(),
        chart: None,
        subject: "a claim".to_owned(),
        class: Class::Derived,
        verdict: Verdict::Reproduced,
        reason: String::new(),
        deviation: Some(-0.004),
        ..series.clone()
    };
    let not_tried = |id: &str| Row {
        id: id.to_owned(),
        class: Class::NotTestable,
        verdict: Verdict::NotTried,
        reason: "an input".to_owned(),
        reproduced: None,
        points: Vec::new(),
        ..claim.clone()
    };
    let rows = vec![series, claim.clone(), not_tried("R2"), not_tried("R3")];
    let counts = Class::ALL.map(|class| ClassCount {
        class,
        rows: rows.iter().filter(|row| row.class == class).count(),
        series: 0,
        reproduced: 0,
        series_reproduced: 0,
    });
    papers::Report {
        schema: PAPERS_SCHEMA.to_owned(),
        halfpower_version: "0".to_owned(),
        without: vec!["seek".to_owned()],
        machines: Vec::new(),
        rows,
        charts: vec![Chart {
            name: "fig1".to_owned(),
            paper: Paper::Riedel,
            figure: "Figure 1".to_owned(),
            title: "A & B".to_owned(),
            x_title: "size (KiB)".to_owned(),
            x_log: true,
            y_title: "rate (MiB/s)".to_owned(),
        }],
        counts: counts.to_vec(),
        testable: 1,
        reproduced: 0,
        met: false,
        threshold_derived: 1.0,
        threshold_series: 0.9,
    }
}

#[test]
fn every_line_of_the_papers_fits_and_no_verdict_is_cut() {
    let text = terminal(&story(&example()), &Style::default());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for (id, end) in [("fig1.a", "30 % (50 %)  deviates"), ("R1", "-0.4 %  reproduced")] {
        let mut lines = text.lines().filter(|line| line.trim().starts_with(id));
        assert!(lines.any(|line| line.ends_with(end)), "{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn what_is_not_tried_is_told_by_reason_with_its_ids_together() {
    let short = Style { extent: Extent::Short, ..Style::default() };
    let text = terminal(&story(&example()), &short);
    assert!(text.contains("not testable: an input (R2 R3)"), "{text}");
    assert!(text.contains("fig1.a  median 30%; max 50%"), "{text}");
    assert!(!text.contains("halfpower run"), "{text}");
}

#[test]
fn the_page_opens_with_the_answer_and_says_what_was_switched_off() {
    let text = terminal(&story(&example()), &Style::default());
    assert!(text.contains("seek switched off"), "{text}");
    assert!(text.lines().nth(2).unwrap().contains("0 of 1 testable"), "{text}");
}

#[test]
fn a_figure_stands_twice_on_the_same_ordinate() {
    let charts = story(&example()).charts;
    assert_eq!(charts.len(), 3);
    assert_eq!(charts[1].y, charts[2].y);
    assert_ne!(charts[1].series, charts[2].series);
}

const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn moments_are_dates_of_the_calendar() {
    for (second, date) in [
        (0, "0 ns"),
        (1_582_934_400, "2020-02-29 00:00:00"),
        (1_591_012_801, "2020-06-01 12:00:01"),
        (4_107_542_399, "2100-02-28 23:59:59"),
    ] {
        let interval = Interval {
            device: "sda".into(),
            begin_ns: second * SECOND_NS,
            duration_ns: SECOND_NS,
            ..Interval::default()
        };
        let observed = Observation { intervals: vec![interval], ..Observation::default() };
        let span = &observation(&observed).facts[0].value;
        assert!(span.starts_with(&format!("{date} to ")), "{span}");
    }
}

#[test]
fn the_page_says_what_was_read_and_shows_no_zero_for_what_is_unknown() {
    let mut interval = Interval {
        device: "sd\u{1b}[31ma".into(),
        begin_ns: 1_591_012_801 * SECOND_NS,
        duration_ns: SECOND_NS,
        ..Interval::default()
    };
    interval.all.per_s = Some(Figure::measured(100.0, 0.01));
    let device = ObservedDevice { name: interval.device.clone(), ..ObservedDevice::default() };
    let observed = Observation {
        source: "test".into(),
        devices: vec![device],
        intervals: vec![interval],
        ..Observation::default()
    };
    let text = terminal(&observation(&observed), &Style::default());
    assert!(text.contains("2020-06-01 12:00:01 to 2020-06-01 12:00:02 UTC"), "{text}");
    let row = text.lines().find(|line| line.starts_with("  sd")).unwrap();
    assert!(row.ends_with('–') && row.contains(" 100 ") && !row.contains(" 0"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn notes_on_percentiles_name_no_column_that_a_narrow_page_drops() {
    let mut profile = common::fast_profile();
    for curve in &mut profile.depth_curves {
        curve.points.iter_mut().for_each(|point| point.p99_ns = None);
    }
    for cell in &mut profile.cells {
        cell.histogram = HistogramSnapshot::default();
    }
    let story = report::profile(&profile, &[]);
    for width in [60, 80, 120] {
        let page = terminal(&story, &Style { width, ..crate::report::LOG });
        assert!(page.contains("–: too few requests for a percentile."), "{page}");
        let notes: Vec<&str> = page.lines().filter(|line| line.contains("too few")).collect();
        assert!(notes.iter().all(|line| !line.contains("p50")), "{page}");
        assert!(!page.contains("p99.9:") && !page.contains("p50 and p99"), "{page}");
    }
}

/// Each value with `±` on a page, with the intervals printed beside it.
fn intervals(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let words: Vec<&str> = page.split_whitespace().collect();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for at in 2..words.len() {
        if let Some(interval) = words[at].strip_prefix('±') {
            let value = words[at - 2..at].join(" ");
            found.entry(value).or_default().insert(interval.to_owned());
        }
    }
    found
}

#[test]
fn each_number_on_the_page_of_a_check_has_one_interval_that_of_another_run() {
    let mut profile = common::fast_profile();
    profile.level_se_rel = Some(0.1);
    let common = profile.common_se();
    let limits = &mut profile.limits;
    let rates = [&mut limits.read_iops, &mut limits.write_iops];
    for rate in
        rates.into_iter().chain([&mut limits.read_bytes_per_s, &mut limits.write_bytes_per_s])
    {
        *rate = rate.map(|rate| rate.with_ratio_error(common));
    }
    for cell in &mut profile.cells {
        cell.rerun_iops = cell.iops.with_ratio_error(common);
    }
    let most = profile.limits.read_iops.unwrap();
    profile.caps = vec![record::Cap {
        op: None,
        bytes: false,
        per_s: Estimate::symmetric(most.value, 0.001 * most.value, 3),
        cells: 3,
        published: None,
    }];
    let page = terminal(&report::profile(&profile, &[]), &crate::report::LOG);
    assert!(page.contains("Capped at"), "{page}");
    for (value, intervals) in intervals(&page) {
        assert_eq!(intervals.len(), 1, "{value} {intervals:?}\n{page}");
    }
    // The difference between runs, ±20 %, is in each of them.
    let page_of = |title: &str| {
        let from = page.find(title).unwrap_or_else(|| panic!("{title}: {page}"));
        page[from..].split("\n\n").next().unwrap_or_default().to_owned()
    };
    for title in ["Depth curve", "Size curve", "Service times"] {
        let part = page_of(title);
        let intervals = part.split('±').skip(1).filter_map(|it| it.split_once(" %"));
        let intervals: Vec<f64> = intervals.filter_map(|(it, _)| it.parse().ok()).collect();
        assert!(intervals.iter().all(|it| *it >= 19.0), "{title}: {intervals:?}\n{part}");
    }
}

#[test]
fn a_disk_whose_speed_varies_by_a_factor_is_not_a_hundred_percent_slower() {
    let mut profile = common::fast_profile();
    profile.level_se_rel = Some(0.95);
    let common = profile.common_se();
    let limits = &mut profile.limits;
    limits.read_iops = limits.read_iops.map(|rate| rate.with_ratio_error(common));
    let headline = report::profile(&profile, &[]).headline;
    assert!(headline.contains("times as fast or as slow"), "{headline}");
    assert!(!headline.contains("% faster or slower"), "{headline}");
}

#[test]
fn a_prediction_gives_its_error_once() {
    let latency = Estimate::within_ratio(1e6, 0.2);
    let prediction = Prediction {
        model: ModelName::Calibrated,
        mix: Mix::one(OpKind::Read, Locality::Random, 4096),
        offered: Offered::PoissonPerS(1000.0),
        latency_ns: latency,
        read_latency_ns: None,
        write_latency_ns: None,
        unloaded_latency_ns: latency,
        after_rest_ns: None,
        queue_ns: 0.0,
        p50_ns: None,
        p90_ns: None,
        p99_ns: None,
        iops: Estimate::symmetric(1000.0, 0.0, 1),
        concurrency: 1.0,
        utilization: 0.5,
        saturation: 0.5,
        max_iops: Estimate::symmetric(2000.0, 20.0, 3),
        in_run_rel: 0.03,
        extrapolated: Vec::new(),
    };
    let document = PredictionDocument {
        target: Some("/dev/sdz".to_owned()),
        advised: Some(prediction.model),
        predictions: vec![prediction],
        ..PredictionDocument::default()
    };
    let story = report::stories(&[SavedDocument::Prediction(Box::new(document))]).remove(0);
    let page = terminal(&story, &Style { width: 400, ..crate::report::LOG });
    let check = story.takeaways.iter().find(|(name, _)| name == "how to check it");
    let left = "another file or another time may differ by 20 %";
    assert!(check.is_some_and(|(_, text)| text.ends_with(left)), "{check:?}");
    assert!(page.contains("the error of the latency is 3 %, excluding differences"), "{page}");
    // The interval of the maximum rate, which has no other.
    assert_eq!(page.matches('±').count(), 1, "{page}");
}
