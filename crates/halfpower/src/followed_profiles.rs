//! Reloads the saved profiles while the exporter runs, so that a disk has a verdict as soon as it has a
//! profile.
//!
//! A thread periodically checks whether the database files have changed, and reads the profiles if so. The
//! sampling thread never waits for a database, which may be on a disk that hangs.

use crate::output;
use crate::store_args::{StoreArgs, latest_profiles};
use diagnose::ProfileSet;
use record::Nanos;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};

/// Maximum time between two checks, absolute and in intervals.
const LOOK: Duration = Duration::from_secs(60);
const LOOK_INTERVALS: u32 = 60;

/// Receives new profiles.
pub(crate) struct FollowedProfiles {
    changed: Receiver<ProfileSet>,
    /// Ends the thread when dropped.
    _end: Sender<()>,
}

impl FollowedProfiles {
    /// Follows the profiles of a database, starting from the known ones; `None` if there is no path to a
    /// database.
    pub(crate) fn start(
        keeping: &StoreArgs,
        known: &ProfileSet,
        interval: Nanos,
    ) -> anyhow::Result<Option<Self>> {
        let Ok(file) = keeping.file() else { return Ok(None) };
        let known: Vec<String> = known.ids().map(str::to_owned).collect();
        let pause = LOOK.min(Duration::from_nanos(interval.0) * LOOK_INTERVALS);
        let (send, changed) = channel();
        let (end, ended) = channel();
        let follow = move || follow(&file, known, pause, &ended, &send);
        std::thread::Builder::new().name("profiles".to_owned()).spawn(follow)?;
        Ok(Some(Self { changed, _end: end }))
    }

    /// The newest profiles, if they have changed since the last call.
    pub(crate) fn changed(&self) -> Option<ProfileSet> {
        self.changed.try_iter().last()
    }
}

fn follow(
    file: &Path,
    mut known: Vec<String>,
    pause: Duration,
    ended: &Receiver<()>,
    send: &Sender<ProfileSet>,
) {
    // The first check finds what was saved between the first reading and now.
    let (mut stamp, mut said) = (None, String::new());
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let now = Some(stamp_of(file));
        if now == stamp {
            continue;
        }
        match latest_profiles(file) {
            Ok(profiles) => {
                stamp = now;
                said.clear();
                let ids: Vec<String> = profiles.iter().map(|it| it.id.clone()).collect();
                if ids != known {
                    let count = record::counted(ids.len() as f64, "saved profile");
                    output::remark(&format!("devices are now compared with {count}"));
                    known = ids;
                    let _ = send.send(ProfileSet::saved(profiles));
                }
            }
            // Retry at the next check: another process may be writing.
            Err(error) if error.to_string() != said => {
                said = error.to_string();
                output::remark(&format!("{said}; the previous profiles remain in use"));
            }
            Err(_) => {}
        }
    }
}

/// Modification time and length of the database and of its log.
fn stamp_of(file: &Path) -> [Option<(SystemTime, u64)>; 2] {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    [file.to_owned(), PathBuf::from(log)].map(|path| {
        let facts = path.metadata().ok()?;
        Some((facts.modified().ok()?, facts.len()))
    })
}
