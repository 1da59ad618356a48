//! Measures the spread of healthy devices of a kind, on the fleet itself.
//!
//! It uses medians and median deviations, so that one slow device in a hundred changes nothing.

use crate::fleet::scan::{Healthy, WINDOWS_MIN, known};
use stats::median;

/// Ratio of the standard deviation to the median absolute deviation, for normal values.
const NORMAL_MAD: f64 = 1.4826;
/// Minimum spread: clocks and firmware always differ somewhat.
const LEVEL_LEAST: f64 = 0.02;
const NOISE_LEAST: f64 = 0.01;
/// Efficiency of a median deviation compared with a standard deviation, for normal values.
const MAD_EFFICIENCY: f64 = 0.37;
/// Upper limit: a tenth of the neighbouring windows is enough to estimate how they depend on each other.
const DEPENDENCE_MOST: f64 = 48.0;

/// Robust standard deviation around the median; 0 for an empty slice.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let centre = median(values.to_vec());
    NORMAL_MAD * median(values.iter().map(|value| (value - centre).abs()).collect())
}

/// The median of the known values of a series; `None` if there are too few.
pub(crate) fn level_of(series: &[f32]) -> Option<f64> {
    let there = known(series);
    (there.len() >= WINDOWS_MIN).then(|| median(there))
}

/// The spread of a healthy series, from the series of one kind.
pub(crate) fn healthy(series: &[&[f32]]) -> Healthy {
    let levels: Vec<Option<f64>> = series.iter().map(|one| level_of(one)).collect();
    let known_levels: Vec<f64> = levels.iter().copied().flatten().collect();
    let mut moves = Vec::new();
    let mut noises = Vec::new();
    let mut dependences = Vec::new();
    for (one, level) in series.iter().zip(&levels) {
        let Some(level) = level else { continue };
        let residuals: Vec<f64> = one.iter().map(|&value| f64::from(value) - level).collect();
        let there: Vec<f64> = residuals.iter().copied().filter(|value| !value.is_nan()).collect();
        noises.push(deviation(&there));
        dependences.extend(dependence(&residuals));
        let (early, late) = one.split_at(one.len() / 2);
        moves.extend(level_of(early).zip(level_of(late)).map(|(a, b)| b - a));
    }
    // The level of a series also contains the mean of its noise, which is not a property of the device.
    let middle = |values: Vec<f64>| if values.is_empty() { 0.0 } else { median(values) };
    Healthy {
        level: deviation(&known_levels).max(LEVEL_LEAST),
        noise: middle(noises).max(NOISE_LEAST),
        dependence: middle(dependences).clamp(1.0, DEPENDENCE_MOST),
        // Includes the noise of two medians, so the estimate is on the high side.
        drift: deviation(&moves).max(LEVEL_LEAST),
        degrees: (MAD_EFFICIENCY * (known_levels.len() as f64 - 1.0)).max(1.0),
    }
}

/// Windows per independent window, from how often neighbouring windows have the same sign. The correlation
/// of normal values is sin(pi (p - 1/2)), and a spike does not affect signs.
fn dependence(residuals: &[f64]) -> Option<f64> {
    let pairs: Vec<bool> = residuals
        .windows(2)
        .filter(|pair| pair.iter().all(|value| !value.is_nan() && *value != 0.0))
        .map(|pair| pair[0].is_sign_positive() == pair[1].is_sign_positive())
        .collect();
    if pairs.len() < 4 * WINDOWS_MIN {
        return None;
    }
    let alike = pairs.iter().filter(|alike| **alike).count() as f64 / pairs.len() as f64;
    let correlation = (std::f64::consts::PI * (alike - 0.5)).sin().clamp(0.0, 0.95);
    Some((1.0 + correlation) / (1.0 - correlation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix64;

    #[test]
    fn levels_noise_and_dependence_come_out_of_drawn_series() {
        let mut random = SplitMix64::new(7);
        let series: Vec<Vec<f32>> = (0..400)
            .map(|_| {
                let level = 0.1 * random.normal();
                let mut state = 0.0;
                (0..168)
                    .map(|_| {
                        state = 0.6 * state + 0.8 * 0.2 * random.normal();
                        (level + state) as f32
                    })
                    .collect()
            })
            .collect();
        let views: Vec<&[f32]> = series.iter().map(Vec::as_slice).collect();
        let found = healthy(&views);
        assert!((found.level / 0.105 - 1.0).abs() < 0.15, "{found:?}");
        assert!((found.noise / 0.2 - 1.0).abs() < 0.1, "{found:?}");
        assert!((found.dependence / 4.0 - 1.0).abs() < 0.2, "{found:?}");
    }
}
