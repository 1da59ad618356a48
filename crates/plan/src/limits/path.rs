//! Analyses the path from processor to medium: ratios, half-power points, the bottleneck, and how many
//! disks.
//!
//! A component is the bottleneck if its rate is the smallest of the path, beyond the intervals. A component
//! that was not measured is an alternative, unless its peak is far above. Rejected: the smallest number of
//! the table (of rates that cannot be distinguished it is the luckier one), and the device's rate over a
//! link's peak as the link's efficiency (the link waits for the device).

use record::{
    Binding, ComponentKind, Estimate, HalfPower, Measured, PathComponent, Sizing, format_rate,
};

/// A component that was not measured cannot be the bottleneck if its peak is this many times the path's
/// rate.
const FAR_ABOVE: f64 = 2.0;

/// RAP divided by PAP, and whether that reaches half.
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

/// How many disks of rate `one` a component of rate `limit` sustains; `None` without rates.
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

/// Fills in the derived columns: ratios, half-power points, and the number of disks if one reads at rate
/// `one`.
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

/// Which component limits sequential direct reads. The copy into the page cache is not part of their path.
#[must_use]
pub fn binding(components: &[PathComponent]) -> Measured<Binding> {
    let on_the_way: Vec<&PathComponent> =
        components.iter().filter(|component| component.kind != ComponentKind::FileCache).collect();
    let rated: Vec<(&PathComponent, &Estimate)> = on_the_way
        .iter()
        .filter_map(|component| Some((*component, component.rap_bytes_per_s.value()?)))
        .collect();
    // A component whose rate is only a lower bound is not known to be the bottleneck.
    let known = || rated.iter().filter(|(component, _)| !component.rap_is_lower_bound);
    let least = known().min_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let Some(&(first, rate)) = least else {
        return Measured::not("no component of the path was measured");
    };
    if !rated.iter().any(|(component, _)| component.kind == ComponentKind::Device) {
        return Measured::not("the device was not measured");
    }
    // Components whose interval overlaps with the smallest cannot be distinguished from it.
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
        format!("{} reaches {}, and nothing else was measured", first.name, format_rate(rate.value))
    } else {
        format!(
            "{} reaches {}; the others: {}",
            first.name,
            format_rate(rate.value),
            others.join(", ")
        )
    };
    Measured::Value(Binding { names, bytes_per_s: *rate, because, alternatives })
}

/// Why a component that was not measured may be the bottleneck; `None` if it cannot.
fn alternative(component: &PathComponent, rate: &Estimate) -> Option<String> {
    let reason = match &component.rap_bytes_per_s {
        Measured::NotMeasured { not_measured } => not_measured.clone(),
        Measured::Value(seen) if component.rap_is_lower_bound && seen.low <= rate.high => {
            format!("it reaches at least {}, and no test reached more", format_rate(seen.value))
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
