//! The command line. Names follow fio where fio has the flag.

use crate::help::simulated_devices;
use clap::{Args, Parser, Subcommand, ValueEnum};
use record::{Bytes, CacheMode, EngineName, Nanos, Pattern, Scrub};
use std::path::PathBuf;
use store::{Store, StoreError};

/// Names the database where `--db` does not.
const DB_VARIABLE: &str = "HALFPOWER_DB";

/// What a disk should do, what it is doing, and what to change.
#[derive(Debug, Parser)]
#[command(
    name = "halfpower",
    version,
    about = "Measures what a disk does and says what to expect from it and how to use it.",
    after_help = "Examples:\n  \
        halfpower check                     characterise the disk under this directory\n  \
        halfpower run . --rw randread       one trial: 4 KiB random reads for 10 s\n  \
        halfpower check sim:mmc,service=100us   the same on a simulated device\n  \
        halfpower doctor                    what this machine can measure\n\n\
        Exit codes: 0 done, 1 done but not clean, 2 usage, 3 refused for safety, 4 no result,\n\
        130 interrupted."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Characterise a disk in about a minute: what to expect of it and how to use it.
    Check(CheckArgs),
    /// Run one trial.
    Run(RunArgs),
    /// List and show saved profiles.
    Profile(ProfileArgs),
    /// Say what this machine can measure and what not, and why.
    Doctor(DoctorArgs),
}

/// Where results are kept.
#[derive(Debug, Args)]
pub(crate) struct Keeping {
    /// Database of results [default: $HALFPOWER_DB, else halfpower/halfpower.db in the XDG data
    /// directory].
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    db: Option<PathBuf>,
}

impl Keeping {
    /// The file of the database. An empty variable is one that is not set, as for a shell's
    /// `${HALFPOWER_DB:-...}`; the parser's own variables would take it for an empty path.
    ///
    /// # Errors
    /// If no file is named and there is no default one.
    pub(crate) fn file(&self) -> Result<PathBuf, StoreError> {
        let variable = || std::env::var_os(DB_VARIABLE).filter(|value| !value.is_empty());
        match self.db.clone().or_else(|| variable().map(PathBuf::from)) {
            Some(path) => Ok(path),
            None => Store::default_path(),
        }
    }
}

/// `halfpower check`.
#[derive(Debug, Args)]
#[command(after_help = simulated_devices("Examples:\n  \
    halfpower check                       the disk under the current directory\n  \
    halfpower check /mnt/data --budget 2m\n  \
    halfpower check /dev/sdb              reads only, the whole device\n  \
    halfpower check --no-write --json > profile.json"))]
pub(crate) struct CheckArgs {
    /// Directory (a temporary test file in it), file, block device (both read only) or sim:NAME.
    #[arg(default_value = ".")]
    pub(crate) target: String,
    /// Measuring time, at least 5s; writing the test file comes on top.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = nanos)]
    pub(crate) budget: Nanos,
    /// Measure the full matrix: 36 cells, 4 to 128 KiB.
    #[arg(long)]
    pub(crate) full: bool,
    /// Measure no writes. A directory still gets its test file.
    #[arg(long)]
    pub(crate) no_write: bool,
    /// Size of the test file, or of the measured area
    /// [default: a tenth of the free space, 256 MiB to 2 GiB; all of a file or device].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    pub(crate) size: Option<Bytes>,
    /// Seed of all random choices [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print the profile as JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Do not save the results.
    #[arg(long, help_heading = "Results")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
}

/// What the requests do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    Randread,
    /// Random writes.
    Randwrite,
    /// Sequential reads and writes.
    #[value(name = "rw", alias = "readwrite")]
    Mixed,
    /// Random reads and writes.
    Randrw,
}

/// Where the requests go, if not as `--rw` says.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PatternArg {
    /// Random within a small area that was just read.
    Hit,
}

/// What is done to the page cache first.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ScrubArg {
    /// Nothing.
    None,
    /// Drop the area's clean pages.
    Dontneed,
}

/// `halfpower run`.
#[derive(Debug, Args)]
#[command(after_help = simulated_devices("Examples:\n  \
    halfpower run .                                  4 KiB random reads, depth 1, 10 s\n  \
    halfpower run /mnt/data --rw randrw --rwmixread 70 --iodepth 16\n  \
    halfpower run big.file --rw read --bs 64k --cache all\n  \
    halfpower run /dev/sdb --rw randread --iodepth 32 --json\n  \
    halfpower run sim:mm1,service=5ms --iodepth 4\n\n\
    Sizes: k m g are powers of 1024, kB MB GB powers of 1000, KiB MiB GiB powers of 1024."))]
pub(crate) struct RunArgs {
    /// Directory (a temporary test file in it), file (read only without --overwrite), block
    /// device (read only) or sim:NAME.
    pub(crate) target: String,

    /// What the requests do.
    #[arg(long, value_enum, default_value = "randread", help_heading = "Load")]
    pub(crate) rw: Rw,
    /// Request size.
    #[arg(long, value_name = "SIZE", default_value = "4k", value_parser = bytes, help_heading = "Load")]
    pub(crate) bs: Bytes,
    /// Requests outstanding per job.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) iodepth: u32,
    /// Jobs, a thread each.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub(crate) numjobs: u32,
    /// Share of reads in a mix [default: 50].
    #[arg(long, value_name = "PERCENT", help_heading = "Load")]
    pub(crate) rwmixread: Option<u8>,
    /// Another pattern than --rw names: hit re-reads a small area that a cache can serve.
    #[arg(long, value_enum, help_heading = "Load")]
    pub(crate) pattern: Option<PatternArg>,
    /// Size of the area of --pattern hit [default: 1m].
    #[arg(long, value_name = "SIZE", value_parser = bytes, requires = "pattern", help_heading = "Load")]
    pub(crate) hit_size: Option<Bytes>,
    /// Measured time.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = nanos, help_heading = "Load")]
    pub(crate) runtime: Nanos,
    /// Time that is run before it and not counted.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = nanos, help_heading = "Load")]
    pub(crate) ramp_time: Nanos,
    /// Seed of all random choices [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) seed: Option<u64>,

    /// Size of the test file, or of the area in a file or device [default as in check].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes, help_heading = "Target")]
    pub(crate) size: Option<Bytes>,
    /// Start of the area.
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = bytes, help_heading = "Target")]
    pub(crate) offset: Bytes,
    /// Allow writing to an existing file; its content is lost.
    #[arg(long, help_heading = "Target")]
    pub(crate) overwrite: bool,

    /// How requests are carried out: io_uring, sync (one request per job) or null (no I/O).
    #[arg(long, value_name = "ENGINE", default_value = "io_uring", value_parser = engine, help_heading = "How")]
    pub(crate) ioengine: EngineName,
    /// Caches in use: all (Y, 0: buffered), fs (S: buffered, O_DSYNC), device (H: O_DIRECT),
    /// none (N: O_DIRECT, O_DSYNC) [default: device].
    #[arg(long, value_name = "MODE", value_parser = cache, help_heading = "How")]
    pub(crate) cache: Option<CacheMode>,
    /// As in fio: 1 is --cache device, 0 is --cache all. Without a value 1.
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1",
        value_parser = direct, conflicts_with = "cache", help_heading = "How")]
    pub(crate) direct: Option<CacheMode>,
    /// What to do to the page cache before the run.
    #[arg(long, value_enum, default_value = "none", help_heading = "How")]
    pub(crate) scrub: ScrubArg,

    /// Print the trial as JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Write the trial as JSON to a file as well.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) output: Option<PathBuf>,
    /// Do not save the result.
    #[arg(long, help_heading = "Results")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
}

/// `halfpower profile`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// What to do with them.
    #[command(subcommand)]
    pub(crate) action: ProfileAction,
}

/// What can be done with saved profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileAction {
    /// List the saved profiles.
    List {
        #[command(flatten)]
        keeping: Keeping,
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Show one.
    Show {
        /// Its id, or the beginning of it; "last" is the newest.
        id: String,
        #[command(flatten)]
        keeping: Keeping,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// `halfpower doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Directory whose disk is meant.
    #[arg(default_value = ".")]
    pub(crate) directory: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn bytes(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error: record::UnitError| error.to_string())
}

fn some_bytes(text: &str) -> Result<Bytes, String> {
    match bytes(text)? {
        Bytes(0) => Err("it must be more than 0, for example 1g".to_owned()),
        size => Ok(size),
    }
}

fn nanos(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|error: record::UnitError| error.to_string())
}

/// fio's engines by what does the same here.
const FIO_ENGINES: &[(&str, EngineName)] = &[
    ("psync", EngineName::Sync),
    ("pvsync", EngineName::Sync),
    ("pvsync2", EngineName::Sync),
    ("vsync", EngineName::Sync),
    ("libaio", EngineName::IoUring),
    ("posixaio", EngineName::IoUring),
];

fn engine(text: &str) -> Result<EngineName, String> {
    let known = || engine::ENGINES.iter().map(|info| info.name);
    known().find(|name| name.name() == text).ok_or_else(|| {
        if let Some((_, same)) = FIO_ENGINES.iter().find(|(fio, _)| *fio == text) {
            return format!("here fio's '{text}' is --ioengine {}", same.name());
        }
        let names: Vec<&str> = known().map(EngineName::name).collect();
        format!("there is no engine '{text}'; use one of {}", names.join(", "))
    })
}

/// fio's `direct`, which is a switch.
fn direct(text: &str) -> Result<CacheMode, String> {
    match text {
        "1" => Ok(CacheMode::Device),
        "0" => Ok(CacheMode::All),
        _ => Err("use --direct=1 or --direct=0, or put --direct last".to_owned()),
    }
}

fn cache(text: &str) -> Result<CacheMode, String> {
    match text {
        "all" | "Y" | "y" | "0" => Ok(CacheMode::All),
        "fs" | "S" | "s" => Ok(CacheMode::Fs),
        "device" | "H" | "h" => Ok(CacheMode::Device),
        "none" | "N" | "n" => Ok(CacheMode::None),
        _ => Err("use all, fs, device or none, or their letters Y (or 0), S, H, N".to_owned()),
    }
}

impl RunArgs {
    /// The workload that the flags ask for.
    pub(crate) fn spec(&self) -> workload::Spec {
        let (read_percent, pattern) = match self.rw {
            Rw::Read => (100, Pattern::Sequential),
            Rw::Write => (0, Pattern::Sequential),
            Rw::Randread => (100, Pattern::Random),
            Rw::Randwrite => (0, Pattern::Random),
            Rw::Mixed => (self.rwmixread.unwrap_or(50), Pattern::Sequential),
            Rw::Randrw => (self.rwmixread.unwrap_or(50), Pattern::Random),
        };
        let spec = workload::Spec {
            read_percent,
            pattern: if self.pattern.is_some() { Pattern::Hit } else { pattern },
            hit_bytes: self.hit_size,
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            cache: self.cache.or(self.direct).unwrap_or(CacheMode::Device),
            engine: self.ioengine,
            offset: self.offset,
            size: self.size,
            scrub: match self.scrub {
                ScrubArg::None => Scrub::None,
                ScrubArg::Dontneed => Scrub::Dontneed,
            },
            runtime: self.runtime,
            ramp: self.ramp_time,
            ..workload::Spec::default()
        };
        spec.with_bs(self.bs.0)
    }

    /// A mistake that the parser cannot see.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let mix = matches!(self.rw, Rw::Mixed | Rw::Randrw);
        (self.rwmixread.is_some() && !mix)
            .then(|| "--rwmixread needs a mix: use --rw rw or --rw randrw with it".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_letter_of_sqlio_names_its_cache_mode() {
        for mode in [CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None] {
            assert_eq!(cache(&mode.letter().to_string()), Ok(mode));
            assert_eq!(cache(mode.name()), Ok(mode));
        }
        assert_eq!(cache("0"), Ok(CacheMode::All));
        assert!(cache("some").is_err());
    }
}
