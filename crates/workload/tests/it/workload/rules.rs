//! Which flags can be combined, and which sizes make a valid mix.

use record::*;
use workload::*;

/// Asserts that the error of a spec starts with this flag and contains these words.
#[track_caller]
fn refused(flag: &str, words: &str, change: impl FnOnce(&mut Spec)) {
    let mut spec = Spec::default();
    change(&mut spec);
    let text = spec.check().unwrap_err().to_string();
    assert!(text.starts_with(&format!("--{flag} ")) && text.contains(words), "{text}");
}

fn accepted(change: impl FnOnce(&mut Spec)) {
    let mut spec = Spec::default();
    change(&mut spec);
    assert_eq!(spec.check(), Ok(()));
}

#[test]
fn a_part_of_a_pattern_without_the_pattern_is_refused() {
    refused("hit-size", "--pattern hit", |spec| spec.asked.hit_bytes = Some(Bytes(1)));
    refused("zipf-theta", "--pattern zipf", |spec| spec.asked.zipf_theta_milli = Some(1));
    refused("hot-size", "--pattern hot", |spec| spec.hot_bytes = Some(Bytes(1)));
    refused("hot-share", "--pattern hot", |spec| spec.hot_percent = Some(1));
    refused("stride", "--pattern strided", |spec| spec.asked.stride_bytes = Some(Bytes(1)));
    refused("pattern", "--stride", |spec| spec.asked.pattern = Pattern::Strided);
    refused("regions", "sequential", |spec| spec.regions = Some(Regions::Shared));
    accepted(|spec| spec.regions = Some(Regions::PerJob));
    accepted(|spec| {
        (spec.asked.pattern, spec.regions) = (Pattern::Sequential, Some(Regions::Shared));
    });
}

#[test]
fn numbers_beyond_their_range_are_refused_with_it() {
    let zipf = |theta| {
        move |spec: &mut Spec| {
            (spec.asked.pattern, spec.asked.zipf_theta_milli) = (Pattern::Zipf, Some(theta));
        }
    };
    refused("zipf-theta", "0.001 to 10", zipf(0));
    refused("zipf-theta", "10.001", zipf(10_001));
    let hot = |share| {
        move |spec: &mut Spec| {
            (spec.asked.pattern, spec.hot_percent) = (Pattern::Hot, Some(share));
        }
    };
    refused("hot-share", "1 to 99", hot(0));
    refused("hot-share", "1 to 99", hot(100));
    refused("rate-iops", "1 to", |spec| spec.asked.rate_iops = Some(0));
    refused("passes", "1 to", |spec| spec.asked.stop.passes = Some(0));
    refused("until-precision", "0.01% to 50%", |spec| spec.asked.stop.precision_ppm = Some(0));
    refused("interval", "1.00 ms to 10.0 s", |spec| {
        spec.asked.stop.interval_ns = Some(Nanos(11_000_000_000));
    });
    refused("io-timeout", "30s", |spec| spec.asked.stop.io_timeout_ns = Nanos(0));
    refused("bs", "add up to 90", |spec| {
        spec.asked.bs = vec![SizeShare { bytes: Bytes(4096), percent: 90 }];
    });
}

#[test]
fn open_and_closed_loops_do_not_mix() {
    refused("arrival", "--rate-iops", |spec| spec.arrival = Some(Arrival::Poisson));
    refused("think-time", "--rate-iops", |spec| {
        (spec.asked.rate_iops, spec.asked.think_ns) = (Some(10), Nanos(1));
    });
    refused("completion", "--rate-iops", |spec| {
        (spec.asked.rate_iops, spec.asked.discipline) = (Some(10), Discipline::OldestFirst);
    });
    refused("rate-iops", "--rw randrw", |spec| {
        (spec.asked.rate_iops, spec.asked.write_rate_iops) = (Some(10), Some(3));
    });
    refused("rate-iops", "at least 1", |spec| {
        (spec.asked.rate_iops, spec.asked.write_rate_iops) = (Some(10), Some(10));
    });
    accepted(|spec| {
        (spec.asked.think_ns, spec.asked.discipline) = (Nanos(1), Discipline::Callback);
    });
}

#[test]
fn flushes_go_with_writes_of_a_closed_loop_that_are_not_durable_by_themselves() {
    let flush = |every| Some(Flush { kind: FlushKind::Fdatasync, every });
    refused("fdatasync", "1 to", |spec| {
        (spec.asked.read_percent, spec.asked.flush) = (0, flush(0));
    });
    refused("fdatasync", "--rw write", |spec| spec.asked.flush = flush(1));
    refused("fdatasync", "--rate-iops", |spec| {
        (spec.asked.read_percent, spec.asked.flush) = (0, flush(1));
        spec.asked.rate_iops = Some(10);
    });
    refused("fdatasync", "--completion", |spec| {
        (spec.asked.read_percent, spec.asked.flush) = (50, flush(1));
        spec.asked.discipline = Discipline::OldestFirst;
    });
    refused("fdatasync", "--think-time", |spec| {
        (spec.asked.read_percent, spec.asked.flush) = (50, flush(1));
        spec.asked.think_ns = Nanos(1);
    });
    refused("fdatasync", "--cache device", |spec| {
        (spec.asked.read_percent, spec.asked.flush) = (0, flush(1));
        spec.asked.cache = CacheMode::None;
    });
    accepted(|spec| (spec.asked.read_percent, spec.asked.flush) = (30, flush(8)));
}

#[test]
fn options_of_one_engine_are_refused_on_others() {
    refused("hipri", "--ioengine io_uring", |spec| {
        (spec.asked.polled, spec.asked.engine) = (true, EngineName::Libaio);
    });
    refused("sqthread-poll", "--ioengine io_uring", |spec| {
        (spec.asked.sqpoll, spec.asked.engine) = (true, EngineName::Sync);
    });
    refused("hipri", "--cache device", |spec| {
        (spec.asked.polled, spec.asked.cache) = (true, CacheMode::All);
    });
    for engine in [EngineName::Iocp, EngineName::Events, EngineName::Readfileex] {
        for (kind, word) in
            [(FlushKind::Fdatasync, "fdatasync"), (FlushKind::SyncFileRange, "sync-file-range")]
        {
            refused(word, "--fsync", |spec| {
                (spec.asked.read_percent, spec.asked.engine) = (0, engine);
                spec.asked.flush = Some(Flush { kind, every: 1 });
            });
        }
        accepted(|spec| {
            (spec.asked.read_percent, spec.asked.engine) = (0, engine);
            spec.asked.flush = Some(Flush { kind: FlushKind::Fsync, every: 1 });
        });
        refused("rw", "cannot trim on Windows", |spec| {
            (spec.asked.read_percent, spec.asked.engine) = (0, engine);
            spec.asked.instead = Some(Instead::Trim);
        });
    }
    refused("ioengine mmap", "--cache all", |spec| spec.asked.engine = EngineName::Mmap);
    accepted(|spec| (spec.asked.engine, spec.asked.cache) = (EngineName::Mmap, CacheMode::All));
    accepted(|spec| (spec.asked.polled, spec.asked.sqpoll) = (true, true));
}

#[test]
fn targets_and_jobs_must_fit_each_other() {
    refused("chunk", "more than one", |spec| spec.asked.stripe_bytes = Some(Bytes(65_536)));
    refused("numjobs", "3 cannot be divided evenly among 2", |spec| {
        (spec.asked.numjobs, spec.asked.targets) = (3, 2);
    });
    accepted(|spec| (spec.asked.numjobs, spec.asked.targets) = (4, 2));
    accepted(|spec| {
        (spec.asked.numjobs, spec.asked.targets, spec.asked.stripe_bytes) =
            (3, 2, Some(Bytes(65_536)));
    });
}

#[test]
fn what_writes_carry_is_refused_where_nothing_is_written() {
    for (flag, data) in
        [("zeros", Data::Zeros), ("compressible", Data::Compressible), ("verify", Data::Tagged)]
    {
        // A job that only reads may use tags: those of an earlier run.
        if data == Data::Tagged {
            accepted(|spec| spec.asked.data = data);
        } else {
            refused(flag, "--rw write", |spec| spec.asked.data = data);
        }
        refused(flag, "null", |spec| {
            (spec.asked.data, spec.asked.read_percent, spec.asked.engine) =
                (data, 0, EngineName::Null);
        });
        accepted(|spec| (spec.asked.data, spec.asked.read_percent) = (data, 50));
    }
    refused("verify", "multiples", |spec| {
        (*spec, spec.asked.data) = (spec.clone().with_bs(1_000), Data::Tagged);
    });
    refused("verify", "multiples", |spec| {
        (spec.asked.misalign_bytes, spec.asked.data) = (Bytes(100), Data::Tagged);
    });
    refused("verify", "--regions shared", |spec| {
        (spec.asked.data, spec.asked.read_percent) = (Data::Tagged, 0);
        (spec.asked.pattern, spec.regions) = (Pattern::Sequential, Some(Regions::Shared));
    });
}

#[test]
fn one_size_is_the_whole_mix_and_shares_are_kept_in_order() {
    let share = |bytes, percent| SizeShare { bytes: Bytes(bytes), percent };
    assert_eq!(parse_mix("4k"), Ok(vec![share(4096, 100)]));
    assert_eq!(parse_mix("4k/60:64k/40"), Ok(vec![share(4096, 60), share(65_536, 40)]));
    assert_eq!(parse_mix("64k/40%:4k/60%"), Ok(vec![share(65_536, 40), share(4096, 60)]));
    assert_eq!(parse_mix("8k/100"), Ok(vec![share(8192, 100)]));
}

#[test]
fn a_mix_that_does_not_hold_together_says_why() {
    let error = |text| parse_mix(text).unwrap_err();
    assert!(error("4k/60:64k/30").contains("add up to 90"));
    assert!(error("4k/60:64k/60").contains("add up to 120"));
    assert!(error("4k:64k/40").contains("'4k' has no percentage"));
    assert!(error("4k/0:64k/100").contains("1 to 100"));
    assert!(error("4k/half:64k/50").contains("whole percentage"));
    assert!(error("4k/50:4KiB/50").contains("twice"));
    assert!(error("4q/50:8k/50").contains("unknown unit 'q'"));
}
