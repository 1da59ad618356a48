//! Schedules the steps of a rebuild: which part of a disk is next, and when it is due.
//!
//! Real and simulated arrays use the same steps: whole chunks in rising order, several in progress so that
//! one is read while another is written. They run as fast as possible, or at times that give a fixed rate.

/// Steps in progress at once.
pub const REBUILD_DEPTH: u32 = 4;
/// Length of a step, if chunks are shorter and the disk is a multiple of it.
const STEP_BYTES: u64 = 64 << 10;

/// The remaining steps.
#[derive(Clone, Debug)]
pub struct RebuildSteps {
    next: u64,
    member: u64,
    step: u64,
    begin_ns: u64,
    bytes_per_s: Option<u64>,
}

impl RebuildSteps {
    /// The steps for a disk with `member` bytes in whole chunks, from `begin_ns` on. `None` as the rate means
    /// as fast as possible.
    #[must_use]
    pub fn new(chunk: u64, member: u64, begin_ns: u64, bytes_per_s: Option<u64>) -> Self {
        let mut step = chunk;
        while step * 2 <= STEP_BYTES && member.is_multiple_of(step * 2) {
            step *= 2;
        }
        Self { next: 0, member, step, begin_ns, bytes_per_s }
    }

    /// Length of the longest step.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.step
    }

    /// When the next step is due, in nanoseconds; `None` after the last.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let time = |rate: u64| {
            let nanos = u128::from(self.next) * 1_000_000_000 / u128::from(rate.max(1));
            u64::try_from(nanos).unwrap_or(u64::MAX)
        };
        let after = self.bytes_per_s.map_or(0, time);
        (self.next < self.member).then(|| self.begin_ns.saturating_add(after))
    }

    /// Takes the next step if it is due. Returns its start and its length.
    pub fn take(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        let offset = self.due().filter(|due| *due <= now_ns).map(|_| self.next)?;
        let bytes = self.step.min(self.member - offset);
        self.next += bytes;
        Some((offset, u32::try_from(bytes).unwrap_or(u32::MAX)))
    }
}
