//! Computes where a byte is: zone, track, cylinder, and the angle at which it passes under the head.
//!
//! One function defines the geometry: the time to read from the first byte of the drive up to this one
//! without any waiting. It includes one revolution per track, and the skew with which the format hides each
//! change of head or cylinder. The difference of two such times is the time to transfer the bytes between;
//! the remainder modulo the revolution is the angle. So the next sequential request waits for nothing if it
//! arrives in time, and for a whole revolution if not. Track length decreases linearly over zones with
//! equal numbers of cylinders. Rejected: a mean media rate with a random latency, which has neither effect;
//! and tables of sectors, which are not needed here.

use crate::divisor::Divisor;
use crate::drive::DriveSpec;

/// Bytes per sector; a track holds whole sectors.
pub const SECTOR: u64 = 512;

#[derive(Clone, Copy, Debug)]
struct Zone {
    first_byte: u64,
    first_track: u64,
    track_bytes: Divisor,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Track, counted from the outermost cylinder, head by head.
    pub track: u64,
    /// Cylinder, counted from the outermost.
    pub cylinder: u64,
    /// Time to stream from the drive's first byte, in nanoseconds.
    pub stream_ns: u64,
    /// The angle: the same time modulo one revolution.
    pub angle_ns: u64,
}

#[derive(Clone, Debug)]
pub struct Geometry {
    zones: Vec<Zone>,
    /// The zone in which each of the equal parts of the drive begins.
    begins_in: Vec<u32>,
    /// Base-2 logarithm of the size of a part; every zone is at least that large.
    part_log2: u32,
    heads: Divisor,
    pub(super) cylinders: u64,
    revolution_ns: Divisor,
    start_angle_ns: u64,
    head_switch_ns: u64,
    cylinder_switch_ns: u64,
    pub(crate) bytes: u64,
}

impl Geometry {
    pub fn new(spec: &DriveSpec) -> Self {
        let revolution_ns = spec.revolution_ns();
        let count = u64::from(spec.zones.max(1));
        let track_bytes = |zone: u64| {
            let (outer, inner) = (spec.outer_bytes_per_s as f64, spec.inner_bytes_per_s as f64);
            let share = match count {
                _ if !spec.effects.zones => 0.5,
                1 => 0.0,
                _ => zone as f64 / (count - 1) as f64,
            };
            let rate = outer + (inner - outer) * share;
            let sectors = (rate * revolution_ns as f64 / 1e9) as u64 / SECTOR;
            sectors.max(1) * SECTOR
        };
        let heads = u64::from(spec.heads.max(1));
        let per_ring: u64 = (0..count).map(track_bytes).sum::<u64>() * heads;
        // Rounded up: the last zone holds the rest.
        let ring_cylinders = spec.capacity_bytes.div_ceil(per_ring).max(1);
        let mut zones = Vec::with_capacity(count as usize);
        let (mut first_byte, mut first_track) = (0, 0);
        for zone in 0..count {
            let track_bytes = track_bytes(zone);
            zones.push(Zone { first_byte, first_track, track_bytes: Divisor::new(track_bytes) });
            first_track += ring_cylinders * heads;
            first_byte += ring_cylinders * heads * track_bytes;
        }
        let smallest = (0..count).map(track_bytes).min().unwrap_or(1) * ring_cylinders * heads;
        let part_log2 = smallest.ilog2();
        let begins_in = (0..=spec.capacity_bytes >> part_log2)
            .map(|part| zones.partition_point(|zone| zone.first_byte <= part << part_log2))
            .map(|after| after as u32 - 1)
            .collect();
        Self {
            zones,
            begins_in,
            part_log2,
            heads: Divisor::new(heads),
            cylinders: ring_cylinders * count,
            revolution_ns: Divisor::new(revolution_ns),
            start_angle_ns: spec.start_angle_ns,
            head_switch_ns: spec.head_switch_ns,
            cylinder_switch_ns: spec.cylinder_switch_ns,
            bytes: spec.capacity_bytes,
        }
    }

    #[inline]
    pub fn revolution_ns(&self) -> u64 {
        self.revolution_ns.value()
    }

    #[inline]
    pub fn place(&self, byte: u64) -> Place {
        let zone = self.zone(byte);
        let (tracks, within) = zone.track_bytes.divide(byte - zone.first_byte);
        let track = zone.first_track + tracks;
        let (cylinder, _) = self.heads.divide(track);
        let revolution_ns = self.revolution_ns.value();
        let stream_ns = track * revolution_ns
            + (track - cylinder) * self.head_switch_ns
            + cylinder * self.cylinder_switch_ns
            + zone.track_bytes.divide(within * revolution_ns).0;
        Place { track, cylinder, stream_ns, angle_ns: self.revolution_ns.divide(stream_ns).1 }
    }

    /// The byte that streaming from `from` reaches after `elapsed_ns`, rounded down to a sector.
    pub fn reached(&self, from: u64, elapsed_ns: u64) -> u64 {
        let zone = self.zone(from);
        let switches = self.head_switch_ns * (self.heads.value() - 1) + self.cylinder_switch_ns;
        let track_ns = self.revolution_ns.value() + self.heads.divide(switches).0;
        let bytes = elapsed_ns.saturating_mul(zone.track_bytes.value()) / track_ns;
        (from + bytes / SECTOR * SECTOR).min(self.bytes)
    }

    #[inline]
    pub fn angle_ns(&self, now_ns: u64) -> u64 {
        self.revolution_ns.divide(now_ns + self.start_angle_ns).1
    }

    /// Time until the head, now at the angle `here_ns`, reaches another angle, starting after `after_ns`.
    #[inline]
    pub fn rotate_ns(&self, here_ns: u64, after_ns: u64, angle_ns: u64) -> u64 {
        let (_, here_ns) = self.revolution_ns.divide(here_ns + after_ns);
        let wait_ns = angle_ns.wrapping_sub(here_ns);
        if angle_ns >= here_ns { wait_ns } else { wait_ns.wrapping_add(self.revolution_ns()) }
    }

    #[inline]
    fn zone(&self, byte: u64) -> &Zone {
        let part = ((byte >> self.part_log2) as usize).min(self.begins_in.len() - 1);
        let first = self.begins_in[part] as usize;
        // At most one zone begins inside a part.
        let next = self.zones.get(first + 1).filter(|next| next.first_byte <= byte);
        next.unwrap_or(&self.zones[first])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::DRIVES;

    #[test]
    fn a_byte_further_on_streams_later_and_zones_join_without_a_gap() {
        let geometry = Geometry::new(&DRIVES.get("st34371w").unwrap());
        let mut last = 0;
        for step in 1..40_000 {
            let here = geometry.place(step * 107_520).stream_ns;
            assert!(here > last, "at {step}");
            last = here;
        }
        let ring = geometry.zones[1];
        let before = geometry.place(ring.first_byte - SECTOR);
        let after = geometry.place(ring.first_byte);
        assert_eq!(before.track + 1, after.track);
    }

    #[test]
    fn the_outer_edge_streams_at_three_halves_of_the_inner_one() {
        let geometry = Geometry::new(&DRIVES.get("st34371w").unwrap());
        let mib = 1 << 20;
        let time =
            |from: u64| geometry.place(from + 16 * mib).stream_ns - geometry.place(from).stream_ns;
        let ratio = time(geometry.bytes - 17 * mib) as f64 / time(0) as f64;
        assert!((1.45..1.55).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_streaming_reaches_takes_the_time_that_it_was_given() {
        let geometry = Geometry::new(&DRIVES.get("atlas10k").unwrap());
        for elapsed in [5_000_000, 20_000_000, 100_000_000] {
            let end = geometry.reached(1 << 30, elapsed);
            let took = geometry.place(end).stream_ns - geometry.place(1 << 30).stream_ns;
            assert!(took.abs_diff(elapsed) < 1_000_000, "{elapsed}: {took}");
        }
    }
}
