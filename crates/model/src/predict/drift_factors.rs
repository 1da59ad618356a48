//! Adjusts predictions to a device that is slower or faster now than when it was profiled.
//!
//! On a shared virtual disk deep loops moved by 20 % in two minutes, and lone requests by a third of that.
//! Deep writes moved separately from deep reads, and so did the effect of stalls on open loads. So five
//! numbers describe the level: lone requests, open loads, and the maximum rates of reads, writes and mixes.
//! If all move by the same factor, the device is exactly the same queueing system on another clock. If only
//! the maximum rate moves (a cap, a neighbour), a load sees the queue of the same share of the old maximum.

use super::{PredictError, Predictor};
use record::{Estimate, Mix, MixClass, ModelName, Offered, OpKind, Prediction};

/// A load counts as pure if reads or writes take less than this share of its time.
const PURE: f64 = 0.1;

/// Speed of a device now, divided by its speed when profiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftFactors {
    /// Factor for the rate at queue depth 1.
    pub alone: f64,
    /// Factor for open loads: profiled latency over current latency, at the same share of the maximum rate.
    pub open: f64,
    /// Factor for the rate of deep read loops.
    pub reads: f64,
    /// Factor for the rate of deep write loops.
    pub writes: f64,
    /// Factor for the rate of deep mixed loops, in addition to `reads` and `writes`.
    pub mixes: f64,
}

impl DriftFactors {
    /// Unchanged since the profile.
    pub const PROFILED: Self = Self::clock(1.0);

    /// All rates multiplied by this factor.
    #[must_use]
    pub const fn clock(speed: f64) -> Self {
        Self { alone: speed, open: speed, reads: speed, writes: speed, mixes: 1.0 }
    }

    /// The load that would fill the profiled device equally. A closed loop of N requests obeys N = X R, and
    /// X and R are scaled separately.
    fn on_the_profile(&self, deep: f64, offered: Offered) -> Offered {
        match offered {
            Offered::PoissonPerS(rate) => Offered::PoissonPerS(rate / deep),
            Offered::ConstantPerS(rate) => Offered::ConstantPerS(rate / deep),
            Offered::Depth(depth) => Offered::Depth((depth * self.alone / deep).max(1.0)),
        }
    }
}

impl Predictor {
    /// [`Predictor::predict_by`] for the device at a level.
    ///
    /// # Errors
    /// As [`Predictor::predict_by`].
    pub fn predict_at(
        &self,
        level: DriftFactors,
        model: ModelName,
        mix: &Mix,
        offered: Offered,
    ) -> Result<Prediction, PredictError> {
        let deep = self.deep_at(level, mix);
        let there = level.on_the_profile(deep, offered);
        // Idle times are those of the program, whatever the speed of the device.
        let found = self.predict_paced(model, mix, there, deep).map_err(|error| match error {
            PredictError::Saturated { rate_per_s, max_per_s } => PredictError::Saturated {
                rate_per_s: rate_per_s * deep,
                max_per_s: max_per_s * deep,
            },
            other => other,
        })?;
        let slower = match offered {
            Offered::PoissonPerS(_) | Offered::ConstantPerS(_) => 1.0 / level.open,
            Offered::Depth(_) => 1.0 / level.alone,
        };
        let faster = match (offered, there) {
            // A loop of less than one request there never waits here.
            (Offered::Depth(here), Offered::Depth(there)) => here / there * level.alone,
            _ => deep,
        };
        let time = |estimate: Estimate| estimate.scaled(slower);
        Ok(Prediction {
            offered,
            latency_ns: time(found.latency_ns),
            read_latency_ns: found.read_latency_ns.map(time),
            write_latency_ns: found.write_latency_ns.map(time),
            after_rest_ns: found.after_rest_ns.map(time),
            unloaded_latency_ns: time(found.unloaded_latency_ns),
            queue_ns: found.queue_ns * slower,
            p50_ns: found.p50_ns.map(time),
            p90_ns: found.p90_ns.map(time),
            p99_ns: found.p99_ns.map(time),
            concurrency: found.concurrency * slower * faster,
            iops: found.iops.scaled(faster),
            max_iops: found.max_iops.scaled(deep),
            ..found
        })
    }

    /// [`Predictor::predict_at`] for a measured level. `ends` are levels with one of the numbers at an end
    /// of its 95 % interval. The changes from the ends widen the intervals like independent errors. If the
    /// device cannot sustain the rate at an end, no latency exists there, and this end does not widen the
    /// latency. The interval of the maximum rate then extends below the rate.
    ///
    /// # Errors
    /// As [`Predictor::predict_by`].
    pub fn predict_near(
        &self,
        level: DriftFactors,
        ends: &[DriftFactors],
        model: ModelName,
        mix: &Mix,
        offered: Offered,
    ) -> Result<Prediction, PredictError> {
        let found = self.predict_at(level, model, mix, offered)?;
        let mut moved = Vec::with_capacity(ends.len());
        let mut max_iops = Vec::with_capacity(ends.len());
        for end in ends {
            max_iops.push(self.max_rate_at(*end, mix)?.value);
            match self.predict_at(*end, model, mix, offered) {
                Ok(there) => moved.push(there),
                Err(PredictError::Saturated { .. }) => (),
                Err(error) => return Err(error),
            }
        }
        let some = |of: fn(&Prediction) -> Option<Estimate>| {
            let ends: Vec<f64> = moved.iter().filter_map(of).map(|end| end.value).collect();
            of(&found).map(|one| one.widened(&ends))
        };
        let one = |of: fn(&Prediction) -> Estimate| {
            let ends: Vec<f64> = moved.iter().map(|end| of(end).value).collect();
            of(&found).widened(&ends)
        };
        Ok(Prediction {
            latency_ns: one(|it| it.latency_ns),
            read_latency_ns: some(|it| it.read_latency_ns),
            write_latency_ns: some(|it| it.write_latency_ns),
            unloaded_latency_ns: one(|it| it.unloaded_latency_ns),
            p50_ns: some(|it| it.p50_ns),
            p90_ns: some(|it| it.p90_ns),
            p99_ns: some(|it| it.p99_ns),
            iops: one(|it| it.iops),
            max_iops: found.max_iops.widened(&max_iops),
            ..found
        })
    }

    /// [`Predictor::max_rate`] for the device at a level.
    ///
    /// # Errors
    /// As [`Predictor::max_rate`].
    pub fn max_rate_at(&self, level: DriftFactors, mix: &Mix) -> Result<Estimate, PredictError> {
        Ok(self.max_rate(mix)?.scaled(self.deep_at(level, mix)))
    }

    /// The maximum rate of a mix at a level, divided by that of the profile. Reads and writes take turns,
    /// each for as long as the device needs for its part. The factor of mixes counts fully if each takes at
    /// least a tenth of the time, and less if one takes less.
    pub(super) fn deep_at(&self, level: DriftFactors, mix: &Mix) -> f64 {
        let reads = mix.reads();
        let alike = level.reads.to_bits() == level.writes.to_bits()
            && level.mixes.to_bits() == 1f64.to_bits();
        if alike || reads >= 1.0 {
            return level.reads;
        }
        if reads <= 0.0 {
            return level.writes;
        }
        let time = |op: OpKind, part: f64| {
            let classes = mix.classes.iter().filter(|class| class.op == op);
            let alone = classes.map(|class| MixClass { share: class.share / part, ..*class });
            let max = self.max_rate(&Mix { classes: alone.collect() }).map_or(1.0, |max| max.value);
            part / max
        };
        let (read, write) = (time(OpKind::Read, reads), time(OpKind::Write, 1.0 - reads));
        let mixed = (read.min(write) / (read + write) / PURE).min(1.0);
        let turns = (read + write) / (read / level.reads + write / level.writes);
        turns * (1.0 + (level.mixes - 1.0) * mixed)
    }
}
