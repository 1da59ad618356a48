//! Tracing on Windows: there is none.
//!
//! Event Tracing for Windows has the events (DiskIo, FileIo). Whoever wants each request records them by
//! `logman` or WPR and imports what they say.

use crate::kernel::Roots;
use crate::tracer::Drained;
use record::{Capability, DeviceFacts, ProcessIo, Traced};
use std::convert::Infallible;

/// Major and minor number of a device.
type DeviceNumber = (u32, u32);

/// What is asked of the kernel in vain.
const EVENTS: &str =
    "request tracer: tracing needs Linux, because Event Tracing for Windows is not supported";

/// Why there is no tracer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracerError {
    /// It takes a privilege.
    #[error("{0} needs an administrator")]
    NotPermitted(&'static str),
    /// Windows has no such thing.
    #[error("Windows has no {0}")]
    NoSupport(&'static str),
    /// Nothing to trace.
    #[error("no device to trace")]
    NoDevices,
    /// A call failed.
    #[error("{0} failed")]
    Failed(&'static str),
}

/// Would follow the requests of some disks; there can be none.
#[derive(Debug)]
pub struct Tracer {
    /// What is not told, and what is lost with it.
    pub lacks: Vec<String>,
    never: Infallible,
}

impl Tracer {
    /// Begins nothing.
    ///
    /// # Errors
    /// Always.
    pub fn open(_roots: &Roots, _devices: &[DeviceNumber]) -> Result<Self, TracerError> {
        Err(TracerError::NoSupport(EVENTS))
    }

    /// What happened since the last reading.
    ///
    /// # Errors
    /// None, because there is none to ask.
    pub fn read(&mut self) -> Result<Vec<(DeviceNumber, Traced)>, TracerError> {
        match self.never {}
    }
}

/// Would count requests by process; there can be none.
#[derive(Debug)]
pub struct Issuers(Infallible);

impl Issuers {
    /// Begins nothing.
    ///
    /// # Errors
    /// Always.
    pub fn open(_roots: &Roots, _disks: &[DeviceNumber]) -> Result<Self, TracerError> {
        Err(TracerError::NoSupport("request counts per process"))
    }

    /// Who asked for what since the last reading.
    ///
    /// # Errors
    /// None, because there is none to ask.
    pub fn read(&mut self) -> Result<Vec<(DeviceNumber, Vec<ProcessIo>)>, TracerError> {
        match self.0 {}
    }
}

/// Would record each request; there can be none.
#[derive(Debug)]
pub struct Recorder(Infallible);

impl Recorder {
    /// Begins nothing.
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

    /// What has come since the last time.
    pub fn drain(&mut self) -> Drained {
        match self.0 {}
    }
}

/// That requests cannot be traced here.
#[must_use]
pub fn capabilities(_roots: &Roots, _disk: Option<&DeviceFacts>) -> Vec<Capability> {
    let remedy = "record, watch and diagnose use the counters of disks and volumes";
    let tracer = Capability::of("request tracer", false, "not on Windows", remedy);
    let remedy = "the processes that use the disks are unknown: see Resource Monitor";
    vec![tracer, Capability::of("requests by process", false, "not on Windows", remedy)]
}

/// None of the devices can be followed.
#[must_use]
pub fn request_disks<'a>(
    _roots: &Roots,
    _names: impl IntoIterator<Item = &'a str>,
) -> Vec<(String, DeviceNumber)> {
    Vec::new()
}
