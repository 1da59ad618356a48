//! Draws service times with a given mean and variation.
//!
//! Two moments determine the mean latency of one server (Pollaczek-Khinchine), so a phase-type distribution
//! is fitted to them (Tijms 1994, Stochastic Models, p. 358): fixed, a mixture of two Erlang distributions
//! for less variation than exponential, two exponential ones with balanced means for more. Rejected:
//! lognormal times (a tail so heavy that a mean converges slowly) and gamma (a rejection loop).

use workload::Rng;

/// A distribution with mean 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Fixed,
    Exponential,
    /// `phases` exponential phases with mean `scale`; with probability `fewer`, one phase less.
    Erlang {
        phases: u32,
        fewer: f64,
        scale: f64,
    },
    /// Exponential with mean `means[0]` with probability `first`, otherwise with `means[1]`.
    Hyper {
        first: f64,
        means: [f64; 2],
    },
}

impl Shape {
    /// The distribution of mean 1 with this coefficient of variation.
    pub(crate) fn of_variation(cv: f64) -> Self {
        let squared = cv * cv;
        if squared == 0.0 {
            Self::Fixed
        } else if squared == 1.0 {
            Self::Exponential
        } else if squared < 1.0 {
            let phases = (1.0 / squared).ceil();
            let root = (phases * (1.0 + squared) - phases * phases * squared).max(0.0).sqrt();
            let fewer = (phases * squared - root) / (1.0 + squared);
            Self::Erlang { phases: phases as u32, fewer, scale: 1.0 / (phases - fewer) }
        } else {
            let first = 0.5 * (1.0 + ((squared - 1.0) / (squared + 1.0)).sqrt());
            Self::Hyper { first, means: [0.5 / first, 0.5 / (1.0 - first)] }
        }
    }

    /// One time, as a multiple of the mean.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> f64 {
        match *self {
            Self::Fixed => 1.0,
            Self::Exponential => -libm::log(rng.unit()),
            Self::Erlang { phases, fewer, scale } => {
                let count = phases - u32::from(rng.unit() < fewer);
                // At most 100 phases, so that their product does not underflow.
                let product: f64 = (0..count).map(|_| rng.unit()).product();
                -libm::log(product) * scale
            }
            Self::Hyper { first, means } => {
                let mean = means[usize::from(rng.unit() >= first)];
                -libm::log(rng.unit()) * mean
            }
        }
    }
}
