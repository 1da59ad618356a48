//! Tests what the live screen shows of one device.

use crate::report::common;
use crate::report::common::watch::{LARGE, SMALL, busy, data, known, many, plain, screen};
use crate::report::snapshots::assert_snapshot;
use record::{Traced, TracedOp};
use report::{WatchRow, WatchView};

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
fn a_device_that_was_opened_and_went_is_not_replaced_by_another() {
    let view = WatchView { picked: Some("sdz".to_owned()), detail: true, ..plain() };
    let text = screen(&many(60), &view, SMALL);
    assert!(text.contains("sdz is gone") && !text.contains("sd7"), "{text}");
}
