//! Reads `sadf -x`: sar data as XML. Only its tags are parsed, because all figures are attributes.
//!
//! Rejected: a crate for XML. sadf's output has no entities in figures, no relevant nesting and no text
//! except names, and a truncated file must still be read.

use crate::moment::{SECOND_NS, Stamp};
use crate::number::Reading;
use crate::runs::{Hosts, Report, Run};
use crate::sadf_json::{self, includes_discards};
use crate::sysstat::{self, Columns, Field};
use crate::{ImportError, Options, Text};
use record::{Context, Observation};

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let mut hosts = Hosts::default();
    for text in texts {
        take(text, &mut hosts);
    }
    sadf_json::observations("sadf -x", hosts, options)
}

fn take(text: &str, hosts: &mut Hosts) {
    let mut host: Option<String> = None;
    let mut rest = text;
    while let Some(begin) = rest.find('<') {
        let Some(end) = rest[begin..].find('>') else {
            hosts.faults += 1;
            return;
        };
        let tag = &rest[begin + 1..begin + end];
        rest = &rest[begin + end + 1..];
        let name = tag.split_whitespace().next().unwrap_or("").trim_end_matches('/');
        let of = |key: &str| attributes(tag).find(|(name, _)| *name == key).map(|(_, value)| value);
        match name {
            "host" => {
                host = of("nodename").map(str::to_owned);
                hosts.named(host.as_deref()).runs.push(Run::default());
            }
            "release" => {
                let release = rest.split('<').next().unwrap_or("").trim().to_owned();
                hosts.named(host.as_deref()).release = Some(release).filter(|it| !it.is_empty());
            }
            "boot" => run(hosts, host.as_deref()).restarts += 1,
            "timestamp" => run(hosts, host.as_deref()).reports.push(report(of)),
            "cpu" if of("number") == Some("all") => {
                let of = |key: &str| Reading::parse(of(key)?);
                if let Some(report) = run(hosts, host.as_deref()).reports.last_mut() {
                    report.context = Context {
                        steal_share: sysstat::share(of("steal")),
                        idle_share: sysstat::idle_share(of),
                        ..Context::default()
                    };
                }
            }
            "disk-device" => {
                let all: Vec<(&str, &str)> = attributes(tag).collect();
                let Some(device) = of("dev") else {
                    hosts.faults += 1;
                    continue;
                };
                let columns = Columns::new(all.iter().map(|(name, _)| *name));
                let field = |index: usize| Field::parse(all[index].1);
                let (interval, discarded) = columns.interval(device, field);
                run(hosts, host.as_deref()).add(interval, includes_discards(discarded));
            }
            _ => {}
        }
    }
}

/// The run to which reports belong.
fn run<'h>(hosts: &'h mut Hosts, host: Option<&str>) -> &'h mut Run {
    let runs = &mut hosts.named(host).runs;
    if runs.is_empty() {
        runs.push(Run::default());
    }
    let last = runs.len() - 1;
    &mut runs[last]
}

fn report<'a>(of: impl Fn(&str) -> Option<&'a str>) -> Report {
    let utc = if of("utc") == Some("1") || of("tz") == Some("UTC") { " UTC" } else { "" };
    let stamp = of("date").zip(of("time")).map(|(date, time)| format!("{date} {time}{utc}"));
    let length = of("interval").and_then(Reading::parse);
    Report {
        stamp: stamp.and_then(|stamp| Stamp::parse(&stamp)),
        length: length.map(|it| (it.value * SECOND_NS as f64) as i128).filter(|it| *it > 0),
        ..Report::default()
    }
}

/// Names and values of `name="value"` in a tag.
fn attributes(tag: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = tag;
    std::iter::from_fn(move || {
        let (before, behind) = rest.split_once("=\"")?;
        let (value, behind) = behind.split_once('"')?;
        rest = behind;
        Some((before.split_whitespace().next_back()?, value))
    })
}
