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

#[test]
fn every_row_of_the_two_later_papers_has_one_class_and_none_is_lost() {
    let rows = papers().libraries.iter().map(|library| library.entries.len()).collect::<Vec<_>>();
    assert_eq!(rows[1], 359 + 5 + 22 + 14 + 2);
    // Rates, Tables 1 to 6, formulae, the recording, series of figures 3 to 10.
    assert_eq!(rows[2], 52 + 6 + 36 + 12 + 12 + 9 + 7 + 5 + 2 + 12);
}

#[test]
fn what_is_not_reproducible_says_why_in_more_than_a_word() {
    for row in papers().libraries[1..].iter().flat_map(|it| &it.entries).map(|entry| &entry.row) {
        let silent = row.class == Class::NotReproducible && row.reason.len() < 12;
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
        "{path} is stale: run HALFPOWER_BLESS=1 cargo test -p halfpower-papers"
    );
}

/// Series by name: `d` and `i` change places by a little, nothing else does.
const SERIES: &str = "name,chart,series,peak\n\
    a,one,a,\nb,one,b,\nc,two,c,\nd,two,d,\ni,two,i,\ne,two,e,\nf,two,f,\ng,two,g,\nh,two,h,\n";

#[test]
fn each_stricter_rule_takes_away_what_it_names_and_all_four_take_all() {
    let files = library::Files {
        paper: Paper::Riedel,
        claims: "id,section,subject,conditions,metric,value,unit,kind\n",
        charts: &[
            ("one", "x,series,value,unit\n1,a,10,s\n1,b,20,s\n"),
            (
                "two",
                "x,series,value,unit\n1,c,10,s\n1,d,20,s\n1,i,23,s\n\
                 1,e,,s\n1,f,,s\n1,g,,s\n1,h,,s\n",
            ),
        ],
        chart_table: "chart,figure,title,x_title,x_scale,y_title\none,1,,,,\ntwo,2,,,,\n",
        series_table: SERIES,
        cases: "name,target,flags,points,metric,drive\n",
        rows: "id,class,expression,tolerance,value,reason\n\
               a,fitted,10,,,\nb,simulated,20,,,\n\
               c,simulated,10,,,\nd,simulated,21.2,,,\ni,simulated,21,,,\n\
               e,not reproducible,,,,hardware without a specification: a box\n\
               f,not reproducible,,,,contradicted: a box\n\
               g,not reproducible,,,,contradicted: a box\n\
               h,not reproducible,,,,a name: a box\n",
    };
    let papers = Papers { libraries: vec![Library::load(&files).unwrap()] };
    let found: Vec<(usize, usize)> = without_runs(&papers)
        .stricter
        .iter()
        .map(|reading| (reading.reproduced, reading.series))
        .collect();
    assert_eq!(found, [(3, 3), (2, 4), (4, 5), (4, 6), (1, 6)]);
}
