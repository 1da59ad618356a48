//! Reads the text that node_exporter serves: `name{label="value"} number [milliseconds]`.
//!
//! Its values are running counters, so that one scrape is not enough and two give one interval. Each scrape
//! is a file of its own, or scrapes are concatenated. A sample that appears again starts the next scrape,
//! and so does a comment with a time. The time of a scrape comes, in this order, from the user, from a
//! comment before it, from the time next to its samples, or from the exporter's own clock
//! (`node_time_seconds`), which it serves unless that is switched off.

use crate::counters::{self, Labels, Scrape};
use crate::moment::Stamp;
use crate::number::Reading;
use crate::observation_builder::ObservationBuilder;
use crate::{ImportError, Options, Text};
use record::Observation;
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "use two or more scrapes of node_exporter, a few seconds apart, in separate files or \
     in one file";

/// A scrape and the sources of its time.
#[derive(Default)]
struct Dated {
    scrape: Scrape,
    comment: Option<Stamp>,
    sample_ms: Option<f64>,
    clock_s: Option<f64>,
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Observation, ImportError> {
    let mut builder = ObservationBuilder::new("node_exporter");
    let mut dated = Vec::new();
    for text in texts {
        scrapes(text, &mut builder, &mut dated);
    }
    let comments: Vec<Option<Stamp>> = dated.iter().map(|it| it.comment.clone()).collect();
    let comments = builder.times(&comments, options.clock(), false);
    let mut by_time = BTreeMap::new();
    let mut last = None;
    for (index, (dated, comment)) in dated.into_iter().zip(comments).enumerate() {
        let given = options.scrape_times_ns.get(index).map(|ns| i128::from(*ns));
        let counted = || {
            let length = i128::from(options.interval_ns?);
            Some(last.unwrap_or(0) + length)
        };
        let ns = |value: Option<f64>, unit: f64| value.map(|value| (value * unit) as i128);
        let beside = ns(dated.sample_ms, 1e6).or(ns(dated.clock_s, 1e9));
        let known = given.or(comment).or(beside);
        let time = known.or_else(counted);
        let Some(time) = time.filter(|time| (0..i128::from(u64::MAX)).contains(time)) else {
            builder.counts.no_length += 1;
            continue;
        };
        builder.lengths_given |= known.is_none();
        builder.begin_assumed |= known.is_none() && last.is_none();
        builder.counts.backwards += u64::from(last.is_some_and(|last| time < last));
        last = Some(time);
        if by_time.insert(time, dated.scrape).is_some() {
            builder.counts.twice += 1;
        }
    }
    counters::add_intervals(&mut builder, &by_time);
    let why = match by_time.len() {
        0 if builder.counts.no_length > 0 => {
            "no scrape has a time (give each one a time with --timestamp)"
        }
        0 => "the files contain no scrape",
        1 => "the files contain only one scrape, and its counters run since boot",
        _ if builder.counts.resets > 0 => "all counters restarted between the scrapes",
        _ => "no device appears in two scrapes",
    };
    builder.finish(why, REMEDY)
}

fn scrapes(text: &str, builder: &mut ObservationBuilder, dated: &mut Vec<Dated>) {
    let mut now = Dated::default();
    let mut seen = BTreeSet::new();
    let mut flush = |now: &mut Dated, seen: &mut BTreeSet<String>| {
        let done = std::mem::take(now);
        seen.clear();
        if !done.scrape.devices.is_empty() {
            dated.push(done);
        }
    };
    for line in text.split_inclusive('\n') {
        // A last line without a line end may have lost digits.
        let whole = line.ends_with('\n');
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            if let Some(stamp) = stamp(comment) {
                if !now.scrape.devices.is_empty() {
                    flush(&mut now, &mut seen);
                }
                now.comment = Some(stamp);
            }
            continue;
        }
        if line.is_empty() || !counters::is_wanted(name(line)) {
            continue;
        }
        let Some((key, labels, value, ms)) = whole.then(|| sample(line)).flatten() else {
            builder.counts.faults += 1;
            continue;
        };
        if !seen.insert(key.to_owned()) {
            flush(&mut now, &mut seen);
            seen.insert(key.to_owned());
        }
        if name(key) == "node_time_seconds" {
            now.clock_s = Some(value);
        } else if !counters::take_facts(builder, name(key), &labels)
            && now.scrape.take(name(key), &labels, value)
        {
            now.sample_ms = ms.or(now.sample_ms);
        }
    }
    flush(&mut now, &mut seen);
}

/// The time in a comment; help and type comments have none.
fn stamp(comment: &str) -> Option<Stamp> {
    let comment = comment.trim();
    if ["HELP ", "TYPE ", "EOF", "UNIT "].iter().any(|word| comment.starts_with(word)) {
        return None;
    }
    Stamp::parse(comment).or_else(|| comment.split_whitespace().find_map(Stamp::parse))
}

/// The name at the beginning of a line.
fn name(line: &str) -> &str {
    let end = line.find(|letter: char| letter == '{' || letter.is_whitespace());
    &line[..end.unwrap_or(line.len())]
}

/// A sample: the name with labels as written, the labels, the value, and the time next to it in
/// milliseconds.
fn sample(line: &str) -> Option<(&str, Labels, f64, Option<f64>)> {
    let name = name(line);
    let (labels, length) = match line[name.len()..].strip_prefix('{') {
        Some(text) => labels(text).map(|(labels, length)| (labels, length + 1))?,
        None => (Labels::new(), 0),
    };
    let key = &line[..name.len() + length];
    let mut words = line[key.len()..].split_whitespace();
    let value = Reading::parse(words.next()?)?.value;
    let ms = match words.next() {
        Some(word) => Some(Reading::parse(word)?.value),
        None => None,
    };
    if words.next().is_some() {
        return None;
    }
    Some((key, labels, value, ms))
}

/// Labels after an opening brace, and the number of bytes up to and including the closing one.
fn labels(text: &str) -> Option<(Labels, usize)> {
    let mut labels = Labels::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, text.len() - behind.len()));
        }
        let (key, behind) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = behind.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => match letters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, letter) => value.push(letter),
            }
        };
        labels.insert(key.trim().to_owned(), value);
        rest = &behind[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::SECOND_NS;

    #[test]
    fn labels_may_hold_anything() {
        let line =
            r#"node_disk_info{device="sda",model="A \"b\" {c} \\",serial=""} 1 1591012801000"#;
        let (key, labels, _, ms) = sample(line).unwrap();
        assert_eq!(labels["model"], "A \"b\" {c} \\");
        assert!(key.ends_with('}') && key.starts_with("node_disk_info{"));
        assert_eq!(ms, Some(1_591_012_801_000.0));
        for broken in ["a{b=\"c\" 1", "a{b} 1", "a", "a 1 2 3", "a NaN", "a{b=\"c\"}"] {
            assert_eq!(sample(broken), None, "{broken}");
        }
    }

    #[test]
    fn comments_tell_times_and_help_does_not() {
        assert!(stamp(" scraped 2020-06-01T12:00:01Z").is_some());
        assert_eq!(stamp(" 1591012801"), Some(Stamp::Counted(1_591_012_801 * SECOND_NS)));
        assert_eq!(stamp(" HELP a since 1591012801"), None);
        assert_eq!(stamp(" EOF"), None);
    }
}
