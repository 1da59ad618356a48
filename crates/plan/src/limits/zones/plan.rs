//! Plans the visits of a map: positions, sizes and order of the reads.

use crate::{PlannedTrial, TrialList};
use record::{Bytes, EngineName, Nanos, Pattern, StopRules, Workload, format_bytes};
use workload::{Rng, Spec, derive_seed};

/// Minimum number of positions of a map.
pub const MIN_POSITIONS: u32 = 30;
/// Minimum number of passes: the fewest visits with an interval.
pub const MIN_PASSES: u32 = stats::MIN_VISITS as u32;
/// Sizes of sequential requests if the user names none: the largest of which several fit a window, as in
/// the papers' maps.
const REQUESTS: [u64; 3] = [64 << 10, 32 << 10, 16 << 10];
/// Queue depth if the user names none: 1 as in the papers' maps. Members of an array get more, so that each
/// always has a next request.
const DEPTH: u32 = 1;
const DEPTH_OF_MEMBER: u32 = 4;
/// Minimum requests in a window, per unit of queue depth.
const WINDOW_REQUESTS: u64 = 8;
/// Maximum window of sequential requests: here the seek is a hundredth of the reading time.
const WINDOW_MAX: u64 = 32 << 20;
/// A visit is stopped after this time.
const VISIT_MAX: Nanos = Nanos(20_000_000_000);

/// Settings of a map.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Size of the target; for a stripe, of each of its targets.
    pub area: Bytes,
    /// Engine of the trials.
    pub engine: EngineName,
    /// Direct requests must be a multiple of this, in bytes.
    pub alignment: u64,
    /// Number of positions.
    pub positions: u32,
    /// Number of passes over all positions.
    pub passes: u32,
    /// Seed of the visiting orders.
    pub seed: u64,
    /// Request size; `None` for the default.
    pub request: Option<Bytes>,
    /// Queue depth; `None` for the default.
    pub depth: Option<u32>,
    /// The members, if the target is an array whose members can be read alone.
    pub array: Option<ArrayPlan>,
}

/// A planned visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// 0 for the whole target, or a member of the array, from 1.
    pub of: u32,
    /// Position, from 0.
    pub position: u32,
    /// Pass, from 0.
    pub pass: u32,
}

/// The visits of a map.
#[derive(Clone, Debug)]
pub struct ZonePlan {
    /// The trials, in order.
    pub trials: TrialList,
    /// The position of each trial.
    pub visits: Vec<Place>,
    /// Request size.
    pub request: Bytes,
    /// Queue depth.
    pub depth: u32,
    /// Queue depth at a member that is read alone.
    pub member_depth: u32,
    /// Size of a window.
    pub window: Bytes,
    /// Distance between positions in bytes: of the whole, and of a member.
    pieces: [u64; 2],
}

/// What is read at all positions: the whole, or a member.
struct Read<'a> {
    /// The names of its targets.
    targets: &'a [String],
    area: Bytes,
    piece: u64,
    window: u64,
    depth: u32,
    /// Chunk and number of targets of a stripe.
    stripe: Option<(Bytes, u32)>,
}

impl ZonePlan {
    /// The plan.
    ///
    /// # Errors
    /// If the target is too small for the number of positions, or the request does not fit it.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let array = settings.array.as_ref();
        let members = array.map_or(1, |array| array.count);
        let usual = if array.is_some() { DEPTH_OF_MEMBER * members } else { DEPTH };
        let depth = settings.depth.unwrap_or(usual);
        let member_depth = (depth / members).max(1);
        let stripe = array.and_then(|array| Some((array.stripe?, array.count)));
        let (whole_area, member_area) = match array {
            Some(array) if stripe.is_some() => (array.whole(settings.area), settings.area),
            Some(array) => (settings.area, array.member_area),
            None => (settings.area, settings.area),
        };
        let piece = |area: Bytes| area.0 / u64::from(settings.positions.max(1));
        let most = |area: Bytes| piece(area) / u64::from(settings.passes.max(1));
        // A member gets as many bytes by itself as it has in a window of the whole.
        let least = most(whole_area).min(most(member_area));
        let fits = |request: u64, depth: u32| {
            request.is_multiple_of(settings.alignment.max(1))
                && least >= request * WINDOW_REQUESTS * u64::from(depth.min(16))
        };
        let asked = settings.request.map(|bytes| [bytes.0]);
        let sizes = asked.as_ref().map_or(&REQUESTS[..], |asked| asked);
        let request = *sizes.iter().find(|size| fits(**size, member_depth)).ok_or_else(|| {
            if let Some(size) =
                sizes.iter().find(|size| !size.is_multiple_of(settings.alignment.max(1)))
            {
                return format!(
                    "the target requires request sizes that are a multiple of {1}, but {0} is \
                     not; use another --bs",
                    format_bytes(*size),
                    format_bytes(settings.alignment)
                );
            }
            format!(
                "{} is too small for {} positions and {} passes with this request size; use a \
                 larger target, fewer positions, or smaller requests",
                format_bytes(whole_area.0.min(member_area.0)),
                settings.positions,
                settings.passes
            )
        })?;
        let whole = |bytes: u64| bytes / request * request;
        let window = |area: Bytes| whole(most(area).min(WINDOW_MAX));
        let pieces = [whole(piece(whole_area)), whole(piece(member_area))];
        let mut reads = vec![Read {
            targets: &[],
            area: settings.area,
            piece: pieces[0],
            window: window(whole_area),
            depth,
            stripe,
        }];
        for targets in array.map_or(&[][..], |array| &array.members) {
            reads.push(Read {
                targets: std::slice::from_ref(targets),
                area: member_area,
                piece: pieces[1],
                window: window(member_area),
                depth: member_depth,
                stripe: None,
            });
        }
        let mut rng = Rng::new(derive_seed(settings.seed, u64::MAX - 11));
        let (mut visits, mut trials) = (Vec::new(), Vec::new());
        for pass in 0..settings.passes {
            let mut places: Vec<(u32, u32)> = (0..settings.positions)
                .flat_map(|position| (0..reads.len() as u32).map(move |of| (of, position)))
                .collect();
            rng.shuffle(&mut places);
            for (of, position) in places {
                let read = &reads[of as usize];
                let at = u64::from(position) * read.piece + u64::from(pass) * read.window;
                // 53 bits: exact in any JSON reader.
                let seed = derive_seed(settings.seed, visits.len() as u64 + 1) >> 11;
                let workload = read.workload(settings, request, at)?;
                let member = read.targets.first().map(|name| format!(", {name}"));
                let label = format!(
                    "pass {}, position {}{}",
                    pass + 1,
                    position + 1,
                    member.unwrap_or_default()
                );
                let targets = read.targets.to_vec();
                trials.push(PlannedTrial { label, targets, ..PlannedTrial::new(workload, seed) });
                visits.push(Place { of, position, pass });
            }
        }
        let (trials, window) = (TrialList::new("map", trials), Bytes(reads[0].window));
        let request = Bytes(request);
        Ok(Self { trials, visits, request, depth, member_depth, window, pieces })
    }

    /// Bytes of the whole that `positions` positions cover.
    #[must_use]
    pub fn size(&self, positions: u32) -> Bytes {
        Bytes(u64::from(positions) * self.pieces[0])
    }

    /// Start of a position, in the whole or in a member.
    #[must_use]
    pub fn offset(&self, position: u32, member: bool) -> Bytes {
        Bytes(u64::from(position) * self.pieces[usize::from(member)])
    }
}

impl Read<'_> {
    /// The workload of a visit whose window begins at `at`.
    fn workload(&self, settings: &Settings, request: u64, at: u64) -> Result<Workload, String> {
        // The area of a stripe extends to its end.
        let max_bytes = self.stripe.map(|_| Bytes(self.window));
        let passes = max_bytes.is_none().then_some(1);
        let (stripe_bytes, targets) =
            self.stripe.map_or((None, 1), |(chunk, targets)| (Some(chunk), targets));
        let spec = Spec {
            size: self.stripe.is_none().then_some(Bytes(self.window)),
            ..Spec::of(Workload {
                pattern: Pattern::Sequential,
                iodepth: self.depth,
                engine: settings.engine,
                offset_bytes: Bytes(at),
                stripe_bytes,
                targets,
                runtime_ns: VISIT_MAX,
                stop: StopRules { passes, max_bytes, ..StopRules::default() },
                ..Workload::default()
            })
        };
        spec.with_bs(request).build(self.area).map_err(|error| error.to_string())
    }
}

/// The members of an array.
#[derive(Clone, Debug)]
pub struct ArrayPlan {
    /// Number of members.
    pub count: u32,
    /// Chunk size: contiguous bytes on a member.
    pub chunk: Bytes,
    /// Chunk if halfpower itself stripes the targets; `None` if the target is the array.
    pub stripe: Option<Bytes>,
    /// Sets of targets that can be read alone; one entry for all if they are alike.
    pub members: Vec<String>,
    /// Size of a member.
    pub member_area: Bytes,
}

impl ArrayPlan {
    /// Size of the stripe over members of this size.
    pub(super) fn whole(&self, member: Bytes) -> Bytes {
        Bytes(member.0 / self.chunk.0 * self.chunk.0 * u64::from(self.count))
    }
}
