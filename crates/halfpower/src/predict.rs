//! `halfpower predict`: what a load would see of a device that was measured, or of a data sheet.

use crate::failure::usage;
use crate::output::Verdict;
use crate::progress::Progress;
use crate::run_args::ARRIVALS;
use crate::store_args::ViewArgs;
use crate::values::{Mix as Sizes, choice, depth, mix, percent, rate, unit};
use anyhow::Context;
use clap::Args;
use model::{PredictError, PredictQuestion, Predictor, Sessions};
use plan::LoadSpec;
use record::{Arrival, Bytes, LogKind, Mix, Nanos, Objective, Offered};
use session::{SessionError, StopFlag};
use std::path::PathBuf;

/// Reads, where the user says nothing of writes.
const READ_PERCENT: u8 = 100;
/// Request size where the user names none.
const BS: Bytes = Bytes(4096);

/// What sessions commit to.
const LOGS: &[(&str, LogKind)] =
    &[("overwritten", LogKind::Overwritten), ("new-blocks", LogKind::NewBlocks)];

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower predict last --rate-iops 3000 --rwmixread 70% --bs 8k --sequential 20%\n  \
    halfpower predict 0192f --iodepth 16 --bs 64k\n  \
    halfpower predict last --rwmixread 70% --bs 8k --slo p99=5ms --slo mean=2ms\n  \
    halfpower predict last --now --rate-iops 3000 --bs 8k\n  \
    halfpower predict last --sessions 16 --work 200us     commits of a database\n  \
    halfpower predict --spec drive.toml --rate-iops 80 --bs 4k\n\n\
    A data sheet is a TOML file:\n  \
    name = \"a server disk of 2003\"\n  \
    seek = \"5ms\"\n  \
    write-seek = \"5.5ms\"     # where it differs\n  \
    rpm = 10000\n  \
    transfer = \"43MB/s\"\n  \
    overhead = \"0.1ms\"       # controller and bus, where known")]
pub(crate) struct PredictArgs {
    /// Id of a saved profile, or the beginning of it; "last" is the newest.
    #[arg(required_unless_present = "spec", conflicts_with = "spec")]
    profile: Option<String>,
    #[command(flatten)]
    load: LoadArgs,
    /// Requests outstanding, a constant number, instead of a rate.
    #[arg(long, value_name = "N", value_parser = depth, conflicts_with = "rate_iops")]
    iodepth: Option<f64>,
    /// Request size, or sizes with shares (4k/60:64k/40) [default: 4k].
    #[arg(long, value_name = "SIZE", value_parser = mix)]
    bs: Option<Sizes>,
    /// Share of requests that continue the one before.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    sequential: u8,
    /// A target for which the highest rate is asked: mean=2ms or p99=5ms. Once for each.
    #[arg(long, value_name = "TARGET", value_parser = objective)]
    slo: Vec<Objective>,
    /// A data sheet in place of a profile: seek, rotation and transfer, and M/M/1.
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Sessions that commit and share flushes, in place of requests.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000),
        conflicts_with_all = ["spec", "now", "rate_iops", "iodepth", "slo", "bs", "rwmixread"])]
    sessions: Option<u32>,
    /// What each of them does on a processor between two commits.
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "sessions")]
    work: Nanos,
    /// Processors for that [default: those of the profiled machine].
    #[arg(long, value_name = "N", requires = "sessions",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    processors: Option<u32>,
    /// Bytes of a commit in a log of new blocks: only the first record of a block has a flush of a new
    /// one [default: whole blocks].
    #[arg(long, value_name = "SIZE", requires = "sessions")]
    record: Option<Bytes>,
    /// Their log: overwritten (files used again, as PostgreSQL and InnoDB do) or new-blocks (files
    /// that grow, as etcd and MySQL's binary log do).
    #[arg(long, value_name = "KIND", default_value = "overwritten", requires = "sessions",
        value_parser = choice(LOGS))]
    log: LogKind,
    /// Measure for about 40 s how much slower or faster the device is now, and predict for that.
    #[arg(long, conflicts_with = "spec")]
    now: bool,
    #[command(flatten)]
    view: ViewArgs,
}

/// What is asked of a device, in the flags that `predict` and `whatif` share.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Requests per second.
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) rate_iops: Option<f64>,
    /// Share of reads [default: 100%].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) rwmixread: Option<u8>,
    /// Share of requests that a cache of the device serves.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    pub(crate) hit: u8,
    /// How requests arrive: poisson (independently of each other) or constant (at equal distances).
    #[arg(long, value_name = "NAME", default_value = "poisson", requires = "rate_iops",
        value_parser = choice(ARRIVALS))]
    arrival: Arrival,
}

impl LoadArgs {
    /// The mix, with these sizes and this share of requests that continue the one before.
    pub(crate) fn mix(&self, bs: Option<&Sizes>, sequential: u8) -> anyhow::Result<Mix> {
        let places = u32::from(sequential) + u32::from(self.hit);
        if places > 100 {
            let text = format!("--sequential and --hit add up to {places} %; at most 100 %");
            return Err(usage(text));
        }
        let mut load = LoadSpec::random(self.rwmixread.unwrap_or(READ_PERCENT), BS.0);
        (load.sequential_percent, load.hit_percent) = (sequential, self.hit);
        if let Some(sizes) = bs {
            load.bs.clone_from(&sizes.0);
        }
        Ok(load.mix())
    }

    /// How much: a rate, else a number outstanding.
    pub(crate) fn offered(&self, depth: Option<f64>) -> Option<Offered> {
        let offered = match self.arrival {
            Arrival::Constant => Offered::ConstantPerS,
            _ => Offered::PoissonPerS,
        };
        self.rate_iops.map(offered).or(depth.map(Offered::Depth))
    }
}

pub(crate) fn objective(text: &str) -> Result<Objective, String> {
    let usage = "use mean=TIME or p99=TIME, for example p99=5ms";
    let (name, time) = text.split_once('=').ok_or(usage)?;
    let Nanos(time) = unit(time)?;
    match name {
        "mean" => Ok(Objective::MeanNs(time as f64)),
        "p99" => Ok(Objective::P99Ns(time as f64)),
        _ => Err(usage.to_owned()),
    }
}

pub(crate) fn predict(arguments: &PredictArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    // A profile that is not there is said first: without it no other flag means anything.
    let keeping = &arguments.view.keeping;
    let profile = arguments.profile.as_ref().map(|id| keeping.profile(id)).transpose()?;
    let offered = arguments.load.offered(arguments.iodepth);
    if offered.is_none() && arguments.slo.is_empty() && arguments.sessions.is_none() {
        return Err(usage(
            "say how much is asked of the device: --rate-iops, --iodepth, --slo for the highest \
             rate, or --sessions for commits",
        ));
    }
    let question = PredictQuestion {
        mix: arguments.load.mix(arguments.bs.as_ref(), arguments.sequential)?,
        offered,
        objectives: arguments.slo.clone(),
        halfpower_version: session::VERSION.to_owned(),
    };
    let document = match (&arguments.spec, &profile) {
        (Some(_), _) if arguments.iodepth.is_some() => {
            return Err(usage(
                "--iodepth: a data sheet says nothing of requests outstanding; use --rate-iops",
            ));
        }
        (Some(file), _) => {
            let text = input::text(file, input::DATA_SHEET).context("the data sheet")?;
            let (name, sheet) = ::limits::data_sheet::parse(&text)
                .map_err(|error| usage(format!("{}: {error}", file.display())))?;
            question.by_sheet(name, &sheet)
        }
        (None, Some(profile)) if let Some(sessions) = arguments.sessions => {
            let cpus = profile.environment.as_ref().map_or(1, |machine| machine.cpus);
            let processors = arguments.processors.unwrap_or(cpus);
            let work_ns = arguments.work.0 as f64;
            if arguments.record.is_some() && arguments.log != LogKind::NewBlocks {
                return Err(usage("--record is about a log that grows; add --log new-blocks"));
            }
            let record_bytes = arguments.record.map(|bytes| bytes.0);
            let sessions = Sessions { sessions, work_ns, processors, record_bytes };
            question.by_commits(profile, arguments.log, &sessions)
        }
        (None, Some(profile)) if arguments.now => {
            let (predictor, now) = session::drift_now(profile, stop, &mut Progress::new())?;
            question.by_profile(profile, &predictor, Some(now))
        }
        (None, Some(profile)) => question.by_profile(profile, &Predictor::new(profile), None),
        (None, None) => return Err(usage("name a profile, or --spec")),
    };
    // A load that the device cannot carry is a wrong question, not a failure; what the profile does not
    // tell is no result.
    let document = document.map_err(|error| match error {
        PredictError::NoPercentile => SessionError::NoResult(error.to_string()).into(),
        error => usage(error.to_string()),
    })?;
    arguments.view.show(&document, &report::prediction(&document))
}
