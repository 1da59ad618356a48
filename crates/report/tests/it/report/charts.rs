//! Tests what becomes of a chart: axes, drawings, tables, data.

use crate::report::common::clean_trial;
use record::{HistogramSnapshot, Unit};
use report::chart::{Axis, Chart, Form, Point, Rule, Series};
use report::{self, CSV_HEADER, Story, csv, plot_files, report_html};
use serde_json::json;
use std::collections::BTreeSet;

/// A chart with every form except rows, and hostile names.
pub(crate) fn example() -> Chart {
    let points = |top: f64| {
        vec![
            Point::within(2.0, 1.0, 0.8, 1.2),
            Point::within(64.0, top, top * 0.9, top * 1.1).remark("</script> \u{202e}"),
        ]
    };
    Chart {
        title: "\"x\" & <b>".to_owned(),
        finding: "It rises <script>alert(1)</script>.".to_owned(),
        errors: "bars: 95 %".to_owned(),
        x: Axis::at_values("size (KiB)", None, true, [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]),
        y: Axis::from_zero("rate", Some(Unit::PerSecond), [1.0, 8.7]),
        series: vec![
            Series::new("a<0", Form::Curve, points(8.7)),
            Series::new("a<1", Form::Trace, points(4.0)),
            Series::new("a<2", Form::Marks, points(2.0)),
        ],
        rules: vec![Rule::level(4.35, "half <of> it"), Rule::upright(8.0, "8")],
    }
}

/// A row chart.
pub(crate) fn rows() -> Chart {
    let names = ["memory <x>", "bus", "disk"].map(str::to_owned).to_vec();
    let bars =
        (0..3).map(|row| Point::within(f64::from(3 - row), f64::from(row), 0.5, 3.5)).collect();
    let marks = (0..3).map(|row| Point::bare(f64::from(4 - row), f64::from(row))).collect();
    Chart {
        title: "path".to_owned(),
        finding: "The disk binds.".to_owned(),
        errors: String::new(),
        x: Axis::from_zero("rate", Some(Unit::BytesPerSecond), [4.0]),
        y: Axis::named(names),
        series: vec![
            Series::new("measured", Form::Bars, bars),
            Series::new("advertised", Form::Marks, marks),
        ],
        rules: Vec::new(),
    }
}

#[test]
fn a_value_that_is_no_number_is_not_drawn() {
    let points = vec![Point::bare(1.0, f64::NAN), Point::bare(2.0, 3.0)];
    assert_eq!(Series::new("", Form::Curve, points).points.len(), 1);
}

/// A page with one chart.
fn page(chart: Chart) -> String {
    report_html(&[Story { charts: vec![chart], ..Story::default() }])
}

/// The drawing in a page, without its legend.
fn drawing(page: &str) -> String {
    let svg = &page[page.find("<svg viewBox").unwrap()..];
    svg[..svg.find("</svg>\n</svg>").unwrap()].to_owned()
}

#[test]
fn the_table_and_the_legend_have_all_series_and_escape_all_text() {
    let html = page(example());
    assert_eq!(html.matches("<tr>").count(), 7, "{html}");
    assert_eq!(html.matches("<li><svg").count(), 3, "{html}");
    assert!(!html.contains("a<0") && html.contains("a&#60;0"), "{html}");
    let html = page(rows());
    assert!(html.contains("<td class=\"number\">memory &#60;x&#62;</td>"), "{html}");
}

#[test]
fn csv_has_a_row_per_value_and_no_field_that_a_spreadsheet_would_run() {
    let story = Story { kind: "=cmd()".to_owned(), charts: vec![rows()], ..Story::default() };
    let csv = csv(&[story]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines.len(), lines[0]), (7, CSV_HEADER));
    for line in &lines[1..] {
        assert_eq!(line.split(',').count(), CSV_HEADER.split(',').count(), "{line}");
        assert!(line.starts_with("'=cmd(),path,"), "{line}");
    }
}

#[test]
fn a_long_series_is_thinned_in_the_table_and_whole_in_the_csv() {
    let mut chart = example();
    let points = (0..1000).map(|at| Point::bare(f64::from(at + 2), 1.0));
    chart.series[1].points = points.collect();
    let html = page(chart.clone());
    assert!(html.matches("<tr>").count() < 80);
    assert!(html.contains("--csv"));
    let story = Story { charts: vec![chart], ..Story::default() };
    assert_eq!(csv(&[story]).lines().count(), 1005);
}

#[test]
fn ordinates_begin_at_zero_and_end_at_a_round_number() {
    let y = Axis::from_zero("", None, [1.0, 8.7]);
    assert_eq!(y.range, (0.0, 10.0));
    assert_eq!(y.ticks, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(Axis::from_zero("", None, [0.0]).range, (0.0, 0.2));
}

#[test]
fn labels_have_no_idle_zeros_and_carry_their_unit() {
    let plain = Axis::from_zero("", None, [1.0]);
    let labels = [0.0, 2.0, 0.2, 192.0, 20.0].map(|value| plain.label(value));
    assert_eq!(labels, ["0", "2", "0.2", "192", "20"]);
    let unit = |unit, value| Axis::from_zero("", Some(unit), [1.0]).label(value);
    assert_eq!(unit(Unit::Nanos, 50_000.0), "50 µs");
    assert_eq!(unit(Unit::PerSecond, 100_000.0), "100k IOPS");
    assert_eq!(unit(Unit::Bytes, 65_536.0), "64 KiB");
    assert_eq!(unit(Unit::Share, 0.0001), "0.01 %");
    assert_eq!(unit(Unit::BytesPerSecond, 1.5e9), "1.5 GB/s");
}

#[test]
fn a_logarithmic_axis_gives_each_doubling_the_same_room() {
    let x = Axis::at_values("", None, true, [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    let room = |from: f64| x.share(from * 2.0) - x.share(from);
    assert!((room(2.0) - room(32.0)).abs() < 1e-12);
    assert_eq!((x.share(2.0), x.share(64.0)), (0.0, 1.0));
}

#[test]
fn a_logarithmic_axis_ends_at_round_numbers_around_its_values() {
    let axis = Axis::decades("", None, [3.0, 70.0]);
    assert_eq!((axis.range, axis.ticks), ((2.0, 100.0), vec![2.0, 5.0, 10.0, 20.0, 50.0, 100.0]));
    let wide = Axis::decades("", None, [1.0, 2e5]);
    assert_eq!(wide.ticks, [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
    let lone = Axis::decades("", None, [5.0]);
    assert!(lone.range.0 < 5.0 && lone.range.1 > 5.0, "{lone:?}");
    assert_eq!(Axis::decades("", None, []).range, (1.0, 10.0));
    // A damaged file may contain values whose powers of ten no number can hold.
    for beyond in [1e-320, -1.0, f64::MAX, f64::INFINITY, f64::NAN] {
        assert_eq!(Axis::decades("", None, [beyond, 3.0, 70.0]).range, (2.0, 100.0));
    }
}

#[test]
fn the_first_row_is_on_top() {
    let rows = Axis::named(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!((rows.share(0.0), rows.share(1.0)), (0.75, 0.25));
    assert_eq!(rows.label(1.0), "b");
}

#[test]
fn positions_on_a_disk_are_labelled_in_whole_binary_units() {
    let axis = Axis::over("", Some(Unit::Bytes), [0.0, 9.1e9]);
    let labels: Vec<String> = axis.ticks.iter().map(|tick| axis.label(*tick)).collect();
    assert_eq!(labels, ["0", "2 GiB", "4 GiB", "6 GiB", "8 GiB"]);
}

#[test]
fn the_scripts_data_hold_every_point_with_its_interval_and_no_steering_characters() {
    let data = example().data();
    assert_eq!(data["s"].as_array().unwrap().len(), 3);
    assert_eq!(data["s"][0]["p"][0], json!([2, 1, 0.8, 1.2]));
    assert_eq!(data["s"][0]["p"][1][4], "</script> \u{202e}");
    assert_eq!(data["r"][0], json!([false, 4.35, "half <of> it"]));
    assert_eq!(data["x"]["l"], true);
}

#[test]
fn axes_carry_their_titles_and_all_text_is_escaped() {
    for svg in [drawing(&page(example())), example().svg_file()] {
        assert!(svg.contains(">size (KiB)<") && svg.contains(">rate<"), "{svg}");
        assert!(svg.contains("a&#60;0, 64: 8.70 IOPS (7.83 IOPS to 9.57 IOPS)"), "{svg}");
        for hostile in ["a<0", "<script", "</script", "<b>", "\u{202e}"] {
            assert!(!svg.contains(hostile), "{hostile}: {svg}");
        }
    }
    for whole in [page(example()), example().svg_file()] {
        assert!(whole.contains("a: half &#60;of&#62; it, 4.35 IOPS"), "{whole}");
    }
}

/// The classes of a drawing's groups, one per series.
fn classes(names: &[&str]) -> Vec<String> {
    let mut chart = example();
    chart.series = names
        .iter()
        .map(|name| Series { name: (*name).to_owned(), ..chart.series[0].clone() })
        .collect();
    let svg = drawing(&page(chart));
    let groups = svg.split("<g class=\"").skip(3).map(|group| group.split('"').next().unwrap());
    groups.map(str::to_owned).collect()
}

#[test]
fn depths_and_sizes_are_steps_of_a_ramp_in_their_order_and_groups_have_ramps_of_their_own() {
    assert_eq!(classes(&["iodepth 1", "iodepth 32", "iodepth 8"]), ["r00", "r07", "r03"]);
    let sizes = ["512 B", "4 KiB", "64 KiB", "1 MiB"];
    assert_eq!(classes(&sizes), ["r00", "r02", "r04", "r07"]);
    let eight = ["2k", "4k", "8k", "16k", "32k", "64k", "128k", "1m"];
    assert_eq!(classes(&eight).iter().collect::<BTreeSet<_>>().len(), 8);
    let groups = ["direct, iodepth 1", "buffered, iodepth 1", "direct, iodepth 3"];
    let rest = ["buffered, iodepth 3", "direct, iodepth 8", "buffered, iodepth 8"];
    let both: Vec<&str> = groups.into_iter().chain(rest).collect();
    assert_eq!(classes(&both), ["r10", "r20", "r13", "r23", "r17", "r27"]);
    // Two series are not an order, nor are names that differ in two numbers at once.
    assert_eq!(classes(&["iodepth 1", "iodepth 8"]), ["c0", "c1"]);
    assert_eq!(classes(&["4k, qd 1", "8k, qd 2", "16k, qd 4"]), ["c0", "c1", "c2"]);
    assert_eq!(classes(&["reads", "writes", "both"]), ["c0", "c1", "c2"]);
}

/// Abscissas of the first error bar of each series in a drawing.
fn first_bars(chart: Chart) -> Vec<f64> {
    let svg = drawing(&page(chart));
    let bars = svg.split("class=\"error\" d=\"M").skip(1);
    bars.map(|bar| bar.split(' ').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn points_are_on_their_ticks_unless_bars_would_hide_each_other() {
    let mut chart = example();
    let tick = first_bars(Chart { series: vec![chart.series[0].clone()], ..chart.clone() })[0];
    chart.series = vec![chart.series[0].clone(), chart.series[2].clone()];
    let hidden = first_bars(chart.clone());
    assert_eq!(hidden, [tick - 2.0, tick + 2.0], "at 2, both bars are the same");
    chart.series[1].points[0] = Point::within(2.0, 1.5, 1.3, 1.7);
    assert_eq!(first_bars(chart.clone()), [tick, tick]);
    // A bar at another abscissa hides nothing.
    chart.series[1].points[0] = Point::within(2.1, 1.0, 0.8, 1.2);
    assert_eq!(chart.dodges(), [0.0, 0.0]);
    chart.series = vec![example().series[0].clone(); 6];
    let dodges = chart.dodges();
    assert!(dodges.iter().all(|dodge| dodge.abs() <= 2.0), "{dodges:?}");
    assert!(rows().dodges().iter().all(|dodge| *dodge == 0.0));
}

#[test]
fn an_interval_ends_at_the_edge_of_the_drawing_and_has_no_cap_there() {
    let mut chart = example();
    chart.series.truncate(1);
    chart.series[0].points = vec![Point::within(2.0, 1.0, -5.0, 1.2), Point::bare(64.0, 2.0)];
    let svg = drawing(&page(chart));
    let bar = svg.split("class=\"error\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(bar, "M56.0 292.0V261.5M53.5 261.5h5");
}

#[test]
fn every_form_is_drawn_with_its_interval() {
    let svg = drawing(&page(example()));
    assert_eq!(svg.matches("class=\"band\"").count(), 1);
    assert_eq!(svg.matches("class=\"error\"").count(), 2);
    // Two lines with a letter each.
    assert_eq!(svg.matches("class=\"half\"").count(), 4);
    // Two curves: the one with marks, and that of the band.
    assert_eq!(svg.matches("class=\"line").count(), 2);
    let svg = drawing(&page(rows()));
    assert_eq!(svg.matches("class=\"bar\"").count(), 3);
    assert!(svg.contains("memory &#60;x&#62;"), "{svg}");
}

#[test]
fn a_file_of_its_own_names_its_namespace_and_nothing_from_elsewhere() {
    let svg = example().svg_file();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    let rest = svg.replacen("http://www.w3.org/2000/svg", "", 1);
    for outside in ["http", "src=", "href", "url(", "@import"] {
        assert!(!rest.contains(outside), "{outside}");
    }
}

#[test]
fn bars_of_a_row_lie_side_by_side_within_it() {
    let mut chart = rows();
    let second = chart.series[0].clone();
    chart.series.push(second);
    let (first, height) = chart.bar(0);
    let (other, _) = chart.bar(2);
    assert!((other - first - height).abs() < 1e-12 && height * 2.0 <= 1.0);
    assert_eq!(chart.bar(1), (0.0, 0.0));
}

#[test]
fn a_field_of_csv_is_quoted_where_it_needs_it_and_is_no_formula() {
    let mut chart = rows();
    for (title, field) in [
        ("/data", "/data"),
        ("a,b", "\"a,b\""),
        ("say \"x\"", "\"say \"\"x\"\"\""),
        ("=cmd()", "'=cmd()"),
        ("-1.5", "-1.5"),
    ] {
        title.clone_into(&mut chart.title);
        let csv = csv(&[Story { charts: vec![chart.clone()], ..Story::default() }]);
        let line = csv.lines().nth(1).unwrap();
        assert!(line.starts_with(&format!(",{field},measured,")), "{line}");
    }
}

#[test]
fn no_two_of_the_first_dozen_series_look_alike_even_without_colour_and_line() {
    let mut chart = example();
    chart.rules.clear();
    chart.series.truncate(1);
    chart.series = vec![chart.series[0].clone(); 12];
    let svg = drawing(&page(chart));
    let part =
        |group: &str, of: &str| group.split_once(of).map(|(_, rest)| rest[..1].to_owned()).unwrap();
    let looks: Vec<[String; 3]> = svg
        .split("<g class=\"c")
        .skip(1)
        .map(|group| [group[..1].to_owned(), part(group, "mark m"), part(group, "line d")])
        .collect();
    assert_eq!(looks.iter().collect::<BTreeSet<_>>().len(), 12);
    assert_eq!(looks[..5].iter().map(|look| &look[1]).collect::<BTreeSet<_>>().len(), 5);
}

#[test]
fn the_style_of_a_file_names_no_variable() {
    let svg = example().svg_file();
    assert!(!svg.contains("var(") && svg.contains(".c0{color:#0452a9}"), "{svg}");
}

#[test]
fn a_title_becomes_a_name_that_cannot_leave_the_folder() {
    let name = |title: &str| {
        let chart = Chart { title: title.to_owned(), ..rows() };
        plot_files(&[Story { charts: vec![chart], ..Story::default() }]).remove(0).0
    };
    assert_eq!(name("I/O rate against depth (read, 4k)"), "1-01-i-o-rate-against-depth-read-4k");
    assert_eq!(name("../../etc/passwd"), "1-01-etc-passwd");
    assert!(name(&"a".repeat(500)).len() <= 65);
}

/// The latency plot of a trial with these bucket counts, if it has one.
fn distribution(counts: &[(u32, u64)]) -> Option<Chart> {
    let mut trial = clean_trial();
    let read = trial.result.read.as_mut().unwrap();
    read.histogram = HistogramSnapshot { buckets: counts.to_vec() };
    let charts = report::trial(&trial).charts;
    charts.into_iter().find(|chart| chart.title == "Distribution of latency")
}

#[test]
fn a_curve_of_latency_falls_from_all_requests_and_ends_where_ten_are_left() {
    let many: Vec<(u32, u64)> = (100..200).map(|bucket| (bucket, 100)).collect();
    let points = distribution(&many).unwrap().series.remove(0).points;
    assert_eq!(points[0].y, 1.0);
    assert!(points.windows(2).all(|pair| pair[1].y < pair[0].y && pair[1].x > pair[0].x));
    let last = points.last().unwrap();
    assert!(last.y * 10_000.0 >= 10.0, "{last:?}");
    assert!(points.iter().all(|p| p.low.unwrap() <= p.y && p.y <= p.high.unwrap()));
}

#[test]
fn the_sentence_of_a_distribution_names_the_median_and_the_farthest_tail_that_is_known() {
    let finding = distribution(&[(640, 9_000), (1_000, 1_000)]).unwrap().finding;
    assert!(finding.starts_with("Half of the reads take less than"), "{finding}");
    assert!(finding.contains("one in 1,000 longer"), "{finding}");
    assert!(distribution(&[(640, 9)]).is_none());
    assert!(distribution(&[]).is_none());
}
