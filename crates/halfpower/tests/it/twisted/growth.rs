//! Measures the memory for one input: the peak of the process's resident memory, which the kernel records and
//! resets on request (proc(5), `/proc/self/clear_refs`, 5).

use anyhow::{Context, Result};
use host::kernel;
use std::path::Path;

/// Maximum growth of memory for one input.
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// Resets the peak, and returns the current resident memory in bytes.
pub(super) fn begin() -> Result<u64> {
    std::fs::write("/proc/self/clear_refs", "5").context("/proc/self/clear_refs")?;
    resident("VmRSS")
}

/// Growth since then, in bytes.
pub(super) fn since(before: u64) -> Result<u64> {
    Ok(resident("VmHWM")?.saturating_sub(before))
}

fn resident(key: &str) -> Result<u64> {
    let status = kernel::read::text(Path::new("/proc/self/status")).context("/proc/self/status")?;
    kernel::read::memory_field(&status, key).with_context(|| format!("/proc/self/status: {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::{is_child, passes_in_child};

    #[test]
    fn memory_that_was_taken_and_given_back_counts() {
        const BYTES: usize = 64 << 20;
        // Run in a child, because memory of other tests in this process would count, too.
        const TEST: &str = "twisted::growth::tests::memory_that_was_taken_and_given_back_counts";
        if !is_child() {
            return passes_in_child(TEST, &[]);
        }
        let before = begin().unwrap();
        drop(std::hint::black_box(vec![1_u8; BYTES]));
        let growth = since(before).unwrap();
        assert!(growth >= BYTES as u64 / 2, "{growth}");
        let before = begin().unwrap();
        assert!(since(before).unwrap() < BYTES as u64 / 2);
    }
}
