//! Runs of `limits` and zone maps as documents that can be kept.

use crate::Document;
use record::{LimitsRun, ZoneMap};

impl Document for LimitsRun {
    const KIND: &'static str = "limits";
    fn id(&self) -> &str {
        &self.id
    }
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }
    fn target(&self) -> String {
        let paths: Vec<&str> = self.targets.iter().map(|target| target.path.as_str()).collect();
        paths.join(" ")
    }
    fn simulated(&self) -> bool {
        self.simulated
    }
}

impl Document for ZoneMap {
    const KIND: &'static str = "zones";
    fn id(&self) -> &str {
        &self.id
    }
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }
    fn target(&self) -> String {
        self.target.path.clone()
    }
    fn simulated(&self) -> bool {
        self.simulated
    }
}
