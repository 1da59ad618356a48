//! What a user may ask for, before it is known whether it holds together.
//!
//! Parts that a user may leave out are options here, so that a part that is given without the
//! one that it belongs to (a hot size without the pattern) is an error and never ignored.

use record::{
    Arrival, Bytes, Data, EngineName, Instead, Nanos, OpKind, Regions, Replay, ReplayPace,
    SizeShare, Workload, size_shares,
};

/// What a user asks for; the defaults are those of `halfpower run`.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// What is taken as it is asked for, once it is checked. Of a pattern's own parts those that are
    /// `None` get a default, but for the distance of [`record::Pattern::Strided`], which needs one.
    /// [`Spec::build`] sets what follows from the other fields: `depth`, `hot`, `arrival`, `regions`
    /// and `size_bytes`.
    pub asked: Workload,
    /// Length of the hot part of [`record::Pattern::Hot`]; a fifth of the area where `None`.
    pub hot_bytes: Option<Bytes>,
    /// Share of the requests that go there; 80 % where `None`.
    pub hot_percent: Option<u8>,
    /// How sequential and strided jobs share the area; each a part of its own where `None`.
    pub regions: Option<Regions>,
    /// How arrivals are spaced in an open loop; at equal distances where `None`.
    pub arrival: Option<Arrival>,
    /// Length of the area; to the end of the target where `None`.
    pub size: Option<Bytes>,
    /// Jobs at the same time.
    pub beside: Vec<SpecBeside>,
}

/// A job beside the first.
#[derive(Clone, Debug, Default)]
pub struct SpecBeside {
    /// By how much later its window begins.
    pub delay_ns: Nanos,
    /// Which set of targets it uses; 0 is that of the first.
    pub targets: u32,
    /// What it does; jobs beside itself are not looked at.
    pub spec: Spec,
}

impl Spec {
    /// What asks for this and leaves all else open.
    #[must_use]
    pub fn of(asked: Workload) -> Self {
        Self { asked, ..Self::default() }
    }

    /// This, and what is asked of the jobs beside it, each with its set of targets.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Self)> {
        std::iter::once((0, self)).chain(self.beside.iter().map(|job| (job.targets, &job.spec)))
    }

    /// Changes this and all that is asked beside it.
    pub fn for_each(&mut self, change: impl Fn(&mut Self)) {
        change(self);
        self.beside.iter_mut().for_each(|job| change(&mut job.spec));
    }

    /// The same with the requests of a recording; sizes and directions sum them up.
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

    /// The same with jobs that make what a recording has beside its requests: flushes and discards. Only
    /// at their times: without them nothing says between which requests they come. Those that the engine
    /// cannot make are left out.
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

    /// The same with one request size.
    #[must_use]
    pub fn with_bs(mut self, bytes: u64) -> Self {
        self.asked.bs = vec![SizeShare { bytes: Bytes(bytes), percent: 100 }];
        self
    }

    /// The distance between positions.
    pub(crate) fn unit(&self) -> u64 {
        crate::region::unit(&self.asked)
    }
}
