//! Summarizes the sizes of many requests as a few sizes with shares, the form in which the user gives a mix.

use crate::{Bytes, RecordedRequest, SizeShare};
use std::collections::BTreeMap;

/// Maximum number of distinct sizes.
const SIZES_TOLD: usize = 8;

/// The most frequent sizes of recorded requests and the largest, with shares in whole percent that add up to
/// 100.
#[must_use]
pub fn size_shares(requests: &[RecordedRequest]) -> Vec<SizeShare> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for request in requests {
        *counts.entry(request.bytes).or_default() += 1;
    }
    let Some((&largest, _)) = counts.last_key_value() else { return Vec::new() };
    let mut by_count: Vec<(u32, u64)> = counts.into_iter().collect();
    by_count.sort_by_key(|&(bytes, count)| (std::cmp::Reverse(count), bytes));
    let mut told: Vec<(u32, u64)> = by_count.iter().copied().take(SIZES_TOLD).collect();
    if !told.iter().any(|(bytes, _)| *bytes == largest) {
        told.pop();
        told.push((largest, 1));
    }
    let total: u64 = told.iter().map(|(_, count)| count).sum();
    let share = |count: u64| (count * 100 / total).max(1);
    let rest = told.iter().skip(1).map(|&(_, count)| share(count)).sum::<u64>();
    let mut shares: Vec<SizeShare> = told
        .iter()
        .enumerate()
        .map(|(index, &(bytes, count))| {
            let percent = if index == 0 { 100 - rest } else { share(count) };
            SizeShare { bytes: Bytes(u64::from(bytes)), percent: percent as u8 }
        })
        .collect();
    shares.sort_by_key(|share| share.bytes);
    shares
}

/// A mix in the syntax of the flag: one size, or sizes with their shares (`4096/60:16384/40`).
#[must_use]
pub fn mix_word(mix: &[SizeShare]) -> String {
    match mix {
        [only] => only.bytes.0.to_string(),
        many => {
            let parts = many.iter().map(|share| format!("{}/{}", share.bytes.0, share.percent));
            parts.collect::<Vec<_>>().join(":")
        }
    }
}
