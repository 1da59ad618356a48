//! From the flags of `run` to what they ask for: the workload, what may be written, and the
//! mistakes that only all flags together show.

use crate::run_args::{BesideRun, RWS, RunArgs, Rw, first_given};
use crate::values::CHUNK_BYTES;
use record::{
    Blend, Bytes, CacheMode, Data, DropCache, EngineName, Flush, FlushKind, Instead, Nanos, OpKind,
    Pattern, RaidLevel, Redundancy, Replay, ReplayPace, StopRules, Workload,
};
use session::TargetSet;
use std::path::Path;
use target::{Access, InUse};
use workload::{Spec, SpecBeside};

/// The most that are in flight in an open loop where the user sets no limit: enough for any
/// device to be the one that limits.
const OPEN_LOOP_IODEPTH: u32 = 128;

/// The area of a replay ends with a whole block of any device.
const WHOLE_BLOCK_BYTES: u64 = 4_096;
/// Time that a replay may take beside twice its own.
const REPLAY_GRACE: Nanos = Nanos(10_000_000_000);

/// The most with which a fit's largest requests have their buffers, and their room in its area.
const COST_FIT_IODEPTH: u32 = 256;
const COST_FIT_NUMJOBS: u32 = 32;

impl RunArgs {
    /// The workload that the flags ask for, with those of jobs beside it.
    pub(crate) fn spec(&self) -> Spec {
        let sets = self.sets();
        let targets = |set: u32| sets.lists.get(set as usize).map_or(0, |list| list.len() as u32);
        // A simulated device knows no flush and no discard.
        let simulated = matches!(session::one_simulated(&self.targets), Ok(Some(_)));
        let mut spec = self.spec_on(targets(0), simulated);
        for (job, &set) in self.jobs.beside.iter().zip(&sets.of_beside) {
            let mut beside = job.0.spec_on(targets(set), simulated);
            if job.0.stop.runtime.is_none() && beside.asked.replay.is_none() {
                // Beside a replay for as long as that takes, not as long as it may.
                let passes = u64::from(self.stop.passes.unwrap_or(1));
                let recorded = spec.asked.replay.as_ref();
                let recorded = recorded.map(|it| Nanos(it.length().0.saturating_mul(passes)));
                let replayed = recorded.filter(|_| self.stop.runtime.is_none());
                beside.asked.runtime_ns = replayed.unwrap_or(spec.asked.runtime_ns);
            }
            // The targets are bound together for all jobs on them.
            let same = set == 0 && beside.asked.array.is_none();
            if let Some(array) = spec.asked.array.filter(|_| same) {
                beside.asked.array = Some(array);
                beside.asked.stripe_bytes = spec.asked.stripe_bytes;
                beside.size = beside.size.or(spec.size);
                beside.asked.numjobs = job.0.load.numjobs.unwrap_or(1);
            }
            let delay_ns = job.0.jobs.start_delay.unwrap_or_default();
            // Jobs that its own recording has beside it are on its targets.
            let others = std::mem::take(&mut beside.beside);
            spec.beside.push(SpecBeside { delay_ns, targets: set, spec: beside });
            let others = others.into_iter();
            spec.beside.extend(others.map(|job| SpecBeside { delay_ns, targets: set, ..job }));
        }
        spec
    }

    /// The sets of targets: that of the first job, and each other one once. A directory gets a test file
    /// for each job that names it.
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

    /// The sets of targets with what may be done to each.
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

    /// The same with the requests of a recording, on an area that holds them, for as long as it may take.
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
        // Twice its time and more: a device that is slower than that fell behind.
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

    fn rw(&self) -> Rw {
        self.load.rw.unwrap_or(Rw { sequential: false, read_percent: Some(100), trims: false })
    }

    fn pattern(&self) -> Pattern {
        let ordered = if self.rw().sequential { Pattern::Sequential } else { Pattern::Random };
        self.load.pattern.unwrap_or(ordered)
    }

    /// The share of reads: that of the rates where directions have their own.
    fn read_percent(&self) -> u8 {
        let by_rate = self.arrivals.rate_iops.and_then(|rates| {
            let reads = rates.all.saturating_sub(rates.writes?);
            let percent = (reads * 100 + rates.all / 2) / rates.all.max(1);
            u8::try_from(percent.clamp(1, 99)).ok()
        });
        let mixed = || self.load.rwmixread.or(by_rate).unwrap_or(50);
        self.rw().read_percent.unwrap_or_else(mixed)
    }

    /// Whether anything is written, also before the measured run.
    /// What may be done to targets that the first job writes, or that they are only read.
    pub(crate) fn access(&self) -> Access {
        if self.writes() { self.safety.access(self.keep()) } else { Access::ReadOnly }
    }

    /// Files of the command itself, which it must not write as a target.
    fn keep(&self) -> Vec<InUse> {
        let jobs = std::iter::once(self).chain(self.jobs.beside.iter().map(|job| &*job.0));
        let replays = jobs.filter_map(|job| job.replay.replay.as_ref());
        let replays =
            replays.map(|replay| InUse::new(&replay.source, "the recording that is replayed"));
        let inputs =
            self.inputs.iter().map(|file| InUse::new(file, "the file that describes the load"));
        let save = &self.results.save.keeping;
        save.kept().into_iter().chain(replays).chain(inputs).collect()
    }

    fn writes(&self) -> bool {
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

    /// Bytes that lie together on a target; `None` where the targets are not bound together.
    fn chunk(&self) -> Option<Bytes> {
        self.place.chunk.or(self.place.raid.map(|_| CHUNK_BYTES))
    }

    /// How the targets hold more than the data.
    fn array(&self) -> Option<Redundancy> {
        let level = self.place.raid.filter(|level| *level != RaidLevel::Raid0)?;
        let (failed, rebuild) = (self.place.failed, self.place.rebuild);
        Some(Redundancy { level, leg_bytes: Bytes(0), failed, rebuild })
    }

    /// A flag that is about a real machine, where one was given.
    pub(crate) fn real_only(&self) -> Option<&'static str> {
        let beside = || self.jobs.beside.iter().find_map(|job| job.0.real_only());
        self.real_only_alone().or_else(beside)
    }

    /// A flag that is about all jobs, where one was given.
    pub(crate) fn for_all_jobs(&self) -> Option<&'static str> {
        let (results, save) = (&self.results, &self.results.save);
        first_given(&[
            ("--beside", !self.jobs.beside.is_empty()),
            ("--hosts", self.hosts.given()),
            ("--list-sim", self.list_sim),
            ("--show-sim", self.show_sim.is_some()),
            ("--seed", self.load.seed.is_some()),
            ("--precondition", self.place.precondition),
            ("--cpu-upper", self.cpu_upper),
            ("--cost-fit", self.cost_fit),
            ("--rebuild", self.place.rebuild.is_some()),
            ("--csv", results.csv.is_some()),
            ("--sqlio-csv", results.sqlio_csv.is_some()),
            ("--comment", results.comment.is_some()),
            ("--output", results.output.is_some()),
            ("--json", save.json),
            ("--no-save", save.no_save),
            ("--db", save.keeping.db.is_some()),
            ("--overwrite", self.safety.overwrite),
            ("--destroy-data-on", !self.safety.destroy_data_on.is_empty()),
        ])
    }

    fn real_only_alone(&self) -> Option<&'static str> {
        let place = &self.place;
        first_given(&[
            ("--hosts", self.hosts.given()),
            ("--overwrite", self.safety.overwrite),
            ("--destroy-data-on", !self.safety.destroy_data_on.is_empty()),
            ("--ioengine", place.ioengine.is_some()),
            ("--hipri", place.hipri),
            ("--sqthread-poll", place.sqthread_poll),
            ("--huge-pages", place.huge_pages),
            ("--raid", place.raid.is_some()),
            ("--chunk", place.chunk.is_some()),
            ("--failed", place.failed.is_some()),
            ("--rebuild", place.rebuild.is_some()),
            ("--drop-cache", place.drop_cache != DropCache::None),
            ("--io-priority", self.jobs.io_priority.is_some()),
            ("--cgroup", self.jobs.cgroup.is_some()),
            ("--fsync", self.arrivals.fsync.is_some()),
            ("--fdatasync", self.arrivals.fdatasync.is_some()),
            ("--sync-file-range", self.arrivals.sync_file_range.is_some()),
            ("--compressible", self.data.compressible.is_some()),
            ("--zeros", self.data.zeros),
            ("--verify", self.data.verify),
            ("--cpu-upper", self.cpu_upper),
            ("--cost-fit", self.cost_fit),
            ("--io-timeout", self.stop.io_timeout.is_some()),
        ])
    }

    /// A mistake that the parser cannot see, in flags that are no part of the workload.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let alone = first_given(&[("--cost-fit", self.cost_fit), ("--cpu-upper", self.cpu_upper)]);
        if let Some(flag) = alone.filter(|_| self.hosts.given()) {
            return Some(format!(
                "{flag} is about the processors of one machine: run it on one of them, without --hosts, and \
                 leave it out here"
            ));
        }
        if self.jobs.start_delay.is_some() {
            let text = "--start-delay is for a job beside the first; write it into its --beside";
            return Some(text.to_owned());
        }
        self.contradiction_of_job()
    }

    /// The same of a job beside the first.
    pub(crate) fn contradiction_of_job(&self) -> Option<String> {
        let rw = self.rw();
        let mix = rw.read_percent.is_none();
        let rates = self.arrivals.rate_iops.is_some_and(|rates| rates.writes.is_some());
        let (load, results) = (&self.load, &self.results);
        let ordered = matches!(self.pattern(), Pattern::Sequential | Pattern::Strided);
        let other = format!(
            "--pattern {} contradicts --rw {}; use --rw {} with it",
            self.pattern().name(),
            name(rw),
            name(Rw { sequential: !rw.sequential, ..rw })
        );
        let allows = [
            ("--overwrite", self.safety.overwrite),
            ("--destroy-data-on", !self.safety.destroy_data_on.is_empty()),
        ];
        let writes = self.writes() || self.jobs.beside.iter().any(|job| job.0.writes());
        if let Some(flag) = first_given(&allows).filter(|_| !writes) {
            let unused = "allows writing, and nothing is written here; leave it out";
            return Some(format!("{flag} {unused}"));
        }
        let place = &self.place;
        let mistakes = [
            (
                "--failed is a target of which others hold what it held; add --raid 1 or --raid 5",
                place.failed.is_some() && self.array().is_none(),
            ),
            (
                "--rebuild compares the load with and without it; leave --cost-fit and --cpu-upper out",
                place.rebuild.is_some() && (self.cost_fit || self.cpu_upper),
            ),
            (
                "--rwmixread needs a mix: use --rw rw or --rw randrw with it",
                load.rwmixread.is_some() && !mix,
            ),
            (
                "--rwmixread contradicts --rate-iops with two rates, which make the mix; leave \
                 one of them out",
                load.rwmixread.is_some() && rates,
            ),
            (
                other.as_str(),
                load.rw.is_some() && load.pattern.is_some() && ordered != rw.sequential,
            ),
            (
                "--seq-share is a share of random requests; use --rw randread, randwrite or randrw",
                load.seq_share.is_some() && self.pattern() != Pattern::Random,
            ),
            (
                "--csv writes intervals; add their length, for example --interval 1s",
                results.csv.is_some() && results.interval.is_none(),
            ),
            (
                "--comment belongs to the line of --sqlio-csv; add --sqlio-csv FILE, or leave it out",
                results.comment.is_some() && results.sqlio_csv.is_none(),
            ),
            (
                "--verify with reads alone checks what an earlier run with --verify wrote to all \
                 of the area: give the --seed of that run, or write with --rw write",
                self.data.verify && self.read_percent() == 100 && load.seed.is_none(),
            ),
        ];
        if let Some(text) = self.jobs_contradiction().or_else(|| self.replay_contradiction()) {
            return Some(text);
        }
        let mistake = mistakes.iter().find(|(_, wrong)| *wrong).map(|(text, _)| (*text).to_owned());
        mistake.or_else(|| self.cost_fit_contradiction())
    }

    /// What says of requests that they are drawn.
    fn replay_contradiction(&self) -> Option<String> {
        self.replay.replay.as_ref()?;
        let load = &self.load;
        let drawn = first_given(&[
            ("--rw", load.rw.is_some()),
            ("--rwmixread", load.rwmixread.is_some()),
            ("--bs", load.bs.is_some()),
            ("--pattern", load.pattern.is_some()),
            ("--hit-size", load.hit_size.is_some()),
            ("--hot-size", load.hot_size.is_some()),
            ("--hot-share", load.hot_share.is_some()),
            ("--zipf-theta", load.zipf_theta.is_some()),
            ("--stride", load.stride.is_some()),
            ("--misalign", load.misalign > Bytes(0)),
            ("--regions", load.regions.is_some()),
            ("--seq-share", load.seq_share.is_some()),
            ("--io-size", self.stop.io_size.is_some()),
            ("--until-precision", self.stop.until_precision.is_some()),
            ("--cost-fit", self.cost_fit),
            ("--cpu-upper", self.cpu_upper),
            ("--sqlio-csv", self.results.sqlio_csv.is_some()),
        ]);
        drawn
            .map(|flag| format!("{flag} is for requests that are drawn; leave it out, or --replay"))
    }

    /// What does not go with several jobs at the same time, or without them.
    fn jobs_contradiction(&self) -> Option<String> {
        if self.jobs.beside.is_empty() {
            return None;
        }
        let trims = self.jobs.beside.iter().any(|job| job.0.rw().trims);
        if self.data.verify && trims {
            let text = "--verify finds what others changed: leave out the job beside it that trims";
            return Some(text.to_owned());
        }
        let alone = first_given(&[
            ("--cost-fit", self.cost_fit),
            ("--cpu-upper", self.cpu_upper),
            ("--csv", self.results.csv.is_some()),
            ("--sqlio-csv", self.results.sqlio_csv.is_some()),
        ]);
        alone.map(|flag| format!("{flag} is for one job; leave it out, or --beside"))
    }

    /// What does not go with a fit, which runs sizes and caches of its own and keeps one document
    /// of all its trials.
    fn cost_fit_contradiction(&self) -> Option<String> {
        if !self.cost_fit {
            return None;
        }
        let (place, stop, results) = (&self.place, &self.stop, &self.results);
        let beside = first_given(&[
            ("--bs", self.load.bs.is_some()),
            ("--cache", place.cache.is_some()),
            ("--direct", place.direct.is_some()),
            ("--drop-cache", place.drop_cache != DropCache::None),
            ("--ioengine mmap", place.ioengine == Some(EngineName::Mmap)),
            ("--ramp-time", stop.ramp_time > Nanos(0)),
            ("--io-size", stop.io_size.is_some()),
            ("--passes", stop.passes.is_some()),
            ("--until-precision", stop.until_precision.is_some()),
            ("--keep-warm-up", stop.keep_warm_up),
            ("--interval", results.interval.is_some()),
            ("--sqlio-csv", results.sqlio_csv.is_some()),
            ("--verify", self.data.verify),
            ("--cpu-upper", self.cpu_upper),
        ]);
        if let Some(flag) = beside {
            let why = "runs trials of its own sizes, through the page cache and past it";
            return Some(format!("--cost-fit {why}; leave {flag} out"));
        }
        if !matches!(self.pattern(), Pattern::Sequential | Pattern::Random) {
            let pattern = self.pattern().name();
            return Some(format!("--cost-fit is for plain orders; leave --pattern {pattern} out"));
        }
        let (iodepth, numjobs) = (self.load.iodepth.unwrap_or(1), self.load.numjobs.unwrap_or(1));
        (iodepth > COST_FIT_IODEPTH || numjobs > COST_FIT_NUMJOBS).then(|| {
            format!(
                "--cost-fit has requests of up to 1 MiB; use at most --iodepth {COST_FIT_IODEPTH} \
                 and --numjobs {COST_FIT_NUMJOBS}"
            )
        })
    }
}

/// Lists of targets, and which of them each job beside the first uses.
struct TargetSets {
    lists: Vec<Vec<String>>,
    of_beside: Vec<u32>,
}

/// fio's word for it.
fn name(rw: Rw) -> &'static str {
    RWS.iter().find(|(_, known)| *known == rw).map_or("", |(name, _)| name)
}

/// Past the page cache, with an engine that can.
fn default_cache(engine: EngineName) -> CacheMode {
    let caches = engine::engine_info(engine).map_or(&[][..], |info| info.caches);
    let first = caches.first().copied().unwrap_or(CacheMode::Device);
    if caches.contains(&CacheMode::Device) { CacheMode::Device } else { first }
}

/// One at a time in a closed loop; in an open one as many as may come, of an engine that can.
fn default_iodepth(open: bool, engine: EngineName) -> u32 {
    let most = engine::engine_info(engine).map(|info| info.max_depth);
    if open { OPEN_LOOP_IODEPTH.min(most.unwrap_or(OPEN_LOOP_IODEPTH)) } else { 1 }
}
