//! Converts the description of a link (speed, width and line code) into its bytes per second.
//!
//! Serial links send more bits than data. PCI Express up to 5 GT/s, SATA, SAS up to 6 Gb/s and USB at 5
//! Gb/s send ten bits for eight; PCI Express from 8 GT/s on sends 130 for 128, USB at 10 Gb/s 132 for 128,
//! PCI Express at 64 GT/s 256 bytes for 242. The overhead of packet headers is not subtracted: it is part
//! of the ratio.

use record::Advertised;

/// Payload share of 8b/10b coding.
const EIGHT_TEN: f64 = 8.0 / 10.0;
const BYTE_BITS: f64 = 8.0;

/// The peak of a disk's link, from its description in the facts of the device: `nvme pcie 8.0 GT/s x4`,
/// `sata 6.0 Gbps`, `usb 5000 Mb/s`. `None` if it states no speed.
#[must_use]
pub fn link_peak(link: &str) -> Option<Advertised> {
    if let Some(at) = link.find("pcie ") {
        return pcie_peak(&link[at + 5..]);
    }
    if let Some(speed) = link.strip_prefix("sata ") {
        let gigabits: f64 = speed.split_whitespace().next()?.parse().ok()?;
        return stated(gigabits * 1e9 * EIGHT_TEN / BYTE_BITS, format!("{link}, 8b/10b"));
    }
    if let Some(speed) = link.strip_prefix("usb ") {
        let megabits: f64 = speed.split_whitespace().next()?.parse().ok()?;
        let (share, code) = match megabits {
            slow if slow <= 480.0 => (1.0, "no line code"),
            middle if middle <= 5_000.0 => (EIGHT_TEN, "8b/10b"),
            _ => (128.0 / 132.0, "128b/132b"),
        };
        return stated(megabits * 1e6 * share / BYTE_BITS, format!("{link}, {code}"));
    }
    None
}

/// The peak of a link such as `8.0 GT/s x4`, in one direction.
pub(crate) fn pcie_peak(words: &str) -> Option<Advertised> {
    let mut parts = words.split_whitespace();
    let speed: f64 = parts.next()?.parse().ok()?;
    let width: f64 = parts.find_map(|part| part.strip_prefix('x'))?.parse().ok()?;
    let (share, code) = match speed {
        slow if slow <= 5.0 => (EIGHT_TEN, "8b/10b"),
        middle if middle <= 32.0 => (128.0 / 130.0, "128b/130b"),
        _ => (242.0 / 256.0, "flits of 242 in 256 bytes"),
    };
    stated(speed * 1e9 * share / BYTE_BITS * width, format!("sysfs: {words}, {code}"))
}

fn stated(bytes_per_s: f64, source: String) -> Option<Advertised> {
    (bytes_per_s > 0.0).then_some(Advertised { bytes_per_s, source })
}
