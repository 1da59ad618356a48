//! Determines the unit of the times in a recording.
//!
//! Most formats have one unit. ASCII traces in DiskSim's columns also occur in other units, which nothing in
//! them states. For times without a fraction, the gaps decide: the chosen unit makes the median gap most
//! similar to that of a busy disk.

const MILLISECOND_NS: u64 = 1_000_000;
/// Possible units of whole numbers.
const UNITS: [(&str, u64); 4] =
    [("ns", 1), ("us", 1_000), ("ms", MILLISECOND_NS), ("s", 1_000_000_000)];
/// The gap at a thousand requests per second, in ns.
const USUAL_GAP_NS: f64 = 1e6;
/// How many times further from the usual gap the documented unit must be than another one to be replaced: 1.5
/// decades.
const FURTHER: f64 = 31.6;
/// Maximum number of lines examined.
const GAPS_MAX: usize = 100_000;

/// A unit by its name, in ns: `ns`, `us`, `ms` or `s`.
#[must_use]
pub fn time_unit(name: &str) -> Option<u64> {
    UNITS.iter().find(|(known, _)| *known == name).map(|(_, ns)| *ns)
}

pub(crate) fn unit_name(ns: u64) -> String {
    let known = UNITS.iter().find(|(_, known)| *known == ns);
    known.map_or_else(|| format!("{ns} ns"), |(name, _)| (*name).to_owned())
}

/// The unit of a DiskSim trace, in ns: milliseconds, as documented, unless the times are whole numbers with
/// gaps that fit another unit.
pub(crate) fn guessed(text: &str) -> u64 {
    let of_line = |line: &str| {
        let word = line.split_whitespace().next()?;
        word.parse::<u64>().ok()
    };
    let lines = || text.lines().filter(|line| !line.trim().is_empty()).take(GAPS_MAX);
    let times: Option<Vec<u64>> = lines().map(of_line).collect();
    // A time with a fraction is in DiskSim's own milliseconds.
    let Some(times) = times else { return MILLISECOND_NS };
    let gaps = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let mut gaps: Vec<u64> = gaps.filter(|gap| *gap > 0).collect();
    gaps.sort_unstable();
    let Some(median) = gaps.get(gaps.len() / 2) else { return MILLISECOND_NS };
    let away = |unit_ns: u64| {
        let ratio = *median as f64 * unit_ns as f64 / USUAL_GAP_NS;
        ratio.max(1.0 / ratio)
    };
    let whole = UNITS.iter().map(|(_, ns)| *ns).filter(|ns| *ns <= MILLISECOND_NS);
    let nearest = whole.min_by(|one, other| away(*one).total_cmp(&away(*other)));
    nearest.filter(|ns| away(*ns) * FURTHER < away(MILLISECOND_NS)).unwrap_or(MILLISECOND_NS)
}
