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

    #[cfg(test)]
    pub(crate) fn none(order: TrackOrder) -> Self {
        Self { zones: Vec::new(), surfaces: 1, order }
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
        let angle = ((skew + on_track as f64) / sectors).rem_euclid(1.0);
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
        let room = spares.stretch - spares.sectors;
        let front = if spares.in_front { spares.sectors } else { 0 };
        if !spares.take_slips {
            // Each slip before it, as blocks are counted, moves it on by one.
            for slip in slips {
                let slip = slip.saturating_sub(self.reserved);
                let place = (slip % spares.stretch).checked_sub(front).filter(|it| *it < room);
                let Some(place) = place else { continue };
                if slip / spares.stretch * room + place > within {
                    break;
                }
                within += 1;
            }
        }
        let begin = self.reserved + within / room * spares.stretch + front;
        let in_stretch = within % room;
        let mut sector = begin + in_stretch;
        if spares.take_slips {
            sector += passed_over(slips, sector, begin);
        }
        let next = slips.partition_point(|slip| *slip <= sector);
        let to_slip = slips.get(next).map_or(u64::MAX, |slip| slip - sector);
        let since_slip =
            next.checked_sub(1).map_or(u64::MAX, |last| (sector - slips[last]).saturating_sub(1));
        let (mut left, mut since) = (to_slip.min(room - in_stretch), since_slip.min(in_stretch));
        if let Ok(at) = self.moved.binary_search_by_key(&sector, |(from, _)| *from) {
            (sector, left, since) = (self.moved[at].1, 1, 0);
        } else {
            let at = self.moved.partition_point(|(from, _)| *from < sector);
            left = left.min(self.moved.get(at).map_or(u64::MAX, |(from, _)| from - sector));
            let last = at.checked_sub(1).map(|last| self.moved[last].0);
            since = since.min(last.map_or(u64::MAX, |last| sector - last - 1));
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

#[cfg(test)]
mod tests {
    use super::super::spec::Spares;
    use super::*;

    /// Three cylinders of two surfaces with ten sectors each, and what is special about it.
    fn zone(spares: Spares, slips: &[u64], moved: &[(u64, u64)]) -> ZoneSpec {
        ZoneSpec {
            first_cylinder: 0,
            last_cylinder: 2,
            sectors: 10,
            offset: 0.0,
            reserved: 0,
            track_skew: 3.0,
            cylinder_skew: 4.0,
            spares,
            slips: slips.to_vec(),
            moved: moved.to_vec(),
        }
    }

    fn spares(stretch: u64, sectors: u64, in_front: bool, take_slips: bool) -> Spares {
        Spares { stretch, sectors, in_front, take_slips }
    }

    fn sectors(zone: &ZoneSpec) -> Vec<u64> {
        (0..zone.blocks(2)).map(|block| zone.sector(block).0).collect()
    }

    #[test]
    fn spares_and_bad_sectors_hold_no_blocks_whatever_the_scheme() {
        // At the end of the zone, of each cylinder, of each track; in front of each cylinder.
        let schemes = [(60, 6, false), (20, 2, false), (10, 1, false), (20, 2, true)];
        for (stretch, count, in_front) in schemes {
            for take_slips in [true, false] {
                let zone = zone(spares(stretch, count, in_front, take_slips), &[4, 25], &[]);
                let all = sectors(&zone);
                let blocks = if take_slips { 54 } else { 52 };
                assert_eq!(all.len(), blocks, "{zone:?}");
                assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{zone:?}: {all:?}");
                assert!(all.iter().all(|sector| *sector < 60 && ![4, 25].contains(sector)));
                if in_front {
                    assert_eq!(all[0], 2, "{all:?}");
                }
            }
        }
    }

    #[test]
    fn runs_of_blocks_end_where_the_next_lies_elsewhere() {
        let zone = zone(spares(20, 2, false, true), &[4], &[(12, 58)]);
        let all = sectors(&zone);
        assert_eq!(all[11], 58, "{all:?}");
        for block in 0..all.len() as u64 {
            let (first, left, before) = zone.sector(block);
            for step in 1..left.min(all.len() as u64 - block) {
                assert_eq!(all[(block + step) as usize], first + step, "{block} + {step}");
            }
            for step in 1..=before {
                assert_eq!(all[(block - step) as usize], first - step, "{block} - {step}");
            }
        }
    }

    #[test]
    fn tracks_follow_each_other_down_or_up_and_are_skewed() {
        let spec = |order| {
            let zone = zone(spares(60, 0, false, true), &[], &[]);
            Layout {
                zones: vec![Zone { first_block: 0, blocks: 60, first_track: 0, spec: zone }],
                surfaces: 2,
                order,
            }
        };
        let places = |order| -> Vec<(u64, u64)> {
            let layout = spec(order);
            (0..6).map(|at| layout.track(at * 10)).map(|it| (it.cylinder, it.surface)).collect()
        };
        let up = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
        assert_eq!(places(TrackOrder::Conventional), up);
        let serpentine = [(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (2, 1)];
        assert_eq!(places(TrackOrder::Serpentine), serpentine);
        assert_eq!(places(TrackOrder::SerpentineByZone), serpentine);
        // Three sectors for a head, four for a cylinder beside those of its heads.
        let layout = spec(TrackOrder::Conventional);
        let angles: Vec<u64> =
            (0..4).map(|at| (layout.track(at * 10).angle * 10.0).round() as u64).collect();
        assert_eq!(angles, [0, 3, 7, 0]);
        let last = layout.track(59);
        assert_eq!((last.blocks, last.before, last.number), (1, 9, 5));
    }
}
