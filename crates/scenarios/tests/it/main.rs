//! A few draws of each kind, and the ward itself against faults that are planted.
#![forbid(unsafe_code)]

use record::Verdict;
use scenarios::{Case, Kind, Profiles, Scores, draw, draw_of, judge, run, stage};
use std::collections::BTreeSet;

/// Draws of each kind.
const EACH: u64 = 6;
/// Where they begin: not where anything was tuned.
const FIRST: u64 = 5_000;

fn few() -> Vec<Case> {
    let seeds = FIRST..FIRST + EACH * Kind::ALL.len() as u64;
    seeds.map(draw).collect()
}

/// The most failures that 120 draws may have where failures have the share of the goal: beyond them
/// lie less than 2 % of such draws (binomial, cumulated).
const AT_MOST_5_IN_100: usize = 11;
const AT_MOST_10_IN_100: usize = 19;

#[test]
fn a_few_draws_of_each_kind_are_judged_as_well_as_the_goals_ask() {
    let drawn = run(&few(), &mut Profiles::default()).unwrap();
    let scores = Scores::of(&drawn);
    let text = scores.text();
    assert_eq!(scores.draws, 120, "the limits above are those of 120 draws");
    assert!(scores.draws - scores.right <= AT_MOST_5_IN_100, "{text}");
    assert_eq!(scores.confidently_wrong, 0, "{text}");
    assert!(scores.gave_up <= AT_MOST_10_IN_100, "{text}");
    // Of fewer draws than 120, so that the limit is a mild one.
    assert!(scores.carried_out - scores.inside <= AT_MOST_10_IN_100 / 2, "{text}");
    assert_eq!(scores.expected_notes.0, scores.expected_notes.1, "{text}");
}

#[test]
fn the_same_seed_is_the_same_case_and_both_sides_of_every_kind_are_drawn() {
    let mut sides = BTreeSet::new();
    for seed in 0..400 {
        let case = draw(seed);
        assert_eq!(format!("{case:?}"), format!("{:?}", draw(seed)));
        sides.insert((case.kind, case.opposite));
    }
    assert_eq!(sides.len(), 2 * Kind::ALL.len());
    assert!(Kind::ALL.iter().all(|kind| Kind::named(kind.name()) == Some(*kind)));
}

#[test]
fn a_diagnosis_with_another_devices_profile_loses() {
    let mut profiles = Profiles::default();
    let slower = |opposite: bool| {
        let cases = (0..).map(|seed| draw_of(Kind::Slower, seed));
        let wanted = cases.filter(|case| case.opposite == opposite);
        wanted.take(6).collect::<Vec<_>>()
    };
    let (mut kept, mut swapped) = (0, 0);
    for case in slower(false) {
        let staged = stage(&case, &mut profiles).unwrap();
        let again = stage(&case, &mut profiles).unwrap();
        assert_eq!(staged.diagnosed(), again.diagnosed(), "the same against the same");
        kept += u32::from(judge(&case, &staged.diagnosed()).right);
        // The fault: the profile is that of the device as it has become.
        let mut twin = case.clone();
        twin.disks[0].is = twin.disks[0].device.text();
        let healthy = stage(&twin, &mut profiles).unwrap();
        swapped += u32::from(judge(&case, &healthy.diagnosed()).right);
    }
    assert_eq!((kept, swapped), (6, 0));
}

#[test]
fn a_verdict_that_was_turned_round_is_confidently_wrong() {
    let case = (0..).map(|seed| draw_of(Kind::LightOnBad, seed)).find(|case| !case.opposite);
    let mut case = case.unwrap();
    let staged = stage(&case, &mut Profiles::default()).unwrap();
    assert!(judge(&case, &staged.diagnosed()).right);
    case.expects[0].verdicts = vec![Verdict::Capped];
    let score = judge(&case, &staged.diagnosed());
    assert!(!score.right && score.confidently_wrong);
}
