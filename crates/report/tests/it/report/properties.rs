//! Tests properties of every page for any record: no line too wide, no terminal control sequence, no panic.

use crate::report::{LOG, common};
use record::{CacheMode, Capability, Cell, Estimate, Measured, OpKind, Profile, Trial};
use report::{self, Extent, Level, Style};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A name that clears the screen, sets the title, moves the cursor, reverses the writing direction
/// and is long.
const HOSTILE: &str =
    "\x1b[2J\x1b]0;owned\x07\r\n\tdrop \u{9b}31m \u{202e}dwoc\u{2066} \u{0}\u{7f}";

/// Xorshift64 (Marsaglia 2003): a fixed sequence of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// All pages of a profile and a trial.
fn pages(profile: &Profile, trial: &Trial, style: &Style) -> Vec<String> {
    let capability = Capability {
        name: profile.target.path.clone(),
        available: profile.simulated,
        detail: profile.id.clone(),
        remedy: profile.halfpower_version.clone(),
    };
    vec![
        report::terminal(&report::profile(profile, &[]), style),
        report::terminal(&report::trial(trial), style),
        report::target_text(&profile.target, profile.environment.as_ref(), style),
        report::findings_text(&trial.findings, style),
        report::profile_list_text(&[profile.clone(), profile.clone()], style),
        report::capabilities_text(&[capability.clone(), capability], style),
        report::next_steps_text(&[profile.target.path.clone(), profile.id.clone()], style),
    ]
}

fn assert_proper(page: &str, width: usize) {
    for line in page.lines() {
        assert!(line.chars().count() <= width, "{} columns: {line}", line.chars().count());
        assert!(!line.ends_with(' '), "trailing space: {line}");
        let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
        let steers = |c: char| c.is_control() || turns(c) || ('\u{2060}'..='\u{206f}').contains(&c);
        assert!(!line.contains(steers), "steers a terminal: {line:?}");
    }
    assert!(page.is_empty() || page.ends_with('\n'));
}

/// Pointers to all values in a document (RFC 6901).
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, v)| pointers(v, &format!("{at}/{i}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(k, v)| pointers(v, &format!("{at}/{k}"), found));
        }
        _ => {}
    }
    found.push(at.to_owned());
}

/// A replacement for a value: an extreme of the same type.
fn extreme(value: &Value, choices: &mut Choices) -> Value {
    match value {
        Value::Number(number) if number.is_u64() => {
            [0, 1, 7, 12_345, 1 << 20, u64::from(u32::MAX), u64::MAX][choices.below(7)].into()
        }
        Value::Number(_) => {
            [0.0, -1.0, 1e-30, 0.5, 1.0, 999.5, 1e6, 1e12, 1e300][choices.below(9)].into()
        }
        Value::String(_) => ["", " ", "x", HOSTILE, &"word ".repeat(60), &"longname".repeat(30)]
            [choices.below(6)]
        .into(),
        Value::Bool(yes) => (!yes).into(),
        Value::Array(items) => match choices.below(3) {
            0 => Value::Array(Vec::new()),
            1 => Value::Array(items.iter().take(1).cloned().collect()),
            _ => Value::Array(items.iter().chain(items).cloned().collect()),
        },
        _ => Value::Null,
    }
}

/// The record with up to `count` values changed. A change that the types reject is reverted.
fn distorted<T: Serialize + DeserializeOwned>(
    record: &T,
    count: usize,
    choices: &mut Choices,
) -> T {
    let mut value = serde_json::to_value(record).unwrap();
    for _ in 0..count {
        let mut places = Vec::new();
        pointers(&value, "", &mut places);
        let place = &places[choices.below(places.len())];
        let mut changed = value.clone();
        let target = changed.pointer_mut(place).unwrap();
        *target = extreme(target, choices);
        if serde_json::from_value::<T>(changed.clone()).is_ok() {
            value = changed;
        }
    }
    serde_json::from_value(value).unwrap()
}

/// The record with every free text replaced.
fn with_all_texts<T: Serialize + DeserializeOwned>(record: &T, text: &str) -> T {
    let mut value = serde_json::to_value(record).unwrap();
    let mut places = Vec::new();
    pointers(&value, "", &mut places);
    for place in places {
        if value.pointer(&place).is_some_and(Value::is_string) {
            let before = value.pointer(&place).cloned().unwrap();
            *value.pointer_mut(&place).unwrap() = text.into();
            if serde_json::from_value::<T>(value.clone()).is_err() {
                *value.pointer_mut(&place).unwrap() = before;
            }
        }
    }
    serde_json::from_value(value).unwrap()
}

#[test]
fn no_page_of_a_distorted_record_is_too_wide_or_panics() {
    let mut choices = Choices(0x9e37_79b9_7f4a_7c15);
    let profiles =
        [common::fast_profile(), common::slow_profile(), common::read_only_simulated_profile()];
    let trials = [
        common::clean_trial(),
        common::failing_trial(),
        common::trial_without_device(),
        common::open_loop_trial(),
    ];
    for round in 0..testkit::draws(24, 60) {
        let count = choices.below(24);
        let profile = distorted(&profiles[round % 3], count, &mut choices);
        let trial = distorted(&trials[round % 4], count, &mut choices);
        let width = [0, 80, 91, 100, 250][choices.below(5)];
        let extent = [Extent::Short, Extent::Whole][choices.below(2)];
        for page in
            pages(&profile, &trial, &Style { color: false, width, extent, ..Style::default() })
        {
            assert_proper(&page, width.clamp(60, 160));
        }
    }
}

#[test]
fn text_from_outside_cannot_steer_the_terminal() {
    let profile = with_all_texts(&common::slow_profile(), HOSTILE);
    let trial = with_all_texts(&common::failing_trial(), HOSTILE);
    assert_eq!(profile.target.path, HOSTILE);
    let device = profile.target.device.as_ref().unwrap();
    assert_eq!(device.model.as_deref(), Some(HOSTILE));
    for page in pages(&profile, &trial, &LOG) {
        assert_proper(&page, 80);
    }
    let painted =
        pages(&profile, &trial, &Style { color: true, width: 80, ..Style::default() }).concat();
    assert!(!painted.contains("\x1b[2J") && !painted.contains("\x1b]"));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let (profile, trial) = (common::fast_profile(), common::failing_trial());
    let plain = pages(&profile, &trial, &LOG);
    let painted = pages(&profile, &trial, &Style { color: true, width: 80, ..Style::default() });
    for (plain, painted) in plain.iter().zip(&painted) {
        assert!(!plain.contains('\x1b'));
        let mut stripped = String::new();
        for (position, part) in painted.split("\x1b[").enumerate() {
            stripped.push_str(if position == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(&stripped, plain);
    }
    assert!(painted[0].contains("\x1b[1m"), "headings are painted");
}

#[test]
fn a_number_that_is_none_breaks_no_page() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, f64::MAX, 5e-324] {
        let (profile, trial) = poisoned(value);
        for page in pages(&profile, &trial, &LOG) {
            assert_proper(&page, 80);
            let nonsense = ["NaN", "inf"].iter().any(|word| page.contains(word));
            assert!(!nonsense, "{value}: {page}");
        }
    }
}

/// Records in which every estimate and most plain numbers are `value`.
fn poisoned(value: f64) -> (Profile, Trial) {
    let bad = Estimate { value, low: value, high: value, se: value, n: 0 };
    let mut profile = common::fast_profile();
    for cell in &mut profile.cells {
        (cell.iops, cell.bytes_per_s, cell.latency_ns) = (bad, bad, bad);
        cell.utilization = Measured::Value(value);
        cell.service_ns = Measured::Value(bad);
        cell.cpu_us_per_io = Measured::Value(bad);
    }
    for fit in &mut profile.service_time_fits {
        (fit.intercept_ns, fit.slope_ns_per_byte) = (bad, bad);
        (fit.reduced_chi_square, fit.max_residual_rel) = (value, value);
        fit.left_out.iter_mut().for_each(|p| (p.measured_ns, p.residual_ns) = (value, value));
    }
    for curve in &mut profile.depth_curves {
        (curve.max_iops, curve.knee_gain) = (bad, value);
        for point in &mut curve.points {
            (point.iops, point.latency_ns) = (bad, bad);
            (point.p99_ns, point.cpu_us_per_io) = (Some(value), Some(value));
        }
    }
    for curve in &mut profile.size_curves {
        curve.half_of_max_bytes_per_s = value;
        curve.points.iter_mut().for_each(|point| point.bytes_per_s = bad);
    }
    for expectation in &mut profile.expectations {
        (expectation.saturation, expectation.iops, expectation.latency_ns) = (value, value, bad);
        (expectation.mm1_response_ns, expectation.mm1_error_rel) = (value, value);
    }
    let limits = &mut profile.limits;
    for limit in [&mut limits.read_iops, &mut limits.write_iops, &mut limits.read_bytes_per_s] {
        *limit = Some(bad);
    }
    for finding in &mut profile.findings {
        finding.evidence.iter_mut().for_each(|evidence| evidence.value = value);
    }
    (profile, poisoned_trial(value))
}

fn poisoned_trial(value: f64) -> Trial {
    let mut trial = common::failing_trial();
    let result = &mut trial.result;
    result.concurrency = value;
    for direction in [&mut result.read, &mut result.write].into_iter().flatten() {
        (direction.iops, direction.bytes_per_s) = (value, value);
        direction.iops_ci95_rel = Some(value);
        if let Some(times) = &mut direction.latency_ns {
            (times.mean, times.mean_ci95_rel, times.p50) = (value, Some(value), Some(value));
        }
    }
    if let Measured::Value(cpu) = &mut trial.cpu {
        (cpu.user_ms, cpu.system_ms, cpu.workers_ms) = (value, value, value);
        (cpu.lower_us_per_io, cpu.ms_per_mib) = (Some(value), Some(value));
        cpu.steal_ms = Some(value);
    }
    if let Measured::Value(device) = &mut trial.device_counters {
        (device.busy_ms, device.concurrency) = (value, value);
        (device.ratio_ios, device.ratio_bytes) = (Some(value), Some(value));
        device.mean_request_bytes = Some(value);
    }
    if let Measured::Value(harness) = &mut trial.harness {
        (harness.ceiling_iops, harness.clock_cost_ns) = (value, value);
    }
    trial
}

#[test]
fn without_busy_counters_the_service_times_are_missing_with_their_reason() {
    let measured = report::terminal(&report::profile(&common::fast_profile(), &[]), &LOG);
    assert!(measured.contains("S is the mean time between completions"), "{measured}");
    let mut profile = common::fast_profile();
    for cell in &mut profile.cells {
        cell.utilization = Measured::not("the kernel keeps no counters");
        cell.service_ns = Measured::not("the kernel keeps no counters");
    }
    let text = report::terminal(&report::profile(&profile, &[]), &LOG);
    assert!(text.contains("S and U not measured: the kernel keeps no counters."), "{text}");
    assert!(!text.contains("mean time between completions"), "{text}");
    assert_proper(&text, 80);
}

#[test]
fn empty_records_make_short_pages() {
    let mut profile = common::fast_profile();
    profile.cells.clear();
    profile.service_time_fits.clear();
    profile.depth_curves.clear();
    profile.size_curves.clear();
    profile.expectations.clear();
    profile.advice.clear();
    profile.findings.clear();
    profile.environment = None;
    (profile.limits.read_iops, profile.limits.write_iops) = (None, None);
    (profile.limits.read_bytes_per_s, profile.limits.write_bytes_per_s) = (None, None);
    let text = report::terminal(&report::profile(&profile, &[]), &LOG);
    assert_proper(&text, 80);
    // Six answers, then advice, service times and both curves. The other parts state what they lack.
    assert_eq!(text.matches("not measured (no valid trial)").count(), 10, "{text}");
    let mut trial = common::clean_trial();
    trial.targets.clear();
    trial.result.read = None;
    let text = report::terminal(&report::trial(&trial), &LOG);
    assert_proper(&text, 80);
    assert!(text.contains("Nothing was measured."), "{text}");
    assert_eq!(report::findings_text(&[], &LOG), "");
    assert_eq!(report::next_steps_text(&[], &LOG), "");
    assert_eq!(report::capabilities_text(&[], &LOG), "");
}

/// The same cells in another cache mode, `factor` times as fast.
fn in_mode(cells: &[Cell], cache: CacheMode, factor: f64) -> Vec<Cell> {
    let mut cells = cells.to_vec();
    for cell in &mut cells {
        cell.workload.cache = cache;
        cell.cell = cell.workload.cell();
        cell.iops = cell.iops.scaled(factor);
        cell.bytes_per_s = cell.bytes_per_s.scaled(factor);
        cell.latency_ns = cell.latency_ns.scaled(1.0 / factor);
        let service = cell.service_ns.value().map(|service| service.scaled(1.0 / factor));
        cell.service_ns = service.map_or_else(|| Measured::not("none"), Measured::Value);
    }
    cells
}

#[test]
fn cells_of_other_cache_modes_change_no_number_of_the_page() {
    // The list of all cells includes them, but is not part of the answer.
    let page = |profile: &Profile| {
        let mut story = report::profile(profile, &[]);
        story.sections.retain(|section| section.level != Level::Detail);
        report::terminal(&story, &LOG)
    };
    for curves in [true, false] {
        let mut profile = common::fast_profile();
        if !curves {
            // The headline then uses the cells.
            profile.depth_curves.clear();
        }
        let alone = page(&profile);
        assert!(alone.contains("9.64 GB/s ±1 % at 1 MiB"), "{alone}");
        let small: Vec<Cell> = profile
            .cells
            .iter()
            .filter(|cell| cell.workload.max_bs().0 <= 64 << 10)
            .cloned()
            .collect();
        let mut cells = in_mode(&small, CacheMode::All, 1000.0);
        cells.extend(in_mode(&small, CacheMode::None, 0.001));
        // A size that only these cells have.
        let mut smaller = cells[0].clone();
        smaller.workload.pattern = record::Pattern::Random;
        smaller.workload.bs[0].bytes = record::Bytes(512);
        cells.insert(0, smaller);
        profile.cells.splice(0..0, cells);
        assert_eq!(page(&profile), alone);
    }
}

#[test]
fn a_cached_reread_does_not_name_the_size_of_the_largest_throughput() {
    let mut profile = common::fast_profile();
    let hit = profile.cells.iter_mut().find(|cell| cell.workload.hit_bytes.is_some()).unwrap();
    hit.bytes_per_s = hit.bytes_per_s.scaled(1e6);
    let text = report::terminal(&report::profile(&profile, &[]), &LOG);
    assert!(text.contains("9.64 GB/s ±1 % at 1 MiB"), "{text}");
}

#[test]
fn a_depth_or_time_of_another_request_size_does_not_stand_beside_the_smallest() {
    let mut profile = common::fast_profile();
    for curve in profile.depth_curves.iter_mut().filter(|curve| curve.op == OpKind::Write) {
        curve.bs_bytes = 64 << 10;
        curve.points[0].latency_ns = Estimate::symmetric(7.77e9, 1.0, 3);
    }
    let text = report::terminal(&report::profile(&profile, &[]), &LOG);
    let headline: String = text.lines().take(9).map(|line| format!("{line}\n")).collect();
    assert!(headline.contains("88.1k IOPS ±3 %\n"), "{headline}");
    assert!(headline.contains("75.9 µs ±3 %\n"), "{headline}");
}

#[test]
fn a_headline_without_numbers_gives_its_reasons_whole() {
    let mut profile = common::fast_profile();
    profile.limits = serde_json::from_value(serde_json::json!({
        "read_iops": null, "write_iops": null,
        "read_bytes_per_s": null, "write_bytes_per_s": null,
    }))
    .unwrap();
    let text =
        report::terminal(&report::profile(&profile, &[]), &Style { extent: Extent::Short, ..LOG });
    assert_eq!(text.matches("not measured (no valid trial)").count(), 4, "{text}");
    assert!(!text.contains('…'), "{text}");
    assert_proper(&text, 80);
}

#[test]
fn every_reason_for_a_missing_service_time_is_given_once() {
    let mut profile = common::fast_profile();
    for (index, cell) in profile.cells.iter_mut().enumerate().take(4) {
        let reason = match index {
            0 | 2 => "the counter stood still".to_owned(),
            _ => format!("the counter was read {index}.4 ms late"),
        };
        cell.utilization = Measured::not(reason.as_str());
        cell.service_ns = Measured::not(reason);
    }
    let text = report::terminal(&report::profile(&profile, &[]), &LOG);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "S and U of some cells not measured: the counter stood still; the counter was read \
                3.4 ms late. Caution";
    assert!(text.contains(note), "{text}");
}

#[test]
fn ratios_and_factors_of_a_trial_have_three_digits() {
    let mut trial = common::clean_trial();
    let Measured::Value(device) = &mut trial.device_counters else { panic!("it has counters") };
    (device.ratio_ios, device.ratio_bytes) = (Some(295.000_4), Some(0.2954));
    let Measured::Value(harness) = &mut trial.harness else { panic!("it has a ceiling") };
    harness.ceiling_iops = trial.result.read.as_ref().unwrap().iops * 2_569_900.0;
    let text = report::terminal(&report::trial(&trial), &LOG);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("295 of the submitted requests, 0.295 of the submitted bytes"), "{text}");
    assert!(text.contains("2.57M times the rate of a job here"), "{text}");
}

#[test]
fn group_commit_is_praised_only_where_separate_flushes_reach_less() {
    let mut profile = common::fast_profile();
    let page = |profile: &Profile| report::terminal(&report::profile(profile, &[]), &LOG);
    assert!(page(&profile).contains("(group commit)"));
    let Measured::Value(commits) = &mut profile.commits else { panic!("it has commits") };
    for point in &mut commits.points {
        // A flush takes the same time for any number of committers, and serves more than one.
        let rate = f64::from(point.committers) * 1e9 / 0.8e6;
        point.commits_per_s = Estimate::symmetric(rate, 0.04 * rate, 3);
    }
    let text = page(&profile);
    assert!(
        text.contains("committers with separate flushes") && !text.contains("(group commit)"),
        "{text}"
    );
}

#[test]
fn an_expectation_that_is_not_known_keeps_its_row_and_the_page_says_why() {
    let known = common::fast_profile();
    let reason = "Some values are unknown or omitted";
    assert!(!report::terminal(&report::profile(&known, &[]), &LOG).contains(reason));
    let mut profile = known.clone();
    profile.expectations.retain(|expectation| expectation.saturation < 0.9);
    let text = report::terminal(&report::profile(&profile, &[]), &LOG);
    let row = text.lines().find(|line| line.trim_start().starts_with("90 %")).unwrap();
    assert!(row.contains("unknown") && text.contains(reason), "{text}");
    profile.expectations.clear();
    let text = report::terminal(&report::profile(&profile, &[]), &LOG);
    assert!(text.contains("vary too much") && !text.contains("no model"), "{text}");
    profile.depth_curves.clear();
    assert!(
        report::terminal(&report::profile(&profile, &[]), &LOG)
            .contains("no model without a depth curve")
    );
}
