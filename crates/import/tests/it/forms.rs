//! Each format as documented: the figures read, their units, and missing figures.

use import::{Format, ImportError, Options, detect, read as imported};
use record::{Figure, Finding, FindingCode, Interval, Observation, Quality};
use std::path::Path;

/// The content of a sample.
pub(crate) fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The observation of these samples, detected as this format.
#[track_caller]
fn observation(format: Format, names: &[&str], options: &Options) -> Observation {
    let samples: Vec<Vec<u8>> = names.iter().map(|name| sample(name)).collect();
    for bytes in &samples {
        assert_eq!(detect(bytes), Ok(format));
    }
    let bytes: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
    let mut observations = imported(&bytes, None, options).unwrap();
    assert_eq!(observations.len(), 1);
    observations.remove(0)
}

fn plain(format: Format, name: &str) -> Observation {
    observation(format, &[name], &Options::default())
}

fn of<'a>(observation: &'a Observation, device: &str) -> Vec<&'a Interval> {
    observation.intervals.iter().filter(|it| it.device == device).collect()
}

fn found(observation: &Observation, code: FindingCode) -> Option<&Finding> {
    observation.findings.iter().find(|finding| finding.code == code)
}

fn lost(observation: &Observation) -> Vec<&str> {
    let missing = |it: &&Finding| it.code == FindingCode::FiguresMissing;
    observation.findings.iter().filter(missing).map(|it| it.claim.as_str()).collect()
}

#[track_caller]
fn close(figure: Option<Figure>, value: f64) {
    let figure = figure.unwrap();
    let slack = figure.resolution.max(1e-9 * value);
    assert!((figure.value - value).abs() <= slack, "{figure:?} is not {value}");
}

/// 2020-06-01 12:00:01 UTC.
const MOMENT_NS: u64 = 1_591_012_801_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn iostat_gives_both_directions_and_drops_the_report_since_boot() {
    let read = plain(Format::Iostat, "iostat.json");
    assert_eq!((read.source.as_str(), read.host.as_deref()), ("iostat -o JSON", Some("oak")));
    let left_out = found(&read, FindingCode::IntervalsLeftOut).unwrap();
    assert_eq!(left_out.evidence[0].value, 1.0, "{left_out:?}");
    assert!(!left_out.claim.contains("do not show whether"), "{left_out:?}");
    let disk = of(&read, "sda");
    assert_eq!(disk.len(), 5);
    assert_eq!((disk[0].begin_ns, disk[0].duration_ns), (MOMENT_NS, SECOND_NS));
    close(disk[0].read.per_s, 180.0);
    close(disk[0].read.bytes_per_s, 180.0 * 16.0 * 1024.0);
    close(disk[0].read.latency_ns, 4.2e6);
    assert_eq!(disk[0].read.latency_ns.unwrap().resolution, 1e4);
    close(disk[0].write.request_bytes, 32.0 * 1024.0);
    close(disk[0].all.latency_ns, (180.0 * 4.2e6 + 20.0 * 6.1e6) / 200.0);
    assert_eq!(disk[0].all.latency_ns.unwrap().quality, Quality::Derived);
    close(disk[0].busy_share, 0.612);
    close(disk[0].concurrency, 0.88);
    close(disk[0].flushes_per_s, 2.0);
    close(disk[0].flush_latency_ns, 1.5e6);
    assert_eq!(disk[2].flush_latency_ns, None);
    // A disk without requests has no mean latency; iostat prints 0.
    assert_eq!(disk[2].all.latency_ns, None);
    assert_eq!(disk[2].busy_share.unwrap().value, 0.0);
    let context = &read.contexts[3];
    assert_eq!(context.steal_share, Some(0.025));
    assert!((context.idle_share.unwrap() - 0.80).abs() < 1e-9);
    assert_eq!(read.devices.len(), 2);
    assert!(read.devices[0].busy_doubt.as_ref().unwrap().contains("4.19"));
}

#[test]
fn iostat_in_megabytes_with_a_zone_and_without_averages_since_boot_is_all_used() {
    let read = plain(Format::Iostat, "iostat-iso-megabytes.json");
    assert_eq!(found(&read, FindingCode::IntervalsLeftOut), None);
    let disk = of(&read, "nvme0n1");
    assert_eq!(disk.len(), 5);
    close(disk[0].read.bytes_per_s, 4.7 * 1_048_576.0);
    assert_eq!(disk[0].begin_ns, MOMENT_NS - 7_200 * SECOND_NS);
    assert_eq!(found(&read, FindingCode::TimesAssumed), None);
    assert_eq!(read.devices[0].busy_doubt, None);
    // 0.08 ms in steps of 0.01 ms.
    assert!(found(&read, FindingCode::FiguresCoarse).is_some());
}

#[test]
fn the_short_form_of_iostat_has_one_figure_for_all_and_says_what_is_lost() {
    let options = Options { utc_offset_s: Some(7_200), ..Options::default() };
    let read = observation(Format::Iostat, &["iostat-short.json"], &options);
    let disk = of(&read, "sda");
    assert_eq!(disk.len(), 5);
    close(disk[0].all.per_s, 200.0);
    close(disk[0].all.latency_ns, 5.1e6);
    assert_eq!((disk[0].read.per_s, disk[0].write.per_s), (None, None));
    // 13.06.2020, day first, two hours ahead of UTC.
    assert_eq!(disk[0].begin_ns, MOMENT_NS + (12 * 86_400 - 7_200) * SECOND_NS);
    assert!(found(&read, FindingCode::FiguresMixed).is_some());
    assert!(
        lost(&read).iter().any(|claim| claim.contains("not available: the mix")),
        "{:?}",
        lost(&read)
    );
}

#[test]
fn iostat_without_times_has_a_length_that_is_given_or_implied_and_reported() {
    let name = "iostat-basic-no-times.json";
    let read = plain(Format::Iostat, name);
    let assumed = found(&read, FindingCode::TimesAssumed).unwrap();
    assert!(
        assumed.claim.contains("intervals are assumed to be 1 s long, because all rates"),
        "{assumed:?}"
    );
    assert!(assumed.remedy.contains("--interval"), "{assumed:?}");
    let options = Options { interval_ns: Some(SECOND_NS), ..Options::default() };
    let read = observation(Format::Iostat, &[name], &options);
    assert_eq!(of(&read, "sda").len(), 5);
    close(of(&read, "sda")[0].read.bytes_per_s, 200.0 * 12.0 * 1024.0);
    let lost = lost(&read);
    for word in ["slow and overloaded", "utilization law", "depth curve"] {
        assert!(lost.iter().any(|claim| claim.contains(word)), "{word}: {lost:?}");
    }
    let assumed = found(&read, FindingCode::TimesAssumed).unwrap();
    assert!(assumed.claim.contains("the length that --interval gives"), "{assumed:?}");
}

#[test]
fn sadf_as_json_has_lengths_and_context_but_no_directions() {
    let read = plain(Format::SadfJson, "sadf.json");
    let disk = of(&read, "sda");
    assert_eq!((disk.len(), disk[0].duration_ns), (3, 60 * SECOND_NS));
    // 2019-04-18 13:20:39 UTC is the end of the first.
    assert_eq!(disk[0].begin_ns, (1_555_593_639 - 60) * SECOND_NS);
    close(disk[0].all.per_s, 1_604.7);
    close(disk[0].all.bytes_per_s, (41_499.97 + 10_663.48) * 1_024.0);
    close(disk[0].all.latency_ns, 12e6);
    close(disk[0].busy_share, 0.8536);
    assert_eq!(disk[0].read.per_s, None);
    assert_eq!(read.contexts[0].memory_available_bytes, Some(1_500_000 * 1_024));
    assert_eq!(read.contexts[0].steal_share, Some(0.001));
    assert_eq!(found(&read, FindingCode::FiguresMixed).unwrap().evidence[0].value, 1.0);
    assert!(lost(&read).iter().any(|claim| claim.contains("the mix")), "{:?}", lost(&read));
    let left_out = found(&read, FindingCode::IntervalsLeftOut).unwrap();
    assert!(left_out.claim.contains("1 restart"), "{left_out:?}");
}

#[test]
fn sadf_as_lines_survives_restarts_other_activities_and_old_columns() {
    let read = plain(Format::SadfLines, "sadf.csv");
    assert_eq!(read.host.as_deref(), Some("birch"));
    let disk = of(&read, "sda");
    assert_eq!(disk.len(), 4);
    close(disk[0].all.per_s, 1_604.7);
    close(disk[3].all.bytes_per_s, 160.0 * 512.0);
    close(disk[3].all.request_bytes, 16.0 * 512.0);
    assert_eq!(found(&read, FindingCode::SourceDamaged), None);
    assert!(found(&read, FindingCode::IntervalsLeftOut).unwrap().claim.contains("1 restart"));
    let across = plain(Format::SadfLines, "sadf-across.csv");
    assert_eq!((of(&across, "sda").len(), of(&across, "sdb").len()), (3, 3));
    close(of(&across, "sda")[0].all.per_s, 100.0);
}

#[test]
fn scrapes_give_the_intervals_between_them_and_none_over_a_restart() {
    let read = plain(Format::NodeExporter, "node-exporter.prom");
    let disk = of(&read, "sda");
    assert_eq!(disk.len(), 3);
    close(disk[0].read.per_s, 200.0);
    close(disk[0].read.bytes_per_s, 200.0 * 8_192.0);
    close(disk[0].read.latency_ns, 4e6);
    close(disk[0].write.latency_ns, 1e7);
    close(disk[0].busy_share, 0.8);
    close(disk[0].concurrency, (3_000.0 * 0.004 + 300.0 * 0.01) / 15.0);
    assert_eq!(disk[0].in_flight.unwrap().value, 3.0);
    assert_eq!(disk[1].read.latency_ns, None);
    let reset = found(&read, FindingCode::CountersReset).unwrap();
    assert_eq!(reset.evidence[0].value, 1.0);
    let facts = read.devices.iter().find(|it| it.name == "sda").unwrap().facts.clone().unwrap();
    assert_eq!(facts.model.as_deref(), Some("WDC \"Red\" 4TB"));
    assert_eq!((facts.rotational, facts.major_minor.as_str()), (Some(true), "8:0"));
    let context = &read.contexts[0];
    assert!((context.io_some_share.unwrap() - 0.4).abs() < 1e-9);
    assert!((context.idle_share.unwrap() - 0.9).abs() < 1e-9);
    assert_eq!(context.memory_available_bytes, Some(1_200_000_000));
    assert!(!lost(&read).iter().any(|claim| claim.contains("capped")), "{:?}", lost(&read));
}

#[test]
fn scrapes_without_a_clock_take_times_from_comments_or_from_the_user() {
    let name = "node-exporter-comments.prom";
    let read = plain(Format::NodeExporter, name);
    assert_eq!(of(&read, "sda").len(), 2);
    assert_eq!(of(&read, "sda")[0].begin_ns, 1_700_000_000 * SECOND_NS);
    close(of(&read, "sda")[0].read.per_s, 100.0);
    let text = String::from_utf8(sample(name)).unwrap().replace("# scraped", "# HELP scraped");
    let scrapes: Vec<&str> = text.split_inclusive("time 1").collect();
    assert_eq!(scrapes.len(), 1);
    let without = imported(&[text.as_bytes()], None, &Options::default()).unwrap_err();
    assert!(without.to_string().contains("--timestamp"), "{without}");
    let times = [100, 110, 130].map(|seconds: u64| seconds * SECOND_NS + MOMENT_NS).to_vec();
    let options = Options { scrape_times_ns: times, ..Options::default() };
    let read = imported(&[text.as_bytes()], None, &options).unwrap().remove(0);
    close(of(&read, "sda")[1].read.per_s, 50.0);
    let scrapes = String::from_utf8(sample("node-exporter.prom")).unwrap();
    let second = scrapes.match_indices("# HELP node_disk_reads_completed_total").nth(1).unwrap().0;
    let one = imported(&[&scrapes.as_bytes()[..second]], None, &Options::default());
    assert!(one.unwrap_err().to_string().contains("one scrape"));
}

#[test]
fn answers_of_a_server_give_the_intervals_between_scrapes_not_between_steps() {
    let names = ["prometheus-counters.json", "prometheus-times.json"];
    let read = observation(Format::Prometheus, &names, &Options::default());
    assert_eq!(read.host.as_deref(), Some("ash:9100"));
    let disk = of(&read, "sda");
    // Steps of 10 s over scrapes of 15 s.
    assert_eq!(disk.len(), 8);
    assert!(disk.iter().all(|it| it.duration_ns == 15 * SECOND_NS));
    assert!(disk.iter().all(|it| it.read.per_s.unwrap().value == 20.0), "{disk:?}");
    close(disk[0].read.latency_ns, 4e6);
    // Without the times of the scrapes, the steps are used, with a finding.
    let blind = observation(Format::Prometheus, &names[..1], &Options::default());
    assert!(found(&blind, FindingCode::TimesAssumed).unwrap().claim.contains("steps"));
    assert!(of(&blind, "sda").iter().any(|it| it.read.per_s.unwrap().value != 20.0));
}

#[test]
fn a_server_with_several_machines_or_with_an_error_says_so() {
    let text = String::from_utf8(sample("prometheus-counters.json")).unwrap();
    let other = text.replace("ash:9100", "elm:9100");
    let both = [text.as_bytes(), other.as_bytes()];
    let error = imported(&both, None, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("ash:9100, elm:9100"), "{error}");
    let options = Options { instance: Some("elm:9100".into()), ..Options::default() };
    let read = imported(&both, None, &options).unwrap();
    assert_eq!(read[0].host.as_deref(), Some("elm:9100"));
    let refused = br#"{"status":"error","errorType":"bad_data","error":"too many points"}"#;
    let error = imported(&[refused], None, &Options::default()).unwrap_err();
    assert_eq!(error, ImportError::Server("too many points".into()));
}

/// The sample as typeperf writes it: carriage returns, and messages below the table.
fn typeperf() -> Vec<u8> {
    let text = String::from_utf8(sample("typeperf.csv")).unwrap();
    format!(
        "\r\n{}\r\nExiting, please wait...                         \r\n\
         The command completed successfully.\r\n\r\n",
        text.replace('\n', "\r\n")
    )
    .into_bytes()
}

#[test]
fn windows_counters_are_read_from_every_tool_and_encoding() {
    let relog = sample("relog-utf16.csv");
    let german = sample("typeperf-german.csv");
    let mut first: Option<Vec<Interval>> = None;
    for (bytes, offset_s, zone_assumed) in
        [(typeperf(), 0, true), (relog, 420 * 60, false), (german, 0, true)]
    {
        assert_eq!(detect(&bytes), Ok(Format::Perfmon));
        let read = imported(&[&bytes], None, &Options::default()).unwrap().remove(0);
        assert_eq!(read.host.as_deref(), Some("FIR"));
        assert_eq!(read.devices.len(), 1, "{:?}", read.devices);
        assert_eq!(found(&read, FindingCode::TimesAssumed).is_some(), zone_assumed);
        assert_eq!(found(&read, FindingCode::SourceDamaged), None);
        let disk: Vec<Interval> = of(&read, "0 C:").into_iter().cloned().collect();
        assert_eq!(disk.len(), 3);
        // 2026-10-10 04:23:00.
        assert_eq!(disk[0].begin_ns, (1_791_606_180 + offset_s) * SECOND_NS);
        let of_figures = |it: &Interval| Interval { begin_ns: 0, ..it.clone() };
        let figures: Vec<Interval> = disk.iter().map(of_figures).collect();
        assert_eq!(first.get_or_insert(figures.clone()), &figures);
        close(disk[0].read.latency_ns, 412_000.0);
        close(disk[0].busy_share, 0.017);
        close(disk[1].read.bytes_per_s, 2_457_600.0);
        close(disk[1].all.latency_ns, 5.5e6);
        close(disk[1].concurrency, 2.2);
        close(disk[1].in_flight, 9.0);
        close(disk[1].splits_per_s, 12.0);
        assert_eq!(disk[2].busy_share.unwrap().value, 0.0);
        assert_eq!(disk[2].all.latency_ns, None);
    }
}

#[test]
fn counters_in_a_language_that_is_not_known_are_refused_and_not_guessed() {
    let error = imported(&[&sample("typeperf-spanish.csv")], None, &Options::default());
    let text = error.unwrap_err().to_string();
    assert!(text.contains("Spanish") && text.contains("English"), "{text}");
    let other =
        b"\"(PDH-CSV 4.0)\",\"\\\\H\\Memory\\Pages/sec\",\"\\\\H\\Processor(0)\\% Idle Time\"\n";
    let text = imported(&[other], None, &Options::default()).unwrap_err().to_string();
    assert!(text.contains("LogicalDisk: Processor"), "{text}");
}

#[test]
fn volumes_are_a_layer_of_their_own_above_the_disks_that_name_them() {
    let bytes = sample("perfmon-layers.csv");
    let read = imported(&[&bytes], None, &Options::default()).unwrap().remove(0);
    assert_eq!(read.source, "Windows PhysicalDisk and LogicalDisk CSV");
    let device = |name: &str| read.devices.iter().find(|it| it.name == name).unwrap();
    assert_eq!(read.devices.len(), 6, "{:?}", read.devices);
    assert_eq!(device("C:").partition_of.as_deref(), Some("0 C:"));
    // Two disks name it: a volume that spans them.
    assert_eq!(device("D:").built_of, ["1 D:", "2 D:"]);
    assert_eq!(device("D:").partition_of, None);
    for alone in ["0 C:", "1 D:", "2 D:", "HarddiskVolume1"] {
        assert!(device(alone).partition_of.is_none() && device(alone).built_of.is_empty());
    }
    // The difference of the two layers shows how long a volume waits in addition to its disks.
    close(of(&read, "C:")[0].read.latency_ns, 2.5e6);
    close(of(&read, "0 C:")[0].read.latency_ns, 2e6);
    close(of(&read, "D:")[0].read.request_bytes, 131_072.0);
    close(of(&read, "1 D:")[0].read.request_bytes, 65_536.0);
}

#[test]
fn volumes_alone_are_read_and_stand_alone() {
    let text = String::from_utf8(sample("perfmon-layers.csv")).unwrap();
    // The object of disks under an unknown name.
    let text = text.replace("PhysicalDisk", "Other");
    let read = imported(&[text.as_bytes()], None, &Options::default()).unwrap().remove(0);
    assert_eq!(read.source, "Windows LogicalDisk CSV");
    assert_eq!(read.devices.len(), 3);
    let alone = |it: &record::ObservedDevice| it.partition_of.is_none() && it.built_of.is_empty();
    assert!(read.devices.iter().all(alone), "{:?}", read.devices);
}

#[test]
fn an_observation_of_ours_comes_back_as_it_was() {
    let read = plain(Format::Iostat, "iostat.json");
    let text = serde_json::to_string(&read).unwrap();
    assert_eq!(detect(text.as_bytes()), Ok(Format::Observation));
    let back = imported(&[text.as_bytes()], None, &Options::default()).unwrap().remove(0);
    assert_eq!((&back.devices, &back.findings), (&read.devices, &read.findings));
    assert_eq!(back.intervals.len(), read.intervals.len());
    assert_eq!(back.intervals[0], read.intervals[0]);
    let newer = text.replacen("observation/1", "observation/9", 1);
    let error = imported(&[newer.as_bytes()], None, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("observation/9"), "{error}");
}
