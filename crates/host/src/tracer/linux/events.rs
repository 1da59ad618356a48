//! Finds the descriptions of the kernel's events, and attaches programs to events.

use super::assembler::ProgramError;
use super::error::TracerError;
use super::format::Format;
use super::syscalls::{self, AttachTo};
use crate::kernel::Roots;
use engine::input;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use std::path::PathBuf;

/// Where tracefs may be mounted, below sysfs.
pub(super) const TRACEFS: [&str; 2] = ["kernel/tracing", "kernel/debug/tracing"];

/// A program attached to an event until this is dropped.
#[derive(Debug)]
pub(super) struct Attached {
    _event: OwnedFd,
    _program: OwnedFd,
}

/// Runs a program at each event of this kind.
pub(super) fn attach(
    event: &'static str,
    at: AttachTo,
    code: Result<Vec<u64>, ProgramError>,
) -> Result<Attached, TracerError> {
    let code = code.map_err(|error| TracerError::Event { event, why: error.to_string() })?;
    let program = syscalls::load_program(at, &code).map_err(|(cause, log)| match cause {
        Errno::PERM => TracerError::NotPermitted("loading a BPF program"),
        cause => {
            let why = log.lines().rev().take(6).collect::<Vec<_>>().join(" | ");
            TracerError::Rejected { event, cause, why }
        }
    })?;
    let attached = syscalls::attach(at, &program)
        .map_err(|cause| TracerError::of("attaching to a tracepoint", cause))?;
    Ok(Attached { _event: attached, _program: program })
}

/// The folder with the descriptions of the events.
pub(super) struct Events {
    directory: PathBuf,
    /// Keeps our own mount alive.
    _mount: Option<OwnedFd>,
}

impl Events {
    pub(super) fn find(roots: &Roots) -> Result<Self, TracerError> {
        let mut places = TRACEFS.iter().map(|place| roots.sys.join(place).join("events"));
        let readable = |place: &PathBuf| place.join("block/block_rq_issue/format").exists();
        if let Some(directory) = places.find(readable) {
            return Ok(Self { directory, _mount: None });
        }
        let mount = syscalls::private_tracefs().map_err(|cause| match cause {
            Errno::NODEV => TracerError::NoSupport("tracefs"),
            cause => TracerError::of("tracefs", cause),
        })?;
        let directory = PathBuf::from(format!("/proc/self/fd/{}/events", mount.as_raw_fd()));
        if !directory.join("block").exists() {
            return Err(TracerError::NoSupport("block tracepoints"));
        }
        Ok(Self { directory, _mount: Some(mount) })
    }

    pub(super) fn format(&self, group: &str, event: &str) -> Result<Format, String> {
        let path = self.directory.join(group).join(event).join("format");
        let text = input::kernel_text(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "this kernel has none".to_owned(),
            _ => error.to_string(),
        })?;
        Format::parse(&text).ok_or_else(|| "its format cannot be read".to_owned())
    }

    /// Attaches a program that `build` makes for the event's fields.
    pub(super) fn attach(
        &self,
        group: &str,
        event: &'static str,
        program: impl FnOnce(&Format) -> Result<Vec<u64>, ProgramError>,
    ) -> Result<Attached, TracerError> {
        let unusable = |why: String| TracerError::Event { event, why };
        let format = self.format(group, event).map_err(unusable)?;
        attach(event, AttachTo::Format(format.id), program(&format))
    }
}
