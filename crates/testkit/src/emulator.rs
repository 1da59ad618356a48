//! Detects tests that run for another processor, and names the emulator for their programs.

/// Variable with the command that runs programs of the tests' processor, such as `qemu-aarch64 -L
/// /usr/aarch64-linux-gnu`; `cargo xtask aarch64` sets it.
pub const EMULATOR: &str = "HALFPOWER_TEST_EMULATOR";

/// The emulator command; `None` if the tests run on the machine's own processor.
#[must_use]
pub fn emulator() -> Option<String> {
    std::env::var(EMULATOR).ok().filter(|command| !command.is_empty())
}
