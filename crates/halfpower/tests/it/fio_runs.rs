//! Runs with fio's job files and options: what runs, in which format the results are printed, and that
//! nothing runs if a job requests something impossible.

use crate::program::{Outcome, halfpower_in};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;
use testkit::skip;

const FILE: &str = "[global]\ndirect=0\ninvalidate=0\nsize=1m\nioengine=psync\nfilename=data\n\
                    [first]\nrw=randread\nbs=4k\n[second]\nstonewall\nrw=write\nbs=64k\nfdatasync=1\n";

/// A folder with a file of data and a job file. The program runs in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("data", vec![1; 1 << 20]);
        folder.write("jobs.fio", FILE);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// How `halfpower run` with these words ends.
    fn ends(&self, words: &str) -> Outcome {
        halfpower_in(self.0.path(), &format!("run {words} --no-save"))
    }

    /// A run that measured: with or without doubts about the numbers.
    #[track_caller]
    fn ran(&self, words: &str) -> Outcome {
        let outcome = self.ends(words);
        assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
        outcome
    }

    #[track_caller]
    fn json(&self, words: &str) -> Value {
        json(&self.ran(words))
    }

    #[track_caller]
    fn plans(&self, words: &str) -> Outcome {
        self.ends(&format!("{words} --parse-only")).expect(0)
    }

    /// A refusal of wrong input.
    #[track_caller]
    fn refuses(&self, words: &str, reason: &[&str]) {
        self.ends(words).refuses(2, reason);
    }
}

#[track_caller]
fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn a_job_file_runs_its_jobs_one_after_the_other_and_tells_them_as_fio_does() {
    let folder = Folder::new();
    let outcome = folder.ran("jobs.fio --overwrite --output-format=json --output=out.json");
    assert_eq!(outcome.stdout, "");
    assert!(
        outcome.stderr.contains("job second: halfpower run data --rw write --bs 64k"),
        "{outcome:?}"
    );
    let text = folder.text("out.json");
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
    let folder = Folder::new();
    let job = "--name=a --filename=data --rw=randread --bs=4k --size=1m --ioengine=psync \
               --rate_iops=20000 --loops=16";
    let found = folder.json(&format!("{job} --output-format=json"));
    let read = &found["jobs"][0]["read"];
    assert!(read["clat_ns"]["bins"].is_null(), "{read}");
    for percent in ["50.000000", "99.000000"] {
        assert!(read["clat_ns"]["percentile"][percent].is_u64(), "{read}");
        assert!(read["lat_ns"]["percentile"][percent].is_u64(), "{read}");
    }
}

#[test]
fn the_json_has_the_percentiles_that_the_job_asks_for() {
    let folder = Folder::new();
    let job = "--name=a --filename=data --rw=randread --bs=4k --size=1m --ioengine=psync";
    let outcome = folder.ends(&format!("{job} --percentile_list=25:50:90.5 --output-format=json"));
    let found = json(&outcome);
    for kind in ["lat_ns", "clat_ns"] {
        let percentiles = found["jobs"][0]["read"][kind]["percentile"].as_object().unwrap();
        let names: Vec<&str> = percentiles.keys().map(String::as_str).collect();
        assert_eq!(names, ["25.000000", "50.000000", "90.500000"], "{kind}");
    }
    assert!(outcome.stderr.contains("percentile_list: applies to fio's JSON"), "{outcome:?}");
    folder.refuses(
        &format!("{job} --percentile_list=p99"),
        &["--percentile_list=p99", "use percentages above 0"],
    );
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
    let folder = Folder::new();
    folder.ran("jobs.fio --section first --output-format=json+ --output out.json");
    let converted = Command::new("fio_jsonplus_clat2csv")
        .args(["out.json", "out.csv"])
        .current_dir(folder.0.path())
        .output()
        .unwrap();
    assert!(converted.status.success(), "{converted:?}");
    let csv = folder.text("out_job0.csv");
    let heads: Vec<&str> = csv.lines().next().unwrap().split(", ").collect();
    let column = heads.iter().position(|head| *head == "read_clat_ns_cumulative").unwrap();
    assert_eq!(csv.lines().last().unwrap().split(", ").nth(column), Some("256"), "{csv}");
}

#[test]
fn a_command_line_of_fio_is_a_run_with_its_page() {
    let folder = Folder::new();
    let outcome = folder
        .ran("--name=a --filename=data --rw=randread --direct=0 --invalidate=0 --size=1m --json");
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
    let folder = Folder::new();
    let at_once = FILE.replace("stonewall\n", "startdelay=50ms\n");
    folder.write("at-once.fio", at_once);
    let outcome = folder.ran("at-once.fio --overwrite --output-format=json");
    assert!(outcome.stderr.contains("--start-delay 50ms"), "{outcome:?}");
    let jobs = &json(&outcome)["jobs"];
    let of = |job: usize, side: &str| jobs[job][side]["total_ios"].as_u64();
    assert_eq!((jobs[0]["jobname"].as_str(), of(0, "read")), (Some("first"), Some(256)));
    assert_eq!((jobs[1]["jobname"].as_str(), of(1, "write")), (Some("second"), Some(16)));
    assert_eq!((of(0, "write"), of(1, "sync")), (Some(0), Some(16)));
}

#[test]
fn all_jobs_end_with_the_first_where_the_file_says_so() {
    let folder = Folder::new();
    let text = "[global]\nexitall\ntime_based\nrw=read\nfilename=data\n[short]\nstartdelay=2\nruntime=3\n\
                [long]\nruntime=60\n";
    folder.write("ends.fio", text);
    let outcome = folder.plans("ends.fio");
    assert!(outcome.stderr.contains("--runtime 5s"), "{outcome:?}");
    assert!(outcome.stderr.contains("--runtime 3s") && !outcome.stderr.contains("exitall"));
    folder.write("ends.fio", text.replace("time_based\n", ""));
    let outcome = folder.plans("ends.fio");
    assert!(outcome.stderr.contains("exitall: each job runs until it is finished"), "{outcome:?}");
}

#[test]
fn what_cannot_be_done_as_it_is_asked_for_runs_nothing() {
    let folder = Folder::new();
    let before = folder.bytes("data");
    folder.write("trims.fio", "[global]\nfilename=data\n[a]\n[b]\nstonewall\nrw=trimwrite\n");
    // The user has not allowed overwriting the file's content.
    let refused = folder.ends("jobs.fio --section second").expect(3);
    assert!(refused.stderr.contains("add --overwrite"), "{refused:?}");
    folder.refuses(
        "jobs.fio --section first --destroy-data-on sdb",
        &["--destroy-data-on", "no job writes; omit it"],
    );
    // A job that only reads leaves the file as it is, with or without the flag.
    for words in
        ["jobs.fio --section first --overwrite", "data --rw randread --io-size 1m --overwrite"]
    {
        folder.ran(words);
    }
    assert_eq!(folder.bytes("data"), before);
    folder.refuses("trims.fio", &["trims.fio:6:1", "rw=trimwrite"]);
    folder.refuses("gone.fio", &["gone.fio", "No such file"]);
    folder.refuses("jobs.fio --section third", &["third", "first, second"]);
    folder.refuses("--name=a --filename=data --rwx=1", &["--rwx=1", "rwx"]);
    folder.refuses("jobs.fio --output-format=nonesuch", &["--output-format"]);
    folder.refuses("jobs.fio --overwrite --readonly", &["--readonly", "second"]);
    folder.refuses("jobs.fio --no-such-flag", &["no-such-flag"]);
    assert_eq!(folder.bytes("data"), before);
}

#[test]
fn a_job_file_is_run_under_any_name_and_never_written() {
    let folder = Folder::new();
    let text = "[global]\nioengine=libaio\n[read]\nrw=read\nbs=64k\nsize=1m\nfilename=data\n";
    for name in ["fio.job", "fio.conf", "plain"] {
        let path = folder.path(name);
        std::fs::write(&path, text).unwrap();
        let outcome = folder.ran(&format!("{name} --json"));
        assert_eq!(json(&outcome)["result"]["read"]["ios"], 16);
        // Options on the command line are only defaults for the file.
        let written = folder.bytes("data");
        let words = format!("{name} --rw randwrite --overwrite --json");
        let outcome = folder.ends(&words);
        assert_eq!(json(&outcome)["result"]["read"]["ios"], 16);
        assert_eq!(folder.bytes("data"), written);
        let words = format!("--name=a --filename={name} --rw=write --overwrite");
        let refused = folder.ends(&words).expect(3);
        let said = format!("halfpower run {name}");
        assert!(refused.stderr.contains("a fio job file") && refused.stderr.contains(&said));
        let words = format!("sweep wal {name} --overwrite --no-save");
        halfpower_in(folder.0.path(), &words).refuses(3, &[name, "a fio job file"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn options_on_the_line_and_with_one_dash_are_as_in_fio() {
    let folder = Folder::new();
    folder.write("open.job", "[a]\nrw=randread\nbs=4k\nioengine=psync\n");
    let trial = folder.json("open.job --filename=data --size=512k --json");
    assert_eq!(trial["result"]["read"]["ios"], 128);
    let trial = folder.json(
        "-filename=./data -iodepth 1 -thread -rw=randread -ioengine=psync -bs=16k \
                 -size=1m -numjobs=4 -group_reporting -name=mytest --json",
    );
    assert_eq!(
        (&trial["result"]["read"]["ios"], &trial["workload"]["numjobs"]),
        (&256.into(), &4.into())
    );
}

#[test]
fn depth_and_size_of_a_job_are_those_of_all_its_files() {
    let folder = Folder::new();
    folder.write("more", vec![2; 1 << 20]);
    let trial = folder.json(
        "--name=a --filename=data:more --rw=read --bs=4k --size=1m --ioengine=libaio \
                 --iodepth=4 --json",
    );
    assert_eq!(trial["workload"]["depth"], 4);
    assert_eq!(trial["targets"].as_array().unwrap().len(), 2);
    assert_eq!(trial["result"]["read"]["bytes"], 1 << 20);
}

#[test]
fn all_errors_of_a_file_are_printed_at_once_in_its_own_words() {
    let folder = Folder::new();
    let text = "[global]\nfilename=data\n[a]\nrw=randtrimwrite\n[b]\nflow=2\nlatency_target=5ms\n";
    folder.write("three.conf", text);
    let outcome = folder.ends("three.conf").expect(2);
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
    let folder = Folder::new();
    let says = |words: &str, run: &str| {
        let outcome = folder.ends(words).expect(0);
        assert!(outcome.stderr.contains(run), "{words}: {outcome:?}");
    };
    let more = "--rw=randread --bs=8k --direct=0 --size=64k --group_reporting --parse-only";
    says(&format!("data --name=x {more}"), "job x: halfpower run data --rw randread --bs 8k");
    says(&format!(". --name=x {more}"), "job x: halfpower run . --rw randread --bs 8k");
    let words = "sim:mm1 --name=x --group_reporting --io-size 1m --json";
    let ran = folder.ends(words).expect(0);
    assert_eq!(json(&ran)["schema"], "halfpower/trial/1");
    folder.refuses("data --name=x --filename=data", &["--filename", "omit one of them"]);
    folder.refuses("data . --name=x --rw=read", &["files or folders"]);
    let gone = folder.ends("gone --name=x --rw=read").expect(4);
    assert!(gone.stderr.contains("cannot open \"gone\""), "{gone:?}");
    folder.refuses("--name=x --filename=gone --rw=read", &["gone does not exist", "size=1g"]);
}

#[test]
fn errors_of_a_job_file_are_in_the_order_of_its_lines_with_the_nearest_names() {
    let folder = Folder::new();
    let text =
        "[global]\nfilename=data\nrunntime=10\n[a]\nrw=randraed\nbs=4q\n[b]\nrw=read\niodpth=4\n";
    folder.write("four.fio", text);
    let stderr = folder.ends("four.fio").expect(2).stderr;
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
    let alone = folder.ends("--name=a --filename=data --blocksze 4k").expect(2).stderr;
    assert!(
        alone.starts_with(
            "halfpower: --blocksze 4k: fio has no such option; did you mean blocksize? ("
        ),
        "{alone}"
    );
}

#[test]
fn fios_flags_beside_a_target_do_nothing_or_are_refused_and_lead_to_no_other_flag() {
    let folder = Folder::new();
    let outcome = folder.ran(
        "data --cache all --group_reporting --time_based --norandommap --randrepeat=0 \
                 --io-size 64k --json",
    );
    for flag in ["--group_reporting", "--time_based", "--norandommap", "--randrepeat=0"] {
        let said = format!("{flag} is a fio option without effect");
        assert!(outcome.stderr.contains(&said), "{flag}: {outcome:?}");
    }
    let refused = folder.ends("data --filename=data").expect(2);
    assert!(refused.stderr.contains("the target is already named"), "{refused:?}");
    assert!(!refused.stderr.contains("failed"), "{refused:?}");
    folder.refuses("data --bsrange=1k-4k", &["--bsrange=1k-4k", "--name"]);
    // A line with fio's target and none of halfpower's is in fio's language, with or without a job name.
    let planned =
        folder.ends("--filename=data -rw=randread --bs=8k --direct=0 --parse-only").expect(0);
    assert!(planned.stderr.contains("halfpower run data --rw randread --bs 8k"), "{planned:?}");
}

#[test]
fn logs_over_time_are_written_as_fio_writes_them() {
    let folder = Folder::new();
    let words = "--name=a --filename=data --rw=randrw --direct=0 --size=1m --time_based --runtime=1 \
                 --thinktime=1ms --write_bw_log=x --write_lat_log=x --write_iops_log --log_avg_msec=200 \
                 --overwrite";
    folder.ran(words);
    for name in ["x_bw.1.log", "x_lat.1.log", "x_clat.1.log", "a_iops.1.log"] {
        let text = folder.text(name);
        let lines: Vec<Vec<u64>> = text
            .lines()
            .map(|line| line.split(", ").map(|field| field.parse().unwrap()).collect())
            .collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| line.len() == 6), "{name}: {text}");
        assert!(lines.iter().all(|line| line[0] <= 1_000 && line[2] < 2), "{name}: {text}");
    }
    // A log of an earlier run is replaced, but no other file.
    folder.ran(words);
    folder.write("x_bw.1.log", "mine\n");
    let refused = folder.ends(words).expect(3);
    assert!(refused.stderr.contains("x_bw.1.log"), "{refused:?}");
    assert_eq!(folder.text("x_bw.1.log"), "mine\n");
}

#[test]
fn a_job_without_a_time_limit_has_intervals_and_several_jobs_have_no_csv() {
    let folder = Folder::new();
    let outcome = folder.ran("jobs.fio --section first --interval 1s --csv out.csv");
    assert!(outcome.stderr.contains("--runtime 100000s"), "{outcome:?}");
    assert!(folder.path("out.csv").exists());
    let at_once = FILE.replace("stonewall\n", "");
    folder.write("at-once.fio", at_once);
    let refused = folder.ends("at-once.fio --overwrite --interval=1s --csv two.csv").expect(2);
    assert!(refused.stderr.contains("--csv applies to a single job"), "{refused:?}");
    assert!(!refused.stderr.contains("beside"), "{refused:?}");
}

#[test]
fn what_is_parsed_only_is_printed_and_does_not_run() {
    let folder = Folder::new();
    let before = folder.bytes("data");
    let outcome = folder.plans("jobs.fio");
    assert!(outcome.stderr.contains("job second: halfpower run data --rw write"), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
    assert_eq!(folder.bytes("data"), before);
}

#[test]
fn jobs_of_one_seed_run_at_the_same_time() {
    let folder = Folder::new();
    let text = "[global]\nrandseed=7\nioengine=psync\nbs=64k\nfilename=data\nsize=1m\n[a]\nrw=read\n\
                [b]\nrw=randread\n";
    folder.write("two.ini", text);
    let trial = folder.json("two.ini --json");
    assert_eq!(trial["seed"], 7);
    assert_eq!(trial["beside"].as_array().unwrap().len(), 1);
}

#[test]
fn a_job_named_like_a_folder_or_a_device_does_not_run_on_a_temporary_file() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("sub")).unwrap();
    folder.refuses("--name=sub --rw=read --size=64k", &["--name=sub", "directory=sub"]);
    let planned = folder.ends("--name=/dev/sdzz --rw=randwrite --parse-only").expect(0);
    assert!(planned.stderr.contains("halfpower run /dev/sdzz --rw randwrite"), "{planned:?}");
    folder.refuses(
        "--name=/dev/sdzz --rw=randwrite --size=64k",
        &["the device /dev/sdzz does not exist"],
    );
}

#[test]
fn a_comment_as_in_c_and_polling_without_io_uring_are_refused_with_a_remedy() {
    let folder = Folder::new();
    let refuses = |lines: &str, reason: &[&str]| {
        let text = format!("[a]\nfilename=data\n{lines}\n");
        folder.write("one.fio", text);
        folder.refuses("one.fio", reason);
    };
    let hint = "a comment begins with # or ;, not with //";
    refuses("rw=write\nfsync=10  // For write tests only", &["one.fio:4:1: fsync=10", hint]);
    refuses("size=2g\t// in total", &["one.fio:3:1: size=2g", hint]);
    refuses("ioengine=pvsync2\nhipri", &["one.fio:4:1: hipri: ", "requires io_uring"]);
    refuses("ioengine=libaio\nhipri", &["fio's libaio engine does not have this option"]);
}
