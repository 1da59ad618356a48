//! A user's request for a workload, before it is checked.
//!
//! Parts that a user may omit are options here. A part without the one that it belongs to (a hot size without
//! the pattern) is therefore an error, and never ignored.

use record::{
    Arrival, Bytes, Data, EngineName, Instead, Nanos, OpKind, Regions, Replay, ReplayPace,
    SizeShare, Workload, size_shares,
};

/// A user's request. The defaults are those of `halfpower run`.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Fields that are used as requested, after the check. Pattern parameters that are `None` get a default,
    /// except the distance of [`record::Pattern::Strided`], which is required. [`Spec::build`] sets the
    /// fields that follow from others: `depth`, `hot`, `arrival`, `regions` and `size_bytes`.
    pub asked: Workload,
    /// Length of the hot part of [`record::Pattern::Hot`]; `None` for a fifth of the area.
    pub hot_bytes: Option<Bytes>,
    /// Share of the requests that go there, in percent; `None` for 80 %.
    pub hot_percent: Option<u8>,
    /// How sequential and strided jobs share the area; `None` for separate parts.
    pub regions: Option<Regions>,
    /// Spacing of arrivals in an open loop; `None` for equal intervals.
    pub arrival: Option<Arrival>,
    /// Length of the area; `None` for up to the end of the target.
    pub size: Option<Bytes>,
    /// Jobs at the same time.
    pub beside: Vec<SpecBeside>,
}

/// A job next to the first.
#[derive(Clone, Debug, Default)]
pub struct SpecBeside {
    /// Delay of the start of its window.
    pub delay_ns: Nanos,
    /// Index of its set of targets; 0 is that of the first job.
    pub targets: u32,
    /// Its request. Jobs next to this one are ignored.
    pub spec: Spec,
}

impl Spec {
    /// A request for this workload, with everything else left to defaults.
    #[must_use]
    pub fn of(asked: Workload) -> Self {
        Self { asked, ..Self::default() }
    }

    /// This request and those of the jobs next to it, each with the index of its set of targets.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Self)> {
        std::iter::once((0, self)).chain(self.beside.iter().map(|job| (job.targets, &job.spec)))
    }

    /// Changes this request and those of all jobs next to it.
    pub fn for_each(&mut self, change: impl Fn(&mut Self)) {
        change(self);
        self.beside.iter_mut().for_each(|job| change(&mut job.spec));
    }

    /// Sets the requests of a recording. Sizes and directions summarize them.
    #[must_use]
    pub fn with_replay(mut self, replay: Replay) -> Self {
        let requests = replay.recorded.0.as_slice();
        let reads = requests.iter().filter(|request| request.op == OpKind::Read).count();
        let all = requests.len();
        self.asked.read_percent = match (reads, all) {
            (_, 0) => 100,
            (0, _) => 0,
            (reads, all) if reads == all => 100,
            (reads, all) => ((reads * 100 + all / 2) / all).clamp(1, 99) as u8,
        };
        if all > 0 {
            self.asked.bs = size_shares(requests);
        }
        self.asked.replay = Some(replay);
        self
    }

    /// Adds jobs that issue the flushes and discards of a recording. This requires recorded times, which show
    /// between which requests they belong. Kinds that the engine does not support are omitted.
    #[must_use]
    pub fn with_others_of_replay(mut self) -> Self {
        let Some(replay) = &mut self.asked.replay else { return self };
        if replay.pace == ReplayPace::AsFast {
            return self;
        }
        let Workload { polled, stripe_bytes, engine, .. } = self.asked;
        let plain = !polled && stripe_bytes.is_none();
        let trims = matches!(engine, EngineName::IoUring | EngineName::Sync | EngineName::Threads);
        let able = |instead| plain && (instead == Instead::Flush || trims);
        for (instead, own) in replay.take_others(able) {
            let name = match instead {
                Instead::Flush => "flushes",
                Instead::Trim => "discards",
            };
            let mut spec = Self { beside: Vec::new(), ..self.clone() };
            spec.asked.replay = Some(own);
            spec.asked.read_percent = 0;
            spec.asked.instead = Some(instead);
            spec.asked.data = Data::Random;
            spec.asked.compressible_percent = 0;
            spec.asked.name = Some(name.to_owned());
            self.beside.push(SpecBeside { delay_ns: Nanos(0), targets: 0, spec });
        }
        self
    }

    /// Sets one request size.
    #[must_use]
    pub fn with_bs(mut self, bytes: u64) -> Self {
        self.asked.bs = vec![SizeShare { bytes: Bytes(bytes), percent: 100 }];
        self
    }

    pub(crate) fn unit(&self) -> u64 {
        crate::region::unit(&self.asked)
    }
}
