//! `design` through the binary: predicted loads against simulated arrays, rates from profiles, views,
//! and what is refused.

use crate::documents::check_schema;
use crate::program::{found as found_code, halfpower, halfpower_in};
use record::{FindingCode, PriceDocument, Purchase, PurchaseConfiguration, RaidLevel, Trial};
use std::path::Path;

/// The published price list.
const PRICES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/prices-2000.toml");

fn trial(words: &str) -> Trial {
    let ended = halfpower(&format!("run {words} --bs 8k --no-save --json"));
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

fn plan(folder: &Path, words: &str) -> Purchase {
    plan_that_ends(folder, 0, words)
}

fn plan_that_ends(folder: &Path, code: i32, words: &str) -> Purchase {
    let ended = halfpower_in(folder, &format!("design {words} --json --db db")).expect(code);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

fn configuration(plan: &Purchase, raid: RaidLevel) -> &PurchaseConfiguration {
    let found = plan.configurations.iter().find(|it| it.raid == Some(raid));
    found.unwrap_or_else(|| panic!("{plan:#?}"))
}

/// Mean share of time that the arms of a simulated machine are busy, but for a failed one.
fn arms(words: &str) -> f64 {
    let found = trial(words);
    let arms = found.result.components.iter().filter(|it| it.name.ends_with("mechanism"));
    let shares: Vec<f64> = arms.map(|arm| arm.busy_share).filter(|share| *share > 0.0).collect();
    shares.iter().sum::<f64>() / shares.len() as f64
}

/// A list with the rates that a simulated Atlas 10K shows alone, and a size that makes arrays of a
/// known number of disks.
fn one_drive(folder: &Path) {
    let rate = |rw: &str| {
        let alone = trial(&format!("sim:atlas10k --rw {rw} --iodepth 1 --runtime 100s"));
        alone.iops()
    };
    let (reads, writes) = (rate("randread"), rate("randwrite"));
    let text = format!(
        "[[disk]]\nname = \"Atlas 10K\"\nprice = 534\nsize = \"18GB\"\nrandom-read = {reads}\n\
         random-write = {writes}\nrandom-size = \"8k\"\nsequential-read = \"24MB/s\"\n\
         sequential-write = \"22.5MB/s\"\n"
    );
    std::fs::write(folder.join("prices.toml"), text).unwrap();
}

/// Four drives as RAID 0 and RAID 5, whole and with one failed, and two as a mirror. Rates of a drive
/// include commands and bus, so the computed load may lie above the busy time of the simulated arms,
/// never below. Of reads it is within 8 %. A mirror reads from the nearer arm and a drive puts writes in
/// order, of which the formulae know nothing: there it is within 15 %.
#[test]
fn the_loads_of_arrays_are_those_of_simulated_ones() {
    let folder = tempfile::tempdir().unwrap();
    one_drive(folder.path());
    let simulated = |machine: &str, load: &str| {
        let words = format!("sim:atlas10k,{machine} {load} --arrival poisson --iodepth 64");
        arms(&format!("{words} --runtime 200s"))
    };
    let reads =
        |machine: &str, rate: u32| simulated(machine, &format!("--rw randread --rate-iops {rate}"));
    let near = |computed: f64, simulated: f64, most: f64, what: &str| {
        let off = computed / simulated - 1.0;
        assert!((-0.02..most).contains(&off), "{what}: {computed} {simulated}");
    };
    let of = |words: &str, raid: RaidLevel, disks: u32| {
        let plan = plan(folder.path(), &format!("{words} --prices prices.toml"));
        let found = configuration(&plan, raid).clone();
        assert_eq!(found.disks.count, disks, "{found:?}");
        found
    };
    let five = of("--kaps 100 --size 54GB", RaidLevel::Raid5, 4);
    near(five.disks_busy.value, reads("disks=4,raid=5", 100), 0.08, "RAID 5");
    let lost = five.busy_after_loss.unwrap();
    near(lost, reads("disks=4,raid=5,failed=1", 100), 0.08, "RAID 5 with a failed disk");
    let striped = of("--kaps 100 --size 72GB", RaidLevel::Raid0, 4);
    near(striped.disks_busy.value, reads("disks=4,raid=0", 100), 0.08, "RAID 0");
    let pair = of("--kaps 50 --size 18GB", RaidLevel::Raid1, 2);
    near(pair.disks_busy.value, reads("disks=2,raid=1", 50), 0.15, "mirror");
    let lost = pair.busy_after_loss.unwrap();
    near(lost, reads("disks=2,raid=1,failed=0", 50), 0.08, "mirror with a failed disk");
    let mixed = of("--kaps 60 --rwmixread 70% --size 54GB", RaidLevel::Raid5, 4);
    let load = "--rw randrw --rwmixread 70 --rate-iops 60";
    let whole = simulated("disks=4,raid=5", load);
    near(mixed.disks_busy.value, whole, 0.15, "RAID 5 with writes");
    let lost = simulated("disks=4,raid=5,failed=1", load);
    near(mixed.busy_after_loss.unwrap(), lost, 0.15, "RAID 5 with writes and a failed disk");
}

/// Chung 2000, table 9: 5.09 and 3.17 dollars per KAPS. A profile of the whole surface gives them,
/// one of the default area does not and says so.
#[test]
fn the_published_prices_come_out_of_profiles_of_the_whole_surface() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str| halfpower_in(folder.path(), &format!("{words} --db db")).expect(0);
    for (drive, size, price, published) in
        [("atlas10k", "18GB", 534.0, 5.09), ("fireball", "26GB", 209.0, 3.17)]
    {
        run(&format!("check sim:{drive} --budget 600s --size {size} --no-write"));
        let ended = run(&format!("design --price {price} --fill pci=98.5MB/s --json"));
        let cost: PriceDocument = serde_json::from_str(&ended.stdout).unwrap();
        let dollars = cost.rows[0].price_per_kaps.unwrap();
        assert!((dollars / published - 1.0).abs() < 0.08, "{drive}: {dollars}");
        assert!(cost.findings.is_empty(), "{:?}", cost.findings);
        assert_eq!((cost.fills.len(), cost.rows[0].depth), (1, 1));
    }
    let list = "[[disk]]\nname = \"Fireball\"\nprice = 209\nsize = \"26GB\"\nprofile = \"last\"\n";
    std::fs::write(folder.path().join("prices.toml"), list).unwrap();
    let found = plan(folder.path(), "--kaps 100 --bs 4k --prices prices.toml");
    let disk = &found.disks[0];
    assert!(found.simulated && found.findings.is_empty() && disk.profile_id.is_some());
    // At the depth that gives most, with its interval.
    assert!(disk.accesses.depth > 1 && disk.read_iops.high > disk.read_iops.value);
    let writes = plan_that_ends(folder.path(), 1, "--kaps 9 --rwmixread 50% --prices prices.toml");
    assert!(writes.excluded[0].why.contains("no random writes"), "{:?}", writes.excluded);
    run("check sim:fireball --budget 600s --size 1g --no-write");
    let short = plan(folder.path(), "--kaps 100 --bs 4k --prices prices.toml");
    assert!(found_code(&short.findings, FindingCode::SmallArea), "{:?}", short.findings);
}

#[test]
fn a_plan_has_a_schema_a_page_that_fits_and_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let words =
        format!("--kaps 1000 --mbps 40 --rwmixread 70% --size 200GB --spare 1 --prices {PRICES}");
    let ended = halfpower(&format!("design {words} --json")).expect(0);
    check_schema("purchase-1", &ended.stdout);
    let page = halfpower(&format!("design {words} --verbose")).expect(0).stdout;
    let widest = page.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{page}");
    for part in
        ["bound by", "Utilization at the required load", "Another disk", "KAPS/USD", "5.09", "3.17"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    std::fs::write(folder.path().join("plan.json"), &ended.stdout).unwrap();
    let run = |words: &str| halfpower_in(folder.path(), &format!("{words} --db db")).expect(0);
    assert!(run("report plan.json --md").stdout.starts_with("## Purchase"));
    run("report plan.json -o plan.html --csv plan.csv");
    let html = std::fs::read_to_string(folder.path().join("plan.html")).unwrap();
    assert!(html.contains("Fireball") && html.contains("<svg"));
    let csv = std::fs::read_to_string(folder.path().join("plan.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 5, "{csv}");
    // The command that it prints gives the same document.
    let command = page.lines().skip_while(|line| !line.contains("To repeat it")).skip(1);
    let command: String = command.map(|line| line.trim().trim_end_matches('\\')).collect();
    let again =
        halfpower(&format!("{} --json", command.trim_start_matches("halfpower "))).expect(0);
    assert_eq!(again.stdout, ended.stdout);
}

#[test]
fn a_need_or_a_list_that_is_wrong_is_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    halfpower(&format!("design --prices {PRICES}")).refuses(2, &["--kaps", "--size"]);
    halfpower(&format!("design --kaps 9 --apart --prices {PRICES}")).refuses(2, &["--mbps"]);
    halfpower(&format!("design --kaps 9 --bs 1000 --prices {PRICES}")).refuses(2, &["512"]);
    halfpower(&format!("design --kaps 9 --slo p99=3ms --prices {PRICES}")).refuses(2, &["mean="]);
    halfpower(&format!("design --kaps 9 --slo mean=3 --prices {PRICES}"))
        .refuses(2, &["write 3ms or 3s"]);
    halfpower(&format!("design --kaps 9 --headroom 99% --prices {PRICES}")).refuses(2, &["95%"]);
    halfpower("design --kaps 9 --prices none.toml").refuses(4, &["none.toml"]);
    std::fs::write(
        folder.path().join("bad.toml"),
        "[[disk]]\nname = \"a\"\nprice = -1\n\
        size = \"1TB\"\nrandom-read = 9\nsequential-read = \"1MB/s\"\n",
    )
    .unwrap();
    halfpower_in(folder.path(), "design --kaps 9 --prices bad.toml")
        .refuses(2, &["bad.toml", "line 3", "price"]);
    std::fs::write(
        folder.path().join("profile.toml"),
        "[[disk]]\nname = \"a\"\nprice = 1\n\
        size = \"1TB\"\nprofile = \"abc\"\n",
    )
    .unwrap();
    halfpower_in(folder.path(), "design --kaps 9 --prices profile.toml --db db")
        .refuses(4, &["profile.toml", "abc"]);
}
