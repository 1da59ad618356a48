//! Draws cases from seeds.
//!
//! Loads are shares of a device's unqueued rate: at most half of it if the device must be healthy. If it
//! must be overloaded, they are at least 0.93 of its maximum rate, or several times its parallelism in
//! queue depth. A slower device takes at least 1.5 times as long. Cases in between are drawn by
//! [`unclear`].

use crate::cases::case::{Case, Kind};
use crate::cases::dice::Dice;
use crate::cases::{capped, changing, single, together, unclear};

/// Draws a case of a kind, or its opposite.
type Draw = fn(&mut Dice, bool) -> Case;

/// The kinds by their names on the command line.
const KINDS: [(Kind, &str, Draw); 30] = [
    (Kind::Healthy, "healthy", single::healthy),
    (Kind::Slower, "slower", single::slower),
    (Kind::OneWriter, "one-writer", changing::one_writer),
    (Kind::DepthAlone, "depth-alone", single::depth_alone),
    (Kind::GroupLimit, "group-limit", capped::group_limit),
    (Kind::TokenBucket, "token-bucket", capped::token_bucket),
    (Kind::Neighbour, "neighbour", changing::neighbour),
    (Kind::WriteBack, "write-back", changing::write_back),
    (Kind::LargerRequests, "larger-requests", changing::larger_requests),
    (Kind::TurnsRandom, "turns-random", changing::turns_random),
    (Kind::Misaligned, "misaligned", single::misaligned),
    (Kind::Failing, "failing", single::failing),
    (Kind::StandsStill, "stands-still", single::stands_still),
    (Kind::LightOnBad, "light-on-bad", single::light_on_bad),
    (Kind::ApplicationBound, "application-bound", single::application_bound),
    (Kind::HotDisk, "hot-disk", together::hot_disk),
    (Kind::SlowDisk, "slow-disk", together::slow_disk),
    (Kind::NoProfile, "no-profile", single::no_profile),
    (Kind::TooLittle, "too-little", single::too_little),
    (Kind::SlowAndDeep, "slow-and-deep", capped::slow_and_deep),
    (Kind::Together, "together", together::together),
    (Kind::Slightly, "slightly", unclear::slightly),
    (Kind::HardlyLoaded, "hardly-loaded", unclear::hardly_loaded),
    (Kind::HardlyWaits, "hardly-waits", unclear::hardly_waits),
    (Kind::OtherSettings, "other-settings", unclear::other_settings),
    (Kind::HeldByScheduler, "held-by-scheduler", unclear::held_by_scheduler),
    (Kind::Hosted, "hosted", unclear::hosted),
    (Kind::UnseenLimit, "unseen-limit", unclear::unseen_limit),
    (Kind::JustAllowed, "just-allowed", unclear::just_allowed),
    (Kind::Paced, "paced", single::paced),
];

impl Kind {
    /// All of them, in order.
    #[must_use]
    pub fn all() -> [Self; KINDS.len()] {
        KINDS.map(|(kind, ..)| kind)
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|kind| kind.name() == name)
    }
}

/// The case of a seed, of any kind.
#[must_use]
pub fn draw(seed: u64) -> Case {
    draw_of(KINDS[seed as usize % KINDS.len()].0, seed)
}

/// The case of a seed, of a given kind.
#[must_use]
pub fn draw_of(kind: Kind, seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let opposite = dice.flip();
    let case = KINDS[kind as usize].2(&mut dice, opposite);
    Case { seed, kind, opposite, ..case }
}
