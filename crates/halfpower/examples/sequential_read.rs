//! The simplest sequential read: one request after the other through the page cache.
//!
//! After figure 18 of Riedel, van Ingen and Gray (1997). There is no visible concurrency, but it runs at the
//! speed of the disk, because the kernel detects the pattern and reads ahead.
//!
//! `cargo run --example sequential_read -- FILE`
#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::time::Instant;

const REQUEST_BYTES: usize = 64 << 10;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("usage: sequential_read FILE")?;
    let name = path.display();
    let mut file = File::open(&path).with_context(|| format!("cannot open {name}"))?;
    let mut buffer = vec![0; REQUEST_BYTES];
    let (mut requests, mut bytes, mut sum) = (0u64, 0u64, 0u64);
    let begin = Instant::now();
    loop {
        let got = match file.read(&mut buffer) {
            // End of file: the only reliable sign for a file that may grow or shrink.
            Ok(0) => break,
            // A short read is not an error: continue after it.
            Ok(got) => got,
            // Interrupted by a signal; nothing was read.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {name} at byte {bytes}"));
            }
        };
        requests += 1;
        bytes += got as u64;
        sum += buffer[..got].iter().map(|&byte| u64::from(byte)).sum::<u64>();
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{bytes} bytes in {requests} requests, sum of bytes {sum}");
    println!("{:.1} MB/s", bytes as f64 / 1e6 / seconds);
    Ok(())
}
