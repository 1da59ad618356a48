//! Converts cases for a user without a profile, who may have only a recording.
//!
//! A diagnosis cannot find what no figure shows: a device that is twice as slow as last week looks like a
//! slower model. In that case a verdict on the visible facts is correct if it is at most "likely" and names
//! the truth beside it ([`Expect::hidden`]). Everything else must be found.

use crate::cases::building::FINE;
use crate::cases::case::{Case, Expect, Kind};
use crate::cases::dice::Dice;
use crate::cases::sources::Source;
use record::Verdict::{self, Capped, NotEnoughEvidence, Overloaded, Slow, SlowAndOverloaded};

/// Separate from the seed of the case itself.
const STREAM: u64 = 0x0f57_c047;

/// The case without a profile, with a random source.
#[must_use]
pub fn without_profile(case: Case) -> Case {
    let mut dice = Dice::new(case.seed ^ STREAM);
    let source = dice.pick(&Source::ALL);
    let mut case = Case { source, expected_note: None, ..case };
    let live = source == Source::Live;
    for disk in &mut case.disks {
        disk.profiled = false;
        let facts = disk.device.facts();
        if disk.facts.is_none() {
            disk.facts = Some(Box::new([facts.clone(), facts]));
        }
    }
    let kind = case.kind;
    // A recording does not show limits, programs and waits.
    let told = live && (case.traced || kind != Kind::Neighbour);
    for expect in &mut case.expects {
        hide(expect, kind, live);
    }
    let hidden = case.expects.iter().any(|expect| !expect.hidden.is_empty());
    case.may_be_silent |= hidden || !told;
    if !live {
        // With a recording the diagnosis cannot advise on a program, a group or a scheduler by name.
        case.advice.extend(crate::cases::building::MORE);
        case.advice.push(record::Strategy::ShallowerQueue);
    }
    case
}

fn hide(expect: &mut Expect, kind: Kind, live: bool) {
    let right = expect.verdicts.clone();
    let is = |verdict: Verdict| right.contains(&verdict);
    let mut hidden: Vec<Verdict> = expect.undecided.clone();
    if is(Slow) {
        hidden.extend(FINE);
    }
    if is(SlowAndOverloaded) {
        hidden.extend([Overloaded, Slow]);
    }
    if is(Capped) {
        // The system reports a limit above the counters. A limit inside the device shows only in its pace.
        if !live || kind == Kind::TokenBucket {
            hidden.extend([Overloaded, SlowAndOverloaded]);
        }
        if !live
            || matches!(
                kind,
                Kind::UnseenLimit | Kind::JustAllowed | Kind::HeldByScheduler | Kind::Hosted
            )
        {
            hidden.extend(FINE);
        }
        if matches!(kind, Kind::HeldByScheduler | Kind::Hosted) {
            hidden.push(Slow);
        }
    }
    if FINE.iter().any(|fine| is(*fine)) {
        expect.verdicts.extend(FINE);
    }
    if is(Overloaded) {
        // The data do not show how much of a queue a slow device causes.
        expect.undecided.extend([Capped, SlowAndOverloaded]);
    }
    if is(NotEnoughEvidence) && kind != Kind::TooLittle {
        expect.verdicts = FINE.to_vec();
    }
    expect.hidden.extend(hidden);
}
