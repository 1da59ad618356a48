//! A fleet in a real Prometheus server: the program finds there what was planted.

use crate::program::{halfpower, program, run};
use fleet::{Fleet, Rules, Tally, Traffic};
use record::{DeviceFacts, FleetDiagnosis, Profile};
use scenarios::{FleetPlan, FleetReadings, fleet_place, score_fleet, write_fleet};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use store::Store;
use testkit::{Service, requires};

/// 2023-11-15, a whole day: long ago, so that nothing depends on the clock.
const BEGIN_S: u64 = 1_700_006_400;

/// A server that keeps a simulated fleet.
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

/// Puts scrapes into the data of a server that has not been started yet.
fn take_in(folder: &Path, text: &[u8]) {
    let file = folder.join("fleet.txt");
    std::fs::write(&file, text).unwrap();
    let mut promtool = Command::new("promtool");
    promtool.args(["tsdb", "create-blocks-from", "openmetrics"]);
    let made = promtool.arg(&file).arg(folder.join("data")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// What the same counters say without a server between.
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

/// A profile of a disk that serves in a millisecond what those of the fleet take six for.
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
    // The new one stands there from the fifth window on.
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
        // As often as a server looks back, whose memory of a sample ends after five minutes.
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
    // Nothing of what its predecessor did is its own.
    assert!(own.begin_s >= BEGIN_S + 4 * plan.window_s && own.end_s <= end_s, "{own:?}");
    let page = run(program(), &words.replace("--json ", "")).expect(0).stdout;
    assert!(page.contains("by the own profile, not by peers"), "{page}");
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
