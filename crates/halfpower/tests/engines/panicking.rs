//! halfpower with an engine that panics at its first request, to test how the program handles its own bugs.

use halfpower::OwnEngine;
use halfpower::documents::CacheMode;
use halfpower::engine::{Carrier, EngineError, OneByOne, Setup, Transfer};
use std::process::ExitCode;

/// An engine with a bug.
struct Panicking;

impl Carrier for Panicking {
    fn open(_setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self)
    }

    fn carry_out(&mut self, transfer: &Transfer) -> i32 {
        panic!("deliberate, at byte {}", transfer.offset)
    }

    fn features(&self) -> Vec<String> {
        Vec::new()
    }
}

static ENGINES: &[OwnEngine] = &[OwnEngine::new::<OneByOne<Panicking>>(
    "panicking",
    1,
    &[CacheMode::All, CacheMode::Device],
    "panics at its first request",
)];

fn main() -> ExitCode {
    halfpower::main_with(ENGINES)
}
