//! Follows the saved profiles while the exporter runs, so that a disk has a verdict as soon as it has a profile.
//!
//! A thread looks once in a while whether the files of the database changed, and reads the profiles where they did:
//! the one that takes samples never waits for a database, which may lie on a disk that hangs.

use crate::output;
use crate::store_args::{StoreArgs, latest_profiles};
use diagnose::ProfileSet;
use record::Nanos;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};

/// The longest time between two looks, and the most intervals.
const LOOK: Duration = Duration::from_secs(60);
const LOOK_INTERVALS: u32 = 60;

/// Profiles as they come.
pub(crate) struct FollowedProfiles {
    changed: Receiver<ProfileSet>,
    /// Ends the thread when it is dropped.
    _end: Sender<()>,
}

impl FollowedProfiles {
    /// Follows those of a database, of which these are known; `None` where no file is named.
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

    /// The profiles, where there are others than before.
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
    // What was saved between the first reading and now is found by the first look.
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
            // Tried again at the next look: somebody may be writing.
            Err(error) if error.to_string() != said => {
                said = error.to_string();
                output::remark(&format!("{said}; the previous profiles remain in use"));
            }
            Err(_) => {}
        }
    }
}

/// The last change and the length of the database and of its log.
fn stamp_of(file: &Path) -> [Option<(SystemTime, u64)>; 2] {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    [file.to_owned(), PathBuf::from(log)].map(|path| {
        let facts = path.metadata().ok()?;
        Some((facts.modified().ok()?, facts.len()))
    })
}
