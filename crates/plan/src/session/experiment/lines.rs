//! Converts the combinations of a design into `halfpower run` lines.
//!
//! The parser of `run` reads each combination, so its errors are those of `run` and a user can type every
//! line. A combination that these targets do not support is left out with a reason. One that no target
//! supports is an error of the design.

use crate::session::{Result, SessionError, simulated, treatment};
use crate::sweep::words;
use record::{EngineName, counted};
use std::collections::BTreeMap;
use workload::{Combination, Design, Spec};

/// Keys that a level's `sim` replaces on a simulated target.
const STOOD_FOR: [&str; 6] = ["prepare", "raid", "chunk", "failed", "target", "targets"];
/// A flag without effect on a simulated target, whose page cache starts empty.
const NOTHING_TO_DO: &str = "drop-cache";
/// Why a target cannot be used twice at the same time.
const ONE_TEST_FILE: &str = "it uses one target twice, which works only with a directory, where each use gets a separate \
     test file";
/// Why a mapping is not compared with direct requests.
const OTHER_CACHE: &str = "mmap uses the page cache, but the other engines bypass it, so the comparison would be \
                           between caches; run mmap separately (halfpower run --ioengine mmap)";
/// The spec of a `run` line, and a flag of it that has no effect on a simulated target.
pub type ReadLine = (Spec, Option<&'static str>);

/// The parser of `run`: from targets and flags.
pub type Parse<'a> = &'a dyn Fn(&[String], &[String]) -> Result<ReadLine, String>;

/// One combination that can be run.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its levels and settings.
    pub combination: Combination,
    /// The targets, as typed.
    pub targets: Vec<String>,
    /// The preparation before the trial.
    pub(crate) preparation: Option<String>,
    /// The flags, as typed.
    pub flags: Vec<String>,
    pub(crate) spec: Spec,
}

/// Combinations that are not run, by reason, in the order of the design.
#[derive(Clone, Debug, Default)]
pub struct LeftOut(Vec<(String, Vec<BTreeMap<String, String>>)>);

impl LeftOut {
    pub(super) fn add(&mut self, reason: String, levels: &BTreeMap<String, String>) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(levels.clone()),
            None => self.0.push((reason, vec![levels.clone()])),
        }
    }

    /// A sentence for each reason: number, common levels, reason.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |(reason, all): &(String, Vec<BTreeMap<String, String>>)| {
            let what = common(all);
            let which = if what.is_empty() { String::new() } else { format!(" ({what})") };
            format!("skipped: {}{which}: {reason}", counted(all.len() as f64, "combination"))
        };
        self.0.iter().map(sentence).collect()
    }
}

/// The levels that some combinations have in common.
fn common(all: &[BTreeMap<String, String>]) -> String {
    let mut shared = all.first().cloned().unwrap_or_default();
    shared.retain(|axis, level| all.iter().all(|levels| levels.get(axis) == Some(&*level)));
    words(&shared)
}

/// The lines of a design on these targets, and the combinations that were left out.
pub(super) fn lines(
    design: &Design,
    targets: &[String],
    parse: Parse<'_>,
) -> Result<(Vec<Line>, LeftOut)> {
    let (mut lines, mut left_out) = (Vec::new(), LeftOut::default());
    for combination in design.combinations() {
        match line(design, &combination, targets, parse)? {
            Ok(line) => lines.push(line),
            Err(reason) => left_out.add(reason, &combination.levels),
        }
    }
    let mapped = |line: &Line| line.spec.asked.engine == EngineName::Mmap;
    if lines.iter().any(|line| line.spec.asked.cache.direct()) {
        for line in lines.extract_if(.., |line| mapped(line)) {
            left_out.add(OTHER_CACHE.to_owned(), &line.combination.levels);
        }
    }
    Ok((lines, left_out))
}

/// An error of the design itself.
fn of_design(design: &Design, text: &str) -> SessionError {
    SessionError::Usage(format!("the design {}: {text}", design.name))
}

/// A combination, or the reason why it cannot be run on these targets.
fn line(
    design: &Design,
    combination: &Combination,
    targets: &[String],
    parse: Parse<'_>,
) -> Result<Result<Line, String>> {
    let on_simulated = simulated(&targets[0])?.is_some();
    let mut combination = combination.clone();
    let keys = combination.get("sim").map(str::to_owned);
    if on_simulated {
        let stood_for = |key: &str| keys.is_some() && STOOD_FOR.contains(&key);
        combination
            .settings
            .retain(|setting| !stood_for(&setting.key) && setting.key != NOTHING_TO_DO);
    }
    let preparation = combination.get("prepare").map(str::to_owned);
    if let Some(name) = &preparation {
        if on_simulated {
            return Ok(Err(format!("{name}: only a real target can be prepared")));
        }
        if treatment::find(name).is_none() {
            let known = treatment::names();
            let text = format!("unknown preparation {name:?}; use one of {known}");
            return Err(of_design(design, &text));
        }
    }
    let chosen = match chosen(&combination, targets) {
        Ok(chosen) => chosen,
        Err(reason) => return Ok(Err(reason)),
    };
    let chosen = match (on_simulated, &keys) {
        (true, Some(keys)) => vec![format!("{},{keys}", chosen[0])],
        _ => chosen,
    };
    if on_simulated && let Err(error) = simulated(&chosen[0]) {
        return Ok(Err(error.to_string()));
    }
    if let Some((name, system)) = combination.get("ioengine").and_then(elsewhere) {
        return Ok(Err(match on_simulated {
            true => "--ioengine needs a real target".to_owned(),
            false => format!("the engine {name} exists only on {system}"),
        }));
    }
    let flags = combination.flags();
    let (mut spec, real_only) = parse(&chosen, &flags).map_err(|text| of_design(design, &text))?;
    if on_simulated {
        if let Some(flag) = real_only {
            return Ok(Err(format!("{flag} needs a real target")));
        }
        spec.asked.engine = EngineName::Sim;
    }
    Ok(Ok(Line { combination, targets: chosen, preparation, flags, spec }))
}

/// An engine of another system, and that system: a design may compare engines of several systems.
fn elsewhere(name: &str) -> Option<(&str, &'static str)> {
    let engine = engine::engines_elsewhere().find(|engine| engine.name() == name)?;
    engine::engine_elsewhere(engine).map(|(system, _)| (name, system))
}

fn chosen(combination: &Combination, targets: &[String]) -> Result<Vec<String>, String> {
    let number = |key: &str, text: &str| -> Result<usize, String> {
        let number: usize = text
            .trim()
            .parse()
            .map_err(|_| format!("{key} = {text} is not a number of targets"))?;
        if (1..=targets.len()).contains(&number) {
            return Ok(number);
        }
        let are = if targets.len() == 1 { "only 1 is named" } else { "fewer are named" };
        Err(format!("it needs {number} targets, but {are}; name {number}"))
    };
    if let Some(text) = combination.get("target") {
        let numbers: Vec<usize> =
            text.split(',').map(|text| number("target", text)).collect::<Result<_, _>>()?;
        let chosen: Vec<String> = numbers.iter().map(|one| targets[one - 1].clone()).collect();
        return if several_on_one(&chosen) { Err(ONE_TEST_FILE.to_owned()) } else { Ok(chosen) };
    }
    match combination.get("targets") {
        Some(text) => Ok(targets[..number("targets", text)?].to_vec()),
        None => Ok(targets.to_vec()),
    }
}

/// Whether a target with a single area is used twice.
fn several_on_one(chosen: &[String]) -> bool {
    let again = chosen.iter().enumerate().filter(|(at, target)| chosen[..*at].contains(target));
    again.into_iter().any(|(_, target)| !std::path::Path::new(target).is_dir())
}
