//! Compares whole pages with committed files. `HALFPOWER_BLESS=1` rewrites them; read the
//! difference as a user would before committing it.

use crate::report::{LOG, common};
use record::{Capability, QUANTITIES};

/// Compares with a committed file, or rewrites it if `HALFPOWER_BLESS` is set.
fn assert_is_committed(path: &str, text: &str) {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{path} differs; HALFPOWER_BLESS=1 cargo test -p halfpower-report rewrites it. Now:\n{text}"
    );
}

pub(crate) fn assert_snapshot(name: &str, text: &str) {
    assert_is_committed(&format!("tests/snapshots/{name}.txt"), text);
}

#[test]
fn the_whole_page_of_a_profile_of_a_fast_virtual_disk() {
    let text = report::terminal(&report::profile(&common::fast_profile(), &[]), &LOG);
    assert_snapshot("profile_fast", &text);
}

#[test]
fn the_short_page_of_a_profile_and_of_a_trial_has_about_forty_lines() {
    let style = report::Style { extent: report::Extent::Short, ..LOG };
    let stories = [
        ("profile_fast_short", report::profile(&common::fast_profile(), &[])),
        ("trial_open_loop_short", report::trial(&common::open_loop_trial())),
    ];
    for (name, story) in stories {
        let text = report::terminal(&story, &style);
        assert_snapshot(name, &text);
        assert!(text.lines().count() <= 44, "{name}: {} lines", text.lines().count());
    }
}

#[test]
fn a_wide_terminal_gives_longer_bars_and_the_same_numbers() {
    let style = report::Style { width: 100, ..LOG };
    assert_snapshot(
        "profile_fast_wide",
        &report::terminal(&report::profile(&common::fast_profile(), &[]), &style),
    );
}

#[test]
fn a_slow_disk_has_fewer_points_and_times_in_milliseconds() {
    assert_snapshot(
        "profile_slow",
        &report::terminal(&report::profile(&common::slow_profile(), &[]), &LOG),
    );
}

#[test]
fn a_read_only_simulated_profile_says_both() {
    let text =
        report::terminal(&report::profile(&common::read_only_simulated_profile(), &[]), &LOG);
    assert_snapshot("profile_simulated_read_only", &text);
}

#[test]
fn a_clean_trial() {
    assert_snapshot("trial_clean", &report::terminal(&report::trial(&common::clean_trial()), &LOG));
}

#[test]
fn a_trial_with_errors_says_first_that_it_is_not_valid() {
    assert_snapshot(
        "trial_errors",
        &report::terminal(&report::trial(&common::failing_trial()), &LOG),
    );
}

#[test]
fn a_trial_without_a_device_says_why_counters_are_missing() {
    assert_snapshot(
        "trial_no_device",
        &report::terminal(&report::trial(&common::trial_without_device()), &LOG),
    );
}

#[test]
fn a_trial_with_everything_that_a_run_can_be_asked_for() {
    assert_snapshot(
        "trial_open_loop",
        &report::terminal(&report::trial(&common::open_loop_trial()), &LOG),
    );
}

#[test]
fn intervals_are_a_table_of_their_own() {
    let text = report::terminal(&report::trial(&common::trial_with_intervals()), &LOG);
    assert_snapshot("trial_intervals", &text);
}

#[test]
fn lists_and_steps() {
    let profiles = [common::fast_profile(), common::read_only_simulated_profile()];
    let row = |name: &str, available, detail: &str, remedy: &str| Capability {
        name: name.into(),
        available,
        detail: detail.into(),
        remedy: remedy.into(),
    };
    let capabilities = [
        row("io_uring", true, "kernel 6.8: single issuer, deferred task run", ""),
        row(
            "device counters",
            false,
            "/sys/block/vda/stat shows no requests: the kernel keeps no counters for this disk",
            "echo 1 > /sys/block/vda/queue/iostats (as root)",
        ),
    ];
    let steps = [
        "halfpower run /data/db --rw randread --bs 4k --iodepth 32 --runtime 60s".to_owned(),
        "halfpower check /data/db --full --budget 300s --size 20g --db /var/lib/halfpower/a.db"
            .into(),
    ];
    let text = [
        report::profile_list_text(&profiles, &LOG),
        report::profile_list_text(&[], &LOG),
        report::capabilities_text(&capabilities, &LOG),
        report::next_steps_text(&steps, &LOG),
        report::target_text(&common::target(Some(common::rotating_disk())), None, &LOG),
    ];
    assert_snapshot("lists", &text.join("\n"));
}

#[test]
fn the_page_of_quantities_is_that_of_the_table() {
    assert_is_committed("../../docs/quantities.md", &quantities_markdown());
}

/// `docs/quantities.md`: identifier, title, unit and meaning of each quantity.
fn quantities_markdown() -> String {
    let mut text = String::from(
        "# Reported quantities\n\n\
         This page lists every number that halfpower prints or stores. It is generated from the\n\
         definitions in the program.\n\n\
         A terminal shows times, sizes and rates with three significant digits, in a suitable unit.\n\
         MB is 10^6 bytes, MiB is 2^20 bytes. `±` is the half-width of a 95 % interval.\n\n\
         | identifier | in tables | stored as | meaning |\n|---|---|---|---|\n",
    );
    let cell = |text: &str| text.replace('|', "\\|");
    for quantity in QUANTITIES {
        let (title, help) = (cell(quantity.title), cell(quantity.help));
        let (stored, ..) = quantity.unit.stored();
        text.push_str(&format!("| `{}` | {title} | {stored} | {help} |\n", quantity.id));
    }
    text
}
