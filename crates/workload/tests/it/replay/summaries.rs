//! Summaries of recorded loads of known kinds.

use record::{
    Arrival, Blend, Bytes, Nanos, OpKind, Pattern, RecordedRequest, Replay, RequestsSummary,
};
use workload::replay::summary;
use workload::{Request, RequestStream, Spec};

const AREA: Bytes = Bytes(1 << 28);

/// The first requests of an open load.
fn requests(count: usize, change: impl FnOnce(&mut Spec)) -> Vec<RecordedRequest> {
    let mut spec = Spec::default();
    spec.asked.rate_iops = Some(1_000);
    spec.arrival = Some(Arrival::Poisson);
    change(&mut spec);
    let workload = spec.build(AREA).unwrap();
    let mut all = vec![Request { offset: 0, bytes: 0, op: OpKind::Read }; count];
    let mut times = vec![Nanos(0); count];
    RequestStream::new(&workload, 7, 0).fill_timed(&mut all, &mut times);
    let both = all.iter().zip(times);
    both.map(|(it, at)| RecordedRequest {
        at,
        offset: it.offset,
        bytes: it.bytes,
        op: it.op,
        device: 0,
    })
    .collect()
}

fn of(requests: Vec<RecordedRequest>) -> RequestsSummary {
    summary(&Replay::of(requests), "0", None)
}

#[test]
fn popularity_is_found_and_is_none_where_all_places_are_alike() {
    for theta in [500, 900, 1_200] {
        let zipf = of(requests(40_000, |spec| {
            spec.asked.pattern = Pattern::Zipf;
            spec.asked.zipf_theta_milli = Some(theta);
        }));
        let found = zipf.read.as_ref().unwrap().zipf_theta.unwrap();
        assert!((found - f64::from(theta) / 1e3).abs() < 0.06, "{theta}: {found}");
    }
    let uniform = of(requests(40_000, |_| ()));
    assert_eq!(uniform.read.as_ref().unwrap().zipf_theta, None);
}

#[test]
fn bursts_and_even_arrivals_are_told_from_chance() {
    let dispersion = |change: fn(&mut Spec)| of(requests(40_000, change)).read.unwrap().dispersion;
    let found = dispersion(|_| ());
    assert!((found - 1.0).abs() < 0.1, "{found}");
    // Bursts with a geometric size of mean four have a dispersion of seven.
    let found = dispersion(|spec| spec.asked.burst_milli = Some(4_000));
    assert!((5.5..8.0).contains(&found), "{found}");
    let found = dispersion(|spec| spec.arrival = Some(Arrival::Constant));
    assert!(found < 0.05, "{found}");
}

#[test]
fn order_sizes_and_rates_of_each_direction_are_found() {
    let mixed = of(requests(20_000, |spec| {
        spec.asked.read_percent = 70;
        spec.asked.blend = Some(Blend { sequential_percent: 30, hit_percent: 0 });
        spec.asked.bs = workload::parse_mix("4k/60:16k/40").unwrap();
    }));
    let read = mixed.read.as_ref().unwrap();
    assert!((read.per_s - 700.0).abs() < 25.0, "{}", read.per_s);
    assert!((read.sequential_share - 0.3).abs() < 0.02, "{}", read.sequential_share);
    let percents: Vec<u8> = read.sizes.iter().map(|share| share.percent).collect();
    assert!((58..=62).contains(&percents[0]) && percents.iter().sum::<u8>() == 100, "{percents:?}");
    let scan = of(requests(2_000, |spec| spec.asked.pattern = Pattern::Sequential));
    assert!(scan.read.unwrap().sequential_share > 0.99);
}

#[test]
fn devices_are_counted_and_a_moment_has_no_rate() {
    let mut two = requests(100, |_| ());
    two[3].device = 1;
    assert_eq!(of(two).devices, 2);
    let moment = of(vec![RecordedRequest { at: Nanos(0), ..requests(1, |_| ())[0] }]);
    assert_eq!(moment.read.unwrap().per_s, 0.0);
    // The same page number on two devices is two pages.
    let page = |device| RecordedRequest { device, ..requests(1, |_| ())[0] };
    assert_eq!(of(vec![page(0), page(1)]).read.unwrap().touched, Bytes(8_192));
}

fn served(requests: Vec<RecordedRequest>) -> Vec<(u64, f64)> {
    of(requests).cache.iter().map(|point| (point.bytes.0 >> 20, point.read_hit_share)).collect()
}

#[test]
fn a_scan_that_begins_again_is_served_by_a_cache_that_holds_all_of_it_and_by_no_smaller_one() {
    // 2,560 pages, four times.
    let pages = |page: u64| RecordedRequest {
        at: Nanos(page),
        offset: page % 2_560 * 4_096,
        bytes: 4_096,
        op: OpKind::Read,
        device: 0,
    };
    let shares = served((0..4 * 2_560).map(pages).collect());
    assert_eq!(shares, [(1, 0.0), (2, 0.0), (4, 0.0), (8, 0.0), (16, 0.75)]);
}

#[test]
fn the_curve_of_popular_places_is_that_of_a_cache_that_was_simulated() {
    let zipf = requests(200_000, |spec| {
        spec.asked.pattern = Pattern::Zipf;
        spec.asked.zipf_theta_milli = Some(900);
        spec.asked.read_percent = 90;
    });
    for (mib, share) in served(zipf.clone()) {
        let held = (mib << 20) / 4_096;
        // The pages in the order of their last use, newest last.
        let (mut order, mut last) =
            (std::collections::BTreeMap::new(), std::collections::HashMap::new());
        let (mut hits, mut reads) = (0, 0);
        for (request, now) in zipf.iter().zip(0_u64..) {
            let known = last.insert(request.offset, now);
            if request.op == OpKind::Read {
                reads += 1;
                hits += u32::from(known.is_some());
            }
            if let Some(then) = known {
                order.remove(&then);
            }
            order.insert(now, request.offset);
            if order.len() as u64 > held {
                let (_, page) = order.pop_first().unwrap();
                last.remove(&page);
            }
        }
        let exact = f64::from(hits) / f64::from(reads);
        assert!((share - exact).abs() < 0.03, "{mib} MiB: {share} for {exact}");
    }
}
