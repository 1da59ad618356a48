//! The CPU time of a trial: what the kernel charges to halfpower, and what the whole machine spends.

use crate::{Estimate, Measured};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the kernel measures or samples the split of CPU time into user and system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSplit {
    /// The total is exact; its parts are samples at the timer tick.
    #[default]
    Sampled,
    /// Both are measured at each kernel entry.
    Exact,
    /// Not measured: busy time from a model of the host's processors, all counted as system time.
    Modelled,
}

/// CPU time of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuCost {
    /// In user mode.
    pub user_ms: f64,
    /// In the kernel for this program, including its worker threads.
    pub system_ms: f64,
    /// The part of both that io_uring's kernel worker threads used.
    pub workers_ms: f64,
    /// CPU time charged to the program per completed request: a lower bound of the true cost.
    pub lower_us_per_io: Option<f64>,
    /// An upper bound per request; null without a pass that measured it.
    pub upper_us_per_io: Option<f64>,
    /// How the upper bound was measured.
    pub upper_method: Option<String>,
    /// The pass that measured it.
    pub upper: Option<CpuUpper>,
    /// Processor clocks per byte, at the frequency of `clock`; null if that is unknown.
    pub clocks_per_byte: Option<f64>,
    /// The clock frequency used; null if the kernel does not report one.
    pub clock: Option<CpuClock>,
    /// Instructions per request.
    pub instructions_per_io: Measured<f64>,
    /// Requests per second that would saturate all processors, by the lower bound.
    pub saturation_iops: Option<f64>,
    /// Bytes per second at that point.
    pub saturation_bytes_per_s: Option<f64>,
    /// CPU time charged to the program per MiB transferred.
    pub ms_per_mib: Option<f64>,
    /// Time that the hypervisor took from this virtual machine, over all processors.
    pub steal_ms: Option<f64>,
    /// Time of all CPUs of the machine, busy or idle; absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_cpus_ms: Option<f64>,
    /// CPU time of other programs in user mode, on all CPUs; absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_user_ms: Option<f64>,
    /// Time in which CPUs were idle, on all CPUs; absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<f64>,
    /// How reliable the split into user and system time is.
    pub split: CpuSplit,
}

/// The frequency of the processors' clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuClock {
    /// Clocks per second.
    pub hz: f64,
    /// Its source: cpufreq (actual frequency at the end) or cpuinfo (nominal in a virtual machine).
    pub source: String,
}

/// The pass that measured the upper bound. It runs the same load with an idle-priority soaker thread on every
/// processor, and compares the soakers' loop counts with calibrations before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUpper {
    /// CPU time per request over the whole machine, in µs.
    pub us_per_io: Estimate,
    /// Rate of the pass divided by the rate of the trial, minus one: the effect of the soakers on the load.
    pub rate_change_rel: f64,
    /// Requests of the pass.
    pub ios: u64,
    /// Number of processors with a soaker.
    pub cpus: u32,
    /// Share of the CPU time that the soakers did not get during the load.
    pub busy_share: f64,
    /// The same without the load, just before and after. It is subtracted from the cost of the load.
    pub baseline_share: f64,
    /// CPU time charged to the program per request in the same pass, in µs; null if it was not measured.
    pub lower_us_per_io: Option<Estimate>,
    /// Upper bound minus `lower_us_per_io`, in µs per request: CPU time that others used for this load (or at
    /// the same time).
    pub elsewhere_us_per_io: Option<Estimate>,
    /// Difference between the calibrations before and after, as a share.
    pub calibration_change_rel: f64,
    /// The kernel's own accounting during the pass, for comparison, as shares of all CPU time.
    pub kernel: Option<KernelAccounting>,
    /// Reasons why the bound is uncertain here.
    pub doubts: Vec<String>,
}

/// The kernel's accounting of CPU time (/proc/stat), as shares of the time of all processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelAccounting {
    /// Idle and not waiting for I/O. Soakers count as nice or idle-priority user time, not here.
    pub idle: f64,
    /// Hardware and software interrupts.
    pub interrupts: f64,
    /// Time taken by the hypervisor.
    pub steal: f64,
}
