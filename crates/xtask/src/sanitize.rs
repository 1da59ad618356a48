//! Tests under AddressSanitizer: the crates that hold memory which the kernel or several threads write
//! to, and what they build on.
//!
//! The compiler that the project pins has the sanitizer built in, behind a switch for unstable options
//! that `RUSTC_BOOTSTRAP` opens; no other compiler is needed. It sees what Rust code and libc's own calls do to
//! memory. What the kernel writes by a raw system call (io_uring, io_submit, bpf) it sees only once the
//! program touches it, so a length that the kernel takes is checked where it is given. The standard library is not
//! instrumented. Rejected: Miri (the pinned toolchain has none, and it runs no system call of an engine) and
//! valgrind (it refuses io_uring).
//!
//! An overflow is planted first and has to be found: else the run says nothing.

use crate::arguments::Arguments;
use crate::place;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

pub(crate) const SWITCHES: [&str; 1] = ["--keep"];

/// It has to be named: build scripts and macros run in the compiler, which is not instrumented.
const TARGET: &str = "x86_64-unknown-linux-gnu";
const FLAGS: &str = "-Zsanitizer=address";
const PACKAGES: [&str; 4] =
    ["halfpower-engine", "halfpower-workload", "halfpower-host", "halfpower-trial"];
/// Crates that a test build optimises fully, which takes the compiler many times as long with the sanitizer in
/// them.
const OPTIMISED: [&str; 6] = ["stats", "simdisk", "engine", "trial", "workload", "model"];
/// A test that cannot run with it: under a limit of address space the sanitizer has no room for its own table.
const SKIPPED: &str = "without_memory_for_it_no_engine_opens_and_each_says_what_to_do";
/// What the sanitizer says of a write behind the end of an allocation.
const FOUND: &str = "heap-buffer-overflow";
/// Writes a byte behind the end of a vector, in a way that no optimisation takes away.
const PLANTED: &str = "fn main() {
    let mut bytes = vec![0_u8; 16];
    let start = std::hint::black_box(bytes.as_mut_ptr());
    unsafe { start.add(std::hint::black_box(17)).write(1) };
    std::hint::black_box(&bytes);
}
";

/// `cargo xtask sanitize`; `--keep` leaves what was built for the next run.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        testkit::skip("sanitize", "the sanitizer is used on Linux on x86-64");
        return Ok(true);
    }
    let folder = place::target_folder().join("sanitize");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    find_planted(&folder)?;
    let mut cargo = place::cargo();
    cargo.args(["test", "--no-fail-fast", "--target", TARGET, "--target-dir"]).arg(&folder);
    cargo.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    for name in OPTIMISED {
        cargo.args(["--config", &format!("profile.dev.package.halfpower-{name}.opt-level=1")]);
    }
    testkit::skip(SKIPPED, "AddressSanitizer needs more address space than the test leaves");
    cargo.args(["--", "--skip", SKIPPED]);
    let good = instrumented(&mut cargo).status().context("cannot run cargo")?.success();
    if !arguments.has("--keep") {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    Ok(good)
}

/// A command whose compiler instruments what it builds. Its programs say nothing of memory that is left at the end, since
/// buffers that the kernel may still write to are left on purpose, and take bus errors themselves, as the engine does.
fn instrumented(command: &mut Command) -> &mut Command {
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", FLAGS)
        .env("ASAN_OPTIONS", "detect_leaks=0:handle_sigbus=0")
}

/// Builds and runs a program with an overflow.
fn find_planted(folder: &Path) -> Result<()> {
    let (source, program) = (folder.join("planted.rs"), folder.join("planted"));
    std::fs::write(&source, PLANTED)?;
    let mut rustc = Command::new("rustc");
    rustc
        .args(["--edition", "2024", "--target", TARGET, FLAGS])
        .arg(&source)
        .arg("-o")
        .arg(&program);
    let built = instrumented(rustc.current_dir(place::root())).status();
    ensure!(built.context("cannot run rustc")?.success(), "the compiler has no AddressSanitizer");
    let ended = instrumented(&mut Command::new(&program)).output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(
        !ended.status.success() && said.contains(FOUND),
        "the planted overflow was not found: {said:?}"
    );
    println!("planted overflow found");
    Ok(())
}
