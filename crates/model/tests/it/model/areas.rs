//! Files of one disk that differ by known factors.

use crate::model::synthetic::{Noise, target, trial, workload};
use record::{OpKind, Pattern, Profile, TestFile, Trial, Written};

/// Depths of the cells, each a cell of random reads of 4 KiB.
const DEPTHS: [u32; 8] = [2, 3, 4, 6, 8, 16, 32, 64];
const VISITS: usize = 6;
/// Standard deviation of a visit's own noise.
const NOISE: f64 = 0.03;

/// A check of areas whose rates are these factors. The last area was written with direct I/O, and the cells
/// start at `rate`.
fn profile(factors: &[f64], seed: u64) -> Profile {
    let mut noise = Noise(seed);
    let mut trials: Vec<Trial> = Vec::new();
    for visit in 0..VISITS {
        for (cell, depth) in DEPTHS.into_iter().enumerate() {
            let number = (cell + visit) % factors.len();
            let shape = workload(OpKind::Read, Pattern::Random, 4096, depth);
            let rate = rate(depth) * factors[number] * (NOISE * noise.next()).exp();
            let mut of_area = trial(&shape, rate);
            let last = number + 1 == factors.len();
            let written = if last { Written::PastCache } else { Written::ThroughCache };
            of_area.targets = vec![target()];
            of_area.targets[0].test_file = Some(TestFile { number: number as u32, written });
            trials.push(of_area);
        }
    }
    crate::model::profile(&trials, &[])
}

fn rate(depth: u32) -> f64 {
    20_000.0 * f64::from(depth).sqrt()
}

#[test]
fn the_rate_of_a_further_file_lies_in_the_interval_of_its_cell() {
    let (spread, runs) = (0.2, 200);
    let (mut inside, mut cells, mut widths) = (0, 0, 0.0);
    for seed in 0..runs {
        let mut drawn = Noise(1000 + seed);
        let mut file = || (spread * drawn.next()).exp();
        let areas: Vec<f64> = (0..6).map(|_| file()).collect();
        let further = file();
        let profile = profile(&areas, seed);
        assert_eq!(profile.areas.len(), 6);
        for cell in &profile.cells {
            inside += u32::from(cell.rerun_iops.includes(rate(cell.workload.depth) * further));
            widths += (cell.rerun_iops.high / cell.rerun_iops.low).ln() / 2.0;
            cells += 1;
        }
    }
    let (share, width) = (f64::from(inside) / f64::from(cells), widths / f64::from(cells));
    // Of 200 files: the standard error of the share is 0.015.
    assert!((0.91..=0.99).contains(&share), "{share}");
    // 1.96 times the spread, sqrt(1 + 1/5) for a mean of five, and t of 4 degrees of freedom.
    assert!((0.5..0.75).contains(&width), "{width}");
}

#[test]
fn files_that_are_alike_widen_nothing_and_are_not_told_apart() {
    let wide = (0..100).filter(|seed| profile(&[1.0; 6], *seed).area_spreads[0].rate_se > 0.05);
    assert!(wide.count() <= 3);
}

#[test]
fn a_file_written_past_the_page_cache_is_told_as_a_factor_and_moves_no_cell() {
    let profile = profile(&[1.0, 1.0, 1.0, 1.0, 1.0, 2.0], 3);
    let spread = &profile.area_spreads[0];
    // The visits of each cell begin with another area; areas are in order of first visit.
    let past = profile.areas.iter().position(|area| !area.is_ordinary()).unwrap();
    assert!((spread.rates[past].unwrap() - 2.0).abs() < 0.1, "{spread:?}");
    for cell in &profile.cells {
        let off = cell.iops.value / rate(cell.workload.depth) - 1.0;
        assert!(off.abs() < 0.05 && cell.iops.relative_half_width() < 0.1, "{off}");
    }
}

#[test]
fn a_stalled_visit_changes_no_cell_but_its_own() {
    let mut trials = Vec::new();
    for visit in 0..3 {
        for (cell, depth) in DEPTHS.into_iter().enumerate() {
            let number = ((cell + visit) % 3) as u32;
            let stalled = if (visit, cell) == (1, 0) { 0.02 } else { 1.0 };
            let rate = rate(depth) * stalled;
            let mut of_area = trial(&workload(OpKind::Read, Pattern::Random, 4096, depth), rate);
            of_area.targets = vec![target()];
            of_area.targets[0].test_file =
                Some(TestFile { number, written: Written::ThroughCache });
            trials.push(of_area);
        }
    }
    for cell in &crate::model::profile(&trials, &[]).cells[1..] {
        let expected = rate(cell.workload.depth);
        assert!((cell.iops.value / expected - 1.0).abs() < 1e-6, "{:?}", cell.iops);
    }
}

#[test]
fn one_file_has_no_areas() {
    let profile = profile(&[1.0], 3);
    assert!(profile.areas.is_empty() && profile.area_spreads.is_empty());
}
