//! `halfpower predict`: predicts the latency of a load, from a profile or a data sheet, with or without a
//! change.

use crate::changed;
use crate::failure::{refuse_given, usage};
use crate::output::Verdict;
use crate::predict_args::PredictArgs;
use crate::progress::Progress;
use anyhow::Context;
use engine::input;
use model::{PredictError, PredictQuestion, Predictor, Sessions};
use plan::session::{self, SessionError, StopFlag};
use record::{LogKind, PredictionDocument, Profile};
use report::Story;
use std::path::Path;

pub(crate) fn predict(arguments: &PredictArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let keeping = &arguments.view.keeping;
    let source = match (&arguments.source, &arguments.spec) {
        (Some(source), _) => source,
        (None, Some(file)) => return by_sheet(arguments, file),
        (None, None) => {
            return Err(usage(
                "name a profile, or `last` for the newest; to make a profile, run `halfpower \
                 check TARGET` (--spec FILE predicts from a data sheet)",
            ));
        }
    };
    if let Some(observation) = changed::observation(arguments, source)? {
        arguments.refuse_unchanged("applies to a profile, not to a recording; name a profile")?;
        let document = changed::of_observation(arguments, &observation)?;
        return arguments.view.show(&document, &report::whatif(&document));
    }
    if arguments.change.balance {
        let text = "--balance applies to the load of a recording: name a recording, not a profile";
        return Err(usage(text));
    }
    // Report a missing profile first: without it, no other flag means anything.
    let profile = keeping.profile(source)?;
    if !arguments.changes(false)?.is_empty() {
        arguments.refuse_unchanged(
            "predicts only the unchanged disk, and cannot be combined with a change; omit one of \
             them",
        )?;
        let (predictor, setup) = (Predictor::new(&profile), arguments.stated()?);
        let document = changed::of_load(arguments, None, &profile, &predictor, &setup)?;
        return arguments.view.show(&document, &about(&profile, report::whatif(&document)));
    }
    let question = arguments.question()?;
    let document = if let Some(sessions) = arguments.sessions.sessions {
        let cpus = profile.environment.as_ref().map_or(1, |machine| machine.cpus);
        let asked = &arguments.sessions;
        let processors = asked.processors.unwrap_or(cpus);
        let work_ns = asked.work.0 as f64;
        if asked.record.is_some() && asked.log != LogKind::NewBlocks {
            return Err(usage("--record applies only to a log that grows; add --log new-blocks"));
        }
        let record_bytes = asked.record.map(|bytes| bytes.0);
        let sessions = Sessions { sessions, work_ns, processors, record_bytes };
        question.by_commits(&profile, asked.log, &sessions)
    } else if arguments.now {
        let (predictor, now) = session::drift_now(&profile, stop, &mut Progress::new())?;
        question.by_profile(&profile, &predictor, Some(now))
    } else {
        question.by_profile(&profile, &Predictor::new(&profile), None)
    };
    arguments.show(document, |story| about(&profile, story))
}

/// The story of a prediction, with a finding if its profile is partial.
fn about(profile: &Profile, mut story: Story) -> Story {
    story.findings.extend(profile.partial().cloned());
    story
}

/// Predicts from a data sheet.
fn by_sheet(arguments: &PredictArgs, file: &Path) -> anyhow::Result<Verdict> {
    if !arguments.iodepth.is_empty() {
        return Err(usage(
            "--iodepth: a data sheet does not describe how the disk queues requests; use \
             --rate-iops",
        ));
    }
    if !arguments.changes(false)?.is_empty() || arguments.change.balance {
        return Err(usage("a change needs a profile; to make one, run `halfpower check TARGET`"));
    }
    let question = arguments.question()?;
    let text = input::text(file, input::DATA_SHEET).context("the data sheet")?;
    let (name, sheet) = ::plan::limits::data_sheet::parse(&text)
        .map_err(|error| usage(format!("{}: {error}", file.display())))?;
    arguments.show(question.by_sheet(name, &sheet), |story| story)
}

impl PredictArgs {
    fn question(&self) -> anyhow::Result<PredictQuestion> {
        let offered = self.offered();
        if offered.is_none() && self.slo.is_empty() && self.sessions.sessions.is_none() {
            return Err(usage(
                "name a load with --rate-iops or --iodepth, a target with --slo, or commits with \
                 --sessions",
            ));
        }
        Ok(PredictQuestion {
            mix: self.mix()?,
            offered,
            objectives: self.slo.clone(),
            halfpower_version: session::VERSION.to_owned(),
        })
    }

    /// Rejects flags that apply only to the unchanged device of a profile; `why` completes the sentence.
    fn refuse_unchanged(&self, why: &str) -> anyhow::Result<()> {
        let flags = [
            ("--slo", !self.slo.is_empty()),
            ("--sessions", self.sessions.sessions.is_some()),
            ("--now", self.now),
        ];
        refuse_given(&flags, |flag| format!("{flag} {why}"))
    }

    /// Prints a prediction. If the profile does not support an answer, the exit code is that of no result. A
    /// load that the device cannot sustain is a usage error.
    fn show(
        &self,
        document: Result<PredictionDocument, PredictError>,
        about: impl FnOnce(Story) -> Story,
    ) -> anyhow::Result<Verdict> {
        let document = document.map_err(|error| match error {
            PredictError::NoPercentile | PredictError::NearMaximum { .. } => {
                SessionError::NoResult(error.to_string()).into()
            }
            error => usage(error.to_string()),
        })?;
        self.view.show(&document, &about(report::prediction(&document)))
    }
}
