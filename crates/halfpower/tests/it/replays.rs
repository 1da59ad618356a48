//! Replays of traces, on simulated devices with a known truth and on files.

use crate::program::{Outcome, halfpower, halfpower_in};
use record::{EndedBy, FindingCode, Instead, RequestsSummary, Severity};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::JoinHandle;
use tempfile::TempDir;
use testkit::{LoopDevice, requires};

/// Reads at 0, 0.5 and 5 ms, a write at 6 ms.
const LOG: &str = "fio version 3 iolog\n0 /x add\n0 /x open\n100 /x read 0 4096\n\
                   600 /x read 8192 4096\n5100 /x read 4096 4096\n5500 /x datasync 0 0\n\
                   6100 /x write 12288 4096\n6200 /x close\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log.io"), LOG).unwrap();
    std::fs::write(folder.path().join("cut.io"), &LOG[..LOG.len() - 31]).unwrap();
    std::fs::write(folder.path().join("data"), vec![1; 1 << 20]).unwrap();
    folder
}

#[test]
fn requests_come_at_their_times_and_latency_counts_from_there() {
    let folder = folder();
    let run = |more: &str| {
        let words = format!("run sim:md1,service=1ms --replay log.io {more} --json --no-save");
        halfpower_in(folder.path(), &words).trial()
    };
    let trial = run("");
    let reads = trial.result.read.as_ref().unwrap();
    // The second request waits half a millisecond for the first.
    assert_eq!((reads.ios, reads.latency_ns.as_ref().unwrap().mean), (3, 3.5e6 / 3.0));
    assert_eq!(trial.result.write.as_ref().unwrap().ios, 1);
    assert_eq!(trial.result.ended_by, Some(EndedBy::Recording));
    assert_eq!(trial.result.duration_ns.0, 7_000_001, "until the last has completed");
    assert_eq!(trial.workload.replay.as_ref().unwrap().flushes_left_out, 1);
    // Ten times as fast, the requests queue up: four services in a row.
    let fast = run("--replay-speed 10");
    assert_eq!(fast.result.duration_ns.0, 4_000_001);
    let most = run("--replay-speed max --iodepth 4 --passes 3");
    assert_eq!((most.completed(), most.result.duration_ns.0), (12, 12_000_001));
    // The run time ends first.
    let cut = run("--runtime 5ms");
    assert_eq!((cut.completed(), cut.result.ended_by), (2, None));
    let codes: Vec<FindingCode> = cut.findings.iter().map(|finding| finding.code).collect();
    assert!(codes.contains(&FindingCode::StopRuleNotMet), "{codes:?}");
}

#[test]
fn a_file_is_read_where_the_recording_reads_and_written_where_it_writes() {
    let folder = folder();
    let words = "run data --replay log.io --cache all --json --no-save";
    halfpower_in(folder.path(), words).expect(3);
    let outcome = halfpower_in(folder.path(), &format!("{words} --overwrite"));
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    assert_eq!(outcome.trial().completed(), 4);
    let data = std::fs::read(folder.path().join("data")).unwrap();
    let changed: Vec<usize> =
        (0..256).filter(|block| data[block * 4_096..][..4_096] != vec![1; 4_096]).collect();
    assert_eq!((changed, data.len()), (vec![3], 1 << 20));
    // Its flushes become a job beside it.
    let trial = halfpower_in(folder.path(), &format!("{words} --overwrite")).trial();
    let job = trial.job(1).unwrap();
    assert_eq!(
        (job.workload.label(1), job.workload.instead),
        ("flushes".to_owned(), Some(Instead::Flush))
    );
    assert_eq!(job.result.flush.as_ref().map(|it| (it.ios, it.errors)), Some((1, 0)));
    assert_eq!((trial.result.flush.is_none(), job.result.write.is_none()), (true, true));
    // One flush is few, but still a result.
    assert_eq!(job.completed(), 1);
    assert!(job.findings.iter().all(|it| it.severity != Severity::Invalid), "{:?}", job.findings);
    assert!(job.result.concurrency > 0.0 && job.result.open_loop.unwrap().offered_iops > 0.0);
    assert_eq!(trial.workload.replay.as_ref().unwrap().flushes_left_out, 0);
    // A folder gets a test file as large as the trace's range.
    let made = halfpower_in(folder.path(), "run . --replay log.io --cache all --json --no-save");
    assert_eq!(made.trial().targets[0].size_bytes.0, 16_384);
}

#[test]
fn what_a_recording_discards_is_a_job_beside_it_that_needs_leave_to_write() {
    let folder = folder();
    let log = "fio version 3 iolog\n0 /x add\n0 /x open\n0 /x read 0 4096\n\
               300 /x trim 65536 8192\n2000 /x read 4096 4096\n2100 /x close\n";
    std::fs::write(folder.path().join("trims.io"), log).unwrap();
    let words = "run data --replay trims.io --cache all --json --no-save";
    halfpower_in(folder.path(), words).expect(3);
    let trial = halfpower_in(folder.path(), &format!("{words} --overwrite")).trial();
    let trims = trial.job(1).unwrap().result.trim.unwrap();
    assert_eq!((trial.completed(), trims.ios, trims.bytes, trims.errors), (2, 1, 8_192, 0));
    let data = std::fs::read(folder.path().join("data")).unwrap();
    let given_back: Vec<usize> =
        (0..256).filter(|block| data[block * 4_096..][..4_096] == vec![0; 4_096]).collect();
    assert_eq!((given_back, data.len()), (vec![16, 17], 1 << 20));
    // An engine without trims omits it, and says so.
    let words_of = words.replace("trims.io", "trims.io --overwrite --ioengine libaio");
    let without = halfpower_in(folder.path(), &words_of).trial();
    assert_eq!(without.workload.replay.as_ref().unwrap().discards_left_out, 1);
    // The test file also covers the discarded range.
    let made = halfpower_in(folder.path(), "run . --replay trims.io --cache all --json --no-save");
    assert_eq!(made.trial().targets[0].size_bytes.0, 65_536 + 8_192);
    // At maximum speed, the position of the discard among the requests is unknown.
    let fast = halfpower_in(folder.path(), &format!("{words} --replay-speed max")).trial();
    assert_eq!(fast.workload.replay.as_ref().unwrap().discards_left_out, 1);
    assert!(fast.beside.is_empty());
}

#[test]
fn a_recording_that_cannot_be_made_again_runs_nothing() {
    let folder = folder();
    let before = std::fs::read(folder.path().join("data")).unwrap();
    let refuses = |words: &str, reason: &[&str]| {
        halfpower_in(folder.path(), &format!("run {words} --no-save")).refuses(2, reason);
    };
    refuses(
        "data --overwrite --replay cut.io",
        &["cut.io", "line 8, column 9", "the action is missing"],
    );
    refuses("data --replay gone.io", &["gone.io", "No such file"]);
    refuses("data --replay data", &["not the start of a known recording"]);
    refuses("data --replay log.io --rw read", &["--rw", "random requests"]);
    refuses("data --replay-speed 2", &["required arguments"]);
    refuses("sim:md1,size=8KiB --replay log.io", &["extends to byte 16384"]);
    refuses(
        "data --overwrite --replay log.io --size 8k",
        &["extends to byte 16384", "--replay-wrap"],
    );
    assert_eq!(std::fs::read(folder.path().join("data")).unwrap(), before);
}

#[test]
fn fios_words_for_a_replay_are_a_replay() {
    let folder = folder();
    let words = "run --name=again --read_iolog=log.io --filename=data --replay_time_scale=200 \
                 --ioengine=libaio --iodepth=4 --direct=0 --overwrite --json --no-save";
    let outcome = halfpower_in(folder.path(), words);
    assert!(outcome.stderr.contains("--replay log.io --replay-speed 2"), "{outcome:?}");
    let trial = outcome.trial();
    assert_eq!((trial.completed(), trial.workload.iodepth), (4, 4));
    halfpower_in(folder.path(), "run --name=a --read_iolog=log.io --no-save")
        .refuses(2, &["read_iolog", "replay_redirect"]);
}

/// Starts to record a device into a file for two seconds.
fn recording(device: &str, file: &Path, more: &str) -> JoinHandle<Outcome> {
    let words = format!("record {device} --trace-io {} --for 1s {more} --json", file.display());
    std::thread::spawn(move || halfpower(&words))
}

/// The result; `None`, with a skip of the test, if the machine cannot record requests.
fn recorded(recording: JoinHandle<Outcome>, test: &str) -> Option<RequestsSummary> {
    let outcome = recording.join().unwrap();
    if outcome.stderr.contains("needs root") || outcome.stderr.contains("this kernel has no") {
        testkit::skip(test, &outcome.stderr);
        return None;
    }
    Some(serde_json::from_str(&outcome.expect(0).stdout).unwrap())
}

#[test]
fn requests_of_a_device_are_recorded_one_by_one_and_can_be_made_again() {
    requires!(Root, Loop);
    let folder = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(16 << 20).unwrap();
    let path = device.path().display().to_string();
    let file = folder.path().join("kept.io");
    let recording = recording(&path, &file, "");
    // Until the recorder, which starts at some time, has ended.
    let direct = std::fs::OpenOptions::new().read(true).open(device.path()).unwrap();
    let mut buffer = vec![0; 4_096];
    while !recording.is_finished() {
        for page in 0..4_096_u64 {
            direct.read_exact_at(&mut buffer, page * 4_096).unwrap();
        }
        rustix::fs::fadvise(&direct, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
    let test = "requests_of_a_device_are_recorded_one_by_one_and_can_be_made_again";
    let Some(summary) = recorded(recording, test) else { return };
    assert_eq!((summary.lost, summary.devices, summary.write), (Some(0), 1, None));
    let read = summary.read.unwrap();
    assert!(read.end.0 <= 16 << 20 && read.requests == summary.requests, "{read:?}");
    let again =
        format!("run {path} --replay {} --replay-speed max --json --no-save", file.display());
    let trial = halfpower(&again).trial();
    assert_eq!(trial.completed(), summary.requests);
    assert_eq!(trial.workload.replay.unwrap().bytes, read.bytes);
}

#[test]
fn of_one_program_alone_its_requests_are_recorded() {
    requires!(Root, Loop);
    let folder = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(16 << 20).unwrap();
    let path = device.path().display().to_string();
    let file = folder.path().join("kept.io");
    let recording = recording(&path, &file, "--process dd");
    // Both read continuously: one with 64 KiB, and this test with 4 KiB.
    let direct = std::fs::OpenOptions::new().read(true).open(device.path()).unwrap();
    let mut buffer = vec![0; 4_096];
    while !recording.is_finished() {
        let from = format!("if={path}");
        let read = std::process::Command::new("dd")
            .args([&from, "of=/dev/null", "bs=64k", "count=64", "iflag=direct", "status=none"])
            .status();
        assert!(read.unwrap().success());
        rustix::fs::fadvise(&direct, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        direct.read_exact_at(&mut buffer, 8 << 20).unwrap();
    }
    let test = "of_one_program_alone_its_requests_are_recorded";
    let Some(summary) = recorded(recording, test) else { return };
    let read = summary.read.unwrap();
    assert!(read.requests >= 64 && read.end.0 <= 4 << 20, "{read:?}");
    assert_eq!(read.sizes.len(), 1, "{:?}", read.sizes);
    halfpower("record sda --trace-io x.io --process 'a|b'").expect(2);
}
