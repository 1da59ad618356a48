//! Reads how long a cloud volume was over its limits, as the volume itself counts it.
//!
//! The NVMe devices of one provider (Amazon: EBS and instance storage) have a vendor log page for this. Its
//! four counters give the microseconds in which more requests or bytes were requested than the volume, or
//! the whole machine, allows. It is the only direct sign of a provider's cap; everything else is inferred
//! from rates. Reading it needs root, and the provider asks for at most one reading per second. Other
//! clouds have no such counter within the machine.

use crate::kernel::linux::unsafe_calls::{LOG_BYTES, nvme_log_page};
use crate::kernel::read::Roots;
use record::{DeviceFacts, OverLimit};
use std::fs::File;

const MODELS: [&str; 2] = ["Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"];
/// The namespace of a volume.
const FIRST_NAMESPACE: u32 = 1;
/// The log page, and its first word for either kind.
const LOG_PAGE: u8 = 0xD0;
const MAGIC: [u32; 2] = [0x3C23_B510, 0xEC2C_0D7E];
/// Offset of the four counters: after magic, reserved word, and counts, bytes and times of both directions.
const COUNTERS_AT: usize = 8 + 6 * 8;
/// Minimum time between two readings.
const APART_NS: u64 = 950_000_000;

/// The log of one device, and its last values.
#[derive(Debug)]
pub(crate) struct VolumeLog {
    device: File,
    last: [u64; 4],
    at_ns: u64,
}

impl VolumeLog {
    /// The log of a device; `None` if the device has none or it cannot be read.
    pub(crate) fn open(roots: &Roots, facts: &DeviceFacts, now_ns: u64) -> Option<Self> {
        let model = facts.model.as_deref()?.trim();
        MODELS.contains(&model).then_some(())?;
        let device = File::open(roots.dev.join(&facts.name)).ok()?;
        let last = read(&device)?;
        Some(Self { device, last, at_ns: now_ns })
    }

    /// The shares of the time since the last reading; `None` if that was less than a second ago.
    pub(crate) fn advance(&mut self, now_ns: u64) -> Option<OverLimit> {
        let elapsed_ns = now_ns.saturating_sub(self.at_ns);
        if elapsed_ns < APART_NS {
            return None;
        }
        let before = std::mem::replace(&mut self.last, read(&self.device)?);
        self.at_ns = now_ns;
        shares(before, self.last, elapsed_ns)
    }
}

fn read(device: &File) -> Option<[u64; 4]> {
    counters(&nvme_log_page(device, (LOG_PAGE, FIRST_NAMESPACE), LOG_BYTES).ok()?)
}

/// The four counters of a log page, in microseconds.
fn counters(page: &[u8; LOG_BYTES]) -> Option<[u64; 4]> {
    let magic = u32::from_le_bytes(page.get(..4)?.try_into().ok()?);
    MAGIC.contains(&magic).then_some(())?;
    let mut found = [0; 4];
    for (index, counter) in found.iter_mut().enumerate() {
        let at = COUNTERS_AT + 8 * index;
        *counter = u64::from_le_bytes(page.get(at..at + 8)?.try_into().ok()?);
    }
    Some(found)
}

/// The counters as shares of a time; `None` if a counter went back.
fn shares(before: [u64; 4], after: [u64; 4], elapsed_ns: u64) -> Option<OverLimit> {
    let share = |index: usize| {
        let microseconds = after[index].checked_sub(before[index])?;
        // The volume and the machine use different clocks.
        Some((microseconds as f64 * 1e3 / elapsed_ns.max(1) as f64).min(1.0))
    };
    Some(OverLimit {
        volume_iops: share(0)?,
        volume_bytes: share(1)?,
        machine_iops: share(2)?,
        machine_bytes: share(3)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page as such a device returns it: six counters of requests, bytes and times come first.
    fn page(magic: u32, over: [u64; 4]) -> [u8; LOG_BYTES] {
        let mut page = [0; LOG_BYTES];
        page[..4].copy_from_slice(&magic.to_le_bytes());
        let counters =
            [1_000, 2_000, 4_096_000, 8_192_000, 500_000, 900_000].into_iter().chain(over);
        for (index, counter) in counters.chain([7]).enumerate() {
            page[8 + 8 * index..16 + 8 * index].copy_from_slice(&u64::to_le_bytes(counter));
        }
        page
    }

    #[test]
    fn the_time_over_each_limit_is_read_from_both_kinds_of_device_and_from_no_other() {
        let over = [600_000, 5, 0, u64::MAX];
        for magic in MAGIC {
            assert_eq!(counters(&page(magic, over)), Some(over));
        }
        assert_eq!(counters(&page(1, over)), None);
    }

    #[test]
    fn shares_are_of_the_time_between_two_readings_and_at_most_all_of_it() {
        let after = [600_000, 0, 2_500_000, 0];
        let found = shares([0; 4], after, 2_000_000_000).unwrap();
        assert_eq!((found.volume_iops, found.volume_bytes), (0.3, 0.0));
        assert_eq!((found.machine_iops, found.machine_bytes), (1.0, 0.0));
        assert_eq!(shares(after, [0; 4], 2_000_000_000), None, "it began anew");
    }

    #[test]
    fn a_device_of_another_model_or_that_answers_no_such_command_has_no_log() {
        let fake = testkit::Fake::new();
        let node = fake.root().join("dev/nvme1n1");
        std::fs::create_dir_all(node.parent().unwrap()).unwrap();
        std::fs::write(&node, "no device").unwrap();
        let roots = Roots::below(fake.root());
        let facts = |model: &str| DeviceFacts {
            name: "nvme1n1".to_owned(),
            model: Some(model.to_owned()),
            ..DeviceFacts::default()
        };
        assert!(VolumeLog::open(&roots, &facts("Amazon Elastic Block Store"), 0).is_none());
        assert!(VolumeLog::open(&roots, &facts("Other"), 0).is_none());
    }
}
