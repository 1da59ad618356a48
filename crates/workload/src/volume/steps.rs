//! The steps of a rebuild: which part of a disk is next, and when it is due.
//!
//! Real and simulated arrays take the same steps: whole chunks in rising order, a few at once so that one
//! is read while another is written, as fast as they go or at times that make a rate.

/// Steps in progress at once.
pub const REBUILD_DEPTH: u32 = 4;
/// Length of a step where chunks are shorter and the disk is a multiple of it.
const STEP_BYTES: u64 = 64 << 10;

/// The steps that are left.
#[derive(Clone, Debug)]
pub struct RebuildSteps {
    next: u64,
    member: u64,
    step: u64,
    begin_ns: u64,
    bytes_per_s: Option<u64>,
}

impl RebuildSteps {
    /// Those of a disk with so many bytes in whole chunks, from a moment on; `None` for a rate is as fast
    /// as they go.
    #[must_use]
    pub fn new(chunk: u64, member: u64, begin_ns: u64, bytes_per_s: Option<u64>) -> Self {
        let mut step = chunk;
        while step * 2 <= STEP_BYTES && member.is_multiple_of(step * 2) {
            step *= 2;
        }
        Self { next: 0, member, step, begin_ns, bytes_per_s }
    }

    /// Length of the longest.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.step
    }

    /// When the next is due, in nanoseconds; `None` after the last.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let time = |rate: u64| {
            let nanos = u128::from(self.next) * 1_000_000_000 / u128::from(rate.max(1));
            u64::try_from(nanos).unwrap_or(u64::MAX)
        };
        let after = self.bytes_per_s.map_or(0, time);
        (self.next < self.member).then(|| self.begin_ns.saturating_add(after))
    }

    /// Takes the next if it is due: where it begins, and its length.
    pub fn take(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        let offset = self.due().filter(|due| *due <= now_ns).map(|_| self.next)?;
        let bytes = self.step.min(self.member - offset);
        self.next += bytes;
        Some((offset, u32::try_from(bytes).unwrap_or(u32::MAX)))
    }
}
