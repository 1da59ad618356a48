//! Runs tests under AddressSanitizer: the crates whose memory the kernel or several threads write to, and
//! their dependencies.
//!
//! The project's pinned compiler contains the sanitizer. It needs the unstable options that `RUSTC_BOOTSTRAP`
//! enables, but no other compiler. The sanitizer sees memory accesses by Rust code and by libc's calls. It
//! sees writes of a raw system call (io_uring, io_submit, bpf) only when the program touches the memory, so
//! the lengths passed to the kernel are checked in the code. The standard library is not instrumented.
//! Rejected: Miri (the pinned toolchain has none, and it cannot run an engine's system calls) and valgrind
//! (it refuses io_uring).
//!
//! First, a planted overflow must be found; otherwise the run proves nothing.

use crate::place;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// The target must be named explicitly. Build scripts and macros, which run in the compiler, are then not
/// instrumented.
const TARGET: &str = "x86_64-unknown-linux-gnu";
const FLAGS: &str = "-Zsanitizer=address";
const PACKAGES: [&str; 4] =
    ["halfpower-engine", "halfpower-workload", "halfpower-host", "halfpower-trial"];
/// Crates that a test build fully optimises. With the sanitizer, that would take many times as long to
/// compile.
const OPTIMISED: [&str; 6] = ["stats", "simdisk", "engine", "trial", "workload", "model"];
/// A test that cannot run with the sanitizer: its address space limit leaves no room for the sanitizer's
/// table.
const SKIPPED: &str = "without_memory_for_it_no_engine_opens_and_each_says_what_to_do";
/// The sanitizer's name for a write beyond the end of an allocation.
const FOUND: &str = "heap-buffer-overflow";
/// Writes a byte beyond the end of a vector, in a way that cannot be optimised away.
const PLANTED: &str = "fn main() {
    let mut bytes = vec![0_u8; 16];
    let start = std::hint::black_box(bytes.as_mut_ptr());
    unsafe { start.add(std::hint::black_box(17)).write(1) };
    std::hint::black_box(&bytes);
}
";

/// `cargo xtask sanitize`; its build, which nothing else uses, is removed afterwards.
pub(crate) fn run() -> Result<bool> {
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
    std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(good)
}

/// A command with an instrumenting compiler. Its programs do not report leaks, because buffers that the
/// kernel may still write to are leaked deliberately. They also handle bus errors themselves, as the engine
/// does.
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
