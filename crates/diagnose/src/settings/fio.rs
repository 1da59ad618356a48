//! A job for fio with the load that the profile recommends: random reads at the knee.
//!
//! Reads only: a job that somebody pastes must not write over anything. It is the load of the
//! recommended depth, so that fio confirms (or contradicts) the profile's figure.

use super::profile_facts::ProfileFacts;
use super::{Derived, assigned, setting};
use record::{OpKind, Setting, TargetKind, format_bytes, format_nanos};

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    let given = |value: &str, why: &str| Ok((value.to_owned(), why.to_owned()));
    let plain = |name, derived| setting(name, derived, |value| format!("{name}={value}"));
    vec![
        plain("ioengine", given("io_uring", "")),
        plain("direct", given("1", "past the page cache, as the profile was measured")),
        plain("time_based", given("1", "")),
        plain("runtime", given("30", "")),
        setting("filename", file(facts), |value| format!("filename={value}\n\n[recommended]")),
        plain("rw", given("randread", "reads only: nothing is written over")),
        plain("bs", size(facts)),
        plain("iodepth", facts.knee(OpKind::Read).map(|(knee, words)| (knee.to_string(), words))),
        assigned("# expected", expected(facts)),
    ]
}

fn file(facts: &ProfileFacts<'_>) -> Derived {
    let target = &facts.profile.target;
    let (value, why) = match target.kind {
        TargetKind::Simulated => ("FILE", "the profile is of a simulated device: name your own"),
        TargetKind::Directory => {
            ("FILE", "the test file of the profile is gone: name a file of some gigabytes there")
        }
        TargetKind::File | TargetKind::BlockDevice => {
            (target.path.as_str(), "what the profile was made of")
        }
    };
    // fio separates files by colons.
    Ok((value.replace(':', "\\:"), why.to_owned()))
}

fn size(facts: &ProfileFacts<'_>) -> Derived {
    let curve = facts.curve(OpKind::Read)?;
    Ok((curve.bs_bytes.to_string(), format!("{}, as measured", format_bytes(curve.bs_bytes))))
}

fn expected(facts: &ProfileFacts<'_>) -> Derived {
    let (knee, _) = facts.knee(OpKind::Read)?;
    let curve = facts.curve(OpKind::Read)?;
    let point = curve.points.iter().find(|point| point.depth == knee);
    let point = point.ok_or_else(|| "the depth of the knee was not measured".to_owned())?;
    let value = format!(
        "{:.0} IOPS, clat of about {}",
        point.iops.value,
        format_nanos(point.latency_ns.value)
    );
    Ok((value, "what the profile measured at that depth".to_owned()))
}
