//! Measures how much the files of one disk differ.
//!
//! The layers below a file system place the blocks of a file depending on how it was written. Files of one
//! virtual disk differed by a factor of two, while each was measured to 5 %. So a check visits several
//! areas in turn. The model, per kind of load (operation, place, QD 1 or deeper): the logarithm of a
//! visit's rate is the effect of its cell plus the effect of its area. Least squares estimates both. The
//! variance between areas, minus the part that the noise of the visits explains, predicts another file of
//! this disk. Student's t widens the interval, because areas are few. Cells describe ordinary files,
//! written through the page cache. A file written with direct I/O gets a factor of its own.
//!
//! A visit's rate is divided by the factor of its area before a cell is averaged, so that the cells of a
//! run can be compared. A factor that the noise of the visits explains is 1: one stalled visit of a few
//! would otherwise double the rates of the others. The error for the user's own file is in
//! [`Profile::rerun`].
//!
//! Rejected: an interval per cell from its own visits to three areas (two degrees of freedom, a factor of
//! 4.3); one variance for all kinds of load (writes differ where reads do not).
//!
//! [`Profile::rerun`]: record::Profile::rerun

use crate::cells::counts;
use crate::predict::class_of;
use record::{
    AreaSpread, Locality, MeasuredArea, NORMAL_95, OpKind, PERCENTILES, Target, Trial, Workload,
};
use stats::{grouped, mean};
use std::collections::BTreeMap;

/// Minimum number of cells of a kind of load.
const CELLS: usize = 3;
/// Rounds of the fit, which alternates between cells and areas. Nearly every cell is in every area, so
/// it converges within a few.
const ROUNDS: usize = 30;
/// Accepted probability that equal areas seem to differ.
const FALSE_SHARE: f64 = 0.01;

/// A kind of load: operation, place, and whether the queue depth is 1.
type Kind = (OpKind, Locality, bool);

/// The areas of a check and how much they differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Areas {
    /// The areas, in the order of their first visits.
    pub(crate) areas: Vec<MeasuredArea>,
    pub(crate) spreads: Vec<AreaSpread>,
}

/// A result of a cell in an area.
struct Sample {
    cell: usize,
    area: usize,
    log: f64,
}

/// A least-squares fit of two-way data.
struct Effects {
    /// Effect of each area, as a logarithm; none without a sample.
    areas: Vec<Option<f64>>,
    /// Standard error of a cell over all its visits.
    cell_se: f64,
    /// Standard error of another area.
    se: f64,
}

impl Areas {
    /// Computed from all trials of a check; empty if they share one area.
    pub(crate) fn of(trials: &[Trial]) -> Self {
        let mut areas: Vec<MeasuredArea> = Vec::new();
        let mut of_kind: BTreeMap<Kind, Vec<(usize, &Trial)>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| counts(trial)) {
            let Some((kind, target)) = kind_of(&trial.workload).zip(trial.targets.first()) else {
                continue;
            };
            let area = area_of(target);
            let at = areas.iter().position(|known| same(known, &area)).unwrap_or_else(|| {
                areas.push(area);
                areas.len() - 1
            });
            of_kind.entry(kind).or_default().push((at, trial));
        }
        if areas.len() < 2 {
            return Self::default();
        }
        let ordinary: Vec<bool> = areas.iter().map(MeasuredArea::is_ordinary).collect();
        let spreads =
            of_kind.into_iter().filter_map(|(kind, trials)| spread(kind, &trials, &ordinary));
        Self { spreads: spreads.collect(), areas }
    }

    /// A visit's rate divided by this is the rate of the disk, without the effect of its area.
    pub(crate) fn factor(&self, trial: &Trial) -> f64 {
        let factor = || {
            let (op, locality, alone) = kind_of(&trial.workload)?;
            let area = area_of(trial.targets.first()?);
            let at = self.areas.iter().position(|known| same(known, &area))?;
            let of_kind =
                |it: &&AreaSpread| (it.op, it.locality, it.alone) == (op, locality, alone);
            *self.spreads.iter().find(of_kind)?.rates.get(at)?
        };
        factor().unwrap_or(1.0)
    }
}

fn area_of(target: &Target) -> MeasuredArea {
    MeasuredArea {
        path: target.path.clone(),
        test_file: target.test_file,
        size_bytes: target.size_bytes,
        pieces: target.extents.as_ref().map(|extents| extents.count),
    }
}

fn same(one: &MeasuredArea, other: &MeasuredArea) -> bool {
    one.path == other.path && one.test_file == other.test_file
}

/// The kind of a closed loop of one class with direct I/O; `None` for any other load.
fn kind_of(workload: &Workload) -> Option<Kind> {
    let class = class_of(workload)?;
    (class.locality != Locality::Hit).then_some((class.op, class.locality, workload.depth == 1))
}

fn spread(
    (op, locality, alone): Kind,
    trials: &[(usize, &Trial)],
    ordinary: &[bool],
) -> Option<AreaSpread> {
    let mut cells = grouped(trials.iter().map(|&(area, trial)| (&trial.cell, (area, trial))));
    cells.retain(|(_, visits)| visits.iter().any(|visit| visit.0 != visits[0].0));
    if cells.len() < CELLS {
        return None;
    }
    let mut rates = Vec::new();
    let mut percentiles: [Vec<Sample>; 3] = Default::default();
    for (cell, (_, visits)) in cells.iter().enumerate() {
        rates.extend(visits.iter().map(|(area, trial)| Sample {
            cell,
            area: *area,
            log: libm::log(trial.iops()),
        }));
        for (area, visits) in grouped(visits.iter().map(|(area, trial)| (*area, trial))) {
            let histogram = visits
                .iter()
                .map(|trial| trial.histogram())
                .reduce(|sum, next| sum.merged(&next))?;
            for (samples, share) in percentiles.iter_mut().zip(PERCENTILES) {
                let found = histogram.percentile(share);
                samples.extend(found.map(|time| Sample { cell, area, log: libm::log(time) }));
            }
        }
    }
    let of = |samples: &[Sample]| Effects::of(samples, cells.len(), ordinary);
    let rates = of(&rates)?;
    Some(AreaSpread {
        op,
        locality,
        alone,
        rates: rates.areas.iter().map(|effect| effect.map(libm::exp)).collect(),
        rate_se: rates.se,
        percentile_ses: percentiles
            .each_ref()
            .map(|samples| of(samples).map(|it| it.se.hypot(it.cell_se))),
    })
}

impl Effects {
    /// `None` if fewer than two ordinary areas have samples, or no degree of freedom is left.
    fn of(samples: &[Sample], cells: usize, ordinary: &[bool]) -> Option<Self> {
        let areas = ordinary.len();
        let (mut levels, mut effects) = (vec![0.0; cells], vec![0.0; areas]);
        let of_area = |area: usize| samples.iter().filter(move |it| it.area == area);
        let present: Vec<usize> = (0..areas).filter(|&at| of_area(at).next().is_some()).collect();
        let free =
            (samples.len() + 1).checked_sub(cells + present.len()).filter(|free| *free > 0)?;
        let alike: Vec<usize> = present.iter().copied().filter(|&at| ordinary[at]).collect();
        if alike.len() < 2 {
            return None;
        }
        for _ in 0..ROUNDS {
            for (cell, level) in levels.iter_mut().enumerate() {
                let own = samples.iter().filter(|it| it.cell == cell);
                let left: Vec<f64> = own.map(|it| it.log - effects[it.area]).collect();
                if !left.is_empty() {
                    *level = mean(&left);
                }
            }
            for &area in &present {
                let left: Vec<f64> = of_area(area).map(|it| it.log - levels[it.cell]).collect();
                effects[area] = mean(&left);
            }
            let centre = alike.iter().map(|&area| effects[area]).sum::<f64>();
            for &area in &present {
                effects[area] -= centre / alike.len() as f64;
            }
        }
        let residual = |it: &Sample| it.log - levels[it.cell] - effects[it.area];
        let noise = samples.iter().map(|it| residual(it) * residual(it)).sum::<f64>() / free as f64;
        let count = alike.len() as f64;
        let between = alike.iter().map(|&area| effects[area] * effects[area]).sum::<f64>();
        let own: f64 = alike.iter().map(|&area| noise / of_area(area).count() as f64).sum();
        let (own, between) = (own / count, between / (count - 1.0));
        let chance = stats::chi_square_per_degree(1.0 - FALSE_SHARE, alike.len() - 1);
        let of_areas = if between <= chance * own { 0.0 } else { between - own };
        let widening = stats::student_t_quantile(0.975, count - 1.0) / NORMAL_95;
        let se = libm::sqrt(of_areas * (1.0 + 1.0 / count)) * widening;
        let of = |area: usize| {
            let effect = effects[area];
            let of_noise = noise / of_area(area).count().max(1) as f64;
            let clear = match ordinary[area] {
                true => of_areas > 0.0,
                false => {
                    effect * effect
                        > stats::chi_square_per_degree(1.0 - FALSE_SHARE, 1)
                            * (of_noise + own / count)
                }
            };
            present.contains(&area).then_some(if clear { effect } else { 0.0 })
        };
        let areas = (0..areas).map(of).collect();
        let cell_se = libm::sqrt(noise * cells as f64 / samples.len() as f64);
        Some(Self { areas, cell_se, se })
    }
}
