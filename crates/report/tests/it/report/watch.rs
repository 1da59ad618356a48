//! Tests the live screen at all sizes, with everything known and with nothing known.

use crate::report::common;
use crate::report::snapshots::assert_snapshot;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use ratatui::{Frame, Terminal};
use record::{
    Calibrated, CgroupLimit, Confidence, Context, DeviceFacts, Estimate, Figure, Interval,
    ObservedDevice, OpInterval, Traced, TracedOp, UtilizationLaw, Verdict,
};
use report::{
    PastMoment, SortBy, WatchData, WatchPlace, WatchRow, WatchVerdict, WatchView, watch_header,
    watch_line, watch_order, watch_place, watch_screen, watch_table,
};
use std::sync::Arc;

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 60);

fn figure(value: f64) -> Option<Figure> {
    Some(Figure::measured(value, 0.0))
}

fn op(per_s: f64, bytes: f64, latency_ns: f64) -> OpInterval {
    OpInterval {
        per_s: figure(per_s),
        bytes_per_s: figure(per_s * bytes),
        request_bytes: figure(bytes).filter(|_| per_s > 0.0),
        merged_per_s: figure(per_s / 100.0),
        latency_ns: Some(Figure::derived(latency_ns, 1e6 / per_s)).filter(|_| per_s > 0.0),
    }
}

/// A device that reads and writes.
fn busy(name: &str, reads: f64, writes: f64, latency_ns: f64) -> WatchRow {
    let rate = reads + writes;
    let concurrency = rate * latency_ns / 1e9;
    let utilization = concurrency.min(1.0);
    let interval = Interval {
        device: name.to_owned(),
        begin_ns: 1_700_000_000_000_000_000,
        duration_ns: 1_000_000_000,
        read: op(reads, 4096.0, latency_ns),
        write: op(writes, 16384.0, latency_ns),
        all: op(rate, (reads * 4096.0 + writes * 16384.0) / rate.max(1e-9), latency_ns),
        discards_per_s: figure(0.0),
        flushes_per_s: figure(writes / 50.0),
        busy_share: figure(utilization),
        concurrency: figure(concurrency),
        in_flight: figure(concurrency.round()),
        ..Interval::default()
    };
    let service_ns = utilization / rate.max(1e-9) * 1e9;
    let past = |at: usize| {
        let wave = 1.0 + (at % 13) as f64 / 12.0;
        PastMoment {
            per_s: Some(rate * wave / 2.0),
            latency_ns: (rate > 0.0 && at % 7 != 3).then_some(latency_ns * wave / 2.0),
            expected_ns: None,
        }
    };
    WatchRow {
        device: Arc::new(ObservedDevice { name: name.to_owned(), ..ObservedDevice::default() }),
        interval: Some(interval),
        utilization_law: (rate > 0.0).then(|| UtilizationLaw {
            utilization,
            service_ns,
            queue_ns: (latency_ns - service_ns).max(0.0),
        }),
        profile_command: format!("halfpower check /dev/{name}"),
        past: (0..150).map(past).collect(),
        ..WatchRow::default()
    }
}

/// The same device with a profile and a verdict.
fn judged(mut row: WatchRow, verdict: Verdict, claim: &str) -> WatchRow {
    let interval = row.interval.clone().unwrap();
    let latency_ns = interval.all.latency_ns.unwrap().value;
    let facts = DeviceFacts {
        name: row.device.name.clone(),
        disk: row.device.name.clone(),
        major_minor: "254:0".to_owned(),
        model: Some("ACME SSD 3000".to_owned()),
        scheduler: Some("none".to_owned()),
        nr_requests: Some(256),
        size_bytes: record::Bytes(256 << 30),
        ..DeviceFacts::default()
    };
    let device = ObservedDevice { facts: Some(facts), ..row.device.as_ref().clone() };
    row.device = Arc::new(device);
    row.calibrated = Some(Calibrated {
        unloaded_ns: 26_000.0,
        expected_ns: Estimate::symmetric(latency_ns * 0.9, latency_ns * 0.05, 12),
        expected_at_rate_ns: None,
        queue_ns: latency_ns - 26_000.0,
        latency_ratio: 1.1,
        saturation: 0.43,
        max_iops: 198_000.0,
        sequential_share: 0.0,
        sequential_traced: false,
    });
    row.past.iter_mut().for_each(|moment| moment.expected_ns = Some(latency_ns * 0.8));
    row.profile = Some("0198f2aa of 2026-11-20".to_owned());
    row.verdict = Some(WatchVerdict {
        verdict,
        confidence: Confidence::Likely,
        claim: claim.to_owned(),
        alternatives: vec!["Requests may have stopped to be sequential.".to_owned()],
        advice: vec!["Use 4 requests outstanding instead of 16.".to_owned()],
        observed_ns: 30_000_000_000,
        probabilities: Vec::new(),
    });
    row
}

fn data(rows: Vec<WatchRow>) -> WatchData {
    WatchData {
        host: "db7".to_owned(),
        time: "14:03:22 UTC".to_owned(),
        interval: "1.00 s".to_owned(),
        rows,
        hidden: 9,
        context: Context {
            io_some_share: Some(0.123),
            io_full_share: Some(0.02),
            idle_share: Some(0.8),
            steal_share: Some(0.0),
            memory_available_bytes: Some(3 << 30),
            dirty_bytes: Some(30 << 20),
            writeback_bytes: Some(0),
            ..Context::default()
        },
        ..WatchData::default()
    }
}

/// One fast disk with a profile.
fn known() -> WatchData {
    let claim = "Requests take 1.4 times what the profile expects at 3.4 in progress: 41.2 µs \
                 against 29.0 µs ±5 %.";
    let row = judged(busy("vda", 82_000.0, 3_000.0, 41_200.0), Verdict::Slow, claim);
    let mut data = data(vec![row]);
    data.profile = Some(common::fast_profile());
    data
}

/// A machine with this many disks, most of them idle, without profiles.
fn many(count: usize) -> WatchData {
    let rows = (0..count).map(|index| match index % 50 {
        7 => busy(&format!("sd{index}"), 120.0 + index as f64, 40.0, 9e6),
        _ => busy(&format!("sd{index}"), 0.0, 0.0, 0.0),
    });
    data(rows.collect())
}

fn drawn(data: &WatchData, view: &WatchView, (columns, rows): (u16, u16), color: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let draw = |frame: &mut Frame<'_>| {
        watch_screen(data, view, color, frame.area(), frame.buffer_mut());
    };
    terminal.draw(draw).unwrap().buffer.clone()
}

/// The screen as text, without trailing spaces.
fn screen(data: &WatchData, view: &WatchView, size: (u16, u16)) -> String {
    let buffer = drawn(data, view, size, false);
    let lines = buffer.content.chunks(size.0.into()).map(|line| {
        let line: String = line.iter().map(Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

fn plain() -> WatchView {
    WatchView::default()
}

#[test]
fn one_disk_with_a_profile_fills_80_by_24() {
    let text = screen(&known(), &plain(), SMALL);
    assert_snapshot("watch_one_80x24", &text);
    for words in
        ["slow (likely, last 30.0 s)", "by the profile", "by S = U/X", "load is 43 % of the max"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

#[test]
fn one_disk_with_a_profile_at_200_by_60_shows_its_curve_with_the_load_on_it() {
    let text = screen(&known(), &plain(), LARGE);
    assert_snapshot("watch_one_200x60", &text);
    assert!(text.contains(" now"), "{text}");
}

#[test]
fn five_hundred_disks_leave_room_for_what_is_said_of_the_picked_one() {
    for (name, size) in [("watch_many_80x24", SMALL), ("watch_many_200x60", LARGE)] {
        let view = WatchView { picked: Some("sd457".to_owned()), ..plain() };
        let text = screen(&many(500), &view, size);
        assert_snapshot(name, &text);
        assert!(text.contains("500 devices") && text.contains(">sd457"), "{text}");
        assert!(text.contains("No profile of sd457"), "{text}");
        let command = "halfpower check /dev/sd457";
        assert!(text.replace("\n ", "").replace("  ", " ").contains(command), "{text}");
    }
}

#[test]
fn the_picked_device_stays_on_the_screen_wherever_it_is() {
    let data = many(500);
    for name in ["sd0", "sd3", "sd250", "sd499"] {
        let view = WatchView { picked: Some(name.to_owned()), sort: SortBy::Name, ..plain() };
        assert!(screen(&data, &view, SMALL).contains(&format!(">{name} ")), "{name}");
    }
}

#[test]
fn the_detail_of_a_device_has_all_that_is_known_of_it() {
    let view = WatchView { detail: true, ..plain() };
    let mut data = known();
    data.notes = vec!["The set of devices changed: sdb appeared.".to_owned()];
    let text = screen(&data, &view, (100, 45));
    assert_snapshot("watch_detail_100x45", &text);
    for words in ["scheduler none", "resolution", " now", "sdb appeared", "flushes"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

#[test]
fn a_latency_below_the_resolution_of_the_counters_is_not_shown_as_zero() {
    let row = WatchRow { utilization_law: None, ..busy("zram0", 1_000.0, 0.0, 0.0) };
    let data = data(vec![row]);
    for view in [plain(), WatchView { detail: true, ..plain() }] {
        let text = screen(&data, &view, LARGE);
        assert!(text.contains("<1.00 µs"), "{text}");
        assert!(!text.contains(" 0 ns"), "{text}");
    }
}

#[test]
fn idle_devices_share_one_line_until_they_are_asked_for() {
    let mut all = known();
    for name in ["loop0", "loop1", "zram0"] {
        all.rows.push(busy(name, 0.0, 0.0, 0.0));
    }
    let text = screen(&all, &plain(), SMALL);
    assert!(text.contains("3 idle (a): loop0, loop1, zram0"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with(" loop")), "{text}");
    for view in
        [WatchView { all: true, ..plain() }, WatchView { filter: "loop".to_owned(), ..plain() }]
    {
        let text = screen(&all, &view, SMALL);
        assert!(text.contains("loop1 ") && !text.contains("idle (a)"), "{text}");
    }
    // The selected device stays listed. If all are idle, all are shown.
    let picked = WatchView { picked: Some("loop1".to_owned()), ..plain() };
    assert!(screen(&all, &picked, SMALL).contains(">loop1"), "{text}");
    all.rows.remove(0);
    assert!(screen(&all, &plain(), SMALL).contains("zram0 "));
}

#[test]
fn the_detail_has_its_figures_with_their_windows_on_a_small_screen() {
    let view = WatchView { detail: true, ..plain() };
    let text = screen(&known(), &view, SMALL);
    for words in ["last 30.0 s", "in 1.00 s", "\n  reads ", "\n  writes ", "\n  both ", "try"] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
}

#[test]
fn the_detail_names_the_users_of_a_device_on_a_small_screen() {
    let mut data = known();
    let interval = data.rows[0].interval.as_mut().unwrap();
    interval.processes =
        Some(vec![common::process(4711, "mysqld", 900), common::process(12, "backup", 100)]);
    data.notes = vec!["The set of devices changed: sdb appeared.".to_owned()];
    let text = screen(&data, &WatchView { detail: true, ..plain() }, SMALL);
    for words in ["Who uses it", "mysqld and 1 other", "\n  both "] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
}

#[test]
fn what_a_tracer_saw_is_shown_with_its_distribution_and_the_processes() {
    let mut data = known();
    let traced = TracedOp {
        queue_ns: common::histogram(20_000.0),
        device_ns: common::histogram(80_000.0),
        sequential_share: Some(0.25),
        ..TracedOp::default()
    };
    let traced = Traced { read: traced, lost: 3, ..Traced::default() };
    let interval = data.rows[0].interval.as_mut().unwrap();
    interval.traced = Some(Box::new(traced));
    interval.processes = Some(vec![common::process(4711, "mysqld\x1b[2J", 900)]);
    let text = screen(&data, &WatchView { detail: true, ..plain() }, (100, 60));
    assert_snapshot("watch_traced_100x60", &text);
    for words in ["in device", "25 %", "mysqld\\x1b[2J (4711) in db.service", "3 events were lost"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

#[test]
fn the_help_names_every_key_and_every_figure() {
    let view = WatchView { help: true, ..plain() };
    let text = screen(&known(), &view, SMALL);
    assert_snapshot("watch_help_80x24", &text);
    for words in ["Ctrl-C", "Page Down", "S = U/X", "saturation", "verdict  "] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

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
fn a_click_finds_the_device_or_the_title_that_is_drawn_there() {
    let data = many(60);
    let view = WatchView { picked: Some("sd57".to_owned()), all: true, ..plain() };
    for size in [SMALL, (40, 10), (120, 30), LARGE] {
        let text = screen(&data, &view, size);
        let area = Rect::new(0, 0, size.0, size.1);
        let at = |column, row| watch_place(&data, &view, area, (column, row));
        let mut devices = 0;
        for (row, line) in (0..size.1).zip(text.lines()) {
            let name = line.get(1..).and_then(|rest| rest.split_whitespace().next());
            match at(3, row) {
                Some(WatchPlace::Device(found)) => {
                    devices += 1;
                    assert_eq!(Some(found.as_str()), name, "{text}");
                }
                Some(WatchPlace::Title(sort)) => {
                    assert!(sort == SortBy::Name && line.starts_with(" device"), "{text}");
                    let column = |title: &str| {
                        let before = &line[..line.find(title).unwrap()];
                        before.chars().count() as u16 + 1
                    };
                    assert_eq!(
                        at(column("latency"), row),
                        Some(WatchPlace::Title(SortBy::Latency))
                    );
                    assert_eq!(
                        at(column("verdict"), row),
                        Some(WatchPlace::Title(SortBy::Verdict))
                    );
                }
                None => assert!(!line.starts_with('>'), "{text}"),
            }
        }
        assert!(devices >= 2, "{text}");
    }
    let help = WatchView { help: true, ..plain() };
    assert_eq!(watch_place(&data, &help, Rect::new(0, 0, 80, 24), (3, 5)), None);
    assert_eq!(watch_place(&data, &plain(), Rect::new(0, 0, 80, 24), (300, 300)), None);
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
fn a_device_that_was_opened_and_went_is_not_replaced_by_another() {
    let view = WatchView { picked: Some("sdz".to_owned()), detail: true, ..plain() };
    let text = screen(&many(60), &view, SMALL);
    assert!(text.contains("sdz is gone") && !text.contains("sd7"), "{text}");
}

#[test]
fn the_last_line_has_whole_keys_only_and_all_of_them_at_80_columns() {
    let line = |columns| {
        let text = screen(&known(), &plain(), (columns, 12));
        text.lines().last().unwrap().to_owned()
    };
    let all = line(80);
    assert!(all.starts_with("q:quit ") && all.ends_with(" m:mouse"), "{all}");
    for columns in 6..100 {
        let shown = line(columns);
        assert!(all.starts_with(&shown), "{columns}: {shown}");
        assert!(all.len() == shown.len() || all[shown.len()..].starts_with(' '), "{shown}");
    }
}

#[test]
fn the_last_line_explains_the_mark_of_a_busy_figure_while_one_is_shown() {
    let mut data = known();
    let hint = |data: &WatchData, view| screen(data, &view, SMALL).contains("busy ?:unreliable");
    assert!(!hint(&data, plain()));
    let device = data.rows[0].device.as_ref().clone();
    data.rows[0].device =
        Arc::new(ObservedDevice { busy_doubt: Some("an old kernel".to_owned()), ..device });
    assert!(screen(&data, &plain(), SMALL).contains("100 %?"));
    assert!(hint(&data, plain()) && !hint(&data, WatchView { detail: true, ..plain() }));
}

#[test]
fn a_machine_without_a_disk_says_so() {
    let text = screen(&data(Vec::new()), &plain(), SMALL);
    assert!(text.contains("Press a for all devices"), "{text}");
    let none = WatchData { hidden: 0, ..data(Vec::new()) };
    assert!(screen(&none, &plain(), SMALL).contains("No block device is visible"));
    screen(&WatchData::default(), &plain(), SMALL);
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
fn requests_that_a_volume_repeats_are_counted_once() {
    let mut volume = busy("dm-0", 100.0, 0.0, 1e6);
    volume.device = Arc::new(ObservedDevice {
        name: "dm-0".to_owned(),
        built_of: vec!["sda".to_owned()],
        ..ObservedDevice::default()
    });
    let mut part = busy("sda1", 100.0, 0.0, 1e6);
    part.device = Arc::new(ObservedDevice {
        name: "sda1".to_owned(),
        partition_of: Some("sda".to_owned()),
        ..ObservedDevice::default()
    });
    let text = screen(&data(vec![busy("sda", 100.0, 0.0, 1e6), part, volume]), &plain(), SMALL);
    assert!(text.contains("; 3 devices, 2 repeat others (9 hidden: a)"), "{text}");
    assert!(text.contains("100 IOPS, 410 kB/s; by"), "{text}");
}

#[test]
fn a_limit_of_a_control_group_and_a_recording_are_said_at_the_top() {
    let mut data = known();
    data.context.cgroup_limits = vec![CgroupLimit {
        group: "/db\x1b[31m".to_owned(),
        limited: record::LimitedIo::Riops,
        major_minor: "254:0".to_owned(),
        limit_per_s: 85_000,
    }];
    let view = WatchView { recording: Some("12 s".to_owned()), paused: true, ..plain() };
    let text = screen(&data, &view, SMALL);
    assert!(text.contains("control group /db\\x1b[31m is limited to 85.0k IOPS of reads on vda"));
    assert!(text.contains("RECORDING 12 s") && text.contains("PAUSED"), "{text}");
}

#[test]
fn every_size_of_a_terminal_is_filled_and_none_is_overrun() {
    let views = [
        plain(),
        WatchView { detail: true, ..plain() },
        WatchView { help: true, ..plain() },
        WatchView { picked: Some("sd7".to_owned()), remark: Some("x".repeat(300)), ..plain() },
        WatchView { filter: "sd1".to_owned(), typing: true, binary: true, ..plain() },
    ];
    let datas = [known(), many(1), many(60), WatchData::default()];
    // Too small for anything, for the header alone, for a part; usual; larger than all rows.
    let all: (&[u16], &[u16]) = (&[1, 2, 3, 5, 10, 24, 60, 200], &[1, 10, 40, 79, 80, 120, 400]);
    let (heights, widths) = testkit::draws((&[1, 3, 24, 200][..], &[1, 40, 80, 400][..]), all);
    for &rows in heights {
        for &columns in widths {
            for (data, view) in
                datas.iter().flat_map(|data| views.iter().map(move |view| (data, view)))
            {
                screen(data, view, (columns, rows));
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let plain_cells = drawn(&known(), &plain(), SMALL, false).content;
    let coloured = drawn(&known(), &plain(), SMALL, true).content;
    assert!(plain_cells.iter().all(|cell| cell.modifier.is_empty() && cell.fg == Color::Reset));
    let picked = coloured.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED));
    assert_eq!(picked.count(), usize::from(SMALL.0), "the picked row is marked");
    let texts = plain_cells.iter().zip(&coloured);
    assert!(texts.clone().all(|(plain, coloured)| plain.symbol() == coloured.symbol()));
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
