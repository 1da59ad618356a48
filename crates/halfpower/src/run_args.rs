//! The flags of `run`. They have fio's names where fio has the flag; fio's underscores are accepted too.
//!
//! A flag without a value stays an `Option` if its absence matters: an error must not name a flag that the user
//! did not set, and a default may depend on another flag.

use crate::host_args::HostArgs;
use crate::output;
use crate::recognise::FileForm;
use crate::safety_args::SafetyArgs;
use crate::store_args::SaveArgs;
use crate::values::{
    Mix, Processors, Rates, Zones, bytes, cache, choice, direct, engine, io_priority, mix, one_of,
    percent, ppm, processors, raid, rates, rebuild_pace, run_time, some_bytes, thousandths, zones,
};
use ::engine::input;
use clap::{Arg, Args, Command, FromArgMatches};
use record::{
    Arrival, Bytes, CacheMode, Discipline, DropCache, EngineName, IoPriority, Nanos, Pattern,
    RaidLevel, RebuildPace, Regions, Replay, ReplayPace,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::replay::{self, ReplayError};

/// Direction and order of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rw {
    pub(crate) sequential: bool,
    /// Percentage of reads; `None` if `--rwmixread` sets it.
    pub(crate) read_percent: Option<u8>,
    pub(crate) trims: bool,
}

const fn rw(sequential: bool, read_percent: Option<u8>) -> Rw {
    Rw { sequential, read_percent, trims: false }
}

const fn trim(sequential: bool) -> Rw {
    Rw { sequential, read_percent: Some(0), trims: true }
}

/// By fio's names. Where two names mean the same, the first is printed.
pub(crate) const RWS: &[(&str, Rw)] = &[
    ("read", rw(true, Some(100))),
    ("write", rw(true, Some(0))),
    ("rw", rw(true, None)),
    ("readwrite", rw(true, None)),
    ("randread", rw(false, Some(100))),
    ("randwrite", rw(false, Some(0))),
    ("randrw", rw(false, None)),
    ("trim", trim(true)),
    ("randtrim", trim(false)),
];
const REGIONS: &[(&str, Regions)] = &[("own", Regions::PerJob), ("shared", Regions::Shared)];
/// Arrival processes of an open loop.
pub(crate) const ARRIVALS: &[(&str, Arrival)] =
    &[("constant", Arrival::Constant), ("poisson", Arrival::Poisson)];

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower run .                      4 KiB random reads, QD 1, 10 s\n  \
    halfpower run /mnt/data --rw randrw --rwmixread 70 --iodepth 16\n  \
    halfpower run . --rate-iops 2000 --arrival poisson      an open loop\n  \
    halfpower run jobs.fio               a job file of fio\n  \
    halfpower run --name=a --filename=/dev/sdb --rw=randread    fio's command line\n  \
    halfpower run sim:nvme-ssd --iodepth 4      a simulated device (--list-sim)",
    after_long_help = simdisk::help_with_names("Examples:\n  \
    halfpower run .                   4 KiB random reads, QD 1, 10 s\n  \
    halfpower run /mnt/data --rw randrw --rwmixread 70 --iodepth 16\n  \
    halfpower run big.file --rw read --bs 64k --cache all --drop-cache dontneed\n  \
    halfpower run . --bs 4k/60:64k/40 --pattern zipf --numjobs 4\n  \
    halfpower run . --until-precision 2% --runtime 5m     until precise enough\n  \
    halfpower run /mnt/a /mnt/b --raid 0 --chunk 64k --rw read --bs 256k\n  \
    halfpower run a b c --raid 5 --failed 1 --rebuild 50m --overwrite\n  \
    halfpower run . --rw randwrite --verify\n  \
    halfpower run . --iodepth 4 --beside '--rw write --bs 1m'   two jobs at once\n  \
    halfpower run /dev/sdb --replay log.io --replay-speed 2     twice as fast\n  \
    halfpower run jobs.fio            a job file of fio\n  \
    halfpower run --name=a --filename=/dev/sdb --rw=randread    fio's command line\n  \
    halfpower run /mnt/nfs/big.file --hosts a,b,c --iodepth 8   three machines\n  \
    halfpower run --show-sim st15150w > my.toml     edit it, then run sim:my.toml\n\n\
    Sizes: k m g are powers of 1024, kB MB GB powers of 1000, KiB MiB GiB powers of\n\
    1024. Times: ns us ms s m h d."))]
pub(crate) struct RunArgs {
    /// Files that supplied the command line, such as fio's job files.
    #[arg(skip)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Directory (for a temporary test file), file, block device, or sim:NAME. Without --raid, each
    /// of several targets gets the same number of jobs.
    #[arg(required_unless_present_any = ["list_sim", "show_sim"], value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// List the simulated devices with their keys, units and defaults, and run nothing.
    #[arg(long, exclusive = true)]
    pub(crate) list_sim: bool,
    /// Print a simulated device as TOML, with the source of each value, and run nothing. Save it to
    /// a file, edit it, and use it as sim:FILE.toml.
    #[arg(long, value_name = "NAME", exclusive = true)]
    pub(crate) show_sim: Option<String>,
    #[command(flatten, next_help_heading = "Load")]
    pub(crate) load: LoadArgs,
    #[command(flatten, next_help_heading = "Arrivals")]
    pub(crate) arrivals: ArrivalArgs,
    #[command(flatten, next_help_heading = "Target and caches")]
    pub(crate) place: PlaceArgs,
    #[command(flatten, next_help_heading = "Stop rules")]
    pub(crate) stop: StopArgs,
    #[command(flatten, next_help_heading = "Data")]
    pub(crate) data: DataArgs,
    #[command(flatten, next_help_heading = "Several jobs")]
    pub(crate) jobs: JobsArgs,
    #[command(flatten, next_help_heading = "Recorded requests")]
    pub(crate) replay: ReplayArgs,
    /// Find an upper bound of the CPU cost: a second pass measures the idle time left on each CPU.
    #[arg(long, help_heading = "Processor cost")]
    pub(crate) cpu_upper: bool,
    /// Run several request sizes, buffered and direct, and fit the CPU cost per request and per
    /// byte.
    #[arg(long, help_heading = "Processor cost")]
    pub(crate) cost_fit: bool,
    /// Leave test files that no job reads unwritten, as fio does.
    #[arg(skip)]
    pub(crate) reserve: bool,
    #[command(flatten)]
    pub(crate) hosts: HostArgs,
    #[command(flatten, next_help_heading = "Results")]
    pub(crate) results: ResultArgs,
    #[command(flatten, next_help_heading = "Safety")]
    pub(crate) safety: SafetyArgs,
}

impl RunArgs {
    /// Parses the arguments of `halfpower run` like the command line. The error is the first line of the
    /// parser's message, or names the flags that contradict each other.
    pub(crate) fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let command = Self::augment_args(Command::new("run").no_binary_name(true));
        let run = Self::read_by(command, words)?;
        run.contradiction().map_or(Ok(run), Err)
    }

    fn read_by<'a>(
        command: Command,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, String> {
        let parsed = command
            .try_get_matches_from(words)
            .and_then(|mut matches| Self::from_arg_matches_mut(&mut matches));
        parsed.map_err(|error| {
            let text = output::usage_text(&error);
            let first = text.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Direction and order: read, write, rw, trim (these four are sequential), randread, randwrite,
    /// randrw, randtrim [default: randread]. A trim punches a hole in a file, or discards blocks of
    /// a device.
    #[arg(long, value_parser = choice(RWS), value_name = "KIND",
        alias = "readwrite")]
    pub(crate) rw: Option<Rw>,
    /// Request size, or a mix of sizes with percentages: 4k/60:64k/40 [default: 4k].
    #[arg(long, value_name = "SIZE|MIX", value_parser = mix, alias = "bssplit")]
    pub(crate) bs: Option<Mix>,
    /// Queue depth per job; with --rate-iops, the maximum queue depth [default: 1, or 128 with
    /// --rate-iops].
    #[arg(long, value_name = "N")]
    pub(crate) iodepth: Option<u32>,
    /// Number of jobs, each with its own thread [default: one per target].
    #[arg(long, value_name = "N")]
    pub(crate) numjobs: Option<u32>,
    /// Percentage of reads with --rw rw or randrw [default: 50].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) rwmixread: Option<u8>,
    /// Order of requests, instead of the order of --rw: sequential, random, hit (a small area
    /// repeatedly), zipf (popular blocks), hot (a popular area), strided.
    #[arg(long, value_name = "NAME", value_parser = one_of(&Pattern::ALL, Pattern::name))]
    pub(crate) pattern: Option<Pattern>,
    /// Size of the area of --pattern hit [default: 1m].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    pub(crate) hit_size: Option<Bytes>,
    /// Exponent of --pattern zipf, 0.001 to 10 [default: 1.2].
    #[arg(long, value_name = "NUMBER", value_parser = thousandths)]
    pub(crate) zipf_theta: Option<u32>,
    /// Size of the popular area of --pattern hot, at the start of the whole area [default: a fifth
    /// of the whole area].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    pub(crate) hot_size: Option<Bytes>,
    /// Share of the requests that go to the popular area [default: 80%].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) hot_share: Option<u8>,
    /// Distance between the starts of successive requests of --pattern strided.
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    pub(crate) stride: Option<Bytes>,
    /// Share of random requests that start where the previous request of the same direction ended.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) seq_share: Option<u8>,
    /// Split the area into consecutive parts: 50/5:30/15:20/80 sends 50 % of the random requests to
    /// the first 5 % of the area, 30 % to the next 15 %, and 20 % to the rest.
    #[arg(long, value_name = "ZONES", value_parser = zones)]
    pub(crate) zones: Option<Zones>,
    /// Alignment: random requests start at multiples of this size [default: the smallest request
    /// size].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes, alias = "blockalign")]
    pub(crate) align: Option<Bytes>,
    /// Run strided requests backwards from the end of the area.
    #[arg(long)]
    pub(crate) backwards: bool,
    /// Start sequential and strided requests at the beginning of the area, not at a random
    /// position.
    #[arg(long)]
    pub(crate) from_start: bool,
    /// Visit every block once before any block repeats (random requests of one size).
    #[arg(long)]
    pub(crate) without_replacement: bool,
    /// Shift every request by this many bytes.
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub(crate) misalign: Bytes,
    /// How sequential or strided jobs use one area: own (each job has a part) or shared (jobs take
    /// turns in one stream) [default: own]. Jobs with other patterns use the whole area.
    #[arg(long, value_parser = choice(REGIONS), value_name = "HOW")]
    pub(crate) regions: Option<Regions>,
    /// Seed of all random choices [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N", alias = "randseed")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ArrivalArgs {
    /// Open loop: requests per second of all jobs together, or READS,WRITES. Without this flag,
    /// each completion starts the next request (closed loop).
    #[arg(long, value_name = "N|R,W", value_parser = rates, alias = "rate_iops")]
    pub(crate) rate_iops: Option<Rates>,
    /// Arrivals of --rate-iops: constant (equal intervals) or poisson [default: constant].
    #[arg(long, value_parser = choice(ARRIVALS), value_name = "HOW",
        alias = "rate_process")]
    pub(crate) arrival: Option<Arrival>,
    /// Mean number of requests per burst with --arrival poisson; the number is geometrically
    /// distributed [default: 1].
    #[arg(long, value_name = "N", value_parser = thousandths)]
    pub(crate) burst: Option<u32>,
    /// Pause between a completion and the next request.
    #[arg(long, value_name = "TIME", default_value = "0s", alias = "thinktime")]
    pub(crate) think_time: Nanos,
    /// Commit like a database: after every N writes, a job waits for the writes in flight and
    /// flushes (fsync). --numjobs is the number of committers; with --iodepth N, the N writes of a
    /// commit are in flight together.
    #[arg(long, value_name = "N", conflicts_with_all = ["fdatasync", "sync_file_range"])]
    pub(crate) fsync: Option<u32>,
    /// Like --fsync but with fdatasync, which skips metadata that is not needed to read the data
    /// back.
    #[arg(long, value_name = "N")]
    pub(crate) fdatasync: Option<u32>,
    /// Like --fsync but with sync_file_range, which waits until the data is written to the device,
    /// but does not make it durable.
    #[arg(long, value_name = "N", conflicts_with = "fdatasync")]
    pub(crate) sync_file_range: Option<u32>,
    /// What starts the next request: any (any completion), oldest-first (the completion of the
    /// oldest request), callback (a callback in each completion), callback-posted (a callback that
    /// the job's loop calls).
    #[arg(long, value_name = "HOW", default_value = "any",
        value_parser = one_of(&Discipline::ALL, Discipline::name))]
    pub(crate) completion: Discipline,
}

#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Size of the test file, or of the area in each file or device [default: a tenth of the free
    /// space, 256 MiB to 2 GiB, for a test file; otherwise the whole file or device].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    pub(crate) size: Option<Bytes>,
    /// Start of the area in each file or device.
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub(crate) offset: Bytes,
    /// Distance between the starts of the jobs' areas, each --size long; with 0, all jobs use the
    /// same area.
    #[arg(long, value_name = "SIZE", value_parser = bytes, alias = "offset_increment")]
    pub(crate) offset_increment: Option<Bytes>,
    /// Combine the targets into one area: 0 (striped), 1 (mirrored) or 5 (with parity) [default: 0
    /// with --chunk; otherwise the targets stay separate].
    #[arg(long, value_name = "LEVEL", value_parser = raid)]
    pub(crate) raid: Option<RaidLevel>,
    /// Chunk size of --raid: contiguous bytes on one target [default: 64k].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    pub(crate) chunk: Option<Bytes>,
    /// Index (from 0) of the failed target of --raid 1 or 5, which gets no reads and no writes.
    #[arg(long, value_name = "N")]
    pub(crate) failed: Option<u32>,
    /// Rebuild the failed target from the others while the load runs, at this rate in bytes per
    /// second, or max. The load first runs without a rebuild, for comparison. The run ends when the
    /// rebuild is complete.
    #[arg(long, value_name = "RATE|max", value_parser = rebuild_pace, requires = "failed")]
    pub(crate) rebuild: Option<RebuildPace>,
    /// I/O engine: io_uring, libaio, sync (one request per job), threads (a pool), mmap, null (no
    /// I/O) [default: io_uring]. On Windows: iocp, events, readfileex, sync, threads, null [default:
    /// iocp].
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    pub(crate) ioengine: Option<EngineName>,
    /// With io_uring, poll for completions.
    #[arg(long)]
    pub(crate) hipri: bool,
    /// With io_uring, let a kernel thread poll for submissions.
    #[arg(long, alias = "sqthread_poll")]
    pub(crate) sqthread_poll: bool,
    /// Use huge pages for the buffers. Large requests then have few memory segments, so the kernel
    /// does not split them for devices that limit the number of segments. Without this flag, the
    /// system's setting applies.
    #[arg(long)]
    pub(crate) huge_pages: bool,
    /// Caches in use: all or Y (buffered), fs or S (buffered, O_DSYNC), device or H (O_DIRECT),
    /// none or N (O_DIRECT, O_DSYNC) [default: device; with mmap: all].
    #[arg(long, value_name = "MODE", value_parser = cache)]
    pub(crate) cache: Option<CacheMode>,
    /// As in fio: 1 (or no value) is --cache device, 0 is --cache all.
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1",
        value_parser = direct, conflicts_with = "cache")]
    pub(crate) direct: Option<CacheMode>,
    /// How to empty the page cache before the run: none (keep it), dontneed (only the area),
    /// scratch-read (read a large file, which evicts everything), drop-caches (needs root).
    #[arg(long, value_name = "HOW", default_value = "none",
        value_parser = one_of(&DropCache::ALL, DropCache::name))]
    pub(crate) drop_cache: DropCache,
    /// Before the run, write the area twice, then in further rounds until the device is steady
    /// (SNIA test specification).
    #[arg(long)]
    pub(crate) precondition: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Length of the measurement; with another stop rule, the maximum length, or none for no limit
    /// [default: 10s; in --beside, the --runtime of the first job].
    #[arg(long, value_name = "TIME|none", value_parser = run_time)]
    pub(crate) runtime: Option<Nanos>,
    /// Warm-up time before the measurement; the result excludes this time.
    #[arg(long, value_name = "TIME", default_value = "0s", alias = "ramp_time")]
    pub(crate) ramp_time: Nanos,
    /// End after this number of bytes, counted over all jobs.
    #[arg(long, value_name = "SIZE", value_parser = some_bytes, alias = "io_size")]
    pub(crate) io_size: Option<Bytes>,
    /// End after this number of passes over the area.
    #[arg(long, value_name = "N", alias = "loops")]
    pub(crate) passes: Option<u32>,
    /// End when the error bar of the rate (95 %) is at most plus or minus this percentage; with
    /// --hosts, the rate is the total of all machines.
    #[arg(long, value_name = "PERCENT", value_parser = ppm)]
    pub(crate) until_precision: Option<u32>,
    /// Include the start of the run in the result. By default, halfpower excludes a start that
    /// differs from the rest.
    #[arg(long)]
    pub(crate) keep_warm_up: bool,
    /// End the run after this time without a completion [default: 30s].
    #[arg(long, value_name = "TIME")]
    pub(crate) io_timeout: Option<Nanos>,
}

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Share of each written block that is zeros [default: 0; such blocks cannot be compressed].
    #[arg(long, value_name = "PERCENT", value_parser = percent,
        alias = "buffer_compress_percentage")]
    pub(crate) compressible: Option<u8>,
    /// Write zeros.
    #[arg(long, conflicts_with_all = ["compressible", "verify"], alias = "zero_buffers")]
    pub(crate) zeros: bool,
    /// Tag every written block and read all blocks back to find lost, misplaced, torn and stale
    /// blocks. A read-only load checks the blocks of an earlier run; use the --seed of that run.
    #[arg(long, conflicts_with = "compressible")]
    pub(crate) verify: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JobsArgs {
    /// Add a job that runs at the same time, with its own flags in quotes; can be repeated. Without
    /// a target, the job uses the targets of the first job.
    #[arg(long, value_name = "FLAGS", value_parser = beside, allow_hyphen_values = true)]
    pub(crate) beside: Vec<BesideRun>,
    /// Name of the job in the results.
    #[arg(long, value_name = "NAME")]
    pub(crate) job_name: Option<String>,
    /// In --beside: delay before the job starts.
    #[arg(long, value_name = "TIME")]
    pub(crate) start_delay: Option<Nanos>,
    /// I/O priority of the job: class rt, be or idle, and a level from 0 to 7, as in be/0.
    #[arg(long, value_name = "CLASS/LEVEL", value_parser = io_priority)]
    pub(crate) io_priority: Option<IoPriority>,
    /// CPUs that the job's threads are bound to, as in 0-3,6.
    #[arg(long, value_name = "LIST", value_parser = processors, alias = "cpus_allowed")]
    pub(crate) processors: Option<Processors>,
    /// Put the job's threads into the control group of this directory, as in
    /// /sys/fs/cgroup/blkio/slow. With cgroup v2, the group must be threaded. With --hosts, each
    /// machine uses its own group.
    #[arg(long, value_name = "DIR")]
    pub(crate) cgroup: Option<String>,
}

/// The flags of a job that runs beside the first one.
#[derive(Clone, Debug)]
pub(crate) struct BesideRun(pub(crate) Arc<RunArgs>);

fn beside(text: &str) -> Result<BesideRun, String> {
    let words = shlex::split(text).ok_or("a quote is not closed")?;
    let command = RunArgs::augment_args(Command::new("run").no_binary_name(true));
    // Here the target can be omitted.
    let command = command.mut_arg("targets", |_| Arg::new("targets").num_args(0..));
    let run = RunArgs::read_by(command, words.iter().map(String::as_str))?;
    let for_all = run.for_all_jobs().map(|flag| {
        format!("{flag} applies to all jobs together; use it outside --beside, or omit it")
    });
    for_all.or_else(|| run.contradiction_of_job()).map_or(Ok(BesideRun(Arc::new(run))), Err)
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Replay a trace instead of random requests: fio's iolog (version 2 or 3), text of blkparse,
    /// an ASCII trace of DiskSim, CSV of MSR Cambridge and others. FILE,times=us sets the unit of
    /// the recorded times. By default, requests are issued at their recorded times; --iodepth
    /// limits the requests in flight, and --passes repeats the trace.
    #[arg(long, value_name = "FILE", value_parser = recording, alias = "read_iolog")]
    pub(crate) replay: Option<Replay>,
    /// Replay speed: 1 (as recorded), 2 (twice as fast), or max (each request starts when another
    /// completes) [default: 1].
    #[arg(long, value_name = "FACTOR|max", value_parser = replay_pace, requires = "replay")]
    pub(crate) replay_speed: Option<ReplayPace>,
    /// Wrap offsets beyond the end of the area to its start; without this flag, such offsets are an
    /// error.
    #[arg(long, requires = "replay")]
    pub(crate) replay_wrap: bool,
}

/// Splits `FILE,times=UNIT` into the file of requests and the unit of its times, if one is given.
pub(crate) fn without_unit(word: &str) -> (&str, Option<&str>) {
    match word.rsplit_once(",times=") {
        Some((path, unit)) if !Path::new(word).exists() => (path, Some(unit)),
        _ => (word, None),
    }
}

/// The requests of a recording: `FILE`, or `FILE,times=ns` with the unit of its times.
pub(crate) fn recording(word: &str) -> Result<Replay, String> {
    let (path, unit) = without_unit(word);
    let named = unit.map(|unit| {
        replay::time_unit(unit).ok_or_else(|| format!("times={unit}: use ns, us, ms or s"))
    });
    let unit_ns = named.transpose()?;
    let is_known = |head: &[u8]| FileForm::of(head) == FileForm::Requests;
    let bytes = input::bytes_if_known(path.as_ref(), input::REQUESTS, is_known)
        .map_err(|error| error.reason.to_string())?;
    if let Some(why) = FileForm::of(&bytes).refusal(path).filter(|_| !is_known(&bytes)) {
        return Err(why);
    }
    let (text, failed) = (String::from_utf8_lossy(&bytes), |error: ReplayError| error.to_string());
    if let Some(taken) = replay::times_taken(&text, unit_ns).map_err(failed)? {
        output::remark(&format!("{path}: {taken}"));
    }
    let replay = replay::read(&text, unit_ns).map_err(failed)?;
    Ok(Replay { source: path.to_owned(), ..replay })
}

fn replay_pace(text: &str) -> Result<ReplayPace, String> {
    if text == "max" {
        return Ok(ReplayPace::AsFast);
    }
    let speed_milli = thousandths(text)?;
    Ok(ReplayPace::AtTimes { speed_milli })
}

#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Report rate, latencies and concurrency for each interval of this length.
    #[arg(long, value_name = "TIME")]
    pub(crate) interval: Option<Nanos>,
    /// Write the intervals to a CSV file.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Append the result to this CSV file as a line of 14 fields.
    #[arg(long, value_name = "FILE")]
    pub(crate) sqlio_csv: Option<PathBuf>,
    /// Comment in the line of --sqlio-csv.
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    /// Also write the trial as JSON to a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}
