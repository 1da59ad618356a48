//! Runs in fio's language: what runs, in which form it is told, and that nothing runs where a job means
//! something that cannot be done.

use crate::program::{Outcome, halfpower_in};
use serde_json::Value;
use std::process::Command;
use testkit::skip;

const FILE: &str = "[global]\ndirect=0\ninvalidate=0\nsize=1m\nioengine=psync\nfilename=data\n\
                    [first]\nrw=randread\nbs=4k\n[second]\nstonewall\nrw=write\nbs=64k\nfdatasync=1\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), vec![1; 1 << 20]).unwrap();
    std::fs::write(folder.path().join("jobs.fio"), FILE).unwrap();
    folder
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn a_job_file_runs_its_jobs_one_after_the_other_and_tells_them_as_fio_does() {
    let folder = folder();
    let words = "run jobs.fio --overwrite --output-format=json --output=out.json --no-save";
    let outcome = halfpower_in(folder.path(), words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
    assert!(
        outcome.stderr.contains("job second: halfpower run data --rw write --bs 64k"),
        "{outcome:?}"
    );
    let text = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    let [first, second] = &found["jobs"].as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!((&first["jobname"], &second["jobname"]), (&"first".into(), &"second".into()));
    assert_eq!(first["read"]["total_ios"], 256);
    assert_eq!(first["read"]["io_bytes"], 1 << 20);
    assert_eq!(first["write"]["total_ios"], 0);
    assert_eq!(second["write"]["total_ios"], 16);
    assert_eq!(second["sync"]["total_ios"], 16);
    assert_eq!(second["job options"]["rw"], "write");
    let bins = first["read"]["clat_ns"]["bins"].as_object().unwrap();
    assert_eq!(bins.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 256);
    let shares = ["latency_ns", "latency_us", "latency_ms"].map(|unit| {
        first[unit].as_object().unwrap().values().map(|share| share.as_f64().unwrap()).sum::<f64>()
    });
    assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-6, "{shares:?}");
    // Of 256 requests fewer than ten lie beyond the 99th percentile.
    let percentiles = &first["read"]["clat_ns"]["percentile"];
    assert!(percentiles["50.000000"].is_u64() && percentiles["99.000000"].is_null());
}

#[test]
fn fios_own_converter_reads_what_is_written() {
    let converter = Command::new("fio_jsonplus_clat2csv").arg("--help").output();
    if !converter.is_ok_and(|output| output.status.success()) {
        return skip(
            "fios_own_converter_reads_what_is_written",
            "needs fio_jsonplus_clat2csv (fio)",
        );
    }
    let folder = folder();
    let words = "run jobs.fio --section first --output-format=json+ --output out.json --no-save";
    assert!(matches!(halfpower_in(folder.path(), words).code, Some(0 | 1)));
    let converted = Command::new("fio_jsonplus_clat2csv")
        .args(["out.json", "out.csv"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(converted.status.success(), "{converted:?}");
    let csv = std::fs::read_to_string(folder.path().join("out_job0.csv")).unwrap();
    let heads: Vec<&str> = csv.lines().next().unwrap().split(", ").collect();
    let column = heads.iter().position(|head| *head == "read_clat_ns_cumulative").unwrap();
    assert_eq!(csv.lines().last().unwrap().split(", ").nth(column), Some("256"), "{csv}");
}

#[test]
fn a_command_line_of_fio_is_a_run_with_its_page() {
    let folder = folder();
    let words = "run --name=a --filename=data --rw=randread --direct=0 --invalidate=0 --size=1m --json --no-save";
    let outcome = halfpower_in(folder.path(), words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    let trial = json(&outcome);
    assert_eq!(trial["schema"], "halfpower/trial/1");
    assert_eq!(trial["workload"]["engine"], "sync");
    assert_eq!(trial["result"]["read"]["ios"], 256);
    assert!(outcome.stderr.contains("random blocks are drawn with replacement"), "{outcome:?}");
}

#[test]
fn jobs_without_a_stonewall_run_at_the_same_time() {
    let folder = folder();
    let at_once = FILE.replace("stonewall\n", "startdelay=50ms\n");
    std::fs::write(folder.path().join("at-once.fio"), at_once).unwrap();
    let words = "run at-once.fio --overwrite --no-save --output-format=json";
    let outcome = halfpower_in(folder.path(), words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    assert!(outcome.stderr.contains("--start-delay 50000000ns"), "{outcome:?}");
    let jobs = &json(&outcome)["jobs"];
    let of = |job: usize, side: &str| jobs[job][side]["total_ios"].as_u64();
    assert_eq!((jobs[0]["jobname"].as_str(), of(0, "read")), (Some("first"), Some(256)));
    assert_eq!((jobs[1]["jobname"].as_str(), of(1, "write")), (Some("second"), Some(16)));
    assert_eq!((of(0, "write"), of(1, "sync")), (Some(0), Some(16)));
}

#[test]
fn what_cannot_be_done_as_it_is_asked_for_runs_nothing() {
    let folder = folder();
    let before = std::fs::read(folder.path().join("data")).unwrap();
    std::fs::write(
        folder.path().join("trims.fio"),
        "[a]\nfilename=data\n[b]\nstonewall\nrw=trimwrite\n",
    )
    .unwrap();
    let refuses = |words: &str, code: i32, reason: &[&str]| {
        halfpower_in(folder.path(), words).refuses(code, reason);
    };
    // Nothing was said of losing what is in it.
    let refused = halfpower_in(folder.path(), "run jobs.fio --section second --no-save").expect(3);
    assert!(refused.stderr.contains("give --overwrite"), "{refused:?}");
    refuses(
        "run jobs.fio --section first --overwrite --no-save",
        2,
        &["--overwrite", "no job writes"],
    );
    refuses("run trims.fio --no-save", 2, &["trims.fio:5:1", "rw=trimwrite"]);
    refuses("run gone.fio", 2, &["gone.fio", "No such file"]);
    refuses("run jobs.fio --section third", 2, &["third", "first, second"]);
    refuses("run --name=a --filename=data --rwx=1", 2, &["--rwx=1", "rwx"]);
    refuses("run jobs.fio --output-format=terse", 2, &["--output-format"]);
    refuses("run jobs.fio --no-such-flag", 2, &["no-such-flag"]);
    assert_eq!(std::fs::read(folder.path().join("data")).unwrap(), before);
}

/// Lines of a job, of which fio itself says whether it understands them.
const LINES: [&str; 40] = [
    "rw=randrw\nrwmixread=70",
    "rw=randread\nbs=4k,8k",
    "bssplit=4k/60:64k/40\nrw=randread",
    "size=10%",
    "io_size=2m",
    "offset=64k",
    "loops=3",
    "runtime=5\ntime_based",
    "runtime=1m\ntime_based=1\nramp_time=2s",
    "numjobs=4\ngroup_reporting",
    "ioengine=libaio\niodepth=16\ndirect=1",
    "ioengine=io_uring\nhipri=1\ndirect=1",
    "ioengine=nonesuch",
    "fsync=1\nrw=write",
    "fdatasync=2\nrw=write",
    "sync_file_range=write,wait_after:4\nrw=write",
    "rate_iops=500\nrate_process=poisson",
    "thinktime=5ms",
    "random_distribution=zipf:1.2\nrw=randread",
    "randseed=42",
    "zero_buffers",
    "buffer_compress_percentage=50",
    "norandommap\nrandrepeat=0",
    "refill_buffers\nend_fsync=1",
    "startdelay=1\nprio=4\nprioclass=2",
    "iomem=malloc",
    "iodepth_batch=4\niodepth_batch_complete=4",
    "disable_lat=1\ngtod_reduce=1",
    "lat_percentiles=1\npercentile_list=50:99",
    "sync=dsync",
    "invalidate=0",
    "rw=rannd",
    "bs=4q",
    "iodepth=many",
    "no_such_option=1",
    "rwmixread=70x",
    "direct=maybe",
    "prio=9",
    "fsync=often",
    "verify=crc32c\nrw=write",
];
/// What fio understands and this program refuses by name.
const REFUSED_HERE: [&str; 4] = ["rw=randread\nbs=4k,8k", "size=10%", "ioengine=nonesuch", "bs=4q"];

#[test]
fn what_fio_does_not_understand_is_refused_and_what_it_does_is_run_or_refused_by_name() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip(
            "what_fio_does_not_understand_is_refused_and_what_it_does_is_run_or_refused_by_name",
            "needs fio",
        );
    }
    let folder = folder();
    let mut otherwise = Vec::new();
    for lines in LINES {
        let usual = if lines.contains("size=") { "" } else { "size=1m\n" };
        std::fs::write(
            folder.path().join("one.fio"),
            format!("[job]\nfilename=data\n{usual}{lines}\n"),
        )
        .unwrap();
        let parsed = Command::new("fio")
            .args(["--parse-only", "one.fio"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        // Nothing runs: that is no database.
        let words = "run one.fio --db /dev/null";
        let ours = halfpower_in(folder.path(), words);
        let refused = ours.stderr.contains("one.fio:") || ours.code == Some(3);
        let expected = !parsed.status.success() || REFUSED_HERE.contains(&lines);
        let writes = ours.code == Some(3);
        if refused != expected && !writes {
            otherwise.push((lines, parsed.status.success(), ours.stderr));
        }
    }
    assert!(otherwise.is_empty(), "lines, whether fio understands them, and ours: {otherwise:#?}");
}
