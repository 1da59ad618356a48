//! fio's JSON as a result: of fio itself, where there is one, and of this program in that form.

use crate::program::{Outcome, halfpower_in};
use record::Trial;
use std::process::Command;
use tempfile::TempDir;
use testkit::skip;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), vec![1; 1 << 20]).unwrap();
    folder
}

/// The only trial of an import.
#[track_caller]
fn imported(outcome: &Outcome) -> Trial {
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    outcome.trial()
}

const JOB: &str = "--name=a --filename=data --size=1m --rw=randrw --rwmixread=75 --bs=4k --direct=0 \
                   --ioengine=psync --loops=40";

#[test]
fn a_result_in_fios_form_is_the_trial_again() {
    let folder = folder();
    let told = halfpower_in(
        folder.path(),
        &format!("run {JOB} --overwrite --output-format=json+ --output=out.json --db kept.db"),
    );
    assert!(matches!(told.code, Some(0 | 1)), "{told:?}");
    let trial = imported(&halfpower_in(folder.path(), "import out.json --json --db again.db"));
    assert_eq!((trial.completed(), trial.workload.read_percent), (10_240, 75));
    let read = trial.result.read.as_ref().unwrap();
    let times = read.latency_ns.as_ref().unwrap();
    assert_eq!(read.histogram.count(), read.ios);
    let p50 = read.histogram.percentile(0.5).unwrap();
    assert!((times.p50.unwrap() / p50 - 1.0).abs() < 0.01, "{times:?} {p50}");
    assert!((read.bytes_per_s / read.iops / 4_096.0 - 1.0).abs() < 1e-3, "{read:?}");
    assert_eq!(trial.device_counters.reason(), Some("fio does not tell"));
    // It is kept, shown and compared like ours.
    let shown = halfpower_in(folder.path(), &format!("report {} --text --db again.db", trial.id));
    assert!(shown.stdout.contains("75 % read") || shown.code == Some(2), "{shown:?}");
    let same = halfpower_in(folder.path(), "compare out.json out.json --db again.db").expect(0);
    assert!(same.stdout.contains("out.json"), "{same:?}");
}

#[test]
fn a_result_of_fio_has_its_requests_and_its_times() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip("a_result_of_fio_has_its_requests_and_its_times", "needs fio");
    }
    let folder = folder();
    let ended = Command::new("fio")
        .args(JOB.split_whitespace())
        .args(["--output-format=json+", "--lat_percentiles=1", "--output=fio.json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let trial = imported(&halfpower_in(folder.path(), "import fio.json --json --no-save"));
    assert_eq!(trial.completed(), 10_240);
    let times = trial.result.read.as_ref().unwrap().latency_ns.clone().unwrap();
    assert!(times.p50.unwrap() > 0.0 && times.p50.unwrap() <= times.max as f64, "{times:?}");
    assert_eq!(times.p99_99, None, "fewer than ten of some 7,700 requests took longer");
}

#[test]
fn what_is_no_whole_result_is_refused_by_its_job() {
    let folder = folder();
    let refuses = |text: &str, words: &[&str]| {
        std::fs::write(folder.path().join("bad.json"), text).unwrap();
        halfpower_in(folder.path(), "import bad.json --no-save").refuses(2, words);
    };
    let job = |options: &str, read: &str| {
        format!(
            "{{\"fio version\": \"fio-3.33\", \"jobs\": [{{\"jobname\": \"j\", \"job options\": \
             {{{options}}}, \"read\": {{{read}}}, \"write\": {{}}}}]}}"
        )
    };
    refuses("{\"fio version\": \"fio-3.33\", \"jobs\": [", &["bad.json", "no whole JSON"]);
    let size = "\"size\": \"1m\", \"filename\": \"data\"";
    refuses(&job(size, ""), &["\"j\"", "nothing completed"]);
    let read = "\"runtime\": 5, \"total_ios\": 9";
    refuses(&job("\"filename\": \"data\"", read), &["\"j\"", "no size"]);
    refuses(&job(&format!("{size}, \"rw\": \"trimwrite\""), read), &["\"j\"", "rw=trimwrite"]);
}
