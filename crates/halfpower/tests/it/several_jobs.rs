//! Jobs that run at the same time with different workloads.

use crate::program::{Outcome, program, run};
use record::Trial;
use std::path::Path;
use testkit::{LoopDevice, Throttle, ThrottledGroup, requires};

/// Runs the program with these words, split as by a shell.
fn typed(folder: &Path, words: &str) -> Outcome {
    let mut command = program();
    command.current_dir(folder).args(shlex::split(words).unwrap());
    run(command, "")
}

fn trial(words: &str) -> Trial {
    let outcome = typed(Path::new("/"), &format!("run {words} --json --no-save"));
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    outcome.trial()
}

fn rates(trial: &Trial) -> Vec<f64> {
    trial.jobs().map(|(_, job)| job.read.iter().chain(&job.write).map(|it| it.iops).sum()).collect()
}

#[test]
fn jobs_share_a_server_by_their_depth_and_the_total_is_what_it_does() {
    let two = trial(
        "sim:mm1,service=1ms --iodepth 6 --runtime 20s --beside '--rw randwrite --bs 64k --iodepth 2'",
    );
    let [first, second] = rates(&two)[..] else { panic!("{two:?}") };
    // Of the eight requests in the queue, six belong to the first job, whichever was served last.
    assert!((first / second / 3.0 - 1.0).abs() < 0.08, "{first} {second}");
    let total = two.total.as_ref().unwrap().value().unwrap();
    let of_both: f64 = [&total.read, &total.write].map(|it| it.as_ref().unwrap().iops).iter().sum();
    assert!((of_both - first - second).abs() < 1e-6, "{of_both}");
    assert!((of_both / 1_000.0 - 1.0).abs() < 0.03, "{of_both}");
    assert!((total.concurrency - 8.0).abs() < 0.05, "{}", total.concurrency);
    // The counters include all jobs, and are compared with all.
    let counters = two.device_counters.value().unwrap();
    assert_eq!((counters.ratio_ios, counters.ratio_bytes), (Some(1.0), Some(1.0)));
    assert_eq!(two.findings, [], "nothing is others' traffic");
}

#[test]
fn jobs_that_share_nothing_do_not_feel_each_other() {
    let alone = trial("sim:mdc,servers=64,service=1ms --iodepth 4 --runtime 2s");
    let beside = trial(
        "sim:mdc,servers=64,service=1ms --iodepth 4 --runtime 2s --beside '--rw read --iodepth 9' \
         --beside '--rw write --rate-iops 500 --iodepth 9'",
    );
    assert_eq!(beside.beside.len(), 2);
    assert_eq!(rates(&alone)[0], rates(&beside)[0]);
    let offered = beside.beside[1].result.open_loop.as_ref().unwrap().offered_iops;
    assert!((offered - 500.0).abs() < 1.0, "{offered}");
}

#[test]
fn a_job_that_begins_later_leaves_the_first_alone_until_then() {
    let late = trial(
        "sim:md1,service=1ms --iodepth 2 --runtime 2s --beside '--iodepth 2 --start-delay 1s --job-name b'",
    );
    // All of the first half, and half of the second: 750 per second for the first job.
    let [first, second] = rates(&late)[..] else { panic!("{late:?}") };
    assert!((first / 750.0 - 1.0).abs() < 0.02, "{first}");
    // The second job's window lasts a second longer, in which it has the device to itself.
    assert!((second / 750.0 - 1.0).abs() < 0.02, "{second}");
    assert!(late.total.unwrap().reason().unwrap().contains("start and end together"));
    assert!(late.device_counters.value().is_none() && late.cpu.value().is_none());
    let quiet = late.workload.beside[0].workload.label(1);
    assert_eq!(quiet, "b");
}

#[test]
fn the_command_that_repeats_it_asks_for_the_same_cell() {
    let words = "sim:md1,service=1ms --iodepth 2 --runtime 100ms --job-name a \
                 --beside '--rw write --bs 64k --start-delay 20ms --job-name \"b c\"'";
    let first = trial(words);
    let page = typed(Path::new("/"), &format!("run {words} --no-save --verbose"));
    let said = page.stdout.split("To repeat it\n  halfpower ").nth(1).unwrap();
    let said = said.replace("\\\n", "");
    let again = typed(Path::new("/"), &format!("{} --json --no-save", said.trim()));
    let again = again.trial();
    assert_eq!((&again.cell, rates(&again)), (&first.cell, rates(&first)));
    assert_ne!(first.cell, trial("sim:md1,service=1ms --iodepth 2 --runtime 100ms").cell);
}

#[test]
fn jobs_have_files_of_their_own_and_only_those_that_write_are_written() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["read", "written"] {
        std::fs::write(folder.path().join(name), vec![1; 1 << 20]).unwrap();
    }
    let before = std::fs::read(folder.path().join("read")).unwrap();
    let words = "run read --cache all --io-size 1m --beside \
                 'written --rw write --bs 64k --cache all --io-size 1m' --json --no-save";
    typed(folder.path(), words).expect(3);
    let outcome = typed(folder.path(), &format!("{words} --overwrite"));
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    let trial = outcome.trial();
    assert_eq!(trial.completed(), 256);
    assert_eq!(trial.beside[0].result.write.as_ref().unwrap().ios, 16);
    assert!(trial.beside[0].targets[0].path.ends_with("written"));
    let destroyed: Vec<&str> = trial.findings.iter().map(|it| it.claim.as_str()).collect();
    assert!(!destroyed.iter().any(|claim| claim.contains("\"read\"")), "{destroyed:?}");
    assert_eq!(std::fs::read(folder.path().join("read")).unwrap(), before);
    assert_ne!(std::fs::read(folder.path().join("written")).unwrap(), before);
}

#[test]
fn what_jobs_cannot_do_together_is_refused_with_its_flag() {
    let refuses = |words: &str, reason: &[&str]| {
        typed(Path::new("/"), &format!("run sim:md1 {words}")).refuses(2, reason);
    };
    refuses("--beside '--rw read --json'", &["--json", "all jobs"]);
    refuses("--beside '--rw raed'", &["raed"]);
    refuses("--beside '--bs 4k --beside \"--bs 8k\"'", &["--beside"]);
    refuses("--beside \"--job-name 'a\"", &["quote"]);
    refuses("--beside sim:mm1", &["the same simulated device"]);
    refuses("--beside '--bs 64k --size 32k --job-name small'", &["small", "--bs"]);
    refuses("--start-delay 1s", &["--start-delay", "--beside"]);
    refuses("--beside '--bs 8k' --until-precision 2%", &["--until-precision"]);
    refuses("--beside '--bs 8k' --cpu-upper", &["--cpu-upper"]);
    refuses("--beside '--until-precision 5%'", &["--until-precision"]);
    refuses("--rate-iops 5 --arrival poisson --burst 5000", &["--burst 5000", "1 to 1000"]);
    refuses("--io-priority be/8", &["0 to 7"]);
}

#[test]
fn a_job_alone_comes_under_the_limits_of_its_control_group() {
    requires!(Root, Loop, BlkioGroup);
    let device = LoopDevice::new(64 << 20).unwrap();
    let group = ThrottledGroup::new().unwrap();
    group.limit(device.path(), Throttle::ReadIops, 200).unwrap();
    let (path, group) = (device.path().display().to_string(), group.path().display().to_string());
    let folder = tempfile::tempdir().unwrap();
    // 300 requests at 200 per second take a second and a half; the other job is not limited.
    let beside = format!("--io-size 1200k --runtime 60s --cgroup {group} --job-name held");
    let words = format!("run {path} --iodepth 4 --io-size 8m --runtime 60s --json --no-save");
    let mut command = program();
    command.current_dir(folder.path()).args(words.split(' ')).args(["--beside", &beside]);
    let trial = run(command, "").trial();
    let held = trial.job(1).unwrap();
    assert_eq!(held.result.read.as_ref().unwrap().ios, 300);
    let seconds = held.result.duration_ns.as_secs_f64();
    assert!(seconds > 1.0, "{seconds}: a limit of 200 a second");
    assert_eq!(held.workload.cgroup.as_deref(), Some(group.as_str()));
    assert_eq!(trial.result.read.as_ref().unwrap().ios, 2_048);
    assert_eq!(trial.workload.cgroup, None);
    let gone = format!("run {path} --runtime 1s --no-save --cgroup /sys/fs/cgroup/none");
    typed(folder.path(), &gone).refuses(2, &["--cgroup", "not the directory of a control group"]);
}
