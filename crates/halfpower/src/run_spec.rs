//! Converts the flags of `run` to a workload and to access rights for its targets.

use crate::run_args::{BesideRun, RunArgs, Rw};
use crate::values::CHUNK_BYTES;
use host::target::{Access, InUse};
use plan::session::{self, TargetSet};
use record::{
    Blend, Bytes, CacheMode, Data, EngineName, Flush, FlushKind, Instead, Nanos, OpKind, Pattern,
    RaidLevel, Redundancy, Replay, ReplayPace, StopRules, Workload,
};
use std::path::Path;
use workload::{Spec, SpecBeside};

/// Default maximum queue depth of an open loop: enough that any device is the bottleneck.
const OPEN_LOOP_IODEPTH: u32 = 128;

/// The area of a replay is rounded up to this, a whole block of any device.
const WHOLE_BLOCK_BYTES: u64 = 4_096;
/// Time that a replay may take in addition to twice its own length.
const REPLAY_GRACE: Nanos = Nanos(10_000_000_000);

impl RunArgs {
    /// The workload of the flags, including the jobs beside it.
    pub(crate) fn spec(&self) -> Spec {
        let sets = self.sets();
        let targets = |set: u32| sets.lists.get(set as usize).map_or(0, |list| list.len() as u32);
        // A simulated device has no flush and no discard.
        let simulated = matches!(session::one_simulated(&self.targets), Ok(Some(_)));
        let mut spec = self.spec_on(targets(0), simulated);
        for (job, &set) in self.jobs.beside.iter().zip(&sets.of_beside) {
            let mut beside = job.0.spec_on(targets(set), simulated);
            if job.0.stop.runtime.is_none() && beside.asked.replay.is_none() {
                // A job beside a replay runs for the replay's recorded length, not for its maximum time.
                let passes = u64::from(self.stop.passes.unwrap_or(1));
                let recorded = spec.asked.replay.as_ref();
                let recorded = recorded.map(|it| Nanos(it.length().0.saturating_mul(passes)));
                let replayed = recorded.filter(|_| self.stop.runtime.is_none());
                beside.asked.runtime_ns = replayed.unwrap_or(spec.asked.runtime_ns);
            }
            // All jobs on these targets use the same array.
            let same = set == 0 && beside.asked.array.is_none();
            if let Some(array) = spec.asked.array.filter(|_| same) {
                beside.asked.array = Some(array);
                beside.asked.stripe_bytes = spec.asked.stripe_bytes;
                beside.size = beside.size.or(spec.size);
                beside.asked.numjobs = job.0.load.numjobs.unwrap_or(1);
            }
            let delay_ns = job.0.jobs.start_delay.unwrap_or_default();
            // Jobs that the replay of this job adds use this job's targets.
            let others = std::mem::take(&mut beside.beside);
            spec.beside.push(SpecBeside { delay_ns, targets: set, spec: beside });
            let others = others.into_iter();
            spec.beside.extend(others.map(|job| SpecBeside { delay_ns, targets: set, ..job }));
        }
        spec
    }

    /// The sets of targets: the first job's, and every other set once. A directory gets one test file for
    /// each job that names it.
    fn sets(&self) -> TargetSets {
        let mut sets = TargetSets { lists: vec![self.targets.clone()], of_beside: Vec::new() };
        for BesideRun(job) in &self.jobs.beside {
            let made = job.targets.iter().any(|target| Path::new(target).is_dir());
            let known = sets.lists.iter().position(|list| *list == job.targets && !made);
            let set = match known {
                _ if job.targets.is_empty() => 0,
                Some(known) => known,
                None => {
                    sets.lists.push(job.targets.clone());
                    sets.lists.len() - 1
                }
            };
            sets.of_beside.push(set as u32);
        }
        sets
    }

    /// The sets of targets, each with its access.
    pub(crate) fn target_sets(&self) -> Vec<TargetSet> {
        let sets = self.sets();
        let lists = sets.lists.into_iter().zip(0..);
        lists
            .map(|(list, number)| {
                let of_set = self.jobs.beside.iter().zip(&sets.of_beside);
                let mut of_set = of_set.filter(|(_, set)| **set == number).map(|(job, _)| &job.0);
                let written = number == 0 && self.writes() || of_set.any(|job| job.writes());
                (list, if written { self.safety.access(self.keep()) } else { Access::ReadOnly })
            })
            .collect()
    }

    fn spec_on(&self, targets: u32, simulated: bool) -> Spec {
        let rate = self.arrivals.rate_iops;
        let engine = self.place.ioengine.unwrap_or(engine::DEFAULT_ENGINE);
        let asked = Workload {
            read_percent: self.read_percent(),
            pattern: self.pattern(),
            hit_bytes: self.load.hit_size,
            zipf_theta_milli: self.load.zipf_theta,
            stride_bytes: self.load.stride,
            blend: self
                .load
                .seq_share
                .map(|percent| Blend { sequential_percent: percent, hit_percent: 0 }),
            zones: self.load.zones.clone().map_or_else(Vec::new, |zones| zones.0),
            align_bytes: self.load.align,
            backwards: self.load.backwards,
            from_start: self.load.from_start,
            without_replacement: self.load.without_replacement,
            job_distance_bytes: self.place.offset_increment,
            misalign_bytes: self.load.misalign,
            bs: self.load.bs.as_ref().map_or_else(|| Workload::default().bs, |mix| mix.0.clone()),
            iodepth: self.load.iodepth.unwrap_or_else(|| default_iodepth(rate.is_some(), engine)),
            numjobs: self.load.numjobs.unwrap_or(match self.chunk() {
                Some(_) => 1,
                None => targets,
            }),
            cache: self.place.cache.or(self.place.direct).unwrap_or_else(|| default_cache(engine)),
            engine,
            polled: self.place.hipri,
            sqpoll: self.place.sqthread_poll,
            huge_pages: self.place.huge_pages,
            discipline: self.arrivals.completion,
            rate_iops: rate.map(|rate| rate.all),
            write_rate_iops: rate.and_then(|rate| rate.writes),
            burst_milli: self.arrivals.burst,
            think_ns: self.arrivals.think_time,
            flush: self.flush(),
            instead: self.load.rw.filter(|rw| rw.trims).map(|_| Instead::Trim),
            stripe_bytes: self.chunk(),
            array: self.array(),
            targets,
            offset_bytes: self.place.offset,
            data: match (self.data.zeros, self.data.verify, self.data.compressible) {
                (true, _, _) => Data::Zeros,
                (_, true, _) => Data::Tagged,
                (_, _, Some(_)) => Data::Compressible,
                _ => Data::Random,
            },
            compressible_percent: self.data.compressible.unwrap_or(0),
            name: self.jobs.job_name.clone(),
            io_priority: self.jobs.io_priority,
            processors: self.jobs.processors.clone().map_or_else(Vec::new, |list| list.0),
            cgroup: self.jobs.cgroup.clone(),
            drop_cache: self.place.drop_cache,
            runtime_ns: self.stop.runtime.unwrap_or(Workload::default().runtime_ns),
            ramp_ns: self.stop.ramp_time,
            stop: StopRules {
                max_bytes: self.stop.io_size,
                passes: self.stop.passes,
                precision_ppm: self.stop.until_precision,
                cut_warm_up: !self.stop.keep_warm_up,
                interval_ns: self.results.interval,
                io_timeout_ns: self.stop.io_timeout.unwrap_or(StopRules::default().io_timeout_ns),
            },
            ..Workload::default()
        };
        let spec = Spec {
            asked,
            hot_bytes: self.load.hot_size,
            hot_percent: self.load.hot_share,
            regions: self.load.regions,
            arrival: self.arrivals.arrival,
            size: self.place.size,
            beside: Vec::new(),
        };
        match self.replay.replay.clone() {
            None => spec,
            Some(replay) if simulated => self.replayed(spec, replay),
            Some(replay) => self.replayed(spec, replay).with_others_of_replay(),
        }
    }

    /// The workload with the requests of a trace, its area and its maximum run time.
    fn replayed(&self, mut spec: Spec, mut replay: Replay) -> Spec {
        replay.pace = self.replay.replay_speed.unwrap_or(replay.pace);
        replay.wrap = self.replay.replay_wrap;
        let open = matches!(replay.pace, ReplayPace::AtTimes { .. });
        spec.asked.iodepth =
            self.load.iodepth.unwrap_or_else(|| default_iodepth(open, spec.asked.engine));
        if self.targets.iter().any(|target| Path::new(target).is_dir()) {
            let whole = replay.reach().next_multiple_of(WHOLE_BLOCK_BYTES);
            spec.size = spec.size.or(Some(Bytes(whole)));
        }
        let passes = u64::from(self.stop.passes.unwrap_or(1));
        let length = replay.length().0.saturating_mul(passes);
        // More than twice its length: a device that needs longer has fallen behind.
        let longest = Nanos(length.saturating_mul(2).saturating_add(REPLAY_GRACE.0));
        spec.asked.runtime_ns = self.stop.runtime.unwrap_or(longest);
        spec.asked.stop.cut_warm_up = false;
        spec.with_replay(replay)
    }

    fn flush(&self) -> Option<Flush> {
        let of = |kind, every: Option<u32>| every.map(|every| Flush { kind, every });
        of(FlushKind::Fsync, self.arrivals.fsync)
            .or_else(|| of(FlushKind::Fdatasync, self.arrivals.fdatasync))
            .or_else(|| of(FlushKind::SyncFileRange, self.arrivals.sync_file_range))
    }

    pub(crate) fn rw(&self) -> Rw {
        self.load.rw.unwrap_or(Rw { sequential: false, read_percent: Some(100), trims: false })
    }

    pub(crate) fn pattern(&self) -> Pattern {
        let ordered = if self.rw().sequential { Pattern::Sequential } else { Pattern::Random };
        self.load.pattern.unwrap_or(ordered)
    }

    /// Percentage of reads; computed from the rates if each direction has its own.
    pub(crate) fn read_percent(&self) -> u8 {
        let by_rate = self.arrivals.rate_iops.and_then(|rates| {
            let reads = rates.all.saturating_sub(rates.writes?);
            let percent = (reads * 100 + rates.all / 2) / rates.all.max(1);
            u8::try_from(percent.clamp(1, 99)).ok()
        });
        let mixed = || self.load.rwmixread.or(by_rate).unwrap_or(50);
        self.rw().read_percent.unwrap_or_else(mixed)
    }

    /// The command's own files, which it must not write as targets.
    fn keep(&self) -> Vec<InUse> {
        let jobs = std::iter::once(self).chain(self.jobs.beside.iter().map(|job| &*job.0));
        let replays = jobs.filter_map(|job| job.replay.replay.as_ref());
        let replays =
            replays.map(|replay| InUse::new(&replay.source, "the recording that is replayed"));
        let inputs =
            self.inputs.iter().map(|file| InUse::new(file, "the file that describes the load"));
        let inputs =
            inputs.chain(self.hosts.file().map(|file| InUse::new(file, "the list of hosts")));
        let save = &self.results.save.keeping;
        save.kept().into_iter().chain(replays).chain(inputs).collect()
    }

    /// Whether the run writes anything, including before the measured time.
    pub(crate) fn writes(&self) -> bool {
        if let Some(replay) = &self.replay.replay {
            let requests = &replay.recorded.0;
            let discards = self.replay.replay_speed != Some(ReplayPace::AsFast)
                && !replay.discards.0.is_empty();
            return requests.iter().any(|request| request.op == OpKind::Write)
                || discards
                || self.place.precondition
                || self.place.rebuild.is_some();
        }
        self.read_percent() < 100 || self.place.precondition || self.place.rebuild.is_some()
    }

    /// Contiguous bytes on one target; `None` if the targets are not combined.
    fn chunk(&self) -> Option<Bytes> {
        self.place.chunk.or(self.place.raid.map(|_| CHUNK_BYTES))
    }

    /// The redundancy of the array; `None` for RAID 0 or separate targets.
    pub(crate) fn array(&self) -> Option<Redundancy> {
        let level = self.place.raid.filter(|level| *level != RaidLevel::Raid0)?;
        let (failed, rebuild) = (self.place.failed, self.place.rebuild);
        Some(Redundancy { level, leg_bytes: Bytes(0), failed, rebuild })
    }
}

/// Lists of targets, and the list that each job beside the first uses.
struct TargetSets {
    lists: Vec<Vec<String>>,
    of_beside: Vec<u32>,
}

/// Direct I/O, if the engine supports it.
fn default_cache(engine: EngineName) -> CacheMode {
    let caches = engine::engine_info(engine).map_or(&[][..], |info| info.caches);
    let first = caches.first().copied().unwrap_or(CacheMode::Device);
    if caches.contains(&CacheMode::Device) { CacheMode::Device } else { first }
}

/// QD 1 in a closed loop. In an open loop, `OPEN_LOOP_IODEPTH`, or the engine's maximum if that is smaller.
fn default_iodepth(open: bool, engine: EngineName) -> u32 {
    let most = engine::engine_info(engine).map(|info| info.max_depth);
    if open { OPEN_LOOP_IODEPTH.min(most.unwrap_or(OPEN_LOOP_IODEPTH)) } else { 1 }
}
