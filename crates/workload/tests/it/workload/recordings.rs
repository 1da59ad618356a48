//! Streams of a recording: which requests a job takes, when, and at which offsets.

use record::*;
use workload::*;

fn recording(requests: &[(u64, u64, u32, u16)]) -> Replay {
    let one = |&(ms, offset, bytes, device): &(u64, u64, u32, u16)| RecordedRequest {
        at: Nanos(ms * 1_000_000),
        offset,
        bytes,
        op: if bytes == 512 { OpKind::Write } else { OpKind::Read },
        device,
    };
    Replay::of(requests.iter().map(one).collect())
}

fn built(
    replay: Replay,
    size: u64,
    change: impl FnOnce(&mut Spec),
) -> Result<Workload, BuildError> {
    let mut spec = Spec::default();
    change(&mut spec);
    spec.with_replay(replay).build(Bytes(size))
}

/// Time in ms and offset of all requests of a job.
fn of_job(workload: &Workload, job: u32) -> Vec<(u64, u64)> {
    let mut requests = [Request { offset: 0, bytes: 0, op: OpKind::Read }; 3];
    let mut times = [Nanos(0); 3];
    let mut stream = RequestStream::new(workload, 1, job);
    let mut all = Vec::new();
    loop {
        let count = stream.fill_timed(&mut requests, &mut times);
        all.extend((0..count).map(|at| (times[at].0 / 1_000_000, requests[at].offset)));
        if count < requests.len() {
            return all;
        }
    }
}

const FIVE: [(u64, u64, u32, u16); 5] = [
    (0, 0, 4_096, 0),
    (1, 8_192, 512, 0),
    (2, 4_096, 4_096, 0),
    (6, 0, 4_096, 0),
    (8, 512, 512, 0),
];

#[test]
fn jobs_take_the_requests_of_a_recording_in_turn_at_its_times_and_end_with_it() {
    let one = built(recording(&FIVE), 1 << 20, |_| ()).unwrap();
    assert_eq!((one.arrival, one.read_percent), (Arrival::Recorded, 60));
    let sizes: Vec<(u64, u8)> = one.bs.iter().map(|it| (it.bytes.0, it.percent)).collect();
    assert_eq!(sizes, [(512, 40), (4_096, 60)]);
    assert_eq!(of_job(&one, 0), [(0, 0), (1, 8_192), (2, 4_096), (6, 0), (8, 512)]);
    let two = built(recording(&FIVE), 1 << 20, |spec| spec.asked.numjobs = 2).unwrap();
    assert_eq!(of_job(&two, 0), [(0, 0), (2, 4_096), (8, 512)]);
    assert_eq!(of_job(&two, 1), [(1, 8_192), (6, 0)]);
    let fast = Replay { pace: ReplayPace::AtTimes { speed_milli: 2_000 }, ..recording(&FIVE) };
    let fast = built(fast, 1 << 20, |spec| {
        spec.asked.stop.passes = Some(2);
        spec.asked.offset_bytes = Bytes(1 << 16);
    });
    let times: Vec<u64> = of_job(&fast.unwrap(), 0).iter().map(|(ms, _)| *ms).collect();
    assert_eq!(times, [0, 0, 1, 3, 4, 4, 4, 5, 7, 8]);
}

#[test]
fn a_recording_of_two_devices_goes_to_two_targets() {
    let apart = recording(&[(0, 0, 4_096, 1), (1, 4_096, 4_096, 0), (2, 8_192, 4_096, 1)]);
    let workload = built(apart.clone(), 1 << 20, |spec| {
        (spec.asked.targets, spec.asked.numjobs) = (2, 2);
    });
    let workload = workload.unwrap();
    assert_eq!(
        (of_job(&workload, 0), of_job(&workload, 1)),
        (vec![(1, 4_096)], vec![(0, 0), (2, 8_192)])
    );
    let error = built(apart, 1 << 20, |_| ()).unwrap_err().to_string();
    assert!(error.contains("2 devices or files, but the number of targets is 1"), "{error}");
}

#[test]
fn what_lies_beyond_the_area_is_refused_or_begins_again_in_it() {
    let far = recording(&[(0, 1 << 20, 4_096, 0), (1, (1 << 20) + 512, 512, 0)]);
    let error = built(far.clone(), 1 << 20, |_| ()).unwrap_err().to_string();
    assert!(
        error.contains("extends to byte 1052672") && error.contains("--replay-wrap"),
        "{error}"
    );
    let wrapped = built(Replay { wrap: true, ..far.clone() }, 1 << 20, |_| ()).unwrap();
    assert_eq!(of_job(&wrapped, 0), [(0, 0), (1, 512)]);
    // Requests in the area stay, and one that would cross its end is moved back.
    let mixed = recording(&[(0, 1_044_480, 4_096, 0), (1, (1 << 21) - 4_096, 8_192, 0)]);
    let mixed = built(Replay { wrap: true, ..mixed }, 1 << 20, |_| ()).unwrap();
    assert_eq!(of_job(&mixed, 0), [(0, 1_044_480), (1, 1_040_384)]);
    for (_, offset) in of_job(&wrapped, 0) {
        assert!(offset + 4_096 <= 1 << 20 && offset % 512 == 0);
    }
    let tiny = built(Replay { wrap: true, ..far }, 2_048, |_| ()).unwrap_err().to_string();
    assert!(tiny.contains("smaller than") || tiny.contains("larger than the area"), "{tiny}");
}

#[test]
fn what_makes_no_sense_of_a_recording_is_refused_by_its_flag() {
    let refused =
        |change: fn(&mut Spec)| built(recording(&FIVE), 1 << 20, change).unwrap_err().to_string();
    assert!(refused(|spec| spec.asked.think_ns = Nanos(1)).starts_with("--think-time"));
    assert!(refused(|spec| spec.asked.rate_iops = Some(5)).starts_with("--rate-iops"));
    assert!(refused(|spec| spec.asked.data = Data::Tagged).starts_with("--verify"));
    assert!(refused(|spec| spec.asked.ramp_ns = Nanos(1_000_000)).starts_with("--ramp-time"));
    let odd = built(recording(&FIVE), 1 << 20, |_| ()).unwrap();
    assert!(check_alignment(&odd, 512).is_ok());
    let error = check_alignment(&odd, 4_096).unwrap_err().to_string();
    assert!(error.contains("has 2 requests") && error.contains("--cache all"), "{error}");
}

#[test]
fn the_cell_is_of_the_requests_and_their_pace_and_not_of_the_file() {
    let cell = |replay: Replay| built(replay, 1 << 20, |_| ()).unwrap().cell();
    let same = Replay { source: "elsewhere".to_owned(), ..recording(&FIVE) };
    assert_eq!(cell(recording(&FIVE)), cell(same));
    let fast = Replay { pace: ReplayPace::AsFast, ..recording(&FIVE) };
    assert_ne!(cell(recording(&FIVE)), cell(fast));
    assert_ne!(cell(recording(&FIVE)), cell(recording(&FIVE[..4])));
}
