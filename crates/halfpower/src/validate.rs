//! `halfpower show validate`: tests a profile's predictions on loads that it does not contain.
//!
//! The predictions are printed before the measurement, so that the program cannot fit them to the results.

use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::store_args::SaveArgs;
use clap::Args;
use model::Predictor;
use plan::session::{self, Driver, StopFlag, Targets};
use plan::{DriftProbe, ValidatePlan, ValidationSettings};
use record::Nanos;

/// Seed of simulated validations; differs from the seed of their profiles.
const SIMULATED_SEED: u64 = 2;
const UNFINISHED: &str = "the validation did not finish";

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Profile: an id, or the beginning of an id; "last" is the newest profile.
    id: String,
    /// Number of random loads; each is measured twice.
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: u32,
    /// Measured time of each run of a load; the run that finds the load's maximum IOPS takes half
    /// as long [default: 8s; on a simulated target, 40,000 requests].
    #[arg(long, value_name = "TIME")]
    runtime: Option<Nanos>,
    /// Seed of the loads [default: from the time; 2 for a simulated target].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    save: SaveArgs,
}

pub(crate) fn validate(arguments: &ValidateArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let profile = arguments.save.keeping.profile(&arguments.id)?;
    let area = session::area_of(&profile)?;
    let write = profile.has_writes();
    let fixed = profile.simulated.then_some(SIMULATED_SEED);
    let seed = session::seed(arguments.seed.or(fixed), profile.simulated);
    let cells = profile.all_cells();
    let predictor = Predictor::new(&profile);
    let probe_seed = workload::derive_seed(seed, u64::MAX);
    let probe = || DriftProbe::new(&cells, &predictor, write, probe_seed);
    let mut probe = (!profile.simulated).then(probe).flatten();
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
        driver.run(probe)?.whole(UNFINISHED)?;
    }
    let mut plan = ValidatePlan::new(&settings, &cells, &predictor, probe)?;
    let page = output::page(&report::predicted(&plan.predicted(), plan.since().as_ref()));
    if arguments.save.json {
        output::say(page.trim_end());
    } else if !output::is_quiet() {
        output::print(&page)?;
    }
    driver.run(&mut plan)?.whole(UNFINISHED)?;
    let document = driver.targets.main()?.validation(profile, &predictor, &plan);
    driver.keep(|store| store.add_document(&document));
    if !arguments.save.json && !output::is_quiet() {
        output::print("\n")?;
    }
    arguments.save.show(&mut driver, &document, &[], || report::validation(&document))?;
    Ok(Verdict::of(document.summary.reached != Some(false)))
}
