//! Models an array of disks: how it splits a request, and how long the request waits.
//!
//! A request of b bytes, aligned to b, touches (b + c - gcd(b, c))/c chunks of c on average. Pieces on one
//! disk count as one. A small write with parity reads old data and parity and writes both anew: four
//! requests with one parity, six with two. A whole stripe reads nothing. Each copy takes a write, and the
//! copies share the reads.
//!
//! *Open loads*: each disk gets a Poisson stream of its share. A stage of k pieces ends with the last one:
//! 1 + v (H_k - 1) times the mean, where v is the coefficient of variation; exact for exponential and for
//! constant times. If v exceeds 1, few pieces take nearly all of the time: a piece takes an exponential time
//! with probability p = 2 / (1 + v²), otherwise none. The last of k then takes at most k times the mean, like
//! the sum of all. *Closed loads*: n disks with rates mu(n) and N pieces are a closed network (Buzen's
//! convolution), exact for exponential times. Shorter tails reduce the wait by U (1 - c²)/2 mean spacings
//! per piece. Rejected: "n (1 - (1 - 1/n)^k) disks busy", which holds only if all requests begin together.

use super::answer::Answer;
use super::disk::Disk;
use super::{Array, WhatIfError, joined};
use record::{Locality, Mix, MixClass, Offered, OpKind, RaidLevel};

/// Errors of the even spread, of pieces that wait for each other, and of parity, each as a logarithm: about
/// what the machine room shows beside the formulae.
const SPREAD_ERROR: f64 = 0.05;
const FORK_ERROR: f64 = 0.05;
const PARITY_ERROR: f64 = 0.10;
/// With more requests in flight than this, the rate equals the limit.
const MOST: usize = 2_048;

/// An error unless the level is possible with this number of disks.
pub(super) fn check(&Array { disks, raid, .. }: &Array) -> Result<(), WhatIfError> {
    let (fits, takes) = match raid {
        RaidLevel::Raid0 | RaidLevel::Raid1 => (disks >= 2, "at least 2 disks"),
        RaidLevel::Raid5 => (disks >= 3, "at least 3 disks"),
        RaidLevel::Raid6 => (disks >= 4, "at least 4 disks"),
        RaidLevel::Raid10 => {
            (disks >= 4 && disks.is_multiple_of(2), "an even number of disks, at least 4")
        }
    };
    if fits { Ok(()) } else { Err(WhatIfError::Disks(raid.number(), takes)) }
}

/// Pieces that are issued together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stage {
    pub(super) op: OpKind,
    pub(super) bytes: u64,
    pub(super) pieces: f64,
}

pub(super) fn stages(array: &Array, op: OpKind, bytes: u64) -> Vec<Stage> {
    let (chunk, disks) = (array.chunk_bytes.max(1), f64::from(array.disks));
    let chunks = (bytes + chunk - stats::gcd(bytes, chunk)) as f64 / chunk as f64;
    let (width, parity) = match array.raid {
        RaidLevel::Raid0 => (disks, 0.0),
        RaidLevel::Raid1 => (1.0, 0.0),
        RaidLevel::Raid10 => (disks / 2.0, 0.0),
        RaidLevel::Raid5 => (disks, 1.0),
        RaidLevel::Raid6 => (disks, 2.0),
    };
    let across = chunks.min(width);
    let each = |pieces: f64| (bytes as f64 / pieces.max(1.0)).ceil() as u64;
    let stage = |op, pieces: f64, bytes| Stage { op, bytes, pieces };
    if op == OpKind::Read {
        return vec![stage(op, across, each(across))];
    }
    match array.raid {
        RaidLevel::Raid0 => vec![stage(op, across, each(across))],
        RaidLevel::Raid1 => vec![stage(op, disks, bytes)],
        RaidLevel::Raid10 => vec![stage(op, 2.0 * across, each(across))],
        RaidLevel::Raid5 | RaidLevel::Raid6 => {
            let data = disks - parity;
            let stripe = chunk * data as u64;
            if bytes.is_multiple_of(stripe) {
                return vec![stage(op, disks, each(data))];
            }
            let touched = chunks.min(data);
            let piece = each(touched);
            // The old data and parity, or the rest of the stripe, whichever is less.
            let old = (touched + parity).min((data - touched).max(1.0));
            vec![stage(OpKind::Read, old, piece), stage(op, touched + parity, piece)]
        }
    }
}

pub(super) struct Parts {
    /// The load of one disk.
    pub(super) mix: Mix,
    /// Requests to one disk per request of the load.
    pub(super) per_disk: f64,
    /// Maximum number of pieces that a stage waits for.
    forks: f64,
    /// Error of stages that read for a write.
    parity_error: f64,
}

pub(super) fn parts(array: &Array, mix: &Mix) -> Parts {
    let (mut classes, mut pieces, mut forks, mut parity_error) = (Vec::new(), 0.0, 1.0_f64, 0.0);
    for class in &mix.classes {
        let stages = stages(array, class.op, class.bytes);
        if stages.len() > 1 {
            parity_error = PARITY_ERROR;
        }
        for stage in stages {
            let share = class.share * stage.pieces;
            pieces += share;
            forks = forks.max(stage.pieces);
            let locality = locality(class, &stage);
            classes.push(MixClass { op: stage.op, locality, bytes: stage.bytes, share });
        }
    }
    let mix = joined(&Mix { classes });
    Parts { mix, per_disk: pieces / f64::from(array.disks), forks, parity_error }
}

/// The locality of the pieces of a stage: reads in the middle of a sequential write stream are random.
fn locality(class: &MixClass, stage: &Stage) -> Locality {
    match class.locality {
        Locality::Sequential if stage.op != class.op => Locality::Random,
        locality => locality,
    }
}

/// Time of a stage divided by the time of a piece, from the squared coefficient of variation of a piece.
fn last_of(pieces: f64, scv: f64) -> f64 {
    let some = 2.0 / (1.0 + scv.max(1.0));
    1.0 + libm::sqrt(scv.min(1.0)) * (longest(pieces, some) - 1.0)
}

/// H_k, linear between whole numbers.
fn harmonic(pieces: f64) -> f64 {
    longest(pieces, 1.0)
}

/// Mean of the longest of k times over the mean of one, linear between whole numbers. A time is exponential
/// with probability `some`, otherwise zero.
fn longest(pieces: f64, some: f64) -> f64 {
    let whole = pieces.max(1.0).floor();
    let term = |at: f64| (1.0 - libm::pow(1.0 - some, at)) / (at * some);
    let sum: f64 = (1..=whole as u32).map(|at| term(f64::from(at))).sum();
    sum + (pieces.max(1.0) - whole) * term(whole + 1.0)
}

pub(super) fn ask(
    disk: &Disk<'_>,
    array: &Array,
    mix: &Mix,
    offered: Offered,
) -> Result<Answer, WhatIfError> {
    let parts = parts(array, mix);
    let fork = if parts.forks > 1.0 { FORK_ERROR * harmonic(parts.forks) } else { 0.0 };
    let rel = SPREAD_ERROR.hypot(fork).hypot(parts.parity_error);
    match offered {
        Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate) => {
            // Arrivals at constant intervals become nearly independent when they are distributed at random.
            let one = disk.ask(&parts.mix, Offered::PoissonPerS(rate * parts.per_disk))?;
            let of = |op: OpKind| class_mean(array, mix, op, &one);
            let (read, write) = (of(OpKind::Read), of(OpKind::Write));
            let share = mix.reads();
            let mean = share * read.unwrap_or(0.0) + (1.0 - share) * write.unwrap_or(0.0);
            let (read, write) = (read.unwrap_or(mean), write.unwrap_or(mean));
            Ok(Answer { mean, read, write, rate, rate_rel: 0.0, ..one }.wider(rel))
        }
        Offered::Depth(depth) => closed(disk, array, mix, &parts, depth).map(|it| it.wider(rel)),
    }
}

/// Mean time of the requests of an operation; `None` if the mix has none.
fn class_mean(array: &Array, mix: &Mix, op: OpKind, one: &Answer) -> Option<f64> {
    let of_stage = |stage: &Stage| {
        let piece = if stage.op == OpKind::Read { one.read } else { one.write };
        piece * last_of(stage.pieces, one.scv)
    };
    let time = |class: &MixClass| stages(array, op, class.bytes).iter().map(of_stage).sum::<f64>();
    let classes = mix.classes.iter().filter(|class| class.op == op);
    stats::weighted_mean(classes.map(|class| (time(class), class.share)))
}

pub(super) fn max(disk: &Disk<'_>, array: &Array, mix: &Mix) -> Result<(f64, f64), WhatIfError> {
    let parts = parts(array, mix);
    let (one, rel) = disk.max(&parts.mix)?;
    Ok((one / parts.per_disk, rel.hypot(SPREAD_ERROR).hypot(parts.parity_error)))
}

fn closed(
    disk: &Disk<'_>,
    array: &Array,
    mix: &Mix,
    parts: &Parts,
    depth: f64,
) -> Result<Answer, WhatIfError> {
    let rates = disk.rates(&parts.mix)?;
    let disks = array.disks as usize;
    let scv = disk.scv(&parts.mix);
    let pieces = parts.per_disk * disks as f64;
    // In each stage a request has several pieces in flight, and fewer towards the end of the stage.
    let waits: f64 = mix
        .classes
        .iter()
        .map(|class| {
            let stages = stages(array, class.op, class.bytes);
            let sum: f64 = stages.iter().map(|stage| last_of(stage.pieces, scv)).sum();
            class.share * sum
        })
        .sum();
    let under_way = (depth * pieces / waits).max(1.0);
    let through = network(&rates, disks, under_way, scv);
    let rate = through / pieces;
    let (_, rel) = disk.max(&parts.mix)?;
    let rate_rel = rel.hypot(SPREAD_ERROR);
    let each = (under_way / f64::from(array.disks)).max(1.0);
    let Answer { own_rel, place, .. } = disk.ask(&parts.mix, Offered::Depth(each))?;
    let exact = Answer::exact(depth * 1e9 / rate, rate);
    Ok(Answer { scv: 1.0, rel, own_rel, place, rate_rel, ..exact })
}

/// Pieces per second of `disks` equal disks with `pieces` pieces in flight, assigned at random.
pub(super) fn network(rates: &[f64], disks: usize, pieces: f64, scv: f64) -> f64 {
    let Some(&most) = rates.last() else { return 0.0 };
    let whole = pieces.floor() as usize;
    if whole >= MOST {
        return most * disks as f64;
    }
    let weights = convolved(rates, disks, whole + 2);
    let at = |count: usize| by_weights(rates, disks, &weights, count, scv);
    let (low, high) = (at(whole.max(1)), at(whole + 1));
    low + (pieces - whole as f64) * (high - low)
}

/// Normalising constants of 0, 1, … pieces, each times the same unknown factor.
fn convolved(rates: &[f64], disks: usize, most: usize) -> Vec<f64> {
    let top = rates.last().copied().unwrap_or(1.0);
    let mut one = vec![1.0];
    for count in 1..=most {
        let rate = rates[count.min(rates.len()) - 1];
        one.push(one[count - 1] * top / rate);
    }
    let mut all = one.clone();
    for _ in 1..disks {
        let mut next = vec![0.0; most + 1];
        for (here, weight) in all.iter().enumerate() {
            for (there, other) in one.iter().take(most + 1 - here).enumerate() {
                next[here + there] += weight * other;
            }
        }
        let largest = next.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        next.iter_mut().for_each(|value| *value /= largest);
        all = next;
    }
    all
}

fn by_weights(rates: &[f64], disks: usize, weights: &[f64], count: usize, scv: f64) -> f64 {
    let top = rates.last().copied().unwrap_or(0.0);
    // Each disk is visited equally often and scaled by `top`, so the ratio is the total rate divided by
    // `top`.
    let exponential = |count: usize| top * disks as f64 * weights[count - 1] / weights[count];
    let found = exponential(count);
    let first = rates.first().copied().unwrap_or(top);
    let latency = count as f64 / found;
    let used = if count > 1 { exponential(count - 1) / (top * disks as f64) } else { 0.0 };
    let shorter = used * (1.0 - scv.min(1.0)) / 2.0 / top;
    let latency = (latency - shorter).max(1.0 / first).max(count as f64 / (top * disks as f64));
    count as f64 / latency
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(raid: RaidLevel, disks: u32) -> Array {
        Array { disks, raid, chunk_bytes: 64 << 10 }
    }

    fn requests(raid: RaidLevel, op: OpKind, bytes: u64) -> f64 {
        stages(&of(raid, 4), op, bytes).iter().map(|stage| stage.pieces).sum()
    }

    #[test]
    fn a_small_write_costs_one_two_four_or_six_requests() {
        let write = |raid| requests(raid, OpKind::Write, 4096);
        assert_eq!(write(RaidLevel::Raid0), 1.0);
        assert_eq!(write(RaidLevel::Raid10), 2.0);
        // Four disks: read parity and one of three data disks, or the other two.
        assert_eq!(stages(&of(RaidLevel::Raid5, 8), OpKind::Write, 4096)[0].pieces, 2.0);
        assert_eq!(write(RaidLevel::Raid5), 4.0);
        let six = stages(&of(RaidLevel::Raid6, 8), OpKind::Write, 4096);
        assert_eq!(six.iter().map(|stage| stage.pieces).sum::<f64>(), 6.0);
        for raid in [RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid5, RaidLevel::Raid10] {
            assert_eq!(requests(raid, OpKind::Read, 4096), 1.0);
        }
    }

    #[test]
    fn a_full_stripe_reads_nothing_and_a_request_beyond_a_chunk_is_split() {
        let full = stages(&of(RaidLevel::Raid5, 4), OpKind::Write, 192 << 10);
        assert_eq!(full, [Stage { op: OpKind::Write, bytes: 64 << 10, pieces: 4.0 }]);
        let large = stages(&of(RaidLevel::Raid0, 4), OpKind::Read, 128 << 10);
        assert_eq!(large, [Stage { op: OpKind::Read, bytes: 64 << 10, pieces: 2.0 }]);
        // A size that does not divide the chunk sometimes crosses its edge.
        assert!((requests(RaidLevel::Raid0, OpKind::Read, 12 << 10) - 1.125).abs() < 1e-9);
    }

    #[test]
    fn four_exponential_servers_with_eight_requests_keep_2_9_busy() {
        // N mu n / (N + n - 1): the balanced network of the textbook.
        let busy = network(&[1000.0], 4, 8.0, 1.0) / 1000.0;
        assert!((busy - 32.0 / 11.0).abs() < 1e-9, "{busy}");
        // Drives, whose times vary less: about 3.2 (and never more than the disks).
        let drives = network(&[1000.0], 4, 8.0, 0.2) / 1000.0;
        assert!((3.1..3.4).contains(&drives), "{drives}");
        assert!(network(&[1000.0], 4, 500.0, 0.0) <= 4000.0);
        assert!((network(&[1000.0], 4, 1.0, 1.0) - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn one_disk_in_a_network_is_its_own_depth_curve() {
        let rates = [100.0, 190.0, 270.0, 300.0];
        for (index, rate) in rates.iter().enumerate() {
            let found = network(&rates, 1, (index + 1) as f64, 1.0);
            assert!((found / rate - 1.0).abs() < 1e-9, "{index}: {found}");
        }
    }

    #[test]
    fn the_last_of_several_is_exact_for_exponential_and_for_constant_times() {
        assert!((last_of(4.0, 1.0) - 25.0 / 12.0).abs() < 1e-12);
        assert!((last_of(4.0, 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_last_of_several_takes_no_longer_than_all_of_them_one_after_the_other() {
        for scv in [1.0, 2.0, 24.0, 1e4] {
            for pieces in [2.0, 3.5, 8.0] {
                let last = last_of(pieces, scv);
                assert!((1.0..=pieces).contains(&last), "{pieces} {scv}: {last}");
            }
        }
        // Two mirrors whose times vary by almost five times their mean: nearly the sum of both.
        assert!((last_of(2.0, 24.0) - 1.96).abs() < 1e-9);
    }
}
