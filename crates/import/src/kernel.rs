//! Derives facts from the name of a device, for sources without further facts.

/// The disk of this partition, by the kernel's naming scheme, if that disk is observed too.
pub(crate) fn whole_disk(name: &str, names: &[&str]) -> Option<String> {
    let disk = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if disk.is_empty() || disk.len() == name.len() {
        return None;
    }
    // nvme0n1p1, mmcblk0p1: disks whose names end in a digit have a p before the partition number.
    let candidate = match disk.strip_suffix('p') {
        Some(numbered) if numbered.ends_with(|letter: char| letter.is_ascii_digit()) => numbered,
        _ => disk,
    };
    names.contains(&candidate).then(|| candidate.to_owned())
}
