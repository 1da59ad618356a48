//! Reports commits: the rate, the flush latency, and the programs for which that suffices.

use super::{cell_of, not_measured, rerun};
use crate::number;
use crate::page::Tone;
use crate::story::{Cell, Section, Story, joined};
use record::{
    CommitNeed, CommitPoint, CommitVerdict, Commits, LogKind, OpKind, Pattern, Profile,
    format_bytes,
};
use std::collections::BTreeSet;

/// A size of direct writes that every check measures, in bytes.
const DIRECT_BYTES: u64 = 4 << 10;

/// Number of flushes of which ten take longer than the p99.
const FLUSHES_FOR_P99: u64 = 1_000;

pub(super) fn commits(story: &mut Story, profile: &Profile) {
    let commits = match profile.commits.known() {
        Ok(commits) => commits,
        Err(_) if !profile.has_writes() && !profile.simulated => {
            story.section("Commits", &not_measured(profile, Some(OpKind::Write)));
            return;
        }
        Err(why) => {
            story.section("Commits", &format!("not measured ({why})")).supporting();
            return;
        }
    };
    let Some(first) = commits.points.first() else { return };
    let (size, flush) = (format_bytes(first.bytes.0), first.flush.name());
    let remark = format!(
        "commits per second, each a {size} write to a log through the page cache and an {flush}; \
         percentiles: latency of the {flush}"
    );
    let section = story.section("Commits", &remark).supporting();
    points(section, commits, profile);
    journal(section, commits);
    protected(section, profile);
    let sources: BTreeSet<&str> = commits.verdicts.iter().map(|it| it.source.as_str()).collect();
    if !sources.is_empty() {
        let sources = joined(sources, "; ", str::to_owned);
        section.note(format!("Source of these requirements: {sources}."));
    }
    // If all requirements are met, the programs' names are the answer.
    let is_enough = commits.verdicts.iter().all(|verdict| verdict.met == Some(true));
    if is_enough && !commits.verdicts.is_empty() {
        verdicts(section, commits, profile);
        let mut programs: Vec<&str> =
            commits.verdicts.iter().map(|it| it.program.as_str()).collect();
        programs.dedup();
        let programs = joined(programs, ", ", str::to_owned);
        let answer = format!("yes, with a single committer: {programs}");
        story.section("Fast enough for commits", &answer);
    } else if !commits.verdicts.is_empty() {
        verdicts(story.section("Fast enough for commits", ""), commits, profile);
    }
}

fn points(section: &mut Section, commits: &Commits, profile: &Profile) {
    let committers: BTreeSet<u32> = commits.points.iter().map(|point| point.committers).collect();
    section.table(committers, |t| {
        t.right("committers", ToString::to_string);
        for log in LogKind::ALL {
            if commits.points.iter().all(|point| point.log != log) {
                continue;
            }
            let of = |number: &u32| commits.point(log, *number);
            t.group(log.name());
            let rate = |point: &CommitPoint| number::count(point.commits_per_s.value);
            t.right("per s", |row| Cell::or_empty(of(row), rate));
            let again = |it: &CommitPoint| it.commits_per_s.with_ratio_error(profile.common_se());
            t.interval(|row| of(row).map(again)).expendable(1);
            let percentile = |row: &u32, share: f64| {
                let flushes = |point: &CommitPoint| point.histogram.percentile(share);
                Cell::or_empty(of(row), |it| number::or_none(flushes(it), number::time))
            };
            t.titled("latency_p50_ns", |row| percentile(row, 0.5));
            t.titled("latency_p99_ns", |row| percentile(row, 0.99));
            t.titled("latency_p99_9_ns", |row| percentile(row, 0.999)).expendable(2);
        }
    });
    let unknown = |point: &CommitPoint| point.histogram.percentile(0.999).is_none();
    if commits.points.iter().any(unknown) {
        let text = "fewer than ten flushes took longer, too few to report";
        section.note(format!("–: {text}; a larger --budget measures more."));
    }
}

/// What a single committer's flush consists of, and what several committers gain.
fn journal(section: &mut Section, commits: &Commits) {
    let alone = |log| commits.point(log, 1);
    if let (Some(old), Some(new)) = (alone(LogKind::Overwritten), alone(LogKind::NewBlocks)) {
        let both = [&new.flush_ns, &old.flush_ns];
        section.text(if both[0].exceeds(both[1]) {
            let [new, old] = both.map(|it| number::time(it.value));
            format!(
                "A flush takes {new} on new blocks and {old} on old ones: the file system's journal \
                 records which blocks contain data."
            )
        } else {
            let [new, old] = both.map(|it| number::with_interval(it, number::time));
            format!(
                "These visits do not show whether a flush of new blocks takes longer: {new} compared \
                 with {old}."
            )
        });
    }
    let most = commits.points.iter().filter(|point| point.log == LogKind::Overwritten);
    let most = most.max_by(|a, b| a.commits_per_s.value.total_cmp(&b.commits_per_s.value));
    if let (Some(one), Some(most)) = (alone(LogKind::Overwritten), most) {
        let gain = number::digits(most.commits_per_s.value / one.commits_per_s.value);
        let many = most.committers;
        let mut text = format!(
            "{many} committers with separate flushes reach {gain} times the commit rate of one."
        );
        // At best each flush serves all of them.
        let together = f64::from(most.committers) * 1e9 / one.flush_ns.value;
        if together > most.commits_per_s.high {
            let flush = number::time(one.flush_ns.value);
            text.push_str(&format!(
                " Programs that commit together (group commit) do better: one flush of {flush} serves \
                 all committers that wait."
            ));
        }
        section.text(text);
    }
}

/// The time of a commit with a protected write cache, which makes flushes unnecessary.
fn protected(section: &mut Section, profile: &Profile) {
    let load = (OpKind::Write, Pattern::Sequential, 1);
    let Some(direct) = cell_of(profile, load, DIRECT_BYTES) else { return };
    let write = rerun(profile, &direct.latency_ns, load);
    let (size, takes) = (format_bytes(DIRECT_BYTES), number::with_interval(&write, number::time));
    section.text(format!(
        "A direct write of {size} without a flush takes {takes}, about the time of a commit on a device \
         with a power-loss-protected write cache, which needs no flush."
    ));
}

fn verdicts(section: &mut Section, commits: &Commits, profile: &Profile) {
    section.table(&commits.verdicts, |t| {
        t.left("one committer", |verdict| verdict.program.clone());
        t.left("requires", |verdict| need(verdict));
        t.left("met", |verdict| match verdict.met {
            Some(true) => Cell::toned("yes", Tone::Good),
            Some(false) => Cell::toned("no", Tone::Bad),
            None => Cell::toned("unknown", Tone::Warn),
        });
        t.left("measured", |verdict| match verdict.measured.known() {
            Ok(value) => Cell::from(match verdict.need {
                CommitNeed::FlushP99Ns => number::with_interval(value, number::time),
                CommitNeed::CommitsPerS => number::with_interval(value, number::count),
            }),
            Err(_) => Cell::toned("not measured", Tone::Faint),
        });
    });
    let mut reasons: Vec<&str> =
        commits.verdicts.iter().filter_map(|it| it.measured.reason()).collect();
    reasons.dedup();
    section.rows("not measured", reasons);
    if commits.verdicts.iter().any(|verdict| verdict.met.is_none()) {
        let check = match alone(commits) {
            Some(point) if point.flush_p99_ns.value().is_none() => {
                profile.check_for_flushes(FLUSHES_FOR_P99, point.histogram.count())
            }
            _ => profile.longer_check(),
        };
        section.row("to decide it", format!("`{check}`"));
    }
}

/// The single committer that the requirements are about: on new blocks, if they were measured.
fn alone(commits: &Commits) -> Option<&CommitPoint> {
    LogKind::ALL.into_iter().rev().find_map(|log| commits.point(log, 1))
}

fn need(verdict: &CommitVerdict) -> String {
    match verdict.need {
        CommitNeed::FlushP99Ns => format!("flush p99 below {}", number::time(verdict.limit)),
        CommitNeed::CommitsPerS => format!("{} commits/s", number::count(verdict.limit)),
    }
}
