//! Builds a workload from flags, or an error that names the flag.

use record::*;
use workload::*;

fn error(change: impl FnOnce(&mut Spec)) -> String {
    let mut spec = Spec::default();
    change(&mut spec);
    spec.build(Bytes(1 << 20)).unwrap_err().to_string()
}

#[test]
fn every_bad_number_is_named_with_what_to_use() {
    assert!(error(|spec| spec.asked.iodepth = 0).contains("--iodepth 0"));
    assert!(error(|spec| spec.asked.numjobs = 0).contains("--numjobs 0"));
    assert!(error(|spec| spec.asked.runtime_ns = Nanos(0)).contains("--runtime"));
    assert!(error(|spec| spec.asked.read_percent = 101).contains("--rwmixread 101"));
    assert!(error(|spec| *spec = spec.clone().with_bs(0)).contains("--bs 0"));
    assert!(
        error(|spec| spec.size = Some(Bytes(2 << 20))).contains("beyond the end of the target")
    );
    assert!(
        error(|spec| spec.asked.offset_bytes = Bytes(2 << 20))
            .contains("beyond the end of the target")
    );
    assert!(error(|spec| spec.size = Some(Bytes(2048))).contains("too small for one request"));
    let hit = error(|spec| {
        spec.asked.pattern = Pattern::Hit;
        spec.asked.hit_bytes = Some(Bytes(4 << 20));
    });
    assert!(hit.contains("--hit-size"), "{hit}");
}

#[test]
fn an_unaligned_size_is_refused_past_the_page_cache_only() {
    let spec = Spec::default().with_bs(1000);
    let direct = spec.build(Bytes(1 << 20)).unwrap();
    let text = check_alignment(&direct, 512).unwrap_err().to_string();
    assert!(text.contains("--bs 1000") && text.contains("512"), "{text}");
    let buffered = Workload { cache: CacheMode::All, ..spec.asked };
    let buffered = Spec::of(buffered).build(Bytes(1 << 20)).unwrap();
    assert_eq!(check_alignment(&buffered, 512), Ok(()));
}

#[test]
fn run_time_and_ramp_do_not_change_the_cell_and_everything_else_does() {
    let base = Spec::default().build(Bytes(1 << 20)).unwrap();
    let longer = Workload { runtime_ns: Nanos(1), ramp_ns: Nanos(1), ..base.clone() };
    assert_eq!(base.cell(), longer.cell());
    let deeper = Workload { iodepth: 2, depth: 2, ..base.clone() };
    assert_ne!(base.cell(), deeper.cell());
    let buffered = Workload { cache: CacheMode::All, ..base.clone() };
    assert_ne!(base.cell(), buffered.cell());
}

#[test]
fn every_pattern_gets_its_default_parts() {
    let of = |pattern, stride_bytes| {
        let asked = Workload { pattern, stride_bytes, ..Workload::default() };
        Spec::of(asked).build(Bytes(10 << 20)).unwrap()
    };
    assert_eq!(of(Pattern::Hit, None).hit_bytes, Some(Bytes(1 << 20)));
    assert_eq!(of(Pattern::Zipf, None).zipf_theta_milli, Some(1_200));
    let hot = HotArea { bytes: Bytes(2 << 20), percent: 80 };
    assert_eq!(of(Pattern::Hot, None).hot, Some(hot));
    assert_eq!(of(Pattern::Strided, Some(Bytes(8192))).stride_bytes, Some(Bytes(8192)));
    let random = of(Pattern::Random, None);
    assert_eq!((random.hit_bytes, random.hot, random.zipf_theta_milli), (None, None, None));
}

#[test]
fn parts_that_leave_no_room_for_a_request_are_refused() {
    let refused = |words: &str, change: &dyn Fn(&mut Spec)| {
        let text = error(|spec| change(spec));
        assert!(text.contains(words), "{text}");
    };
    let hot = |bytes| {
        move |spec: &mut Spec| {
            (spec.asked.pattern, spec.hot_bytes) = (Pattern::Hot, Some(Bytes(bytes)));
        }
    };
    refused("--hot-size 0 is out of range; use 4096 to 1044480", &hot(4095));
    refused("--hot-size 1048576 is out of range", &hot(1 << 20));
    let strided = |bytes| {
        move |spec: &mut Spec| {
            (spec.asked.pattern, spec.asked.stride_bytes) = (Pattern::Strided, Some(Bytes(bytes)));
        }
    };
    refused("--stride 4095 is out of range; use 4096 to 1048576", &strided(4095));
    refused("--stride 1048577", &strided((1 << 20) + 1));
    refused("--misalign 1048576", &|spec| spec.asked.misalign_bytes = Bytes(1 << 20));
    refused("too small for one request", &|spec| {
        spec.asked.misalign_bytes = Bytes(512);
        spec.size = Some(Bytes(4096));
    });
    refused("for each of 512 job(s)", &|spec| {
        (spec.asked.pattern, spec.asked.numjobs) = (Pattern::Sequential, 512);
    });
}

#[test]
fn a_stripe_is_the_whole_chunks_of_the_smallest_target_times_their_number() {
    let stripe_bytes = Some(Bytes(65_536));
    let spec = Spec::of(Workload { stripe_bytes, targets: 3, ..Workload::default() });
    let workload = spec.build(Bytes(200_000)).unwrap();
    assert_eq!(workload.size_bytes, Bytes(3 * 3 * 65_536));
    let sized = Spec { size: Some(Bytes(70_000)), ..spec.clone() };
    assert_eq!(sized.build(Bytes(200_000)).unwrap().size_bytes, Bytes(3 * 65_536));
    let text = spec.build(Bytes(60_000)).unwrap_err().to_string();
    assert!(text.contains("--chunk 64 KiB is larger than the smallest target"), "{text}");
}

#[test]
fn every_length_that_shifts_a_request_must_be_aligned_past_the_page_cache() {
    let stripe_bytes = Some(Bytes(65_536));
    let base = Workload { targets: 2, stripe_bytes, ..Workload::default() };
    let strided = (Pattern::Strided, Some(Bytes(8_200)));
    let asked = [
        ("misalign", Workload { misalign_bytes: Bytes(100), ..base.clone() }),
        ("stride", Workload { pattern: strided.0, stride_bytes: strided.1, ..base.clone() }),
        ("chunk", Workload { stripe_bytes: Some(Bytes(65_537)), ..base }),
    ];
    for (flag, asked) in asked {
        let workload = Spec::of(asked).build(Bytes(1 << 20)).unwrap();
        let text = check_alignment(&workload, 512).unwrap_err().to_string();
        assert!(text.starts_with(&format!("--{flag} ")), "{text}");
        let buffered = Workload { cache: CacheMode::All, ..workload };
        assert_eq!(check_alignment(&buffered, 512), Ok(()));
    }
}
