//! Reports what to do about a device: the first action in a few words next to the verdict, and all
//! actions in detail.

use super::{LIVE, told, verdict_text};
use crate::observation::period;
use crate::story::{Action, CAUSE, Story, number, or_why};
use record::{
    Cause, CauseCode, Demand, DeviceDiagnosis, Effect, Episode, HypothesisName, Remedy, Rung,
    Strategy, Verdict, drive_letter, is_of_windows,
};

/// Number of recommendations with all details; the others have only the action and its gain.
const IN_FULL: usize = 3;
/// Relative change below which a rate counts as the same.
const SAME_RATE: f64 = 0.005;
/// Ratio of throughputs from which another episode is named next to the shown one.
const OTHER_LOAD: f64 = 3.0;

/// The answers next to the verdict: the cause, the first action and its gain.
pub(super) fn answers(
    source: &str,
    device: &DeviceDiagnosis,
    main: &Episode,
) -> Vec<(String, String)> {
    let first = device.first_remedy();
    let for_shown = first.filter(|remedy| device.is_for_shown(remedy));
    let addressed = for_shown.and_then(|remedy| answered(device, remedy));
    let cause = addressed.or_else(|| main.causes.first());
    let action = match first {
        Some(remedy) => of_another(device, remedy) + first_sentence(&remedy.action),
        None => first_sentence(&without_remedy(source, device, main)).to_owned(),
    };
    let baseline = main.baseline.as_ref().filter(|baseline| baseline.rung != Rung::Profile);
    let unproven = baseline.is_some();
    let who = main.groups.first().filter(|_| unproven);
    // A profile of the device may still predict nothing for this load.
    let own = baseline.filter(|it| it.rung != Rung::Model && device.profile.value().is_some());
    let unserved = own.and_then(|baseline| baseline.better.as_deref()).map(first_sentence);
    let unused = device.unused_profile.as_deref().or(unserved);
    let ruled_out = main.excluded.iter().map(|one| told(one.verdict).0).collect::<Vec<_>>();
    let rows = [
        ("when", since_when(device, main)),
        ("other load", other_load(device, main)),
        ("who", who.map(|group| format!("{}: {}", group.label(), group.figures(&main.groups)))),
        (CAUSE, cause.map(|cause| first_sentence(&cause.claim).to_owned())),
        ("excluded", Some(ruled_out.join(", ")).filter(|text| unproven && !text.is_empty())),
        ("do first", Some(action)),
        ("predicted", first.map(|remedy| of_another(device, remedy) + &in_short(remedy))),
        ("profile", unused.map(str::to_owned)),
        ("rests on", baseline.map(|baseline| first_sentence(&baseline.says).to_owned())),
        ("to settle it", unproven.then(|| settles(source, &device.device))),
    ];
    rows.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
}

/// Begin and end of an episode.
pub(super) fn span(main: &Episode) -> String {
    let end = main.begin_ns.saturating_add(main.duration_ns);
    period(main.begin_ns, end)
}

/// When the shown episode was, and how the device performed before it; `None` if it is the only one.
fn since_when(device: &DeviceDiagnosis, main: &Episode) -> Option<String> {
    if device.episodes.len() < 2 || !main.is_likely_trouble() {
        return None;
    }
    let before = device.shown().and_then(|at| device.episodes.get(at.checked_sub(1)?));
    let before = before.and_then(|before| {
        let latency = number::time(before.numbers.latency_ns?);
        Some(format!("; before that, {latency} at {}", record::format_iops(before.numbers.iops?)))
    });
    Some(span(main) + &before.unwrap_or_default())
}

/// The episode with by far the largest throughput, if the page shows another one: a backup, for example.
fn other_load(device: &DeviceDiagnosis, main: &Episode) -> Option<String> {
    let throughput = |episode: &&Episode| episode.numbers.bytes_per_s.unwrap_or(0.0);
    let largest = device.episodes.iter().max_by(|a, b| throughput(a).total_cmp(&throughput(b)))?;
    let far = throughput(&largest) >= OTHER_LOAD * throughput(&main);
    (far && largest.numbers.requests >= 1.0).then(|| {
        let numbers = &largest.numbers;
        let latency = numbers.latency_ns.map(|ns| format!(", {} each", number::time(ns)));
        format!(
            "{}: {}{}; {}",
            span(largest),
            record::format_rate(throughput(&largest)),
            latency.unwrap_or_default(),
            verdict_text(largest)
        )
    })
}

/// The one command that would decide a verdict without a profile.
fn settles(source: &str, name: &str) -> String {
    let place = if name.starts_with("sim:") || name.starts_with('/') {
        name.to_owned()
    } else if let Some(letter) = drive_letter(name) {
        format!("{letter}\\")
    } else if is_of_windows(source, name) {
        "on a folder of that disk".to_owned()
    } else if name.starts_with("dev") && name.contains('-') {
        // sar's name of a disk by its device numbers, as in dev8-16.
        format!("DIRECTORY, one on the disk {}", name[3..].replace('-', ":"))
    } else {
        format!("/dev/{name} (as root) or a directory on it")
    };
    format!("halfpower check {place}, while the disk is quiet; then observe again")
}

/// The first action in as few words as a column has.
pub(super) fn first_in_words(device: &DeviceDiagnosis, main: &Episode) -> String {
    match (device.first_remedy(), main.verdict) {
        (Some(remedy), _) => {
            let (other, what) = (of_another(device, remedy), strategy_words(remedy.strategy));
            let gain = gained(remedy).map(|gain| format!(", {gain}"));
            format!("{other}{what}{}", gain.unwrap_or_default())
        }
        (None, _) if main.may_be_trouble() => "measure more".to_owned(),
        (None, Verdict::Healthy | Verdict::NotTheDisk) if gets_what_it_asks_for(main) => {
            "leave it alone".to_owned()
        }
        (None, Verdict::Healthy | Verdict::NotTheDisk) => "no evidence against it".to_owned(),
        (None, Verdict::NotEnoughEvidence) => "collect evidence".to_owned(),
        (None, _) => "measure more".to_owned(),
    }
}

/// `episode 2: ` if a remedy is for another episode than the shown one.
pub(super) fn of_another(device: &DeviceDiagnosis, remedy: &Remedy) -> String {
    let number = remedy.episode.saturating_add(1);
    if device.is_for_shown(remedy) { String::new() } else { format!("episode {number}: ") }
}

/// The cause that a remedy addresses.
fn answered<'a>(device: &'a DeviceDiagnosis, remedy: &Remedy) -> Option<&'a Cause> {
    let episode = device.episodes.get(remedy.episode as usize)?;
    episode.causes.iter().find(|cause| (cause.code, &cause.check) == (remedy.cause, &remedy.check))
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// Whether the recording itself, and not the load, has too few data for a verdict.
fn lacks_data(main: &Episode) -> bool {
    main.hypothesis.as_ref().is_some_and(|row| row.name == HypothesisName::TOO_FEW_DATA)
}

/// What to do if no remedy is known. The source of the counters shows whether they come from Windows.
pub(super) fn without_remedy(source: &str, device: &DeviceDiagnosis, main: &Episode) -> String {
    let elsewhere = main.causes.iter().filter(|cause| cause.code.is_elsewhere());
    let elsewhere: Vec<&str> = elsewhere.map(|cause| cause.claim.as_str()).collect();
    let profiled = device.profile.value().is_some();
    let flushes = main.causes.iter().any(|cause| cause.code == CauseCode::ManyFlushes);
    const DECIDE: &str = "First find out whether the disk or the load is the cause: run `halfpower \
                          check` on the disk while it is quiet, then observe again.";
    let text = match main.verdict {
        _ if main.may_be_trouble() => DECIDE,
        Verdict::Healthy | Verdict::NotTheDisk if main.demand == Demand::Unmet => {
            "The disk is fine, but programs wait for more than the disk: check the layers in \
             between (limits, locks, the network, another disk)."
        }
        Verdict::Healthy | Verdict::NotTheDisk if flushes && !profiled => {
            "Find out what a commit takes on this disk: run `halfpower check` on a directory of it \
             while it is quiet. Programs may wait for the flushes, which no latency of reads or \
             writes includes."
        }
        Verdict::Healthy | Verdict::NotTheDisk if !gets_what_it_asks_for(main) => {
            match is_of_windows(source, &device.device) {
                true => {
                    "There is no evidence against this disk. Windows does not report whether \
                     programs wait for anything else: measure latency in the program."
                }
                false if source == LIVE => {
                    "There is no evidence against this disk. A profile would show whether programs \
                     get what they ask for: run `halfpower check` on it while it is quiet."
                }
                false => {
                    "There is no evidence against this disk. This source does not show whether \
                     programs wait for anything else: run `halfpower diagnose` on the machine \
                     itself, as root."
                }
            }
        }
        Verdict::Healthy | Verdict::NotTheDisk if elsewhere.is_empty() => {
            "Leave the disk alone: it is fine. If a program waits, it waits for something else: a \
             lock, the network, another machine, or something that this source does not report."
        }
        Verdict::Healthy | Verdict::NotTheDisk => {
            "Leave the disk alone and remove the cause above it: the disk itself is fine."
        }
        Verdict::NotEnoughEvidence
            if main.numbers.iops.is_none() || main.numbers.requests >= 1.0 && lacks_data(main) =>
        {
            HypothesisName::RECORD_AGAIN
        }
        Verdict::NotEnoughEvidence if profiled => {
            "Observe for longer, or while the load is higher."
        }
        Verdict::NotEnoughEvidence => {
            "Make a profile with `halfpower check` while the disk is quiet. Then observe again, \
             for longer or while the load is higher."
        }
        _ if !profiled => DECIDE,
        _ => {
            "This profile does not predict a useful change. `halfpower check --for-diagnosis` also \
             measures mixes and open loads; `halfpower predict` computes a change that you name."
        }
    };
    [text].into_iter().chain(elsewhere).collect::<Vec<_>>().join(" ")
}

pub(super) fn advice(
    story: &mut Story,
    source: &str,
    device: &DeviceDiagnosis,
    main: &Episode,
    subject: &str,
) {
    if device.advice.is_empty() {
        story.actions.push(Action::new(subject, without_remedy(source, device, main)));
    }
    for (index, remedy) in device.remedies().into_iter().enumerate() {
        let what = format!("{}: {}", strategy_words(remedy.strategy), remedy.action);
        let other = remedy.gain.map_or("gain not predicted", |_| "a higher rate");
        let gained = gained(remedy).unwrap_or_else(|| other.to_owned());
        let effect = or_why(&remedy.effect, "unknown", |effect| {
            format!("{}, {}; {gained}", latency(effect), rate(effect))
        });
        let mut action = Action::new(subject, what).with("predicted", effect);
        if index < IN_FULL {
            let episode = format!(", episode {}", remedy.episode + 1);
            let episode = if device.episodes.len() > 1 { episode.as_str() } else { "" };
            action = action
                .with("cause", format!("{}{episode}", remedy.cause_name()))
                .with("assumes", &remedy.assumes)
                .with("cost", &remedy.cost)
                .with("how to check", &remedy.how_to_check);
        }
        story.actions.push(action);
    }
}

/// The gain from a remedy, with its error bar.
pub(super) fn in_short(remedy: &Remedy) -> String {
    let effect = match remedy.effect.known() {
        Ok(effect) => effect,
        Err(reason) => return format!("unknown: {reason}"),
    };
    let gain = gained(remedy).map(|gain| format!("{gain}: "));
    // The larger change comes first.
    let faster = effect.iops_after.value / effect.iops_before.max(1e-9);
    let sooner = effect.latency_before_ns / effect.latency_after_ns.value.max(1e-9);
    let both = if same_rate(effect) {
        latency(effect)
    } else if sooner < 1.0 {
        // A higher latency is the cost of the rate, not a gain.
        format!("{}, at {}", rate(effect), number::time(effect.latency_after_ns.value))
    } else if faster > sooner {
        format!("{}, {}", rate(effect), latency(effect))
    } else {
        format!("{}, {}", latency(effect), rate(effect))
    };
    gain.unwrap_or_default() + &both
}

/// The share of the latency that a remedy saves, or of the rate that it adds, in words; `None` if
/// neither is predicted.
fn gained(remedy: &Remedy) -> Option<String> {
    let (effect, gain) = (remedy.effect.known().ok()?, remedy.gain?);
    let sooner = effect.latency_before_ns / effect.latency_after_ns.value.max(1e-9);
    let faster = effect.iops_after.value / effect.iops_before.max(1e-9);
    if sooner >= faster.max(1.0) || sooner >= 1.0 && same_rate(effect) {
        // No gain is promised if the predicted interval includes the present latency.
        let is_sure = effect.latency_after_ns.high < effect.latency_before_ns;
        let saves = if is_sure { "saves" } else { "may save" };
        return Some(format!("{saves} {}", number::percent(gain)));
    }
    (faster > 1.0).then(|| format!("{} times the rate", number::digits(faster)))
}

/// Whether the device was compared with a profile and no program waits. Otherwise it is unknown
/// whether all is well.
fn gets_what_it_asks_for(main: &Episode) -> bool {
    let by_profile = main.baseline.as_ref().is_none_or(|baseline| baseline.rung == Rung::Profile);
    by_profile && main.demand == Demand::Met
}

fn same_rate(effect: &Effect) -> bool {
    (effect.iops_after.value / effect.iops_before.max(1e-9) - 1.0).abs() < SAME_RATE
}

fn rate(effect: &Effect) -> String {
    let before = number::per_second(effect.iops_before);
    if same_rate(effect) {
        return format!("at {before} as now");
    }
    format!("{before} → {}", number::with_range(&effect.iops_after, number::per_second))
}

fn latency(effect: &Effect) -> String {
    let before = number::time(effect.latency_before_ns);
    let after = number::with_range(&effect.latency_after_ns, number::time);
    format!("latency {before} → {after}")
}

fn strategy_words(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::FasterDisks => "faster disk",
        Strategy::MoreDisks => "more disks",
        Strategy::DiskArray => "disk array",
        Strategy::CachedDisks => "cached disk",
        Strategy::HostCache => "host-based caching",
        Strategy::LoadBalancing => "load balancing",
        Strategy::Defragmentation => "defragmentation",
        Strategy::DeeperQueue => "deeper queue",
        Strategy::ShallowerQueue => "shallower queue",
        Strategy::LargerRequests => "larger requests",
        Strategy::DirectIo => "spread writes, direct I/O",
        Strategy::Scheduler => "I/O scheduler",
        Strategy::ReadAhead => "read-ahead",
        Strategy::Preallocation => "preallocation",
        Strategy::Uncompressed => "without compression",
        Strategy::Alignment => "alignment",
        Strategy::RaiseCap => "raise the cap",
        Strategy::MoreTags => "more tags",
        Strategy::MoveNeighbour => "move the neighbour",
        Strategy::Restore => "find what changed",
        Strategy::PutRight => "correct it",
    }
}

#[cfg(test)]
mod tests {
    use super::{in_short, settles};
    use record::{CauseCode, Effect, Estimate, Measured, Remedy, Strategy};

    fn predicted(low_ns: f64, high_ns: f64) -> String {
        in_short(&Remedy {
            strategy: Strategy::FasterDisks,
            change: None,
            action: String::new(),
            cause: CauseCode::RateNearMaximum,
            check: None,
            episode: 0,
            effect: Measured::Value(Effect {
                latency_before_ns: 1.25e6,
                latency_after_ns: Estimate::spanning(167e3, low_ns, high_ns, 9),
                iops_before: 800.0,
                iops_after: Estimate::symmetric(800.0, 1.0, 9),
            }),
            gain: Some(0.87),
            assumes: String::new(),
            cost: String::new(),
            how_to_check: String::new(),
        })
    }

    #[test]
    fn a_remedy_saves_only_where_the_whole_interval_lies_below_the_latency_of_now() {
        assert!(predicted(142e3, 192e3).starts_with("saves 87 %: latency 1.25 ms"));
        assert!(predicted(42.3e3, 302e6).starts_with("may save 87 %: latency 1.25 ms"));
    }
    #[test]
    fn what_settles_it_is_a_command_that_runs_where_the_disk_is() {
        let begins = |source, name, words: &str| {
            let said = settles(source, name);
            assert!(said.starts_with(&format!("halfpower check {words}, while")), "{said}");
        };
        begins("live", "sda", "/dev/sda (as root) or a directory on it");
        begins("sar -d", "dev8-16", "DIRECTORY, one on the disk 8:16");
        begins("simulated", "sim:mm1", "sim:mm1");
        begins("Windows PhysicalDisk CSV", "1 D: E:", "D:\\");
        begins("Windows LogicalDisk CSV", "HarddiskVolume1", "on a folder of that disk");
    }
}
