//! Checks that the modules of a crate do not depend on each other in a circle, at any depth.
//!
//! A module is a file or folder below `src`. Files whose name ends in `tests` do not count. Two modules are
//! compared if they have the same parent. One depends on the other if its code, or that of a module inside
//! it, names a path into the other: in `use`, or after `crate::`, `self::` or `super::`. Tests do not count.
//! A name that a parent re-exports counts as the module that has the item. Between a parent and its children,
//! no dependency is counted in either direction: the parent declares them and holds what they share. A name
//! for one of several modules (`use linux as platform`, chosen by the system) counts as all of them.
//! Rejected: the compiler's own resolution (it has no stable interface), and a parser library (paths are
//! enough).

use super::paths::{Named, named};
use super::{File, Problem};
use std::collections::{BTreeMap, BTreeSet};

/// The names of a module and of all modules around it, from the outermost one.
type Module = Vec<String>;
/// Where a module names another one: index of the file, line and path.
type Place = (usize, usize, String);
/// The places by module and the module named there; both have the same parent.
type Edges = BTreeMap<Module, BTreeMap<Module, Vec<Place>>>;

/// A file of a crate, without its tests.
struct Source<'a> {
    path: &'a str,
    module: Module,
    named: Vec<Named>,
}

/// Checks all crates.
pub(super) fn check(files: &[File], problems: &mut Vec<Problem>) {
    let mut crates: BTreeMap<&str, Vec<Source>> = BTreeMap::new();
    for file in files {
        let Some((name, path)) =
            file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        if let Some(path) = path.strip_suffix(".rs").filter(|path| !path.ends_with("tests")) {
            let parts = path.split('/').filter(|part| !["mod", "lib", "main"].contains(part));
            let module: Module = parts.map(str::to_owned).collect();
            let named = named(&file.text, &module);
            crates.entry(name).or_default().push(Source { path: &file.path, module, named });
        }
    }
    for sources in crates.values() {
        circles(sources, problems);
    }
}

/// Finds the circles between the modules of one crate.
fn circles(sources: &[Source], problems: &mut Vec<Problem>) {
    let edges = edges(sources);
    for (from, targets) in &edges {
        for (to, places) in targets.iter().filter(|(to, _)| reached(&edges, to).contains(from)) {
            let (from, to) = (from.join("::"), to.join("::"));
            for (index, line, named) in places {
                problems.push(Problem {
                    file: sources[*index].path.to_owned(),
                    line: *line,
                    what: format!(
                        "{from} uses {named}, and {to} needs {from} again: a circle of modules"
                    ),
                });
            }
        }
    }
}

/// The modules that a module depends on, directly or indirectly.
fn reached<'a>(edges: &'a Edges, from: &Module) -> BTreeSet<&'a Module> {
    let mut all = BTreeSet::new();
    let mut ahead: Vec<&Module> = edges.get(from).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(module) = ahead.pop() {
        if all.insert(module) {
            ahead.extend(edges.get(module).into_iter().flat_map(BTreeMap::keys));
        }
    }
    all
}

/// Finds which module names which, and where.
fn edges(sources: &[Source]) -> Edges {
    let names = Names::of(sources);
    let mut edges = Edges::new();
    for (index, source) in sources.iter().enumerate() {
        let own = &source.module;
        let shared = |module: &Module| own.iter().zip(module).take_while(|(a, b)| a == b).count();
        for named in &source.named {
            let homes = names.homes(named);
            // If several modules have the name, only the nearest ones are meant.
            let nearest = homes.iter().map(shared).max().unwrap_or_default();
            for home in homes.iter().filter(|home| shared(home) == nearest) {
                // A parent and its children are not compared.
                if nearest < own.len() && nearest < home.len() {
                    let from = own[..=nearest].to_vec();
                    let to = home[..=nearest].to_vec();
                    let places = edges.entry(from).or_default().entry(to).or_default();
                    places.push((index, named.line, named.path.join("::")));
                }
            }
        }
    }
    edges
}

/// The modules of a crate, and the names that they import from the same crate.
struct Names<'a> {
    modules: BTreeSet<&'a [String]>,
    taken: BTreeMap<(&'a [String], &'a str), Vec<&'a Named>>,
}

impl<'a> Names<'a> {
    fn of(sources: &'a [Source]) -> Self {
        let mut taken: BTreeMap<(&[String], &str), Vec<&Named>> = BTreeMap::new();
        for source in sources {
            for named in &source.named {
                // `use a::a` refers to another crate. `use a::{self}` refers to a module and needs no other
                // name.
                let first = named.path.get(source.module.len());
                if let Some(name) = named
                    .taken_as
                    .as_ref()
                    .filter(|name| named.begins_in == 0 || Some(*name) != first)
                {
                    taken.entry((&source.module, name)).or_default().push(named);
                }
            }
        }
        let modules = sources
            .iter()
            .flat_map(|source| (0..=source.module.len()).map(|length| &source.module[..length]));
        Self { modules: modules.collect(), taken }
    }

    /// The modules that contain the named item; none if it is in another crate.
    fn homes(&self, named: &Named) -> BTreeSet<Module> {
        let mut homes = BTreeSet::new();
        self.find(named, &named.path, &mut BTreeSet::new(), &mut homes);
        homes
    }

    /// Adds the homes of `path`, which `named` refers to. `seen` ends names that refer to themselves.
    fn find(
        &self,
        named: &Named,
        path: &[String],
        seen: &mut BTreeSet<Module>,
        homes: &mut BTreeSet<Module>,
    ) {
        if !seen.insert(path.to_vec()) {
            return;
        }
        let length = (0..=path.len()).rev().find(|&length| self.modules.contains(&path[..length]));
        let (module, rest) = path.split_at(length.unwrap_or_default());
        let taken = rest.first().and_then(|name| self.taken.get(&(module, name.as_str())));
        if let Some(taken) = taken {
            for other in taken {
                let path = [&other.path, &rest[1..]].concat();
                self.find(other, &path, seen, homes);
            }
        } else if module.len() >= named.begins_in {
            homes.insert(module.to_vec());
        }
    }
}
