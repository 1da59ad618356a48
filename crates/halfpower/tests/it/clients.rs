//! Tests one load from several machines, whose agents are children of this test.

use crate::program::{Outcome, Running, found, halfpower_in, program};
use crate::traps::noise;
use record::{EndedBy, FindingCode, LostKind, TargetSharing, Trial};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use testkit::{disk_folder, requires};

/// A folder on a disk with a file of random data, and with scripts that start agents.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = disk_folder().unwrap();
        std::fs::write(folder.path().join("big"), noise(16 << 20)).unwrap();
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A script that is started in place of an agent.
    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path().join(name);
        std::fs::write(
            &path,
            format!("#!/bin/sh\n{text}\n").replace("AGENT", env!("CARGO_BIN_EXE_halfpower")),
        )
        .unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// The words of a run whose agents are scripts with their host's name.
    fn words(&self, more: &str) -> String {
        format!("run big --json --no-save --size 16m --launch ./{{host}} {more}")
    }

    fn run(&self, more: &str) -> Outcome {
        halfpower_in(self.path(), &self.words(more))
    }
}

/// The trial of a complete run, clean or not, because the test machine may be busy.
fn printed(outcome: &Outcome) -> Trial {
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    outcome.trial()
}

/// Starts a run of a minute and waits until the agent whose script wrote this file reads its target.
fn under_way(stage: &Stage, more: &str, pid_file: &str) -> (Running, String) {
    under_way_as(program(), stage, more, pid_file)
}

/// The same with a modified program command.
fn under_way_as(
    mut command: std::process::Command,
    stage: &Stage,
    more: &str,
    pid_file: &str,
) -> (Running, String) {
    command.current_dir(stage.path());
    command.args(stage.words(&format!("--runtime 60s {more}")).split_whitespace());
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    let pid = std::fs::read_to_string(stage.path().join(pid_file)).unwrap().trim().to_owned();
    let read_bytes = || -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.parse().ok()
    };
    let before = read_bytes().unwrap();
    while read_bytes().unwrap() < before + (1 << 20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // It reports its progress every second.
    std::thread::sleep(Duration::from_millis(1_500));
    (running, pid)
}

fn signal(pid: &str, name: &str) {
    let sent =
        std::process::Command::new("kill").args([&format!("-{name}"), pid]).status().unwrap();
    assert!(sent.success());
}

fn codes(trial: &Trial) -> Vec<FindingCode> {
    trial.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn two_clients_are_one_trial_whose_figures_are_those_of_both() {
    requires!(Disk);
    let stage = Stage::new();
    // A login shell prints a greeting, and another launcher a warning without a line feed.
    stage.script("a", "echo Welcome to a; exec AGENT agent");
    stage.script("b", "printf 'no line feed'; echo; exec AGENT agent");
    let trial = printed(&stage.run("--hosts a,b --io-size 2m --runtime 1m"));
    let clients = trial.clients.as_ref().unwrap();
    assert_eq!(clients.sharing, TargetSharing::Shared, "{}", clients.sharing_reason);
    assert_eq!(trial.parts.len(), 2);
    // 2 MiB on each: requests, times and histogram cover both.
    assert_eq!(trial.completed(), 1_024);
    let parts = || trial.parts.iter();
    assert_eq!(parts().map(Trial::completed).sum::<u64>(), 1_024);
    let sum = parts().map(Trial::histogram).reduce(|sum, next| sum.merged(&next)).unwrap();
    assert_eq!(trial.histogram(), sum);
    assert_eq!((trial.workload.numjobs, trial.workload.depth), (2, 2));
    assert!(clients.start_spread_ns.is_some() && clients.jain_index.is_some());
    for client in &clients.each {
        assert!(client.begin_skew_ns.is_some() && client.clock.exchanges > 0, "{client:?}");
        assert_eq!(client.share.map(|share| (share * 1e9) as u64), Some(500_000_000));
    }
    // They read different requests, like the jobs of one machine.
    assert_eq!(clients.each[1].first_job, 1);
}

#[test]
fn a_client_that_is_killed_is_a_finding_and_what_the_other_measured_is_kept() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    stage.script("b", "echo $$ > b.pid; exec AGENT agent");
    let (running, pid) = under_way(&stage, "--hosts a,b", "b.pid");
    signal(&pid, "KILL");
    std::thread::sleep(Duration::from_millis(500));
    running.signal("INT");
    let trial = running.end().expect(130).trial();
    assert!(found(&trial.findings, FindingCode::ClientLost), "{:?}", codes(&trial));
    let clients = trial.clients.as_ref().unwrap();
    let lost = clients.each[1].lost.as_ref().unwrap();
    assert_eq!(lost.kind, LostKind::Ended);
    assert_eq!((trial.parts.len(), trial.completed()), (1, trial.parts[0].completed()));
    assert!(trial.completed() > 0);
}

#[test]
fn a_client_that_hangs_is_given_up_after_its_time() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    stage.script("b", "echo $$ > b.pid; exec AGENT agent");
    let (running, pid) = under_way(&stage, "--hosts a,b --agent-timeout 2s", "b.pid");
    signal(&pid, "STOP");
    running.signal("INT");
    let trial = running.end().expect(130).trial();
    let lost = trial.clients.as_ref().unwrap().each[1].lost.clone().unwrap();
    assert_eq!(lost.kind, LostKind::Silent, "{lost:?}");
    // It was killed with its connection, so no process remains.
    let left = Path::new("/proc").join(pid);
    assert!(!left.exists());
}

#[test]
fn a_client_of_another_version_is_refused_with_what_to_do() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    let hello = r#"{"hello":{"protocol":1,"version":"0.0.9","hostname":"b","boot":null,"default_engine":true}}"#;
    stage.script(
        "b",
        &format!("read line; printf '#halfpower {} %s\\n' '{hello}'; exec sleep 9", hello.len()),
    );
    let outcome = stage.run("--hosts a,b --runtime 1s");
    let said = outcome.expect(4).stderr;
    assert!(said.contains("b: it has halfpower 0.0.9"), "{said}");
    assert!(said.contains("install the same version"), "{said}");
}

#[test]
fn a_client_that_does_not_come_up_is_named_with_what_it_said_and_how_it_was_started() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    stage.script("b", "echo 'Permission denied (publickey).' >&2; exit 255");
    let said = stage.run("--hosts a,b --runtime 1s").expect(4).stderr;
    assert!(said.contains("b: its connection ended"), "{said}");
    assert!(said.contains("Permission denied"), "{said}");
    assert!(said.contains("run the start command yourself"), "{said}");
}

#[test]
fn an_agent_writes_nothing_that_the_coordinator_was_not_allowed_to() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    let before = std::fs::read(stage.path().join("big")).unwrap();
    let refused = stage.run("--hosts a --rw randwrite --io-size 64k --runtime 10s").expect(3);
    assert!(
        refused.stderr.contains("a: ") && refused.stderr.contains("--overwrite"),
        "{refused:?}"
    );
    assert_eq!(std::fs::read(stage.path().join("big")).unwrap(), before);
    let more = "--hosts a --rw randwrite --io-size 64k --runtime 1m --overwrite";
    let trial = printed(&stage.run(more));
    assert_eq!(trial.result.write.as_ref().unwrap().bytes, 64 << 10);
    assert_ne!(std::fs::read(stage.path().join("big")).unwrap(), before);
}

#[test]
fn a_run_by_precision_ends_on_all_clients_by_what_they_counted_together() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    stage.script("b", "exec AGENT agent");
    let trial = printed(&stage.run("--hosts a,b --runtime 20s --until-precision 50%"));
    assert_eq!(trial.workload.stop.precision_ppm, Some(500_000));
    let ends: Vec<_> = trial.parts.iter().map(|part| part.result.ended_by).collect();
    match trial.result.ended_by {
        Some(EndedBy::Precision) => assert_eq!(ends, [Some(EndedBy::Precision); 2]),
        // The rate of the machine varies, which must not be attributed to a part.
        _ => assert!(found(&trial.findings, FindingCode::StopRuleNotMet), "{:?}", codes(&trial)),
    }
    let of_parts = trial.parts.iter().map(|part| part.result.duration_ns).max();
    assert_eq!(Some(trial.result.duration_ns), of_parts);
    for part in &trial.parts {
        assert_eq!(part.workload.stop.precision_ppm, None, "it is asked of all together");
        assert!(!found(&part.findings, FindingCode::StopRuleNotMet), "{:?}", codes(part));
    }
}

#[test]
fn clients_write_a_target_before_the_run_and_only_where_that_is_allowed() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    stage.script("b", "exec AGENT agent");
    let blocks = || -> Vec<Vec<u8>> {
        let bytes = std::fs::read(stage.path().join("big")).unwrap();
        bytes.chunks(128 << 10).map(<[u8]>::to_vec).collect()
    };
    let before = blocks();
    let words = "--hosts a,b --runtime 500ms --rw read --regions shared --precondition";
    let refused = stage.run(words).expect(3);
    assert!(refused.stderr.contains("--overwrite"), "{refused:?}");
    assert!(blocks() == before);
    let trial = printed(&stage.run(&format!("{words} --overwrite")));
    let done = trial.preconditioning.as_ref().unwrap();
    assert_eq!(done.filled_bytes.0, 2 * (16 << 20));
    assert!(done.round_iops.len() >= 5 && trial.parts.len() == 2);
    let after = blocks();
    let same = before.iter().zip(&after).filter(|(old, new)| old == new).count();
    assert_eq!(same, 0, "of {}", before.len());
}

#[test]
fn what_is_for_one_machine_is_refused_with_what_to_do_instead() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    for (words, instead) in [
        ("--cpu-upper", "run on one machine, without --hosts"),
        ("--cost-fit", "run on one machine, without --hosts"),
        ("--beside=--rw=read", "start a second command with --hosts"),
        ("--rw randwrite --verify --overwrite", "verify on one machine"),
    ] {
        let said = stage.run(&format!("--hosts a {words}")).expect(2).stderr;
        let flag = words.split([' ', '=']).find(|word| !["--rw", "randwrite"].contains(word));
        assert!(said.contains(flag.unwrap()) && said.contains(instead), "{said}");
    }
}

#[test]
fn a_control_group_is_one_of_each_client() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    let said = stage.run("--hosts a --cgroup /none/slow --io-size 64k").expect(4).stderr;
    assert!(said.contains("a: --cgroup /none/slow cannot be used"), "{said}");
}

#[test]
fn an_interrupt_ends_all_agents_and_keeps_what_they_measured() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "echo $$ > a.pid; exec AGENT agent");
    stage.script("b", "echo $$ > b.pid; exec AGENT agent");
    let (running, _) = under_way(&stage, "--hosts a,b", "b.pid");
    running.signal("INT");
    let trial = running.end().expect(130).trial();
    assert!(found(&trial.findings, FindingCode::Interrupted), "{:?}", codes(&trial));
    assert_eq!(trial.parts.len(), 2);
    for name in ["a.pid", "b.pid"] {
        let pid = std::fs::read_to_string(stage.path().join(name)).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{name} is left");
    }
}

#[test]
fn ctrl_c_at_a_terminal_reaches_the_coordinator_alone_and_what_was_measured_is_printed() {
    use std::os::unix::process::CommandExt;
    requires!(Disk);
    let stage = Stage::new();
    for name in ["a", "b"] {
        let pids = format!("echo $$ > {name}.pid; echo $PPID > coordinator.pid");
        stage.script(name, &format!("{pids}; exec AGENT agent"));
    }
    let mut command = program();
    command.process_group(0);
    let (running, _) = under_way_as(command, &stage, "--hosts a,b", "b.pid");
    // The group has the process id of its first process, the coordinator. A terminal signals the whole group.
    let group = std::fs::read_to_string(stage.path().join("coordinator.pid")).unwrap();
    let words = format!("kill -s INT -- -{}", group.trim());
    assert!(std::process::Command::new("sh").args(["-c", &words]).status().unwrap().success());
    let trial = running.end().expect(130).trial();
    assert!(found(&trial.findings, FindingCode::Interrupted), "{:?}", codes(&trial));
    assert!(!found(&trial.findings, FindingCode::ClientLost), "{:?}", codes(&trial));
    assert!(trial.parts.len() == 2 && trial.completed() > 0);
    assert!(trial.clients.as_ref().unwrap().each.iter().all(|client| client.lost.is_none()));
}

#[test]
fn a_coordinator_that_is_killed_leaves_no_load_behind() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "echo $$ > a.pid; exec AGENT agent");
    let (running, pid) = under_way(&stage, "--hosts a", "a.pid");
    running.signal("KILL");
    assert_eq!(running.end().code, None);
    let of_agent = Path::new("/proc").join(pid);
    // It ends with its standard input. A busy machine may need longer, but never the minute of the run.
    for _ in 0..1_000 {
        if !of_agent.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the agent goes on");
}

#[test]
fn a_host_in_the_path_gives_each_client_its_own_file() {
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    stage.script("b", "exec AGENT agent");
    for name in ["of-a", "of-b"] {
        std::fs::copy(stage.path().join("big"), stage.path().join(name)).unwrap();
    }
    let words =
        "run of-{host} --json --no-save --launch ./{host} --hosts a,b --io-size 1m --runtime 1m";
    let trial = printed(&halfpower_in(stage.path(), words));
    assert_eq!(trial.clients.as_ref().unwrap().sharing, TargetSharing::Own);
    let paths: Vec<&str> = trial.parts.iter().map(|it| it.targets[0].path.as_str()).collect();
    assert_eq!(paths, ["of-a", "of-b"]);
    assert_eq!(trial.targets[0].path, "of-{host}");
}

#[test]
fn a_client_whose_paced_agent_is_slower_straggles_and_the_shares_are_unequal() {
    // The findings depend on the document alone: take one from a real run, and make one client slower.
    requires!(Disk);
    let stage = Stage::new();
    stage.script("a", "exec AGENT agent");
    stage.script("b", "exec AGENT agent");
    let trial = printed(&stage.run("--hosts a,b --io-size 4m --runtime 1m"));
    let mut slow = trial.clone();
    let clients = slow.clients.as_mut().unwrap();
    let rates = [1_000.0, 300.0];
    for (client, rate) in clients.each.iter_mut().zip(rates) {
        client.iops_per_job = Some(rate);
    }
    clients.jain_index = record::jain_index(&rates);
    for direction in slow.parts.iter_mut().filter_map(|part| part.result.read.as_mut()) {
        direction.iops_ci95_rel = Some(0.01);
    }
    let found = trial::validity::findings(&slow);
    let has = |code| found.iter().any(|finding| finding.code == code);
    assert!(has(FindingCode::ClientStraggles) && has(FindingCode::UnequalShares), "{found:?}");
    // The opposite case differs in the rates only.
    let clients = slow.clients.as_mut().unwrap();
    clients.each.iter_mut().for_each(|client| client.iops_per_job = Some(1_000.0));
    clients.jain_index = record::jain_index(&[1_000.0; 2]);
    let equal = trial::validity::findings(&slow);
    let none = |code| equal.iter().all(|finding| finding.code != code);
    assert!(none(FindingCode::ClientStraggles) && none(FindingCode::UnequalShares), "{equal:?}");
    // If depths differ, a client that does as much as the others is not a straggler, whether the depth or the
    // target limits it. A client that is slow by both measures is.
    for (depths, rates, found) in [
        ([2, 1], [1_000.0, 500.0], false),
        ([2, 1], [1_000.0, 1_000.0], false),
        ([2, 1], [1_000.0, 100.0], true),
        ([2, 1], [300.0, 1_000.0], true),
    ] {
        let clients = slow.clients.as_mut().unwrap();
        for ((client, rate), depth) in clients.each.iter_mut().zip(rates).zip(depths) {
            (client.iops_per_job, client.depth) = (Some(rate), Some(depth));
        }
        assert!(!clients.equally_deep());
        let slots: Vec<f64> = clients.per_slot().iter().map(|(_, rate)| *rate).collect();
        clients.jain_index = record::jain_index(&slots);
        let findings = trial::validity::findings(&slow);
        for code in [FindingCode::ClientStraggles, FindingCode::UnequalShares] {
            let has = findings.iter().any(|finding| finding.code == code);
            assert_eq!(has, found, "{depths:?} {rates:?} {code:?}");
        }
    }
    // The same for different start times, an uncertain clock, and different kernels.
    let window = slow.result.duration_ns.0;
    for (spread, error, code) in [
        (window / 10, 0, FindingCode::ClientsApart),
        (0, window / 10, FindingCode::ClientClockUnsure),
    ] {
        let clients = slow.clients.as_mut().unwrap();
        clients.start_spread_ns = Some(record::Nanos(spread));
        clients.start_spread_error_ns = Some(record::Nanos(error));
        clients.common_window_ns = Some(record::Nanos(window - spread - error));
        let found = trial::validity::findings(&slow);
        assert!(found.iter().any(|finding| finding.code == code), "{code:?}: {found:?}");
    }
    // They started together, but one ended before the other.
    let clients = slow.clients.as_mut().unwrap();
    clients.start_spread_error_ns = Some(record::Nanos(0));
    clients.common_window_ns = Some(record::Nanos(window / 2));
    let found = trial::validity::findings(&slow);
    assert!(found.iter().any(|finding| finding.code == FindingCode::ClientsApart), "{found:?}");
    slow.parts[1].environment.as_mut().unwrap().kernel = "2.6.32".to_owned();
    let found = trial::validity::findings(&slow);
    assert!(found.iter().any(|finding| finding.code == FindingCode::ClientsDiffer), "{found:?}");
}

#[test]
fn an_agent_that_does_not_come_up_is_given_up_after_its_time() {
    requires!(Disk);
    let stage = Stage::new();
    // Without the flag, the program would wait until this ends, and the message would differ.
    stage.script("a", "exec sleep 20");
    let outcome = stage.run("--hosts a --agent-timeout 2s --runtime 1s");
    outcome.refuses(4, &["a: ", "it has sent nothing for 2 s"]);
}
