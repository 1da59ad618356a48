//! The Python package: its own tests, on data that this program measures and exports.
//!
//! Each part runs separately, so that a skipped part is counted under its own name.

use std::process::Command;
use testkit::requires;

/// Runs one file of the package's tests; none may be skipped.
#[track_caller]
fn passes(module: &str) {
    let folder = format!("{}/../../python", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .args(["-B", "-m", "unittest", &format!("tests.{module}")])
        .current_dir(&folder)
        .env("PYTHONPATH", format!("{folder}/src"))
        .env("HALFPOWER_BIN", env!("CARGO_BIN_EXE_halfpower"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.trim_end().ends_with("\nOK") && !said.contains("Ran 0 tests"), "{said}");
}

#[test]
fn the_package_bears_the_version_of_the_program() {
    let project = include_str!("../../../../python/pyproject.toml");
    let version = concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "\"\n");
    assert!(project.contains(version), "{version} is not in {project}");
}

#[test]
fn the_package_reads_what_the_program_printed_and_saved() {
    requires!(Python);
    passes("test_reading");
}

#[test]
fn data_frames_hold_the_same_with_fixed_types() {
    requires!(Pandas);
    passes("test_frames");
}

#[test]
fn exported_tables_hold_what_the_package_reads_from_the_database() {
    requires!(Python);
    passes("test_export");
}

#[test]
fn the_notebook_draws_its_figure_from_a_run_and_a_sweep() {
    requires!(Matplotlib);
    passes("test_notebook");
}
