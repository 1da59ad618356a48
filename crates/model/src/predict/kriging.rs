//! Models the residuals of trials as a smooth function of the load: a Gaussian process with the kernel
//! exp(-d²/2), which falls back to the model far from trials (Rasmussen, Williams 2006, chapters 2 and
//! 5.4.2). Length and noise minimise the squared leave-one-out error, which has a closed form. The search
//! starts from a small grid, then doubles or halves each coordinate's length and the noise as long as that
//! helps. If the fit does not improve on the model alone, it is not used. Rejected: polynomials in the
//! shares, which grow without bounds.

use super::cholesky::{inverse_factor, solved};

/// Coordinates of a load, each with a range of about 1.
pub(crate) type Place = [f64; PLACES];
/// Number of coordinates.
pub(crate) const PLACES: usize = 7;
/// Candidate lengths over which the latency of a load changes, and candidate noise as a share of the
/// variance.
const LENGTHS: [f64; 4] = [0.35, 0.6, 1.0, 1.7];
const NOISES: [f64; 3] = [0.02, 0.1, MOST_NOISE];
/// Upper limit of the noise that a value's own standard error requires. The fit never assumes less noise
/// than the trials show: eight parameters fitted to some dozens of values can pass through all of them,
/// stalls included. On a virtual disk, light loads were then predicted a tenth worse.
const MOST_NOISE: f64 = 0.4;
/// Longest and shortest length, and the number of rounds in which each is doubled or halved.
const LONGEST: f64 = 14.0;
const SHORTEST: f64 = 0.15;
const ROUNDS: usize = 3;
/// Minimum number of trials.
const MIN_TRIALS: usize = 6;
/// Maximum correction: a factor of e, whatever the trials show.
const MOST: f64 = 1.0;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) place: Place,
    pub(crate) value: f64,
    /// Its uncertainty relative to other samples, as a ratio of standard deviations.
    pub(crate) spread: f64,
}

/// Lengths by coordinate, and noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    lengths: Place,
    noise: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Kriging {
    /// Length and noise, for fits to parts of the same trials.
    pub(crate) scale: Scale,
    places: Vec<Place>,
    weights: Vec<f64>,
    /// Root mean square of the leave-one-out errors, each divided by its spread.
    pub(crate) rms: f64,
}

impl Kriging {
    /// Fits values at places. `scale` is given if already known. `se` is the standard error of a value from
    /// its own trials, or 0 to ignore it. `None` if the fit is no improvement.
    pub(crate) fn fit(values: &[Sample], scale: Option<Scale>, se: f64) -> Option<Self> {
        if values.len() < MIN_TRIALS {
            return None;
        }
        let size = rms(values.iter().map(|sample| sample.value));
        let least = if size > 0.0 { (se / size).powi(2).min(MOST_NOISE) } else { 0.0 };
        let scales: Vec<Scale> = scale.map_or_else(|| grid(least), |known| vec![known]);
        let fitted = scales.into_iter().filter_map(|scale| Self::with(values, scale));
        let mut best = fitted.min_by(|a, b| a.rms.total_cmp(&b.rms))?;
        if scale.is_some() {
            return Some(best);
        }
        for _ in 0..ROUNDS {
            let before = best.rms;
            for coordinate in 0..=PLACES {
                for factor in [2.0, 0.5] {
                    let mut other = best.scale;
                    match other.lengths.get_mut(coordinate) {
                        Some(length) => *length = (*length * factor).clamp(SHORTEST, LONGEST),
                        None => other.noise = (other.noise * factor).max(least),
                    }
                    if let Some(other) =
                        Self::with(values, other).filter(|other| other.rms < best.rms)
                    {
                        best = other;
                        break;
                    }
                }
            }
            if best.rms >= before {
                break;
            }
        }
        let alone = rms(values.iter().map(|sample| sample.value / sample.spread));
        (best.rms < alone).then_some(best)
    }

    fn with(values: &[Sample], scale: Scale) -> Option<Self> {
        let places: Vec<Place> = values.iter().map(|sample| sample.place).collect();
        let mut lower: Vec<Vec<f64>> = Vec::with_capacity(values.len());
        for (at, sample) in values.iter().enumerate() {
            let near = |other: &Sample| kernel(&sample.place, &other.place, &scale.lengths);
            let mut line: Vec<f64> = values[..=at].iter().map(near).collect();
            line[at] += scale.noise * sample.spread * sample.spread;
            lower.push(line);
        }
        let inverse = inverse_factor(lower)?;
        let weights =
            solved(&inverse, &values.iter().map(|sample| sample.value).collect::<Vec<_>>());
        // Diagonal of the inverse matrix.
        let mut diagonal = vec![0.0; values.len()];
        for line in &inverse {
            for (part, square) in line.iter().zip(&mut diagonal) {
                *square += part * part;
            }
        }
        let left_out = weights
            .iter()
            .zip(&diagonal)
            .zip(values)
            .map(|((weight, square), sample)| weight / square / sample.spread);
        let rms = rms(left_out);
        Some(Self { scale, places, weights, rms })
    }

    pub(crate) fn at(&self, place: &Place) -> f64 {
        let sum: f64 = self
            .places
            .iter()
            .zip(&self.weights)
            .map(|(known, weight)| weight * kernel(known, place, &self.scale.lengths))
            .sum();
        sum.clamp(-MOST, MOST)
    }
}

/// Scales with at least this noise.
fn grid(least: f64) -> Vec<Scale> {
    let noises = NOISES.map(|noise| noise.max(least));
    let of = |length| noises.map(move |noise| Scale { lengths: [length; PLACES], noise });
    LENGTHS.into_iter().flat_map(of).collect()
}

fn kernel(from: &Place, to: &Place, lengths: &Place) -> f64 {
    let distance = |((a, b), length): ((&f64, &f64), &f64)| ((a - b) / length).powi(2);
    let squares: f64 = from.iter().zip(to).zip(lengths).map(distance).sum();
    libm::exp(-squares / 2.0)
}

fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) =
        values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value * value));
    libm::sqrt(sum / f64::max(count, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(x: f64, y: f64) -> Place {
        [x, y, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    fn sampled(function: impl Fn(f64, f64) -> f64) -> Vec<Sample> {
        let steps = || (0..6).map(|step| f64::from(step) / 5.0);
        steps()
            .flat_map(|x| steps().map(move |y| (x, y)))
            .map(|(x, y)| Sample { place: place(x, y), value: function(x, y), spread: 1.0 })
            .collect()
    }

    #[test]
    fn a_smooth_function_is_found_between_its_samples_and_nothing_far_away() {
        let function = |x: f64, y: f64| 0.5 * x * (1.0 - y);
        let found = Kriging::fit(&sampled(function), None, 0.0).unwrap();
        for (x, y) in [(0.5, 0.5), (0.9, 0.1), (0.33, 0.77)] {
            let off = (found.at(&place(x, y)) - function(x, y)).abs();
            assert!(off < 0.02, "{x} {y}: {off}");
        }
        assert!(found.rms < 0.03, "{}", found.rms);
        assert!(found.at(&place(30.0, 30.0)).abs() < 1e-9);
    }

    /// Values that happen to follow a smooth function are still only as certain as their own trials.
    #[test]
    fn no_less_noise_is_believed_than_the_trials_show() {
        let function = |x: f64, y: f64| 0.5 * x * (1.0 - y);
        let values = sampled(function);
        let size = rms(values.iter().map(|sample| sample.value));
        let noise = |se: f64| Kriging::fit(&values, None, se).unwrap().scale.noise;
        assert!(noise(0.0) < 0.02);
        assert!((noise(0.5 * size) - 0.25).abs() < 1e-9, "{}", noise(0.5 * size));
        assert!((noise(5.0 * size) - MOST_NOISE).abs() < 1e-9, "{}", noise(5.0 * size));
    }

    #[test]
    fn of_noise_alone_nothing_is_made() {
        // Values without any pattern: signs of a fixed sequence of bits.
        let bits = 0b0110_1001_1001_0110_1001_0110_0110_1001_0110u64;
        let mut values = sampled(|_, _| 0.0);
        for (at, sample) in values.iter_mut().enumerate() {
            sample.value = if bits >> at & 1 == 1 { 0.1 } else { -0.1 };
        }
        let found = Kriging::fit(&values, None, 0.0);
        assert!(found.is_none_or(|found| found.at(&place(0.5, 0.5)).abs() < 0.05));
    }
}
