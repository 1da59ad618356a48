//! Evaluates the diagnosis on real devices with known causes: a loop device and a zram device, each with a
//! file system, and the disk of the build folder. This program starts the loads and changes settings of the
//! machine.
//!
//! A loop device in memory depends on CPUs that other processes may need, and a disk may have other users;
//! which one is better depends on the machine. A CPU that sleeps between requests may take longer to wake up
//! than the request takes: reads at queue depth 1 in a virtual machine took 52 µs, and 11 µs with the CPUs
//! kept awake. The CPUs are therefore kept awake as far as the machine allows.
//!
//! The program is run as a user runs it: `check` makes the profile, `run` or fio is the load, `record`
//! watches meanwhile. `diagnose` then judges the recording twice: with the profile, and with an empty
//! database. The expected verdict follows from the load. Each round draws new limits and rates. A load that
//! does not reach its rate is a different case and is omitted with a message. Slower devices and failing
//! requests are only simulated, or staged in the lab. Rejected: a test that asserts the results, because the
//! machine's own noise would decide it; a score over rounds shows how often they are right.

mod cases;
mod load;
mod medium;
mod stage;

use crate::judge::judge;
use crate::place;
use crate::tally::Tally;
use anyhow::{Result, anyhow};
use cases::{Case, Known};
use medium::Medium;
use record::Diagnosis;
use stage::Stage;
use std::ops::Range;
use std::path::{Path, PathBuf};
use testkit::Capability;

/// Minimum share of its rate that a load must reach.
const REACHED: f64 = 0.9;

#[derive(Default, clap::Args)]
pub(crate) struct Staging {
    /// One kind of real device.
    #[arg(long)]
    medium: Option<Medium>,
    /// A folder that keeps the recordings of real devices.
    #[arg(long)]
    recordings: Option<PathBuf>,
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Stages all cases, a round for each seed; returns whether the goals are reached.
pub(crate) fn run(flags: &Staging, seeds: &Range<u64>, only: Option<&str>) -> Result<bool> {
    let binary = place::binary(flags.binary.as_deref(), false)?;
    let both = tally(flags, &binary, seeds, only)?;
    println!("{}", Tally::heads());
    for (name, tally) in NAMES.iter().zip(&both) {
        println!("{}\n{}", tally.line(name), tally.more());
    }
    Ok(both[0].reached() && both[1].reached_without_profile())
}

/// The names of the two tallies.
pub(crate) const NAMES: [&str; 2] = ["real", "real, none"];

/// Stages all cases, or those of one name, on each medium, a round for each seed, and judges them with a
/// profile and without one.
pub(crate) fn tally(
    flags: &Staging,
    binary: &Path,
    seeds: &Range<u64>,
    only: Option<&str>,
) -> Result<[Tally; 2]> {
    use Capability::{BlkioGroup, Fio, Root};
    place::needs([Root, Fio, BlkioGroup].into_iter().find_map(Capability::lack))?;
    let mut tallies = [Tally::default(); 2];
    for medium in Medium::ALL.into_iter().filter(|it| flags.medium.is_none_or(|one| one == *it)) {
        if let Some(lacks) = medium.lack() {
            testkit::skip(medium.name(), &lacks);
            continue;
        }
        let stage =
            Stage::new(binary.to_owned(), medium, flags.recordings.as_deref(), seeds.start)?;
        let known = stage.profiled()?;
        println!(
            "{}: {:.0} random reads of 4 KiB per second at most, {:.0} one at a time",
            stage.device.display(),
            known.most,
            known.lone
        );
        for seed in seeds.clone() {
            let drawn = known.cases(seed)?;
            let wanted = |case: &&Case| {
                case.media.contains(&medium) && only.is_none_or(|name| case.name.contains(name))
            };
            for case in drawn.iter().filter(wanted) {
                one(&stage, case, known, &mut tallies)?;
            }
        }
    }
    Ok(tallies)
}

/// Stages a case and judges both diagnoses.
fn one(stage: &Stage, case: &Case, known: Known, tallies: &mut [Tally; 2]) -> Result<()> {
    if !stage.can(case) {
        testkit::skip(&case.name, "no other scheduler can be set here");
        return Ok(());
    }
    let found = stage.diagnosed(case)?;
    let name = stage.device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(why) = missed(case, known, &found[0], &name) {
        testkit::skip(&case.name, &why);
        return Ok(());
    }
    for ((tally, diagnosis), label) in tallies.iter_mut().zip(&found).zip(["profile", "none"]) {
        let answer =
            judge(diagnosis, &name, &case.expect).map_err(|why| anyhow!("{}: {why}", case.name))?;
        tally.add(&answer);
        println!("{}", answer.line(&case.name, label));
    }
    Ok(())
}

/// Why the staged case did not occur, if so.
fn missed(case: &Case, known: Known, found: &Diagnosis, name: &str) -> Option<String> {
    let device = found.devices.iter().find(|device| device.device == name)?;
    let time = |one: &record::Episode| one.duration_ns as f64;
    let all: f64 = device.episodes.iter().map(time).sum();
    let mean = |of: fn(&record::Numbers) -> f64| {
        device.episodes.iter().map(|one| of(&one.numbers) * time(one)).sum::<f64>() / all
    };
    let (done, queue) = (
        mean(|numbers| numbers.iops.unwrap_or(0.0)),
        mean(|numbers| numbers.concurrency.unwrap_or(0.0)),
    );
    let present = queue / mean(|numbers| numbers.utilization.unwrap_or(1.0)).max(1e-9);
    let asked: u64 = case.asks.iter().sum();
    if done < REACHED * asked as f64 {
        return Some(format!("the load asked for {asked}/s and did {done:.0}"));
    }
    let fills = case.fills.map(|knees| knees * known.knee).filter(|fills| present < *fills)?;
    Some(format!("{present:.1} requests were at the device, and {fills:.1} fill it"))
}
