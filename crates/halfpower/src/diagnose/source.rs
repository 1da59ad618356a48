//! Where the counters come from: a recording, a simulated device, or the live machine.

use super::{DiagnoseArgs, load};
use crate::failure::UsageError;
use crate::{observing, recordings};
use anyhow::Context;
use record::Observation;
use scenarios::{Scenario, observe};
use session::{self, VERSION};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is to be diagnosed.
pub(super) struct Observed {
    pub(super) observations: Vec<Observation>,
    /// Whether the database is still to keep it.
    pub(super) unsaved: bool,
    /// Whether the user ended it early.
    pub(super) interrupted: bool,
}

/// Reads or makes the observations.
pub(super) fn observations(
    arguments: &DiagnoseArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Observed> {
    arguments.sampling.check_length(arguments.length)?;
    let simulated = arguments.sources.iter().any(|source| source.starts_with("sim:"));
    if !simulated && (!arguments.load.is_empty() || arguments.steal > 0) {
        let text = "--load and --steal are for simulated devices (sim:NAME)";
        return Err(UsageError(text.to_owned()).into());
    }
    if simulated {
        let [source] = arguments.sources.as_slice() else {
            let text = "name one simulated device and nothing beside it";
            return Err(UsageError(text.to_owned()).into());
        };
        let observations = vec![simulate(source, arguments, stop)?];
        return Ok(Observed { observations, unsaved: true, interrupted: false });
    }
    if let Some(observations) = recordings::named(&arguments.sources, &arguments.keeping)? {
        return Ok(Observed { observations, unsaved: false, interrupted: false });
    }
    let source = arguments.sampling.source(&arguments.sources, false)?;
    let recorder = observing::recorder(&arguments.keeping, arguments.no_save, source.host())?;
    let recorded = arguments.sampling.record(source, recorder, arguments.length, stop)?;
    let (observations, interrupted) = (vec![recorded.observation], recorded.interrupted);
    Ok(Observed { observations, unsaved: false, interrupted })
}

fn simulate(
    source: &str,
    arguments: &DiagnoseArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Observation> {
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
        array: None,
        loads,
        duration: arguments.length,
        interval: arguments.sampling.interval,
        seed: arguments.seed,
        traced: arguments.sampling.trace,
        steal_share: f64::from(arguments.steal) / 100.0,
    };
    Ok(observe(&scenario, VERSION, stop)?)
}
