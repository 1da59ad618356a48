//! Reports the utilization of a simulated device's components, and the bottleneck.
//!
//! The busiest component comes first, with the breakdown of its time. A component is the bottleneck if it was
//! busy all or nearly all of the time: a faster other component would not raise the rate. A component that
//! holds a transfer is busy while it waits for the next one on the way to the host (a drive for its bus, a
//! bus for PCI). Among several that were always busy, the one nearest to the host is therefore the cause, and
//! a device lists its components from the host outwards. If none was always busy, requests waited for one
//! component after another, and the page says so instead of naming the busiest. Rejected: a row each (an
//! array of a thousand drives has thousands of components).

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::story::{joined, number};
use record::{ComponentUse, Unit};
use stats::Ordered;

/// Number of components shown individually.
const SHOWN: usize = 6;
/// Utilization from which a component is the bottleneck.
const BINDING_SHARE: f64 = 0.95;
/// Phases with a smaller share are not shown.
const PHASE_SHARE_MIN: f64 = 0.005;

/// All components, the busiest first.
pub(super) fn text(components: &[ComponentUse]) -> String {
    let mut busiest: Vec<&ComponentUse> = components.iter().collect();
    busiest.sort_by_cached_key(|one| Ordered(-one.busy_share));
    let (shown, rest) = busiest.split_at(busiest.len().min(SHOWN));
    let mut list = joined(shown, "; ", |component| {
        let units =
            if component.units > 1 { format!(" of {}", component.units) } else { "".into() };
        let phases = phases(component, PHASE_SHARE_MIN);
        let phases = if phases.contains(',') { format!(" ({phases})") } else { "".into() };
        format!("{} {}{units}{phases}", component.name, number::percent(component.busy_share))
    });
    if let Some(next) = rest.first() {
        let share = number::percent(next.busy_share);
        list.push_str(&format!("; {} others at most {share}", rest.len()));
    }
    let verdict = match binding(components) {
        Some(binding) => &format!("{} is the bottleneck", binding.name),
        None => "no bottleneck: each request waits for one part after another",
    };
    format!("{verdict}. Busy: {list}")
}

fn binding(components: &[ComponentUse]) -> Option<&ComponentUse> {
    components.iter().find(|component| component.busy_share >= BINDING_SHARE)
}

fn phases(component: &ComponentUse, least: f64) -> String {
    let phases = component.phases.iter().filter(|phase| phase.share >= least);
    joined(phases, ", ", |phase| format!("{} {}", phase.name, number::percent(phase.share)))
}

/// A chart of the utilization of a simulated machine's components.
pub(super) fn chart(components: &[ComponentUse]) -> Option<Chart> {
    let busiest = components.iter().max_by(|a, b| a.busy_share.total_cmp(&b.busy_share))?;
    let shown = binding(components).unwrap_or(busiest);
    let verdict = match binding(components) {
        Some(_) => "it is the bottleneck",
        None => "there is no single bottleneck",
    };
    let points = components.iter().enumerate().map(|(row, component)| {
        Point::bare(component.busy_share, row as f64).remark(phases(component, 0.0))
    });
    let busy = number::percent(shown.busy_share);
    let finding = format!("{} was busy {busy} of the time: {verdict}.", shown.name);
    let x = Axis::from_zero("share of time in use", Some(Unit::Share), [1.0]);
    let y = Axis::named(components.iter().map(|component| component.name.clone()).collect());
    let series = vec![Series::new("", Form::Bars, points.collect())];
    let chart = Chart::new("How busy the parts of the path were", finding, (x, y), series);
    let half = Rule::upright(0.5, "half of the time");
    Some(chart.errors("Counted by the simulator, without error.").rules([half]))
}
