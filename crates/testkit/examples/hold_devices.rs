//! Holds a loop device with a file system until a signal or a kill; a test checks what is left behind.

use halfpower_testkit::{LoopDevice, Mounted, undo_on_signals};

fn main() -> std::io::Result<()> {
    if std::env::args().any(|word| word == "--on-signals") {
        undo_on_signals()?;
    }
    let device = LoopDevice::new(16 << 20)?;
    let mounted = Mounted::ext4(device.path())?;
    println!("{} {}", device.path().display(), mounted.path().display());
    loop {
        std::thread::park();
    }
}
