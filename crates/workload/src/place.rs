//! Computes where the next request goes: one variant per pattern.
//!
//! - Sequential: a job starts at a random position from the seed, so that repeats do not reread the same
//!   first blocks from a cache, or at the start of its region if requested. It wraps at the end. In a mix,
//!   reads and writes have separate cursors, as in fio.
//! - Strided: the same with a fixed distance. After each wrap it starts one request further on, so that it
//!   covers the region before any block repeats. From the start of the region, it does not move on, as in
//!   fio.
//! - Random: uniform over all positions of the region that are aligned to the smallest request size. Without
//!   replacement, each position occurs once before any repeats.
//! - Hit: one sequential pass over the hit area at the region's start, then random within it.
//! - Hot: uniform in the hot part with its share of the requests, otherwise uniform in the rest.
//! - Zipf: popularity by rank, ranks scattered over the region.
//! - Zones: a zone by its share of the requests, then uniform within it.
//! - Blend: by their shares, a request continues the previous one of the same direction, goes to a small
//!   area, or goes anywhere.

use crate::permutation::Permutation;
use crate::region::Region;
use crate::rng::Rng;
use crate::zipf::{Scatter, Zipf};
use record::{OpKind, Pattern, Workload};

/// A pattern in a region.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Sequential(Walk),
    Strided(Walk),
    Uniform { start: u64, unit: u64, length: u64 },
    Once { start: u64, unit: u64, length: u64, order: Permutation, count: u64, next: u64 },
    Zones { start: u64, unit: u64, zones: Vec<Zone> },
    Hit { walk: Walk, first_pass: u64 },
    Hot { start: u64, unit: u64, hot: u64, cold: u64, percent: u64 },
    Zipf { start: u64, unit: u64, length: u64, law: Zipf, scatter: Scatter },
    Blend { walk: Walk, length: u64, hit: u64, sequential_percent: u64, hit_percent: u64 },
}

/// A zone of the area: the total share of the requests of this and all earlier zones, and its position in the
/// area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zone {
    percent_below: u64,
    begin: u64,
    length: u64,
}

/// The zones of an area, each with whole positions.
fn zones(workload: &Workload, length: u64, unit: u64) -> Vec<Zone> {
    let (mut requests, mut area) = (0, 0);
    let at = |percent: u64| (u128::from(length) * u128::from(percent) / 100) as u64 / unit * unit;
    let zones = workload.zones.iter().map(|zone| {
        let begin = at(area);
        requests += u64::from(zone.request_percent);
        area += u64::from(zone.area_percent);
        Zone { percent_below: requests, begin, length: at(area) - begin }
    });
    zones.collect()
}

/// The small area for the hits of a blend: small enough for any cache.
const BLEND_HIT_BYTES: u64 = 1 << 20;

/// Number of positions, `unit` apart, at which `bytes` fit into `length`. This needs a division, which
/// [`Positions`] moves out of the loop.
fn positions(length: u64, bytes: u64, unit: u64) -> u64 {
    (length - bytes) / unit + 1
}

/// Numbers of positions to draw from, for one request size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Positions {
    /// For the region, or for its hit or hot part.
    pub(crate) first: u64,
    /// For the rest outside a hot part.
    rest: u64,
}

impl Place {
    /// The pattern of a workload in a job's region. Draws the start of a cursor.
    pub(crate) fn new(workload: &Workload, region: Region, unit: u64, rng: &mut Rng) -> Self {
        let (start, length) = (region.start, region.length);
        let largest = workload.max_bs().0;
        match workload.pattern {
            Pattern::Sequential => {
                let drawn = rng.below(positions(length, largest, unit)) * unit;
                let at = if workload.from_start { start } else { start + drawn };
                Self::Sequential(Walk::new(region, unit, 0, Cursor { at, phase: 0 }))
            }
            Pattern::Strided => {
                let stride = workload.stride_bytes.map_or(unit, |bytes| bytes.0);
                let phase = rng.below(stride / unit);
                let steps = rng.below(positions(length, largest, stride));
                if workload.from_start {
                    let walk = Walk::new(region, unit, stride, Cursor { at: start, phase: 0 });
                    let backwards = workload.backwards;
                    return Self::Strided(Walk { phases: 1, backwards, ..walk });
                }
                let at = start + phase * unit + steps * stride;
                Self::Strided(Walk::new(region, unit, stride, Cursor { at, phase }))
            }
            Pattern::Random => {
                if !workload.zones.is_empty() {
                    return Self::Zones { start, unit, zones: zones(workload, length, unit) };
                }
                let Some(blend) = workload.blend else {
                    if workload.without_replacement {
                        let count = positions(length, largest, unit);
                        let order = Permutation::new(count, rng);
                        return Self::Once { start, unit, length, order, count, next: 0 };
                    }
                    return Self::Uniform { start, unit, length };
                };
                let at = start + rng.below(positions(length, largest, unit)) * unit;
                Self::Blend {
                    walk: Walk::new(region, unit, 0, Cursor { at, phase: 0 }),
                    length,
                    hit: BLEND_HIT_BYTES.max(largest).min(length),
                    sequential_percent: u64::from(blend.sequential_percent),
                    hit_percent: u64::from(blend.hit_percent),
                }
            }
            Pattern::Hit => {
                let hit = workload.hit_bytes.map_or(length, |bytes| bytes.0 / region.parts);
                let hit = Region { length: hit, ..region };
                let walk = Walk::new(hit, unit, 0, Cursor { at: start, phase: 0 });
                Self::Hit { walk, first_pass: hit.length }
            }
            Pattern::Hot => {
                let hot = workload.hot.map_or(length / 2, |hot| hot.bytes.0 / region.parts);
                let hot = hot / unit * unit;
                let percent = workload.hot.map_or(50, |hot| u64::from(hot.percent));
                Self::Hot { start, unit, hot, cold: length - hot, percent }
            }
            Pattern::Zipf => {
                let count = positions(length, unit, unit);
                let law = Zipf::new(count, workload.zipf_theta_milli.unwrap_or(1));
                Self::Zipf { start, unit, length, law, scatter: Scatter::new(count) }
            }
        }
    }

    /// The numbers of positions for requests of this size.
    pub(crate) fn positions(&self, bytes: u64) -> Positions {
        let both = |first| Positions { first, rest: first };
        match *self {
            Self::Sequential(_) | Self::Strided(_) | Self::Zones { .. } => both(0),
            Self::Uniform { unit, length, .. }
            | Self::Once { unit, length, .. }
            | Self::Zipf { unit, length, .. } => both(positions(length, bytes, unit)),
            Self::Hit { ref walk, .. } => both(positions(walk.end - walk.start, bytes, walk.unit)),
            Self::Blend { ref walk, length, hit, .. } => Positions {
                first: positions(hit, bytes, walk.unit),
                rest: positions(length, bytes, walk.unit),
            },
            Self::Hot { unit, hot, cold, .. } => {
                Positions { first: positions(hot, bytes, unit), rest: positions(cold, bytes, unit) }
            }
        }
    }

    /// Bytes from the cursor of a sequence to the end of its region.
    #[inline]
    pub(crate) fn room(&self, op: OpKind) -> Option<u64> {
        match self {
            Self::Sequential(walk) => walk.end.checked_sub(walk.cursors[op as usize].at),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn offset(
        &mut self,
        rng: &mut Rng,
        op: OpKind,
        bytes: u64,
        positions: Positions,
    ) -> u64 {
        match self {
            Self::Uniform { start, unit, .. } => *start + rng.below(positions.first) * *unit,
            Self::Once { start, unit, order, count, next, .. } => {
                if *next == *count {
                    // A different order for each pass.
                    (*order, *next) = (Permutation::new(*count, rng), 0);
                }
                *next += 1;
                *start + order.of(*next - 1) * *unit
            }
            Self::Zones { start, unit, zones } => {
                let draw = rng.below(100);
                let at = zones.iter().position(|zone| draw < zone.percent_below);
                let zone = zones[at.unwrap_or(zones.len() - 1)];
                let count = self::positions(zone.length, bytes, *unit);
                *start + zone.begin + rng.below(count) * *unit
            }
            Self::Sequential(walk) => walk.adjacent(op, bytes),
            Self::Strided(walk) => walk.strided(op, bytes),
            Self::Hit { walk, first_pass } => {
                if *first_pass == 0 {
                    return walk.start + rng.below(positions.first) * walk.unit;
                }
                *first_pass = first_pass.saturating_sub(bytes);
                walk.adjacent(op, bytes)
            }
            Self::Hot { start, unit, hot, percent, .. } => {
                if rng.below(100) < *percent {
                    *start + rng.below(positions.first) * *unit
                } else {
                    *start + *hot + rng.below(positions.rest) * *unit
                }
            }
            Self::Blend { walk, sequential_percent, hit_percent, .. } => {
                let draw = rng.below(100);
                if draw < *sequential_percent {
                    return walk.adjacent(op, bytes);
                }
                let hit = draw < *sequential_percent + *hit_percent;
                let count = if hit { positions.first } else { positions.rest };
                let offset = walk.start + rng.below(count) * walk.unit;
                walk.cursors[op as usize].at = offset + bytes;
                offset
            }
            Self::Zipf { start, unit, law, scatter, .. } => {
                let position = scatter.position(law.rank(rng) - 1);
                // A large request at one of the last positions would extend beyond the region.
                *start + position.min(positions.first - 1) * *unit
            }
        }
    }
}

/// Position of a cursor, and the number of requests by which its row is shifted.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    at: u64,
    phase: u64,
}

/// Cursors that move through a region.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    start: u64,
    end: u64,
    unit: u64,
    stride: u64,
    /// Number of rows within one stride.
    phases: u64,
    backwards: bool,
    /// For reads and for writes.
    cursors: [Cursor; 2],
}

impl Walk {
    fn new(region: Region, unit: u64, stride: u64, cursor: Cursor) -> Self {
        let end = region.start + region.length;
        let phases = (stride / unit).max(1);
        let backwards = false;
        Self { start: region.start, end, unit, stride, phases, backwards, cursors: [cursor; 2] }
    }

    /// Returns the cursor's offset, and moves the cursor past `bytes`.
    #[inline]
    fn adjacent(&mut self, op: OpKind, bytes: u64) -> u64 {
        let cursor = &mut self.cursors[op as usize];
        if cursor.at + bytes > self.end {
            cursor.at = self.start;
        }
        let offset = cursor.at;
        cursor.at += bytes;
        offset
    }

    /// Returns the cursor's offset, and moves the cursor by the stride.
    #[inline]
    fn strided(&mut self, op: OpKind, bytes: u64) -> u64 {
        let cursor = &mut self.cursors[op as usize];
        if self.backwards {
            let offset = cursor.at;
            // At the start of the region, it continues one stride before the last position, as in fio.
            let last = self.end - bytes - self.stride;
            let room = offset >= self.start + self.stride;
            cursor.at = if room { offset - self.stride } else { last };
            return offset;
        }
        while cursor.at + bytes > self.end {
            // The row at phase 0 has room for at least one request of any size.
            cursor.phase = if cursor.phase + 1 < self.phases { cursor.phase + 1 } else { 0 };
            cursor.at = self.start + cursor.phase * self.unit;
        }
        let offset = cursor.at;
        cursor.at += self.stride;
        offset
    }
}
