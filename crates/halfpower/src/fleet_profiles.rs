//! Diagnoses the disks of a fleet that have a saved profile, each as a single disk.

use crate::fleet_devices::{Disk, Span};
use ::import::{Format, Options, RangeQuery};
use anyhow::anyhow;
use diagnose::ProfileSet;
use live::prometheus::Client;
use plan::session::VERSION;
use record::{Episode, FleetByProfile, FleetDevice, FleetLeftOut, MatchedBy, MatchedProfile};

/// The server to query for all counters of these disks.
pub(crate) struct Asked<'a> {
    pub(crate) client: &'a Client,
    pub(crate) span: Span,
    pub(crate) step_s: u64,
}

/// Diagnoses by profile, and the disks that could not be diagnosed.
#[derive(Default)]
pub(crate) struct ByProfile {
    pub(crate) found: Vec<FleetByProfile>,
    pub(crate) left_out: Vec<FleetLeftOut>,
}

impl Asked<'_> {
    /// Diagnoses every disk whose serial number a profile has. `slow` lists the disks that are slower than
    /// their peers.
    pub(crate) fn diagnoses(
        &self,
        disks: &[Disk],
        profiles: &ProfileSet,
        slow: &[FleetDevice],
    ) -> anyhow::Result<ByProfile> {
        let mut all = ByProfile::default();
        for disk in disks {
            let serial = disk.labels.get("serial").map_or("", |serial| serial.trim());
            if serial.is_empty() || !profiles.has_serial(serial) {
                continue;
            }
            let Some((begin_s, end_s)) = self.stretch(disk) else { continue };
            let query = RangeQuery {
                begin_s,
                end_s,
                step_s: self.step_s,
                instance: Some(disk.key.instance.clone()),
            };
            let answers = self.client.answers(&query)?;
            match diagnosis(&answers, disk, profiles) {
                Ok((profile, episode)) => all.found.push(FleetByProfile {
                    labels: disk.labels.clone(),
                    profile_id: profile.profile_id,
                    verdict: episode.verdict,
                    probability: episode.probability,
                    claim: episode.claim,
                    begin_s: episode.begin_ns / 1_000_000_000,
                    end_s: (episode.begin_ns + episode.duration_ns) / 1_000_000_000,
                    slow_by_peers: slow.iter().any(|one| one.labels == disk.labels),
                }),
                Err(why) => {
                    let reason = format!("not compared with its own profile: {why}");
                    all.left_out.extend(FleetLeftOut::of(&reason, &[disk.key.to_string()]));
                }
            }
        }
        Ok(all)
    }

    /// Time from the disk's first window to its last.
    fn stretch(&self, disk: &Disk) -> Option<(u64, u64)> {
        let Some(windows) = &disk.windows else {
            return Some((self.span.begin_s, self.span.end_s()));
        };
        let (first, last) = (windows.first()?, windows.last()?);
        Some((self.span.window_begin_s(*first), self.span.window_begin_s(last + 1)))
    }
}

/// The profile of a disk, and its most important episode.
fn diagnosis(
    answers: &[Vec<u8>],
    disk: &Disk,
    profiles: &ProfileSet,
) -> anyhow::Result<(MatchedProfile, Episode)> {
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    let options = Options { instance: Some(disk.key.instance.clone()), ..Options::default() };
    let observations = ::import::read(&answers, Some(Format::Prometheus), &options)?;
    for mut observation in observations {
        observation.devices.retain(|device| device.name == disk.key.device);
        observation.intervals.retain(|interval| interval.device == disk.key.device);
        let diagnosis = profiles.diagnose(&observation, VERSION, Some(0));
        let mut devices = diagnosis.devices;
        devices.retain(|device| device.device == disk.key.device);
        let Some(device) = devices.pop() else { continue };
        let profile = match device.profile.value() {
            Some(profile) if profile.by == MatchedBy::Serial => profile.clone(),
            Some(_) => {
                return Err(anyhow!(
                    "at the end of the range, the server had no serial number for the disk"
                ));
            }
            None => return Err(anyhow!("{}", device.profile.reason().unwrap_or_default())),
        };
        let Some(episode) = device.shown_episode().cloned() else { break };
        return Ok((profile, episode));
    }
    Err(anyhow!("the disk had no comparable load"))
}
