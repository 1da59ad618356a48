//! `halfpower sweep`: runs an experiment, from its design to its document.
//!
//! The plan is saved before the first trial, each trial when it ends, and the conclusions last. An
//! interrupted experiment is therefore a plan with positions that have no trial. `--resume` runs these; no
//! other state is saved. It does not plan again, because the target may have changed and the trials would no
//! longer belong together.
//!
//! `--set AXIS=LEVELS` changes the design in the words of a design file, instead of one flag per axis. A file
//! and a command line then use the same words.

use crate::failure::{interrupted, refuse_given, usage};
use crate::host_args::HostArgs;
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::run_args::RunArgs;
use crate::safety_args::SafetyArgs;
use crate::store_args::{ResultArgs, SaveArgs};
use ::workload::{Design, PRESETS, preset};
use anyhow::Context;
use clap::Args;
use engine::input;
use host::target::{Access, InUse};
use plan::session::experiment::{Line, OpenedDesign, ReadLine, ReadyLine, rounding_findings};
use plan::session::{self, Driver, End, Opener, SessionError, StopFlag, Targets};
use record::{Experiment, Trial};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower sweep --list                      the presets\n  \
    halfpower sweep riedel /mnt/data            size, depth, buffering; 3 blocks\n  \
    halfpower sweep chung sim:st34371w          another preset, simulated disk\n  \
    halfpower sweep friedman . --protocol paper --blocks 1\n  \
    halfpower sweep riedel . --set bs=4k,64k --set rw=read --runtime 2s\n  \
    halfpower sweep my.toml /mnt/a /mnt/b --dry-run > trials.sh\n  \
    halfpower sweep --resume last\n\n\
    To write your own design: halfpower sweep --show riedel > my.toml, then edit it.")]
pub(crate) struct SweepArgs {
    /// A preset, or a TOML file.
    #[arg(required_unless_present_any = ["list", "resume"])]
    design: Option<String>,
    /// Directories (a temporary test file in each), files, block devices, or one sim:NAME.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Describe the presets.
    #[arg(long, exclusive = true)]
    list: bool,
    /// Print the design as TOML and run nothing.
    #[arg(long, conflicts_with = "dry_run")]
    show: bool,
    /// Print the trials as a script of `halfpower run` lines and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// Run the missing trials of this experiment: an id, the beginning or end of an id, or "last".
    #[arg(long, value_name = "ID", conflicts_with_all = ["design", "show", "dry_run", "no_save"])]
    resume: Option<String>,
    /// Number of runs of each combination [default: set by the design, usually 3].
    #[arg(long, value_name = "N", help_heading = "Design")]
    blocks: Option<u32>,
    /// Use this named set of the design's constants; paper is the set with the run times of the
    /// publication.
    #[arg(long, value_name = "NAME", help_heading = "Design")]
    protocol: Option<String>,
    /// Set the levels of an axis (bs=4k,64k) or a constant (numjobs=2). Can be repeated.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Design")]
    set: Vec<String>,
    /// Size of the test file, or of the area; the same as --set size=SIZE.
    #[arg(long, value_name = "SIZE", help_heading = "Design")]
    size: Option<String>,
    /// Measured time of a trial; the maximum time if the design has another stop rule. The same as --set
    /// runtime=TIME.
    #[arg(long, value_name = "TIME", help_heading = "Design")]
    runtime: Option<String>,
    /// Note to save with the experiment; --dry-run prints it, too.
    #[arg(
        long,
        value_name = "TEXT",
        env = "sqlio_note",
        hide_env_values = true,
        help_heading = "Results"
    )]
    note: Option<String>,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten, next_help_heading = "Safety")]
    safety: SafetyArgs,
}

impl SweepArgs {
    /// Access to the targets.
    fn access(&self) -> Access {
        let mut keep = self.results.save.keeping.kept();
        keep.extend(self.design.iter().map(|design| InUse::new(design, "the design")));
        keep.extend(self.hosts.file().map(|file| InUse::new(file, "the list of hosts")));
        self.safety.access(keep)
    }
}

pub(crate) fn sweep(arguments: &SweepArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    if arguments.list {
        return list_presets();
    }
    match &arguments.resume {
        Some(id) => resume(arguments, id, stop),
        None => start(arguments, stop),
    }
}

fn list_presets() -> anyhow::Result<Verdict> {
    let designs = PRESETS.iter().map(|known| preset(known.name));
    let designs: Vec<Design> = designs.collect::<Result<_, _>>()?;
    output::print(&report::preset_list_text(&designs, &output::style()))
}

fn design(arguments: &SweepArgs) -> anyhow::Result<Design> {
    let name = arguments.design.as_deref().unwrap_or_default();
    let mut design = if name.ends_with(".toml") || name.contains(std::path::is_separator) {
        let text = input::text(name.as_ref(), input::DESIGN).context("the design")?;
        Design::parse(name, &text)?
    } else {
        preset(name)?
    };
    if let Some(protocol) = &arguments.protocol {
        design = design.with_protocol(protocol)?;
    }
    let named = [("size", &arguments.size), ("runtime", &arguments.runtime)];
    let named = named.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
    for setting in named.chain(arguments.set.iter().cloned()) {
        design = design.with_setting(&setting)?;
    }
    if let Some(blocks) = arguments.blocks {
        design.blocks = blocks;
        design = Design::parse(&design.name, &design.to_toml())?;
    }
    Ok(design)
}

fn start(arguments: &SweepArgs, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let design = design(arguments)?;
    if arguments.show {
        return output::print(&design.to_toml());
    }
    let names = &arguments.targets;
    if names.is_empty() {
        return Err(SessionError::no_target().into());
    }
    let simulated = session::one_simulated(names)?.is_some();
    let seed = session::seed(arguments.results.seed, simulated);
    let mut progress = Progress::new();
    let opener = arguments.hosts.opener(stop, &progress)?;
    let opened = open(arguments, &design, names, opener.as_ref())?;
    let left_out = opened.left_out.sentences();
    for sentence in &left_out {
        output::remark(sentence);
    }
    if opened.ready.is_empty() {
        return Err(usage(format!(
            "no trial of the design {} can run on these targets",
            design.name
        )));
    }
    let note = arguments.note.as_deref().unwrap_or_default();
    let mut experiment = opened.experiment(&design, names, seed, note);
    experiment.clients = opener.clients();
    if arguments.hosts.given() && arguments.dry_run {
        return Err(usage("--dry-run works only without --hosts; omit one of the flags"));
    }
    if arguments.dry_run {
        return output::print(&script(&experiment, &opened, &left_out));
    }
    let store = arguments.results.save.store()?;
    let targets = opened.into_targets(seed, stop, &mut progress)?;
    let mut driver = Driver::new(targets, store, &mut progress);
    experiment.setup_findings = driver.targets.findings();
    experiment.setup_findings.extend(rounding_findings(&design, &experiment.targets));
    driver.keep(|store| store.start_experiment(&experiment));
    run(&arguments.results.save, &design, experiment, Vec::new(), driver)
}

fn open(
    arguments: &SweepArgs,
    design: &Design,
    targets: &[String],
    opener: &dyn Opener,
) -> anyhow::Result<OpenedDesign> {
    let simulated = session::one_simulated(targets)?.is_some();
    if simulated && arguments.hosts.given() {
        return Err(usage("--hosts does not apply to a simulated target; omit it"));
    }
    Ok(OpenedDesign::open(design, targets, &arguments.access(), &read_line, opener)?)
}

/// Parses a line of a design with the parser of `run`.
fn read_line(targets: &[String], flags: &[String]) -> Result<ReadLine, String> {
    let run = RunArgs::read(targets.iter().chain(flags).map(String::as_str))?;
    Ok((run.spec(), run.real_only()))
}

/// The trials as a script of `run` lines.
fn script(experiment: &Experiment, opened: &OpenedDesign, left_out: &[String]) -> String {
    let line = |ready: &ReadyLine| {
        let Line { combination, targets, flags, .. } = ready.line.clone();
        (combination.levels, report::ScriptLine { targets, flags })
    };
    let lines = opened.ready.iter().map(line).collect();
    let longest = session::duration(plan::missing_trials(experiment).longest());
    report::sweep_script(experiment, &lines, left_out, &longest)
}

/// Runs the missing trials of a saved experiment.
fn resume(arguments: &SweepArgs, id: &str, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let of_plan = [
        ("--blocks", arguments.blocks.is_some()),
        ("--protocol", arguments.protocol.is_some()),
        ("--set", !arguments.set.is_empty()),
        ("--size", arguments.size.is_some()),
        ("--runtime", arguments.runtime.is_some()),
        ("--seed", arguments.results.seed.is_some()),
    ];
    refuse_given(&of_plan, |flag| format!("--resume runs the original plan; omit {flag}"))?;
    let store = arguments.results.save.keeping.existing()?;
    let mut experiment: Experiment = store.document(id)?;
    let design = Design::parse(&experiment.design, &experiment.design_text)?;
    let trials = store.trials_of::<Experiment>(&experiment.id)?;
    let names: Vec<String> = experiment.targets.iter().map(|target| target.path.clone()).collect();
    let (seed, simulated) = (experiment.seed, experiment.simulated);
    let mut progress = Progress::new();
    let missing = plan::missing(&experiment);
    for target in experiment.targets.iter().filter(|_| simulated && !missing.is_empty()) {
        session::simulated_again(target)?;
    }
    let targets = if missing.is_empty() {
        Targets::none(stop)
    } else {
        let opener = arguments.hosts.opener(stop, &progress)?;
        if opener.clients() != experiment.clients {
            let text = match experiment.clients.join(",") {
                hosts if hosts.is_empty() => {
                    "the experiment was started on this machine only; omit --hosts".to_owned()
                }
                hosts => {
                    format!("the experiment was started on several machines; add --hosts {hosts}")
                }
            };
            return Err(usage(text));
        }
        let opened = open(arguments, &design, &names, opener.as_ref())?;
        if !missing.iter().all(|at| opened.runs(&experiment.plan[*at as usize].levels)) {
            return Err(usage(format!(
                "the missing trials cannot run as planned: {}; use the targets and the safety \
                 flags of the original command",
                opened.left_out.sentences().join("; ")
            )));
        }
        opened.into_targets(seed, stop, &mut progress)?
    };
    session::add_new(&mut experiment.setup_findings, targets.findings());
    let driver = Driver::new(targets, Some(store), &mut progress);
    run(&arguments.results.save, &design, experiment, trials, driver)
}

/// Runs the missing trials, draws the conclusions, saves and prints. `trials` correspond to
/// `experiment.done`, in the same order.
fn run(
    save: &SaveArgs,
    design: &Design,
    mut experiment: Experiment,
    mut trials: Vec<Trial>,
    mut driver: Driver<'_>,
) -> anyhow::Result<Verdict> {
    let finished = driver.run(&mut plan::missing_trials(&experiment))?;
    let end = finished.end;
    session::experiment::conclude(&mut experiment, design, &mut trials, finished)?;
    let (done, total) = (trials.len(), experiment.plan.len());
    driver.keep(|store| store.add_document(&experiment));
    let story = || report::experiment(&experiment, &trials);
    let verdict = save.show(&mut driver, &experiment, &experiment.findings, story)?;
    if end != End::Completed {
        let kept = match driver.store() {
            Some(_) => {
                let resume = format!("halfpower sweep --resume {}", experiment.id);
                format!("to run the rest: `{}`", output::saved_by(&resume))
            }
            None => "they are not saved, so the experiment cannot be resumed".to_owned(),
        };
        return Err(interrupted(format!("{done} of {total} trials finished; {kept}")));
    }
    Ok(verdict)
}
