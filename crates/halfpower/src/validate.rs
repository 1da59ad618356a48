//! `halfpower profile validate`: a profile against loads that are no part of it.
//!
//! What is predicted is printed before any of it is measured, so that the program itself cannot fit
//! the one to the other.

use crate::failure::interrupted;
use crate::output::{self, Verdict};
use crate::profiles::saved;
use crate::progress::Progress;
use crate::store_args::SaveArgs;
use crate::values::nanos;
use clap::Args;
use model::Predictor;
use plan::{DriftProbe, Plan, ValidatePlan, ValidationSettings};
use record::{Nanos, VALIDATION_SCHEMA, Validation};
use session::{Driver, End, Targets};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Seed of simulated validations: another one than that of their profiles.
const SIMULATED_SEED: u64 = 2;

/// `halfpower profile validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Its id, or the beginning of it; "last" is the newest.
    id: String,
    /// Loads that are drawn; each is measured twice.
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: u32,
    /// Measured time of each visit to a load; one to its largest rate takes half
    /// [default: 8s; on a simulated target 40,000 requests].
    #[arg(long, value_name = "TIME", value_parser = nanos)]
    runtime: Option<Nanos>,
    /// Seed of the loads [default: from the time; 2 for a simulated target].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    save: SaveArgs,
}

/// Predicts, measures and compares.
pub(crate) fn validate(
    arguments: &ValidateArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Verdict> {
    let profile = saved(&arguments.save.keeping, &arguments.id)?;
    let area = session::area_of(&profile)?;
    let write = profile.cells.iter().any(|cell| cell.workload.writes());
    let seed = match (arguments.seed, profile.simulated) {
        (None, true) => SIMULATED_SEED,
        (asked, simulated) => session::seed(asked, simulated),
    };
    let cells = profile.all_cells();
    let predictor = Predictor::of_cells(&cells);
    let probe_seed = workload::derive_seed(seed, u64::MAX);
    let mut probe = match profile.simulated {
        true => None,
        false => DriftProbe::new(&cells, &predictor, write, probe_seed),
    };
    let mut progress = Progress::new();
    let store = arguments.save.store()?;
    let session = session::open_again(&profile, write, seed, stop, &mut progress)?;
    let settings = ValidationSettings {
        area,
        engine: session.engine,
        alignment: session.alignment(),
        loads: arguments.trials,
        write,
        runtime: arguments.runtime,
        simulated: profile.simulated,
        seed,
    };
    let mut driver = Driver::new(Targets::one(session), store, &mut progress);
    if let Some(probe) = &mut probe {
        carry_out(&mut driver, probe)?;
    }
    let mut plan = ValidatePlan::new(&settings, &cells, &predictor, probe)?;
    let page = output::page(&report::predicted(&plan.predicted(), plan.since().as_ref()));
    if arguments.save.json {
        output::say(page.trim_end());
    } else {
        output::print(&page)?;
    }
    carry_out(&mut driver, &mut plan)?;
    let trials = plan.trials();
    let session = driver.targets.main()?;
    let (id, time) = session.identity(&format!("validation {} {}", profile.id, trials.len()));
    let document = Validation {
        schema: VALIDATION_SCHEMA.to_owned(),
        halfpower_version: session::VERSION.to_owned(),
        id,
        time,
        seed,
        simulated: profile.simulated,
        profile_id: profile.id,
        target: profile.target,
        environment: session.environment.clone(),
        measured_ns: plan.spent(),
        summary: model::validation_summary(predictor.advised(), &trials, profile.simulated),
        trials,
        since_profile: plan.since(),
        findings: Vec::new(),
    };
    driver.keep(|store| store.add_document(&document));
    arguments.save.show(&mut driver, &document, &[], |_| {
        format!("\n{}", output::page(&report::validation(&document)))
    })?;
    Ok(Verdict::of(document.summary.reached != Some(false)))
}

/// Carries out a plan of which a part says nothing.
fn carry_out(driver: &mut Driver<'_>, plan: &mut dyn Plan) -> anyhow::Result<()> {
    match driver.run(plan)?.end {
        End::Completed => Ok(()),
        End::Interrupted => Err(interrupted("the validation was not finished, nothing is kept")),
        End::Silent => {
            Err(interrupted("the device stopped answering, the validation was not finished"))
        }
    }
}
