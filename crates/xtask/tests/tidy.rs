//! The repository passes its own lint. The documented commands and outputs need the release
//! binary, and are checked by `cargo xtask tidy`.

use std::path::Path;

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders up");
    let problems = xtask::tidy::check(root).expect("the files can be read");
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
