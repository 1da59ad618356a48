//! `halfpower predict`: what a load would see of a device that was measured, or of a data sheet.

use crate::failure::{Interruption, UsageError};
use crate::output::{self, Verdict};
use crate::profiles::{open_again, saved};
use crate::progress::Progress;
use crate::store_args::StoreArgs;
use crate::values::{Mix as Sizes, depth, mix, nanos, percent, rate};
use anyhow::Context;
use clap::{Args, ValueEnum};
use model::{DriftNow, PredictQuestion, Predictor};
use plan::{DriftProbe, LoadSpec};
use record::{Bytes, Nanos, Objective, Offered, Profile, TargetKind};
use session::{Driver, End, Targets};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Reads, where the user says nothing of writes.
const READ_PERCENT: u8 = 100;
/// Request size where the user names none.
const BS: Bytes = Bytes(4096);

/// `halfpower predict`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower predict last --rate-iops 3000 --rwmixread 70% --bs 8k --sequential 20%\n  \
    halfpower predict 0192f --iodepth 16 --bs 64k\n  \
    halfpower predict last --rwmixread 70% --bs 8k --slo p99=5ms --slo mean=2ms\n  \
    halfpower predict last --now --rate-iops 3000 --bs 8k\n  \
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
    /// Requests per second.
    #[arg(long, value_name = "N", value_parser = rate, conflicts_with = "iodepth")]
    rate_iops: Option<f64>,
    /// Requests outstanding, a constant number, instead of a rate.
    #[arg(long, value_name = "N", value_parser = depth)]
    iodepth: Option<f64>,
    /// Share of reads [default: 100%].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    rwmixread: Option<u8>,
    /// Request size, or sizes with shares (4k/60:64k/40) [default: 4k].
    #[arg(long, value_name = "SIZE", value_parser = mix)]
    bs: Option<Sizes>,
    /// Share of requests that continue the one before.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    sequential: u8,
    /// Share of requests that a cache of the device serves.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    hit: u8,
    /// How requests arrive: independently of each other, or at equal distances.
    #[arg(long, value_name = "NAME", default_value = "poisson", requires = "rate_iops")]
    arrival: ArrivalName,
    /// A target for which the highest rate is asked: mean=2ms or p99=5ms. Once for each.
    #[arg(long, value_name = "TARGET", value_parser = objective)]
    slo: Vec<Objective>,
    /// A data sheet in place of a profile: seek, rotation and transfer, and M/M/1.
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Measure for about 40 s how much slower or faster the device is now, and predict for that.
    #[arg(long, conflicts_with = "spec")]
    now: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalName {
    /// Independently of each other.
    Poisson,
    /// At equal distances.
    Constant,
}

fn objective(text: &str) -> Result<Objective, String> {
    let usage = "use mean=TIME or p99=TIME, for example p99=5ms";
    let (name, time) = text.split_once('=').ok_or(usage)?;
    let Nanos(time) = nanos(time)?;
    match name {
        "mean" => Ok(Objective::MeanNs(time as f64)),
        "p99" => Ok(Objective::P99Ns(time as f64)),
        _ => Err(usage.to_owned()),
    }
}

/// Predicts and prints.
pub(crate) fn predict(arguments: &PredictArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    // A profile that is not there is said first: without it no other flag means anything.
    let profile = arguments.profile.as_ref().map(|id| saved(&arguments.keeping, id)).transpose()?;
    if arguments.rate_iops.is_none() && arguments.iodepth.is_none() && arguments.slo.is_empty() {
        let text = "say how much is asked of the device: --rate-iops, --iodepth, or --slo for the highest rate";
        return Err(usage(text));
    }
    let places = u32::from(arguments.sequential) + u32::from(arguments.hit);
    if places > 100 {
        return Err(usage(format!("--sequential and --hit add up to {places} %; at most 100 %")));
    }
    let question = arguments.question();
    let document = match (&arguments.spec, &profile) {
        (Some(_), _) if arguments.iodepth.is_some() => {
            let text =
                "--iodepth: a data sheet says nothing of requests outstanding; use --rate-iops";
            return Err(usage(text));
        }
        (Some(file), _) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the data sheet {}", file.display()))?;
            let (name, sheet) = ::limits::data_sheet::parse(&text)
                .map_err(|error| usage(format!("{}: {error}", file.display())))?;
            question.by_sheet(name, &sheet)
        }
        (None, Some(profile)) if arguments.now => {
            let (predictor, now) = now(profile, stop)?;
            question.by_profile(profile, &predictor, Some(now))
        }
        (None, Some(profile)) => question.by_profile(profile, &Predictor::new(profile), None),
        (None, None) => return Err(usage("name a profile, or --spec")),
    };
    // A load that the device cannot carry is a wrong question, not a failure.
    let document = document.map_err(|error| usage(error.to_string()))?;
    output::document(arguments.json, &document, || output::page(&report::prediction(&document)))?;
    Ok(Verdict::Clean)
}

fn usage(text: impl Into<String>) -> anyhow::Error {
    UsageError(text.into()).into()
}

impl PredictArgs {
    fn question(&self) -> PredictQuestion {
        let random = LoadSpec::random(self.rwmixread.unwrap_or(READ_PERCENT), BS.0);
        let bs = self.bs.as_ref().map_or_else(|| random.bs.clone(), |sizes| sizes.0.clone());
        let load =
            LoadSpec { bs, sequential_percent: self.sequential, hit_percent: self.hit, ..random };
        let offered = match (self.rate_iops, self.arrival) {
            (Some(rate), ArrivalName::Poisson) => Some(Offered::PoissonPerS(rate)),
            (Some(rate), ArrivalName::Constant) => Some(Offered::ConstantPerS(rate)),
            (None, _) => self.iodepth.map(Offered::Depth),
        };
        PredictQuestion {
            mix: load.mix(),
            offered,
            objectives: self.slo.clone(),
            halfpower_version: session::VERSION.to_owned(),
        }
    }
}

/// What the device does now, and the predictor by the profile and by what was seen now.
fn now(profile: &Profile, stop: &Arc<AtomicBool>) -> anyhow::Result<(Predictor, DriftNow)> {
    if profile.simulated {
        let text = "--now: the time of a simulated device begins anew; there is no other level";
        return Err(usage(text));
    }
    // In a directory it is a file of halfpower's own that is written.
    let write = profile.target.kind == TargetKind::Directory
        && profile.cells.iter().any(|cell| cell.workload.writes());
    let (seed, cells) = (session::seed(None, false), profile.all_cells());
    let profiled = Predictor::of_cells(&cells);
    let mut probe = DriftProbe::new(&cells, &profiled, write, seed).ok_or_else(|| {
        usage(
            "--now: the profile holds too few loops of random requests to tell the level of the \
             device; make another with `check --for-diagnosis`",
        )
    })?;
    let mut progress = Progress::new();
    let session = open_again(profile, write, seed, stop, &mut progress)?;
    let finished = Driver::new(Targets::one(session), None, &mut progress).run(&mut probe)?;
    if finished.end == End::Interrupted {
        return Err(Interruption("nothing is predicted".to_owned()).into());
    }
    let level = probe.level().context(
        "--now: the level of the device is not told, because no visit to the profile's loads counts; \
         the machine may be too busy for it",
    )?;
    let now = DriftNow { level, ends: probe.ends(), since: probe.since() };
    Ok((Predictor::of_cells(&probe.updated(&cells)), now))
}
