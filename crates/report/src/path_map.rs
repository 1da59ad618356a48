//! Draws the path from a program to a medium, a row per layer, and marks the cause on it.

use crate::story::Story;
use record::{LayerKind, PathLayer, PathMap};

/// The marker of a layer in which a cause was found.
const CAUSE: &str = "> ";

/// Draws the maps of a diagnosis: a single one, or those with a cause if there are several. What
/// each layer can explain is folded, except for layers that cannot be observed.
pub(crate) fn path_maps(story: &mut Story, maps: &[PathMap]) {
    let has_cause = |map: &&PathMap| map.layers.iter().any(|layer| !layer.causes.is_empty());
    for map in maps.iter().filter(|map| maps.len() == 1 || has_cause(map)) {
        let title = format!("Path of {}, from program to medium", map.path);
        let remark = if has_cause(&map) { "> marks the layer of a cause" } else { "" };
        let section = story.section(title, remark).supporting();
        map.layers.iter().for_each(|layer| section.row(&name(layer), text(layer)));
        let section = story.fold(format!("What each layer of {} can explain", map.path));
        map.layers.iter().for_each(|layer| section.row(&name(layer), &layer.can_explain));
        let facts = || map.layers.iter().filter(|layer| !layer.facts.is_empty());
        if facts().next().is_some() {
            let section = story.fold(format!("Other facts about {}", map.path));
            for layer in facts() {
                layer.facts.iter().for_each(|fact| section.row(&name(layer), fact));
            }
        }
    }
}

fn name(layer: &PathLayer) -> String {
    let mark = if layer.causes.is_empty() { "" } else { CAUSE };
    let kind = match layer.kind {
        LayerKind::Below => "below it".to_owned(),
        kind => kind.name().replace('_', " "),
    };
    format!("{mark}{kind}")
}

fn text(layer: &PathLayer) -> String {
    // A volume states its name itself, and the whole path has none.
    let of = match layer.kind {
        LayerKind::Volume => String::new(),
        _ => crate::story::prefix(&layer.devices.join(", ")),
    };
    let now = match &layer.now {
        Some(now) => now.clone(),
        None => format!("not visible: {}", layer.can_explain),
    };
    let then = layer.at_profiling.as_ref().map(|then| format!("; when profiled: {then}"));
    let causes = layer.causes.iter().map(|name| format!(" [{name}]"));
    format!("{of}{now}{}{}", then.unwrap_or_default(), causes.collect::<String>())
}
