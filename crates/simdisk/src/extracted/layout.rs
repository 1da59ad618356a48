//! Where each block lies: cylinder, surface, and angle.

use super::spec::{ExtractedSpec, TrackOrder, ZoneSpec};

/// Blocks that lie one behind the other on a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Track {
    pub(crate) cylinder: u64,
    pub(crate) surface: u64,
    /// Angle of the first of them, in revolutions, 0 to 1.
    pub(crate) angle: f64,
    /// Angle that a block takes.
    pub(crate) step: f64,
    /// How many there are up to the end of the track, or to a gap in it, at least 1.
    pub(crate) blocks: u64,
    /// The number of the track on the disk, in the order of blocks.
    pub(crate) number: u64,
    /// Blocks of the track before the first of them, back to its begin or to a gap.
    pub(crate) before: u64,
}

#[derive(Clone, Debug)]
struct Zone {
    first_block: u64,
    blocks: u64,
    first_track: u64,
    spec: ZoneSpec,
}

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    zones: Vec<Zone>,
    surfaces: u64,
    order: TrackOrder,
}

impl Layout {
    pub(crate) fn new(spec: &ExtractedSpec) -> Self {
        let (mut first_block, mut first_track) = (0, 0);
        let zones = spec.zones.iter().map(|zone| {
            let blocks = zone.blocks(spec.surfaces);
            let placed = Zone { first_block, blocks, first_track, spec: zone.clone() };
            first_block += blocks;
            first_track += (zone.last_cylinder - zone.first_cylinder + 1) * spec.surfaces;
            placed
        });
        Self { zones: zones.collect(), surfaces: spec.surfaces, order: spec.order }
    }

    /// Where a block lies; one beyond the last lies where the last does.
    pub(crate) fn track(&self, block: u64) -> Track {
        let at = self.zones.partition_point(|zone| zone.first_block <= block);
        let zone = &self.zones[at.saturating_sub(1)];
        let spec = &zone.spec;
        let within = (block - zone.first_block).min(zone.blocks.saturating_sub(1));
        let (sector, left, since) = spec.sector(within);
        let (track, on_track) = (sector / spec.sectors, sector % spec.sectors);
        let (cylinder, turn) = (track / self.surfaces, track % self.surfaces);
        let absolute = spec.first_cylinder + cylinder;
        let down = match self.order {
            TrackOrder::Conventional => false,
            TrackOrder::SerpentineByZone => cylinder % 2 == 1,
            TrackOrder::Serpentine => absolute % 2 == 1,
        };
        let surface = if down { self.surfaces - 1 - turn } else { turn };
        let cylinder_skew = spec.cylinder_skew + (self.surfaces - 1) as f64 * spec.track_skew;
        let skew = spec.offset + cylinder as f64 * cylinder_skew + turn as f64 * spec.track_skew;
        let sectors = spec.sectors as f64;
        let angle = ((skew + on_track as f64) / sectors).fract();
        let left = left.min(spec.sectors - on_track).min(zone.blocks - within);
        Track {
            cylinder: absolute,
            surface,
            angle,
            step: 1.0 / sectors,
            blocks: left.max(1),
            number: zone.first_track + track,
            before: since.min(on_track).min(within),
        }
    }
}

impl ZoneSpec {
    /// The sector of a block of the zone, counted from its begin; how many blocks from it on lie one behind the
    /// other, and how many before it do.
    fn sector(&self, block: u64) -> (u64, u64, u64) {
        let spares = &self.spares;
        let (slips, mut within) = (&self.slips, block);
        if !spares.take_slips {
            // Each slip before it moves it on by one.
            within += passed_over(slips, within, 0);
        }
        let room = spares.stretch - spares.sectors;
        let front = if spares.in_front { spares.sectors } else { 0 };
        let begin = self.reserved + within / room * spares.stretch + front;
        let in_stretch = within % room;
        let mut sector = begin + in_stretch;
        if spares.take_slips {
            sector += passed_over(slips, sector, begin);
        }
        let next = slips.partition_point(|slip| *slip <= sector);
        let to_slip = slips.get(next).map_or(u64::MAX, |slip| slip - sector);
        let since_slip = next.checked_sub(1).map_or(u64::MAX, |last| sector - slips[last] - 1);
        let (mut left, mut since) = (to_slip.min(room - in_stretch), since_slip.min(in_stretch));
        if let Ok(at) = self.moved.binary_search_by_key(&sector, |(from, _)| *from) {
            (sector, left, since) = (self.moved[at].1, 1, 0);
        } else {
            let at = self.moved.partition_point(|(from, _)| *from < sector);
            left = left.min(self.moved.get(at).map_or(u64::MAX, |(from, _)| from - sector));
        }
        (sector, left, since)
    }
}

/// How many slips from `begin` on a sector is moved on by.
fn passed_over(slips: &[u64], sector: u64, begin: u64) -> u64 {
    let first = slips.partition_point(|slip| *slip < begin);
    let mut passed = 0;
    while slips.get(first + passed as usize).is_some_and(|slip| *slip <= sector + passed) {
        passed += 1;
    }
    passed
}
