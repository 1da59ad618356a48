//! Diagnoses as documents that can be kept.
//!
//! The id is a hash of observation and profiles: drawn again, perhaps by a later version of the
//! program, a diagnosis takes the place of the earlier one.

use crate::Document;
use record::Diagnosis;

impl Document for Diagnosis {
    const KIND: &'static str = "diagnosis";
    const GROWS: bool = true;
    fn id(&self) -> &str {
        &self.id
    }
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }
    fn target(&self) -> String {
        let names: Vec<&str> = self.devices.iter().map(|device| device.device.as_str()).collect();
        names.join(" ")
    }
    fn simulated(&self) -> bool {
        self.source == "simulated"
    }
}
