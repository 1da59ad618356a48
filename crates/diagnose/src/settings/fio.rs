//! Writes a fio job with the load that the profile recommends: random reads at the knee.
//!
//! The job only reads: a job that a user pastes must not overwrite anything. It is the load at the
//! recommended depth, so that fio confirms or contradicts the profile's figure.

use super::profile_facts::ProfileFacts;
use super::{Derived, setting};
use record::{Locality, OpKind, Setting, TargetKind, format_bytes, format_nanos};

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    let given = |value: &str, why: &str| Ok((value.to_owned(), why.to_owned()));
    let plain = |name, derived| setting(name, derived, |value| format!("{name}={value}"));
    vec![
        plain("ioengine", given("io_uring", "")),
        plain("direct", given("1", "direct I/O, as in the profile")),
        plain("time_based", given("1", "")),
        plain("runtime", given("30", "")),
        place(facts),
        plain("rw", given("randread", "reads only: nothing is overwritten")),
        plain("bs", size(facts)),
        plain("iodepth", depth(facts)),
        setting("expected", expected(facts), |value| format!("# expected = {value}")),
    ]
}

/// The target. A directory gets a file of fio's own, as large as that of the profile.
fn place(facts: &ProfileFacts<'_>) -> Setting {
    let target = &facts.profile.target;
    // fio uses colons to separate file names.
    let path = target.path.replace(':', "\\:");
    let size = target.size_bytes.0;
    let (name, why) = match target.kind {
        TargetKind::Simulated => {
            let why = "the profile describes a simulated device, which fio cannot use: name a \
                       file";
            return setting("filename", Ok(("FILE".to_owned(), why.to_owned())), |value| {
                format!("# filename={value}\n\n[recommended]")
            });
        }
        TargetKind::Directory => {
            ("directory", "the directory that was checked; fio writes its own file there")
        }
        TargetKind::File | TargetKind::BlockDevice => ("filename", "the target that was checked"),
    };
    setting(name, Ok((path, why.to_owned())), |value| {
        format!("{name}={value}\nsize={size}\n\n[recommended]")
    })
}

fn size(facts: &ProfileFacts<'_>) -> Derived {
    let curve = facts.curve(OpKind::Read)?;
    Ok((curve.bs_bytes.to_string(), format!("{}, as measured", format_bytes(curve.bs_bytes))))
}

fn depth(facts: &ProfileFacts<'_>) -> Derived {
    let (knee, words) = facts.knee(OpKind::Read)?;
    facts.settled(&knee, &words, |depth| format!("{depth:.0}"))
}

fn expected(facts: &ProfileFacts<'_>) -> Derived {
    depth(facts)?;
    let (knee, _) = facts.knee(OpKind::Read)?;
    let curve = facts.curve(OpKind::Read)?;
    let point = curve.points.iter().find(|point| f64::from(point.depth) == knee.value);
    let point = point.ok_or_else(|| "the queue depth at the knee was not measured".to_owned())?;
    let iops = facts.profile.rerun(&point.iops, (OpKind::Read, Locality::Random, point.depth == 1));
    let value = format!(
        "{:.0} IOPS {}, clat about {}",
        iops.value,
        record::format_interval(iops.relative_half_width()),
        format_nanos(point.latency_ns.value)
    );
    Ok((value, "the profile's result at that queue depth".to_owned()))
}
