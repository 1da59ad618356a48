//! What the name of a device and the release of a kernel tell, for sources that tell no more.

/// Why the busy share of this kernel cannot be trusted; none where it can.
///
/// Kernels 5.0 to 6.9 sampled once per tick, so that requests shorter than a tick can make an idle
/// device look 90 % busy; 4.17 to 4.19 also counted requests that had not started. From 6.10 on it
/// is exact.
pub(crate) fn busy_doubt(release: &str) -> Option<String> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next().and_then(|digits| digits.parse::<u32>().ok());
    let version = (next()?, next()?);
    let reason = match version {
        (4, 17..=19) => "counts requests that have not started as well",
        (5, _) | (6, 0..=9) => "samples once per clock tick, which overstates short requests",
        _ => return None,
    };
    Some(format!("kernel {}.{} {reason}", version.0, version.1))
}

/// The disk that this is a partition of, by the kernel's way of naming partitions, where that disk
/// is observed too.
pub(crate) fn whole_disk(name: &str, names: &[&str]) -> Option<String> {
    let disk = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if disk.len() == name.len() {
        return None;
    }
    // nvme0n1p1, mmcblk0p1: disks whose names end in a digit have a p before the partition's.
    let candidate = match disk.strip_suffix('p') {
        Some(numbered) if numbered.ends_with(|letter: char| letter.is_ascii_digit()) => numbered,
        _ => disk,
    };
    names.contains(&candidate).then(|| candidate.to_owned())
}
