//! Joins counter samples from a monitoring server into scrapes and folds them into a tally.

use crate::fleet::tally::{Tally, Traffic};

/// The time of a scrape, in milliseconds since 1970, and its [`crate::fleet::COUNTERS`].
pub type Scrape = (i64, [f64; 7]);

/// The letters of a device's name: `sd` of `sdc`, `nvme` of `nvme0n1`, `dm-` of `dm-3`.
#[must_use]
pub fn family(device: &str) -> String {
    let letters = device.trim_end_matches(|sign: char| sign.is_ascii_digit());
    match ["sd", "vd", "xvd", "hd", "nvme", "mmcblk"]
        .iter()
        .find(|name| letters.starts_with(**name))
    {
        Some(name) => (*name).to_owned(),
        None => letters.to_owned(),
    }
}

/// Folds the scrapes of a device. The counters of a scrape have one time. The samples of each counter are
/// in order of time. Intervals of `longest_ms` or more are left out.
pub fn fold(
    samples: &[Vec<(i64, f64)>; 7],
    last: &mut Option<Scrape>,
    longest_ms: i64,
    tally: &mut Tally,
) {
    tally.clear();
    let mut at = [0; 7];
    for &(time, _) in &samples[6] {
        let mut scrape = [0.0; 7];
        let whole = (0..7).all(|counter| {
            let of = &samples[counter];
            while of.get(at[counter]).is_some_and(|(other, _)| *other < time) {
                at[counter] += 1;
            }
            let found = of.get(at[counter]).filter(|(other, _)| *other == time);
            // Prometheus marks the end of a series by a value that is not a number.
            let found = found.filter(|(_, value)| value.is_finite());
            scrape[counter] = found.map_or(0.0, |(_, value)| *value);
            found.is_some()
        });
        if !whole {
            continue;
        }
        // After a gap of a window or more, the time of the requests is unknown.
        let before = last.filter(|(before, _)| time - before < longest_ms);
        let traffic = before.and_then(|(_, before)| Traffic::between(&before, &scrape));
        if let Some(traffic) = traffic {
            tally.add(&traffic);
        }
        *last = Some((time, scrape));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tally::Direction;

    #[test]
    fn families_are_the_letters_of_names() {
        for (name, letters) in
            [("sdaa", "sd"), ("nvme10n1", "nvme"), ("vda", "vd"), ("dm-3", "dm-"), ("md127", "md")]
        {
            assert_eq!(family(name), letters);
        }
    }

    #[test]
    fn scrapes_are_joined_by_their_time_and_a_restart_or_a_gap_makes_no_interval() {
        let scrape = |time: i64, n: f64| {
            (time, [n, n * 4096.0, n * 0.002, n, n * 8192.0, n * 0.004, n * 0.0029])
        };
        let scrapes: Vec<(i64, [f64; 7])> =
            [(0, 100.0), (15, 1100.0), (30, 2100.0), (45, 50.0), (60, 1050.0)]
                .map(|(t, n)| scrape(t, n))
                .into();
        let mut samples: [Vec<(i64, f64)>; 7] = Default::default();
        for (time, values) in &scrapes {
            for (counter, value) in values.iter().enumerate() {
                // One counter of one scrape is missing.
                if (*time, counter) != (30, 2) {
                    samples[counter].push((*time, *value));
                }
            }
        }
        let (mut last, mut tally) = (None, Tally::default());
        fold(&samples, &mut last, 3_600_000, &mut tally);
        // From 0 to 15 and from 45 to 60: the scrape at 30 is incomplete, and the one at 45 is a restart.
        let mut expected = Tally::default();
        for _ in 0..2 {
            let direction = |bytes: f64, each: f64| Direction {
                requests: 1000.0,
                bytes: 1000.0 * bytes,
                seconds: 1000.0 * each,
            };
            expected.add(&Traffic {
                reads: direction(4096.0, 0.002),
                writes: direction(8192.0, 0.004),
                busy_seconds: 2.9,
            });
        }
        assert_eq!(format!("{tally:.9?}"), format!("{expected:.9?}"));
        assert_eq!(last.map(|(time, _)| time), Some(60));
    }
}
