//! Checks that every finding has a test that causes it.

use std::path::Path;

/// Converts `small_area` to its name in the code, `SmallArea`.
fn in_code(code: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    code.split('_').map(capital).collect()
}

#[test]
fn every_finding_of_the_page_is_named_by_a_test_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/findings.md")).unwrap();
    let codes = page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    let codes: Vec<String> = codes.map(in_code).collect();
    assert!(codes.len() > 40, "{codes:?}");
    // The tests of all findings are in this folder, none in its subfolders.
    let tests = std::fs::read_dir(root.join("tests/it")).unwrap();
    let files = tests.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let sources: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let missing: Vec<&String> =
        codes.iter().filter(|code| !sources.contains(&format!("FindingCode::{code}"))).collect();
    assert!(missing.is_empty(), "no test provokes {missing:?}");
}
