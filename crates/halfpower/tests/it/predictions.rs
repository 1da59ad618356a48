//! `check --for-diagnosis`, `predict` and `show validate`: predictions come true.
//!
//! Budgets are short, so that the whole file takes a minute; `cargo xtask validate` does the same with longer
//! budgets for every device of the catalogue.

use crate::documents::check_schema;
use crate::program::{Outcome, halfpower, profiled_into};
use record::{Estimate, Mix, MixClass, ModelName, Offered, PredictionDocument, Trial, Validation};
use std::path::Path;
use testkit::{disk_folder, requires, skip};

/// A folder with the profile of a device.
fn profiled(device: &str, budget: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("h.db");
    profiled_into(&database, &format!("sim:{device} --for-diagnosis --budget {budget}"));
    folder
}

fn on(database: &Path, words: &str) -> Outcome {
    halfpower(&format!("{words} --db {}", database.display()))
}

fn validated(folder: &tempfile::TempDir) -> Validation {
    let database = folder.path().join("h.db");
    let ended = on(&database, "show validate last --trials 16 --json");
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    check_schema("validation-1", &ended.stdout);
    let report = on(&database, "report last --kind validation --md").expect(0).stdout;
    assert!(report.contains("Validation"), "{report}");
    // Predictions are printed before the first trial.
    let (told, measured) = (ended.stderr.find("Predicted"), ended.stderr.find("validation ..."));
    assert!(told.is_some() && told < measured, "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn predicted(folder: &tempfile::TempDir, words: &str) -> PredictionDocument {
    let ended = on(&folder.path().join("h.db"), &format!("predict last {words} --json")).expect(0);
    check_schema("prediction-1", &ended.stdout);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[track_caller]
fn check_goal(device: &str, budget: &str) -> Validation {
    let validation = validated(&profiled(device, budget));
    let summary = &validation.summary;
    let of = |model| summary.accuracy.iter().find(|one| one.model == model).unwrap().median_rel;
    let error = of(summary.advised).unwrap();
    println!(
        "{device}: {:.1} % by {}, largest rate {:.1} %, repeats to {:.1} %; M/M/1 {:?}",
        error * 100.0,
        summary.advised.name(),
        summary.max_iops_rel.unwrap() * 100.0,
        summary.repeat_rel.unwrap() * 100.0,
        of(ModelName::Mm1)
    );
    assert!(error <= summary.goal_rel, "{device}: {summary:#?}");
    assert!(summary.max_iops_rel.unwrap() <= summary.max_iops_goal_rel, "{device}: {summary:#?}");
    validation
}

#[test]
fn one_server_of_constant_time_is_predicted_and_mm1_is_not_believed() {
    let validation = check_goal("md1,service=1ms", "10m");
    let mm1 = validation.summary.accuracy.iter().find(|one| one.model == ModelName::Mm1);
    // It predicts twice the actual queue.
    assert!(mm1.unwrap().median_rel.unwrap() > 0.1);
}

#[test]
fn eight_servers_are_predicted_and_a_single_queue_is_far_off() {
    let validation = check_goal("mmc,service=4ms", "8m");
    let mm1 = validation.summary.accuracy.iter().find(|one| one.model == ModelName::Mm1);
    assert!(mm1.unwrap().median_rel.unwrap() > 0.4);
    assert_ne!(validation.summary.advised, ModelName::Mm1);
}

#[test]
fn a_capped_volume_does_not_queue_below_its_cap() {
    let validation = check_goal("capped", "6m");
    let mm1 = validation.summary.accuracy.iter().find(|one| one.model == ModelName::Mm1);
    assert!(mm1.unwrap().median_rel.unwrap() > 0.2);
    assert_ne!(validation.summary.advised, ModelName::Mm1);
}

#[test]
fn predictions_follow_a_real_target_that_moves() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let database = folder.path().join("h.db");
    let words = "--for-diagnosis --budget 8s --size 64m --json";
    let ended = on(&database, &format!("check {} {words}", folder.path().display()));
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    let ended = on(&database, "show validate last --trials 1 --runtime 240ms --json");
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    check_schema("validation-1", &ended.stdout);
    let validation: Validation = serde_json::from_str(&ended.stdout).unwrap();
    assert!(!validation.trials.is_empty());
    let Some(since) = validation.since_profile else {
        let name = "predictions_follow_a_real_target_that_moves";
        return skip(name, "the disk is too busy to tell its level in so short a time");
    };
    assert!(since.most_deep_ratio >= since.least_deep_ratio, "{since:#?}");
    let deep = since.reads_ratio.unwrap();
    assert!(deep.low <= deep.value && deep.value <= deep.high && deep.low > 0.0, "{deep:?}");
    for trial in &validation.trials {
        assert_eq!(trial.trial_ids.len(), 7, "{trial:#?}");
        if trial.left_out.is_empty() {
            assert_eq!((trial.measured_ns.len(), trial.measured_max_iops.len()), (2, 5));
            // These predictions were made just before, for the current state, not from the profile. The true
            // difference is known only for a simulated device: the tests of the drift probe check it.
            let now = trial.max_iops_now.unwrap();
            assert!(now > 0.0 && now != trial.max_iops.value, "{now} {since:#?}");
            assert_eq!(trial.foretold_now.len(), trial.foretold.len(), "{trial:#?}");
        }
    }
    assert!(validation.summary.as_profiled.is_some());
    // Such a short profile has too few mixes and open loads. Sixty visits at first, six before each of two
    // open loops, twelve before each of five closed ones.
    assert_eq!((since.open_ratio, since.mixes_ratio), (None, None));
    assert_eq!(since.trial_ids.len(), 60 + (2 * 6 + 5 * 12) * validation.trials.len());
    // A prediction can follow the device as well.
    let still = predicted(&folder, "--rate-iops 100 --bs 4k");
    assert!(still.since_profile.is_none());
    let now = predicted(&folder, "--rate-iops 100 --bs 4k --now");
    assert!(now.since_profile.unwrap().most_deep_ratio.unwrap() > 0.0);
    let (then, now) = (&still.predictions[0], &now.predictions[0]);
    assert!((now.max_iops.value / then.max_iops.value - 1.0).abs() > 1e-9, "{now:#?}");
    // The test file is deleted, the results are saved.
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap()).collect();
    assert!(
        left.iter().all(|one| one.file_name().to_string_lossy().starts_with("h.db")),
        "{left:?}"
    );
}

#[test]
fn a_simulated_device_has_no_level_of_this_moment() {
    let folder = profiled("mm1", "1m");
    let ended = on(&folder.path().join("h.db"), "predict last --now --rate-iops 10");
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("does not change after it was profiled"), "{ended:#?}");
}

#[test]
fn a_prediction_answers_a_rate_a_depth_and_a_target() {
    // In 8 minutes, a QD 1 cell has 240 requests: 7 % by chance alone.
    let folder = profiled("mmc,service=4ms", "20m");
    // Each of these loads meets the goal for the median error.
    let near = |estimate: &Estimate, truth: f64| (estimate.value / truth - 1.0).abs() < 0.05;
    // Eight servers of 4 ms: 2,000 requests per second, and 4 ms for a request that finds a free one.
    let document = predicted(&folder, "--rate-iops 800 --rwmixread 70% --bs 8k");
    let advised = document.advised.unwrap();
    let used = document.predictions.iter().find(|one| one.model == advised).unwrap();
    assert!(near(&used.latency_ns, 4.0e6), "{:?}", used.latency_ns);
    assert!(near(&used.max_iops, 2_000.0), "{:?}", used.max_iops);
    assert!((used.saturation - 0.4).abs() < 0.02 && used.concurrency > 3.0);
    assert!(document.predictions.len() >= 5 && !document.accuracy.is_empty());
    let deep = predicted(&folder, "--iodepth 16");
    let used = deep.predictions.iter().find(|one| Some(one.model) == deep.advised).unwrap();
    assert!(near(&used.latency_ns, 8.0e6), "{:?}", used.latency_ns);
    let target = predicted(&folder, "--slo mean=5ms --bs 8k");
    let at = target.objectives[0].at.as_ref().unwrap();
    // By Erlang's C formula, M/M/8 has a mean latency of 5 ms at 1,572 requests per second, and of 4.75 and
    // 5.25 ms (5 % off) at 1,511 and 1,618.
    assert!((1_511.0..1_618.0).contains(&at.iops.value), "{:?}", at.iops);
    let never = predicted(&folder, "--slo mean=1ms");
    assert!(never.objectives[0].at.is_none() && never.objectives[0].not.is_some());
}

#[test]
fn more_than_the_device_can_do_is_refused_with_what_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("h.db");
    profiled_into(&database, "sim:md1,service=1ms --budget 20s");
    on(&database, "predict last --rate-iops 5000").refuses(2, &["5000", "maximum"]);
    on(&database, "predict last").refuses(2, &["--rate-iops", "--slo"]);
    on(&database, "predict last --slo p99=10").refuses(2, &["write 10ms or 10s"]);
    on(&database, "predict last --rate-iops 1 --sequential 60 --hit 60").refuses(2, &["120 %"]);
    let no_flush = ["no commits by a single committer", "a simulated device has no flush"];
    on(&database, "predict last --sessions 4").refuses(2, &no_flush);
    on(&database, "predict last --sessions 4 --work 200")
        .refuses(2, &["write 200us, 200ms or 200s"]);
    let refused = on(&database, "predict last --work 1ms");
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains("--sessions <N>"), "{}", refused.stderr);
    // A missing profile is reported before any flag.
    on(&database, "predict nope").refuses(4, &["\"nope\""]);
    // The plain check measured no open load, and the page says so.
    let page = on(&database, "predict last --rate-iops 300").expect(0).stdout;
    assert!(page.contains("no open load was measured"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

/// A check measures up to QD 256, and no request below 4 KiB. The truth is a long run.
#[test]
fn loads_beyond_the_measured_ones_are_flagged_and_within_their_interval() {
    for device in ["nvme-ssd", "mm1", "st15150w", "cloud"] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("h.db");
        profiled_into(&database, &format!("sim:{device}"));
        for (words, rw) in [
            ("--bs 4k --iodepth 512", "randread"),
            ("--bs 4k --iodepth 1024", "randread"),
            ("--bs 512 --iodepth 32", "randread"),
            ("--bs 512 --iodepth 1", "randwrite"),
            ("--bs 512 --iodepth 256", "randwrite"),
        ] {
            let reads = if rw == "randread" { "100%" } else { "0%" };
            let found = predicted(&folder, &format!("{words} --rwmixread {reads}"));
            let used = found.predictions.iter().find(|one| Some(one.model) == found.advised);
            let used = used.unwrap();
            let flagged = ["were measured up to QD", "smaller than the smallest measured"];
            let is_flagged = |it: &String| flagged.iter().any(|words| it.contains(words));
            assert!(used.extrapolated.iter().any(is_flagged), "{device} {words}: {used:?}");
            let run = format!("run sim:{device} --rw {rw} {words} --size 2g --runtime 60s --json");
            let runtime = if device == "nvme-ssd" { "1s" } else { "60s" };
            let truth = on(&database, &run.replace("60s", runtime)).expect(0).trial().iops();
            assert!(used.iops.includes(truth), "{device} {rw} {words}: {truth} {:?}", used.iops);
        }
    }
}

/// A plain check measures queue depths only. The truth is the printed run with random arrivals.
#[test]
fn open_loads_of_a_plain_check_lie_within_the_interval_and_near_the_point() {
    // First one of each class: a capped volume, a queue, a flash drive, a disk.
    let cases = [
        ("cloud", "--rate-iops 2000 --rwmixread 70% --bs 8k", 0.1),
        ("md1,service=1ms", "--rate-iops 600", 0.1),
        ("sata-ssd", "--rate-iops 57000", 0.1),
        ("sata-ssd", "--rate-iops 5000 --bs 16k --sequential 30% --rwmixread 80%", 0.35),
        ("atlas10k", "--rate-iops 115", 0.35),
        ("capped", "--rate-iops 1800", 0.1),
        ("nvme-ssd", "--rate-iops 250000", 0.1),
    ];
    for (device, load, near) in cases.into_iter().take(testkit::draws(5, 7)) {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("h.db");
        profiled_into(&database, &format!("sim:{device}"));
        let document = predicted(&folder, load);
        let used =
            document.predictions.iter().find(|one| Some(one.model) == document.advised).unwrap();
        let trial = measured(&database, load);
        assert_eq!(model::mix_of(&trial.workload), Some(document.mix.clone()), "{load}");
        let (truth, found) = (trial.latency_ns().unwrap(), &used.latency_ns);
        println!("{device} {load}: {truth} in {found:?}");
        // The mean of that run itself has an error of 1 %.
        let (least, most) = (found.low / 1.01, found.high * 1.01);
        assert!((least..=most).contains(&truth), "{device} {load}: {truth} {found:?}");
        assert!((found.value / truth - 1.0).abs() < near, "{device} {load}: {truth} {found:?}");
    }
}

/// The trial of the command that a prediction prints.
fn measured(database: &Path, load: &str) -> Trial {
    let page = on(database, &format!("predict last {load}")).expect(0).stdout;
    let words: Vec<&str> = page.split_whitespace().collect();
    let page = words.join(" ");
    let command = page.split("`halfpower ").nth(1).unwrap().split('`').next().unwrap();
    halfpower(&format!("{command} --json --no-save")).expect(0).trial()
}

/// Whether two mixes differ by rounding alone.
fn alike(one: &Mix, other: &Mix) -> bool {
    let what = |class: &MixClass| (class.op, class.locality, class.bytes);
    let mut pairs = one.classes.iter().zip(&other.classes);
    one.classes.len() == other.classes.len()
        && pairs.all(|(a, b)| what(a) == what(b) && (a.share - b.share).abs() < 1e-9)
}

#[test]
fn the_printed_run_is_the_load_that_was_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("h.db");
    profiled_into(&database, "sim:mmc,service=4ms --budget 20s");
    for load in [
        "--rate-iops 300 --bs 4k/60:64k/40 --rwmixread 35%",
        "--iodepth 3 --bs 8k --sequential 100%",
        "--rate-iops 200 --arrival constant --rwmixread 0% --sequential 45%",
        "--iodepth 2 --hit 100%",
    ] {
        let (document, trial) = (predicted(&folder, load), measured(&database, load));
        let mix = model::mix_of(&trial.workload).unwrap();
        assert!(alike(&mix, &document.mix), "{load}: {mix:?} {:?}", document.mix);
        assert_eq!(Some(trial.workload.size_bytes.0), document.area_bytes, "{load}");
        match document.offered.unwrap() {
            Offered::Depth(depth) => assert_eq!(f64::from(trial.workload.depth), depth),
            Offered::PoissonPerS(rate) | Offered::ConstantPerS(rate) => {
                assert_eq!(trial.workload.rate_iops, Some(rate as u64), "{load}");
            }
        }
    }
    let page = on(&database, "predict last --rate-iops 100 --hit 40%").expect(0).stdout;
    assert!(page.contains("in place of the 40 %"), "{page}");
}

#[test]
fn a_load_within_the_error_of_the_maximum_has_no_latency_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("h.db");
    profiled_into(&database, "sim:cloud");
    // The maximum has the interval that the page of the check prints.
    let page = on(&database, "show last").expect(0).stdout;
    let max = page.lines().find(|line| line.contains("max 4 KiB random IOPS")).unwrap();
    let max = max.split("IOPS  ").nth(1).unwrap().split(" at QD").next().unwrap();
    let maximum = format!("(maximum: {max})");
    let words = ["no steady latency", &maximum, "at least"];
    on(&database, "predict last --rate-iops 2990").refuses(4, &words);
    let found = on(&database, "predict last --rate-iops 1000").expect(0).stdout;
    assert!(found.contains(max), "{max} is not in {found}");
    // A rate that meets a target has a latency, and it meets the target.
    for (target, most_ns) in [("mean=1ms", 1e6), ("mean=10ms", 1e7), ("mean=1s", 1e9)] {
        let slo = predicted(&folder, &format!("--slo {target}")).objectives.remove(0);
        let rate = slo.at.unwrap().iops.value;
        let found = predicted(&folder, &format!("--rate-iops {rate}"));
        let used = found.predictions.iter().find(|one| Some(one.model) == found.advised).unwrap();
        assert!(used.latency_ns.value <= most_ns * 1.000_001, "{target}: {used:?}");
    }
}

#[test]
fn a_profile_without_writes_answers_for_a_load_with_hardly_any_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("h.db");
    profiled_into(&database, "sim:md1,service=1ms --no-write --budget 20s");
    let reads = predicted(&folder, "--rate-iops 300");
    let nearly = predicted(&folder, "--rate-iops 300 --rwmixread 99%");
    let latency = |document: &PredictionDocument| document.predictions[0].latency_ns.value;
    assert!((latency(&nearly) / latency(&reads) - 1.0).abs() < 1e-6, "{nearly:?}");
    let said = &nearly.predictions[0].extrapolated;
    let clause = "1.00 % are writes, which were not measured; reads are used instead";
    assert!(said.iter().any(|one| one == clause), "{said:?}");
    on(&database, "predict last --rate-iops 300 --rwmixread 50%").refuses(2, &["random writes"]);
}

#[test]
fn a_data_sheet_gives_the_textbook_and_says_that_nothing_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("drive.toml");
    let text = "name = 'server disk'\nseek = '5ms'\nrpm = 10000\ntransfer = '43MB/s'\n";
    std::fs::write(&file, text).unwrap();
    let words = format!("predict --spec {} --rate-iops 60 --bs 4k", file.display());
    let page = halfpower(&words).expect(0).stdout;
    assert!(page.contains("UNMEASURED") && page.contains("8.10 ms"), "{page}");
    let document = halfpower(&format!("{words} --json")).expect(0).stdout;
    check_schema("prediction-1", &document);
    std::fs::write(&file, "name = 'x'\ntransfer = 'fast'\n").unwrap();
    halfpower(&words).refuses(2, &["transfer"]);
}
