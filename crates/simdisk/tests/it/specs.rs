//! Tests `sim:NAME,key=value`: names, keys, defaults, errors, and the tables of parts.

use record::Nanos;
use simdisk::{FAMILIES, FlashSpec, Part, QueueSpec, SimKind, SimSpec, parts};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn a_wrong_name_suggests_the_nearest_and_a_wrong_value_says_why() {
    let text = |spec: &str| SimSpec::parse(spec).unwrap_err().to_string();
    assert!(text("mm2").contains("did you mean 'mm1'"));
    for (kind, drive) in [("hdd", "atlas10k"), ("ssd", "sata-ssd"), ("nvme", "nvme-ssd")] {
        assert!(text(kind).contains(&format!("did you mean '{drive}'")), "{}", text(kind));
    }
    assert!(text("mm1,servise=1ms").contains("did you mean 'service'"));
    assert!(text("nothing-like-it").contains("use one of mm1"));
    assert!(text("mm1,service").contains("key=value"));
    assert!(text("mm1,service=0ms").contains("at least 1us"));
    assert!(text("mm1,error=2").contains("from 0 to 1"));
}

#[test]
fn no_name_is_given_twice_and_no_key_of_a_family() {
    let mut names = BTreeSet::new();
    for family in FAMILIES {
        for kind in family.kinds {
            assert!(names.insert(kind.name), "{} twice", kind.name);
        }
        let keys: BTreeSet<&str> = family.keys().iter().map(|key| key.name).collect();
        assert_eq!(keys.len(), family.keys().len(), "{}", family.title);
    }
}

#[test]
fn every_name_is_understood_and_every_key_of_its_family_with_the_default_that_is_listed() {
    for family in FAMILIES {
        for kind in family.kinds {
            let plain = SimSpec::parse(kind.name).unwrap();
            assert!(plain.size().0 > 0, "{}", kind.name);
            for key in family.keys().iter().filter(|key| key.default != "by kind") {
                let text = format!("{},{}={}", kind.name, key.name, key.default);
                let spelled = SimSpec::parse(&text).unwrap();
                let changed = family.changes(kind).iter().any(|(name, _)| *name == key.name);
                assert!(changed || spelled.kind == plain.kind, "{text} is not the default");
            }
        }
    }
}

fn queue(text: &str) -> QueueSpec {
    match SimSpec::parse(text).expect("a device that there is").kind {
        SimKind::Queue(spec) => spec,
        other => panic!("{text} is {other:?}"),
    }
}

#[test]
fn keys_set_what_they_name() {
    let spec = queue("mmc,servers=4,service=100us,rate=200MB/s,drift=20%");
    assert_eq!((spec.servers, spec.service), (4, Nanos(100_000)));
    assert_eq!(spec.rate_bytes_per_s, 200_000_000);
    assert_eq!((spec.drift_per_min, spec.cv), (0.2, 1.0));
}

#[test]
fn a_name_changes_defaults_that_a_key_changes_again() {
    assert_eq!((queue("capped").iops, queue("capped").burst), (3_000, 8));
    assert_eq!(queue("capped,iops=500,throughput=125MB/s").iops, 500);
    assert_eq!(queue("capped,iops=none").iops, 0);
    assert_eq!(queue("jittery").stall, Nanos(20_000_000));
    assert_eq!(queue("jittery,stall=none").stall, Nanos(0));
    assert_eq!((queue("faulty").error, queue("drifting").drift_per_min), (1e-4, 0.2));
}

#[test]
fn a_value_that_cannot_be_used_is_refused_with_the_key_and_what_can_be() {
    for (text, words) in [
        (
            "mg1,cv=0.05",
            "cv=0.05 cannot be used with this simulated device: use 0, or a number from 0.1",
        ),
        ("mg1,cv=nan", "from 0.1 to 10"),
        (
            "mm1,servers=0",
            "servers=0 cannot be used with this simulated device: use a whole number from 1",
        ),
        ("mm1,drift=2000%", "use a percentage from -1000% to 1000%"),
        ("sata-ssd,read=10ns", "use at least 100ns"),
        ("sata-ssd,plp=yes", "use on or off"),
        ("sata-ssd,op=0.5%", "use a percentage from 1% to 300%"),
        ("sata-ssd,reads=last", "use queued, first or suspend"),
        ("atlas10k,raid=6", "use none, 0, 1 or 5"),
        ("atlas10k,raidat=disk", "use host, adapter or array"),
        ("atlas10k,mirror=odd", "use twinstor or plain"),
        ("atlas10k,fs=ext4", "use none, nt4, nt4sp3, nt4sp6 or w2k"),
        ("atlas10k,net=token-ring", "use gigabit or none"),
        ("atlas10k,adapter=x", "use none, "),
        ("atlas10k,failed=4096", "from 0 to 4095"),
    ] {
        let error = SimSpec::parse(text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

fn parts_by_kind() -> BTreeMap<&'static str, Vec<Part>> {
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for part in parts() {
        kinds.entry(part.kind).or_default().push(part);
    }
    kinds
}

#[test]
fn parts_of_a_kind_have_the_same_rows_each_once_and_each_with_a_source() {
    let rows = |part: &Part| -> BTreeSet<&str> {
        part.parameters.iter().map(|parameter| parameter.name).collect()
    };
    for (_, list) in parts_by_kind() {
        for part in &list {
            assert_eq!(rows(part), rows(&list[0]), "{}", part.name);
            assert_eq!(rows(part).len(), part.parameters.len(), "{}", part.name);
            assert!(part.parameters.iter().all(|row| row.source.len() > 12));
        }
    }
}

#[test]
fn every_adapter_and_host_of_the_tables_can_be_built_and_every_drive_has_its_bus() {
    let kinds = parts_by_kind();
    for (key, kind) in [("adapter", "adapter"), ("host", "host")] {
        for part in &kinds[kind] {
            SimSpec::parse(&format!("atlas10k,{key}={}", part.name)).unwrap();
        }
    }
    for part in &kinds["drive"] {
        let SimKind::Machine(spec) = SimSpec::parse(part.name).unwrap().kind else { panic!() };
        assert!(spec.drive.rpm > 0, "{}", part.name);
        assert!(spec.bus.in_bytes_per_s > 0 && spec.host.processors > 0, "{}", part.name);
    }
}

#[test]
fn the_rows_of_a_flash_drive_are_its_parameters_all_of_them() {
    let family = FAMILIES.iter().find(|family| family.title == "Flash drives").unwrap();
    for part in &parts_by_kind()["flash drive"] {
        let names: Vec<&str> = part.parameters.iter().map(|row| row.name).collect();
        assert_eq!(names, family.keys().iter().map(|key| key.name).collect::<Vec<_>>());
        // Every key is set, so that no value of the other device remains.
        let mut text = "sata-ssd".to_owned();
        for row in &part.parameters {
            let value = match row.unit {
                "" | "B" | "B/s" | "ns" | "%" => format!("{}{}", row.value, row.unit),
                "switch" => (if row.value == 1 { "on" } else { "off" }).to_owned(),
                word => word.to_owned(),
            };
            text.push_str(&format!(",{}={value}", row.name));
        }
        let flash = |text: &str| -> FlashSpec {
            match SimSpec::parse(text).unwrap().kind {
                SimKind::Flash(spec) => *spec,
                other => panic!("{text} is {other:?}"),
            }
        };
        assert_eq!(flash(&text), flash(part.name), "{}", part.name);
    }
}

#[test]
fn every_name_of_a_machine_stands_for_parts_that_there_are() {
    let family = FAMILIES.iter().find(|family| family.title.starts_with("Machines")).unwrap();
    for kind in family.kinds {
        let SimKind::Machine(spec) = SimSpec::parse(kind.name).unwrap().kind else { panic!() };
        assert!(spec.drive.capacity_bytes > 0 && spec.bus.most_drives > 0, "{}", kind.name);
        assert!(spec.adapter.channels > 0 && spec.host.memory_bytes > 0, "{}", kind.name);
    }
}

#[test]
fn drives_that_do_not_fit_on_a_bus_need_more_of_them() {
    let SimKind::Machine(spec) = SimSpec::parse("st15150w,disks=16").unwrap().kind else {
        panic!()
    };
    assert_eq!(spec.bus_count(), 2);
    let error = SimSpec::parse("st15150w,disks=16,buses=1").unwrap_err().to_string();
    assert!(error.contains("buses=2"), "{error}");
}
