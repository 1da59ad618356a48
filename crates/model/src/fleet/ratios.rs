//! Ratios of all devices to one kind of yardstick, window by window.

use crate::fleet::window::{LogRatio, Standing};

/// Logarithms of ratios of each device; NaN where there is none.
#[derive(Clone, Debug)]
pub(crate) struct Ratios {
    /// On average.
    pub(crate) mean: Vec<Vec<f32>>,
    /// In the slowest fifth.
    pub(crate) upper: Vec<Vec<f32>>,
}

impl Ratios {
    /// No windows of so many devices.
    pub(crate) fn none(devices: usize) -> Self {
        Self { mean: vec![Vec::new(); devices], upper: vec![Vec::new(); devices] }
    }

    /// Adds a window of a device.
    pub(crate) fn push(&mut self, member: usize, standing: Standing) {
        let LogRatio { mean, upper } = match standing {
            Standing::Compared(one) => one,
            Standing::Idle | Standing::NoPeers => LogRatio { mean: f64::NAN, upper: f64::NAN },
        };
        self.mean[member].push(mean as f32);
        self.upper[member].push(upper as f32);
    }

    /// The first so many windows.
    pub(crate) fn first(&self, windows: usize) -> Self {
        let first = |all: &[Vec<f32>]| all.iter().map(|one| one[..windows].to_vec()).collect();
        Self { mean: first(&self.mean), upper: first(&self.upper) }
    }
}
