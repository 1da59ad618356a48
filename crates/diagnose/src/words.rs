//! Formats numbers for advice and findings: signs, digits and comparisons. "Faster" thus means the
//! same in each sentence: a difference beyond the intervals, and large enough to matter.

pub(crate) use record::format_share as percent;
use record::{
    CacheMode, CgroupLimit, ComparedCondition, Estimate, OpKind, Workload, format_bytes,
    format_iops,
};

/// A difference below this share is not worth a change, however certain it is.
pub(crate) const MATTERS_REL: f64 = 0.05;

/// Change from one value to another: `+12 %`, `-3.4 %`.
pub(crate) fn change(from: f64, to: f64) -> String {
    let text = percent(to / from - 1.0);
    if text.starts_with('-') || text == "0 %" { text } else { format!("+{text}") }
}

/// Why a profile does not apply to a device that is faster than its maximum.
pub(crate) fn beyond_profile(iops: f64, max_iops: f64) -> String {
    format!(
        "the device delivers {}, {} of the maximum in the profile, so the profile describes another \
         state, load or path",
        format_iops(iops),
        percent(iops / max_iops)
    )
}

/// A rate as a share of the profile's predicted maximum. A device may exceed it: a check measures
/// the maximum rate of a mix with an error, or computes it from other mixes.
pub(crate) fn of_largest(share: f64) -> String {
    if share <= 1.0 {
        format!("{} of the maximum", percent(share))
    } else {
        format!("{} of the profile's predicted maximum", percent(share))
    }
}

/// `Reads`, `Writes`: an operation at the beginning of a sentence.
pub(crate) fn capitalized(op: OpKind) -> &'static str {
    match op {
        OpKind::Read => "Reads",
        OpKind::Write => "Writes",
    }
}

/// `riops=200 and wiops=200`.
pub(crate) fn limit_values(limits: &[CgroupLimit]) -> String {
    let text = |limit: &CgroupLimit| format!("{}={}", limit.limited.name(), limit.limit_per_s);
    limits.iter().map(text).collect::<Vec<_>>().join(" and ")
}

/// `1.9 times`.
pub(crate) fn times(ratio: f64) -> String {
    if ratio >= 9.95 { format!("{ratio:.0} times") } else { format!("{ratio:.1} times") }
}

/// Whether one estimate exceeds another by more than chance (95 %) and by enough to matter.
pub(crate) fn exceeds(larger: &Estimate, smaller: &Estimate) -> bool {
    larger.exceeds(smaller) && larger.value - smaller.value > MATTERS_REL * smaller.value
}

/// `random 4 KiB reads at QD 8`, with the cache mode unless it is the usual one.
pub(crate) fn described(workload: &Workload) -> String {
    let op = match workload.only_op() {
        Some(op) => format!("{}s", op.name()),
        None => "mixed requests".to_owned(),
    };
    let cache = match workload.cache {
        CacheMode::Device => String::new(),
        other => format!(" with --cache {}", other.name()),
    };
    format!(
        "{} {} {op} at QD {}{cache}",
        workload.pattern.name(),
        format_bytes(workload.max_bs().0),
        workload.depth
    )
}

/// Changed conditions: `write cache write through, now write back; …`.
pub(crate) fn changed<'a>(conditions: impl Iterator<Item = &'a ComparedCondition>) -> String {
    let each: Vec<String> =
        conditions.map(|one| format!("{} {}, now {}", one.what, one.a, one.b)).collect();
    each.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_must_be_both_certain_and_large_to_count() {
        let value = |value: f64, half| Estimate::symmetric(value, half, 3);
        assert!(exceeds(&value(110.0, 2.0), &value(100.0, 2.0)));
        assert!(!exceeds(&value(110.0, 9.0), &value(100.0, 9.0)), "not certain");
        assert!(!exceeds(&value(104.0, 0.1), &value(100.0, 0.1)), "does not matter");
        assert!(!exceeds(&value(100.0, 2.0), &value(110.0, 2.0)), "the other way round");
    }

    #[test]
    fn percentages_keep_two_digits_and_changes_their_sign() {
        assert_eq!(percent(0.034), "3.4 %");
        assert_eq!(percent(0.456), "46 %");
        assert_eq!(change(2.0, 1.0), "-50 %");
        assert_eq!(change(1.0, 1.034), "+3.4 %");
        assert_eq!(change(1.0, 1.008), "+0.8 %");
        assert_eq!(change(1.0, 0.9999), "0 %");
        assert_eq!(change(1.0, 1.0001), "0 %");
        assert_eq!(times(1.94), "1.9 times");
    }
}
