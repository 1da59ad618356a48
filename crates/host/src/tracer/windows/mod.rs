//! Tracing on Windows: not supported.
//!
//! Event Tracing for Windows has such events (DiskIo, FileIo). To get each request, record them by `logman`
//! or WPR and import the result.

use crate::kernel::Roots;
use crate::tracer::Drained;
use record::{Capability, DeviceFacts, ProcessIo, Traced};
use std::convert::Infallible;

/// Major and minor number of a device.
type DeviceNumber = (u32, u32);

/// Error text for a missing feature.
const EVENTS: &str =
    "request tracer: tracing needs Linux, because Event Tracing for Windows is not supported";

/// Why the tracer cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracerError {
    /// A privilege is required.
    #[error("{0} needs an administrator")]
    NotPermitted(&'static str),
    /// Windows does not support it.
    #[error("Windows has no {0}")]
    NoSupport(&'static str),
    /// No device to trace.
    #[error("no device to trace")]
    NoDevices,
    /// A call failed.
    #[error("{0} failed")]
    Failed(&'static str),
}

/// Would trace the requests of some disks; cannot exist.
#[derive(Debug)]
pub struct Tracer {
    /// The unreported figures, and the results that need them.
    pub lacks: Vec<String>,
    never: Infallible,
}

impl Tracer {
    /// Always fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(_roots: &Roots, _devices: &[DeviceNumber]) -> Result<Self, TracerError> {
        Err(TracerError::NoSupport(EVENTS))
    }

    /// What happened since the last reading.
    ///
    /// # Errors
    /// None: no tracer can exist.
    pub fn read(&mut self) -> Result<Vec<(DeviceNumber, Traced)>, TracerError> {
        match self.never {}
    }
}

/// Would count requests by process; cannot exist.
#[derive(Debug)]
pub struct Issuers(Infallible);

impl Issuers {
    /// Always fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(_roots: &Roots, _disks: &[DeviceNumber]) -> Result<Self, TracerError> {
        Err(TracerError::NoSupport("request counts per process"))
    }

    /// The I/O by process since the last reading.
    ///
    /// # Errors
    /// None: no counter can exist.
    pub fn read(&mut self) -> Result<Vec<(DeviceNumber, Vec<ProcessIo>)>, TracerError> {
        match self.0 {}
    }
}

/// Would record each request; cannot exist.
#[derive(Debug)]
pub struct Recorder(Infallible);

impl Recorder {
    /// Always fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(
        _roots: &Roots,
        _disks: &[String],
        _process: Option<&str>,
    ) -> Result<Self, TracerError> {
        Err(TracerError::NoSupport(EVENTS))
    }

    /// Requests recorded since the last call.
    pub fn drain(&mut self) -> Drained {
        match self.0 {}
    }
}

/// Reports that requests cannot be traced here.
#[must_use]
pub fn capabilities(_roots: &Roots, _disk: Option<&DeviceFacts>) -> Vec<Capability> {
    let remedy = "record, watch and diagnose use the counters of disks and volumes";
    let tracer = Capability::of("request tracer", false, "not on Windows", remedy);
    let remedy = "the processes that use the disks are unknown: see Resource Monitor";
    vec![tracer, Capability::of("requests by process", false, "not on Windows", remedy)]
}

/// None of the devices can be traced.
#[must_use]
pub fn request_disks<'a>(
    _roots: &Roots,
    _names: impl IntoIterator<Item = &'a str>,
) -> Vec<(String, DeviceNumber)> {
    Vec::new()
}
