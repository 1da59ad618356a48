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

use crate::judge::{Answer, Tally, judge};
use crate::{arguments::Arguments, place};
use anyhow::{Context, Result, anyhow};
use cases::{Case, Known};
pub(crate) use medium::Medium;
use record::Diagnosis;
use stage::Stage;
use std::path::{Path, PathBuf};
use testkit::Capability;

/// Default number of rounds over all cases.
const ROUNDS: u32 = 1;
/// Minimum share of its rate that a load must reach.
const REACHED: f64 = 0.9;

/// Stages all cases in rounds; returns whether the goals are reached.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let rounds = flags.value("--draws")?.unwrap_or(ROUNDS);
    let first = flags.value("--first")?.unwrap_or(1);
    let medium: Option<String> = flags.value("--medium")?;
    let media = match &medium {
        Some(name) => {
            let named = Medium::ALL.into_iter().find(|medium| medium.name() == name);
            vec![named.with_context(|| {
                format!("no medium {name:?}; known are loop, zram, disk, served, journal")
            })?]
        }
        None => Medium::ALL.to_vec(),
    };
    let kind: Option<String> = flags.value("--kind")?;
    let recordings: Option<PathBuf> = flags.value("--recordings")?;
    let kept = recordings.as_deref();
    let both = tally(flags.value("--binary")?, &media, rounds, first, kind.as_deref(), kept)?;
    println!("{}", Tally::heads());
    for (name, tally) in NAMES.iter().zip(&both) {
        println!("{}\n{}", tally.line(name), tally.more());
    }
    Ok(both[0].reached() && both[1].reached_without_profile())
}

/// The names of the two tallies.
pub(crate) const NAMES: [&str; 2] = ["real", "real, none"];

/// Stages all cases, or those of one name, in rounds on each medium, and judges them with a profile and
/// without one.
pub(crate) fn tally(
    binary: Option<PathBuf>,
    media: &[Medium],
    rounds: u32,
    first: u64,
    only: Option<&str>,
    recordings: Option<&Path>,
) -> Result<[Tally; 2]> {
    use Capability::{BlkioGroup, Fio, Root};
    place::needs([Root, Fio, BlkioGroup].into_iter().find_map(Capability::lack))?;
    let binary = place::binary(binary, false)?;
    let mut tallies = [Tally::default(); 2];
    for medium in media {
        if let Some(lacks) = medium.lack() {
            testkit::skip(medium.name(), &lacks);
            continue;
        }
        let stage = Stage::new(binary.clone(), *medium, recordings, first)?;
        let known = stage.profiled()?;
        println!(
            "{}: {:.0} random reads of 4 KiB per second at most, {:.0} one at a time",
            stage.device.display(),
            known.most,
            known.lone
        );
        for round in 0..rounds {
            let drawn = known.cases(first + u64::from(round))?;
            let wanted = |case: &&Case| {
                case.media.contains(medium) && only.is_none_or(|name| case.name.contains(name))
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
        let answer: Answer =
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
