//! Runs with fio's job files and options: what runs, in which format the results are printed, and that
//! nothing runs if a job requests something impossible.

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
    assert!(first["job options"]["runtime"].is_null(), "{first}");
    let bins = first["read"]["clat_ns"]["bins"].as_object().unwrap();
    assert_eq!(bins.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 256);
    let shares = ["latency_ns", "latency_us", "latency_ms"].map(|unit| {
        first[unit].as_object().unwrap().values().map(|share| share.as_f64().unwrap()).sum::<f64>()
    });
    assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-6, "{shares:?}");
    // Of 256 requests, fewer than ten are beyond the 99th percentile.
    let percentiles = &first["read"]["clat_ns"]["percentile"];
    assert!(percentiles["50.000000"].is_u64() && percentiles["99.000000"].is_null());
}

#[test]
fn completion_latencies_of_a_rate_have_percentiles() {
    let folder = folder();
    let job = "--name=a --filename=data --rw=randread --bs=4k --size=1m --ioengine=psync \
               --rate_iops=20000 --loops=16";
    let words = format!("run {job} --output-format=json --no-save");
    let found = json(&halfpower_in(folder.path(), &words));
    let read = &found["jobs"][0]["read"];
    assert!(read["clat_ns"]["bins"].is_null(), "{read}");
    for percent in ["50.000000", "99.000000"] {
        assert!(read["clat_ns"]["percentile"][percent].is_u64(), "{read}");
        assert!(read["lat_ns"]["percentile"][percent].is_u64(), "{read}");
    }
}

#[test]
fn the_json_has_the_percentiles_that_the_job_asks_for() {
    let folder = folder();
    let job = "--name=a --filename=data --rw=randread --bs=4k --size=1m --ioengine=psync";
    let words = format!("run {job} --percentile_list=25:50:90.5 --output-format=json --no-save");
    let outcome = halfpower_in(folder.path(), &words);
    let found = json(&outcome);
    for kind in ["lat_ns", "clat_ns"] {
        let percentiles = found["jobs"][0]["read"][kind]["percentile"].as_object().unwrap();
        let names: Vec<&str> = percentiles.keys().map(String::as_str).collect();
        assert_eq!(names, ["25.000000", "50.000000", "90.500000"], "{kind}");
    }
    assert!(outcome.stderr.contains("percentile_list: applies to fio's JSON"), "{outcome:?}");
    halfpower_in(folder.path(), &format!("run {job} --percentile_list=p99 --no-save"))
        .refuses(2, &["--percentile_list=p99", "use percentages above 0"]);
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
    assert!(outcome.stderr.contains("--without-replacement"), "{outcome:?}");
    // As in fio, the totals cover the whole run.
    assert_eq!(trial["workload"]["stop"]["cut_warm_up"], false);
}

#[test]
fn jobs_without_a_stonewall_run_at_the_same_time() {
    let folder = folder();
    let at_once = FILE.replace("stonewall\n", "startdelay=50ms\n");
    std::fs::write(folder.path().join("at-once.fio"), at_once).unwrap();
    let words = "run at-once.fio --overwrite --no-save --output-format=json";
    let outcome = halfpower_in(folder.path(), words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    assert!(outcome.stderr.contains("--start-delay 50ms"), "{outcome:?}");
    let jobs = &json(&outcome)["jobs"];
    let of = |job: usize, side: &str| jobs[job][side]["total_ios"].as_u64();
    assert_eq!((jobs[0]["jobname"].as_str(), of(0, "read")), (Some("first"), Some(256)));
    assert_eq!((jobs[1]["jobname"].as_str(), of(1, "write")), (Some("second"), Some(16)));
    assert_eq!((of(0, "write"), of(1, "sync")), (Some(0), Some(16)));
}

#[test]
fn all_jobs_end_with_the_first_where_the_file_says_so() {
    let folder = folder();
    let text = "[global]\nexitall\ntime_based\nrw=read\nfilename=data\n[short]\nstartdelay=2\nruntime=3\n\
                [long]\nruntime=60\n";
    std::fs::write(folder.path().join("ends.fio"), text).unwrap();
    let outcome = halfpower_in(folder.path(), "run ends.fio --parse-only").expect(0);
    assert!(outcome.stderr.contains("--runtime 5s"), "{outcome:?}");
    assert!(outcome.stderr.contains("--runtime 3s") && !outcome.stderr.contains("exitall"));
    std::fs::write(folder.path().join("ends.fio"), text.replace("time_based\n", "")).unwrap();
    let outcome = halfpower_in(folder.path(), "run ends.fio --parse-only").expect(0);
    assert!(outcome.stderr.contains("exitall: each job runs until it is finished"), "{outcome:?}");
}

#[test]
fn what_cannot_be_done_as_it_is_asked_for_runs_nothing() {
    let folder = folder();
    let before = std::fs::read(folder.path().join("data")).unwrap();
    std::fs::write(
        folder.path().join("trims.fio"),
        "[global]\nfilename=data\n[a]\n[b]\nstonewall\nrw=trimwrite\n",
    )
    .unwrap();
    let refuses = |words: &str, code: i32, reason: &[&str]| {
        halfpower_in(folder.path(), words).refuses(code, reason);
    };
    // The user has not allowed overwriting the file's content.
    let refused = halfpower_in(folder.path(), "run jobs.fio --section second --no-save").expect(3);
    assert!(refused.stderr.contains("add --overwrite"), "{refused:?}");
    refuses(
        "run jobs.fio --section first --destroy-data-on sdb --no-save",
        2,
        &["--destroy-data-on", "no job writes; omit it"],
    );
    // A job that only reads leaves the file as it is, with or without the flag.
    for words in [
        "run jobs.fio --section first --overwrite --no-save",
        "run data --rw randread --io-size 1m --overwrite --no-save",
    ] {
        let read = halfpower_in(folder.path(), words);
        assert!(matches!(read.code, Some(0 | 1)), "{read:?}");
    }
    assert_eq!(std::fs::read(folder.path().join("data")).unwrap(), before);
    refuses("run trims.fio --no-save", 2, &["trims.fio:6:1", "rw=trimwrite"]);
    refuses("run gone.fio", 2, &["gone.fio", "No such file"]);
    refuses("run jobs.fio --section third", 2, &["third", "first, second"]);
    refuses("run --name=a --filename=data --rwx=1", 2, &["--rwx=1", "rwx"]);
    refuses("run jobs.fio --output-format=nonesuch", 2, &["--output-format"]);
    refuses("run jobs.fio --overwrite --readonly", 2, &["--readonly", "second"]);
    refuses("run jobs.fio --no-such-flag", 2, &["no-such-flag"]);
    assert_eq!(std::fs::read(folder.path().join("data")).unwrap(), before);
}

#[test]
fn a_job_file_is_run_under_any_name_and_never_written() {
    let folder = folder();
    let text = "[global]\nioengine=libaio\n[read]\nrw=read\nbs=64k\nsize=1m\nfilename=data\n";
    for name in ["fio.job", "fio.conf", "plain"] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let outcome = halfpower_in(folder.path(), &format!("run {name} --json --no-save"));
        assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
        assert_eq!(json(&outcome)["result"]["read"]["ios"], 16);
        // Options on the command line are only defaults for the file.
        let written = std::fs::read(folder.path().join("data")).unwrap();
        let words = format!("run {name} --rw randwrite --overwrite --json --no-save");
        let outcome = halfpower_in(folder.path(), &words);
        assert_eq!(json(&outcome)["result"]["read"]["ios"], 16);
        assert_eq!(std::fs::read(folder.path().join("data")).unwrap(), written);
        let words = format!("run --name=a --filename={name} --rw=write --overwrite --no-save");
        let refused = halfpower_in(folder.path(), &words).expect(3);
        let said = format!("halfpower run {name}");
        assert!(refused.stderr.contains("a fio job file") && refused.stderr.contains(&said));
        let words = format!("sweep wal {name} --overwrite --no-save");
        halfpower_in(folder.path(), &words).refuses(3, &[name, "a fio job file"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn options_on_the_line_and_with_one_dash_are_as_in_fio() {
    let folder = folder();
    std::fs::write(folder.path().join("open.job"), "[a]\nrw=randread\nbs=4k\nioengine=psync\n")
        .unwrap();
    let words = "run open.job --filename=data --size=512k --json --no-save";
    let trial = json(&halfpower_in(folder.path(), words));
    assert_eq!(trial["result"]["read"]["ios"], 128);
    let words = "run -filename=./data -iodepth 1 -thread -rw=randread -ioengine=psync -bs=16k \
                 -size=1m -numjobs=4 -group_reporting -name=mytest --json --no-save";
    let trial = json(&halfpower_in(folder.path(), words));
    assert_eq!(
        (&trial["result"]["read"]["ios"], &trial["workload"]["numjobs"]),
        (&256.into(), &4.into())
    );
}

#[test]
fn depth_and_size_of_a_job_are_those_of_all_its_files() {
    let folder = folder();
    std::fs::write(folder.path().join("more"), vec![2; 1 << 20]).unwrap();
    let words = "run --name=a --filename=data:more --rw=read --bs=4k --size=1m --ioengine=libaio \
                 --iodepth=4 --json --no-save";
    let trial = json(&halfpower_in(folder.path(), words));
    assert_eq!(trial["workload"]["depth"], 4);
    assert_eq!(trial["targets"].as_array().unwrap().len(), 2);
    assert_eq!(trial["result"]["read"]["bytes"], 1 << 20);
}

#[test]
fn all_errors_of_a_file_are_printed_at_once_in_its_own_words() {
    let folder = folder();
    let text = "[global]\nfilename=data\n[a]\nrw=randtrimwrite\n[b]\nflow=2\nlatency_target=5ms\n";
    std::fs::write(folder.path().join("three.conf"), text).unwrap();
    let outcome = halfpower_in(folder.path(), "run three.conf --no-save").expect(2);
    for part in [
        "three.conf:4:1: rw=randtrimwrite: ",
        "three.conf:6:1: flow=2: ",
        "three.conf:7:1: latency_target=5ms: ",
        "3 errors in three.conf, a fio job file",
    ] {
        assert!(outcome.stderr.contains(part), "{part}: {outcome:?}");
    }
}

#[test]
fn a_target_in_front_of_fios_options_is_the_file_or_folder_of_its_job() {
    let folder = folder();
    let says = |words: &str, run: &str| {
        let outcome = halfpower_in(folder.path(), words).expect(0);
        assert!(outcome.stderr.contains(run), "{words}: {outcome:?}");
    };
    let more = "--rw=randread --bs=8k --direct=0 --size=64k --group_reporting --parse-only";
    says(&format!("run data --name=x {more}"), "job x: halfpower run data --rw randread --bs 8k");
    says(&format!("run . --name=x {more}"), "job x: halfpower run . --rw randread --bs 8k");
    let words = "run sim:mm1 --name=x --group_reporting --io-size 1m --json --no-save";
    let ran = halfpower_in(folder.path(), words).expect(0);
    assert_eq!(json(&ran)["schema"], "halfpower/trial/1");
    let refuses = |words: &str, code: i32, reason: &[&str]| {
        halfpower_in(folder.path(), words).refuses(code, reason);
    };
    refuses("run data --name=x --filename=data", 2, &["--filename", "omit one of them"]);
    refuses("run data . --name=x --rw=read", 2, &["files or folders"]);
    let gone = halfpower_in(folder.path(), "run gone --name=x --rw=read").expect(4);
    assert!(gone.stderr.contains("cannot open \"gone\""), "{gone:?}");
    refuses("run --name=x --filename=gone --rw=read", 2, &["gone does not exist", "size=1g"]);
}

#[test]
fn errors_of_a_job_file_are_in_the_order_of_its_lines_with_the_nearest_names() {
    let folder = folder();
    let text =
        "[global]\nfilename=data\nrunntime=10\n[a]\nrw=randraed\nbs=4q\n[b]\nrw=read\niodpth=4\n";
    std::fs::write(folder.path().join("four.fio"), text).unwrap();
    let stderr = halfpower_in(folder.path(), "run four.fio --no-save").expect(2).stderr;
    let lines: Vec<&str> = stderr.lines().collect();
    let expected = [
        "halfpower: four.fio:3:1: runntime=10: fio has no such option; did you mean runtime?",
        "halfpower: four.fio:5:1: rw=randraed: fio has no such value; did you mean randread?",
        "halfpower: four.fio:6:1: bs=4q: ",
        "halfpower: four.fio:9:1: iodpth=4: fio has no such option; did you mean iodepth?",
        "halfpower: 4 errors in four.fio",
    ];
    assert_eq!(lines.len(), expected.len(), "{stderr}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
    let words = "run --name=a --filename=data --blocksze 4k --no-save";
    let alone = halfpower_in(folder.path(), words).expect(2).stderr;
    assert!(
        alone.starts_with(
            "halfpower: --blocksze 4k: fio has no such option; did you mean blocksize? ("
        ),
        "{alone}"
    );
}

#[test]
fn fios_flags_beside_a_target_do_nothing_or_are_refused_and_lead_to_no_other_flag() {
    let folder = folder();
    let words = "run data --cache all --group_reporting --time_based --norandommap --randrepeat=0 \
                 --io-size 64k --json --no-save";
    let outcome = halfpower_in(folder.path(), words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    for flag in ["--group_reporting", "--time_based", "--norandommap", "--randrepeat=0"] {
        let said = format!("{flag} is a fio option without effect");
        assert!(outcome.stderr.contains(&said), "{flag}: {outcome:?}");
    }
    let refused = halfpower_in(folder.path(), "run data --filename=data --no-save").expect(2);
    assert!(refused.stderr.contains("the target is already named"), "{refused:?}");
    assert!(!refused.stderr.contains("failed"), "{refused:?}");
    halfpower_in(folder.path(), "run data --bsrange=1k-4k")
        .refuses(2, &["--bsrange=1k-4k", "--name"]);
    // A line with fio's target and none of halfpower's is in fio's language, with or without a job name.
    let words = "run --filename=data -rw=randread --bs=8k --direct=0 --parse-only --no-save";
    let planned = halfpower_in(folder.path(), words).expect(0);
    assert!(planned.stderr.contains("halfpower run data --rw randread --bs 8k"), "{planned:?}");
}

#[test]
fn logs_over_time_are_written_as_fio_writes_them() {
    let folder = folder();
    let words = "run --name=a --filename=data --rw=randrw --direct=0 --size=1m --time_based --runtime=1 \
                 --thinktime=1ms --write_bw_log=x --write_lat_log=x --write_iops_log --log_avg_msec=200 \
                 --overwrite --no-save";
    let outcome = halfpower_in(folder.path(), words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    for name in ["x_bw.1.log", "x_lat.1.log", "x_clat.1.log", "a_iops.1.log"] {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let lines: Vec<Vec<u64>> = text
            .lines()
            .map(|line| line.split(", ").map(|field| field.parse().unwrap()).collect())
            .collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| line.len() == 6), "{name}: {text}");
        assert!(lines.iter().all(|line| line[0] <= 1_000 && line[2] < 2), "{name}: {text}");
    }
    // A log of an earlier run is replaced, but no other file.
    assert!(matches!(halfpower_in(folder.path(), words).code, Some(0 | 1)));
    std::fs::write(folder.path().join("x_bw.1.log"), "mine\n").unwrap();
    let refused = halfpower_in(folder.path(), words).expect(3);
    assert!(refused.stderr.contains("x_bw.1.log"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("x_bw.1.log")).unwrap(), "mine\n");
}

#[test]
fn a_job_without_a_time_limit_has_intervals_and_several_jobs_have_no_csv() {
    let folder = folder();
    let words = "run jobs.fio --section first --interval 1s --csv out.csv --no-save";
    let outcome = halfpower_in(folder.path(), words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    assert!(outcome.stderr.contains("--runtime 100000s"), "{outcome:?}");
    assert!(folder.path().join("out.csv").exists());
    let at_once = FILE.replace("stonewall\n", "");
    std::fs::write(folder.path().join("at-once.fio"), at_once).unwrap();
    let words = "run at-once.fio --overwrite --interval=1s --csv two.csv --no-save";
    let refused = halfpower_in(folder.path(), words).expect(2);
    assert!(refused.stderr.contains("--csv applies to a single job"), "{refused:?}");
    assert!(!refused.stderr.contains("beside"), "{refused:?}");
}

#[test]
fn what_is_parsed_only_is_printed_and_does_not_run() {
    let folder = folder();
    let before = std::fs::read(folder.path().join("data")).unwrap();
    let outcome = halfpower_in(folder.path(), "run jobs.fio --parse-only --no-save").expect(0);
    assert!(outcome.stderr.contains("job second: halfpower run data --rw write"), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
    assert_eq!(std::fs::read(folder.path().join("data")).unwrap(), before);
}

#[test]
fn jobs_of_one_seed_run_at_the_same_time() {
    let folder = folder();
    let text = "[global]\nrandseed=7\nioengine=psync\nbs=64k\nfilename=data\nsize=1m\n[a]\nrw=read\n\
                [b]\nrw=randread\n";
    std::fs::write(folder.path().join("two.ini"), text).unwrap();
    let trial = json(&halfpower_in(folder.path(), "run two.ini --json --no-save"));
    assert_eq!(trial["seed"], 7);
    assert_eq!(trial["beside"].as_array().unwrap().len(), 1);
}

#[test]
fn a_job_named_like_a_folder_or_a_device_does_not_run_on_a_temporary_file() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let words = "run --name=sub --rw=read --size=64k --no-save";
    halfpower_in(folder.path(), words).refuses(2, &["--name=sub", "directory=sub"]);
    let words = "run --name=/dev/sdzz --rw=randwrite --parse-only";
    let planned = halfpower_in(folder.path(), words).expect(0);
    assert!(planned.stderr.contains("halfpower run /dev/sdzz --rw randwrite"), "{planned:?}");
    let words = "run --name=/dev/sdzz --rw=randwrite --size=64k --no-save";
    halfpower_in(folder.path(), words).refuses(2, &["the device /dev/sdzz does not exist"]);
}

#[test]
fn a_comment_as_in_c_and_polling_without_io_uring_are_refused_with_a_remedy() {
    let folder = folder();
    let refuses = |lines: &str, reason: &[&str]| {
        let text = format!("[a]\nfilename=data\n{lines}\n");
        std::fs::write(folder.path().join("one.fio"), text).unwrap();
        halfpower_in(folder.path(), "run one.fio --no-save").refuses(2, reason);
    };
    let hint = "a comment begins with # or ;, not with //";
    refuses("rw=write\nfsync=10  // For write tests only", &["one.fio:4:1: fsync=10", hint]);
    refuses("size=2g\t// in total", &["one.fio:3:1: size=2g", hint]);
    refuses("ioengine=pvsync2\nhipri", &["one.fio:4:1: hipri: ", "requires io_uring"]);
    refuses("ioengine=libaio\nhipri", &["fio's libaio engine does not have this option"]);
}
