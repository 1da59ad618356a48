//! Whether the tests are those of another processor, and what runs their programs then.

/// Names the variable with the command that runs programs of the tests' processor, such as
/// `qemu-aarch64 -L /usr/aarch64-linux-gnu`; `cargo xtask aarch64` sets it.
pub const EMULATOR: &str = "HALFPOWER_TEST_EMULATOR";

/// That command; `None` where the machine's processor is the tests' own.
#[must_use]
pub fn emulator() -> Option<String> {
    std::env::var(EMULATOR).ok().filter(|command| !command.is_empty())
}
