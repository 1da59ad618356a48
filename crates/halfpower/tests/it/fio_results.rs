//! fio's JSON as a result: written by fio itself, if it is installed, and by this program.

use crate::program::{Outcome, halfpower_in};
use record::{Arrival, CacheMode, FlushKind, Pattern, Trial, Workload};
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
    let trial = imported(&halfpower_in(folder.path(), "record out.json --json --db again.db"));
    assert_eq!((trial.completed(), trial.workload.read_percent), (10_240, 75));
    let read = trial.result.read.as_ref().unwrap();
    let times = read.latency_ns.as_ref().unwrap();
    assert_eq!(read.histogram.count(), read.ios);
    let p50 = read.histogram.percentile(0.5).unwrap();
    assert!((times.p50.unwrap() / p50 - 1.0).abs() < 0.01, "{times:?} {p50}");
    assert!((read.bytes_per_s / read.iops / 4_096.0 - 1.0).abs() < 1e-3, "{read:?}");
    assert_eq!(trial.device_counters.reason(), Some("not reported by fio"));
    // It is saved, shown and compared like halfpower's own trials.
    let shown = halfpower_in(folder.path(), &format!("report {} --text --db again.db", trial.id));
    assert!(shown.stdout.contains("75 % read") || shown.code == Some(2), "{shown:?}");
    let same = halfpower_in(folder.path(), "compare out.json out.json --db again.db").expect(0);
    assert!(same.stdout.contains("out.json"), "{same:?}");
    // Plain JSON has no bins, and so no percentile that could be compared.
    let whole = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
    std::fs::write(folder.path().join("plain.json"), whole.replace("\"bins\"", "\"none\""))
        .unwrap();
    let plain = halfpower_in(folder.path(), "compare plain.json out.json --json --db again.db");
    assert!(plain.stdout.contains("no latency bins: use --output-format=json+"), "{plain:?}");
}

/// The workload in fio's JSON of halfpower, read back.
fn read_back(folder: &TempDir, job: &str) -> Workload {
    let words = format!("run {job} --overwrite --output-format=json --output=out.json --no-save");
    let told = halfpower_in(folder.path(), &words);
    assert!(matches!(told.code, Some(0 | 1)), "{job}: {told:?}");
    let read = imported(&halfpower_in(folder.path(), "record out.json --json --no-save"));
    assert_eq!(read.targets[0].path, "data", "{job}");
    std::fs::remove_file(folder.path().join("out.json")).unwrap();
    read.workload
}

#[test]
fn fios_json_of_a_job_names_the_whole_load() {
    let folder = folder();
    let job = |options: &str| {
        let job = "--name=a --filename=data --size=1m --bs=4k --ioengine=psync --number_ios=8";
        read_back(&folder, &format!("{job} {options}"))
    };
    let zipf = job("--rw=randread --random_distribution=zipf:1.2");
    assert_eq!((zipf.pattern, zipf.zipf_theta_milli), (Pattern::Zipf, Some(1_200)));
    assert!(!zipf.without_replacement, "{zipf:?}");
    assert!(job("--rw=randread").without_replacement);
    assert!(!job("--rw=randread --norandommap").without_replacement);
    let paced = job("--rw=randrw --rate_iops=4000,8000 --rate_process=poisson");
    assert_eq!((paced.rate_iops, paced.write_rate_iops), (Some(12_000), Some(8_000)));
    assert_eq!(paced.arrival, Arrival::Poisson);
    let commits = job("--rw=write --fdatasync=2 --offset=64k --size=512k");
    let flush = commits.flush.unwrap();
    assert_eq!((flush.kind, flush.every), (FlushKind::Fdatasync, 2));
    assert_eq!((commits.offset_bytes.0, commits.size_bytes.0), (64 << 10, 512 << 10));
    assert_eq!(job("--rw=randwrite --sync=1").cache, CacheMode::Fs);
    assert_eq!(job("--rw=randread --thinktime=1ms").think_ns.0, 1_000_000);
    let parts = job("--rw=read --numjobs=2 --size=256k --offset_increment=512k");
    assert_eq!((parts.numjobs, parts.size_bytes.0), (2, 256 << 10));
    assert_eq!(parts.job_distance_bytes.unwrap().0, 512 << 10);
    assert_eq!(job("--rw=read:4k").stride_bytes.unwrap().0, 8_192);
}

#[test]
fn results_of_fio_and_of_halfpower_for_one_command_line_have_the_same_load() {
    let folder = folder();
    for options in [
        "--rw=randread --random_distribution=zipf:1.2",
        "--rw=write --fdatasync=1",
        "--rw=randwrite --sync=1",
        "--rw=randread --rate_iops=4000",
        "--rw=randread --numjobs=4 --group_reporting",
    ] {
        let job = format!(
            "--name=a --filename=data --size=1m --bs=4k --ioengine=psync --number_ios=8 {options}"
        );
        // fio writes the options of the command line that have a value.
        let told: Vec<String> = job
            .split_whitespace()
            .filter_map(|word| word.trim_start_matches("--").split_once('='))
            .map(|(name, value)| format!("\"{name}\": \"{value}\""))
            .collect();
        let text = result(&told.join(", "));
        let writes = options.contains("write");
        let text = if writes { text.replace("\"write\": {}", "\"trim\": {}") } else { text };
        let text = if writes { text.replace("\"read\"", "\"write\"") } else { text };
        let of_fio = &imported_text(&text)[0];
        assert_eq!(of_fio.workload.cell(), read_back(&folder, &job).cell(), "{options}");
    }
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
    let trial = imported(&halfpower_in(folder.path(), "record fio.json --json --no-save"));
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
        halfpower_in(folder.path(), "record bad.json --no-save").refuses(2, words);
    };
    let job = |options: &str, read: &str| {
        format!(
            "{{\"fio version\": \"fio-3.33\", \"jobs\": [{{\"jobname\": \"j\", \"job options\": \
             {{{options}}}, \"read\": {{{read}}}, \"write\": {{}}}}]}}"
        )
    };
    refuses("{\"fio version\": \"fio-3.33\", \"jobs\": [", &["bad.json", "not complete fio JSON"]);
    refuses(&job("\"size\": \"1m\"", ""), &["\"j\"", "no request completed"]);
    let mixed = "{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"j\", \"job options\": {\"rw\": \"rw\"}, \
                 \"mixed\": {\"runtime\": 5}}]}";
    refuses(mixed, &["\"j\"", "unified_rw_reporting"]);
}

#[test]
fn fios_other_formats_are_named_with_the_one_that_is_read() {
    let folder = folder();
    let normal = "t: (g=0): rw=randread, ioengine=psync, iodepth=1\nfio-3.33\nStarting 1 process\n\
                  \nt: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov 30 2026\n  read: IOPS=11\n";
    let terse = format!("3;fio-3.33;t;0;0;1024;46545;1.000000%=46{}\n", ";0".repeat(120));
    for text in [normal, &terse] {
        std::fs::write(folder.path().join("fio.out"), text).unwrap();
        let reason = ["normal or terse output", "--output-format=json"];
        for words in ["record fio.out --no-save", "compare fio.out fio.out", "report fio.out --md"]
        {
            halfpower_in(folder.path(), words).refuses(2, &reason);
        }
    }
}

#[test]
fn a_sum_over_directions_is_that_of_the_one_that_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        result("\"rw\": \"randread\", \"size\": \"8m\"").replace("\"read\": {", "\"mixed\": {");
    std::fs::write(folder.path().join("sum.json"), text).unwrap();
    let outcome = halfpower_in(folder.path(), "record sum.json --json --no-save");
    let trial: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(trial["result"]["read"]["ios"], 2000, "{outcome:?}");
}

#[test]
fn a_page_of_a_result_names_fio_and_says_that_its_file_has_no_device() {
    let folder = tempfile::tempdir().unwrap();
    let text = result("\"rw\": \"randread\", \"size\": \"8m\"");
    std::fs::write(folder.path().join("fio.out"), text).unwrap();
    let page = halfpower_in(folder.path(), "report fio.out --md").stdout;
    assert!(page.contains("not in fio's file") && page.contains("fio-3.33"), "{page}");
    assert!(!page.contains("reaches a block device") && !page.contains(", seed "), "{page}");
    assert!(page.contains("fio's file has no course over time"), "{page}");
    assert!(!page.contains("too short to show"), "{page}");
}

#[test]
fn percentiles_of_the_whole_latency_are_read() {
    let text = result("\"rw\": \"randread\", \"size\": \"8m\", \"lat_percentiles\": \"1\"")
        .replace(", \"percentile\": {\"50.000000\": 55}", "")
        .replace("\"mean\": 70.0,", "\"mean\": 70.0, \"percentile\": {\"50.000000\": 65},");
    let read = imported_text(&text)[0].result.read.clone().unwrap();
    assert_eq!(read.latency_ns.unwrap().p50, Some(65.0));
    assert_eq!(read.completion_ns.unwrap().p50, None);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fio.out"), text).unwrap();
    let page = halfpower_in(folder.path(), "report fio.out --md").stdout;
    assert!(page.contains("–: not in fio's file, or fewer than ten requests"), "{page}");
}

#[test]
fn percentiles_of_the_completion_are_not_those_of_the_latency() {
    // Buffered requests of libaio wait in the submission call.
    let slow_call = result("\"rw\": \"randread\", \"size\": \"8m\"")
        .replace("\"percentile\"", "\"bins\": {\"55\": 2000}, \"percentile\"");
    let read = imported_text(&slow_call)[0].result.read.clone().unwrap();
    assert_eq!(read.latency_ns.unwrap().p50, None);
    assert_eq!(read.completion_ns.unwrap().p50, Some(55.0));
    assert_eq!(read.histogram.count(), 0, "the submission takes a seventh of the latency");
    let quick_call = slow_call.replace("\"mean\": 70.0", "\"mean\": 61.0");
    let read = imported_text(&quick_call)[0].result.read.clone().unwrap();
    assert_eq!((read.latency_ns.unwrap().p50, read.histogram.count()), (None, 2_000));
}

#[test]
fn without_latencies_the_mean_depth_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let options = "\"rw\": \"randread\", \"size\": \"8m\", \"gtod_reduce\": \"1\"";
    let text = result(options).replace("\"max\": 900", "\"max\": 0");
    std::fs::write(folder.path().join("fio.out"), text).unwrap();
    let page = halfpower_in(folder.path(), "report fio.out --md").stdout;
    assert!(page.contains("mean unknown, because fio measured no latency, 1 requested"), "{page}");
    assert!(!page.contains("on average"), "{page}");
}

#[test]
fn flushes_of_fio_are_read_and_compared() {
    let sync = |mean: u64| {
        format!(
            ", \"sync\": {{\"total_ios\": 0, \"lat_ns\": {{\"min\": 9, \"max\": 99000, \
             \"mean\": {mean}.0, \"stddev\": 3.0, \"N\": 2000, \
             \"percentile\": {{\"99.000000\": 90000}}}}}}"
        )
    };
    let options = "\"rw\": \"write\", \"size\": \"8m\", \"fdatasync\": \"1\"";
    let text = result(options).replace(", \"write\": {}", "").replace("\"read\"", "\"write\"");
    let with = |mean: u64| text.replace("}]\n}", &format!("{}}}]\n}}", sync(mean)));
    let flush = imported_text(&with(800))[0].result.flush.clone().unwrap();
    assert_eq!((flush.ios, flush.iops), (2_000, 2_000.0));
    let times = flush.latency_ns.unwrap();
    assert_eq!((times.mean, times.p99), (800.0, Some(90_000.0)));
    assert!(imported_text(&text)[0].result.flush.is_none());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), with(800)).unwrap();
    std::fs::write(folder.path().join("b.json"), with(1_600)).unwrap();
    let page = halfpower_in(folder.path(), "compare a.json b.json").stdout;
    assert!(page.contains("Mean flush latency"), "{page}");
    assert!(page.contains("99th percentile of the flush latency"), "{page}");
}

/// A result of fio 3 with these options.
fn result(options: &str) -> String {
    format!(
        "{{\n\"fio version\": \"fio-3.33\", \"time\": \"Fri\",\n\"jobs\": [\n{{\"jobname\": \"j\", \"job options\": \
         {{{options}}}, \"read\": {{\"runtime\": 1000, \"total_ios\": 2000, \"io_bytes\": 8192000, \
         \"io_kbytes\": 8000, \"bw_bytes\": 8192000, \"iops\": 2000.0, \"lat_ns\": {{\"min\": 5, \"max\": 900, \
         \"mean\": 70.0, \"stddev\": 3.0, \"N\": 2000}}, \"clat_ns\": {{\"min\": 4, \"max\": 900, \"mean\": 60.0, \
         \"stddev\": 3.0, \"N\": 2000, \"percentile\": {{\"50.000000\": 55}}}}}}, \"write\": {{}}}}]\n}}\n"
    )
}

fn imported_text(text: &str) -> Vec<Trial> {
    let folder = folder();
    std::fs::write(folder.path().join("result"), text).unwrap();
    let outcome = halfpower_in(folder.path(), "record result --json --no-save");
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:?}");
    serde_json::Deserializer::from_str(&outcome.stdout).into_iter().map(Result::unwrap).collect()
}

#[test]
fn measured_numbers_are_read_whatever_the_options_are() {
    for options in [
        "\"filename\": \"/dev/sdX\", \"direct\": \"1\", \"rw\": \"randread\", \"iodepth\": \"8\", \"ioengine\": \"libaio\"",
        "\"size\": \"100%\", \"rate\": \"20m\", \"cpus_allowed\": \"0\", \"log_avg_msec\": \"500\"",
        "\"rw\": \"randread\", \"flow\": \"2\", \"ioengine\": \"rbd\", \"pool\": \"x\"",
        "\"directory\": \"/mnt\", \"nrfiles\": \"4\", \"no_such_option\": \"1\"",
        "",
    ] {
        let trials = imported_text(&result(options));
        let [trial] = &trials[..] else { panic!("{options}: {}", trials.len()) };
        let read = trial.result.read.as_ref().unwrap();
        assert_eq!((read.ios, read.bytes, read.iops), (2_000, 8_192_000, 2_000.0), "{options}");
        // With a rate, it does not count from the intended arrival.
        let paced = options.contains("rate");
        assert_eq!(read.latency_ns.is_none(), paced, "{options}");
        let times = read.latency_ns.as_ref().or(read.completion_ns.as_ref()).unwrap();
        assert_eq!(times.mean, 70.0, "{options}");
    }
    let raw = &imported_text(&result(
        "\"filename\": \"/dev/sdX\", \"iodepth\": \"8\", \"ioengine\": \"libaio\"",
    ))[0];
    assert_eq!((raw.workload.size_bytes.0, raw.workload.iodepth), (0, 8));
}

#[test]
fn each_document_in_a_text_is_read() {
    let one = result("\"size\": \"1m\"");
    let text = format!(
        "fio-3.33\nStarting 1 process\n{one}\nmore {{words}}\n{one}  {{\n  \"other\": 1 }}\n"
    );
    assert_eq!(imported_text(&text).len(), 2);
}

/// A document that fio wrote at this time, in milliseconds, for a run that began at 0.
fn snapshot(requests: u64, written_ms: u64) -> String {
    result("\"rw\": \"randread\", \"size\": \"8m\"")
        .replace("\"time\": \"Fri\"", &format!("\"timestamp_ms\": {written_ms}"))
        .replace("\"runtime\": 1000", &format!("\"runtime\": {}", written_ms % 10_000))
        .replace("\"total_ios\": 2000", &format!("\"total_ios\": {requests}"))
}

#[test]
fn of_the_cumulative_documents_of_a_run_the_last_one_is_the_result() {
    let requests = |texts: &[String]| -> Vec<u64> {
        imported_text(&texts.concat()).iter().map(Trial::completed).collect()
    };
    let run =
        [snapshot(0, 900), snapshot(900, 1_000), snapshot(1_950, 2_000), snapshot(2_000, 2_040)];
    assert_eq!(requests(&run), [2_000]);
    // A second run of the job, which begins after the first has ended.
    let again = [&run[..], &[snapshot(2_000, 11_000), snapshot(2_500, 12_000)]].concat();
    assert_eq!(requests(&again), [2_000, 2_500]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.json"), run.concat()).unwrap();
    let outcome = halfpower_in(folder.path(), "record run.json --no-save");
    assert!(outcome.stderr.contains("3 of 4 JSON documents are intermediate"), "{outcome:?}");
}

#[test]
fn reads_of_the_verification_are_no_load() {
    let options = "\"rw\": \"write\", \"size\": \"8m\", \"verify\": \"crc32c\"";
    let both = |options: &str| {
        let text = result(options);
        let (begin, end) =
            (text.find("{\"runtime\"").unwrap(), text.find(", \"write\": {}").unwrap());
        text.replace("\"write\": {}", &format!("\"write\": {}", &text[begin..end]))
    };
    let trial = &imported_text(&both(options))[0];
    assert_eq!((trial.completed(), trial.result.read.is_none()), (2_000, true));
    assert!(trial.findings.iter().any(|it| it.claim.contains("are those of the verification")));
    let unverified = options.replace("\"crc32c\"", "\"crc32c\", \"do_verify\": \"0\"");
    assert_eq!(imported_text(&both(&unverified))[0].completed(), 4_000);
    let folder = tempfile::tempdir().unwrap();
    let mixed = both(&options.replace("\"write\"", "\"randrw\""));
    std::fs::write(folder.path().join("mixed.json"), mixed).unwrap();
    halfpower_in(folder.path(), "record mixed.json --no-save").refuses(2, &["do_verify=0"]);
}

#[test]
fn latencies_of_a_rate_count_from_the_submission_and_are_compared_as_such() {
    let options = "\"rw\": \"randread\", \"size\": \"8m\", \"rate_iops\": \"2000\"";
    let trial = &imported_text(&result(options))[0];
    let read = trial.result.read.as_ref().unwrap();
    assert!(read.latency_ns.is_none() && read.histogram.count() == 0, "{read:?}");
    assert_eq!(read.completion_ns.as_ref().unwrap().mean, 70.0);
    assert!((trial.result.concurrency - 2_000.0 * 70e-9).abs() < 1e-9, "{trial:?}");
    let folder = folder();
    std::fs::write(folder.path().join("fio.json"), result(options)).unwrap();
    let run = "run data --rw randread --bs 4k --size 1m --ioengine sync --iodepth 1 --cache all \
               --rate-iops 2000 --without-replacement --drop-cache dontneed --io-size 8m \
               --runtime none --keep-warm-up --json --no-save";
    let ran = halfpower_in(folder.path(), run);
    std::fs::write(folder.path().join("own.json"), ran.stdout).unwrap();
    let metrics = |a: &str, b: &str| -> Vec<String> {
        let told = halfpower_in(folder.path(), &format!("compare {a} {b} --json"));
        let document: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
        let rows = document["cells"][0]["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| row["metric"].as_str().unwrap().to_owned()).collect()
    };
    let mixed = metrics("fio.json", "own.json");
    assert!(mixed.iter().any(|it| it == "completion_mean_ns"), "{mixed:?}");
    assert!(!mixed.iter().any(|it| it.starts_with("latency")), "{mixed:?}");
    assert_eq!(metrics("own.json", "own.json")[0], "latency_mean_ns");
}

#[test]
fn a_job_that_ends_by_its_size_is_repeated_by_its_size() {
    let command = |options: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("fio.out"), result(options)).unwrap();
        halfpower_in(folder.path(), "report fio.out --md").stdout
    };
    let options = "\"rw\": \"randread\", \"size\": \"8m\", \"filename\": \"f\"";
    let by_size = command(options);
    assert!(by_size.contains("--runtime none --io-size 8388608"), "{by_size}");
    let limited = command(&format!("{options}, \"runtime\": \"60\""));
    assert!(limited.contains("--runtime 60s --io-size 8388608"), "{limited}");
    let by_time = command(&options.replace("8m", "1m"));
    assert!(by_time.contains("--runtime 1s") && !by_time.contains("--io-size"), "{by_time}");
}

#[test]
fn the_size_of_a_job_is_no_size_of_its_file() {
    let trial = &imported_text(&result("\"rw\": \"randread\", \"size\": \"512k\""))[0];
    assert_eq!((trial.targets[0].size_bytes.0, trial.workload.size_bytes.0), (0, 512 << 10));
}

#[test]
fn a_modifier_that_is_omitted_leaves_the_direction() {
    let trial = &imported_text(&result("\"rw\": \"randread:8\", \"size\": \"8m\""))[0];
    assert_eq!((trial.workload.read_percent, trial.workload.pattern), (100, Pattern::Random));
}

#[test]
fn versions_before_3_have_kibibytes_and_microseconds() {
    let text = "{\n  \"fio version\" : \"fio-2.1.3\",\n  \"jobs\" : [ { \"jobname\" : \"old\", \"read\" : { \
        \"io_bytes\" : 4096, \"bw\" : 2048, \"iops\" : 512, \"runtime\" : 2000, \"lat\" : { \"min\" : 10, \"max\" : 900, \
        \"mean\" : 70.5, \"stddev\" : 3.0 }, \"clat\" : { \"min\" : 9, \"max\" : 900, \"mean\" : 60.0, \"stddev\" : 3.0, \
        \"percentile\" : { \"50.000000\" : 55 } } }, \"write\" : { \"io_bytes\" : 0, \"runtime\" : 0, \"iops\" : 0 } } ]\n}\n";
    let trials = imported_text(text);
    let read = trials[0].result.read.as_ref().unwrap();
    assert_eq!((read.ios, read.bytes, read.bytes_per_s), (1_024, 4 << 20, 2_097_152.0));
    let latency = read.latency_ns.as_ref().unwrap();
    assert_eq!((latency.mean, latency.p50, latency.max), (70_500.0, None, 900_000));
    assert_eq!(read.completion_ns.as_ref().unwrap().p50, Some(55_000.0));
    assert!(trials[0].result.write.is_none());
}

#[test]
fn a_result_without_options_has_no_invented_workload() {
    let text = result("").replace("\"read\": {\"runtime", "\"write\": {\"runtime");
    let text = text.replace(", \"write\": {}", "");
    let trial = &imported_text(&text)[0];
    let workload = &trial.workload;
    assert_eq!((workload.read_percent, workload.max_bs().0), (0, 4_096));
    assert_eq!((workload.iodepth, workload.numjobs, workload.depth), (0, 0, 0));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fio.out"), &text).unwrap();
    let page = halfpower_in(folder.path(), "report fio.out --md").stdout;
    assert!(page.contains("write of 4 KiB, other options unknown on unknown"), "{page}");
    assert!(page.contains("does not contain the options of the job"), "{page}");
    for invented in ["halfpower run", "sequential", "io_uring", "cache device"] {
        assert!(!page.contains(invented), "{invented}: {page}");
    }
    let uneven = text.replace("\"io_bytes\": 8192000", "\"io_bytes\": 8192001");
    assert_eq!(imported_text(&uneven)[0].workload.max_bs().0, 0);
}

#[test]
fn a_missing_run_time_follows_from_requests_and_rate() {
    let text = result("\"rw\": \"randread\", \"size\": \"8m\"")
        .replace("\"runtime\": 1000, ", "")
        .replace("\"io_bytes\": 8192000, ", "");
    let trial = &imported_text(&text)[0];
    let read = trial.result.read.as_ref().unwrap();
    assert_eq!((read.ios, read.bytes), (2_000, 8_192_000));
    assert_eq!(trial.result.duration_ns.0, 1_000_000_000);
    let folder = tempfile::tempdir().unwrap();
    let bare = text.replace("\"iops\": 2000.0, ", "");
    std::fs::write(folder.path().join("bare.json"), bare).unwrap();
    halfpower_in(folder.path(), "record bare.json --no-save").refuses(2, &["neither its run time"]);
}

#[test]
fn a_job_that_went_on_after_its_bytes_ended_by_time() {
    // fio's file has no time_based. The job transferred 8,192,000 bytes.
    let options = "\"rw\": \"randread\", \"runtime\": \"1\"";
    let most = |size: &str| {
        let text = result(&format!("{options}, \"size\": \"{size}\""));
        imported_text(&text)[0].workload.stop.max_bytes.map(|bytes| bytes.0)
    };
    assert_eq!((most("1m"), most("8m")), (None, Some(8 << 20)));
}

#[test]
fn jobs_of_one_name_are_a_result_each() {
    let one = result("\"numjobs\": \"2\", \"size\": \"8m\"");
    let job = one[one.find("{\"jobname\"").unwrap()..one.rfind(']').unwrap()].to_owned();
    let text = one.replace(&job, &format!("{job},\n{job}"));
    let trials = imported_text(&text);
    assert_eq!(trials.iter().map(|trial| trial.workload.numjobs).collect::<Vec<_>>(), [1, 1]);
    let most = trials[0].workload.stop.max_bytes;
    assert_eq!(most.map(|bytes| bytes.0), Some(8 << 20), "the bytes of one job");
    assert_ne!(trials[0].id, trials[1].id);
}
