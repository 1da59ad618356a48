//! What the name of a device tells, for sources that tell no more.

/// The disk that this is a partition of, by the kernel's way of naming partitions, where that disk
/// is observed too.
pub(crate) fn whole_disk(name: &str, names: &[&str]) -> Option<String> {
    let disk = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if disk.is_empty() || disk.len() == name.len() {
        return None;
    }
    // nvme0n1p1, mmcblk0p1: disks whose names end in a digit have a p before the partition's.
    let candidate = match disk.strip_suffix('p') {
        Some(numbered) if numbered.ends_with(|letter: char| letter.is_ascii_digit()) => numbered,
        _ => disk,
    };
    names.contains(&candidate).then(|| candidate.to_owned())
}
