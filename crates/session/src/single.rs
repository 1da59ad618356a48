//! Real targets for the one workload of `run`.

use crate::real::with_engine;
use crate::{RealTargets, Result, Session, SessionError, StopFlag};
use kernel::Roots;
use record::{CacheMode, Data, EngineName, Target, TargetKind, Workload};
use simdisk::SimSpec;
use std::path::Path;
use target::{Access, TargetError};
use workload::Spec;

/// What is done on the targets beside the run itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// A fit of processor cost, through the page cache and past it.
    pub cost_fit: bool,
    /// Writing them until they are steady.
    pub precondition: bool,
}

/// Opens the targets and checks that the workload fits them, without writing anything.
///
/// # Errors
/// If the workload does not hold together or does not fit, or a target cannot be opened or is
/// refused for safety.
pub fn open_for_run(
    spec: &Spec,
    targets: &[String],
    access: &Access,
    beside: Beside,
) -> Result<(RealTargets, Workload)> {
    // The numbers themselves, before a target is touched.
    spec.check()?;
    if (spec.asked.polled || spec.asked.sqpoll)
        && let Err(cause) = engine::probe_uring()
    {
        let flag = if spec.asked.polled { "--hipri" } else { "--sqthread-poll" };
        let text = format!("{flag} needs io_uring, no other engine has it: {cause}");
        return Err(SessionError::NoResult(text));
    }
    if spec.asked.huge_pages && kernel::huge_pages_allowed(&Roots::default()) != Some(true) {
        let text = "--huge-pages: the kernel gives none; write madvise into \
                    /sys/kernel/mm/transparent_hugepage/enabled, or leave the flag out";
        return Err(SessionError::NoResult(text.to_owned()));
    }
    // Each target by itself and for up to three cache modes, what an engine opens for each job, and
    // the rest of the program.
    let files = u64::from(spec.asked.targets) * 4 + u64::from(spec.asked.numjobs) * 4 + 64;
    kernel::allow_descriptors(files).map_err(TargetError::from)?;
    let paths: Vec<&Path> = targets.iter().map(Path::new).collect();
    let mut targets = RealTargets::open(&paths, access, spec.size, spec.asked.max_bs())?;
    let workload = workload_on(spec, &targets.all_facts().collect::<Vec<_>>())?;
    workload::check_alignment(&workload, targets.alignment())?;
    let fresh = || targets.all_facts().any(|target| target.kind == TargetKind::Directory);
    if workload.data == Data::Tagged && !workload.writes() && fresh() {
        let text = "--verify with reads alone needs what an earlier run with --verify wrote, and \
                    the test file of a directory is new; name a file or a device";
        return Err(SessionError::usage(text));
    }
    targets.look_at_area(&workload)?;
    let write = *access != Access::ReadOnly;
    targets.open_mode(workload.cache, write)?;
    if beside.cost_fit {
        targets.open_mode(CacheMode::All, write)?;
        targets.open_mode(CacheMode::Device, write)?;
    }
    if beside.precondition && plan::goes_past_cache(&workload, targets.alignment()) {
        // Without it the device is written through the page cache, as the run will.
        let _ = targets.open_mode(CacheMode::Device, write);
    }
    Ok((targets, workload))
}

/// The session on a simulated device, and the workload that fits it.
///
/// # Errors
/// If the workload does not hold together or does not fit.
pub fn simulated_for_run(
    spec: Spec,
    device: &SimSpec,
    seed: u64,
    stop: &StopFlag,
) -> Result<(Session, Workload)> {
    let workload = with_engine(spec, EngineName::Sim).build(device.size())?;
    Ok((Session::simulated(device, Some(device.size()), seed, stop), workload))
}

/// The workload for the engine that can be used here.
///
/// # Errors
/// If it does not fit the targets in that form.
pub fn workload_here(spec: &Spec, session: &Session, workload: Workload) -> Result<Workload> {
    if session.engine == workload.engine {
        return Ok(workload);
    }
    let spec = with_engine(spec.clone(), session.engine);
    workload_on(&spec, &session.targets.iter().collect::<Vec<_>>())
}

/// The workload on these targets.
fn workload_on(spec: &Spec, targets: &[&Target]) -> Result<Workload> {
    let by_size = |target: &&&Target| target.size_bytes;
    let (Some(smallest), Some(largest)) =
        (targets.iter().min_by_key(by_size), targets.iter().max_by_key(by_size))
    else {
        return Err(SessionError::usage("name at least one target"));
    };
    if smallest.size_bytes != largest.size_bytes
        && spec.size.is_none()
        && spec.asked.stripe_bytes.is_none()
    {
        return Err(SessionError::Usage(format!(
            "the targets differ in size ({:?} has {} bytes, {:?} {}); say with --size how much of \
             each is meant",
            smallest.path, smallest.size_bytes.0, largest.path, largest.size_bytes.0
        )));
    }
    // A directory's --size is that of its test file, of which the area is what --offset leaves.
    let made = targets.iter().any(|target| target.kind == TargetKind::Directory);
    let size = if made { None } else { spec.size };
    Ok(Spec { size, ..spec.clone() }.build(smallest.size_bytes)?)
}
