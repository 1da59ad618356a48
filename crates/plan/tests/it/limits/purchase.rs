//! Purchases: the published prices come out of the published price list, arithmetic that can be done
//! by hand, and what is left out.

use plan::limits::purchase::{Market, PriceList, parse, purchase};
use record::{
    Bytes, Profile, Purchase, PurchaseBound, PurchaseConfiguration, PurchaseNeed, PurchasePart,
    RaidLevel,
};

/// Chung, Gray, Worthington, Horst 2000: table 2 with the rates of tables 6 and 9.
const PRICES_2000: &str = include_str!("../../../../../docs/examples/prices-2000.toml");

fn need() -> PurchaseNeed {
    PurchaseNeed {
        random_bytes: Bytes(8 << 10),
        read_share: 1.0,
        stream_bytes: Bytes(1 << 20),
        headroom: 0.3,
        parity_disks_max: 12,
        chunk_bytes: Bytes(64 << 10),
        ..PurchaseNeed::default()
    }
}

fn list(text: &str) -> PriceList {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn planned(text: &str, need: &PurchaseNeed) -> Purchase {
    let no_profile = |id: &str| -> Result<Profile, String> { Err(id.to_owned()) };
    purchase(&Market::new(list(text), no_profile).unwrap(), need, "prices.toml", "0").unwrap()
}

fn one(plan: &Purchase, disk: &str, raid: Option<RaidLevel>) -> PurchaseConfiguration {
    let found = plan.configurations.iter().find(|it| it.disks.name == disk && it.raid == raid);
    found.unwrap_or_else(|| panic!("{plan:#?}")).clone()
}

fn used(one: &PurchaseConfiguration, part: PurchasePart) -> f64 {
    one.parts.iter().find(|load| load.part == part).unwrap_or_else(|| panic!("{one:#?}")).used
}

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{found} {expected}");
}

/// Table 9 divides the price of the drive alone by its random reads: 534/105 and 209/66. No
/// controller is in it: 235 over 30 drives and 255 over four would give 5.16 and 4.13.
#[test]
fn the_published_list_gives_the_published_prices_of_accesses() {
    let plan = planned(PRICES_2000, &PurchaseNeed { random_iops: 100.0, ..need() });
    let [atlas, fireball] = plan.disks.as_slice() else { panic!("{plan:#?}") };
    near(atlas.accesses.price_per_kaps.unwrap(), 5.09, 0.005);
    near(fireball.accesses.price_per_kaps.unwrap(), 3.17, 0.005);
    near((534.0 + 235.0 / 30.0) / atlas.accesses.kaps.value, 5.16, 0.005);
    near((209.0 + 255.0 / 4.0) / fireball.accesses.kaps.value, 4.13, 0.005);
}

/// Table 10, row by row. The Atlas agrees. The Fireball has 78 KAPS there, the arithmetic mean of 66
/// reads and 90 writes: half reads and half writes complete 76.2 per second, and its own table 9
/// divides by the reads alone. So 0.37 KAPS per dollar and 3.17 dollars per KAPS cannot both hold of
/// one drive (1/3.17 is 0.32). Its 15 MAPS rest on 78 as well, but reads alone round to the same.
#[test]
fn table_10_comes_out_but_for_the_mean_that_it_takes_of_reads_and_writes() {
    let plan = planned(PRICES_2000, &PurchaseNeed { random_iops: 100.0, ..need() });
    let [atlas, fireball] = plan.disks.as_slice() else { panic!("{plan:#?}") };
    for (disk, megabytes, maps, maps_per_dollar) in
        [(atlas, 34.0, 20.0, 0.04), (fireball, 124.0, 15.0, 0.07)]
    {
        near(disk.bytes_per_price.unwrap() / 1e6, megabytes, 0.5);
        near(disk.accesses.maps, maps, 0.51);
        near(disk.accesses.maps_per_price.unwrap(), maps_per_dollar, 0.005);
    }
    near(atlas.accesses.kaps_per_price.unwrap(), 0.20, 0.005);
    near(fireball.accesses.kaps_per_price.unwrap(), 0.32, 0.005);
    let mean = f64::midpoint(fireball.read_iops.value, fireball.write_iops.unwrap().value);
    near(mean, 78.0, 1e-6);
    near(mean / fireball.price, 0.37, 0.005);
    // What the drive does of half and half: a configuration of one disk says so.
    let half = planned(PRICES_2000, &PurchaseNeed { random_iops: 1.0, read_share: 0.5, ..need() });
    let fireball = one(&half, "Fireball lct08", None);
    near(fireball.random_iops_max.unwrap(), 1.0 / (0.5 / 66.0 + 0.5 / 90.0), 1e-6);
}

/// 1000 reads of 66 per second and drive at 70 %: 22 drives; six cards of four places.
#[test]
fn disks_adapters_and_their_loads_are_those_of_the_hand() {
    let asked = PurchaseNeed { random_iops: 1000.0, size_bytes: Bytes(200_000_000_000), ..need() };
    let plan = planned(PRICES_2000, &asked);
    let striped = one(&plan, "Fireball lct08", Some(RaidLevel::Raid0));
    assert_eq!((striped.disks.count, striped.adapters.as_ref().unwrap().count), (22, 6));
    near(striped.cost, 22.0 * 209.0 + 6.0 * 255.0 + 3750.0, 1e-6);
    near(striped.disks_busy.value, 1000.0 / 66.0 / 22.0, 1e-9);
    assert_eq!(striped.bound, PurchaseBound::Part(PurchasePart::DisksRandom));
    let rate = 1000.0 * 8192.0;
    near(used(&striped, PurchasePart::AdapterBandwidth), rate / 58.9e6 * 4.0 / 22.0, 1e-9);
    near(used(&striped, PurchasePart::BusBandwidth), rate / 98.5e6, 1e-9);
    near(used(&striped, PurchasePart::BusRequests), 0.1, 1e-9);
    near(used(&striped, PurchasePart::Size), 200.0 / (22.0 * 26.0), 1e-9);
    near(striped.random_iops_max.unwrap(), 22.0 * 66.0, 1e-6);
    near(striped.cost_per_iops.unwrap(), striped.cost / 1452.0, 1e-9);
    // A stripe of pairs: the partner of a failed disk reads twice as much.
    let pairs = one(&plan, "Fireball lct08", Some(RaidLevel::Raid10));
    assert_eq!((pairs.disks.count, pairs.survives), (22, 1));
    near(pairs.busy_after_loss.unwrap(), 2.0 * pairs.disks_busy.value, 1e-9);
    assert_eq!(striped.busy_after_loss, None);
    // Of two that cost the same the one that survives more comes first.
    assert!(plan.configurations[0].survives > 0, "{:?}", plan.configurations[0]);
    let sorted = plan.configurations.windows(2).all(|two| two[0].cost <= two[1].cost);
    assert!(sorted);
}

/// A small write costs 1, 2, 4 or 6 requests, so at writes alone the disks go with that.
#[test]
fn writes_cost_what_their_layout_makes_of_them() {
    let asked = PurchaseNeed { random_iops: 2000.0, read_share: 0.0, ..need() };
    let plan = planned(PRICES_2000, &asked);
    let disks = |raid| one(&plan, "Atlas 10K", Some(raid)).disks.count;
    let striped = f64::from(disks(RaidLevel::Raid0));
    near(striped, (2000.0 / 105.0 / 0.7_f64).ceil(), 0.0);
    near(f64::from(disks(RaidLevel::Raid10)) / striped, 2.0, 0.1);
    near(f64::from(disks(RaidLevel::Raid5)) / striped, 4.0, 0.4);
    near(f64::from(disks(RaidLevel::Raid6)) / striped, 6.0, 0.6);
    for one in plan.configurations {
        assert!(one.group_disks <= 12 || one.raid != Some(RaidLevel::Raid5), "{one:?}");
    }
}

#[test]
fn streams_alone_are_transfer_and_among_random_requests_they_are_positioned() {
    let list = "[[disk]]\nname = \"d\"\nprice = 1\nsize = \"1TB\"\nrandom-read = 100\n\
        random-size = \"8k\"\nsequential-read = \"100MB/s\"\n";
    let streams = PurchaseNeed { stream_read_bytes_per_s: 60e6, ..need() };
    let alone = planned(list, &streams);
    near(one(&alone, "d", None).disks_busy.value, 0.6, 1e-9);
    let position = 0.01 - 8192.0 / 100e6;
    let megabyte = f64::from(1 << 20);
    let both = PurchaseNeed { random_iops: 10.0, stream_read_bytes_per_s: 10e6, ..need() };
    let found = one(&planned(list, &both), "d", None);
    let stream = 10e6 / megabyte * (position + megabyte / 100e6);
    near(used(&found, PurchasePart::DisksStream), stream, 1e-9);
    near(used(&found, PurchasePart::DisksRandom), 0.1, 1e-9);
    near(found.disks_busy.value, 0.1 + stream, 1e-9);
    let apart = one(&planned(list, &PurchaseNeed { apart: true, ..both }), "d", None);
    near(apart.disks_busy.value, 0.1, 1e-9);
    near(used(&apart, PurchasePart::DisksStream), 0.1, 1e-9);
}

/// M/M/1: 66 per second at 33 per second take 1/(66 - 33) s; asked for 25 ms there must be more disks.
#[test]
fn a_latency_asks_for_disks_that_the_rate_alone_would_not() {
    let asked = PurchaseNeed { random_iops: 33.0, ..need() };
    let plan = planned(PRICES_2000, &asked);
    let alone = one(&plan, "Fireball lct08", None);
    near(alone.latency_ns.unwrap().value / 1e9, 1.0 / 33.0, 1e-9);
    let quick = PurchaseNeed { latency_mean_ns: Some(25e6), ..asked.clone() };
    let found = one(&planned(PRICES_2000, &quick), "Fireball lct08", Some(RaidLevel::Raid0));
    assert_eq!((found.disks.count, found.bound), (2, PurchaseBound::Latency));
    near(found.latency_ns.unwrap().value / 1e9, 1.0 / (66.0 - 16.5), 1e-4);
    let never = PurchaseNeed { latency_mean_ns: Some(3e6), ..asked };
    let plan = planned(PRICES_2000, &never);
    assert!(plan.configurations.is_empty() && plan.break_even.is_empty());
    assert!(plan.excluded.iter().all(|it| it.why.contains("latency")), "{:?}", plan.excluded);
}

/// A flash drive serves many side by side: at 30 % of its rate a read takes little more than one alone,
/// where one server would take 1/(rate - load).
#[test]
fn a_drive_with_a_stated_latency_serves_side_by_side_and_of_writes_it_must_be_stated_too() {
    let drive = |more: &str| {
        format!(
            "[[disk]]\nname = \"d\"\nprice = 1\nsize = \"1TB\"\nrandom-read = 100000\n\
             random-write = 50000\nrandom-size = \"8k\"\nsequential-read = \"3GB/s\"\n\
             sequential-write = \"2GB/s\"\nread-latency = \"100us\"\n{more}"
        )
    };
    let reads = PurchaseNeed { random_iops: 30_000.0, ..need() };
    let found = one(&planned(&drive(""), &reads), "d", None);
    // Ten servers of 100 us at 30 %: Erlang's C is 0.001.
    near(found.latency_ns.unwrap().value, 100e3, 100.0);
    let mixed = PurchaseNeed { read_share: 0.5, latency_mean_ns: Some(90e3), ..reads };
    let unknown = planned(&drive(""), &mixed);
    assert!(unknown.configurations.is_empty());
    assert!(unknown.excluded[0].why.contains("write-latency"), "{:?}", unknown.excluded);
    let stated = one(&planned(&drive("write-latency = \"20us\"\n"), &mixed), "d", None);
    near(stated.latency_ns.unwrap().value, 60e3, 5e3);
}

#[test]
fn at_its_break_even_price_another_disk_costs_as_much_as_the_first() {
    let asked = PurchaseNeed { random_iops: 1000.0, size_bytes: Bytes(200_000_000_000), ..need() };
    let plan = planned(PRICES_2000, &asked);
    let atlas = plan.break_even.iter().find(|it| it.name == "Atlas 10K").unwrap();
    assert!(atlas.pays_at < atlas.price);
    let price = format!("price = {}", atlas.pays_at);
    let cheaper = planned(&PRICES_2000.replace("price = 534", &price), &asked);
    let of_it = cheaper.configurations.iter().filter(|it| it.disks.name == "Atlas 10K");
    let least = of_it.map(|it| it.cost).min_by(f64::total_cmp).unwrap();
    near(least, plan.configurations[0].cost, 0.01);
    // A disk of the first kind that is twice as quick is worth more than it costs now.
    let quick = plan.break_even.iter().find(|it| it.quicker > 1.0).unwrap();
    assert!(quick.pays_at > quick.price && quick.disks < 22, "{quick:?}");
}

#[test]
fn what_does_not_do_is_left_out_with_its_reason() {
    let asked = PurchaseNeed { random_iops: 100.0, survive: 1, ..need() };
    let plan =
        planned(&PRICES_2000.replacen("interface = \"ide\"", "interface = \"sas\"", 1), &asked);
    let why = |what: &str| {
        let found = plan.excluded.iter().find(|it| it.what.starts_with(what));
        found.map(|it| it.why.as_str()).unwrap_or_default()
    };
    assert!(why("Fireball").contains("\"sas\""), "{:?}", plan.excluded);
    assert!(why("Atlas 10K, RAID 0").contains("array survives: 0"), "{:?}", plan.excluded);
    assert!(plan.configurations.iter().all(|it| it.survives >= 1));
    // A list without rates of writes buys nothing that is written.
    let no_writes = "[[disk]]\nname = \"d\"\nprice = 1\nsize = \"1TB\"\nrandom-read = 100\n\
        sequential-read = \"100MB/s\"\n";
    let plan = planned(no_writes, &PurchaseNeed { random_iops: 9.0, read_share: 0.5, ..need() });
    assert!(plan.configurations.is_empty() && plan.excluded[0].why.contains("random-write"));
}

#[test]
fn a_failed_disk_spares_power_and_the_places_of_a_host_count_where_they_are_asked_for() {
    let asked = PurchaseNeed { random_iops: 1000.0, carry_after_loss: true, survive: 1, ..need() };
    let plan = planned(PRICES_2000, &asked);
    assert!(plan.configurations.iter().all(|it| it.busy_after_loss.unwrap() <= 1.0 + 1e-9));
    assert!(plan.configurations.iter().any(|it| it.bound == PurchaseBound::AfterLoss));
    let places = PRICES_2000.replace("iops = 10000", "iops = 10000\nadapters = 2\ndisks = 8");
    let plan = planned(&places, &PurchaseNeed { random_iops: 1000.0, spares: 3, ..need() });
    let striped = one(&plan, "Fireball lct08", Some(RaidLevel::Raid0));
    // Four hosts of six disks and a place for a spare one each; at 22 in use three hosts do not do.
    assert_eq!((striped.hosts.unwrap().count, striped.disks.count), (4, 24 + 3));
    assert_eq!(striped.bound, PurchaseBound::Bays);
    let powered = "[power]\nper-kwh = 0.1\nyears = 2\n[[disk]]\nname = \"d\"\nprice = 10\n\
        size = \"1TB\"\nwatts = 10\nrandom-read = 100\nsequential-read = \"100MB/s\"\n";
    let plan = planned(powered, &PurchaseNeed { random_iops: 50.0, ..need() });
    near(plan.configurations[0].power_cost, 0.01 * 8766.0 * 2.0 * 0.1, 1e-9);
    near(plan.configurations[0].cost, 10.0 + plan.configurations[0].power_cost, 1e-9);
}

#[test]
fn a_list_that_is_wrong_is_refused_with_line_and_key() {
    let good = "[[disk]]\nname = \"d\"\nprice = 3\nsize = \"1TB\"\nrandom-read = 100\n\
        sequential-read = \"100MB/s\"\n";
    assert!(parse(good).is_ok());
    let with = |from: &str, to: &str| parse(&good.replace(from, to)).unwrap_err().to_string();
    for (from, to, parts) in [
        ("price = 3", "price = -3", ["line 3", "price"]),
        ("price = 3", "price = \"a\"", ["line 3", "f64"]),
        ("price = 3", "prize = 3", ["line 3", "prize"]),
        ("1TB", "1XB", ["line 4", "size"]),
        ("random-read = 100", "random-read = 0", ["line 5", "random-read"]),
        ("random-read = 100", "profile = \"ab\"", ["line 5", "profile"]),
        ("100MB/s", "fast", ["line 6", "sequential-read"]),
        ("100MB/s", "1kB/s", ["line 5", "random-size"]),
        ("sequential-read = \"100MB/s\"\n", "", ["line 2", "sequential-read"]),
        ("price = 3", "price = 3\nrandom-write = 4", ["line 2", "sequential-write"]),
    ] {
        let found = with(from, to);
        assert!(parts.iter().all(|part| found.contains(part)), "{from} -> {to}: {found}");
    }
    let twice = parse(&format!("{good}{good}")).unwrap_err().to_string();
    assert!(twice.contains("line 8") && twice.contains("name"), "{twice}");
    assert!(parse("currency = \"EUR\"\n").unwrap_err().to_string().contains("[[disk]]"));
    let adapter = format!("{good}[[adapter]]\nname = \"a\"\nprice = 1\n");
    assert!(parse(&adapter).unwrap_err().to_string().contains("line 8: disks"));
    let unpowered = format!("[power]\nper-kwh = 1\nyears = 1\n{good}");
    assert!(parse(&unpowered).unwrap_err().to_string().contains("watts"));
}
