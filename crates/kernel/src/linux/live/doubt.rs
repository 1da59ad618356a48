//! How far the kernel's busy time (the tenth counter, iostat's %util) can be trusted.
//!
//! It has been kept in three ways, and only the last means what its name says at any load. A reader
//! cannot tell from the number, so the doubt is said beside it, by what the version promises.
//! Rejected: correcting the number, which would need the arrival times that were lost.
//! Sources: `part_round_stats` of Linux 4.16 and 4.20, commits 5b18b5a73760 (5.0) and 99dc422335d8
//! (6.10) of the kernel.

/// Major and minor version of a kernel.
type Version = (u32, u32);

/// From and to which version (the latter not included) busy times are in doubt, and why.
const DOUBTS: [(Version, Version, &str); 2] = [
    (
        (4, 17),
        (5, 0),
        "counts requests that are allocated and not yet started, so that it says too much when \
         they wait for a free tag",
    ),
    (
        (5, 0),
        (6, 10),
        "looks once per timer tick whether a request is in progress, so that it can say 90 % for a \
         disk that is nearly idle",
    ),
];

/// Why the busy share of a disk cannot be trusted under this kernel release; `None` where it can.
pub(crate) fn of_kernel(release: &str) -> Option<String> {
    let version = version(release)?;
    let (.., why) = DOUBTS.iter().find(|(from, to, _)| (*from..*to).contains(&version))?;
    Some(format!("Linux {}.{} {why}", version.0, version.1))
}

/// The same for a device that is built of others, whatever the kernel.
pub(crate) fn of_stack(name: &str, built_of: &[String]) -> String {
    format!(
        "the kernel keeps the times of {name} in timer ticks, as it has no queue of its own; those \
         of {} are finer",
        built_of.join(", ")
    )
}

/// Major and minor number of a release such as `6.18.44-fc`.
fn version(release: &str) -> Option<Version> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
