//! The page about the papers' experiments names only existing tests, and marks the rows without tests.
//!
//! A table of claims becomes wrong when a test is renamed or removed. This test searches the sources of all
//! crates for each name on the page. It does not run those tests.

use std::path::Path;

/// Number of rows in each section, in order; none may get lost.
const ROWS: [usize; 6] = [14, 8, 9, 14, 12, 17];

/// All Rust sources below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_experiment_of_the_papers_has_a_row_whose_tests_exist_or_which_is_called_missing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("crates/halfpower/docs/experiments.md")).unwrap();
    let mut code = String::new();
    sources(&root.join("crates"), &mut code);
    let mut missing = Vec::new();
    for (section, rows) in page.split("\n## ").skip(1).zip(ROWS) {
        let table = section.lines().filter(|line| line.starts_with("| ")).skip(1);
        let table: Vec<&str> = table.collect();
        assert_eq!(table.len(), rows, "{section}");
        for row in table {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [name, command, tests] = cells[..] else { panic!("{row}") };
            assert!(!command.is_empty(), "{row}");
            if tests == "*missing*" {
                missing.push(name);
                continue;
            }
            for test in tests.split("<br>") {
                let test = test.trim_matches('`');
                assert!(
                    code.contains(&format!("fn {test}()")),
                    "no test is called {test:?}: {row}"
                );
            }
        }
    }
    assert_eq!(page.matches("\n## ").count(), ROWS.len());
    println!("{} rows without a test: {}", missing.len(), missing.join("; "));
    assert!(missing.is_empty(), "rows without a test: {missing:?}");
}
