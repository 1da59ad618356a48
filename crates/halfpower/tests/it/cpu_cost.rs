//! CPU cost, tested with the binary: both bounds, what is between them, and the cost fit.
//!
//! Some tests hold on any machine, others on an idle one. On a busy machine, the load's work cannot be
//! distinguished from that of other processes. The document says how busy the machine was, and the test is
//! then skipped.

use crate::program::{found, halfpower};
use record::{CostFit, CpuUpper, EngineName, FindingCode, Trial};
use std::path::Path;
use tempfile::TempDir;
use testkit::{LoopDevice, requires, skip};

/// Maximum share of busy CPU time without the load for a reliable judgement.
const QUIET_SHARE: f64 = 0.05;
/// A file system in memory, on every Linux.
const MEMORY: &str = "/dev/shm";

fn upper(trial: &Trial) -> &CpuUpper {
    trial.cpu.value().and_then(|cpu| cpu.upper.as_ref()).expect("no upper bound in the document")
}

/// Whether other processes used the CPUs so much that the pass found no bound, which a finding must report.
/// If so, the test is skipped.
fn starved(test: &str, trial: &Trial) -> bool {
    let none = trial.cpu.value().is_some_and(|cpu| cpu.upper.is_none());
    if none {
        assert!(found(&trial.findings, FindingCode::CpuBoundUnsure), "{:?}", trial.findings);
        skip(test, "the processors were too busy for a bound");
    }
    none
}

/// Whether the trial and the pass ran on an idle machine. If not, the test is skipped.
fn quiet(test: &str, trial: &Trial) -> bool {
    if let Some(why) = trial.cpu.reason() {
        skip(test, why);
        return false;
    }
    if starved(test, trial) {
        return false;
    }
    let upper = upper(trial);
    let calm = upper.baseline_share < QUIET_SHARE && upper.calibration_change_rel < QUIET_SHARE;
    if !calm {
        let busy = upper.baseline_share * 100.0;
        skip(test, &format!("needs a quiet machine: {busy:.0} % was in use without the load"));
    }
    calm
}

#[test]
fn the_upper_bound_has_an_interval_and_leaves_the_response_times_alone() {
    let folder = TempDir::new().unwrap();
    let words = format!(
        "run {} --size 8m --ioengine null --iodepth 8 --runtime 500ms --no-save --json --cpu-upper",
        folder.path().display()
    );
    let trial = halfpower(&words).trial();
    assert_eq!(trial.workload.engine, EngineName::Null);
    let Some(cpu) = trial.cpu.value() else {
        return skip("the_upper_bound_has_an_interval", trial.cpu.reason().unwrap_or_default());
    };
    if starved("the_upper_bound_has_an_interval", &trial) {
        return;
    }
    let upper = upper(&trial);
    assert_eq!(cpu.upper_us_per_io, Some(upper.us_per_io.value));
    assert!(upper.us_per_io.n >= 2 && upper.us_per_io.low < upper.us_per_io.high);
    assert!(upper.cpus >= 1 && upper.ios > 0);
    assert!(cpu.upper_method.as_ref().unwrap().contains("background thread"));
    // The result is that of the trial: its own requests fill its window, not those of the pass.
    let read = trial.result.read.as_ref().unwrap();
    assert_eq!(read.histogram.buckets.iter().map(|(_, count)| count).sum::<u64>(), read.ios);
    assert!(read.ios != upper.ios);
}

#[test]
fn a_run_without_the_pass_has_a_lower_bound_alone_and_says_in_what_terms() {
    let folder = TempDir::new().unwrap();
    let words = format!(
        "run {} --size 8m --ioengine null --iodepth 8 --runtime 300ms --no-save --json",
        folder.path().display()
    );
    let trial = halfpower(&words).trial();
    let Some(cpu) = trial.cpu.value() else {
        return skip("a_run_without_the_pass", "the machine is too busy to read counters in time");
    };
    assert!(cpu.upper.is_none() && cpu.upper_us_per_io.is_none());
    let lower = cpu.lower_us_per_io.unwrap();
    // The null engine keeps one CPU busy, and not more.
    let rate = trial.result.read.as_ref().unwrap().iops;
    assert!(lower * rate < 1.1e6, "{lower} µs at {rate} per second");
    let processors = cpu.saturation_iops.unwrap() * lower / 1e6;
    assert!(processors > 0.0 && processors <= f64::from(trial.environment.unwrap().cpus) + 1e-6);
    assert!(cpu.clocks_per_byte.is_none() || cpu.clock.is_some());
    assert!(
        cpu.instructions_per_io.value().is_some() != cpu.instructions_per_io.reason().is_some()
    );
    assert!(!found(&trial.findings, FindingCode::CpuBoundUnsure));
}

fn reads(target: &Path) -> Trial {
    let words = format!(
        "run {} --rw read --bs 64k --size 32m --ioengine sync --runtime 3s --no-save --json \
         --cpu-upper",
        target.display()
    );
    halfpower(&words).trial()
}

#[test]
fn a_loop_device_s_worker_is_charged_elsewhere_and_a_file_s_reads_are_not() {
    requires!(Root, Loop);
    let name = "a_loop_device_s_worker_is_charged_elsewhere";
    let device = LoopDevice::within(Path::new(MEMORY), 32 << 20, 512).unwrap();
    // Blocks, not holes: the worker has something to copy.
    std::fs::write(device.backing_file(), vec![7; 32 << 20]).unwrap();
    let through_worker = reads(device.path());
    if !quiet(name, &through_worker) {
        return;
    }
    assert!(found(&through_worker.findings, FindingCode::CpuChargedElsewhere));
    let cpu = through_worker.cpu.value().unwrap();
    assert!(cpu.lower_us_per_io.unwrap() < upper(&through_worker).us_per_io.value);
    // The same reads of the same memory, copied by the calling thread.
    let folder = tempfile::tempdir_in(MEMORY).unwrap();
    let direct = reads(folder.path());
    if quiet(name, &direct) {
        assert!(
            !found(&direct.findings, FindingCode::CpuChargedElsewhere),
            "{:?}",
            direct.findings
        );
    }
}

/// Buffered reads of a file that is not in memory. The pass must not read from memory what the trial has
/// brought there.
#[test]
fn the_pass_finds_the_page_cache_as_the_trial_found_it() {
    requires!(Disk);
    let folder = testkit::disk_folder().unwrap();
    let file = folder.path().join("cold");
    let run = |flags: &str| {
        halfpower(&format!("run {} --rw read --bs 64k --no-save --json {flags}", file.display()))
            .trial()
    };
    std::fs::write(&file, vec![7; 64 << 20]).unwrap();
    std::fs::File::open(&file).unwrap().sync_all().unwrap();
    // Read the whole file into memory.
    run("--cache all --passes 1 --runtime 1m");
    // Runs that end after a number of bytes, so that their counters are never read too late.
    let upper_of_a_pass = "--cache all --cpu-upper --passes 1 --ramp-time 0 --runtime 3s";
    let warm = run(upper_of_a_pass);
    let name = "the_pass_finds_the_page_cache_as_the_trial_found_it";
    if starved(name, &warm) {
        return;
    }
    let doubts = |trial: &Trial| upper(trial).doubts.join("; ");
    assert!(!doubts(&warm).contains("page cache at the start of the run"), "{}", doubts(&warm));
    // A half-cached file is a state that cannot be restored for the slices.
    let data = std::fs::File::open(&file).unwrap();
    let half = std::num::NonZeroU64::new(32 << 20);
    rustix::fs::fadvise(&data, 0, half, rustix::fs::Advice::DontNeed).unwrap();
    let partly = run(upper_of_a_pass);
    if starved(name, &partly) {
        return;
    }
    assert!(doubts(&partly).contains("page cache at the start of the run"), "{}", doubts(&partly));
}

#[test]
fn a_cost_fit_of_a_disk_says_what_its_buffered_costs_leave_out() {
    requires!(Disk);
    let folder = testkit::disk_folder().unwrap();
    for (rw, word) in [("read", "reads from the disk into the cache"), ("randwrite", "write-back")]
    {
        let words = format!(
            "run {} --size 16m --runtime 400ms --rw {rw} --no-save --cost-fit --json",
            folder.path().display()
        );
        let ended = halfpower(&words);
        let fit: CostFit = serde_json::from_str(&ended.stdout).unwrap();
        let said = fit.findings.iter().any(|finding| {
            finding.code == FindingCode::CpuChargedElsewhere && finding.claim.contains(word)
        });
        assert!(said, "{rw}: {:?}", fit.findings);
    }
}

#[test]
fn a_cost_fit_has_both_cache_modes_and_a_break_even_or_why_there_is_none() {
    let folder = tempfile::tempdir_in(MEMORY).unwrap();
    let file = folder.path().join("fit.json");
    let database = folder.path().join("h.db");
    let words = format!(
        "run {} --size 16m --runtime 400ms --ioengine sync --cost-fit --output {} --db {}",
        folder.path().display(),
        file.display(),
        database.display()
    );
    let page = halfpower(&words);
    let fit: CostFit = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(fit.schema, "halfpower/cost-fit/1");
    // The command at the end of the page, if it has a plot.
    let words = format!("report {} --md --db {}", fit.id, database.display());
    assert!(halfpower(&words).expect(0).stdout.contains("Cost fit"));
    // A busy machine may leave too few sizes for a line; then the page shows the reason.
    let flat = page.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = fit.break_even_bytes.reason().unwrap_or("cost the same at");
    assert!(flat.contains(told), "{page:#?}");
    assert_eq!(fit.modes.iter().map(|line| line.cache.letter()).collect::<String>(), "YH");
    assert_eq!(fit.area_bytes.0, 16 << 20);
    for line in &fit.modes {
        assert!(line.line.value().is_some() != line.line.reason().is_some());
        assert!(line.points.iter().all(|point| point.us_per_io.value > 0.0));
    }
}

#[test]
fn what_a_cost_fit_cannot_do_is_a_usage_error() {
    let simulated = "run sim:mm1,service=1ms --no-save";
    halfpower(&format!("{simulated} --cost-fit")).refuses(2, &["--cost-fit", "simulated"]);
    halfpower(&format!("{simulated} --cpu-upper")).refuses(2, &["--cpu-upper", "simulated"]);
    let folder = TempDir::new().unwrap();
    let words = format!("run {} --size 8m --no-save", folder.path().display());
    let mixed = halfpower(&format!("{words} --cost-fit --rw randrw"));
    assert_eq!(mixed.code, Some(2), "{mixed:#?}");
    assert!(mixed.stderr.contains("one operation"), "{mixed:#?}");
}

#[test]
fn a_sqpoll_thread_is_in_the_lower_bound() {
    let folder = TempDir::new().unwrap();
    let words = format!(
        "run {} --size 8m --cache all --sqthread-poll --iodepth 4 --runtime 500ms --no-save --json",
        folder.path().display()
    );
    let polled = trial_of_any_code(&words);
    let features = polled.harness.value().map(|harness| harness.engine_features.join(" "));
    let Some(cpu) = polled.cpu.value() else {
        return skip("a_sqpoll_thread", "the machine is too busy to read counters in time");
    };
    if !features.is_some_and(|features| features.contains("SQPOLL")) {
        return skip("a_sqpoll_thread", "the kernel gave no SQPOLL thread");
    }
    assert!(cpu.workers_ms > 0.0, "{cpu:?}");
    assert!(cpu.workers_ms <= cpu.user_ms + cpu.system_ms + 1.0, "{cpu:?}");
    let plain = trial_of_any_code(&words.replace("--sqthread-poll", ""));
    let workers = plain.cpu.value().map_or(0.0, |cpu| cpu.workers_ms);
    assert!(workers < cpu.workers_ms, "{workers} {cpu:?}");
}

/// The trial of a run that need not be clean.
fn trial_of_any_code(words: &str) -> Trial {
    let ended = halfpower(words);
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    ended.trial()
}
