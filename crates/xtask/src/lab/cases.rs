//! The cases of the lab: what is staged in a guest, and what the result must be. They stand in `cases.toml`,
//! which describes the fields of [`Case`], and their scripts in `scripts`.

use crate::judge::Expect;
use crate::place;
use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Case {
    pub(super) name: String,
    script: Option<String>,
    pub(super) modules: Vec<String>,
    pub(super) programs: Vec<String>,
    pub(super) drives: Vec<(String, String)>,
    pub(super) served: Option<String>,
    pub(super) machine: Vec<String>,
    pub(super) engines: Vec<String>,
    pub(super) says: Vec<String>,
    server: Option<String>,
    pub(super) expects: Vec<(String, String, Expect)>,
    pub(super) smoke: bool,
}

/// All cases, and the guests that serve them.
#[derive(Deserialize)]
pub(super) struct Cases {
    pub(super) case: Vec<Case>,
    server: Vec<Case>,
}

impl Cases {
    pub(super) fn read() -> Result<Self> {
        toml::from_str(include_str!("cases.toml")).context("the cases of the lab")
    }

    /// The guest that serves a case, if it needs one.
    pub(super) fn server(&self, case: &Case) -> Option<&Case> {
        self.server.iter().find(|server| case.server.as_ref() == Some(&server.name))
    }
}

impl Case {
    pub(super) fn script(&self) -> Result<String> {
        let name = self.script.as_ref().unwrap_or(&self.name);
        let path = place::root().join(format!("crates/xtask/src/lab/scripts/{name}.sh"));
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_case_has_a_script_a_known_server_and_something_to_judge() {
        let cases = Cases::read().unwrap();
        for case in &cases.case {
            case.script().unwrap();
            assert_eq!(case.server.is_some(), cases.server(case).is_some(), "{}", case.name);
            assert_ne!(case.expects.len() + case.engines.len(), 0, "{}", case.name);
        }
        let names: BTreeSet<&String> = cases.case.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.case.len());
    }
}
