//! Evaluates the diagnosis on cases with a known truth, drawn from seeds.
//!
//! It calls the library in-process: the judged code is a pure function, and a simulated case takes less time
//! than starting a program. `--seed` shows one case with its diagnosis, to analyse a failure.

use crate::judge::Tally;
use crate::{arguments::Arguments, diagnosis_eval_real};
use anyhow::{Context, Result};
use plan::scenarios::{
    self, Case, Drawn, Kind, Load, Profiles, Scores, draw, draw_of, stage, without_profile,
};
use serde_json::json;

/// Default number of draws.
const DRAWS: u64 = 500;

pub(crate) const SWITCHES: [&str; 4] = ["--json", "--real", "--unprofiled", "--no-keep"];
pub(crate) const VALUES: [&str; 7] =
    ["--draws", "--first", "--kind", "--seed", "--binary", "--medium", "--recordings"];

/// Draws, judges and prints; returns whether the goals are reached.
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    if flags.has("--real") {
        return diagnosis_eval_real::run(flags);
    }
    let named = |name: String| {
        let known = || Kind::all().map(Kind::name).join(", ");
        Kind::named(&name).with_context(|| format!("no kind {name:?}; known are {}", known()))
    };
    let kind = flags.value("--kind")?.map(named).transpose()?;
    let unprofiled = flags.has("--unprofiled");
    let case = |seed| {
        let case = kind.map_or_else(|| draw(seed), |kind| draw_of(kind, seed));
        if unprofiled { without_profile(case) } else { case }
    };
    let mut profiles = Profiles::default();
    if let Some(seed) = flags.value("--seed")? {
        return show(&case(seed), flags.has("--json"), &mut profiles);
    }
    let first: u64 = flags.value("--first")?.unwrap_or(1);
    let seeds = first..first + flags.value("--draws")?.unwrap_or(DRAWS);
    let cases: Vec<Case> = seeds.map(case).collect();
    let drawn = scenarios::run(&cases, &mut profiles)?;
    if flags.has("--json") {
        drawn.iter().for_each(|one| println!("{}", line(one)));
        return Ok(Scores::of(&drawn).reached());
    }
    Ok(print(&drawn).reached())
}

/// Prints the scores of the draws, and those that failed; returns the scores.
fn print(drawn: &[Drawn]) -> Scores {
    let scores = Scores::of(drawn);
    println!("{}\n\n{}", scores.text(), scores.reliability());
    for one in drawn.iter().filter(|one| failed(one)) {
        println!("{}", words(one));
    }
    scores
}

/// Which simulated cases are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All kinds in turn, with a profile from before the fault.
    Profiled,
    /// The same without a profile, live or from a recording.
    Unprofiled,
    /// Programs that load the device below its maximum, every other one without a profile.
    Paced,
}

/// Draws, prints and counts the cases of a part.
pub(crate) fn tally(part: Part, draws: u64, first: u64) -> Result<Tally> {
    let case = |seed: u64| match part {
        Part::Profiled => draw(seed),
        Part::Unprofiled => without_profile(draw(seed)),
        Part::Paced if seed.is_multiple_of(2) => draw_of(Kind::Paced, seed),
        Part::Paced => without_profile(draw_of(Kind::Paced, seed)),
    };
    let cases: Vec<Case> = (first..first + draws).map(case).collect();
    let drawn = scenarios::run(&cases, &mut Profiles::default())?;
    let scores = print(&drawn);
    Ok(Tally {
        draws: scores.draws,
        right: scores.verdict_right,
        asked: scores.draws,
        advised: drawn.iter().filter(|one| one.score.advice_right).count(),
        unnamed: scores.truth_unnamed,
        gave_up: drawn.iter().filter(|one| one.score.gave_up).count(),
        ..Tally::default()
    })
}

fn failed(one: &Drawn) -> bool {
    let missed = one.outcome.as_ref().is_some_and(|outcome| !outcome.inside);
    !one.score.right || !one.score.advice_right || !one.score.expected_note_named || missed
}

/// One draw as JSON.
fn line(one: &Drawn) -> serde_json::Value {
    let outcome = one.outcome.as_ref().map(|outcome| {
        json!({
            "strategy": outcome.strategy.name(),
            "by_rate": outcome.by_rate,
            "low": outcome.predicted.low,
            "high": outcome.predicted.high,
            "found": outcome.found,
            "inside": outcome.inside,
        })
    });
    json!({
        "seed": one.case.seed,
        "kind": one.case.kind.name(),
        "opposite": one.case.opposite,
        "device": one.case.disks.first().map(|disk| disk.is.clone()),
        "verdict": one.score.verdict.map(record::Verdict::name),
        "right": one.score.right,
        "truth_unnamed": one.score.truth_unnamed,
        "gave_up": one.score.gave_up,
        "first_advice": one.score.first.map(record::Strategy::name),
        "advice_right": one.score.advice_right,
        "expected_note_named": one.score.expected_note_named,
        "carried_out": outcome,
    })
}

/// One failed draw as text.
fn words(one: &Drawn) -> String {
    let score = &one.score;
    let mut what = Vec::new();
    if !score.right {
        let verdict = score.verdict.map_or_else(|| "none".to_owned(), record::Verdict::name);
        let doubt = if score.truth_unnamed { " without the truth beside it" } else { "" };
        what.push(format!("verdict {verdict}{doubt}"));
    }
    if !score.advice_right {
        let first = score.first.map_or_else(|| "silence".to_owned(), record::Strategy::name);
        what.push(format!("first advice {first}"));
    }
    if let Some(expected_note) = one.case.expected_note.filter(|_| !score.expected_note_named) {
        what.push(format!("{} not named", expected_note.name()));
    }
    if let Some(outcome) = one.outcome.as_ref().filter(|outcome| !outcome.inside) {
        let unit = if outcome.by_rate { ("/s", 1.0) } else { ("us", 1e-3) };
        what.push(format!(
            "{} gave {:.0} {}, not {:.0} to {:.0}",
            outcome.strategy.name(),
            outcome.found * unit.1,
            unit.0,
            outcome.predicted.low * unit.1,
            outcome.predicted.high * unit.1
        ));
    }
    let device = one.case.disks.first().map_or("", |disk| disk.is.as_str());
    let side = if one.case.opposite { ", opposite" } else { "" };
    format!(
        "--kind {} --seed {}{side} ({device}): {}",
        one.case.kind.name(),
        one.case.seed,
        what.join("; ")
    )
}

/// Prints a case: what was staged, and what is right.
fn print_case(case: &Case) {
    let side = if case.opposite { ", opposite" } else { "" };
    let tracer = if case.traced { "with" } else { "without" };
    println!(
        "{}{side}: {} s in steps of {} s, {tracer} a tracer",
        case.kind.name(),
        case.seconds,
        case.interval_s
    );
    for (index, disk) in case.disks.iter().enumerate() {
        let was = disk.device.text();
        let changed = if disk.is == was { String::new() } else { format!(", profiled as {was}") };
        let profile = if disk.profiled { "" } else { ", no profile" };
        println!("  disk {index}: {}{changed}{profile}", disk.is);
        disk.loads.iter().for_each(|load| println!("{}", load_words(load)));
    }
    for expect in &case.expects {
        let verdicts: Vec<String> = expect.verdicts.iter().map(|one| one.name()).collect();
        let (disk, from_s, to_s) = (expect.disk, expect.from_s, expect.to_s);
        println!("  right for disk {disk}, {from_s} to {to_s} s: {}", verdicts.join(" or "));
    }
    let advice: Vec<String> = case.advice.iter().map(|one| one.name()).collect();
    let advice = if advice.is_empty() { "none".to_owned() } else { advice.join(" or ") };
    println!("  right first advice: {advice}");
}

fn load_words(load: &Load) -> String {
    let spec = &load.spec;
    let asks = match spec.asked.rate_iops {
        Some(rate) => format!("{rate}/s"),
        None => format!("{} outstanding", spec.asked.iodepth),
    };
    let bytes: Vec<u64> = spec.asked.bs.iter().map(|size| size.bytes.0).collect();
    let mut words = format!(
        "    {}, {} to {} s: {asks}, {:?} of {bytes:?} bytes, {} % reads",
        load.name, load.from_s, load.to_s, spec.asked.pattern, spec.asked.read_percent
    );
    if spec.asked.think_ns.0 > 0 {
        words.push_str(&format!(", thinks {} ns", spec.asked.think_ns.0));
    }
    if spec.asked.misalign_bytes.0 > 0 {
        words.push_str(&format!(", {} bytes off", spec.asked.misalign_bytes.0));
    }
    for limit in &load.limits {
        words.push_str(&format!(", {}={}", limit.limited.key(), limit.per_s));
    }
    if load.write_back {
        words.push_str(", from the page cache");
    }
    words
}

fn show(case: &Case, as_json: bool, profiles: &mut Profiles) -> Result<bool> {
    let staged = stage(case, profiles)?;
    let diagnosis = staged.diagnosed();
    if as_json {
        println!("{}", serde_json::to_string_pretty(&diagnosis)?);
    } else {
        print_case(case);
        let story = report::diagnosis(&diagnosis);
        println!("{}", report::terminal(&story, &report::Style::default()));
    }
    let drawn = scenarios::run(std::slice::from_ref(case), profiles)?;
    let fine = drawn.iter().all(|one| !failed(one));
    if !as_json {
        drawn.iter().for_each(|one| println!("{}", line(one)));
    }
    Ok(fine)
}
