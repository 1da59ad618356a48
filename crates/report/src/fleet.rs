//! Builds the report on a fleet: what slow devices have in common, which ones are slow individually,
//! and how small a difference the fleet can show.

use crate::story::{Cell, Story, Tone, joined, number};
use record::{
    Estimate, FleetCommon, FleetDevice, FleetDiagnosis, FleetLabels, FleetLeftOut, FleetSlowness,
    FleetYardstick,
};

/// Labels that only name a device, or are shown elsewhere.
const NAMES: [&str; 6] = ["instance", "device", "family", "job", "major", "minor"];
const DAY_S: f64 = 86_400.0;

/// The story of a fleet.
pub fn fleet(document: &FleetDiagnosis) -> Story {
    let (devices, source) = (of_devices(document.devices), &document.source);
    let [begin, end] = [document.begin_s, document.end_s].map(moment);
    let subject = format!("{devices} of {source}, {begin} to {end} UTC");
    let mut story = Story::new("Fleet", subject, document.simulated).saved("", &document.findings);
    story.headline = headline(document);
    common(&mut story, document);
    slow(&mut story, document);
    by_profile(&mut story, document);
    kinds(&mut story, document);
    let reasons: Vec<String> = document.left_out.iter().map(not_judged).collect();
    story.list("Not judged", "", &reasons);
    let section = story.section("Assumptions", "");
    section.item(
        "Devices of the same kind perform similarly. The spread is measured on the healthy ones.",
    );
    section.item(
        "The devices of a kind are compared with each other, so a cause that slows all of them \
         equally is invisible.",
    );
    section.item(
        "Loads with the same size, mix and queue depth count as equal: counters do not show which \
         requests are random, sequential or served by a cache. A rotational disk with random \
         requests looks slow among peers with sequential ones.",
    );
    if document.kinds.iter().any(|kind| !kind.labels.contains_key("model")) {
        section.item(
            "Some disks have no model label, so different models are compared with each other. \
             node_exporter 1.4 and later report models.",
        );
    }
    section.item(
        "Ratios compare latencies at the same size, mix and concurrency while busy, so a \
                  busy device is not called slow.",
    );
    story.condition("window", number::time(document.window_s as f64 * 1e9));
    let healthy = format!("at most {}", number::percent(document.false_share));
    story.condition("healthy devices among those called slow", healthy);
    story.written_by(&document.halfpower_version);
    story
}

/// Devices that were left out: number, reason and examples.
fn not_judged(one: &FleetLeftOut) -> String {
    let more = if one.devices as usize > one.examples.len() { ", ..." } else { "" };
    format!("{}: {} ({}{more})", of_devices(one.devices), one.reason, one.examples.join(", "))
}

fn headline(document: &FleetDiagnosis) -> String {
    let compared: u32 = document.kinds.iter().map(|kind| kind.compared).sum();
    if compared == 0 {
        return "No device could be compared with others; the reasons are below.".to_owned();
    }
    let together = document.common.iter().map(|one| {
        let FleetCommon { label, value, slow_devices: slow, devices: all, .. } = one;
        format!("{label} {value} as a whole ({slow} of {all} devices, {})", times(&one.slow))
    });
    let alone = match document.slow.len() as u32 {
        0 => None,
        1 => Some("1 single device".to_owned()),
        n => Some(format!("{} by themselves", of_devices(n))),
    };
    let unseen =
        document.by_profile.iter().filter(|one| one.verdict.is_slow() && !one.slow_by_peers);
    let own = Some(unseen.count() as u32).filter(|count| *count > 0);
    let own = own.map(|n| format!("{} by their own profiles, not by peers", of_devices(n)));
    let what: Vec<String> = together.chain(alone).chain(own).collect();
    if what.is_empty() {
        let devices: u32 = document.kinds.iter().map(|kind| kind.devices).sum();
        // A slow disk among these would contradict a page that covers only the others.
        let unknown = match devices.saturating_sub(compared) {
            0 => String::new(),
            others => format!("; {others} could not be compared"),
        };
        return format!("None of {compared} compared devices is slow{unknown}.");
    }
    format!("Slow: {}; {} compared.", what.join("; "), of_devices(compared))
}

/// A whole number: for a fleet the last digits matter.
fn of_devices(count: u32) -> String {
    format!("{count} device{}", if count == 1 { "" } else { "s" })
}

/// What a row's ratio refers to.
fn against(device: &FleetDevice) -> &'static str {
    match (device.against, device.now_and_then) {
        (FleetYardstick::Peers, false) => "peers",
        (FleetYardstick::Peers, true) => "peers, slowest fifth",
        (FleetYardstick::OwnPast, false) => "own past",
        (FleetYardstick::OwnPast, true) => "own past, slowest fifth",
    }
}

/// `2.1 times`.
fn times(slow: &FleetSlowness) -> String {
    format!("{} times", number::digits(slow.ratio.value))
}

fn moment(seconds: u64) -> String {
    let stamp = jiff::Timestamp::from_second(seconds.cast_signed());
    stamp.map_or_else(|_| seconds.to_string(), |stamp| stamp.strftime("%Y-%m-%d %H:%M").to_string())
}

fn until(slow: &FleetSlowness) -> String {
    if slow.lasts { "still".to_owned() } else { moment(slow.end_s) }
}

fn days(slow: &FleetSlowness) -> String {
    number::digits((slow.end_s - slow.begin_s) as f64 / DAY_S)
}

fn label(labels: &FleetLabels, name: &str) -> String {
    labels.get(name).cloned().unwrap_or_default()
}

/// The ratio as a cell. Its tone depends on its size.
fn ratio(ratio: &Estimate) -> Cell {
    let tone = if ratio.low > 1.5 { Tone::Bad } else { Tone::Warn };
    Cell::toned(number::digits(ratio.value), tone)
}

fn common(story: &mut Story, document: &FleetDiagnosis) {
    if document.common.is_empty() {
        return;
    }
    let remark = "latency relative to peers outside the group; the devices' own ratios exclude the \
                  part that the group explains";
    story.section("Slow together", remark).table(&document.common, |t| {
        t.left("label", |one| one.label.clone());
        t.left("value", |one| one.value.clone()).flexible();
        t.right("times", |one| ratio(&one.slow.ratio));
        t.interval(|one| Some(one.slow.ratio));
        t.right("devices", |one| format!("{} of {}", one.slow_devices, one.devices));
        t.left("since", |one| moment(one.slow.begin_s));
        t.left("until", |one| until(&one.slow)).expendable(1);
        t.left("or", |one| joined(&one.also, ", ", |(label, value)| format!("{label} {value}")))
            .flexible();
    });
}

fn slow(story: &mut Story, document: &FleetDiagnosis) {
    if document.slow.is_empty() {
        return;
    }
    let other = |labels: &FleetLabels| {
        let more = labels.iter().filter(|(name, _)| !NAMES.contains(&name.as_str()));
        joined(more, ", ", |(name, value)| format!("{name} {value}"))
    };
    let remark = "latency relative to peers under the same load, or to the device's own past (if the \
                  device is slow only at times: in the slowest fifth of the time); most certain first";
    story.section("Slow on their own", remark).table(&document.slow, |t| {
        t.left("host", |one| label(&one.labels, "instance")).flexible();
        t.left("device", |one| label(&one.labels, "device"));
        t.right("times", |one| ratio(&one.slow.ratio));
        t.interval(|one| Some(one.slow.ratio));
        t.left("against", |one| against(one));
        t.left("since", |one| moment(one.slow.begin_s));
        t.left("until", |one| until(&one.slow)).expendable(2);
        t.right("days", |one| days(&one.slow)).expendable(3);
        // Not flexible: a truncated host name cannot be searched for, and the other labels are in
        // the document.
        t.left("", |one| other(&one.labels)).expendable(1);
    });
}

fn by_profile(story: &mut Story, document: &FleetDiagnosis) {
    if document.by_profile.is_empty() {
        return;
    }
    let remark = "disks whose serial number has a saved profile, diagnosed individually; the \
                  worst episode is shown. If a disk is slow only by its profile, all of its peers \
                  may be slow";
    story.section("By their own profiles", remark).table(&document.by_profile, |t| {
        t.left("host", |one| label(&one.labels, "instance")).flexible();
        t.left("device", |one| label(&one.labels, "device"));
        t.left("verdict", |one| {
            let tone = if one.verdict.is_slow() { Tone::Bad } else { Tone::Plain };
            Cell::toned(one.verdict.name().replace('_', " "), tone)
        });
        t.right("probability", |one| number::percent(one.probability));
        t.left("slow by peers", |one| if one.slow_by_peers { "yes" } else { "no" });
        t.left("since", |one| moment(one.begin_s)).expendable(2);
        t.left("until", |one| moment(one.end_s)).expendable(3);
        t.left("", |one| one.claim.clone()).flexible().expendable(1);
        t.left("profile", |one| one.profile_id.clone()).expendable(1);
    });
}

fn kinds(story: &mut Story, document: &FleetDiagnosis) {
    let remark = "devices that are compared with each other";
    story.section("Peers", remark).table(&document.kinds, |t| {
        t.left("kind", |kind| {
            // If the model came last, a narrow terminal would cut it off first.
            let (family, labels): (Vec<_>, Vec<_>) =
                kind.labels.iter().partition(|(name, _)| name.as_str() == "family");
            let labels = labels.into_iter().chain(family);
            let words = joined(labels, ", ", |(name, value)| format!("{name} {value}"));
            if words.is_empty() { "all devices".to_owned() } else { words }
        })
        .flexible();
        t.right("devices", |kind| kind.devices.to_string());
        t.right("compared", |kind| kind.compared.to_string());
        t.right("healthy ones differ by", |kind| match kind.compared {
            // Without compared devices, the deviation is only the start value of its estimation.
            0 => Cell::from("unknown"),
            _ => Cell::from(format!("±{}", number::percent(kind.level_deviation.exp_m1()))),
        });
        let times = |ratio: f64| format!("{} times", number::digits(ratio));
        t.right("slow from", |kind| Cell::or_empty(kind.smallest_ratio, times));
    });
}
