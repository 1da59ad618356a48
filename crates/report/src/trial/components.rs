//! How busy the components of a simulated device were, and which one binds.
//!
//! The busiest comes first, with what its time was spent on. A component binds where it was busy
//! all of the time, or nearly: whatever else were faster, the rate would stay. A part that holds a
//! transfer is busy while it waits for the next one on the way to the host (a drive for its bus, a
//! bus for PCI); of several that were always busy, the one nearest to the host is therefore the
//! cause, and a device lists its components from the host outwards. Where none was, requests waited
//! for one part after another, and the page says that instead of naming the busiest. Rejected: a row
//! each (an array of a thousand drives has thousands of them).

use crate::number;
use record::ComponentUse;

/// Components that are shown one by one.
const SHOWN: usize = 6;
/// Busy share from which a component is what binds.
const BINDING_SHARE: f64 = 0.95;
/// Shares of a phase below this are not shown.
const PHASE_SHARE_MIN: f64 = 0.005;

/// All of them, the busiest first.
pub(super) fn text(components: &[ComponentUse]) -> String {
    let mut busiest: Vec<&ComponentUse> = components.iter().collect();
    busiest.sort_by(|a, b| b.busy_share.total_cmp(&a.busy_share));
    let (shown, rest) = busiest.split_at(busiest.len().min(SHOWN));
    let mut parts: Vec<String> = shown.iter().map(|component| one(component)).collect();
    if let Some(next) = rest.first() {
        let share = number::percent(next.busy_share);
        parts.push(format!("{} others at most {share}", rest.len()));
    }
    let list = parts.join("; ");
    match components.iter().find(|component| component.busy_share >= BINDING_SHARE) {
        Some(binding) => format!("{} binds. Busy: {list}", binding.name),
        None => format!("none binds: requests wait for one after another. Busy: {list}"),
    }
}

fn one(component: &ComponentUse) -> String {
    let share = number::percent(component.busy_share);
    let units =
        if component.units > 1 { format!(" of {}", component.units) } else { String::new() };
    let phases: Vec<String> = component
        .phases
        .iter()
        .filter(|phase| phase.share >= PHASE_SHARE_MIN)
        .map(|phase| format!("{} {}", phase.name, number::percent(phase.share)))
        .collect();
    let phases = if phases.len() < 2 { String::new() } else { format!(" ({})", phases.join(", ")) };
    format!("{} {share}{units}{phases}", component.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::PhaseUse;

    fn component(name: &str, busy_share: f64) -> ComponentUse {
        let phase = |name: &str, share| PhaseUse { name: name.to_owned(), share };
        let phases = vec![phase("data", 0.75), phase("selection", 0.25)];
        ComponentUse { name: name.to_owned(), units: 1, busy_share, phases }
    }

    #[test]
    fn the_busiest_component_binds_only_if_it_is_busy_nearly_all_the_time() {
        let bus = text(&[component("drive 0", 0.4), component("bus 0", 0.98)]);
        assert!(
            bus.starts_with("bus 0 binds. Busy: bus 0 98 % (data 75 %, selection 25 %)"),
            "{bus}"
        );
        let none = text(&[component("drive 0", 0.4), component("bus 0", 0.5)]);
        assert!(none.starts_with("none binds"), "{none}");
    }

    #[test]
    fn of_several_that_are_always_busy_the_one_nearest_to_the_host_binds() {
        let path = [component("PCI 0", 0.96), component("bus 0", 1.0), component("drive 0", 0.99)];
        let shown = text(&path);
        assert!(shown.starts_with("PCI 0 binds. Busy: bus 0 100 %"), "{shown}");
    }

    #[test]
    fn of_many_components_the_busiest_are_shown_and_the_others_counted() {
        let many: Vec<ComponentUse> = (0..1_000)
            .map(|index| component(&format!("drive {index}"), f64::from(index) / 1e3))
            .collect();
        let shown = text(&many);
        assert!(shown.contains("drive 999") && shown.contains("994 others at most 99"), "{shown}");
        assert!(shown.len() < 500, "{shown}");
    }
}
