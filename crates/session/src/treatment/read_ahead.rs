//! How far the kernel reads ahead on a loop device.
//!
//! The read-ahead of a disk is a setting of the machine, which others who read the disk would feel, so
//! it is never touched. A loop device that is itself the target is somebody's to experiment with: its
//! own is set before a trial and put back after it. Only a program that is killed in a trial leaves it
//! set, on that loop device. An open file keeps the read-ahead that it was opened with until it is
//! told POSIX_FADV_NORMAL, which is therefore given to the descriptors of the run both times.

use super::hints::advise;
use super::{Extras, Finish, Treatment};
use crate::{Result, Session, SessionError};
use record::{Target, TargetKind, Workload};
use rustix::fs::Advice;
use std::path::{Path, PathBuf};

/// Read-ahead of so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadAhead {
    /// Nothing.
    None,
    /// The kernel's own default.
    Kib128,
    /// Eight times that.
    Kib1024,
}

impl ReadAhead {
    fn kib(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Kib128 => 128,
            Self::Kib1024 => 1024,
        }
    }
}

/// Where the read-ahead of a target can be set; `None` where it is not to be.
fn setting(target: &Target) -> Option<PathBuf> {
    let name = target.device.as_ref().map(|device| device.name.as_str())?;
    let is_loop = target.kind == TargetKind::BlockDevice && name.starts_with("loop");
    is_loop.then(|| PathBuf::from(format!("/sys/block/{name}/queue/read_ahead_kb")))
}

impl Treatment for ReadAhead {
    fn name(&self) -> &'static str {
        match self {
            Self::None => "read-ahead-0",
            Self::Kib128 => "read-ahead-128k",
            Self::Kib1024 => "read-ahead-1m",
        }
    }

    fn fits(&self, targets: &[&Target]) -> Result<(), String> {
        for target in targets {
            let path = setting(target).ok_or_else(|| {
                "the read-ahead of a disk is not changed; name a loop device over a file \
                 (losetup --find --show FILE)"
                    .to_owned()
            })?;
            let opened = std::fs::File::options().write(true).open(&path);
            opened.map_err(|error| format!("{} cannot be set: {error}", path.display()))?;
        }
        Ok(())
    }

    fn prepare(&self, session: &Session, _workload: &Workload) -> Result<Finish> {
        let mut before = Vec::new();
        for path in session.targets.iter().filter_map(setting) {
            let old = std::fs::read_to_string(&path)
                .map_err(SessionError::io(&format!("reading {}", path.display())))?;
            set(&path, &self.kib().to_string())?;
            before.push((path, old));
        }
        advise(session, Advice::Normal)?;
        Ok(Box::new(move |session, _| {
            for (path, old) in &before {
                set(path, old.trim())?;
            }
            advise(session, Advice::Normal)?;
            Ok(Extras::new())
        }))
    }
}

fn set(path: &Path, kib: &str) -> Result<()> {
    let action = format!("setting {} to {kib}", path.display());
    std::fs::write(path, kib).map_err(SessionError::io(&action))
}
