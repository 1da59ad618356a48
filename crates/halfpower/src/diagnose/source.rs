//! Where the counters come from: the words of SOURCE.
//!
//! `sim:` is simulated; `last` and what begins an id in the database is an observation there; a
//! regular file that is a recording by its content is read as one; everything else is a device, or a
//! path on one, and is watched now.

use super::{DiagnoseArgs, load};
use crate::failure::UsageError;
use crate::observing::{ObservingArgs, Pace, Tick};
use crate::progress::Progress;
use crate::store_args::{LAST, newest_observation};
use anyhow::Context;
use record::{Finding, FindingCode, Nanos, OBSERVATION_SCHEMA, Observation, Severity};
use scenarios::{Scenario, observe};
use session::{self, Display, VERSION};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use store::Store;

/// Fewest characters that can be the beginning of an id.
const ID_MIN: usize = 6;

/// What is to be diagnosed.
pub(super) struct Observed {
    pub(super) observations: Vec<Observation>,
    /// Whether it was made now and is kept nowhere yet.
    pub(super) new: bool,
    /// Whether the user ended the watching.
    pub(super) interrupted: bool,
}

impl Observed {
    fn read(observations: Vec<Observation>) -> Self {
        Self { observations, new: false, interrupted: false }
    }
}

/// Reads or makes the observations.
pub(super) fn observations(
    arguments: &DiagnoseArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Observed> {
    if arguments.interval > arguments.length {
        return Err(UsageError("--for is shorter than one --interval".to_owned()).into());
    }
    let simulated = arguments.sources.iter().any(|source| source.starts_with("sim:"));
    if !simulated && (!arguments.load.is_empty() || arguments.steal > 0) {
        let text = "--load and --steal are for simulated devices (sim:NAME)";
        return Err(UsageError(text.to_owned()).into());
    }
    match arguments.sources.as_slice() {
        [one] if simulated => simulate(one, arguments, stop),
        _ if simulated => {
            Err(UsageError("name one simulated device and nothing beside it".to_owned()).into())
        }
        [one] => match recorded(one, arguments)? {
            Some(observations) => Ok(Observed::read(observations)),
            None => watch(arguments, stop),
        },
        _ => watch(arguments, stop),
    }
}

fn simulate(
    source: &str,
    arguments: &DiagnoseArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Observed> {
    let device = session::simulated(source)?.context("it names a simulated device")?;
    if arguments.load.is_empty() {
        let text = "a simulated device needs at least one --load, for example --load \
                    \"rw=randread iodepth=4\"";
        return Err(UsageError(text.to_owned()).into());
    }
    let loads = arguments.load.iter().enumerate();
    let loads = loads
        .map(|(index, text)| load::load(text, index, &device, arguments))
        .collect::<Result<Vec<_>, _>>()?;
    let scenario = Scenario {
        device: &device,
        loads,
        duration: arguments.length,
        interval: arguments.interval,
        seed: arguments.seed,
        traced: arguments.trace,
        steal_share: f64::from(arguments.steal) / 100.0,
    };
    let observation = observe(&scenario, VERSION, stop)?;
    Ok(Observed { observations: vec![observation], new: true, interrupted: false })
}

/// An observation of the database or of a file; `None` where the source is a device.
fn recorded(source: &str, arguments: &DiagnoseArgs) -> anyhow::Result<Option<Vec<Observation>>> {
    let path = Path::new(source);
    if source == LAST {
        let store = Store::open_existing(&arguments.keeping.file()?)?;
        return Ok(Some(vec![newest_observation(&store)?]));
    }
    let facts = std::fs::metadata(path).ok();
    if facts.as_ref().is_some_and(std::fs::Metadata::is_file) {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {path:?}"))?;
        if import::detect(&bytes).is_err() {
            return Ok(None);
        }
        let mut observations = import::read(&[&bytes], None, &import::Options::default())
            .with_context(|| format!("{path:?} cannot be diagnosed"))?;
        for observation in &mut observations {
            if observation.id.is_empty() {
                // The same file is the same observation.
                observation.id = record::hex_digest(&String::from_utf8_lossy(&bytes));
            }
        }
        return Ok(Some(observations));
    }
    let like_an_id = source.len() >= ID_MIN
        && source.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
    if facts.is_none() && like_an_id {
        let store = Store::open_existing(&arguments.keeping.file()?)?;
        return Ok(Some(vec![store.document(source)?]));
    }
    Ok(None)
}

/// Watches the machine.
fn watch(arguments: &DiagnoseArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Observed> {
    let observing = ObservingArgs {
        devices: arguments.sources.clone(),
        all: false,
        trace: arguments.trace,
        interval: arguments.interval,
        procfs: PathBuf::from("/proc"),
        sysfs: PathBuf::from("/sys"),
    };
    let mut source = observing.source()?;
    let mut observation = Observation {
        schema: OBSERVATION_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        time: Some(jiff::Timestamp::now().to_string()),
        source: "live".to_owned(),
        host: source.sampler.host(),
        wake_ups: source.sampler.wake_ups().to_vec(),
        ..Observation::default()
    };
    let samples = arguments.length.0.div_ceil(arguments.interval.0);
    let mut progress = Progress::new();
    let begin = Instant::now();
    let mut pace = Pace::new(arguments.interval);
    let mut taken = 0;
    while taken < samples && pace.wait(stop) {
        let tick = Tick::take(&mut source)?;
        observation.intervals.extend(tick.intervals);
        observation.contexts.push(tick.context);
        observation.devices = tick.devices.iter().map(|device| device.as_ref().clone()).collect();
        observation.findings = tick.findings;
        taken += 1;
        let spent = Nanos(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let what = format!("{} devices", tick.devices.len());
        progress.measuring("watch", &what, spent, arguments.length);
    }
    progress.clear();
    if taken == 0 {
        let text = "nothing was seen";
        return Err(crate::failure::Interruption(text.to_owned()).into());
    }
    if taken < samples {
        observation.findings.push(Finding::new(
            FindingCode::Interrupted,
            Severity::Warning,
            format!("The watching was interrupted after {taken} of {samples} intervals."),
            "",
        ));
    }
    Ok(Observed { observations: vec![observation], new: true, interrupted: taken < samples })
}
