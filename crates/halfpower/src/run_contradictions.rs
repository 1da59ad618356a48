//! Rejects combinations of flags of `run` that the parser cannot reject.

use crate::failure::first_given;
use crate::run_args::{RWS, RunArgs, Rw};
use record::{Bytes, DropCache, EngineName, Nanos, Pattern};

/// Limits of a fit: with more, its largest requests would not fit in the buffers or in the area.
const COST_FIT_IODEPTH: u32 = 256;
const COST_FIT_NUMJOBS: u32 = 32;

impl RunArgs {
    /// The first given flag that applies only to a real machine.
    pub(crate) fn real_only(&self) -> Option<&'static str> {
        let beside = || self.jobs.beside.iter().find_map(|job| job.0.real_only());
        self.real_only_alone().or_else(beside)
    }

    /// The first given flag that applies to all jobs together.
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
            ("--processors", self.jobs.processors.is_some()),
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

    /// A contradiction that the parser cannot find, including flags outside the workload.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let alone = first_given(&[("--cost-fit", self.cost_fit), ("--cpu-upper", self.cpu_upper)]);
        if let Some(flag) = alone.filter(|_| self.hosts.given()) {
            return Some(format!(
                "{flag} measures the CPUs of one machine; omit it, or run on one machine, without \
                 --hosts"
            ));
        }
        if self.jobs.start_delay.is_some() {
            let text = "--start-delay applies to an additional job; use it inside --beside";
            return Some(text.to_owned());
        }
        self.contradiction_of_job()
    }

    /// A contradiction within the flags of one job.
    pub(crate) fn contradiction_of_job(&self) -> Option<String> {
        let rw = self.rw();
        let mix = rw.read_percent.is_none();
        let rates = self.arrivals.rate_iops.is_some_and(|rates| rates.writes.is_some());
        let (load, results) = (&self.load, &self.results);
        let ordered = matches!(self.pattern(), Pattern::Sequential | Pattern::Strided);
        let other = format!(
            "--pattern {} contradicts --rw {}; with this pattern, use --rw {}",
            self.pattern().name(),
            name(rw),
            name(Rw { sequential: !rw.sequential, ..rw })
        );
        // --overwrite is no contradiction: a script may give it to each of its runs, and a run that only
        // reads opens its targets read-only.
        let writes = self.writes() || self.jobs.beside.iter().any(|job| job.0.writes());
        if !self.safety.destroy_data_on.is_empty() && !writes {
            let text = "--destroy-data-on allows writing, but this run writes nothing; omit it, or \
                        write with --rw write, randwrite, rw or randrw";
            return Some(text.to_owned());
        }
        let place = &self.place;
        let mistakes = [
            (
                "--failed needs an array whose other targets can restore the data; add --raid 1 \
                 or --raid 5",
                place.failed.is_some() && self.array().is_none(),
            ),
            (
                "--rebuild compares the load with and without a rebuild; omit --cost-fit and \
                 --cpu-upper",
                place.rebuild.is_some() && (self.cost_fit || self.cpu_upper),
            ),
            (
                "--rwmixread needs a mix of reads and writes; add --rw rw or --rw randrw",
                load.rwmixread.is_some() && !mix,
            ),
            (
                "--rwmixread contradicts --rate-iops, because two rates already define the mix; \
                 omit one of them",
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
                "--csv writes one line per interval; set its length, for example with --interval \
                 1s",
                results.csv.is_some() && results.interval.is_none(),
            ),
            (
                "--comment is written only to --sqlio-csv; add --sqlio-csv FILE, or omit --comment",
                results.comment.is_some() && results.sqlio_csv.is_none(),
            ),
            (
                "--verify with a read-only load checks what an earlier run with --verify wrote to \
                 the whole area: use the --seed of that run, or write with --rw write",
                self.data.verify && self.read_percent() == 100 && load.seed.is_none(),
            ),
        ];
        if let Some(text) = self.jobs_contradiction().or_else(|| self.replay_contradiction()) {
            return Some(text);
        }
        let mistake = mistakes.iter().find(|(_, wrong)| *wrong).map(|(text, _)| (*text).to_owned());
        mistake.or_else(|| self.cost_fit_contradiction())
    }

    /// Rejects flags for random requests in a replay.
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
            ("--zones", load.zones.is_some()),
            ("--align", load.align.is_some()),
            ("--from-start", load.from_start),
            ("--without-replacement", load.without_replacement),
            ("--offset-increment", self.place.offset_increment.is_some()),
            ("--seq-share", load.seq_share.is_some()),
            ("--io-size", self.stop.io_size.is_some()),
            ("--until-precision", self.stop.until_precision.is_some()),
            ("--cost-fit", self.cost_fit),
            ("--cpu-upper", self.cpu_upper),
            ("--sqlio-csv", self.results.sqlio_csv.is_some()),
        ]);
        drawn.map(|flag| {
            format!("{flag} applies to random requests, not to a replay; omit it or omit --replay")
        })
    }

    /// Rejects flags that do not work with several jobs at the same time, or only with several.
    fn jobs_contradiction(&self) -> Option<String> {
        if self.jobs.beside.is_empty() {
            return None;
        }
        let trims = self.jobs.beside.iter().any(|job| job.0.rw().trims);
        if self.data.verify && trims {
            let text = "--verify would count blocks as bad after another job trims them; omit the \
                        job that trims";
            return Some(text.to_owned());
        }
        let alone = first_given(&[
            ("--cost-fit", self.cost_fit),
            ("--cpu-upper", self.cpu_upper),
            ("--csv", self.results.csv.is_some()),
            ("--sqlio-csv", self.results.sqlio_csv.is_some()),
        ]);
        alone.map(|flag| {
            format!("{flag} applies to a single job; omit it, or run one job at a time")
        })
    }

    /// Rejects flags that do not work with a fit. A fit chooses its own sizes and caches, and saves one
    /// document for all its trials.
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
            let why = "runs trials with its own sizes, with and without the page cache";
            return Some(format!("--cost-fit {why}; omit {flag}"));
        }
        if !matches!(self.pattern(), Pattern::Sequential | Pattern::Random) {
            let pattern = self.pattern().name();
            return Some(format!(
                "--cost-fit supports only simple patterns; omit --pattern {pattern}"
            ));
        }
        let (iodepth, numjobs) = (self.load.iodepth.unwrap_or(1), self.load.numjobs.unwrap_or(1));
        (iodepth > COST_FIT_IODEPTH || numjobs > COST_FIT_NUMJOBS).then(|| {
            format!(
                "--cost-fit sends requests of up to 1 MiB; use at most --iodepth \
                 {COST_FIT_IODEPTH} and --numjobs {COST_FIT_NUMJOBS}"
            )
        })
    }
}

/// fio's name.
fn name(rw: Rw) -> &'static str {
    RWS.iter().find(|(_, known)| *known == rw).map_or("", |(name, _)| name)
}
