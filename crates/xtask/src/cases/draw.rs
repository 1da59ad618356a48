//! Draws cases from seeds.
//!
//! Loads are shares of a device's unqueued rate: at most half of it if the device must be healthy. If it
//! must be overloaded, they are at least 0.93 of its maximum rate, or several times its parallelism in
//! queue depth. A slower device takes at least 1.5 times as long. Cases in between are drawn by
//! [`unclear`].

use crate::cases::case::{Case, Kind};
use crate::cases::dice::Dice;
use crate::cases::{capped, changing, single, together, unclear};
use clap::ValueEnum;

/// Draws a case of a kind, or its opposite.
type Draw = fn(&mut Dice, bool) -> Case;

impl Kind {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn draw(self) -> Draw {
        match self {
            Self::Healthy => single::healthy,
            Self::Slower => single::slower,
            Self::OneWriter => changing::one_writer,
            Self::DepthAlone => single::depth_alone,
            Self::GroupLimit => capped::group_limit,
            Self::TokenBucket => capped::token_bucket,
            Self::Neighbour => changing::neighbour,
            Self::WriteBack => changing::write_back,
            Self::LargerRequests => changing::larger_requests,
            Self::TurnsRandom => changing::turns_random,
            Self::Misaligned => single::misaligned,
            Self::Failing => single::failing,
            Self::StandsStill => single::stands_still,
            Self::LightOnBad => single::light_on_bad,
            Self::ApplicationBound => single::application_bound,
            Self::HotDisk => together::hot_disk,
            Self::SlowDisk => together::slow_disk,
            Self::NoProfile => single::no_profile,
            Self::TooLittle => single::too_little,
            Self::SlowAndDeep => capped::slow_and_deep,
            Self::Together => together::together,
            Self::Slightly => unclear::slightly,
            Self::HardlyLoaded => unclear::hardly_loaded,
            Self::HardlyWaits => unclear::hardly_waits,
            Self::OtherSettings => unclear::other_settings,
            Self::HeldByScheduler => unclear::held_by_scheduler,
            Self::Hosted => unclear::hosted,
            Self::UnseenLimit => unclear::unseen_limit,
            Self::JustAllowed => unclear::just_allowed,
            Self::Paced => single::paced,
        }
    }
}

/// The case of a seed, of any kind.
#[must_use]
pub fn draw(seed: u64) -> Case {
    let kinds = Kind::value_variants();
    draw_of(kinds[seed as usize % kinds.len()], seed)
}

/// The case of a seed, of a given kind.
#[must_use]
pub fn draw_of(kind: Kind, seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let opposite = dice.flip();
    let case = kind.draw()(&mut dice, opposite);
    Case { seed, kind, opposite, ..case }
}
