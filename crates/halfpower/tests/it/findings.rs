//! Each trap of a trial, provoked on a target, and its opposite that differs in one condition.

use crate::program::{Running, found, halfpower, halfpower_in, program, program_under, run, trial};
use record::{EngineName, FindingCode, Severity, Trial};
use std::fs::File;
use testkit::{LoopDevice, Mounted, disk_folder, requires};

/// A trial in a new folder on the disk.
fn on_disk(code: i32, flags: &str) -> Trial {
    let folder = disk_folder().unwrap();
    let words = format!("run . --size 64m --io-size 16m --runtime 30s --no-save --json {flags}");
    halfpower_in(folder.path(), &words).expect(code).trial()
}

#[test]
fn the_sync_engine_tells_that_it_has_one_request_per_job_and_reaches_the_depth_with_jobs() {
    requires!(Disk);
    let asked = on_disk(0, "--ioengine sync --iodepth 8");
    let of_engine = |trial: &Trial| {
        trial.findings.iter().any(|it| it.claim.contains("one request in flight per job"))
    };
    assert!(found(&asked.findings, FindingCode::DepthNotReached) && of_engine(&asked));
    assert!(asked.result.concurrency < 1.1, "{}", asked.result.concurrency);
    // On a busy machine, jobs start one after the other and wait between their requests. The concurrency is
    // then below 8, which is another finding, but above that of one job.
    let reached = on_disk(0, "--ioengine sync --numjobs 8");
    assert!(!of_engine(&reached));
    assert!(reached.result.concurrency > 1.1, "{}", reached.result.concurrency);
    let ring = on_disk(0, "--ioengine io_uring --iodepth 8");
    assert!(!of_engine(&ring));
    assert!(ring.result.concurrency > 1.1, "{}", ring.result.concurrency);
}

#[test]
fn failed_requests_are_told_and_make_the_trial_not_clean() {
    let bad = trial(1, "sim:mm1,service=1ms,error=0.001 --runtime 60s");
    assert!(found(&bad.findings, FindingCode::IoErrors));
    let reads = bad.result.read.unwrap();
    // Binomial: 60,000 requests at 0.001 give 60, with a standard deviation of 7.7.
    assert!((30..=90).contains(&reads.errors), "{}", reads.errors);
    let good = trial(0, "sim:mm1,service=1ms,error=0 --runtime 60s");
    assert!(!found(&good.findings, FindingCode::IoErrors));
}

#[test]
fn a_trial_with_too_few_requests_says_so() {
    let few = trial(0, "sim:md1,service=5ms --runtime 250ms");
    assert!(found(&few.findings, FindingCode::TooFewRequests));
    let many = trial(0, "sim:md1,service=5ms --runtime 2500ms");
    assert!(!found(&many.findings, FindingCode::TooFewRequests));
    let none = trial(1, "sim:md1,service=5ms --runtime 2ms");
    assert!(found(&none.findings, FindingCode::TooFewRequests));
}

#[test]
fn a_rate_that_moves_during_the_run_is_told() {
    // At 400 %, the rate falls to a ninth along a curve, which must not be mistaken for correlated noise.
    for drift in ["100%", "400%"] {
        let moving = trial(0, &format!("sim:mm1,service=1ms,drift={drift} --runtime 120s"));
        assert!(found(&moving.findings, FindingCode::NotSteady), "{drift}");
        assert_eq!(moving.result.steady, Some(false), "{drift}");
    }
    let still = trial(0, "sim:mm1,service=1ms --runtime 120s");
    assert!(!found(&still.findings, FindingCode::NotSteady));
    assert_eq!(still.result.steady, Some(true));
}

#[test]
fn holes_of_a_file_are_told_and_a_written_file_has_none() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let run_on = |name: &str, code: i32| {
        let words = format!("run {name} --io-size 1m --runtime 30s --no-save --json");
        halfpower_in(folder.path(), &words).expect(code).trial()
    };
    File::create(folder.path().join("sparse")).unwrap().set_len(16 << 20).unwrap();
    let sparse = run_on("sparse", 1);
    assert!(found(&sparse.findings, FindingCode::UnwrittenExtents));
    assert_eq!(sparse.targets[0].extents.as_ref().unwrap().hole_bytes.0, 16 << 20);
    std::fs::write(folder.path().join("written"), vec![7; 16 << 20]).unwrap();
    File::open(folder.path().join("written")).unwrap().sync_all().unwrap();
    let written = run_on("written", 0);
    assert!(!found(&written.findings, FindingCode::UnwrittenExtents), "{:?}", written.findings);
    assert_eq!(written.targets[0].extents.as_ref().unwrap().hole_bytes.0, 0);
}

#[test]
fn the_requests_of_others_are_told_and_a_quiet_device_is_not_accused() {
    requires!(Root, Loop);
    let device = LoopDevice::new(64 << 20).unwrap();
    let path = device.path().display();
    // Long enough that the other program also gets CPU time on a fully loaded machine.
    let measure = || trial(0, &format!("{path} --rate-iops 500 --io-size 4m --runtime 60s"));
    let quiet = measure();
    assert!(!found(&quiet.findings, FindingCode::ForeignIo), "{:?}", quiet.findings);
    let mut other = program();
    let words = format!("run {path} --rw read --bs 64k --iodepth 4 --runtime 30s --no-save");
    other.args(words.split_whitespace());
    let mut other = Running::start(other);
    other.wait_for("measure ...");
    other.wait_for_transfers();
    let disturbed = measure();
    other.kill();
    assert!(found(&disturbed.findings, FindingCode::ForeignIo), "{:?}", disturbed.findings);
    assert!(disturbed.device_counters.value().unwrap().ratio_bytes.unwrap() > 1.1);
}

#[test]
fn a_machine_that_forbids_io_uring_gets_the_sync_engine_at_the_same_depth_and_is_told() {
    requires!(Disk, Strace);
    let folder = disk_folder().unwrap();
    // Like a seccomp filter of a container.
    let forbidden = |error: &str| {
        let mut command = program_under(&format!(
            "strace -f -qq -o /dev/null -e trace=io_uring_setup -e inject=io_uring_setup:error={error}"
        ));
        command.current_dir(folder.path());
        run(command, "run . --size 64m --io-size 1m --runtime 30s --iodepth 4 --no-save --json")
            .expect(0)
            .trial()
    };
    for error in ["EPERM", "ENOSYS"] {
        let trial = forbidden(error);
        assert!(found(&trial.findings, FindingCode::EngineFallback), "{error}");
        let workload = &trial.workload;
        assert_eq!((workload.engine, workload.depth), (EngineName::Sync, 4), "{error}");
    }
    let allowed = on_disk(0, "--iodepth 4");
    assert!(!found(&allowed.findings, FindingCode::EngineFallback));
    assert_eq!(allowed.workload.engine, EngineName::IoUring);
}

#[test]
fn an_option_of_io_uring_is_refused_with_the_kernel_s_reason_where_io_uring_is_forbidden() {
    requires!(Disk, Strace);
    let folder = disk_folder().unwrap();
    let forbidden = |words: &str| {
        let mut command = program_under(
            "strace -f -qq -o /dev/null -e trace=io_uring_setup -e inject=io_uring_setup:error=EPERM",
        );
        command.current_dir(folder.path());
        run(command, &format!("run . --size 64m --io-size 1m --runtime 30s {words} --no-save"))
    };
    for flag in ["--hipri", "--sqthread-poll"] {
        let refused = forbidden(flag);
        assert!(!refused.stderr.contains("works only with"), "io_uring was asked for: {refused:?}");
        assert!(!refused.stderr.contains("write test file"), "before anything else: {refused:?}");
        refused.refuses(4, &[flag, "needs io_uring", "seccomp", "allow io_uring_setup"]);
    }
    forbidden("").expect(0);
}

#[test]
fn a_file_system_in_memory_is_told_to_be_no_device_and_is_measured_all_the_same() {
    requires!(Mount, Disk);
    // Its size is only a limit; 16 MiB of it are used.
    let memory = Mounted::tmpfs(2 << 30).unwrap();
    let words = "run . --size 16m --io-size 1m --runtime 30s --cache all --no-save --json";
    let ram = halfpower_in(memory.path(), words).expect(0).trial();
    let finding = ram.findings.iter().find(|finding| finding.code == FindingCode::NoDevice);
    assert_eq!(finding.map(|finding| finding.severity), Some(Severity::Warning));
    assert!(ram.device_counters.reason().is_some() && ram.targets[0].device.is_none());
    assert!(ram.result.read.unwrap().ios > 0);
    let disk = on_disk(0, "--cache all");
    assert!(!found(&disk.findings, FindingCode::NoDevice), "{:?}", disk.findings);
}

#[test]
fn a_cell_without_a_request_is_named_and_leaves_the_profile_valid() {
    // 256 KiB takes a third of a second, which is longer than a visit.
    let device = "sim:mmc,servers=4,service=2ms,rate=800kB/s";
    let words = format!("check {device} --budget 10s --no-write --no-save --json");
    let profile = halfpower(&words).expect(0).profile();
    let claims: Vec<&str> = profile
        .findings
        .iter()
        .filter(|finding| finding.code == FindingCode::TooFewRequests)
        .map(|finding| finding.claim.as_str())
        .collect();
    let empty = "Not measured: no request completed in the cell sequential 256 KiB reads at QD 1.";
    assert!(claims.contains(&empty), "{claims:?}");
    let is_named = |cell: &record::Cell| {
        let load = &cell.workload;
        load.max_bs() == record::Bytes(256 << 10) && load.pattern == record::Pattern::Sequential
    };
    assert!(!profile.cells.iter().any(is_named), "a cell without a number is none");
}
