//! The data hold together, and what needs no simulator comes out.

use papers::*;

fn papers() -> Papers {
    Papers::load().unwrap()
}

/// A report in which every run is refused: derived rows do not notice.
fn without_runs(papers: &Papers) -> Report {
    papers.evaluate(&Choice::default(), "0", &mut |_| Err("not carried out".to_owned()))
}

#[test]
fn every_derived_row_gives_the_printed_digits() {
    let report = without_runs(&papers());
    let wrong: Vec<String> = report
        .rows
        .iter()
        .filter(|row| row.class == Class::Derived && row.verdict != Verdict::Reproduced)
        .map(|row| {
            let reproduced = row.reproduced.as_deref().unwrap_or_default();
            format!("{}: {} against {}: {}", row.id, reproduced, row.published, row.reason)
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_simulated_row_uses_no_published_value() {
    for library in papers().libraries() {
        for entry in library.entries.iter().filter(|entry| entry.class != Class::Derived) {
            for value in &entry.values {
                value.curves(&mut |curve| {
                    let known = library.cases.contains_key(&curve.name);
                    assert!(known, "{}: {} is no case", entry.id, curve.name);
                });
            }
        }
    }
}

#[test]
fn every_case_is_used_and_every_run_is_planned_once() {
    let papers = papers();
    let lines = papers.plan(&Choice::default());
    assert!(lines.windows(2).all(|pair| pair[0] < pair[1]));
    for library in papers.libraries() {
        let mut used = std::collections::BTreeSet::new();
        let values = library.entries.iter().flat_map(|entry| &entry.values);
        values.for_each(|value| value.curves(&mut |curve| used.extend([curve.name.clone()])));
        let unused: Vec<&String> =
            library.cases.keys().filter(|name| !used.contains(*name)).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }
}

#[test]
fn the_reproduced_values_of_formulae_do_not_follow_the_published_ones() {
    let mut scaled = papers();
    scaled.scale_published(1.2);
    let reproduced = |report: &Report| -> Vec<Option<String>> {
        report.rows.iter().map(|row| row.reproduced.clone()).collect()
    };
    let (honest, scaled) = (without_runs(&papers()), without_runs(&scaled));
    assert_eq!(reproduced(&honest), reproduced(&scaled));
    assert!(scaled.reproduced < honest.reproduced / 2, "{}", scaled.reproduced);
}

#[test]
fn a_run_that_fails_is_a_failed_row_and_never_a_missing_one() {
    let report = without_runs(&papers());
    let count = |class: Class| report.counts.iter().find(|count| count.class == class);
    assert_eq!(count(Class::Simulated).map(|count| count.reproduced), Some(0));
    let failed = report.rows.iter().filter(|row| row.verdict == Verdict::Failed);
    assert!(failed.clone().count() > 100);
    for row in failed {
        assert!(row.reason.contains("not carried out"), "{}: {}", row.id, row.reason);
    }
    assert!(!report.met);
}
