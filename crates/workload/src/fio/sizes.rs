//! Parses request sizes: one size, a range, or a list with shares.

use crate::fio::values::{by_direction, size, size_word};

/// Request sizes of one direction, with shares in percent that add up to 100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) shares: Vec<(u64, u64)>,
    /// A note if they differ from the request.
    pub(crate) note: Option<String>,
}

/// fio's default.
const DEFAULT_BYTES: u64 = 4_096;
/// Maximum number of sizes for a range, because shares are whole percents.
const SIZES_MAX: u64 = 100;

impl Sizes {
    pub(crate) fn one(bytes: u64) -> Self {
        Self { shares: vec![(bytes, 100)], note: None }
    }

    pub(crate) fn only(&self) -> Option<u64> {
        match self.shares[..] {
            [(bytes, _)] => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn smallest(&self) -> u64 {
        self.shares.iter().map(|(bytes, _)| *bytes).min().unwrap_or(DEFAULT_BYTES)
    }

    pub(crate) fn mean(&self) -> f64 {
        self.shares.iter().map(|(bytes, share)| *bytes as f64 * *share as f64 / 100.0).sum()
    }

    /// In the syntax of `--bs`.
    pub(crate) fn word(&self) -> String {
        if let Some(bytes) = self.only() {
            return size_word(bytes);
        }
        let part = |(bytes, share): &(u64, u64)| format!("{}/{share}", size_word(*bytes));
        self.shares.iter().map(part).collect::<Vec<_>>().join(":")
    }
}

/// Sizes for each direction from `bs`.
pub(crate) fn plain(text: &str, kb_base: u64) -> Result<[Sizes; 3], String> {
    of_each(text, |part| {
        // The part of a range that fio uses here.
        let (first, range) = part.split_once('-').map_or((part, None), |it| (it.0, Some(part)));
        let note = range.map(|range| {
            format!("bs: only {first} of {range} is used, as in fio; for a range, use bsrange")
        });
        match size(first, kb_base)? {
            0 => Err("a request must have at least one byte".to_owned()),
            bytes => Ok(Sizes { note, ..Sizes::one(bytes) }),
        }
    })
}

/// Sizes for each direction from `bsrange`: multiples of the minimum, all equally frequent.
pub(crate) fn range(text: &str, kb_base: u64) -> Result<[Sizes; 3], String> {
    of_each(text, |part| {
        let (low, high) =
            part.split_once(['-', ':']).ok_or("use MINIMUM-MAXIMUM, for example 4k-64k")?;
        let (low, high) = (size(low, kb_base)?, size(high, kb_base)?);
        if low == 0 || high < low {
            return Err(format!("{part:?} is not a range; use MINIMUM-MAXIMUM"));
        }
        let count = high / low;
        let taken = count.min(SIZES_MAX);
        // Evenly from the first multiple to the last.
        let multiple = |at: u64| match taken {
            1 => 1,
            _ => 1 + (count - 1) * at / (taken - 1),
        };
        let shares =
            (0..taken).map(|at| (multiple(at) * low, 100 / taken + u64::from(at < 100 % taken)));
        let note = (count > SIZES_MAX).then(|| {
            format!("bsrange: {taken} sizes, spread evenly over the range, instead of {count}")
        });
        Ok(Sizes { shares: shares.collect(), note })
    })
}

/// Sizes for each direction from `bssplit`. Missing shares are equal parts of the rest.
pub(crate) fn split(text: &str, kb_base: u64) -> Result<[Sizes; 3], String> {
    of_each(text, |part| {
        let mut shares = Vec::new();
        for entry in part.split(':').filter(|entry| !entry.is_empty()) {
            let (bytes, share) = entry.split_once('/').unwrap_or((entry, ""));
            let bytes = size(bytes, kb_base)?;
            let share = match share {
                "" => None,
                share => Some(share.trim_end_matches('%').parse::<u64>().map_err(|_| {
                    format!(
                        "{entry:?} has no whole percentage; use SIZE/PERCENT, separated by colons"
                    )
                })?),
            };
            shares.push((bytes, share));
        }
        let given: u64 = shares.iter().filter_map(|(_, share)| *share).sum();
        let open = shares.iter().filter(|(_, share)| share.is_none()).count() as u64;
        if given > 100 || shares.iter().any(|(bytes, _)| *bytes == 0) {
            return Err(format!("the percentages of {part:?} add up to {given} %"));
        }
        let each = (100 - given).checked_div(open).unwrap_or(0);
        let mut shares: Vec<(u64, u64)> =
            shares.into_iter().map(|(bytes, share)| (bytes, share.unwrap_or(each))).collect();
        // The last size gets the missing percent, as in fio.
        let rest = 100 - shares.iter().map(|(_, share)| share).sum::<u64>();
        shares.last_mut().ok_or("use SIZE/PERCENT, separated by colons")?.1 += rest;
        shares.retain(|(_, share)| *share > 0);
        Ok(Sizes { shares, note: None })
    })
}

fn of_each(text: &str, read: impl Fn(&str) -> Result<Sizes, String>) -> Result<[Sizes; 3], String> {
    let [reads, writes, trims] = by_direction(text)?;
    let of = |part: Option<&str>| part.map_or_else(|| Ok(Sizes::one(DEFAULT_BYTES)), &read);
    Ok([of(reads)?, of(writes)?, of(trims)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_each_multiple_of_its_least_size_equally_often() {
        let [reads, ..] = range("1k-4k", 1024).unwrap();
        assert_eq!(reads.shares, [(1_024, 25), (2_048, 25), (3_072, 25), (4_096, 25)]);
        let [odd, ..] = range("1k-3k", 1024).unwrap();
        assert_eq!(odd.shares, [(1_024, 34), (2_048, 33), (3_072, 33)]);
        let [wide, ..] = range("512:1m", 1024).unwrap();
        assert_eq!((wide.shares.len(), wide.shares[0].0, wide.shares[99].0), (100, 512, 1 << 20));
        // The mean of a uniform range is its midpoint.
        assert!((wide.mean() / (512.5 * 1_024.0) - 1.0).abs() < 0.01, "{}", wide.mean());
        assert!(wide.note.unwrap().contains("2048"));
        assert!(range("4k-1k", 1024).is_err() && range("4k", 1024).is_err());
    }

    #[test]
    fn shares_that_are_left_out_are_equal_parts_of_the_rest() {
        let of = |text| split(text, 1024).unwrap()[0].shares.clone();
        assert_eq!(of("512/25:1k/:2k/:4k/"), [(512, 25), (1_024, 25), (2_048, 25), (4_096, 25)]);
        assert_eq!(of("1k/:2k/:4k/"), [(1_024, 33), (2_048, 33), (4_096, 34)]);
        assert_eq!(of("4k/60:64k/0:8k/40"), [(4_096, 60), (8_192, 40)]);
        assert!(split("4k/60:8k/60", 1024).is_err());
    }

    #[test]
    fn directions_have_sizes_of_their_own_and_what_is_left_out_is_4_kib() {
        let [reads, writes, trims] = plain("8k,64k", 1024).unwrap();
        assert_eq!(
            [reads.only(), writes.only(), trims.only()],
            [Some(8_192), Some(65_536), Some(65_536)]
        );
        assert_eq!(plain("8k,", 1024).unwrap()[1].only(), Some(4_096));
        let [range, ..] = plain("4k-512k", 1024).unwrap();
        assert_eq!(range.only(), Some(4_096));
        assert_eq!(
            range.note.as_deref(),
            Some("bs: only 4k of 4k-512k is used, as in fio; for a range, use bsrange")
        );
    }
}
