//! Runs everything that a change must pass, and prints the time of each step and a summary.
//!
//! A failed step does not end the run, so one run finds all problems. The test totals come from cargo's own
//! lines. The skips come from a file to which the tests append them, because the test harness hides what a
//! passing test prints. The last line is for scripts: `N passed, N failed, N skipped`. A failed step that is
//! not a test counts as one failure, so the line never says "0 failed" after a failure.

use crate::place;
use anyhow::{Context, Result, anyhow};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Capabilities that root has on a machine of a CI service. If a test is skipped for lack of one of these,
/// the machine is set up wrongly and the run fails.
const ROOT_HAS: &str = "Root Loop Mount Fio Ext4 Strace Setpriv Terminal Sysstat Prometheus";

/// Numbers of tests, as cargo counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
}

#[derive(Clone)]
struct Step {
    name: String,
    good: bool,
    took: Duration,
    totals: Totals,
}

/// Runs all steps; returns whether all passed.
pub(crate) fn run() -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let skip_log = folder.path().join("skips");
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let mut docs = place::cargo();
    docs.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");

    let mut steps = vec![
        step("format", || plain(place::cargo().args(["fmt", "--all", "--check"]))),
        step("build", || {
            plain(place::cargo().args(["test", "--workspace", "--no-run", "--quiet"]))
        }),
    ];
    // Tests mostly wait for devices and timers. Meanwhile the CPUs can compile, and run steps that do not
    // measure time. The program is started by its path, because the build may have replaced the file.
    let itself = std::env::args_os().next().context("cannot tell where this program is")?;
    let smoke = |verb: &str| {
        let mut command = Command::new(&itself);
        command.args([verb, "--smoke"]);
        command
    };
    let (tested, others) = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let mut clippy_of_all = place::cargo();
            clippy_of_all.args(clippy);
            let mut done =
                [("clippy", clippy_of_all), ("docs", docs), ("bench smoke", smoke("bench"))]
                    .map(beside)
                    .to_vec();
            done.push(wine(&skip_log)?);
            let arm =
                step("aarch64 smoke", || excused("aarch64", crate::aarch64::smoke(), &skip_log));
            done.push((arm, String::new()));
            anyhow::Ok(done)
        });
        let tested = step("tests", || {
            let mut command = place::cargo();
            command.args(["test", "--workspace", "--no-fail-fast"]);
            tests(command.env(testkit::SKIP_LOG, &skip_log))
        });
        (tested, others.join())
    });
    steps.push(tested);
    for (step, said) in others.map_err(|_| anyhow!("the thread beside the tests ended early"))?? {
        println!("\n== {}\n{said}", step.name);
        steps.push(step);
    }
    steps.extend([
        step("tidy", || Ok((crate::tidy_all(false)?, Totals::default()))),
        step("lines", || Ok((crate::lines::run()?, Totals::default()))),
        step("lab smoke", || excused("lab", crate::lab::smoke(), &skip_log)),
        step("screenshots", || excused("screenshots", crate::screenshots::short(), &skip_log)),
    ]);
    // Strict for root on a CI service, which sets `CI`.
    let strict = std::env::var("CI").is_ok_and(|value| value == "true")
        && testkit::Capability::Root.missing().is_none();
    Ok(summary(&steps, &read_skips(&skip_log)?, strict))
}

/// A step that not every machine supports. If the machine lacks something, the step is a skip and is counted
/// like a skipped test.
fn excused(name: &str, ended: Result<bool>, skip_log: &Path) -> Result<(bool, Totals)> {
    let skip = |lacks: String| log_skip(skip_log, name, &lacks).map(|()| true);
    let good = place::lacked(ended)?.or_else(skip)?;
    Ok((good, Totals { passed: u64::from(good), failed: 0 }))
}

/// The tests of the Windows program, or a skip if the machine lacks something.
fn wine(skip_log: &Path) -> Result<(Step, String)> {
    match place::lacked(crate::wine::short())? {
        Ok(mut command) => {
            command.env(testkit::SKIP_LOG, skip_log);
            Ok(beside(("wine", command)))
        }
        Err(lacks) => {
            log_skip(skip_log, "wine", &lacks)?;
            let totals = Totals { passed: 1, failed: 0 };
            let step = Step { name: "wine".to_owned(), good: true, took: Duration::ZERO, totals };
            Ok((step, lacks))
        }
    }
}

/// Records a skipped step. It counts as a passed test, as a skipped test does.
fn log_skip(skip_log: &Path, step: &str, lacks: &str) -> Result<()> {
    let mut log = OpenOptions::new().create(true).append(true).open(skip_log)?;
    writeln!(log, "SKIP {step}: {}", lacks.replace('\n', " "))?;
    Ok(())
}

/// Runs a command in parallel with another step, and returns its output.
fn beside((name, mut command): (&str, Command)) -> (Step, String) {
    let begin = Instant::now();
    let (good, said) = match command.output() {
        Ok(output) => {
            let words = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8_lossy(&words).into_owned())
        }
        Err(error) => (false, error.to_string()),
    };
    let took = begin.elapsed();
    let totals = said.lines().map(parse_result).fold(Totals::default(), Totals::plus);
    (Step { name: name.to_owned(), good, took, totals }, said)
}

/// Runs one step and prints the result. A step that cannot be started has failed.
fn step(name: &str, work: impl FnOnce() -> Result<(bool, Totals)>) -> Step {
    println!("\n== {name}");
    let begin = Instant::now();
    let (good, totals) = work().unwrap_or_else(|error| {
        println!("{error:#}");
        (false, Totals::default())
    });
    let took = begin.elapsed();
    println!("== {name}: {} in {:.1} s", if good { "ok" } else { "FAILED" }, took.as_secs_f64());
    Step { name: name.to_owned(), good, took, totals }
}

/// Runs a command and returns whether it succeeded.
fn plain(command: &mut Command) -> Result<(bool, Totals)> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    Ok((status.success(), Totals::default()))
}

/// Runs `cargo test`, and passes on and parses its output.
fn tests(command: &mut Command) -> Result<(bool, Totals)> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {command:?}"))?;
    let mut totals = Totals::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            totals = totals.plus(parse_result(&line));
            println!("{line}");
        }
    }
    Ok((child.wait()?.success(), totals))
}

impl Totals {
    fn plus(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

/// The numbers of a line such as `test result: ok. 5 passed; 0 failed; 0 ignored; ...`; zeros for any other
/// line.
fn parse_result(line: &str) -> Totals {
    let rest = line.strip_prefix("test result: ").unwrap_or_default();
    let words: Vec<&str> = rest.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
    let number = |what: &str| -> u64 {
        let pairs = words.windows(2).filter(|pair| pair[1] == what);
        pairs.filter_map(|pair| pair[0].parse::<u64>().ok()).sum()
    };
    Totals { passed: number("passed"), failed: number("failed") }
}

/// The lines that tests appended; no file means no skips.
fn read_skips(log: &Path) -> Result<Vec<String>> {
    match std::fs::read_to_string(log) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        text => Ok(text.context("cannot read the skip log")?.lines().map(str::to_owned).collect()),
    }
}

/// Whether a skip names a capability that must not be missing.
fn unexcused(skip: &str) -> bool {
    ROOT_HAS.split(' ').any(|name| skip.contains(&format!("needs {name}:")))
}

/// Prints the summary; returns whether all steps passed.
fn summary(steps: &[Step], skips: &[String], strict: bool) -> bool {
    println!("\n== summary");
    for step in steps {
        let word = if step.good { "ok" } else { "FAILED" };
        println!("{:<16} {word:<6} {:>7.1} s", step.name, step.took.as_secs_f64());
    }
    for skip in skips {
        let excuse = if strict && unexcused(skip) { "  (this machine must have it)" } else { "" };
        println!("{skip}{excuse}");
    }
    let (totals, failures) = count(steps, skips, strict);
    println!("{} passed, {failures} failed, {} skipped", totals.passed, skips.len());
    failures == 0
}

/// Test totals, and failures of all kinds. Cargo counts skipped tests as passed, so they are subtracted.
fn count(steps: &[Step], skips: &[String], strict: bool) -> (Totals, u64) {
    let mut totals = steps.iter().fold(Totals::default(), |sum, step| sum.plus(step.totals));
    totals.passed = totals.passed.saturating_sub(skips.len() as u64);
    let bad_steps = steps.iter().filter(|step| !step.good && step.totals.failed == 0).count();
    let bad_skips = skips.iter().filter(|skip| strict && unexcused(skip)).count();
    (totals, totals.failed + bad_steps as u64 + bad_skips as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_come_from_cargos_own_lines_and_from_no_others() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 2 filtered \
                    out; finished in 0.52s";
        assert_eq!(parse_result(line), Totals { passed: 12, failed: 3 });
        assert_eq!(parse_result("test a_test_that_says_5 passed ... ok"), Totals::default());
        assert_eq!(parse_result("test result: no numbers here"), Totals::default());
    }

    fn step_of(good: bool, passed: u64, failed: u64) -> Step {
        Step { name: "x".to_owned(), good, took: Duration::ZERO, totals: Totals { passed, failed } }
    }

    #[test]
    fn a_failed_step_without_failed_tests_counts_as_one_failure() {
        assert_eq!(count(&[step_of(true, 5, 0)], &[], true).1, 0);
        assert_eq!(count(&[step_of(false, 0, 0), step_of(false, 7, 2)], &[], true).1, 3);
    }

    #[test]
    fn a_skip_is_not_a_pass_and_is_a_failure_where_root_in_ci_should_have_had_it() {
        let skips = [
            "SKIP a: needs Loop: losetup failed".to_owned(),
            "SKIP b: needs Zram: the kernel has no zram".to_owned(),
        ];
        let (totals, failures) = count(&[step_of(true, 5, 0)], &skips, true);
        assert_eq!((totals.passed, failures), (3, 1));
        assert_eq!(count(&[step_of(true, 5, 0)], &skips, false).1, 0);
    }
}
