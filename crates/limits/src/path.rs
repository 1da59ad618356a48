//! The path from processor to medium: ratios, half-power points, what binds, how many disks.
//!
//! Pure arithmetic on what was measured and stated. A component binds where its rate is the
//! smallest of the path and the intervals tell it apart from the others. One whose rate nobody
//! could measure cannot be excluded, unless what it is advertised to carry lies far above: it is
//! named as an alternative then, with the reason. Rejected: the smallest number of the table as the
//! answer (of rates that cannot be told apart it is the luckier one), and the ratio of the
//! device's rate to a link's peak as the link's own efficiency (the link waits for the device).

use record::{
    Binding, ComponentKind, Estimate, HalfPower, Measured, PathComponent, Sizing, format_rate,
};

/// A component that was not measured cannot bind if its peak is so many times the path's rate.
const FAR_ABOVE: f64 = 2.0;

/// RAP over PAP, and whether that is half.
#[must_use]
pub fn half_power(
    pap: Option<f64>,
    rap: Option<&Estimate>,
    rap_is_lower_bound: bool,
) -> (Option<f64>, HalfPower) {
    let (Some(pap), Some(rap)) = (pap.filter(|pap| *pap > 0.0), rap) else {
        return (None, HalfPower::NotKnown);
    };
    let half = pap / 2.0;
    let reached = if rap.low >= half {
        HalfPower::Reached
    } else if rap.high < half && !rap_is_lower_bound {
        HalfPower::Missed
    } else {
        HalfPower::CannotTell
    };
    (Some(rap.value / pap), reached)
}

/// How many disks of rate `one` a component of rate `limit` carries; `None` without rates.
#[must_use]
pub fn sizing(limit: f64, one: f64, at_least: bool) -> Option<Sizing> {
    let quotient = limit / one;
    if !(quotient.is_finite() && quotient > 0.0 && quotient < 1e12) {
        return None;
    }
    Some(Sizing {
        quotient,
        carried: quotient.floor() as u64,
        saturating: quotient.ceil().max(1.0) as u64,
        at_least,
    })
}

/// Fills in what follows from the rates: ratios, half-power points, and disks, `one` of which reads
/// at this rate.
pub fn conclude(components: &mut [PathComponent], one: Option<&Estimate>) {
    for component in components {
        let pap = component.pap.value().map(|pap| pap.bytes_per_s);
        let rap = component.rap_bytes_per_s.value();
        (component.ratio, component.half_power) =
            half_power(pap, rap, component.rap_is_lower_bound);
        component.disks = match (component.kind, rap, one) {
            (ComponentKind::Device, ..) => None,
            (_, Some(rap), Some(one)) => sizing(rap.value, one.value, component.rap_is_lower_bound),
            _ => None,
        };
    }
}

/// Which component binds sequential reads past the file-system cache. The copy into that cache is
/// not on their way.
#[must_use]
pub fn binding(components: &[PathComponent]) -> Measured<Binding> {
    let on_the_way: Vec<&PathComponent> =
        components.iter().filter(|component| component.kind != ComponentKind::FileCache).collect();
    let rated: Vec<(&PathComponent, &Estimate)> = on_the_way
        .iter()
        .filter_map(|component| Some((*component, component.rap_bytes_per_s.value()?)))
        .collect();
    // One that may carry more than was seen is not known to bind.
    let known = || rated.iter().filter(|(component, _)| !component.rap_is_lower_bound);
    let least = known().min_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let Some(&(first, rate)) = least else {
        return Measured::not("no component of the path was measured");
    };
    if !rated.iter().any(|(component, _)| component.kind == ComponentKind::Device) {
        return Measured::not("the device was not measured");
    }
    // What overlaps with the smallest cannot be told apart from it.
    let names: Vec<String> = known()
        .filter(|(_, other)| other.low <= rate.high)
        .map(|(component, _)| component.name.clone())
        .collect();
    let others: Vec<String> = rated
        .iter()
        .filter(|(component, _)| !names.contains(&component.name))
        .map(|(component, other)| {
            let at_least = if component.rap_is_lower_bound { "at least " } else { "" };
            format!("{} {at_least}{}", component.name, format_rate(other.value))
        })
        .collect();
    let alternatives =
        on_the_way.iter().filter_map(|component| alternative(component, rate)).collect();
    let because = if others.is_empty() {
        format!("{} gives {}, and nothing else was measured", first.name, format_rate(rate.value))
    } else {
        format!("{} gives {}; {}", first.name, format_rate(rate.value), others.join(", "))
    };
    Measured::Value(Binding { names, bytes_per_s: *rate, because, alternatives })
}

/// Why a component that was not measured may bind; `None` where it cannot.
fn alternative(component: &PathComponent, rate: &Estimate) -> Option<String> {
    let reason = match &component.rap_bytes_per_s {
        Measured::NotMeasured { not_measured } => not_measured.clone(),
        Measured::Value(seen) if component.rap_is_lower_bound && seen.low <= rate.high => {
            format!("it carries at least {}, and nothing showed more", format_rate(seen.value))
        }
        Measured::Value(_) => return None,
    };
    match component.pap.value() {
        Some(pap) if pap.bytes_per_s >= FAR_ABOVE * rate.high => None,
        Some(pap) => Some(format!(
            "{}, advertised at {}: {reason}",
            component.name,
            format_rate(pap.bytes_per_s)
        )),
        None => Some(format!("{}: {reason}", component.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Advertised;

    fn component(kind: ComponentKind, pap: Option<f64>, rap: Option<(f64, f64)>) -> PathComponent {
        PathComponent {
            kind,
            name: kind.name().to_owned(),
            pap: pap.map_or_else(
                || Measured::not("nobody says"),
                |bytes_per_s| {
                    Measured::Value(Advertised { bytes_per_s, source: "a test".to_owned() })
                },
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

    /// Chung 2000, table 6 and the errors found in it: memory writes and Ultra160 writes do not
    /// reach half, whatever the caption says.
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
        // Random requests of 8 KB, 100 a second: "64 to 100" and more.
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
}
