//! Divides a load among the clients. Pure functions.
//!
//! A workload gives the jobs of all clients together. With at least as many jobs as clients, each gets
//! whole jobs, in order; some get one more than others. With fewer jobs, as in a plan that increases the
//! queue depth of one job, the depth is divided. The load then has as many jobs as clients take part, and
//! clients beyond the depth have no jobs. Rejected: the whole depth on each client, because queue depth 8
//! in a plan would be 32 on four clients, and the first point of the curve would be missing.

use record::{Bytes, TargetSharing, Workload};
use workload::derive_seed;

/// The part of one client.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The workload in whose numbering its jobs are counted.
    pub workload: Workload,
    /// Its seed.
    pub seed: u64,
    /// The first job, in the numbering of the workload.
    pub first_job: u32,
    /// Number of jobs; 0 for a client without work.
    pub jobs: u32,
    /// The first job, in the numbering over all clients.
    pub rank_first_job: u32,
}

/// The seed of a client whose jobs are numbered from zero; it differs from those of other clients.
fn own_seed(seed: u64, rank: u32) -> u64 {
    derive_seed(seed, (1 << 35) + u64::from(rank))
}

/// Divides a workload among clients.
#[must_use]
pub fn split(whole: &Workload, seed: u64, clients: u32, sharing: TargetSharing) -> Vec<Share> {
    let clients = clients.max(1);
    let dealt = deal(whole, clients);
    let jobs_of_all: u32 = dealt.iter().map(|(jobs, _)| jobs).sum();
    let mut first = 0;
    let mut shares = Vec::new();
    for ((jobs, iodepth), rank) in dealt.into_iter().zip(0..) {
        let part = |total: u64| part_of(total, (first, jobs, jobs_of_all));
        let mut workload = Workload { iodepth, ..whole.clone() };
        // All parts must have the same window.
        workload.stop.cut_warm_up = false;
        // Precision applies to all clients together.
        workload.stop.precision_ppm = None;
        // The limit is given in bytes: passes cover the area of all clients.
        let bytes = match sharing {
            TargetSharing::Shared => {
                let passes = whole.stop.passes.map(|passes| area(whole) * u64::from(passes));
                let most = passes.into_iter().chain(whole.stop.max_bytes.map(|bytes| bytes.0));
                workload.stop.passes = None;
                workload.numjobs = jobs_of_all;
                most.min()
            }
            TargetSharing::Own => {
                workload.numjobs = jobs;
                workload.rate_iops = whole.rate_iops.map(part);
                workload.write_rate_iops = whole.write_rate_iops.map(part);
                whole.stop.max_bytes.map(|bytes| bytes.0)
            }
        };
        workload.stop.max_bytes = bytes.map(|bytes| Bytes(part(bytes)));
        workload.depth = workload.numjobs * iodepth;
        let (first_job, seed) = match sharing {
            TargetSharing::Shared => (first, seed),
            TargetSharing::Own => (0, own_seed(seed, rank)),
        };
        shares.push(Share { workload, seed, first_job, jobs, rank_first_job: first });
        first += jobs;
    }
    shares
}

/// Bytes of the area, on all targets.
fn area(workload: &Workload) -> u64 {
    let areas =
        if workload.stripe_bytes.is_some() { 1 } else { u64::from(workload.targets.max(1)) };
    workload.size_bytes.0.saturating_mul(areas)
}

/// Jobs and depth of each client.
fn deal(whole: &Workload, clients: u32) -> Vec<(u32, u32)> {
    let even = |total: u32, of: u32, rank: u32| total / of + u32::from(rank < total % of);
    let (jobs, iodepth) = (whole.numjobs, whole.iodepth);
    if jobs >= clients || iodepth == 1 {
        return (0..clients).map(|rank| (even(jobs, clients, rank), iodepth)).collect();
    }
    let depth = jobs * iodepth;
    let taking_part = depth.min(clients);
    let of = |rank: u32| match rank < taking_part {
        true => (1, even(depth, taking_part, rank)),
        false => (0, 0),
    };
    (0..clients).map(of).collect()
}

/// The share of a total for jobs `first` to `first + jobs`; the shares of all jobs add up to the total.
fn part_of(total: u64, (first, jobs, all): (u32, u32, u32)) -> u64 {
    let up_to = |job: u32| u128::from(total) * u128::from(job) / u128::from(all.max(1));
    (up_to(first + jobs) - up_to(first)) as u64
}
