//! What open loads see of a device that stalls now and then, with the stalls spread evenly.
//!
//! A shared device stands still at moments that no load chose. A mean response time over a few
//! short visits is then mostly one of luck: on a virtual disk one visit in ten or twenty takes
//! twice as long as its neighbours, and which load it hits says nothing of that load. Fitted to
//! such means, a model gives the unlucky loads slow kinds of requests. All visits of a profile
//! together, though, tell well how much the stalls add. So of a load that was visited several times
//! its median visit is taken, which no single stall moves, and to it is added what stalls add to
//! the profile's loads on average.
//!
//! On a device whose loads differ by themselves in how much their visits scatter (a drive that
//! collects its garbage under writes, not under reads) an own mean says more than the common one.
//! How much each counts follows from the data: the variance of what the means lie above the medians,
//! less what the means' own standard errors explain of it, is what the loads differ by (the moment
//! estimator of DerSimonian and Laird 1986; empirical Bayes). Where nothing is left, the common
//! share holds.
//!
//! Rejected: medians alone, which predict a quiet device that nobody has; weights by the inverse
//! variance of each mean, which favour the loads that met no stall and are too fast by as much.

use record::Cell;

/// Loads without which a common share is not known.
const MIN_LOADS: usize = 8;
/// One load of so many, at least one, is left out of the common share at each end: a visit that
/// stalled a hundred times longer than the others is not the rule.
const TRIMMED: usize = 40;

/// Mean over all requests, of reads, of writes.
pub(super) type Means = (f64, Option<f64>, Option<f64>);

/// What stalls add to the profile's open loads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Evened {
    /// What they add on average, as a share of the median visit.
    common: f64,
    /// How much of what a load's own mean lies beyond that is the load's own, 0 to 1.
    own: f64,
}

impl Evened {
    /// Of these open loads.
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let (mut excesses, mut variances) = (Vec::new(), Vec::new());
        for cell in cells {
            let Some(excess) = excess(cell) else { continue };
            excesses.push(excess);
            let error = stats::visits_se(&cell.response_ns) / cell.response_ns.value;
            variances.push((error * (1.0 + excess)).powi(2));
        }
        let count = excesses.len();
        if count < MIN_LOADS {
            return Self { common: 0.0, own: 1.0 };
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let centre = mean(&excesses);
        let between =
            excesses.iter().map(|one| (one - centre).powi(2)).sum::<f64>() / (count - 1) as f64;
        let own = if between > 0.0 { (1.0 - mean(&variances) / between).max(0.0) } else { 0.0 };
        excesses.sort_by(f64::total_cmp);
        let trimmed = count.div_ceil(TRIMMED);
        Self { common: mean(&excesses[trimmed..count - trimmed]), own }
    }

    /// The means of a load.
    pub(super) fn means(&self, cell: &Cell) -> Means {
        let measured = (cell.response_ns.value, cell.read_response_ns, cell.write_response_ns);
        let (Some(middle), Some(excess)) = (&cell.median_visit, excess(cell)) else {
            return measured;
        };
        let factor = 1.0 + self.common + self.own * (excess - self.common);
        (
            middle.response_ns * factor,
            middle.read_response_ns.map(|time| time * factor),
            middle.write_response_ns.map(|time| time * factor),
        )
    }
}

/// What a load's mean lies above its median visit, as a share of that.
fn excess(cell: &Cell) -> Option<f64> {
    let middle = cell.median_visit.as_ref()?.response_ns;
    (middle > 0.0).then(|| cell.response_ns.value / middle - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::cell;
    use record::{Estimate, MedianVisit};

    /// An open load whose mean lies by this share above its median visit of 1 ms, known to `se_rel`.
    fn load(rate: u64, excess: f64, se_rel: f64) -> Cell {
        let mean = 1e6 * (1.0 + excess);
        let half_width = 1.96 * stats::visits_factor(5) * se_rel * mean;
        Cell {
            response_ns: Estimate::symmetric(mean, half_width, 5),
            median_visit: Some(MedianVisit {
                response_ns: 1e6,
                read_response_ns: Some(0.8e6),
                write_response_ns: Some(1.4e6),
            }),
            ..cell(4096, 1, Some(rate), rate as f64, mean)
        }
    }

    #[test]
    fn a_stall_that_hit_one_load_is_shared_by_all() {
        // One visit of five took thirty times as long: its mean is known to no better than itself.
        let loads: Vec<Cell> = (0..20)
            .map(|at| if at == 7 { load(100 + at, 5.8, 0.85) } else { load(100 + at, 0.05, 0.05) })
            .collect();
        let evened = Evened::of(loads.iter());
        for one in &loads {
            let (all, reads, writes) = evened.means(one);
            assert!((all / 1e6 - 1.05).abs() < 0.02, "{all} {evened:?}");
            assert!((reads.unwrap() / all - 0.8).abs() < 1e-9);
            assert!((writes.unwrap() / all - 1.4).abs() < 1e-9);
        }
    }

    #[test]
    fn loads_that_scatter_by_themselves_keep_their_own_means() {
        let excess = |at: u64| if at.is_multiple_of(2) { 0.5 } else { 0.0 };
        let loads: Vec<Cell> = (0..20).map(|at| load(100 + at, excess(at), 0.02)).collect();
        let evened = Evened::of(loads.iter());
        for (at, one) in (0..).zip(&loads) {
            let (all, ..) = evened.means(one);
            assert!((all / 1e6 / (1.0 + excess(at)) - 1.0).abs() < 0.01, "{all} {evened:?}");
        }
    }

    #[test]
    fn few_loads_and_few_visits_are_taken_as_they_were_measured() {
        let loads: Vec<Cell> = (0..7).map(|at| load(100 + at, 0.3, 0.1)).collect();
        let evened = Evened::of(loads.iter());
        assert_eq!(evened.means(&loads[0]).0, loads[0].response_ns.value);
        let many: Vec<Cell> = (0..20).map(|at| load(100 + at, 0.3, 0.1)).collect();
        let once = Cell { median_visit: None, ..many[0].clone() };
        assert_eq!(Evened::of(many.iter()).means(&once).0, once.response_ns.value);
    }
}
