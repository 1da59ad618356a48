//! The components of a path, from measured and advertised rates.

use plan::limits::components::{Found, Peaks, components};
use plan::limits::pap::Stated;
use record::{
    BusTest, Bytes, CacheEvidence, CgroupLimit, ComponentKind, Estimate, Growth, HalfPower,
    LimitedIo, Measured, PathComponent, Target, TargetKind,
};

fn target() -> Target {
    Target {
        path: "sim:x".to_owned(),
        kind: TargetKind::Simulated,
        size_bytes: Bytes(1 << 30),
        device: None,
        filesystem: None,
        extents: None,
        file_hash: None,
        test_file: None,
    }
}

fn peaks(stated: &[&str]) -> Peaks {
    let not = || Measured::not("nobody says");
    Peaks {
        memory: not(),
        buses: Vec::new(),
        link: not(),
        network: not(),
        stated: stated.iter().map(|text| Stated::parse(text).unwrap()).collect(),
    }
}

fn bus_test(evidence: CacheEvidence, limit: Option<f64>) -> Measured<BusTest> {
    let rate = |value: f64| Estimate::symmetric(value, value * 0.01, 3);
    Measured::Value(BusTest {
        request_bytes: Bytes(65_536),
        depth: 2,
        area_bytes: Bytes(131_072),
        first_bytes_per_s: rate(10e6),
        medium_bytes_per_s: rate(19e6),
        points: [28e6, 55e6, 58.9e6]
            .into_iter()
            .zip(1..)
            .map(|(value, targets)| record::BusPoint { targets, again_bytes_per_s: rate(value) })
            .collect(),
        evidence,
        growth: Growth::Stopped,
        limit_bytes_per_s: limit.map_or_else(
            || Measured::not("nothing shows that a cache served them"),
            |limit| Measured::Value(rate(limit)),
        ),
    })
}

fn path(bus: &Measured<BusTest>, targets: u32, stated: &[&str]) -> Vec<PathComponent> {
    throttled_path(bus, targets, stated, &[])
}

fn throttled_path(
    bus: &Measured<BusTest>,
    targets: u32,
    stated: &[&str],
    throttles: &[CgroupLimit],
) -> Vec<PathComponent> {
    components(&Found {
        target: &target(),
        targets,
        memory: &Measured::not("simulated target"),
        bus,
        answers: &[],
        profile: None,
        throttles,
        peaks: &peaks(stated),
    })
}

fn of(path: &[PathComponent], kind: ComponentKind) -> &PathComponent {
    path.iter().find(|component| component.kind == kind).unwrap()
}

#[test]
fn a_bus_that_is_full_has_its_rate_and_a_link_a_lower_bound() {
    let bus = bus_test(CacheEvidence::Served, Some(58.9e6));
    let path = path(&bus, 3, &["bus=133MB/s", "link=66.6MB/s"]);
    let bus = of(&path, ComponentKind::Bus);
    assert_eq!(bus.rap_bytes_per_s.value().unwrap().value, 58.9e6);
    assert!(!bus.rap_is_lower_bound);
    // 44 %: the first 3ware card is below half of its PCI bus.
    assert_eq!(bus.half_power, HalfPower::Missed);
    let link = of(&path, ComponentKind::Link);
    assert_eq!(link.rap_bytes_per_s.value().unwrap().value, 28e6);
    assert!(link.rap_is_lower_bound);
    assert_eq!(link.half_power, HalfPower::CannotTell);
}

#[test]
fn without_a_cache_that_served_nothing_is_claimed_of_bus_and_link() {
    let bus = bus_test(CacheEvidence::NotServed, None);
    let path = path(&bus, 3, &[]);
    for kind in [ComponentKind::Bus, ComponentKind::Link] {
        let reason = of(&path, kind).rap_bytes_per_s.reason().unwrap();
        assert!(reason.contains("nothing shows"), "{kind:?}: {reason}");
    }
}

#[test]
fn a_single_disk_without_links_above_it_has_no_bus_row() {
    let bus = bus_test(CacheEvidence::NotServed, None);
    let path = path(&bus, 1, &[]);
    assert!(path.iter().all(|component| component.kind != ComponentKind::Bus));
    let kinds: Vec<ComponentKind> = path.iter().map(|component| component.kind).collect();
    let mut sorted = kinds.clone();
    sorted.sort_unstable();
    assert_eq!(kinds, sorted, "the path goes from the processor to the medium");
}

#[test]
fn what_is_simulated_says_so_instead_of_a_rate() {
    let path = path(&Measured::not("no trial"), 1, &[]);
    let memory = of(&path, ComponentKind::Memory);
    assert_eq!(memory.rap_bytes_per_s.reason(), Some("simulated target"));
    assert_eq!(of(&path, ComponentKind::Link).rap_bytes_per_s.reason(), Some("no trial"));
}

#[test]
fn a_limit_of_a_control_group_is_on_the_path() {
    let limit = CgroupLimit {
        group: "/slow".to_owned(),
        limited: LimitedIo::Rbps,
        major_minor: "8:0".to_owned(),
        limit_per_s: 1_000_000,
    };
    let path = throttled_path(&Measured::not("no trial"), 1, &[], &[limit]);
    let row = of(&path, ComponentKind::Throttle);
    assert_eq!(row.rap_bytes_per_s.value().unwrap().value, 1e6);
}
