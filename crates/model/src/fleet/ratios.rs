//! Stores the ratios of all devices to one kind of baseline, window by window.

use crate::fleet::window::{LogRatio, Standing};

/// Logarithms of the ratios of each device; NaN where the ratio is unknown.
#[derive(Clone, Debug)]
pub(crate) struct Ratios {
    /// Average of the window.
    pub(crate) mean: Vec<Vec<f32>>,
    /// In the slowest fifth of the window.
    pub(crate) upper: Vec<Vec<f32>>,
}

impl Ratios {
    /// No windows, for this number of devices.
    pub(crate) fn none(devices: usize) -> Self {
        Self { mean: vec![Vec::new(); devices], upper: vec![Vec::new(); devices] }
    }

    pub(crate) fn push(&mut self, member: usize, standing: Standing) {
        let LogRatio { mean, upper } = match standing {
            Standing::Compared(one) => one,
            Standing::Idle | Standing::NoPeers => LogRatio { mean: f64::NAN, upper: f64::NAN },
        };
        self.mean[member].push(mean as f32);
        self.upper[member].push(upper as f32);
    }

    /// The first `windows` windows.
    pub(crate) fn first(&self, windows: usize) -> Self {
        let first = |all: &[Vec<f32>]| all.iter().map(|one| one[..windows].to_vec()).collect();
        Self { mean: first(&self.mean), upper: first(&self.upper) }
    }
}
