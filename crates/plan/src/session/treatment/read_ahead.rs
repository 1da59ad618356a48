//! Sets how far the kernel reads ahead on a loop device.
//!
//! The read-ahead of a disk is a setting of the machine and never changed. If the target itself is a loop
//! device, its read-ahead is set before a trial and restored after it, or at the next start if the program
//! was killed. An open file keeps the read-ahead from when it was opened until POSIX_FADV_NORMAL.

use super::hints::advise;
use super::{Extras, Finish, Treatment};
use crate::session::{Result, Session, SessionError};
use engine::ReadOrder;
use host::kernel::Roots;
use host::kernel::changed_setting::{ChangedSetting, NONE_HERE, state_folder};
use host::target::TargetError;
use record::{Target, TargetKind, Workload};

/// The read-ahead in KiB; the kernel's default is 128.
pub(super) struct ReadAhead(pub(super) u64);

const SETTING: &str = "read_ahead_kb";

/// The loop device whose read-ahead may be set; `None` if there is none.
fn loop_device(target: &Target) -> Option<&str> {
    let name = target.device.as_ref().map(|device| device.name.as_str())?;
    let is_loop = target.kind == TargetKind::BlockDevice && name.starts_with("loop");
    is_loop.then_some(name)
}

impl Treatment for ReadAhead {
    fn fits(&self, targets: &[&Target]) -> Result<(), String> {
        if let Some(why) = NONE_HERE {
            return Err(why.to_owned());
        }
        for target in targets {
            let name = loop_device(target).ok_or_else(|| {
                "halfpower never changes the read-ahead of a disk; name a loop device on a file \
                 (losetup --find --show FILE)"
                    .to_owned()
            })?;
            let path = format!("/sys/block/{name}/queue/{SETTING}");
            let opened = std::fs::File::options().write(true).open(&path);
            opened.map_err(|error| format!("{path} cannot be set: {error}"))?;
        }
        Ok(())
    }

    fn prepare(&self, session: &Session, _workload: &Workload) -> Result<Finish> {
        let folder = state_folder().ok_or_else(|| {
            let why = "the change cannot be recorded, because no state directory is known; set \
                       XDG_STATE_HOME or HOME to an absolute path";
            SessionError::NoResult(why.to_owned())
        })?;
        let (roots, kib) = (Roots::default(), self.0.to_string());
        let mut changed = Vec::new();
        for name in session.targets.iter().filter_map(loop_device) {
            let change = ChangedSetting::change(&roots, &folder, name, SETTING, &kib);
            changed.push(change.map_err(TargetError::from)?);
        }
        advise(session, ReadOrder::Normal)?;
        Ok(Box::new(move |session, _| {
            for setting in changed {
                setting.put_back().map_err(TargetError::from)?;
            }
            advise(session, ReadOrder::Normal)?;
            Ok(Extras::new())
        }))
    }
}
