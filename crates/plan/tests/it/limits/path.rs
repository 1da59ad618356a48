//! The bottleneck of a path, and how many disks it sustains.

use plan::limits::path::{binding, conclude, half_power, sizing};
use record::{Advertised, ComponentKind, Estimate, HalfPower, Measured, PathComponent};

fn component(kind: ComponentKind, pap: Option<f64>, rap: Option<(f64, f64)>) -> PathComponent {
    PathComponent {
        kind,
        name: kind.name().to_owned(),
        pap: pap.map_or_else(
            || Measured::not("nobody says"),
            |bytes_per_s| Measured::Value(Advertised { bytes_per_s, source: "a test".to_owned() }),
        ),
        rap_bytes_per_s: rap.map_or_else(
            || Measured::not("nothing showed it"),
            |(value, half)| Measured::Value(Estimate::symmetric(value, half, 5)),
        ),
        rap_is_lower_bound: false,
        rap_method: String::new(),
        others: Vec::new(),
        ratio: None,
        half_power: HalfPower::NotKnown,
        disks: None,
    }
}

/// Chung 2000, table 6 and the errors found in it: memory writes and Ultra160 writes do not reach
/// half, whatever the caption says.
#[test]
fn the_published_ratios_and_half_power_points_come_out() {
    for (pap, rap, percent, reached) in [
        (133.0, 98.5, 74.0, HalfPower::Reached),
        (1_600.0, 975.0, 61.0, HalfPower::Reached),
        (1_600.0, 550.0, 34.0, HalfPower::Missed),
        (160.0, 98.5, 62.0, HalfPower::Reached),
        (160.0, 50.0, 31.0, HalfPower::Missed),
        (32.0, 12.4, 39.0, HalfPower::Missed),
    ] {
        let (ratio, verdict) =
            half_power(Some(pap), Some(&Estimate::symmetric(rap, 0.0, 3)), false);
        assert!((ratio.unwrap() * 100.0 - percent).abs() < 0.5, "{pap} {rap}");
        assert_eq!(verdict, reached, "{pap} {rap}");
    }
}

#[test]
fn an_interval_around_half_and_a_lower_bound_below_it_decide_nothing() {
    let rap = Estimate::symmetric(50.0, 5.0, 3);
    assert_eq!(half_power(Some(100.0), Some(&rap), false).1, HalfPower::CannotTell);
    let low = Estimate::symmetric(20.0, 1.0, 3);
    assert_eq!(half_power(Some(100.0), Some(&low), true).1, HalfPower::CannotTell);
    assert_eq!(half_power(Some(100.0), Some(&low), false).1, HalfPower::Missed);
    assert_eq!(half_power(None, Some(&low), false), (None, HalfPower::NotKnown));
    assert_eq!(half_power(Some(100.0), None, false), (None, HalfPower::NotKnown));
}

/// Chung 2000: 98.5 MB/s and 25 MB/s a disk, "three to four disks". Riedel 1997: 9 MB/s a disk
/// on a bus of 31 and a PCI bus of 72: three disks a bus.
#[test]
fn the_published_numbers_of_disks_come_out() {
    let pci = sizing(98.5, 25.0, false).unwrap();
    assert_eq!((pci.carried, pci.saturating), (3, 4));
    let bus = sizing(31.0, 9.0, false).unwrap();
    assert_eq!((bus.carried, bus.saturating), (3, 4));
    assert_eq!(sizing(72.0, 9.0, false).unwrap().carried, 8);
    // Random requests of 8 KB, 100 per second: "64 to 100" and more.
    let random = sizing(98.5e6, 8_192.0 * 100.0, false).unwrap();
    assert_eq!(random.carried, 120);
    assert_eq!(sizing(1.0, 0.0, false), None);
}

#[test]
fn the_smallest_rate_binds_where_it_stands_apart() {
    let components = [
        component(ComponentKind::Memory, None, Some((1e10, 1e8))),
        component(ComponentKind::FileCache, None, Some((1e6, 1.0))),
        component(ComponentKind::Link, Some(6e8), Some((5.5e8, 1e6))),
        component(ComponentKind::Device, None, Some((2e8, 1e6))),
    ];
    let Measured::Value(binding) = binding(&components) else { panic!("nothing binds") };
    assert_eq!(binding.names, ["device"]);
    assert!(binding.alternatives.is_empty(), "{binding:?}");
    assert!(binding.because.contains("link 550 MB/s"), "{binding:?}");
    assert!(!binding.because.contains("file-cache"), "{binding:?}");
}

#[test]
fn rates_that_overlap_bind_together() {
    let components = [
        component(ComponentKind::Link, None, Some((2.05e8, 1e7))),
        component(ComponentKind::Device, None, Some((2e8, 1e7))),
    ];
    let Measured::Value(binding) = binding(&components) else { panic!("nothing binds") };
    assert_eq!(binding.names, ["link", "device"]);
}

#[test]
fn a_lower_bound_does_not_bind_and_is_a_rival_unless_it_lies_above() {
    let with = |rap| {
        let mut components = [
            component(ComponentKind::Link, None, Some((rap, 1e6))),
            component(ComponentKind::Device, None, Some((2e8, 1e6))),
        ];
        components[0].rap_is_lower_bound = true;
        match binding(&components) {
            Measured::Value(binding) => (binding.names, binding.alternatives.len()),
            Measured::NotMeasured { not_measured } => panic!("{not_measured}"),
        }
    };
    let device = || vec!["device".to_owned()];
    assert_eq!(with(1e8), (device(), 1));
    assert_eq!(with(4e8), (device(), 0));
}

#[test]
fn what_was_not_measured_is_a_rival_unless_its_peak_lies_far_above() {
    let with = |pap| {
        let components = [
            component(ComponentKind::Link, pap, None),
            component(ComponentKind::Device, None, Some((2e8, 1e6))),
        ];
        match binding(&components) {
            Measured::Value(binding) => binding.alternatives,
            Measured::NotMeasured { not_measured } => panic!("{not_measured}"),
        }
    };
    assert_eq!(with(None), ["link: nothing showed it"]);
    assert_eq!(with(Some(2.2e8)).len(), 1);
    assert_eq!(with(Some(6e8)), [""; 0]);
}

#[test]
fn nothing_binds_a_device_that_was_not_measured() {
    let components = [component(ComponentKind::Memory, None, Some((1e10, 1e8)))];
    assert!(binding(&components).reason().unwrap().contains("device was not measured"));
    assert!(binding(&[]).value().is_none());
}

#[test]
fn ratios_and_disks_are_filled_in_for_all_but_the_disk() {
    let mut components = [
        component(ComponentKind::Memory, Some(2e10), Some((1e10, 1e8))),
        component(ComponentKind::Link, None, None),
        component(ComponentKind::Device, None, Some((2e8, 1e6))),
    ];
    conclude(&mut components, Some(&Estimate::symmetric(2e8, 1e6, 5)));
    assert_eq!(components[0].ratio, Some(0.5));
    assert_eq!(components[0].disks.as_ref().unwrap().saturating, 50);
    assert_eq!((&components[1].disks, &components[2].disks), (&None, &None));
}
