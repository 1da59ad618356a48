//! `halfpower predict`: what a load would see of a device that was measured, or of a data sheet.

use crate::drift_probe::{DriftProbe, Look};
use crate::failure::UsageError;
use crate::output::{self, Verdict};
use crate::profiles::{open_again, saved};
use crate::progress::Progress;
use crate::store_args::StoreArgs;
use crate::values::{Mix as Sizes, mix, nanos, percent};
use anyhow::Context;
use clap::{Args, ValueEnum};
use model::{DataSheet, DriftFactors, PredictError, Predictor, Slo};
use plan::LoadSpec;
use record::{
    Bytes, Mix, ModelAccuracy, ModelName, Nanos, Objective, ObjectiveAnswer, Offered,
    PREDICTION_SCHEMA, Prediction, PredictionDocument, Profile, SheetPrediction, SinceProfile,
    TargetKind,
};
use serde::Deserialize;
use session::Display;
use session::{self, VERSION};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Reads, where the user says nothing of writes.
const READ_PERCENT: u8 = 100;
/// Request size where the user names none.
const BS: Bytes = Bytes(4096);
/// The rate of a data sheet where the user names none: a request now and then.
const LIGHT_SHARE: f64 = 1e-6;

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

pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| *rate > 0.0 && rate.is_finite());
    rate.ok_or_else(|| "use requests per second, for example 3000".to_owned())
}

pub(crate) fn depth(text: &str) -> Result<f64, String> {
    let depth = text.parse::<f64>().ok().filter(|depth| (1.0..=65_536.0).contains(depth));
    depth.ok_or_else(|| "use a number of requests from 1 to 65536, for example 16".to_owned())
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
    if arguments.rate_iops.is_none() && arguments.iodepth.is_none() && arguments.slo.is_empty() {
        let text = "say how much is asked of the device: --rate-iops, --iodepth, or --slo for the highest rate";
        return Err(UsageError(text.to_owned()).into());
    }
    let places = u32::from(arguments.sequential) + u32::from(arguments.hit);
    if places > 100 {
        let text = format!("--sequential and --hit add up to {places} %; at most 100 %");
        return Err(UsageError(text).into());
    }
    let document = match (&arguments.spec, &arguments.profile) {
        (Some(file), _) => by_sheet(arguments, file)?,
        (None, Some(id)) => by_profile(arguments, &saved(&arguments.keeping, id)?, stop)?,
        (None, None) => return Err(UsageError("name a profile, or --spec".to_owned()).into()),
    };
    output::document(arguments.json, &document, || output::page(&report::prediction(&document)))?;
    Ok(Verdict::Clean)
}

impl PredictArgs {
    fn mix(&self) -> Mix {
        let bs = self
            .bs
            .as_ref()
            .map_or_else(|| LoadSpec::random(100, BS.0).bs, |sizes| sizes.0.clone());
        let load = LoadSpec {
            read_percent: self.rwmixread.unwrap_or(READ_PERCENT),
            bs,
            sequential_percent: self.sequential,
            hit_percent: self.hit,
        };
        load.mix()
    }

    fn offered(&self) -> Option<Offered> {
        match (self.rate_iops, self.arrival) {
            (Some(rate), ArrivalName::Poisson) => Some(Offered::PoissonPerS(rate)),
            (Some(rate), ArrivalName::Constant) => Some(Offered::ConstantPerS(rate)),
            (None, _) => self.iodepth.map(Offered::Depth),
        }
    }
}

fn by_profile(
    arguments: &PredictArgs,
    profile: &Profile,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<PredictionDocument> {
    let predictor = Predictor::new(profile);
    let now = arguments.now.then(|| level_now(profile, &predictor, stop)).transpose()?;
    let (predictor, level, ends, since_profile) = match now {
        Some(now) => (now.predictor, now.level, now.ends, Some(now.since)),
        None => (predictor, DriftFactors::PROFILED, Vec::new(), None),
    };
    let mix = arguments.mix();
    let offered = arguments.offered();
    let mut predictions = Vec::new();
    let advised = predictor.advised();
    if let Some(offered) = offered {
        let predicted = |model| predictor.predict_near(level, &ends, model, &mix, offered);
        predictions.push(predicted(advised).map_err(|error| not_predicted(&error))?);
        let others = ModelName::ALL.into_iter().filter(|model| *model != advised);
        // The calibrated model without a trial behind it is the one before it.
        let known =
            |model: &ModelName| *model != ModelName::Calibrated || !predictor.errors().is_empty();
        predictions.extend(others.filter(known).filter_map(|model| predicted(model).ok()));
        predictions.sort_by_key(|prediction| prediction.model);
    }
    let objectives = arguments.slo.iter().map(|&objective| {
        let slo = match objective {
            Objective::MeanNs(most) => Slo::MeanNs(most),
            Objective::P99Ns(most) => Slo::P99Ns(most),
        };
        let at = predictor.highest_rate(level, &mix, slo);
        let near =
            |at: Prediction| predictor.predict_near(level, &ends, at.model, &mix, at.offered);
        match at.and_then(near) {
            Ok(at) => ObjectiveAnswer { objective, at: Some(at), not: None },
            Err(error) => ObjectiveAnswer { objective, at: None, not: Some(error.to_string()) },
        }
    });
    let objectives = objectives.collect();
    Ok(PredictionDocument {
        schema: PREDICTION_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        profile_id: Some(profile.id.clone()),
        profile_time: profile.time.clone(),
        target: Some(profile.target.path.clone()),
        simulated: profile.simulated,
        mix,
        offered,
        advised: Some(advised),
        predictions,
        accuracy: accuracies(&predictor),
        objectives,
        since_profile,
        sheet: None,
    })
}

/// How the device does now.
struct Now {
    /// By the profile and by what was seen now.
    predictor: Predictor,
    level: DriftFactors,
    /// The level at the ends of its intervals.
    ends: Vec<DriftFactors>,
    since: SinceProfile,
}

fn level_now(
    profile: &Profile,
    predictor: &Predictor,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Now> {
    let seed = session::seed(None, false);
    if profile.simulated {
        let text = "--now: the time of a simulated device begins anew; there is no other level";
        return Err(UsageError(text.to_owned()).into());
    }
    // In a directory it is a file of halfpower's own that is written.
    let write = profile.target.kind == TargetKind::Directory
        && profile.cells.iter().any(|cell| cell.workload.writes());
    let cells = profile.all_cells();
    let Some(mut gauge) = DriftProbe::new(&cells, predictor, write, seed) else {
        let text = "--now: the profile holds too few loops of random requests to tell the level of the \
                    device; make another with `check --for-diagnosis`";
        return Err(UsageError(text.to_owned()).into());
    };
    let mut progress = Progress::new();
    let mut session = open_again(profile, write, seed, stop, &mut progress)?;
    let (mut spent, whole) = (Nanos(0), gauge.time(Look::Whole));
    let level = gauge.look(predictor, Look::Whole, &mut |workload, seed| {
        progress.measuring("level", &plan::describe(workload), spent, whole);
        spent = spent.plus(workload.runtime_ns).plus(workload.ramp_ns);
        Ok(session.trial(workload, seed, &mut |_| ())?)
    });
    progress.clear();
    let level = level?.context(
        "--now: the level of the device is not told, because no visit to the profile's loads counts; \
         the machine may be too busy for it",
    )?;
    Ok(Now {
        predictor: Predictor::of_cells(&gauge.mended(&cells)),
        level,
        ends: gauge.ends(),
        since: gauge.since(),
    })
}

/// Errors of the models on the profile's own trials, the best first.
fn accuracies(predictor: &Predictor) -> Vec<ModelAccuracy> {
    let some = |share: f64| Some(share).filter(|share| share.is_finite());
    let of = |error: &model::ModelError| ModelAccuracy {
        model: error.model,
        median_rel: some(error.median_rel),
        loaded_median_rel: some(error.loaded_median_rel),
        trials: u32::try_from(error.trials).unwrap_or(u32::MAX),
    };
    predictor.errors().iter().map(of).collect()
}

/// A load that the device cannot carry is a wrong question, not a failure.
fn not_predicted(error: &PredictError) -> anyhow::Error {
    UsageError(error.to_string()).into()
}

/// A data sheet as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    name: String,
    seek: Option<String>,
    write_seek: Option<String>,
    rpm: Option<f64>,
    transfer: String,
    overhead: Option<String>,
}

fn by_sheet(arguments: &PredictArgs, file: &Path) -> anyhow::Result<PredictionDocument> {
    if arguments.iodepth.is_some() {
        let text = "--iodepth: a data sheet says nothing of requests outstanding; use --rate-iops";
        return Err(UsageError(text.to_owned()).into());
    }
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the data sheet {}", file.display()))?;
    let (name, sheet) =
        sheet(&text).map_err(|error| UsageError(format!("{}: {error}", file.display())))?;
    let mix = arguments.mix();
    let alone = sheet.at_rate(&mix, 0.0).map_err(|error| not_predicted(&error))?;
    let rate = arguments.rate_iops.unwrap_or(LIGHT_SHARE * alone.max_per_s);
    let answer = sheet.at_rate(&mix, rate).map_err(|error| not_predicted(&error))?;
    let [seek_ns, rotation_ns, transfer_ns, overhead_ns] = answer.parts_ns;
    let mut highest = None;
    for objective in &arguments.slo {
        let slo = match *objective {
            Objective::MeanNs(most) => Slo::MeanNs(most),
            Objective::P99Ns(most) => Slo::P99Ns(most),
        };
        let kept = sheet.highest_rate(&mix, slo).map_err(|error| not_predicted(&error))?;
        let rate = kept.utilization * kept.max_per_s;
        highest = Some(highest.map_or(rate, |other: f64| other.min(rate)));
    }
    Ok(PredictionDocument {
        schema: PREDICTION_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        profile_id: None,
        profile_time: None,
        target: None,
        simulated: false,
        mix,
        offered: arguments.offered(),
        advised: None,
        predictions: Vec::new(),
        accuracy: Vec::new(),
        objectives: Vec::new(),
        since_profile: None,
        sheet: Some(SheetPrediction {
            name,
            seek_ns,
            rotation_ns,
            transfer_ns,
            overhead_ns,
            service_ns: answer.service_ns,
            max_per_s: answer.max_per_s,
            utilization: answer.utilization,
            latency_ns: answer.latency_ns,
            p99_ns: answer.p99_ns,
            highest_per_s: highest,
        }),
    })
}

/// A data sheet from its text.
fn sheet(text: &str) -> Result<(String, DataSheet), String> {
    let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
    let time = |key: &str, text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => {
            nanos(text).map(|time| Some(time.0 as f64)).map_err(|error| format!("{key}: {error}"))
        }
    };
    let seek = time("seek", &written.seek)?.unwrap_or(0.0);
    let bytes_per_s =
        ::limits::pap::rate_of(&written.transfer).map_err(|error| format!("transfer: {error}"))?;
    let rpm = written.rpm.unwrap_or(0.0);
    if !(0.0..=1e6).contains(&rpm) {
        return Err("rpm: use revolutions per minute, for example 7200".to_owned());
    }
    let sheet = DataSheet {
        read_seek_ns: seek,
        write_seek_ns: time("write-seek", &written.write_seek)?.unwrap_or(seek),
        rpm,
        bytes_per_s,
        overhead_ns: time("overhead", &written.overhead)?.unwrap_or(0.0),
    };
    Ok((written.name, sheet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friedmans_table_1_gives_8_0_to_8_1_ms_for_a_random_read_of_4_kib() {
        for (transfer, expected_ms) in [("43MB/s", 8.095), ("78MB/s", 8.053)] {
            let text =
                format!("name = 'server disk'\nseek = '5ms'\nrpm = 10000\ntransfer = '{transfer}'");
            let (_, sheet) = sheet(&text).unwrap();
            let answer = sheet.at_rate(&LoadSpec::random(100, 4096).mix(), 0.0).unwrap();
            let found = answer.service_ns / 1e6;
            assert!((found - expected_ms).abs() < 0.001, "{transfer}: {found}");
        }
    }

    #[test]
    fn a_sheet_with_a_slip_says_which_key() {
        let of =
            |line: &str| sheet(&format!("name = 'x'\ntransfer = '40MB/s'\n{line}")).unwrap_err();
        assert!(of("seek = '5 parsecs'").starts_with("seek:"));
        assert!(of("rpm = -1").starts_with("rpm:"));
        assert!(of("sek = '5ms'").contains("sek"));
    }
}
