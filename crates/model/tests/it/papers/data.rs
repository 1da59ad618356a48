//! The data are consistent, and rows without a simulator are reproduced.

use model::papers::*;

fn papers() -> Papers {
    Papers::load().unwrap()
}

/// A report in which every run is refused: derived rows are unaffected.
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
    for library in papers().libraries {
        for entry in library.entries.iter().filter(|entry| entry.row.class != Class::Derived) {
            for value in &entry.values {
                value.curves(&mut |curve| {
                    let known = library.cases.contains_key(&curve.name);
                    assert!(known, "{}: {} is no case", entry.row.id, curve.name);
                });
            }
        }
    }
}

/// The row that a repeated row names as the same.
fn counted_as(reason: &str) -> Option<&str> {
    let rest = reason.strip_prefix("the same measurement as ")?;
    rest.split([',', ';']).next()
}

/// The names of the runs in a row's expressions, once per use.
fn curves_of(entry: &library::Entry) -> Vec<String> {
    let mut names = Vec::new();
    entry.values.iter().for_each(|it| it.curves(&mut |curve| names.push(curve.name.clone())));
    names
}

#[test]
fn a_measurement_counts_once() {
    for library in papers().libraries {
        let find = |id: &str| library.entries.iter().find(|entry| entry.row.id == id);
        for entry in library.entries.iter().filter(|entry| entry.row.class == Class::Repeated) {
            let id = counted_as(&entry.row.reason);
            let counted = id.and_then(find).map(|entry| entry.row.class);
            let counts = counted.is_some_and(Class::is_testable);
            assert!(counts, "{}: {:?} is no counted row", entry.row.id, entry.row.reason);
        }
        // If a value is only a point, the largest point or the half-power point of one run's curve, and the
        // curve counts as a series, then the value belongs to that curve.
        let counted = || library.entries.iter().filter(|entry| entry.row.class.is_testable());
        let of_series = |entry: &library::Entry| entry.is_series().then(|| curves_of(entry));
        let series: Vec<_> = counted().filter_map(of_series).flatten().collect();
        for value in counted().filter(|it| !it.is_series() && it.row.class != Class::Fitted) {
            let curves = curves_of(value);
            let alone = curves.len() == value.values.len() && series.contains(&curves[0]);
            let plain = |name: &str| !value.row.method.contains(name);
            let searched = ["first_over", "_over", "busy", "phase", "cpu_"].map(plain);
            let restates = alone && searched.into_iter().all(|it| it);
            assert!(!restates, "{}: {} is a series", value.row.id, value.row.method);
        }
        // Two counted rows with one expression, and a value that is a point of a counted series.
        let mut known = std::collections::BTreeMap::new();
        for entry in counted() {
            let text = entry.row.method.replace(' ', "");
            if let Some(other) = known.insert(text, &entry.row.id) {
                panic!("{} and {other} are one measurement", entry.row.id);
            }
        }
        for (series, value) in counted().filter(|it| it.is_series()).flat_map(|series| {
            counted().filter(|it| !it.is_series()).map(move |value| (series, value))
        }) {
            for point in &series.row.points {
                let at = format!("[{}]", point.x.unwrap());
                let point = series.row.method.replace("[x]", &at);
                assert_ne!(point, value.row.method, "{} of {}", value.row.id, series.row.id);
            }
        }
    }
}

#[test]
fn every_case_is_used_and_every_run_is_planned_once() {
    let papers = papers();
    let lines = papers.plan(&Choice::default());
    assert!(lines.windows(2).all(|pair| pair[0] < pair[1]));
    for library in &papers.libraries {
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
    let derived = |report: &Report| {
        let count = report.counts.iter().find(|count| count.class == Class::Derived);
        count.map_or(0, |count| count.reproduced)
    };
    assert!(derived(&scaled) < derived(&honest) / 2, "{}", derived(&scaled));
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

#[test]
fn every_row_of_the_two_later_papers_has_one_class_and_none_is_lost() {
    let rows = papers().libraries.iter().map(|library| library.entries.len()).collect::<Vec<_>>();
    assert_eq!(rows[1], 359 + 5 + 22 + 14 + 2);
    // Rates, Tables 1 to 6, formulae, the recording, series of figures 3 to 10.
    assert_eq!(rows[2], 52 + 6 + 36 + 12 + 12 + 9 + 7 + 5 + 2 + 12);
}

#[test]
fn what_is_not_tried_says_why_in_more_than_a_word() {
    for row in papers().libraries[1..].iter().flat_map(|it| &it.entries).map(|entry| &entry.row) {
        let untried = matches!(row.class, Class::NotTestable | Class::OwnComputation);
        let silent = untried && row.reason.len() < 12;
        assert!(!silent, "{}: {:?}", row.id, row.reason);
    }
}

/// `HALFPOWER_BLESS=1` rewrites the committed file.
#[test]
fn the_committed_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/papers-1.schema.json");
    let text = format!("{:#}\n", papers_schema());
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == text,
        "{path} is stale: run HALFPOWER_BLESS=1 cargo test -p halfpower-model"
    );
}
