//! Opens real targets for the one workload of `run`.

use crate::cells::with_engine;
use crate::session::real::size_for_all;
use crate::session::{Opener, RealTargets, Result, Session, SessionError, StopFlag};
use host::kernel;
use host::target::{Access, TargetError};
use record::{
    Bytes, CacheMode, Data, EngineName, Target, TargetKind, TestFile, Workload, Written, quoted,
};
use simdisk::SimSpec;
use std::path::Path;
use workload::Spec;

/// What is done on the targets in addition to the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// Whether CPU cost is fitted, buffered and with direct I/O.
    pub cost_fit: bool,
    /// Whether they are written until they are steady.
    pub precondition: bool,
    /// Whether test files that no job reads stay unwritten, as fio does.
    pub reserve: bool,
}

/// A set of targets, with the allowed access.
pub type TargetSet = (Vec<String>, Access);

/// Opens the targets and checks that the workload fits them, without writing. The first set belongs to the
/// first job; jobs beside it may have others ([`Spec::beside`]).
///
/// # Errors
/// If the workload is inconsistent or does not fit, or a target cannot be opened or is refused for safety.
pub fn open_for_run(
    spec: &Spec,
    sets: &[TargetSet],
    with: Beside,
    opener: &dyn Opener,
) -> Result<(RealTargets, Workload)> {
    // Check the numbers before a target is touched.
    spec.check()?;
    for (_, spec) in spec.all() {
        opener.check_machine(&spec.asked)?;
    }
    // Each target by itself and for up to three cache modes, the descriptors of an engine for each job, and
    // the rest of the program.
    let needed =
        |spec: &Spec| u64::from(spec.asked.targets) * 4 + u64::from(spec.asked.numjobs) * 4 + 64;
    let files = spec.all().map(|(_, spec)| needed(spec)).sum();
    kernel::allow_descriptors(files).map_err(TargetError::from)?;
    let mut targets: Option<RealTargets> = None;
    for ((paths, access), number) in sets.iter().zip(0..) {
        let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
        let of_set = || spec.all().filter(|(set, _)| *set == number).map(|(_, spec)| spec);
        let size = size_for_all(of_set());
        let least = of_set().map(|spec| spec.asked.max_bs()).max().unwrap_or_default();
        let opened = opener.open(&paths, access, size, least)?;
        match &mut targets {
            None => targets = Some(opened),
            Some(first) => first.add(opened),
        }
    }
    let mut targets = targets.ok_or_else(SessionError::no_target)?;
    let facts: Vec<Vec<&Target>> = targets.sets().map(|set| set.all_facts().collect()).collect();
    let workload = workload_on(spec, &facts)?;
    let is_read = |set| workload.by_targets().any(|(it, job)| it == set && job.read_percent > 0);
    for (number, workload) in workload.by_targets() {
        let Some((_, access)) = sets.get(number as usize) else { continue };
        let Some(set) = targets.set(number) else { continue };
        let write = *access != Access::ReadOnly;
        workload::check_alignment(workload, set.alignment())?;
        let fresh = || set.all_facts().any(|target| target.kind == TargetKind::Directory);
        if workload.data == Data::Tagged && !workload.writes() && fresh() {
            let text = "--verify with a read-only load checks data that an earlier run with \
                        --verify wrote, but the test file of a directory is new; name a file or a \
                        device";
            return Err(SessionError::usage(text));
        }
        if with.reserve && fresh() && !is_read(number) {
            set.write_as(TestFile { number: 0, written: Written::Reserved });
        }
        set.look_at_area(workload)?;
        set.open_mode(workload.cache, write)?;
        if with.cost_fit {
            set.open_mode(CacheMode::All, write)?;
            set.open_mode(CacheMode::Device, write)?;
        }
        if with.precondition && crate::goes_past_cache(workload, set.alignment()) {
            // Without it the device is written through the page cache, as the run will do.
            let _ = set.open_mode(CacheMode::Device, write);
        }
    }
    if workload.all().all(|job| job.engine == EngineName::Null) {
        targets.leave_untouched();
    }
    targets.try_engines(&workload)?;
    Ok((targets, workload))
}

/// The session on a simulated device, and the workload that fits it.
///
/// # Errors
/// If the workload is inconsistent or does not fit.
pub fn simulated_for_run(
    spec: Spec,
    device: &SimSpec,
    seed: u64,
    stop: &StopFlag,
) -> Result<(Session, Workload)> {
    let workload = with_engine(spec, EngineName::Sim).build(device.size())?;
    Ok((Session::simulated(device, Some(device.size()), seed, stop), workload))
}

/// The workload for the engine that works here.
///
/// # Errors
/// If it does not fit the targets in this form.
pub fn workload_here(spec: &Spec, session: &Session, workload: Workload) -> Result<Workload> {
    if session.engine == workload.engine {
        return Ok(workload);
    }
    let spec = with_engine(spec.clone(), session.engine);
    let beside = session.beside.iter().map(|set| set.iter().map(|it| &it.facts).collect());
    let sets = std::iter::once(session.targets.iter().collect()).chain(beside);
    let workload = workload_on(&spec, &sets.collect::<Vec<_>>())?;
    for job in workload.all() {
        workload::check_alignment(job, session.alignment())?;
    }
    Ok(workload)
}

/// The workload on these sets of targets.
fn workload_on(spec: &Spec, sets: &[Vec<&Target>]) -> Result<Workload> {
    let mut spec = spec.clone();
    let of_set = |number: u32| sets.get(number as usize).map_or(&[][..], Vec::as_slice);
    for job in &mut spec.beside {
        job.spec.size = size_on(&job.spec, of_set(job.targets))?;
    }
    spec.size = size_on(&spec, of_set(0))?;
    let smallest = |set: &Vec<&Target>| set.iter().map(|target| target.size_bytes).min();
    let sizes: Vec<Bytes> = sets.iter().filter_map(smallest).collect();
    Ok(spec.build_on(&sizes)?)
}

/// The size to request for a job's area on its targets.
fn size_on(spec: &Spec, targets: &[&Target]) -> Result<Option<Bytes>> {
    let by_size = |target: &&&Target| target.size_bytes;
    let (Some(smallest), Some(largest)) =
        (targets.iter().min_by_key(by_size), targets.iter().max_by_key(by_size))
    else {
        return Err(SessionError::no_target());
    };
    if smallest.size_bytes != largest.size_bytes
        && spec.size.is_none()
        && spec.asked.stripe_bytes.is_none()
    {
        return Err(SessionError::Usage(format!(
            "the targets have different sizes ({} has {} bytes, {} has {}); add --size to set \
             how much of each target to use",
            quoted(&smallest.path),
            smallest.size_bytes.0,
            quoted(&largest.path),
            largest.size_bytes.0
        )));
    }
    // A directory's --size is that of its test file. The area is what --offset leaves of it, unless another
    // job has a larger one.
    let made = targets.iter().any(|target| target.kind == TargetKind::Directory);
    Ok(spec.size.filter(|size| !made || *size < smallest.size_bytes))
}
