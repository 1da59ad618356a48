//! Parses disk names on Windows: a disk instance is named by its number and the letters of its volumes.

/// The first letter of a volume in the name of a disk or volume: `D:` of `1 D: E:`.
#[must_use]
pub fn drive_letter(device: &str) -> Option<&str> {
    device.split(' ').find(|word| matches!(word.as_bytes(), [b'A'..=b'Z' | b'a'..=b'z', b':']))
}

/// Whether the counters of a device come from Windows, judged by their source or by its name. Windows
/// numbers its disks; no other system has a device whose name is a number.
#[must_use]
pub fn is_of_windows(source: &str, device: &str) -> bool {
    let first = device.split(' ').next().unwrap_or_default();
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    source.starts_with("Windows ") || is_number || drive_letter(device).is_some()
}

#[cfg(test)]
mod tests {
    use super::{drive_letter, is_of_windows};

    #[test]
    fn a_letter_is_a_word_of_its_own() {
        assert_eq!(drive_letter("1 D: E:"), Some("D:"));
        assert_eq!(drive_letter("C:"), Some("C:"));
        for other in ["sda", "3", "HarddiskVolume1", "a:/export", "sim:mm1", "10.0.0.1:/x y"] {
            assert_eq!(drive_letter(other), None, "{other}");
        }
        assert!(is_of_windows("Windows PhysicalDisk CSV", "3") && is_of_windows("live", "0 C:"));
        assert!(is_of_windows("live", "3"));
        for other in ["sda", "10.0.0.1:/x y", ""] {
            assert!(!is_of_windows("live", other), "{other}");
        }
    }
}
