//! halfpower with one more engine, `preadv2`.

mod polled;

use halfpower::OwnEngine;
use halfpower::documents::CacheMode;
use halfpower::engine::OneByOne;
use polled::Polled;
use std::process::ExitCode;

/// What this build brings along.
static ENGINES: &[OwnEngine] = &[OwnEngine::new::<OneByOne<Polled>>(
    "preadv2",
    1,
    &[CacheMode::All, CacheMode::Fs, CacheMode::Device, CacheMode::None],
    "preadv2 with RWF_HIPRI: one request per job, polled where the device can",
)];

fn main() -> ExitCode {
    halfpower::main_with(ENGINES)
}
