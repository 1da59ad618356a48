//! Random processes with a seed.

use halfpower_stats::SplitMix64;
use libm::{cos, sqrt};

/// A stream of random numbers.
pub struct Source(SplitMix64);

impl Source {
    /// The stream for a seed. Neighbouring seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        let bits = SplitMix64::new(seed).next_u64();
        Self(SplitMix64::new(bits ^ 0x0068_616c_6670_6f77))
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0.unit()
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        sqrt(2.0 * self.exponential()) * cos(2.0 * std::f64::consts::PI * self.uniform())
    }

    /// A stationary first-order autoregressive series with mean 0 and standard deviation 1.
    pub fn autoregressive(&mut self, coefficient: f64, length: usize) -> Vec<f64> {
        let innovation = sqrt(1.0 - coefficient * coefficient);
        let mut value = self.normal();
        let mut next = || {
            let now = value;
            value = coefficient * value + innovation * self.normal();
            now
        };
        (0..length).map(|_| next()).collect()
    }

    /// Means of `per_slice` successive latencies of a stationary M/M/1 queue with service time 1. Their
    /// expectation is 1 / (1 - load) (Lindley's recursion, started in steady state).
    pub fn mm1_responses(&mut self, load: f64, length: usize, per_slice: usize) -> Vec<f64> {
        let busy = self.uniform() < load;
        let mut wait = if busy { self.exponential() / (1.0 - load) } else { 0.0 };
        let mut slice = || {
            let mut sum = 0.0;
            for _ in 0..per_slice {
                let latency = wait + self.exponential();
                sum += latency;
                wait = (latency - self.exponential() / load).max(0.0);
            }
            sum / per_slice as f64
        };
        (0..length).map(|_| slice()).collect()
    }
}
