//! Helpers for the tests of rows: machines made of files, and effects by name.

use crate::causes::{Effect, Effects, Host, Judged, Load, Machine, Round, Seen, judged, read};
use host::kernel::Roots;
use record::{DeviceFacts, FactsRead, SystemFact};
use testkit::Fake;

/// A disk, with fields set by a test.
pub(crate) fn disk(name: &str, set: impl FnOnce(&mut DeviceFacts)) -> DeviceFacts {
    let mut facts = DeviceFacts {
        name: name.to_owned(),
        disk: name.to_owned(),
        rotational: Some(false),
        ..DeviceFacts::default()
    };
    set(&mut facts);
    facts
}

/// Facts that the checks read on a machine made of files. All of its disks are in use.
pub(crate) fn read_of(fake: &Fake, disks: &[DeviceFacts], round: Round) -> FactsRead {
    let roots = Roots::below(fake.root());
    read(&Host::new(&roots, disks, &|_| true), round)
}

/// The facts of one check alone, read once.
pub(crate) fn facts(check: &str, fake: &Fake, disk: &DeviceFacts) -> Vec<SystemFact> {
    let found = read_of(fake, std::slice::from_ref(disk), Round::Once).facts;
    found.into_iter().filter(|fact| fact.check == check).collect()
}

/// The same at both ends of an observation, with changes to the files in between.
pub(crate) fn between(
    check: &str,
    fake: &Fake,
    disk: &DeviceFacts,
    happens: impl FnOnce(),
) -> Vec<SystemFact> {
    let begin = read_of(fake, std::slice::from_ref(disk), Round::Begin);
    happens();
    let end = read_of(fake, std::slice::from_ref(disk), Round::End);
    crate::causes::reading::between(begin, end)
        .facts
        .into_iter()
        .filter(|fact| fact.check == check)
        .collect()
}

/// An observed effect, relative to a profile or not.
pub(crate) fn seen(effect: Effect, by_profile: bool) -> Seen {
    Seen { effect, says: "It is slow.".to_owned(), by_profile }
}

/// These effects under a load.
pub(crate) fn effects(of: &[Effect], load: Load) -> Effects {
    let seen = of.iter().map(|effect| seen(*effect, false)).collect();
    Effects { load, seen, holder: None }
}

/// The judgement of one check on a machine.
pub(crate) fn judged_by(
    check: &str,
    now: Machine<'_>,
    then: Option<Machine<'_>>,
    effects: &Effects,
) -> Option<Judged> {
    judged(now, then, effects).into_iter().find(|one| one.check.name == check)
}

/// Asserts that the facts are a cause with the effect and harmless without it. Returns the text of the cause.
#[track_caller]
pub(crate) fn cause_only_with_effect(
    check: &str,
    now: Machine<'_>,
    effect: Effect,
    load: Load,
) -> String {
    let found = judged_by(check, now, None, &effects(&[effect], load));
    let found = found.unwrap_or_else(|| panic!("{check}: nothing is claimed of {now:?}"));
    assert!(found.seen.is_some(), "{check}: {found:?}");
    let harmless = judged_by(check, now, None, &effects(&[], load));
    assert!(harmless.is_none_or(|one| one.seen.is_none()), "{check}: a cause without its effect");
    found.claim.says
}

/// Asserts that the check finds nothing, whatever is slow.
#[track_caller]
pub(crate) fn nothing(check: &str, now: Machine<'_>, load: Load) {
    let all = [
        Effect::SlowReads,
        Effect::SlowWrites,
        Effect::SlowFlushes,
        Effect::SlowLone,
        Effect::CappedRate,
        Effect::WaitsAbove,
        Effect::WaitsBefore,
        Effect::SteppedDown,
        Effect::VolumeHolds,
        Effect::StandsStill,
        Effect::CutRequests,
        Effect::Overloaded,
    ];
    let found = judged_by(check, now, None, &effects(&all, load));
    assert!(found.as_ref().is_none_or(|one| one.seen.is_none()), "{check}: {found:?}");
}
