//! The same cases for a reader who has no profile, and who may have nothing but a recording.
//!
//! What no figure of such a case shows cannot be asked for: a device that takes twice what it took last week looks
//! like a slower one of its class. There a verdict on what shows is right, if it is called likely at most and
//! names the truth beside it ([`Expect::hidden`]). All else has to be found.

use crate::scenarios::building::FINE;
use crate::scenarios::case::{Case, Expect, Kind};
use crate::scenarios::dice::Dice;
use crate::scenarios::sources::Source;
use record::Verdict::{self, Capped, NotEnoughEvidence, Overloaded, Slow, SlowAndOverloaded};

/// Apart from what draws the case itself.
const STREAM: u64 = 0x0f57_c047;

/// The case without a profile, by one of the sources.
#[must_use]
pub fn without_profile(case: Case) -> Case {
    let mut dice = Dice::new(case.seed ^ STREAM);
    let source = dice.pick(&Source::ALL);
    without_profile_by(case, source)
}

/// The same by a source.
#[must_use]
pub fn without_profile_by(case: Case, source: Source) -> Case {
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
    // Whose limits, programs and waits a recording does not tell.
    let told = live && (case.traced || kind != Kind::Neighbour);
    for expect in &mut case.expects {
        hide(expect, kind, live);
    }
    let hidden = case.expects.iter().any(|expect| !expect.hidden.is_empty());
    case.may_be_silent |= hidden || !told;
    if !live {
        // The advice that takes a name, a group or a scheduler cannot be asked of a recording.
        case.advice.extend(crate::scenarios::building::MORE);
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
        // A limit above the counters is told by the system, one inside the device by nothing but its pace.
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
        // How much of a queue is due to a slow device does not show.
        expect.undecided.extend([Capped, SlowAndOverloaded]);
    }
    if is(NotEnoughEvidence) && kind != Kind::TooLittle {
        expect.verdicts = FINE.to_vec();
    }
    expect.hidden.extend(hidden);
}
