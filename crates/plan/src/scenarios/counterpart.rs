//! Maps a change of a device to the simulator, for `predict --simulate` and for applied advice.
//!
//! Some changes have no counterpart: a cache with a given hit share, a drive with another mechanism, RAID
//! 6. Such a change is refused with a reason, not replaced by another. A change of the load does not affect
//! the device.

use crate::scenarios::scenario::Array;
use record::{Change, Nanos};
use simdisk::{QueueSpec, SimKind, SimSpec};

/// A simulated device, or an array of such devices.
#[derive(Clone, Debug)]
pub struct SimulatedDevice {
    /// One device.
    pub spec: SimSpec,
    /// Array of such devices; `None` for one.
    pub array: Option<Array>,
}

impl SimulatedDevice {
    /// One device.
    #[must_use]
    pub fn one(spec: &SimSpec) -> Self {
        Self { spec: spec.clone(), array: None }
    }

    /// The same after a change.
    ///
    /// # Errors
    /// Why the simulator cannot apply the change.
    pub fn with(self, change: Change) -> Result<Self, String> {
        let queue = |why: &str| match &self.spec.kind {
            SimKind::Queue(queue) => Ok(queue),
            SimKind::Machine(_) | SimKind::Flash(_) => Err(why.to_owned()),
        };
        let keys = match change {
            Change::Faster(share) => {
                queue("the speed of a simulated drive's parts cannot be changed")
                    .map(|queue| faster(queue, 1.0 - share))?
            }
            Change::Cap(cap) => {
                let why = "a cap can be simulated only with queueing models (such as sim:mmc)";
                let iops = queue(why)?.iops;
                if iops > 0 && (iops as f64) < cap {
                    return Err("the simulated device already has a lower cap".to_owned());
                }
                format!(",iops={},burst=1", cap.round())
            }
            Change::CacheHit { .. } => {
                return Err("the cache hit ratio of a simulated device cannot be changed".into());
            }
            Change::Array { .. } => {
                let array = Array::of(change).ok_or("only RAID 0, 1, 5 and 10 can be simulated")?;
                return Ok(Self { array: Some(array), ..self });
            }
            _ => return Ok(self),
        };
        let text = format!("{}{keys}", self.spec.text);
        let spec = SimSpec::parse(&text).map_err(|error| error.to_string())?;
        Ok(Self { spec, ..self })
    }
}

impl std::fmt::Display for SimulatedDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let one = &self.spec.text;
        match self.array {
            None => write!(f, "sim:{one}"),
            Some(array) => write!(f, "{} x sim:{one} as {}", array.disks, array.name()),
        }
    }
}

/// The keys of a queue whose requests take `factor` times as long.
fn faster(queue: &QueueSpec, factor: f64) -> String {
    let time = |nanos: Nanos| (nanos.0 as f64 * factor).round() as u64;
    let mut keys = format!(",service={}ns,hit={}ns", time(queue.service), time(queue.hit));
    let rates = [
        ("rate", queue.rate_bytes_per_s, "B"),
        ("iops", queue.iops, ""),
        ("throughput", queue.throughput_bytes_per_s, "B"),
    ];
    for (key, rate, unit) in rates.into_iter().filter(|(_, rate, _)| *rate > 0) {
        keys.push_str(&format!(",{key}={}{unit}", (rate as f64 / factor).round() as u64));
    }
    keys
}
