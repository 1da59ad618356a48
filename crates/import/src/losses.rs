//! The findings about what is lost on the way from a source to an observation, and what must be assumed about
//! the rest.

use record::{Finding, FindingCode, Severity};

/// Data that the reader found but did not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Lines, objects or characters that could not be read.
    pub(crate) faults: u64,
    /// A device twice at the same time.
    pub(crate) twice: u64,
    /// Reports of averages since boot.
    pub(crate) since_boot: u64,
    /// How many of these could also be an interval.
    pub(crate) since_boot_unsure: u64,
    /// Intervals in which counters went back to 0.
    pub(crate) resets: u64,
    /// Restarts that the source marks.
    pub(crate) restarts: u64,
    /// Intervals of unknown length.
    pub(crate) no_length: u64,
    /// Times earlier than the previous one.
    pub(crate) backwards: u64,
    /// Places where the author of a text cut out reports.
    pub(crate) cuts: u64,
    /// Rows that are sums over other rows.
    pub(crate) sums: u64,
    /// Intervals whose mean times include discards.
    pub(crate) discards_mixed: u64,
}

/// Intervals of the source that are not in the observation.
pub(crate) fn left_out(counts: &Counts) -> Option<Finding> {
    let Counts { since_boot, since_boot_unsure, restarts, no_length, sums, .. } = *counts;
    if since_boot + restarts + no_length + sums == 0 {
        return None;
    }
    let parts = [
        (since_boot, "report", " of averages since boot"),
        (restarts, "restart", " of the machine"),
        (no_length, "interval", " of unknown length"),
        (sums, "row", " with sums over other rows (iostat -g)"),
    ];
    let some = parts.into_iter().filter(|(count, ..)| *count > 0);
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let parts: Vec<String> =
        some.map(|(count, what, of)| format!("{count} {what}{}{of}", plural(count))).collect();
    let mut claim = format!("skipped: {}", parts.join(", "));
    if since_boot_unsure > 0 {
        claim
            .push_str("; the values do not show whether the first report is an average since boot");
    }
    let severity = if no_length > 0 { Severity::Warning } else { Severity::Info };
    let remedy = match (no_length > 0, since_boot_unsure > 0) {
        (true, _) => "record with times (iostat -t, one scrape per time), or use --interval",
        (false, true) => "record with iostat -y, which prints no averages since boot",
        (false, false) => "",
    };
    let counts = [
        ("since boot", since_boot),
        ("restarts", restarts),
        ("unknown length", no_length),
        ("sums", sums),
    ];
    Some(with_counts(Finding::new(FindingCode::IntervalsLeftOut, severity, claim, remedy), &counts))
}

/// A finding if the source has only averages since boot. A table without the host line of iostat may be a
/// later report, copied out of its context.
pub(crate) fn averages_only(starts_with_host: bool) -> Finding {
    if starts_with_host {
        let remedy = format!(
            "{} If the report covers an interval (iostat -y), give its length with --interval.",
            Finding::RECORD_WHILE_SLOW
        );
        return Finding::warning(FindingCode::SinceBoot, Finding::SINCE_BOOT, remedy);
    }
    let claim = "the only report may be an average since boot, not of an interval";
    Finding::warning(FindingCode::IntervalsLeftOut, claim, Finding::RECORD_WHILE_SLOW)
}

/// A finding if the source has only sums over all disks.
pub(crate) fn totals_only() -> Finding {
    let claim = "the source has only _Total, the sum or mean of all disks, which hides one slow \
                 disk among several; shares and latencies belong to no single disk";
    let remedy = "record each disk: typeperf \"\\PhysicalDisk(*)\\*\" -si 1 -f CSV -o FILE";
    Finding::warning(FindingCode::FiguresMixed, claim, remedy)
}

/// A finding if the source has only sums over groups of disks.
pub(crate) fn sums_only() -> Finding {
    let claim = "the source has only sums over groups of disks (ALL, total, or the indented groups \
                 of iostat -T); one slow disk of a group is not visible, and shares and \
                 latencies belong to no single disk";
    let remedy = "record each disk: iostat -x -t 1 60";
    Finding::warning(FindingCode::FiguresMixed, claim, remedy)
}

/// A finding on counters that decreased between two moments.
pub(crate) fn resets(resets: u64) -> Option<Finding> {
    let claim = "counters decreased between two samples: the machine restarted, or the device was \
                 replaced; these intervals are omitted";
    let remedy = "compare serial numbers, and check the system log (dmesg, or the event log)";
    let found = || Finding::warning(FindingCode::CountersReset, claim, remedy);
    (resets > 0).then(|| found().with("resets", resets as f64, ""))
}

/// A finding on a kernel whose busy time is unreliable.
pub(crate) fn busy_doubtful(doubt: &str, devices: usize) -> Finding {
    let claim = format!("the busy share is unreliable: {doubt}");
    let remedy = "use latency and requests in flight instead";
    let found = Finding::note(FindingCode::BusyDoubtful, claim, remedy);
    found.with("devices", devices as f64, "")
}

/// A finding on unreadable parts of the source.
pub(crate) fn damage(counts: &Counts) -> Option<Finding> {
    let Counts { faults, twice, backwards, .. } = *counts;
    if faults + twice + backwards == 0 {
        return None;
    }
    let claim = "parts of the source could not be read; the rest is used";
    let remedy = "check that the file covers the time that you expect; a tool that was killed \
                  leaves a truncated file";
    let counts = [
        ("unreadable records", faults),
        ("duplicate devices in one report", twice),
        ("timestamps out of order", backwards),
    ];
    Some(with_counts(Finding::warning(FindingCode::SourceDamaged, claim, remedy), &counts))
}

/// Adds those counts to a finding that are not 0.
fn with_counts(finding: Finding, counts: &[(&str, u64)]) -> Finding {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    some.fold(finding, |finding, (what, count)| finding.with(what, *count as f64, ""))
}
