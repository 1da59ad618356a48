//! `halfpower advise`: prints settings for other programs, computed from a profile.

use crate::failure::usage;
use crate::output::{self, Verdict};
use crate::store_args::ViewArgs;
use crate::values::one_of;
use ::diagnose::{Fit, Program, fit, settings};
use clap::Args;
use host::kernel::Roots;
use host::kernel::live::{Sampler, Selection};
use plan::session::VERSION;
use record::Profile;
use store::{LAST, Store, StoreError};

/// Number of latest profiles that are searched for one of this machine.
const LOOKED_THROUGH: usize = 200;
/// Maximum number of the disk's earlier profiles to compare with.
const EARLIER: usize = 5;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower advise --for postgresql      from the newest profile of this machine\n  \
    halfpower advise --for linux 0192f     from the profile with this id\n  \
    halfpower advise --for fio > recommended.fio\n\n\
    A comment shows how each setting was derived from the profile. For how to use\n\
    the disk itself, see `check`; for a slow load, see `diagnose`.")]
pub(crate) struct AdviseArgs {
    /// Saved profile: an id, or the beginning or end of an id; "last" is this machine's newest
    /// profile of a real disk.
    #[arg(default_value = store::LAST)]
    profile: String,
    /// Program to print settings for: postgresql, mysql, etcd, linux or fio.
    #[arg(long = "for", value_name = "PROGRAM",
        value_parser = one_of(&Program::ALL, Program::name))]
    program: Program,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn advise(arguments: &AdviseArgs) -> anyhow::Result<Verdict> {
    let store = arguments.view.keeping.existing()?;
    let profile = match arguments.profile.as_str() {
        LAST => newest_of_this_machine(&store, arguments.program)?,
        id => arguments.view.keeping.profile(id)?,
    };
    let earlier = earlier(&store, &profile)?;
    let document = settings(&profile, &earlier, arguments.program, VERSION);
    output::document(arguments.view.json, &document, || report::settings_text(&document))
}

/// This machine's newest profile of a real disk.
fn newest_of_this_machine(store: &Store, program: Program) -> anyhow::Result<Profile> {
    let selection = Selection { named: Vec::new(), partitions: true, unused: true };
    let devices = Sampler::new(Roots::default(), selection).map(|live| live.devices());
    let devices = devices.unwrap_or_default();
    let is_here = |profile: &Profile| {
        let known = profile.target.device.is_some() && !devices.is_empty();
        !known || devices.iter().any(|device| !matches!(fit(device, profile, false), Fit::Not(_)))
    };
    let rows = store.list::<Profile>()?;
    let (mut simulated, mut foreign, mut partial) = (0, 0, 0);
    for row in rows.iter().rev().take(LOOKED_THROUGH) {
        if row.simulated {
            simulated += 1;
            continue;
        }
        let profile: Profile = store.document(&row.id)?;
        match (is_here(&profile), profile.partial()) {
            (true, None) => return Ok(profile),
            (true, Some(_)) => partial += 1,
            (false, _) => foreign += 1,
        }
    }
    let newest = rows.last().map(|row| {
        let (program, id) = (program.name(), record::short_id(&row.id));
        let command = output::saved_by(&format!("halfpower advise --for {program} {id}"));
        format!("; `{command}` uses the newest of these profiles")
    });
    let newest = newest.unwrap_or_default();
    Err(usage(format!(
        "no complete profile matches a disk of this machine ({simulated} simulated, {foreign} of \
         other disks, {partial} partial): run `halfpower check DIR` first{newest}"
    )))
}

/// Earlier profiles of the same disk and target, latest first.
fn earlier(store: &Store, profile: &Profile) -> Result<Vec<Profile>, StoreError> {
    let Some(device) = profile.target.device.as_ref().filter(|_| !profile.simulated) else {
        return Ok(Vec::new());
    };
    let is_before = |one: &Profile| !one.simulated && one.time < profile.time;
    let of_disk = store.profiles_of(device, EARLIER + 1)?;
    Ok(of_disk.into_iter().filter(is_before).take(EARLIER).collect())
}
