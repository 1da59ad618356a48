//! A fleet in a real Prometheus server: the program must find the planted slowness.

use crate::documents::check_schema;
use crate::program::{halfpower, halfpower_in, program, run};
use crate::simulated_fleets::{FleetPlan, FleetReadings, fleet_place, score_fleet, write_fleet};
use model::fleet::{Fleet, Rules, Tally, Traffic};
use record::{
    DeviceFacts, Figure, FleetDiagnosis, Interval, OBSERVATION_SCHEMA, Observation, ObservedDevice,
    OpInterval, Profile, SharedDiagnosis,
};

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use store::Store;
use testkit::{Service, requires};
use workload::Rng;

/// 2023-11-15, a whole day in the past, so that nothing depends on the clock.
const BEGIN_S: u64 = 1_700_006_400;

/// A server with the data of a simulated fleet.
fn server(folder: &Path) -> Service {
    std::fs::write(folder.join("prometheus.yml"), "global:\n  scrape_interval: 1m\n").unwrap();
    let mut server = Command::new("prometheus");
    server
        .arg("--web.listen-address=127.0.0.1:0")
        .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
        .arg("--storage.tsdb.retention.time=100y")
        .current_dir(folder);
    Service::start(server, &folder.join("prometheus.log")).unwrap()
}

/// Adds scrapes to the data of a server that is not running yet.
fn take_in(folder: &Path, text: &[u8]) {
    let file = folder.join("fleet.txt");
    std::fs::write(&file, text).unwrap();
    let mut promtool = Command::new("promtool");
    promtool.args(["tsdb", "create-blocks-from", "openmetrics"]);
    let made = promtool.arg(&file).arg(folder.join("data")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// The diagnosis of the same counters without a server.
fn without_a_server(plan: &FleetPlan) -> FleetDiagnosis {
    let mut readings = FleetReadings::of(plan);
    let scrapes: Vec<Vec<(u64, [f64; 7])>> = (0..plan.devices)
        .map(|device| {
            (0..plan.windows).flat_map(|window| readings.window(device, window)).collect()
        })
        .collect();
    let labels = ["instance", "rack", "firmware"].map(str::to_owned);
    let peers = ["model".to_owned()];
    let mut fleet = Fleet::new(readings.labels().to_vec(), &peers, &labels, BEGIN_S, plan.window_s);
    for window in 0..plan.windows as u64 {
        let mut tallies: Vec<Tally> = scrapes
            .iter()
            .map(|scrapes| {
                let mut tally = Tally::default();
                for pair in scrapes.windows(2).filter(|pair| pair[1].0 / plan.window_s == window) {
                    tally.add(&Traffic::between(&pair[0].1, &pair[1].1).unwrap());
                }
                tally
            })
            .collect();
        fleet.close(&mut tallies).unwrap();
    }
    fleet.conclude(&Rules::default(), usize::MAX)
}

#[test]
fn a_fleet_in_a_prometheus_server_is_judged_as_the_same_counters_without_one() {
    requires!(Prometheus);
    let folder = tempfile::tempdir().unwrap();
    let plan = FleetPlan {
        windows: 8,
        interval_s: 60,
        host_devices: 4,
        rack_hosts: 4,
        prevalence: 0.025,
        slow_racks: 0,
        ..FleetPlan::week(320, 3)
    };
    let mut text = Vec::new();
    let truth = write_fleet(&plan, BEGIN_S, &mut text).unwrap();
    take_in(folder.path(), &text);
    let mut server = server(folder.path());
    let address = server.address().unwrap();
    let end_s = BEGIN_S + plan.windows as u64 * plan.window_s;
    let words = format!(
        "diagnose --json --all --prometheus http://{address} --peers model --query-range {BEGIN_S}..{end_s}"
    );
    let found: FleetDiagnosis =
        serde_json::from_str(&run(program(), &words).expect(0).stdout).unwrap();
    assert_eq!(found.devices as usize, plan.devices);
    let score = score_fleet(&found, &truth, &plan);
    assert!(score.found > 0, "{score:?} {:?}", truth.devices.iter().flatten().collect::<Vec<_>>());
    let direct = without_a_server(&plan);
    let named = |of: &FleetDiagnosis| -> BTreeMap<usize, f64> {
        let all = of.slow.iter();
        all.map(|one| (fleet_place(&one.labels, &plan).unwrap(), one.slow.ratio.value)).collect()
    };
    let (found, direct) = (named(&found), named(&direct));
    assert_eq!(found.keys().collect::<Vec<_>>(), direct.keys().collect::<Vec<_>>());
    for (place, ratio) in &found {
        assert!((ratio / direct[place] - 1.0).abs() < 1e-9, "{place}: {ratio} {}", direct[place]);
    }
    let page = run(program(), &words.replace("--json ", "")).expect(0).stdout;
    assert!(page.contains("Slow: ") && page.contains("against"), "{page}");
}

/// A profile of a disk with a service time of 1 ms; those of the fleet take six.
fn profile_of(serial: &str, database: &Path) -> Profile {
    let words = format!("check sim:mm1,service=1ms --budget 5s --db {}", database.display());
    run(program(), &words).expect(0);
    let mut store = Store::open_existing(database).unwrap();
    let mut profile: Profile = store.document("last").unwrap();
    profile.id = "own".to_owned();
    profile.target.device = Some(DeviceFacts {
        name: "sda".to_owned(),
        disk: "sda".to_owned(),
        model: Some("HDD-16T".to_owned()),
        serial: Some(serial.to_owned()),
        ..DeviceFacts::default()
    });
    store.add_document(&profile).unwrap();
    profile
}

#[test]
fn a_disk_that_was_replaced_is_two_and_one_with_a_profile_is_held_against_it() {
    requires!(Prometheus);
    let folder = tempfile::tempdir().unwrap();
    let plan = FleetPlan {
        windows: 8,
        interval_s: 60,
        prevalence: 0.0,
        slow_racks: 0,
        ..FleetPlan::week(36, 1)
    };
    let mut text = Vec::new();
    write_fleet(&plan, BEGIN_S, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let readings = FleetReadings::of(&plan);
    let disk = readings.labels().iter().find(|labels| labels["model"] == "HDD-16T").unwrap();
    let place = format!("instance=\"{}\",device=\"{}\"", disk["instance"], disk["device"]);
    // The new disk is there from the fifth window on.
    let mut infos = 0;
    let lines = text.lines().map(|line| {
        if !line.starts_with("node_disk_info{") || !line.contains(&place) {
            return format!("{line}\n");
        }
        let serial = if infos < 4 { "OLD" } else { "NEW" };
        infos += 1;
        let line = line.replace("model=", &format!("serial=\"{serial}\",model="));
        let (series, at_s) = line.rsplit_once(' ').unwrap();
        let at_s: u64 = at_s.parse().unwrap();
        // More often than the server's look-back time: a sample expires after five minutes.
        (0..plan.window_s).step_by(240).map(|s| format!("{series} {}\n", at_s + s)).collect()
    });
    let text: String = lines.collect();
    assert_eq!(infos, plan.windows);
    take_in(folder.path(), text.as_bytes());
    let database = folder.path().join("kept.db");
    let profile = profile_of("NEW", &database);
    let mut server = server(folder.path());
    let address = server.address().unwrap();
    let end_s = BEGIN_S + plan.windows as u64 * plan.window_s;
    let words = format!(
        "diagnose --json --all --prometheus http://{address} --peers model --query-range \
         {BEGIN_S}..{end_s} --db {}",
        database.display()
    );
    let found: FleetDiagnosis =
        serde_json::from_str(&run(program(), &words).expect(0).stdout).unwrap();
    assert_eq!(found.devices as usize, plan.devices + 1, "{found:?}");
    let [own] = found.by_profile.as_slice() else { panic!("{found:?}") };
    assert_eq!((own.labels["serial"].as_str(), &own.profile_id), ("NEW", &profile.id));
    assert!(own.verdict.is_slow() && !own.slow_by_peers, "{own:?}");
    // It is not judged by the past of its predecessor.
    assert!(own.begin_s >= BEGIN_S + 4 * plan.window_s && own.end_s <= end_s, "{own:?}");
    let page = run(program(), &words.replace("--json ", "")).expect(0).stdout;
    assert!(page.contains("by their own profiles, not by peers"), "{page}");
}

#[test]
fn what_cannot_be_a_fleet_is_refused_with_what_to_do() {
    for (words, code, said) in [
        ("diagnose --all", 2, ["required arguments"]),
        ("diagnose --prometheus http://127.0.0.1:1", 2, ["required arguments"]),
        ("diagnose --all --prometheus http://127.0.0.1:1", 4, ["127.0.0.1:1"]),
        (
            "diagnose --all --prometheus http://127.0.0.1:1 --query-range now-2h..now",
            2,
            ["three windows"],
        ),
    ] {
        halfpower(words).refuses(code, &said);
    }
}

/// Recordings of three hosts that share one disk. The last one sends bursts that delay all hosts, and its
/// clock is ahead.
fn of_one_disk(ahead_s: u64) -> Vec<Observation> {
    const SECOND: u64 = 1_000_000_000;
    let mut random = Rng::new(5);
    let mut bursts = Vec::new();
    while bursts.len() < 200 {
        let (length, loud) = (3 + random.below(7) as usize, bursts.len() % 2 == 1);
        bursts.extend(std::iter::repeat_n(loud, length));
    }
    let host = |host: u64| {
        let interval = |(at, loud): (usize, &bool)| {
            let per_s = if host == 2 && *loud { 600.0 } else { 100.0 + at as f64 % 7.0 };
            let latency_ns = if *loud { 6e6 } else { 1e6 };
            let op = OpInterval {
                per_s: Some(Figure::measured(per_s, 0.0)),
                bytes_per_s: Some(Figure::measured(per_s * 4096.0, 0.0)),
                request_bytes: Some(Figure::measured(4096.0, 0.0)),
                latency_ns: Some(Figure::measured(latency_ns + at as f64 % 5.0 * 1e4, 0.0)),
                ..OpInterval::default()
            };
            let ahead = if host == 2 { ahead_s } else { 0 };
            Interval {
                device: "sdb".to_owned(),
                begin_ns: (1_000 + at as u64 + ahead) * SECOND,
                duration_ns: SECOND,
                read: op,
                all: op,
                concurrency: Some(Figure::derived(per_s * latency_ns / 1e9, 0.0)),
                busy_share: Some(Figure::measured(0.5, 0.0)),
                ..Interval::default()
            }
        };
        Observation {
            schema: OBSERVATION_SCHEMA.to_owned(),
            id: format!("0{host}"),
            host: Some(format!("h{host}")),
            devices: vec![ObservedDevice { name: "sdb".to_owned(), ..Default::default() }],
            intervals: bursts.iter().enumerate().map(interval).collect(),
            ..Observation::default()
        }
    };
    (0..3).map(host).collect()
}

#[test]
fn recordings_of_hosts_of_one_disk_name_the_host_that_fills_it_and_its_clock() {
    let folder = tempfile::tempdir().unwrap();
    for (host, recording) in of_one_disk(40).iter().enumerate() {
        let text = serde_json::to_string(recording).unwrap();
        std::fs::write(folder.path().join(format!("{host}.json")), text).unwrap();
    }
    let words = "diagnose --shared 0.json 1.json 2.json --no-save";
    let ended = halfpower_in(folder.path(), &format!("{words} --json")).expect(0);
    check_schema("shared-1", &ended.stdout);
    let found: SharedDiagnosis = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found.filled_by.value().map(String::as_str), Some("h2"), "{:?}", found.filled_by);
    let ahead = found.hosts.iter().find(|it| it.host == "h2").unwrap().ahead_s.value().unwrap();
    assert!((ahead.value - 40.0).abs() <= 0.5, "{ahead:?}");
    let page = halfpower_in(folder.path(), words).expect(0).stdout;
    assert!(page.contains("h2") && page.lines().all(|line| line.chars().count() <= 80), "{page}");
    // A single host does not show other hosts.
    halfpower_in(folder.path(), "diagnose --shared 0.json --no-save").refuses(2, &["two"]);
    println!("{page}");
}
