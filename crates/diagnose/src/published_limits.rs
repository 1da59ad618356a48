//! Lists the rates at which providers cap volumes, from their own pages.
//!
//! A rate alone matches too many devices: one with a larger throughput than the volume allows is a
//! different device. (Limits of Amazon's volumes and of Azure's disks with their bursts, as
//! published in 2026; Google's depend on the machine size.)

const MIB_PER_S: f64 = 1_048_576.0;

/// A rate at which a provider caps a volume.
struct Published {
    per_s: f64,
    bytes: bool,
    /// The largest throughput of any volume with this cap, bursts included, in bytes per second.
    bandwidth: f64,
    name: &'static str,
}

const fn requests(per_s: f64, bandwidth: f64, name: &'static str) -> Published {
    Published { per_s, bytes: false, bandwidth, name }
}

/// A burst exceeds a cap of bytes, so no throughput contradicts it.
const fn throughput(per_s: f64, name: &'static str) -> Published {
    Published { per_s, bytes: true, bandwidth: f64::INFINITY, name }
}

const PUBLISHED: [Published; 21] = [
    requests(
        3_000.0,
        250.0 * MIB_PER_S,
        "an Amazon gp3 volume by default, or a gp2 volume in a burst",
    ),
    requests(
        16_000.0,
        1_000.0 * MIB_PER_S,
        "an Amazon gp2 volume at its maximum, or a gp3 volume at its maximum until 2025",
    ),
    requests(100.0, 128.0 * MIB_PER_S, "the smallest Amazon gp2 volume"),
    throughput(125.0 * MIB_PER_S, "an Amazon gp3 volume by default, 125 MiB/s"),
    throughput(250.0 * MIB_PER_S, "an Amazon gp2 volume at its maximum, 250 MiB/s"),
    throughput(25e6, "an Azure P4 disk, 25 MB/s"),
    throughput(50e6, "an Azure P6 disk, 50 MB/s"),
    throughput(100e6, "an Azure P10 disk, 100 MB/s"),
    throughput(125e6, "an Azure P15 disk, 125 MB/s"),
    throughput(150e6, "an Azure P20 disk, 150 MB/s"),
    throughput(200e6, "an Azure P30 disk, 200 MB/s"),
    throughput(250e6, "an Azure P40 or P50 disk, 250 MB/s"),
    requests(120.0, 170e6, "an Azure P4 disk"),
    requests(240.0, 170e6, "an Azure P6 disk"),
    requests(500.0, 170e6, "an Azure P10 or standard disk"),
    requests(1_100.0, 170e6, "an Azure P15 disk"),
    requests(2_300.0, 170e6, "an Azure P20 disk"),
    requests(5_000.0, 1e9, "an Azure P30 disk"),
    requests(7_500.0, 1e9, "an Azure P40 disk"),
    requests(15_000.0, 800e6, "a Google balanced or SSD disk on a small machine"),
    requests(20_000.0, 1e9, "an Azure P80 disk"),
];
/// Largest relative distance from a published rate that still matches it.
const NEAR: f64 = 0.012;
/// A device with this many times a volume's throughput is a different one.
const CLEARLY_ABOVE: f64 = 1.25;

/// The published cap at this rate whose volume allows the observed throughput.
pub(crate) fn published_limit(
    per_s: f64,
    bytes: bool,
    most_bytes_per_s: f64,
) -> Option<&'static str> {
    let fits = |one: &&Published| {
        one.bytes == bytes
            && (per_s / one.per_s - 1.0).abs() <= NEAR
            && most_bytes_per_s <= CLEARLY_ABOVE * one.bandwidth
    };
    PUBLISHED.iter().find(fits).map(|one| one.name)
}

#[cfg(test)]
mod tests {
    use super::published_limit;

    #[test]
    fn a_volume_is_named_only_for_a_device_that_moves_no_more_bytes_than_it() {
        let gp3 = |per_s, bytes, most| {
            published_limit(per_s, bytes, most).is_some_and(|name| name.contains("gp3"))
        };
        assert!(gp3(3_000.0, false, 131e6) && gp3(3_001.0, false, 262e6));
        assert!(!gp3(3_000.0, false, 3.15e9) && !gp3(3_100.0, false, 131e6));
        assert!(gp3(131_072_000.0, true, 131e6));
    }
}
