//! A twin as a job file of fio.

use crate::replay::twin::{POPULAR, RANDOM, SEQUENTIAL};
use record::{RequestsSide, RequestsSummary, Spacing, format_digits};
use std::fmt::Write;

/// The job file; `None` where there is no twin. The target is the reader's to write in.
#[must_use]
pub fn fio_job(summary: &RequestsSummary) -> Option<String> {
    let words = summary.twin.as_ref()?;
    let of = |flag: &str| {
        let at = words.iter().position(|word| word == flag)?;
        words.get(at + 1).map(String::as_str)
    };
    let runtime = of("--runtime")?;
    let mut text = format!("# twin of {}\n", summary.source);
    let mut line = |words: std::fmt::Arguments<'_>| {
        // A string takes everything.
        let _ = text.write_fmt(words);
        text.push('\n');
    };
    for lack in &summary.twin_lacks {
        line(format_args!("# not reproduced: {lack}"));
    }
    let bursts = summary.sides().any(|(_, side)| side.spacing() == Spacing::Bursts);
    if bursts {
        line(format_args!(
            "# not reproduced: bursts, which fio does not support; halfpower's twin has them"
        ));
    }
    line(format_args!("[global]\nioengine=libaio\ndirect=1\ntime_based=1\nruntime={runtime}"));
    line(format_args!("# write the file or device here\nfilename=TARGET"));
    match of("--iodepth") {
        // One job that keeps a number in flight.
        Some(depth) => {
            line(format_args!("\n[requests]\nrw={}\niodepth={depth}", of("--rw")?));
            if let Some(reads) = of("--rwmixread") {
                line(format_args!("rwmixread={reads}"));
            }
            line(format_args!("bssplit={}", of("--bs").map(split)?));
            if let Some(share) =
                of("--seq-share").and_then(|share| share.trim_end_matches('%').parse().ok())
            {
                line(format_args!("percentage_random={}", 100u8.saturating_sub(share)));
            }
        }
        None => {
            for (name, side) in summary.sides() {
                line(format_args!("\n[{name}]\n{}", section(name, side)));
            }
        }
    }
    Some(text)
}

/// `4096/60:8192/40` of ours, or one size.
fn split(mix: &str) -> String {
    if mix.contains('/') { mix.to_owned() } else { format!("{mix}/100") }
}

fn section(name: &str, side: &RequestsSide) -> String {
    let kind = if name == "reads" { "read" } else { "write" };
    let sequential = side.sequential_share >= SEQUENTIAL;
    let mut lines = vec![
        format!("rw={}{kind}", if sequential { "" } else { "rand" }),
        format!("bssplit={}", split(&record::mix_word(&side.sizes))),
        format!("rate_iops={:.0}", side.per_s.round().max(1.0)),
        // The most in flight: an open loop.
        "iodepth=128".to_owned(),
    ];
    if side.spacing() != Spacing::Even {
        lines.push("rate_process=poisson".to_owned());
    }
    if !sequential && side.sequential_share > RANDOM {
        let random = (100.0 - side.sequential_share * 100.0).round();
        lines.push(format!("percentage_random={random}"));
    } else if let Some(theta) = side.zipf_theta.filter(|it| !sequential && *it >= POPULAR) {
        // Exactly one is what fio has no formula for.
        let theta = if (theta - 1.0).abs() < 0.005 { 1.01 } else { theta };
        lines.push(format!("random_distribution=zipf:{}", format_digits(theta)));
    }
    if side.end > side.begin {
        let (begin, unit) = (side.begin.0 / 4_096 * 4_096, 4_096);
        let length = (side.end.0 - begin).next_multiple_of(unit);
        lines.push(format!("offset={begin}\nsize={length}"));
    }
    lines.join("\n")
}
