//! Parses a mix of request sizes in the syntax of fio's `bssplit`: `4k/60:64k/40`.
//!
//! The shares must add up to 100. fio distributes missing percents over the sizes without a share, and scales
//! a sum above 100, which hides typing errors.

use record::{Bytes, SizeShare, UnitError};

/// Parses one size, or sizes with their shares in percent.
///
/// # Errors
/// What is wrong and what is accepted; the sum if the shares do not add up to 100.
pub fn parse_mix(text: &str) -> Result<Vec<SizeShare>, String> {
    const EXAMPLE: &str = "write one size (4k) or sizes with percentages (4k/60:64k/40)";
    let size = |text: &str| text.parse::<Bytes>().map_err(|error: UnitError| error.to_string());
    if !text.contains(['/', ':']) {
        return Ok(vec![SizeShare { bytes: size(text)?, percent: 100 }]);
    }
    let mut mix: Vec<SizeShare> = Vec::new();
    for part in text.split(':') {
        let (bytes, percent) =
            part.split_once('/').ok_or_else(|| format!("'{part}' has no percentage; {EXAMPLE}"))?;
        let bytes = size(bytes)?;
        let percent = percent.strip_suffix('%').unwrap_or(percent);
        let percent: u8 =
            percent.parse().ok().filter(|percent| (1..=100).contains(percent)).ok_or_else(
                || format!("'{part}' needs a whole percentage from 1 to 100; {EXAMPLE}"),
            )?;
        if mix.iter().any(|share| share.bytes == bytes) {
            return Err(format!(
                "'{text}' lists the size {} bytes twice; add up the two percentages",
                bytes.0
            ));
        }
        mix.push(SizeShare { bytes, percent });
    }
    let sum: u32 = mix.iter().map(|share| u32::from(share.percent)).sum();
    if sum != 100 {
        return Err(format!(
            "the percentages of '{text}' add up to {sum}; they must add up to 100"
        ));
    }
    Ok(mix)
}
