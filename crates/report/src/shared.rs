//! Builds the report on a disk that several hosts share: which host saturates it, each host's part,
//! and then the whole disk like any diagnosis.

use crate::story::{Cell, Story, Tone, joined, number, told};
use record::{SharedDiagnosis, SharedHost};

/// Share of the others' waiting outside a host's bursts that deserves a note.
const MUCH_ELSEWHERE: f64 = 0.15;

/// The story of a shared disk.
pub fn shared(document: &SharedDiagnosis) -> Story {
    let mut story = crate::diagnosis(&document.whole);
    story.headline = headline(document);
    let section = story.section("Hosts", "ordered by effect on the latency of the other hosts");
    section.table(&document.hosts, |t| {
        t.left("host", |host| host.host.clone()).flexible();
        t.left("device", |host| host.device.clone()).expendable(1);
        t.right("IOPS", |host| number::digits(host.per_s));
        t.right("of all", |host| number::percent(host.request_share));
        t.right("MB/s", |host| number::digits(host.bytes_per_s / 1e6));
        t.right("of all", |host| number::percent(host.byte_share));
        t.right("latency", |host| Cell::or_empty(host.latency_ns, number::time));
        t.right("QD", |host| number::digits(host.in_flight)).expendable(2);
        t.right("others' latency", |host| effect(host));
    });
    section.note(all_together(&document.hosts));
    section.notes(document.hosts.iter().filter_map(|host| {
        Some(format!("The effect of {} is not measured: {}.", host.host, host.effect.reason()?))
    }));
    if document.left_out > 0 {
        let lacking = document.hosts.iter().filter(|host| host.not_recorded > 0);
        let each =
            joined(lacking, ", ", |host| format!("{} lacks {}", host.host, host.not_recorded));
        let all = number::counted(document.intervals as f64, "interval");
        let why = "are omitted for all hosts, because not all hosts recorded them";
        section.note(format!("{} of {all} {why}: {each}.", document.left_out));
    }
    section.note(
        "Others' latency: the latency of the other hosts while this host transfers a lot, divided \
         by their latency while it transfers little; \"no rise\": less than a fifth higher, \
         or within the error.",
    );
    for one in document.hosts.iter().filter(|host| host.slows_others()) {
        let elsewhere = one.explains.map(|share| 1.0 - share).filter(|it| *it > MUCH_ELSEWHERE);
        if let (Some(share), host) = (elsewhere.map(number::percent), &one.host) {
            section.note(format!(
                "{share} of the other hosts' extra waiting occurs while {host} transfers little. The \
                 cause is another host, perhaps one without a recording, or the disk itself."
            ));
        }
    }
    for host in &document.hosts {
        let clock = told(&host.ahead_s, |ahead| {
            let side = if ahead.value < 0.0 { "behind" } else { "ahead" };
            match [ahead.value.abs(), ahead.half_width()] {
                [_, 0.0] => "the reference for the other clocks".to_owned(),
                both => {
                    let [value, half_width] = both.map(number::digits);
                    format!("{value} s {side}, ±{half_width} s")
                }
            }
        });
        section.note(format!("Clock of {}: {clock}.", host.host));
    }
    story
}

/// The sum over all hosts. It covers the whole time, as their rows do.
fn all_together(hosts: &[SharedHost]) -> String {
    let sum = |of: fn(&SharedHost) -> f64| hosts.iter().map(of).sum::<f64>();
    let timed = || hosts.iter().filter_map(|host| Some((host.per_s, host.latency_ns?)));
    let (requests, waited) =
        timed().fold((0.0, 0.0), |(n, ns), (per_s, each)| (n + per_s, ns + per_s * each));
    let latency = match requests > 0.0 {
        true => format!(", latency {}", number::time(waited / requests)),
        false => String::new(),
    };
    let iops = number::per_second(sum(|host| host.per_s));
    let throughput = number::digits(sum(|host| host.bytes_per_s) / 1e6);
    format!(
        "All together: {iops}, {throughput} MB/s{latency}. This line and the table are means over the \
         whole time; load and latency above are those of the verdict's episode."
    )
}

fn headline(document: &SharedDiagnosis) -> String {
    let found = |name: &str| document.hosts.iter().find(|host| host.host == name);
    let Some(host) = document.filled_by.value().and_then(|name| found(name)) else {
        let why = document.filled_by.reason().unwrap_or("none stands out");
        return format!("No single host loads the disk: {why}.");
    };
    let effect = told(&host.effect, |effect| {
        let [value, low, high] = [effect.value, effect.low, effect.high].map(number::digits);
        format!("{value} times ({low} to {high})")
    });
    let [requests, bytes] = [host.request_share, host.byte_share].map(number::percent);
    let (name, unsure) = (&host.host, unsure_clocks(document));
    format!(
        "{name} loads the disk: while it transfers a lot, the other hosts' latency is {effect} the \
         latency at other times. It issues {requests} of the requests and {bytes} of the bytes.{unsure}"
    )
}

/// A note if the answer relies on host clocks that could not be compared.
fn unsure_clocks(document: &SharedDiagnosis) -> String {
    let unsure = document.hosts.iter().filter(|it| it.ahead_s.value().is_none());
    let names: Vec<&str> = unsure.map(|it| it.host.as_str()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" This result relies on the recorded clock of {}.", names.join(", ")),
    }
}

/// The ratio of the others' latency, if it is clearly higher.
fn effect(host: &SharedHost) -> Cell {
    match host.effect.value() {
        Some(effect) if host.slows_others() => {
            Cell::toned(format!("{} times", number::digits(effect.value)), Tone::Bad)
        }
        Some(_) => "no rise".to_owned().into(),
        None => "not measured".to_owned().into(),
    }
}
