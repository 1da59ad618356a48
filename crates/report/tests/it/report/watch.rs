//! Tests the live screen at all sizes: its list of devices, its keys, its help and its colours.

use crate::report::common::watch::{LARGE, SMALL, busy, data, drawn, known, many, plain, screen};
use crate::report::snapshots::assert_snapshot;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use record::{CgroupLimit, ObservedDevice};
use report::{SortBy, WatchData, WatchPlace, WatchView, watch_place};
use std::sync::Arc;

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
fn the_help_names_every_key_and_every_figure() {
    let view = WatchView { help: true, ..plain() };
    let text = screen(&known(), &view, SMALL);
    assert_snapshot("watch_help_80x24", &text);
    for words in ["Ctrl-C", "Page Down", "S = U/X", "saturation", "verdict  "] {
        assert!(text.contains(words), "{words} is not in\n{text}");
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
