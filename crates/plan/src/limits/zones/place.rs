//! Where a file lies on a map, and what another place of it would give.
//!
//! A file that is read from end to end takes the sum of its parts' times, each at the rate of its zone. What
//! zones give to a random read is the time of its transfer alone, which is a hundredth of the way to it.

use record::{Band, Bytes, Estimate, Measured, PlaceRates, SurfacePlace, ZoneMap};

/// A part of a file that may lie outside of a map: what is beyond changes a rate by less than that.
const OUTSIDE_MAX: f64 = 0.05;
/// A random read.
const RANDOM_BYTES: f64 = 4_096.0;

/// Where the pieces of a file lie on a map, and the rates there; `pieces` are first byte and length on the
/// device that was mapped.
#[must_use]
pub fn place(
    map: &ZoneMap,
    pieces: &[(Bytes, Bytes)],
) -> (Measured<SurfacePlace>, Measured<PlaceRates>) {
    let bytes: u64 = pieces.iter().map(|(_, length)| length.0).sum();
    let nowhere = |why: &str| (Measured::not(why), Measured::not(why));
    if bytes == 0 {
        return nowhere(
            "the file has no bytes on the device, because it is empty or not yet written out",
        );
    }
    let Some((begin, end)) = covered(map) else {
        return nowhere("the map does not contain the positions on the device");
    };
    let middle = |&(first, length): &(Bytes, Bytes)| {
        (first.0 as f64 + length.0 as f64 / 2.0) * (length.0 as f64 / bytes as f64)
    };
    let mean = pieces.iter().map(middle).sum::<f64>();
    let lies = SurfacePlace {
        pieces: pieces.len() as u64,
        bytes: Bytes(bytes),
        first_bytes: Bytes(pieces.iter().map(|(first, _)| first.0).min().unwrap_or(0)),
        last_bytes: Bytes(
            pieces.iter().map(|(first, length)| first.0 + length.0).max().unwrap_or(0),
        ),
        mean_share: (mean - begin as f64) / (end - begin) as f64,
    };
    let within = |&(first, length): &(Bytes, Bytes)| {
        (first.0 + length.0).min(end).saturating_sub(first.0.max(begin))
    };
    let outside = 1.0 - pieces.iter().map(within).sum::<u64>() as f64 / bytes as f64;
    if outside > OUTSIDE_MAX {
        let why = format!("{:.0} % of the file is outside the mapped area", outside * 100.0);
        return (Measured::Value(lies), Measured::not(why));
    }
    (Measured::Value(lies), rates(map, begin, pieces))
}

/// First byte on the device that a map covers, and the byte after the last.
fn covered(map: &ZoneMap) -> Option<(u64, u64)> {
    let (first, last) = (map.positions.first()?, map.positions.last()?);
    let begin = first.device_offset_bytes?.0;
    let step =
        (last.offset_bytes.0 - first.offset_bytes.0) / (map.positions.len() as u64 - 1).max(1);
    let end = last.device_offset_bytes?.0 + step;
    (end > begin).then_some((begin, end))
}

fn rates(map: &ZoneMap, begin: u64, pieces: &[(Bytes, Bytes)]) -> Measured<PlaceRates> {
    if map.random {
        return Measured::not(
            "the map was made with random reads; only a map of sequential reads shows zones",
        );
    }
    if map.bands.len() < 2 {
        return Measured::not(
            "the mapped area has no zones, so moving the file has no measurable effect",
        );
    }
    let base = map.bands[0].offset_bytes.0;
    let starts: Vec<u64> =
        map.bands.iter().map(|band| band.offset_bytes.0 - base + begin).collect();
    // What lies before the first band or behind the last counts with it.
    let mut in_band = vec![0_u64; map.bands.len()];
    for &(first, length) in pieces {
        let (mut at, end) = (first.0, first.0 + length.0);
        while at < end {
            let band = starts.partition_point(|start| *start <= at).max(1) - 1;
            let until = starts.get(band + 1).map_or(end, |next| (*next).min(end));
            in_band[band] += until - at;
            at = until;
        }
    }
    let by_rate = |a: &&Band, b: &&Band| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value);
    let Some(fastest) = map.bands.iter().max_by(by_rate) else { return Measured::not("no zone") };
    let here = over_all(&map.bands, &in_band);
    let there = fastest.bytes_per_s;
    let all: u64 = in_band.iter().sum();
    let lies_there =
        map.bands.iter().zip(&in_band).any(|(band, bytes)| band == fastest && *bytes == all);
    let gain = if lies_there {
        Estimate::symmetric(0.0, 0.0, there.n)
    } else {
        let ratio = there.over(&here);
        Estimate { value: ratio.value - 1.0, low: ratio.low - 1.0, high: ratio.high - 1.0, ..ratio }
    };
    Measured::Value(PlaceRates {
        here_bytes_per_s: here,
        fastest_bytes_per_s: there,
        fastest_offset_bytes: Bytes(fastest.offset_bytes.0 - base + begin),
        gain,
        random_read_saves_ns: RANDOM_BYTES * (1.0 / here.value - 1.0 / there.value) * 1e9,
    })
}

/// The rate over parts in several bands: all bytes by the sum of their times. Errors of bands are
/// independent.
fn over_all(bands: &[Band], in_band: &[u64]) -> Estimate {
    let all: f64 = in_band.iter().map(|bytes| *bytes as f64).sum();
    let (mut time, mut variance, mut n) = (0.0, 0.0, u32::MAX);
    for (band, bytes) in bands.iter().zip(in_band).filter(|(_, bytes)| **bytes > 0) {
        let (share, rate) = (*bytes as f64 / all, &band.bytes_per_s);
        time += share / rate.value;
        variance += (share * rate.se / (rate.value * rate.value)).powi(2);
        n = n.min(rate.n);
    }
    Estimate::from_se(1.0 / time, variance.sqrt() / (time * time), n)
}
