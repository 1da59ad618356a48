//! A load that does what recorded requests did, in words of `halfpower run`.
//!
//! Reads and writes are a job each, side by side, because their sizes, order and places differ. Each has its
//! rate in an open loop, its mix of sizes, its share of adjacent requests or the popularity of its places,
//! and its bursts: a geometric number of requests at once, at the times of a Poisson process, whose
//! dispersion is twice the mean number less one.

use record::{Nanos, RequestsSide, RequestsSummary, Spacing, mix_word};

/// Share of adjacent requests from which on a job is sequential, and below which it is random.
pub(crate) const SEQUENTIAL: f64 = 0.95;
pub(crate) const RANDOM: f64 = 0.02;
/// Exponents of popularity that are worth the name.
pub(crate) const POPULAR: f64 = 0.2;

/// The longest burst that `run` makes.
const BURST_MAX: f64 = 1_000.0;
/// Share by which a rate may be another than the original's and is not told.
const CLOSE: f64 = 0.02;
/// Shorter recordings have no rate.
const SHORTEST: Nanos = Nanos(1_000_000);

fn close(original: f64, told: f64) -> bool {
    (told / original - 1.0).abs() <= CLOSE
}

/// The words behind the targets, and what they do not have of the original.
pub(crate) fn twin(summary: &RequestsSummary) -> (Option<Vec<String>>, Vec<String>) {
    if summary.devices > 1 || summary.span_ns < SHORTEST {
        return (None, Vec::new());
    }
    let mut lacks = Vec::new();
    let mut jobs: Vec<Vec<String>> = Vec::new();
    if let Some(words) = one_job(summary) {
        jobs.push(words);
    } else {
        for (name, side) in summary.sides() {
            let rw = if name == "reads" { "read" } else { "write" };
            jobs.push(job(summary, name, rw, side, &mut lacks));
        }
    }
    if summary.flushes > 0 {
        lacks.push(format!("{} flushes", summary.flushes));
    }
    if summary.discards > 0 {
        lacks.push(format!("{} discards", summary.discards));
    }
    let mut jobs = jobs.into_iter();
    let Some(mut words) = jobs.next() else { return (None, lacks) };
    for beside in jobs {
        words.extend(["--beside".to_owned(), beside.join(" ")]);
    }
    (Some(words), lacks)
}

/// Reads and writes as one job, which costs a processor less: where they differ in their rates alone.
fn one_job(summary: &RequestsSummary) -> Option<Vec<String>> {
    let (read, write) = (summary.read.as_ref()?, summary.write.as_ref()?);
    let plain = |side: &RequestsSide| {
        side.sequential_share <= RANDOM
            && side.zipf_theta.is_none_or(|theta| theta < POPULAR)
            && side.spacing() == Spacing::Chance
    };
    if !plain(read) || !plain(write) || read.sizes != write.sizes {
        return None;
    }
    let both = RequestsSide {
        begin: read.begin.min(write.begin),
        end: read.end.max(write.end),
        ..read.clone()
    };
    let mut words = job(summary, "requests", "rw", &both, &mut Vec::new());
    let rate = words.iter().position(|word| word == "--rate-iops")? + 1;
    let [reads, writes] = [read, write].map(|side| side.per_s.round());
    let exact =
        [(read, reads), (write, writes)].iter().all(|(side, told)| close(side.per_s, *told));
    words[rate] = format!("{reads},{writes}");
    Some(words).filter(|_| exact)
}

fn job(
    summary: &RequestsSummary,
    name: &str,
    rw: &str,
    side: &RequestsSide,
    lacks: &mut Vec<String>,
) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    let sequential = side.sequential_share >= SEQUENTIAL;
    let order = if sequential { "" } else { "rand" };
    flag("rw", format!("{order}{rw}"));
    flag("bs", mix_word(&side.sizes));
    // An area that holds a request of each size, and begins where a block of any device does.
    let unit = 4_096;
    let begin = side.begin.0 / unit * unit;
    let largest = side.sizes.iter().map(|share| share.bytes.0).max().unwrap_or(unit);
    let length = side.end.0.saturating_sub(begin).next_multiple_of(unit).max(largest);
    // Counters tell no places.
    if side.end > side.begin {
        flag("offset", begin.to_string());
        flag("size", length.to_string());
    }
    if !sequential && side.sequential_share > RANDOM {
        flag("seq-share", format!("{:.0}%", side.sequential_share * 100.0));
        if side.zipf_theta.is_some_and(|theta| theta >= POPULAR) {
            lacks
                .push(format!("how often {name} access each position, in addition to their order"));
        }
    } else if let Some(theta) = side.zipf_theta.filter(|theta| !sequential && *theta >= POPULAR) {
        flag("pattern", "zipf".to_owned());
        flag("zipf-theta", format!("{theta:.2}"));
    }
    // The flag takes whole numbers.
    let rate = side.per_s.round().max(1.0);
    if !close(side.per_s, rate) {
        lacks.push(format!("the exact rate of {name} ({:.2} per second)", side.per_s));
    }
    flag("rate-iops", format!("{rate}"));
    if side.spacing() != Spacing::Even {
        flag("arrival", "poisson".to_owned());
    }
    if side.spacing() == Spacing::Bursts {
        let burst = f64::midpoint(side.dispersion, 1.0);
        if burst > BURST_MAX {
            lacks.push(format!("bursts of {burst:.0} {name}"));
        }
        flag("burst", format!("{:.1}", burst.min(BURST_MAX)));
    }
    flag("runtime", format!("{}ms", (summary.span_ns.0 / 1_000_000).max(100)));
    flag("job-name", name.to_owned());
    words
}
