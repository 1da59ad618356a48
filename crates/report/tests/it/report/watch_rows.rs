//! Tests the rows of `watch`: their columns, their order and filter, and the lines for scripts.

use crate::report::common;
use crate::report::common::watch::{SMALL, busy, data, drawn, judged, known, many, plain, screen};
use crate::report::snapshots::assert_snapshot;
use ratatui::style::Color;
use record::{Estimate, Interval, ObservedDevice, Verdict};
use report::{
    SortBy, WatchData, WatchRow, WatchView, watch_header, watch_line, watch_order, watch_table,
};
use std::sync::Arc;

#[test]
fn verdict_and_expectation_stay_at_80_columns_and_the_verdict_at_40() {
    let text = screen(&known(), &plain(), SMALL);
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line(" device").contains("expect") && line(" device").contains("verdict"), "{text}");
    assert!(line(">vda").contains("37.1 µs") && line(">vda").ends_with("slow?"), "{text}");
    let narrow = screen(&known(), &plain(), (40, 10));
    assert_snapshot("watch_one_40x10", &narrow);
    assert!(narrow.lines().any(|line| line.starts_with(">vda") && line.ends_with("slow?")));
}

#[test]
fn a_figure_is_marked_where_it_is_beyond_what_the_profile_expects_and_only_there() {
    let mut data = known();
    let row = |data: &WatchData| {
        let text = screen(data, &plain(), SMALL);
        text.lines().find(|line| line.starts_with(">vda")).unwrap().to_owned()
    };
    // 41.2 µs, with 37.1 µs ±5 % expected.
    assert!(row(&data).contains("41.2 µs!"), "{}", row(&data));
    let split = data.rows[0].calibrated.as_mut().unwrap();
    split.expected_ns = Estimate::symmetric(41_000.0, 1_000.0, 12);
    assert!(row(&data).contains("41.2 µs ") && !row(&data).contains('!'), "{}", row(&data));
    // The same latency is not marked without an expectation from a profile.
    data.rows[0].calibrated = None;
    assert!(!row(&data).contains('!'), "{}", row(&data));
    let cells = drawn(&known(), &plain(), SMALL, true).content;
    let marked = cells.iter().find(|cell| cell.symbol() == "!").unwrap();
    assert_eq!(marked.fg, Color::Red, "the verdict says slow as well");
}

#[test]
fn the_title_that_rows_are_sorted_by_has_a_mark_in_the_direction() {
    let titles = |sort, reversed| {
        let view = WatchView { sort, reversed, ..plain() };
        let text = screen(&known(), &view, SMALL);
        text.lines().find(|line| line.starts_with(" device")).unwrap().to_owned()
    };
    assert!(titles(SortBy::Latency, false).contains("latency▾"));
    assert!(titles(SortBy::Latency, true).contains("latency▴"));
    assert!(titles(SortBy::Name, false).contains("device▴"));
    assert!(titles(SortBy::Rate, false).contains("read/s▾ write/s▾"));
    for sort in SortBy::ALL.into_iter().filter(|sort| *sort != SortBy::Saturation) {
        assert!(titles(sort, false).contains(['▾', '▴']), "{sort:?}: {}", titles(sort, false));
    }
}

#[test]
fn a_filter_leaves_devices_by_name_model_or_process_and_says_so() {
    let mut data = many(60);
    data.rows[3].interval.as_mut().unwrap().processes =
        Some(vec![common::process(4711, "mysqld", 900)]);
    let order = |filter: &str| {
        let view = WatchView { filter: filter.to_owned(), ..plain() };
        let order = watch_order(&data.rows, &view);
        order.iter().map(|&index| data.rows[index].device.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(order("SD5").len(), 11);
    assert_eq!(order("mysql"), ["sd3"]);
    // Two of them are not idle.
    assert_eq!(order("").len(), 2);
    let view = WatchView { filter: "nvme".to_owned(), ..plain() };
    let text = screen(&data, &view, SMALL);
    assert!(text.contains("ONLY /nvme (Esc)") && text.contains("Esc shows all"), "{text}");
    let typing = WatchView { typing: true, ..view };
    assert!(screen(&data, &typing, SMALL).contains("/nvme_"));
    let sums = |text: &str| text.lines().nth(1).unwrap().split(';').next().unwrap().to_owned();
    let all = screen(&data, &plain(), SMALL);
    assert_eq!(sums(&text), sums(&all), "the sums are those of the machine");
}

#[test]
fn who_asks_for_most_is_a_column_and_a_dash_where_it_is_unknown() {
    let mut data = known();
    let size = (120, 24);
    let process = |data: &WatchData| {
        let text = screen(data, &plain(), size);
        let title = text.lines().find(|line| line.starts_with(" device")).unwrap().to_owned();
        let at = title.split("process").next().unwrap().chars().count();
        let row = text.lines().find(|line| line.starts_with(">vda")).unwrap();
        row.chars().skip(at).collect::<String>().trim().to_owned()
    };
    assert_eq!(process(&data), "–");
    data.rows[0].interval.as_mut().unwrap().processes =
        Some(vec![common::process(1, "fio", 100), common::process(4711, "mysqld", 900)]);
    assert!(process(&data).starts_with("mysqld 1"), "{}", process(&data));
}

#[test]
fn throughput_is_shown_in_the_units_that_the_reader_chose() {
    let rate = |binary| screen(&known(), &WatchView { binary, ..plain() }, SMALL);
    assert!(rate(false).contains("385 MB/s") && !rate(false).contains("MiB/s"), "{}", rate(false));
    assert!(rate(true).contains("367 MiB/s") && !rate(true).contains("MB/s"), "{}", rate(true));
}

#[test]
fn no_figure_loses_digits_in_its_column() {
    for scale in [1.0, 13.7, 1e3, 72.5e3, 999_499.0, 5e6] {
        let claim = "So.".to_owned();
        let mut row =
            judged(busy("vda", scale, scale, 9.994e8), Verdict::SlowAndOverloaded, &claim);
        row.calibrated.as_mut().unwrap().saturation = 0.9994;
        for binary in [false, true] {
            let view = WatchView { binary, ..plain() };
            for columns in [80, 120, 200] {
                let text = screen(&data(vec![row.clone()]), &view, (columns, 24));
                let line = text.lines().find(|line| line.starts_with(">vda")).unwrap();
                assert!(!line.contains('…'), "{scale}: {line}");
            }
        }
    }
}

#[test]
fn what_is_not_known_is_a_dash_and_never_a_zero() {
    let unknown = WatchRow {
        interval: Some(Interval { duration_ns: 1, ..Interval::default() }),
        device: Arc::new(ObservedDevice { name: "sda".to_owned(), ..ObservedDevice::default() }),
        ..WatchRow::default()
    };
    let text = screen(&data(vec![unknown.clone()]), &plain(), SMALL);
    let row = text.lines().find(|line| line.starts_with(">sda")).unwrap();
    assert!(!row.contains('0') && row.matches('–').count() >= 8, "{row}");
    assert!(text.contains("keeps no counters"), "{text}");
    let line = watch_line(&unknown, "2026-01-01T00:00:00Z");
    assert_eq!(line.split_whitespace().filter(|word| *word == "-").count(), 19, "{line}");
}

#[test]
fn devices_are_sorted_by_any_figure_and_unknown_ones_come_last() {
    let mut rows = vec![
        busy("sdb", 10.0, 0.0, 5e6),
        busy("sda10", 100.0, 0.0, 1e6),
        busy("sda2", 50.0, 0.0, 9e6),
    ];
    rows.push(WatchRow {
        device: Arc::new(ObservedDevice { name: "sdc".to_owned(), ..ObservedDevice::default() }),
        ..WatchRow::default()
    });
    let names = |sort, reversed| -> Vec<String> {
        let view = WatchView { sort, reversed, ..plain() };
        let order = watch_order(&rows, &view);
        order.iter().map(|&index| rows[index].device.name.clone()).collect()
    };
    assert_eq!(names(SortBy::Rate, false), ["sda10", "sda2", "sdb", "sdc"]);
    assert_eq!(names(SortBy::Latency, false), ["sda2", "sdb", "sda10", "sdc"]);
    assert_eq!(names(SortBy::Concurrency, false), ["sda2", "sda10", "sdb", "sdc"]);
    assert_eq!(names(SortBy::Name, false), ["sda2", "sda10", "sdb", "sdc"]);
    assert_eq!(names(SortBy::Name, true), ["sdc", "sdb", "sda10", "sda2"]);
    let mut all = vec![SortBy::Concurrency];
    while all.len() < SortBy::ALL.len() {
        all.push(all.last().unwrap().next());
    }
    assert_eq!(all, SortBy::ALL);
}

#[test]
fn a_table_without_a_screen_fits_any_width_and_names_idle_devices_in_one_line() {
    let idle = |name: &str| WatchRow { past: Vec::new(), ..busy(name, 0.0, 0.0, 0.0) };
    let judged = judged(busy("vda", 82_000.0, 3_000.0, 41_200.0), Verdict::SlowAndOverloaded, "");
    let rows = [idle("loop0"), busy("nvme10n1", 100.0, 5.0, 1e6), judged, idle("sr0")];
    let table = |width| watch_table(&rows, &WatchView::default(), "07:00:00Z", width);
    assert_snapshot("watch_table", &table(80));
    for width in [40, 60, 80, 120, 250] {
        let text = table(width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        assert!(text.starts_with("07:00:00Z"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.ends_with("2 idle: loop0, sr0\n"), "{text}");
        assert!(!text.contains("history"), "{text}");
    }
    let all = watch_table(&rows, &WatchView { all: true, ..plain() }, "07:00:00Z", 80);
    assert_eq!(all.lines().count(), 5, "{all}");
}

#[test]
fn a_line_for_scripts_has_every_column_in_its_place() {
    let row = judged(busy("vda", 82_000.0, 3_000.0, 41_200.0), Verdict::SlowAndOverloaded, "");
    let line = watch_line(&row, "2026-11-22T07:00:00Z");
    let header = watch_header();
    assert_snapshot("watch_line", &format!("{header}\n{line}\n"));
    let names: Vec<&str> = header.split_whitespace().collect();
    let entries: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(entries.len(), names.len());
    let of = |name: &str| entries[names.iter().position(|known| *known == name).unwrap()];
    assert_eq!((of("device"), of("read_per_s"), of("write_kib")), ("vda", "82000.0", "16.0"));
    assert_eq!((of("latency_us"), of("qd1_us"), of("saturation")), ("41.2", "26.0", "0.430"));
    assert_eq!(of("verdict"), "slow_and_overloaded?");
}

#[test]
fn the_page_of_documentation_explains_every_column_in_its_order() {
    let page = include_str!("../../../../../docs/watch.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let explained: Vec<&str> =
        rows.filter(|(_, meaning)| meaning.len() > 4).map(|(name, _)| name).collect();
    let header = watch_header();
    assert_eq!(explained, header.split_whitespace().collect::<Vec<_>>());
}
